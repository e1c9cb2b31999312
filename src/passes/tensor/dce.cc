// Removes operations of graphs and kernels whose results nobody uses. Stores, assignments, calls and loops stay.
#include <set>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

bool has_effect(ir::OpKind kind) {
  using ir::OpKind;
  return kind == OpKind::Assign || kind == OpKind::Store || kind == OpKind::Call || kind == OpKind::For ||
         kind == OpKind::Parallel || kind == OpKind::Yield || kind == OpKind::If || kind == OpKind::Let;
}

}  // namespace

PassResult eliminate_dead_code(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    if (function.kind == ir::FunctionKind::Core || function.kind == ir::FunctionKind::Program) {
      continue;
    }
    // One op's removal can make another's results unused: repeat until nothing goes.
    for (bool again = true; again;) {
      again = false;
      const Uses uses = uses_of(function);
      rewrite_region(function, function.body, [&](ir::OpId id) -> std::vector<ir::OpId> {
        const ir::Op& op = function.ops[id];
        bool used = has_effect(op.kind);
        for (ir::ValueId result : op.results) {
          used = used || uses.count(result) != 0;
        }
        if (used) {
          return {id};
        }
        again = changed = true;
        return {};
      });
    }
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
