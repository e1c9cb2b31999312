#include "runtime/io/compare.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/support/convert.h"

namespace pto::runtime::io {
namespace {

double golden_real(const Golden& golden, int64_t index) {
  if (!golden.is_f64) {
    return load_real(golden.array.dtype, golden.array.data.data(), index);
  }
  double value = 0;
  std::memcpy(&value, golden.array.data.data() + static_cast<size_t>(index) * sizeof value, sizeof value);
  return value;
}

// The shortest text that reads back as the same value of the type.
std::string real_text(DType type, double value) {
  char text[64];
  const bool fits_float = static_cast<double>(static_cast<float>(value)) == value;
  const auto end = type != DType::None && fits_float
                       ? std::to_chars(text, text + sizeof text, static_cast<float>(value)).ptr
                       : std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

// Position of a finite value among the representable ones, -0 and +0 together in the middle.
int64_t ordinal(DType type, double value) {
  const uint64_t bits = encode_float(type, value);
  const uint64_t sign = uint64_t{1} << (bit_width(type) - 1);
  const int64_t magnitude = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

bool has_sign(DType type) {
  return type == DType::F16 || type == DType::BF16 || type == DType::F32;
}

std::vector<int64_t> unravel(int64_t index, const std::vector<int64_t>& shape) {
  std::vector<int64_t> position(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    position[i] = index % shape[i];
    index /= shape[i];
  }
  return position;
}

void note_mismatch(Comparison& result, int64_t index, const std::vector<int64_t>& shape, const std::string& expected,
                   const std::string& got) {
  if (result.mismatches++ == 0) {
    result.first = unravel(index, shape);
    result.expected = expected;
    result.got = got;
  }
}

void note_error(Comparison& result, double error, double expected) {
  result.max_abs = std::max(result.max_abs, error);
  if (expected != 0) {
    result.max_rel = std::max(result.max_rel, error / std::fabs(expected));
  } else if (error != 0) {
    result.max_rel = std::numeric_limits<double>::infinity();
  }
}

void compare_real(const Array& got, const Golden& golden, const CompareOptions& options, Comparison& result) {
  const Tolerance tolerance = result.tolerance;
  for (int64_t i = 0; i < result.elements; ++i) {
    const double actual = load_real(got.dtype, got.data.data(), i);
    const double expected = golden_real(golden, i);
    bool pass = false;
    if (std::isnan(actual) || std::isnan(expected)) {
      const bool both = std::isnan(actual) && std::isnan(expected);
      ++(both ? result.nan_both : std::isnan(actual) ? result.nan_got : result.nan_expected);
      pass = both && options.nan_equal;
    } else if (std::isinf(actual) || std::isinf(expected)) {
      pass = actual == expected;
    } else {
      const double error = std::fabs(actual - expected);
      pass = error <= tolerance.atol + tolerance.rtol * std::fabs(expected);
      note_error(result, error, expected);
      if (has_sign(got.dtype)) {
        const int64_t distance = ordinal(got.dtype, actual) - ordinal(got.dtype, expected);
        result.max_ulp = std::max(result.max_ulp, static_cast<uint64_t>(distance < 0 ? -distance : distance));
      }
    }
    if (!pass) {
      const DType shown = golden.is_f64 ? DType::None : golden.array.dtype;
      note_mismatch(result, i, got.shape, real_text(shown, expected), real_text(got.dtype, actual));
    }
  }
}

// A 64-bit integer of either signedness as sign and bits, so that all of them can be told apart.
struct Integer {
  bool negative = false;
  uint64_t bits = 0;  // two's complement
};

Integer load_integer(const Array& array, int64_t index) {
  const int64_t value = load_int(array.dtype, array.data.data(), index);
  return {value < 0 && array.dtype != DType::U64, static_cast<uint64_t>(value)};
}

std::string integer_text(Integer value) {
  return value.negative ? std::to_string(static_cast<int64_t>(value.bits)) : std::to_string(value.bits);
}

double integer_real(Integer value) {
  return value.negative ? static_cast<double>(static_cast<int64_t>(value.bits)) : static_cast<double>(value.bits);
}

void compare_integers(const Array& got, const Golden& golden, Comparison& result) {
  for (int64_t i = 0; i < result.elements; ++i) {
    const Integer actual = load_integer(got, i);
    const Integer expected = load_integer(golden.array, i);
    if (actual.negative == expected.negative && actual.bits == expected.bits) {
      continue;
    }
    // The difference is exact where it fits 53 bits; at least 1, whatever the rounding.
    const bool same_sign = actual.negative == expected.negative;
    const uint64_t gap = actual.bits > expected.bits ? actual.bits - expected.bits : expected.bits - actual.bits;
    const double error =
        same_sign ? static_cast<double>(gap) : std::fabs(integer_real(actual) - integer_real(expected));
    const double magnitude = std::fabs(integer_real(expected));
    note_error(result, error, integer_real(expected));
    if (!(error <= result.tolerance.atol + result.tolerance.rtol * magnitude)) {
      note_mismatch(result, i, got.shape, integer_text(expected), integer_text(actual));
    }
  }
}

}  // namespace

Tolerance default_tolerance(DType type) {
  switch (type) {
    case DType::F32:
      return {1e-4, 1e-5};
    case DType::F16:
      return {1e-3, 1e-3};
    case DType::BF16:
      return {1e-2, 1e-2};
    default:
      return is_float(type) ? Tolerance{1e-1, 1e-1} : Tolerance{};
  }
}

Comparison compare(const Array& got, const Golden& golden, const CompareOptions& options) {
  Comparison result;
  const Tolerance defaults = default_tolerance(got.dtype);
  result.tolerance = {options.rtol.value_or(defaults.rtol), options.atol.value_or(defaults.atol)};
  result.elements = got.elements();
  result.same_shape = got.shape == golden.array.shape;
  if (!result.same_shape) {
    return result;
  }
  if (is_float(got.dtype)) {
    compare_real(got, golden, options, result);
  } else {
    compare_integers(got, golden, result);
  }
  result.match = result.mismatches == 0;
  return result;
}

}  // namespace pto::runtime::io
