// The scalar operand of an instruction, as the bits of one element.
#pragma once

#include "src/sem/sem.h"
#include "src/support/convert.h"

namespace pto::sem {

inline uint64_t scalar_bits(const Args& args, DType dtype) {
  return is_float(dtype) ? encode_float(dtype, args.real) : static_cast<uint64_t>(args.integer);
}

}  // namespace pto::sem
