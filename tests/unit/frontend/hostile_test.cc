// Input made to hurt: nothing may crash, hang, or take the machine's memory.
#include <catch2/catch.hpp>
#include <random>

#include "tests/unit/frontend/compile.h"

namespace pto::frontend::test {
namespace {

std::string repeat(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += text;
  }
  return out;
}
std::string graph(const std::string& value) {
  return "graph g[M](x: f32[M]) -> (y: f32[M]) { y = " + value + "; }";
}

std::string code(const std::string& text) {
  return compile(text).first().substr(0, 5);
}

TEST_CASE("nesting is bounded") {
  CHECK(code(graph(repeat("(", 100000) + "x" + repeat(")", 100000))) == "E0104");
  CHECK(code(graph(repeat("[", 100000))) == "E0104");
  CHECK(code(graph(repeat("-", 100000) + "x")) == "E0104");
  CHECK(code(graph(repeat("-(", 200) + "x" + repeat(")", 200))) == "E0104");
  CHECK(code(graph("x" + repeat(" + x", 100000))) == "E0104");
  CHECK(code(graph("x" + repeat("[0]", 100000))) == "E0104");
  CHECK(code("kernel k[M](x: f32[M]) -> (y: f32[M]) {" + repeat("for i in 0..M {", 300) + repeat("}", 301)) == "E0104");
  CHECK(code("core vec c(x: f32[4]) { " + repeat("if 1 == 1 { } else ", 20000) + "{ } }") == "E0104");
  std::string constants;
  for (int i = 0; i < 2000; ++i) {
    constants += "const C" + std::to_string(i) + " = C" + std::to_string(i + 1) + ";";
  }
  CHECK(code(constants + "const C2000 = 1;") == "E0104");
}

TEST_CASE("what is below the bounds compiles") {
  CHECK(compile(graph(repeat("(", 250) + "x" + repeat(")", 250))).module);
  CHECK(compile(graph(repeat("-(", 100) + "x" + repeat(")", 100))).module);
  CHECK(compile(graph("x" + repeat(" + x", 900))).module);
}

TEST_CASE("brackets in comments and strings are no nesting") {
  CHECK(compile("// " + repeat("(", 1000) + "\n/* " + repeat("[", 1000) + " */\n" + graph("x")).module);
  CHECK(code("import \"" + repeat("(", 1000) + "\";") == "E0108");
}

TEST_CASE("encoding") {
  CHECK(compile(std::string("const A = 1; // \xFF")).errors ==
        std::vector<std::string>{"E0102 1:17 the file is not valid UTF-8"});
  CHECK(compile(std::string("a\0b", 3)).errors == std::vector<std::string>{"E0103 1:2 the file has a NUL byte"});
  CHECK(compile("// \xC3\xA9\n\xC3\xA9").errors.size() == 1);
  CHECK(compile("").module);
  CHECK(compile("\xEF\xBB\xBF").module);
}

TEST_CASE("too many tokens") {
  CHECK(code(repeat(";", 1100000)) == "E0107");
}

TEST_CASE("too many bytes") {
  const size_t most = size_t{64} << 20;
  CHECK(compile(std::string(most + 1, ' ')).errors ==
        std::vector<std::string>{"E0106 1:1 the file has 67108865 bytes; the limit is 67108864"});
}

TEST_CASE("expansion is bounded") {
  std::string helpers = "fn a0(x) = x + x;";
  std::string pairs = "fn b0(x) = x + x;";
  for (int i = 1; i < 30; ++i) {
    const std::string before = std::to_string(i - 1);
    helpers += "fn a" + std::to_string(i) + "(x) = a" + before + "(a" + before + "(x));";
    pairs += "fn b" + std::to_string(i) + "(x) = b" + before + "(x) * b" + before + "(x);";
  }
  CHECK(code(helpers + graph("a25(x)")) == "E0224");
  CHECK(code(pairs + graph("b25(x)")) == "E0224");
  CHECK(code(pairs + "kernel k[M](x: f32[M], inout y: f32[M]) { let b = b25(M); }").substr(0, 4) == "E022");
  std::string statements = "fn c0(g) { store(g[0 :+ 8], load(g[0 :+ 8])); }";
  for (int i = 1; i < 30; ++i) {
    const std::string call = "c" + std::to_string(i - 1) + "(g); ";
    statements += "fn c" + std::to_string(i) + "(g) { if 1 < 2 { " + call + "} for i in 0..2 { " + call + call + "} }";
  }
  CHECK(code(statements + "kernel k[M](inout g: f32[M]) { c25(g); }") == "E0224");
  // Dims that double with every call.
  std::string calls =
      "graph d[A](x: f32[A]) -> (y: f32[A + A]) { y = full(f32[A + A], 0.0); }\ngraph m[A](x: f32[A]) -> (y: f32[A]) { "
      "let v0 = d(x);";
  for (int i = 1; i < 60; ++i) {
    calls += "let v" + std::to_string(i) + " = d(v" + std::to_string(i - 1) + ");";
  }
  CHECK(code(calls + "y = x; }") == "E0223");
}

TEST_CASE("operations outside of a body") {
  CHECK(code("kernel k[M](x: f32[M], inout y: f32[M]) where x < 99 { store(y[0 :+ 8], load(x[0 :+ 8])); }") == "E0217");
  CHECK(code("graph g[M](x: f32[M], n: i32 = x + 1) -> (y: f32[M]) { y = x; }") == "E0217");
  CHECK(code("graph g[M](x: f32[M]) -> (y: f32[M]) where full(f32[4], 0.0) { y = x; }") == "E0217");
  CHECK(code("graph h() -> (y: f32[4]) { y = zeros(f32[4]); } graph g[M](x: f32[h()]) -> (y: f32[M]) { y = x; }") ==
        "E0217");
  CHECK(code("fn s() { } kernel k[M](x: f32[M], inout y: f32[M]) where s() { store(y[0 :+ 8], load(x[0 :+ 8])); }") ==
        "E0217");
  CHECK(code("const A = full(f32[4], 0.0);") == "E0217");
  CHECK(code("core vec c(x: f32[8, 64]) { let t: tile f32[8, 64]; }") == "E0217");
}

TEST_CASE("huge numbers") {
  CHECK(code("graph g(x: f32[4611686018427387904, 4611686018427387904]) -> (y: f32[1]) { y = full(f32[1], 0.0); }") ==
        "E0304");
  CHECK(code("graph g[M](x: f32[M]) -> (y: f32[1]) { y = full(f32[1], 1e999); }") == "E0101");
  CHECK(code("core vec c(x: f32[4]) { buf a: tile f32[8, 64] at vec:0x7fffffffffffffff; }") == "E0312");
  CHECK(code("core vec c(x: f32[4]) { buf a: tile f32[9223372036854775807, 64] at vec:0; }") == "E0314");
  CHECK(code("kernel k[M](x: f32[M]) -> (y: f32[M]) { let t = load(x[0 :+ 9223372036854775807]); }") == "E0314");
  CHECK(code("kernel k[M = 9223372036854775807](x: i8[M]) -> (y: i8[M]) { let t = load(x[:]); }") == "E0304");
  CHECK(compile("const A = -9223372036854775808;").module);
}

// Random edits of good programs: any outcome but a crash, and never silence about a failure.
TEST_CASE("mutated programs") {
  const std::vector<std::string> seeds = {
      "fn f(x) = x * 2.0;\nconst C = 4;\ngraph g[M, N = 8](x: f32[M, N], s: f32 = 1.0) -> (y: f32[M, N]) where M % 2 "
      "== 0 {\n"
      "let a = f(x) + s; var b = sum(a, axis: -1, keepdims: true); b = exp(b); y = select(a < b, a / b, max(a, 0.0)); "
      "}",
      "kernel k[M, N, K](a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) { parallel m in 0..M step 16, n in 0..N step 16 "
      "{\n"
      "var acc = zeros(f32[16, 16]); for k in 0..K step 16 pipeline 2 { acc += matmul(load(a[m :+ 16, k :+ 16]), "
      "load(b[k :+ 16, n :+ 16])); }\n"
      "let r = row_max(acc); store(c[m :+ 16, n :+ 16], acc - r); } }",
      "core vec c[M](x: f32[M, 64]) -> (y: f32[M, 64]) { buf t: tile f32[8, 64] at vec:0x0 slots 2 stride 0x1000; for "
      "i in 0..ceildiv(M, 8) {\n"
      "tload t[i % 2], x[i * 8, 0], valid(min(8, M - i * 8), 64); set_flag mte2 -> mte3, 0; if i == 0 { tstore y[i * "
      "8, 0], t[0]; } } }\n"
      "program p[M](x: f32[M, 64]) -> (y: f32[M, 64]) { buffer h: f32[M, 64] at 0; task t = c(x, h) blocks 2; task u = "
      "c(h, y) after t; }",
      "fn put(g, i) { store(g[i :+ 8, :], load(g[i :+ 8, :]) * 2.0); }\n"
      "kernel k[M](x: f32[M, 64], n: i32, inout g: f32[M, 64]) -> (y: f32[M, 64]) { parallel i in 0..M step 8 split "
      "rows "
      "{\n"
      "var d: tile f32[8, 64]; var e = zeros(f32[8, 1]); if n > 0 { d = load(x[i :+ 8, :]); } else if n == i { d = "
      "zeros(f32[8, 64]); e = e + 1.0; } else {\n"
      "d = full(f32[8, 64], i); for j in 0..n { if j == 2 { e = e * 2.0; put(g, i); } } } store(y[i :+ 8, :], d - e); "
      "} }",
      "core pair p[M](x: f32[M, 64], n: i32) -> (y: f32[M, 64]) where M < 99 = (cube: a, vec: b) lanes 2;\n"
      "auto core cube a[M](n: i32) { buf m: tile f32[32, 64] in mat; buf t: tile f32[32, 64] in acc; ring q: v2c tile "
      "f32[32, 64] slots 2 split rows;\n"
      "ring r: c2v tile f32[32, 64] slots 2; for i in 0..M { tpop m, q, valid(n, 64); tfree q, m; tpush r, t; } }\n"
      "auto core vec b[M](x: f32[M, 64]) -> (y: f32[M, 64]) { buf t: tile f32[16, 64] in vec; buf u: tile f32[32, 64] "
      "in "
      "vec; ring q: v2c tile f32[32, 64] slots 2 split rows;\n"
      "ring r: c2v tile f32[32, 64] slots 2; for i in 0..M { tload t, x[lane_index() * 16, 0]; tpush q, t; if "
      "lane_index() == 0 { tpop u, r; tstore y[0, 0], u; } } }\n"
      "program g[M](x: f32[M, 64]) -> (y: f32[M, 64]) { task t = p(x, 3, y) blocks 2; }",
  };
  const std::vector<std::string> words = {
      "(",   ")",   "[",    "]",        "{",   "}",    ";",    ",",  ":",
      ":+",  "..",  "->",   "=",        "+=",  "-",    "x",    "M",  "0",
      "1.5", "f32", "tile", "for",      "let", "var",  "load", "in", "9223372036854775807",
      "-1",  "\"",  "/*",   "\xC3\xA9", "if",  "else", "n",    "d",  "ring"};
  std::mt19937 random(20260801);
  int accepted = 0;
  for (int round = 0; round < 2500; ++round) {
    std::string text = seeds[random() % seeds.size()];
    for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % text.size();
      const size_t length = std::min<size_t>(random() % 4, text.size() - at);
      text.replace(at, length, random() % 3 == 0 ? std::string() : words[random() % words.size()]);
    }
    const Outcome out = compile(text);
    INFO(text);
    REQUIRE(out.module.has_value() == out.errors.empty());
    if (out.module) {
      ++accepted;
      const RoundTrip trip = round_trip(*out.module);
      INFO(trip.text);
      INFO(trip.problem);
      REQUIRE(trip.valid);
      REQUIRE(trip.equal);
    }
  }
  CHECK(accepted > 30);
}

}  // namespace
}  // namespace pto::frontend::test
