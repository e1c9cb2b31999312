// Kernels to core programs. The two steps that the choice of pipeline depths tries out before the passes run for good.
#pragma once

#include <optional>

#include "pto/diagnostics.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// How a kernel runs: its core program and the number of independent blocks, an expression over the core's dims. A mixed
// kernel has a second program for the vector lanes, with the same dims, and the pair that names both.
struct SelectedKernel {
  ir::Function core;  // a mixed kernel's cube half
  ExprId blocks;
  std::optional<ir::Function> vec = std::nullopt;
  std::optional<ir::Function> pair = std::nullopt;
  const ir::Function& entry() const { return pair ? *pair : core; }
};

// nullopt after an error.
std::optional<SelectedKernel> select_kernel(const ir::Function& kernel, const Target& target, bool split_lanes,
                                            DiagnosticSink& sink);

// How many bytes too many the busiest memory of an unplaced core would need; 0: it fits.
struct Overflow {
  Space space = Space::None;
  int64_t needed = 0;
  int64_t available = 0;
};
std::optional<Overflow> place_buffers(ir::Function& core, const Target& target, bool reuse = true);
// All cores of a kernel.
std::optional<Overflow> place_buffers(SelectedKernel& selected, const Target& target, bool reuse = true);

}  // namespace pto::passes
