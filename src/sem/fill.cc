// Instructions that make elements: fills, padding, counting.
#include <limits>

#include "src/sem/exec.h"
#include "src/sem/scalar_value.h"
#include "src/sem/surface.h"

namespace pto::sem {
namespace {

uint64_t pad_bits(isa::Pad pad, DType dtype) {
  if (pad == isa::Pad::Zero) {
    return 0;
  }
  const bool max = pad == isa::Pad::Max;
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return encode_float(dtype, max ? infinity : -infinity);
  }
  return static_cast<uint64_t>(max ? max_of_integer(dtype) : min_of_integer(dtype));
}

}  // namespace

void exec_TExpands(const Args& args) {
  const TileView& dst = args.tiles[0];
  const Valid domain = clamp(dst.valid, dst.desc);
  fill_region(surface_of(dst), domain.rows, domain.cols, scalar_bits(args, dst.desc.dtype));
}

// The source may be the destination itself: the valid region is copied first, and padding never touches it.
void exec_TFillPad(const Args& args) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const Valid copied = clamp(clamp(src.valid, src.desc), dst.desc);
  const Surface to = surface_of(dst);
  copy_region(to, surface_of(src), copied.rows, copied.cols);
  const uint64_t bits = pad_bits(args.pad, dst.desc.dtype);
  fill_region(to.window(0, copied.cols), copied.rows, dst.desc.cols - copied.cols, bits);
  fill_region(to.window(copied.rows, 0), dst.desc.rows - copied.rows, dst.desc.cols, bits);
}

void exec_TCi(const Args& args) {
  const TileView& dst = args.tiles[0];
  const Valid domain = clamp(dst.valid, dst.desc);
  const Surface to = surface_of(dst);
  for (int64_t c = 0; domain.rows > 0 && c < domain.cols; ++c) {
    const uint64_t value = static_cast<uint64_t>(args.integer) + static_cast<uint64_t>(c);  // wraps
    store_int(dst.desc.dtype, dst.data, to.offset(0, c), static_cast<int64_t>(value));
  }
}

}  // namespace pto::sem
