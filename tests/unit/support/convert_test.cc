#include "src/support/convert.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace pto {
namespace {

using isa::Round;

constexpr DType kSmallFloats[] = {DType::F16,  DType::BF16,   DType::F8E4M3, DType::F8E5M2,
                                  DType::HiF8, DType::F4E2M1, DType::F4E1M2};
constexpr Round kRounds[] = {Round::Rint, Round::Round, Round::Floor, Round::Ceil, Round::Trunc, Round::Odd};

struct Entry {
  double value;
  uint64_t code;
};

// The non-negative finite values of a type in ascending order.
std::vector<Entry> finite_values(DType type) {
  std::vector<Entry> entries;
  for (uint64_t code = 0; code < uint64_t{1} << (bit_width(type) - 1); ++code) {
    const double value = decode_float(type, code);
    if (std::isfinite(value)) {
      entries.push_back({value, code});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
  return entries;
}

// The code of |x| between two neighbours, by the definition of the mode.
uint64_t pick(const Entry& below, const Entry& above, double magnitude, bool negative, Round round) {
  const double down = magnitude - below.value;
  const double up = above.value - magnitude;
  const bool above_is_even = (above.code & 1) == 0;
  switch (round) {
    case Round::Floor:
      return negative ? above.code : below.code;
    case Round::Ceil:
      return negative ? below.code : above.code;
    case Round::Trunc:
      return below.code;
    case Round::Odd:
      return above_is_even ? below.code : above.code;
    case Round::Round:
      return up <= down ? above.code : below.code;
    default:
      return up < down || (up == down && above_is_even) ? above.code : below.code;
  }
}

TEST_CASE("f16 decodes to what its fields say, all codes") {
  for (uint64_t code = 0; code < 65536; ++code) {
    const auto exponent = static_cast<int>(code >> 10 & 31);
    const auto mantissa = static_cast<double>(code & 1023);
    const double sign = code >= 0x8000 ? -1 : 1;
    const double value = decode_float(DType::F16, code);
    if (exponent == 31) {
      REQUIRE((mantissa == 0 ? value == sign * INFINITY : std::isnan(value)));
    } else {
      const double want = exponent == 0 ? mantissa * 0x1p-24 : (1 + mantissa / 1024) * std::pow(2.0, exponent - 15);
      REQUIRE(value == sign * want);
      REQUIRE(std::signbit(value) == (code >= 0x8000));
    }
  }
}

TEST_CASE("every value encodes to its own code in every mode") {
  for (DType type : kSmallFloats) {
    for (uint64_t code = 0; code < uint64_t{1} << bit_width(type); ++code) {
      const double value = decode_float(type, code);
      if (std::isnan(value)) {
        continue;
      }
      for (Round round : kRounds) {
        CAPTURE(spelling(type), code);
        REQUIRE(encode_float(type, value, round) == code);
      }
    }
  }
}

TEST_CASE("values between two codes round by the mode") {
  std::mt19937_64 rng(7);
  for (DType type : kSmallFloats) {
    const std::vector<Entry> entries = finite_values(type);
    for (int i = 0; i < 4000; ++i) {
      const size_t at = rng() % (entries.size() - 1);
      const Entry& below = entries[at];
      const Entry& above = entries[at + 1];
      const double parts[] = {0.25, 0.5, 0.75, 0.5 - 0x1p-20, 0.5 + 0x1p-20, 0x1p-20, 1 - 0x1p-20};
      const double magnitude = below.value + (above.value - below.value) * parts[rng() % std::size(parts)];
      const bool negative = rng() % 2 == 0;
      for (Round round : kRounds) {
        const uint64_t sign = negative ? uint64_t{1} << (bit_width(type) - 1) : 0;
        uint64_t want = pick(below, above, magnitude, negative, round) | sign;
        want = type == DType::HiF8 && want == 0x80 ? 0 : want;  // it has no negative zero
        CAPTURE(spelling(type), magnitude, negative, static_cast<int>(round));
        REQUIRE(encode_float(type, negative ? -magnitude : magnitude, round) == want);
      }
    }
  }
}

TEST_CASE("f32 agrees with the processor") {
  std::mt19937_64 rng(8);
  for (int i = 0; i < 50000; ++i) {
    const auto value = std::bit_cast<double>(rng());
    if (std::isnan(value)) {
      continue;
    }
    REQUIRE(encode_float(DType::F32, value) == std::bit_cast<uint32_t>(static_cast<float>(value)));
    const auto bits = static_cast<uint32_t>(rng());
    const auto single = std::bit_cast<float>(bits);
    if (!std::isnan(single)) {
      REQUIRE(decode_float(DType::F32, bits) == static_cast<double>(single));
      REQUIRE(encode_float(DType::F32, static_cast<double>(single)) == bits);
    }
  }
}

TEST_CASE("overflow, infinity and NaN") {
  CHECK(encode_float(DType::F16, 65519.99) == 0x7BFF);
  CHECK(encode_float(DType::F16, 65520) == 0x7C00);
  CHECK(encode_float(DType::F16, -65520) == 0xFC00);
  CHECK(encode_float(DType::F16, 1e300, Round::Trunc) == 0x7BFF);
  CHECK(encode_float(DType::F16, 1e300, Round::Odd) == 0x7BFF);
  CHECK(encode_float(DType::F16, 1e300, Round::Floor) == 0x7BFF);
  CHECK(encode_float(DType::F16, -1e300, Round::Floor) == 0xFC00);
  CHECK(encode_float(DType::F16, 1e300, Round::Rint, true) == 0x7BFF);
  CHECK(encode_float(DType::F16, INFINITY, Round::Trunc, true) == 0x7C00);
  CHECK(encode_float(DType::F16, -NAN) == 0x7E00);
  CHECK(encode_float(DType::BF16, NAN) == 0x7FC0);
  CHECK(encode_float(DType::F32, NAN) == 0x7FC00000);
  CHECK(encode_float(DType::F8E4M3, 1000) == 0x7F);
  CHECK(encode_float(DType::F8E4M3, 1000, Round::Rint, true) == 0x7E);
  CHECK(encode_float(DType::F8E4M3, -INFINITY, Round::Rint, true) == 0xFE);
  CHECK(encode_float(DType::F8E5M2, 1e6, Round::Rint, true) == 0x7B);
  CHECK(encode_float(DType::F8E5M2, INFINITY, Round::Rint, true) == 0x7C);
  CHECK(encode_float(DType::F4E2M1, 100) == 7);
  CHECK(encode_float(DType::F4E2M1, NAN) == 0);
  CHECK(encode_float(DType::HiF8, 1e9) == 0x6F);
  CHECK(encode_float(DType::HiF8, -1e9, Round::Rint, true) == 0xEE);
  CHECK(encode_float(DType::HiF8, NAN) == 0x80);
}

TEST_CASE("known codes") {
  CHECK(decode_float(DType::F8E4M3, 0x7E) == 448);
  CHECK(decode_float(DType::F8E5M2, 0x7B) == 57344);
  CHECK(decode_float(DType::F8E8M0, 127) == 1);
  CHECK(decode_float(DType::F8E8M0, 0) == 0x1p-127);
  CHECK(std::isnan(decode_float(DType::F8E8M0, 255)));
  CHECK(encode_float(DType::F8E8M0, 3.0) == 128);  // half-way between 2 and 4: the even code
  CHECK(encode_float(DType::F8E8M0, 6.0) == 130);
  CHECK(decode_float(DType::HiF8, 0x08) == 1);
  CHECK(decode_float(DType::HiF8, 0x01) == 0x1p-22);
  CHECK(decode_float(DType::HiF8, 0x6E) == 32768);
  CHECK(decode_float(DType::HiF8, 0x7E) == 0x1p-15);
  const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const double e1m2[] = {0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75};
  for (uint64_t code = 0; code < 8; ++code) {
    CHECK(decode_float(DType::F4E2M1, code) == e2m1[code]);
    CHECK(decode_float(DType::F4E2M1, code | 8) == -e2m1[code]);
    CHECK(decode_float(DType::F4E1M2, code) == e1m2[code]);
  }
}

TEST_CASE("integers wrap when stored as integers and saturate when stored as reals") {
  std::byte data[16] = {};
  store_int(DType::I8, data, 3, 300);
  CHECK(load_int(DType::I8, data, 3) == 44);
  store_int(DType::U16, data, 1, -1);
  CHECK(load_int(DType::U16, data, 1) == 65535);
  store_int(DType::U64, data, 1, -1);
  CHECK(load_real(DType::U64, data, 1) == 0x1p64);
  store_real(DType::I8, data, 0, 300);
  CHECK(load_int(DType::I8, data, 0) == 127);
  store_real(DType::U8, data, 0, -5);
  CHECK(load_int(DType::U8, data, 0) == 0);
  store_real(DType::I32, data, 0, NAN);
  CHECK(load_int(DType::I32, data, 0) == 0);
  store_real(DType::I64, data, 0, 1e30);
  CHECK(load_int(DType::I64, data, 0) == std::numeric_limits<int64_t>::max());
  store_real(DType::I64, data, 0, -INFINITY);
  CHECK(load_int(DType::I64, data, 0) == std::numeric_limits<int64_t>::min());
  store_real(DType::U64, data, 0, 0x1p63 + 4096);
  CHECK(load_int(DType::U64, data, 0) == std::numeric_limits<int64_t>::min() + 4096);
  store_real(DType::I16, data, 0, 2.5);
  CHECK(load_int(DType::I16, data, 0) == 2);
  store_real(DType::I16, data, 0, -2.5, Round::Round);
  CHECK(load_int(DType::I16, data, 0) == -3);
  store_int(DType::Bool, data, 0, 256);
  CHECK(load_int(DType::Bool, data, 0) == 1);
  store_int(DType::F16, data, 0, 3);
  CHECK(load_real(DType::F16, data, 0) == 3);
}

TEST_CASE("packed types have the even element in the low nibble") {
  std::byte data[2] = {};
  store_int(DType::I4, data, 0, -3);
  store_int(DType::I4, data, 1, 5);
  store_real(DType::F4E2M1, data, 3, 1.5);
  CHECK(data[0] == std::byte{0x5D});
  CHECK(data[1] == std::byte{0x30});
  CHECK(load_int(DType::I4, data, 0) == -3);
  CHECK(load_int(DType::U4, data, 0) == 13);
  CHECK(load_real(DType::F4E2M1, data, 3) == 1.5);
  CHECK(load_real(DType::F4E2M1, data, 2) == 0);
}

TEST_CASE("rounding to integral values") {
  struct Case {
    double value;
    double want[6];  // rint, round, floor, ceil, trunc, odd
  };
  const Case cases[] = {
      {2.5, {2, 3, 2, 3, 2, 3}},
      {-2.5, {-2, -3, -3, -2, -2, -3}},
      {3.5, {4, 4, 3, 4, 3, 3}},
      {0.25, {0, 0, 0, 1, 0, 1}},
      {-0.25, {-0.0, -0.0, -1, -0.0, -0.0, -1}},
      {7.75, {8, 8, 7, 8, 7, 7}},
      {6, {6, 6, 6, 6, 6, 6}},
      {1e300, {1e300, 1e300, 1e300, 1e300, 1e300, 1e300}},
  };
  for (const Case& test : cases) {
    for (size_t i = 0; i < std::size(kRounds); ++i) {
      CAPTURE(test.value, i);
      CHECK(round_to_integral(test.value, kRounds[i]) == test.want[i]);
    }
    CHECK(round_to_integral(test.value, Round::None) == test.want[0]);
  }
  CHECK(std::isnan(round_to_integral(NAN, Round::Floor)));
}

}  // namespace
}  // namespace pto
