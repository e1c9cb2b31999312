// Properties of generated programs, from text to cycles. PTO_PROPERTY_SEED and PTO_PROPERTY_COUNT look at others.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "tests/property/check.h"
#include "tests/property/liveness.h"

using namespace pto::test;

namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

// `count` programs, made for the two targets in turn; what a2a3 takes, a5 takes too, and gets some of it. All are compiled
// in all variants; some go through all dumps and depths as well.
template <typename Make>
void check_many(const std::string& what, int64_t count, Make make) {
  const int64_t first = setting("PTO_PROPERTY_SEED", 1);
  count = setting("PTO_PROPERTY_COUNT", count);
  for (int64_t seed = first; seed < first + count; ++seed) {
    const bool a5 = seed % 2 != 0;
    const bool thorough = seed % 16 < 2;
    const bool threads = seed % 8 < 2;
    const Generated program = make(static_cast<uint64_t>(seed), a5);
    const std::string label = what + " " + std::to_string(seed);
    if (a5 || seed % 8 == 0) {
      check_program(program, "a5", label, {thorough && a5, thorough && a5, threads, true});
    }
    if (!a5) {
      check_program(program, "a2a3", label, {thorough, thorough, threads, true});
    }
  }
}

}  // namespace

TEST_CASE("random elementwise graphs") { check_many("graph", 500, random_graph); }
TEST_CASE("random matrix products") { check_many("product", 250, random_matmul); }
TEST_CASE("random kernels") { check_many("kernel", 450, random_kernel); }
TEST_CASE("random mixed kernels") { check_many("mixed", 150, random_mixed); }
TEST_CASE("random vector cores") {
  check_many("core", 650, [](uint64_t seed, bool) { return random_core(seed); });
}

TEST_CASE("the walk over a core finds buffers that share bytes while both are alive") {
  const Generated program = random_core(4);
  const Compiled compiled = compile(program.text, target_named("a2a3"));
  REQUIRE(compiled.ok);
  pto::object::Core core = compiled.object.cores.at(0);
  CHECK(check_liveness(core) == "");
  // Every buffer at address 0, one half a tile further.
  for (pto::isa::Buffer& buffer : core.buffers) {
    buffer.address = 0;
  }
  core.buffers.back().address = core.buffers.back().tile.bytes() / 2;
  CHECK(check_liveness(core) != "");
}
