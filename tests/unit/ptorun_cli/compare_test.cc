// Comparison with goldens: tolerances, NaN, infinities, ULP, exact integers, and where the first mismatch is.
#include "runtime/io/compare.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace pto;
using namespace pto::runtime;
using namespace pto::runtime::io;

namespace {

template <typename T>
Array array(DType type, std::vector<int64_t> shape, const std::vector<T>& values) {
  Array result{type, std::move(shape), std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) {
    std::memcpy(result.data.data(), values.data(), result.data.size());
  }
  return result;
}

Array f32(const std::vector<float>& values) {
  return array(DType::F32, {static_cast<int64_t>(values.size())}, values);
}
Golden golden_f32(const std::vector<float>& values) {
  return {false, f32(values)};
}
Golden golden_f64(const std::vector<double>& values) {
  return {true, array(DType::None, {static_cast<int64_t>(values.size())}, values)};
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("compare: tolerance is atol + rtol |expected|") {
  const CompareOptions options{0.1, 1.0, false};
  CHECK(compare(f32({112}), golden_f32({101}), options).match);   // 11 <= 1 + 10.1
  CHECK(!compare(f32({113}), golden_f32({101}), options).match);  // 12
  CHECK(compare(f32({-1}), golden_f32({0}), options).match);
  CHECK(compare(f32({1}), golden_f64({1}), {0.0, 0.0, false}).match);
  CHECK(!compare(f32({0.1F}), golden_f64({0.1}), {0.0, 0.0, false}).match);  // the golden has more digits
}

TEST_CASE("compare: defaults by type") {
  CHECK(compare(f32({1.00009F}), golden_f32({1}), {}).match);
  CHECK(!compare(f32({1.0002F}), golden_f32({1}), {}).match);
  CHECK(default_tolerance(DType::F16).rtol == 1e-3);
  CHECK(default_tolerance(DType::BF16).rtol == 1e-2);
  CHECK(default_tolerance(DType::I32).rtol == 0);
}

TEST_CASE("compare: NaN and infinities") {
  Comparison result = compare(f32({1, kNan}), golden_f32({1, 2}), {});
  CHECK(!result.match);
  CHECK(result.nan_got == 1);
  CHECK(result.first == std::vector<int64_t>{1});
  CHECK(result.got == "nan");
  CHECK(result.expected == "2");
  result = compare(f32({1}), golden_f32({kNan}), {0.0, 1e30, true});
  CHECK(!result.match);
  CHECK(result.nan_expected == 1);
  result = compare(f32({kNan}), golden_f32({kNan}), {});
  CHECK(!result.match);
  CHECK(result.nan_both == 1);
  CHECK(compare(f32({kNan}), golden_f32({-kNan}), {std::nullopt, std::nullopt, true}).match);
  CHECK(compare(f32({kInf, -kInf}), golden_f32({kInf, -kInf}), {}).match);
  CHECK(!compare(f32({kInf}), golden_f32({-kInf}), {1e30, 1e30, false}).match);
  CHECK(!compare(f32({3e38F}), golden_f32({kInf}), {1.0, 1e30, false}).match);
  CHECK(!compare(f32({kInf}), golden_f64({1e300}), {1.0, 1.0, false}).match);
}

TEST_CASE("compare: first mismatch and counts") {
  const Array got = array<int32_t>(DType::I32, {2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 80, 9, -10, 11});
  const Golden golden{false, array<int64_t>(DType::I64, {2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})};
  const Comparison result = compare(got, golden, {});
  CHECK(result.elements == 12);
  CHECK(result.mismatches == 2);
  CHECK(result.first == std::vector<int64_t>{1, 0, 2});
  CHECK(result.expected == "8");
  CHECK(result.got == "80");
  CHECK(result.max_abs == 72);
  CHECK(result.max_rel == 9);
}

TEST_CASE("compare: integers are exact to the last bit") {
  const uint64_t top = std::numeric_limits<uint64_t>::max();
  const Golden golden{false, array<uint64_t>(DType::U64, {2}, {top, 1})};
  CHECK(compare(array<uint64_t>(DType::U64, {2}, {top, 1}), golden, {}).match);
  const Comparison off = compare(array<uint64_t>(DType::U64, {2}, {top - 1, 1}), golden, {});
  CHECK(!off.match);
  CHECK(off.max_abs == 1);
  CHECK(off.expected == "18446744073709551615");
  // The same bits with another sign are another number.
  CHECK(!compare(array<int64_t>(DType::I64, {2}, {-1, 1}), golden, {}).match);
  CHECK(compare(array<uint64_t>(DType::U64, {2}, {top - 1, 1}), golden, {std::nullopt, 1.0, false}).match);
}

TEST_CASE("compare: shapes") {
  const Comparison result = compare(f32({1, 2}), golden_f32({1, 2, 3}), {});
  CHECK(!result.match);
  CHECK(!result.same_shape);
  const Comparison empty = compare(f32({}), golden_f32({}), {});
  CHECK(empty.match);
}

TEST_CASE("compare: ULP counts representable values") {
  const auto ulp = [](float got, double expected) { return compare(f32({got}), golden_f64({expected}), {}).max_ulp; };
  CHECK(ulp(1.0F, 1.0) == 0);
  CHECK(ulp(std::nextafter(1.0F, 2.0F), 1.0) == 1);
  CHECK(ulp(std::nextafter(1.0F, 0.0F), 1.0) == 1);
  CHECK(ulp(-0.0F, 0.0) == 0);
  CHECK(ulp(std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::denorm_min()) == 2);
  CHECK(ulp(1.0F, 1.0 + 1e-9) == 0);  // rounds to 1
  // Against the bits, for random pairs near each other.
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const auto bits = static_cast<uint32_t>(random() % 0x7F000000U);
    const auto step = static_cast<uint32_t>(random() % 1000);
    float a = 0;
    float b = 0;
    const uint32_t other = bits + step;
    std::memcpy(&a, &bits, 4);
    std::memcpy(&b, &other, 4);
    REQUIRE(ulp(a, b) == step);
    REQUIRE(ulp(-b, -a) == step);
  }
  const Array half = array<uint16_t>(DType::F16, {1}, {0x3C01});
  CHECK(compare(half, golden_f64({1.0}), {}).max_ulp == 1);
}
