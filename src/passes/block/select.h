// Kernels to core programs. The two steps that the choice of pipeline depths tries out before the passes run for good.
#pragma once

#include <optional>

#include "pto/diagnostics.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// How a kernel runs: its core program and the number of independent blocks, an expression over the core's dims.
struct SelectedKernel {
  ir::Function core;
  ExprId blocks;
};

// nullopt after an error.
std::optional<SelectedKernel> select_kernel(const ir::Function& kernel, const Target& target, DiagnosticSink& sink);

// How many bytes too many the busiest memory of an unplaced core would need; 0: it fits.
struct Overflow {
  Space space = Space::None;
  int64_t needed = 0;
  int64_t available = 0;
};
std::optional<Overflow> place_buffers(ir::Function& core, const Target& target);

}  // namespace pto::passes
