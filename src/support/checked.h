// Integer arithmetic that tells of overflow, with floor semantics for division: what the language's index expressions
// mean. Nullopt: the result does not fit, or the divisor is zero.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace pto {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> checked_sub(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

// Toward minus infinity: floor_div(-1, 16) == -1.
inline std::optional<int64_t> floor_div(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) {
    return std::nullopt;
  }
  const int64_t quotient = a / b;
  const bool inexact = quotient * b != a;
  return inexact && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Toward plus infinity: ceil_div(1, 16) == 1.
inline std::optional<int64_t> ceil_div(int64_t a, int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) {
    return std::nullopt;
  }
  const int64_t quotient = a / b;
  const bool inexact = quotient * b != a;
  return inexact && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

// Has the divisor's sign: floor_mod(-1, 16) == 15.
inline std::optional<int64_t> floor_mod(int64_t a, int64_t b) {
  if (b == 0) {
    return std::nullopt;
  }
  if (b == -1) {
    return 0;  // the machine's remainder traps for the smallest integer
  }
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

}  // namespace pto
