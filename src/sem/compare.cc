// Comparisons into packed masks, and selection by them. A mask row starts at a row of the mask tile and holds
// ceil(columns / 8) bytes, the first column in the lowest bit; the rest of the mask's valid elements is zero.
#include <algorithm>
#include <cstring>

#include "src/sem/exec.h"
#include "src/sem/planes.h"
#include "src/sem/scalar_value.h"

namespace pto::sem {
namespace {

int64_t mask_pitch(const TileView& mask) {
  return byte_size(mask.desc.dtype, mask.desc.cols);
}

Valid clamp_to_mask(Valid domain, const TileView& mask) {
  return {std::min(domain.rows, mask.desc.rows), std::min(domain.cols, mask_pitch(mask) * 8)};
}

void compare(const Args& args, Valid domain, std::span<Plane> sources) {
  const TileView& mask = args.tiles[0];
  domain = clamp_to_mask(domain, mask);
  if (domain.rows > 0 && domain.cols > 0) {
    PlaneGrid made = make_grid(domain, sources, Orientation::KeepRows, false);
    made.grid.dst = {mask.data, mask_pitch(mask), false};
    compare_kernel(args.cmp, sources[0].surface.dtype, made.grid);
  }
  const int64_t written = (domain.cols + 7) / 8;
  const int64_t whole = byte_size(mask.desc.dtype, clamp(mask.valid, mask.desc).cols);
  for (int64_t r = 0; r < domain.rows && written < whole; ++r) {
    std::memset(mask.data + r * mask_pitch(mask) + written, 0, static_cast<size_t>(whole - written));
  }
}

void select(const TileView& dst, const TileView& mask, Valid domain, std::span<Plane> planes) {
  domain = clamp_to_mask(domain, mask);
  if (domain.rows <= 0 || domain.cols <= 0) {
    return;
  }
  const Plane destination = planes[0];
  const PlaneGrid made = make_grid(domain, planes, Orientation::KeepRows, true);
  select_kernel(byte_size(dst.desc.dtype), {mask.data, mask_pitch(mask), false}, made.grid);
  finish_grid(made, domain, destination);
}

}  // namespace

void exec_TCmp(const Args& args) {
  const TileView& a = args.tiles[1];
  Plane sources[] = {plane_of(a), plane_of(args.tiles[2])};
  const Valid& b = args.tiles[2].valid;
  const Valid both{std::min(a.valid.rows, b.rows), std::min(a.valid.cols, b.cols)};
  compare(args, clamp(clamp(both, a.desc), args.tiles[2].desc), sources);
}

void exec_TCmps(const Args& args) {
  const TileView& a = args.tiles[1];
  const uint64_t bits = scalar_bits(args, a.desc.dtype);
  Plane sources[] = {plane_of(a), splat_of(bits, a.desc.dtype)};
  compare(args, clamp(a.valid, a.desc), sources);
}

void exec_TSel(const Args& args) {
  const TileView& dst = args.tiles[0];
  Plane planes[] = {plane_of(dst), plane_of(args.tiles[2]), plane_of(args.tiles[3])};
  select(dst, args.tiles[1], clamp(clamp(clamp(dst.valid, dst.desc), args.tiles[2].desc), args.tiles[3].desc), planes);
}

void exec_TSels(const Args& args) {
  const TileView& dst = args.tiles[0];
  const uint64_t bits = scalar_bits(args, dst.desc.dtype);
  Plane planes[] = {plane_of(dst), plane_of(args.tiles[2]), splat_of(bits, dst.desc.dtype)};
  select(dst, args.tiles[1], clamp(clamp(dst.valid, dst.desc), args.tiles[2].desc), planes);
}

}  // namespace pto::sem
