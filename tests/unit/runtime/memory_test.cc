// The shared memory's parts by themselves: the arbiter against an event-free oracle, the L2 by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <random>

#include "runtime/machine/arbiter.h"
#include "runtime/machine/l2.h"

namespace pto::runtime {
namespace {

struct Copy {
  Ticks start;
  int64_t bytes;
  int64_t hbm;
  double cap;
  double left = 0;
  double end = -1;
};

// Max-min fairness from its definition, in doubles: the rate that everybody gets is found by bisection.
std::vector<double> fair(const std::vector<Copy*>& active, double hbm, double l2) {
  std::vector<double> rates(active.size(), 0);
  std::vector<bool> fixed(active.size(), false);
  const auto fits = [&](double level) {
    double used_l2 = 0;
    double used_hbm = 0;
    for (size_t i = 0; i < active.size(); ++i) {
      const double rate = fixed[i] ? rates[i] : std::min(level, active[i]->cap);
      used_l2 += rate;
      used_hbm += rate * static_cast<double>(active[i]->hbm) / static_cast<double>(active[i]->bytes);
    }
    return used_l2 <= l2 + 1e-6 && used_hbm <= hbm + 1e-6;
  };
  for (size_t round = 0; round <= active.size() + 2; ++round) {
    double low = 0;
    double high = 1e7;
    for (int i = 0; i < 100; ++i) {
      (fits((low + high) / 2) ? low : high) = (low + high) / 2;
    }
    for (size_t i = 0; i < active.size(); ++i) {
      rates[i] = fixed[i] ? rates[i] : std::min(low, active[i]->cap);
    }
    // Those that use the full server, or are at their caps, stay where they are.
    double used_l2 = 0;
    double used_hbm = 0;
    for (size_t i = 0; i < active.size(); ++i) {
      used_l2 += rates[i];
      used_hbm += rates[i] * static_cast<double>(active[i]->hbm) / static_cast<double>(active[i]->bytes);
    }
    for (size_t i = 0; i < active.size(); ++i) {
      const bool full = used_l2 > l2 - 1e-3 || (active[i]->hbm > 0 && used_hbm > hbm - 1e-3);
      fixed[i] = fixed[i] || full || rates[i] >= active[i]->cap;
    }
  }
  return rates;
}

void oracle(std::vector<Copy>& copies, double hbm, double l2) {
  double now = 0;
  size_t done = 0;
  for (Copy& copy : copies) {
    copy.left = static_cast<double>(copy.bytes);
  }
  while (done < copies.size()) {
    std::vector<Copy*> active;
    double next = 1e18;
    for (Copy& copy : copies) {
      if (static_cast<double>(copy.start) > now) {
        next = std::min(next, static_cast<double>(copy.start));
      } else if (copy.end < 0) {
        active.push_back(&copy);
      }
    }
    const std::vector<double> rates = fair(active, hbm, l2);
    for (size_t i = 0; i < active.size(); ++i) {
      next = std::min(next, now + active[i]->left / rates[i]);
    }
    for (size_t i = 0; i < active.size(); ++i) {
      active[i]->left -= rates[i] * (next - now);
      if (active[i]->left < 1e-6 * static_cast<double>(active[i]->bytes)) {
        active[i]->end = next;
        ++done;
      }
    }
    now = next;
  }
}

TEST_CASE("the arbiter's rates are max-min fair") {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 200; ++round) {
    // In the oracle rates are bytes a tick; the arbiter's are bytes a cycle times 256, that is bytes a tick times 65536.
    const int64_t hbm = pick(10, 300) << 16;
    const int64_t l2 = pick(50, 600) << 16;
    std::vector<Copy> copies;
    for (int64_t i = pick(1, 12); i > 0; --i) {
      const int64_t bytes = pick(1, 64) * 4096;
      const int64_t parts[] = {0, bytes, bytes / 2, 2 * bytes};
      // Often equal caps: such transfers are counted together.
      const int64_t cap = pick(0, 1) == 0 ? pick(5, 200) : pick(1, 2) * 60;
      copies.push_back({pick(0, 5000), bytes, parts[pick(0, 3)], static_cast<double>(cap)});
    }
    oracle(copies, static_cast<double>(hbm >> 16), static_cast<double>(l2 >> 16));
    Arbiter arbiter(hbm, l2);
    std::vector<Arbiter::Done> done;
    std::vector<Ticks> ends(copies.size(), -1);
    size_t left = copies.size();
    Ticks now = -1;
    while (left > 0) {
      Ticks next = arbiter.next_end();
      for (const Copy& copy : copies) {
        next = copy.start > now ? std::min(next, copy.start) : next;
      }
      now = next;
      arbiter.finish(now, done);
      for (const Arbiter::Done& end : done) {
        ends[end.core] = now;
        --left;
      }
      for (uint32_t i = 0; i < copies.size(); ++i) {
        if (copies[i].start == now) {
          arbiter.add(now, i, 0, copies[i].bytes, copies[i].hbm, static_cast<int64_t>(copies[i].cap) << 16);
        }
      }
      arbiter.settle(now);
    }
    for (size_t i = 0; i < copies.size(); ++i) {
      INFO("round " << round << " copy " << i);
      // Every change rounds times to ticks; there are at most two dozen of them.
      CHECK(std::abs(static_cast<double>(ends[i]) - copies[i].end) <= 24);
    }
    CHECK(arbiter.idle());
  }
}

TEST_CASE("the L2 counts lines that come in") {
  L2 cache(4 * 512, 1 << 20);
  CHECK(cache.read(0, 1, 0, 512) == 512);
  CHECK(cache.read(0, 1, 0, 512) == 0);
  CHECK(cache.read(500, 1, 0, 24) == 512);       // the second line's first bytes
  CHECK(cache.read(0, 4, 1024, 4) == 3 * 512);   // lines 0, 2, 4, 6: line 0 is there
  CHECK(cache.read(0, 1, 0, 4) == 512);          // five lines came in: the first is gone
  CHECK(cache.read(1024, 1, 0, 4) == 0);         // line 2 is not
  CHECK(cache.write(2048, 1, 0, 512) == 0);      // line 4 is there
  CHECK(cache.write(8192, 1, 0, 512) == 512);    // the run's memory is larger than the cache
}

// Windows that are in the cache are not walked again: here everything is.
TEST_CASE("the L2 is a queue of lines, whatever is read how often") {
  std::mt19937 random(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint32_t>(high - low + 1));
  };
  for (int round = 0; round < 20; ++round) {
    const int64_t lines = pick(1, 200);
    L2 cache(lines * 512, 1 << 20);
    std::deque<int64_t> in;
    int64_t hits = 0;
    for (int copy = 0; copy < 2000; ++copy) {
      const int64_t address = pick(0, 30) * 4096 + pick(0, 3) * 256;
      const int64_t rows = pick(1, 12);
      const int64_t stride = pick(1, 3) * 1024;
      const int64_t row_bytes = pick(1, 4) * 256;
      int64_t missed = 0;
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t begin = address + row * stride;
        for (int64_t line = begin / 512; line <= (begin + row_bytes - 1) / 512; ++line) {
          if (std::find(in.begin(), in.end(), line) == in.end()) {
            ++missed;
            in.push_back(line);
            if (static_cast<int64_t>(in.size()) > lines) {
              in.pop_front();
            }
          }
        }
      }
      hits += missed == 0 ? 1 : 0;
      REQUIRE(cache.read(address, rows, stride, row_bytes) == missed * 512);
    }
    CHECK((hits > 0 || lines < 100));
  }
}

TEST_CASE("writes cost no HBM bandwidth where everything fits, all of it without a cache") {
  L2 fits(1 << 20, 1 << 20);
  CHECK(fits.write(0, 2, 4096, 1024) == 0);
  CHECK(fits.read(0, 1, 0, 1024) == 0);
  CHECK(fits.read(4096, 1, 0, 2048) == 1024);
  L2 none(0, 1 << 20);
  CHECK(none.write(0, 2, 4096, 100) == 200);
  CHECK(none.read(0, 2, 4096, 100) == 200);
  CHECK(none.read(0, 2, 4096, 100) == 200);
}

TEST_CASE("a footprint of many terabytes needs no large table") {
  L2 cache(int64_t{192} << 20, int64_t{1} << 50);
  const int64_t line = cache.read(0, 1, 0, 1);
  CHECK(line >= int64_t{1} << 28);
  CHECK(cache.read(line - 1, 1, 0, 1) == 0);
}

}  // namespace
}  // namespace pto::runtime
