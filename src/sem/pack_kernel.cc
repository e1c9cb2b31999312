// Transposition of blocks, and the packing of matrix operands that is made of it.
#include "src/sem/kernels.h"
#include "src/sem/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/sem/pack_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/sem/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE void transpose_scalar(T* dst, int64_t dst_pitch, const T* src, int64_t src_pitch, int64_t rows,
                                 int64_t cols) {
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) {
      dst[c * dst_pitch + r] = src[r * src_pitch + c];
    }
  }
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
inline constexpr int64_t kTile = 1;
template <class T>
HWY_INLINE void transpose_tile(T* dst, int64_t, const T* src, int64_t) {
  *dst = *src;
}
#else
// A square of as many elements as 16 bytes hold.
template <class T>
inline constexpr int64_t kTile = 16 / sizeof(T);

// One step interleaves row i with row i + n / 2. It moves the highest bit of an element's row number to the bottom of
// its column number; after log2(n) of them rows and columns have changed places.
template <class V, size_t n>
HWY_INLINE void interleave_step(V (&rows)[n]) {
  V mixed[n];
  const hn::DFromV<V> d;
  HWY_UNROLL(16)
  for (size_t i = 0; i < n / 2; ++i) {
    mixed[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + n / 2]);
    mixed[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + n / 2]);
  }
  HWY_UNROLL(16)
  for (size_t i = 0; i < n; ++i) {
    rows[i] = mixed[i];
  }
}

template <class T>
HWY_INLINE void transpose_tile(T* dst, int64_t dst_pitch, const T* src, int64_t src_pitch) {
  constexpr size_t n = kTile<T>;
  const hn::FixedTag<T, n> d;
  hn::Vec<decltype(d)> rows[n];
  HWY_UNROLL(16)
  for (size_t i = 0; i < n; ++i) {
    rows[i] = hn::LoadU(d, src + static_cast<int64_t>(i) * src_pitch);
  }
  interleave_step(rows);
  if constexpr (n >= 4) {
    interleave_step(rows);
  }
  if constexpr (n >= 8) {
    interleave_step(rows);
  }
  if constexpr (n >= 16) {
    interleave_step(rows);
  }
  HWY_UNROLL(16)
  for (size_t i = 0; i < n; ++i) {
    hn::StoreU(rows[i], d, dst + static_cast<int64_t>(i) * dst_pitch);
  }
}
#endif

template <class T>
void transpose(std::byte* dst_bytes, int64_t dst_pitch, const std::byte* src_bytes, int64_t src_pitch, int64_t rows,
               int64_t cols) {
  auto* dst = reinterpret_cast<T*>(dst_bytes);
  const auto* src = reinterpret_cast<const T*>(src_bytes);
  const int64_t whole_rows = rows / kTile<T> * kTile<T>;
  const int64_t whole_cols = cols / kTile<T> * kTile<T>;
  for (int64_t r = 0; r < whole_rows; r += kTile<T>) {
    for (int64_t c = 0; c < whole_cols; c += kTile<T>) {
      transpose_tile(dst + c * dst_pitch + r, dst_pitch, src + r * src_pitch + c, src_pitch);
    }
  }
  transpose_scalar(dst + whole_cols * dst_pitch, dst_pitch, src + whole_cols, src_pitch, whole_rows, cols - whole_cols);
  transpose_scalar(dst + whole_rows, dst_pitch, src + whole_rows * src_pitch, src_pitch, rows - whole_rows, cols);
}

constexpr int64_t kBoxBytes = 512;  // 16 rows of 32 bytes

// A box with its rows and columns exchanged: for each k the elements of the 16 rows.
template <class T>
HWY_INLINE void turn_box(T* turned, const std::byte* box) {
  constexpr int64_t kInner = 32 / sizeof(T);
  const auto* src = reinterpret_cast<const T*>(box);
  for (int64_t r = 0; r < kPanel; r += kTile<T>) {
    for (int64_t c = 0; c < kInner; c += kTile<T>) {
      transpose_tile(turned + c * kPanel + r, kPanel, src + r * kInner + c, kInner);
    }
  }
}

// kInner values of k a box; what is behind the last valid one is left out.
template <class C>
void pack_float(float* panel, const std::byte* boxes, int64_t box_stride, int64_t k) {
  using E = typename C::Element;
  constexpr int64_t kInner = 32 / sizeof(E);
  HWY_ALIGN E turned[kBoxBytes / sizeof(E)];
  const auto n = static_cast<int64_t>(hn::Lanes(DF()));
  for (int64_t first = 0; first < k; first += kInner) {
    turn_box(turned, boxes + first / kInner * box_stride);
    const int64_t count = HWY_MIN(kInner, k - first) * kPanel;
    for (int64_t i = 0; i < count; i += n) {
      hn::StoreU(C::load(turned + i), DF(), panel + first * kPanel + i);
    }
  }
}

// Pairs (k, k + 1) of i8, turned as if they were one element, then widened; half a pair is completed with zero.
void pack_i8(int16_t* panel, const std::byte* boxes, int64_t box_stride, int64_t k) {
  constexpr int64_t kPairs = 16;  // a box row
  HWY_ALIGN uint16_t turned[kBoxBytes / 2];
  const int64_t pairs = (k + 1) / 2;
  for (int64_t first = 0; first < pairs; first += kPairs) {
    turn_box(turned, boxes + first / kPairs * box_stride);
    const int64_t count = HWY_MIN(kPairs, pairs - first) * kPanel * 2;
    const auto* bytes = reinterpret_cast<const int8_t*>(turned);
    for (int64_t i = 0; i < count; ++i) {
      panel[first * kPanel * 2 + i] = bytes[i];
    }
  }
  if (k % 2 != 0) {
    for (int64_t i = 0; i < kPanel; ++i) {
      panel[(pairs - 1) * kPanel * 2 + 2 * i + 1] = 0;
    }
  }
}

}  // namespace

ExponentRange FindExponents(const std::byte* panels, int64_t count) {
  const DI di;
  const auto n = static_cast<int64_t>(hn::Lanes(di));
  const auto* bits = reinterpret_cast<const int32_t*>(panels);  // a multiple of 16, so of n
  auto low = hn::Set(di, 0x7F800000);
  auto high = hn::Zero(di);
  for (int64_t i = 0; i < count; i += n) {
    const auto magnitude = hn::And(hn::LoadU(di, bits + i), hn::Set(di, 0x7FFFFFFF));
    const auto is_zero = hn::Eq(magnitude, hn::Zero(di));
    low = hn::Min(low, hn::IfThenElse(is_zero, hn::Set(di, 0x7F800000), magnitude));
    high = hn::Max(high, magnitude);
  }
  const int32_t smallest = hn::GetLane(hn::MinOfLanes(di, low));
  const int32_t largest = hn::GetLane(hn::MaxOfLanes(di, high));
  return {HWY_MAX(smallest >> 23, 1) - 127, HWY_MAX(largest >> 23, 1) - 127};
}

void TransposeBlock(int64_t element_bytes, std::byte* dst, int64_t dst_pitch, const std::byte* src, int64_t src_pitch,
                    int64_t rows, int64_t cols) {
  switch (element_bytes) {
    case 1:
      return transpose<uint8_t>(dst, dst_pitch, src, src_pitch, rows, cols);
    case 2:
      return transpose<uint16_t>(dst, dst_pitch, src, src_pitch, rows, cols);
    case 4:
      return transpose<uint32_t>(dst, dst_pitch, src, src_pitch, rows, cols);
    case 8:
      return transpose<uint64_t>(dst, dst_pitch, src, src_pitch, rows, cols);
    default:
      return;
  }
}

void Pack(DType type, std::byte* panel, const std::byte* boxes, int64_t box_stride, int64_t k) {
  switch (type) {
    case DType::F32:
      return pack_float<F32>(reinterpret_cast<float*>(panel), boxes, box_stride, k);
    case DType::F16:
      return pack_float<F16>(reinterpret_cast<float*>(panel), boxes, box_stride, k);
    case DType::BF16:
      return pack_float<BF16>(reinterpret_cast<float*>(panel), boxes, box_stride, k);
    case DType::I8:
      return pack_i8(reinterpret_cast<int16_t*>(panel), boxes, box_stride, k);
    default:
      return;
  }
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pto::sem {
HWY_EXPORT(TransposeBlock);
HWY_EXPORT(Pack);
HWY_EXPORT(FindExponents);
ExponentRange exponent_range_kernel(const std::byte* panels, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(FindExponents)(panels, count);
}
void transpose_kernel(int64_t element_bytes, std::byte* dst, int64_t dst_pitch, const std::byte* src, int64_t src_pitch,
                      int64_t rows, int64_t cols) {
  HWY_DYNAMIC_DISPATCH(TransposeBlock)(element_bytes, dst, dst_pitch, src, src_pitch, rows, cols);
}
void pack_kernel(DType type, std::byte* panel, const std::byte* boxes, int64_t box_stride, int64_t k) {
  HWY_DYNAMIC_DISPATCH(Pack)(type, panel, boxes, box_stride, k);
}
}  // namespace pto::sem
#endif
