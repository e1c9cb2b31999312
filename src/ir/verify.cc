// Structure: ids, regions, scopes, levels.
#include <algorithm>
#include <set>

#include "src/ir/names.h"
#include "src/ir/verifier.h"

namespace pto::ir {

namespace {

constexpr int kDeepest = 256;

// How many operands, results, expressions and regions an op has. Ops with a scalar have one operand less and one
// expression more. -1: decided elsewhere.
struct Counts {
  int operands = 1;
  int most_operands = 1;
  int results = 1;
  int exprs = 0;
  int regions = 0;
};

Counts counts_of(OpKind kind) {
  switch (op_info(kind).shape) {
    case OpShape::Binary:
      return {2, 2, 1, 0, 0};
    case OpShape::Unary:
    case OpShape::Reduce:
      return {};
    case OpShape::Special:
      break;
  }
  switch (kind) {
    case OpKind::Compare:
      return {2, 2, 1, 0, 0};
    case OpKind::Select:
      return {3, 3, 1, 0, 0};
    case OpKind::Full:
      return {0, 0, 1, 1, 0};
    case OpKind::MatMul:
      return {2, 3, 1, 0, 0};
    case OpKind::MatMulBias:
      return {3, 3, 1, 0, 0};
    case OpKind::Call:
      return {-1, -1, -1, -1, 0};
    case OpKind::Assign:
      return {2, 2, 0, 0, 0};
    case OpKind::Load:
      return {1, 1, 1, -1, 0};
    case OpKind::Store:
      return {2, 2, 0, -1, 0};
    case OpKind::Extract:
      return {1, 1, 1, 2, 0};
    case OpKind::Parallel:
      return {0, 0, 0, -1, 1};
    case OpKind::For:
      return {-1, -1, -1, 3, 1};
    case OpKind::If:
      return {0, 0, -1, 1, 2};
    case OpKind::Yield:
      return {-1, -1, 0, 0, 0};
    case OpKind::Let:
      return {0, 0, 0, 1, 0};
    case OpKind::Inst:
      return {0, 0, 0, 0, 0};
    case OpKind::Buffer:
      return {0, 0, 1, -1, 0};
    case OpKind::Task:
      return {-1, -1, 0, -1, 0};
    default:
      return {};
  }
}

bool takes_scalar(OpKind kind) {
  return op_info(kind).shape == OpShape::Binary || kind == OpKind::Compare || kind == OpKind::Select;
}

bool fits(size_t count, int least, int most) {
  return least < 0 || (count >= static_cast<size_t>(least) && count <= static_cast<size_t>(most));
}

}  // namespace

void Verifier::fail(const std::string& text) {
  std::string where = "`" + function_.name + "`";
  if (current_ != nullptr) {
    where += ", op " + std::to_string(current_id_.index()) + " `" + std::string(op_info(current_->kind).name) + "`";
  }
  violations_.push_back(where + ": " + text);
}

void Verifier::run() {
  op_seen_.resize(function_.ops.size());
  region_seen_.resize(function_.regions.size());
  value_defined_.resize(function_.values.size());
  value_in_scope_.resize(function_.values.size());
  symbol_defined_.resize(function_.symbols.size());
  symbol_in_scope_.resize(function_.symbols.size());
  if (!item()) {
    return;
  }
  params();
  names();
  constraints();
  if (!check(function_.body.index() < function_.regions.size(), "has no body")) {
    return;
  }
  check(function_.body_region().args.empty(), "the body has arguments");
  if (function_.kind == FunctionKind::Pair) {
    return pair();
  }
  check(function_.kind == FunctionKind::Core || function_.rings.empty(), "has rings but is no core");
  if (function_.kind == FunctionKind::Core) {
    core();
  }
  region(function_.body, nullptr);
  current_ = nullptr;
  outputs();
}

// Ids of parameters and dims, so that everything behind it may use them.
bool Verifier::item() {
  bool good = check(is_identifier(function_.name), "the name is no identifier");
  for (SymId dim : function_.dims) {
    good &= check(dim.index() < function_.symbols.size(), "a dim's symbol is out of range");
  }
  for (const Param& param : function_.params) {
    if (param.is_tensor()) {
      good &= check(param.value.index() < function_.values.size(), "a parameter's value is out of range") &&
              check(in_range(param.type), "a parameter's type has an expression out of range");
    } else {
      good &= check(param.sym.index() < function_.symbols.size(), "a parameter's symbol is out of range");
    }
  }
  for (const Constraint& constraint : function_.constraints) {
    good &= check(in_range(constraint.condition), "a constraint's expression is out of range");
  }
  return good;
}

void Verifier::params() {
  auto define_symbol = [&](SymId sym, SymKind kind) {
    check(!symbol_defined_[sym.index()], "a symbol is defined twice");
    check(function_.symbols[sym.index()].kind == kind, "a dim's or scalar's symbol has another kind");
    symbol_defined_[sym.index()] = symbol_in_scope_[sym.index()] = true;
  };
  for (SymId dim : function_.dims) {
    define_symbol(dim, SymKind::Dim);
  }
  bool results = false;
  for (const Param& param : function_.params) {
    check(!results || param.mode == ParamMode::Out, "an input stands behind an output");
    results = results || param.mode == ParamMode::Out;
    if (!param.is_tensor()) {
      check(param.mode == ParamMode::In, "a scalar parameter is an output");
      check(function_.symbols[param.sym.index()].dtype == param.dtype, "a scalar's symbol has another type");
      define_symbol(param.sym, SymKind::Scalar);
      continue;
    }
    check(!value_defined_[param.value.index()], "a value is defined twice");
    check(param.type.is_tensor(), "a tensor parameter is no tensor");
    check(param.type == function_.values[param.value].type, "a parameter and its value have different types");
    check(!function_.values[param.value].def.valid(), "a parameter's value has a defining op");
    value_defined_[param.value.index()] = value_in_scope_[param.value.index()] = true;
  }
  for (const Param& param : function_.params) {
    if (param.is_tensor()) {
      type_expressions(param.type);
    }
  }
}

void Verifier::names() {
  std::set<std::string> seen;
  auto add = [&](const std::string& name) {
    check(is_identifier(name), "a parameter's or dim's name is no identifier");
    check(seen.insert(name).second, "two parameters or dims have one name");
  };
  for (SymId dim : function_.dims) {
    add(function_.symbols[dim.index()].name);
  }
  for (const Param& param : function_.params) {
    add(param.name);
  }
}

void Verifier::constraints() {
  for (const Constraint& constraint : function_.constraints) {
    expression(constraint.condition, "a constraint");
  }
}

bool Verifier::in_range(const Type& type) const {
  if (type.is_tensor()) {
    return std::all_of(type.dims.begin(), type.dims.end(), [&](ExprId dim) { return in_range(dim); });
  }
  return !type.is_tile() || (in_range(type.valid_rows) && in_range(type.valid_cols));
}

void Verifier::region(RegionId region, const Op* owner) {
  region_seen_[region.index()] = true;
  if (!check(++depth_ <= kDeepest, "regions nest too deep")) {
    --depth_;
    return;
  }
  std::vector<ValueId> values = function_.regions[region].args;
  std::vector<SymId> lets;
  const std::vector<OpId>& ops = function_.regions[region].ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!check(ops[i].index() < function_.ops.size(), "a region has an op out of range")) {
      continue;
    }
    op(ops[i], owner, i + 1 == ops.size());
    const Op& each = function_.ops[ops[i]];
    values.insert(values.end(), each.results.begin(), each.results.end());
    if (each.kind == OpKind::Let) {
      lets.insert(lets.end(), each.syms.begin(), each.syms.end());
    }
  }
  for (ValueId value : values) {
    if (value.index() < value_in_scope_.size()) {
      value_in_scope_[value.index()] = false;
    }
  }
  for (SymId sym : lets) {
    if (sym.index() < symbol_in_scope_.size()) {
      symbol_in_scope_[sym.index()] = false;
    }
  }
  --depth_;
}

void Verifier::op(OpId id, const Op* owner, bool last) {
  const Op& op = function_.ops[id];
  current_ = &op;
  current_id_ = id;
  if (!check(!op_seen_[id.index()], "stands in two places")) {
    return;
  }
  op_seen_[id.index()] = true;
  const char letter = letter_of(level_of(function_.kind));
  if (!check(op_info(op.kind).levels.find(letter) != std::string_view::npos, "is not allowed at this level") ||
      !ids(id) || !counts(op)) {
    return;
  }
  const size_t before = violations_.size();
  scopes(op);
  const bool in_scope = violations_.size() == before;
  placement(op, owner == nullptr);
  if (op.kind == OpKind::Yield) {
    const bool joins = owner != nullptr && (owner->kind == OpKind::For || !owner->results.empty());
    check(joins && owner->kind != OpKind::Parallel && last,
          "is not the last op of a loop's body or of a branch with results");
  }
  if (in_scope) {
    types(op);
  }
  define_symbols(op);
  if (op.kind == OpKind::If) {
    branch(op);
  }
  for (RegionId inner : op.regions) {
    if (!check(!region_seen_[inner.index()], "shares a region")) {
      continue;
    }
    if (op.kind == OpKind::For) {
      loop(op);
    }
    region(inner, &op);
    current_ = &op;
    current_id_ = id;
  }
  define_results(id);
  if (op.kind != OpKind::Let) {
    for (SymId sym : op.syms) {
      symbol_in_scope_[sym.index()] = false;
    }
  }
}

bool Verifier::ids(OpId id) {
  const Op& op = function_.ops[id];
  auto all = [](const auto& ids, size_t size) {
    return std::all_of(ids.begin(), ids.end(), [&](auto each) { return each.index() < size; });
  };
  bool good = check(all(op.operands, function_.values.size()), "an operand is out of range") &&
              check(all(op.results, function_.values.size()), "a result is out of range") &&
              check(all(op.regions, function_.regions.size()), "a region is out of range") &&
              check(all(op.syms, function_.symbols.size()), "a symbol is out of range") &&
              check(all(op.exprs, function_.exprs.size()) && all(op.task_dims, function_.exprs.size()) &&
                        (!op.blocks.valid() || in_range(op.blocks)),
                    "an expression is out of range") &&
              check(all(op.after, function_.ops.size()), "a task to wait for is out of range");
  if (!good) {
    return false;
  }
  for (RegionId region : op.regions) {
    good &= check(all(function_.regions[region].args, function_.values.size()), "a region's argument is out of range");
    for (ValueId arg : function_.regions[region].args) {
      good &= arg.index() < function_.values.size() &&
              check(in_range(type(arg)), "a region's argument's type has an expression out of range");
    }
  }
  for (ValueId result : op.results) {
    good &= check(in_range(type(result)), "a result's type has an expression out of range");
  }
  return good;
}

bool Verifier::counts(const Op& op) {
  const Counts counts = counts_of(op.kind);
  const int scalar = op.scalar_side == ScalarSide::None ? 0 : 1;
  if (!check(scalar == 0 || takes_scalar(op.kind), "takes no scalar")) {
    return false;
  }
  return check(fits(op.operands.size(), counts.operands - scalar, counts.most_operands - scalar),
               "has a wrong number of operands") &&
         check(fits(op.results.size(), counts.results, counts.results), "has a wrong number of results") &&
         check(fits(op.exprs.size(), counts.exprs + scalar, counts.exprs + scalar),
               "has a wrong number of expressions") &&
         check(fits(op.regions.size(), counts.regions, counts.regions), "has a wrong number of regions") &&
         symbol_count(op);
}

bool Verifier::symbol_count(const Op& op) {
  if (op.kind == OpKind::Parallel) {
    return check(op.syms.size() == 1 || op.syms.size() == 2, "has a wrong number of loop variables") &&
           check(op.exprs.size() == 3 * op.syms.size(), "has a wrong number of expressions");
  }
  const size_t expected = op.kind == OpKind::For || op.kind == OpKind::Let ? 1 : 0;
  return check(op.syms.size() == expected, "has a wrong number of symbols");
}

void Verifier::scopes(const Op& op) {
  for (ValueId operand : op.operands) {
    check(value_in_scope_[operand.index()], "uses a value that is not defined there");
  }
  for (ExprId expr : op.exprs) {
    expression(expr, "an expression");
  }
  if (op.blocks.valid()) {
    expression(op.blocks, "the number of blocks");
  }
  for (ExprId dim : op.task_dims) {
    expression(dim, "a dim of the callee");
  }
  for (ValueId result : op.results) {
    type_expressions(type(result));
  }
}

// Every symbol of the expression is in scope, and coordinates stand only where they have values.
void Verifier::expression(ExprId expr, const char* what) {
  std::vector<SymId> symbols;
  function_.exprs.collect_symbols(expr, symbols);
  for (SymId sym : symbols) {
    if (sym.index() >= symbol_in_scope_.size() || !symbol_in_scope_[sym.index()]) {
      fail(std::string(what) + " uses a symbol that is not defined there");
    }
  }
  coordinates(expr, what);
}

// block_index() and block_count() only where there are blocks, lane_index() only in vector cores.
void Verifier::coordinates(ExprId expr, const char* what) {
  const bool core = function_.kind == FunctionKind::Core;
  const bool blocks = core || function_.kind == FunctionKind::Kernel;
  const bool lanes = core && function_.core_kind == CoreKind::Vec;
  if (lanes) {
    return;
  }
  for (const ExprId id : function_.exprs.nodes_of(expr)) {
    const ExprOp node = function_.exprs[id].op;
    if (!blocks && (node == ExprOp::BlockIndex || node == ExprOp::BlockCount)) {
      fail(std::string(what) + " uses block_index() or block_count()");
    }
    if (node == ExprOp::LaneIndex) {
      fail(std::string(what) + " uses lane_index()");
    }
  }
}

void Verifier::type_expressions(const Type& type) {
  for (ExprId dim : type.dims) {
    expression(dim, "a dim");
  }
  if (type.is_tensor()) {
    check(!type.dims.empty() && type.dims.size() <= 5, "a tensor's rank is not 1 to 5");
  }
  if (type.is_tile()) {
    check(type.rows > 0 && type.cols > 0, "a tile has no elements");
    expression(type.valid_rows, "a valid region");
    expression(type.valid_cols, "a valid region");
  }
  if (type.kind != TypeKind::None) {
    check(type.dtype != DType::None, "a type has no element type");
  }
}

void Verifier::define_results(OpId id) {
  for (ValueId result : function_.ops[id].results) {
    check(!value_defined_[result.index()], "defines a value twice");
    check(function_.values[result].def == id, "a result names another defining op");
    value_defined_[result.index()] = value_in_scope_[result.index()] = true;
  }
}

void Verifier::define_symbols(const Op& op) {
  const SymKind kind = op.kind == OpKind::Let ? SymKind::Let : SymKind::Loop;
  for (SymId sym : op.syms) {
    check(!symbol_defined_[sym.index()], "defines a symbol twice");
    check(function_.symbols[sym.index()].kind == kind, "its symbol has another kind");
    symbol_defined_[sym.index()] = symbol_in_scope_[sym.index()] = true;
  }
}

// Carried values: initial values, body arguments, yielded values and results, position by position.
void Verifier::loop(const Op& op) {
  const Region& body = function_.regions[op.regions[0]];
  const size_t carried = body.args.size();
  const bool matching = check(op.operands.size() == carried, "initial values and carried values differ in number") &
                        check(op.results.size() == carried, "results and carried values differ in number");
  if (op.results.empty() && carried == 0) {
    return;
  }
  const bool yields = !body.ops.empty() && body.ops.back().index() < function_.ops.size() &&
                      function_.ops[body.ops.back()].kind == OpKind::Yield;
  if (!check(yields, "carries values but its body has no yield")) {
    return;
  }
  const Op& yield = function_.ops[body.ops.back()];
  if (!check(yield.operands.size() == carried, "yields a wrong number of values") || !matching) {
    return;
  }
  for (size_t i = 0; i < carried; ++i) {
    const ValueId arg = body.args[i];
    check(!value_defined_[arg.index()], "a carried value is defined twice");
    check(!function_.values[arg].def.valid(), "a carried value has a defining op");
    value_defined_[arg.index()] = value_in_scope_[arg.index()] = true;
    check(may_match(type(arg), type(op.operands[i])), "a carried value and its initial value have different types");
    check(may_match(type(arg), type(op.results[i])), "a carried value and its result have different types");
    if (yield.operands[i].index() < function_.values.size()) {
      check(may_match(type(arg), type(yield.operands[i])), "a carried value and its next value have different types");
    }
  }
}

// Both branches yield what the op results in, position by position.
void Verifier::branch(const Op& op) {
  for (RegionId region : op.regions) {
    const std::vector<OpId>& ops = function_.regions[region].ops;
    check(function_.regions[region].args.empty(), "a branch has arguments");
    const bool yields =
        !ops.empty() && ops.back().index() < function_.ops.size() && function_.ops[ops.back()].kind == OpKind::Yield;
    if (op.results.empty()) {
      continue;  // a yield is refused where it stands
    }
    if (!check(yields, "has results but a branch has no yield")) {
      continue;
    }
    const Op& yield = function_.ops[ops.back()];
    if (!check(yield.operands.size() == op.results.size(), "a branch yields a wrong number of values")) {
      continue;
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (yield.operands[i].index() < function_.values.size()) {
        check(may_match(type(op.results[i]), type(yield.operands[i])),
              "a branch's value and the result have different types");
      }
    }
  }
}

void Verifier::placement(const Op& op, bool top) {
  switch (op.kind) {
    case OpKind::Parallel:
      check(top, "stands inside another statement");
      break;
    case OpKind::Buffer:
    case OpKind::Task:
      check(top, "stands inside another statement");
      break;
    case OpKind::Reshape:
      check(top, "stands inside another statement");
      check(function_.kind != FunctionKind::Core || !body_started_, "stands behind another statement");
      return;
    default:
      break;
  }
  body_started_ = true;
  if (op.kind == OpKind::For || op.kind == OpKind::Parallel) {
    for (size_t i = 2; i < op.exprs.size(); i += 3) {
      check(function_.exprs.constant(op.exprs[i]).value_or(1) > 0, "the step is not positive");
    }
    check(op.pipeline >= 0, "the pipeline depth is negative");
  }
  if (function_.kind == FunctionKind::Core && (op.kind == OpKind::For || op.kind == OpKind::If)) {
    check(op.operands.empty() && op.results.empty(), "carries values in a core");
  }
  check(!op.split || op.kind == OpKind::Parallel, "is split but is no parallel loop");
}

void Verifier::outputs() {
  if (level_of(function_.kind) != Level::Tensor) {
    return;
  }
  std::vector<int> written(function_.values.size(), 0);
  for (OpId id : function_.body_region().ops) {
    if (id.index() < function_.ops.size() && function_.ops[id].kind == OpKind::Assign &&
        function_.ops[id].operands.size() == 2 && function_.ops[id].operands[0].index() < written.size()) {
      ++written[function_.ops[id].operands[0].index()];
    }
  }
  for (const Param& param : function_.params) {
    if (param.mode == ParamMode::Out && param.is_tensor() && written[param.value.index()] != 1) {
      fail("assigns output `" + param.name + "` " + std::to_string(written[param.value.index()]) + " times");
    }
  }
}

bool verify(const Module& module, std::vector<std::string>& violations) {
  const size_t before = violations.size();
  std::set<std::string> names;
  for (const Function& function : module.functions) {
    if (!names.insert(function.name).second) {
      violations.push_back("two functions are named `" + function.name + "`");
    }
    Verifier(module, function, violations).run();
  }
  return violations.size() == before;
}

}  // namespace pto::ir
