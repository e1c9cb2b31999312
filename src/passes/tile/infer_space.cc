// Gives every tile of a kernel a memory and a layout. What a matrix product needs decides: its operands stand in the
// left and right memories, its sum in the accumulator, a bias row in the bias memory; everything else is vector memory.
// Loads for the matrix core go to the L1 memory (`mat`) and are moved on from there. What is written in the program is
// kept. Where vector work uses a sum, or a product a vector tile, a `move` right behind the tile's definition takes it
// to the other core of the cluster; a tile that both kinds of core load is loaded by both.
#include <algorithm>
#include <iterator>
#include <map>

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

  void run();
  bool changed() const { return changed_; }

 private:
  void place(ValueId value, Space space);
  bool in(ValueId value, Space space) const { return kernel_.type(value).space == space; }
  bool spread_accumulators();
  bool spread_vectors();
  bool is_vector_work(ValueId value) const;
  void find_joins();
  void place_rest(OpId id);
  void load_twice();
  bool is_matrix_use(OpId use, ValueId value) const;
  bool needs_accumulator(const Op& cast) const;
  ValueId move(ValueId value, Space space, std::vector<OpId>& before, const std::vector<Span>& spans);
  ValueId to_mat(ValueId value, std::vector<OpId>& before, const std::vector<Span>& spans);
  void cross(OpId id, ValueId value, std::vector<OpId>& behind);
  std::vector<OpId> insert_crossings(OpId id);
  std::vector<OpId> insert_moves(OpId id);
  bool works_on(OpId use, ValueId value, CoreKind kind) const;

  PassContext& context_;
  ir::Function& kernel_;
  Uses uses_;
  std::map<OpId, OpId> joins_;  // yields and loops: the loop or branch whose results their operands become
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

// A cast that the fixpipe does on the way out: its result only leaves the accumulator for global memory or for another
// product.
bool SpaceInference::needs_accumulator(const Op& cast) const {
  const auto uses = uses_.find(cast.results[0]);
  return cast.round == isa::Round::Rint && uses != uses_.end() &&
         std::all_of(uses->second.begin(), uses->second.end(), [&](OpId use) {
           const Op& op = kernel_.ops[use];
           return op.kind == OpKind::Store || ir::is_matmul(op.kind) || op.kind == OpKind::Move;
         });
}

// Made by the vector unit, whoever needs it?
bool SpaceInference::is_vector_work(ValueId value) const {
  const OpId def = kernel_.values[value].def;
  if (!def.valid() || in(value, Space::Vec)) {
    return in(value, Space::Vec);
  }
  switch (kernel_.ops[def].kind) {
    case OpKind::MatMul:
    case OpKind::MatMulBias:
    case OpKind::Full:
    case OpKind::Broadcast:
    case OpKind::Cast:
    case OpKind::Load:
    case OpKind::Move:
    case OpKind::Extract:
    case OpKind::For:
    case OpKind::If:
      return false;
    default:
      return true;
  }
}

// What a loop or branch joins with vector work is in vector memory; a sum among it is sent there.
bool SpaceInference::spread_vectors() {
  bool again = false;
  for_each_op(kernel_, [&](OpId id) {
    for (const std::vector<ValueId>& chain : joined_values(kernel_, kernel_.ops[id])) {
      if (std::none_of(chain.begin(), chain.end(), [&](ValueId v) { return is_vector_work(v); })) {
        continue;
      }
      for (ValueId value : chain) {
        const OpId def = kernel_.values[value].def;
        const bool product = def.valid() && ir::is_matmul(kernel_.ops[def].kind);
        if (kernel_.type(value).is_tile() && in(value, Space::None) && !product) {
          place(value, Space::Vec);
          again = true;
        }
      }
    }
  });
  return again;
}

// For every yield and every initial value the tile that it becomes.
void SpaceInference::find_joins() {
  for_each_op(kernel_, [&](OpId id) {
    const Op& op = kernel_.ops[id];
    if (op.kind != OpKind::For && op.kind != OpKind::If) {
      return;
    }
    for (ir::RegionId region : op.regions) {
      const auto& ops = kernel_.regions[region].ops;
      if (!ops.empty() && kernel_.ops[ops.back()].kind == OpKind::Yield) {
        joins_[ops.back()] = id;
      }
    }
    if (op.kind == OpKind::For) {
      joins_[id] = id;
    }
  });
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
    if (ir::is_matmul(op.kind)) {
      accumulator(op.results[0]);
      if (op.kind == OpKind::MatMul && op.operands.size() == 3) {
        accumulator(op.operands[2]);
      }
    }
    if (op.kind == OpKind::Cast && in(op.operands[0], Space::Acc) && needs_accumulator(op)) {
      accumulator(op.results[0]);
    }
    for (const std::vector<ValueId>& chain : joined_values(kernel_, op)) {
      if (std::any_of(chain.begin(), chain.end(), [&](ValueId v) { return in(v, Space::Acc); }) &&
          std::none_of(chain.begin(), chain.end(), [&](ValueId v) { return in(v, Space::Vec); })) {
        std::for_each(chain.begin(), chain.end(), accumulator);
      }
    }
  });
  return again;
}

bool SpaceInference::is_matrix_use(OpId use, ValueId value) const {
  const Op& op = kernel_.ops[use];
  if (ir::is_matmul(op.kind)) {
    return true;
  }
  if (op.kind == OpKind::Broadcast) {
    return in(op.results[0], Space::Acc);
  }
  const Space to = op.results.empty() ? Space::None : kernel_.type(op.results[0]).space;
  return (op.kind == OpKind::Move || op.kind == OpKind::Extract) && op.operands[0] == value && to != Space::Vec &&
         to != Space::None;
}

// Does this use happen on that kind of core? What loops and branches join happens where the joined tile is.
bool SpaceInference::works_on(OpId use, ValueId value, CoreKind kind) const {
  const Op& op = kernel_.ops[use];
  if (op.kind == OpKind::If || op.kind == OpKind::Store) {
    return false;
  }
  const auto join = joins_.find(use);
  if (join != joins_.end()) {
    const Op& joined = kernel_.ops[join->second];
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] == value && context_.target.space(kernel_.type(joined.results[i]).space).core == kind) {
        return true;
      }
    }
    return false;
  }
  if (is_matrix_use(use, value)) {
    return kind == CoreKind::Cube;
  }
  const Space to = op.results.empty() ? Space::None : kernel_.type(op.results[0]).space;
  return context_.target.space(to).core == kind;
}

void SpaceInference::place_rest(OpId id) {
  const Op& op = kernel_.ops[id];
  for (ValueId result : op.results) {
    if (!kernel_.type(result).is_tile()) {
      continue;
    }
    Space space = Space::Vec;
    if (op.kind == OpKind::Load || op.kind == OpKind::FillPad) {
      const auto uses = uses_.find(result);
      if (uses != uses_.end()) {
        const bool matrix =
            std::all_of(uses->second.begin(), uses->second.end(), [&](OpId use) { return is_matrix_use(use, result); });
        space = matrix ? Space::Mat : Space::Vec;
      }
    }
    place(result, space);
  }
  if (op.kind == OpKind::For) {
    for (ValueId arg : kernel_.regions[op.regions[0]].args) {
      place(arg, Space::Vec);
    }
  }
}

// A load whose tile both kinds of core use becomes two: that costs a load, a ring would cost a store and a load.
void SpaceInference::load_twice() {
  rewrite_region(kernel_, kernel_.body, [&](OpId id) {
    std::vector<OpId> ops = {id};
    const Op op = kernel_.ops[id];
    if (op.kind != OpKind::Load || !in(op.results[0], Space::None)) {
      return ops;
    }
    const ValueId tile = op.results[0];
    const auto found = uses_.find(tile);
    const std::vector<OpId> uses = found == uses_.end() ? std::vector<OpId>{} : found->second;
    const auto matrix = std::count_if(uses.begin(), uses.end(), [&](OpId use) { return is_matrix_use(use, tile); });
    if (matrix == 0 || matrix == static_cast<std::ptrdiff_t>(uses.size())) {
      return ops;
    }
    Op second = op;
    second.results = {kernel_.add_value(kernel_.type(tile), kernel_.values[tile].name)};
    const ValueId copy = second.results[0];
    ops.push_back(make_op(kernel_, std::move(second)));
    for (OpId use : uses) {
      if (is_matrix_use(use, tile)) {
        std::replace(kernel_.ops[use].operands.begin(), kernel_.ops[use].operands.end(), tile, copy);
      }
    }
    changed_ = true;
    return ops;
  });
  uses_ = uses_of(kernel_);
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

// Where a product takes its operand from: the L1 memory.
ValueId SpaceInference::to_mat(ValueId value, std::vector<OpId>& before, const std::vector<Span>& spans) {
  return in(value, Space::Acc) ? move(value, Space::Mat, before, spans) : value;
}

// Sends a tile to the other core where that works on it, right behind its definition, and lets the uses there have it.
void SpaceInference::cross(OpId id, ValueId value, std::vector<OpId>& behind) {
  const ir::Type& type = kernel_.type(value);
  const auto found = uses_.find(value);
  if (!type.is_tile() || found == uses_.end() || (type.space != Space::Acc && type.space != Space::Vec)) {
    return;
  }
  const CoreKind other = type.space == Space::Acc ? CoreKind::Vec : CoreKind::Cube;
  std::vector<OpId> there;
  std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(there),
               [&](OpId use) { return works_on(use, value, other) && kernel_.ops[use].kind != OpKind::Move; });
  if (there.empty()) {
    return;
  }
  const ValueId sent = move(value, other == CoreKind::Vec ? Space::Vec : Space::Mat, behind, kernel_.ops[id].spans);
  for (OpId use : there) {
    std::replace(kernel_.ops[use].operands.begin(), kernel_.ops[use].operands.end(), value, sent);
  }
}

std::vector<OpId> SpaceInference::insert_crossings(OpId id) {
  std::vector<OpId> ops;
  if (kernel_.ops[id].kind == OpKind::For) {
    // What a loop carries is sent at the start of its body.
    const ir::RegionId body = kernel_.ops[id].regions[0];
    std::vector<OpId> first;
    for (ValueId arg : std::vector<ValueId>(kernel_.regions[body].args)) {
      cross(id, arg, first);
    }
    kernel_.regions[body].ops.insert(kernel_.regions[body].ops.begin(), first.begin(), first.end());
  }
  ops.push_back(id);
  for (ValueId result : std::vector<ValueId>(kernel_.ops[id].results)) {
    cross(id, result, ops);
  }
  return ops;
}

std::vector<OpId> SpaceInference::insert_moves(OpId id) {
  std::vector<OpId> ops;
  const Op op = kernel_.ops[id];
  if (ir::is_matmul(op.kind)) {
    auto operand = [&](size_t i, Space space) {
      ValueId value = kernel_.ops[id].operands[i];
      if (!in(value, space)) {
        value = move(to_mat(value, ops, op.spans), space, ops, op.spans);
      }
      kernel_.ops[id].operands[i] = value;
    };
    operand(0, Space::Left);
    operand(1, Space::Right);
    if (op.kind == OpKind::MatMulBias) {
      operand(2, Space::Bias);
    }
  } else if (op.kind == OpKind::Broadcast && in(op.results[0], Space::Acc)) {
    const ValueId bias = move(op.operands[0], Space::Bias, ops, op.spans);
    kernel_.ops[id].operands[0] = bias;
  }
  ops.push_back(id);
  return ops;
}

void SpaceInference::run() {
  find_joins();
  while (spread_vectors() || spread_accumulators()) {
  }
  load_twice();
  for_each_op(kernel_, [&](OpId id) { place_rest(id); });
  rewrite_region(kernel_, kernel_.body, [&](OpId id) { return insert_crossings(id); });
  rewrite_region(kernel_, kernel_.body, [&](OpId id) { return insert_moves(id); });
}

}  // namespace

PassResult infer_space(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    if (function.kind != ir::FunctionKind::Kernel) {
      continue;
    }
    SpaceInference inference(context, function);
    inference.run();
    changed = changed || inference.changed();
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
