// Arrays that a run makes for itself: `f16[64, 512]:randn(seed=1)`. Every value is a function of the seed and the
// element's index alone, in integer arithmetic and exact floating-point steps, so the bits are the same on every
// machine.
//
//   word(seed, n)   the n-th output of SplitMix64 started at mix(seed): mix(mix(seed) + (n + 1) * 0x9E3779B97F4A7C15)
//   rand(seed=0)           top p bits of word(seed, i) times 2^-p, p the type's precision (f32 24, f16 11, bf16 8); [0,
//   1) uniform(lo=, hi=, seed=0)  lo + (hi - lo) * u in double, u the top 53 bits of word(seed, i) times 2^-53; then
//   rounded randn(seed=0)          sum of the twelve 16-bit fields of words 3i, 3i+1, 3i+2, minus 393210, times 2^-16;
//   mean 0,
//                          variance 1 - 2^-32, range (-6, 6); then rounded to the type
//   randint(lo=, hi=, seed=0)  lo + floor(word(seed, i) * (hi - lo) / 2^64), lo <= v < hi
//   zeros()  ones()  full(V)  arange(start=0, step=1)
//
// Rounding is to nearest even. `()` may be left out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/dtype.h"
#include "pto/result.h"
#include "pto/runtime.h"

namespace pto::runtime::io {

enum class GeneratorKind : uint8_t { Rand, Uniform, Randn, Randint, Zeros, Ones, Full, Arange };

struct Generator {
  GeneratorKind kind = GeneratorKind::Zeros;
  uint64_t seed = 0;
  double lo = 0;       // Full: the value; Arange: start
  double hi = 0;       // Arange: step
  int64_t int_lo = 0;  // Randint, and Full and Arange of integers
  int64_t int_hi = 0;
};

// `TYPE[DIMS]`, then nothing, `:GENERATOR` or `@FILE`.
struct ArraySpec {
  DType dtype = DType::None;
  std::vector<int64_t> shape;
  std::optional<Generator> generator;
  std::optional<std::string> file;
};

// Dims are numbers or names of `dims`. `subject` says which argument it is.
Result<ArraySpec> parse_array_spec(std::string_view text, const std::map<std::string, int64_t>& dims,
                                   const std::string& subject, DiagnosticSink& sink);
Array generate(const ArraySpec& spec);

// word(seed, n) above.
uint64_t random_word(uint64_t seed, uint64_t n);

// Whole-text numbers, independent of the locale: "1e-3", "inf", "nan", "-5". nullopt: not a number, or out of range.
std::optional<double> parse_real(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);

}  // namespace pto::runtime::io
