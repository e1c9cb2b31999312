// Every stage dump is a program: compiling it gives the object that compiling the source gives.
#include <catch2/catch.hpp>
#include <fstream>

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
         {"inline", "decompose", "dce", "fuse", "lower-to-tile", "infer-space", "tile-l0", "pipeline", "select",
          "plan-memory", "insert-sync", "prove-sync", "outline-tasks", "derive-edges", "plan-workspace"}) {
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

TEST_CASE("a dump of products of large tiles, cut into pieces, compiles to the same object") {
  const Folder folder;
  const std::string source = folder / "source.pto";
  std::ofstream(source)
      << "kernel whole[M, N](a: f16[M, 512], b: f16[512, N]) -> (c: f16[M, N]) {\n"
         "  parallel m in 0..M step 256, n in 0..N step 256 {\n"
         "    store(c[m :+ 256, n :+ 256],\n"
         "          cast(matmul(load(a[m :+ 256, 0 :+ 512]), load(b[0 :+ 512, n :+ 256])), f16));\n"
         "  }\n"
         "}\n"
         "kernel looped[M, N, K](a: f32[M, K], b: f32[K, N], r: f32[N]) -> (c: f32[M, N]) {\n"
         "  parallel m in 0..M step 128, n in 0..N step 128 {\n"
         "    var acc = broadcast(load(r[n :+ 128]), [128, 128]);\n"
         "    for k in 0..K step 320 {\n"
         "      acc += matmul(load(a[m :+ 128, k :+ 320]), load(b[k :+ 320, n :+ 128]));\n"
         "    }\n"
         "    store(c[m :+ 128, n :+ 128], acc);\n"
         "  }\n"
         "}\n"
         "kernel large[M, N, K](a: f16[M, K], b: f16[K, N]) -> (c: f16[M, N]) {\n"
         "  parallel m in 0..M step 256, n in 0..N step 512 {\n"
         "    var acc = zeros(f32[256, 512]);\n"
         "    for k in 0..K step 128 {\n"
         "      acc += matmul(load(a[m :+ 256, k :+ 128]), load(b[k :+ 128, n :+ 512]));\n"
         "    }\n"
         "    store(c[m :+ 256, n :+ 512], cast(acc, f16));\n"
         "  }\n"
         "}\n"
         "kernel biased[M, N](a: i8[M, 300], b: i8[300, N], r: i32[N]) -> (c: i32[M, N]) {\n"
         "  parallel m in 0..M step 240, n in 0..N step 224 {\n"
         "    store(c[m :+ 240, n :+ 224], matmul(load(a[m :+ 240, 0 :+ 320]), load(b[0 :+ 320, n :+ 224]),\n"
         "                                        bias: load(r[n :+ 224])));\n"
         "  }\n"
         "}\n";
  for (const std::string target : {"a2a3", "a5"}) {
    const std::string direct = folder / "direct.ptobin";
    Outcome run = ptoc({source, "-o", direct, "--target", target, "--no-source-map", "--verify-each"});
    INFO(run.err);
    REQUIRE(run.code == 0);
    for (const std::string pass : {"infer-space", "tile-l0", "pipeline", "insert-sync"}) {
      INFO(target << " after " << pass);
      const std::string dump = folder / "dump.pto";
      REQUIRE(ptoc({source, "--target", target, "--emit-ir-after", pass, "-o", dump}).code == 0);
      CHECK((slurp(dump).find("extract(") != std::string::npos) == (pass == "tile-l0" || pass == "pipeline"));
      const std::string again = folder / "again.ptobin";
      run = ptoc({dump, "-o", again, "--target", target, "--no-source-map"});
      INFO(run.err);
      REQUIRE(run.code == 0);
      CHECK(slurp(direct) == slurp(again));
    }
  }
}
