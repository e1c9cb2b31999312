// The memory plan of one core: an address for every buffer, and for each memory what it takes and how far that is from
// the least possible. The pass, the choice of pipeline depths, the overflow message and the memory report all ask here.
#pragma once

#include <cstdint>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"
#include "src/passes/block/lifetimes.h"

namespace pto::passes {

struct SpacePlan {
  Space space = Space::None;
  int64_t capacity = 0;
  int64_t peak = 0;       // highest end of a buffer
  int64_t bound = 0;      // most bytes live at one point: no plan has a lower peak
  int64_t apart = 0;      // what it would take if every buffer had bytes of its own
  int64_t crossings = 0;  // pairs of buffers that share bytes and need a flag to hand them over
  bool fits() const { return peak <= capacity; }
};

struct MemoryPlan {
  CoreLives lives;
  std::vector<int64_t> addresses;  // by buffer
  std::vector<SpacePlan> spaces;   // those that have buffers, in the order of Space
};

// Buffers that the instructions of a core don't tell the life of: memory of a local ring belongs to the other core too,
// and buffers that somebody placed on the same bytes are meant to share them.
std::vector<bool> reserved_buffers(const ir::Function& core, const Target& target);

// Addresses that are written stay. Without `reuse`, no two buffers share bytes.
MemoryPlan plan_buffers(const ir::Function& core, const Target& target, bool reuse = true);

// false: this memory is too small, whatever the plan.
bool may_fit(const ir::Function& core, const Target& target, Space space);

// The plan that a placed core has.
MemoryPlan measure_buffers(const ir::Function& core, const Target& target);

}  // namespace pto::passes
