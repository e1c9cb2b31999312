// The rules of single elements.
#include <catch2/catch.hpp>

#include <cmath>
#include <limits>

#include "src/eval/value.h"

using namespace pto;
using namespace pto::eval;
using ir::OpKind;

namespace {
const double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();
}  // namespace

TEST_CASE("values are rounded to the grid of their type") {
  CHECK(on_grid(DType::F16, 2049) == 2048);  // ties to even
  CHECK(on_grid(DType::F16, 2051) == 2052);
  CHECK(on_grid(DType::F16, 65520) == kInfinity);
  CHECK(on_grid(DType::BF16, 1.00390625) == 1);
  CHECK(on_grid(DType::F32, 16777217) == 16777216);
  CHECK(on_grid(DType::I32, 7) == 7);
  CHECK(wrapped(DType::I8, 200) == -56);
  CHECK(wrapped(DType::U16, -1) == 65535);
}

TEST_CASE("integers wrap and their quotients truncate") {
  CHECK(binary_element(OpKind::Add, DType::I8, 100, 100) == -56);
  CHECK(binary_element(OpKind::Sub, DType::U8, 1, 2) == 255);
  CHECK(binary_element(OpKind::Mul, DType::I32, 65536, 65537) == 65536);
  CHECK(binary_element(OpKind::Div, DType::I16, -7, 2) == -3);
  CHECK(binary_element(OpKind::Div, DType::I16, 7, 0) == 0);
  CHECK(binary_element(OpKind::Div, DType::I8, -128, -1) == -128);
  CHECK(unary_element(OpKind::Neg, DType::I8, -128) == -128);
  CHECK(unary_element(OpKind::Abs, DType::I8, -128) == -128);
  CHECK(unary_element(OpKind::Relu, DType::I32, -3) == 0);
}

TEST_CASE("maxima and minima keep NaN and order zeros") {
  CHECK(std::isnan(binary_element(OpKind::Max, DType::F32, kNaN, 1)));
  CHECK(std::isnan(binary_element(OpKind::Min, DType::F32, 1, kNaN)));
  CHECK_FALSE(std::signbit(binary_element(OpKind::Max, DType::F32, -0.0, 0.0)));
  CHECK_FALSE(std::signbit(binary_element(OpKind::Max, DType::F32, 0.0, -0.0)));
  CHECK(std::signbit(binary_element(OpKind::Min, DType::F32, 0.0, -0.0)));
  CHECK(std::signbit(binary_element(OpKind::Min, DType::F32, -0.0, 0.0)));
  CHECK(std::isnan(unary_element(OpKind::Relu, DType::F16, kNaN)));
}

TEST_CASE("casts round, saturate or wrap") {
  using isa::Round;
  CHECK(cast_element(DType::I32, DType::F32, 2.5, Round::Rint) == 2);
  CHECK(cast_element(DType::I32, DType::F32, 2.5, Round::Round) == 3);
  CHECK(cast_element(DType::I32, DType::F32, -2.5, Round::Floor) == -3);
  CHECK(cast_element(DType::I32, DType::F32, -2.5, Round::Trunc) == -2);
  CHECK(cast_element(DType::I32, DType::F32, 1e20, Round::Rint) == 2147483647);
  CHECK(cast_element(DType::U8, DType::F32, -4, Round::Rint) == 0);
  CHECK(cast_element(DType::U8, DType::F16, 257, Round::Rint) == 1);
  CHECK(cast_element(DType::I16, DType::I32, 65537, Round::Rint) == 1);
  CHECK(cast_element(DType::I16, DType::F32, 32768, Round::Rint) == -32768);
  CHECK(cast_element(DType::I32, DType::F32, kNaN, Round::Rint) == 0);
  CHECK(cast_element(DType::F16, DType::F32, 2049, Round::Ceil) == 2050);
  CHECK(cast_element(DType::F16, DType::I32, 70000, Round::Rint) == kInfinity);
  CHECK(cast_element(DType::F8E4M3, DType::F32, 1000, Round::Rint) == 448);
}

TEST_CASE("padding and the starts of reductions are the limits of the type") {
  CHECK(pad_element(isa::Pad::Max, DType::F16) == kInfinity);
  CHECK(pad_element(isa::Pad::Min, DType::I8) == -128);
  CHECK(pad_element(isa::Pad::Max, DType::U16) == 65535);
  CHECK(pad_element(isa::Pad::Zero, DType::I32) == 0);
  CHECK(reduce_start(OpKind::ReduceMax, DType::F32) == -kInfinity);
  CHECK(reduce_start(OpKind::ReduceMin, DType::I16) == 32767);
  CHECK(reduce_start(OpKind::Sum, DType::I16) == 0);
}
