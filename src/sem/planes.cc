#include "src/sem/planes.h"

#include <utility>

namespace pto::sem {
namespace {

bool is_linear(const Surface& surface) {
  return surface.row.box == 0 && surface.col.box == 0;
}
bool is_unit_or_repeated(int64_t stride) {
  return stride == 0 || stride == 1;
}

// Copies the part of the plane that the domain reads into dense scratch memory; with `copy` false only makes room.
void stage(Plane& plane, Valid domain, Slot slot, bool copy) {
  const int64_t rows = plane.row_stride == 0 ? 1 : domain.rows;
  const int64_t cols = plane.col_stride == 0 ? 1 : domain.cols;
  const Surface packed = dense(scratch(slot, byte_size(plane.surface.dtype, rows * cols)), plane.surface.dtype, cols);
  if (copy) {
    copy_region(packed, plane.surface, rows, cols);
  }
  plane.surface = packed;
  plane.row_stride = plane.row_stride == 0 ? 0 : cols;
  plane.col_stride = plane.col_stride == 0 ? 0 : 1;
}

// Along an axis of one element any stride will do.
void relax_strides(std::span<Plane> planes, Valid domain) {
  for (Plane& plane : planes) {
    if (domain.cols == 1 && plane.col_stride != 0) {
      plane.col_stride = 1;
    }
    if (domain.rows == 1 && plane.row_stride != 0) {
      plane.row_stride = 1;
    }
  }
}

bool rows_are_runs(std::span<const Plane> planes) {
  return std::all_of(planes.begin(), planes.end(),
                     [](const Plane& plane) { return is_unit_or_repeated(plane.col_stride); });
}
bool cols_are_runs(std::span<const Plane> planes, bool has_dst) {
  return (!has_dst || planes[0].row_stride == 1) && std::all_of(planes.begin(), planes.end(), [](const Plane& plane) {
           return is_unit_or_repeated(plane.row_stride);
         });
}

bool is_one_run(const Plane& plane, Valid domain) {
  return (plane.col_stride == 1 && plane.row_stride == domain.cols) || (plane.col_stride == 0 && plane.row_stride == 0);
}

Rows rows_of(const Plane& plane) {
  return {plane.surface.at(0, 0), byte_size(plane.surface.dtype, plane.row_stride), plane.col_stride == 0};
}

}  // namespace

Plane plane_of(const TileView& tile) {
  const Surface surface = surface_of(tile);
  return {surface, surface.row.stride, surface.col.stride};
}

Plane splat_of(const uint64_t& bits, DType dtype) {
  auto* data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&bits));  // only read
  return {dense(data, dtype, 1), 0, 0};
}

PlaneGrid make_grid(Valid domain, std::span<Plane> planes, Orientation orientation, bool has_dst) {
  constexpr Slot kSlots[kMaxPlanes] = {Slot::Stage0, Slot::Stage1, Slot::Stage2};
  PlaneGrid made;
  for (size_t i = 0; i < planes.size(); ++i) {
    if (!is_linear(planes[i].surface)) {
      made.staged_dst |= has_dst && i == 0;
      stage(planes[i], domain, kSlots[i], !(has_dst && i == 0));
    }
  }
  relax_strides(planes, domain);
  const bool can_turn = orientation == Orientation::Free && cols_are_runs(planes, has_dst);
  if (can_turn && (domain.cols == 1 || !rows_are_runs(planes))) {
    for (Plane& plane : planes) {
      std::swap(plane.row_stride, plane.col_stride);
    }
    std::swap(domain.rows, domain.cols);
  }
  for (size_t i = 0; i < planes.size(); ++i) {
    if (!is_unit_or_repeated(planes[i].col_stride)) {
      made.staged_dst |= has_dst && i == 0;
      stage(planes[i], domain, kSlots[i], !(has_dst && i == 0));
    }
  }
  const bool one_run =
      orientation == Orientation::Free &&
      std::all_of(planes.begin(), planes.end(), [&](const Plane& plane) { return is_one_run(plane, domain); });
  if (one_run) {
    domain = {1, domain.rows * domain.cols};
  }
  made.grid.rows = domain.rows;
  made.grid.cols = domain.cols;
  Rows* const places[] = {&made.grid.dst, &made.grid.a, &made.grid.b};
  const size_t first = has_dst ? 0 : 1;
  for (size_t i = 0; i < planes.size(); ++i) {
    *places[first + i] = rows_of(planes[i]);
  }
  return made;
}

void finish_grid(const PlaneGrid& made, Valid domain, const Plane& dst) {
  if (made.staged_dst) {
    copy_region(dst.surface, dense(made.grid.dst.data, dst.surface.dtype, domain.cols), domain.rows, domain.cols);
  }
}

}  // namespace pto::sem
