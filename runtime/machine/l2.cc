#include "runtime/machine/l2.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace pto::runtime {
namespace {

constexpr int64_t kMostLines = int64_t{1} << 22;
constexpr int64_t kMostSeen = int64_t{1} << 14;
constexpr int64_t kFewRows = 4;  // rather walk than look them up

}  // namespace

L2::L2(int64_t capacity, int64_t footprint) {
  enabled_ = capacity > 0;
  if (!enabled_) {
    return;
  }
  everything_fits_ = footprint <= capacity;
  while ((footprint >> line_shift_) + 1 > kMostLines) {
    ++line_shift_;
  }
  lines_ = std::clamp<int64_t>(capacity >> line_shift_, 1, std::numeric_limits<uint32_t>::max() / 2);
  stamps_.assign(static_cast<size_t>((footprint >> line_shift_) + 1), 0);
  seen_.resize(std::bit_ceil(static_cast<size_t>(std::clamp<int64_t>(footprint >> 12, 1, kMostSeen))));
}

L2::Seen& L2::seen(int64_t address) {
  const uint64_t hash = static_cast<uint64_t>(address) * 0x9E3779B97F4A7C15U;  // 2^64 over the golden ratio
  return seen_[(hash >> 32) & (seen_.size() - 1)];
}

int64_t L2::read(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes) {
  return enabled_ ? touch(address, rows, stride, row_bytes) : rows * row_bytes;
}

int64_t L2::write(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes) {
  if (!enabled_) {
    return rows * row_bytes;
  }
  const int64_t missed = touch(address, rows, stride, row_bytes);
  return everything_fits_ ? 0 : missed;
}

int64_t L2::touch(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes) {
  if (rows <= 0 || row_bytes <= 0) {
    return 0;
  }
  if (stride == row_bytes) {
    row_bytes *= rows;
    rows = 1;
  }
  Seen* place = nullptr;
  if (rows >= kFewRows) {
    place = &seen(address);
    if (place->address == address && place->rows == rows && place->stride == stride && place->row_bytes == row_bytes &&
        is_in(place->oldest, clock_)) {
      return 0;
    }
  }
  const uint32_t before = make_room(rows * ((row_bytes >> line_shift_) + 2));
  const uint32_t oldest = walk(address, rows, stride, row_bytes);
  if (place != nullptr) {
    *place = {address, rows, stride, row_bytes, oldest};
  }
  return static_cast<int64_t>(clock_ - before) << line_shift_;
}

// Brings in the lines that miss. The stamp of the oldest line of all.
uint32_t L2::walk(int64_t address, int64_t rows, int64_t stride, int64_t row_bytes) {
  uint32_t clock = clock_;
  uint32_t oldest = std::numeric_limits<uint32_t>::max();
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t begin = address + row * stride;
    const int64_t last = (begin + row_bytes - 1) >> line_shift_;
    for (int64_t line = begin >> line_shift_; line <= last; ++line) {
      uint32_t& stamp = stamps_[static_cast<size_t>(line)];
      if (!is_in(stamp, clock)) {
        stamp = ++clock;
      }
      oldest = std::min(oldest, stamp);
    }
  }
  clock_ = clock;
  return oldest;
}

// The clock, with room for that many lines before it wraps.
uint32_t L2::make_room(int64_t lines) {
  if (lines > std::numeric_limits<uint32_t>::max() - static_cast<int64_t>(clock_)) {
    renumber();
  }
  return clock_;
}

// The clock starts again with only the lines that are in the cache.
void L2::renumber() {
  const auto kept = static_cast<uint32_t>(lines_);
  for (uint32_t& stamp : stamps_) {
    stamp = clock_ - stamp < kept && stamp != 0 ? kept - (clock_ - stamp) : 0;
  }
  clock_ = kept;
  std::fill(seen_.begin(), seen_.end(), Seen());
}

}  // namespace pto::runtime
