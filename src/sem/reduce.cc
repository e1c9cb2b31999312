// Reductions. A row reduction writes column 0 of its destination, a column reduction row 0. The order of sums is
// written down in reduce_kernel.cc.
#include <algorithm>
#include <cstring>

#include "src/sem/convert_rows.h"
#include "src/sem/exec.h"
#include "src/sem/planes.h"

namespace pto::sem {
namespace {

// What a reduction computes in: f32 for floats. Integers wrap, so the destination's type serves for all of them.
DType accumulator(DType src, DType dst) {
  return is_float(src) ? DType::F32 : dst;
}

// The source as rows; integers in the accumulator's type.
Grid source_rows(const TileView& src, Valid domain, DType acc) {
  Plane plane = plane_of(src);
  if (!is_float(src.desc.dtype) && src.desc.dtype != acc) {
    const Surface widened = dense(scratch(Slot::Stage1, byte_size(acc, domain.rows * domain.cols)), acc, domain.cols);
    copy_region(widened, plane.surface, domain.rows, domain.cols);
    plane = {widened, domain.cols, 1};
  }
  return make_grid(domain, std::span(&plane, 1), Orientation::KeepRows, false).grid;
}

void row_reduce(const Args& args, ReduceOp op) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const Valid region = clamp(src.valid, src.desc);
  const Valid domain{std::min(region.rows, dst.desc.rows), region.cols};
  if (domain.rows <= 0 || dst.desc.cols <= 0) {
    return;
  }
  const DType acc = accumulator(src.desc.dtype, dst.desc.dtype);
  const Grid grid = source_rows(src, domain, acc);
  std::byte* results = scratch(Slot::Reduce, byte_size(acc, domain.rows));
  row_reduce_kernel(op, is_float(src.desc.dtype) ? src.desc.dtype : acc, grid, results);
  copy_region(surface_of(dst), dense(results, acc, 1), domain.rows, 1);
}

void col_reduce(const Args& args, ReduceOp op) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const Valid region = clamp(src.valid, src.desc);
  const Valid domain{region.rows, std::min(region.cols, dst.desc.cols)};
  if (domain.cols <= 0 || dst.desc.rows <= 0) {
    return;
  }
  const DType acc = accumulator(src.desc.dtype, dst.desc.dtype);
  Grid grid = source_rows(src, domain, acc);
  grid.dst = {scratch(Slot::Reduce, byte_size(acc, domain.cols)), 0, false};
  col_reduce_kernel(op, is_float(src.desc.dtype) ? src.desc.dtype : acc, grid);
  copy_region(surface_of(dst), dense(grid.dst.data, acc, domain.cols), 1, domain.cols);
}

}  // namespace

void exec_TRowSum(const Args& args) {
  row_reduce(args, ReduceOp::Sum);
}
void exec_TRowMax(const Args& args) {
  row_reduce(args, ReduceOp::Max);
}
void exec_TRowMin(const Args& args) {
  row_reduce(args, ReduceOp::Min);
}
void exec_TColSum(const Args& args) {
  col_reduce(args, ReduceOp::Sum);
}
void exec_TColMax(const Args& args) {
  col_reduce(args, ReduceOp::Max);
}
void exec_TColMin(const Args& args) {
  col_reduce(args, ReduceOp::Min);
}

}  // namespace pto::sem
