// What is accepted, and the IR it becomes: as text (which the printer's own tests tie to the structure), and as types
// where the text doesn't show them. Everything accepted must verify and survive a round trip.
#include <catch2/catch.hpp>

#include "tests/unit/frontend/compile.h"

namespace pto::frontend::test {
namespace {

// The text that a program prints as, after checking that the text means the same.
std::string printed(const std::string& text, const Setup& setup = {}) {
  const Outcome out = compile(text, setup);
  INFO(text);
  INFO(out.first());
  REQUIRE(out.module);
  const RoundTrip trip = round_trip(*out.module);
  INFO(trip.text);
  INFO(trip.problem);
  CHECK(trip.valid);
  CHECK(trip.equal);
  return trip.text;
}

std::string body_of(const std::string& text) {
  const std::string all = printed(text);
  const size_t begin = all.find("{\n") + 2;
  return all.substr(begin, all.rfind("}\n") - begin);
}

const ir::Type& result_type(const ir::Function& function, ir::OpKind kind) {
  for (const ir::Op& op : function.ops) {
    if (op.kind == kind) {
      return function.type(op.results.at(0));
    }
  }
  FAIL("no such operation");
  return function.values.begin()->type;
}

std::string valid_of(const ir::Function& function, ir::OpKind kind) {
  const ir::Type& type = result_type(function, kind);
  return function.exprs.print(type.valid_rows, function.symbols) + " x " +
         function.exprs.print(type.valid_cols, function.symbols);
}

TEST_CASE("a graph becomes one operation a statement, in reading order") {
  CHECK(printed("fn gelu(x) = x * sigmoid(1.702 * x);\n"
                "graph mlp[M, H = 4](x: f16[M, H], w: f16[H, 8]) -> (y: f16[M, 8]) {\n"
                "  let h = matmul(x, w); y = cast(gelu(h), f16); }") ==
        "graph mlp[M](x: f16[M, 4], w: f16[4, 8]) -> (y: f16[M, 8]) {\n"
        "    let h = matmul(x, w);\n"
        "    let t0 = 1.702 * h;\n"
        "    let t1 = sigmoid(t0);\n"
        "    let t2 = h * t1;\n"
        "    let t3 = cast(t2, f16);\n"
        "    y = t3;\n"
        "}\n");
}

TEST_CASE("scalars take the type and spelling of the tensor") {
  CHECK(body_of("graph g(x: f32[4], i: i32[4], s: f32) -> (y: f32[4], j: i32[4]) { y = 2 * x + s * 3; j = -1 - i; }") ==
        "    let t0 = 2.0 * x;\n    let t1 = t0 + (s * 3);\n    y = t1;\n    let t2 = -1 - i;\n    j = t2;\n");
}

TEST_CASE("an index expression becomes a float by meeting one") {
  CHECK(body_of("graph g[N](x: f32[N]) -> (y: f32[N]) { y = x / N; }") == "    let t0 = x / (N * 1.0);\n    y = t0;\n");
}

TEST_CASE("reductions keep the axis; without keepdims a reshape drops it") {
  CHECK(body_of("graph g[M](x: f32[M, 8]) -> (y: f32[M], z: f32[M, 1]) { y = sum(x, axis: -1); z = mean(x, axis: 1, "
                "keepdims: true); }") ==
        "    let t0 = sum(x, axis: 1, keepdims: true);\n    let t1 = reshape(t0, [M]);\n    y = t1;\n"
        "    let t2 = mean(x, axis: 1, keepdims: true);\n    z = t2;\n");
}

TEST_CASE("broadcasting is NumPy's") {
  const Outcome out =
      compile("graph g[M, N](a: f32[M, 1, N], b: f32[4, 1], c: f32[1]) -> (y: f32[M, 4, N]) { y = a + b * c; }");
  REQUIRE(out.module);
  CHECK(round_trip(*out.module).equal);
}

TEST_CASE("dims are equal as polynomials") {
  printed(
      "graph g[M, N](a: f32[M * 2, N], b: f32[M + M, N], c: f32[M], d: f32[N]) -> (y: f32[2 * M, N]) { y = a * b; }");
  printed("graph g[M, N](a: f32[M, N]) -> (y: f32[N, M]) { y = reshape(reshape(a, [M * N]), [N, M]); }");
  printed(
      "graph g[M](a: f32[(M + 1) * (M + 1)], b: f32[M * M + 2 * M + 1], c: f32[M]) -> (y: f32[M * M + M * 2 + 1]) { y "
      "= a + b; }");
}

TEST_CASE("calls give results of the callee's types with the caller's dims") {
  CHECK(printed("graph two[A, B](x: f32[A, B], s: f32 = 2.0) -> (p: f32[B, A], q: f32[A * 2]) { p = full(f32[B, A], "
                "s); q = full(f32[A * 2], 0.0); }\n"
                "graph main[M](x: f32[M, 8]) -> (y: f32[8, M]) { let (a, b) = two(x); let (c, d) = two(x, 3); y = a + "
                "c; }") ==
        "graph two[A, B](x: f32[A, B], s: f32 = 2.0) -> (p: f32[B, A], q: f32[A * 2]) {\n"
        "    let t0 = full(f32[B, A], s);\n    p = t0;\n    let t1 = full(f32[A * 2], 0.0);\n    q = t1;\n}\n\n"
        "graph main[M](x: f32[M, 8]) -> (y: f32[8, M]) {\n"
        "    let (a, b) = two(x, 2.0);\n    let (c, d) = two(x, 3.0);\n    let t0 = a + c;\n    y = t0;\n}\n");
}

TEST_CASE("precedence is C's, and operators of one level go left") {
  CHECK(body_of("kernel k[A, B](x: f32[A], z: f32[B], inout y: f32[A]) { let a = A - B - 1; let b = A - B * 2 / 3 % 5; "
                "let c = (A + B) * 2; "
                "let d = A + 1 < B && B < 3 || A == 2; let e = 0 - A; store(y[0 :+ 8], load(x[0 :+ 8])); }") ==
        "    let a = A - B - 1;\n    let b = A - B * 2 / 3 % 5;\n    let c = (A + B) * 2;\n    let d = A + 1 < B && B "
        "< 3 || A == 2;\n"
        "    let e = 0 - A;\n    let t0 = load(x[0 :+ 8]);\n    store(y[0 :+ 8], t0);\n");
}

TEST_CASE("loads know their valid region; `:` rounds the width up to 32 bytes") {
  const Outcome out = compile(
      "kernel k[M, N = 100](x: f16[M, N]) -> (y: f16[M, N]) { parallel i in 0..M step 8 {\n"
      "store(y[i :+ 8, :], load(x[i :+ 8, :], in: vec layout(nd))); } }");
  REQUIRE(out.module);
  const ir::Function& function = out.module->functions[0];
  const ir::Type& type = result_type(function, ir::OpKind::Load);
  CHECK(type.rows == 8);
  CHECK(type.cols == 112);
  CHECK(type.space == Space::Vec);
  CHECK(type.layout == Layout::ND);
  CHECK(valid_of(function, ir::OpKind::Load) == "min(8, M - i) x 100");
  CHECK(round_trip(*out.module).equal);
}

TEST_CASE("a rank-1 window is a tile of one row; plain indices drop dims") {
  const Outcome out = compile(
      "kernel k[M](x: f32[M], z: f32[3, M, 64]) -> (y: f32[M]) { parallel i in 0..M step 64 {\n"
      "let t = load(z[2, i, 0 :+ 64]); store(y[i :+ 64], t - load(x[i :+ 64])); } }");
  REQUIRE_FALSE(out.module);  // the first operand has 64 valid columns, the second one fewer near the end
  CHECK(out.first().starts_with("E0309"));
  const Outcome good = compile(
      "kernel k[M](x: f32[M], z: f32[3, M, M]) -> (y: f32[M]) { parallel i in 0..M step 64 {\n"
      "let t = load(z[2, i, i :+ 64]); store(y[i :+ 64], load(x[i :+ 64]) + t); } }");
  REQUIRE(good.module);
  CHECK(round_trip(*good.module).equal);
}

TEST_CASE("an accumulator is zero as far as the product is valid") {
  const Outcome out = compile(
      "kernel gemm[M, N, K](a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) {\n"
      "parallel m in 0..M step 128, n in 0..N step 256 { var acc = zeros(f32[128, 256]);\n"
      "for k in 0..K step 64 pipeline 2 { acc += matmul(load(a[m :+ 128, k :+ 64]), load(b[k :+ 64, n :+ 256])); }\n"
      "store(c[m :+ 128, n :+ 256], acc); } }");
  REQUIRE(out.module);
  const ir::Function& function = out.module->functions[0];
  CHECK(valid_of(function, ir::OpKind::Full) == "min(128, M - m) x min(256, N - n)");
  CHECK(valid_of(function, ir::OpKind::MatMul) == "min(128, M - m) x min(256, N - n)");
  CHECK(valid_of(function, ir::OpKind::For) == "min(128, M - m) x min(256, N - n)");
  const RoundTrip trip = round_trip(*out.module);
  CHECK(trip.valid);
  CHECK(trip.equal);
  CHECK(trip.text.find("acc = matmul(t0, t1, acc: acc);") != std::string::npos);
}

TEST_CASE("a region follows through nested loops, whichever variable carries it") {
  printed(
      "kernel k[M](x: f32[M, 64], z: f32[M, 64]) -> (y: f32[M, 64]) { parallel i in 0..M step 8 {\n"
      "var best = full(f32[8, 1], -inf); var sum = zeros(f32[8, 64]);\n"
      "for j in 0..4 { for l in 0..j { best = max(best, row_max(load(x[i :+ 8, :]))); sum = sum * 2.0; }\n"
      "  sum += load(z[i :+ 8, :]) - best; }\n"
      "store(y[i :+ 8, :], sum); } }");
}

TEST_CASE("the operand that has less leads where the operation allows") {
  // `p` is wholly valid: as first operand of `+` it changes places, because the instruction takes the first one's
  // region.
  CHECK(body_of("kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) { parallel i in 0..M step 8 {\n"
                "let t = load(x[i :+ 8, :]); let p = fillpad(t, zero); store(y[i :+ 8, :], p + t); } }")
            .find("let t0 = t + p;") != std::string::npos);
}

TEST_CASE("a region that constants or constraints prove whole is whole") {
  // M is a multiple of 8, so no window ends early and a wholly valid tile fits.
  printed(
      "kernel k[M](x: f32[M, 64]) -> (y: f32[M, 64]) where M % 16 == 0 { parallel i in 0..M step 8 {\n"
      "store(y[i :+ 8, :], fillpad(load(x[i :+ 8, :]), zero)); } }");
  printed(
      "kernel k[M = 64](x: f32[M, 64]) -> (y: f32[M, 64]) { parallel i in 0..M step 8 {\n"
      "store(y[i :+ 8, :], fillpad(load(x[i :+ 8, :]), zero)); } }");
  CHECK(compile("kernel k[M = 63](x: f32[M, 64]) -> (y: f32[M, 64]) { parallel i in 0..M step 8 {\n"
                "store(y[i :+ 8, :], fillpad(load(x[i :+ 8, :]), zero)); } }")
            .first()
            .starts_with("E0309"));
}

TEST_CASE("views of tensors, inout, scalars, bias, placement") {
  printed(
      "kernel k[M](x: f16[M, 128], w: f16[128, 64], v: f32[64], s: f32, inout u: f32[M, 64]) -> (y: f32[M, 64]) {\n"
      "let flat = reshape(y, [M * 64]);\n"
      "parallel i in 0..M step 64 pipeline 3 { let q = s * 2.0 / 3.0; let r = load(v[:]);\n"
      "let l = move(load(x[i :+ 64, :], in: mat), in: left layout(zz)); let b = load(w[:, :], in: mat);\n"
      "let c = matmul(l, extract(b, [0, 0], [128, 64], in: right), bias: r); store(y[i :+ 64, :], c);\n"
      "var acc = broadcast(r, [64, 64]); for k in 0..2 { acc += matmul(load(x[i :+ 64, k * 64 :+ 64]), load(w[k * 64 "
      ":+ 64, :])); }\n"
      "let g = select(acc < 0.0, acc, load(u[i :+ 64, :])); store(u[i :+ 64, :], g * q); store(flat[i :+ 8], "
      "zeros(f32[1, 8])); } }");
}

TEST_CASE("a core: operands by format, directions from the body") {
  const Outcome out = compile(
      "core vec c[M](z: f32[M, 64], x: f32[M, 64], s: f32) {\n"
      "  buf a: tile f32[8, 64] at vec:0x0 slots 2;\n  buf m: tile u8[8, 32] at vec:0x4000;\n  let flat = reshape(x, "
      "[M * 64]);\n"
      "  for i in 0..ceildiv(M, 8) { let b = i * 8; tload a[i % 2], x[b, 0], valid(min(8, M - b), 64);\n"
      "    set_flag mte2 -> v, i % 2; wait_flag mte2 -> v, i % 2; tmuls a[0], a[i % 2], s * 2.0; tcmps m, a, 0, lt; "
      "tcvt a, a, rint;\n"
      "    if i == 0 { pipe_barrier all; } else if i == 1 { pipe_barrier v; }\n    tload a[1], flat[b * 64]; tstore "
      "z[b, 0], a; }\n}");
  INFO(out.first());
  REQUIRE(out.module);
  const ir::Function& function = out.module->functions[0];
  REQUIRE(function.params.size() == 3);
  CHECK(function.params[0].name == "x");
  CHECK(function.params[2].name == "z");  // only written: a result, behind the inputs
  CHECK(function.params[2].mode == ir::ParamMode::Out);
  CHECK(function.tensors.size() == 3);  // x, z, and the view
  CHECK(function.buffers[0].slot_stride == 2048);
  const RoundTrip trip = round_trip(*out.module);
  CHECK(trip.valid);
  CHECK(trip.equal);
  CHECK(trip.text.find("tcmps m, a, 0.0, lt;") != std::string::npos);
}

TEST_CASE("a task's arguments are in the order of the text, its operands in the order of the IR") {
  const Outcome out = compile(
      "core vec c[M](z: f32[M, 64], x: f32[M, 64], n: i32) { buf a: tile f32[8, 64] at vec:0x0; tload a, x[n, 0]; "
      "tstore z[n, 0], a; }\n"
      "program p[K](i: f32[K, 64]) -> (o: f32[K, 64]) { buffer h: f32[K, 64] at 4096; task t0 = c(h, i, 3); task t1 = "
      "c(o, h, 4) "
      "blocks min(4, ceildiv(K, 8)) after t0; }");
  INFO(out.first());
  REQUIRE(out.module);
  const ir::Function& program = out.module->functions[1];
  for (const ir::Op& op : program.ops) {
    if (op.kind == ir::OpKind::Task && op.name == "t0") {
      CHECK(op.operands[0] == program.params[0].value);  // x
      CHECK(op.task_dims.size() == 1);
      CHECK(program.exprs.print(op.task_dims[0], program.symbols) == "K");
    }
  }
  CHECK(round_trip(*out.module).equal);
}

TEST_CASE("an auto core may leave addresses out") {
  CHECK(printed("auto core vec c(x: f32[8, 64]) -> (y: f32[8, 64]) { buf a: tile f32[8, 64] in vec slots 2; tload a, "
                "x[0, 0]; tstore y[0, 0], a; }")
            .find("in vec slots 2;") != std::string::npos);
}

TEST_CASE("doc comments, trailing commas, byte order mark, CRLF") {
  const std::string text =
      "/// What it does.\n/// More.\ngraph g(\n  /// The input.\n  x: f32[4],\n) -> (y: f32[4],) { y = x; }\n";
  CHECK(printed(text).starts_with("/// What it does.\n/// More.\ngraph g(\n    /// The input.\n    x: f32[4],\n"));
  std::string crlf = "\xEF\xBB\xBF";
  for (const char c : text) {
    crlf += c == '\n' ? "\r\n" : std::string(1, c);
  }
  CHECK(printed(crlf).starts_with("/// What it does.\n"));
  CHECK(compile("\xEF\xBB\xBF\r\nconst A = B;\r\n").errors == std::vector<std::string>{"E0201 2:11 unknown name `B`"});
}

TEST_CASE("words of statements are free as names") {
  printed(
      "graph g[at](step: f32[at], tile: f32[at], task: f32[at]) -> (layout: f32[at]) { let slots = step + tile; layout "
      "= slots * task; }");
}

TEST_CASE("spans point at operations, through inline helpers too") {
  const Outcome out = compile("fn f(x) = x * 2.0;\ngraph g(x: f32[4]) -> (y: f32[4]) { y = f(x); }");
  REQUIRE(out.module);
  const ir::Function& function = out.module->functions[0];
  REQUIRE(function.ops[ir::OpId(0)].spans.size() == 2);
  CHECK(function.ops[ir::OpId(0)].spans[0].begin == 10);  // `x * 2.0` in the helper
  CHECK(function.ops[ir::OpId(0)].spans[1].begin == 59);  // the call
}

}  // namespace
}  // namespace pto::frontend::test
