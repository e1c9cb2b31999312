// Synchronisation of last resort: no flags, a barrier on all pipes wherever accesses would conflict. Slow, needs no
// event id, and right by construction; insert-sync falls back on it where its flags aren't proved. Internal to
// insert-sync.
#pragma once

#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// A barrier, and the pipes of the conflict that it is there for. `before`: the instruction or loop behind it.
struct InsertedBarrier {
  ir::OpId before;
  isa::Pipe src = isa::Pipe::S;
  isa::Pipe dst = isa::Pipe::S;
};

// A `pipe_barrier all` that stands in no region yet.
ir::OpId barrier_op(ir::Function& core, const std::vector<Span>& spans);

std::vector<InsertedBarrier> insert_barriers(ir::Function& core, const Target& target);

}  // namespace pto::passes
