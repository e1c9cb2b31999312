// The rings of one cluster with the tiles that are in them: bytes, valid regions, who has pushed and taken what. One
// for every block of a mixed task that runs; used by one host thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pto/isa.h"
#include "runtime/check/ring_regions.h"
#include "src/sem/sem.h"

namespace pto::runtime {

// A place in a ring, as global memory for a store or a load, and the region that moves.
struct RingWindow {
  std::byte* data = nullptr;
  int64_t row_stride = 0;  // elements
};

class RingMemory {
 public:
  // `rings`: of both cores, which have the same; methods take their numbers (isa::RingId).
  RingMemory(std::span<const isa::Ring> rings, int lanes);

  // Is there room, is there a tile?
  bool can_push(size_t ring, int side) const;
  bool can_pop(size_t ring, int side) const;
  // Where this side's part of the next slot is. `valid`: of the pushed tile.
  RingWindow push(size_t ring, int side, const Valid& valid);
  // The oldest tile's part for this side. `valid`: what the program expects; `problem` says why the tile isn't that.
  RingWindow pop(size_t ring, int side, const Valid& valid, std::string& problem);
  void give_back(size_t ring, int side);

  const isa::Ring& ring(size_t index) const { return states_[index].ring; }
  int64_t held(size_t ring) const;  // tiles that were pushed and that somebody has not taken

 private:
  struct Slot {
    std::vector<std::byte> bytes;
    PushedRegions valids{};
  };
  struct State {
    isa::Ring ring;
    std::vector<Slot> slots;
    std::array<int64_t, 2> pushed{};  // by pusher: a lane, or the cube core as 0
    std::array<int64_t, 2> popped{};  // by popper
    std::array<int64_t, 2> freed{};
    int pushers = 1;
    int poppers = 1;
  };
  RingWindow window(State& state, int64_t number, int side);

  std::vector<State> states_;
};

}  // namespace pto::runtime
