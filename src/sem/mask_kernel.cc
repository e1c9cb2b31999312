// Comparisons into packed bits, and selection by them.
#include "src/sem/kernels.h"
#include "src/sem/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/sem/mask_kernel.cc"
#include "hwy/foreach_target.h"
#include "src/sem/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace pto::sem::HWY_NAMESPACE {
namespace {

// Lanes divide 64 at every level, so 64 columns make a whole word of bits.
constexpr size_t kWord = 64;

template <class D, class M>
HWY_INLINE uint64_t bits_of(D d, M mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

template <class D>
HWY_INLINE hn::Mask<D> mask_of(D d, uint64_t bits) {
  uint8_t bytes[8];
  std::memcpy(bytes, &bits, sizeof(bits));
  return hn::LoadMaskBits(d, bytes);
}

template <class C, class F>
void compare_rows(const Grid& grid, F f) {
  const typename C::D d;
  const size_t n = lanes<C>();
  const auto cols = static_cast<size_t>(grid.cols);
  RowReader<C> a;
  RowReader<C> b;
  for (int64_t r = 0; r < grid.rows; ++r) {
    a.begin(grid.a, r);
    b.begin(grid.b, r);
    std::byte* out = grid.dst.data + r * grid.dst.pitch;
    for (size_t word = 0; word < cols; word += kWord) {
      const size_t count = HWY_MIN(kWord, cols - word);
      uint64_t bits = 0;
      size_t c = 0;
      for (; c + n <= count; c += n) {
        bits |= bits_of(d, f(a.load(word + c), b.load(word + c))) << c;
      }
      if (c < count) {
        const auto left = a.load_tail(word + c, count - c);
        const auto right = b.load_tail(word + c, count - c);
        bits |= bits_of(d, f(left, right)) << c;
      }
      if (count < kWord) {
        bits &= (uint64_t{1} << count) - 1;
      }
      std::memcpy(out + word / 8, &bits, (count + 7) / 8);
    }
  }
}

// Ordered comparisons; with NaN only "not equal" is true.
struct Equal {
  template <class V>
  HWY_INLINE auto operator()(V a, V b) const {
    return hn::Eq(a, b);
  }
};
struct NotEqual {
  template <class V>
  HWY_INLINE auto operator()(V a, V b) const {
    return hn::Not(hn::Eq(a, b));
  }
};
struct Less {
  template <class V>
  HWY_INLINE auto operator()(V a, V b) const {
    return hn::Lt(a, b);
  }
};
struct LessEqual {
  template <class V>
  HWY_INLINE auto operator()(V a, V b) const {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
      return hn::Le(a, b);
    } else {
      return hn::Not(hn::Lt(b, a));
    }
  }
};

template <class C>
void compare_type(isa::Cmp cmp, const Grid& grid) {
  Grid swapped = grid;
  std::swap(swapped.a, swapped.b);
  switch (cmp) {
    case isa::Cmp::Eq:
      return compare_rows<C>(grid, Equal());
    case isa::Cmp::Ne:
      return compare_rows<C>(grid, NotEqual());
    case isa::Cmp::Lt:
      return compare_rows<C>(grid, Less());
    case isa::Cmp::Le:
      return compare_rows<C>(grid, LessEqual());
    case isa::Cmp::Gt:
      return compare_rows<C>(swapped, Less());
    case isa::Cmp::Ge:
      return compare_rows<C>(swapped, LessEqual());
  }
}

template <class T>
void select_rows(const Rows& mask, const Grid& grid) {
  using C = Codec<T>;
  const typename C::D d;
  const size_t n = lanes<C>();
  const auto cols = static_cast<size_t>(grid.cols);
  RowReader<C> a;
  RowReader<C> b;
  for (int64_t r = 0; r < grid.rows; ++r) {
    a.begin(grid.a, r);
    b.begin(grid.b, r);
    const std::byte* in = mask.data + r * mask.pitch;
    T* out = mutable_row_of<C>(grid.dst, r);
    for (size_t word = 0; word < cols; word += kWord) {
      const size_t count = HWY_MIN(kWord, cols - word);
      uint64_t bits = 0;
      std::memcpy(&bits, in + word / 8, (count + 7) / 8);
      size_t c = 0;
      for (; c + n <= count; c += n) {
        C::store(hn::IfThenElse(mask_of(d, bits >> c), a.load(word + c), b.load(word + c)), out + word + c);
      }
      if (c < count) {
        const auto yes = a.load_tail(word + c, count - c);
        const auto no = b.load_tail(word + c, count - c);
        store_tail<C>(hn::IfThenElse(mask_of(d, bits >> c), yes, no), out + word + c, count - c);
      }
    }
  }
}

}  // namespace

void Compare(isa::Cmp cmp, DType type, const Grid& grid) {
  switch (type) {
    case DType::F32:
      return compare_type<F32>(cmp, grid);
    case DType::F16:
      return compare_type<F16>(cmp, grid);
    case DType::BF16:
      return compare_type<BF16>(cmp, grid);
    case DType::I8:
      return compare_type<Codec<int8_t>>(cmp, grid);
    case DType::Bool:
    case DType::U8:
      return compare_type<Codec<uint8_t>>(cmp, grid);
    case DType::I16:
      return compare_type<Codec<int16_t>>(cmp, grid);
    case DType::U16:
      return compare_type<Codec<uint16_t>>(cmp, grid);
    case DType::I32:
      return compare_type<Codec<int32_t>>(cmp, grid);
    case DType::U32:
      return compare_type<Codec<uint32_t>>(cmp, grid);
    case DType::I64:
      return compare_type<Codec<int64_t>>(cmp, grid);
    case DType::U64:
      return compare_type<Codec<uint64_t>>(cmp, grid);
    default:
      return;
  }
}

void Select(int64_t element_bytes, const Rows& mask, const Grid& grid) {
  switch (element_bytes) {
    case 1:
      return select_rows<uint8_t>(mask, grid);
    case 2:
      return select_rows<uint16_t>(mask, grid);
    case 4:
      return select_rows<uint32_t>(mask, grid);
    case 8:
      return select_rows<uint64_t>(mask, grid);
    default:
      return;
  }
}

}  // namespace pto::sem::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace pto::sem {
HWY_EXPORT(Compare);
HWY_EXPORT(Select);
void compare_kernel(isa::Cmp cmp, DType type, const Grid& grid) {
  HWY_DYNAMIC_DISPATCH(Compare)(cmp, type, grid);
}
void select_kernel(int64_t element_bytes, const Rows& mask, const Grid& grid) {
  HWY_DYNAMIC_DISPATCH(Select)(element_bytes, mask, grid);
}
}  // namespace pto::sem
#endif
