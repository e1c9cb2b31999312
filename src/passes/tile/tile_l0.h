// The first step of tile-l0: loops over K whose sum is larger than the accumulator. Internal to the pass.
#pragma once

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// Puts loops over rows and columns around such a loop, so that each piece of the sum is added up and stored on its own.
// True if something changed.
bool split_sums(ir::Function& kernel, const Target& target);

}  // namespace pto::passes
