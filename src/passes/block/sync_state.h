// The prover's view of a moment in a core program: which accesses are known to be over by which pipes, which flags are
// set and what they promise. Shares nothing with the inserter but the instruction table. Internal to prove-sync.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "pto/isa.h"
#include "pto/tile.h"

namespace pto::passes {

using PipeSet = uint32_t;  // bit set over isa::Pipe
inline PipeSet bit(isa::Pipe pipe) {
  return PipeSet{1} << static_cast<int>(pipe);
}

// Bytes [begin, end) of a memory; in global memory the number of the tensor and one more.
struct Interval {
  Space space = Space::None;
  int64_t begin = 0;
  int64_t end = 0;
  bool overlaps(const Interval& other) const { return space == other.space && begin < other.end && other.begin < end; }
};

// An event on a pipe's way: the latest access by one instruction to one place, or the latest wait for one flag.
// In-order pipes make the latest one enough: whoever is after it is after the earlier ones too.
struct EventKey {
  uint32_t op = 0;  // instruction, or a flag's number with bit 31 for its latest wait
  int64_t begin = 0;
  int operand = 0;
  friend auto operator<=>(const EventKey&, const EventKey&) = default;
};

using FlagSet = std::bitset<128>;                           // over the flags of a core, numbered in order of appearance
using FlagKey = std::tuple<isa::Pipe, isa::Pipe, int64_t>;  // source, destination, id

struct Event {
  EventKey key;
  isa::Pipe pipe = isa::Pipe::S;
  Interval where;
  bool write = false;
  bool is_wait = false;
  PipeSet known = 0;   // pipes whose later work is ordered after it
  PipeSet needed = 0;  // pipes that can ever conflict with it: once all of them know it, it is forgotten
  FlagSet promised;    // set flags whose waits will make it known
};

struct SyncState {
  std::vector<Event> events;  // sorted by key
  FlagSet set;
  std::map<size_t, uint32_t> setters;  // by flag: where it was last set, for messages; not part of the state's identity

  Event* find(const EventKey& key);
  void put(Event event);  // adds it or takes the place of the one with its key
  void forget_known();
  // A text that is equal for equal states.
  std::string key() const;
};

}  // namespace pto::passes
