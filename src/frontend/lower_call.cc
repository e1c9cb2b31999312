// Calls of graphs and kernels, and tasks: arguments, and the callee's dims by unification with their shapes.
#include <algorithm>

#include "src/frontend/lower.h"

namespace pto::frontend {

std::optional<Lower::CallArguments> Lower::bind_arguments(FunctionInfo& callee, const std::vector<ast::ExprRef>& args,
                                                          Span span, bool with_results) {
  const ir::Function& target = callee.function;
  const size_t inputs = callee.item->params.size();
  const size_t all = callee.order.size();
  size_t declared = with_results ? all : inputs;
  // A core's plain parameters may be outputs; they are given all the same.
  size_t required = declared;
  while (!with_results && required > 0 && target.params[callee.order[required - 1]].default_value) {
    --required;
  }
  if (args.size() > declared || args.size() < required) {
    error(DiagId::ArgumentCount, span,
          {target.name, std::to_string(declared) + (declared == 1 ? " argument" : " arguments"),
           std::to_string(args.size())})
        .note(target.span, "declared here");
    return std::nullopt;
  }
  CallArguments out;
  out.tensors.resize(target.params.size());
  std::vector<Span> arg_spans(target.params.size(), span);
  std::map<size_t, ExprId> scalars;
  bool ok = true;
  for (size_t i = 0; i < declared; ++i) {
    const size_t place = callee.order[i];
    const ir::Param& param = target.params[place];
    if (!param.is_tensor()) {
      ExprId value;
      if (i < args.size()) {
        value = scalar_value(args[i], param.dtype, "argument `" + param.name + "` of `" + target.name + "`");
      } else {
        value = is_float(param.dtype) ? fn().exprs.real(*param.default_value)
                                      : fn().exprs.integer(static_cast<int64_t>(*param.default_value));
      }
      ok = ok && value.valid();
      scalars[place] = value;
      continue;
    }
    arg_spans[place] = at(args[i]).span;
    const ir::ValueId value = with_results ? task_tensor(args[i], param) : [&] {
      const Val val = eval(args[i]);
      if (!val.is_error() && !val.is_value()) {
        fail(DiagId::WrongType, at(args[i]).span,
             {"argument `" + param.name + "` of `" + target.name + "`", "a tensor", text(val)});
      }
      return val.is_value() ? val.value : ir::ValueId();
    }();
    out.tensors[place] = value;
    ok = ok && value.valid();
  }
  for (size_t i = 0; ok && i < target.params.size(); ++i) {
    if (const auto scalar = scalars.find(i); scalar != scalars.end()) {
      out.scalars.push_back(scalar->second);
      out.symbols[target.params[i].sym.index()] = scalar->second;
    }
  }
  if (!ok || !unify(callee, out, arg_spans, span)) {
    return std::nullopt;
  }
  return out;
}

std::optional<ExprId> Lower::substitute(FunctionInfo& callee, const CallArguments& bound, ExprId id) {
  bool complete = true;
  const ExprId out = fn().exprs.import(callee.function.exprs, id, [&](SymId sym) {
    const auto known = bound.symbols.find(sym.index());
    complete = complete && known != bound.symbols.end();
    return known == bound.symbols.end() ? fn().exprs.integer(1) : known->second;
  });
  return complete ? std::optional(out) : std::nullopt;
}

bool Lower::unify(FunctionInfo& callee, CallArguments& bound, const std::vector<Span>& arg_spans, Span span) {
  const ir::Function& target = callee.function;
  for (size_t i = 0; i < target.params.size(); ++i) {
    if (!bound.tensors[i].valid()) {
      continue;
    }
    const ir::Type& wanted = target.params[i].type;
    const ir::Type given = fn().type(bound.tensors[i]);
    if (wanted.dtype != given.dtype || wanted.dims.size() != given.dims.size()) {
      error(DiagId::WrongType, arg_spans[i],
            {"argument `" + target.params[i].name + "` of `" + target.name + "`",
             dtype_name(wanted.dtype) + " of rank " + std::to_string(wanted.dims.size()), text(given)})
          .note(target.params[i].span, "declared here");
      return false;
    }
    for (size_t k = 0; k < wanted.dims.size(); ++k) {
      const ExprNode& node = target.exprs[wanted.dims[k]];
      if (node.op == ExprOp::Sym) {
        bound.symbols.emplace(node.sym.index(), given.dims[k]);  // the first one counts; the others are compared
      }
    }
  }
  for (const SymId dim : target.dims) {
    const auto value = bound.symbols.find(dim.index());
    if (value == bound.symbols.end()) {
      error(DiagId::DimNotBound, span,
            {target.symbols[dim.index()].name, target.name, "no argument of this call has it as a dim of its own"});
      return false;
    }
    bound.dims.push_back(value->second);
  }
  bool ok = true;
  for (size_t i = 0; i < target.params.size(); ++i) {
    ok = (!bound.tensors[i].valid() || check_unified(callee, bound, i, arg_spans[i])) && ok;
  }
  return ok;
}

bool Lower::check_unified(FunctionInfo& callee, const CallArguments& bound, size_t param, Span span) {
  const ir::Param& wanted = callee.function.params[param];
  const ir::Type given = fn().type(bound.tensors[param]);
  for (size_t k = 0; k < wanted.type.dims.size(); ++k) {
    const auto dim = substitute(callee, bound, wanted.type.dims[k]);
    if (!dim) {
      continue;
    }
    if (!same_expr(fn().exprs, *dim, given.dims[k])) {
      const std::string what =
          "dim " + std::to_string(k) + " of argument `" + wanted.name + "` of `" + callee.function.name + "`";
      const bool known = fn().exprs.constant(*dim) && fn().exprs.constant(given.dims[k]);
      Handle handle =
          known ? error(DiagId::ShapeMismatch, span,
                        {what, "`" + text(*dim) + "`", "`" + text(given.dims[k]) + "`", "they must be equal"})
                : error(DiagId::DimsUnproved, span, {what, "`" + text(*dim) + "`", "`" + text(given.dims[k]) + "`"});
      handle.note(wanted.span, "declared here");
      return false;
    }
  }
  return true;
}

Val Lower::call_function(FunctionInfo& callee, const ast::Expr& call) {
  const ir::Function& target = callee.function;
  const Span span = call.span;
  if (!is_level(ir::Level::Tensor)) {
    error(DiagId::NotCallable, span,
          {target.name, is_level(ir::Level::Exec) ? "start it with `task`" : "only graphs call"})
        .note(target.span, "declared here");
    return {};
  }
  const ir::Level level = ir::level_of(target.kind);
  if (level != ir::Level::Tensor && level != ir::Level::Tile) {
    error(DiagId::NotCallable, span, {target.name, "a graph calls graphs and kernels"})
        .note(target.span, "declared here");
    return {};
  }
  info_.calls.emplace_back(target.name, span);
  if (!callee.ok) {
    return {};
  }
  std::vector<ast::ExprRef> args;
  for (const ast::Argument& arg : call.args) {
    if (!arg.name.empty()) {
      return fail(DiagId::UnknownArgument, arg.name.span, {target.name, arg.name.text});
    }
    args.push_back(arg.value);
  }
  for (const ir::Param& param : target.params) {
    if (param.mode == ir::ParamMode::InOut) {
      return unsupported(span, "a call of a function with an `inout` parameter");
    }
  }
  auto bound = bind_arguments(callee, args, span, false);
  if (!bound) {
    return {};
  }
  ir::Op op;
  op.kind = ir::OpKind::Call;
  op.callee = target.name;
  op.exprs = bound->scalars;
  op.spans = spans(span);
  Val out{Val::Kind::Tuple, {}, {}, {}};
  for (size_t i = 0; i < target.params.size(); ++i) {
    const ir::Param& param = target.params[i];
    if (!param.is_tensor()) {
      continue;
    }
    if (param.mode != ir::ParamMode::Out) {
      op.operands.push_back(bound->tensors[i]);
      continue;
    }
    ir::Type type = param.type;
    for (ExprId& dim : type.dims) {
      const auto own = substitute(callee, *bound, dim);
      if (!own) {
        return fail(DiagId::DimNotBound, span, {"of a result", target.name, "it depends on what no argument gives"});
      }
      if (fn().exprs.tree_size(*own) > kLargestExpression) {
        return fail(DiagId::ExpressionTooLarge, span, {});
      }
      dim = *own;
    }
    if (!check_tensor_size(type, span, "a result of `" + target.name + "`")) {
      return {};
    }
    out.values.push_back(fn().add_value(std::move(type), ""));
  }
  op.results = out.values;
  fn().add_op(region_, std::move(op));
  return out.values.size() == 1 ? Val::of(out.values[0]) : out;
}

// --- Execution level

// A tensor of a task: a parameter or a buffer, as a plain name.
ir::ValueId Lower::task_tensor(ast::ExprRef ref, const ir::Param& param) {
  const ast::Expr& expr = at(ref);
  if (expr.kind != ast::ExprKind::Name) {
    error(DiagId::WrongType, expr.span, {"argument `" + param.name + "`", "a parameter or buffer", "an expression"});
    return {};
  }
  Binding* binding = lookup(expr.text);
  if (binding == nullptr) {
    unknown(DiagId::UnknownName, expr.span, expr.text, visible_names());
    return {};
  }
  if (binding->kind == Binding::Kind::Poison) {
    return {};
  }
  if (binding->kind != Binding::Kind::Value) {
    error(DiagId::WrongType, expr.span,
          {"argument `" + param.name + "`", "a tensor", "`" + expr.text + "`, which is none"})
        .note(binding->span, "declared here");
    return {};
  }
  const bool reads = param.mode != ir::ParamMode::Out;
  const bool writes = param.mode != ir::ParamMode::In;
  const auto place = static_cast<size_t>(std::max(binding->param, 0));
  const ir::ParamMode own = binding->param >= 0 ? fn().params[place].mode : ir::ParamMode::Out;
  if (writes && own == ir::ParamMode::In) {
    error(DiagId::WriteOfInput, expr.span, {expr.text}).note(param.span, "the task writes it here");
    return {};
  }
  if (reads && own == ir::ParamMode::Out && !written_buffers_.contains(binding->value.index())) {
    error(DiagId::ReadBeforeWrite, expr.span, {expr.text}).note(binding->span, "declared here");
    return {};
  }
  return binding->value;
}

void Lower::task_statement(const ast::Stmt& stmt) {
  const ast::Name& name = stmt.names[0];
  auto poison = [&] { declare(name, poisoned()); };
  const auto found = module_.function_names.find(stmt.callee.text);
  if (found == module_.function_names.end()) {
    std::vector<std::string> names;
    for (const auto& [each, info] : module_.function_names) {
      names.push_back(each);
    }
    unknown(DiagId::UnknownName, stmt.callee.span, stmt.callee.text, std::move(names));
    return poison();
  }
  FunctionInfo& callee = *found->second;
  const ir::Level level = ir::level_of(callee.function.kind);
  if (level != ir::Level::Tile && level != ir::Level::Block) {
    error(DiagId::NotCallable, stmt.callee.span, {stmt.callee.text, "a task runs a kernel or a core"})
        .note(callee.item->name.span, "declared here");
    return poison();
  }
  info_.calls.emplace_back(stmt.callee.text, stmt.span);
  if (!callee.ok) {
    return poison();
  }
  auto bound = bind_arguments(callee, stmt.args, stmt.span, true);
  ir::Op op;
  op.kind = ir::OpKind::Task;
  op.name = name.text;
  op.callee = stmt.callee.text;
  bool ok = bound.has_value();
  if (stmt.blocks_expr.valid()) {
    op.blocks = index(stmt.blocks_expr, "a number of blocks");
    ok = ok && op.blocks.valid();
    const auto blocks = op.blocks.valid() ? fn().exprs.constant(op.blocks) : std::nullopt;
    if (blocks && *blocks < 1) {
      error(DiagId::InvalidDim, at(stmt.blocks_expr).span, {"a number of blocks", std::to_string(*blocks)});
      ok = false;
    }
  }
  for (const ast::Name& after : stmt.after) {
    const Binding* binding = lookup(after.text);
    if (binding == nullptr || (binding->kind != Binding::Kind::Task && binding->kind != Binding::Kind::Poison)) {
      error(DiagId::UnknownValue, after.span, {after.text, "task declared before", "the tasks above"});
      ok = false;
    } else if (binding->kind == Binding::Kind::Task) {
      op.after.push_back(ir::OpId(binding->index));
    }
  }
  if (!ok) {
    return poison();
  }
  for (size_t i = 0; i < callee.function.params.size(); ++i) {
    if (!bound->tensors[i].valid()) {
      continue;
    }
    op.operands.push_back(bound->tensors[i]);
    if (callee.function.params[i].mode != ir::ParamMode::In) {
      note_written(bound->tensors[i]);
    }
  }
  op.exprs = bound->scalars;
  op.task_dims = bound->dims;
  op.spans = spans(stmt.span);
  Binding binding;
  binding.kind = Binding::Kind::Task;
  binding.index = fn().add_op(region_, std::move(op)).index();
  declare(name, binding);
}

void Lower::note_written(ir::ValueId value) {
  written_buffers_.insert(value.index());
  for (size_t i = 0; i < fn().params.size(); ++i) {
    if (fn().params[i].is_tensor() && fn().params[i].value == value) {
      written_.insert(i);
    }
  }
}

void Lower::buffer_statement(const ast::Stmt& stmt) {
  const ast::Name& name = stmt.names[0];
  auto type = tensor_type(stmt.types[0]);
  ir::Op op;
  op.kind = ir::OpKind::Buffer;
  if (type && stmt.value.valid()) {
    const ExprId offset = index(stmt.value, "an offset");
    if (!offset.valid()) {
      type.reset();
    }
    op.exprs = {offset};
  }
  if (!type) {
    declare(name, poisoned());
    return;
  }
  Binding binding;
  binding.kind = Binding::Kind::Value;
  binding.value = emit(std::move(op), std::move(*type), stmt.span);
  if (binding.value.valid()) {
    fn().values[binding.value].name = name.text;
    declare(name, binding);
  }
}

}  // namespace pto::frontend
