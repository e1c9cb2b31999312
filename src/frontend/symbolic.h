// What can be said of index expressions when compiling: are two equal for all values of their symbols, and between
// which constants does one lie.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pto/expr.h"

namespace pto::frontend {

// Equal as polynomials over what is no sum, difference or product: `M * 2` and `M + M`. False: not proved.
bool same_expr(const ExprPool& pool, ExprId a, ExprId b);
// Same for products of lists: `[M * N]` and `[N, M]`. False: not proved.
bool same_product(const ExprPool& pool, const std::vector<ExprId>& a, const std::vector<ExprId>& b);

struct LoopFact {
  ExprId lo, hi, step;
};

// Facts about symbols in scope.
struct Facts {
  std::map<uint32_t, LoopFact> loops;   // by SymId
  std::map<uint32_t, ExprId> lets;      // by SymId
  std::map<uint32_t, int64_t> upper;    // dims: `M <= 8192`
  std::map<uint32_t, int64_t> divisor;  // dims: `M % 16 == 0`
};

std::optional<int64_t> upper_bound(const ExprPool& pool, const Facts& facts, ExprId id);
std::optional<int64_t> lower_bound(const ExprPool& pool, const Facts& facts, ExprId id);
// Is offset + length <= dim whenever the loops run?
bool always_fits(const ExprPool& pool, const Facts& facts, ExprId offset, int64_t length, ExprId dim);

}  // namespace pto::frontend
