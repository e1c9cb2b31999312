// Tiles: where they live and how their bytes are laid out. Formulas: the boxes ("fractals") of a tile are ordered by the
// outer letter of the layout's name and the elements of a box by the inner one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pto/dtype.h"

namespace pto {

// The memories of a core, and global memory.
enum class Space : uint8_t { None, Gm, Vec, Mat, Left, Right, Acc, Bias, Scaling };
inline constexpr int kSpaceCount = 9;
std::string_view spelling(Space space);
std::optional<Space> space_from_spelling(std::string_view text);

enum class Layout : uint8_t { None, ND, DN, Nz, Zn, Zz, Nn };
std::string_view spelling(Layout layout);
std::optional<Layout> layout_from_spelling(std::string_view text);

// The static part of a tile's type: what a buffer of it needs.
struct TileDesc {
  DType dtype = DType::None;
  int64_t rows = 0;
  int64_t cols = 0;
  Layout layout = Layout::ND;
  Space space = Space::None;
  friend bool operator==(const TileDesc&, const TileDesc&) = default;
  int64_t bytes() const { return byte_size(dtype, rows * cols); }
};

// The top-left rectangle that holds data.
struct Valid {
  int64_t rows = 0;
  int64_t cols = 0;
  friend bool operator==(const Valid&, const Valid&) = default;
};

// Rows and columns of one box of a boxed layout. Operand boxes are 512 bytes (16 x 32 B, or its transpose for Zn and Nn),
// accumulator boxes 16 x 16 elements. {1, 1} for ND and DN.
struct Box {
  int64_t rows = 1;
  int64_t cols = 1;
};
Box box_of(const TileDesc& tile);

// Element offset of (row, col); multiply by the element size for bytes (half for 4-bit types).
int64_t element_offset(const TileDesc& tile, int64_t row, int64_t col);

}  // namespace pto
