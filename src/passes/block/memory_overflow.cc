#include "src/passes/block/memory_overflow.h"

#include <algorithm>
#include <map>
#include <optional>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/memory_pack.h"

namespace pto::passes {

namespace {

using isa::Buffer;

constexpr size_t kMostNotes = 10;
constexpr size_t kMostNames = 4;
constexpr size_t kMostTried = 8;  // buffers
constexpr int kMostPlans = 64;    // for all of them together
constexpr size_t kMostOpsToTry = 8192;
constexpr size_t kMostBuffersToTry = 1024;  // in a core: each try looks at all of them

std::string size_text(const Buffer& buffer) {
  return std::string(spelling(buffer.tile.dtype)) + "[" + std::to_string(buffer.tile.rows) + ", " +
         std::to_string(buffer.tile.cols) + "]" +
         (buffer.slots == 1 ? "" : " in " + std::to_string(buffer.slots) + " slots");
}

// The half point at which the most bytes are live.
int64_t fullest_point(const ir::Function& core, const CoreLives& lives, Space space) {
  std::map<int64_t, int64_t> change;
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    if (core.buffers[i].tile.space == space) {
      for (const LiveRange& part : lives.buffers[i].halves) {
        change[part.begin] += std::min(core.buffers[i].total_bytes(), kMostBytes >> 20);
        change[part.end + 1] -= std::min(core.buffers[i].total_bytes(), kMostBytes >> 20);
      }
    }
  }
  int64_t best = 0;
  int64_t most = -1;
  int64_t live = 0;
  for (const auto& [point, bytes] : change) {
    live += bytes;
    if (live > most) {
      most = live;
      best = point;
    }
  }
  return best;
}

bool live_at(const Life& life, int64_t point) {
  return meet(life.halves, {{point, point}});
}

std::string lifetime_text(const ir::Function& core, const CoreLives& lives, const Life& life,
                          const SourceManager* sources) {
  if (life.whole) {
    return "kept for the whole program";
  }
  if (life.halves.empty()) {
    return "never used";
  }
  if (sources == nullptr) {
    return "live";
  }
  // The lines of its parts, not of its first and last instruction: a value that goes round a loop lives in all of it.
  int first = 0;
  int last = 0;
  for (const LiveRange& part : life.halves) {
    const auto end = std::min(part.end / 2, static_cast<int64_t>(lives.instructions.size()) - 1);
    for (int64_t at = part.begin / 2; at <= end; ++at) {
      const Span span = core.ops[lives.instructions[static_cast<size_t>(at)]].span();
      if (span.valid()) {
        const int line = sources->line_column(span).line;
        first = first == 0 ? line : std::min(first, line);
        last = std::max(last, line);
      }
    }
  }
  if (first == 0) {
    return "live";
  }
  return first == last ? "live in line " + std::to_string(first)
                       : "live from line " + std::to_string(first) + " to " + std::to_string(last);
}

// ---- trying ----

class Trials {
 public:
  Trials(const Target& target, Space space, bool reuse) : target(target), space(space), reuse_(reuse) {}

  bool fits(const ir::Function& core) {
    if (!may_fit(core, target, space) || --left_ < 0) {
      return false;
    }
    const MemoryPlan plan = plan_buffers(core, target, reuse_);
    return std::all_of(plan.spaces.begin(), plan.spaces.end(),
                       [&](const SpacePlan& s) { return s.space != space || s.fits(); });
  }

  const Target& target;
  const Space space;

 private:
  const bool reuse_;
  int left_ = kMostPlans;
};

std::string names_of(const ir::Function& core, const std::vector<size_t>& buffers) {
  std::string text;
  const size_t shown = std::min(buffers.size(), kMostNames);
  for (size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == shown && shown == buffers.size();
    text += i == 0 ? "" : last ? " and " : ", ";
    text += "`" + core.buffers[buffers[i]].name + "`";
  }
  return shown == buffers.size() ? text : text + " and " + std::to_string(buffers.size() - shown) + " more";
}

// Buffers of the space, largest first.
std::vector<size_t> candidates(const ir::Function& core, Space space) {
  std::vector<size_t> all;
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    if (core.buffers[i].tile.space == space) {
      all.push_back(i);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [&](size_t a, size_t b) { return core.buffers[a].total_bytes() > core.buffers[b].total_bytes(); });
  if (all.size() > kMostTried) {
    all.resize(kMostTried);
  }
  return all;
}

std::string fewer_slots(const ir::Function& core, Trials& trials) {
  for (size_t i : candidates(core, trials.space)) {
    for (int64_t slots = core.buffers[i].slots - 1; slots >= 1; --slots) {
      ir::Function trial = core;
      trial.buffers[i].slots = slots;
      trial.buffers[i].slot_stride = slots == 1 ? 0 : trial.buffers[i].slot_stride;
      if (trials.fits(trial)) {
        return "it fits with " + std::to_string(slots) + (slots == 1 ? " slot" : " slots") + " instead of " +
               std::to_string(core.buffers[i].slots) + " in `" + core.buffers[i].name + "`";
      }
    }
  }
  return "";
}

// Sets rows (or columns) of all buffers of the space that have as many as `like`, keeping them legal. They belong
// together: one tile of an elementwise chain is never smaller alone.
std::string fewer(const ir::Function& core, Trials& trials, bool rows) {
  const Space space = trials.space;
  const Target& target = trials.target;
  for (size_t like : candidates(core, space)) {
    const int64_t now = rows ? core.buffers[like].tile.rows : core.buffers[like].tile.cols;
    const int64_t step = rows && now % 16 != 0 ? 1 : rows ? 16 : 32;
    std::vector<size_t> together;
    for (size_t i = 0; i < core.buffers.size(); ++i) {
      const TileDesc& tile = core.buffers[i].tile;
      if (tile.space == space && (rows ? tile.rows : tile.cols) == now) {
        together.push_back(i);
      }
    }
    auto fits_with = [&](int64_t extent) {
      ir::Function trial = core;
      for (size_t i : together) {
        Buffer& buffer = trial.buffers[i];
        (rows ? buffer.tile.rows : buffer.tile.cols) = extent;
        if (buffer.slots > 1) {
          buffer.slot_stride = slot_stride(buffer.tile, target);
        }
        if (isa::check_buffer(buffer, target) && buffer.tile.bytes() <= target.space(space).bytes) {
          return false;
        }
      }
      return trials.fits(trial);
    };
    // The largest multiple of the step that fits.
    int64_t low = 0;
    int64_t high = (now - 1) / step;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (fits_with(middle * step)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low > 0) {
      return "it fits with " + std::to_string(low * step) + (rows ? " rows" : " columns") + " instead of " +
             std::to_string(now) + " in " + names_of(core, together);
    }
  }
  return "";
}

}  // namespace

std::string smallest_change(const ir::Function& core, const Target& target, Space space, bool reuse) {
  if (core.buffers.size() > kMostBuffersToTry || core.ops.size() > kMostOpsToTry) {
    return "";
  }
  if (!reuse && Trials(target, space, true).fits(core)) {
    return "it fits without `--no-reuse`";
  }
  Trials trials(target, space, reuse);
  std::string change = fewer_slots(core, trials);
  if (change.empty()) {
    change = fewer(core, trials, true);
  }
  return change.empty() ? fewer(core, trials, false) : change;
}

void report_overflow(const ir::Function& core, const Target& target, const MemoryPlan& plan, const SpacePlan& space,
                     bool reuse, const SourceManager* sources, DiagnosticSink& sink) {
  auto handle = sink.report(DiagId::BufferOverflow, core.span,
                            {std::string(spelling(space.space)), std::to_string(space.peak),
                             std::to_string(space.capacity), std::to_string(space.peak - space.capacity)});
  const int64_t point = fullest_point(core, plan.lives, space.space);
  std::vector<size_t> order;
  size_t live = 0;
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    if (core.buffers[i].tile.space == space.space) {
      order.push_back(i);
      live += live_at(plan.lives.buffers[i], point) ? 1 : 0;
    }
  }
  // Those live where it is fullest, the largest first; then the others.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const bool live_a = live_at(plan.lives.buffers[a], point);
    const bool live_b = live_at(plan.lives.buffers[b], point);
    return live_a != live_b ? live_a : core.buffers[a].total_bytes() > core.buffers[b].total_bytes();
  });
  const size_t shown = std::min({order.size(), kMostNotes, reuse ? live : order.size()});
  for (size_t i = 0; i < shown; ++i) {
    const Buffer& buffer = core.buffers[order[i]];
    const Span span = order[i] < core.buffer_spans.size() ? core.buffer_spans[order[i]] : Span{};
    handle.note(span, "`" + buffer.name + "`: " + size_text(buffer) + ", " + std::to_string(buffer.total_bytes()) +
                          " bytes, " + lifetime_text(core, plan.lives, plan.lives.buffers[order[i]], sources));
  }
  if (reuse && live > shown) {
    handle.note(core.span, "and " + std::to_string(live - shown) + " more that are live with these");
  }
  if (reuse && space.bound <= space.capacity) {
    handle.note(core.span, "at most " + std::to_string(space.bound) +
                               " bytes are live at once, but no arrangement of them was found that fits");
  }
  const std::string change = smallest_change(core, target, space.space, reuse);
  if (!change.empty()) {
    handle.help(change);
  }
}

}  // namespace pto::passes
