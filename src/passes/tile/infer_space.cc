// Gives every tile of a kernel a memory and a layout. What a matrix product needs decides: its operands stand in the
// left and right memories, its sum in the accumulator, a bias row in the bias memory; everything else is vector memory.
// Loads for the matrix core go to the L1 memory (`mat`) and are moved on from there. What is written in the program is
// kept.
#include <algorithm>
#include <set>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

Layout layout_in(Space space, const ir::Type& type, const Target& target) {
  switch (space) {
    case Space::Mat:
      return type.rows == 1 ? Layout::ND : Layout::Nz;  // one row: a bias
    case Space::Acc:
      return Layout::Nz;
    case Space::Left:
      return target.left_layout;
    case Space::Right:
      return Layout::Zn;
    default:
      return type.cols == 1 && type.rows > 1 ? Layout::DN : Layout::ND;
  }
}

class SpaceInference {
 public:
  SpaceInference(PassContext& context, ir::Function& kernel)
      : context_(context), kernel_(kernel), uses_(uses_of(kernel)) {}

  bool run();
  bool changed() const { return changed_; }

 private:
  void place(ValueId value, Space space);
  bool in(ValueId value, Space space) const { return kernel_.type(value).space == space; }
  bool spread_accumulators();
  bool place_rest(OpId id);
  bool is_matrix_use(OpId use, ValueId value) const;
  ValueId move(ValueId value, Space space, std::vector<OpId>& before, const std::vector<Span>& spans);
  std::vector<OpId> insert_moves(OpId id);
  bool mixed(const Op& op);

  PassContext& context_;
  ir::Function& kernel_;
  Uses uses_;
  bool changed_ = false;
};

void SpaceInference::place(ValueId value, Space space) {
  ir::Type& type = kernel_.values[value].type;
  if (!type.is_tile()) {
    return;
  }
  if (type.space == Space::None) {
    type.space = space;
    changed_ = true;
  }
  if (type.layout == Layout::None) {
    type.layout = layout_in(type.space, type, context_.target);
    changed_ = true;
  }
}

bool SpaceInference::mixed(const Op& op) {
  context_.sink.report(DiagId::MixedKernel, op.span(), {kernel_.name})
      .help("split it in two kernels, or write it as a graph: the compiler then makes a task of each");
  return false;
}

// Sums of products, and whatever they are carried through. True if something new was placed.
bool SpaceInference::spread_accumulators() {
  bool again = false;
  auto accumulator = [&](ValueId value) {
    if (kernel_.type(value).is_tile() && in(value, Space::None)) {
      place(value, Space::Acc);
      again = true;
    }
  };
  for_each_op(kernel_, [&](OpId id) {
    const Op& op = kernel_.ops[id];
    if (op.kind == OpKind::MatMul || op.kind == OpKind::MatMulBias) {
      accumulator(op.results[0]);
      if (op.kind == OpKind::MatMul && op.operands.size() == 3) {
        accumulator(op.operands[2]);
      }
    }
    if (op.kind == OpKind::Cast && in(op.operands[0], Space::Acc)) {
      accumulator(op.results[0]);
    }
    if (op.kind == OpKind::For) {
      const ir::Region& body = kernel_.regions[op.regions[0]];
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const ValueId yielded = kernel_.ops[body.ops.back()].operands[i];
        const ValueId chain[] = {op.operands[i], body.args[i], yielded, op.results[i]};
        if (std::any_of(std::begin(chain), std::end(chain), [&](ValueId v) { return in(v, Space::Acc); })) {
          std::for_each(std::begin(chain), std::end(chain), accumulator);
        }
      }
    }
  });
  return again;
}

bool SpaceInference::is_matrix_use(OpId use, ValueId value) const {
  const Op& op = kernel_.ops[use];
  if (op.kind == OpKind::MatMul || op.kind == OpKind::MatMulBias) {
    return true;
  }
  if (op.kind == OpKind::Broadcast) {
    return in(op.results[0], Space::Acc);
  }
  const Space to = op.results.empty() ? Space::None : kernel_.type(op.results[0]).space;
  return (op.kind == OpKind::Move || op.kind == OpKind::Extract) && op.operands[0] == value && to != Space::Vec &&
         to != Space::None;
}

bool SpaceInference::place_rest(OpId id) {
  const Op& op = kernel_.ops[id];
  for (ValueId result : op.results) {
    if (!kernel_.type(result).is_tile()) {
      continue;
    }
    Space space = Space::Vec;
    if (op.kind == OpKind::Load || op.kind == OpKind::FillPad) {
      const auto uses = uses_.find(result);
      if (uses != uses_.end()) {
        const auto matrix = std::count_if(uses->second.begin(), uses->second.end(),
                                          [&](OpId use) { return is_matrix_use(use, result); });
        if (matrix != 0 && matrix != static_cast<std::ptrdiff_t>(uses->second.size())) {
          return mixed(op);
        }
        space = matrix != 0 ? Space::Mat : Space::Vec;
      }
    }
    place(result, space);
  }
  if (op.kind == OpKind::For) {
    for (ValueId arg : kernel_.regions[op.regions[0]].args) {
      place(arg, Space::Vec);
    }
  }
  return true;
}

ValueId SpaceInference::move(ValueId value, Space space, std::vector<OpId>& before, const std::vector<Span>& spans) {
  if (in(value, space)) {
    return value;
  }
  ir::Type type = kernel_.type(value);
  type.space = space;
  type.layout = layout_in(space, type, context_.target);
  Op op;
  op.kind = OpKind::Move;
  op.operands = {value};
  op.results = {kernel_.add_value(type, kernel_.values[value].name)};
  op.spans = spans;
  const ValueId result = op.results[0];
  before.push_back(make_op(kernel_, std::move(op)));
  changed_ = true;
  return result;
}

std::vector<OpId> SpaceInference::insert_moves(OpId id) {
  std::vector<OpId> ops;
  const Op op = kernel_.ops[id];
  if (op.kind == OpKind::MatMul || op.kind == OpKind::MatMulBias) {
    const ValueId left = move(op.operands[0], Space::Left, ops, op.spans);
    const ValueId right = move(op.operands[1], Space::Right, ops, op.spans);
    kernel_.ops[id].operands[0] = left;
    kernel_.ops[id].operands[1] = right;
    if (op.kind == OpKind::MatMulBias) {
      const ValueId bias = move(op.operands[2], Space::Bias, ops, op.spans);
      kernel_.ops[id].operands[2] = bias;
    }
  } else if (op.kind == OpKind::Broadcast && in(op.results[0], Space::Acc)) {
    const ValueId bias = move(op.operands[0], Space::Bias, ops, op.spans);
    kernel_.ops[id].operands[0] = bias;
  }
  ops.push_back(id);
  return ops;
}

bool SpaceInference::run() {
  while (spread_accumulators()) {
  }
  bool ok = true;
  for_each_op(kernel_, [&](OpId id) { ok = ok && place_rest(id); });
  if (!ok) {
    return false;
  }
  rewrite_region(kernel_, kernel_.body, [&](OpId id) { return insert_moves(id); });
  return true;
}

}  // namespace

PassResult infer_space(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    if (function.kind != ir::FunctionKind::Kernel) {
      continue;
    }
    SpaceInference inference(context, function);
    if (!inference.run()) {
      return PassResult::Failed;
    }
    changed = changed || inference.changed();
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
