#include "sem_test_util.h"

namespace pto::test {
namespace {

using isa::Opcode;

// The documented order: sixteen partial sums, then halves onto halves.
float row_sum_f32(const Tile& a, int64_t r, int64_t cols) {
  float partial[16] = {};
  for (int64_t c = 0; c < cols; ++c) {
    partial[c % 16] += static_cast<float>(a.real(r, c));
  }
  for (int half : {8, 4, 2, 1}) {
    for (int j = 0; j < half; ++j) {
      partial[j] += partial[j + half];
    }
  }
  return partial[0];
}

// Left to right, any NaN wins, -0 before +0.
double extreme(const Tile& a, int64_t first_row, int64_t rows, int64_t first_col, int64_t cols, bool max) {
  double best = max ? -INFINITY : INFINITY;
  for (int64_t r = first_row; r < first_row + rows; ++r) {
    for (int64_t c = first_col; c < first_col + cols; ++c) {
      const double x = a.real(r, c);
      if (std::isnan(x) || std::isnan(best)) {
        best = NAN;
        continue;
      }
      const bool x_is_less = x < best || (x == best && std::signbit(x) && !std::signbit(best));
      const bool x_is_more = x > best || (x == best && !std::signbit(x) && std::signbit(best));
      best = (max ? x_is_more : x_is_less) ? x : best;
    }
  }
  return best;
}

// op: 0 sum, 1 maximum, 2 minimum.
uint64_t int_reduced(const Tile& a, int64_t first_row, int64_t rows, int64_t first_col, int64_t cols, int op,
                     DType to) {
  const bool is_unsigned = a.desc.dtype == DType::U64;
  auto result = op == 0 ? uint64_t{0} : static_cast<uint64_t>(op == 1 ? min_of_integer(to) : max_of_integer(to));
  for (int64_t r = first_row; r < first_row + rows; ++r) {
    for (int64_t c = first_col; c < first_col + cols; ++c) {
      const auto x = static_cast<uint64_t>(a.integer(r, c));
      const bool less = is_unsigned ? x < result : static_cast<int64_t>(x) < static_cast<int64_t>(result);
      result = op == 0 ? result + x : (op == 1) != less ? x : result;
    }
  }
  return truncated(to, static_cast<int64_t>(result));
}

TEST_CASE("row reductions match the documented order") {
  Rng rng(21);
  constexpr Opcode kOps[] = {Opcode::TRowSum, Opcode::TRowMax, Opcode::TRowMin};
  for (DType type : kAllTypes) {
    for (int64_t cols = 0; cols <= 67; cols += cols < 18 || cols > 62 ? 1 : 5) {
      for (int op = 0; op < 3; ++op) {
        for (bool dn : {true, false}) {
          const auto rows = static_cast<int64_t>(rng() % 6);
          Tile src(type, 6, padded_cols(type, std::max<int64_t>(cols, 1)), Valid{rows, cols});
          is_float(type) ? fill_real(src, rng, rng() % 4 == 0 ? awkward_real : ordinary_real) : fill_bits(src, rng);
          Tile tmp(type, src.desc.rows, src.desc.cols);
          Tile dst(type, 6, dn ? 1 : padded_cols(type, 1), Valid{rows, 1}, dn ? Layout::DN : Layout::ND);
          run(kOps[op], {&dst, &src, &tmp});
          check_tile(
              dst, dst.valid,
              [&](int64_t r, int64_t) {
                if (!is_float(type)) {
                  return int_reduced(src, r, 1, 0, cols, op, type);
                }
                return encode_float(type, op == 0 ? static_cast<double>(row_sum_f32(src, r, cols))
                                                  : extreme(src, r, 1, 0, cols, op == 1));
              },
              std::string(isa::info(kOps[op]).mnemonic) + " of " + std::to_string(cols) + " columns");
        }
      }
    }
  }
}

TEST_CASE("column reductions go row by row in f32") {
  Rng rng(22);
  constexpr Opcode kOps[] = {Opcode::TColSum, Opcode::TColMax, Opcode::TColMin};
  for (DType type : kAllTypes) {
    for (int64_t cols = 1; cols <= 140; cols += cols < 18 || cols > 62 ? 7 : 5) {
      for (int op = 0; op < 3; ++op) {
        const auto rows = static_cast<int64_t>(rng() % 20);
        Tile src(type, 20, padded_cols(type, cols), Valid{rows, cols});
        is_float(type) ? fill_real(src, rng, rng() % 2 == 0 ? awkward_real : ordinary_real) : fill_bits(src, rng);
        Tile dst(type, 1, src.desc.cols, Valid{1, cols});
        run(kOps[op], {&dst, &src});
        check_tile(
            dst, dst.valid,
            [&](int64_t, int64_t c) {
              if (!is_float(type)) {
                return int_reduced(src, 0, rows, c, 1, op, type);
              }
              float sum = 0;
              for (int64_t r = 0; r < rows; ++r) {
                sum += static_cast<float>(src.real(r, c));
              }
              return encode_float(type, op == 0 ? static_cast<double>(sum) : extreme(src, 0, rows, c, 1, op == 1));
            },
            std::string(isa::info(kOps[op]).mnemonic));
      }
    }
  }
}

TEST_CASE("reductions may widen") {
  Rng rng(23);
  Tile halves(DType::F16, 4, 48, Valid{4, 43});
  fill_real(halves, rng, ordinary_real);
  Tile shorts(DType::I16, 4, 48, Valid{4, 43});
  fill_bits(shorts, rng);
  Tile sums(DType::F32, 8, 1, Valid{4, 1}, Layout::DN);
  run(Opcode::TRowSum, {&sums, &halves, &halves});
  check_tile(
      sums, Valid{4, 1},
      [&](int64_t r, int64_t) { return encode_float(DType::F32, static_cast<double>(row_sum_f32(halves, r, 43))); },
      "f16 to f32");
  Tile wide(DType::I32, 8, 1, Valid{4, 1}, Layout::DN);
  run(Opcode::TRowSum, {&wide, &shorts, &shorts});
  check_tile(
      wide, Valid{4, 1}, [&](int64_t r, int64_t) { return int_reduced(shorts, r, 1, 0, 43, 0, DType::I32); },
      "i16 to i32");
}

}  // namespace
}  // namespace pto::test
