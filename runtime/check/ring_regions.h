// What the cores of a cluster may expect of a tile that comes through a ring: the rule that values and time share.
// Names cores by side: the cube core, or the number of a vector lane.
#pragma once

#include <array>
#include <string>

#include "pto/isa.h"

namespace pto::runtime {

inline constexpr int kCubeSide = -1;
inline size_t side_index(int side) {
  return side == kCubeSide ? 0 : static_cast<size_t>(side);
}
std::string side_text(int side);  // "the cube core", "lane 1"

// Valid regions of what was pushed: by lane; of the cube core, and where lane 0 pushes alone, the first.
using PushedRegions = std::array<Valid, 2>;

// What is wrong with a pop by `side` that expects the region `expected`; empty: nothing. A lane gets its share of a
// split tile, and halves that lanes pushed must form one rectangle.
std::string ring_problem(const isa::Ring& ring, const PushedRegions& pushed, int side, const Valid& expected);

// "for room in ring `s`, 2 of 2 slots full,": what a push waits for, or a pop.
std::string ring_wait(const isa::Ring& ring, bool push, int64_t held);

}  // namespace pto::runtime
