// Elementwise instructions see their operands as planes: an element pitch along rows and one along columns, zero where
// the operand repeats. `for_grid` turns planes into rows of consecutive elements for the kernels, whatever the layouts.
#pragma once

#include <span>

#include "src/sem/kernels.h"
#include "src/sem/scratch.h"
#include "src/sem/surface.h"

namespace pto::sem {

struct Plane {
  Surface surface;
  int64_t row_stride = 0;  // elements
  int64_t col_stride = 0;
};

Plane plane_of(const TileView& tile);
// One element everywhere.
Plane splat_of(const uint64_t& bits, DType dtype);

// The layout of the domain after for_grid's reordering, and one Rows a plane.
inline constexpr size_t kMaxPlanes = 3;
struct PlaneGrid {
  Grid grid;
  bool staged_dst = false;
};

enum class Orientation : uint8_t { Free, KeepRows };

// planes: the destination, then one or two sources. Fills in grid.dst, .a and .b; what is not row-like is copied to
// scratch memory. Destinations in scratch memory are copied back by finish_grid.
PlaneGrid make_grid(Valid domain, std::span<Plane> planes, Orientation orientation, bool has_dst);
void finish_grid(const PlaneGrid& made, Valid domain, const Plane& dst);

template <class F>
void for_grid(Valid domain, std::span<Plane> planes, F kernel) {
  if (domain.rows <= 0 || domain.cols <= 0) {
    return;
  }
  const Plane dst = planes[0];
  const PlaneGrid made = make_grid(domain, planes, Orientation::Free, true);
  kernel(made.grid);
  finish_grid(made, domain, dst);
}

}  // namespace pto::sem
