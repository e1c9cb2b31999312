#include "src/passes/block/prove_pairs_trace.h"

#include <algorithm>

namespace pto::passes {

namespace {

constexpr int64_t kShort = 32;                  // iterations that are always written out
constexpr int64_t kKept = 4;                    // of equal iterations, on each side of a cut, beyond two periods
constexpr int64_t kLongest = int64_t{1} << 40;  // loop

class Tracer {
 public:
  Tracer(const PairSkeleton& pair, const PairForms& forms, size_t process, const AtomValues& atoms, int cut,
         size_t most)
      : process_(pair.processes[process]),
        formulas_(forms.formulas[process]),
        trips_(forms.trips[process]),
        forms_(forms),
        atoms_(atoms),
        counters_(pair.counters.size(), 0),
        cut_(cut),
        left_(most) {}

  bool run(std::string& problem) {
    const bool ok = body(process_.body, 0);
    if (!ok) {
      problem = problem_;
    }
    return ok;
  }
  RingTrace trace() { return std::move(trace_); }

 private:
  struct Segment {  // iterations that are written out
    int64_t first = 0;
    int64_t end = 0;
    size_t at = 0;        // how many before it are
    int64_t skipped = 0;  // equal ones behind it that are not
  };

  bool fail(std::string why) {
    problem_ = std::move(why);
    return false;
  }

  bool step(size_t steps = 1) {
    if (left_ < steps) {
      return fail("its loops run too long");
    }
    left_ -= steps;
    trace_.steps += steps;
    return true;
  }

  bool body(const std::vector<size_t>& nodes, int level) {
    for (const size_t number : nodes) {
      const RingNode& node = process_.nodes[number];
      if (!step()) {
        return false;
      }
      if (node.kind == RingNode::Kind::Event) {
        trace_.events.push_back({node.action, node.ring, node.op});
        continue;
      }
      constexpr size_t kCheap = 16;  // operations
      if (!step(formulas_[number].steps.size() / kCheap)) {
        return false;
      }
      const auto value = evaluate(formulas_[number], counters_, atoms_.values);
      if (!value) {
        return fail("a loop bound or condition is too large to be computed");
      }
      const bool ok = node.kind == RingNode::Kind::Branch ? body(*value != 0 ? node.body : node.other, level)
                                                          : loop(number, *value, level);
      if (!ok) {
        return false;
      }
    }
    return true;
  }

  bool loop(size_t number, int64_t trip, int level) {
    if (trip <= 0) {
      return true;
    }
    if (trip > kLongest) {
      return fail("its loops run too long");
    }
    const RingNode& node = process_.nodes[number];
    const std::vector<Segment> segments = segments_of(node, trip);
    const size_t run = trace_.runs.size();
    const size_t first_site = trace_.sites.size();
    trace_.runs.push_back({number, 0, 0});
    for (const Segment& segment : segments) {
      if (segment.skipped > 0) {
        const auto at = static_cast<int64_t>(segment.at);
        const int64_t count = segment.end - segment.first;
        trace_.sites.push_back({level, run, at, at + count - forms_.period, segment.skipped});
      }
    }
    if (grows(number, trip)) {
      trace_.sites.push_back(growth(node, trip, segments, level, run));
    }
    const int inside = trace_.sites.size() > first_site ? level + 1 : level;
    std::vector<size_t> heads;
    for (const Segment& segment : segments) {
      for (int64_t i = segment.first; i < segment.end; ++i) {
        if (!step()) {
          return false;
        }
        counters_[static_cast<size_t>(node.depth)] = i;
        heads.push_back(trace_.events.size());
        if (!body(node.body, inside)) {
          return false;
        }
      }
    }
    trace_.runs[run].first = trace_.heads.size();
    trace_.runs[run].count = heads.size();
    heads.push_back(trace_.events.size());
    trace_.heads.insert(trace_.heads.end(), heads.begin(), heads.end());
    return true;
  }

  // Does the loop run longer if one of the atoms that stand for larger values is larger?
  bool grows(size_t number, int64_t trip) {
    for (const Linear& x : trips_[number].cases) {
      for (const auto& [expr, factor] : x.atoms) {
        const size_t atom = forms_.atoms.at(expr).number;
        if (atoms_.grows[atom] == 0) {
          continue;
        }
        std::vector<int64_t> larger = atoms_.values;
        larger[atom] += forms_.period;
        if (evaluate(formulas_[number], counters_, larger) != trip) {
          return true;
        }
      }
    }
    return false;
  }

  // Where a period fits behind all that is counted from the start and before all that is counted from the end.
  PumpSite growth(const RingNode& node, int64_t trip, const std::vector<Segment>& segments, int level, size_t run) {
    int64_t first = 0;
    int64_t last = trip - forms_.period;
    for (const IterationRange& range : node.heads) {
      first = range.first < trip + forms_.period ? std::max(first, range.last + 1) : first;
    }
    for (const IterationRange& range : node.tails) {
      last = range.first < trip + forms_.period ? std::min(last, trip - range.last - forms_.period) : last;
    }
    for (const Segment& segment : segments) {
      if (segment.first <= first && first + forms_.period <= segment.end) {
        const auto at = static_cast<int64_t>(segment.at);
        return {level, run, at + first - segment.first,
                at + std::min(last, segment.end - forms_.period) - segment.first, 0};
      }
    }
    return {level, run, 1, 0, 0};
  }

  // A long loop is cut in its longest stretch of equal iterations, whichever core it is in: all cores are cut alike.
  std::vector<Segment> segments_of(const RingNode& node, int64_t trip) const {
    const int64_t unit = kShort * forms_.period;
    const int64_t skipped = (trip - unit - cut_ * 8) / unit * unit;
    if (cut_ == kUncut || skipped <= 0) {
      return {{0, trip, 0, 0}};
    }
    std::vector<IterationRange> marks = forms_.heads[static_cast<size_t>(node.depth)];
    for (const IterationRange& range : forms_.tails[static_cast<size_t>(node.depth)]) {
      marks.push_back({trip - range.last, trip - range.first});
    }
    marks.push_back({trip, trip});
    std::sort(marks.begin(), marks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const int64_t kept = 2 * forms_.period + kKept;
    int64_t free = 0;  // first iteration behind the marks so far
    int64_t best = 0;
    int64_t best_length = 0;
    for (const IterationRange& mark : marks) {
      if (mark.first - free > best_length) {
        best = free;
        best_length = mark.first - free;
      }
      free = std::max(free, std::min(mark.last, trip) + 1);
    }
    if (best_length < skipped + 2 * kept) {
      return {{0, trip, 0, 0}};
    }
    // Equal iterations before the cut are a segment of their own: what stands in front of them is not part of it.
    std::vector<Segment> segments;
    if (best > 0) {
      segments.push_back({0, best, 0, 0});
    }
    segments.push_back({best, best + kept, static_cast<size_t>(best), skipped});
    segments.push_back({best + kept + skipped, trip, static_cast<size_t>(best + kept), 0});
    return segments;
  }

  const RingProcess& process_;
  const std::vector<Formula>& formulas_;
  const std::vector<Form>& trips_;
  const PairForms& forms_;
  const AtomValues& atoms_;
  std::vector<int64_t> counters_;
  int cut_;
  size_t left_;
  RingTrace trace_;
  std::string problem_;
};

}  // namespace

std::optional<RingTrace> ring_trace(const PairSkeleton& pair, const PairForms& forms, size_t process,
                                    const AtomValues& atoms, int cut, size_t most, std::string& problem) {
  Tracer tracer(pair, forms, process, atoms, cut, most);
  if (!tracer.run(problem)) {
    return std::nullopt;
  }
  return tracer.trace();
}

}  // namespace pto::passes
