// Rings and pairs: what they become, and what is refused.
#include <catch2/catch.hpp>

#include "tests/unit/frontend/compile.h"
#include "tests/unit/ir/random_module.h"

namespace pto::frontend::test {
namespace {

const std::string kPair =
    "core pair ffn[M](x: f16[M, 64], n: i32) -> (y: f16[M, 256]) = (cube: up, vec: down) lanes 2;\n";
const std::string kCube =
    "auto core cube up[M](x: f16[M, 64]) { buf acc: tile f32[128, 256] in acc; ring s: c2v tile f32[128, 256] slots 2 "
    "split rows; for i in 0..ceildiv(M, 128) { tpush s, acc; } }\n";
const std::string kVec =
    "auto core vec down[M](n: i32) -> (y: f16[M, 256]) { buf p: tile f32[64, 256] in vec slots 2; buf h: tile f16[64, "
    "256] "
    "in vec; ring s: c2v tile f32[128, 256] slots 2 split rows;\n"
    "for i in 0..ceildiv(M, 128) { tpop p[i % 2], s, valid(min(64, M - i * 128 - lane_index() * 64), 256);\n"
    "tcvt h, p[i % 2], rint; tstore y[i * 128 + lane_index() * 64, 0], h; } }\n";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

std::string error_of(const std::string& text) {
  const Outcome out = compile(text);
  INFO(text);
  CHECK_FALSE(out.module);
  CHECK(out.errors.size() == 1);
  return out.first();
}

TEST_CASE("a pair prints as it is written, in front of its cores or behind them") {
  for (const std::string& text : {kPair + kCube + kVec, kCube + kVec + kPair, kVec + kPair + kCube}) {
    const Outcome out = compile(text + "program main[K](x: f16[K, 64]) -> (o: f16[K, 256]) { task t = ffn(x, 3, o); }");
    INFO(out.first());
    REQUIRE(out.module);
    const RoundTrip trip = round_trip(*out.module);
    INFO(trip.problem);
    CHECK(trip.valid);
    CHECK(trip.equal);
    CHECK(trip.text.find(kPair) != std::string::npos);
    CHECK(trip.text.find("    ring s: c2v tile f32[128, 256] slots 2 split rows;\n") != std::string::npos);
    CHECK(trip.text.find("        tpush s, acc;\n") != std::string::npos);
    CHECK(trip.text.find("        tpop p[i % 2], s, valid(min(64, M - i * 128 - lane_index() * 64), 256);\n") !=
          std::string::npos);
    CHECK(trip.text.find("task t = ffn(x, 3, o);") != std::string::npos);
  }
}

TEST_CASE("buffers print in front of rings, wherever they stand") {
  const std::string mixed = replaced(kVec, "ring s: c2v tile f32[128, 256] slots 2 split rows;", "");
  const Outcome out =
      compile(kPair + kCube + replaced(mixed, "buf p", "ring s: c2v tile f32[128, 256] split rows slots 2; buf p"));
  INFO(out.first());
  REQUIRE(out.module);
  CHECK(out.text().find("in vec;\n    ring s:") != std::string::npos);
}

TEST_CASE("the parts of a ring have defaults, and local rings give slots back") {
  const std::string text =
      "core pair p(x: f32[8, 64], inout y: f32[8, 64]) where 1 < 2 = (vec: v, cube: c);\n"
      "auto core vec v(x: f32[8, 64], inout y: f32[8, 64]) { buf a: tile f32[8, 64] in vec; ring r: v2c tile f32[8, "
      "64]; tload a, x[0, 0]; if lane_index() == 0 { tpush r, a; } tload a, y[0, 0]; tstore y[0, 0], a; }\n"
      "auto core cube c() { buf m: tile f32[8, 64] in mat; ring r: v2c tile f32[8, 64]; tpop m, r; tfree r, m; }";
  const Outcome out = compile(text);
  INFO(out.first());
  REQUIRE(out.module);
  CHECK(out.module->functions[0].lanes == 2);
  CHECK(out.module->functions[0].pair_cube == "c");
  const RoundTrip trip = round_trip(*out.module);
  CHECK(trip.valid);
  CHECK(trip.equal);
  CHECK(trip.text.find("ring r: v2c tile f32[8, 64] slots 1;") != std::string::npos);
  CHECK(trip.text.find("tpop m, r;\n    tfree r, m;") != std::string::npos);
}

TEST_CASE("static dims of a pair and of its cores") {
  const std::string text =
      replaced(replaced(replaced(kPair + kCube + kVec, "ffn[M]", "ffn[M = 256]"), "up[M]", "up[M = 256]"), "down[M]",
               "down[M = 256]");
  const Outcome out = compile(text);
  INFO(out.first());
  REQUIRE(out.module);
  CHECK(out.text().find("core pair ffn(x: f16[256, 64]") != std::string::npos);
  Setup setup;
  setup.defines = {{"M", "?"}};
  CHECK(compile(text, setup).text() == compile(kPair + kCube + kVec).text());
}

TEST_CASE("pairs: refused") {
  CHECK(error_of(replaced(kPair, "up", "upp") + kCube + kVec).starts_with("E0201 1:70 unknown name `upp`"));
  CHECK(error_of(replaced(kPair, "cube: up", "cube: down") + kCube + kVec)
            .starts_with("E0317 1:70 pair `ffn`: `down` is a vec core, not a cube core"));
  CHECK(error_of(kPair + kCube + kVec + replaced(replaced(kPair, "ffn", "two"), "vec: down", "vec: ffn")) ==
        "E0317 6:79 pair `two`: `ffn` is a pair, not a vec core");
  CHECK(error_of(replaced(kPair, "cube: up", "mat: up") + kCube + kVec) ==
        "E0220 1:64 `mat` is no kind of core; known are `vec` and `cube`");
  CHECK(error_of(replaced(kPair, "cube: up, ", "") + kVec) == "E0317 1:11 pair `ffn`: it names no cube core");
  CHECK(error_of(replaced(kPair, "cube: up, ", "cube: up, cube: up, ") + kCube + kVec) ==
        "E0202 1:74 `cube` is already declared");
  CHECK(error_of(replaced(kPair, "x: f16[M, 64], ", "") + kCube + kVec) ==
        "E0317 1:11 pair `ffn`: `x` of `up` is none of its parameters");
  CHECK(error_of(replaced(kPair, "x: f16[M, 64]", "x: f16[M, 32]") + kCube + kVec) ==
        "E0317 1:11 pair `ffn`: `x` has another type in `up`");
  CHECK(error_of(replaced(kPair, "n: i32", "n: f32") + kCube + kVec) ==
        "E0317 1:11 pair `ffn`: `n` has another type in `down`");
  CHECK(error_of(replaced(kPair, ") -> (y", ", y") + kCube + kVec) ==
        "E0317 1:11 pair `ffn`: `y` is declared as an input, but `down` only writes it");
  const std::string one =
      replaced(replaced(kCube, "up[M](x: f16[M, 64])", "up[K](x: f16[K, 64])"), "ceildiv(M", "ceildiv(K");
  CHECK(error_of(kPair + one + kVec) == "E0317 1:11 pair `ffn`: dim `K` of `up` is none of its dims");
  CHECK(error_of(replaced(kPair, "ffn[M]", "ffn[M = 64]") + kCube + replaced(kVec, "down[M]", "down[M = 64]")) ==
        "E0317 1:11 pair `ffn`: dim `M` is static, but in `up` it is dynamic");
  CHECK(error_of(kPair + replaced(kCube, "split rows", "split cols") + kVec) ==
        "E0317 1:11 pair `ffn`: ring `s` is declared differently in its cores");
  CHECK(error_of(kPair + replaced(kCube, "slots 2 split rows;", "slots 2 split rows; ring t: c2v tile f32[8, 64];") +
                 kVec) == "E0317 1:11 pair `ffn`: `down` does not declare ring `t`");
  CHECK(error_of(replaced(kPair, "lanes 2", "lanes 1") + kCube + kVec) ==
        "E0317 1:11 pair `ffn`: it has one lane, but ring `s` is split");
  CHECK(error_of(replaced(kPair, "lanes 2", "lanes 3") + kCube + kVec) ==
        "E0317 1:91 pair `ffn`: a cluster has one or two lanes");
  CHECK(error_of(replaced(kPair, "ffn[M]", "ffn[M, N]") + kCube + kVec).starts_with("E0310 1:11"));
  CHECK(error_of(kPair + kPair + kCube + kVec) == "E0202 2:11 `ffn` is already declared");
}

TEST_CASE("rings: refused") {
  const std::string ring = "ring s: c2v tile f32[128, 256] slots 2 split rows;";
  auto with = [&](const std::string& other) { return error_of(kPair + replaced(kCube, ring, other) + kVec); };
  CHECK(with("ring s: up tile f32[128, 256];") ==
        "E0220 2:83 `up` is no direction of a ring; known are `c2v` and `v2c`");
  CHECK(with("ring s: c2v f32[128, 256];").starts_with("E0204 2:87 `ring` needs a tile type"));
  CHECK(with("ring s: c2v tile f32[128, 256] in vec;").starts_with("E0204 2:87 `ring` needs a tile type"));
  CHECK(with("ring s: c2v tile f32[128, 256] split lanes;") ==
        "E0220 2:112 `lanes` is no way to split; known are `rows`, `cols` and `none`");
  CHECK(with("ring s: c2v tile f32[127, 256] split rows;").starts_with("E0316 2:75"));
  CHECK(with("ring s: c2v tile f32[128, 256] slots 17;").starts_with("E0316 2:75"));
  CHECK(with("ring s: c2v tile f32[128, 256] slots 0;").starts_with("E0303"));
  CHECK(with(ring + " " + ring) == "E0202 2:131 `s` is already declared");
  CHECK(compile(kPair + replaced(kCube, ring, "ring M: c2v tile f32[128, 256] slots 2 split rows;") + kVec).first() ==
        "E0202 2:80 `M` is already declared");
  CHECK(with("ring s: c2v tile f32[128, 256] slots 2 slots 2;") == "E0101 2:114 `slots` is written twice");
  CHECK(error_of(kPair + kCube + replaced(kVec, "tcvt h", ring + " tcvt h")).find("can't stand") != std::string::npos);
  CHECK(error_of(kPair + replaced(kCube, "tpush s, acc", "tpush acc, acc") + kVec) ==
        "E0204 2:162 this operand needs a ring, found `acc`, which is none");
  CHECK(error_of(kPair + replaced(kCube, "tpush s, acc", "tpush q, acc") + kVec) == "E0201 2:162 unknown name `q`");
  CHECK(error_of(kPair + replaced(kCube, "tpush s, acc", "tpush s, s") + kVec) ==
        "E0204 2:165 this operand needs a buffer, found `s`, which is none");
  CHECK(error_of(kPair + replaced(kCube, "tpush s, acc", "let q = s + 1") + kVec) ==
        "E0217 2:164 ring `s` can't stand in an expression");
  std::string many;
  for (int i = 0; i < 17; ++i) {
    many += "ring r" + std::to_string(i) + ": c2v tile f32[128, 256]; ";
  }
  CHECK(compile(kPair + replaced(kCube, ring, many + ring) + kVec).first().starts_with("E0316"));
  CHECK(compile("kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) {\nring s: c2v tile f32[8, 64]; store(y[0 :+ 8, :], "
                "load(x[0 :+ 8, :])); }")
            .first() == "E0217 2:1 `ring` can't stand in a kernel");
}

TEST_CASE("a core with rings runs in a pair only") {
  // What stands elsewhere wrong comes first.
  CHECK(compile(kCube + "graph g(x: f32[4]) -> (y: f32[4]) { y = q; }").errors.size() == 1);
  CHECK(error_of("auto core cube c(x: f16[8, 64]) {\nring s: c2v tile f32[16, 64]; buf a: tile f32[16, 64] in acc; "
                 "tpush s, a; }") == "E0217 2:1 `ring` can't stand in a core that no `core pair` names");
  CHECK(error_of(kPair + kCube + kVec + "program main[K](x: f16[K, 64]) {\n task t = up(x); }") ==
        "E0216 7:2 `up` can't be called here: it is half of a pair: call the pair");
}

TEST_CASE("lanes are numbered in vec cores only") {
  CHECK(error_of(kPair + replaced(kCube, "0..ceildiv", "lane_index()..ceildiv") + kVec) ==
        "E0217 2:135 `lane_index()` can't stand in a cube core");
  CHECK(error_of("kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) {\nlet a = lane_index(); store(y[0 :+ 8, :], load(x[0 "
                 ":+ 8, :])); }") == "E0217 2:9 `lane_index()` can't stand in a kernel");
}

TEST_CASE("the target's rules for rings and their instructions") {
  DiagnosticSink sink;
  const Result<Target> target = builtin_target("a2a3", sink);
  REQUIRE(target);
  Setup setup;
  setup.target = &*target;
  CHECK(compile(kPair + kCube + kVec, setup).first() == "");
  CHECK(compile(kPair + replaced(kCube, "tile f32[128, 256] in acc", "tile f32[64, 256] in acc") + kVec, setup)
            .first()
            .starts_with("E0311 2:"));
  CHECK(compile(kPair + kCube + replaced(kVec, "tcvt h", "tfree s, p[0]; tcvt h"), setup)
            .first()
            .starts_with("E0311 5:1"));
}

TEST_CASE("random modules and pairs survive the way through text, and keep their names") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    for (ir::Module module : {ir::samples::random_module(seed), ir::samples::random_pair_module(seed)}) {
      const RoundTrip trip = round_trip(module);
      INFO(trip.text);
      INFO(trip.problem);
      REQUIRE(trip.valid);
      REQUIRE(trip.equal);
      for (ir::Function& function : module.functions) {
        ir::normalize_names(function);
      }
      Outcome again = compile(ir::print(module));
      REQUIRE(again.module);
      for (ir::Function& function : again.module->functions) {
        ir::normalize_names(function);
      }
      CHECK(again.text() == ir::print(module));
    }
  }
}

}  // namespace
}  // namespace pto::frontend::test
