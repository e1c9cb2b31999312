// Groups the operations of each graph; each group becomes a fused graph (one kernel later) and the graph a list of
// calls.
//
// Ops are taken in order. An op joins the last group among those of its operands, if that group can take it: an
// elementwise group takes elementwise ops and row reductions over the same iteration space, a matrix product takes a
// cast that is its only use (the store converts). Since a group only reads from earlier groups, calls in group order
// are always legal. Reshapes and constants belong to nobody: they are copied into the groups that use them.
#include <algorithm>
#include <set>

#include "pto/result.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"
#include "src/passes/tensor/iteration_space.h"

namespace pto::passes {

namespace {

using ir::FunctionKind;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::OpShape;
using ir::ValueId;

struct Group {
  bool matmul = false;
  std::vector<ExprId> space;  // iteration space of an elementwise group
  std::vector<OpId> ops;
  std::vector<ValueId> outputs;
};

bool is_elementwise(OpKind kind) {
  const OpShape shape = ir::op_info(kind).shape;
  return shape != OpShape::Special || kind == OpKind::Cast || kind == OpKind::Compare || kind == OpKind::Select ||
         kind == OpKind::Broadcast;
}
bool is_reduce(const Op& op) {
  return ir::op_info(op.kind).shape == OpShape::Reduce;
}
bool is_free(OpKind kind) {
  return kind == OpKind::Reshape || kind == OpKind::Full;
}
class Fuser {
 public:
  Fuser(PassContext& context, ir::Function& graph) : context_(context), graph_(graph) {
    sink_masks();
    uses_ = uses_of(graph);
  }

  bool run(std::vector<ir::Function>& fused);

 private:
  void sink_masks();
  const Op* mask_of(const Op& op) const;
  bool is_sunk(const Op& op) const;
  bool place(OpId id);
  void join(size_t group, OpId id);
  std::optional<size_t> group_of(ValueId value) const;
  bool fits_space(const Group& group, const Op& op) const;
  bool reshape_of_group(OpId id);
  void split_rows();
  bool escapes(ValueId value, const std::set<OpId>& inside) const;
  void find_outputs();
  void add_dim_carriers(ir::Function& fused, Cloner& cloner, std::set<std::string>& names, Op& call);
  ir::Function outline(const Group& group, size_t index, Op& call);
  void add_free_producers(ValueId value, Cloner& cloner, ir::Function& fused);
  ir::Param make_param(ir::Function& fused, Cloner& cloner, ValueId value, ir::ParamMode mode,
                       std::set<std::string>& names);

  PassContext& context_;
  ir::Function& graph_;
  Uses uses_;
  std::vector<Group> groups_;
  std::map<OpId, size_t> group_of_op_;
  size_t open_from_ = 0;  // groups before this one are closed
};

std::optional<size_t> Fuser::group_of(ValueId value) const {
  const OpId def = graph_.values[value].def;
  if (!def.valid()) {
    return std::nullopt;
  }
  const auto it = group_of_op_.find(def);
  if (it != group_of_op_.end()) {
    return it->second;
  }
  const Op& op = graph_.ops[def];
  return is_free(op.kind) && !op.operands.empty() ? group_of(op.operands[0]) : std::nullopt;
}

// The larger of the two spaces becomes the group's. What reduces runs over all of it.
bool Fuser::fits_space(const Group& group, const Op& op) const {
  const std::vector<ExprId>& space = space_of(graph_, op);
  if (related(graph_, group.space, space)) {
    return !is_reduce(op) || extent_in(graph_, group.space, space) == Extent::Full;
  }
  const bool grows = related(graph_, space, group.space);
  return grows && std::none_of(group.ops.begin(), group.ops.end(), [&](OpId id) { return is_reduce(graph_.ops[id]); });
}

void Fuser::join(size_t index, OpId id) {
  Group& group = groups_[index];
  const Op& op = graph_.ops[id];
  if (!group.matmul && op.kind != OpKind::Reshape) {
    const std::vector<ExprId> space = space_of(graph_, op);
    if (group.ops.empty() || (related(graph_, space, group.space) && space != group.space)) {
      group.space = space;
    }
  }
  group.ops.push_back(id);
  group_of_op_[id] = index;
}

// Masks stay inside their groups: each choice has a comparison of its own, right in front of it.
void Fuser::sink_masks() {
  const std::vector<OpId> before = graph_.body_region().ops;
  const Uses uses = uses_of(graph_);
  std::vector<OpId> ops;
  for (OpId id : before) {
    const Op& op = graph_.ops[id];
    if (op.kind == OpKind::Compare) {
      const auto users = uses.find(op.results[0]);
      if (users != uses.end() && std::all_of(users->second.begin(), users->second.end(),
                                             [&](OpId user) { return graph_.ops[user].kind == OpKind::Select; })) {
        continue;
      }
    }
    if (const Op* mask = mask_of(op)) {
      Op compare = *mask;
      const ValueId old = compare.results[0];
      const ValueId copy = graph_.add_value(ir::Type(graph_.type(old)), graph_.values[old].name);
      compare.results = {copy};
      ops.push_back(make_op(graph_, std::move(compare)));
      graph_.ops[id].operands[0] = copy;
    }
    ops.push_back(id);
  }
  graph_.body_region().ops = std::move(ops);
}

// The comparison that a choice goes by.
const Op* Fuser::mask_of(const Op& op) const {
  if (op.kind != OpKind::Select) {
    return nullptr;
  }
  const OpId def = graph_.values[op.operands[0]].def;
  return def.valid() && graph_.ops[def].kind == OpKind::Compare ? &graph_.ops[def] : nullptr;
}

// Placed together with its choice?
bool Fuser::is_sunk(const Op& op) const {
  if (op.kind != OpKind::Compare) {
    return false;
  }
  const auto users = uses_.find(op.results[0]);
  return users != uses_.end() && users->second.size() == 1 && graph_.ops[users->second[0]].kind == OpKind::Select;
}

bool Fuser::place(OpId id) {
  const Op& op = graph_.ops[id];
  if (op.kind == OpKind::Call) {
    open_from_ = groups_.size();  // what follows may depend on the call: it must not join a group that runs before
  }
  if (op.kind == OpKind::Assign || op.kind == OpKind::Call || is_free(op.kind) || is_sunk(op)) {
    return true;
  }
  const Op* mask = mask_of(op);
  std::vector<ValueId> operands = op.operands;
  if (mask != nullptr) {
    operands.insert(operands.end(), mask->operands.begin(), mask->operands.end());
  }
  auto join_all = [&](size_t group) {
    if (mask != nullptr) {
      join(group, graph_.values[op.operands[0]].def);
    }
    join(group, id);
  };
  std::optional<size_t> last;
  for (ValueId operand : operands) {
    const auto group = group_of(operand);
    last = std::max(last, group);
  }
  if (last && *last >= open_from_) {
    const Group& group = groups_[*last];
    const OpId producer = graph_.values[op.operands[0]].def;
    const bool converts_product = group.matmul && op.kind == OpKind::Cast && producer.valid() &&
                                  ir::is_matmul(graph_.ops[producer].kind) && uses_.at(op.operands[0]).size() == 1;
    // A value that reaches the op through a reshape is not in the group's iteration space: it has to be written out.
    const bool direct = std::all_of(operands.begin(), operands.end(), [&](ValueId v) {
      const OpId def = graph_.values[v].def;
      return !def.valid() || graph_.ops[def].kind != OpKind::Reshape || group_of(v) != last;
    });
    if (converts_product || (!group.matmul && is_elementwise(op.kind) && direct && fits_space(group, op))) {
      join_all(*last);
      return true;
    }
  }
  if (!is_elementwise(op.kind) && !ir::is_matmul(op.kind)) {
    context_.sink.report(DiagId::UnsupportedLowering, op.span(),
                         {"`" + std::string(ir::op_info(op.kind).spelling) + "`", "graphs can't hold it"});
    return false;
  }
  groups_.push_back({ir::is_matmul(op.kind), {}, {}, {}});
  join_all(groups_.size() - 1);
  return true;
}

bool Fuser::escapes(ValueId value, const std::set<OpId>& inside) const {
  const auto it = uses_.find(value);
  return it != uses_.end() &&
         std::any_of(it->second.begin(), it->second.end(), [&](OpId use) { return inside.count(use) == 0; });
}

// Blocks of a group share rows [N] over its space [..., N], so none of them can write one out. If a group must, its
// operations on rows, which depend on nothing else of it, become a group of their own before it.
void Fuser::split_rows() {
  for (size_t index = 0; index < groups_.size(); ++index) {
    const std::set<OpId> inside(groups_[index].ops.begin(), groups_[index].ops.end());
    Group rows;
    std::vector<OpId> rest;
    bool written = false;
    for (OpId id : groups_[index].ops) {
      // A comparison goes where its choice goes.
      const Op& op = is_sunk(graph_.ops[id]) ? graph_.ops[uses_.at(graph_.ops[id].results[0])[0]] : graph_.ops[id];
      const bool row =
          !groups_[index].matmul &&
          (op.kind == OpKind::Reshape
               ? std::find(rows.ops.begin(), rows.ops.end(), graph_.values[op.operands[0]].def) != rows.ops.end()
               : extent_in(graph_, groups_[index].space, space_of(graph_, op)) == Extent::Row);
      (row ? rows.ops : rest).push_back(id);
      written = written || (row && escapes(op.results[0], inside));
    }
    if (!written) {
      continue;
    }
    rows.space = space_of(graph_, graph_.ops[rows.ops.front()]);
    groups_[index].ops = std::move(rest);
    groups_.insert(groups_.begin() + static_cast<std::ptrdiff_t>(index), std::move(rows));
    ++index;
    for (size_t i = index - 1; i < groups_.size(); ++i) {
      for (OpId id : groups_[i].ops) {
        group_of_op_[id] = i;
      }
    }
  }
}

// A group's outputs are what other groups, calls and assignments read, looking through reshapes of outputs.
void Fuser::find_outputs() {
  for (Group& group : groups_) {
    const std::set<OpId> inside(group.ops.begin(), group.ops.end());
    for (OpId id : group.ops) {
      for (ValueId result : graph_.ops[id].results) {
        if (escapes(result, inside)) {
          group.outputs.push_back(result);
        }
      }
    }
  }
}

// Copies the reshapes and constants that lead from the group's inputs to `value`, unless it is mapped already.
void Fuser::add_free_producers(ValueId value, Cloner& cloner, ir::Function& fused) {
  if (cloner.has(value)) {
    return;
  }
  const OpId def = graph_.values[value].def;
  PTO_CHECK(def.valid() && is_free(graph_.ops[def].kind), "a group's operand is its own, an input, or free");
  for (ValueId operand : graph_.ops[def].operands) {
    add_free_producers(operand, cloner, fused);
  }
  cloner.clone(def, fused.body);
}

ir::Param Fuser::make_param(ir::Function& fused, Cloner& cloner, ValueId value, ir::ParamMode mode,
                            std::set<std::string>& names) {
  ir::Param param;
  std::string base = graph_.values[value].name.empty() ? "t" : graph_.values[value].name;
  for (OpId use : uses_[value]) {
    const Op& op = graph_.ops[use];
    if (op.kind == OpKind::Assign && mode == ir::ParamMode::Out) {
      base = graph_.values[op.operands[0]].name;  // what the graph calls its result
    }
  }
  param.name = base;
  for (int i = 1; !names.insert(param.name).second; ++i) {
    param.name = base + "_" + std::to_string(i);
  }
  param.mode = mode;
  param.type = cloner.type(graph_.type(value));
  param.value = fused.add_value(param.type, param.name);
  return param;
}

ir::Function Fuser::outline(const Group& group, size_t index, Op& call) {
  ir::Function fused;
  fused.kind = FunctionKind::FusedGraph;
  fused.name = unique_function_name(context_.module, graph_.name + "_" + std::to_string(index));
  fused.span = graph_.ops[group.ops.front()].span();
  fused.body = fused.add_region();
  Cloner cloner(graph_, fused);
  // Dims and scalar parameters first, in the graph's order, under their own names.
  std::set<std::string> names;
  std::map<SymId, SymId> symbols;
  for (size_t i = 0; i < graph_.symbols.size(); ++i) {
    const SymId old(static_cast<uint32_t>(i));
    names.insert(graph_.symbols[i].name);
    symbols[old] = fused.add_symbol(graph_.symbols[i]);
    cloner.map(old, fused.exprs.symbol(symbols[old]));
  }
  call.kind = OpKind::Call;
  call.callee = fused.name;

  // Inputs: whatever comes from outside, looking through free ops, in order of first use.
  std::set<ValueId> seen;
  std::vector<ValueId> inputs;
  std::set<OpId> inside(group.ops.begin(), group.ops.end());
  std::function<void(ValueId)> need = [&](ValueId value) {
    const OpId def = graph_.values[value].def;
    if (!seen.insert(value).second || (def.valid() && inside.count(def) != 0)) {
      return;
    }
    if (def.valid() && is_free(graph_.ops[def].kind)) {
      for (ValueId operand : graph_.ops[def].operands) {
        need(operand);
      }
      return;
    }
    inputs.push_back(value);
  };
  for (OpId id : group.ops) {
    for (ValueId operand : graph_.ops[id].operands) {
      need(operand);
    }
    for (const Span& span : graph_.ops[id].spans) {
      call.spans.push_back(span);
    }
  }
  for (ValueId input : inputs) {
    fused.params.push_back(make_param(fused, cloner, input, ir::ParamMode::In, names));
    cloner.map(input, fused.params.back().value);
    call.operands.push_back(input);
  }
  std::vector<std::pair<ir::Param, ValueId>> outputs;
  for (OpId id : group.ops) {
    for (ValueId operand : graph_.ops[id].operands) {
      add_free_producers(operand, cloner, fused);
    }
    cloner.clone(id, fused.body);
  }
  // Scalar parameters that the expressions mention.
  std::vector<SymId> used;
  for (size_t i = 0; i < fused.ops.size(); ++i) {
    for (ExprId e : fused.ops[OpId(static_cast<uint32_t>(i))].exprs) {
      fused.exprs.collect_symbols(e, used);
    }
  }
  for (const ir::Param& param : graph_.params) {
    if (!param.is_tensor() && std::find(used.begin(), used.end(), symbols[param.sym]) != used.end()) {
      ir::Param scalar = param;
      scalar.sym = symbols[param.sym];
      fused.params.push_back(scalar);
      call.exprs.push_back(graph_.exprs.symbol(param.sym));
    }
  }
  for (ValueId output : group.outputs) {
    ir::Param param = make_param(fused, cloner, output, ir::ParamMode::Out, names);
    Op assign;
    assign.kind = OpKind::Assign;
    assign.operands = {param.value, cloner.value(output)};
    assign.spans = graph_.ops[graph_.values[output].def].spans;
    fused.add_op(fused.body, std::move(assign));
    fused.params.push_back(std::move(param));
    call.results.push_back(output);
  }
  for (size_t i = 0; i < fused.values.size(); ++i) {  // parameters, and constants that no parameter is as large as
    for (ExprId dim : fused.type(ValueId(static_cast<uint32_t>(i))).dims) {
      collect_dims(fused, dim, fused.dims);
    }
  }
  std::sort(fused.dims.begin(), fused.dims.end());
  add_dim_carriers(fused, cloner, names, call);
  return fused;
}

// Dims are bound by inputs. One that stands in no input's shape by itself (all that the group reads has `M * N`) comes
// with an input of the graph that has it, though the group does not read that.
void Fuser::add_dim_carriers(ir::Function& fused, Cloner& cloner, std::set<std::string>& names, Op& call) {
  auto carries = [](const ir::Function& function, const ir::Param& param, SymId dim) {
    return param.is_tensor() && param.mode != ir::ParamMode::Out &&
           std::any_of(param.type.dims.begin(), param.type.dims.end(),
                       [&](ExprId e) { return function.exprs[e].op == ExprOp::Sym && function.exprs[e].sym == dim; });
  };
  for (SymId dim : std::vector<SymId>(fused.dims)) {
    if (std::any_of(fused.params.begin(), fused.params.end(), [&](const auto& p) { return carries(fused, p, dim); })) {
      continue;
    }
    for (const ir::Param& param : graph_.params) {
      const SymId own(dim.index());  // the fused graph has the graph's symbols, in their order
      if (!carries(graph_, param, own)) {
        continue;
      }
      const auto first_output = std::find_if(fused.params.begin(), fused.params.end(),
                                             [](const ir::Param& p) { return p.mode == ir::ParamMode::Out; });
      fused.params.insert(first_output, make_param(fused, cloner, param.value, ir::ParamMode::In, names));
      call.operands.push_back(param.value);
      break;
    }
  }
}

// A reshape of a group's only-so-used result becomes part of the group: the group writes its output in the new shape.
bool Fuser::reshape_of_group(OpId id) {
  const Op& op = graph_.ops[id];
  if (op.kind != OpKind::Reshape) {
    return false;
  }
  const OpId def = graph_.values[op.operands[0]].def;
  const auto group = def.valid() ? group_of_op_.find(def) : group_of_op_.end();
  if (group == group_of_op_.end()) {
    return false;
  }
  group_of_op_[id] = group->second;
  groups_[group->second].ops.push_back(id);
  return true;
}

bool Fuser::run(std::vector<ir::Function>& fused) {
  bool work = false;
  const std::vector<OpId> body = graph_.body_region().ops;
  for (OpId id : body) {
    if (!reshape_of_group(id) && !place(id)) {
      return false;
    }
    work = work || (graph_.ops[id].kind != OpKind::Call && graph_.ops[id].kind != OpKind::Assign);
  }
  if (!work) {
    return true;
  }
  split_rows();
  find_outputs();
  std::vector<OpId> ops;
  std::set<size_t> done;
  auto call_group = [&](size_t index) {
    if (!done.insert(index).second) {
      return;
    }
    Op call;
    fused.push_back(outline(groups_[index], index, call));
    ops.push_back(make_op(graph_, std::move(call)));
  };
  // User calls stay where they are among the groups that they depend on: emit every group that is complete before them.
  for (OpId id : body) {
    const OpKind kind = graph_.ops[id].kind;
    if (kind != OpKind::Call && kind != OpKind::Assign) {
      continue;
    }
    for (ValueId operand : graph_.ops[id].operands) {
      if (const auto group = group_of(operand)) {
        for (size_t i = 0; i <= *group; ++i) {
          call_group(i);
        }
      }
    }
    ops.push_back(id);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    call_group(i);
  }
  graph_.body_region().ops = std::move(ops);
  return true;
}

}  // namespace

PassResult fuse(PassContext& context) {
  bool changed = false;
  std::vector<ir::Function> functions;
  for (ir::Function& function : context.module.functions) {
    if (function.kind == FunctionKind::Graph) {
      const size_t before = functions.size();
      if (!Fuser(context, function).run(functions)) {
        return PassResult::Failed;
      }
      changed = changed || functions.size() != before;
    }
    functions.push_back(std::move(function));
  }
  context.module.functions = std::move(functions);
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
