// The first step of tile-l0: loops over K whose sum is larger than the accumulator. Internal to the pass.
#pragma once

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// Puts loops over rows and columns around such a loop, so that each piece of the sum is added up and stored on its own.
// True if something changed.
bool split_sums(ir::Function& kernel, const Target& target);

// Are the operands of a product made of whole boxes? Tiles of other shapes are padded to such ones when they get
// buffers (block/pad_tiles.h).
bool in_boxes(const ir::Type& left, const ir::Type& right);

// Does a store's window end where the tile's valid region does, along the dim that is `from_end` from the last one (1:
// columns, 2: rows), in the same words? If not, it is known by bounds only that the tile fits, and a dump of pieces is
// accepted only if they are of one size.
bool ends_alike(ir::Function& kernel, const ir::Op& store, size_t from_end);

}  // namespace pto::passes
