// Properties of generated programs, from text to cycles. PTO_PROPERTY_SEED and PTO_PROPERTY_COUNT look at others.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "tests/property/check.h"

using namespace pto::test;

namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

// `count` programs in turn on the two targets; every fourth through all dumps and depths.
template <typename Make>
void check_many(const std::string& what, int64_t count, Make make) {
  const int64_t first = setting("PTO_PROPERTY_SEED", 1);
  count = setting("PTO_PROPERTY_COUNT", count);
  for (int64_t seed = first; seed < first + count; ++seed) {
    const bool a5 = seed % 2 != 0;
    const bool thorough = seed % 4 < 2;
    check_program(make(static_cast<uint64_t>(seed), a5), a5 ? "a5" : "a2a3", what + " " + std::to_string(seed),
                  {thorough, thorough});
  }
}

}  // namespace

TEST_CASE("random elementwise graphs") { check_many("graph", 60, random_graph); }
TEST_CASE("random matrix products") { check_many("product", 30, random_matmul); }
TEST_CASE("random kernels") { check_many("kernel", 40, random_kernel); }
TEST_CASE("random vector cores") {
  check_many("core", 40, [](uint64_t seed, bool) { return random_core(seed); });
}
