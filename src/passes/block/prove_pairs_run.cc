#include "src/passes/block/prove_pairs_run.h"

#include <algorithm>

namespace pto::passes {

RingRun::RingRun(const PairSkeleton& pair, const std::vector<RingTrace>& traces, size_t& work)
    : pair_(&pair), traces_(&traces), rings_(pair.rings.size()), work_(&work) {}

bool RingRun::step(size_t process) {
  const RingEvent& event = (*traces_)[process].events[at_[process]];
  State& ring = rings_[event.ring];
  const size_t side = pair_->processes[process].side;
  switch (event.action) {
    case RingAction::Push: {
      const auto end = ring.freed.begin() + static_cast<std::ptrdiff_t>(pair_->poppers[event.ring]);
      if (ring.pushed[side] - *std::min_element(ring.freed.begin(), end) >= pair_->rings[event.ring].slots) {
        return false;
      }
      ++ring.pushed[side];
      break;
    }
    case RingAction::Pop: {
      const auto end = ring.pushed.begin() + static_cast<std::ptrdiff_t>(pair_->pushers[event.ring]);
      if (*std::min_element(ring.pushed.begin(), end) <= ring.popped[side]) {
        return false;
      }
      ++ring.popped[side];
      ring.freed[side] += pair_->local[event.ring] != 0 ? 0 : 1;
      break;
    }
    case RingAction::Free:
      ++ring.freed[side];
      break;
    case RingAction::Use:
      break;
  }
  ++at_[process];
  ++*work_;
  return true;
}

void RingRun::advance(const RingCut& limit) {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t p = 0; p < traces_->size(); ++p) {
      const size_t end = std::min(limit[p], (*traces_)[p].events.size());
      while (at_[p] < end && step(p)) {
        moved = true;
      }
    }
  }
}

bool RingRun::ended() const {
  for (size_t p = 0; p < traces_->size(); ++p) {
    if (at_[p] < (*traces_)[p].events.size()) {
      return false;
    }
  }
  return true;
}

bool RingRun::all_empty() const {
  for (size_t ring = 0; ring < rings_.size(); ++ring) {
    const State& state = rings_[ring];
    for (size_t i = 0; i < pair_->pushers[ring]; ++i) {
      for (size_t j = 0; j < pair_->poppers[ring]; ++j) {
        if (state.pushed[i] != state.popped[j] || state.freed[j] != state.popped[j]) {
          return false;
        }
      }
    }
  }
  return true;
}

namespace {

size_t first_event(const RingTrace& trace, const PumpSite& site, int64_t iteration) {
  return trace.heads[trace.runs[site.run].first + static_cast<size_t>(iteration)];
}

// How many pushes, pops and frees a period has, by ring.
struct Flow {
  std::vector<std::array<int64_t, 3>> counts;
  bool any = false;
};

Flow flow_of(const PairSkeleton& pair, const PairForms& forms, const RingTrace& trace, const PumpSite& site,
             size_t& work) {
  Flow flow;
  flow.counts.resize(pair.rings.size());
  const size_t end = first_event(trace, site, site.first + forms.period);
  for (size_t i = first_event(trace, site, site.first); i < end; ++i) {
    const RingEvent& event = trace.events[i];
    if (event.action != RingAction::Use) {
      ++flow.counts[event.ring][static_cast<size_t>(event.action)];
    }
    flow.any = true;
    ++work;
  }
  return flow;
}

// Does every ring get as many tiles from the processes of `mask` as they take out of it and free?
bool balanced(const PairSkeleton& pair, const std::array<const Flow*, 3>& flows, size_t mask) {
  for (size_t ring = 0; ring < pair.rings.size(); ++ring) {
    std::optional<int64_t> tiles;
    for (size_t p = 0; p < pair.processes.size(); ++p) {
      const bool pushes = pair.processes[p].cube == (pair.rings[ring].direction == isa::RingDirection::C2V);
      const bool part = (mask >> p & 1) != 0;
      const std::array<int64_t, 3> counts = part ? flows[p]->counts[ring] : std::array<int64_t, 3>{};
      if (pushes && pair.processes[p].side >= pair.pushers[ring]) {
        continue;
      }
      const int64_t count = counts[pushes ? 0 : 1];
      if (tiles.value_or(count) != count || (!pushes && pair.local[ring] != 0 && counts[2] != count)) {
        return false;
      }
      tiles = count;
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<PumpGroup>> pump_groups(const PairSkeleton& pair, const PairForms& forms,
                                                  const std::vector<RingTrace>& traces,
                                                  std::array<const PumpSite*, 3>& odd, size_t& work) {
  int levels = 0;
  for (const RingTrace& trace : traces) {
    for (const PumpSite& site : trace.sites) {
      levels = std::max(levels, site.level + 1);
    }
  }
  std::vector<PumpGroup> groups;
  for (int level = 0; level < levels; ++level) {
    for (const RingTrace& trace : traces) {
      work += trace.sites.size();
    }
    std::array<size_t, 3> next{};
    while (true) {
      // The first site of each process that is not in a group.
      std::array<const PumpSite*, 3> first{};
      std::array<Flow, 3> flows;
      std::array<const Flow*, 3> flow_pointers{};
      size_t all = 0;
      for (size_t p = 0; p < traces.size(); ++p) {
        for (; next[p] < traces[p].sites.size(); ++next[p]) {
          const PumpSite& site = traces[p].sites[next[p]];
          if (site.level != level) {
            continue;
          }
          if (site.first > site.last) {
            odd = {};
            odd[p] = &site;
            return std::nullopt;
          }
          flows[p] = flow_of(pair, forms, traces[p], site, work);
          if (flows[p].any) {
            first[p] = &site;
            flow_pointers[p] = &flows[p];
            all |= size_t{1} << p;
            break;
          }
        }
      }
      if (all == 0) {
        break;
      }
      odd = first;
      // Of all, of the cube core and one lane, of the lanes.
      size_t taken = 0;
      for (const size_t mask : {size_t{7}, size_t{3}, size_t{5}, size_t{6}}) {
        const bool same = [&] {
          std::optional<int64_t> skipped;
          for (size_t p = 0; p < traces.size(); ++p) {
            if ((mask & all) >> p & 1) {
              if (skipped.value_or(first[p]->skipped) != first[p]->skipped) {
                return false;
              }
              skipped = first[p]->skipped;
            }
          }
          return true;
        }();
        if (taken == 0 && (mask & all) != 0 && same && balanced(pair, flow_pointers, mask & all)) {
          taken = mask & all;
        }
      }
      if (taken == 0) {
        return std::nullopt;
      }
      PumpGroup group;
      for (size_t p = 0; p < traces.size(); ++p) {
        if (taken >> p & 1) {
          group.sites[p] = first[p];
          ++next[p];
        }
      }
      groups.push_back(group);
    }
  }
  return groups;
}

namespace {

// Takes `from` to the end of the group's period, if the group pumps. All processes are at the same iteration, or the
// vector cores are `ahead`.
std::optional<RingRun> pumped(const PairSkeleton& pair, const PairForms& forms, const std::vector<RingTrace>& traces,
                              const PumpGroup& group, int64_t ahead, RingRun from, const RingRun& start) {
  int64_t first = 0;
  for (const PumpSite* site : group.sites) {
    first = site != nullptr ? std::max(first, site->first) : first;
  }
  RingCut begin = {kNoCut, kNoCut, kNoCut};
  RingCut end = begin;
  bool behind = false;
  for (size_t p = 0; p < traces.size(); ++p) {
    const PumpSite* site = group.sites[p];
    if (site == nullptr) {
      continue;
    }
    const int64_t iteration = first + std::max<int64_t>(0, pair.processes[p].cube ? -ahead : ahead);
    if (iteration < site->first || iteration > site->last) {
      return std::nullopt;
    }
    begin[p] = first_event(traces[p], *site, iteration);
    end[p] = first_event(traces[p], *site, iteration + forms.period);
    behind = behind || from.at()[p] > begin[p];
  }
  RingRun run = behind ? start : std::move(from);
  auto arrived = [&](const RingCut& cut) {
    for (size_t p = 0; p < traces.size(); ++p) {
      if (group.sites[p] != nullptr && run.at()[p] != cut[p]) {
        return false;
      }
    }
    return true;
  };
  run.advance(begin);
  if (!arrived(begin)) {
    return std::nullopt;
  }
  // Who has no part in it stays where it is.
  for (size_t p = 0; p < traces.size(); ++p) {
    end[p] = group.sites[p] == nullptr ? run.at()[p] : end[p];
  }
  run.advance(end);
  return arrived(end) ? std::optional(std::move(run)) : std::nullopt;
}

}  // namespace

const PumpGroup* group_that_does_not_pump(const PairSkeleton& pair, const PairForms& forms,
                                          const std::vector<RingTrace>& traces, const std::vector<PumpGroup>& groups,
                                          size_t& work) {
  const RingRun start(pair, traces, work);
  RingRun last = start;  // groups of one level follow each other: no need to run everything again
  for (const PumpGroup& group : groups) {
    std::optional<RingRun> next;
    for (const int64_t ahead : {0, -1, 1, -2, 2, -3, 3, -4, 4}) {
      next = work > kMostPairWork ? std::nullopt : pumped(pair, forms, traces, group, ahead, last, start);
      if (next) {
        break;
      }
    }
    if (!next) {
      return &group;
    }
    last = std::move(*next);
  }
  return nullptr;
}

std::optional<std::pair<size_t, size_t>> loop_out_of_step(const PairSkeleton& pair,
                                                          const std::vector<RingTrace>& traces, size_t& work) {
  for (int depth = 0; depth < static_cast<int>(pair.counters.size()); ++depth) {
    // Runs of such loops, of the processes that have any.
    std::vector<std::vector<const LoopRun*>> runs(traces.size());
    size_t count = 0;
    std::pair<size_t, size_t> some;
    for (size_t p = 0; p < traces.size(); ++p) {
      for (const LoopRun& run : traces[p].runs) {
        const RingNode& node = pair.processes[p].nodes[run.node];
        if (node.depth == depth && node.changing.valid()) {
          runs[p].push_back(&run);
          some = {p, run.node};
        }
      }
      count = std::max(count, runs[p].size());
    }
    RingRun all(pair, traces, work);
    for (size_t i = 0; i < count; ++i) {
      size_t iterations = 0;
      for (const auto& own : runs) {
        iterations = own.empty() || i >= own.size() ? iterations : std::max(iterations, own[i]->count);
      }
      for (size_t iteration = 0; iteration <= iterations; ++iteration) {
        RingCut cut = {kNoCut, kNoCut, kNoCut};
        for (size_t p = 0; p < traces.size(); ++p) {
          if (runs[p].empty()) {
            continue;
          }
          if (i >= runs[p].size() || iteration > runs[p][i]->count) {
            return some;
          }
          cut[p] = traces[p].heads[runs[p][i]->first + iteration];
        }
        all.advance(cut);
        for (size_t p = 0; p < traces.size(); ++p) {
          if (!all.all_empty() || (!runs[p].empty() && all.at()[p] != cut[p])) {
            return some;
          }
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace pto::passes
