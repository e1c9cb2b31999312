// A generated program with its arguments and how far each result may be from the exact one.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/property/toolchain.h"

namespace pto::test {

struct Generated {
  std::string entry;
  std::string text;  // every `@P` stands for a pipeline depth
  Defines defines;
  runtime::Arguments arguments;
  std::map<std::string, double> bounds;  // absolute, by result
  // Results computed by the generator itself; empty: the evaluator's.
  std::map<std::string, std::vector<double>> results;
};

Generated random_graph(uint64_t seed, bool a5);   // elementwise operations, reductions, softmax
Generated random_matmul(uint64_t seed, bool a5);  // products with what stands around them
Generated random_kernel(uint64_t seed, bool a5);  // loops with carried tiles
Generated random_mixed(uint64_t seed, bool a5);   // matrix and vector work in one kernel
Generated random_core(uint64_t seed);             // `auto core vec`

}  // namespace pto::test
