// Values of single elements: encode and decode every element type, correctly rounded. Slow and plain; the vectorised
// conversions in src/sem are tested against these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pto/dtype.h"
#include "pto/round.h"

namespace pto {

// IEEE binary16, bfloat16 and the 8- and 4-bit types from and to double; round to nearest even unless said otherwise.
// A value beyond the largest finite one becomes infinity, or NaN where the type has no infinity, or the largest finite
// value where it has neither, or with `saturate`, or where the rounding mode leads toward zero. An infinite value stays
// infinite where the type has infinities, `saturate` or not. NaN becomes the canonical quiet NaN (+0 without a NaN
// code).
double decode_float(DType type, uint64_t bits);
uint64_t encode_float(DType type, double value, isa::Round round = isa::Round::Rint, bool saturate = false);

// `value` rounded to an integral value. None counts as Rint (ties to even), Round takes ties away from zero, Odd takes
// the odd neighbour of everything that is not integral.
double round_to_integral(double value, isa::Round round);
// Largest and smallest value of an integer type; the largest of u64 does not fit and comes back as -1 (all ones).
int64_t max_of_integer(DType type);
int64_t min_of_integer(DType type);

// Element `index` of an array of `type`, as a double (64-bit integers lose bits: use load_int).
double load_real(DType type, const std::byte* data, int64_t index);
int64_t load_int(DType type, const std::byte* data, int64_t index);
// Integers are stored modulo 2^bits by store_int; store_real saturates integers after rounding (NaN gives 0).
void store_real(DType type, std::byte* data, int64_t index, double value, isa::Round round = isa::Round::Rint);
void store_int(DType type, std::byte* data, int64_t index, int64_t value);

}  // namespace pto
