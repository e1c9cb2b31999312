// What the instruction table says besides the public look-ups of pto/isa.h: the element types of a rule on a family and
// the names of timing classes in target files. For src/isa, src/timing and the tests only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "pto/isa.h"
#include "pto/target.h"

namespace pto::isa {

// Types of a rule of dtype_rules.def. Empty for rules that a table of pairs decides.
DTypeSet dtypes_of(DTypeRule rule, IsaFamily family);
constexpr bool contains(DTypeSet set, DType type) {
  return static_cast<int>(type) < 32 && (set >> static_cast<int>(type) & 1U) != 0;
}
// "`f16`, `f32`"
std::string list_dtypes(DTypeSet set);

inline constexpr int kTimingClassCount = static_cast<int>(TimingClass::VecColReduce) + 1;
inline constexpr int kFirstVectorClass = static_cast<int>(TimingClass::VecBinary);
std::string_view spelling(TimingClass timing);  // "vec_binary", as in target files

// Types of mask tiles that comparisons write and selections read.
DTypeSet mask_dtypes(IsaFamily family);
// May `tcvt` convert `from` to `to`?
bool is_conversion(DType from, DType to, IsaFamily family);
// May `tmatmul` multiply `left` by `right` into `acc`?
bool is_matmul(DType acc, DType left, DType right, IsaFamily family);
// May an accumulator of `acc` be written out as `to`, to global memory or to `mat` memory?
bool is_acc_to_gm(DType acc, DType to, IsaFamily family);
bool is_acc_to_mat(DType acc, DType to, IsaFamily family);
// May a row of `from` in `mat` memory become a bias row of `to`?
bool is_bias_move(DType from, DType to, IsaFamily family);

}  // namespace pto::isa
