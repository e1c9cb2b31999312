// Chooses the buffer depth of loops that don't say one, by trying: two where the kernel's buffers then fit, outer loops
// giving way first. A depth that is written is kept if it fits, else lowered with a remark that says by how much it
// didn't.
#include <algorithm>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/select.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;

// Does the loop itself move data, so that iterations can overlap?
bool moves_data(const ir::Function& kernel, const Op& loop) {
  const auto& ops = kernel.regions[loop.regions[0]].ops;
  return std::any_of(ops.begin(), ops.end(), [&](OpId id) {
    const OpKind kind = kernel.ops[id].kind;
    return kind == OpKind::Load || kind == OpKind::Store || kind == OpKind::Move || kind == OpKind::Extract;
  });
}

// nullopt: it fits. Selection errors are reported by the selection pass itself: then there is nothing to choose.
std::optional<Overflow> try_depths(const ir::Function& kernel, const PassContext& context, bool& selected) {
  const Target& target = context.target;
  DiagnosticSink ignored;
  auto core = select_kernel(kernel, target, context.options.split_lanes, ignored);
  selected = core.has_value();
  return core ? place_buffers(*core, target) : std::nullopt;
}

}  // namespace

PassResult choose_pipeline(PassContext& context) {
  bool changed = false;
  for (ir::Function& kernel : context.module.functions) {
    if (kernel.kind != ir::FunctionKind::Kernel) {
      continue;
    }
    std::vector<OpId> loops;  // outer before inner
    std::vector<int64_t> written;
    for_each_op(kernel, [&](OpId id) {
      const Op& op = kernel.ops[id];
      if (op.kind == OpKind::Parallel || op.kind == OpKind::For) {
        loops.push_back(id);
        written.push_back(op.pipeline);
      }
    });
    for (OpId id : loops) {
      Op& loop = kernel.ops[id];
      if (loop.pipeline == 0) {
        const int64_t depth = context.options.pipeline > 0 ? context.options.pipeline : 2;
        loop.pipeline = moves_data(kernel, loop) ? depth : 1;
        changed = true;
      }
    }
    // Lower the first loop that is deeper than one until everything fits: what nobody wrote gives way before what
    // somebody did.
    for (bool only_chosen : {true, false}) {
      for (size_t i = 0; i < loops.size(); ++i) {
        Op& loop = kernel.ops[loops[i]];
        bool selected = false;
        std::optional<Overflow> overflow;
        while (loop.pipeline > 1 && (written[i] == 0) == only_chosen &&
               (overflow = try_depths(kernel, context, selected)) && selected) {
          if (!only_chosen) {
            context.sink.report(
                DiagId::PipelineLowered, loop.span(),
                {std::to_string(loop.pipeline), std::to_string(loop.pipeline - 1), std::to_string(overflow->needed),
                 std::string(spelling(overflow->space)), std::to_string(overflow->available),
                 std::to_string(overflow->needed - overflow->available)});
          }
          --loop.pipeline;
          changed = true;
        }
      }
    }
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
