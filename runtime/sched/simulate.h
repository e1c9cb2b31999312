// The time of a whole run: a discrete-event simulation of scheduler, cores and global memory. Events are ordered by time,
// then by the order they were made in; nothing of the host decides anything. Allocates no arrays of the program's data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pto/runtime.h"
#include "runtime/loader/bind.h"
#include "runtime/loader/tasks.h"
#include "runtime/sched/deadlock.h"

namespace pto::runtime {

struct TimeOutcome {
  RunStatus status = RunStatus::Ok;
  std::optional<LocatedFault> fault;      // RunStatus::Fault: the first in simulated time
  std::vector<StuckLine> stuck;           // RunStatus::Deadlock: what waits for what
  int64_t stuck_cycle = 0;
  bool trace_too_long = false;            // RunStatus::Limit: the trace's limit, not that of cycles
  bool too_many_statements = false;       // RunStatus::Limit: that of statements
};

// Fills the timed part of `result`.
TimeOutcome simulate(const object::Object& object, const object::Program& program, const Target& target,
                     const Binding& binding, const std::vector<TaskPlan>& plans, const Options& options,
                     RunResult& result);

}  // namespace pto::runtime
