#include "src/passes/block/memory_pack.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

using Addresses = std::vector<int64_t>;
using Order = std::vector<uint32_t>;

constexpr size_t kMostConflicts = size_t{1} << 21;   // pairs; beyond, items are placed in one sweep over time
constexpr int64_t kSearchBudget = int64_t{1} << 21;  // looks at a neighbour in the search for a lower peak
constexpr int64_t kMostSearchSteps = 2000;
constexpr size_t kMostForCosts = 128;  // items; beyond, crossings are counted but not avoided

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

int64_t length(const PackItem& item) {
  int64_t sum = 0;
  for (const LiveRange& part : item.positions) {
    sum += part.end - part.begin + 1;
  }
  return sum;
}

// An item's parts, all items', by begin.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;
  uint32_t item = 0;
};
std::vector<Part> parts_of(const PackProblem& problem) {
  std::vector<Part> parts;
  for (uint32_t i = 0; i < problem.items.size(); ++i) {
    for (const LiveRange& part : problem.items[i].positions) {
      parts.push_back({part.begin, part.end, i});
    }
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  return parts;
}

// Who is live together with whom.
class Conflicts {
 public:
  // nullopt: more pairs than kMostConflicts.
  static std::optional<Conflicts> of(const PackProblem& problem) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    std::vector<Part> active;
    size_t looked = 0;
    for (const Part& part : parts_of(problem)) {
      active.erase(std::remove_if(active.begin(), active.end(), [&](const Part& p) { return p.end < part.begin; }),
                   active.end());
      looked += active.size();
      if (looked > kMostConflicts) {
        return std::nullopt;
      }
      for (const Part& other : active) {
        pairs.emplace_back(part.item, other.item);
        pairs.emplace_back(other.item, part.item);
      }
      active.push_back(part);
    }
    std::sort(pairs.begin(), pairs.end());
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    Conflicts conflicts;
    conflicts.begin_.assign(problem.items.size() + 1, 0);
    for (const auto& [a, b] : pairs) {
      ++conflicts.begin_[a + 1];
      conflicts.others_.push_back(b);
    }
    std::partial_sum(conflicts.begin_.begin(), conflicts.begin_.end(), conflicts.begin_.begin());
    return conflicts;
  }

  std::span<const uint32_t> of_item(uint32_t item) const {
    return std::span(others_).subspan(begin_[item], begin_[item + 1] - begin_[item]);
  }
  size_t size() const { return others_.size(); }

 private:
  std::vector<size_t> begin_;
  std::vector<uint32_t> others_;
};

bool share_bytes(const PackProblem& problem, const Addresses& addresses, size_t a, size_t b) {
  return addresses[a] < end_of(addresses[b], problem.items[b].bytes) &&
         addresses[b] < end_of(addresses[a], problem.items[a].bytes);
}

// Does it take a flag to hand bytes over from one to the other?
int64_t crossing(const PackItem& a, const PackItem& b) {
  if (a.positions.empty() || b.positions.empty()) {
    return 0;
  }
  auto different = [](uint32_t x, uint32_t y) { return ((x | y) & ((x | y) - 1)) != 0; };
  const PackItem& earlier = a.positions.front().begin <= b.positions.front().begin ? a : b;
  const PackItem& later = &earlier == &a ? b : a;
  const bool again = (a.in_loop && b.in_loop) || earlier.positions.back().end > later.positions.front().begin;
  return (different(earlier.ends, later.starts) ? 1 : 0) + (again && different(later.ends, earlier.starts) ? 1 : 0);
}

class Packer {
 public:
  Packer(const PackProblem& problem, const Conflicts& conflicts)
      : problem_(problem), conflicts_(conflicts), align_(std::max<int64_t>(1, problem.align)) {
    for (uint32_t i = 0; i < problem.items.size(); ++i) {
      if (problem.items[i].address >= 0) {
        fixed_.push_back(i);
      } else {
        free_.push_back(i);
      }
    }
  }

  Packing run() {
    bound_ = packing_bound(problem_);
    std::vector<Order> orders = greedy_orders();
    for (const Order& order : orders) {
      for (const bool best_fit : {false, true}) {
        if (best_.empty() || peak_ > bound_) {
          consider(place(order, best_fit), order);
        }
      }
    }
    if (peak_ > bound_) {
      search();
    }
    Packing packing{best_, peak_, count_crossings(problem_, best_)};
    if (peak_ <= problem_.capacity && packing.crossings > 0 && problem_.items.size() <= kMostForCosts) {
      for (const Order& order : orders) {
        if (const auto addresses = place_cheaply(order)) {
          const Packing other{*addresses, peak_of(problem_, *addresses), count_crossings(problem_, *addresses)};
          if (std::pair(other.crossings, other.peak) < std::pair(packing.crossings, packing.peak)) {
            packing = other;
          }
        }
      }
    }
    return packing;
  }

 private:
  template <typename Key>
  Order sorted_by(Key key) const {
    Order order = free_;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    return order;
  }

  std::vector<Order> greedy_orders() const {
    std::vector<int64_t> lengths(problem_.items.size());
    std::vector<int64_t> starts(problem_.items.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
      lengths[i] = length(problem_.items[i]);
      starts[i] = problem_.items[i].positions.empty() ? 0 : problem_.items[i].positions.front().begin;
    }
    auto bytes = [&](uint32_t i) { return problem_.items[i].bytes; };
    return {sorted_by([&](uint32_t i) { return std::pair(-bytes(i), -lengths[i]); }), sorted_by([&](uint32_t i) {
              return -static_cast<double>(bytes(i)) * static_cast<double>(std::max<int64_t>(1, lengths[i]));
            }),
            sorted_by([&](uint32_t i) { return std::pair(-lengths[i], -bytes(i)); }),
            sorted_by([&](uint32_t i) { return std::pair(starts[i], -bytes(i)); })};
  }

  Addresses only_fixed() const {
    Addresses addresses(problem_.items.size(), -1);
    for (uint32_t i : fixed_) {
      addresses[i] = problem_.items[i].address;
    }
    return addresses;
  }

  // Bytes that items live together with this one have, in address order.
  void collect_taken(uint32_t item, const Addresses& addresses) {
    taken_.clear();
    for (uint32_t other : conflicts_.of_item(item)) {
      if (addresses[other] >= 0) {
        taken_.push_back({addresses[other], end_of(addresses[other], problem_.items[other].bytes)});
      }
    }
    std::sort(taken_.begin(), taken_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }

  // The lowest gap, or the tightest.
  int64_t find_place(int64_t bytes, bool best_fit) const {
    int64_t address = 0;
    int64_t best = -1;
    int64_t best_gap = 0;
    for (const Range& range : taken_) {
      if (end_of(address, bytes) <= range.begin) {
        const int64_t gap = range.begin - address;
        if (!best_fit) {
          return address;
        }
        if (best < 0 || gap < best_gap) {
          best = address;
          best_gap = gap;
        }
      }
      address = std::max(address, round_up(range.end, align_));
    }
    return best >= 0 ? best : address;
  }

  Addresses place(const Order& order, bool best_fit) {
    Addresses addresses = only_fixed();
    for (uint32_t item : order) {
      collect_taken(item, addresses);
      addresses[item] = find_place(problem_.items[item].bytes, best_fit);
    }
    return addresses;
  }

  void consider(Addresses addresses, const Order& order) {
    const int64_t peak = peak_of(problem_, addresses);
    if (best_.empty() || peak < peak_) {
      best_ = std::move(addresses);
      peak_ = peak;
      best_order_ = order;
    }
  }

  uint64_t random() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Hill climbing over orders: an item that reaches the peak goes to an earlier place, or two items swap.
  void search() {
    const int64_t cost = static_cast<int64_t>(conflicts_.size() + problem_.items.size()) + 1;
    const int64_t steps = std::min(kMostSearchSteps, kSearchBudget / cost);
    Order order = best_order_;
    Addresses current = best_;
    int64_t current_peak = peak_;
    for (int64_t step = 0; step < steps && peak_ > bound_ && order.size() > 1; ++step) {
      Order next = order;
      mutate(next, current, current_peak);
      Addresses addresses = place(next, step % 3 == 2);
      const int64_t peak = peak_of(problem_, addresses);
      if (peak <= current_peak) {
        order = next;
        current = addresses;
        current_peak = peak;
        consider(std::move(addresses), order);
      }
    }
  }

  void mutate(Order& order, const Addresses& addresses, int64_t peak) {
    size_t from = random() % order.size();
    if (random() % 2 == 0) {
      for (size_t i = 0; i < order.size(); ++i) {
        if (end_of(addresses[order[i]], problem_.items[order[i]].bytes) == peak) {
          from = i;
          break;
        }
      }
    }
    const size_t to = random() % order.size();
    if (random() % 2 == 0) {
      std::swap(order[from], order[to]);
    } else if (to < from) {
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(to), order.begin() + static_cast<std::ptrdiff_t>(from),
                  order.begin() + static_cast<std::ptrdiff_t>(from) + 1);
    } else {
      std::rotate(order.begin() + static_cast<std::ptrdiff_t>(from),
                  order.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                  order.begin() + static_cast<std::ptrdiff_t>(to) + 1);
    }
  }

  // Each item where it costs fewest crossings with those that are placed, within the capacity. nullopt: this order
  // fails.
  std::optional<Addresses> place_cheaply(const Order& order) {
    Addresses addresses = only_fixed();
    std::vector<uint32_t> placed = fixed_;
    for (uint32_t item : order) {
      collect_taken(item, addresses);
      const PackItem& it = problem_.items[item];
      std::vector<int64_t> candidates = {0};
      for (uint32_t other : placed) {
        candidates.push_back(round_up(end_of(addresses[other], problem_.items[other].bytes), align_));
      }
      std::sort(candidates.begin(), candidates.end());
      candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
      int64_t best = -1;
      int64_t best_cost = 0;
      for (int64_t candidate : candidates) {
        const int64_t end = end_of(candidate, it.bytes);
        if (end > problem_.capacity || std::any_of(taken_.begin(), taken_.end(), [&](const Range& range) {
              return range.begin < end && candidate < range.end;
            })) {
          continue;
        }
        addresses[item] = candidate;
        int64_t cost = 0;
        for (uint32_t other : placed) {
          cost += share_bytes(problem_, addresses, item, other) ? crossing(it, problem_.items[other]) : 0;
        }
        if (best < 0 || cost < best_cost) {
          best = candidate;
          best_cost = cost;
        }
      }
      addresses[item] = best;
      if (best < 0) {
        return std::nullopt;
      }
      placed.push_back(item);
    }
    return addresses;
  }

  const PackProblem& problem_;
  const Conflicts& conflicts_;
  const int64_t align_;
  Order fixed_;
  Order free_;
  std::vector<Range> taken_;
  int64_t bound_ = 0;
  Addresses best_;
  int64_t peak_ = 0;
  Order best_order_;
  uint64_t state_ = 1;
};

}  // namespace

int64_t count_crossings(const PackProblem& problem, const std::vector<int64_t>& addresses) {
  Order order;
  for (uint32_t i = 0; i < problem.items.size(); ++i) {
    if (!problem.items[i].positions.empty()) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return addresses[a] < addresses[b]; });
  int64_t crossings = 0;
  size_t looked = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t end = end_of(addresses[order[i]], problem.items[order[i]].bytes);
    for (size_t j = i + 1; j < order.size() && addresses[order[j]] < end && looked < kMostConflicts; ++j, ++looked) {
      crossings += crossing(problem.items[order[i]], problem.items[order[j]]);
    }
  }
  return crossings;
}

Packing pack(const PackProblem& problem) {
  if (const auto conflicts = Conflicts::of(problem)) {
    return Packer(problem, *conflicts).run();
  }
  return pack_in_one_sweep(problem);
}

}  // namespace pto::passes
