// What is refused: code, line, column, message, for every diagnostic of the front end. One error a case unless said.
#include <catch2/catch.hpp>

#include "tests/unit/frontend/compile.h"

namespace pto::frontend::test {
namespace {

struct Case {
  std::string text;
  std::vector<std::string> errors;
};

void check(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    const Outcome out = compile(each.text);
    INFO(each.text);
    CHECK(out.errors == each.errors);
    CHECK_FALSE(out.module);
  }
}

// A statement in a graph, on line 2, column 1.
std::string graph(const std::string& body) {
  return "graph g[M, N](x: f32[M, N], h: f16[M, N], i: i32[M, N], b: bool[M, N], v: f32[N], s: f32) -> (y: f32[M, N]) "
         "{\n" +
         body + "\n}";
}
// A statement in a kernel's parallel, on line 2, column 1.
std::string kernel(const std::string& body) {
  return "kernel k[M, N = 64](x: f32[M, N], a: f16[M, N], w: f16[64, 32], inout u: f32[M, N]) -> (y: f32[M, N]) { "
         "parallel i "
         "in 0..M step 8 {\n" +
         body + "\n} }";
}
std::string core(const std::string& body) {
  return "core vec c[M](x: f32[M, 64]) -> (y: f32[M, 64]) { buf t: tile f32[8, 64] at vec:0x0 slots 2; buf u: tile "
         "f32[8, 64] at "
         "vec:0x4000; tload t, x[0, 0]; tstore y[0, 0], t;\n" +
         body + "\n}";
}

TEST_CASE("syntax errors say what was expected") {
  check({
      {"graph g[M](x: f32[M]) -> (y: f32[M]) {\n    y = x\n}", {"E0101 3:1 expected `;` after `x`, found `}`"}},
      {"graph g[M](x: f32[M]) -> (y: f32[M]) {\n    y = x;\n",
       {"E0101 3:1 expected a statement or `}` after `;`, found the end of the file"}},
      {"grph g() { }",
       {"E0101 1:1 expected an item (`graph`, `kernel`, `core`, `program`, `fn`, `const` or `import`), found `grph`"}},
      {"const N 4;", {"E0101 1:9 expected `=` after `N`, found `4`"}},
      {"const N = ;", {"E0101 1:11 expected an expression after `=`, found `;`"}},
      {"/* no end", {"E0101 1:1 this comment has no end: expected `*/`"}},
      {"import \"a", {"E0101 1:8 this string has no end: expected `\"` on the same line"}},
      {"import \"a\\q\";", {"E0101 1:10 unknown escape `\\q` in a string; known are `\\\"`, `\\\\`, `\\n` and `\\t`"}},
      {"const N = 99999999999999999999;", {"E0101 1:11 this integer literal does not fit 64 bits"}},
      {"const N = 9223372036854775808;", {"E0101 1:11 this integer literal does not fit 64 bits"}},
      {"const N = 0x;", {"E0101 1:12 expected `;` after `0`, found `x`"}},
      // Two errors of one file, both found.
      {"const A = ;\nconst B = 1;\nconst C = ;",
       {"E0101 1:11 expected an expression after `=`, found `;`",
        "E0101 3:11 expected an expression after `=`, found `;`"}},
  });
}

TEST_CASE("an unclosed bracket is shown") {
  const Outcome out = compile("graph g[M](x: f32[M]) -> (y: f32[M]) {\n    y = x;\n");
  REQUIRE(out.notes == std::vector<std::string>{"note: this `{` is not closed"});
}

TEST_CASE("names") {
  check({
      {graph("y = z;"), {"E0201 2:5 unknown name `z`"}},
      {graph("y = foo(x);"), {"E0201 2:5 unknown name `foo`"}},
      {graph("z = x;"), {"E0201 2:1 unknown name `z`"}},
      {graph("let a = z; let b = a + 1.0; y = b;"), {"E0201 2:9 unknown name `z`"}},  // told once
      {graph("let a = x; let a = x; y = a;"), {"E0202 2:16 `a` is already declared"}},
      // An inner name may hide a parameter.
      {graph("let x = 2; y = x;"), {"E0204 2:16 output `y` needs f32[M, N], found an index expression"}},
      {"const exp = 3;", {"E0202 1:7 `exp` is already declared"}},
      {"fn f(a) = a; kernel f[M](x: f32[M]) -> (y: f32[M]) { }", {"E0202 1:21 `f` is already declared"}},
      {"const A = B; const B = A;", {"E0215 1:1 `A` calls itself: its value needs itself"}},
      {"fn a(x) = b(x); fn b(x) = a(x);\n" + graph("y = a(x);"), {"E0215 1:27 `a` calls itself: a -> b -> a"}},
      {"graph f[N](x: f32[N]) -> (y: f32[N]) { y = f(x); }", {"E0215 1:44 `f` calls itself: f -> f"}},
      {graph("x = x;"), {"E0214 2:1 `x` is an input: it can only be read"}},
      {graph("y = y + x;"), {"E0213 2:5 `y` is an output: it can only be written"}},
      {graph("y += x;"), {"E0213 2:1 `y` is an output: it can only be written"}},
      {graph("y = x; y = x;"), {"E0212 2:8 output `y` is written a second time"}},
      {graph("let a = x; a = x; y = a;"), {"E0210 2:12 can't assign to `a`: it is not declared with `var`"}},
      {graph("y = g;"), {"E0217 2:5 `g` can't stand in an expression without a call"}},
      {"core vec c(x: f32[4]) { } \n" + graph("y = c(x);"),
       {"E0216 3:5 `c` can't be called here: a graph calls graphs and kernels"}},
  });
}

TEST_CASE("element types") {
  check({
      {graph("y = x + h;"), {"E0203 2:5 `+` has operands of types f32 and f16; types are never converted unasked"}},
      {graph("y = x * i;"), {"E0203 2:5 `*` has operands of types f32 and i32; types are never converted unasked"}},
      {graph("let a = h * s; y = x;"),
       {"E0203 2:13 this operation has operands of types f16 and f32; types are never converted unasked"}},
      {graph("y = exp(i);"), {"E0204 2:5 `exp` needs floats, found i32"}},
      {graph("y = -b;"), {"E0204 2:5 `-` needs signed numbers, found bool"}},
      {graph("let a = b + b; y = x;"), {"E0204 2:9 `+` needs numbers, found bool"}},
      {graph("y = h;"), {"E0204 2:5 output `y` needs f32[M, N], found f16[M, N]"}},
      {graph("y = select(x, x, x);"), {"E0204 2:12 the condition of `select` needs bool, found f32"}},
      {graph("y = select(b, 1.0, 2.0);"), {"E0204 2:5 `select` needs a tensor or tile on one side, found two scalars"}},
      {graph("y = mean(i, axis: 0, keepdims: true);"), {"E0204 2:5 `mean` needs floats, found i32"}},
      {graph("y = softmax(i);"), {"E0204 2:5 `softmax` needs floats, found i32"}},
      {graph("let a = cast(b, f32); y = x;"), {"E0204 2:9 `cast` needs numbers, found bool"}},
      {graph("y = matmul(i, i);"), {"E0204 2:5 `matmul` needs operands of type f16, bf16, f32 or i8, found i32"}},
      {graph("y = 3;"), {"E0204 2:5 output `y` needs f32[M, N], found an index expression"}},
      {graph("y = cast(x, foo);"), {"E0201 2:13 unknown name `foo`"}},
      {graph("y = cast(x, f16, round: up);"),
       {"E0220 2:25 `up` is no rounding mode; known are `rint`, `round`, `floor`, `ceil`, `trunc` and `odd`"}},
      {graph("y = i + 1.5;"), {"E0205 2:9 the literal `1.5` is no value of type i32"}},
      {graph("let a = h + 70000.0; y = x;"), {"E0205 2:13 the literal `70000.0` is no value of type f16"}},
      {"graph g(x: i8[4]) -> (y: i8[4]) {\ny = x + 128; }", {"E0205 2:9 the literal `128` is no value of type i8"}},
      {"graph g(x: u8[4]) -> (y: u8[4]) {\ny = x + -1; }", {"E0205 2:9 the literal `-1` is no value of type u8"}},
      {"graph g(x: f8e4m3[4]) -> (y: f32[4]) { }",
       {"E0105 1:12 the type `f8e4m3` is part of the language but this version of ptoc does not compile it"}},
      {"graph g(x: f33[4]) -> (y: f32[4]) { }", {"E0201 1:12 unknown name `f33`"}},
  });
}

TEST_CASE("arguments") {
  check({
      {graph("y = exp(x, x);"), {"E0208 2:5 `exp` takes 1 argument, found 2"}},
      {graph("y = sum(x);"), {"E0208 2:5 `sum` takes an `axis`, found none"}},
      {graph("y = softmax(x, axes: 1);"), {"E0209 2:16 `softmax` has no argument named `axes`"}},
      {graph("y = softmax(axis: 1, x);"), {"E0217 2:22 a positional argument can't stand behind a named one"}},
      {graph("y = softmax(x, axis: 1, axis: 1);"), {"E0202 2:25 `axis` is already declared"}},
      {graph("y = sum(x, axis: 0, keepdims: 1);"),
       {"E0204 2:31 `keepdims` needs `true` or `false`, found something else"}},
      {graph("let (a, c) = exp(x); y = x;"), {"E0208 2:1 `let` takes 2 values, found f32[M, N]"}},
      {graph("exp(x); y = x;"), {"E0217 2:1 a value nobody uses can't stand as a statement"}},
      {graph("y = load(x[0, 0]);"), {"E0217 2:5 `load` can't stand in a graph"}},
      {graph("parallel i in 0..M { } y = x;"), {"E0217 2:1 `parallel` can't stand in a graph"}},
      {graph("y = \"text\";"), {"E0217 2:5 a string can't stand here"}},
  });
}

TEST_CASE("shapes") {
  check({
      {graph("y = x + v + full(f32[M], 0.0);"), {"E0302 2:5 `+`: can't prove that `N` and `M` are equal"}},
      {graph("y = full(f32[4, 5], 0.0) + full(f32[4, 6], 0.0);"),
       {"E0301 2:5 `+`: f32[4, 5] and f32[4, 6] don't fit: `5` against `6`, and neither is 1"}},
      {graph("y = sum(x, axis: 2, keepdims: true);"), {"E0305 2:18 axis 2 is out of range for rank 2"}},
      {graph("y = sum(x, axis: -3, keepdims: true);"), {"E0305 2:18 axis -3 is out of range for rank 2"}},
      {graph("y = sum(v, axis: 0);"), {"E0306 2:5 the result of `sum` needs rank 1 to 5, found 0"}},
      {graph("y = sum(x, axis: 0);"), {"E0204 2:5 output `y` needs f32[M, N], found f32[N]"}},
      {graph("y = reshape(x, [M + N]);"),
       {"E0307 2:5 can't reshape f32[M, N] to [M + N]: can't prove that the numbers of elements are equal"}},
      {graph("y = matmul(x, x);"),
       {"E0302 2:5 `matmul` of f32[M, N] and f32[M, N]: can't prove that `N` and `M` are equal"}},
      {graph("y = matmul(x, v);"), {"E0306 2:5 `matmul` needs rank 2, found 1"}},
      {"graph g(x: f32[2, 3, 4], z: f32[2, 4, 3]) -> (y: f32[2, 3, 3]) {\ny = matmul(x, z); }",
       {"E0105 2:5 `matmul` of tensors of rank above 2 is part of the language but this version of ptoc does not "
        "compile it"}},
      {graph("y = full(f32[0, N], 0.0);"), {"E0303 2:14 a dim must be at least 1, found 0"}},
      {"graph g(x: f32[1, 1, 1, 1, 1, 1]) -> (y: f32[1]) { }", {"E0306 1:12 a tensor needs rank 1 to 5, found 6"}},
      {"graph g(x: f32[4611686018427387904]) -> (y: f32[1]) { }",
       {"E0304 1:12 this tensor has more bytes than fit 64 bits"}},
      {"graph g[N = 0](x: f32[N]) -> (y: f32[N]) { y = x; }",
       {"E0303 1:13 the default of dim `N` must be at least 1, found 0"}},
      {"graph g[N](x: f32[N * 2]) -> (y: f32[4]) { }",
       {"E0310 1:7 dim `N` of `g` can't be bound: no parameter has it as a dim of its own"}},
      {"graph g[N = 8](x: f32[N]) -> (y: f32[N]) where N % 16 == 0 { y = x; }",
       {"E0315 1:48 this constraint never holds"}},
      {"graph g[N](x: f32[N / 0]) -> (y: f32[N]) { }", {"E0314 1:19 division by zero"}},
      {"graph g[N](x: f32[N], n: i32 = N) -> (y: f32[N]) { }",
       {"E0218 1:32 the default of `n` must be known when compiling"}},
      {"graph g[N](x: f32[N], n: i32 = 1.5) -> (y: f32[N]) { }",
       {"E0205 1:32 the literal `1.5` is no value of type i32"}},
      {"graph g[N](x: f32[N], inout n: i32) -> (y: f32[N]) { }", {"E0217 1:23 a scalar can't stand as `inout`"}},
  });
}

TEST_CASE("tiles") {
  check({
      {kernel("store(x[i :+ 8, :], load(x[i :+ 8, :]));"), {"E0214 2:7 `x` is an input: it can only be read"}},
      {kernel("store(u[i :+ 8, :], load(y[i :+ 8, :]));"), {"E0213 2:26 `y` is an output: it can only be written"}},
      {kernel("let t = load(x[i :+ M, :]);"), {"E0218 2:21 the length of a window must be known when compiling"}},
      {kernel("let t = load(x[i :+ 0, :]);"), {"E0303 2:21 the length of a window must be at least 1, found 0"}},
      {kernel("let t = load(x[:, :]);"), {"E0218 2:16 the dim that `:` stands for must be known when compiling"}},
      {kernel("let t = load(x[i :+ 8]);"), {"E0306 2:14 a window of `x` needs rank 2, found 1"}},
      {kernel("let t = load(x[i, 0]);"), {"E0308 2:14 a window: it has one or two ranges, found 0"}},
      {kernel("let t = load(x[i :+ 8, 0]);"), {"E0308 2:24 a window: a plain index can't stand behind a range"}},
      {kernel("let t = load(x[i :+ 8, 64 :+ 8]);"), {"E0314 2:24 offset 64 is outside of dim `64`"}},
      {kernel("let t = load(x[i :+ 8, -1 :+ 8]);"), {"E0314 2:24 offset -1 is outside of dim `64`"}},
      {kernel("let t = load(x[i :+ 8, :], in: l1);"),
       {"E0220 2:32 `l1` is no memory of a core; known are `vec`, `mat`, `left`, `right`, `acc`, `bias` and "
        "`scaling`"}},
      {kernel("let t = load(i);"),
       {"E0204 2:14 `load` needs a window of a tensor like `x[i :+ 8, :]`, found something else"}},
      {kernel("let t = load(i[0 :+ 8]);"), {"E0204 2:14 `load` needs a tensor, found `i`, which is none"}},
      {kernel("store(y[i :+ 8, :], load(x[i :+ 4, :]));"),
       {"E0308 2:1 `store`: the window has 8 x 64 elements, the tile 4 x 64"}},
      {kernel("store(y[i :+ 8, :], load(a[i :+ 8, :]));"),
       {"E0203 2:1 `store` has operands of types f32 and f16; types are never converted unasked"}},
      {kernel("store(y[i :+ 8, :], fillpad(load(x[i :+ 8, :]), zero));"),
       {"E0309 2:1 `store`: the tile's valid region is `8, 64`, but only `min(8, M - i), 64` of the window is inside "
        "the tensor"}},
      {kernel("let t = fillpad(load(x[i :+ 8, :]), one);"),
       {"E0220 2:37 `one` is no padding; known are `zero`, `max` and `min`"}},
      {kernel("let t = load(x[i :+ 8, :]) + load(x[i :+ 4, :]);"),
       {"E0301 2:9 `+`: tile f32[8, 64; min(8, M - i), 64] and tile f32[4, 64; min(4, M - i), 64] don't fit: tiles "
        "have one shape, or one is a "
        "column `[R, 1]` or a row `[1, C]` of the other"}},
      {kernel("store(y[i :+ 8, :], load(x[i :+ 8, :]) - load(x[i + 8 :+ 8, :]));"),
       {"E0309 2:21 `-`: the operands' valid regions are `min(8, M - i), 64` and `min(8, M - (i + 8)), 64`"}},
      {kernel("let t = matmul(load(a[i :+ 8, :]), load(a[i :+ 8, :]));"),
       {"E0301 2:9 `matmul`: tile f16[8, 64; min(8, M - i), 64] and tile f16[8, 64; min(8, M - i), 64] don't fit: the "
        "left one has 64 columns, "
        "the right one 8 rows"}},
      {kernel("let t = matmul(load(a[i :+ 8, :]), load(w[:, :]), bias: load(x[0, :]));"),
       {"E0204 2:57 `bias:` needs tile f32[1, 32], found tile f32[1, 64]"}},
      {kernel("let t = move(load(x[i :+ 8, :]));"), {"E0208 2:9 `move` takes where to: `in: left`, found nothing"}},
      {kernel("let t = extract(load(x[i :+ 8, :]), [0, 32], [8, 64]);"),
       {"E0314 2:9 the window leaves the tile, which is tile f32[8, 64; min(8, M - i), 64]"}},
      {kernel("let t = broadcast(load(x[i :+ 8, :]), [16, 64]);"),
       {"E0301 2:9 `broadcast`: tile f32[8, 64; min(8, M - i), 64] and tile f32[16, 64; min(8, M - i), 64] don't fit: "
        "it takes a row `[1, C]` or a "
        "column `[R, 1]`"}},
      {kernel("let t = zeros(f32[2147483648, 2147483648]);"),
       {"E0314 2:15 a tile of 2147483648 x 2147483648 elements is larger than any memory"}},
      {kernel("let t = zeros(f32[4, 4, 4]);"), {"E0306 2:15 a tile needs rank 2, found 3"}},
      {kernel("y = load(x[i :+ 8, :]);"),
       {"E0210 2:1 can't assign to `y`: a tensor in global memory is written with `store`"}},
      {kernel("let xf = reshape(x, [M * 64]);"),
       {"E0217 2:10 `reshape` can't stand behind other statements: it names a view of a whole tensor"}},
      {kernel("parallel j in 0..M { }"), {"E0217 2:1 `parallel` can't stand inside another statement"}},
      {kernel("for j in 0..M step 0 { }"), {"E0303 2:20 the step of a loop must be at least 1, found 0"}},
      {kernel("var n = 0;"),
       {"E0105 2:5 `var` of an index or scalar is part of the language but this version of ptoc does not compile it"}},
      {kernel("let n = x[0, 0];"),
       {"E0105 2:9 a scalar read of a tensor is part of the language but this version of ptoc does not compile it"}},
  });
}

TEST_CASE("loops and their variables") {
  check({
      {"kernel k[M](x: f32[M]) -> (y: f32[M]) { var t = zeros(f32[1, 64]); parallel i in 0..M step 64 {\nt = "
       "zeros(f32[1, 64]); } }",
       {"E0210 2:1 can't assign to `t`: it is declared outside of `parallel`, whose iterations are independent"}},
      {kernel("var t = zeros(f32[8, 64]); for j in 0..2 { t = zeros(f32[4, 64]); }"),
       {"E0203 2:44 assignment to `t` has operands of types tile f32[8, 64] and tile f32[4, 64]; types are never "
        "converted unasked"}},
      // What the loop leaves is narrower than what it starts from, and that is data.
      {kernel("var t = fillpad(load(x[i :+ 8, :]), zero); for j in 0..2 { t = load(x[i :+ 8, :]); } store(y[i :+ 8, "
              ":], t);"),
       {"E0313 2:44 `t` has type `tile f32[8, 64]` before the loop and `tile f32[8, 64; min(8, M - i), 64]` after its "
        "body"}},
      // The region would depend on the loop's own variable.
      {kernel("var t = zeros(f32[8, 64]); for j in 0..2 { t = load(x[j :+ 8, :]); }"),
       {"E0313 2:28 `t` has type `tile f32[8, 64]` before the loop and `tile f32[8, 64; min(8, M - j), 64]` after its "
        "body"}},
  });
}

TEST_CASE("cores") {
  check({
      {core("tad u, t, t;"), {"E0219 2:1 unknown instruction `tad`"}},
      {core("tadd u, t;"), {"E0208 2:1 `tadd` takes other operands, found 2"}},
      {core("tadd u, t, t, t;"), {"E0208 2:1 `tadd` takes other operands, found 4"}},
      {core("tadd u, t, w;"), {"E0201 2:12 unknown name `w`"}},
      {core("tadd u, t, x;"), {"E0204 2:12 this operand needs a buffer, found `x`, which is none"}},
      {core("tadd u, t[2], t;"), {"E0314 2:11 slot 2 of `t`, which has 2"}},
      {core("tmuls u, t, u;"), {"E0217 2:13 buffer `u` can't stand in an expression"}},
      {core("tload u, x[0];"), {"E0306 2:10 a place in `x` needs rank 2, found 1"}},
      {core("tload u, x[0 :+ 8, 0];"),
       {"E0217 2:12 a range can't stand in an instruction: a tile covers the last dims from the place given"}},
      {core("tload u, x[-1, 0];"), {"E0314 2:12 offset -1 is in front of the tensor"}},
      {core("tload u, x[0, 0], 8;"), {"E0204 2:19 this operand needs `valid(rows, cols)`, found something else"}},
      {core("tcvt u, t, up;"),
       {"E0220 2:12 `up` is no rounding mode; known are `rint`, `round`, `floor`, `ceil`, `trunc` and `odd`"}},
      {core("set_flag mte2, v, 0;"), {"E0208 2:1 `set_flag` takes other operands, found no `-> pipe`"}},
      {core("set_flag mte2 -> w, 0;"),
       {"E0220 2:18 `w` is no pipe; known are `s`, `v`, `m`, `mte1`, `mte2`, `mte3`, `fix` and `all`"}},
      {core("buf w: tile f32[8, 64] at vec:0x8000;"), {"E0217 2:1 `buf` can't stand behind other statements"}},
      {core("let t = load(x[0, 0]);"), {"E0217 2:9 `load` can't stand in a core", "E0202 2:5 `t` is already declared"}},
      {"core vec c(x: f32[4]) {\nbuf a: tile f32[8, 64] in vec; }", {"E0312 2:1 buffer `a`: it has no address"}},
      {"core vec c(x: f32[4]) {\nbuf a: tile f32[8, 64] at l1:0x0; }",
       {"E0220 2:27 `l1` is no memory of a core; known are `vec`, `mat`, `left`, `right`, `acc`, `bias` and "
        "`scaling`"}},
      {"core vec c(x: f32[4]) {\nbuf a: tile f32[8, 64] at vec:0x0 slots 2 stride 16; }",
       {"E0312 2:50 buffer `a`: a stride of 16 is less than a tile's 2048 bytes"}},
      {"core big c(x: f32[4]) { }", {"E0220 1:6 `big` is no kind of core; known are `vec` and `cube`"}},
      {"core vec c(x: f32[4], inout y: f32[4]) { }",
       {"E0221 1:23 `y` is declared `inout`, but the body never uses it"}},
      {"core vec c(x: f32[4]) -> (y: f32[4]) { buf t: tile f32[1, 4] at vec:0x0; tload t, y[0]; }",
       {"E0221 1:27 `y` is declared a result, but the body only reads it"}},
  });
}

TEST_CASE("programs") {
  const std::string before =
      "core vec add[M](x: f32[M, 64]) -> (y: f32[M, 64]) { buf t: tile f32[8, 64] at vec:0x0; tload t, x[0, 0]; tstore "
      "y[0, 0], t; }\nprogram p[M, N](x: f32[M, 64], z: f32[N, 64], k: f16[M, 64]) -> (y: f32[M, 64]) { buffer h: "
      "f32[M, 64];\n";
  check({
      {before + "task t = ad(x, y); }", {"E0201 3:10 unknown name `ad`"}},
      {before + "task t = add(x); }", {"E0208 3:1 `add` takes 2 arguments, found 1"}},
      {before + "task t = add(h, y); }", {"E0222 3:14 `h` is read, but nothing wrote it before"}},
      {before + "task t = add(x, x); }", {"E0214 3:17 `x` is an input: it can only be read"}},
      {before + "task t = add(k, y); }", {"E0204 3:14 argument `x` of `add` needs f32 of rank 2, found f16[M, 64]"}},
      {before + "task t = add(z, y); }",
       {"E0302 3:17 dim 0 of argument `y` of `add`: can't prove that `N` and `M` are equal"}},
      {before + "task t = add(x + 1, y); }",
       {"E0204 3:14 argument `x` needs a parameter or buffer, found an expression"}},
      {before + "task t = add(x, y) after u; }",
       {"E0220 3:26 `u` is no task declared before; known are the tasks above"}},
      {before + "task t = add(x, y) blocks 0; }", {"E0303 3:27 a number of blocks must be at least 1, found 0"}},
      {before + "task t = add(x, h); }", {"E0211 2:66 output `y` of `p` is never written"}},
      {before + "task t = p(x, y); }", {"E0216 3:10 `p` can't be called here: a task runs a kernel or a core"}},
      {before + "task t = add(x, y); task t = add(x, y); }", {"E0202 3:26 `t` is already declared"}},
  });
}

TEST_CASE("helps name the nearest name and the fix") {
  CHECK(compile(graph("y = epx(x);")).notes == std::vector<std::string>{"help: did you mean `exp`?"});
  CHECK(compile(core("tad u, t, t;")).notes == std::vector<std::string>{"help: did you mean `tadd`?"});
  CHECK(compile(graph("y = x + h;")).notes ==
        std::vector<std::string>{"help: `cast(x, f32)` converts the other operand"});
  CHECK(compile("fn f(a) = a + z;\n" + graph("y = f(x);")).notes ==
        std::vector<std::string>{"note: expanded from here"});
}

}  // namespace
}  // namespace pto::frontend::test
