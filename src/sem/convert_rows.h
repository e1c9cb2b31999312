// Conversion of rows of elements from one type to another, as tcvt does it and as moves and stores out of an
// accumulator do it with rounding to nearest even.
//
// * Rounding mode None counts as Rint. Exact conversions don't depend on the mode, so f32 to f32 is a copy.
// * To an integer: rounded by the mode, then saturated, NaN giving 0; but six pairs wrap modulo 2^bits instead, with
//   infinity giving 0 (f16 to u8, i8, i16; f32 to i16; i64 to i32; i32 to i16).
// * To f16, bf16, f32: rounded by the mode, overflow as IEEE has it. To types of 8 bits and less: saturated.
// * NaN becomes the canonical quiet NaN of the destination.
#pragma once

#include "src/sem/kernels.h"

namespace pto::sem {

void convert_rows(DType to, DType from, isa::Round round, const Grid& grid);

// Does an integer that is too large wrap instead of saturating?
bool conversion_wraps(DType to, DType from);

}  // namespace pto::sem
