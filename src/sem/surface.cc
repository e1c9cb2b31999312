#include "src/sem/surface.h"

#include <cstring>

#include "src/sem/convert_rows.h"
#include "src/sem/kernels.h"
#include "src/sem/scratch.h"
#include "src/support/convert.h"

namespace pto::sem {
namespace {

bool is_boxed(const TileDesc& desc) {
  return desc.layout == Layout::Nz || desc.layout == Layout::Zn || desc.layout == Layout::Zz ||
         desc.layout == Layout::Nn;
}

// A rectangle in which both sides are linear. Pitches in elements; one of a side's two is usually 1.
struct Block {
  std::byte* dst;
  int64_t dst_row;
  int64_t dst_col;
  const std::byte* src;
  int64_t src_row;
  int64_t src_col;
  int64_t rows;
  int64_t cols;
};

void copy_runs(const Block& block, int64_t element_bytes) {
  const int64_t run = block.cols * element_bytes;
  const int64_t dst_pitch = block.dst_row * element_bytes;
  const int64_t src_pitch = block.src_row * element_bytes;
  if (dst_pitch == run && src_pitch == run) {
    std::memmove(block.dst, block.src, static_cast<size_t>(run * block.rows));
    return;
  }
  constexpr int64_t kBoxRun = 32;  // the inner row of a box, by far the most frequent run
  if (run == kBoxRun) {
    for (int64_t r = 0; r < block.rows; ++r) {
      std::memmove(block.dst + r * dst_pitch, block.src + r * src_pitch, kBoxRun);
    }
    return;
  }
  for (int64_t r = 0; r < block.rows; ++r) {
    std::memmove(block.dst + r * dst_pitch, block.src + r * src_pitch, static_cast<size_t>(run));
  }
}

void copy_elements(const Block& block, int64_t element_bytes) {
  for (int64_t r = 0; r < block.rows; ++r) {
    for (int64_t c = 0; c < block.cols; ++c) {
      std::memcpy(block.dst + (r * block.dst_row + c * block.dst_col) * element_bytes,
                  block.src + (r * block.src_row + c * block.src_col) * element_bytes,
                  static_cast<size_t>(element_bytes));
    }
  }
}

void copy_block(Block block, int64_t element_bytes) {
  if (block.dst_row == 1 && block.dst_col != 1) {  // look at it from the side on which the destination is a run
    std::swap(block.rows, block.cols);
    std::swap(block.dst_row, block.dst_col);
    std::swap(block.src_row, block.src_col);
  }
  if (block.dst_col == 1 && block.src_col == 1) {
    copy_runs(block, element_bytes);
  } else if (block.dst_col == 1 && block.src_row == 1) {
    transpose_kernel(element_bytes, block.dst, block.dst_row, block.src, block.src_col, block.cols, block.rows);
  } else {
    copy_elements(block, element_bytes);
  }
}

void copy_same_type(const Surface& dst, const Surface& src, int64_t rows, int64_t cols) {
  const int64_t element_bytes = byte_size(dst.dtype);
  for_each_block(dst, src, rows, cols, [&](int64_t r, int64_t c, int64_t block_rows, int64_t block_cols) {
    copy_block({dst.at(r, c), dst.row.stride, dst.col.stride, src.at(r, c), src.row.stride, src.col.stride, block_rows,
                block_cols},
               element_bytes);
  });
}

// Types of less than a byte: one element after the other.
void copy_packed(const Surface& dst, const Surface& src, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      store_int(DType::U4, dst.data, dst.offset(r, c), load_int(DType::U4, src.data, src.offset(r, c)));
    }
  }
}

Grid conversion_grid(const Surface& dst, const Surface& src, int64_t r, int64_t c, int64_t rows, int64_t cols) {
  Grid grid;
  grid.rows = rows;
  grid.cols = cols;
  grid.dst = {dst.at(r, c), byte_size(dst.dtype, dst.row.stride), false};
  grid.a = {src.at(r, c), byte_size(src.dtype, src.row.stride), false};
  return grid;
}

void convert_region(const Surface& dst, const Surface& src, int64_t rows, int64_t cols) {
  if (dst.col.stride == 1 && src.col.stride == 1) {
    for_each_block(dst, src, rows, cols, [&](int64_t r, int64_t c, int64_t block_rows, int64_t block_cols) {
      convert_rows(dst.dtype, src.dtype, isa::Round::Rint, conversion_grid(dst, src, r, c, block_rows, block_cols));
    });
    return;
  }
  const Surface from = dense(scratch(Slot::Convert0, byte_size(src.dtype, rows * cols)), src.dtype, cols);
  const Surface to = dense(scratch(Slot::Convert1, byte_size(dst.dtype, rows * cols)), dst.dtype, cols);
  copy_region(from, src, rows, cols);
  convert_rows(dst.dtype, src.dtype, isa::Round::Rint, conversion_grid(to, from, 0, 0, rows, cols));
  copy_region(dst, to, rows, cols);
}

bool same_bits(DType a, DType b) {
  const bool has_bool = a == DType::Bool || b == DType::Bool;
  return a == b || (has_bool && bit_width(a) == bit_width(b));
}

template <class T>
void fill_block(std::byte* data, int64_t row_stride, int64_t col_stride, int64_t rows, int64_t cols, uint64_t bits) {
  const auto value = static_cast<T>(bits);
  for (int64_t r = 0; r < rows; ++r) {
    T* row = reinterpret_cast<T*>(data) + r * row_stride;
    if (col_stride == 1) {
      std::fill(row, row + cols, value);
    } else {
      for (int64_t c = 0; c < cols; ++c) {
        row[c * col_stride] = value;
      }
    }
  }
}

}  // namespace

Surface surface_of(const TileView& tile) {
  const TileDesc& desc = tile.desc;
  Surface surface;
  surface.data = tile.data;
  surface.dtype = desc.dtype;
  if (!is_boxed(desc)) {
    const bool by_column = desc.layout == Layout::DN;
    surface.row.stride = by_column ? 1 : desc.cols;
    surface.col.stride = by_column ? desc.rows : 1;
    return surface;
  }
  const Box box = box_of(desc);
  const int64_t size = box.rows * box.cols;
  const int64_t boxes_down = desc.rows / box.rows;
  const int64_t boxes_across = desc.cols / box.cols;
  // Nz has no break along rows and Zn none along columns: the next box begins where the last one's stride leads.
  switch (desc.layout) {
    case Layout::Nz:
      surface.row = {0, 0, box.cols};
      surface.col = {box.cols, boxes_down * size, 1};
      break;
    case Layout::Zn:
      surface.row = {box.rows, boxes_across * size, 1};
      surface.col = {0, 0, box.rows};
      break;
    case Layout::Zz:
      surface.row = {box.rows, boxes_across * size, box.cols};
      surface.col = {box.cols, size, 1};
      break;
    default:
      surface.row = {box.rows, size, 1};
      surface.col = {box.cols, boxes_down * size, box.rows};
      break;
  }
  return surface;
}

Surface surface_of(const GmView& gm) {
  Surface surface;
  surface.data = gm.data;
  surface.dtype = gm.dtype;
  surface.row.stride = gm.row_stride;
  surface.col.stride = gm.col_stride;
  return surface;
}

Surface dense(std::byte* data, DType dtype, int64_t cols) {
  Surface surface;
  surface.data = data;
  surface.dtype = dtype;
  surface.row.stride = cols;
  return surface;
}

void copy_region(const Surface& dst, const Surface& src, int64_t rows, int64_t cols) {
  if (rows <= 0 || cols <= 0) {
    return;
  }
  if (!same_bits(dst.dtype, src.dtype)) {
    convert_region(dst, src, rows, cols);
  } else if (bit_width(dst.dtype) < 8) {
    copy_packed(dst, src, rows, cols);
  } else {
    copy_same_type(dst, src, rows, cols);
  }
}

void fill_region(const Surface& dst, int64_t rows, int64_t cols, uint64_t bits) {
  for_each_block(dst, dst, rows, cols, [&](int64_t r, int64_t c, int64_t block_rows, int64_t block_cols) {
    std::byte* data = dst.at(r, c);
    const int64_t row = dst.row.stride;
    const int64_t col = dst.col.stride;
    switch (bit_width(dst.dtype)) {
      case 8:
        return fill_block<uint8_t>(data, row, col, block_rows, block_cols, bits);
      case 16:
        return fill_block<uint16_t>(data, row, col, block_rows, block_cols, bits);
      case 32:
        return fill_block<uint32_t>(data, row, col, block_rows, block_cols, bits);
      case 64:
        return fill_block<uint64_t>(data, row, col, block_rows, block_cols, bits);
      default:
        return;
    }
  });
}

}  // namespace pto::sem
