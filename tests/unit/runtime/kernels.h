// Core programs that several tests share.
#pragma once

#include "builder.h"

namespace pto::test {

// z = x + y by rows of 16, [M, cols]; rows of the last block may be fewer.
inline CoreBuilder vector_add(int64_t cols = 64) {
  CoreBuilder b("add", CoreKind::Vec);
  const ExprId m = b.dim("M");
  const auto in = object::ParamMode::In;
  const auto x = b.tensor("x", DType::F32, {m, b.num(cols)}, in);
  const auto y = b.tensor("y", DType::F32, {m, b.num(cols)}, in);
  const auto z = b.tensor("z", DType::F32, {m, b.num(cols)}, object::ParamMode::Out);
  const int64_t bytes = 16 * cols * 4;
  const auto s = b.buffer("s", DType::F32, 16, cols, 0);
  const auto t = b.buffer("t", DType::F32, 16, cols, bytes);
  const auto u = b.buffer("u", DType::F32, 16, cols, 2 * bytes);
  ExprPool& p = b.pool();
  const ExprId tiles = p.ceildiv(m, b.num(16));
  const ExprId mine = p.ceildiv(p.sub(tiles, b.block()), p.leaf(ExprOp::BlockCount));
  const ExprId i = b.loop("i", b.num(0), mine);
  const ExprId row = b.let("row", p.mul(p.add(b.block(), p.mul(i, p.leaf(ExprOp::BlockCount))), b.num(16)));
  const ExprId rows = p.min(b.num(16), p.sub(m, row));
  b.load(s, x, {row, b.num(0)}, rows, b.num(cols));
  b.load(t, y, {row, b.num(0)}, rows, b.num(cols));
  b.sync(Pipe::MTE2, Pipe::V);
  b.tiles(Opcode::TAdd, {u, s, t});
  b.sync(Pipe::V, Pipe::MTE3);
  b.store(z, {row, b.num(0)}, u);
  b.barrier(Pipe::All);
  b.end_loop();
  return b;
}

inline ProgramBuilder vector_add_program(const Target& target, int64_t blocks = 3) {
  ProgramBuilder p(target);
  const ExprId m = p.dim("M");
  const auto x = p.tensor("x", DType::F32, {m, p.num(64)}, object::ParamMode::In);
  const auto y = p.tensor("y", DType::F32, {m, p.num(64)}, object::ParamMode::In);
  const auto z = p.tensor("z", DType::F32, {m, p.num(64)}, object::ParamMode::Out);
  p.task("t0", p.core(vector_add()), {x, y, z}, {m}, p.num(blocks));
  return p;
}

inline runtime::Arguments vector_add_arguments(int64_t rows) {
  std::vector<float> x(static_cast<size_t>(rows * 64));
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 1000) * 0.5f;
    y[i] = static_cast<float>(i % 77) - 30.0f;
  }
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F32, {rows, 64}, x);
  arguments.arrays["y"] = array_of(DType::F32, {rows, 64}, y);
  return arguments;
}

// c = a * b with tiles of bm x bn, K in steps of bk; one block works on tiles block_index(), + block_count(), ... in order
// of rows of tiles. Double buffered from global memory to `mat`, single in `left` and `right`.
inline CoreBuilder gemm(const Target& target, DType dtype, int64_t bm, int64_t bn, int64_t bk) {
  CoreBuilder b("gemm", CoreKind::Cube);
  ExprPool& p = b.pool();
  const ExprId m = b.dim("M");
  const ExprId n = b.dim("N");
  const ExprId k = b.dim("K");
  const auto a = b.tensor("a", dtype, {m, k}, object::ParamMode::In);
  const auto w = b.tensor("b", dtype, {k, n}, object::ParamMode::In);
  const auto c = b.tensor("c", DType::F32, {m, n}, object::ParamMode::Out);
  const int64_t a_bytes = byte_size(dtype, bm * bk);
  const auto am = b.buffer("am", dtype, bm, bk, 0, Space::Mat, Layout::Nz, 2);
  const auto bmat = b.buffer("bm", dtype, bk, bn, 2 * a_bytes, Space::Mat, Layout::Nz, 2);
  const auto al = b.buffer("al", dtype, bm, bk, 0, Space::Left, target.left_layout);
  const auto br = b.buffer("br", dtype, bk, bn, 0, Space::Right, Layout::Zn);
  const auto acc = b.buffer("acc", DType::F32, bm, bn, 0, Space::Acc, Layout::Nz);
  const ExprId tiles_m = p.ceildiv(m, b.num(bm));
  const ExprId tiles_n = p.ceildiv(n, b.num(bn));
  for (int64_t id = 0; id < 2; ++id) {
    b.set(Pipe::MTE1, Pipe::MTE2, id);
  }
  b.set(Pipe::M, Pipe::MTE1, 0);
  b.set(Pipe::FIX, Pipe::M, 0);
  const ExprId tile = b.loop("t", b.block(), p.mul(tiles_m, tiles_n));
  b.core.code.back().step = p.leaf(ExprOp::BlockCount);
  const ExprId row = b.let("row", p.mul(p.make(ExprOp::FloorDiv, tile, tiles_n), b.num(bm)));
  const ExprId col = b.let("col", p.mul(p.make(ExprOp::Mod, tile, tiles_n), b.num(bn)));
  const ExprId rows = p.min(b.num(bm), p.sub(m, row));
  const ExprId cols = p.min(b.num(bn), p.sub(n, col));
  b.wait(Pipe::FIX, Pipe::M, 0);
  const ExprId s = b.loop("s", b.num(0), p.ceildiv(k, b.num(bk)));
  const ExprId at = b.let("at", p.mul(s, b.num(bk)));
  const ExprId depth = p.min(b.num(bk), p.sub(k, at));
  const ExprId slot = p.make(ExprOp::Mod, s, b.num(2));
  b.wait(Pipe::MTE1, Pipe::MTE2, slot);
  b.load({am, slot}, a, {row, at}, rows, depth);
  b.load({bmat, slot}, w, {at, col}, depth, cols);
  b.set(Pipe::MTE2, Pipe::MTE1, slot);
  b.wait(Pipe::MTE2, Pipe::MTE1, slot);
  b.wait(Pipe::M, Pipe::MTE1, 0);
  b.tiles(Opcode::TMov, {al, {am, slot}});
  b.tiles(Opcode::TMov, {br, {bmat, slot}});
  b.set(Pipe::MTE1, Pipe::MTE2, slot);
  b.sync(Pipe::MTE1, Pipe::M);
  b.begin_if(p.make(ExprOp::Eq, s, b.num(0)));
  b.tiles(Opcode::TMatMul, {acc, al, br});
  b.begin_else();
  b.tiles(Opcode::TMatMulAcc, {acc, al, br});
  b.end_if();
  b.set(Pipe::M, Pipe::MTE1, 0);
  b.end_loop();
  b.sync(Pipe::M, Pipe::FIX);
  b.store(c, {row, col}, acc);
  b.set(Pipe::FIX, Pipe::M, 0);
  b.end_loop();
  for (int64_t id = 0; id < 2; ++id) {
    b.wait(Pipe::MTE1, Pipe::MTE2, id);
  }
  b.wait(Pipe::M, Pipe::MTE1, 0);
  b.wait(Pipe::FIX, Pipe::M, 0);
  return b;
}

inline ProgramBuilder gemm_program(const Target& target, DType dtype, int64_t bm, int64_t bn, int64_t bk,
                                   int64_t blocks) {
  ProgramBuilder p(target);
  const ExprId m = p.dim("M");
  const ExprId n = p.dim("N");
  const ExprId k = p.dim("K");
  const auto a = p.tensor("a", dtype, {m, k}, object::ParamMode::In);
  const auto b = p.tensor("b", dtype, {k, n}, object::ParamMode::In);
  const auto c = p.tensor("c", DType::F32, {m, n}, object::ParamMode::Out);
  p.task("t0", p.core(gemm(target, dtype, bm, bn, bk)), {a, b, c}, {m, n, k}, p.num(blocks));
  return p;
}

}  // namespace pto::test
