// Expansions: one operand is a column that repeats along its row, or a row that repeats down its column. Either operand
// may be the repeated one; the order of operands is kept.
#include <algorithm>
#include <cstring>

#include "src/sem/exec.h"
#include "src/sem/planes.h"

namespace pto::sem {
namespace {

enum class Along : uint8_t { Rows, Cols };  // the expanded operand has one column, or one row

// The repeated operand has one valid column (row); a tile of which only one is valid repeats too, which changes
// nothing.
bool repeats(const TileView& tile, Along along) {
  return along == Along::Rows ? tile.desc.cols == 1 || tile.valid.cols == 1
                              : tile.desc.rows == 1 || tile.valid.rows == 1;
}

Plane repeated(const TileView& tile, Along along) {
  Plane plane = plane_of(tile);
  (along == Along::Rows ? plane.col_stride : plane.row_stride) = 0;
  return plane;
}

Valid clamp_expanded(Valid domain, const TileView& tile, Along along, bool is_repeated) {
  const Valid both = clamp(domain, tile.desc);
  if (!is_repeated) {
    return both;
  }
  return along == Along::Rows ? Valid{both.rows, domain.cols} : Valid{domain.rows, both.cols};
}

void expand_binary(const Args& args, BinaryOp op, Along along) {
  const TileView& dst = args.tiles[0];
  Valid domain = clamp(dst.valid, dst.desc);
  Plane planes[] = {plane_of(dst), plane_of(args.tiles[1]), plane_of(args.tiles[2])};
  for (size_t i = 1; i <= 2; ++i) {
    const bool is_repeated = repeats(args.tiles[i], along);
    if (is_repeated) {
      planes[i] = repeated(args.tiles[i], along);
    }
    domain = clamp_expanded(domain, args.tiles[i], along, is_repeated);
  }
  for_grid(domain, planes, [&](const Grid& grid) { binary_kernel(op, dst.desc.dtype, grid); });
}

uint64_t element_bits(const Surface& surface, int64_t r, int64_t c) {
  uint64_t bits = 0;
  std::memcpy(&bits, surface.at(r, c), static_cast<size_t>(byte_size(surface.dtype)));
  return bits;
}

}  // namespace

void exec_TRowExpand(const Args& args) {
  const TileView& src = args.tiles[1];
  const Valid domain = clamp(args.tiles[0].valid, args.tiles[0].desc);
  const Surface to = surface_of(args.tiles[0]);
  const Surface from = surface_of(src);
  for (int64_t r = 0; r < std::min(domain.rows, src.desc.rows); ++r) {
    fill_region(to.window(r, 0), 1, domain.cols, element_bits(from, r, 0));
  }
}

void exec_TColExpand(const Args& args) {
  const TileView& src = args.tiles[1];
  const Valid domain = clamp(args.tiles[0].valid, args.tiles[0].desc);
  Surface from = surface_of(src);
  from.row = {0, 0, 0};  // the same row again and again
  copy_region(surface_of(args.tiles[0]), from, domain.rows, std::min(domain.cols, src.desc.cols));
}

void exec_TRowExpandAdd(const Args& args) {
  expand_binary(args, BinaryOp::Add, Along::Rows);
}
void exec_TRowExpandSub(const Args& args) {
  expand_binary(args, BinaryOp::Sub, Along::Rows);
}
void exec_TRowExpandMul(const Args& args) {
  expand_binary(args, BinaryOp::Mul, Along::Rows);
}
void exec_TRowExpandDiv(const Args& args) {
  expand_binary(args, BinaryOp::Div, Along::Rows);
}
void exec_TRowExpandMax(const Args& args) {
  expand_binary(args, BinaryOp::Max, Along::Rows);
}
void exec_TRowExpandMin(const Args& args) {
  expand_binary(args, BinaryOp::Min, Along::Rows);
}
void exec_TRowExpandExpDif(const Args& args) {
  expand_binary(args, BinaryOp::ExpDif, Along::Rows);
}
void exec_TColExpandAdd(const Args& args) {
  expand_binary(args, BinaryOp::Add, Along::Cols);
}
void exec_TColExpandSub(const Args& args) {
  expand_binary(args, BinaryOp::Sub, Along::Cols);
}
void exec_TColExpandMul(const Args& args) {
  expand_binary(args, BinaryOp::Mul, Along::Cols);
}
void exec_TColExpandDiv(const Args& args) {
  expand_binary(args, BinaryOp::Div, Along::Cols);
}
void exec_TColExpandMax(const Args& args) {
  expand_binary(args, BinaryOp::Max, Along::Cols);
}
void exec_TColExpandMin(const Args& args) {
  expand_binary(args, BinaryOp::Min, Along::Cols);
}
void exec_TColExpandExpDif(const Args& args) {
  expand_binary(args, BinaryOp::ExpDif, Along::Cols);
}

}  // namespace pto::sem
