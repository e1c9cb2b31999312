// The vectorised inner loops. Each is compiled once per SIMD level (Highway) and chosen at run time; all levels give
// the same bits. They know element types and pitches, nothing of tiles. Every floating-point operation computes in f32
// and rounds once to the element type; every NaN result is the canonical quiet NaN, so that payloads never differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pto/dtype.h"
#include "pto/isa.h"

namespace pto::sem {

enum class BinaryOp : uint8_t { Add, Sub, Mul, Div, Max, Min, ExpDif };
enum class UnaryOp : uint8_t { Abs, Neg, Exp, Log, Sqrt, Rsqrt, Recip, Relu };
enum class ReduceOp : uint8_t { Sum, Max, Min };

// Rows of elements, `pitch` bytes apart (0: the same row again and again). A splat row is one element, repeated.
struct Rows {
  std::byte* data = nullptr;
  int64_t pitch = 0;
  bool splat = false;
};

struct Grid {
  int64_t rows = 0;
  int64_t cols = 0;
  Rows dst;
  Rows a;
  Rows b;
};

void binary_kernel(BinaryOp op, DType type, const Grid& grid);
void unary_kernel(UnaryOp op, DType type, const Grid& grid);  // reads grid.a
// dst rows are packed bits, first column in the lowest bit; ceil(cols / 8) bytes a row, the last one's spare bits zero.
void compare_kernel(isa::Cmp cmp, DType type, const Grid& grid);
// `mask` rows as compare_kernel writes them. Elements are raw bits of `element_bytes`.
void select_kernel(int64_t element_bytes, const Rows& mask, const Grid& grid);

// Converts rows of elements as tcvt does. False: no vectorised form, use convert_element (convert.cc).
bool convert_kernel(DType to, DType from, isa::Round round, const Grid& grid);

// dst[r] (accumulator type: f32 for floats, the element type for integers) = the reduction of row r of grid.a.
void row_reduce_kernel(ReduceOp op, DType type, const Grid& grid, std::byte* results);
// The reduction of each column of grid.a, row by row from the first, into one row at grid.dst,
// also of the accumulator type.
void col_reduce_kernel(ReduceOp op, DType type, const Grid& grid);

// dst[c][r] = src[r][c]; pitches in elements, element sizes 1, 2, 4, 8.
void transpose_kernel(int64_t element_bytes, std::byte* dst, int64_t dst_pitch, const std::byte* src, int64_t src_pitch,
                      int64_t rows, int64_t cols);

// Operands of a matrix product are packed into panels: 16 rows of the left (columns of the right) operand, interleaved
// so that the 16 elements of one k lie together. Floats become f32; i8 becomes pairs of i16 (k, k + 1).
inline constexpr int64_t kPanel = 16;
inline int64_t panel_bytes(bool integer, int64_t k) {
  return (integer ? (k + 1) / 2 : k) * kPanel * 4;
}

// Packs one panel from its boxes: each box is 16 rows of 32 bytes, `box_stride` bytes from one to the next along k.
// `k` may end inside a box. Types i8, f16, bf16, f32.
void pack_kernel(DType type, std::byte* panel, const std::byte* boxes, int64_t box_stride, int64_t k);

// Exponents (of the leading bit) of packed f32 elements, zeros left out; subnormal numbers count as -126, infinity and
// NaN as 128.
struct ExponentRange {
  int smallest = 0;
  int largest = 0;
};
ExponentRange exponent_range_kernel(const std::byte* panels, int64_t count);

struct PanelProduct {
  int64_t m = 0;  // rows of dst
  int64_t k = 0;
  bool integer = false;
  bool fused = false;               // fused multiply-add gives the same bits: every product is exact in f32
  const std::byte* left = nullptr;  // ceil(m / 16) panels
  int64_t left_stride = 0;          // bytes from one to the next
  const std::byte* right[2] = {};   // one or two panels; [1] may be null
  const std::byte* init[2] = {};    // 16 columns a row, what the sum starts from
  int64_t init_stride = 0;          // elements from row to row: 16 or 0
  std::byte* dst[2] = {};           // 16 columns a row
};
void matmul_kernel(const PanelProduct& product);

}  // namespace pto::sem
