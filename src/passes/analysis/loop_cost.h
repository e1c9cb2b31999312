// What a loop of a kernel costs an iteration, by the depth of its pipeline: the busiest pipe is a lower bound, and so
// is the time that a tile occupies its buffer, shared between as many buffers as the loop is deep. Costs of operations
// are those of the instructions that do them (src/timing). Extents that are not known count as whole tiles, trip counts
// as a few.
#pragma once

#include <array>
#include <map>

#include "pto/target.h"
#include "src/ir/ir.h"
#include "src/timing/timing.h"

namespace pto::passes {

// Time by pipe of both kinds of core.
using PipeTimes = std::array<timing::Ticks, 2 * isa::kPipeCount>;

class LoopCosts {
 public:
  LoopCosts(const ir::Function& kernel, const Target& target) : kernel_(kernel), target_(target) {}

  // Does the loop itself move data, so that iterations can overlap?
  bool moves_data(const ir::Op& loop) const;
  // Of all iterations, when the loop is started `starts` times in a row. Depths of the loops inside are the `pipeline`
  // of their ops.
  timing::Ticks time(ir::OpId loop, int64_t depth, int64_t starts) const;
  // How often the loop's body starts another loop's: product of the trips of the loops around it.
  int64_t trips(const ir::Op& loop) const;

 private:
  struct Cost {
    PipeTimes pipes = {};
    timing::Ticks busy = 0;
    timing::Ticks latency = 0;
  };
  Cost cost_of(ir::OpId op) const;
  Cost instruction(const ir::Op& op) const;
  Cost loop(const ir::Op& op, int64_t depth, int64_t starts) const;
  Cost region(ir::RegionId region) const;
  void add_uses(ir::OpId id, size_t position, std::map<ir::ValueId, std::vector<size_t>>& uses) const;

  const ir::Function& kernel_;
  const Target& target_;
};

}  // namespace pto::passes
