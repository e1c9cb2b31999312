#include "src/support/convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "src/sem/convert_rows.h"
#include "src/sem/exec.h"
#include "src/sem/planes.h"

namespace pto::sem {
namespace {

// A real number modulo 2^64, as an integer's bits; not finite: 0.
int64_t wrap_to_int(double value) {
  if (!std::isfinite(value)) {
    return 0;
  }
  const double rest = std::fmod(value, 0x1p64);
  const auto magnitude = static_cast<uint64_t>(std::fabs(rest));
  return static_cast<int64_t>(std::signbit(rest) ? uint64_t{0} - magnitude : magnitude);
}

// A double that rounds to any narrower type as the integer does: what doesn't fit becomes a one in the last place.
double sticky_double(int64_t value, DType type) {
  const bool negative = type != DType::U64 && value < 0;
  uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const int excess = static_cast<int>(std::bit_width(magnitude)) - std::numeric_limits<double>::digits;
  if (excess > 0) {
    const uint64_t lost = magnitude & ((uint64_t{1} << excess) - 1);
    magnitude -= lost;
    magnitude |= lost != 0 ? uint64_t{1} << excess : 0;
  }
  const auto real = static_cast<double>(magnitude);
  return negative ? -real : real;
}

void convert_from_float(DType to, DType from, isa::Round round, const Grid& grid, int64_t r, int64_t c) {
  const double value = load_real(from, grid.a.data + r * grid.a.pitch, c);
  std::byte* out = grid.dst.data + r * grid.dst.pitch;
  if (is_float(to)) {
    const uint64_t bits = encode_float(to, value, round, bit_width(to) <= 8);
    const auto stored = static_cast<int64_t>(bits);
    store_int(bit_width(to) == 4    ? DType::U4
              : bit_width(to) == 8  ? DType::U8
              : bit_width(to) == 16 ? DType::U16
                                    : DType::U32,
              out, c, stored);
  } else if (conversion_wraps(to, from)) {
    store_int(to, out, c, wrap_to_int(round_to_integral(value, round)));
  } else {
    store_real(to, out, c, value, round);
  }
}

void convert_from_int(DType to, DType from, isa::Round round, const Grid& grid, int64_t r, int64_t c) {
  const int64_t value = load_int(from, grid.a.data + r * grid.a.pitch, c);
  std::byte* out = grid.dst.data + r * grid.dst.pitch;
  if (is_float(to)) {
    store_real(to, out, c, sticky_double(value, from), round);
  } else if (conversion_wraps(to, from)) {
    store_int(to, out, c, value);
  } else {
    store_real(to, out, c, load_real(from, grid.a.data + r * grid.a.pitch, c), isa::Round::Trunc);
  }
}

// From one integer type to another, through nothing: 64-bit integers do not fit into a double.
template <class To, class From>
void convert_integers(bool wrap, const Grid& grid) {
  using Limits = std::numeric_limits<To>;
  for (int64_t r = 0; r < grid.rows; ++r) {
    const auto* in = reinterpret_cast<const From*>(grid.a.data + r * grid.a.pitch);
    auto* out = reinterpret_cast<To*>(grid.dst.data + r * grid.dst.pitch);
    for (int64_t c = 0; c < grid.cols; ++c) {
      const From value = in[c];
      const bool above = std::cmp_greater(value, Limits::max());
      const bool below = std::cmp_less(value, Limits::min());
      const To saturated = above ? Limits::max() : below ? Limits::min() : static_cast<To>(value);
      out[c] = wrap ? static_cast<To>(value) : saturated;
    }
  }
}

template <class From>
bool convert_integers_from(DType to, bool wrap, const Grid& grid) {
  switch (to) {
    case DType::I8:
      convert_integers<int8_t, From>(wrap, grid);
      return true;
    case DType::U8:
      convert_integers<uint8_t, From>(wrap, grid);
      return true;
    case DType::I16:
      convert_integers<int16_t, From>(wrap, grid);
      return true;
    case DType::U16:
      convert_integers<uint16_t, From>(wrap, grid);
      return true;
    case DType::I32:
      convert_integers<int32_t, From>(wrap, grid);
      return true;
    case DType::U32:
      convert_integers<uint32_t, From>(wrap, grid);
      return true;
    case DType::I64:
      convert_integers<int64_t, From>(wrap, grid);
      return true;
    case DType::U64:
      convert_integers<uint64_t, From>(wrap, grid);
      return true;
    default:
      return false;
  }
}

bool convert_integer_rows(DType to, DType from, const Grid& grid) {
  const bool wrap = conversion_wraps(to, from);
  switch (from) {
    case DType::I8:
      return convert_integers_from<int8_t>(to, wrap, grid);
    case DType::U8:
      return convert_integers_from<uint8_t>(to, wrap, grid);
    case DType::I16:
      return convert_integers_from<int16_t>(to, wrap, grid);
    case DType::U16:
      return convert_integers_from<uint16_t>(to, wrap, grid);
    case DType::I32:
      return convert_integers_from<int32_t>(to, wrap, grid);
    case DType::U32:
      return convert_integers_from<uint32_t>(to, wrap, grid);
    case DType::I64:
      return convert_integers_from<int64_t>(to, wrap, grid);
    case DType::U64:
      return convert_integers_from<uint64_t>(to, wrap, grid);
    default:
      return false;
  }
}

}  // namespace

bool conversion_wraps(DType to, DType from) {
  switch (from) {
    case DType::F16:
      return to == DType::U8 || to == DType::I8 || to == DType::I16;
    case DType::F32:
      return to == DType::I16;
    case DType::I64:
      return to == DType::I32;
    case DType::I32:
      return to == DType::I16;
    default:
      return false;
  }
}

void convert_rows(DType to, DType from, isa::Round round, const Grid& grid) {
  if (convert_kernel(to, from, round, grid) || convert_integer_rows(to, from, grid)) {
    return;
  }
  for (int64_t r = 0; r < grid.rows; ++r) {
    for (int64_t c = 0; c < grid.cols; ++c) {
      is_float(from) ? convert_from_float(to, from, round, grid, r, c) : convert_from_int(to, from, round, grid, r, c);
    }
  }
}

void exec_TCvt(const Args& args) {
  const TileView& dst = args.tiles[0];
  const TileView& src = args.tiles[1];
  const Valid domain = clamp(clamp(dst.valid, dst.desc), src.desc);
  Plane planes[] = {plane_of(dst), plane_of(src)};
  for_grid(domain, planes, [&](const Grid& grid) { convert_rows(dst.desc.dtype, src.desc.dtype, args.round, grid); });
}

}  // namespace pto::sem
