// Packing without a search: bounds, everything apart, and one sweep over time for problems that are too large for more.
#include <algorithm>
#include <map>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/memory_pack.h"

namespace pto::passes {

int64_t peak_of(const PackProblem& problem, const std::vector<int64_t>& addresses) {
  int64_t peak = 0;
  for (size_t i = 0; i < addresses.size(); ++i) {
    peak = std::max(peak, end_of(addresses[i], problem.items[i].bytes));
  }
  return peak;
}

int64_t packing_bound(const PackProblem& problem) {
  // Items on aligned addresses take whole units, except the highest one.
  int64_t align = std::max<int64_t>(1, problem.align);
  int64_t bound = 0;
  int64_t slack = 0;
  for (const PackItem& item : problem.items) {
    if (item.address >= 0) {
      bound = std::max(bound, end_of(item.address, item.bytes));
      align = item.address % align == 0 ? align : 1;
    }
  }
  std::vector<std::pair<int64_t, int64_t>> events;  // position, bytes more
  for (const PackItem& item : problem.items) {
    // Larger than any memory is large enough, and sums stay in range.
    const int64_t bytes = std::min(round_up(item.bytes, align), kMostBytes >> 24);
    slack = std::max(slack, round_up(item.bytes, align) - item.bytes);
    for (const LiveRange& part : item.positions) {
      events.emplace_back(part.begin, bytes);
      events.emplace_back(part.end + 1, -bytes);
    }
  }
  std::sort(events.begin(), events.end());  // ends before begins
  int64_t live = 0;
  for (const auto& [position, bytes] : events) {
    live += bytes;
    bound = std::max(bound, live - slack);
  }
  return bound;
}

Packing pack_apart(const PackProblem& problem) {
  const int64_t align = std::max<int64_t>(1, problem.align);
  std::vector<LiveRange> fixed;  // here: [begin, end) in bytes
  for (const PackItem& item : problem.items) {
    if (item.address >= 0) {
      fixed.push_back({item.address, end_of(item.address, item.bytes)});
    }
  }
  std::sort(fixed.begin(), fixed.end(), [](const LiveRange& a, const LiveRange& b) { return a.begin < b.begin; });
  Packing packing;
  int64_t at = 0;
  size_t next = 0;
  for (const PackItem& item : problem.items) {
    if (item.address >= 0) {
      packing.addresses.push_back(item.address);
      continue;
    }
    while (next < fixed.size() && fixed[next].begin < end_of(at, item.bytes)) {
      at = std::max(at, round_up(fixed[next].end, align));
      ++next;
    }
    packing.addresses.push_back(at);
    at = round_up(end_of(at, item.bytes), align);
  }
  packing.peak = peak_of(problem, packing.addresses);
  return packing;
}

namespace {

// Free bytes by address.
class FreeBytes {
 public:
  void take(int64_t begin, int64_t end) {
    auto at = gaps_.upper_bound(begin);
    if (at != gaps_.begin()) {
      --at;
    }
    while (at != gaps_.end() && at->first < end) {
      const auto [from, to] = *at;
      if (to <= begin) {
        ++at;
        continue;
      }
      at = gaps_.erase(at);
      if (from < begin) {
        gaps_.emplace(from, begin);
      }
      if (to > end) {
        gaps_.emplace(end, to);
        break;
      }
    }
  }

  void give(int64_t begin, int64_t end) {
    auto after = gaps_.lower_bound(begin);
    if (after != gaps_.begin() && std::prev(after)->second == begin) {
      begin = std::prev(after)->first;
      gaps_.erase(std::prev(after));
    }
    if (after != gaps_.end() && after->first == end) {
      end = after->second;
      gaps_.erase(after);
    }
    gaps_[begin] = end;
  }

  // The lowest address with so many free bytes.
  int64_t find(int64_t bytes) const {
    const auto at =
        std::find_if(gaps_.begin(), gaps_.end(), [&](const auto& gap) { return gap.second - gap.first >= bytes; });
    return at == gaps_.end() ? kMostBytes : at->first;
  }

 private:
  std::map<int64_t, int64_t> gaps_ = {{0, kMostBytes}};  // begin -> end
};

}  // namespace

Packing pack_in_one_sweep(const PackProblem& problem) {
  const int64_t align = std::max<int64_t>(1, problem.align);
  FreeBytes free;
  Packing packing;
  packing.addresses.assign(problem.items.size(), 0);
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < problem.items.size(); ++i) {
    const PackItem& item = problem.items[i];
    if (item.address >= 0) {
      packing.addresses[i] = item.address;
      free.take(item.address, round_up(end_of(item.address, item.bytes), align));
    } else if (!item.positions.empty()) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return problem.items[a].positions.front().begin < problem.items[b].positions.front().begin;
  });
  std::multimap<int64_t, uint32_t> active;  // by last position
  for (uint32_t index : order) {
    const PackItem& item = problem.items[index];
    while (!active.empty() && active.begin()->first < item.positions.front().begin) {
      const uint32_t gone = active.begin()->second;
      free.give(packing.addresses[gone], packing.addresses[gone] + round_up(problem.items[gone].bytes, align));
      active.erase(active.begin());
    }
    const int64_t bytes = round_up(item.bytes, align);
    const int64_t address = free.find(bytes);
    packing.addresses[index] = address;
    if (address < kMostBytes) {
      free.take(address, address + bytes);
      active.emplace(item.positions.back().end, index);
    }
  }
  packing.peak = peak_of(problem, packing.addresses);
  packing.crossings = count_crossings(problem, packing.addresses);
  return packing;
}

}  // namespace pto::passes
