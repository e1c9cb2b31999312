// Reductions of rows and of columns.
//
// The sum of a row of floats has one order at every SIMD level: sixteen partial sums in f32 that start from +0, where
// partial sum j takes the columns j, j + 16, j + 32 and so on; then halves are added to halves: j and j + 8, j and j +
// 4, j and j + 2, 0 and 1. The sum of a column of floats starts from +0 in f32 and takes the rows in ascending order.
// Both are rounded once, to the destination's element type. Sums of integers wrap. Maxima and minima don't depend on
// the order: any NaN gives NaN, and -0 is less than +0. Of nothing, the sum is +0, the maximum -infinity or the
// smallest integer, the minimum the reverse.
#include <cmath>
#include <limits>

#include "src/sem/kernels.h"
#include "src/sem/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/sem/reduce_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/sem/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace {

constexpr size_t kPartials = 16;

template <class C>
struct Sum {
  using V = typename C::V;
  static HWY_INLINE V start() { return hn::Zero(typename C::D()); }
  static HWY_INLINE V combine(V a, V b) { return hn::Add(a, b); }
};

template <class C, bool kMax>
struct Extreme {
  using V = typename C::V;
  using T = hn::TFromV<V>;
  static constexpr T kStart = C::kFloat
                                  ? (kMax ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::infinity())
                                  : (kMax ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
  static HWY_INLINE V start() { return hn::Set(typename C::D(), kStart); }
  static HWY_INLINE V combine(V a, V b) {
    if constexpr (C::kFloat) {
      return kMax ? float_max(a, b) : float_min(a, b);
    } else {
      return kMax ? hn::Max(a, b) : hn::Min(a, b);
    }
  }
};

// kVectors vectors hold the partial results of consecutive columns, so that the order is that of kVectors * Lanes
// lanes.
template <class C, class Op, size_t kVectors>
struct Partials {
  using V = typename C::V;
  using E = typename C::Element;
  using T = hn::TFromV<V>;
  static constexpr size_t kLanes = kVectors * kMaxLanes<C>;

  static HWY_INLINE void reduce_row(const E* in, size_t cols, T* partial) {
    const size_t n = lanes<C>();
    V sums[kVectors];
    for (V& sum : sums) {
      sum = Op::start();
    }
    size_t c = 0;
    for (; c + kLanes <= cols; c += kLanes) {
      for (size_t v = 0; v < kVectors; ++v) {
        sums[v] = Op::combine(sums[v], C::load(in + c + v * n));
      }
    }
    for (size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(sums[v], typename C::D(), partial + v * n);
    }
    if (c < cols) {
      combine_tail(in + c, cols - c, partial);
    }
  }

  // The lanes of the columns that are left; the others keep what they have.
  static HWY_INLINE void combine_tail(const E* in, size_t count, T* partial) {
    const size_t n = lanes<C>();
    HWY_ALIGN E rest[kLanes] = {};
    HWY_ALIGN T combined[kLanes];
    std::memcpy(rest, in, count * sizeof(E));
    for (size_t v = 0; v < kVectors; ++v) {
      const V old = hn::LoadU(typename C::D(), partial + v * n);
      hn::StoreU(Op::combine(old, C::load(rest + v * n)), typename C::D(), combined + v * n);
    }
    std::memcpy(partial, combined, count * sizeof(T));
  }
};

template <class T>
HWY_INLINE T scalar_add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  }
}

// Halves the partial results until one is left: j with j + half.
template <class C, class Op>
struct Tree;
template <class C>
struct Tree<C, Sum<C>> {
  using T = hn::TFromV<typename C::V>;
  static HWY_INLINE void halve(T* partial, size_t half) {
    for (size_t j = 0; j < half; ++j) {
      partial[j] = scalar_add(partial[j], partial[j + half]);
    }
  }
};
template <class C, bool kMax>
struct Tree<C, Extreme<C, kMax>> {
  using T = hn::TFromV<typename C::V>;
  static HWY_INLINE void halve(T* partial, size_t half) {
    for (size_t j = 0; j < half; ++j) {
      partial[j] = pick(partial[j], partial[j + half]);
    }
  }
  static HWY_INLINE T pick(T a, T b) {
    if constexpr (C::kFloat) {
      if (a != a || b != b) {
        return std::numeric_limits<T>::quiet_NaN();
      }
      if (a == b) {  // zeros of both signs
        return (kMax ? std::signbit(a) : !std::signbit(a)) ? b : a;
      }
    }
    return (kMax ? a > b : a < b) ? a : b;
  }
};

template <class C, class Op>
void row_reduce(const Grid& grid, std::byte* results) {
  using T = hn::TFromV<typename C::V>;
  constexpr size_t kVectors = HWY_MAX(size_t{1}, kPartials / kMaxLanes<C>);
  using P = Partials<C, Op, kVectors>;
  HWY_ALIGN T partial[P::kLanes];
  for (int64_t r = 0; r < grid.rows; ++r) {
    P::reduce_row(row_of<C>(grid.a, r), static_cast<size_t>(grid.cols), partial);
    for (size_t half = P::kLanes / 2; half > 0; half /= 2) {
      Tree<C, Op>::halve(partial, half);
    }
    if constexpr (C::kFloat) {
      partial[0] = partial[0] != partial[0] ? std::numeric_limits<T>::quiet_NaN() : partial[0];
    }
    std::memcpy(results + r * static_cast<int64_t>(sizeof(T)), partial, sizeof(T));
  }
}

// A strip of kVectors vectors of columns at a time, from the first row to the last.
template <class C, class Op>
void col_reduce(const Grid& grid) {
  using V = typename C::V;
  using E = typename C::Element;
  constexpr size_t kVectors = 4;
  const size_t n = lanes<C>();
  const auto cols = static_cast<size_t>(grid.cols);
  auto* out = reinterpret_cast<hn::TFromV<V>*>(grid.dst.data);
  size_t c = 0;
  for (; c + kVectors * n <= cols; c += kVectors * n) {
    V sums[kVectors];
    for (V& sum : sums) {
      sum = Op::start();
    }
    for (int64_t r = 0; r < grid.rows; ++r) {
      const E* in = row_of<C>(grid.a, r) + c;
      for (size_t v = 0; v < kVectors; ++v) {
        sums[v] = Op::combine(sums[v], C::load(in + v * n));
      }
    }
    for (size_t v = 0; v < kVectors; ++v) {
      if constexpr (C::kFloat) {
        sums[v] = quiet(sums[v]);
      }
      hn::StoreU(sums[v], typename C::D(), out + c + v * n);
    }
  }
  RowReader<C> reader;
  for (; c < cols; c += n) {
    const size_t count = HWY_MIN(n, cols - c);
    V sum = Op::start();
    for (int64_t r = 0; r < grid.rows; ++r) {
      reader.begin(grid.a, r);
      sum = Op::combine(sum, count == n ? reader.load(c) : reader.load_tail(c, count));
    }
    if constexpr (C::kFloat) {
      sum = quiet(sum);
    }
    HWY_ALIGN hn::TFromV<V> tail[kMaxLanes<C>];
    hn::StoreU(sum, typename C::D(), tail);
    std::memcpy(out + c, tail, count * sizeof(tail[0]));
  }
}

template <class C>
void row_reduce_op(ReduceOp op, const Grid& grid, std::byte* results) {
  switch (op) {
    case ReduceOp::Sum:
      return row_reduce<C, Sum<C>>(grid, results);
    case ReduceOp::Max:
      return row_reduce<C, Extreme<C, true>>(grid, results);
    case ReduceOp::Min:
      return row_reduce<C, Extreme<C, false>>(grid, results);
  }
}

template <class C>
void col_reduce_op(ReduceOp op, const Grid& grid) {
  switch (op) {
    case ReduceOp::Sum:
      return col_reduce<C, Sum<C>>(grid);
    case ReduceOp::Max:
      return col_reduce<C, Extreme<C, true>>(grid);
    case ReduceOp::Min:
      return col_reduce<C, Extreme<C, false>>(grid);
  }
}

}  // namespace

void RowReduce(ReduceOp op, DType type, const Grid& grid, std::byte* results) {
  switch (type) {
    case DType::F32:
      return row_reduce_op<F32>(op, grid, results);
    case DType::F16:
      return row_reduce_op<F16>(op, grid, results);
    case DType::BF16:
      return row_reduce_op<BF16>(op, grid, results);
    case DType::I8:
      return row_reduce_op<Codec<int8_t>>(op, grid, results);
    case DType::U8:
      return row_reduce_op<Codec<uint8_t>>(op, grid, results);
    case DType::I16:
      return row_reduce_op<Codec<int16_t>>(op, grid, results);
    case DType::U16:
      return row_reduce_op<Codec<uint16_t>>(op, grid, results);
    case DType::I32:
      return row_reduce_op<Codec<int32_t>>(op, grid, results);
    case DType::U32:
      return row_reduce_op<Codec<uint32_t>>(op, grid, results);
    case DType::I64:
      return row_reduce_op<Codec<int64_t>>(op, grid, results);
    case DType::U64:
      return row_reduce_op<Codec<uint64_t>>(op, grid, results);
    default:
      return;
  }
}

void ColReduce(ReduceOp op, DType type, const Grid& grid) {
  switch (type) {
    case DType::F32:
      return col_reduce_op<F32>(op, grid);
    case DType::F16:
      return col_reduce_op<F16>(op, grid);
    case DType::BF16:
      return col_reduce_op<BF16>(op, grid);
    case DType::I8:
      return col_reduce_op<Codec<int8_t>>(op, grid);
    case DType::U8:
      return col_reduce_op<Codec<uint8_t>>(op, grid);
    case DType::I16:
      return col_reduce_op<Codec<int16_t>>(op, grid);
    case DType::U16:
      return col_reduce_op<Codec<uint16_t>>(op, grid);
    case DType::I32:
      return col_reduce_op<Codec<int32_t>>(op, grid);
    case DType::U32:
      return col_reduce_op<Codec<uint32_t>>(op, grid);
    case DType::I64:
      return col_reduce_op<Codec<int64_t>>(op, grid);
    case DType::U64:
      return col_reduce_op<Codec<uint64_t>>(op, grid);
    default:
      return;
  }
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pto::sem {
HWY_EXPORT(RowReduce);
HWY_EXPORT(ColReduce);
void row_reduce_kernel(ReduceOp op, DType type, const Grid& grid, std::byte* results) {
  HWY_DYNAMIC_DISPATCH(RowReduce)(op, type, grid, results);
}
void col_reduce_kernel(ReduceOp op, DType type, const Grid& grid) {
  HWY_DYNAMIC_DISPATCH(ColReduce)(op, type, grid);
}
}  // namespace pto::sem
#endif
