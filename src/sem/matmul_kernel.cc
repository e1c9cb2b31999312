// The inner loops of matrix products, over packed panels (kernels.h).
#include "src/sem/kernels.h"
#include "src/sem/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/sem/matmul_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/sem/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace {

// At most a panel wide, so that a panel is a whole number of vectors. Scalable vectors are used at a fixed length.
#if HWY_HAVE_SCALABLE
using DA = hn::FixedTag<float, 4>;
#else
using DA = hn::CappedTag<float, 16>;
#endif
using DAI = hn::RebindToSigned<DA>;
using VA = hn::Vec<DA>;
using VAI = hn::Vec<DAI>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(DA()));
constexpr int64_t kVectorsPerPanel = kPanel / kLanes;

// Rows and vectors of the accumulators that are kept in registers. With 32 registers a step covers two panels.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int64_t kStepRows = 8;
constexpr bool kManyRegisters = true;
#else
constexpr int64_t kStepRows = 6;
constexpr bool kManyRegisters = false;
#endif
constexpr int64_t kStepVectors = HWY_MIN(int64_t{2}, kManyRegisters ? 2 * kVectorsPerPanel : kVectorsPerPanel);

struct FloatProduct {
  using T = float;
  using D = DA;
  using V = VA;
  static HWY_INLINE V broadcast(const float* p) { return hn::Set(DA(), *p); }
  static HWY_INLINE V multiply_add(V a, V b, V sum) { return hn::Add(sum, hn::Mul(a, b)); }
  static HWY_INLINE V finish(V v) {
    const DA d;
    return hn::IfThenElse(hn::IsNaN(v), hn::BitCast(d, hn::Set(hn::RebindToUnsigned<DA>(), kQuietNaN)), v);
  }
};
// For products that are exact in f32: one rounding or two make no difference.
struct ExactProduct : FloatProduct {
  static HWY_INLINE VA multiply_add(VA a, VA b, VA sum) { return hn::MulAdd(a, b, sum); }
};

// Each 32-bit lane holds two i16, for k and k + 1; their products are added to the lane, modulo 2^32.
struct PairProduct {
  using T = int32_t;
  using D = DAI;
  using V = VAI;
  static HWY_INLINE V broadcast(const int32_t* p) { return hn::Set(DAI(), *p); }
  static HWY_INLINE V multiply_add(V a, V b, V sum) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
    const hn::Repartition<int16_t, DAI> d16;
    V unused = hn::Zero(DAI());
    return hn::ReorderWidenMulAccumulate(DAI(), hn::BitCast(d16, a), hn::BitCast(d16, b), sum, unused);
#else
    const V low = hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b)));
    const V high = hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b));
    return hn::Add(sum, hn::Add(low, high));
#endif
  }
  static HWY_INLINE V finish(V v) {
    return v;
  }
};

// One operand column vector of a step: pointers to its first element in a panel, the start values and the destination.
template <class T>
struct Column {
  const T* right = nullptr;
  const T* init = nullptr;
  T* dst = nullptr;
};

// R rows by N vectors of the result, over all of k in ascending order.
template <class P, int64_t R, int64_t N>
HWY_INLINE void multiply_step(const typename P::T* left, int64_t k, const Column<typename P::T>* columns,
                              int64_t init_stride) {
  using T = typename P::T;
  const typename P::D d;
  typename P::V sums[R][N];
  const T* right[N];
  HWY_UNROLL(8)
  for (int64_t n = 0; n < N; ++n) {
    right[n] = columns[n].right;
    HWY_UNROLL(8)
    for (int64_t r = 0; r < R; ++r) {
      sums[r][n] = hn::LoadU(d, columns[n].init + r * init_stride);
    }
  }
  for (int64_t i = 0; i < k; ++i) {
    typename P::V b[N];
    HWY_UNROLL(8)
    for (int64_t n = 0; n < N; ++n) {
      b[n] = hn::Load(d, right[n] + i * kPanel);
    }
    HWY_UNROLL(8)
    for (int64_t r = 0; r < R; ++r) {
      const auto a = P::broadcast(left + i * kPanel + r);
      HWY_UNROLL(8)
      for (int64_t n = 0; n < N; ++n) {
        sums[r][n] = P::multiply_add(a, b[n], sums[r][n]);
      }
    }
  }
  HWY_UNROLL(8)
  for (int64_t r = 0; r < R; ++r) {
    HWY_UNROLL(8)
    for (int64_t n = 0; n < N; ++n) {
      hn::StoreU(P::finish(sums[r][n]), d, columns[n].dst + r * kPanel);
    }
  }
}

template <class P, int64_t N>
void multiply_rows(int64_t rows, const typename P::T* left, int64_t k, const Column<typename P::T>* columns,
                   int64_t init_stride) {
  switch (rows) {
    case 1:
      return multiply_step<P, 1, N>(left, k, columns, init_stride);
    case 2:
      return multiply_step<P, 2, N>(left, k, columns, init_stride);
    case 3:
      return multiply_step<P, 3, N>(left, k, columns, init_stride);
    case 4:
      return multiply_step<P, 4, N>(left, k, columns, init_stride);
    case 5:
      return multiply_step<P, 5, N>(left, k, columns, init_stride);
    case 6:
      return multiply_step<P, 6, N>(left, k, columns, init_stride);
    case 7:
      return multiply_step<P, 7, N>(left, k, columns, init_stride);
    default:
      return multiply_step<P, 8, N>(left, k, columns, init_stride);
  }
}

// All rows of the result for N column vectors.
template <class P, int64_t N>
void multiply_columns(const PanelProduct& product, int64_t steps, Column<typename P::T>* columns) {
  using T = typename P::T;
  for (int64_t panel = 0; panel * kPanel < product.m; ++panel) {
    const int64_t panel_rows = HWY_MIN(kPanel, product.m - panel * kPanel);
    const auto* left = reinterpret_cast<const T*>(product.left + panel * product.left_stride);
    for (int64_t r = 0; r < panel_rows; r += kStepRows) {
      const int64_t rows = HWY_MIN(kStepRows, panel_rows - r);
      multiply_rows<P, N>(rows, left + r, steps, columns, product.init_stride);
      for (int64_t n = 0; n < N; ++n) {
        columns[n].init += rows * product.init_stride;
        columns[n].dst += rows * kPanel;
      }
    }
  }
}

template <class P>
void multiply(const PanelProduct& product) {
  using T = typename P::T;
  const int64_t panels = product.right[1] == nullptr ? 1 : 2;
  const int64_t vectors = panels * kVectorsPerPanel;
  const int64_t steps = product.integer ? (product.k + 1) / 2 : product.k;
  for (int64_t first = 0; first < vectors; first += kStepVectors) {
    Column<T> columns[kStepVectors];
    const int64_t count = HWY_MIN(kStepVectors, vectors - first);
    for (int64_t n = 0; n < count; ++n) {
      const int64_t panel = (first + n) / kVectorsPerPanel;
      const int64_t lane = (first + n) % kVectorsPerPanel * kLanes;
      columns[n].right = reinterpret_cast<const T*>(product.right[panel]) + lane;
      columns[n].init = reinterpret_cast<const T*>(product.init[panel]) + lane;
      columns[n].dst = reinterpret_cast<T*>(product.dst[panel]) + lane;
    }
    if (count == kStepVectors) {
      multiply_columns<P, kStepVectors>(product, steps, columns);
    } else {
      multiply_columns<P, 1>(product, steps, columns);
    }
  }
}

}  // namespace

void MultiplyPanels(const PanelProduct& product) {
  if (product.integer) {
    multiply<PairProduct>(product);
  } else if (product.fused) {
    multiply<ExactProduct>(product);
  } else {
    multiply<FloatProduct>(product);
  }
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pto::sem {
HWY_EXPORT(MultiplyPanels);
void matmul_kernel(const PanelProduct& product) {
  HWY_DYNAMIC_DISPATCH(MultiplyPanels)(product);
}
}  // namespace pto::sem
#endif
