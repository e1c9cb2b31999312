// Matrix products of tensors and tiles.
#include "src/frontend/lower.h"

namespace pto::frontend {

bool Lower::same_dim(ExprId a, ExprId b, Span span, const std::string& what) {
  if (same_expr(fn().exprs, a, b)) {
    return true;
  }
  if (fn().exprs.constant(a) && fn().exprs.constant(b)) {
    error(DiagId::ShapeMismatch, span, {what, "`" + text(a) + "`", "`" + text(b) + "`", "they must be equal"});
  } else {
    error(DiagId::DimsUnproved, span, {what, "`" + text(a) + "`", "`" + text(b) + "`"});
  }
  return false;
}

std::optional<ir::Type> Lower::matmul_type(const ir::Type& a, const ir::Type& b, Span span) {
  if (a.dtype != b.dtype) {
    error(DiagId::TypeMismatch, span, {"`matmul`", dtype_name(a.dtype), dtype_name(b.dtype)})
        .help("`cast(x, " + dtype_name(a.dtype) + ")` converts an operand");
    return std::nullopt;
  }
  ir::Type out = a;
  if (a.dtype == DType::F16 || a.dtype == DType::BF16 || a.dtype == DType::F32) {
    out.dtype = DType::F32;
  } else if (a.dtype == DType::I8) {
    out.dtype = DType::I32;
  } else {
    error(DiagId::WrongType, span, {"`matmul`", "operands of type f16, bf16, f32 or i8", dtype_name(a.dtype)});
    return std::nullopt;
  }
  if (a.is_tensor()) {
    if (a.dims.size() != 2 || b.dims.size() != 2) {
      if (a.dims.size() > 2 || b.dims.size() > 2) {
        unsupported(span, "`matmul` of tensors of rank above 2");
      } else {
        error(DiagId::RankMismatch, span, {"`matmul`", "2", std::to_string(std::min(a.dims.size(), b.dims.size()))});
      }
      return std::nullopt;
    }
    if (!same_dim(a.dims[1], b.dims[0], span, "`matmul` of " + text(a) + " and " + text(b))) {
      return std::nullopt;
    }
    out.dims = {a.dims[0], b.dims[1]};
    return check_tensor_size(out, span, "the result of `matmul`") ? std::optional(out) : std::nullopt;
  }
  if (a.cols != b.rows) {
    error(
        DiagId::ShapeMismatch, span,
        {"`matmul`", text(a), text(b),
         "the left one has " + std::to_string(a.cols) + " columns, the right one " + std::to_string(b.rows) + " rows"});
    return std::nullopt;
  }
  out.cols = b.cols;
  out.valid_cols = b.valid_cols;
  out.space = a.space == Space::Left && b.space == Space::Right ? Space::Acc : Space::None;
  out.layout = Layout::None;
  return check_tile_size(out, span) ? std::optional(out) : std::nullopt;
}

Val Lower::matmul_op(const ast::Expr& call) {
  const bool tile = is_level(ir::Level::Tile);
  for (const std::string_view later : {"trans_a", "trans_b"}) {
    if (const ast::Argument* arg = argument(call, later)) {
      return unsupported(arg->name.span, "`" + std::string(later) + ":` of `matmul`");
    }
  }
  if (const ast::Argument* arg = argument(call, "acc"); arg != nullptr && !tile) {
    return unsupported(arg->name.span, "`acc:` of `matmul` on tensors");
  }
  if (!check_arguments(call, "matmul", 2, {"bias", "acc"})) {
    return {};
  }
  const Val a = value_operand(call.args[0].value, "`matmul`");
  const Val b = value_operand(call.args[1].value, "`matmul`");
  if (a.is_error() || b.is_error()) {
    return {};
  }
  auto type = matmul_type(fn().type(a.value), fn().type(b.value), call.span);
  if (!type) {
    return {};
  }
  ir::Op op;
  op.kind = ir::OpKind::MatMul;
  op.operands = {a.value, b.value};
  const ast::Argument* acc = argument(call, "acc");
  const ast::Argument* bias = argument(call, "bias");
  if (acc != nullptr && bias != nullptr) {
    return fail(DiagId::WrongPlace, bias->name.span, {"`bias:`", "together with `acc:`"});
  }
  if (acc != nullptr || bias != nullptr) {
    const ast::Argument& third = acc != nullptr ? *acc : *bias;
    const Val val = value_operand(third.value, "`" + third.name.text + ":`");
    if (val.is_error()) {
      return {};
    }
    const ir::Type given = fn().type(val.value);
    ir::Type wanted = *type;
    if (bias != nullptr) {
      op.kind = ir::OpKind::MatMulBias;
      if (tile) {
        wanted.rows = 1;
      } else {
        wanted.dims = {type->dims[1]};
      }
    }
    const bool fits =
        tile ? given.rows == wanted.rows && given.cols == wanted.cols
             : given.dims.size() == wanted.dims.size() && same_expr(fn().exprs, given.dims[0], wanted.dims[0]);
    if (given.dtype != wanted.dtype || !fits) {
      wanted.space = Space::None;
      wanted.valid_rows = fn().exprs.integer(wanted.rows);
      wanted.valid_cols = fn().exprs.integer(wanted.cols);
      return fail(DiagId::WrongType, at(third.value).span, {"`" + third.name.text + ":`", text(wanted), text(given)});
    }
    op.operands.push_back(val.value);
    if (acc != nullptr && given.space == Space::Acc) {
      type->space = Space::Acc;
    }
  }
  const ir::ValueId result = emit(std::move(op), std::move(*type), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

}  // namespace pto::frontend
