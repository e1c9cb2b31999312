// Which earlier tasks a task waits for when values are computed.
#include <algorithm>
#include <optional>

#include "runtime/values/execute.h"

namespace pto::runtime {
namespace {

// For every tensor, the tensors that share bytes with it, itself included. Parameters share none; buffers may.
std::vector<std::vector<uint32_t>> sharing(const Binding& binding) {
  std::vector<uint32_t> order;
  std::vector<std::vector<uint32_t>> shared(binding.tensors.size());
  for (uint32_t i = 0; i < binding.tensors.size(); ++i) {
    shared[i].push_back(i);
    if (binding.tensors[i].is_buffer) {
      order.push_back(i);
    }
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::make_pair(binding.tensors[a].address, a) < std::make_pair(binding.tensors[b].address, b);
  });
  for (size_t i = 0; i < order.size(); ++i) {
    const BoundTensor& tensor = binding.tensors[order[i]];
    for (size_t j = i + 1; j < order.size(); ++j) {
      if (binding.tensors[order[j]].address >= tensor.address + tensor.bytes) {
        break;
      }
      shared[order[i]].push_back(order[j]);
      shared[order[j]].push_back(order[i]);
    }
  }
  return shared;
}

struct History {
  std::optional<uint32_t> writer;  // last task that wrote it
  std::vector<uint32_t> readers;   // tasks that read it since
};

}  // namespace

std::vector<std::vector<uint32_t>> value_order(const object::Object& object, const object::Program& program,
                                               const Binding& binding, const std::vector<TaskPlan>& plans) {
  std::vector<CoreAccess> access;
  for (const object::Core& core : object.cores) {
    access.push_back(core_access(core));
  }
  const std::vector<std::vector<uint32_t>> shared = sharing(binding);
  std::vector<History> history(binding.tensors.size());
  std::vector<std::vector<uint32_t>> waits(plans.size());
  for (uint32_t task = 0; task < plans.size(); ++task) {
    const TaskPlan& plan = plans[task];
    std::vector<uint32_t>& after = waits[task];
    after = program.tasks[task].after;
    for_each_core(plan, [&](const TaskPlan& part) {
      for (size_t i = 0; i < part.tensors.size(); ++i) {
        const bool writes = access[part.core].writes[i];
        for (uint32_t other : shared[part.tensors[i]]) {
          const History& earlier = history[other];
          if (earlier.writer) {
            after.push_back(*earlier.writer);
          }
          if (writes) {
            after.insert(after.end(), earlier.readers.begin(), earlier.readers.end());
          }
        }
      }
    });
    for_each_core(plan, [&](const TaskPlan& part) {
      for (size_t i = 0; i < part.tensors.size(); ++i) {
        if (access[part.core].writes[i]) {
          history[part.tensors[i]] = {task, {}};
        }
      }
    });
    for_each_core(plan, [&](const TaskPlan& part) {
      for (size_t i = 0; i < part.tensors.size(); ++i) {
        if (access[part.core].reads[i]) {
          history[part.tensors[i]].readers.push_back(task);
        }
      }
    });
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    // A task that reads and writes a tensor is its own reader.
    std::erase_if(after, [task](uint32_t earlier) { return earlier >= task; });
  }
  return waits;
}

}  // namespace pto::runtime
