// Elementwise operations on one operand.
#include "src/sem/kernels.h"
#include "src/sem/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/sem/unary_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/sem/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace {

template <class C, class F>
void unary_rows(const Grid& grid, F f) {
  const size_t n = lanes<C>();
  const auto cols = static_cast<size_t>(grid.cols);
  RowReader<C> a;
  for (int64_t r = 0; r < grid.rows; ++r) {
    a.begin(grid.a, r);
    auto* out = mutable_row_of<C>(grid.dst, r);
    size_t c = 0;
    for (; c + n <= cols; c += n) {
      C::store(f(a.load(c)), out + c);
    }
    if (c < cols) {
      store_tail<C>(f(a.load_tail(c, cols - c)), out + c, cols - c);
    }
  }
}

struct Exp {
  HWY_INLINE VF operator()(VF v) const { return exp_f32(v); }
};
struct Log {
  HWY_INLINE VF operator()(VF v) const { return log_f32(v); }
};
struct Sqrt {
  HWY_INLINE VF operator()(VF v) const { return quiet(hn::Sqrt(v)); }
};
// A square root, then a quotient, each rounded to f32.
struct Rsqrt {
  HWY_INLINE VF operator()(VF v) const { return quiet(hn::Div(hn::Set(DF(), 1.0f), hn::Sqrt(v))); }
};
struct Recip {
  HWY_INLINE VF operator()(VF v) const { return quiet(hn::Div(hn::Set(DF(), 1.0f), v)); }
};
// The maximum with +0, so -0 becomes +0 and NaN stays NaN.
struct Relu {
  HWY_INLINE VF operator()(VF v) const { return float_max(v, hn::Zero(DF())); }
};

// The sign bit of a float, whatever the rest: also of NaN.
struct ClearSign {
  template <class V>
  HWY_INLINE V operator()(V v) const {
    return hn::ShiftRight<1>(hn::ShiftLeft<1>(v));
  }
};
struct FlipSign {
  template <class V>
  HWY_INLINE V operator()(V v) const {
    const hn::DFromV<V> d;
    using T = hn::TFromV<V>;
    return hn::Xor(v, hn::Set(d, static_cast<T>(T{1} << (sizeof(T) * 8 - 1))));
  }
};

template <class C>
void unary_float(UnaryOp op, const Grid& grid) {
  using Bits = std::conditional_t<sizeof(typename C::Element) == 4, uint32_t, uint16_t>;
  switch (op) {
    case UnaryOp::Abs:
      return unary_rows<Codec<Bits>>(grid, ClearSign());
    case UnaryOp::Neg:
      return unary_rows<Codec<Bits>>(grid, FlipSign());
    case UnaryOp::Exp:
      return unary_rows<C>(grid, Exp());
    case UnaryOp::Log:
      return unary_rows<C>(grid, Log());
    case UnaryOp::Sqrt:
      return unary_rows<C>(grid, Sqrt());
    case UnaryOp::Rsqrt:
      return unary_rows<C>(grid, Rsqrt());
    case UnaryOp::Recip:
      return unary_rows<C>(grid, Recip());
    case UnaryOp::Relu:
      return unary_rows<C>(grid, Relu());
  }
}

// Integers wrap: the absolute value and the negation of the smallest one are itself.
struct IntNeg {
  template <class V>
  HWY_INLINE V operator()(V v) const {
    return hn::Sub(hn::Zero(hn::DFromV<V>()), v);
  }
};
struct IntAbs {
  template <class V>
  HWY_INLINE V operator()(V v) const {
    const auto zero = hn::Zero(hn::DFromV<V>());
    return hn::IfThenElse(hn::Lt(v, zero), hn::Sub(zero, v), v);
  }
};
struct IntRelu {
  template <class V>
  HWY_INLINE V operator()(V v) const {
    return hn::Max(v, hn::Zero(hn::DFromV<V>()));
  }
};

template <class T>
void unary_int(UnaryOp op, const Grid& grid) {
  switch (op) {
    case UnaryOp::Abs:
      return unary_rows<Codec<T>>(grid, IntAbs());
    case UnaryOp::Neg:
      return unary_rows<Codec<T>>(grid, IntNeg());
    case UnaryOp::Relu:
      return unary_rows<Codec<T>>(grid, IntRelu());
    default:
      return;
  }
}

}  // namespace

void Unary(UnaryOp op, DType type, const Grid& grid) {
  switch (type) {
    case DType::F32:
      return unary_float<F32>(op, grid);
    case DType::F16:
      return unary_float<F16>(op, grid);
    case DType::BF16:
      return unary_float<BF16>(op, grid);
    case DType::I8:
      return unary_int<int8_t>(op, grid);
    case DType::U8:
      return unary_int<uint8_t>(op, grid);
    case DType::I16:
      return unary_int<int16_t>(op, grid);
    case DType::U16:
      return unary_int<uint16_t>(op, grid);
    case DType::I32:
      return unary_int<int32_t>(op, grid);
    case DType::U32:
      return unary_int<uint32_t>(op, grid);
    case DType::I64:
      return unary_int<int64_t>(op, grid);
    case DType::U64:
      return unary_int<uint64_t>(op, grid);
    default:
      return;
  }
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pto::sem {
HWY_EXPORT(Unary);
void unary_kernel(UnaryOp op, DType type, const Grid& grid) {
  HWY_DYNAMIC_DISPATCH(Unary)(op, type, grid);
}
}  // namespace pto::sem
#endif
