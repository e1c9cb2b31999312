// The dataflow part of lifetimes.h: one buffer at a time, over the regions of a core that touch it, so that the cost
// follows the number of accesses and not the size of the program times the number of buffers.
//
// What is pending at a point (some later instruction reads it before anything writes it) is a bit set. A buffer with
// one slot has one bit. Otherwise every distinct slot expression is a name with a bit of its own, which only a write of
// the same expression settles; where a loop changes what the expression means, it becomes "any slot", which no write
// settles.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "pto/isa.h"
#include "src/ir/ir.h"
#include "src/passes/block/lifetimes.h"

namespace pto::passes {

inline constexpr uint32_t kAnySlot = uint32_t{1} << 31;

// One instruction's use of one buffer.
struct BufferUse {
  int position = 0;
  int region = 0;
  isa::Pipe pipe = isa::Pipe::S;
  uint32_t reads = 0;  // names
  uint32_t kills = 0;  // names that it writes wholly
  bool writes = false;
  bool at_read_only = true;   // element by element: what it reads may be overwritten at once
  bool at_write_only = true;  // it needs the bytes from its write on
};

// Regions, loops and branches of a core, numbered in program order.
struct CodeShape {
  struct Region {
    int node = -1;  // the loop or branch whose body it is; -1: the core's
    int begin = 0;  // positions [begin, end)
    int end = 0;
    int last_inside = 0;  // regions index .. last_inside are nested in it
  };
  struct Node {
    bool loop = false;
    int region = 0;  // where it stands
    std::vector<int> bodies;
    SymId symbol;  // loops
    ExprId first;
    bool surely_runs = false;
    ExprId condition;       // branches
    std::vector<int> asks;  // loops whose variables the condition mentions
  };
  std::vector<Region> regions;
  std::vector<Node> nodes;
  std::vector<int> symbol_region;  // by SymId: the region that defines it; -1: it holds in the whole core

  static bool surely_runs(const ir::Function& core, const ir::Op& loop);
  const Region& body_of(int loop) const {
    return regions[static_cast<size_t>(nodes[static_cast<size_t>(loop)].bodies[0])];
  }
  bool in_loop(int region) const;
};

// Unsorted parts of the life, in half points. `dependent`: for a region that defines a symbol, the names that mention
// it.
LiveRanges live_halves(const ir::Function& core, const CodeShape& shape, const std::vector<BufferUse>& accesses,
                       const std::vector<std::pair<int, uint32_t>>& dependent);

}  // namespace pto::passes
