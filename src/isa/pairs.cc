// Rules over several element types, as tables of what is allowed: conversions, matrix products, moves that convert.
// Absent by choice: packed 4-bit types and conversions that scale.
#include <algorithm>

#include "src/isa/rules.h"

namespace pto::isa {
namespace {

using enum DType;

struct FamilySet {
  DTypeSet a2a3;
  DTypeSet a5;
  DTypeSet of(IsaFamily family) const { return family == IsaFamily::A2A3 ? a2a3 : a5; }
};

// By source: the destinations that `tcvt` has.
struct ConversionRow {
  DType from;
  FamilySet to;
};
constexpr ConversionRow kConversions[] = {
    {F32,
     {dtype_set({F32, F16, BF16, I16, I32, I64}), dtype_set({F32, F16, BF16, I16, I32, I64, F8E4M3, F8E5M2, HiF8})}},
    {F16, {dtype_set({F32, I32, I16, I8, U8}), dtype_set({F32, I32, I16, I8, U8, HiF8})}},
    {BF16, {dtype_set({F32, I32}), dtype_set({F32, I32, F16})}},
    {I16, {dtype_set({F16, F32}), dtype_set({U8, F16, F32, U32, I32})}},
    {I32, {dtype_set({F32, I16, I64}), dtype_set({F32, I16, U16, I64, U8})}},
    {I64, {dtype_set({F32, I32}), dtype_set({F32, I32})}},
    {U8, {dtype_set({F16}), dtype_set({F16, U16})}},
    {I8, {dtype_set({F16}), dtype_set({F16, I16, I32})}},
    {U32, {dtype_set({}), dtype_set({U8, U16, I16})}},
    {F8E4M3, {dtype_set({}), dtype_set({F32})}},
    {F8E5M2, {dtype_set({}), dtype_set({F32})}},
    {HiF8, {dtype_set({}), dtype_set({F32})}},
};

// Accumulator type by the types of both operands.
struct MatMulRow {
  DType acc;
  DTypeSet left;
  DTypeSet right;
  bool on_a2a3;
};
constexpr MatMulRow kMatMuls[] = {
    {I32, dtype_set({I8}), dtype_set({I8}), true},
    {F32, dtype_set({F16}), dtype_set({F16}), true},
    {F32, dtype_set({BF16}), dtype_set({BF16}), true},
    {F32, dtype_set({F32}), dtype_set({F32}), true},
    {F32, dtype_set({F8E4M3, F8E5M2}), dtype_set({F8E4M3, F8E5M2}), false},
    {F32, dtype_set({HiF8}), dtype_set({HiF8}), false},
};

}  // namespace

DTypeSet mask_dtypes(IsaFamily family) {
  return FamilySet{dtype_set({U8}), dtype_set({U8, U32})}.of(family);
}

bool is_conversion(DType from, DType to, IsaFamily family) {
  return std::any_of(std::begin(kConversions), std::end(kConversions),
                     [&](const ConversionRow& row) { return row.from == from && contains(row.to.of(family), to); });
}

bool is_matmul(DType acc, DType left, DType right, IsaFamily family) {
  return std::any_of(std::begin(kMatMuls), std::end(kMatMuls), [&](const MatMulRow& row) {
    return row.acc == acc && contains(row.left, left) && contains(row.right, right) &&
           (row.on_a2a3 || family != IsaFamily::A2A3);
  });
}

bool is_acc_to_gm(DType acc, DType to, IsaFamily /*family*/) {
  return (acc == F32 && contains(dtype_set({F32, F16, BF16}), to)) || (acc == I32 && to == I32);
}

bool is_acc_to_mat(DType acc, DType to, IsaFamily /*family*/) {
  return acc == F32 && contains(dtype_set({F16, BF16}), to);
}

bool is_bias_move(DType from, DType to, IsaFamily family) {
  return (from == to && contains(dtype_set({F32, I32}), to)) || (from == F16 && to == F32) ||
         (from == BF16 && to == F32 && family == IsaFamily::A5);
}

}  // namespace pto::isa
