// Inputs for an entry: small dims that its constraints allow, and seeded random values of its element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/eval/frame.h"

namespace pto::eval {

// Everything that an entry takes, in the order of its dims, scalars and tensors; what it only writes is there too, unwritten.
struct Inputs {
  std::vector<int64_t> dims;
  std::vector<double> scalars;
  std::vector<Tensor> tensors;
};

// The first three samples have small dims in turn, the last one a long one. Floats are between -2 and 2; between -16 and 16
// in the second sample, where f16 overflows if a formula lets it; positive in the third.
inline constexpr int kSamples = 4;

// nullopt: no dims were found that fit the constraints, or the tensors are too large; `reason` says which.
std::optional<Inputs> make_inputs(const ir::Function& entry, int sample, std::string& reason);

}  // namespace pto::eval
