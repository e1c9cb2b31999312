// Statements: names, assignment, loops.
#include <algorithm>

#include "src/frontend/lower.h"

namespace pto::frontend {
namespace {

constexpr int64_t kDeepestPipeline = 64;
constexpr size_t kDeepestStatement = 250;  // regions in regions

}  // namespace

void Lower::body() {
  if (!info_.ok) {
    return;
  }
  const size_t errors = module_.sink.error_count();
  fn().body = fn().add_region();
  region_ = fn().body;
  if (fn().kind == ir::FunctionKind::Pair) {
    return;
  }
  if (is_level(ir::Level::Block)) {
    for (const ir::Param& param : fn().params) {
      if (param.is_tensor()) {
        fn().tensors.push_back(param.value);
      }
    }
  }
  push_scope();
  block(info_.item->body);
  pop_scope();
  info_.body_ok = module_.sink.error_count() == errors;
  if (info_.body_ok) {
    check_outputs();
    if (is_level(ir::Level::Tile)) {
      check_valid();
    }
  }
}

void Lower::check_outputs() {
  if (is_level(ir::Level::Block)) {
    return;  // directions follow from the body
  }
  for (size_t i = 0; i < fn().params.size(); ++i) {
    const ir::Param& param = fn().params[i];
    if (param.mode == ir::ParamMode::Out && !written_.contains(i)) {
      error(DiagId::OutputUnwritten, param.span, {param.name, fn().name});
    }
  }
}

void Lower::block(const ast::Block& block) {
  for (const ast::Stmt& stmt : block.statements) {
    statement(stmt);
  }
}

void Lower::statement(const ast::Stmt& stmt) {
  const bool view =
      stmt.kind == ast::StmtKind::Let || stmt.kind == ast::StmtKind::Buf || stmt.kind == ast::StmtKind::Ring;
  const bool tile = is_level(ir::Level::Tile);
  const bool core = is_level(ir::Level::Block);
  const bool program = is_level(ir::Level::Exec);
  auto misplaced = [&](const std::string& what) { error(DiagId::WrongPlace, stmt.span, {what, level_word()}); };
  switch (stmt.kind) {
    case ast::StmtKind::Let:
    case ast::StmtKind::Var:
      let_statement(stmt);
      break;
    case ast::StmtKind::Assign:
      assign_statement(stmt);
      break;
    case ast::StmtKind::Expression:
      expression_statement(stmt);
      break;
    case ast::StmtKind::Parallel:
      tile ? parallel_statement(stmt) : misplaced("`parallel`");
      break;
    case ast::StmtKind::For:
      if (tile || core) {
        for_statement(stmt);
      } else {
        unsupported(stmt.span, "`for` " + level_word());
      }
      break;
    case ast::StmtKind::While:
      unsupported(stmt.span, "`while`");
      break;
    case ast::StmtKind::If:
      if (tile || core) {
        branch(stmt, 0);
      } else {
        unsupported(stmt.span, "`if` " + level_word());
      }
      break;
    case ast::StmtKind::Return:
      unsupported(stmt.span, "`return`");
      break;
    case ast::StmtKind::Buf:
      core ? buf_statement(stmt) : misplaced("`buf`");
      break;
    case ast::StmtKind::Ring:
      core ? ring_statement(stmt) : misplaced("`ring`");
      break;
    case ast::StmtKind::Buffer:
      program ? buffer_statement(stmt) : misplaced("`buffer`");
      break;
    case ast::StmtKind::Task:
      program ? task_statement(stmt) : misplaced("`task`");
      break;
    case ast::StmtKind::Instruction:
      core ? instruction(stmt) : misplaced("the instruction `" + stmt.names[0].text + "`");
      break;
  }
  body_started_ = body_started_ || !view;
}

void Lower::bind_value(const ast::Name& name, const Val& val, const ast::Stmt& stmt) {
  Binding binding;
  binding.is_var = stmt.kind == ast::StmtKind::Var;
  if (val.is_value()) {
    binding.kind = Binding::Kind::Value;
    binding.value = val.value;
    binding.param = view_param(val.value);
    if (fn().values[val.value].name.empty()) {
      fn().values[val.value].name = name.text;
    }
    declare(name, binding);
    return;
  }
  // An index name of its own at the levels where the machine computes it, else only a word for the expression.
  binding.expr = val.expr;
  if (is_level(ir::Level::Tile) || is_level(ir::Level::Block)) {
    if (binding.is_var) {
      unsupported(name.span, "`var` of an index or scalar");
    }
    const bool real = is_real(val.expr);
    DType type = DType::I64;
    if (real) {
      type = scalar_type(val.expr);
      type = is_float(type) ? type : DType::F32;
    }
    const SymId sym = fn().add_symbol({name.text, SymKind::Let, type});
    if (real) {
      fn().exprs.mark_real(sym);
    } else {
      facts_.lets[sym.index()] = val.expr;
    }
    ir::Op op;
    op.kind = ir::OpKind::Let;
    op.exprs = {val.expr};
    op.syms = {sym};
    emit_effect(std::move(op), stmt.span);
    binding.expr = fn().exprs.symbol(sym);
    body_started_ = true;
  }
  declare(name, binding);
}

void Lower::let_statement(const ast::Stmt& stmt) {
  if (!stmt.value.valid()) {
    return empty_variable(stmt);
  }
  if (!stmt.types.empty()) {
    unsupported(stmt.types[0].span, "a type on `let` or `var`");
  }
  const Val val = eval(stmt.value);
  const bool tuple = val.kind == Val::Kind::Tuple;
  const size_t found = tuple ? val.values.size() : 1;
  if (!val.is_error() && (found != stmt.names.size() || (tuple && !stmt.is_tuple && found != 1))) {
    error(DiagId::ArgumentCount, stmt.span,
          {"let", std::to_string(stmt.names.size()) + (stmt.names.size() == 1 ? " value" : " values"), text(val)});
  }
  for (size_t i = 0; i < stmt.names.size(); ++i) {
    if (val.is_error() || i >= found) {
      // Uses of it say nothing: the reason is reported.
      declare(stmt.names[i], poisoned());
    } else {
      bind_value(stmt.names[i], tuple ? Val::of(val.values[i]) : val, stmt);
    }
  }
}

// `acc += matmul(a, b)` is the product that starts from acc; the other forms are the operator.
Val Lower::augmented(const ast::Stmt& stmt, const Val& old) {
  const Val right = eval(stmt.value);
  if (right.is_error() || old.is_error()) {
    return {};
  }
  if (stmt.op == ast::Operator::Add && is_level(ir::Level::Tile) && right.is_value()) {
    const ir::OpId def = fn().values[right.value].def;
    const bool call = at(stmt.value).kind == ast::ExprKind::Call && word(at(stmt.value).a) == "matmul";
    if (call && def.valid() && fn().ops[def].kind == ir::OpKind::MatMul && fn().ops[def].operands.size() == 2) {
      const ir::Type type = fn().type(right.value);
      const ir::Type start = fn().type(old.value);
      if (start.dtype != type.dtype || start.rows != type.rows || start.cols != type.cols) {
        return fail(DiagId::WrongType, stmt.span, {"`+=` of a `matmul`", text(type), text(start)});
      }
      fn().ops[def].operands.push_back(old.value);
      return right;
    }
  }
  ast::Expr expr;
  expr.op = stmt.op;
  expr.span = stmt.span;
  expr.op_span = stmt.span;
  if (old.is_scalar() && right.is_scalar()) {
    return scalar_binary(expr, old.expr, right.expr);
  }
  if (right.kind == Val::Kind::Tuple) {
    return fail(DiagId::WrongType, stmt.span, {"this assignment", "one value", text(right)});
  }
  static constexpr std::pair<ast::Operator, ir::OpKind> kKinds[] = {{ast::Operator::Add, ir::OpKind::Add},
                                                                    {ast::Operator::Sub, ir::OpKind::Sub},
                                                                    {ast::Operator::Mul, ir::OpKind::Mul},
                                                                    {ast::Operator::Div, ir::OpKind::Div}};
  for (const auto& [op, kind] : kKinds) {
    if (op == stmt.op) {
      const std::string name = "`" + std::string(ir::op_info(kind).spelling) + "=`";
      return binary_op(kind, name, old, right, stmt.span, at(stmt.target).span, at(stmt.value).span);
    }
  }
  return unsupported(stmt.span, "this assignment on tensors and tiles");
}

void Lower::assign_statement(const ast::Stmt& stmt) {
  const ast::Expr& target = at(stmt.target);
  if (target.kind == ast::ExprKind::Index) {
    if (is_level(ir::Level::Tensor)) {
      unsupported(stmt.span, "assignment to a region of a tensor");
    } else {
      error(DiagId::NotAssignable, target.span, {word(target.a), "a window of a tensor is written with `store`"});
    }
    return;
  }
  if (target.kind != ast::ExprKind::Name) {
    error(DiagId::NotAssignable, target.span, {"this expression", "only names can be assigned"});
    return;
  }
  Binding* binding = lookup(target.text);
  if (binding == nullptr) {
    unknown(DiagId::UnknownName, target.span, target.text, visible_names())
        .help("`let " + target.text + " = ...` declares it");
    return;
  }
  if (binding->kind == Binding::Kind::Poison) {
    return;
  }
  if (binding->param >= 0 && view_param(binding->value) < 0) {
    assign_output(*binding, target.text, stmt);
    return;
  }
  if (!binding->is_var) {
    Handle handle = error(DiagId::NotAssignable, target.span, {target.text, "it is not declared with `var`"});
    handle.note(binding->span, "declared here");
    return;
  }
  if (binding->kind == Binding::Kind::Scalar) {
    unsupported(stmt.span, "reassignment of an index or scalar");
    return;
  }
  if (in_parallel_ && binding->depth <= parallel_depth_) {
    error(DiagId::NotAssignable, target.span,
          {target.text, "it is declared outside of `parallel`, whose iterations are independent"})
        .note(binding->span, "declared here");
    return;
  }
  const bool empty = binding->kind == Binding::Kind::Empty;
  if (empty && stmt.op != ast::Operator::None) {
    eval(stmt.target);  // says that it has no value
    return;
  }
  const Val val = stmt.op == ast::Operator::None ? eval(stmt.value) : augmented(stmt, Val::of(binding->value));
  if (val.is_error()) {
    return;
  }
  const ir::Type before = empty ? binding->type : fn().type(binding->value);
  if (!val.is_value()) {
    error(DiagId::WrongType, at(stmt.value).span, {"this assignment", text(before), text(val)});
    return;
  }
  const ir::Type after = fn().type(val.value);
  if (before.dtype != after.dtype || before.rows != after.rows || before.cols != after.cols ||
      (before.is_tensor() && before.dims != after.dims)) {
    error(DiagId::TypeMismatch, stmt.span, {"assignment to `" + target.text + "`", text(before), text(after)})
        .note(binding->span, "declared here");
    return;
  }
  if (fn().values[val.value].name.empty()) {
    fn().values[val.value].name = target.text;
  }
  binding->kind = Binding::Kind::Value;
  binding->value = val.value;
}

void Lower::assign_output(Binding& binding, const std::string& name, const ast::Stmt& stmt) {
  const auto place = static_cast<size_t>(binding.param);
  const ir::Param& param = fn().params[place];
  const Span target = at(stmt.target).span;
  if (!is_level(ir::Level::Tensor)) {
    error(DiagId::NotAssignable, target, {name, "a tensor in global memory is written with `store`"});
    return;
  }
  if (!param.is_tensor() || param.mode == ir::ParamMode::In) {
    error(DiagId::WriteOfInput, target, {name})
        .note(param.span, "declared here")
        .help("declare it `inout`, or among the results");
    return;
  }
  if (stmt.op != ast::Operator::None && param.mode == ir::ParamMode::Out) {
    error(DiagId::ReadOfOutput, target, {name}).help("declare it `inout` to read and write it");
    return;
  }
  if (const auto before = written_spans_.find(place); before != written_spans_.end()) {
    error(DiagId::OutputWrittenTwice, target, {name}).note(before->second, "first written here");
    return;
  }
  const Val val = stmt.op == ast::Operator::None ? eval(stmt.value) : augmented(stmt, Val::of(binding.value));
  written_.insert(place);
  written_spans_[place] = target;
  if (val.is_error()) {
    return;
  }
  if (!val.is_value()) {
    Handle handle =
        error(DiagId::WrongType, at(stmt.value).span, {"output `" + name + "`", text(param.type), text(val)});
    handle.note(param.span, "declared here");
    return;
  }
  const ir::Type type = fn().type(val.value);
  bool fits = type.dtype == param.type.dtype && type.dims.size() == param.type.dims.size();
  for (size_t i = 0; fits && i < type.dims.size(); ++i) {
    fits = same_expr(fn().exprs, type.dims[i], param.type.dims[i]);
  }
  if (!fits) {
    Handle handle =
        error(DiagId::WrongType, at(stmt.value).span, {"output `" + name + "`", text(param.type), text(type)});
    handle.note(param.span, "declared here");
    if (type.dtype != param.type.dtype) {
      handle.help("`cast(x, " + dtype_name(param.type.dtype) + ")` converts it");
    }
    return;
  }
  ir::Op op;
  op.kind = ir::OpKind::Assign;
  op.operands = {param.value, val.value};
  emit_effect(std::move(op), stmt.span);
  binding.value = val.value;
}

void Lower::expression_statement(const ast::Stmt& stmt) {
  const Val val = eval(stmt.value);
  if (val.is_error() || val.kind == Val::Kind::Tuple) {
    return;
  }
  error(DiagId::WrongPlace, stmt.span, {"a value nobody uses", "as a statement"})
      .help("`let name = ...` names it, `store` or an assignment to an output writes it");
}

bool Lower::range(const ast::Range& range, ir::Op& op, std::vector<std::pair<ast::Name, Binding>>& names) {
  const ExprId lo = index(range.lo, "the start of a loop");
  const ExprId hi = index(range.hi, "the end of a loop");
  const ExprId step = range.step.valid() ? index(range.step, "the step of a loop") : fn().exprs.integer(1);
  Binding binding;
  if (!lo.valid() || !hi.valid() || !step.valid()) {
    binding.kind = Binding::Kind::Poison;
    names.emplace_back(range.name, binding);
    return false;
  }
  if (const auto value = fn().exprs.constant(step); value && *value < 1) {
    error(DiagId::InvalidDim, at(range.step).span, {"the step of a loop", std::to_string(*value)});
  }
  const SymId sym = fn().add_symbol({range.name.text, SymKind::Loop, DType::I64});
  facts_.loops[sym.index()] = {lo, hi, step};
  op.exprs.insert(op.exprs.end(), {lo, hi, step});
  op.syms.push_back(sym);
  binding.expr = fn().exprs.symbol(sym);
  names.emplace_back(range.name, binding);
  return true;
}

bool Lower::pipeline(const ast::Stmt& stmt, ir::Op& op) {
  if (!stmt.pipeline.valid()) {
    return true;
  }
  const auto depth = constant(stmt.pipeline, "the depth of a pipeline");
  if (!depth) {
    return false;
  }
  if (*depth > kDeepestPipeline) {
    error(DiagId::OutOfBounds, at(stmt.pipeline).span,
          {"a pipeline has at most " + std::to_string(kDeepestPipeline) + " buffers, found " + std::to_string(*depth)});
    return false;
  }
  op.pipeline = *depth;
  return true;
}

void Lower::parallel_statement(const ast::Stmt& stmt) {
  ir::Op op;
  op.kind = ir::OpKind::Parallel;
  op.spans = spans(stmt.span);
  std::vector<std::pair<ast::Name, Binding>> names;
  bool ok = true;
  if (!stmt.split.empty()) {
    op.split = isa::split_from_spelling(stmt.split.text);
    if (!op.split) {
      error(DiagId::UnknownValue, stmt.split.span, {stmt.split.text, "way to split", "`rows`, `cols` and `none`"});
    }
  }
  if (stmt.ranges.size() > 2) {
    error(DiagId::ArgumentCount, stmt.span, {"parallel", "one or two ranges", std::to_string(stmt.ranges.size())});
    ok = false;
  }
  if (in_parallel_ || region_ != fn().body) {
    error(DiagId::WrongPlace, stmt.span, {"`parallel`", "inside another statement"});
  }
  for (const ast::Range& each : stmt.ranges) {
    ok = range(each, op, names) && ok;
  }
  ok = pipeline(stmt, op) && ok;
  if (!enter(stmt.span)) {
    return;
  }
  const ir::RegionId body = fn().add_region();
  op.regions = {body};
  const ir::RegionId outer = region_;
  const size_t outer_depth = parallel_depth_;
  const bool outer_parallel = in_parallel_;
  if (ok) {
    fn().add_op(region_, std::move(op));
  }
  region_ = body;
  in_parallel_ = true;
  parallel_depth_ = scopes_.size();
  push_scope();
  for (const auto& [name, binding] : names) {
    declare(name, binding);
  }
  push_scope();
  block(stmt.blocks[0]);
  pop_scope();
  pop_scope();
  region_ = outer;
  in_parallel_ = outer_parallel;
  parallel_depth_ = outer_depth;
  --nesting_;
}

bool Lower::enter(Span span) {
  if (nesting_ >= kDeepestStatement) {
    error(DiagId::NestingTooDeep, span, {std::to_string(kDeepestStatement)});
    return false;
  }
  ++nesting_;
  return true;
}

// Names that a block assigns and does not declare.
void Lower::assigned_names(const ast::Block& block, std::set<std::string>& out) const {
  std::set<std::string> declared;
  for (const ast::Stmt& stmt : block.statements) {
    std::set<std::string> names;
    if (stmt.kind == ast::StmtKind::Assign && at(stmt.target).kind == ast::ExprKind::Name) {
      names.insert(at(stmt.target).text);
    }
    for (const ast::Block& inner : stmt.blocks) {
      assigned_names(inner, names);
    }
    for (const ast::Range& each : stmt.ranges) {
      names.erase(each.name.text);
    }
    for (const std::string& name : names) {
      if (!declared.contains(name)) {
        out.insert(name);
      }
    }
    if (stmt.kind == ast::StmtKind::Let || stmt.kind == ast::StmtKind::Var) {
      for (const ast::Name& name : stmt.names) {
        declared.insert(name.text);
      }
    }
  }
}

void Lower::for_statement(const ast::Stmt& stmt) {
  ir::Op op;
  op.kind = ir::OpKind::For;
  op.spans = spans(stmt.span);
  std::vector<std::pair<ast::Name, Binding>> names;
  const bool ok = range(stmt.ranges[0], op, names) && pipeline(stmt, op);
  // Variables of outer scopes that the body assigns, in the order of their declaration in the text.
  std::set<std::string> assigned;
  assigned_names(stmt.blocks[0], assigned);
  assigned.erase(stmt.ranges[0].name.text);
  std::vector<std::pair<std::string, Binding*>> carried;
  std::vector<std::pair<Binding*, Binding>> empty;  // stay so: the loop may not run
  for (const Variable& variable : assigned_variables(assigned)) {
    if (variable.binding->kind == Binding::Kind::Value) {
      carried.emplace_back(variable.name, variable.binding);
    } else {
      empty.emplace_back(variable.binding, *variable.binding);
    }
  }
  if (!enter(stmt.span)) {
    return;
  }
  const ir::RegionId body = fn().add_region();
  op.regions = {body};
  std::vector<std::string> carried_names;
  for (const auto& [name, binding] : carried) {
    carried_names.push_back(name);
    op.operands.push_back(binding->value);
    const ir::ValueId arg = fn().add_value(fn().type(binding->value), name);
    carried_init_[arg.index()] = binding->value;
    fn().regions[body].args.push_back(arg);
    op.results.push_back(fn().add_value(fn().type(binding->value), name));
    binding->value = arg;
  }
  const std::vector<ir::ValueId> results = op.results;
  const ir::RegionId outer = region_;
  const ir::OpId loop = fn().add_op(ok ? region_ : body, std::move(op));
  if (!ok) {
    fn().regions[body].ops.clear();
  }
  region_ = body;
  push_scope();
  for (const auto& [name, binding] : names) {
    declare(name, binding);
  }
  push_scope();
  block(stmt.blocks[0]);
  pop_scope();
  pop_scope();
  if (!carried.empty()) {
    ir::Op yield;
    yield.kind = ir::OpKind::Yield;
    yield.spans = spans(stmt.blocks[0].end);
    for (const auto& [name, binding] : carried) {
      yield.operands.push_back(binding->value);
    }
    fn().add_op(body, std::move(yield));
    finish_carried(loop, carried_names, stmt.span);
  }
  region_ = outer;
  --nesting_;
  for (size_t i = 0; i < carried.size(); ++i) {
    carried[i].second->value = results[i];
  }
  for (const auto& [binding, before] : empty) {
    *binding = before;
  }
}

}  // namespace pto::frontend
