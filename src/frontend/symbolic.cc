#include "src/frontend/symbolic.h"

#include <algorithm>
#include <limits>

#include "src/support/checked.h"

namespace pto::frontend {
namespace {

constexpr size_t kMostTerms = 64;
constexpr uint32_t kLargestTree = 4096;

// A sum of products of atoms; the key is the sorted list of a product's atoms.
using Monomial = std::vector<uint32_t>;
using Polynomial = std::map<Monomial, int64_t>;

std::optional<Polynomial> add_scaled(Polynomial a, const Polynomial& b, int64_t scale) {
  for (const auto& [monomial, factor] : b) {
    const auto scaled = checked_mul(factor, scale);
    const auto sum = scaled ? checked_add(a[monomial], *scaled) : std::nullopt;
    if (!sum) {
      return std::nullopt;
    }
    a[monomial] = *sum;
    if (*sum == 0) {
      a.erase(monomial);
    }
  }
  return a.size() <= kMostTerms ? std::optional(std::move(a)) : std::nullopt;
}

std::optional<Polynomial> multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const auto& [left, factor] : a) {
    Polynomial part;
    for (const auto& [right, other] : b) {
      Monomial product = left;
      product.insert(product.end(), right.begin(), right.end());
      if (product.size() > kMostTerms) {
        return std::nullopt;
      }
      std::sort(product.begin(), product.end());
      part[product] = other;
    }
    auto sum = add_scaled(std::move(out), part, factor);
    if (!sum) {
      return std::nullopt;
    }
    out = std::move(*sum);
  }
  return out;
}

std::optional<Polynomial> polynomial(const ExprPool& pool, ExprId id) {
  const ExprNode& node = pool[id];
  if (node.op == ExprOp::Int) {
    return node.value == 0 ? Polynomial{} : Polynomial{{{}, node.value}};
  }
  if (node.op != ExprOp::Add && node.op != ExprOp::Sub && node.op != ExprOp::Mul) {
    return Polynomial{{{id.index()}, 1}};
  }
  const auto a = polynomial(pool, node.a);
  const auto b = polynomial(pool, node.b);
  if (!a || !b) {
    return std::nullopt;
  }
  if (node.op == ExprOp::Mul) {
    return multiply(*a, *b);
  }
  return add_scaled(*a, *b, node.op == ExprOp::Add ? 1 : -1);
}

std::optional<int64_t> bound(const ExprPool& pool, const Facts& facts, ExprId id, bool upper);

// The last value of a loop variable, or the first.
std::optional<int64_t> loop_bound(const ExprPool& pool, const Facts& facts, const LoopFact& loop, bool upper) {
  if (!upper) {
    return bound(pool, facts, loop.lo, false);
  }
  const auto hi = bound(pool, facts, loop.hi, true);
  const auto last = hi ? checked_sub(*hi, 1) : std::nullopt;
  const auto lo = pool.constant(loop.lo);
  const auto step = pool.constant(loop.step);
  if (last && lo && step && *step > 0 && *last >= *lo) {
    const auto distance = checked_sub(*last, *lo);
    return distance ? std::optional(*lo + *distance / *step * *step) : std::nullopt;
  }
  return last;
}

std::optional<int64_t> symbol_bound(const ExprPool& pool, const Facts& facts, SymId sym, bool upper) {
  if (const auto loop = facts.loops.find(sym.index()); loop != facts.loops.end()) {
    return loop_bound(pool, facts, loop->second, upper);
  }
  if (const auto let = facts.lets.find(sym.index()); let != facts.lets.end()) {
    return bound(pool, facts, let->second, upper);
  }
  if (upper) {
    const auto known = facts.upper.find(sym.index());
    return known == facts.upper.end() ? std::nullopt : std::optional(known->second);
  }
  return facts.divisor.contains(sym.index()) ? std::optional<int64_t>(0) : std::nullopt;
}

std::optional<int64_t> bound(const ExprPool& pool, const Facts& facts, ExprId id, bool upper) {
  const ExprNode& node = pool[id];
  switch (node.op) {
    case ExprOp::Int:
      return node.value;
    case ExprOp::Sym:
      return symbol_bound(pool, facts, node.sym, upper);
    case ExprOp::BlockIndex:
      return upper ? std::nullopt : std::optional<int64_t>(0);
    case ExprOp::LaneIndex:
      return upper ? 1 : 0;
    case ExprOp::BlockCount:
      return upper ? std::nullopt : std::optional<int64_t>(1);
    case ExprOp::Add:
    case ExprOp::Sub: {
      const bool subtract = node.op == ExprOp::Sub;
      const auto a = bound(pool, facts, node.a, upper);
      const auto b = bound(pool, facts, node.b, subtract ? !upper : upper);
      return !a || !b ? std::nullopt : subtract ? checked_sub(*a, *b) : checked_add(*a, *b);
    }
    case ExprOp::Mul:
    case ExprOp::FloorDiv:
    case ExprOp::CeilDiv: {
      const auto factor = pool.constant(node.b);
      const auto a = bound(pool, facts, node.a, upper);
      if (!a || !factor || *factor <= 0) {
        return std::nullopt;
      }
      return node.op == ExprOp::Mul        ? checked_mul(*a, *factor)
             : node.op == ExprOp::FloorDiv ? floor_div(*a, *factor)
                                           : ceil_div(*a, *factor);
    }
    case ExprOp::Mod: {
      const auto modulus = pool.constant(node.b);
      return !modulus || *modulus <= 0 ? std::nullopt : std::optional(upper ? *modulus - 1 : 0);
    }
    case ExprOp::Min:
    case ExprOp::Max: {
      const auto a = bound(pool, facts, node.a, upper);
      const auto b = bound(pool, facts, node.b, upper);
      const bool either = (node.op == ExprOp::Min) == upper;  // one side is enough
      if (!a || !b) {
        return either ? (a ? a : b) : std::nullopt;
      }
      return node.op == ExprOp::Min ? std::min(*a, *b) : std::max(*a, *b);
    }
    default:
      return std::nullopt;
  }
}

// The known constant that divides an expression.
int64_t divisor_of(const ExprPool& pool, const Facts& facts, ExprId id) {
  const ExprNode& node = pool[id];
  if (node.op == ExprOp::Int) {
    return node.value;
  }
  if (node.op == ExprOp::Sym) {
    const auto known = facts.divisor.find(node.sym.index());
    return known == facts.divisor.end() ? 1 : known->second;
  }
  if (node.op == ExprOp::Mul) {
    const auto factor = pool.constant(node.b);
    return factor && *factor > 0 ? *factor : 1;
  }
  return 1;
}

}  // namespace

bool same_expr(const ExprPool& pool, ExprId a, ExprId b) {
  if (a == b) {
    return true;
  }
  if (pool.tree_size(a) > kLargestTree || pool.tree_size(b) > kLargestTree) {
    return false;
  }
  const auto left = polynomial(pool, a);
  const auto right = polynomial(pool, b);
  return left && right && *left == *right;
}

bool same_product(const ExprPool& pool, const std::vector<ExprId>& a, const std::vector<ExprId>& b) {
  auto product = [&](const std::vector<ExprId>& dims) -> std::optional<Polynomial> {
    std::optional<Polynomial> out = Polynomial{{{}, 1}};
    for (const ExprId dim : dims) {
      const auto factor = pool.tree_size(dim) > kLargestTree ? std::nullopt : polynomial(pool, dim);
      out = out && factor ? multiply(*out, *factor) : std::nullopt;
    }
    return out;
  };
  const auto left = product(a);
  const auto right = product(b);
  return left && right && *left == *right;
}

std::optional<int64_t> upper_bound(const ExprPool& pool, const Facts& facts, ExprId id) {
  return pool.tree_size(id) > kLargestTree ? std::nullopt : bound(pool, facts, id, true);
}

std::optional<int64_t> lower_bound(const ExprPool& pool, const Facts& facts, ExprId id) {
  return pool.tree_size(id) > kLargestTree ? std::nullopt : bound(pool, facts, id, false);
}

bool always_fits(const ExprPool& pool, const Facts& facts, ExprId offset, int64_t length, ExprId dim) {
  const auto size = pool.constant(dim);
  const auto last = size ? upper_bound(pool, facts, offset) : std::nullopt;
  if (last) {
    const auto end = checked_add(*last, length);
    return end && *end <= *size;
  }
  // `for k in 0..K step 64` with K % 64 == 0: the last step starts at K - 64.
  const ExprNode& node = pool[offset];
  if (node.op != ExprOp::Sym) {
    return false;
  }
  const auto loop = facts.loops.find(node.sym.index());
  if (loop == facts.loops.end() || loop->second.hi != dim) {
    return false;
  }
  const auto lo = pool.constant(loop->second.lo);
  const auto step = pool.constant(loop->second.step);
  return lo && step && *step > 0 && length <= *step && *lo % *step == 0 && divisor_of(pool, facts, dim) % *step == 0;
}

}  // namespace pto::frontend
