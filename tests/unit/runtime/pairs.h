// Pairs of cores that several tests share.
#pragma once

#include "builder.h"

namespace pto::test {

inline constexpr int64_t kDepth = 32;  // of the products

// How tiles of 32 x 32 go from one kind of core to the other.
struct Relay {
  std::string target = "unit";
  isa::Split split = isa::Split::Rows;
  uint32_t lanes = 2;
  int64_t slots = 2;
  int64_t rows = 64;  // of the whole array
  int64_t blocks = 1;
  DType dtype = DType::F32;  // of the ring's elements, to vector cores
};

inline isa::Ring relay_ring(const Relay& relay, isa::RingDirection direction) {
  const bool to_vec = direction == isa::RingDirection::C2V;
  return {"s", direction, to_vec ? relay.dtype : DType::F16, 32, 32, relay.slots, relay.split};
}

inline int64_t lane_rows(const Relay& relay) {
  return relay.split == isa::Split::Rows ? 16 : 32;
}
inline int64_t lane_cols(const Relay& relay, int64_t cols) {
  return relay.split == isa::Split::Cols ? cols / 2 : cols;
}

// Opens the loop over a block's tiles: block_index(), + blocks, ... Gives the first row of a tile and its valid rows.
struct Turn {
  ExprId row;
  ExprId rows;
};
inline Turn open_turns(CoreBuilder& b, const Relay& relay) {
  ExprPool& p = b.pool();
  const ExprId i = b.loop("i", b.block(), b.num((relay.rows + 31) / 32));
  b.core.code.back().step = p.leaf(ExprOp::BlockCount);
  const ExprId row = b.let("row", p.mul(i, b.num(32)));
  return {row, p.min(b.num(32), p.sub(b.num(relay.rows), row))};
}

// Of `whole` rows or columns, in two parts of `half`, what a lane has.
inline ExprId share_of(CoreBuilder& b, ExprId whole, int64_t half) {
  ExprPool& p = b.pool();
  return p.make(ExprOp::Max, b.num(0), p.min(b.num(half), p.sub(whole, p.mul(b.lane(), b.num(half)))));
}

struct Halves {
  ExprId rows;  // valid, of this lane
  ExprId cols;
  ExprId row;  // where they begin in the tile
  ExprId col;
};
inline Halves halves(CoreBuilder& b, const Relay& relay, ExprId rows, int64_t cols) {
  ExprPool& p = b.pool();
  Halves h{rows, b.num(cols), b.num(0), b.num(0)};
  if (relay.split == isa::Split::Rows) {
    h.rows = share_of(b, rows, 16);
    h.row = p.mul(b.lane(), b.num(16));
  } else if (relay.split == isa::Split::Cols) {
    h.cols = b.num(cols / 2);
    h.col = p.mul(b.lane(), b.num(cols / 2));
  }
  return h;
}

// Multiplies what `am` (32 x kDepth in mat) holds by w into acc. Barriers stand wherever one could be needed.
inline void multiply(CoreBuilder& b, const Target& target, isa::BufferId am, isa::BufferId acc) {
  const auto bm = b.buffer("bm", DType::F16, kDepth, 32, 65536, Space::Mat, Layout::Nz);
  const auto left = b.buffer("left", DType::F16, 32, kDepth, 0, Space::Left, target.left_layout);
  const auto right = b.buffer("right", DType::F16, kDepth, 32, 0, Space::Right, Layout::Zn);
  const uint32_t w = static_cast<uint32_t>(b.core.params.size() - 1);
  b.load(bm, isa::TensorId(w), {b.num(0), b.num(0)});
  b.barrier(Pipe::All);
  b.tiles(Opcode::TMov, {left, am});
  b.tiles(Opcode::TMov, {right, bm});
  b.barrier(Pipe::All);
  b.tiles(Opcode::TMatMul, {acc, left, right});
  b.barrier(Pipe::All);
}

// y[lane] = 2 * (x * w): the cube core multiplies, the lanes take their parts of the product. x f16[rows, kDepth],
// w f16[kDepth, 32], y f32[2, rows, 32]; without a split both lanes have all of it.
inline ProgramBuilder to_vector(const Relay& relay) {
  const Target target = target_named(relay.target.c_str());
  const bool local = target.ring_is_local(isa::RingDirection::C2V);
  const isa::Ring ring = relay_ring(relay, isa::RingDirection::C2V);

  CoreBuilder cube("up", CoreKind::Cube);
  const auto x = cube.tensor("x", DType::F16, {cube.num(relay.rows), cube.num(kDepth)}, object::ParamMode::In);
  cube.tensor("w", DType::F16, {cube.num(kDepth), cube.num(32)}, object::ParamMode::In);
  const auto am = cube.buffer("am", DType::F16, 32, kDepth, 0, Space::Mat, Layout::Nz);
  const auto acc = cube.buffer("acc", DType::F32, 32, 32, 0, Space::Acc, Layout::Nz);
  const auto s = cube.ring(ring);
  const Turn up = open_turns(cube, relay);
  cube.load(am, x, {up.row, cube.num(0)}, up.rows, cube.num(kDepth));
  multiply(cube, target, am, acc);
  cube.push(s, acc);
  cube.barrier(Pipe::All);
  cube.end_loop();

  CoreBuilder vec("down", CoreKind::Vec);
  const auto y = vec.tensor("y", DType::F32, {vec.num(2), vec.num(relay.rows), vec.num(32)}, object::ParamMode::Out);
  const auto p = vec.buffer("p", relay.dtype, lane_rows(relay), lane_cols(relay, 32), 0, Space::Vec, Layout::ND,
                            local ? relay.slots : 1);
  const auto q = vec.buffer("q", DType::F32, lane_rows(relay), lane_cols(relay, 32), 65536);
  const auto r = vec.ring(ring);
  const Turn down = open_turns(vec, relay);
  const Halves h = halves(vec, relay, down.rows, 32);
  vec.pop(p, r, h.rows, h.cols);
  vec.barrier(Pipe::All);
  if (relay.dtype == DType::F32) {
    vec.with_scalar(Opcode::TMuls, q, p, vec.num(2));
  } else {
    isa::Operand round = CoreBuilder::operand(OperandKind::Round);
    round.attribute = static_cast<uint8_t>(isa::Round::Rint);
    vec.inst(Opcode::TCvt,
             {CoreBuilder::tile(OperandKind::TileOut, q), CoreBuilder::tile(OperandKind::TileIn, p), round});
    vec.barrier(Pipe::All);
    vec.with_scalar(Opcode::TMuls, q, q, vec.num(2));
  }
  vec.barrier(Pipe::All);
  if (local) {
    vec.free(r, p);
  }
  vec.store(y, {vec.lane(), vec.pool().add(down.row, h.row), h.col}, q);
  vec.barrier(Pipe::All);
  vec.end_loop();

  ProgramBuilder program(target);
  const auto px =
      program.tensor("x", DType::F16, {program.num(relay.rows), program.num(kDepth)}, object::ParamMode::In);
  const auto pw = program.tensor("w", DType::F16, {program.num(kDepth), program.num(32)}, object::ParamMode::In);
  const auto py = program.tensor("y", DType::F32, {program.num(2), program.num(relay.rows), program.num(32)},
                                 object::ParamMode::Out);
  const uint32_t up_core = program.core(cube);
  program.pair_task("relay", up_core, {px, pw}, program.core(vec), {py}, program.num(relay.blocks), relay.lanes);
  return program;
}

// y = (2 * x) * w: the lanes double their parts of x and push them, the cube core multiplies.
inline ProgramBuilder to_cube(const Relay& relay) {
  const Target target = target_named(relay.target.c_str());
  const bool local = target.ring_is_local(isa::RingDirection::V2C);
  const isa::Ring ring = relay_ring(relay, isa::RingDirection::V2C);

  CoreBuilder vec("scale", CoreKind::Vec);
  const auto x = vec.tensor("x", DType::F16, {vec.num(relay.rows), vec.num(kDepth)}, object::ParamMode::In);
  const auto p = vec.buffer("p", DType::F16, lane_rows(relay), lane_cols(relay, kDepth), 0);
  const auto r = vec.ring(ring);
  const Turn turn = open_turns(vec, relay);
  const Halves h = halves(vec, relay, turn.rows, kDepth);
  if (relay.split == isa::Split::None) {
    vec.begin_if(vec.pool().make(ExprOp::Eq, vec.lane(), vec.num(0)));
  }
  vec.load(p, x, {vec.pool().add(turn.row, h.row), h.col}, h.rows, h.cols);
  vec.barrier(Pipe::All);
  vec.with_scalar(Opcode::TMuls, p, p, vec.num(2));
  vec.barrier(Pipe::All);
  vec.push(r, p);
  vec.barrier(Pipe::All);
  if (relay.split == isa::Split::None) {
    vec.end_if();
  }
  vec.end_loop();

  CoreBuilder cube("product", CoreKind::Cube);
  const auto y = cube.tensor("y", DType::F32, {cube.num(relay.rows), cube.num(32)}, object::ParamMode::Out);
  cube.tensor("w", DType::F16, {cube.num(kDepth), cube.num(32)}, object::ParamMode::In);
  const auto am = cube.buffer("am", DType::F16, 32, kDepth, 0, Space::Mat, Layout::Nz, local ? relay.slots : 1);
  const auto acc = cube.buffer("acc", DType::F32, 32, 32, 0, Space::Acc, Layout::Nz);
  const auto s = cube.ring(ring);
  const Turn up = open_turns(cube, relay);
  cube.pop(am, s, up.rows, cube.num(kDepth));
  multiply(cube, target, am, acc);
  if (local) {
    cube.free(s, am);
  }
  cube.store(y, {up.row, cube.num(0)}, acc);
  cube.barrier(Pipe::All);
  cube.end_loop();

  ProgramBuilder program(target);
  const auto px =
      program.tensor("x", DType::F16, {program.num(relay.rows), program.num(kDepth)}, object::ParamMode::In);
  const auto pw = program.tensor("w", DType::F16, {program.num(kDepth), program.num(32)}, object::ParamMode::In);
  const auto py = program.tensor("y", DType::F32, {program.num(relay.rows), program.num(32)}, object::ParamMode::Out);
  const uint32_t product = program.core(cube);
  program.pair_task("relay", product, {py, pw}, program.core(vec), {px}, program.num(relay.blocks), relay.lanes);
  return program;
}

}  // namespace pto::test
