// Imports, constants, `-D`, and checks against a target.
#include <catch2/catch.hpp>

#include "tests/unit/frontend/compile.h"

namespace pto::frontend::test {
namespace {

const std::string kGraph = "const K = 4;\ngraph g[M, N = 8](x: f32[M, N, K]) -> (y: f32[M, N, K]) { y = x; }";

std::string head(const std::map<std::string, std::string>& defines) {
  Setup setup;
  setup.defines = defines;
  const Outcome out = compile(kGraph, setup);
  const std::string text = out.module ? out.text() : out.first();
  return text.substr(0, text.find(" ->"));
}

TEST_CASE("define: -D sets constants and dims") {
  CHECK(head({}) == "graph g[M](x: f32[M, 8, 4])");
  CHECK(head({{"K", "5"}}) == "graph g[M](x: f32[M, 8, 5])");
  CHECK(head({{"N", "16"}}) == "graph g[M](x: f32[M, 16, 4])");
  CHECK(head({{"N", "?"}}) == "graph g[M, N](x: f32[M, N, 4])");
  CHECK(head({{"M", "0x10"}}) == "graph g(x: f32[16, 8, 4])");
  CHECK(head({{"M", "1_000"}, {"N", "?"}}) == "graph g[N](x: f32[1000, N, 4])");
}

TEST_CASE("define: -D that means nothing is an error") {
  CHECK(head({{"Q", "1"}}) == "E0206 -D Q `-D Q` matches no constant and no dim");
  CHECK(head({{"N", "eight"}}) == "E0207 -D N `-D N=eight`: expected an integer, or `?` for a dynamic dim");
  CHECK(head({{"N", ""}}) == "E0207 -D N `-D N=`: expected an integer, or `?` for a dynamic dim");
  CHECK(head({{"N", "99999999999999999999"}}).starts_with("E0207"));
  CHECK(head({{"N", "0"}}) == "E0303 -D N dim `N` must be at least 1, found 0");
  CHECK(head({{"N", "-3"}}) == "E0303 -D N dim `N` must be at least 1, found -3");
  CHECK(head({{"K", "?"}}) == "E0207 -D K `-D K=?`: it is a constant, and only a dim can be dynamic");
}

TEST_CASE("constants may need each other in any order") {
  const Outcome out =
      compile("const A = B * 2; const B = C - 1; const C = 5; graph g(x: f32[A]) -> (y: f32[8]) { y = x; }");
  REQUIRE(out.module);
}

TEST_CASE("imports: relative to the importer, then -I, each file once") {
  Setup setup;
  setup.files = {{"lib/a.pto", "import \"sub/b.pto\";\nfn twice(x) = half(x) * 4.0;"},
                 {"lib/sub/b.pto", "import \"../c.pto\";\nfn half(x) = x * HALF;"},
                 {"lib/c.pto", "const HALF = 2;"},
                 {"inc/d.pto", "import \"../lib/c.pto\"; fn other(x) = x + HALF;"}};
  setup.include_paths = {"nowhere", "inc"};
  const Outcome out = compile(
      "import \"lib/a.pto\";\nimport \"d.pto\";\nimport \"./lib/../lib/a.pto\";\n"
      "graph g(x: f32[4]) -> (y: f32[4]) { y = other(twice(x)); }",
      setup);
  INFO(out.first());
  REQUIRE(out.module);
  CHECK(out.imported == std::vector<std::string>{"lib/a.pto", "lib/sub/b.pto", "lib/c.pto", "inc/d.pto"});
}

TEST_CASE("imports that fail") {
  Setup setup;
  setup.files = {{"a.pto", "import \"b.pto\";"},
                 {"b.pto", "\nimport \"a.pto\";"},
                 {"bad.pto", "const = 1;"},
                 {"e.pto", "fn f(x) = x + q;"}};
  CHECK(compile("import \"none.pto\";", setup).errors == std::vector<std::string>{"E0108 1:8 can't find `none.pto`"});
  CHECK(compile("import \"a.pto\";", setup).errors ==
        std::vector<std::string>{"E0109 b.pto:2:8 `a.pto` imports itself: a.pto -> b.pto -> a.pto"});
  CHECK(compile("import \"test.pto\";", setup).errors.empty() == false);
  CHECK(compile("import \"bad.pto\";", setup).errors ==
        std::vector<std::string>{"E0101 bad.pto:1:7 expected a name after `const`, found `=`"});
  const Outcome out = compile("import \"e.pto\";\ngraph g(x: f32[4]) -> (y: f32[4]) { y = f(x); }", setup);
  CHECK(out.errors == std::vector<std::string>{"E0201 e.pto:1:15 unknown name `q`"});
  CHECK(out.notes == std::vector<std::string>{"note: expanded from here"});
}

TEST_CASE("cores are checked against the target where they stand") {
  DiagnosticSink sink;
  const Result<Target> target = builtin_target("a2a3", sink);
  REQUIRE(target);
  Setup setup;
  setup.target = &*target;
  const std::string text =
      "core vec c(x: f32[8, 64]) -> (y: f32[8, 64]) {\nbuf a: tile f32[8, 64] at vec:0x0;\nbuf b: tile f32[8, 64] at "
      "vec:0x7;\n"
      "tload a, x[0, 0];\nset_flag mte2 -> mte3, 0; wait_flag mte2 -> mte3, 0;\ntcvt a, a, rint; tstore y[0, 0], a; }";
  CHECK(compile(text).errors.empty());
  const Outcome out = compile(text, setup);
  REQUIRE_FALSE(out.errors.empty());
  CHECK(out.first().starts_with("E0312 3:1 buffer `b`: "));
  const Outcome wrong = compile(
      "core vec c(x: f16[8, 64]) -> (y: f32[8, 64]) {\nbuf a: tile f32[8, 64] at vec:0x0;\ntload a, x[0, 0];\ntstore "
      "y[0, 0], a; }",
      setup);
  REQUIRE_FALSE(wrong.errors.empty());
  CHECK(wrong.first().starts_with("E0311 3:1 `tload`: "));
}

}  // namespace
}  // namespace pto::frontend::test
