// Conversions between f32, f16, bf16 and integers of up to 32 bits.
#include "src/sem/kernels.h"
#include "src/sem/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/sem/convert_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/sem/convert_rows.h"
#include "src/sem/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace {

using VI = hn::Vec<DI>;

// f(source vector) gives a vector of as many elements of To's type.
template <class To, class From, class F>
void convert_rows_with(const Grid& grid, F f) {
  const size_t n = hn::Lanes(DF());
  const auto cols = static_cast<size_t>(grid.cols);
  RowReader<From> a;
  for (int64_t r = 0; r < grid.rows; ++r) {
    a.begin(grid.a, r);
    auto* out = mutable_row_of<To>(grid.dst, r);
    size_t c = 0;
    for (; c + n <= cols; c += n) {
      To::store(f(a.load(c)), out + c);
    }
    if (c < cols) {
      store_tail<To>(f(a.load_tail(c, cols - c)), out + c, cols - c);
    }
  }
}

struct Quiet {
  HWY_INLINE VF operator()(VF v) const { return quiet(v); }
};

// Rounding to integral values. From 2^23 on every float is one, which the vector operations know.
HWY_INLINE VF round_away(VF v) {
  const DF d;
  const VF whole = hn::Trunc(v);
  const VF one = hn::CopySign(hn::Set(d, 1.0f), v);
  return hn::IfThenElse(hn::Ge(hn::Abs(hn::Sub(v, whole)), hn::Set(d, 0.5f)), hn::Add(whole, one), whole);
}
HWY_INLINE VF round_odd(VF v) {
  const DF d;
  const VF whole = hn::Trunc(v);
  const VF half = hn::Mul(whole, hn::Set(d, 0.5f));
  const auto jam = hn::And(hn::Not(hn::Eq(v, whole)), hn::Eq(half, hn::Trunc(half)));
  return hn::IfThenElse(jam, hn::Add(whole, hn::CopySign(hn::Set(d, 1.0f), v)), whole);
}
HWY_INLINE VF round_mode(VF v, isa::Round round) {
  switch (round) {
    case isa::Round::None:
    case isa::Round::Rint:
      return hn::Round(v);
    case isa::Round::Round:
      return round_away(v);
    case isa::Round::Floor:
      return hn::Floor(v);
    case isa::Round::Ceil:
      return hn::Ceil(v);
    case isa::Round::Trunc:
      return hn::Trunc(v);
    case isa::Round::Odd:
      return round_odd(v);
  }
  return v;
}

// Of an integral float. NaN gives 0, what is out of range the nearest limit.
HWY_INLINE VI saturate_i32(VF v) {
  const DF d;
  const DI di;
  const VF limit = hn::Set(d, 0x1p31f);
  const VF number = hn::Max(hn::IfThenElseZero(hn::Eq(v, v), v), hn::Neg(limit));
  const auto above = hn::Ge(number, limit);
  const VI converted = hn::ConvertTo(di, hn::IfThenZeroElse(above, number));
  return hn::IfThenElse(hn::RebindMask(di, above), hn::Set(di, 0x7FFFFFFF), converted);
}

// Of an integral float modulo 2^16, with the sign of the float; the remainder is exact. Infinity and NaN give 0.
HWY_INLINE VI wrap_16(VF v) {
  const DF d;
  const VF multiple = hn::Mul(hn::Trunc(hn::Mul(v, hn::Set(d, 0x1p-16f))), hn::Set(d, 0x1p16f));
  return saturate_i32(hn::Sub(v, multiple));
}

struct ToInteger {
  isa::Round round;
  HWY_INLINE VI operator()(VF v) const { return saturate_i32(round_mode(v, round)); }
};
struct ToInteger16Wrapped {
  isa::Round round;
  HWY_INLINE VI operator()(VF v) const { return wrap_16(round_mode(v, round)); }
};

// Integers of at most 32 bits as vectors of i32, saturated or wrapped when stored.
struct I32 {
  using Element = int32_t;
  using D = DI;
  using V = VI;
  static HWY_INLINE V load(const int32_t* p) { return hn::LoadU(DI(), p); }
  static HWY_INLINE void store(V v, int32_t* p) { hn::StoreU(v, DI(), p); }
};
template <class T>
struct Small {
  using Element = T;
  using D = DI;
  using V = VI;
  using DT = hn::Rebind<T, DI>;
  static HWY_INLINE V load(const T* p) { return hn::PromoteTo(DI(), hn::LoadU(DT(), p)); }
  static HWY_INLINE void store(V v, T* p) { hn::StoreU(hn::DemoteTo(DT(), v), DT(), p); }
};
template <class T>
struct Wrapped : Small<T> {
  using DT = hn::Rebind<std::make_unsigned_t<T>, DI>;
  static HWY_INLINE void store(VI v, T* p) {
    const VI low = hn::And(v, hn::Set(DI(), sizeof(T) == 1 ? 0xFF : 0xFFFF));
    hn::StoreU(hn::DemoteTo(DT(), low), DT(), reinterpret_cast<std::make_unsigned_t<T>*>(p));
  }
};

template <class From>
bool from_float(DType to, DType from, isa::Round round, const Grid& grid) {
  const ToInteger saturated{round};
  const ToInteger16Wrapped wrapped{round};
  const bool wraps = conversion_wraps(to, from);
  const bool nearest = round == isa::Round::Rint || round == isa::Round::None;
  switch (to) {
    case DType::F32:
      convert_rows_with<F32, From>(grid, Quiet());
      return true;
    case DType::F16:
      return nearest && (convert_rows_with<F16, From>(grid, Quiet()), true);
    case DType::BF16:
      return nearest && (convert_rows_with<BF16, From>(grid, Quiet()), true);
    case DType::I32:
      convert_rows_with<I32, From>(grid, saturated);
      return true;
    case DType::U16:
      convert_rows_with<Small<uint16_t>, From>(grid, saturated);
      return true;
    case DType::I16:
      wraps ? convert_rows_with<Wrapped<int16_t>, From>(grid, wrapped)
            : convert_rows_with<Small<int16_t>, From>(grid, saturated);
      return true;
    case DType::I8:
      wraps ? convert_rows_with<Wrapped<int8_t>, From>(grid, wrapped)
            : convert_rows_with<Small<int8_t>, From>(grid, saturated);
      return true;
    case DType::U8:
      wraps ? convert_rows_with<Wrapped<uint8_t>, From>(grid, wrapped)
            : convert_rows_with<Small<uint8_t>, From>(grid, saturated);
      return true;
    default:
      return false;
  }
}

// Through f32. To f16 that is one rounding: integers that f32 has not are beyond the range of f16.
struct FromInteger {
  HWY_INLINE VF operator()(VI v) const { return hn::ConvertTo(DF(), v); }
};

template <class From>
bool from_integer(DType to, isa::Round round, const Grid& grid) {
  if (round != isa::Round::Rint && round != isa::Round::None) {
    return false;
  }
  switch (to) {
    case DType::F32:
      convert_rows_with<F32, From>(grid, FromInteger());
      return true;
    case DType::F16:
      convert_rows_with<F16, From>(grid, FromInteger());
      return true;
    default:
      return false;
  }
}

}  // namespace

bool Convert(DType to, DType from, isa::Round round, const Grid& grid) {
  switch (from) {
    case DType::F32:
      return from_float<F32>(to, from, round, grid);
    case DType::F16:
      return from_float<F16>(to, from, round, grid);
    case DType::BF16:
      return from_float<BF16>(to, from, round, grid);
    case DType::I8:
      return from_integer<Small<int8_t>>(to, round, grid);
    case DType::U8:
      return from_integer<Small<uint8_t>>(to, round, grid);
    case DType::I16:
      return from_integer<Small<int16_t>>(to, round, grid);
    case DType::U16:
      return from_integer<Small<uint16_t>>(to, round, grid);
    case DType::I32:
      return from_integer<I32>(to, round, grid);
    default:
      return false;
  }
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pto::sem {
HWY_EXPORT(Convert);
bool convert_kernel(DType to, DType from, isa::Round round, const Grid& grid) {
  return HWY_DYNAMIC_DISPATCH(Convert)(to, from, round, grid);
}
}  // namespace pto::sem
#endif
