// Reductions, softmax, reshape.
#include "src/frontend/lower.h"

namespace pto::frontend {

std::optional<int> Lower::axis(const ast::Expr& call, size_t rank, std::optional<int> fallback,
                               const std::string& name) {
  const ast::Argument* arg = argument(call, "axis");
  if (arg == nullptr && !fallback) {
    error(DiagId::ArgumentCount, call.span, {name, "an `axis`", "none"}).help("write `axis: -1` for the last axis");
    return std::nullopt;
  }
  int64_t value = fallback.value_or(0);
  if (arg != nullptr) {
    const auto given = constant(arg->value, "an axis", -16);
    if (!given) {
      return std::nullopt;
    }
    value = *given;
  }
  const auto count = static_cast<int64_t>(rank);
  if (value < -count || value >= count) {
    error(DiagId::AxisRange, arg == nullptr ? call.span : at(arg->value).span,
          {std::to_string(value), std::to_string(rank)});
    return std::nullopt;
  }
  return static_cast<int>(value < 0 ? value + count : value);
}

// The IR keeps the reduced axis; without `keepdims` a reshape drops it.
Val Lower::reduce_op(ir::OpKind kind, const std::string& name, const ast::Expr& call) {
  if (!check_arguments(call, name, 1, {"axis", "keepdims"})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`" + name + "`");
  const auto keep = flag(call, "keepdims");
  if (val.is_error() || !keep) {
    return {};
  }
  ir::Type type = fn().type(val.value);
  const auto along = axis(call, type.dims.size(), std::nullopt, name);
  if (!along) {
    return {};
  }
  if (type.dtype == DType::Bool || (kind == ir::OpKind::Mean && !is_float(type.dtype))) {
    return fail(DiagId::WrongType, call.span,
                {"`" + name + "`", kind == ir::OpKind::Mean ? "floats" : "numbers", dtype_name(type.dtype)});
  }
  std::vector<ExprId> dropped = type.dims;
  dropped.erase(dropped.begin() + *along);
  if (!*keep && dropped.empty()) {
    error(DiagId::RankMismatch, call.span, {"the result of `" + name + "`", "1 to 5", "0"})
        .help("write `keepdims: true`");
    return {};
  }
  type.dims[static_cast<size_t>(*along)] = fn().exprs.integer(1);
  ir::Op op;
  op.kind = kind;
  op.operands = {val.value};
  op.axis = *along;
  const ir::ValueId result = emit(std::move(op), std::move(type), call.span);
  if (!result.valid()) {
    return {};
  }
  return *keep ? Val::of(result) : reshape_value(result, std::move(dropped), call.span);
}

Val Lower::tile_reduce(ir::OpKind kind, int axis, const std::string& name, const ast::Expr& call) {
  if (!check_arguments(call, name, 1, {})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`" + name + "`");
  if (val.is_error()) {
    return {};
  }
  ir::Type type = fn().type(val.value);
  if (!type.is_tile()) {
    return fail(DiagId::WrongType, call.span, {"`" + name + "`", "a tile", text(type)});
  }
  if (type.dtype == DType::Bool) {
    return fail(DiagId::WrongType, call.span, {"`" + name + "`", "numbers", "bool"});
  }
  (axis == 1 ? type.cols : type.rows) = 1;
  (axis == 1 ? type.valid_cols : type.valid_rows) = fn().exprs.integer(1);
  type.layout = Layout::None;
  ir::Op op;
  op.kind = kind;
  op.axis = axis;
  op.operands = {val.value};
  const ir::ValueId result = emit(std::move(op), std::move(type), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::softmax_op(const ast::Expr& call) {
  if (!check_arguments(call, "softmax", 1, {"axis"})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`softmax`");
  if (val.is_error()) {
    return {};
  }
  const ir::Type type = fn().type(val.value);
  const auto along = axis(call, type.dims.size(), -1, "softmax");
  if (!along) {
    return {};
  }
  if (!is_float(type.dtype)) {
    return fail(DiagId::WrongType, call.span, {"`softmax`", "floats", dtype_name(type.dtype)});
  }
  ir::Op op;
  op.kind = ir::OpKind::Softmax;
  op.axis = *along;
  op.operands = {val.value};
  const ir::ValueId result = emit(std::move(op), type, call.span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::reshape_value(ir::ValueId value, std::vector<ExprId> dims, Span span) {
  ir::Type type = fn().type(value);
  const std::vector<ExprId> before = type.dims;
  if (!same_product(fn().exprs, before, dims)) {
    return fail(DiagId::ElementCount, span,
                {text(type), dims_text(dims), "can't prove that the numbers of elements are equal"});
  }
  type.dims = std::move(dims);
  ir::Op op;
  op.kind = ir::OpKind::Reshape;
  op.operands = {value};
  const ir::ValueId result = emit(std::move(op), std::move(type), span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::reshape_op(const ast::Expr& call) {
  if (!check_arguments(call, "reshape", 2, {})) {
    return {};
  }
  const ast::Expr& list = at(call.args[1].value);
  if (list.kind != ast::ExprKind::List) {
    return fail(DiagId::WrongType, list.span, {"`reshape`", "a shape like `[M * N]`", "something else"});
  }
  if (!is_level(ir::Level::Tensor) && (in_parallel_ || region_ != fn().body || body_started_)) {
    return fail(DiagId::WrongPlace, call.span,
                {"`reshape`", "behind other statements: it names a view of a whole tensor"});
  }
  // A view of an output is written through, so its name is looked up as a place, not read.
  const ast::Expr& base = at(call.args[0].value);
  Val val;
  Binding* binding = base.kind == ast::ExprKind::Name && !is_level(ir::Level::Tensor) ? lookup(base.text) : nullptr;
  if (binding != nullptr && binding->kind == Binding::Kind::Value) {
    val = Val::of(binding->value);
  } else {
    val = value_operand(call.args[0].value, "`reshape`");
  }
  if (val.is_error()) {
    return {};
  }
  if (!fn().type(val.value).is_tensor()) {
    return fail(DiagId::WrongType, base.span, {"`reshape`", "a tensor in global memory", text(val)});
  }
  auto dims = shape(list.items, list.span);
  if (!dims) {
    return {};
  }
  Val out = reshape_value(val.value, std::move(*dims), call.span);
  if (out.is_value() && is_level(ir::Level::Block)) {
    fn().tensors.push_back(out.value);
  }
  if (out.is_value() && binding != nullptr) {
    view_params_[out.value.index()] = binding->param >= 0 ? binding->param : view_param(binding->value);
  }
  return out;
}

int Lower::view_param(ir::ValueId value) const {
  const auto found = view_params_.find(value.index());
  return found == view_params_.end() ? -1 : found->second;
}

}  // namespace pto::frontend
