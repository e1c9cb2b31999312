#include "runtime/sched/account.h"

namespace pto::runtime {

int64_t cycles_of(Ticks ticks) { return (ticks + timing::kTicksPerCycle - 1) / timing::kTicksPerCycle; }

CoreStats core_stats(const CoreTimer& core, int index, Ticks total) {
  CoreStats stats;
  stats.kind = core.kind();
  stats.index = index;
  stats.blocks = core.blocks();
  for (int i = 0; i < isa::kPipeCount; ++i) {
    const PipeTotals& totals = core.totals(i);
    PipeStats& pipe = stats.pipes[i];
    pipe.instructions = totals.instructions;
    Ticks sum = 0;
    const auto cycles = [&sum](Ticks part) {
      const int64_t before = cycles_of(sum);
      sum += part;
      return cycles_of(sum) - before;
    };
    pipe.busy = cycles(totals.busy);
    for (int reason = 0; reason < kStallCount; ++reason) {
      pipe.stall[reason] = cycles(totals.stalls[static_cast<size_t>(reason)]);
    }
    pipe.idle = cycles(total - sum);
  }
  return stats;
}

void find_busiest(RunResult& result) {
  int64_t most = 0;
  for (int i = 0; i < isa::kPipeCount; ++i) {
    int64_t busy = 0;
    int64_t cores = 0;
    for (const CoreStats& core : result.cores) {
      busy += core.pipes[i].busy;
      cores += core.pipes[i].instructions > 0 || core.pipes[i].busy > 0 ? 1 : 0;
    }
    if (busy > most) {
      most = busy;
      result.busiest = static_cast<isa::Pipe>(i);
      result.busiest_utilisation = static_cast<double>(busy) / (static_cast<double>(result.cycles) * static_cast<double>(cores));
    }
  }
}

}  // namespace pto::runtime
