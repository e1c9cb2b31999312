#include "runtime/sched/scheduler.h"

#include <algorithm>

namespace pto::runtime {
namespace {

constexpr size_t kClusters = 2;  // the queue of mixed tasks

}  // namespace

Scheduler::Scheduler(uint32_t cube_cores, uint32_t vec_cores, uint32_t vec_per_cube)
    : cube_cores_(cube_cores), vec_per_cube_(vec_per_cube) {
  for (uint32_t core = 0; core < cube_cores + vec_cores; ++core) {
    core_free(core, core < cube_cores ? CoreKind::Cube : CoreKind::Vec);
  }
}

void Scheduler::task_ready(uint32_t task, CoreKind kind, uint32_t lanes, int64_t blocks, Ticks now) {
  if (task >= tasks_.size()) {
    tasks_.resize(task + 1);
  }
  tasks_[task] = {0, blocks, lanes};
  ready_[lanes > 0 ? kClusters : static_cast<size_t>(kind)].emplace(now, task);
}

void Scheduler::core_free(uint32_t core, CoreKind kind) { free_[static_cast<size_t>(kind)].insert(core); }

// Where the first task of a queue could go.
std::optional<uint32_t> Scheduler::free_core(size_t queue) const {
  if (queue != kClusters) {
    return free_[queue].empty() ? std::nullopt : std::optional(*free_[queue].begin());
  }
  const std::set<uint32_t>& vec = free_[static_cast<size_t>(CoreKind::Vec)];
  const uint32_t lanes = tasks_[ready_[kClusters].begin()->second].lanes;
  for (uint32_t cube : free_[static_cast<size_t>(CoreKind::Cube)]) {
    uint32_t lane = 0;
    while (lane < lanes && vec.count(cube_cores_ + cube * vec_per_cube_ + lane) != 0) {
      ++lane;
    }
    if (lane == lanes) {
      return cube;
    }
  }
  return std::nullopt;
}

std::optional<Scheduler::Dispatch> Scheduler::next() {
  std::optional<size_t> chosen;
  std::optional<uint32_t> core;
  for (size_t queue = 0; queue < ready_.size(); ++queue) {
    if (ready_[queue].empty() || (chosen && *ready_[*chosen].begin() < *ready_[queue].begin())) {
      continue;
    }
    if (const std::optional<uint32_t> found = free_core(queue)) {
      chosen = queue;
      core = found;
    }
  }
  if (!chosen) {
    return std::nullopt;
  }
  const uint32_t task = ready_[*chosen].begin()->second;
  Waiting& waiting = tasks_[task];
  const Dispatch dispatch{task, waiting.next_block++, *core};
  free_[static_cast<size_t>(*core < cube_cores_ ? CoreKind::Cube : CoreKind::Vec)].erase(*core);
  for (uint32_t lane = 0; lane < waiting.lanes; ++lane) {
    free_[static_cast<size_t>(CoreKind::Vec)].erase(cube_cores_ + *core * vec_per_cube_ + lane);
  }
  if (waiting.next_block == waiting.blocks) {
    ready_[*chosen].erase(ready_[*chosen].begin());
  }
  return dispatch;
}

}  // namespace pto::runtime
