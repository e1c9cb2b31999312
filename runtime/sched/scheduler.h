// The task scheduler of the simulated machine: which block goes to which core, and when. One server: it spends
// `dispatch_cycles` on every block. Ready tasks wait in the order they became ready (task order among equals), a queue a
// kind of core; a block goes to the free core with the lowest index. A block of a mixed task takes a cluster: a cube core
// and the vector cores that belong to it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
    uint32_t core = 0;  // of a mixed task: the cube core
  };

  // Cores 0 .. cube_cores-1 are cube cores, the following ones vector cores.
  Scheduler(uint32_t cube_cores, uint32_t vec_cores, uint32_t vec_per_cube);

  // `lanes`: of a mixed task, else 0.
  void task_ready(uint32_t task, CoreKind kind, uint32_t lanes, int64_t blocks, Ticks now);
  void core_free(uint32_t core, CoreKind kind);
  // The next block to hand out; nothing if no ready block has a free core.
  std::optional<Dispatch> next();

 private:
  struct Waiting {
    int64_t next_block = 0;
    int64_t blocks = 0;
    uint32_t lanes = 0;
  };
  using Ready = std::set<std::pair<Ticks, uint32_t>>;  // (since, task)
  std::optional<uint32_t> free_core(size_t queue) const;
  // Tasks for vector cores, for cube cores, for clusters; free cores of the two kinds.
  std::array<Ready, 3> ready_;
  std::array<std::set<uint32_t>, 2> free_;
  uint32_t cube_cores_ = 0;
  uint32_t vec_per_cube_ = 2;
  std::vector<Waiting> tasks_;  // by task
};

}  // namespace pto::runtime
