// Index and scalar expressions: dims, offsets, loop bounds, scalar operands.
#include <cmath>
#include <limits>

#include "src/frontend/lower.h"

namespace pto::frontend {
namespace {

// Integers that a type can hold, as doubles; the ends of 64-bit types are close enough for a literal.
bool fits_integer(DType type, int64_t value) {
  if (type == DType::Bool) {
    return value == 0 || value == 1;
  }
  const int bits = bit_width(type);
  if (dtype_class(type) == DTypeClass::UInt) {
    return value >= 0 && (bits >= 63 || value < int64_t{1} << bits);
  }
  return bits >= 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1));
}

}  // namespace

DType Lower::scalar_type(ExprId id) const {
  std::vector<SymId> symbols;
  fn().exprs.collect_symbols(id, symbols);
  DType widest = DType::None;
  for (const SymId sym : symbols) {
    const Symbol& symbol = fn().symbols[sym.index()];
    const bool typed = symbol.kind == SymKind::Scalar || is_float(symbol.dtype);
    if (typed && (widest == DType::None || (is_float(symbol.dtype) && !is_float(widest)) ||
                  (is_float(symbol.dtype) == is_float(widest) && bit_width(symbol.dtype) > bit_width(widest)))) {
      widest = symbol.dtype;
    }
  }
  // `index` parameters are plain index expressions.
  return widest == DType::I64 ? DType::None : widest;
}

Val Lower::make_scalar(ExprOp op, ExprId a, ExprId b, Span span) {
  if ((op == ExprOp::FloorDiv || op == ExprOp::CeilDiv || op == ExprOp::Mod) && fn().exprs.constant(b) == 0) {
    return fail(DiagId::OutOfBounds, span, {"division by zero"});
  }
  const ExprId id = fn().exprs.make(op, a, b);
  if (fn().exprs.tree_size(id) > kLargestExpression) {
    return fail(DiagId::ExpressionTooLarge, span, {});
  }
  return Val::scalar(id);
}

Val Lower::scalar_binary(const ast::Expr& expr, ExprId a, ExprId b) {
  const bool real = is_real(a) || is_real(b);
  switch (expr.op) {
    case ast::Operator::Add:
      return make_scalar(ExprOp::Add, a, b, expr.span);
    case ast::Operator::Sub:
      return make_scalar(ExprOp::Sub, a, b, expr.span);
    case ast::Operator::Mul:
      return make_scalar(ExprOp::Mul, a, b, expr.span);
    case ast::Operator::Div:
      return make_scalar(real ? ExprOp::Div : ExprOp::FloorDiv, a, b, expr.span);
    case ast::Operator::Mod:
      if (real) {
        return fail(DiagId::WrongType, expr.op_span, {"`%`", "integers", "a float"});
      }
      return make_scalar(ExprOp::Mod, a, b, expr.span);
    case ast::Operator::Lt:
      return make_scalar(ExprOp::Lt, a, b, expr.span);
    case ast::Operator::Le:
      return make_scalar(ExprOp::Le, a, b, expr.span);
    case ast::Operator::Gt:
      return make_scalar(ExprOp::Lt, b, a, expr.span);
    case ast::Operator::Ge:
      return make_scalar(ExprOp::Le, b, a, expr.span);
    case ast::Operator::Eq:
      return make_scalar(ExprOp::Eq, a, b, expr.span);
    case ast::Operator::Ne:
      return make_scalar(ExprOp::Ne, a, b, expr.span);
    case ast::Operator::And:
      return make_scalar(ExprOp::And, a, b, expr.span);
    case ast::Operator::Or:
      return make_scalar(ExprOp::Or, a, b, expr.span);
    default:
      return unsupported(expr.op_span, "this operator on scalars");
  }
}

Val Lower::negate_scalar(ExprId a, Span span) {
  const ExprNode& node = fn().exprs[a];
  if (node.op == ExprOp::Float) {
    return Val::scalar(fn().exprs.real(-node.fvalue));
  }
  if (is_real(a)) {
    return make_scalar(ExprOp::Mul, a, fn().exprs.real(-1.0), span);
  }
  return make_scalar(ExprOp::Sub, fn().exprs.integer(0), a, span);
}

ExprId Lower::index(ast::ExprRef ref, std::string_view what) {
  const Val val = eval(ref);
  if (val.is_error()) {
    return {};
  }
  if (!val.is_scalar() || is_real(val.expr)) {
    error(DiagId::WrongType, at(ref).span, {std::string(what), "an index expression", text(val)});
    return {};
  }
  return val.expr;
}

std::optional<int64_t> Lower::constant(ast::ExprRef ref, std::string_view what, int64_t least) {
  const ExprId id = index(ref, what);
  if (!id.valid()) {
    return std::nullopt;
  }
  const auto value = fn().exprs.constant(id);
  if (!value) {
    std::vector<SymId> symbols;
    fn().exprs.collect_symbols(id, symbols);
    Handle handle = error(DiagId::NotConstant, at(ref).span, {std::string(what)});
    for (const SymId sym : symbols) {
      const Symbol& symbol = fn().symbols[sym.index()];
      if (symbol.kind == SymKind::Dim) {
        handle.help("make the dim static: `" + symbol.name + " = 1024` in the brackets, or `-D " + symbol.name +
                    "=1024`");
        break;
      }
    }
    return std::nullopt;
  }
  if (*value < least) {
    if (least == 1) {
      error(DiagId::InvalidDim, at(ref).span, {std::string(what), std::to_string(*value)});
    } else {
      error(DiagId::OutOfBounds, at(ref).span,
            {std::string(what) + " must be at least " + std::to_string(least) + ", found " + std::to_string(*value)});
    }
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> Lower::constant_item(ast::ExprRef ref, std::string_view what) {
  return constant(ref, what, std::numeric_limits<int64_t>::min());
}

ExprId Lower::scalar_operand(ExprId id, DType type, Span span) {
  const ExprNode node = fn().exprs[id];
  const bool wants_float = is_float(type);
  if (node.op == ExprOp::Int) {
    if (wants_float) {
      return fn().exprs.real(static_cast<double>(node.value));
    }
    if (!fits_integer(type, node.value)) {
      error(DiagId::LiteralType, span, {std::to_string(node.value), dtype_name(type)})
          .note(span, "it takes the type of the other operand");
      return {};
    }
    return id;
  }
  if (node.op == ExprOp::Float) {
    // inf and nan exist in every float type; a finite literal must not become one of them.
    const double limit = type == DType::F16 ? 65520.0 : std::numeric_limits<float>::max();
    if (!wants_float) {
      error(DiagId::LiteralType, span, {text(id), dtype_name(type)})
          .help("write an integer, or `cast` the other operand");
      return {};
    }
    if (std::isfinite(node.fvalue) && std::fabs(node.fvalue) > limit) {
      error(DiagId::LiteralType, span, {text(id), dtype_name(type)}).note(span, "it is out of the type's range");
      return {};
    }
    return id;
  }
  const DType own = scalar_type(id);
  if (own != DType::None && own != type) {
    const bool widens = is_float(own) == wants_float && bit_width(own) < bit_width(type) && wants_float;
    if (!widens) {
      error(DiagId::TypeMismatch, span, {"this operation", dtype_name(type), dtype_name(own)})
          .help("declare the scalar as `" + dtype_name(type) + "`");
      return {};
    }
  } else if (own == DType::None && is_real(id) && !wants_float) {
    error(DiagId::LiteralType, span, {text(id), dtype_name(type)});
    return {};
  }
  // An index expression becomes a float by meeting one.
  return wants_float && !is_real(id) ? fn().exprs.mul(id, fn().exprs.real(1.0)) : id;
}

ExprId Lower::scalar_value(ast::ExprRef ref, DType type, std::string_view what) {
  const Val val = eval(ref);
  if (val.is_error()) {
    return {};
  }
  if (!val.is_scalar()) {
    error(DiagId::WrongType, at(ref).span, {std::string(what), "a scalar", text(val)});
    return {};
  }
  return scalar_operand(val.expr, type, at(ref).span);
}

}  // namespace pto::frontend
