// Gives every buffer of an `auto core` an address; see memory_plan.h for how. Addresses that are written in the program
// stay.
#include <algorithm>

#include "src/passes/block/memory_overflow.h"
#include "src/passes/block/memory_plan.h"
#include "src/passes/block/select.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

void apply(const MemoryPlan& plan, ir::Function& core) {
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    core.buffers[i].address = plan.addresses[i];
  }
}

}  // namespace

std::optional<Overflow> place_buffers(ir::Function& core, const Target& target, bool reuse) {
  const MemoryPlan plan = plan_buffers(core, target, reuse);
  apply(plan, core);
  std::optional<Overflow> overflow;
  for (const SpacePlan& space : plan.spaces) {
    if (!space.fits() && (!overflow || space.peak - space.capacity > overflow->needed - overflow->available)) {
      overflow = Overflow{space.space, space.peak, space.capacity};
    }
  }
  return overflow;
}

PassResult plan_memory(PassContext& context) {
  bool changed = false;
  bool fits = true;
  for (ir::Function& function : context.module.functions) {
    const bool unplaced = std::any_of(function.buffers.begin(), function.buffers.end(),
                                      [](const isa::Buffer& buffer) { return buffer.address < 0; });
    if (function.kind != ir::FunctionKind::Core || !unplaced) {
      continue;
    }
    const bool reuse = context.options.reuse_memory;
    const MemoryPlan plan = plan_buffers(function, context.target, reuse);
    for (const SpacePlan& space : plan.spaces) {
      if (!space.fits()) {
        report_overflow(function, context.target, plan, space, reuse, context.sources, context.sink);
        fits = false;
      }
    }
    apply(plan, function);
    changed = true;
  }
  return !fits ? PassResult::Failed : changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
