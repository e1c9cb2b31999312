#include "src/passes/block/memory_pack.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <iostream>
#include <random>

using namespace pto::passes;

namespace {

// ---- an exact solver for small problems ----

// Some best packing is settled: no item can move down. Putting its items down in the order of their addresses, each as
// low as it goes, gives it; so the best over all orders is the best of all.
class Exact {
 public:
  explicit Exact(const PackProblem& problem) : problem_(problem), addresses_(problem.items.size(), -1) {}
  int64_t run() {
    step(0);
    return best_;
  }

 private:
  bool together(size_t a, size_t b) const {
    for (const LiveRange& p : problem_.items[a].positions) {
      for (const LiveRange& q : problem_.items[b].positions) {
        if (p.begin <= q.end && q.begin <= p.end) {
          return true;
        }
      }
    }
    return false;
  }

  int64_t lowest(size_t item) const {
    int64_t address = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t other = 0; other < addresses_.size(); ++other) {
        const int64_t at = addresses_[other];
        if (at >= 0 && together(item, other) && address < at + problem_.items[other].bytes &&
            at < address + problem_.items[item].bytes) {
          address = (at + problem_.items[other].bytes + problem_.align - 1) / problem_.align * problem_.align;
          moved = true;
        }
      }
    }
    return address;
  }

  void step(int64_t peak) {
    if (peak >= best_) {
      return;
    }
    bool all = true;
    for (size_t item = 0; item < addresses_.size(); ++item) {
      if (addresses_[item] < 0) {
        all = false;
        addresses_[item] = lowest(item);
        step(std::max(peak, addresses_[item] + problem_.items[item].bytes));
        addresses_[item] = -1;
      }
    }
    best_ = all ? peak : best_;
  }

  const PackProblem& problem_;
  std::vector<int64_t> addresses_;
  int64_t best_ = INT64_MAX;
};

PackProblem random_problem(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  PackProblem problem;
  problem.align = random() % 2 == 0 ? 32 : 512;
  for (size_t i = 0; i < count; ++i) {
    PackItem item;
    const uint64_t most = random() % 3 == 0 ? 64 : 16;
    item.bytes = 32 * static_cast<int64_t>(1 + random() % most);
    int64_t at = static_cast<int64_t>(random() % 10);
    for (uint64_t parts = 1 + random() % 2; parts > 0; --parts) {
      const int64_t end = at + static_cast<int64_t>(random() % 6);
      item.positions.push_back({at, end});
      at = end + 2 + static_cast<int64_t>(random() % 4);
    }
    item.starts = 1u << (random() % 3);
    item.ends = 1u << (random() % 3);
    problem.items.push_back(item);
  }
  return problem;
}

// Why a packing is wrong; empty: it is right.
std::string fault(const PackProblem& problem, const Packing& packing) {
  int64_t peak = 0;
  for (size_t a = 0; a < problem.items.size(); ++a) {
    const PackItem& x = problem.items[a];
    const int64_t at = packing.addresses.at(a);
    peak = std::max(peak, at + x.bytes);
    if (at < 0 || (x.address < 0 && at % problem.align != 0) || (x.address >= 0 && at != x.address)) {
      return "item " + std::to_string(a) + " stands at " + std::to_string(at);
    }
    for (size_t b = 0; b < a; ++b) {
      const PackItem& y = problem.items[b];
      bool together = false;
      for (int64_t t = 0; t < 200; ++t) {
        auto live = [&](const PackItem& item) {
          return std::any_of(item.positions.begin(), item.positions.end(),
                             [&](const LiveRange& p) { return p.begin <= t && t <= p.end; });
        };
        together = together || (live(x) && live(y));
      }
      if (together && at < packing.addresses[b] + y.bytes && packing.addresses[b] < at + x.bytes &&
          (x.address < 0 || y.address < 0)) {
        return "items " + std::to_string(b) + " and " + std::to_string(a) + " overlap";
      }
    }
  }
  return peak == packing.peak ? "" : "the peak is " + std::to_string(peak);
}

}  // namespace

TEST_CASE("never worse than 1.25 x the best packing there is") {
  std::array<int, 6> counts = {};
  const char* names[] = {"1.00", "to 1.05", "to 1.10", "to 1.15", "to 1.20", "to 1.25"};
  double worst = 1;
  int bound_reached = 0;
  constexpr int kCases = 600;
  for (uint64_t seed = 1; seed <= kCases; ++seed) {
    INFO("seed " << seed);
    const PackProblem problem = random_problem(seed, 3 + seed % 6);
    const Packing packing = pack(problem);
    REQUIRE(fault(problem, packing) == "");
    const int64_t exact = Exact(problem).run();
    REQUIRE(packing_bound(problem) <= exact);
    REQUIRE(packing.peak >= exact);
    const double ratio = static_cast<double>(packing.peak) / static_cast<double>(exact);
    REQUIRE(ratio <= 1.25);
    worst = std::max(worst, ratio);
    bound_reached += exact == packing_bound(problem) ? 1 : 0;
    counts[ratio <= 1 ? 0 : std::min<size_t>(5, 1 + static_cast<size_t>((ratio - 1) / 0.05001))] += 1;
  }
  std::cout << "peak against the best of " << kCases << " packings (" << bound_reached << " of which reach the bound):";
  for (size_t i = 0; i < counts.size(); ++i) {
    std::cout << " " << names[i] << ": " << counts[i] << (i + 1 < counts.size() ? "," : "");
  }
  std::cout << "; worst " << worst << "\n";
}

TEST_CASE("large problems are packed without overlaps, fixed addresses stay") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    PackProblem problem = random_problem(seed, 60);
    std::mt19937_64 random(seed);
    problem.items[3].address = 64;
    problem.items[7].address = 4096 + 32;
    for (PackItem& item : problem.items) {
      const auto shift = static_cast<int64_t>(random() % 40);
      for (LiveRange& part : item.positions) {
        part.begin += shift;
        part.end += shift;
      }
    }
    const Packing packing = pack(problem);
    CHECK(fault(problem, packing) == "");
    CHECK(packing.peak >= packing_bound(problem));
    CHECK(fault(problem, pack_apart(problem)) == "");
    CHECK(fault(problem, pack_in_one_sweep(problem)) == "");
  }
}

TEST_CASE("bytes in a hole of a life are used") {
  PackProblem problem;
  problem.align = 32;
  problem.items = {{1024, -1, {{0, 2}, {6, 8}}}, {1024, -1, {{3, 5}}}};
  CHECK(packing_bound(problem) == 1024);
  CHECK(pack(problem).peak == 1024);
}

TEST_CASE("among packings that fit, bytes stay with one pipe") {
  // Two items end on pipe 0 or 1, two begin there: each may follow its like, at the same peak.
  PackProblem problem;
  problem.align = 32;
  problem.capacity = 2048;
  problem.items = {
      {1024, -1, {{0, 2}}, 1, 1}, {1024, -1, {{1, 3}}, 2, 2}, {1024, -1, {{4, 6}}, 2, 2}, {1024, -1, {{5, 7}}, 1, 1}};
  const Packing packing = pack(problem);
  CHECK(packing.peak == 2048);
  CHECK(packing.crossings == 0);
  CHECK(packing.addresses[0] == packing.addresses[3]);
  CHECK(packing.addresses[1] == packing.addresses[2]);
}

TEST_CASE("an item at an odd place and items of any size do not make the bound too high") {
  PackProblem problem;
  problem.align = 512;
  problem.items = {{100, -1, {{0, 1}}}, {40, 100, {{0, 1}}}, {100, -1, {{0, 1}}}};
  const Packing packing = pack(problem);
  CHECK(fault(problem, packing) == "");
  CHECK(packing_bound(problem) <= packing.peak);
  CHECK(packing.peak == 612);
}

TEST_CASE("sizes beyond all memory do not overflow") {
  PackProblem problem;
  problem.align = 32;
  problem.capacity = 1024;
  for (int i = 0; i < 40; ++i) {
    problem.items.push_back({kMostBytes, -1, {{0, 1}}});
  }
  CHECK(pack(problem).peak >= kMostBytes);
  CHECK(pack_apart(problem).peak >= kMostBytes);
  CHECK(packing_bound(problem) >= int64_t{1} << 40);
}

TEST_CASE("a problem with a million pairs live together is packed in one sweep") {
  PackProblem problem;
  problem.align = 32;
  for (int64_t i = 0; i < 20000; ++i) {
    problem.items.push_back({32, -1, {{i, i + 400}}});
  }
  CHECK(pack(problem).peak == 401 * 32);
}
