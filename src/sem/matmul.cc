// Matrix products. Floats: every product is rounded to f32 and added in ascending k to what the sum starts from: the
// accumulator, the bias, or +0. Integers: modulo 2^32. Both operands are packed into panels (kernels.h) from their
// boxes; other layouts, and types without a vectorised form, are packed element by element.
#include <algorithm>
#include <cstring>

#include "src/sem/exec.h"
#include "src/sem/kernels.h"
#include "src/sem/scratch.h"
#include "src/sem/surface.h"
#include "src/support/convert.h"

namespace pto::sem {
namespace {

struct Size {
  int64_t m = 0;
  int64_t k = 0;
  int64_t n = 0;
};

// One operand with its panel axis (rows of the left, columns of the right operand) and its k axis.
struct Source {
  const TileView& tile;
  Axis across;
  Axis along_k;
  int64_t extent = 0;  // of the panel axis, elements that exist
  int64_t extent_k = 0;
};

Source left_source(const TileView& tile) {
  const Surface surface = surface_of(tile);
  return {tile, surface.row, surface.col, tile.desc.rows, tile.desc.cols};
}
Source right_source(const TileView& tile) {
  const Surface surface = surface_of(tile);
  return {tile, surface.col, surface.row, tile.desc.cols, tile.desc.rows};
}

bool has_kernel(DType type) {
  return type == DType::I8 || type == DType::F16 || type == DType::BF16 || type == DType::F32;
}

// Is the operand made of boxes of 16 panel elements by 32 bytes of k, with k innermost, all of them whole?
bool is_boxed_along_k(const Source& source) {
  const int64_t inner = 32 / byte_size(source.tile.desc.dtype);
  return has_kernel(source.tile.desc.dtype) && source.along_k.box == inner && source.along_k.stride == 1 &&
         source.across.stride == inner && (source.across.box == 0 || source.across.box == kPanel) &&
         source.extent % kPanel == 0 && source.extent_k % inner == 0;
}

void pack_elements(const Source& source, int64_t first, int64_t count, int64_t k, bool integer, std::byte* panel) {
  const DType type = source.tile.desc.dtype;
  std::memset(panel, 0, static_cast<size_t>(panel_bytes(integer, k)));
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < k; ++j) {
      const int64_t offset = source.across.offset(first + i) + source.along_k.offset(j);
      if (integer) {
        const auto value = static_cast<int16_t>(load_int(type, source.tile.data, offset));
        reinterpret_cast<int16_t*>(panel)[j / 2 * 2 * kPanel + 2 * i + j % 2] = value;
      } else {
        const auto value = static_cast<float>(load_real(type, source.tile.data, offset));
        reinterpret_cast<float*>(panel)[j * kPanel + i] = value;
      }
    }
  }
}

// Packs `count` rows (columns) into consecutive panels.
const std::byte* pack(const Source& source, int64_t count, int64_t k, bool integer, Slot slot) {
  const int64_t stride = panel_bytes(integer, k);
  const int64_t panels = (count + kPanel - 1) / kPanel;
  std::byte* packed = scratch(slot, panels * stride);
  const int64_t bytes = byte_size(source.tile.desc.dtype);
  const bool boxed = is_boxed_along_k(source);
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t first = p * kPanel;
    if (boxed) {
      const std::byte* boxes = source.tile.data + source.across.offset(first) * bytes;
      pack_kernel(source.tile.desc.dtype, packed + p * stride, boxes, source.along_k.box_stride * bytes, k);
    } else {
      pack_elements(source, first, std::min(kPanel, count - first), k, integer, packed + p * stride);
    }
  }
  return packed;
}

// Are all products exact in f32, so that fused multiply-add changes nothing? f16: always (22 bits, exponents -48 to
// 31). Types of 8 bits too. bf16: if no product of two elements leaves the range of f32; 16 bits always fit.
bool products_are_exact(DType type, DType right_type, const std::byte* left, int64_t left_bytes, const std::byte* right,
                        int64_t right_bytes) {
  if (bit_width(type) != bit_width(right_type) || (type == DType::BF16) != (right_type == DType::BF16)) {
    return false;
  }
  if (type == DType::F16 || bit_width(type) == 8) {
    return true;
  }
  if (type != DType::BF16) {
    return false;
  }
  const ExponentRange a = exponent_range_kernel(left, left_bytes / 4);
  const ExponentRange b = exponent_range_kernel(right, right_bytes / 4);
  constexpr int kLastPlace = 7;  // below the leading bit of a bf16
  return a.smallest + b.smallest - 2 * kLastPlace >= -149 && a.largest + b.largest + 2 <= 127;
}

// Where a panel of the result is computed: in the accumulator's own memory if its layout is 16 columns a row and the
// panel is whole, else in scratch memory.
struct Destination {
  Surface surface;
  bool in_place = false;
  std::byte* panel(int64_t p) const { return surface.at(0, p * kPanel); }
};

Destination destination_of(const TileView& acc) {
  Destination dst;
  dst.surface = surface_of(acc);
  dst.in_place = dst.surface.row.box == 0 && dst.surface.row.stride == kPanel && dst.surface.col.box == kPanel &&
                 dst.surface.col.stride == 1 && bit_width(acc.desc.dtype) == 32;
  return dst;
}

enum class Start : uint8_t { Zero, Accumulator, Bias };

// The row that every row of the sum starts from: zeros, or the bias; as many elements as whole panels have.
const std::byte* start_row(const Args& args, Start start, Size size, DType type) {
  const int64_t bytes = (size.n + 2 * kPanel) * 4;
  std::byte* row = scratch(Slot::Bias, bytes);
  std::memset(row, 0, static_cast<size_t>(bytes));
  if (start == Start::Bias) {
    const TileView& bias = args.tiles[3];
    const int64_t cols = bias.desc.rows > 0 ? std::min(size.n, bias.desc.cols) : 0;
    copy_region(dense(row, type, size.n), surface_of(bias), 1, cols);
  }
  return row;
}

struct Packed {
  const std::byte* left = nullptr;
  const std::byte* right = nullptr;
  int64_t stride = 0;
  bool integer = false;
  bool fused = false;
};

// One or two panels of the result, from panel `p` on.
void multiply_panels(const TileView& acc, const Packed& packed, Size size, int64_t p, const std::byte* start) {
  const DType type = packed.integer ? DType::I32 : DType::F32;
  const Destination dst = destination_of(acc);
  const int64_t panels = std::min<int64_t>(2, (size.n + kPanel - 1) / kPanel - p);
  PanelProduct product;
  product.m = size.m;
  product.k = size.k;
  product.integer = packed.integer;
  product.fused = packed.fused;
  product.left = packed.left;
  product.left_stride = packed.stride;
  product.init_stride = start == nullptr ? kPanel : 0;
  std::byte* temporary = scratch(Slot::Acc, panels * size.m * kPanel * 4);
  bool direct[2] = {};
  for (int64_t i = 0; i < panels; ++i) {
    const int64_t cols = std::min(kPanel, size.n - (p + i) * kPanel);
    std::byte* apart = temporary + i * size.m * kPanel * 4;
    direct[i] = dst.in_place && cols == kPanel;
    product.right[i] = packed.right + (p + i) * packed.stride;
    product.dst[i] = direct[i] ? dst.panel(p + i) : apart;
    product.init[i] = start == nullptr ? product.dst[i] : start + (p + i) * kPanel * 4;
    if (start == nullptr && !direct[i]) {
      std::memset(apart, 0, static_cast<size_t>(size.m * kPanel * 4));
      copy_region(dense(apart, type, kPanel), dst.surface.window(0, (p + i) * kPanel), size.m, cols);
    }
  }
  matmul_kernel(product);
  for (int64_t i = 0; i < panels; ++i) {
    const int64_t cols = std::min(kPanel, size.n - (p + i) * kPanel);
    if (!direct[i]) {
      copy_region(dst.surface.window(0, (p + i) * kPanel), dense(product.dst[i], type, kPanel), size.m, cols);
    }
  }
}

void matmul(const Args& args, Start start) {
  const TileView& acc = args.tiles[0];
  const TileView& a = args.tiles[1];
  const TileView& b = args.tiles[2];
  const Valid left = clamp(a.valid, a.desc);
  const Valid right = clamp(b.valid, b.desc);
  const Size size{std::min(left.rows, acc.desc.rows), std::min(left.cols, right.rows),
                  std::min(right.cols, acc.desc.cols)};
  if (size.m <= 0 || size.n <= 0) {
    return;
  }
  Packed packed;
  packed.integer = is_integer(a.desc.dtype);
  packed.stride = panel_bytes(packed.integer, size.k);
  packed.left = pack(left_source(a), size.m, size.k, packed.integer, Slot::Left);
  packed.right = pack(right_source(b), size.n, size.k, packed.integer, Slot::Right);
  const int64_t left_bytes = (size.m + kPanel - 1) / kPanel * packed.stride;
  const int64_t right_bytes = (size.n + kPanel - 1) / kPanel * packed.stride;
  packed.fused = !packed.integer &&
                 products_are_exact(a.desc.dtype, b.desc.dtype, packed.left, left_bytes, packed.right, right_bytes);
  const DType type = packed.integer ? DType::I32 : DType::F32;
  const std::byte* row = start == Start::Accumulator ? nullptr : start_row(args, start, size, type);
  for (int64_t p = 0; p * kPanel < size.n; p += 2) {
    multiply_panels(acc, packed, size, p, row);
  }
}

}  // namespace

void exec_TMatMul(const Args& args) {
  matmul(args, Start::Zero);
}
void exec_TMatMulAcc(const Args& args) {
  matmul(args, Start::Accumulator);
}
void exec_TMatMulBias(const Args& args) {
  matmul(args, Start::Bias);
}

}  // namespace pto::sem
