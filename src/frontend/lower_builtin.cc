// Which built-in a name is. What each does is in the files of its subject.
#include <algorithm>

#include "src/frontend/lower.h"

namespace pto::frontend {

const std::vector<std::string>& builtin_names() {
  static const std::vector<std::string> kNames = {
      "abs",     "exp",   "log",     "sqrt",    "rsqrt",     "recip",   "relu",        "tanh",        "sigmoid",
      "sum",     "max",   "min",     "mean",    "softmax",   "matmul",  "cast",        "reshape",     "select",
      "full",    "zeros", "load",    "store",   "row_max",   "row_sum", "row_min",     "col_sum",     "col_max",
      "col_min", "move",  "extract", "fillpad", "broadcast", "ceildiv", "block_index", "block_count", "lane_index"};
  return kNames;
}

bool is_builtin(const std::string& name) {
  return std::find(builtin_names().begin(), builtin_names().end(), name) != builtin_names().end();
}

Val Lower::scalar_builtin(const std::string& name, const ast::Expr& expr, bool& found) {
  if (name == "block_index" || name == "block_count") {
    found = true;
    if (!is_level(ir::Level::Tile) && !is_level(ir::Level::Block)) {
      return fail(DiagId::WrongPlace, expr.span, {"`" + name + "()`", level_word()});
    }
    if (!check_arguments(expr, name, 0, {})) {
      return {};
    }
    return Val::scalar(fn().exprs.leaf(name == "block_index" ? ExprOp::BlockIndex : ExprOp::BlockCount));
  }
  if (name == "lane_index") {
    found = true;
    if (fn().kind != ir::FunctionKind::Core || fn().core_kind != CoreKind::Vec) {
      const std::string place = fn().kind == ir::FunctionKind::Core ? "in a cube core" : level_word();
      return fail(DiagId::WrongPlace, expr.span, {"`lane_index()`", place});
    }
    return check_arguments(expr, name, 0, {}) ? Val::scalar(fn().exprs.leaf(ExprOp::LaneIndex)) : Val{};
  }
  if (name == "ceildiv") {
    found = true;
    if (!check_arguments(expr, name, 2, {})) {
      return {};
    }
    const ExprId a = index(expr.args[0].value, "`ceildiv`");
    const ExprId b = index(expr.args[1].value, "`ceildiv`");
    return a.valid() && b.valid() ? make_scalar(ExprOp::CeilDiv, a, b, expr.span) : Val{};
  }
  if (name == "min" || name == "max") {
    // One value is a reduction; two of anything the elementwise form.
    size_t positional = 0;
    for (const ast::Argument& arg : expr.args) {
      positional += arg.name.empty() ? 1 : 0;
    }
    found = positional != 1 || !is_level(ir::Level::Tensor);
    return found ? min_max(expr, name == "max") : Val{};
  }
  return {};
}

Val Lower::min_max(const ast::Expr& expr, bool is_max) {
  const std::string name = is_max ? "max" : "min";
  if (!check_arguments(expr, name, 2, {})) {
    return {};
  }
  const Val a = eval(expr.args[0].value);
  const Val b = eval(expr.args[1].value);
  if (a.is_error() || b.is_error()) {
    return {};
  }
  if (a.is_scalar() && b.is_scalar()) {
    return make_scalar(is_max ? ExprOp::Max : ExprOp::Min, a.expr, b.expr, expr.span);
  }
  if (a.kind == Val::Kind::Tuple || b.kind == Val::Kind::Tuple) {
    return fail(DiagId::WrongType, expr.span, {"`" + name + "`", "two values", text(a.is_value() ? b : a)});
  }
  return binary_op(is_max ? ir::OpKind::Max : ir::OpKind::Min, "`" + name + "`", a, b, expr.span,
                   at(expr.args[0].value).span, at(expr.args[1].value).span);
}

// Operations that tensors and tiles share, and those of tensors alone.
Val Lower::builtin(const std::string& name, const ast::Expr& expr, bool& found) {
  found = true;
  static const std::map<std::string, ir::OpKind> kUnary = {
      {"abs", ir::OpKind::Abs},   {"exp", ir::OpKind::Exp},     {"log", ir::OpKind::Log},
      {"sqrt", ir::OpKind::Sqrt}, {"rsqrt", ir::OpKind::Rsqrt}, {"recip", ir::OpKind::Recip},
      {"relu", ir::OpKind::Relu}, {"tanh", ir::OpKind::Tanh},   {"sigmoid", ir::OpKind::Sigmoid},
  };
  if (const auto unary = kUnary.find(name); unary != kUnary.end()) {
    return unary_op(unary->second, name, expr);
  }
  if (name == "cast") {
    return cast_op(expr);
  }
  if (name == "select") {
    return select_op(expr);
  }
  if (name == "full" || name == "zeros") {
    return full_op(expr, name == "zeros");
  }
  if (name == "broadcast") {
    return broadcast_op(expr);
  }
  if (name == "matmul") {
    return matmul_op(expr);
  }
  if (name == "reshape") {
    return reshape_op(expr);
  }
  static const std::map<std::string, ir::OpKind> kReductions = {{"sum", ir::OpKind::Sum},
                                                                {"max", ir::OpKind::ReduceMax},
                                                                {"min", ir::OpKind::ReduceMin},
                                                                {"mean", ir::OpKind::Mean}};
  if (is_level(ir::Level::Tensor)) {
    if (const auto reduction = kReductions.find(name); reduction != kReductions.end()) {
      return reduce_op(reduction->second, name, expr);
    }
    if (name == "softmax") {
      return softmax_op(expr);
    }
  }
  found = false;
  return {};
}

Val Lower::tile_builtin(const std::string& name, const ast::Expr& expr, bool& found) {
  found = true;
  struct Row {
    std::string_view name;
    ir::OpKind kind;
    int axis;
  };
  static constexpr Row kReductions[] = {
      {"row_sum", ir::OpKind::Sum, 1}, {"row_max", ir::OpKind::ReduceMax, 1}, {"row_min", ir::OpKind::ReduceMin, 1},
      {"col_sum", ir::OpKind::Sum, 0}, {"col_max", ir::OpKind::ReduceMax, 0}, {"col_min", ir::OpKind::ReduceMin, 0},
  };
  for (const Row& row : kReductions) {
    if (row.name == name) {
      return tile_reduce(row.kind, row.axis, name, expr);
    }
  }
  if (name == "load") {
    return load_op(expr);
  }
  if (name == "store") {
    return store_op(expr);
  }
  if (name == "move") {
    return move_op(expr);
  }
  if (name == "extract") {
    return extract_op(expr);
  }
  if (name == "fillpad") {
    return fillpad_op(expr);
  }
  found = false;
  return {};
}

}  // namespace pto::frontend
