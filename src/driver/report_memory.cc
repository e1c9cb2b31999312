#include "src/driver/report_memory.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace pto::driver {

namespace {

using Json = nlohmann::ordered_json;

// Positions of the program as steps: flags and barriers move no bytes of a tile.
class Steps {
 public:
  Steps(const ir::Function& core, const passes::CoreLives& lives, const SourceManager& sources,
        MemoryReport::Core& out) {
    for (ir::OpId id : lives.instructions) {
      const ir::Op& op = core.ops[id];
      const isa::InstrInfo& info = isa::info(op.inst.opcode);
      const bool sync = info.timing == isa::TimingClass::Sync && info.format != isa::Format::Free;
      before_.push_back(static_cast<int>(out.steps.size()));
      if (!sync) {
        out.steps.push_back({std::string(info.mnemonic), line_of(sources, op.span())});
      }
    }
    before_.push_back(static_cast<int>(out.steps.size()));
  }

  static int line_of(const SourceManager& sources, Span span) {
    return span.valid() ? sources.line_column(span).line : 0;
  }

  // A half position as half a step; of instructions that are no step, the begin of the next.
  int64_t half(int64_t point) const {
    const size_t position = std::min(static_cast<size_t>(point / 2), before_.size() - 1);
    const bool step = position + 1 < before_.size() && before_[position + 1] > before_[position];
    return 2 * int64_t{before_[position]} + (step ? point % 2 : 0);
  }
  // Half steps among half positions [begin, end]; empty if the end is before the begin.
  passes::LiveRange among(const passes::LiveRange& halves) const {
    return {half(halves.begin), half(halves.end + 1) - 1};
  }

 private:
  std::vector<int> before_;  // steps before each position, and all
};

class LoopWalk {
 public:
  LoopWalk(const ir::Function& core, const Steps& steps, MemoryReport::Core& out)
      : core_(core), steps_(steps), out_(out) {
    walk(core.body, 0);
  }

 private:
  void walk(ir::RegionId region, int depth) {
    for (ir::OpId id : core_.regions[region].ops) {
      const ir::Op& op = core_.ops[id];
      const int64_t begin = position_;
      position_ += op.kind == ir::OpKind::Inst ? 1 : 0;
      const bool loop = op.kind == ir::OpKind::For;
      const size_t index = out_.loops.size();
      if (loop) {
        out_.loops.push_back({"for " + core_.symbols[op.syms[0].index()].name, 0, 0, depth});
      }
      for (ir::RegionId inner : op.regions) {
        walk(inner, loop ? depth + 1 : depth);
      }
      if (loop) {
        const passes::LiveRange span = steps_.among({2 * begin, 2 * position_ - 1});
        out_.loops[index].begin = static_cast<int>(span.begin / 2);
        out_.loops[index].end = static_cast<int>((span.end + 1) / 2) - 1;
      }
    }
  }

  const ir::Function& core_;
  const Steps& steps_;
  MemoryReport::Core& out_;
  int64_t position_ = 0;
};

MemoryReport::Buffer describe(const ir::Function& core, size_t index, const passes::Life& life, const Steps& steps,
                              const SourceManager& sources) {
  const isa::Buffer& from = core.buffers[index];
  MemoryReport::Buffer out;
  out.name = from.name;
  out.type = std::string(spelling(from.tile.dtype)) + "[" + std::to_string(from.tile.rows) + ", " +
             std::to_string(from.tile.cols) + "]";
  out.slots = from.slots;
  out.address = from.address;
  out.bytes = from.total_bytes();
  out.line = index < core.buffer_spans.size() ? Steps::line_of(sources, core.buffer_spans[index]) : 0;
  out.whole = life.whole;
  for (const passes::LiveRange& part : life.halves) {
    const passes::LiveRange span = steps.among(part);
    if (span.begin > span.end) {
      continue;
    }
    if (!out.halves.empty() && span.begin <= out.halves.back().end + 1) {
      out.halves.back().end = std::max(out.halves.back().end, span.end);
    } else {
      out.halves.push_back(span);
    }
  }
  out.live = passes::to_positions(out.halves);
  return out;
}

std::string hex(int64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string padded(std::string text, size_t width, bool right = false) {
  return text.size() >= width ? text
         : right              ? std::string(width - text.size(), ' ') + text
                              : text.append(width - text.size(), ' ');
}

// "3..8" for each part of the life, the lines of its instructions.
std::string lines_of(const MemoryReport::Core& core, const MemoryReport::Buffer& buffer) {
  if (buffer.whole) {
    return "always";
  }
  std::string text;
  std::string last_text;
  int parts = 0;
  for (const passes::LiveRange& part : buffer.live) {
    int first = 0;
    int last = 0;
    for (int64_t step = part.begin; step <= part.end; ++step) {
      const int line = core.steps[static_cast<size_t>(step)].line;
      if (line != 0) {
        first = first == 0 ? line : std::min(first, line);
        last = std::max(last, line);
      }
    }
    const std::string lines = first == 0      ? "?"
                              : first == last ? std::to_string(first)
                                              : std::to_string(first) + ".." + std::to_string(last);
    if (lines == last_text) {
      continue;
    }
    if (++parts > 3) {
      return text + ", ...";
    }
    text += text.empty() ? lines : ", " + lines;
    last_text = lines;
  }
  return text.empty() ? "never" : text;
}

std::string summary(const passes::SpacePlan& plan) {
  std::string text = std::to_string(plan.peak) + " of " + std::to_string(plan.capacity) + " bytes, most live at once " +
                     std::to_string(plan.bound) + ", gap " + std::to_string(plan.peak - plan.bound) +
                     "; without sharing " + std::to_string(plan.apart);
  return plan.crossings == 0 ? text : text + ", " + std::to_string(plan.crossings) + " handed from pipe to pipe";
}

}  // namespace

MemoryReport collect_memory(const ir::Module& module, const Target& target, const SourceManager& sources) {
  MemoryReport report;
  report.target = target.name;
  for (const ir::Function& core : module.functions) {
    if (core.kind != ir::FunctionKind::Core) {
      continue;
    }
    MemoryReport::Core out;
    out.name = core.name;
    out.kind = std::string(spelling(core.core_kind));
    out.placed = std::all_of(core.buffers.begin(), core.buffers.end(),
                             [](const isa::Buffer& buffer) { return buffer.address >= 0; });
    if (out.placed) {
      const passes::MemoryPlan plan = passes::measure_buffers(core, target);
      const Steps steps(core, plan.lives, sources, out);
      LoopWalk(core, steps, out);
      for (const passes::SpacePlan& space : plan.spaces) {
        MemoryReport::Memory memory;
        memory.plan = space;
        for (size_t i = 0; i < core.buffers.size(); ++i) {
          if (core.buffers[i].tile.space == space.space) {
            memory.buffers.push_back(describe(core, i, plan.lives.buffers[i], steps, sources));
          }
        }
        std::stable_sort(memory.buffers.begin(), memory.buffers.end(),
                         [](const auto& a, const auto& b) { return a.address < b.address; });
        out.memories.push_back(std::move(memory));
      }
    }
    report.cores.push_back(std::move(out));
  }
  return report;
}

std::string memory_text(const MemoryReport& report) {
  if (report.cores.empty()) {
    return "no core programs: memory is planned at the Block level\n";
  }
  std::string text;
  for (const MemoryReport::Core& core : report.cores) {
    text += text.empty() ? "" : "\n";
    text += "`" + core.name + "`, a " + core.kind + " core of " + report.target + "\n";
    if (!core.placed) {
      text += "  buffers have no addresses yet\n";
    }
    for (const MemoryReport::Memory& memory : core.memories) {
      text += "  " + std::string(spelling(memory.plan.space)) + ": " + summary(memory.plan) + "\n";
      std::vector<std::vector<std::string>> rows = {{"address", "bytes", "lines", "tile"}};
      for (const MemoryReport::Buffer& buffer : memory.buffers) {
        rows.push_back({hex(buffer.address), std::to_string(buffer.bytes), lines_of(core, buffer),
                        buffer.name + " " + buffer.type +
                            (buffer.slots == 1 ? "" : " in " + std::to_string(buffer.slots) + " slots") +
                            (buffer.line == 0 ? "" : ", line " + std::to_string(buffer.line))});
      }
      std::vector<size_t> widths(4);
      for (const auto& row : rows) {
        for (size_t i = 0; i < row.size(); ++i) {
          widths[i] = std::max(widths[i], row[i].size());
        }
      }
      for (const auto& row : rows) {
        text += "    " + padded(row[0], widths[0], true) + "  " + padded(row[1], widths[1], true) + "  " +
                padded(row[2], widths[2]) + "  " + row[3] + "\n";
      }
    }
  }
  return text;
}

std::string memory_json(const MemoryReport& report) {
  Json cores = Json::array();
  for (const MemoryReport::Core& core : report.cores) {
    Json steps = Json::array();
    for (const MemoryReport::Step& step : core.steps) {
      steps.push_back({{"instruction", step.mnemonic}, {"line", step.line}});
    }
    Json memories = Json::array();
    for (const MemoryReport::Memory& memory : core.memories) {
      Json buffers = Json::array();
      for (const MemoryReport::Buffer& buffer : memory.buffers) {
        Json live = Json::array();
        for (const passes::LiveRange& part : buffer.live) {
          live.push_back({part.begin, part.end});
        }
        buffers.push_back({{"name", buffer.name},
                           {"type", buffer.type},
                           {"slots", buffer.slots},
                           {"address", buffer.address},
                           {"bytes", buffer.bytes},
                           {"line", buffer.line},
                           {"always", buffer.whole},
                           {"live", std::move(live)}});
      }
      memories.push_back({{"space", std::string(spelling(memory.plan.space))},
                          {"capacity", memory.plan.capacity},
                          {"peak", memory.plan.peak},
                          {"most_live", memory.plan.bound},
                          {"gap", memory.plan.peak - memory.plan.bound},
                          {"without_sharing", memory.plan.apart},
                          {"handed_over", memory.plan.crossings},
                          {"buffers", std::move(buffers)}});
    }
    cores.push_back({{"name", core.name},
                     {"kind", core.kind},
                     {"placed", core.placed},
                     {"steps", std::move(steps)},
                     {"memories", std::move(memories)}});
  }
  const Json json = {{"schema", "ptoc-memory/1"}, {"target", report.target}, {"cores", std::move(cores)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pto::driver
