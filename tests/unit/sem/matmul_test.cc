#include "sem_test_util.h"

namespace pto::test {
namespace {

using isa::Opcode;

struct Shape {
  int64_t m;
  int64_t k;
  int64_t n;
};

int64_t round_up(int64_t x, int64_t to) {
  return (x + to - 1) / to * to;
}

// Whole boxes of 32 x 32 serve every type.
Tile operand(DType type, int64_t rows, int64_t cols, Layout layout, Space space) {
  return Tile(type, round_up(rows, 32), round_up(cols, 32), Valid{rows, cols}, layout, space);
}

enum class Start { Zero, Acc, Bias };

uint64_t product_bits(const Tile& a, const Tile& b, int64_t m, int64_t k, int64_t n, uint64_t start) {
  if (is_integer(a.desc.dtype)) {
    auto sum = static_cast<uint32_t>(start);
    for (int64_t i = 0; i < k; ++i) {
      sum += static_cast<uint32_t>(a.integer(m, i) * b.integer(i, n));
    }
    return sum;
  }
  auto sum = static_cast<float>(decode_float(DType::F32, start));
  for (int64_t i = 0; i < k; ++i) {
    const auto product = static_cast<float>(a.real(m, i) * b.real(i, n));
    sum = sum + product;
  }
  return encode_float(DType::F32, static_cast<double>(sum));
}

void check_product(Rng& rng, DType type, Shape shape, Layout left, Layout right, Layout acc, Start start,
                   double (*value)(Rng&)) {
  Tile a = operand(type, shape.m, shape.k, left, Space::Left);
  Tile b = operand(type, shape.k, shape.n, right, Space::Right);
  const DType result = is_integer(type) ? DType::I32 : DType::F32;
  Tile c = operand(result, shape.m, shape.n, acc, Space::Acc);
  Tile bias(result, 1, round_up(shape.n, 16), Valid{1, shape.n}, Layout::ND, Space::Bias);
  if (is_integer(type)) {
    fill_bits(a, rng);
    fill_bits(b, rng);
    fill_bits(bias, rng);
  } else {
    fill_real(a, rng, value);
    fill_real(b, rng, value);
    fill_real(bias, rng, value);
  }
  if (start == Start::Acc) {
    is_integer(type) ? fill_bits(c, rng) : fill_real(c, rng, value);
  }
  const Tile old = c;
  switch (start) {
    case Start::Zero:
      run(Opcode::TMatMul, {&c, &a, &b});
      break;
    case Start::Acc:
      run(Opcode::TMatMulAcc, {&c, &a, &b});
      break;
    case Start::Bias:
      run(Opcode::TMatMulBias, {&c, &a, &b, &bias});
      break;
  }
  check_tile(
      c, c.valid,
      [&](int64_t m, int64_t n) {
        const uint64_t from = start == Start::Zero ? 0 : start == Start::Acc ? old.bits(m, n) : bias.bits(0, n);
        return product_bits(a, b, m, shape.k, n, from);
      },
      "matmul of " + std::string(spelling(type)) + " " + std::to_string(shape.m) + " x " + std::to_string(shape.k) +
          " x " + std::to_string(shape.n));
}

constexpr Shape kShapes[] = {{16, 16, 16}, {1, 1, 1},    {1, 64, 40}, {17, 33, 31}, {32, 31, 64}, {5, 7, 3},
                             {48, 64, 80}, {23, 17, 96}, {33, 2, 17}, {6, 65, 49},  {15, 40, 16}, {64, 1, 33}};

TEST_CASE("matrix products in ascending k, every start, odd sizes") {
  Rng rng(51);
  for (DType type : {DType::F16, DType::BF16, DType::F32, DType::I8}) {
    for (Shape shape : kShapes) {
      for (Start start : {Start::Zero, Start::Acc, Start::Bias}) {
        const Layout left = rng() % 2 == 0 ? Layout::Zz : Layout::Nz;
        check_product(rng, type, shape, left, Layout::Zn, Layout::Nz, start, ordinary_real);
      }
    }
  }
}

TEST_CASE("matrix products with infinities, NaNs and numbers that overflow") {
  Rng rng(52);
  for (DType type : {DType::F16, DType::BF16, DType::F32}) {
    for (Shape shape : {Shape{16, 8, 16}, Shape{7, 5, 19}, Shape{32, 3, 32}}) {
      check_product(rng, type, shape, Layout::Zz, Layout::Zn, Layout::Nz, Start::Acc, awkward_real);
    }
  }
}

// A fused multiply-add would give another sum in each of these: the rounded product is 0 (a tie) or infinite.
TEST_CASE("products of bf16 outside the range of f32 are rounded before they are added") {
  struct Case {
    double factor;
    double start;
    double sum;
  };
  for (const Case& test : {Case{0x1p-75, 0x1p-149, 0x1p-149}, Case{0x1p64, -0x1p127, INFINITY}}) {
    Tile a = operand(DType::BF16, 16, 1, Layout::Zz, Space::Left);
    Tile b = operand(DType::BF16, 1, 16, Layout::Zn, Space::Right);
    Tile c = operand(DType::F32, 16, 16, Layout::Nz, Space::Acc);
    for (int64_t i = 0; i < 16; ++i) {
      a.set_real(i, 0, test.factor);
      b.set_real(0, i, test.factor);
      for (int64_t j = 0; j < 16; ++j) {
        c.set_real(i, j, test.start);
      }
    }
    run(Opcode::TMatMulAcc, {&c, &a, &b});
    check_tile(
        c, c.valid, [&](int64_t, int64_t) { return encode_float(DType::F32, test.sum); }, "rounded product");
  }
}

TEST_CASE("matrix products from other layouts") {
  Rng rng(54);
  for (DType type : {DType::F16, DType::F32, DType::I8}) {
    for (Layout layout : {Layout::ND, Layout::DN, Layout::Nn, Layout::Zz}) {
      check_product(rng, type, {19, 21, 35}, layout, Layout::Zn, Layout::Nz, Start::Acc, ordinary_real);
      check_product(rng, type, {19, 21, 35}, Layout::Zz, layout, Layout::Nz, Start::Bias, ordinary_real);
      check_product(rng, type, {19, 21, 35}, Layout::Zz, Layout::Zn, layout, Start::Acc, ordinary_real);
    }
  }
}

TEST_CASE("matrix products of 8-bit floats") {
  Rng rng(55);
  for (DType type : {DType::F8E4M3, DType::F8E5M2, DType::HiF8}) {
    check_product(rng, type, {18, 35, 20}, Layout::Zz, Layout::Zn, Layout::Nz, Start::Zero, ordinary_real);
  }
}

TEST_CASE("an empty sum is what it starts from") {
  Rng rng(56);
  check_product(rng, DType::F16, {16, 0, 16}, Layout::Zz, Layout::Zn, Layout::Nz, Start::Zero, ordinary_real);
  check_product(rng, DType::F16, {16, 0, 16}, Layout::Zz, Layout::Zn, Layout::Nz, Start::Bias, ordinary_real);
  check_product(rng, DType::I8, {0, 4, 16}, Layout::Zz, Layout::Zn, Layout::Nz, Start::Acc, ordinary_real);
}

}  // namespace
}  // namespace pto::test
