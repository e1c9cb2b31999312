// Which part of each tensor argument a task reads and writes.
#pragma once

#include <vector>

#include "src/ir/ir.h"

namespace pto::passes {

// Rows and columns as half-open ranges of constants, where the whole core's accesses have constant bounds; else
// everything.
struct TaskAccess {
  ir::ValueId tensor;  // of the program
  bool read = false;
  bool write = false;
  bool whole = true;
  std::vector<std::pair<int64_t, int64_t>> ranges;  // one a dim, if not whole
};

// In the order of the callee's tensor parameters. The callee is a core or a pair.
std::vector<TaskAccess> task_accesses(const ir::Module& module, const ir::Op& task, const ir::Function& callee);

// Can the two touch the same element, one of them writing?
bool conflict(const TaskAccess& a, const TaskAccess& b);

}  // namespace pto::passes
