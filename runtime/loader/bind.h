// Arguments of a run against the parameters of a program: dims from array shapes, scalars, sizes of every tensor, the
// places of all tensors in one linear address space, constraints. Allocates nothing of the tensors' size: the same for a
// run that only computes time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/result.h"
#include "pto/runtime.h"

namespace pto::runtime {

inline constexpr int64_t kMemoryLimit = int64_t{16} << 30;   // bytes of arrays and workspace in a run with values
inline constexpr int64_t kAddressLimit = int64_t{1} << 50;   // bytes of global memory of any run
inline constexpr int64_t kGmAlignment = 512;

// A tensor of a program: a parameter, or a buffer in the workspace.
struct BoundTensor {
  std::string name;
  DType dtype = DType::None;
  object::ParamMode mode = object::ParamMode::InOut;
  bool is_buffer = false;
  std::vector<int64_t> dims;
  int64_t elements = 0;
  int64_t bytes = 0;
  int64_t address = 0;  // of the first byte in the simulated global memory; buffers may share bytes
};

struct Binding {
  std::vector<int64_t> ints;         // by SymId of the program
  std::vector<double> reals;         // by SymId, of every symbol
  std::vector<BoundTensor> tensors;  // as object::Argument::tensor counts: tensor parameters, then buffers
  int64_t workspace_address = 0;
  int64_t workspace_bytes = 0;
  int64_t footprint = 0;  // bytes of all parameters and the workspace
  ExprEnv env() const { return {ints, reals, 0, 1}; }
};

Result<Binding> bind(const object::Program& program, const Arguments& arguments, Mode mode, const std::string& subject,
                     DiagnosticSink& sink);

// "x rows", "columns 63", "dimension 0": how messages speak of one dimension.
std::string dim_words(size_t rank, size_t axis, int64_t value);
// "[63, 1024]"
std::string dims_text(const std::vector<int64_t>& dims);

}  // namespace pto::runtime
