// Chooses the buffer depth of loops that don't say one: of 1, 2 and 3 the smallest with which the loop takes least time
// by the cost model (analysis/loop_cost.h), inner loops first. Where the buffers then don't fit, the loop that loses
// least by it gives way. A depth that is written is kept if it fits, else lowered with a remark that says by how much
// it didn't.
#include <algorithm>

#include "src/passes/analysis/loop_cost.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/select.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;

constexpr int64_t kDeepest = 3;
constexpr double kGainWorthBuffers = 0.99;  // of the time with a buffer less

struct Loop {
  OpId id;
  int64_t written = 0;
  int64_t around = 1;  // how often it is started
};

// nullopt: it fits. Selection errors are reported by the selection pass itself: then there is nothing to choose.
std::optional<Overflow> try_depths(const ir::Function& kernel, const PassContext& context, bool& selected) {
  const Target& target = context.target;
  DiagnosticSink ignored;
  auto core = select_kernel(kernel, target, context.options.split_lanes, ignored);
  selected = core.has_value();
  return core ? place_buffers(*core, target, context.options.reuse_memory) : std::nullopt;
}

class Chooser {
 public:
  Chooser(PassContext& context, ir::Function& kernel)
      : context_(context), kernel_(kernel), costs_(kernel, context.target) {
    collect(kernel.body, 1);
  }

  bool run() {
    // Inner loops first: what they take decides about those around them.
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      Op& op = kernel_.ops[loop->id];
      if (op.pipeline == 0) {
        op.pipeline = !costs_.moves_data(op)          ? 1
                      : context_.options.pipeline > 0 ? context_.options.pipeline
                                                      : best_depth(*loop);
        changed_ = true;
      }
    }
    lower_chosen();
    lower_written();
    return changed_;
  }

 private:
  void collect(ir::RegionId region, int64_t around) {
    for (OpId id : kernel_.regions[region].ops) {
      const Op& op = kernel_.ops[id];
      const bool loop = op.kind == OpKind::Parallel || op.kind == OpKind::For;
      if (loop) {
        loops_.push_back({id, op.pipeline, around});
      }
      const int64_t inside =
          loop ? std::min<int64_t>(int64_t{1} << 20, around * std::min<int64_t>(costs_.trips(op), 1 << 20)) : around;
      for (ir::RegionId inner : op.regions) {
        collect(inner, inside);
      }
    }
  }

  int64_t best_depth(const Loop& loop) const {
    int64_t best = 1;
    for (int64_t depth = 2; depth <= kDeepest; ++depth) {
      if (static_cast<double>(costs_.time(loop.id, depth, loop.around)) <
          kGainWorthBuffers * static_cast<double>(costs_.time(loop.id, best, loop.around))) {
        best = depth;
      }
    }
    return best;
  }

  // What the kernel loses when the loop is one less deep.
  double loss(const Loop& loop) const {
    const int64_t depth = kernel_.ops[loop.id].pipeline;
    return static_cast<double>(costs_.time(loop.id, depth - 1, loop.around) - costs_.time(loop.id, depth, loop.around));
  }

  void lower_chosen() {
    bool selected = false;
    while (auto overflow = try_depths(kernel_, context_, selected)) {
      std::vector<const Loop*> deep;
      for (const Loop& loop : loops_) {
        if (loop.written == 0 && kernel_.ops[loop.id].pipeline > 1) {
          deep.push_back(&loop);
        }
      }
      if (deep.empty()) {
        return;
      }
      std::stable_sort(deep.begin(), deep.end(), [&](const Loop* a, const Loop* b) { return loss(*a) < loss(*b); });
      // The cheapest that makes the memory fuller than it can be less full; if none does, just the cheapest.
      const Loop* victim = deep.front();
      for (const Loop* loop : deep) {
        --kernel_.ops[loop->id].pipeline;
        const auto left = try_depths(kernel_, context_, selected);
        ++kernel_.ops[loop->id].pipeline;
        if (!left || left->space != overflow->space || left->needed < overflow->needed) {
          victim = loop;
          break;
        }
      }
      --kernel_.ops[victim->id].pipeline;
      changed_ = true;
    }
  }

  // Outer loops give way first.
  void lower_written() {
    for (const Loop& loop : loops_) {
      Op& op = kernel_.ops[loop.id];
      bool selected = false;
      std::optional<Overflow> overflow;
      while (loop.written != 0 && op.pipeline > 1 && (overflow = try_depths(kernel_, context_, selected)) && selected) {
        context_.sink.report(
            DiagId::PipelineLowered, op.span(),
            {std::to_string(op.pipeline), std::to_string(op.pipeline - 1), std::to_string(overflow->needed),
             std::string(spelling(overflow->space)), std::to_string(overflow->available),
             std::to_string(overflow->needed - overflow->available)});
        --op.pipeline;
        changed_ = true;
      }
    }
  }

  PassContext& context_;
  ir::Function& kernel_;
  LoopCosts costs_;
  std::vector<Loop> loops_;  // outer before inner
  bool changed_ = false;
};

}  // namespace

PassResult choose_pipeline(PassContext& context) {
  bool changed = false;
  for (ir::Function& kernel : context.module.functions) {
    if (kernel.kind == ir::FunctionKind::Kernel) {
      changed = Chooser(context, kernel).run() || changed;
    }
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
