// The prover of pairs finds every dropped, doubled or moved push, pop and free of every sample with a pair.
#include <catch2/catch.hpp>

#include "tests/unit/driver/ptoc.h"

using namespace pto::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

bool is_ring_line(const std::string& line) {
  return line.find("tpush ") != std::string::npos || line.find("tpop ") != std::string::npos ||
         line.find("tfree ") != std::string::npos;
}

}  // namespace

TEST_CASE("a dropped or doubled push, pop or free of any sample is found") {
  const Folder folder;
  int mutants = 0;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const std::string name : {"gemm_gelu.pto", "norm_matmul.pto", "attention.pto"}) {
      const std::string dump = folder / "dump.pto";
      // Flags stay out of it: what is left to find a mutant are the rings.
      REQUIRE(ptoc({sample(name), "--target", target, "--emit-ir-after=plan-memory", "-o", dump}).code == 0);
      const std::vector<std::string> lines = lines_of(slurp(dump));
      for (size_t i = 0; i < lines.size(); ++i) {
        if (!is_ring_line(lines[i])) {
          continue;
        }
        for (const bool twice : {false, true}) {
          std::vector<std::string> mutant = lines;
          if (twice) {
            mutant.insert(mutant.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
          } else {
            mutant.erase(mutant.begin() + static_cast<std::ptrdiff_t>(i));
          }
          const std::string path = folder.write("mutant.pto", joined(mutant));
          const Outcome run = ptoc({path, "--target", target, "--skip-pass=insert-sync", "--skip-pass=prove-sync", "-o",
                                    folder / "mutant.ptobin"});
          INFO(name << " on " << target << (twice ? " with a second line " : " without line ") << i + 1 << ": "
                    << lines[i]);
          INFO(run.err);
          CHECK(run.code == 1);
          CHECK(run.err.find("error[E042") != std::string::npos);
          ++mutants;
        }
      }
    }
  }
  CHECK(mutants > 60);
}

TEST_CASE("a ring that is too small for its loop is a deadlock with both lines") {
  const Folder folder;
  const std::string text = R"(core cube c[M](x: f16[M, 16]) {
    buf l: tile f16[16, 16] layout(zz) at left:0x0;
    buf r: tile f16[16, 16] layout(zn) at right:0x0;
    buf acc: tile f32[16, 16] layout(nz) at acc:0x0;
    buf m: tile f32[16, 16] layout(nz) at mat:0x0;
    ring s: c2v tile f32[16, 16] slots 1;
    ring t: v2c tile f32[16, 16] slots 1;
    for i in 0..ceildiv(M, 16) {
        tpush s, acc;
    }
    for i in 0..ceildiv(M, 16) {
        tpop m, t;
    }
}
core vec v[M]() -> (y: f32[M, 16]) {
    buf p: tile f32[16, 16] at vec:0x0;
    ring s: c2v tile f32[16, 16] slots 1;
    ring t: v2c tile f32[16, 16] slots 1;
    for i in 0..ceildiv(M, 16) {
        tpop p, s;
        tpush t, p;
        tstore y[i * 16, 0], p;
    }
}
core pair k[M](x: f16[M, 16]) -> (y: f32[M, 16]) = (cube: c, vec: v) lanes 1;
)";
  const Outcome run = ptoc({folder.write("x.pto", text), "--skip-pass=prove-sync", "-o", folder / "x.ptobin"});
  INFO(run.err);
  CHECK(run.code == 1);
  CHECK(run.err.find("x.pto:9:9: error[E0420]: the cores of `k` wait for each other for ever: the cube core waits for "
                     "room in ring `s` for `ceildiv(M, 16)` = ") != std::string::npos);
  CHECK(run.err.find("x.pto:21:9: note: lane 0 waits for room in ring `t`") != std::string::npos);
}
