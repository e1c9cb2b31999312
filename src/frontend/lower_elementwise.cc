// Elementwise operations of tensors and tiles: types, broadcasting, scalars on a side.
#include "src/frontend/lower.h"

namespace pto::frontend {

// Shapes of tensors meet as in NumPy: from the last dim, and 1 stretches.
std::optional<ir::Type> Lower::broadcast_tensors(const ir::Type& a, const ir::Type& b, const std::string& name,
                                                 Span span) {
  const ir::Type& longer = a.dims.size() >= b.dims.size() ? a : b;
  const ir::Type& shorter = a.dims.size() >= b.dims.size() ? b : a;
  ir::Type out = longer;
  const size_t skip = longer.dims.size() - shorter.dims.size();
  for (size_t i = 0; i < shorter.dims.size(); ++i) {
    const ExprId left = longer.dims[skip + i];
    const ExprId right = shorter.dims[i];
    if (same_expr(fn().exprs, left, right) || fn().exprs.constant(right) == 1) {
      continue;
    }
    if (fn().exprs.constant(left) == 1) {
      out.dims[skip + i] = right;
      continue;
    }
    const bool both_known = fn().exprs.constant(left) && fn().exprs.constant(right);
    if (both_known) {
      error(DiagId::ShapeMismatch, span,
            {name, text(a), text(b), "`" + text(left) + "` against `" + text(right) + "`, and neither is 1"});
    } else {
      error(DiagId::DimsUnproved, span, {name, "`" + text(left) + "`", "`" + text(right) + "`"})
          .note(span, "the operands are " + text(a) + " and " + text(b));
    }
    return std::nullopt;
  }
  return out;
}

// Tiles: the same shape, or one is a column [R, 1] or a row [1, C] of the other.
std::optional<ir::Type> Lower::broadcast_tiles(const ir::Type& a, const ir::Type& b, const std::string& name,
                                               Span span) {
  const bool rows_fit = a.rows == b.rows || a.rows == 1 || b.rows == 1;
  const bool cols_fit = a.cols == b.cols || a.cols == 1 || b.cols == 1;
  const bool a_whole = a.rows >= b.rows && a.cols >= b.cols;
  const bool b_whole = b.rows >= a.rows && b.cols >= a.cols;
  const ir::Type& large = a_whole ? a : b;
  const ir::Type& small = a_whole ? b : a;
  if (!rows_fit || !cols_fit || (!a_whole && !b_whole) || (small.rows != large.rows && small.cols != large.cols)) {
    error(DiagId::ShapeMismatch, span,
          {name, text(a), text(b), "tiles have one shape, or one is a column `[R, 1]` or a row `[1, C]` of the other"});
    return std::nullopt;
  }
  ir::Type out = large;
  // Memory follows from the operands once it is written on loads and moves; a result never is where its column was.
  out.space = large.space == small.space ? large.space : Space::None;
  out.layout = Layout::None;
  join_valid(out, a);
  join_valid(out, b);
  return out;
}

std::optional<ir::Type> Lower::broadcast(const ir::Type& a, const ir::Type& b, const std::string& name, Span span) {
  if (a.dtype != b.dtype) {
    Handle handle = error(DiagId::TypeMismatch, span, {name, dtype_name(a.dtype), dtype_name(b.dtype)});
    const DType wider = bit_width(a.dtype) >= bit_width(b.dtype) ? a.dtype : b.dtype;
    handle.help("`cast(x, " + dtype_name(wider) + ")` converts the other operand");
    return std::nullopt;
  }
  return a.is_tensor() ? broadcast_tensors(a, b, name, span) : broadcast_tiles(a, b, name, span);
}

Val Lower::binary_op(ir::OpKind kind, const std::string& name, const Val& a, const Val& b, Span span, Span a_span,
                     Span b_span) {
  ir::Op op;
  op.kind = kind;
  ir::Type type;
  if (a.is_value() && b.is_value()) {
    auto joined = broadcast(fn().type(a.value), fn().type(b.value), name, span);
    if (!joined) {
      return {};
    }
    type = std::move(*joined);
    op.operands = {a.value, b.value};
  } else {
    const Val& value = a.is_value() ? a : b;
    const Val& scalar = a.is_value() ? b : a;
    type = fn().type(value.value);
    const ExprId id = scalar_operand(scalar.expr, type.dtype, a.is_value() ? b_span : a_span);
    if (!id.valid()) {
      return {};
    }
    op.operands = {value.value};
    op.exprs = {id};
    op.scalar_side = a.is_value() ? ir::ScalarSide::Right : ir::ScalarSide::Left;
  }
  if (type.dtype == DType::Bool) {
    return fail(DiagId::WrongType, span, {name, "numbers", "bool"});
  }
  const ir::ValueId result = emit(std::move(op), std::move(type), span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::unary_value(ir::OpKind kind, const std::string& name, ir::ValueId value, Span span) {
  const ir::Type type = fn().type(value);
  const bool any_number = kind == ir::OpKind::Neg || kind == ir::OpKind::Abs || kind == ir::OpKind::Relu;
  if (any_number ? dtype_class(type.dtype) != DTypeClass::Int && !is_float(type.dtype) : !is_float(type.dtype)) {
    return fail(DiagId::WrongType, span, {name, any_number ? "signed numbers" : "floats", dtype_name(type.dtype)});
  }
  ir::Op op;
  op.kind = kind;
  op.operands = {value};
  const ir::ValueId result = emit(std::move(op), type, span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::unary_op(ir::OpKind kind, const std::string& name, const ast::Expr& call) {
  if (!check_arguments(call, name, 1, {})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`" + name + "`");
  return val.is_error() ? Val{} : unary_value(kind, "`" + name + "`", val.value, call.span);
}

Val Lower::compare_op(isa::Cmp cmp, const Val& a, const Val& b, const ast::Expr& expr) {
  ir::Op op;
  op.kind = ir::OpKind::Compare;
  op.cmp = cmp;
  ir::Type type;
  if (a.is_value() && b.is_value()) {
    auto joined = broadcast(fn().type(a.value), fn().type(b.value), "a comparison", expr.span);
    if (!joined) {
      return {};
    }
    type = std::move(*joined);
    op.operands = {a.value, b.value};
  } else {
    const Val& value = a.is_value() ? a : b;
    type = fn().type(value.value);
    const ExprId id =
        scalar_operand(a.is_value() ? b.expr : a.expr, type.dtype, at(a.is_value() ? expr.b : expr.a).span);
    if (!id.valid()) {
      return {};
    }
    op.operands = {value.value};
    op.exprs = {id};
    op.scalar_side = a.is_value() ? ir::ScalarSide::Right : ir::ScalarSide::Left;
  }
  type.dtype = DType::Bool;
  const ir::ValueId result = emit(std::move(op), std::move(type), expr.span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::cast_op(const ast::Expr& call) {
  if (!check_arguments(call, "cast", 2, {"round"})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`cast`");
  const ast::Expr& name = at(call.args[1].value);
  if (name.kind != ast::ExprKind::Name) {
    return fail(DiagId::WrongType, name.span, {"`cast`", "an element type", "an expression"});
  }
  const auto to = dtype({name.text, name.span});
  if (val.is_error() || !to) {
    return {};
  }
  ir::Op op;
  op.kind = ir::OpKind::Cast;
  op.operands = {val.value};
  if (const ast::Argument* round = argument(call, "round")) {
    const auto mode = isa::round_from_spelling(word(round->value));
    if (!mode || *mode == isa::Round::None) {
      return fail(DiagId::UnknownValue, at(round->value).span,
                  {word(round->value), "rounding mode", "`rint`, `round`, `floor`, `ceil`, `trunc` and `odd`"});
    }
    op.round = *mode;
  }
  ir::Type type = fn().type(val.value);
  if (*to == DType::Bool || type.dtype == DType::Bool) {
    error(DiagId::WrongType, call.span, {"`cast`", "numbers", "bool"})
        .help(*to == DType::Bool ? "a comparison makes a bool: `x != 0`" : "`select(c, a, b)` chooses by a bool");
    return {};
  }
  type.dtype = *to;
  const ir::ValueId result = emit(std::move(op), std::move(type), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::select_op(const ast::Expr& call) {
  if (!check_arguments(call, "select", 3, {})) {
    return {};
  }
  const Val condition = value_operand(call.args[0].value, "the condition of `select`");
  const Val a = eval(call.args[1].value);
  const Val b = eval(call.args[2].value);
  if (condition.is_error() || a.is_error() || b.is_error()) {
    return {};
  }
  const ir::Type mask = fn().type(condition.value);
  if (mask.dtype != DType::Bool) {
    error(DiagId::WrongType, at(call.args[0].value).span, {"the condition of `select`", "bool", dtype_name(mask.dtype)})
        .help("write a comparison: `x != 0`");
    return {};
  }
  ir::Op op;
  op.kind = ir::OpKind::Select;
  ir::Type type;
  if (a.is_value() && b.is_value()) {
    auto joined = broadcast(fn().type(a.value), fn().type(b.value), "`select`", call.span);
    if (!joined) {
      return {};
    }
    type = std::move(*joined);
    op.operands = {condition.value, a.value, b.value};
  } else if (a.is_value() || b.is_value()) {
    const Val& value = a.is_value() ? a : b;
    type = fn().type(value.value);
    const size_t place = a.is_value() ? 2 : 1;
    const ExprId id = scalar_operand(a.is_value() ? b.expr : a.expr, type.dtype, at(call.args[place].value).span);
    if (!id.valid()) {
      return {};
    }
    op.operands = {condition.value, value.value};
    op.exprs = {id};
    op.scalar_side = a.is_value() ? ir::ScalarSide::Right : ir::ScalarSide::Left;
  } else {
    error(DiagId::WrongType, call.span, {"`select`", "a tensor or tile on one side", "two scalars"})
        .help("make one of them with `full`");
    return {};
  }
  // The condition takes part in broadcasting, with its own element type out of the way.
  ir::Type as_value = mask;
  as_value.dtype = type.dtype;
  auto joined = broadcast(type, as_value, "`select`", call.span);
  if (!joined) {
    return {};
  }
  const ir::ValueId result = emit(std::move(op), std::move(*joined), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

// `f32[M, N]` as an argument; a tile's type may have a valid region behind `;`.
std::optional<ir::Type> Lower::shaped_type(ast::ExprRef ref, const std::string& what) {
  const ast::Expr& expr = at(ref);
  if (expr.kind != ast::ExprKind::Index || at(expr.a).kind != ast::ExprKind::Name) {
    error(DiagId::WrongType, expr.span, {what, "a type like `f32[8, 64]`", "something else"});
    return std::nullopt;
  }
  const auto element = dtype({at(expr.a).text, at(expr.a).span});
  if (!element) {
    return std::nullopt;
  }
  std::vector<ast::ExprRef> dims;
  for (const ast::Slice& slice : expr.slices) {
    if (slice.kind != ast::SliceKind::Point) {
      error(DiagId::WrongPlace, slice.span, {"a range", "among the dims of a type"});
      return std::nullopt;
    }
    dims.push_back(slice.a);
  }
  ir::Type type;
  type.dtype = *element;
  if (is_level(ir::Level::Tensor)) {
    auto shape_dims = shape(dims, expr.span);
    if (!shape_dims || expr.b.valid()) {
      return std::nullopt;
    }
    type.kind = ir::TypeKind::Tensor;
    type.dims = std::move(*shape_dims);
    return check_tensor_size(type, expr.span, "this tensor") ? std::optional(type) : std::nullopt;
  }
  if (dims.size() != 2) {
    error(DiagId::RankMismatch, expr.span, {"a tile", "2", std::to_string(dims.size())});
    return std::nullopt;
  }
  const auto rows = constant(dims[0], "a tile's number of rows");
  const auto cols = constant(dims[1], "a tile's number of columns");
  if (!rows || !cols) {
    return std::nullopt;
  }
  type.kind = ir::TypeKind::Tile;
  type.rows = *rows;
  type.cols = *cols;
  type.valid_rows = expr.b.valid() ? index(expr.b, "a valid region") : fn().exprs.integer(*rows);
  type.valid_cols = expr.c.valid() ? index(expr.c, "a valid region") : fn().exprs.integer(*cols);
  if (!type.valid_rows.valid() || !type.valid_cols.valid() || !check_tile_size(type, expr.span)) {
    return std::nullopt;
  }
  return type;
}

Val Lower::full_op(const ast::Expr& call, bool zeros) {
  const std::string name = zeros ? "zeros" : "full";
  const bool tile = is_level(ir::Level::Tile);
  if (!(tile ? check_arguments(call, name, zeros ? 1 : 2, {"in"}) : check_arguments(call, name, zeros ? 1 : 2, {}))) {
    return {};
  }
  auto type = shaped_type(call.args[0].value, "`" + name + "`");
  if (!type || !placement(call, *type)) {
    return {};
  }
  ir::Op op;
  op.kind = ir::OpKind::Full;
  ExprId value = is_float(type->dtype) ? fn().exprs.real(0) : fn().exprs.integer(0);
  if (!zeros) {
    value = scalar_value(call.args[1].value, type->dtype, "`full`");
  }
  if (!value.valid()) {
    return {};
  }
  op.exprs = {value};
  const auto symbols = static_cast<uint32_t>(fn().symbols.size());
  const ir::ValueId result = emit(std::move(op), std::move(*type), call.span);
  if (!result.valid()) {
    return {};
  }
  full_symbols_[result.index()] = symbols;
  return Val::of(result);
}

Val Lower::broadcast_op(const ast::Expr& call) {
  const bool tile = is_level(ir::Level::Tile);
  if (!(tile ? check_arguments(call, "broadcast", 2, {"in"}) : check_arguments(call, "broadcast", 2, {}))) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`broadcast`");
  const ast::Expr& list = at(call.args[1].value);
  if (val.is_error()) {
    return {};
  }
  const bool region = tile && list.kind == ast::ExprKind::Index;  // with the valid region, as dumps have it
  if (list.kind != ast::ExprKind::List && !region) {
    return fail(DiagId::WrongType, list.span, {"`broadcast`", "a shape like `[128, 256]`", "something else"});
  }
  const ir::Type from = fn().type(val.value);
  ir::Type to = from;
  ir::Type given;
  if (tile) {
    if (region) {
      auto type = shaped_type(call.args[1].value, "`broadcast`");
      if (!type) {
        return {};
      }
      given = *type;
      if (given.dtype != from.dtype) {
        return fail(DiagId::TypeMismatch, call.span, {"`broadcast`", dtype_name(from.dtype), dtype_name(given.dtype)});
      }
    } else {
      if (list.items.size() != 2) {
        return fail(DiagId::RankMismatch, list.span, {"a tile", "2", std::to_string(list.items.size())});
      }
      const auto rows = constant(list.items[0], "a tile's number of rows");
      const auto cols = constant(list.items[1], "a tile's number of columns");
      if (!rows || !cols) {
        return {};
      }
      given.rows = *rows;
      given.cols = *cols;
      given.valid_rows = fn().exprs.integer(*rows);
      given.valid_cols = fn().exprs.integer(*cols);
    }
    to.rows = given.rows;
    to.cols = given.cols;
    to.space = Space::None;
    to.layout = Layout::None;
    const bool row = from.rows == 1 && from.cols == to.cols;
    const bool column = from.cols == 1 && from.rows == to.rows;
    if (!row && !column) {
      return fail(DiagId::ShapeMismatch, call.span,
                  {"`broadcast`", text(from), text(to), "it takes a row `[1, C]` or a column `[R, 1]`"});
    }
    to.valid_rows = row ? given.valid_rows : from.valid_rows;
    to.valid_cols = row ? from.valid_cols : given.valid_cols;
    if (!check_tile_size(to, call.span) || !placement(call, to)) {
      return {};
    }
  } else {
    auto dims = shape(list.items, list.span);
    if (!dims) {
      return {};
    }
    to.dims = std::move(*dims);
    const auto joined = broadcast_tensors(to, from, "`broadcast`", call.span);
    if (!joined) {
      return {};
    }
    if (joined->dims != to.dims) {
      return fail(DiagId::ShapeMismatch, call.span,
                  {"`broadcast`", text(from), text(to), "the result has the shape given"});
    }
  }
  ir::Op op;
  op.kind = ir::OpKind::Broadcast;
  op.operands = {val.value};
  const auto symbols = static_cast<uint32_t>(fn().symbols.size());
  const ir::ValueId result = emit(std::move(op), std::move(to), call.span);
  if (!result.valid()) {
    return {};
  }
  full_symbols_[result.index()] = symbols;
  return Val::of(result);
}

}  // namespace pto::frontend
