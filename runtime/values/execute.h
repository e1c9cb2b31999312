// Values of a whole run: blocks of tasks on a pool of host threads. The number of threads changes nothing: blocks have
// their own core memories, and a task waits for every earlier task that touches the same bytes of global memory, whatever
// its `after` list says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/check/faults.h"
#include "runtime/loader/bind.h"
#include "runtime/loader/tasks.h"
#include "runtime/machine/program_cache.h"
#include "runtime/values/pair_runner.h"

namespace pto::runtime {

struct ValuesOutcome {
  RunStatus status = RunStatus::Ok;
  std::optional<LocatedFault> fault;  // the first in task and block order
  std::vector<RingWait> stuck;        // RunStatus::Deadlock: what each core waits for
  bool too_many_statements = false;   // RunStatus::Limit: of all blocks together
};

struct ValuesLimits {
  int threads = 1;
  int64_t block_statements = 0;  // 0: no limit
  int64_t all_statements = 0;
};

// `memory`: host memory of the program's tensors, by their index.
ValuesOutcome execute_values(const object::Object& object, const object::Program& program, const Target& target,
                             const Binding& binding, const std::vector<TaskPlan>& plans,
                             const std::vector<std::byte*>& memory, const ValuesLimits& limits);

// Tasks that each task must wait for so that values are those of task order: its `after` list and every earlier task whose
// tensors share bytes with its own where one of the two writes.
std::vector<std::vector<uint32_t>> value_order(const object::Object& object, const object::Program& program,
                                               const Binding& binding, const std::vector<TaskPlan>& plans);

}  // namespace pto::runtime
