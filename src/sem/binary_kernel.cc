// Elementwise operations on two operands.
#include "src/sem/kernels.h"
#include "src/sem/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/sem/binary_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/sem/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace {

template <class C, class F>
void binary_rows(const Grid& grid, F f) {
  const size_t n = lanes<C>();
  const auto cols = static_cast<size_t>(grid.cols);
  RowReader<C> a;
  RowReader<C> b;
  for (int64_t r = 0; r < grid.rows; ++r) {
    a.begin(grid.a, r);
    b.begin(grid.b, r);
    auto* out = mutable_row_of<C>(grid.dst, r);
    size_t c = 0;
    for (; c + n <= cols; c += n) {
      C::store(f(a.load(c), b.load(c)), out + c);
    }
    if (c < cols) {
      const auto left = a.load_tail(c, cols - c);
      const auto right = b.load_tail(c, cols - c);
      store_tail<C>(f(left, right), out + c, cols - c);
    }
  }
}

struct FloatAdd {
  HWY_INLINE VF operator()(VF a, VF b) const { return quiet(hn::Add(a, b)); }
};
struct FloatSub {
  HWY_INLINE VF operator()(VF a, VF b) const { return quiet(hn::Sub(a, b)); }
};
struct FloatMul {
  HWY_INLINE VF operator()(VF a, VF b) const { return quiet(hn::Mul(a, b)); }
};
struct FloatDiv {
  HWY_INLINE VF operator()(VF a, VF b) const { return quiet(hn::Div(a, b)); }
};
struct FloatMax {
  HWY_INLINE VF operator()(VF a, VF b) const { return float_max(a, b); }
};
struct FloatMin {
  HWY_INLINE VF operator()(VF a, VF b) const { return float_min(a, b); }
};
// The difference is rounded to the element type first: the same bits as tsub and texp.
template <class C>
struct FloatExpDif {
  HWY_INLINE VF operator()(VF a, VF b) const { return exp_f32(C::rounded(quiet(hn::Sub(a, b)))); }
};

template <class C>
void binary_float(BinaryOp op, const Grid& grid) {
  switch (op) {
    case BinaryOp::Add:
      return binary_rows<C>(grid, FloatAdd());
    case BinaryOp::Sub:
      return binary_rows<C>(grid, FloatSub());
    case BinaryOp::Mul:
      return binary_rows<C>(grid, FloatMul());
    case BinaryOp::Div:
      return binary_rows<C>(grid, FloatDiv());
    case BinaryOp::Max:
      return binary_rows<C>(grid, FloatMax());
    case BinaryOp::Min:
      return binary_rows<C>(grid, FloatMin());
    case BinaryOp::ExpDif:
      return binary_rows<C>(grid, FloatExpDif<C>());
  }
}

// Integers wrap modulo 2^bits, whatever their sign.
struct IntAdd {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Add(a, b);
  }
};
struct IntSub {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Sub(a, b);
  }
};
struct IntMul {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Mul(a, b);
  }
};
struct IntMax {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Max(a, b);
  }
};
struct IntMin {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return hn::Min(a, b);
  }
};

// Truncates toward zero. Division by zero gives zero, and the one overflow wraps; neither may trap.
template <class T>
T divide(T a, T b) {
  if (b == 0) {
    return 0;
  }
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) {
      return static_cast<T>(std::make_unsigned_t<T>(0) - static_cast<std::make_unsigned_t<T>>(a));
    }
  }
  return static_cast<T>(a / b);
}

template <class T>
T multiply(T a, T b) {
  return static_cast<T>(a * b);
}

// What vectors have no instruction for: division, and products of bytes.
template <class T, T (*F)(T, T)>
void scalar_rows(const Grid& grid) {
  for (int64_t r = 0; r < grid.rows; ++r) {
    const T* a = row_of<Codec<T>>(grid.a, r);
    const T* b = row_of<Codec<T>>(grid.b, r);
    T* out = mutable_row_of<Codec<T>>(grid.dst, r);
    for (int64_t c = 0; c < grid.cols; ++c) {
      out[c] = F(a[grid.a.splat ? 0 : c], b[grid.b.splat ? 0 : c]);
    }
  }
}

template <class T>
void multiply_rows(const Grid& grid) {
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) == 1) {
    scalar_rows<U, multiply<U>>(grid);
  } else {
    binary_rows<Codec<U>>(grid, IntMul());
  }
}

template <class T>
void binary_int(BinaryOp op, const Grid& grid) {
  using U = Codec<std::make_unsigned_t<T>>;
  switch (op) {
    case BinaryOp::Add:
      return binary_rows<U>(grid, IntAdd());
    case BinaryOp::Sub:
      return binary_rows<U>(grid, IntSub());
    case BinaryOp::Mul:
      return multiply_rows<T>(grid);
    case BinaryOp::Div:
      return scalar_rows<T, divide<T>>(grid);
    case BinaryOp::Max:
      return binary_rows<Codec<T>>(grid, IntMax());
    case BinaryOp::Min:
      return binary_rows<Codec<T>>(grid, IntMin());
    case BinaryOp::ExpDif:
      return;
  }
}

}  // namespace

void Binary(BinaryOp op, DType type, const Grid& grid) {
  switch (type) {
    case DType::F32:
      return binary_float<F32>(op, grid);
    case DType::F16:
      return binary_float<F16>(op, grid);
    case DType::BF16:
      return binary_float<BF16>(op, grid);
    case DType::I8:
      return binary_int<int8_t>(op, grid);
    case DType::U8:
      return binary_int<uint8_t>(op, grid);
    case DType::I16:
      return binary_int<int16_t>(op, grid);
    case DType::U16:
      return binary_int<uint16_t>(op, grid);
    case DType::I32:
      return binary_int<int32_t>(op, grid);
    case DType::U32:
      return binary_int<uint32_t>(op, grid);
    case DType::I64:
      return binary_int<int64_t>(op, grid);
    case DType::U64:
      return binary_int<uint64_t>(op, grid);
    default:
      return;
  }
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pto::sem {
HWY_EXPORT(Binary);
void binary_kernel(BinaryOp op, DType type, const Grid& grid) {
  HWY_DYNAMIC_DISPATCH(Binary)(op, type, grid);
}
}  // namespace pto::sem
#endif
