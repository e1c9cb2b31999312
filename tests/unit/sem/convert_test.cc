// tcvt for every pair of types and every rounding mode. The half-precision tables are checked over all inputs against
// an integer implementation that shares nothing with the code under test.
#include <bit>

#include "sem_test_util.h"

namespace pto::test {
namespace {

using isa::Opcode;
using isa::Round;

struct Pair {
  DType from;
  DType to;
};
constexpr Pair kPairs[] = {
    {DType::F32, DType::F16},    {DType::F32, DType::BF16}, {DType::F32, DType::F32},    {DType::F32, DType::I16},
    {DType::F32, DType::I32},    {DType::F32, DType::I64},  {DType::F32, DType::F8E4M3}, {DType::F32, DType::F8E5M2},
    {DType::F32, DType::HiF8},   {DType::F16, DType::F32},  {DType::F16, DType::I32},    {DType::F16, DType::I16},
    {DType::F16, DType::I8},     {DType::F16, DType::U8},   {DType::F16, DType::HiF8},   {DType::BF16, DType::F32},
    {DType::BF16, DType::I32},   {DType::BF16, DType::F16}, {DType::I16, DType::F16},    {DType::I16, DType::F32},
    {DType::I16, DType::U8},     {DType::I16, DType::U32},  {DType::I16, DType::I32},    {DType::I32, DType::F32},
    {DType::I32, DType::I16},    {DType::I32, DType::U16},  {DType::I32, DType::I64},    {DType::I32, DType::U8},
    {DType::I32, DType::F16},    {DType::I64, DType::F32},  {DType::I64, DType::I32},    {DType::U8, DType::F16},
    {DType::U8, DType::U16},     {DType::I8, DType::F16},   {DType::I8, DType::I16},     {DType::I8, DType::I32},
    {DType::U32, DType::U8},     {DType::U32, DType::U16},  {DType::U32, DType::I16},    {DType::F8E4M3, DType::F32},
    {DType::F8E5M2, DType::F32}, {DType::HiF8, DType::F32},
};
constexpr Round kRounds[] = {Round::None, Round::Rint,  Round::Round, Round::Floor,
                             Round::Ceil, Round::Trunc, Round::Odd};

bool wraps(Pair pair) {
  constexpr Pair kWrapping[] = {{DType::F16, DType::U8},  {DType::F16, DType::I8},  {DType::F32, DType::I16},
                                {DType::F16, DType::I16}, {DType::I64, DType::I32}, {DType::I32, DType::I16}};
  for (const Pair& candidate : kWrapping) {
    if (candidate.from == pair.from && candidate.to == pair.to) {
      return true;
    }
  }
  return false;
}

// Mode by mode with the C library, to an integral value.
double integral(double x, Round round) {
  switch (round) {
    case Round::None:
    case Round::Rint:
      return std::nearbyint(x);
    case Round::Round:
      return std::round(x);
    case Round::Floor:
      return std::floor(x);
    case Round::Ceil:
      return std::ceil(x);
    case Round::Trunc:
      return std::trunc(x);
    case Round::Odd:
      break;
  }
  const double low = std::floor(x);
  return low == x || std::fmod(low, 2.0) != 0 ? low : low + 1;
}

uint64_t to_integer(Pair pair, double x, Round round) {
  const double whole = integral(x, round);
  if (wraps(pair)) {
    if (!std::isfinite(whole)) {
      return 0;
    }
    const double modulus = std::ldexp(1.0, bit_width(pair.to));
    double rest = std::fmod(whole, modulus);
    rest += rest < 0 ? modulus : 0;
    return truncated(pair.to, static_cast<int64_t>(rest));
  }
  if (std::isnan(whole)) {
    return 0;
  }
  if (pair.to == DType::I64) {
    return whole >= 0x1p63    ? 0x7FFFFFFFFFFFFFFFU
           : whole <= -0x1p63 ? 0x8000000000000000U
                              : static_cast<uint64_t>(static_cast<int64_t>(whole));
  }
  const auto high = static_cast<double>(max_of_integer(pair.to));
  const auto low = static_cast<double>(min_of_integer(pair.to));
  return truncated(pair.to, static_cast<int64_t>(std::min(std::max(whole, low), high)));
}

// An integer as a float with one rounding: the exact value is compared with the neighbours.
uint64_t int_to_float(DType to, int64_t value, Round round) {
  if (std::abs(static_cast<double>(value)) < 0x1p53) {
    return encode_float(to, static_cast<double>(value), round);
  }
  // f32 only: 64-bit magnitude shifted down by hand.
  const bool negative = value < 0;
  const uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int shift = 40 - std::countl_zero(magnitude);
  uint64_t kept = magnitude >> shift;
  const uint64_t lost = magnitude & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  bool up = false;
  switch (round) {
    case Round::None:
    case Round::Rint:
      up = lost > half || (lost == half && kept % 2 == 1);
      break;
    case Round::Round:
      up = lost >= half;
      break;
    case Round::Floor:
      up = negative && lost != 0;
      break;
    case Round::Ceil:
      up = !negative && lost != 0;
      break;
    case Round::Trunc:
      break;
    case Round::Odd:
      up = lost != 0 && kept % 2 == 0;
      break;
  }
  kept += up ? 1 : 0;
  const double result = std::ldexp(static_cast<double>(kept), shift);
  return encode_float(to, negative ? -result : result);
}

uint64_t converted(Pair pair, const Tile& src, int64_t r, int64_t c, Round round) {
  if (is_float(pair.from)) {
    const double x = src.real(r, c);
    return is_float(pair.to) ? encode_float(pair.to, x, round, bit_width(pair.to) <= 8) : to_integer(pair, x, round);
  }
  const int64_t x = src.integer(r, c);
  if (is_float(pair.to)) {
    return int_to_float(pair.to, x, round);
  }
  if (wraps(pair)) {
    return truncated(pair.to, x);
  }
  return truncated(pair.to, std::min(std::max(x, min_of_integer(pair.to)), max_of_integer(pair.to)));
}

// Values around ties and limits of the destination.
double convertible_real(Rng& rng) {
  constexpr double kNear[] = {0,     128,     255,        256,        32767,  32768,  65504,  65535,
                              65536, 1 << 24, 2147483647, 2147483648, 0x1p40, 0x1p62, 0x1p63, 0x1p64};
  switch (rng() % 4) {
    case 0:
      return awkward_real(rng);
    case 1:
      return (static_cast<double>(rng() % 41) - 20) / 2;
    case 2: {
      const double near = kNear[rng() % std::size(kNear)] + (static_cast<double>(rng() % 9) - 4) / 2;
      return rng() % 2 == 0 ? near : -near;
    }
    default:
      return std::ldexp(ordinary_real(rng), static_cast<int>(rng() % 64) - 32);
  }
}

TEST_CASE("tcvt converts every pair in every rounding mode") {
  Rng rng(61);
  for (const Pair& pair : kPairs) {
    for (Round round : kRounds) {
      for (int64_t cols : {1, 13, 64, 67, 200}) {
        Tile src(pair.from, 4, padded_cols(pair.from, cols), Valid{3, cols});
        Tile dst(pair.to, 4, padded_cols(pair.to, cols), Valid{3, cols});
        if (is_float(pair.from)) {
          fill_real(src, rng, convertible_real);
        } else {
          for (int64_t r = 0; r < 3; ++r) {
            for (int64_t c = 0; c < cols; ++c) {
              src.set_int(r, c, static_cast<int64_t>(rng()) >> (rng() % 64));
            }
          }
        }
        sem::Args args;
        args.round = round;
        run(Opcode::TCvt, {&dst, &src}, args);
        check_tile(
            dst, dst.valid, [&](int64_t r, int64_t c) { return converted(pair, src, r, c, round); },
            std::string(spelling(pair.from)) + " to " + std::string(spelling(pair.to)) + " mode " +
                std::to_string(static_cast<int>(round)));
      }
    }
  }
}

// f16 to f32 by bits.
uint32_t widen_f16(uint32_t h) {
  const uint32_t sign = (h & 0x8000) << 16;
  uint32_t exponent = h >> 10 & 0x1F;
  uint32_t mantissa = h & 0x3FF;
  if (exponent == 31) {
    return mantissa != 0 ? 0x7FC00000U : sign | 0x7F800000U;
  }
  if (exponent == 0) {
    if (mantissa == 0) {
      return sign;
    }
    exponent = 1;
    while ((mantissa & 0x400) == 0) {
      mantissa <<= 1;
      --exponent;
    }
    mantissa &= 0x3FF;
  }
  return sign | (exponent + 112) << 23 | mantissa << 13;
}

// f32 to f16 by bits: the mantissa with its hidden bit is shifted to the f16 grid, ties to even.
uint32_t narrow_f16(uint32_t f) {
  const uint32_t sign = f >> 16 & 0x8000;
  const auto exponent = static_cast<int>(f >> 23 & 0xFF) - 127;
  if (exponent == 128) {
    return (f & 0x7FFFFF) != 0 ? 0x7E00 : sign | 0x7C00;
  }
  if (exponent > 15) {
    return sign | 0x7C00;
  }
  const uint64_t mantissa = (f & 0x7FFFFF) | 0x800000;
  const int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
  if (shift > 30) {
    return sign;
  }
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t lost = mantissa & (2 * half - 1);
  uint64_t kept = mantissa >> shift;
  kept += lost > half || (lost == half && kept % 2 == 1) ? 1 : 0;
  const auto field = static_cast<uint64_t>(exponent < -14 ? 0 : exponent + 14);
  return sign | static_cast<uint32_t>((field << 10) + kept);
}

uint32_t narrow_bf16(uint32_t f) {
  if ((f & 0x7FFFFFFF) > 0x7F800000U) {
    return 0x7FC0;
  }
  const uint32_t lost = f & 0xFFFF;
  const uint32_t kept = f >> 16;
  return kept + (lost > 0x8000 || (lost == 0x8000 && kept % 2 == 1) ? 1 : 0);
}

TEST_CASE("f16 and bf16 widen exactly, all inputs") {
  for (DType from : {DType::F16, DType::BF16}) {
    Tile src(from, 64, 1024);
    for (int64_t i = 0; i < 65536; ++i) {
      src.set_bits(i / 1024, i % 1024, static_cast<uint64_t>(i));
    }
    Tile dst(DType::F32, 64, 1024);
    run(Opcode::TCvt, {&dst, &src});
    check_tile(
        dst, dst.valid,
        [&](int64_t r, int64_t c) -> uint64_t {
          const auto h = static_cast<uint32_t>(src.bits(r, c));
          const bool nan = (h & 0x7FFF) > 0x7F80;
          return from == DType::F16 ? widen_f16(h) : nan ? 0x7FC00000U : h << 16;
        },
        "widen");
  }
}

TEST_CASE("f32 narrows to f16 and bf16 around every representable value") {
  for (DType to : {DType::F16, DType::BF16}) {
    // Around the f32 of each 16-bit pattern: itself, the tie to the next one, and both sides of the tie.
    const uint32_t offsets16[] = {0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF};
    const uint32_t offsets_bf[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    for (int i = 0; i < 6; ++i) {
      Tile src(DType::F32, 64, 1024);
      for (uint32_t h = 0; h < 65536; ++h) {
        const uint32_t base = to == DType::F16 ? widen_f16(h) + offsets16[i] : (h << 16) + offsets_bf[i];
        src.set_bits(h / 1024, h % 1024, base);
      }
      Tile dst(to, 64, 1024);
      run(Opcode::TCvt, {&dst, &src});
      check_tile(
          dst, dst.valid,
          [&](int64_t r, int64_t c) -> uint64_t {
            const auto f = static_cast<uint32_t>(src.bits(r, c));
            return to == DType::F16 ? narrow_f16(f) : narrow_bf16(f);
          },
          "narrow");
    }
    Rng rng(62);
    Tile src(DType::F32, 64, 1024);
    fill_bits(src, rng);
    Tile dst(to, 64, 1024);
    run(Opcode::TCvt, {&dst, &src});
    check_tile(
        dst, dst.valid,
        [&](int64_t r, int64_t c) -> uint64_t {
          const auto f = static_cast<uint32_t>(src.bits(r, c));
          return to == DType::F16 ? narrow_f16(f) : narrow_bf16(f);
        },
        "random");
  }
}

// Integer and subnormal patterns that f32 arithmetic would flush if it could.
TEST_CASE("subnormal f16 results of arithmetic are kept") {
  Tile a(DType::F16, 1, 1024);
  for (int64_t c = 0; c < 1024; ++c) {
    a.set_bits(0, c, static_cast<uint64_t>(c));
  }
  Tile dst(DType::F16, 1, 1024);
  sem::Args args;
  args.real = 0.5;
  run(Opcode::TMuls, {&dst, &a}, args);
  check_tile(
      dst, dst.valid,
      [&](int64_t, int64_t c) -> uint64_t {
        const int64_t halved = c / 2 + (c % 4 == 3 ? 1 : 0);  // ties to even
        return static_cast<uint64_t>(halved);
      },
      "subnormal");
}

}  // namespace
}  // namespace pto::test
