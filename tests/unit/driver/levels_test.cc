// Every stage dump is a program: compiling it gives the object that compiling the source gives.
#include <catch2/catch.hpp>

#include "tests/unit/driver/ptoc.h"

using namespace pto::test;

TEST_CASE("a dump of any level compiles to the same object as the source") {
  const Folder folder;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const std::string& name : samples()) {
      INFO(name << " on " << target);
      const std::string direct = folder / "direct.ptobin";
      Outcome run = ptoc({sample(name), "-o", direct, "--target", target, "--no-source-map", "--verify-each"});
      INFO(run.err);
      REQUIRE(run.code == 0);
      for (const std::string level : {"tensor", "tile", "block", "exec"}) {
        INFO("level " << level);
        const std::string dump = folder / "dump.pto";
        REQUIRE(ptoc({sample(name), "--target", target, "--emit-ir", level, "-o", dump}).code == 0);
        const std::string again = folder / "again.ptobin";
        run = ptoc({dump, "-o", again, "--target", target, "--no-source-map"});
        INFO(run.err);
        REQUIRE(run.code == 0);
        CHECK(slurp(direct) == slurp(again));
        // The level's dump is a fixed point: printing what was parsed gives the same text.
        run = ptoc({dump, "--target", target, "--emit-ir", level});
        CHECK(run.out == slurp(dump));
      }
      const std::string text = folder / "disasm.pto";
      REQUIRE(ptoc({"--disasm", direct, "-o", text}).code == 0);
      const std::string assembled = folder / "assembled.ptobin";
      run = ptoc({text, "-o", assembled, "--target", target, "--no-source-map"});
      INFO(run.err);
      REQUIRE(run.code == 0);
      CHECK(slurp(direct) == slurp(assembled));
    }
  }
}

TEST_CASE("every pass's dump parses again and leads to the same object") {
  const Folder folder;
  for (const std::string name : {"softmax.pto", "mlp.pto"}) {
    const std::string direct = folder / "direct.ptobin";
    REQUIRE(ptoc({sample(name), "-o", direct, "--no-source-map"}).code == 0);
    for (const std::string pass :
         {"inline", "decompose", "dce", "fuse", "lower-to-tile", "infer-space", "pipeline", "select", "plan-memory",
          "insert-sync", "prove-sync", "outline-tasks", "derive-edges", "plan-workspace"}) {
      INFO(name << " after " << pass);
      const std::string dump = folder / "dump.pto";
      REQUIRE(ptoc({sample(name), "--emit-ir-after", pass, "-o", dump}).code == 0);
      const std::string again = folder / "again.ptobin";
      const Outcome run = ptoc({dump, "-o", again, "--no-source-map"});
      INFO(run.err);
      REQUIRE(run.code == 0);
      CHECK(slurp(direct) == slurp(again));
    }
  }
}

TEST_CASE("two compilations give the same bytes, source map included") {
  const Folder folder;
  for (const std::string& name : samples()) {
    REQUIRE(ptoc({sample(name), "-o", folder / "a.ptobin"}).code == 0);
    REQUIRE(ptoc({sample(name), "-o", folder / "b.ptobin"}).code == 0);
    CHECK(slurp(folder / "a.ptobin") == slurp(folder / "b.ptobin"));
    CHECK(!slurp(folder / "a.ptobin").empty());
  }
}

TEST_CASE("a file without anything to compile is refused") {
  const Folder folder;
  for (const std::string text : {"", "// nothing\n", "const N = 3;\nfn f(x) = x + 1.0;\n"}) {
    const Outcome run = ptoc({folder.write("x.pto", text), "-o", folder / "x.ptobin"});
    CHECK(run.code == 1);
    CHECK(run.err.find("E0908") != std::string::npos);
    CHECK(!std::filesystem::exists(folder / "x.ptobin"));
  }
}
