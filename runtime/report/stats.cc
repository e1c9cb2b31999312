// The table of `--stats`, and names of stalls.
#include <fmt/format.h>

#include <algorithm>

#include "pto/runtime.h"

namespace pto::runtime {
namespace {

struct Sum {
  int64_t cores = 0;
  int64_t instructions = 0;
  int64_t busy = 0;
  int64_t stall[kStallCount] = {};
  int64_t idle = 0;
};

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Sum sum_of(const RunResult& result, CoreKind kind, int pipe) {
  Sum sum;
  for (const CoreStats& core : result.cores) {
    const PipeStats& stats = core.pipes[pipe];
    if (core.kind != kind || (stats.instructions == 0 && stats.busy == 0)) {
      continue;
    }
    ++sum.cores;
    sum.instructions += stats.instructions;
    sum.busy += stats.busy;
    sum.idle += stats.idle;
    for (int reason = 0; reason < kStallCount; ++reason) {
      sum.stall[reason] += stats.stall[reason];
    }
  }
  return sum;
}

void append_pipes(std::string& out, const RunResult& result) {
  out += fmt::format("\n{:<10} {:>5} {:>12} {:>7}", "pipe", "cores", "instructions", "busy");
  for (int reason = 0; reason < kStallCount; ++reason) {
    out += fmt::format(" {:>10}", spelling(static_cast<Stall>(reason)));
  }
  out += fmt::format(" {:>7}\n", "idle");
  for (const CoreKind kind : {CoreKind::Cube, CoreKind::Vec}) {
    for (int pipe = 0; pipe < isa::kPipeCount; ++pipe) {
      const Sum sum = sum_of(result, kind, pipe);
      if (sum.cores == 0) {
        continue;
      }
      const int64_t total = sum.cores * result.cycles;
      out += fmt::format("{:<10} {:>5} {:>12} {:>6.1f}%",
                         fmt::format("{} {}", spelling(kind), isa::spelling(static_cast<isa::Pipe>(pipe))), sum.cores,
                         sum.instructions, percent(sum.busy, total));
      for (const int64_t stall : sum.stall) {
        out += fmt::format(" {:>9.1f}%", percent(stall, total));
      }
      out += fmt::format(" {:>6.1f}%\n", percent(sum.idle, total));
    }
  }
}

void append_tasks(std::string& out, const RunResult& result) {
  constexpr size_t kMostTasks = 40;
  size_t width = 4;
  const size_t shown = std::min(result.tasks.size(), kMostTasks);
  for (size_t i = 0; i < shown; ++i) {
    width = std::max(width, result.tasks[i].name.size());
  }
  out += fmt::format("\n{:<{}} {:>8} {:>12} {:>12} {:>12}\n", "task", width, "blocks", "start", "end", "cycles");
  for (size_t i = 0; i < shown; ++i) {
    const TaskStats& task = result.tasks[i];
    out += fmt::format("{:<{}} {:>8} {:>12} {:>12} {:>12}\n", task.name, width, task.blocks, task.start, task.end,
                       task.end - task.start);
  }
  if (shown < result.tasks.size()) {
    out += fmt::format("... {} more tasks\n", result.tasks.size() - shown);
  }
}

}  // namespace

std::string_view spelling(Stall stall) {
  switch (stall) {
    case Stall::Flag: return "flag";
    case Stall::Barrier: return "barrier";
    case Stall::Bandwidth: return "bandwidth";
    case Stall::Issue: return "issue";
    case Stall::Dispatch: return "dispatch";
    case Stall::Dependency: return "dependency";
    case Stall::Ring: return "ring";
  }
  return "";
}

std::string stats_text(const RunResult& result, const Target& target) {
  if (!result.timed) {
    return "no times: the run computed values only\n";
  }
  const double seconds = result.microseconds * 1e-6;
  const auto bandwidth = [&](int64_t bytes) {
    return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0.0;
  };
  std::string out;
  out += fmt::format("target        {} ({:.2f} GHz)\n", target.name, target.clock_ghz);
  out += fmt::format("cycles        {}\n", result.cycles);
  out += fmt::format("time          {:.3f} us\n", result.microseconds);
  out += fmt::format("instructions  {}\n", result.instructions);
  out += fmt::format("read          {} bytes ({:.1f} GB/s)\n", result.gm_read_bytes, bandwidth(result.gm_read_bytes));
  out += fmt::format("written       {} bytes ({:.1f} GB/s)\n", result.gm_write_bytes,
                     bandwidth(result.gm_write_bytes));
  if (!result.cores.empty() && result.cycles > 0) {
    out += fmt::format("busiest pipe  {} ({:.1f}% busy)\n", isa::spelling(result.busiest),
                       100 * result.busiest_utilisation);
  }
  append_pipes(out, result);
  append_tasks(out, result);
  return out;
}

}  // namespace pto::runtime
