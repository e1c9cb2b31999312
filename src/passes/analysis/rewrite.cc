#include "src/passes/analysis/rewrite.h"

#include <algorithm>

#include "pto/result.h"

namespace pto::passes {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::RegionId;
using ir::ValueId;

ValueId Cloner::value(ValueId from) const {
  const auto it = values_.find(from);
  PTO_CHECK(it != values_.end(), "a value is cloned before what it uses");
  return it->second;
}

SymId Cloner::new_symbol(SymId from) {
  const SymId created = to_.add_symbol(from_.symbols[from.index()]);
  symbols_[from] = to_.exprs.symbol(created);
  return created;
}

ExprId Cloner::expr_of(SymId from) {
  const auto it = symbols_.find(from);
  return it != symbols_.end() ? it->second : to_.exprs.symbol(new_symbol(from));
}

ExprId Cloner::expr(ExprId from) {
  if (!from.valid()) {
    return from;
  }
  return to_.exprs.import(from_.exprs, from, [&](SymId sym) { return expr_of(sym); });
}

ir::Type Cloner::type(const ir::Type& from) {
  ir::Type type = from;
  for (ExprId& dim : type.dims) {
    dim = expr(dim);
  }
  type.valid_rows = expr(type.valid_rows);
  type.valid_cols = expr(type.valid_cols);
  return type;
}

OpId Cloner::clone(OpId id, RegionId into) {
  Op op = from_.ops[id];
  for (SymId& sym : op.syms) {
    sym = new_symbol(sym);
  }
  for (ValueId& operand : op.operands) {
    operand = value(operand);
  }
  for (ExprId& e : op.exprs) {
    e = expr(e);
  }
  op.blocks = expr(op.blocks);
  for (ExprId& e : op.task_dims) {
    e = expr(e);
  }
  for (ValueId& result : op.results) {
    const ValueId created = to_.add_value(type(from_.type(result)), from_.values[result].name);
    map(result, created);
    result = created;
  }
  for (RegionId& region : op.regions) {
    const RegionId created = to_.add_region();
    for (ValueId arg : from_.regions[region].args) {
      const ValueId copy = to_.add_value(type(from_.type(arg)), from_.values[arg].name);
      map(arg, copy);
      to_.regions[created].args.push_back(copy);
    }
    for (OpId inner : from_.regions[region].ops) {
      clone(inner, created);
    }
    region = created;
  }
  return to_.add_op(into, std::move(op));
}

void copy_interface(const ir::Function& from, ir::Function& to) {
  Cloner cloner(from, to);
  for (SymId dim : from.dims) {
    to.dims.push_back(to.exprs[cloner.expr_of(dim)].sym);
  }
  for (const ir::Param& old : from.params) {
    ir::Param param = old;
    if (old.is_tensor()) {
      param.type = cloner.type(old.type);
      param.value = to.add_value(param.type, old.name);
    } else {
      param.sym = to.exprs[cloner.expr_of(old.sym)].sym;
    }
    to.params.push_back(std::move(param));
  }
  for (const ir::Constraint& constraint : from.constraints) {
    to.constraints.push_back({cloner.expr(constraint.condition), constraint.text, constraint.span});
  }
}

ir::ValueId root_tensor(const ir::Function& function, ir::ValueId tensor) {
  while (function.values[tensor].def.valid()) {
    tensor = function.ops[function.values[tensor].def].operands[0];
  }
  return tensor;
}

void for_each_op(const ir::Function& function, const std::function<void(OpId)>& visit) {
  std::function<void(RegionId)> walk = [&](RegionId region) {
    for (OpId id : function.regions[region].ops) {
      visit(id);
      for (RegionId inner : function.ops[id].regions) {
        walk(inner);
      }
    }
  };
  walk(function.body);
}

Uses uses_of(const ir::Function& function) {
  Uses uses;
  for_each_op(function, [&](OpId id) {
    for (ValueId operand : function.ops[id].operands) {
      uses[operand].push_back(id);
    }
  });
  return uses;
}

ir::RegionId region_of(const ir::Function& function, ir::OpId op) {
  for (ir::RegionId id{0}; id.index() < function.regions.size(); id = ir::RegionId(id.index() + 1)) {
    const std::vector<ir::OpId>& ops = function.regions[id].ops;
    if (std::find(ops.begin(), ops.end(), op) != ops.end()) {
      return id;
    }
  }
  return {};
}

void rewrite_region(ir::Function& function, RegionId region, const std::function<std::vector<OpId>(OpId)>& rewrite) {
  const std::vector<OpId> old = function.regions[region].ops;
  std::vector<OpId> ops;
  for (OpId id : old) {
    const std::vector<RegionId> inner = function.ops[id].regions;
    for (RegionId r : inner) {
      rewrite_region(function, r, rewrite);
    }
    for (OpId replacement : rewrite(id)) {
      ops.push_back(replacement);
    }
  }
  function.regions[region].ops = std::move(ops);
}

std::vector<std::vector<ValueId>> joined_values(const ir::Function& function, const Op& op) {
  std::vector<std::vector<ValueId>> joined;
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (op.kind == ir::OpKind::For) {
      const ir::Region& body = function.regions[op.regions[0]];
      joined.push_back({op.operands[i], body.args[i], function.ops[body.ops.back()].operands[i], op.results[i]});
    } else if (op.kind == ir::OpKind::If) {
      joined.push_back({op.results[i]});
      for (RegionId region : op.regions) {
        joined.back().push_back(function.ops[function.regions[region].ops.back()].operands[i]);
      }
    }
  }
  return joined;
}

OpId make_op(ir::Function& function, Op op) {
  const std::vector<ValueId> results = op.results;
  const OpId id = function.ops.add(std::move(op));
  for (ValueId result : results) {
    function.values[result].def = id;
  }
  return id;
}

std::optional<std::vector<ExprId>> solve_dims(const ir::Function& callee, ir::Function& caller,
                                              const std::vector<ValueId>& tensor_arguments) {
  std::map<SymId, ExprId> solved;
  size_t next = 0;
  for (const ir::Param& param : callee.params) {
    if (!param.is_tensor()) {
      continue;
    }
    if (next >= tensor_arguments.size()) {
      break;  // a call gives inputs only; its results follow from them
    }
    const ir::Type& argument = caller.type(tensor_arguments[next++]);
    for (size_t i = 0; i < param.type.dims.size() && i < argument.dims.size(); ++i) {
      const ExprNode& node = callee.exprs[param.type.dims[i]];
      if (node.op == ExprOp::Sym) {
        solved.emplace(node.sym, argument.dims[i]);
      }
    }
  }
  std::vector<ExprId> dims;
  for (SymId dim : callee.dims) {
    const auto it = solved.find(dim);
    if (it == solved.end()) {
      return std::nullopt;
    }
    dims.push_back(it->second);
  }
  return dims;
}

void collect_dims(const ir::Function& function, ExprId expr, std::vector<SymId>& dims) {
  if (!expr.valid()) {
    return;
  }
  std::vector<SymId> symbols;
  function.exprs.collect_symbols(expr, symbols);
  for (SymId sym : symbols) {
    if (function.symbols[sym.index()].kind == SymKind::Dim && std::find(dims.begin(), dims.end(), sym) == dims.end()) {
      dims.push_back(sym);
    }
  }
}

std::string unique_function_name(const ir::Module& module, const std::string& base) {
  std::string name = base;
  for (int i = 1; module.find(name) != nullptr; ++i) {
    name = base + "_" + std::to_string(i);
  }
  return name;
}

std::optional<int64_t> lower_bound(const ir::Function& function, ExprId expr) {
  const ExprNode& node = function.exprs[expr];
  if (node.op == ExprOp::Int) {
    return node.value;
  }
  if (node.op == ExprOp::Sym) {
    return function.symbols[node.sym.index()].kind == SymKind::Dim ? std::optional<int64_t>(1) : std::nullopt;
  }
  if (!node.a.valid() || !node.b.valid()) {
    return std::nullopt;
  }
  const auto a = lower_bound(function, node.a);
  const auto b = lower_bound(function, node.b);
  switch (node.op) {
    case ExprOp::Add:
      return a && b ? std::optional<int64_t>(*a + *b) : std::nullopt;
    case ExprOp::Mul:
      return a && b && *a >= 0 && *b >= 0 ? std::optional<int64_t>(*a * *b) : std::nullopt;
    case ExprOp::Min:
      return a && b ? std::optional<int64_t>(std::min(*a, *b)) : std::nullopt;
    case ExprOp::Max:
      return a && b ? std::optional<int64_t>(std::max(*a, *b)) : (a ? a : b);
    case ExprOp::CeilDiv:
      // At least 1 as soon as the dividend is positive, whatever the (positive) divisor is.
      return a && b && *a >= 1 && *b >= 1 ? std::optional<int64_t>(1) : std::nullopt;
    default:
      return std::nullopt;
  }
}

int64_t slot_stride(const TileDesc& tile, const Target& target) {
  return round_up(tile.bytes(), std::max<int64_t>(1, target.space(tile.space).align));
}

}  // namespace pto::passes
