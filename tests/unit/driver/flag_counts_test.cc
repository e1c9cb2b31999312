// How many flags the compiler sets in an iteration of the innermost loop, beside what a careful person counts by hand.
#include <catch2/catch.hpp>

#include "tests/unit/driver/ptoc.h"

using namespace pto::test;

namespace {

// set_flags between the last `for` of a core and the brace that closes it.
int flags_of_innermost_loop(const std::string& dump, const std::string& core) {
  std::istringstream in(dump);
  int count = 0;
  size_t indent = 0;
  bool inside_core = false;
  bool inside_loop = false;
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find_first_not_of(' ');
    if (line.find("core ") == 0) {
      inside_core = line.find(" " + core + "[") != std::string::npos;
    }
    if (!inside_core || first == std::string::npos) {
      continue;
    }
    if (line.compare(first, 4, "for ") == 0) {
      inside_loop = true;
      indent = first;
      count = 0;
    } else if (inside_loop && first == indent && line[first] == '}') {
      inside_loop = false;
    } else if (inside_loop && line.compare(first, 8, "set_flag") == 0) {
      ++count;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("no more flags an iteration than a careful person sets") {
  struct Count {
    const char* sample;
    const char* core;
    int by_hand;
  };
  const Count counts[] = {
      // Both loads are there, both inputs are free again, the result is there, and it is free again. Written by hand.
      {"vector_add.pto", "add_vec", 4},
      // The load is there, its buffer is free again, the result is there, and it is free again.
      {"softmax.pto", "softmax_vec", 4},
      // A and B each: the load is there, its buffer is free again (one flag for both costs 2 to 6 % of the cycles). The
      // operands are there, and their buffers are free again.
      {"gemm.pto", "gemm_cube", 6},
  };
  const Folder folder;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const Count& count : counts) {
      const std::string dump = folder / "dump.pto";
      REQUIRE(ptoc({sample(count.sample), "--target", target, "--emit-ir=exec", "-o", dump}).code == 0);
      INFO(count.sample << " on " << target << "\n" << slurp(dump));
      const int flags = flags_of_innermost_loop(slurp(dump), count.core);
      CHECK(flags > 0);
      CHECK(flags <= count.by_hand);
    }
  }
}
