// Golden texts of the sample modules, and of the corners of the printer.
#include <catch2/catch.hpp>

#include "tests/unit/ir/samples.h"

namespace pto::ir {
namespace {

using samples::Builder;

TEST_CASE("tensor level prints one operation a statement") {
  CHECK(print(samples::tensor_module()) ==
        R"(graph split[M](x: f32[M, 64], scale: f32 = 0.5) -> (low: f32[M, 64], high: f32[M, 64]) {
    let t0 = x * scale;
    let rest = x - t0;
    low = t0;
    high = rest;
}

/// What it does.
///
/// And more.
fused graph tensor_sample[M](
    /// the input
    x: f32[M, 64],
    w: f16[64, 32],
    v: f32[32],
) -> (
    y: f32[M, 32],
    z: i32[M * 64],
) where M <= 8192 {
    let (low, high) = split(x, 0.25);
    let max1 = max(low, axis: 1, keepdims: true);
    let t0 = low - max1;
    let x1 = 1.0 / t0;
    let t1 = max(x1, -1.0);
    let smaller = t1 < high;
    let t0_1 = select(smaller, t1, 0.0);
    let half = cast(t0_1, f16);
    let t2 = matmul(half, w, bias: v);
    let t3 = softmax(t2, axis: 1);
    y = t3;
    let t4 = cast(t0_1, i32, round: trunc);
    let t5 = reshape(t4, [M * 64]);
    let t6 = t5 * -2;
    let row_max1 = -t6;
    z = row_max1;
}
)");
}

TEST_CASE("a branch's results are variables without a value that both sides assign") {
  CHECK(print(samples::branch_kernel()) == R"(kernel choose[M](x: f32[M, 64], n: i32) -> (y: f32[M, 64]) {
    parallel i in 0..M step 8 split cols pipeline 2 {
        let t = load(x[i :+ 8, 0 :+ 64]);
        var t1 = t;
        for j in 0..3 {
            var t2: tile f32[8, 64];
            var t3: tile f32[8, 64];
            if j < n {
                let k = j * 2;
                let t4 = exp(t1);
                t2 = t4;
                t3 = t;
            } else {
                let t5 = load(x[i :+ 8, 0 :+ 64]);
                t2 = t1;
                t3 = t5;
            }
            t1 = t2 + t3;
        }
        store(y[i :+ 8, 0 :+ 64], t1);
    }
}
)");
}

TEST_CASE("pairs print rings behind buffers, and where their cores are") {
  CHECK(print(samples::pair_module()) == R"(core cube cube_half[M](n: i32, x: f32[M, 64]) {
    buf t: tile f32[32, 64] layout(nz) at acc:0x0;
    ring s: c2v tile f32[32, 64] slots 2 split rows;
    tpush s, t;
}

core vec vec_half[M](n: i32, x: f32[M, 64]) {
    buf t: tile f32[16, 64] at vec:0x0;
    ring s: c2v tile f32[32, 64] slots 2 split rows;
    tpop t, s, valid(n + lane_index(), 64);
}

core pair both[M](x: f32[M, 64], n: i32) = (cube: cube_half, vec: vec_half) lanes 2;
)");
}

TEST_CASE("tile level prints windows, places and carried values") {
  CHECK(print(samples::tile_module()) == R"(kernel gemm[M, N, K](a: f16[M, K], b: f16[K, N]) -> (c: f32[M, N]) {
    parallel m in 0..M step 128, n in 0..N step 256 {
        var acc = zeros(f32[128, 256; min(128, M - m), min(256, N - n)]);
        for k in 0..K step 64 pipeline 2 {
            let t0 = load(a[m :+ 128, k :+ 64], in: mat layout(nz));
            let rhs = load(b[k :+ 64, n :+ 256]);
            let moved = move(t0, in: left layout(zz));
            acc = matmul(moved, rhs, acc: acc);
        }
        store(c[m :+ 128, n :+ 256], acc);
    }
}

kernel rows[M](x: f32[2, M, 64], inout y: f32[M, 64]) {
    parallel i in 0..M step 8 {
        let row = i * 2;
        let t = load(x[1, i :+ 8, 0 :+ 64]);
        let t0 = full(f32[8, 64; min(8, M - i), 64], 1.5);
        var a = t;
        var b = t0;
        var c = t;
        for i1 in 1..(row + 1) {
            let peak = row_max(c);
            c = a - peak;
            let next = a;
            a = b;
            b = next;
        }
        let for1 = fillpad(b, max);
        let window = extract(for1, [0, 16], [8, 16]);
        let t1 = row_min(window);
        let t2 = exp(t1);
        let t3 = broadcast(t2, [8, 64]);
        let t4 = a + t3;
        store(y[i :+ 8, 0 :+ 64], t4);
    }
}
)");
}

TEST_CASE("block level prints buffers and instructions by format") {
  CHECK(print(samples::block_module()) == R"(core vec scale[M](x: f32[M, 64], factor: f32) -> (y: f32[M, 64]) {
    buf t: tile f32[16, 64] at vec:0x0;
    buf u: tile f32[16, 64] at vec:0x1000;
    for i in block_index()..ceildiv(M, 16) step block_count() {
        let row = i * 16;
        tload t, x[row, 0], valid(min(16, M - row), 64);
        set_flag mte2 -> v, 0;
        wait_flag mte2 -> v, 0;
        tmuls u, t, factor;
        pipe_barrier v;
        tadds t, u, 2.0;
        set_flag v -> mte3, 0;
        wait_flag v -> mte3, 0;
        tstore y[row, 0], t;
        pipe_barrier all;
    }
}

/// One block of a product.
core cube product(
    /// left
    a: f16[16, 64],
    w: f16[64, 32],
    inout c: f32[16, 32],
) {
    buf am: tile f16[16, 32] layout(nz) at mat:0x0 slots 2;
    buf wm: tile f16[32, 32] layout(nz) at mat:0x1000 slots 2 stride 0x1000;
    buf left: tile f16[16, 32] layout(zz) at left:0x0;
    buf right: tile f16[32, 32] layout(zn) at right:0x0;
    buf acc: tile f32[16, 32] layout(nz) at acc:0x0;
    let flat = reshape(a, [4, 256]);
    for k in 0..2 {
        tload am[k], a[0, k * 32];
        tload wm[k], w[k * 32, 0];
        pipe_barrier all;
        textract left, am[k], 0, 0, valid(16, 32);
        tmov right, wm[k];
        pipe_barrier all;
        if k == 0 {
            tmatmul acc, left, right;
        } else {
            tmatmul_acc acc, left, right;
        }
        pipe_barrier all;
    }
    tstore c[0, 0], acc;
}
)");
}

TEST_CASE("exec level prints buffers and tasks with arguments in the callee's order") {
  const Module module = samples::exec_module();
  const std::string program = R"(/// Scales twice.
program twice[M](x: f32[M, 64], factor: f32 = 2.0) -> (y: f32[M, 64]) where M % 16 == 0 {
    buffer spare: f32[M, 64] at 0;
    buffer h: f32[M, 64] at M * 256;
    task t0 = scale(x, factor, h) blocks min(48, ceildiv(M, 16));
    task t1 = scale(x, 1.0, spare) blocks min(48, ceildiv(M, 16));
    task last = scale(h, 1.0 / factor, y) blocks min(48, ceildiv(M, 16)) after t0, t1;
}
)";
  CHECK(print(module.functions[1], &module) == program);
  CHECK(print(module) == print(module.functions[0]) + "\n" + program);
  // Without the callee, tensors come first.
  CHECK(print(module.functions[1]).find("scale(x, h, factor)") != std::string::npos);
}

TEST_CASE("an automatic core has no addresses, a bare program no offsets") {
  Module module = samples::exec_module();
  Function& core = module.functions[0];
  core.automatic = true;
  core.buffers[0].address = -1;
  core.buffers[1].address = -1;
  core.buffers[1].slots = 3;
  const std::string text = print(core);
  CHECK(text.find("auto core vec scale[M]") == 0);
  CHECK(text.find("    buf t: tile f32[16, 64] in vec;\n    buf u: tile f32[16, 64] in vec slots 3;\n") !=
        std::string::npos);
  Function& program = module.functions[1];
  for (OpId id : program.body_region().ops) {
    program.ops[id].after.clear();
    program.ops[id].blocks = {};
    if (program.ops[id].kind == OpKind::Buffer) {
      program.ops[id].exprs.clear();
    }
  }
  CHECK(print(program, &module).find("    buffer h: f32[M, 64];\n    task t0 = scale(x, factor, h);\n") !=
        std::string::npos);
}

TEST_CASE("constants are spelled as the element type wants them") {
  Builder b(FunctionKind::Graph, "constants");
  const Type floats = Builder::tensor(DType::F16, {b.num(4)});
  const Type ints = Builder::tensor(DType::I32, {b.num(4)});
  const ValueId x = b.param("x", floats);
  const ValueId n = b.param("n", ints);
  auto text = [&](ValueId value, ExprId scalar, const Type& type) {
    b.add_scalar(OpKind::Add, value, scalar, ScalarSide::Left, type);
    const std::string all = print(b.f);
    const size_t begin = all.rfind(" = ") + 3;
    return all.substr(begin, all.find(" + ", begin) - begin);
  };
  CHECK(text(x, b.num(2), floats) == "2.0");
  CHECK(text(x, b.e().real(2), floats) == "2.0");
  CHECK(text(x, b.e().real(-0.0), floats) == "-0.0");
  CHECK(text(x, b.e().real(0.1), floats) == "0.1");
  CHECK(text(n, b.num(-7), ints) == "-7");
  CHECK(text(n, b.e().real(3), ints) == "3");
  // A float in text has a point or an exponent, else it would be read as an integer.
  const std::string large = text(x, b.e().real(1e22), floats);
  CHECK(large.find_first_of(".e") != std::string::npos);
  CHECK(std::stod(large) == 1e22);
  // Zeros are `zeros` at the tile level only, and the negative zero is none.
  Builder k(FunctionKind::Kernel, "fills");
  k.add(k.op(OpKind::Full, {}, {k.e().real(0.0)}), k.tile(DType::F32, 8, 8));
  k.add(k.op(OpKind::Full, {}, {k.e().real(-0.0)}), k.tile(DType::F32, 8, 8));
  k.add(k.op(OpKind::Full, {}, {k.num(0)}), Builder::placed(k.tile(DType::I32, 8, 8), Space::Acc, Layout::Nz));
  CHECK(print(k.f) ==
        "kernel fills() {\n"
        "    let t0 = zeros(f32[8, 8]);\n"
        "    let t1 = full(f32[8, 8], -0.0);\n"
        "    let t2 = zeros(i32[8, 8], in: acc layout(nz));\n"
        "}\n");
}

TEST_CASE("a scalar that is no simple term stands in parentheses") {
  Builder b(FunctionKind::Graph, "terms");
  const Type type = Builder::tensor(DType::F32, {b.num(4)});
  const ValueId x = b.param("x", type);
  const ExprId s = b.scalar_param("s", DType::F32);
  const ExprId sum = b.e().add(s, b.e().real(1.0));
  b.add_scalar(OpKind::Sub, x, sum, ScalarSide::Right, type);
  b.add_scalar(OpKind::Max, x, sum, ScalarSide::Left, type);
  Op less = b.op(OpKind::Compare, {x}, {sum});
  less.cmp = isa::Cmp::Ge;
  less.scalar_side = ScalarSide::Left;
  b.add(std::move(less), Builder::tensor(DType::Bool, {b.num(4)}));
  CHECK(print(b.f) ==
        "graph terms(x: f32[4], s: f32) {\n"
        "    let t0 = x - (s + 1.0);\n"
        "    let t1 = max(s + 1.0, x);\n"
        "    let t2 = (s + 1.0) >= x;\n"
        "}\n");
}

TEST_CASE("a carriage return does not end a comment") {
  Builder b(FunctionKind::Graph, "g");
  b.f.doc = "one\rtwo\nthree";
  CHECK(print(b.f).find("/// one two\n/// three\ngraph g() {\n") == 0);
}

TEST_CASE("types in messages") {
  Builder b(FunctionKind::Kernel, "k");
  const ExprId m = b.dim("M");
  CHECK(type_text(b.f, Builder::tensor(DType::F16, {m, b.num(8)})) == "f16[M, 8]");
  CHECK(type_text(b.f, b.tile(DType::F32, 8, 8)) == "tile f32[8, 8]");
  CHECK(type_text(b.f, Builder::placed(Builder::tile(DType::F16, 128, 64, b.e().min(b.num(128), m), b.num(64)),
                                       Space::Left, Layout::Zz)) ==
        "tile f16[128, 64; min(128, M), 64] in left layout(zz)");
}

}  // namespace
}  // namespace pto::ir
