// What a task of a program is once the program's dims are known: values of the core's symbols, number of blocks, tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/result.h"
#include "runtime/loader/bind.h"

namespace pto::runtime {

inline constexpr int64_t kMostBlocks = int64_t{1} << 22;  // of one task: what a scheduler may keep count of

inline constexpr int64_t kMostRingBytes = int64_t{1} << 26;  // of one cluster

struct TaskPlan {
  uint32_t task = 0;  // index in Program::tasks
  uint32_t core = 0;  // index in Object::cores
  int64_t blocks = 0;
  // Values of the core's dims in order, then of its scalar parameters in order.
  std::vector<int64_t> ints;
  std::vector<double> reals;
  std::vector<uint32_t> tensors;  // program tensor of each of the core's tensor parameters
  // A mixed task: the plan of its vector lanes' core (one element), and how many run. `core` is the cube core then.
  std::vector<TaskPlan> vec;
  uint32_t lanes = 0;
};

// The plans of the cores that run a task: one, or the cube core's and the lanes'.
template <typename Visit>
void for_each_core(const TaskPlan& plan, const Visit& visit) {
  visit(plan);
  for (const TaskPlan& part : plan.vec) {
    visit(part);
  }
}

// Tensor parameters that the code of a core reads and writes, through views too. One entry a tensor parameter.
struct CoreAccess {
  std::vector<bool> reads;
  std::vector<bool> writes;
};
CoreAccess core_access(const object::Core& core);

// The tensor parameter behind each tensor of a core: itself, or what its view shows in the end.
std::vector<uint32_t> root_tensors(const object::Core& core);

// The core's symbols that a plan gives values to, in the plan's order.
std::vector<SymId> fixed_symbols(const object::Core& core);

// All tasks, in order. Shapes and element types of arguments are those that the core's parameters have; every output is
// written by some task; the target has a core of every kind that is needed.
Result<std::vector<TaskPlan>> plan_tasks(const object::Object& object, const object::Program& program,
                                         const Binding& binding, const Target& target, const std::string& subject,
                                         DiagnosticSink& sink);

}  // namespace pto::runtime
