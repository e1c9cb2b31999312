#include "runtime/sched/deadlock.h"

#include <algorithm>

namespace pto::runtime {
namespace {

using Kind = CoreWait::Kind;

class Explainer {
 public:
  Explainer(const std::vector<StuckCore>& cores, const object::Object& object) : cores_(cores), object_(object) {
    for (size_t core = 0; core < cores.size(); ++core) {
      first_.push_back(waits_.size());
      for (CoreWait& wait : cores[core].timer->waits()) {
        waits_.push_back({core, std::move(wait)});
      }
    }
    first_.push_back(waits_.size());
  }

  std::vector<StuckLine> run() {
    const std::vector<size_t> circle = find_circle();
    const std::vector<size_t> first = circle.empty() && !waits_.empty() ? std::vector{last_of_chain()} : circle;
    std::vector<StuckLine> lines;
    for (size_t wait : first) {
      lines.push_back(line(wait));
    }
    if (circle.size() > 1) {
      lines.push_back({"each of these waits for the next one, and the last for the first", {}});
    }
    for (size_t wait = 0; wait < waits_.size(); ++wait) {
      if (std::find(first.begin(), first.end(), wait) == first.end()) {
        lines.push_back(line(wait));
      }
    }
    return lines;
  }

 private:
  struct Wait {
    size_t core = 0;
    CoreWait wait;
  };

  // The wait of a core's pipe; of the scalar unit where that pipe has nothing to do: it has not issued it yet.
  std::optional<size_t> wait_of(size_t core, isa::Pipe pipe) const {
    for (isa::Pipe wanted : {pipe, isa::Pipe::S}) {
      for (size_t i = first_[core]; i < first_[core + 1]; ++i) {
        if (waits_[i].wait.pipe == wanted) {
          return i;
        }
      }
    }
    return std::nullopt;
  }

  const RingTimes& rings(const Wait& wait) const { return *cores_[wait.core].timer->rings(); }

  std::vector<int> late_sides(const Wait& wait) const {
    return wait.wait.kind == Kind::Tile ? rings(wait).late_pushers(wait.wait.ring, wait.wait.number)
                                        : rings(wait).late_poppers(wait.wait.ring, wait.wait.number);
  }

  std::optional<size_t> core_of(const Wait& wait, int side) const {
    return cores_[wait.core].sides[side == kCubeSide ? 0 : static_cast<size_t>(side) + 1];
  }

  // The wait that must end before this one can.
  std::optional<size_t> next(size_t index) const {
    const Wait& wait = waits_[index];
    switch (wait.wait.kind) {
      case Kind::Flag:
      case Kind::Queue:
        return wait_of(wait.core, wait.wait.other);
      case Kind::Barrier:
        for (size_t i = first_[wait.core]; i < first_[wait.core + 1]; ++i) {
          if (waits_[i].wait.pipe != isa::Pipe::S) {
            return i;
          }
        }
        return std::nullopt;
      case Kind::Room:
      case Kind::Tile:
        break;
    }
    for (int side : late_sides(wait)) {
      if (const std::optional<size_t> core = core_of(wait, side)) {
        return wait_of(*core, cores_[*core].timer->pipe_of_ring(wait.wait.ring).value_or(isa::Pipe::S));
      }
    }
    return std::nullopt;
  }

  // The first circle that a walk along `next` gets into, from a wait for a ring on if there is one.
  std::vector<size_t> find_circle() const {
    std::vector<size_t> seen_by(waits_.size(), waits_.size());
    for (size_t start = 0; start < waits_.size(); ++start) {
      std::vector<size_t> path;
      std::optional<size_t> at = start;
      while (at && seen_by[*at] == waits_.size()) {
        seen_by[*at] = start;
        path.push_back(*at);
        at = next(*at);
      }
      if (at && seen_by[*at] == start) {
        std::vector<size_t> circle(std::find(path.begin(), path.end(), *at), path.end());
        const auto ring = std::find_if(circle.begin(), circle.end(), [&](size_t wait) {
          return waits_[wait].wait.kind == Kind::Tile || waits_[wait].wait.kind == Kind::Room;
        });
        std::rotate(circle.begin(), ring == circle.end() ? circle.begin() : ring, circle.end());
        return circle;
      }
    }
    return {};
  }

  // Where there is no circle: what the first wait comes down to.
  size_t last_of_chain() const {
    size_t at = 0;
    while (const std::optional<size_t> after = next(at)) {
      at = *after;
    }
    return at;
  }

  StuckLine line(size_t index) const {
    const Wait& wait = waits_[index];
    const object::Core& core = cores_[wait.core].timer->core();
    const object::Location& location = core.code[wait.wait.statement].location;
    const std::string place = line_of(object_, location);
    std::string text = cores_[wait.core].name + ": pipe " + std::string(isa::spelling(wait.wait.pipe)) + " waits " +
                       wait.wait.what + " at " +
                       (place.empty() ? "statement " + std::to_string(wait.wait.statement) : place);
    if (wait.wait.since) {
      text += " since cycle " + std::to_string(*wait.wait.since / timing::kTicksPerCycle);
    }
    if (wait.wait.kind == Kind::Room || wait.wait.kind == Kind::Tile) {
      const char* what = wait.wait.kind == Kind::Tile ? " should have pushed tile " : " should have given back tile ";
      for (int side : late_sides(wait)) {
        text += "; " + side_text(side) + (core_of(wait, side) ? "" : ", which has ended,") + what +
                std::to_string(wait.wait.number);
      }
    }
    return {std::move(text), location};
  }

  const std::vector<StuckCore>& cores_;
  const object::Object& object_;
  std::vector<Wait> waits_;
  std::vector<size_t> first_;  // by core: its first wait
};

}  // namespace

std::vector<StuckLine> explain_deadlock(const std::vector<StuckCore>& cores, const object::Object& object) {
  return Explainer(cores, object).run();
}

}  // namespace pto::runtime
