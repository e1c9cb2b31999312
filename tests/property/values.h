// Values of a generated program with what is known of them: their range and how far the machine may be off. Forward error
// analysis with a factor of a few, so that a result is compared as sharply as its computation allows.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "pto/dtype.h"

namespace pto::test {

enum class Extent : uint8_t {
  Full,    // the whole shape
  Row,     // [N]
  Column,  // [..., 1]
  Reduced  // [...]: the last axis is gone
};

struct Known {
  std::string name;
  DType dtype = DType::F32;
  Extent extent = Extent::Full;
  double lo = 0;
  double hi = 0;
  double error = 0;
  bool input = false;
  double magnitude() const { return std::max(std::fabs(lo), std::fabs(hi)); }
};

// Half the distance of neighbours of 1, and of neighbours of 0.
inline double unit_of(DType dtype) {
  return dtype == DType::F32 ? 0x1p-24 : dtype == DType::F16 ? 0x1p-11 : dtype == DType::BF16 ? 0x1p-8 : 0;
}
inline double tiny_of(DType dtype) { return dtype == DType::F16 ? 0x1p-24 : is_float(dtype) ? 1e-38 : 0; }

// After an operation that is off by `error` from its operands and rounds `roundings` times.
inline void settle(Known& value, double error, double roundings = 4) {
  value.error = error + roundings * (unit_of(value.dtype) * value.magnitude() + tiny_of(value.dtype));
}

}  // namespace pto::test
