// When each buffer of a core program holds something that is still needed: an exact answer on structured code, as a set
// of program points and not one interval, so that a buffer's bytes are free in the holes of its life. A point of a
// buffer's life is live if some path leads from a write to it and from it to a read without a write in between; a loop
// runs any number of times, and a branch that asks for a loop's first iteration is known to be taken there.
//
// Points are half positions: instruction p (counted in program order, branches one behind the other) reads at 2p and
// writes at 2p + 1. Sources of an instruction that works element by element live at 2p only, all else that it touches
// through 2p + 1. So buffers that share no half point may be one buffer, and buffers that share no position may share
// bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// Both ends belong to it.
struct LiveRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const LiveRange&, const LiveRange&) = default;
};

// Ascending, disjoint, not adjacent.
using LiveRanges = std::vector<LiveRange>;
bool meet(const LiveRanges& a, const LiveRanges& b);
LiveRanges unite(const LiveRanges& a, const LiveRanges& b);
// Half points as positions.
LiveRanges to_positions(const LiveRanges& halves);

struct Life {
  LiveRanges halves;     // empty: never touched
  bool whole = false;    // reserved from the first to the last position, as memory of a ring is
  uint32_t pipes = 0;    // bit set over isa::Pipe of the instructions that touch it
  uint32_t starts = 0;   // pipes of the first instructions of its parts
  uint32_t ends = 0;     // pipes of the last ones
  bool in_loop = false;  // some instruction that touches it stands in a loop
};

struct CoreLives {
  std::vector<Life> buffers;
  std::vector<ir::OpId> instructions;  // by position
};

// `reserved`: buffers to keep for the whole program whatever the instructions do, by index; may be empty.
// A buffer with slots that rotate with a loop lives for that loop, so that its iterations can overlap.
CoreLives buffer_lives(const ir::Function& core, const Target& target, const std::vector<bool>& reserved = {});

// May this instruction's destination stand on the bytes of that source, of the same shape and element size? So it is
// where element (i, j) is read before it is written, and the hardware allows it. `source` counts operands.
bool works_in_place(const isa::Inst& inst, size_t source, const Target& target);

}  // namespace pto::passes
