// Where the elements of a tile or of a window of global memory are: every layout is a function of the row plus a
// function of the column, each linear inside a box. Copies and fills work on blocks in which both sides are linear.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "src/sem/sem.h"

namespace pto::sem {

// Element offsets along one axis: `stride` apart, with a jump of `box_stride` from each `box` elements to the next.
struct Axis {
  int64_t box = 0;  // 0: no boxes, one stride all along
  int64_t box_stride = 0;
  int64_t stride = 1;
  int64_t offset(int64_t i) const { return box == 0 ? i * stride : i / box * box_stride + i % box * stride; }
  // Elements from `i` on for which the stride holds, at most `limit`.
  int64_t run(int64_t i, int64_t limit) const { return box == 0 ? limit : std::min(limit, box - i % box); }
};

struct Surface {
  std::byte* data = nullptr;
  DType dtype = DType::None;
  Axis row;
  Axis col;
  int64_t first_row = 0;  // of the window, in the tile
  int64_t first_col = 0;
  int64_t offset(int64_t r, int64_t c) const { return row.offset(first_row + r) + col.offset(first_col + c); }
  std::byte* at(int64_t r, int64_t c) const { return data + byte_size(dtype, offset(r, c)); }
  Surface window(int64_t r, int64_t c) const {
    Surface moved = *this;
    moved.first_row += r;
    moved.first_col += c;
    return moved;
  }
};

Surface surface_of(const TileView& tile);
Surface surface_of(const GmView& gm);
// Row-major scratch memory.
Surface dense(std::byte* data, DType dtype, int64_t cols);

// The part of `size` that both tiles have, so that no mistake of a caller leads outside a buffer.
inline Valid clamp(Valid size, const TileDesc& tile) {
  return {std::clamp<int64_t>(size.rows, 0, tile.rows), std::clamp<int64_t>(size.cols, 0, tile.cols)};
}

// Copies a rectangle from the origin of `src` to that of `dst`, converting the layout and, where the element types
// differ, the values (rounded to nearest even; floats beyond the range become infinite, integers saturate).
void copy_region(const Surface& dst, const Surface& src, int64_t rows, int64_t cols);
// Sets a rectangle to one element's bits.
void fill_region(const Surface& dst, int64_t rows, int64_t cols, uint64_t bits);

// Calls f(row, col, rows, cols) for blocks of a rectangle in which both surfaces are linear. Blocks are at most
// kBlockRows high, so that a block of a wide row-major surface stays in the cache while its columns are visited.
inline constexpr int64_t kBlockRows = 64;
template <class F>
void for_each_block(const Surface& a, const Surface& b, int64_t rows, int64_t cols, F f) {
  for (int64_t r = 0; r < rows;) {
    const int64_t most_rows = std::min(rows - r, kBlockRows);
    const int64_t block_rows = b.row.run(b.first_row + r, a.row.run(a.first_row + r, most_rows));
    for (int64_t c = 0; c < cols;) {
      const int64_t block_cols = b.col.run(b.first_col + c, a.col.run(a.first_col + c, cols - c));
      f(r, c, block_rows, block_cols);
      c += block_cols;
    }
    r += block_rows;
  }
}

}  // namespace pto::sem
