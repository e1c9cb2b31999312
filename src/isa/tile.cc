#include "pto/tile.h"

namespace pto {
namespace {

constexpr int64_t kBoxRows = 16;
constexpr int64_t kBoxRowBits = 32 * 8;  // an inner row (or column) of an operand box is 32 bytes

// Boxes in column-major order (outer letter N) or row-major order (outer letter Z).
bool boxes_by_column(Layout layout) {
  return layout == Layout::Nz || layout == Layout::Nn;
}
// Elements of a box by row (inner letter z) or by column (inner letter n).
bool elements_by_row(Layout layout) {
  return layout == Layout::Nz || layout == Layout::Zz;
}

}  // namespace

Box box_of(const TileDesc& tile) {
  switch (tile.layout) {
    case Layout::None:
    case Layout::ND:
    case Layout::DN:
      return {1, 1};
    case Layout::Nz:
    case Layout::Zz:
    case Layout::Zn:
    case Layout::Nn:
      break;
  }
  if (tile.space == Space::Acc) {
    return {kBoxRows, kBoxRows};
  }
  const int bits = bit_width(tile.dtype);
  const int64_t inner = bits > 0 ? kBoxRowBits / bits : 1;
  return elements_by_row(tile.layout) ? Box{kBoxRows, inner} : Box{inner, kBoxRows};
}

int64_t element_offset(const TileDesc& tile, int64_t row, int64_t col) {
  if (tile.layout == Layout::DN) {
    return col * tile.rows + row;
  }
  const Box box = box_of(tile);
  if (box.rows == 1 && box.cols == 1) {
    return row * tile.cols + col;
  }
  const int64_t box_row = row / box.rows;
  const int64_t box_col = col / box.cols;
  const int64_t in_row = row % box.rows;
  const int64_t in_col = col % box.cols;
  const int64_t index = boxes_by_column(tile.layout) ? tile.rows / box.rows * box_col + box_row
                                                     : tile.cols / box.cols * box_row + box_col;
  const int64_t inside = elements_by_row(tile.layout) ? in_row * box.cols + in_col : in_col * box.rows + in_row;
  return index * (box.rows * box.cols) + inside;
}

}  // namespace pto
