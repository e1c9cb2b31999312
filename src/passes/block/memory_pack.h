// Packing: items with a size and the program positions at which they hold something, into one memory. Items that are
// never live together may share bytes. The question is NP-hard; the answer here is the best of several greedy orders
// and of a search with a fixed number of steps, and says how far it may be from the best: no packing has a lower peak
// than the most bytes live at one position. Depends on nothing of the IR.
#pragma once

#include <cstdint>
#include <vector>

#include "src/passes/block/lifetimes.h"

namespace pto::passes {

struct PackItem {
  int64_t bytes = 0;
  int64_t address = -1;  // where it must be; -1: anywhere
  LiveRanges positions;  // empty: never used
  // Pipes of the instructions that end and begin its life, and whether it comes again and again: what sharing costs.
  uint32_t starts = 0;
  uint32_t ends = 0;
  bool in_loop = false;
};

struct PackProblem {
  std::vector<PackItem> items;
  int64_t align = 1;
  int64_t capacity = 0;  // what must not be exceeded if that can be helped
};

struct Packing {
  std::vector<int64_t> addresses;
  int64_t peak = 0;       // highest end of an item
  int64_t crossings = 0;  // pairs that share bytes and change hands between pipes: a flag each
};

// Among packings that fit the capacity, the one with the fewest crossings that was found, then the lowest; if none
// fits, the lowest.
Packing pack(const PackProblem& problem);

// For problems with too many conflicts for more than one look: first fit in order of time. Holes of a life stay taken,
// bytes of items with a fixed address are never used.
Packing pack_in_one_sweep(const PackProblem& problem);

// Every item has bytes of its own, in the order given.
Packing pack_apart(const PackProblem& problem);

// No packing has a lower peak.
int64_t packing_bound(const PackProblem& problem);

// Highest end of an item.
int64_t peak_of(const PackProblem& problem, const std::vector<int64_t>& addresses);

// What the sharing of a packing costs.
int64_t count_crossings(const PackProblem& problem, const std::vector<int64_t>& addresses);

// Sizes far beyond any memory are taken for this, so that sums can't overflow.
inline constexpr int64_t kMostBytes = int64_t{1} << 60;
inline int64_t end_of(int64_t address, int64_t bytes) {
  return address >= kMostBytes - bytes ? kMostBytes : address + bytes;
}

}  // namespace pto::passes
