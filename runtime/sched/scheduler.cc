#include "runtime/sched/scheduler.h"

namespace pto::runtime {

Scheduler::Scheduler(uint32_t cube_cores, uint32_t vec_cores) {
  for (uint32_t core = 0; core < cube_cores + vec_cores; ++core) {
    core_free(core, core < cube_cores ? CoreKind::Cube : CoreKind::Vec);
  }
}

void Scheduler::task_ready(uint32_t task, CoreKind kind, int64_t blocks, Ticks now) {
  if (task >= tasks_.size()) {
    tasks_.resize(task + 1);
  }
  tasks_[task] = {0, blocks};
  kinds_[static_cast<size_t>(kind)].ready.emplace(now, task);
}

void Scheduler::core_free(uint32_t core, CoreKind kind) { kinds_[static_cast<size_t>(kind)].free.push(core); }

std::optional<Scheduler::Dispatch> Scheduler::next() {
  Kind* chosen = nullptr;
  for (Kind& kind : kinds_) {
    if (!kind.ready.empty() && !kind.free.empty() &&
        (chosen == nullptr || *kind.ready.begin() < *chosen->ready.begin())) {
      chosen = &kind;
    }
  }
  if (chosen == nullptr) {
    return std::nullopt;
  }
  const uint32_t task = chosen->ready.begin()->second;
  Waiting& waiting = tasks_[task];
  const Dispatch dispatch{task, waiting.next_block++, chosen->free.top()};
  chosen->free.pop();
  if (waiting.next_block == waiting.blocks) {
    chosen->ready.erase(chosen->ready.begin());
  }
  return dispatch;
}

}  // namespace pto::runtime
