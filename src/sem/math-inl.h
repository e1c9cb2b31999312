// exp and log of f32 vectors, from additions and multiplications only (no fused ones, no table, no libm): the same bits
// on every host. Worst errors over all f32 inputs: exp 0.98, log 0.85 units of the last place.
#if defined(PTO_SEM_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PTO_SEM_MATH_INL_H_
#undef PTO_SEM_MATH_INL_H_
#else
#define PTO_SEM_MATH_INL_H_
#endif

#include "src/sem/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {

// x * scale + offset, rounded twice.
HWY_INLINE VF step(VF x, VF scale, float offset) {
  return hn::Add(hn::Mul(x, scale), hn::Set(DF(), offset));
}

// 2^n as a float, for n in the range of normal numbers.
HWY_INLINE VF power_of_two(hn::Vec<DI> n) {
  return hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(n, hn::Set(DI(), 127))));
}

// e^x = 2^n e^r with |r| <= ln(2) / 2, e^r = 1 + r + r^2 q(r). ln(2) is split so that n * high is exact. The power is
// applied in two halves, so that results below the normal range are rounded once.
HWY_INLINE VF exp_f32(VF x) {
  const DF d;
  const DI di;
  const auto not_nan = hn::Eq(x, x);
  const VF safe = hn::IfThenElseZero(not_nan, x);
  const VF clamped = hn::Min(hn::Max(safe, hn::Set(d, -105.0f)), hn::Set(d, 90.0f));
  const VF magic = hn::Set(d, 12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer, found in the low bits
  const VF shifted = hn::Add(hn::Mul(clamped, hn::Set(d, 1.44269504f)), magic);
  const VF n = hn::Sub(shifted, magic);
  const auto exponent = hn::Sub(hn::BitCast(di, shifted), hn::Set(di, 0x4B400000));
  const VF high = hn::Sub(clamped, hn::Mul(n, hn::Set(d, 0.693359375f)));
  const VF r = hn::Sub(high, hn::Mul(n, hn::Set(d, -2.12194440e-4f)));
  VF q = hn::Set(d, 0.0013813169726259668f);
  q = step(q, r, 0.008369418644605957f);
  q = step(q, r, 0.04166845640624461f);
  q = step(q, r, 0.16666514794455436f);
  q = step(q, r, 0.499999930516939f);
  const VF poly = hn::Add(hn::Add(hn::Mul(hn::Mul(r, r), q), r), hn::Set(d, 1.0f));
  const auto half = hn::ShiftRight<1>(exponent);
  const VF result = hn::Mul(hn::Mul(poly, power_of_two(half)), power_of_two(hn::Sub(exponent, half)));
  return hn::IfThenElse(not_nan, result, hn::BitCast(d, hn::Set(DU(), kQuietNaN)));
}

// ln(x) = e ln(2) + ln(1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), ln(1 + f) = f - f^2 / 2 + f^3 p(f).
HWY_INLINE VF log_f32(VF x) {
  const DF d;
  const DI di;
  const DU du;
  const auto subnormal = hn::Lt(x, hn::Set(d, 0x1p-126f));
  const VF scaled = hn::IfThenElse(subnormal, hn::Mul(x, hn::Set(d, 0x1p23f)), x);
  const auto bias = hn::IfThenElseZero(hn::RebindMask(di, subnormal), hn::Set(di, 23));
  // Exponent relative to sqrt(1/2), so that the mantissa lands in the interval around one.
  const auto bits = hn::BitCast(di, scaled);
  const auto moved = hn::Sub(bits, hn::Set(di, 0x3F3504F3));
  const auto exponent = hn::ShiftRight<23>(moved);
  const VF m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(exponent)));
  const VF e = hn::ConvertTo(d, hn::Sub(exponent, bias));
  const VF f = hn::Sub(m, hn::Set(d, 1.0f));
  VF p = hn::Set(d, 0.06747203562763768f);
  p = step(p, f, -0.11679916138204154f);
  p = step(p, f, 0.11890200244210097f);
  p = step(p, f, -0.12405084609037453f);
  p = step(p, f, 0.14219233609109858f);
  p = step(p, f, -0.16668009975498224f);
  p = step(p, f, 0.2000213329282274f);
  p = step(p, f, -0.25000009580778076f);
  p = step(p, f, 0.33333312418132455f);
  const VF square = hn::Mul(f, f);
  VF tail = hn::Mul(hn::Mul(f, square), p);
  tail = hn::Add(tail, hn::Mul(e, hn::Set(d, -2.12194440e-4f)));
  tail = hn::Sub(tail, hn::Mul(square, hn::Set(d, 0.5f)));
  const VF result = hn::Add(hn::Add(f, tail), hn::Mul(e, hn::Set(d, 0.693359375f)));
  const VF nan = hn::BitCast(d, hn::Set(du, kQuietNaN));
  const VF infinity = hn::BitCast(d, hn::Set(du, 0x7F800000U));
  const VF zero = hn::Zero(d);
  const VF positive = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  const VF other = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), nan);
  return hn::IfThenElse(hn::Gt(x, zero), positive, other);
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
