// Rounds the shapes of tiles up to what memories take: whole boxes in the memories of the cube core, whole 32 bytes in
// vector memory. A tile f16[100, 60] is then 112 x 64 elements in memory, of which 100 x 60 are valid as before. Used
// by `select` when it makes buffers, so the Tile level keeps the shapes that the program says.
#pragma once

#include <optional>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// The multiple that a padded cube tile's sides have: whole boxes of every operand memory, in either role.
int64_t box_step(DType dtype);

// nullopt: every tile fits its memory as it is, or one can't be rounded (a `fillpad` fills whole shapes, so a larger
// one would change what is computed).
std::optional<ir::Function> pad_tiles(const ir::Function& kernel, const Target& target);

}  // namespace pto::passes
