// Linear forms over loop counters and atoms, and least values of expressions, for prove-pairs (prove_pairs_forms.h).
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "src/passes/block/prove_pairs_skeleton.h"

namespace pto::passes {

// (sum of loops + sum of atoms + constant) / divisor, off by at most wobble / divisor.
struct Linear {
  std::map<int, int64_t> loops;  // by depth
  std::map<ExprId, int64_t> atoms;
  int64_t constant = 0;
  int64_t divisor = 1;
  int64_t wobble = 0;
};

// a + sign * b. Nullopt: the numbers are too large to be worth it; all numbers of a form stay far below overflow.
std::optional<Linear> add_linear(const Linear& a, const Linear& b, int64_t sign);
std::optional<Linear> scale_linear(const Linear& x, int64_t factor);

// A lower bound of `expr`, given those of its operands: dims and block_count() are at least 1, a constraint may say
// more.
std::optional<int64_t> least_value(const PairSkeleton& pair, ExprId expr,
                                   const std::map<ExprId, std::optional<int64_t>>& least);

}  // namespace pto::passes
