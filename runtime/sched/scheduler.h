// The task scheduler of the simulated machine: which block goes to which core, and when. One server: it spends
// `dispatch_cycles` on every block. Ready tasks wait in the order they became ready (task order among equals), a queue a
// kind of core; a block goes to the free core with the lowest index.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <vector>

#include "runtime/loader/tasks.h"
#include "src/timing/timing.h"

namespace pto::runtime {

using timing::Ticks;

class Scheduler {
 public:
  struct Dispatch {
    uint32_t task = 0;
    int64_t block = 0;
    uint32_t core = 0;
  };

  // Cores 0 .. cube_cores-1 are cube cores, the following ones vector cores.
  Scheduler(uint32_t cube_cores, uint32_t vec_cores);

  void task_ready(uint32_t task, CoreKind kind, int64_t blocks, Ticks now);
  void core_free(uint32_t core, CoreKind kind);
  // The next block to hand out; nothing if no ready block has a free core.
  std::optional<Dispatch> next();

 private:
  struct Waiting {
    int64_t next_block = 0;
    int64_t blocks = 0;
  };
  struct Kind {
    std::set<std::pair<Ticks, uint32_t>> ready;  // (since, task)
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> free;
  };
  std::array<Kind, 2> kinds_;
  std::vector<Waiting> tasks_;  // by task
};

}  // namespace pto::runtime
