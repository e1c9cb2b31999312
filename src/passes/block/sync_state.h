// The prover's view of a moment in a core program. Places in memory are cut into cells that no access touches in part;
// of each cell only the last read and the last write of each pipe matter: a track. For each pipe the state has the
// tracks whose latest event may not be over yet for what the pipe does next, and for each set flag those that its wait
// won't be sure of, either. Shares nothing with the inserter but the instruction table. Internal to prove-sync.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

using PipeSet = uint32_t;  // bit set over isa::Pipe
inline PipeSet bit(isa::Pipe pipe) {
  return PipeSet{1} << static_cast<int>(pipe);
}
inline size_t number(isa::Pipe pipe) {
  return static_cast<size_t>(pipe);
}

// Bytes [begin, end) of a memory; in global memory the number of the tensor and one more.
struct Interval {
  Space space = Space::None;
  int64_t begin = 0;
  int64_t end = 0;
};

// Reads or writes of one pipe in one cell, where another pipe can conflict with them.
struct Track {
  isa::Pipe pipe = isa::Pipe::S;
  bool write = false;
  PipeSet needed = 0;  // pipes that can conflict with it
};

// What of a core never changes while it is interpreted: cells and tracks.
class SyncCells {
 public:
  SyncCells(const ir::Function& core, const Target& target);
  // The cells of a tile (slot -1: whichever, or all) or of a tensor: [first, last).
  std::pair<size_t, size_t> of_buffer(isa::BufferId buffer, int64_t slot) const;
  std::pair<size_t, size_t> of_tensor(isa::TensorId tensor) const;
  Interval where(size_t cell) const;
  // A cell's tracks: [first, last).
  std::pair<size_t, size_t> tracks(size_t cell) const { return {first_track_[cell], first_track_[cell + 1]}; }
  const Track& track(size_t index) const { return tracks_[index]; }
  size_t track_count() const { return tracks_.size(); }
  size_t cell_of(size_t track) const { return cell_of_track_[track]; }
  // Tracks that can conflict with work of the pipe, as bits.
  const std::vector<uint64_t>& needed(isa::Pipe pipe) const { return needed_[number(pipe)]; }

 private:
  uint32_t root(isa::TensorId tensor) const;
  size_t boundary(Space space, int64_t at) const;  // the cell that begins there

  const ir::Function& core_;
  std::vector<Interval> cells_;  // sorted by memory and address
  std::vector<size_t> first_track_;
  std::vector<Track> tracks_;
  std::vector<size_t> cell_of_track_;
  std::array<std::vector<uint64_t>, isa::kPipeCount> needed_;
};

using FlagKey = std::tuple<isa::Pipe, isa::Pipe, int64_t>;  // source, destination, id

// What made an event; for messages, no part of a state's identity.
struct Origin {
  uint32_t op = 0;
  uint32_t moment = 0;  // iterations of the loops around it
  bool vague = false;   // its slot is not known
};

struct FlagState {
  bool set = false;
  uint32_t setter = 0;  // for messages
  uint32_t waiter = 0;
};

// Tracks are numbered as in SyncCells; behind them each flag has one for its latest wait, which must be over for the
// flag's source before that sets the flag again.
class SyncState {
 public:
  explicit SyncState(const SyncCells& cells) : cells_(&cells), origin_(cells.track_count()) {}

  // Makes room for that many flags.
  void grow(size_t flags);
  const std::vector<FlagState>& flags() const { return flags_; }
  FlagState& flag(size_t index) { return flags_[index]; }
  Origin& origin(size_t track) { return origin_[track]; }

  bool open(isa::Pipe pipe, size_t track) const { return has(number(pipe), track); }
  // The pipe works on the track now: nobody else knows it to be over.
  void begin(isa::Pipe pipe, size_t track);
  // Nobody needs to know about the track's latest event any more.
  void forget(size_t track);
  void set_flag(size_t flag, isa::Pipe src);
  void wait_flag(size_t flag, isa::Pipe dst);
  bool wait_open(size_t flag, isa::Pipe src) const { return has(number(src), cells_->track_count() + flag); }
  void barrier();  // everybody knows everything

  // Conditions of which the way here has decided that they hold, or don't.
  bool may_assume(size_t condition, bool holds) const { return (assumed_[holds ? 1 : 0] >> condition & 1) == 0; }
  void assume(size_t condition, bool holds) { assumed_[holds ? 0 : 1] |= uint32_t{1} << condition; }

  // Forgets what everybody knows who can need it. Returns a text that is equal for equal states.
  std::string normalize(const std::vector<FlagKey>& flag_keys);
  // Flags that are set, and what was assumed: states that differ there are never taken together.
  std::string flags_text() const;
  // From now on nothing is known that the other state does not know, too. The same flags must be set.
  void merge(const SyncState& other);
  size_t words() const { return open_.size() + origin_.size() * 2; }

 private:
  // Rows of bits, one a track: first the pipes', then the flags'. A set bit: not known to be over.
  bool has(size_t row, size_t track) const {
    return track / 64 < stride_ && (open_[row * stride_ + track / 64] >> track % 64 & 1) != 0;
  }
  size_t rows() const { return isa::kPipeCount + flags_.size(); }

  const SyncCells* cells_;
  size_t stride_ = 0;  // words of a row
  std::vector<uint64_t> open_;
  std::vector<Origin> origin_;
  std::vector<FlagState> flags_;
  std::array<uint32_t, 2> assumed_{};  // bits: true, false
};

}  // namespace pto::passes
