#include "src/passes/block/prove_pairs_linear.h"

#include <algorithm>
#include <numeric>

#include "src/support/checked.h"
#include "src/support/expr_ops.h"

namespace pto::passes {

namespace {

constexpr int64_t kLargest = int64_t{1} << 40;
constexpr size_t kMostParts = 8;

// a + b * factor where the result is small.
bool add_to(int64_t& a, int64_t b, int64_t factor) {
  const auto product = checked_mul(b, factor);
  const auto sum = product ? checked_add(a, *product) : std::nullopt;
  if (!sum || *sum <= -kLargest || *sum >= kLargest) {
    return false;
  }
  a = *sum;
  return true;
}

template <typename Key>
bool add_to(std::map<Key, int64_t>& into, const std::map<Key, int64_t>& from, int64_t factor) {
  for (const auto& [key, value] : from) {
    int64_t& sum = into[key];
    if (!add_to(sum, value, factor)) {
      return false;
    }
    if (sum == 0) {
      into.erase(key);
    }
  }
  return true;
}

bool add_to(Linear& into, const Linear& from, int64_t factor) {
  return add_to(into.loops, from.loops, factor) && add_to(into.atoms, from.atoms, factor) &&
         add_to(into.constant, from.constant, factor) &&
         add_to(into.wobble, from.wobble, factor < 0 ? -factor : factor);
}

}  // namespace

std::optional<Linear> add_linear(const Linear& a, const Linear& b, int64_t sign) {
  Linear sum;
  sum.divisor = std::lcm(a.divisor, b.divisor);  // both small
  if (!add_to(sum, a, sum.divisor / a.divisor) || !add_to(sum, b, sign * (sum.divisor / b.divisor)) ||
      sum.atoms.size() > kMostParts || sum.loops.size() > kMostParts) {
    return std::nullopt;
  }
  return sum;
}

std::optional<Linear> scale_linear(const Linear& x, int64_t factor) {
  Linear scaled;
  scaled.divisor = x.divisor;
  if (factor <= -kLargest || factor >= kLargest || !add_to(scaled, x, factor)) {
    return std::nullopt;
  }
  return scaled;
}

std::optional<int64_t> least_value(const PairSkeleton& pair, ExprId expr,
                                   const std::map<ExprId, std::optional<int64_t>>& least) {
  const ExprNode& node = pair.pool[expr];
  std::optional<int64_t> found;
  const auto a = node.a.valid() ? least.at(node.a) : std::nullopt;
  const auto b = node.b.valid() ? least.at(node.b) : std::nullopt;
  const bool both = a && b;
  switch (node.op) {
    case ExprOp::Int:
      found = node.value;
      break;
    case ExprOp::Sym: {
      const SymKind kind = pair.symbols[node.sym.index()].kind;
      found = kind == SymKind::Dim    ? std::optional<int64_t>(1)
              : kind == SymKind::Loop ? std::optional<int64_t>(0)
                                      : found;
      break;
    }
    case ExprOp::BlockIndex:
      found = 0;
      break;
    case ExprOp::BlockCount:
      found = 1;
      break;
    case ExprOp::Add:
      found = both ? checked_add(*a, *b) : found;
      break;
    case ExprOp::Mul:
      found = both && *a >= 0 && *b >= 0 ? checked_mul(*a, *b) : found;
      break;
    case ExprOp::CeilDiv:
    case ExprOp::FloorDiv:
      if (const auto by = pair.pool.constant(node.b); by && *by > 0) {
        found = a ? (node.op == ExprOp::CeilDiv ? ceil_div(*a, *by) : floor_div(*a, *by)) : found;
      } else if (both && *a >= 0 && *b >= 1) {
        found = node.op == ExprOp::CeilDiv && *a >= 1 ? 1 : 0;
      }
      break;
    case ExprOp::Mod:
      found = b && *b >= 1 ? std::optional<int64_t>(0) : found;
      break;
    case ExprOp::Min:
      found = both ? std::optional(std::min(*a, *b)) : found;
      break;
    case ExprOp::Max:
      found = both ? std::max(*a, *b) : a ? a : b;
      break;
    case ExprOp::Lt:
    case ExprOp::Le:
    case ExprOp::Eq:
    case ExprOp::Ne:
    case ExprOp::And:
    case ExprOp::Or:
      found = 0;
      break;
    case ExprOp::Sub:
    case ExprOp::Float:
    case ExprOp::LaneIndex:
    case ExprOp::Div:
      break;
  }
  const auto fact = pair.least.find(expr);
  if (fact != pair.least.end()) {
    found = found ? std::max(*found, fact->second) : fact->second;
  }
  return found;
}

}  // namespace pto::passes
