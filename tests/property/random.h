// Seeded choices; the same on every machine (distributions of the standard library are not).
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace pto::test {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // lo .. hi, both included.
  int64_t integer(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(engine_() % static_cast<uint64_t>(hi - lo + 1));
  }
  bool chance(int percent) { return integer(0, 99) < percent; }
  double real(double lo, double hi) { return lo + (hi - lo) * static_cast<double>(engine_() >> 11) * 0x1p-53; }
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(integer(0, static_cast<int64_t>(from.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace pto::test
