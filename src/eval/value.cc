#include "src/eval/value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "src/support/convert.h"

namespace pto::eval {

namespace {

using ir::OpKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return kNaN;
  }
  return a == b ? (std::signbit(a) ? b : a) : std::max(a, b);  // -0 is less than +0
}

double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return kNaN;
  }
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}

int64_t quotient(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? static_cast<int64_t>(uint64_t{0} - static_cast<uint64_t>(a)) : a / b;
}

double integer_binary(OpKind kind, DType dtype, double a, double b) {
  const int64_t x = to_integer(a);
  const int64_t y = to_integer(b);
  // Modulo 2^64 first: unsigned arithmetic, so nothing overflows.
  const auto ux = static_cast<uint64_t>(x);
  const auto uy = static_cast<uint64_t>(y);
  switch (kind) {
    case OpKind::Add: return wrapped(dtype, static_cast<int64_t>(ux + uy));
    case OpKind::Sub: return wrapped(dtype, static_cast<int64_t>(ux - uy));
    case OpKind::Mul: return wrapped(dtype, static_cast<int64_t>(ux * uy));
    case OpKind::Div: return wrapped(dtype, quotient(x, y));
    case OpKind::Max: return maximum(a, b);
    case OpKind::Min: return minimum(a, b);
    default: return kNaN;
  }
}

// Conversions that keep the low bits of what does not fit, where all others saturate.
bool cast_wraps(DType to, DType from) {
  return (from == DType::F16 && (to == DType::U8 || to == DType::I8 || to == DType::I16)) ||
         (from == DType::F32 && to == DType::I16) || (from == DType::I64 && to == DType::I32) ||
         (from == DType::I32 && to == DType::I16);
}

}  // namespace

int64_t element_count(const std::vector<int64_t>& dims) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t count = 1;
  for (int64_t dim : dims) {
    if (dim < 0 || dim > kMost || __builtin_mul_overflow(count, dim, &count) || count > kMost) {
      return -1;
    }
  }
  return count;
}

Tensor unwritten_tensor(DType dtype, std::vector<int64_t> dims) {
  const auto count = static_cast<size_t>(element_count(dims));
  return {dtype, std::move(dims), std::vector<double>(count, 0.0), std::vector<uint8_t>(count, 0)};
}

int64_t to_integer(double value) {
  return std::isnan(value) ? 0
         : value >= 0x1p63 ? std::numeric_limits<int64_t>::max()
         : value < -0x1p63 ? std::numeric_limits<int64_t>::min()
                           : static_cast<int64_t>(value);
}

double on_grid(DType dtype, double value) {
  if (dtype == DType::F32) {
    return static_cast<double>(static_cast<float>(value));
  }
  return is_float(dtype) ? decode_float(dtype, encode_float(dtype, value)) : value;
}

double wrapped(DType dtype, int64_t value) {
  std::array<std::byte, 8> bytes{};
  store_int(dtype, bytes.data(), 0, value);
  return load_real(dtype, bytes.data(), 0);
}

double unary_element(OpKind kind, DType dtype, double x) {
  if (!is_float(dtype)) {
    switch (kind) {
      case OpKind::Neg: return integer_binary(OpKind::Sub, dtype, 0, x);
      case OpKind::Abs: return x < 0 ? integer_binary(OpKind::Sub, dtype, 0, x) : x;
      case OpKind::Relu: return maximum(x, 0);
      default: return kNaN;
    }
  }
  switch (kind) {
    case OpKind::Neg: return -x;
    case OpKind::Abs: return std::fabs(x);
    case OpKind::Exp: return std::exp(x);
    case OpKind::Log: return std::log(x);
    case OpKind::Sqrt: return std::sqrt(x);
    case OpKind::Rsqrt: return 1.0 / std::sqrt(x);
    case OpKind::Recip: return 1.0 / x;
    case OpKind::Relu: return maximum(x, 0);
    case OpKind::Tanh: return std::tanh(x);
    case OpKind::Sigmoid: return 1.0 / (1.0 + std::exp(-x));
    default: return kNaN;
  }
}

double binary_element(OpKind kind, DType dtype, double a, double b) {
  if (!is_float(dtype)) {
    return integer_binary(kind, dtype, a, b);
  }
  switch (kind) {
    case OpKind::Add: return a + b;
    case OpKind::Sub: return a - b;
    case OpKind::Mul: return a * b;
    case OpKind::Div: return a / b;
    case OpKind::Max: return maximum(a, b);
    case OpKind::Min: return minimum(a, b);
    default: return kNaN;
  }
}

bool compare_element(isa::Cmp cmp, double a, double b) {
  switch (cmp) {
    case isa::Cmp::Eq: return a == b;
    case isa::Cmp::Ne: return a != b;
    case isa::Cmp::Lt: return a < b;
    case isa::Cmp::Le: return a <= b;
    case isa::Cmp::Gt: return a > b;
    case isa::Cmp::Ge: return a >= b;
  }
  return false;
}

double cast_element(DType to, DType from, double value, isa::Round round) {
  if (is_float(to)) {
    const bool saturate = is_float(from) && bit_width(to) <= 8;
    return decode_float(to, encode_float(to, value, round, saturate));
  }
  if (cast_wraps(to, from)) {
    const double rounded = round_to_integral(value, round);
    return std::isfinite(rounded) ? wrapped(to, to_integer(std::fmod(rounded, 0x1p62))) : 0;
  }
  std::array<std::byte, 8> bytes{};
  store_real(to, bytes.data(), 0, value, round);
  return load_real(to, bytes.data(), 0);
}

double pad_element(isa::Pad pad, DType dtype) {
  if (pad == isa::Pad::Zero) {
    return 0;
  }
  const bool max = pad == isa::Pad::Max;
  if (is_float(dtype)) {
    return on_grid(dtype, max ? kInfinity : -kInfinity);
  }
  return wrapped(dtype, max ? max_of_integer(dtype) : min_of_integer(dtype));
}

double reduce_start(OpKind kind, DType dtype) {
  if (kind == OpKind::Sum || kind == OpKind::Mean) {
    return 0;
  }
  if (is_float(dtype)) {
    return kind == OpKind::ReduceMax ? -kInfinity : kInfinity;
  }
  return pad_element(kind == OpKind::ReduceMax ? isa::Pad::Min : isa::Pad::Max, dtype);
}

double reduce_element(OpKind kind, DType dtype, double so_far, double x) {
  switch (kind) {
    case OpKind::ReduceMax: return maximum(so_far, x);
    case OpKind::ReduceMin: return minimum(so_far, x);
    default: return binary_element(OpKind::Add, dtype, so_far, x);
  }
}

}  // namespace pto::eval
