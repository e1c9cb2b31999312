#include "runtime/check/ring_regions.h"

#include <algorithm>

#include "runtime/check/faults.h"

namespace pto::runtime {
namespace {

using isa::RingDirection;
using isa::Split;

bool is_empty(const Valid& valid) {
  return valid.rows == 0 || valid.cols == 0;
}

// A lane's part of `whole` rows or columns, of which each lane has up to `half`.
int64_t share(int64_t whole, int64_t half, int lane) {
  return std::clamp<int64_t>(whole - lane * half, 0, half);
}

Valid lane_share(const isa::Ring& ring, const Valid& whole, int lane) {
  return ring.split == Split::Rows ? Valid{share(whole.rows, ring.rows / 2, lane), whole.cols}
                                   : Valid{whole.rows, share(whole.cols, ring.cols / 2, lane)};
}

// Halves form a rectangle if the second is empty, or if the first is full along the split and both are the same across.
bool join(const isa::Ring& ring, const PushedRegions& halves, Valid& whole) {
  const Valid& first = halves[0];
  const Valid& second = halves[1];
  whole = first;
  if (is_empty(second)) {
    return true;
  }
  if (ring.split == Split::Rows) {
    whole.rows += second.rows;
    return first.rows == ring.rows / 2 && first.cols == second.cols;
  }
  whole.cols += second.cols;
  return first.cols == ring.cols / 2 && first.rows == second.rows;
}

}  // namespace

std::string side_text(int side) {
  return side == kCubeSide ? "the cube core" : "lane " + std::to_string(side);
}

std::string ring_problem(const isa::Ring& ring, const PushedRegions& pushed, int side, const Valid& expected) {
  Valid have = pushed[0];
  if (ring.split != Split::None && ring.direction == RingDirection::C2V) {
    have = lane_share(ring, have, side);
  } else if (ring.split != Split::None && !join(ring, pushed, have)) {
    return "the lanes pushed halves that are valid in " + valid_text(pushed[0]) + " and " + valid_text(pushed[1]) +
           ", which together are no rectangle";
  }
  // Of an empty region only that it is empty counts.
  if (have == expected || (is_empty(have) && is_empty(expected))) {
    return "";
  }
  const bool shared = ring.split != Split::None && ring.direction == RingDirection::C2V;
  return "what " + side_text(side) + " gets of " +
         (shared ? "a tile pushed with " + valid_text(pushed[0]) : "the tile") + " is valid in " + valid_text(have) +
         ", the pop expects " + valid_text(expected);
}

std::string ring_wait(const isa::Ring& ring, bool push, int64_t held) {
  return (push ? "for room in ring `" : "for a tile from ring `") + ring.name + "`, " + std::to_string(held) + " of " +
         std::to_string(ring.slots) + " slots full,";
}

}  // namespace pto::runtime
