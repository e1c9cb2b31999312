// The evaluator of the Tile level: a kernel block by block, before or after its tiles have memories. A tile holds its valid
// region only; reading an element outside of it, or one of a tensor that nothing wrote, is a fault. Memories and layouts
// don't change values, so they are not looked at.
#pragma once

#include "src/eval/frame.h"

namespace pto::eval {

// Runs block `arguments.block_index` of `arguments.block_count`; of a parallel it takes every block_count-th iteration.
bool run_kernel(Session& session, const ir::Function& kernel, const Arguments& arguments);

}  // namespace pto::eval
