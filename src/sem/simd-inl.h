// Loading, storing and computing with vectors of every element type. Compiled once per SIMD level: included again by
// each kernel file for each Highway target, hence the toggling guard.
#if defined(PTO_SEM_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PTO_SEM_SIMD_INL_H_
#undef PTO_SEM_SIMD_INL_H_
#else
#define PTO_SEM_SIMD_INL_H_
#endif

#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "src/sem/kernels.h"

// F16C comes with AVX2. Its results differ from the integer code below in NaN payloads only, and those are made
// canonical.
#undef PTO_NATIVE_F16
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2 && !defined(HWY_DISABLE_F16C)
#define PTO_NATIVE_F16 1
#else
#define PTO_NATIVE_F16 0
#endif

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;
using DI = hn::RebindToSigned<DF>;
using DU = hn::RebindToUnsigned<DF>;
using VU = hn::Vec<DU>;

inline constexpr uint32_t kQuietNaN = 0x7FC00000U;

// Every NaN becomes the canonical one.
HWY_INLINE VF quiet(VF v) {
  const DF d;
  return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(d, hn::Set(DU(), kQuietNaN)), v);
}

// Any NaN gives NaN; -0 is less than +0; so the order of operands does not matter.
HWY_INLINE VF float_max(VF a, VF b) {
  const VF m = hn::And(hn::Max(a, b), hn::Max(b, a));
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::BitCast(DF(), hn::Set(DU(), kQuietNaN)), m);
}
HWY_INLINE VF float_min(VF a, VF b) {
  const VF m = hn::Or(hn::Min(a, b), hn::Min(b, a));
  return hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::IsNaN(b)), hn::BitCast(DF(), hn::Set(DU(), kQuietNaN)), m);
}

// The low halves of 32-bit lanes.
using DH = hn::Rebind<uint16_t, DF>;
using VH = hn::Vec<DH>;
HWY_INLINE VH narrow(VU v) {
  return hn::DemoteTo(DH(), hn::BitCast(DI(), v));
}

HWY_INLINE VF promote_f16(VH h) {
  const DF d;
#if PTO_NATIVE_F16
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), h));
#else
  const DU du;
  const VU wide = hn::PromoteTo(du, h);
  const VU magnitude = hn::And(wide, hn::Set(du, 0x7FFF));
  const VU sign = hn::ShiftLeft<16>(hn::Xor(wide, magnitude));
  // Exponent and mantissa moved up, then the bias corrected by an exact product; subnormals become normal that way.
  const VF scaled = hn::Mul(hn::BitCast(d, hn::ShiftLeft<13>(magnitude)), hn::Set(d, 0x1p112f));
  const auto special = hn::RebindMask(du, hn::Gt(hn::BitCast(DI(), magnitude), hn::Set(DI(), 0x7BFF)));
  const VU top = hn::IfThenElseZero(special, hn::Set(du, 0x7F800000U));
  return hn::BitCast(d, hn::Or(hn::Or(hn::BitCast(du, scaled), top), sign));
#endif
}

// Round to nearest even; `v` has no NaN but the canonical one.
HWY_INLINE VH demote_f16(VF v) {
#if PTO_NATIVE_F16
  return hn::BitCast(DH(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), v));
#else
  const DF d;
  const DU du;
  const DI di;
  const VU bits = hn::BitCast(du, v);
  const VU magnitude = hn::And(bits, hn::Set(du, 0x7FFFFFFFU));
  const VU sign = hn::ShiftRight<16>(hn::Xor(bits, magnitude));
  const auto compared = hn::BitCast(di, magnitude);
  const VU odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
  const VU normal = hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, hn::Set(du, 0xC8000FFFU))));
  // Below 2^-14: adding one half leaves the rounded multiple of 2^-24 in the low bits.
  const VU shifted = hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5f)));
  const VU small = hn::Sub(shifted, hn::Set(du, 0x3F000000U));
  const auto is_small = hn::RebindMask(du, hn::Lt(compared, hn::Set(di, 0x38800000)));
  const auto is_large = hn::RebindMask(du, hn::Gt(compared, hn::Set(di, 0x477FFFFF)));
  const auto is_nan = hn::RebindMask(du, hn::Gt(compared, hn::Set(di, 0x7F800000)));
  const VU large = hn::IfThenElse(is_nan, hn::Set(du, 0x7E00), hn::Set(du, 0x7C00));
  const VU result = hn::IfThenElse(is_large, large, hn::IfThenElse(is_small, small, normal));
  return narrow(hn::Or(result, sign));
#endif
}

HWY_INLINE VF promote_bf16(VH h) {
  return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), h)));
}

HWY_INLINE VH demote_bf16(VF v) {  // `v` has no NaN but the canonical one, which keeps its bits here
  const DU du;
  const VU bits = hn::BitCast(du, v);
  const VU odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  return narrow(hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF)))));
}

// How an element type is stored and in which vectors it is computed. Integer: itself.
template <class T>
struct Codec {
  using Element = T;
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr bool kFloat = false;
  static HWY_INLINE V load(const T* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE void store(V v, T* p) { hn::StoreU(v, D(), p); }
};

struct FloatCodec {
  using D = DF;
  using V = VF;
  static constexpr bool kFloat = true;
};
struct F32 : FloatCodec {
  using Element = float;
  static HWY_INLINE V load(const float* p) { return hn::LoadU(DF(), p); }
  static HWY_INLINE void store(V v, float* p) { hn::StoreU(v, DF(), p); }
  static HWY_INLINE V rounded(V v) { return v; }  // to the element type
};
struct F16 : FloatCodec {
  using Element = uint16_t;
  static HWY_INLINE V load(const uint16_t* p) { return promote_f16(hn::LoadU(DH(), p)); }
  static HWY_INLINE void store(V v, uint16_t* p) { hn::StoreU(demote_f16(v), DH(), p); }
  static HWY_INLINE V rounded(V v) { return promote_f16(demote_f16(v)); }
};
struct BF16 : FloatCodec {
  using Element = uint16_t;
  static HWY_INLINE V load(const uint16_t* p) { return promote_bf16(hn::LoadU(DH(), p)); }
  static HWY_INLINE void store(V v, uint16_t* p) { hn::StoreU(demote_bf16(v), DH(), p); }
  static HWY_INLINE V rounded(V v) { return promote_bf16(demote_bf16(v)); }
};

template <class C>
HWY_INLINE size_t lanes() {
  return hn::Lanes(typename C::D());
}
template <class C>
inline constexpr size_t kMaxLanes = hn::MaxLanes(typename C::D());

template <class C>
HWY_INLINE const typename C::Element* row_of(const Rows& rows, int64_t r) {
  return reinterpret_cast<const typename C::Element*>(rows.data + r * rows.pitch);
}
template <class C>
HWY_INLINE typename C::Element* mutable_row_of(const Rows& rows, int64_t r) {
  return reinterpret_cast<typename C::Element*>(rows.data + r * rows.pitch);
}

// One operand while a row is processed: a splat element is spread over a vector once a row and read with step 0.
template <class C>
class RowReader {
 public:
  using Element = typename C::Element;
  HWY_INLINE void begin(const Rows& rows, int64_t r) {
    p_ = row_of<C>(rows, r);
    step_ = 1;
    if (rows.splat) {
      const Element value = *p_;
      for (Element& lane : spread_) {
        lane = value;
      }
      p_ = spread_;
      step_ = 0;
    }
  }
  HWY_INLINE typename C::V load(size_t c) const { return C::load(p_ + c * step_); }
  // The last `count` elements from `c`, without reading behind them; the other lanes are zero.
  HWY_INLINE typename C::V load_tail(size_t c, size_t count) {
    if (step_ == 0) {
      return C::load(p_);
    }
    std::memset(tail_, 0, sizeof(tail_));
    std::memcpy(tail_, p_ + c, count * sizeof(Element));
    return C::load(tail_);
  }

 private:
  const Element* p_ = nullptr;
  size_t step_ = 1;
  HWY_ALIGN Element spread_[kMaxLanes<C>];
  HWY_ALIGN Element tail_[kMaxLanes<C>];
};

template <class C>
HWY_INLINE void store_tail(typename C::V v, typename C::Element* p, size_t count) {
  HWY_ALIGN typename C::Element tail[kMaxLanes<C>];
  C::store(v, tail);
  std::memcpy(p, tail, count * sizeof(typename C::Element));
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
