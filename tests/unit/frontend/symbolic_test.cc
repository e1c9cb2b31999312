// Proofs about index expressions, against brute force over small values.
#include "src/frontend/symbolic.h"

#include <catch2/catch.hpp>
#include <random>

namespace pto::frontend::test {
namespace {

struct Random {
  std::mt19937 engine{7};
  int64_t below(int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint32_t>(n)); }
};

ExprId random_expr(ExprPool& pool, Random& random, const std::vector<ExprId>& leaves, int depth) {
  if (depth == 0 || random.below(4) == 0) {
    return random.below(3) == 0 ? pool.integer(random.below(9) - 2)
                                : leaves[static_cast<size_t>(random.below(static_cast<int64_t>(leaves.size())))];
  }
  static constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub,      ExprOp::Mul, ExprOp::Min,
                                    ExprOp::Max, ExprOp::FloorDiv, ExprOp::Mod, ExprOp::CeilDiv};
  const ExprOp op = kOps[random.below(8)];
  const ExprId a = random_expr(pool, random, leaves, depth - 1);
  const bool divides = op == ExprOp::FloorDiv || op == ExprOp::Mod || op == ExprOp::CeilDiv;
  const ExprId b = divides ? pool.integer(1 + random.below(5)) : random_expr(pool, random, leaves, depth - 1);
  return pool.make(op, a, b);
}

TEST_CASE("bounds hold for every value, and equality for every value") {
  Random random;
  int bounded = 0;
  int equal = 0;
  for (int round = 0; round < 3000; ++round) {
    ExprPool pool;
    const ExprId dim = pool.symbol(SymId(0));
    const ExprId loop = pool.symbol(SymId(1));
    const ExprId let = pool.symbol(SymId(2));
    const int64_t lo = random.below(5) - 1;
    const int64_t hi = lo + 1 + random.below(9);
    const int64_t step = 1 + random.below(4);
    Facts facts;
    facts.upper[0] = 12;
    facts.divisor[0] = 4;
    facts.loops[1] = {pool.integer(lo), pool.integer(hi), pool.integer(step)};
    facts.lets[2] = pool.add(pool.mul(loop, pool.integer(3)), dim);
    const ExprId e = random_expr(pool, random, {dim, loop, let}, 3);
    const ExprId other = random_expr(pool, random, {dim, loop}, 2);
    const auto upper = upper_bound(pool, facts, e);
    const auto lower = lower_bound(pool, facts, e);
    const bool same = same_expr(pool, e, other);
    const int64_t length = 1 + random.below(6);
    const bool fits = always_fits(pool, facts, e, length, dim);
    bounded += upper && lower ? 1 : 0;
    equal += same ? 1 : 0;
    for (int64_t d = 4; d <= 12; d += 4) {
      for (int64_t l = lo; l < hi; l += step) {
        const std::vector<int64_t> values = {d, l, l * 3 + d};
        ExprEnv env;
        env.ints = values;
        const auto value = pool.evaluate(e, env);
        REQUIRE(value);
        CHECK((!upper || *value <= *upper));
        CHECK((!lower || *value >= *lower));
        CHECK((!fits || *value + length <= d));
        CHECK((!same || pool.evaluate(other, env) == value));
      }
    }
  }
  CHECK(bounded > 500);
  CHECK(equal > 50);
}

TEST_CASE("windows that follow a loop over the whole dim") {
  ExprPool pool;
  const ExprId dim = pool.symbol(SymId(0));
  const ExprId loop = pool.symbol(SymId(1));
  Facts facts;
  facts.loops[1] = {pool.integer(0), dim, pool.integer(64)};
  CHECK_FALSE(always_fits(pool, facts, loop, 64, dim));
  facts.divisor[0] = 128;
  CHECK(always_fits(pool, facts, loop, 64, dim));
  CHECK(always_fits(pool, facts, loop, 32, dim));
  CHECK_FALSE(always_fits(pool, facts, loop, 65, dim));
  CHECK_FALSE(always_fits(pool, facts, pool.add(loop, pool.integer(1)), 64, dim));
}

TEST_CASE("products of dims") {
  ExprPool pool;
  const ExprId m = pool.symbol(SymId(0));
  const ExprId n = pool.symbol(SymId(1));
  CHECK(same_product(pool, {m, n, pool.integer(2)}, {pool.mul(n, pool.integer(2)), m}));
  CHECK_FALSE(same_product(pool, {m, n}, {m, m}));
  CHECK_FALSE(same_product(pool, {m}, {pool.add(m, pool.integer(1))}));
}

}  // namespace
}  // namespace pto::frontend::test
