// One step of a compiled expression. Inline: the innermost loop of every simulated instruction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/machine/program.h"
#include "src/support/checked.h"

namespace pto::runtime {

inline double as_real(int64_t bits) { return std::bit_cast<double>(bits); }
inline int64_t as_bits(double value) { return std::bit_cast<int64_t>(value); }

inline bool store_checked(std::optional<int64_t> value, int64_t& out) {
  out = value.value_or(0);
  return value.has_value();
}

// False: overflow, or division by zero.
inline bool apply_eval(EvalOp op, int64_t a, int64_t b, int64_t& out) {
  switch (op) {
    case EvalOp::Add: return !__builtin_add_overflow(a, b, &out);
    case EvalOp::Sub: return !__builtin_sub_overflow(a, b, &out);
    case EvalOp::Mul: return !__builtin_mul_overflow(a, b, &out);
    case EvalOp::FloorDiv: return store_checked(floor_div(a, b), out);
    case EvalOp::CeilDiv: return store_checked(ceil_div(a, b), out);
    case EvalOp::Mod: return store_checked(floor_mod(a, b), out);
    case EvalOp::Min: out = std::min(a, b); return true;
    case EvalOp::Max: out = std::max(a, b); return true;
    case EvalOp::Lt: out = a < b ? 1 : 0; return true;
    case EvalOp::Le: out = a <= b ? 1 : 0; return true;
    case EvalOp::Eq: out = a == b ? 1 : 0; return true;
    case EvalOp::Ne: out = a != b ? 1 : 0; return true;
    case EvalOp::And: out = a != 0 && b != 0 ? 1 : 0; return true;
    case EvalOp::Or: out = a != 0 || b != 0 ? 1 : 0; return true;
    case EvalOp::Shift: out = a >> b; return true;
    case EvalOp::Mask: out = a & b; return true;
    case EvalOp::RealAdd: out = as_bits(as_real(a) + as_real(b)); return true;
    case EvalOp::RealSub: out = as_bits(as_real(a) - as_real(b)); return true;
    case EvalOp::RealMul: out = as_bits(as_real(a) * as_real(b)); return true;
    case EvalOp::RealDiv: out = as_bits(as_real(a) / as_real(b)); return true;
    case EvalOp::RealMin: out = as_bits(as_real(b) < as_real(a) ? as_real(b) : as_real(a)); return true;
    case EvalOp::RealMax: out = as_bits(as_real(a) < as_real(b) ? as_real(b) : as_real(a)); return true;
    case EvalOp::RealLt: out = as_real(a) < as_real(b) ? 1 : 0; return true;
    case EvalOp::RealLe: out = as_real(a) <= as_real(b) ? 1 : 0; return true;
    case EvalOp::RealEq: out = as_real(a) == as_real(b) ? 1 : 0; return true;
    case EvalOp::RealNe: out = as_real(a) != as_real(b) ? 1 : 0; return true;
    case EvalOp::ToReal: out = as_bits(static_cast<double>(a)); return true;
  }
  return false;
}

// Does the result of `op` exist when operands may have no value? An `&&` or `||` that its left side decides does not need
// its right side.
inline bool operands_good(EvalOp op, int64_t a, bool bad_a, bool bad_b) {
  if (bad_a) {
    return false;
  }
  return !bad_b || (op == EvalOp::And && a == 0) || (op == EvalOp::Or && a != 0);
}

}  // namespace pto::runtime
