// Programs of one task, which outline-tasks and select make of what is an entry itself.
#pragma once

#include <cstdint>
#include <string>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// A program with the core's or pair's parameters and one task on it, without `blocks`.
ir::Function make_single_task_program(const ir::Function& core, const std::string& name);

// How many blocks of a core or pair the target runs at a time: one a core of its kind, or a cluster.
int64_t units(const ir::Function& callee, const Target& target);

}  // namespace pto::passes
