// What each operator of a scalar expression computes, on integers and on floats. Folding and evaluation both use these,
// so that they can't disagree. Not for programs that embed the toolchain.
#pragma once

#include <cstdint>
#include <optional>

#include "pto/expr.h"

namespace pto {

// Trees up to this size are walked as trees; larger ones may share nodes so often that a walk would never end.
inline constexpr uint32_t kSmallTree = 256;

inline bool is_leaf(ExprOp op) {
  return op <= ExprOp::LaneIndex;
}
inline bool is_comparison(ExprOp op) {
  return op >= ExprOp::Lt && op <= ExprOp::Ne;
}
inline bool is_logic(ExprOp op) {
  return op == ExprOp::And || op == ExprOp::Or;
}
// 0 or 1 whatever its operands are.
inline bool is_truth(ExprOp op) {
  return is_comparison(op) || is_logic(op);
}
// Of its operands' type: float on floats, integer on integers.
inline bool follows_operands(ExprOp op) {
  return op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::Mul || op == ExprOp::Min || op == ExprOp::Max;
}

// Nullopt: overflow, division by zero, or no operator on integers.
std::optional<int64_t> apply_int(ExprOp op, int64_t a, int64_t b);
// Add, Sub, Mul, Div, Min, Max; nullopt for the others.
std::optional<double> apply_real(ExprOp op, double a, double b);
// Lt, Le, Eq, Ne on floats.
bool compare_real(ExprOp op, double a, double b);

// The expression that `op` on these operands is simplified to; not valid: none, they are as simple as can be.
ExprId simplify(ExprPool& pool, ExprOp op, ExprId a, ExprId b);

}  // namespace pto
