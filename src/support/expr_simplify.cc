// Folding of constants and trivial identities. Every rule's result is as simple as can be, which makes `make`
// idempotent, and every rule keeps the value wherever the original has one (it may give a value where the original
// overflows).
#include <algorithm>

#include "src/support/checked.h"
#include "src/support/expr_ops.h"

namespace pto {
namespace {

constexpr ExprId kNone{};

// The constant right operand of `x op c`, where `id` is such an expression.
std::optional<int64_t> right_constant(const ExprPool& pool, ExprId id, ExprOp op) {
  const ExprNode& node = pool[id];
  return node.op == op ? pool.constant(node.b) : std::nullopt;
}

bool is_constant(const ExprNode& node) {
  return node.op == ExprOp::Int || node.op == ExprOp::Float;
}

double as_real(const ExprNode& node) {
  return node.op == ExprOp::Float ? node.fvalue : static_cast<double>(node.value);
}

ExprId fold(ExprPool& pool, ExprOp op, const ExprNode& a, const ExprNode& b) {
  const bool real = a.op == ExprOp::Float || b.op == ExprOp::Float || op == ExprOp::Div;
  if (!real) {
    const std::optional<int64_t> value = apply_int(op, a.value, b.value);
    return value ? pool.integer(*value) : kNone;
  }
  if (is_comparison(op)) {
    return pool.integer(compare_real(op, as_real(a), as_real(b)) ? 1 : 0);
  }
  const std::optional<double> value = apply_real(op, as_real(a), as_real(b));
  return value ? pool.real(*value) : kNone;
}

// x + 0, c + x, (x + c1) + c2
ExprId simplify_add(ExprPool& pool, ExprId a, ExprId b) {
  if (pool.constant(a)) {
    return pool.add(b, a);
  }
  const std::optional<int64_t> c = pool.constant(b);
  if (!c) {
    return kNone;
  }
  if (*c == 0) {
    return a;
  }
  if (const auto inner = right_constant(pool, a, ExprOp::Add)) {
    if (const auto sum = checked_add(*inner, *c)) {
      const ExprId base = pool[a].a;
      return pool.add(base, pool.integer(*sum));
    }
  }
  return kNone;
}

// x - x, x - c
ExprId simplify_sub(ExprPool& pool, ExprId a, ExprId b) {
  if (a == b) {
    return pool.integer(0);
  }
  const std::optional<int64_t> c = pool.constant(b);
  const std::optional<int64_t> negated = c ? checked_sub(0, *c) : std::nullopt;
  return negated ? pool.add(a, pool.integer(*negated)) : kNone;
}

// x * 0, x * 1, c * x, (x * c1) * c2
ExprId simplify_mul(ExprPool& pool, ExprId a, ExprId b) {
  if (pool.constant(a)) {
    return pool.mul(b, a);
  }
  const std::optional<int64_t> c = pool.constant(b);
  if (!c) {
    return kNone;
  }
  if (*c == 0) {
    return b;
  }
  if (*c == 1) {
    return a;
  }
  if (const auto inner = right_constant(pool, a, ExprOp::Mul)) {
    if (const auto product = checked_mul(*inner, *c)) {
      const ExprId base = pool[a].a;
      return pool.mul(base, pool.integer(*product));
    }
  }
  return kNone;
}

// x / 1, x % 1, and (x * c1) / c2, (x * c1) % c2 where c2 divides c1
ExprId simplify_division(ExprPool& pool, ExprOp op, ExprId a, ExprId b) {
  const std::optional<int64_t> c = pool.constant(b);
  if (!c) {
    return kNone;
  }
  if (*c == 1) {
    return op == ExprOp::Mod ? pool.integer(0) : a;
  }
  const std::optional<int64_t> factor = right_constant(pool, a, ExprOp::Mul);
  if (!factor || floor_mod(*factor, *c) != 0) {
    return kNone;
  }
  if (op == ExprOp::Mod) {
    return pool.integer(0);
  }
  const std::optional<int64_t> quotient = floor_div(*factor, *c);
  const ExprId base = pool[a].a;
  return quotient ? pool.mul(base, pool.integer(*quotient)) : kNone;
}

// min(x, x), min(x, c), min(c1, min(c2, x))
ExprId simplify_min_max(ExprPool& pool, ExprOp op, ExprId a, ExprId b) {
  if (a == b) {
    return a;
  }
  if (pool.constant(b)) {
    return pool.make(op, b, a);
  }
  const std::optional<int64_t> c = pool.constant(a);
  const ExprNode inner = pool[b];
  const std::optional<int64_t> inner_constant = inner.op == op ? pool.constant(inner.a) : std::nullopt;
  if (!c || !inner_constant) {
    return kNone;
  }
  const int64_t both = op == ExprOp::Min ? std::min(*c, *inner_constant) : std::max(*c, *inner_constant);
  return pool.make(op, pool.integer(both), inner.b);
}

// x && 0, x && 1 (where x is 0 or 1), and so for ||
ExprId simplify_logic(ExprPool& pool, ExprOp op, ExprId a, ExprId b) {
  if (a == b && is_truth(pool[a].op)) {
    return a;
  }
  const bool constant_first = pool.constant(a).has_value();
  const std::optional<int64_t> c = constant_first ? pool.constant(a) : pool.constant(b);
  if (!c) {
    return kNone;
  }
  const ExprId other = constant_first ? b : a;
  const bool decided = (*c != 0) == (op == ExprOp::Or);
  if (decided) {
    return pool.integer(op == ExprOp::Or ? 1 : 0);
  }
  return is_truth(pool[other].op) ? other : kNone;
}

}  // namespace

std::optional<int64_t> apply_int(ExprOp op, int64_t a, int64_t b) {
  switch (op) {
    case ExprOp::Add:
      return checked_add(a, b);
    case ExprOp::Sub:
      return checked_sub(a, b);
    case ExprOp::Mul:
      return checked_mul(a, b);
    case ExprOp::FloorDiv:
      return floor_div(a, b);
    case ExprOp::CeilDiv:
      return ceil_div(a, b);
    case ExprOp::Mod:
      return floor_mod(a, b);
    case ExprOp::Min:
      return std::min(a, b);
    case ExprOp::Max:
      return std::max(a, b);
    case ExprOp::Lt:
      return a < b ? 1 : 0;
    case ExprOp::Le:
      return a <= b ? 1 : 0;
    case ExprOp::Eq:
      return a == b ? 1 : 0;
    case ExprOp::Ne:
      return a != b ? 1 : 0;
    case ExprOp::And:
      return a != 0 && b != 0 ? 1 : 0;
    case ExprOp::Or:
      return a != 0 || b != 0 ? 1 : 0;
    default:
      return std::nullopt;
  }
}

std::optional<double> apply_real(ExprOp op, double a, double b) {
  switch (op) {
    case ExprOp::Add:
      return a + b;
    case ExprOp::Sub:
      return a - b;
    case ExprOp::Mul:
      return a * b;
    case ExprOp::Div:
      return a / b;
    case ExprOp::Min:
      return std::min(a, b);
    case ExprOp::Max:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

bool compare_real(ExprOp op, double a, double b) {
  switch (op) {
    case ExprOp::Lt:
      return a < b;
    case ExprOp::Le:
      return a <= b;
    case ExprOp::Eq:
      return a == b;
    default:
      return a != b;
  }
}

ExprId simplify(ExprPool& pool, ExprOp op, ExprId a, ExprId b) {
  const ExprNode left = pool[a];
  const ExprNode right = pool[b];
  if (is_constant(left) && is_constant(right)) {
    const ExprId folded = fold(pool, op, left, right);
    // A difference that overflows is written as a sum like every other one.
    const bool differs = !folded.valid() && op == ExprOp::Sub;
    return differs ? simplify_sub(pool, a, b) : folded;
  }
  // No identity of integers holds for floats: there are NaN and -0.0, and rounding.
  if (op == ExprOp::Div || pool.known_real(a) || pool.known_real(b)) {
    return kNone;
  }
  switch (op) {
    case ExprOp::Add:
      return simplify_add(pool, a, b);
    case ExprOp::Sub:
      return simplify_sub(pool, a, b);
    case ExprOp::Mul:
      return simplify_mul(pool, a, b);
    case ExprOp::FloorDiv:
    case ExprOp::CeilDiv:
    case ExprOp::Mod:
      return simplify_division(pool, op, a, b);
    case ExprOp::Min:
    case ExprOp::Max:
      return simplify_min_max(pool, op, a, b);
    case ExprOp::Lt:
    case ExprOp::Ne:
      return a == b ? pool.integer(0) : kNone;
    case ExprOp::Le:
    case ExprOp::Eq:
      return a == b ? pool.integer(1) : kNone;
    case ExprOp::And:
    case ExprOp::Or:
      return simplify_logic(pool, op, a, b);
    default:
      return kNone;
  }
}

}  // namespace pto
