#include "src/support/convert.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace pto {
namespace {

using isa::Round;

// What follows the largest finite code.
enum class Top : uint8_t { Infinity, NaN, Nothing };

struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  Top top = Top::Infinity;
  uint64_t max_finite = 0;  // magnitude code
  int sign_shift() const { return exponent_bits + mantissa_bits; }
};

constexpr FloatFormat kF16{5, 10, 15, Top::Infinity, 0x7BFF};
constexpr FloatFormat kBF16{8, 7, 127, Top::Infinity, 0x7F7F};
constexpr FloatFormat kF32{8, 23, 127, Top::Infinity, 0x7F7FFFFF};
constexpr FloatFormat kF8E4M3{4, 3, 7, Top::NaN, 0x7E};
constexpr FloatFormat kF8E5M2{5, 2, 15, Top::Infinity, 0x7B};
constexpr FloatFormat kF4E2M1{2, 1, 1, Top::Nothing, 0x7};
constexpr FloatFormat kF4E1M2{1, 2, 1, Top::Nothing, 0x7};

const FloatFormat* format_of(DType type) {
  switch (type) {
    case DType::F16:
      return &kF16;
    case DType::BF16:
      return &kBF16;
    case DType::F32:
      return &kF32;
    case DType::F8E4M3:
      return &kF8E4M3;
    case DType::F8E5M2:
      return &kF8E5M2;
    case DType::F4E2M1:
      return &kF4E2M1;
    case DType::F4E1M2:
      return &kF4E1M2;
    default:
      return nullptr;
  }
}

// `lower` is the representable neighbour toward zero; does the magnitude go up to the next one? `fraction` is the
// position between the two, in [0, 1).
bool rounds_up(bool lower_is_odd, double fraction, bool negative, Round round) {
  switch (round) {
    case Round::None:
    case Round::Rint:
      return fraction > 0.5 || (fraction == 0.5 && lower_is_odd);
    case Round::Round:
      return fraction >= 0.5;
    case Round::Floor:
      return negative && fraction > 0;
    case Round::Ceil:
      return !negative && fraction > 0;
    case Round::Trunc:
      return false;
    case Round::Odd:
      return fraction > 0 && !lower_is_odd;
  }
  return false;
}

bool overflow_goes_to_infinity(bool negative, Round round) {
  switch (round) {
    case Round::Floor:
      return negative;
    case Round::Ceil:
      return !negative;
    case Round::Trunc:
    case Round::Odd:
      return false;
    default:
      return true;
  }
}

double decode_ieee(const FloatFormat& format, uint64_t bits) {
  const uint64_t magnitude = bits & ((uint64_t{1} << format.sign_shift()) - 1);
  const bool negative = (bits >> format.sign_shift() & 1) != 0;
  double value = 0;
  if (magnitude > format.max_finite) {
    const bool infinite = format.top == Top::Infinity && magnitude == format.max_finite + 1;
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint64_t hidden = exponent == 0 ? 0 : uint64_t{1} << format.mantissa_bits;
    const uint64_t mantissa = (magnitude & ((uint64_t{1} << format.mantissa_bits) - 1)) | hidden;
    const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.mantissa_bits;
    value = std::ldexp(static_cast<double>(mantissa), scale);
  }
  return negative ? -value : value;
}

uint64_t nan_code(const FloatFormat& format) {
  switch (format.top) {
    case Top::Infinity:
      return (format.max_finite + 1) | (uint64_t{1} << (format.mantissa_bits - 1));
    case Top::NaN:
      return format.max_finite + 1;
    case Top::Nothing:
      return 0;
  }
  return 0;
}

uint64_t infinity_code(const FloatFormat& format) {
  return format.top == Top::Nothing ? format.max_finite : format.max_finite + 1;
}

uint64_t encode_ieee(const FloatFormat& format, double value, Round round, bool saturate) {
  if (std::isnan(value)) {
    return nan_code(format);
  }
  const bool negative = std::signbit(value);
  const uint64_t sign = negative ? uint64_t{1} << format.sign_shift() : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) {
    return sign;
  }
  if (std::isinf(value)) {
    return sign | (format.top != Top::Infinity && saturate ? format.max_finite : infinity_code(format));
  }
  const int smallest = 1 - format.bias;
  const int exponent = std::max(std::ilogb(magnitude), smallest);
  const double scaled = std::ldexp(magnitude, format.mantissa_bits - exponent);
  const double floor = std::floor(scaled);
  auto code = static_cast<uint64_t>(floor);
  const bool up = rounds_up((code & 1) != 0, scaled - floor, negative, round);
  // The hidden bit, and a carry out of the mantissa, add one to the exponent field.
  const auto field = static_cast<int64_t>(exponent - smallest);
  const bool huge = field > (int64_t{1} << format.exponent_bits);
  code += up ? 1 : 0;
  code += huge ? 0 : static_cast<uint64_t>(field) << format.mantissa_bits;
  if (huge || code > format.max_finite) {
    const bool to_infinity = !saturate && overflow_goes_to_infinity(negative, round);
    code = to_infinity ? infinity_code(format) : format.max_finite;
  }
  return sign | code;
}

// HiFloat8: sign, a prefix code that gives the number of exponent bits (4, 3, 2, 1, 0 or denormal), exponent as sign
// and magnitude with a hidden leading one, mantissa. 0x6F is infinity, 0x80 NaN.
constexpr uint64_t kHiF8Infinity = 0x6F;
constexpr uint64_t kHiF8NaN = 0x80;

double decode_hif8_magnitude(uint64_t code) {  // 7 bits, infinity as the value that would follow
  struct Dot {
    int prefix_bits;
    int exponent_bits;
  };
  const Dot dot = code >= 0x60   ? Dot{2, 4}
                  : code >= 0x40 ? Dot{2, 3}
                  : code >= 0x20 ? Dot{2, 2}
                  : code >= 0x10 ? Dot{3, 1}
                                 : Dot{4, 0};
  if (code < 0x08) {  // denormal: powers of two only
    return code == 0 ? 0.0 : std::ldexp(1.0, static_cast<int>(code) - 23);
  }
  const int mantissa_bits = 7 - dot.prefix_bits - dot.exponent_bits;
  const uint64_t mantissa = code & ((uint64_t{1} << mantissa_bits) - 1);
  int exponent = 0;
  if (dot.exponent_bits > 0) {
    const auto field = static_cast<int>(code >> mantissa_bits & ((uint64_t{1} << dot.exponent_bits) - 1));
    const int hidden = 1 << (dot.exponent_bits - 1);
    const int magnitude = hidden | (field & (hidden - 1));
    exponent = (field & hidden) != 0 ? -magnitude : magnitude;
  }
  return std::ldexp(static_cast<double>((uint64_t{1} << mantissa_bits) | mantissa), exponent - mantissa_bits);
}

double decode_hif8(uint64_t bits) {
  if ((bits & 0xFF) == kHiF8NaN) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const uint64_t magnitude = bits & 0x7F;
  const double value =
      magnitude == kHiF8Infinity ? std::numeric_limits<double>::infinity() : decode_hif8_magnitude(magnitude);
  return (bits & 0x80) != 0 ? -value : value;
}

uint64_t encode_hif8(double value, Round round, bool saturate) {
  if (std::isnan(value)) {
    return kHiF8NaN;
  }
  const bool negative = std::signbit(value);
  const double magnitude = std::fabs(value);
  // Nearest neighbours by search: 128 codes, not in the order of their values.
  uint64_t below = 0;
  uint64_t above = kHiF8Infinity;
  double below_value = 0;
  double above_value = decode_hif8_magnitude(kHiF8Infinity);
  for (uint64_t code = 0; code < 0x80; ++code) {
    const double candidate = decode_hif8_magnitude(code);
    if (candidate <= magnitude && candidate >= below_value) {
      below = code;
      below_value = candidate;
    }
    if (candidate > magnitude && candidate <= above_value) {
      above = code;
      above_value = candidate;
    }
  }
  uint64_t code = below;
  if (!std::isinf(value) && below != kHiF8Infinity && magnitude > below_value) {
    const double fraction = (magnitude - below_value) / (above_value - below_value);
    code = rounds_up((below & 1) != 0, fraction, negative, round) ? above : below;
  }
  if (code == kHiF8Infinity && !std::isinf(value) && (saturate || !overflow_goes_to_infinity(negative, round))) {
    code = kHiF8Infinity - 1;
  }
  const bool negative_zero = code == 0;  // its code is NaN's
  return code | (negative && !negative_zero ? 0x80 : 0);
}

uint64_t encode_e8m0(double value, Round round) {
  if (std::isnan(value) || value < 0) {
    return 0xFF;
  }
  if (std::isinf(value)) {
    return 0xFE;
  }
  const int exponent = value == 0 ? -127 : std::ilogb(value);
  if (exponent < -127) {
    return 0;
  }
  if (exponent >= 127) {
    return 0xFE;
  }
  const auto code = static_cast<uint64_t>(exponent + 127);
  const double fraction = value == 0 ? 0 : std::ldexp(value, -exponent) - 1;
  return code + (rounds_up((code & 1) != 0, fraction, false, round) ? 1 : 0);
}

template <class T>
T read(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

uint64_t load_bits(DType type, const std::byte* data, int64_t index) {
  switch (bit_width(type)) {
    case 4:
      return std::to_integer<uint64_t>(data[index / 2]) >> (index % 2 * 4) & 0xF;
    case 8:
      return read<uint8_t>(data, index);
    case 16:
      return read<uint16_t>(data, index);
    case 32:
      return read<uint32_t>(data, index);
    case 64:
      return read<uint64_t>(data, index);
    default:
      return 0;
  }
}

void store_bits(DType type, std::byte* data, int64_t index, uint64_t bits) {
  const int width = bit_width(type);
  if (width == 4) {
    const int shift = index % 2 == 0 ? 0 : 4;
    const auto keep = std::to_integer<unsigned>(data[index / 2]) & (0xF0U >> shift);
    data[index / 2] = static_cast<std::byte>(keep | static_cast<unsigned>(bits & 0xF) << shift);
    return;
  }
  const int64_t bytes = width / 8;
  std::memcpy(data + index * bytes, &bits, static_cast<size_t>(bytes));  // little endian hosts only
}

static_assert(std::endian::native == std::endian::little);

}  // namespace

double decode_float(DType type, uint64_t bits) {
  if (const FloatFormat* format = format_of(type)) {
    return decode_ieee(*format, bits);
  }
  if (type == DType::HiF8) {
    return decode_hif8(bits);
  }
  const auto exponent = static_cast<int>(bits & 0xFF);  // F8E8M0
  return exponent == 0xFF ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, exponent - 127);
}

uint64_t encode_float(DType type, double value, Round round, bool saturate) {
  if (const FloatFormat* format = format_of(type)) {
    return encode_ieee(*format, value, round, saturate);
  }
  return type == DType::HiF8 ? encode_hif8(value, round, saturate) : encode_e8m0(value, round);
}

double round_to_integral(double value, Round round) {
  if (!std::isfinite(value)) {
    return value;
  }
  const double magnitude = std::fabs(value);
  const double floor = std::floor(magnitude);
  const bool odd = std::fmod(floor, 2.0) != 0;
  const bool up = rounds_up(odd, magnitude - floor, std::signbit(value), round);
  return std::copysign(up ? floor + 1 : floor, value);
}

int64_t max_of_integer(DType type) {
  const int bits = bit_width(type);
  if (dtype_class(type) == DTypeClass::Bool) {
    return 1;
  }
  if (dtype_class(type) == DTypeClass::UInt) {
    return bits == 64 ? -1 : (int64_t{1} << bits) - 1;
  }
  return bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
}

int64_t min_of_integer(DType type) {
  if (dtype_class(type) != DTypeClass::Int) {
    return 0;
  }
  const int bits = bit_width(type);
  return bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
}

double load_real(DType type, const std::byte* data, int64_t index) {
  const uint64_t bits = load_bits(type, data, index);
  if (is_float(type)) {
    return decode_float(type, bits);
  }
  if (type == DType::U64) {
    return static_cast<double>(bits);
  }
  return static_cast<double>(load_int(type, data, index));
}

int64_t load_int(DType type, const std::byte* data, int64_t index) {
  const uint64_t bits = load_bits(type, data, index);
  if (is_float(type)) {
    const double value = round_to_integral(decode_float(type, bits), Round::Trunc);
    return std::isnan(value) ? 0
           : value >= 0x1p63 ? std::numeric_limits<int64_t>::max()
           : value < -0x1p63 ? std::numeric_limits<int64_t>::min()
                             : static_cast<int64_t>(value);
  }
  if (dtype_class(type) == DTypeClass::Bool) {
    return bits != 0 ? 1 : 0;
  }
  if (dtype_class(type) == DTypeClass::Int) {
    const int unused = 64 - bit_width(type);
    return static_cast<int64_t>(bits << unused) >> unused;
  }
  return static_cast<int64_t>(bits);
}

void store_real(DType type, std::byte* data, int64_t index, double value, Round round) {
  if (is_float(type)) {
    store_bits(type, data, index, encode_float(type, value, round));
    return;
  }
  const double rounded = round_to_integral(value, round);
  if (std::isnan(rounded)) {
    store_int(type, data, index, 0);
    return;
  }
  const double high = type == DType::U64 ? 0x1p64 : static_cast<double>(max_of_integer(type));
  const double low = static_cast<double>(min_of_integer(type));
  if (rounded >= high) {
    store_int(type, data, index, max_of_integer(type));
  } else if (rounded <= low) {
    store_int(type, data, index, min_of_integer(type));
  } else {
    const bool upper_half = rounded >= 0x1p63;  // only u64
    const auto bits =
        upper_half ? static_cast<uint64_t>(rounded) : static_cast<uint64_t>(static_cast<int64_t>(rounded));
    store_int(type, data, index, static_cast<int64_t>(bits));
  }
}

void store_int(DType type, std::byte* data, int64_t index, int64_t value) {
  if (is_float(type)) {
    store_bits(type, data, index, encode_float(type, static_cast<double>(value)));
    return;
  }
  if (dtype_class(type) == DTypeClass::Bool) {
    value = value != 0 ? 1 : 0;
  }
  store_bits(type, data, index, static_cast<uint64_t>(value));
}

}  // namespace pto
