// Branches, and variables that are declared without a value. A variable that a branch assigns becomes a result of the
// `if`: both branches yield it, the one that leaves it alone the value from before.
#include <algorithm>

#include "src/frontend/lower.h"

namespace pto::frontend {

// `var t: tile f32[8, 64];`
void Lower::empty_variable(const ast::Stmt& stmt) {
  auto poison = [&] {
    for (const ast::Name& name : stmt.names) {
      declare(name, poisoned());
    }
  };
  if (stmt.kind == ast::StmtKind::Let || !is_level(ir::Level::Tile)) {
    error(DiagId::WrongPlace, stmt.span,
          {stmt.kind == ast::StmtKind::Let ? "`let` without a value" : "`var` without a value",
           stmt.kind == ast::StmtKind::Let ? "here" : level_word()});
    return poison();
  }
  if (stmt.names.size() != 1 || stmt.is_tuple || stmt.types.empty()) {
    error(DiagId::WrongPlace, stmt.span, {"`var` with neither value nor type", "here"})
        .help("write `var t: tile f32[8, 64];`");
    return poison();
  }
  const ast::Type& type = stmt.types[0];
  if (!type.is_tile) {
    error(DiagId::WrongType, type.span,
          {"a variable without a value", "a tile type like `tile f32[8, 64]`", "another type"});
    return poison();
  }
  if (type.valid_rows.valid() || !type.space.empty() || !type.layout.empty() || type.strides.valid()) {
    error(DiagId::WrongPlace, type.span, {"a valid region, memory or layout", "in the type of a variable"})
        .help("they follow from what is assigned");
    return poison();
  }
  const auto element = dtype(type.dtype);
  const auto rows = constant(type.dims[0], "a tile's number of rows");
  const auto cols = constant(type.dims[1], "a tile's number of columns");
  if (!element || !rows || !cols) {
    return poison();
  }
  Binding binding;
  binding.kind = Binding::Kind::Empty;
  binding.is_var = true;
  binding.type.kind = ir::TypeKind::Tile;
  binding.type.dtype = *element;
  binding.type.rows = *rows;
  binding.type.cols = *cols;
  if (!check_tile_size(binding.type, type.span)) {
    return poison();
  }
  declare(stmt.names[0], binding);
}

// Those among the names that are variables of tiles from outside, in the order of their declaration in the text.
std::vector<Lower::Variable> Lower::assigned_variables(const std::set<std::string>& names) {
  std::vector<Variable> out;
  for (const std::string& name : names) {
    Binding* binding = lookup(name);
    const bool tile = binding != nullptr && binding->is_var &&
                      (binding->kind == Binding::Kind::Value || binding->kind == Binding::Kind::Empty);
    if (tile && (!in_parallel_ || binding->depth > parallel_depth_)) {
      out.push_back({name, binding});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Variable& a, const Variable& b) { return a.binding->span.begin < b.binding->span.begin; });
  return out;
}

// The `if` of one condition of a chain; those behind it stand in its `else`.
void Lower::branch(const ast::Stmt& stmt, size_t number) {
  if (!enter(stmt.span)) {
    return;
  }
  std::set<std::string> names;
  for (size_t i = number; i < stmt.blocks.size(); ++i) {
    assigned_names(stmt.blocks[i], names);
  }
  const std::vector<Variable> variables = assigned_variables(names);
  ir::Op op;
  op.kind = ir::OpKind::If;
  op.spans = spans(stmt.span);
  const ExprId condition = index(stmt.conditions[number], "a condition");
  op.exprs = {condition};
  const ir::RegionId then = fn().add_region();
  const ir::RegionId otherwise = fn().add_region();
  op.regions = {then, otherwise};
  const auto symbols = static_cast<uint32_t>(fn().symbols.size());
  const ir::RegionId outer = region_;
  const ir::OpId id = condition.valid() ? fn().add_op(region_, std::move(op)) : ir::OpId();
  auto values = [&] {
    std::vector<Binding> out;
    for (const Variable& variable : variables) {
      out.push_back(*variable.binding);
    }
    return out;
  };
  const std::vector<Binding> before = values();
  region_ = then;
  push_scope();
  block(stmt.blocks[number]);
  pop_scope();
  const std::vector<Binding> behind_then = values();
  for (size_t i = 0; i < variables.size(); ++i) {
    *variables[i].binding = before[i];
  }
  region_ = otherwise;
  if (number + 1 < stmt.conditions.size()) {
    branch(stmt, number + 1);
  } else if (number + 1 < stmt.blocks.size()) {
    push_scope();
    block(stmt.blocks[number + 1]);
    pop_scope();
  }
  region_ = outer;
  --nesting_;
  if (id.valid()) {
    join_branches(id, symbols, variables, before, behind_then, stmt);
  }
}

void Lower::join_branches(ir::OpId id, uint32_t symbols, const std::vector<Variable>& variables,
                          const std::vector<Binding>& before, const std::vector<Binding>& behind_then,
                          const ast::Stmt& stmt) {
  std::vector<ir::ValueId> yields[2];
  std::vector<ir::ValueId> results;
  for (size_t i = 0; i < variables.size(); ++i) {
    Binding& binding = *variables[i].binding;
    const Binding& then = behind_then[i];
    const bool both = then.kind == Binding::Kind::Value && binding.kind == Binding::Kind::Value;
    if (!both || (then.value == before[i].value && binding.value == before[i].value)) {
      binding = before[i];  // no value on one of the ways: none behind them
      continue;
    }
    ir::Type type = fn().type(then.value);
    const ir::Type& other = fn().type(binding.value);
    if (type.space != other.space || type.layout != other.layout) {
      type.space = type.space == other.space ? type.space : Space::None;
      type.layout = Layout::None;
    }
    const ir::ValueId result = fn().add_value(std::move(type), variables[i].name);
    fn().values[result].def = id;
    branches_[result.index()] = {then.value, binding.value, symbols};
    results.push_back(result);
    yields[0].push_back(then.value);
    yields[1].push_back(binding.value);
    binding.value = result;
  }
  if (results.empty()) {
    return;
  }
  fn().ops[id].results = results;
  for (size_t side = 0; side < 2; ++side) {
    ir::Op yield;
    yield.kind = ir::OpKind::Yield;
    yield.spans = spans(stmt.span);
    yield.operands = yields[side];
    const ir::RegionId region = fn().ops[id].regions[side];
    fn().add_op(region, std::move(yield));
  }
  join_valid_of_branches(id, false);
}

}  // namespace pto::frontend
