// `if` in kernels, variables without a value, helpers with statements, `split`: what they become, and what is refused.
#include <catch2/catch.hpp>

#include "tests/unit/frontend/compile.h"

namespace pto::frontend::test {
namespace {

// A statement in a kernel's parallel, on line 2, column 1.
std::string kernel(const std::string& body) {
  return "kernel k[M](x: f32[M, 64], z: f32[M, 64], n: i32, s: f32, w: f16[64, 64], inout u: f32[M, 64]) -> (y: f32[M, "
         "64]) { parallel "
         "i in 0..M step 8 {\n" +
         body + "\n} }";
}

// The statements of a kernel's parallel as they print, after checking that the text means the same.
std::string printed(const std::string& body) {
  const Outcome out = compile(kernel(body));
  INFO(body);
  INFO(out.first());
  REQUIRE(out.module);
  const RoundTrip trip = round_trip(*out.module);
  INFO(trip.text);
  INFO(trip.problem);
  CHECK(trip.valid);
  CHECK(trip.equal);
  // A dump and its parse have the same names, so that what follows from names is the same.
  ir::Module named = *out.module;
  for (ir::Function& function : named.functions) {
    ir::normalize_names(function);
  }
  const Outcome again = compile(ir::print(named));
  REQUIRE(again.module);
  ir::Module renamed = *again.module;
  for (ir::Function& function : renamed.functions) {
    ir::normalize_names(function);
  }
  for (const ir::Function& function : renamed.functions) {
    for (const ir::Value& value : function.values) {
      const bool unused = value.name.empty();
      CHECK_FALSE(unused);
    }
  }
  CHECK(ir::print(named) == ir::print(renamed));
  const size_t begin = trip.text.find("{\n", trip.text.find("parallel")) + 2;
  return trip.text.substr(begin, trip.text.rfind("    }\n}") - begin);
}

std::vector<std::string> refused(const std::string& text) {
  const Outcome out = compile(text);
  CHECK_FALSE(out.module);
  return out.errors;
}
std::string first(const std::string& body) {
  const std::vector<std::string> errors = refused(kernel(body));
  INFO(body);
  CHECK(errors.size() == 1);
  return errors.empty() ? "" : errors[0];
}

const std::string kEnd = "store(y[i :+ 8, :], load(x[i :+ 8, :]));";

TEST_CASE("a variable that a branch assigns is what the `if` results in") {
  CHECK(printed("let a = load(x[i :+ 8, :]); var d = a; if n > 0 { d = exp(a); } store(y[i :+ 8, :], d);") ==
        R"(        let a = load(x[i :+ 8, 0 :+ 64]);
        var d: tile f32[8, 64];
        if 0 < n {
            let d1 = exp(a);
            d = d1;
        } else {
            d = a;
        }
        store(y[i :+ 8, 0 :+ 64], d);
)");
}

TEST_CASE("`else if` nests, and each branch sees the values of before") {
  CHECK(printed("let a = load(x[i :+ 8, :]); var d = a; var e = a * 2.0;\n"
                "if i == n { d = d + 1.0; e = d; } else if s > 0.5 { e = d * 3.0; } else { d = e; }\n"
                "store(y[i :+ 8, :], d + e);") == R"(        let a = load(x[i :+ 8, 0 :+ 64]);
        let e = a * 2.0;
        var d: tile f32[8, 64];
        var e1: tile f32[8, 64];
        if i == n {
            let d1 = a + 1.0;
            d = d1;
            e1 = d1;
        } else {
            var d2: tile f32[8, 64];
            var e2: tile f32[8, 64];
            if 0.5 < s {
                let e3 = a * 3.0;
                d2 = a;
                e2 = e3;
            } else {
                d2 = e;
                e2 = e;
            }
            d = d2;
            e1 = e2;
        }
        let t0 = d + e1;
        store(y[i :+ 8, 0 :+ 64], t0);
)");
}

TEST_CASE("branches in loops carry, loops in branches don't leave them") {
  const std::string text = printed(
      "var acc = zeros(f32[8, 64]); for j in 0..4 { if j == n { acc = acc + load(x[i :+ 8, :]); } else {\n"
      "for q in 0..2 { acc = acc - 1.0; } } } store(y[i :+ 8, :], acc);");
  CHECK(text == R"(        var acc = zeros(f32[8, 64; min(8, M - i), 64]);
        for j in 0..4 {
            var acc1: tile f32[8, 64];
            if j == n {
                let t0 = load(x[i :+ 8, 0 :+ 64]);
                let acc2 = acc + t0;
                acc1 = acc2;
            } else {
                var acc3 = acc;
                for q in 0..2 {
                    acc3 = acc3 - 1.0;
                }
                acc1 = acc3;
            }
            acc = acc1;
        }
        store(y[i :+ 8, 0 :+ 64], acc);
)");
}

TEST_CASE("an `if` without variables stores, and what it names is its own") {
  CHECK(printed("if n > 0 { let a = load(x[i :+ 8, :]); store(y[i :+ 8, :], a); } else { let a = load(z[i :+ 8, :]); "
                "store(y[i :+ 8, :], a); }") == R"(        if 0 < n {
            let a = load(x[i :+ 8, 0 :+ 64]);
            store(y[i :+ 8, 0 :+ 64], a);
        } else {
            let a1 = load(z[i :+ 8, 0 :+ 64]);
            store(y[i :+ 8, 0 :+ 64], a1);
        }
)");
  CHECK(first("if n > 0 { let a = load(x[i :+ 8, :]); } store(y[i :+ 8, :], a);") == "E0201 2:62 unknown name `a`");
}

TEST_CASE("a fill in one branch is as valid as the load in the other") {
  const std::string text = printed(
      "var d: tile f32[8, 64]; if n > 0 { let r = i / 2; d = load(z[i :+ 8, :]) * r; } else { d = zeros(f32[8, 64]); "
      "}\n"
      "var e: tile f32[8, 64]; if n > 1 { e = full(f32[8, 64], 1.0); } else { e = full(f32[8, 64], 2.0); }\n"
      "store(y[i :+ 8, :], load(x[i :+ 8, :]) + e);\nstore(u[i :+ 8, :], d);");
  CHECK(text.find("zeros(f32[8, 64; min(8, M - i), 64])") != std::string::npos);
  CHECK(text.find("full(f32[8, 64; min(8, M - i), 64], 1.0)") != std::string::npos);
  CHECK(text.find("full(f32[8, 64; min(8, M - i), 64], 2.0)") != std::string::npos);
}

TEST_CASE("a region in the words of one branch is no word of the other") {
  // Both windows are wholly inside, whatever they are called.
  const std::string text = printed(
      "var d: tile f16[8, 64]; if n > 0 { let r = 8; d = load(w[r :+ 8, :]); } else { let q = 16; d = load(w[q :+ 8, "
      ":]); "
      "}\nstore(y[0 :+ 8, :], load(x[0 :+ 8, :]) + cast(d, f32)); store(u[i :+ 8, :], load(x[i :+ 8, :]));");
  CHECK(text.find("load(w[r :+ 8") != std::string::npos);
}

TEST_CASE("branches: refused") {
  CHECK(
      first("var d: tile f32[8, 64]; if n > 0 { d = load(x[i :+ 8, :]); } else { d = load(x[n :+ 8, :]); }" + kEnd) ==
      "E0318 2:25 `d` has type `tile f32[8, 64; min(8, M - i), 64]` behind one branch and `tile f32[8, 64; min(8, M - "
      "n), 64]` behind the other");
  CHECK(first("var d: tile f32[8, 64]; if n > 0 { let r = n * 2; d = load(x[r :+ 8, :]); } else { let r = n * 2; d = "
              "load(x[r :+ 8, :]); }" +
              kEnd)
            .starts_with("E0318 2:25"));
  CHECK(
      first(
          "let a = fillpad(load(x[i :+ 8, :]), zero); var d = a; if n > 0 { let r = n * 2; d = load(x[r :+ 8, :]); }" +
          kEnd)
          .starts_with("E0318 2:55"));
  CHECK(first("var d: tile f32[8, 64]; if n > 0 { d = load(x[i :+ 8, :]); } store(y[i :+ 8, :], d);") ==
        "E0222 2:82 `d` is read, but nothing wrote it before");
  CHECK(first("var d: tile f32[8, 64]; for j in 0..n { d = load(x[i :+ 8, :]); } store(y[i :+ 8, :], d);") ==
        "E0222 2:87 `d` is read, but nothing wrote it before");
  CHECK(first("var d: tile f32[8, 64]; d += load(x[i :+ 8, :]);" + kEnd) ==
        "E0222 2:25 `d` is read, but nothing wrote it before");
  CHECK(first("var d: tile f32[8, 64]; if n > 0 { d = load(x[i :+ 8, 0 :+ 32]); }" + kEnd).starts_with("E0203 2:36"));
  CHECK(first("var d: tile f32[8, 64; 1, 2];" + kEnd) ==
        "E0217 2:8 a valid region, memory or layout can't stand in the type of a variable");
  CHECK(first("var d: f32[8, 64];" + kEnd) ==
        "E0204 2:8 a variable without a value needs a tile type like `tile f32[8, 64]`, found another type");
  CHECK(first("var d;" + kEnd) == "E0217 2:1 `var` with neither value nor type can't stand here");
  CHECK(first("let d: tile f32[8, 64];" + kEnd) == "E0217 2:1 `let` without a value can't stand here");
  CHECK(first("if s { }" + kEnd) == "E0204 2:4 a condition needs an index expression, found a scalar of type f32");
  CHECK(first("if load(x[i :+ 8, :]) { }" + kEnd).starts_with("E0204 2:4 a condition needs an index expression"));
  CHECK(first("if n > 0 { parallel j in 0..M { } }" + kEnd) ==
        "E0217 2:12 `parallel` can't stand inside another statement");
  CHECK(refused("graph g(x: f32[4]) -> (y: f32[4]) {\n if 1 < 2 { y = x; } }")
            .front()
            .starts_with("E0105 2:2 `if` in a graph"));
}

TEST_CASE("branches nest no deeper than a limit, chains of `else if` too") {
  std::string chain;
  for (int i = 0; i < 400; ++i) {
    chain += "if n == " + std::to_string(i) + " { } else ";
  }
  CHECK(first(chain + "{ }" + kEnd).starts_with("E0104 2:1 nesting is deeper than 250 levels"));
  std::string mixed;
  for (int i = 0; i < 100; ++i) {
    mixed += "for j" + std::to_string(i) + " in 0..2 { ";
  }
  for (int i = 0; i < 200; ++i) {
    mixed += "if n == " + std::to_string(i) + " { } else ";
  }
  CHECK(first(mixed + "{ }" + std::string(100, '}') + kEnd).starts_with("E0104"));
}

TEST_CASE("a chain of 200 branches keeps its form") {
  std::string chain = "var d = load(x[i :+ 8, :]); ";
  for (int i = 0; i < 200; ++i) {
    chain += "if n == " + std::to_string(i) + " { d = d + 1.0; } else ";
  }
  printed(chain + "{ d = d * 2.0; } store(y[i :+ 8, :], d);");
}

TEST_CASE("a helper with statements is expanded where it is called") {
  const std::string text =
      "fn put(g, i) { store(g[i :+ 1, :], full(f32[1, 8], i)); }\nfn get(g, i) = load(g[i :+ 1, :]);\n"
      "fn both(g, d, i) { put(g, i); var t = get(g, i); if i > 3 { t = t - i; } else { for j in 0..i { t = t - 1.0; } "
      "}\n"
      "store(d[i :+ 1, :], t); }\n"
      "kernel t3(inout g: f32[8, 8]) -> (diff: f32[8, 8]) {\n parallel b in 0..1 { for i in 0..8 { both(g, diff, i); } "
      "} }";
  const Outcome out = compile(text);
  INFO(out.first());
  REQUIRE(out.module);
  const RoundTrip trip = round_trip(*out.module);
  CHECK(trip.equal);
  CHECK(trip.text == R"(kernel t3(inout g: f32[8, 8]) -> (diff: f32[8, 8]) {
    parallel b in 0..1 {
        for i in 0..8 {
            let t0 = full(f32[1, 8], i * 1.0);
            store(g[i, 0 :+ 8], t0);
            let t = load(g[i :+ 1, 0 :+ 8]);
            var t1: tile f32[1, 8];
            if 3 < i {
                let t2 = t - (i * 1.0);
                t1 = t2;
            } else {
                var t3 = t;
                for j in 0..i {
                    t3 = t3 - 1.0;
                }
                t1 = t3;
            }
            store(diff[i :+ 1, 0 :+ 8], t1);
        }
    }
}
)");
}

TEST_CASE("helpers with statements: refused") {
  const std::string put = "fn put(g, i) {\n store(g[i :+ 8, :], load(g[i :+ 8, :])); }\n";
  CHECK(refused(put +
                "kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) {\n put(x, 0); store(y[0 :+ 8, :], load(x[0 :+ 8, :])); "
                "}") == std::vector<std::string>{"E0214 2:8 `x` is an input: it can only be read"});
  CHECK(refused(put + "kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) {\n put(y, 0); }") ==
        std::vector<std::string>{"E0213 2:27 `y` is an output: it can only be written"});
  CHECK(refused(put + "graph g(x: f32[4, 64]) -> (y: f32[4, 64]) {\n put(x, 0); y = x; }") ==
        std::vector<std::string>{"E0217 4:2 `put`, a helper with statements, can't stand in a graph"});
  CHECK(refused(put + "kernel k[M](inout x: f32[M, 64]) {\n let t = put(x, 0); }") ==
        std::vector<std::string>{"E0208 4:2 `let` takes 1 value, found 0 results"});
  CHECK(refused("fn r(g) {\n r(g); }\nkernel k[M](inout x: f32[M, 64]) { r(x); }").front() ==
        "E0215 2:2 `r` calls itself: r -> r");
  // A helper assigns nothing of its caller, and its parameters are no variables.
  CHECK(
      refused(
          "fn r(g) {\n t = load(g[0 :+ 8, :]); }\nkernel k[M](inout x: f32[M, 64]) { var t = load(x[0 :+ 8, :]); r(x); "
          "store(x[0 :+ 8, :], t); }") == std::vector<std::string>{"E0201 2:2 unknown name `t`"});
  // Each calls the next twice: 2^30 stores.
  std::string tower = "fn h0(g) { store(g[0 :+ 8, :], load(g[0 :+ 8, :])); }\n";
  for (int i = 1; i < 31; ++i) {
    tower +=
        "fn h" + std::to_string(i) + "(g) { h" + std::to_string(i - 1) + "(g); h" + std::to_string(i - 1) + "(g); }\n";
  }
  const std::vector<std::string> errors = refused(tower + "kernel k[M](inout x: f32[M, 64]) { h30(x); }");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].starts_with("E0224"));
}

TEST_CASE("split and pipeline of a parallel in either order") {
  for (const char* order : {"split rows pipeline 2", "pipeline 2 split rows"}) {
    const Outcome out = compile("kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) { parallel i in 0..M step 8 " +
                                std::string(order) + " { store(y[i :+ 8, :], load(x[i :+ 8, :])); } }");
    REQUIRE(out.module);
    CHECK(out.text().find("parallel i in 0..M step 8 split rows pipeline 2 {") != std::string::npos);
    CHECK(round_trip(*out.module).equal);
  }
  auto head = [](const std::string& words) {
    return refused("kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) {\nparallel i in 0..M step 8 " + words +
                   " { store(y[i :+ 8, :], load(x[i :+ 8, :])); } }")
        .front();
  };
  CHECK(head("split lanes") == "E0220 2:33 `lanes` is no way to split; known are `rows`, `cols` and `none`");
  CHECK(head("split rows split cols") == "E0101 2:38 `split` is written twice");
}

TEST_CASE("tiles move between the memories of both kinds of core") {
  const std::string text = printed(
      "let p = matmul(cast(load(x[i :+ 8, :]), f16), load(w[:, :])); let v = move(p, in: vec);\n"
      "let h = move(cast(v, f16), in: mat layout(nz)); let q = matmul(h, load(w[:, :]));\n"
      "store(y[i :+ 8, :], move(q, in: vec));");
  CHECK(text.find("let v = move(p, in: vec);") != std::string::npos);
  CHECK(text.find("let h = move(t3, in: mat layout(nz));") != std::string::npos);
}

TEST_CASE("attention: columns and tiles carried together, loop bounds that depend on the block") {
  printed(
      "let q = cast(load(x[i :+ 8, :]), f16); var m = full(f32[8, 1], -inf); var l = zeros(f32[8, 1]); var acc = "
      "zeros(f32[8, 64]);\n"
      "for j in 0..min(M, i + 8) step 64 { let t = move(matmul(q, load(w[:, :])), in: vec) * 0.125;\n"
      "  let mn = max(m, row_max(t)); let p = exp(t - mn); let a = exp(m - mn); l = l * a + row_sum(p);\n"
      "  acc = acc * a + p; m = mn; }\n"
      "store(y[i :+ 8, :], acc / l);");
}

TEST_CASE("a store to what was loaded, and a load of what was stored") {
  printed("store(u[i :+ 8, :], load(x[i :+ 8, :])); store(y[i :+ 8, :], load(u[i :+ 8, :]) - i);");
  CHECK(first("store(y[i :+ 8, :], load(x[i :+ 8, :])); store(u[i :+ 8, :], load(y[i :+ 8, :]));") ==
        "E0213 2:67 `y` is an output: it can only be written");
}

}  // namespace
}  // namespace pto::frontend::test
