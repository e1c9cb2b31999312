// Compares an output with a golden array. A value passes if |got - expected| <= atol + rtol * |expected|, computed in
// double precision; infinities pass only if equal. NaN never passes, unless `nan_equal` and both are NaN. Integers are
// compared exactly unless a tolerance is given. `ulp` counts representable values of the output's element type between
// the output and the golden value rounded to that type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pto/dtype.h"
#include "pto/runtime.h"

namespace pto::runtime::io {

struct Golden {
  bool is_f64 = false;  // elements of `array` are doubles, its dtype is None
  Array array;
};

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};
// f32 1e-4 and 1e-5, f16 1e-3 and 1e-3, bf16 1e-2 and 1e-2, 8-bit floats 1e-1 and 1e-1, everything else exact.
Tolerance default_tolerance(DType type);

struct CompareOptions {
  std::optional<double> rtol;
  std::optional<double> atol;
  bool nan_equal = false;
};

struct Comparison {
  bool match = false;
  bool same_shape = true;
  Tolerance tolerance;
  int64_t elements = 0;
  int64_t mismatches = 0;
  int64_t nan_got = 0;         // NaN where the golden array has none
  int64_t nan_expected = 0;    // the other way round
  int64_t nan_both = 0;        // mismatches only without nan_equal
  std::vector<int64_t> first;  // index of the first mismatch
  std::string expected;        // the values there
  std::string got;
  // Over all values that are finite on both sides.
  double max_abs = 0;
  double max_rel = 0;
  uint64_t max_ulp = 0;  // float outputs
};

// Types are known to be comparable (see read_npy_golden); shapes need not be equal.
Comparison compare(const Array& got, const Golden& golden, const CompareOptions& options);

}  // namespace pto::runtime::io
