// Random modules of the Block and Execution levels, for round trips: legal on a2a3 instruction by instruction, though
// not synchronised.
#pragma once

#include <random>

#include "tests/unit/ir/samples.h"

namespace pto::ir::samples {

// Random cores: nested loops, branches, lets and instructions that every family allows, with random index arithmetic.
class RandomCore {
 public:
  // With rings it is the vector half of a pair.
  explicit RandomCore(uint32_t seed, std::vector<isa::Ring> rings = {})
      : random_(seed), b_(FunctionKind::Core, "core_" + std::to_string(seed)) {
    b_.f.rings = std::move(rings);
    b_.f.ring_spans.resize(b_.f.rings.size());
  }

  Function run() {
    if (pick(2) == 0) {
      b_.f.doc = "a comment\nin lines";
    }
    for (int i = 0; i < 2; ++i) {
      atoms_.push_back(b_.dim("D" + std::to_string(i)));
    }
    dims_ = atoms_;
    b_.param("x", Builder::tensor(DType::F32, {dims_[0], b_.num(64)}), ParamMode::In, pick(2) == 0 ? "in" : "");
    if (pick(2) == 0) {
      scalars_.push_back(b_.scalar_param("s", DType::F32));
    }
    if (pick(2) == 0) {
      atoms_.push_back(b_.scalar_param("n", DType::I32));
    }
    const ValueId c =
        b_.param("c", Builder::tensor(DType::F32, {dims_.back(), dims_[0], b_.num(64)}), ParamMode::InOut);
    b_.param("y", Builder::tensor(DType::F32, {b_.e().mul(dims_[0], b_.num(2)), b_.num(64)}), ParamMode::Out);
    if (pick(2) == 0) {
      const ValueId view = b_.add(
          OpKind::Reshape, {c}, Builder::tensor(DType::F32, {b_.num(64), b_.e().mul(dims_.back(), dims_[0])}), hint());
      b_.f.tensors.push_back(view);
      has_view_ = true;
    }
    for (int i = 0; i < 4; ++i) {
      b_.buf(hint(), {DType::F32, 8, 64, Layout::ND, Space::Vec}, 0x2000 * i, 1 + pick(3));
    }
    for (const isa::Ring& ring : b_.f.rings) {
      atoms_ = {b_.e().leaf(ExprOp::LaneIndex), atoms_[0], atoms_[1]};
      ring_tiles_.push_back(b_.buf(hint(), {ring.dtype, ring.lane_rows(), ring.lane_cols(), Layout::ND, Space::Vec},
                                   0x8000 + 0x8000 * static_cast<int64_t>(ring_tiles_.size()), 1));
    }
    // Every tensor is used in its direction.
    for (const bool store : {false, true}) {
      const isa::Operand c_window = gm(store, 1);
      const isa::OperandKind kind = store ? isa::OperandKind::TileIn : isa::OperandKind::TileOut;
      transfer(store, tile(kind), c_window);
      transfer(store, tile(kind), gm(store, 0));
    }
    statements(0);
    return std::move(b_.f);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  std::string hint() {
    static const std::string kHints[] = {"", "a", "b", "i", "i1", "t0", "acc", "for", "v", "x"};
    return kHints[pick(10)];
  }

  ExprId index(int depth = 0) {
    const int choice = pick(depth > 2 ? 3 : 12);
    if (choice == 0) {
      return b_.num(pick(5) == 0 ? -pick(100) : pick(100));
    }
    if (choice < 3) {
      return pick(6) == 0 ? b_.e().leaf(pick(2) == 0 ? ExprOp::BlockIndex : ExprOp::BlockCount)
                          : atoms_[static_cast<size_t>(pick(static_cast<int>(atoms_.size())))];
    }
    static constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::Min, ExprOp::Max};
    static constexpr ExprOp kDivisions[] = {ExprOp::FloorDiv, ExprOp::CeilDiv, ExprOp::Mod};
    if (choice < 6) {
      return b_.e().make(kDivisions[pick(3)], index(depth + 1), b_.num(1 + pick(20)));
    }
    return b_.e().make(kOps[pick(5)], index(depth + 1), index(depth + 1));
  }

  ExprId condition() {
    static constexpr ExprOp kOps[] = {ExprOp::Lt, ExprOp::Le, ExprOp::Eq, ExprOp::Ne};
    const ExprId a = b_.e().make(kOps[pick(4)], index(), index());
    return pick(2) == 0 ? a : b_.e().make(pick(2) == 0 ? ExprOp::And : ExprOp::Or, a, condition());
  }

  ExprId real(int depth = 0) {
    if (depth > 2 || pick(2) == 0) {
      return scalars_.empty() || pick(2) == 0 ? b_.e().real((pick(2000) - 1000) / 64.0) : scalars_[0];
    }
    static constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::Div};
    return b_.e().make(kOps[pick(4)], real(depth + 1), real(depth + 1));
  }

  isa::Operand tile(isa::OperandKind kind) {
    const auto number = static_cast<uint32_t>(pick(4));
    const int64_t slots = b_.f.buffers[number].slots;
    ExprId slot;
    if (pick(2) == 0) {
      slot = pick(2) == 0 ? b_.num(pick(static_cast<int>(slots))) : b_.e().make(ExprOp::Mod, index(), b_.num(slots));
    }
    return Builder::tile_operand(kind, isa::BufferId(number), slot);
  }

  // An offset that is not plainly in front of the tensor or behind it.
  ExprId offset() {
    const ExprId any = index();
    return b_.e().constant(any) ? b_.num(0) : any;
  }

  isa::Operand gm(bool store, int choice) {
    const isa::OperandKind kind = store ? isa::OperandKind::GmOut : isa::OperandKind::GmIn;
    switch (choice) {
      case 0:
        return Builder::gm(kind, store ? 2 : 0, {offset(), b_.num(0)});
      case 1:
        return Builder::gm(kind, 1, {offset(), offset(), b_.num(0)});
      default:
        return Builder::gm(kind, 3, {offset(), offset()});
    }
  }

  void transfer(bool store, isa::Operand tile, isa::Operand window) {
    if (store) {
      b_.inst(isa::Opcode::TStore, {std::move(window), std::move(tile)});
      return;
    }
    const bool valid = pick(2) == 0;
    const ExprId rows = valid ? index() : ExprId();
    b_.inst(isa::Opcode::TLoad, {std::move(tile), std::move(window),
                                 Builder::value(isa::OperandKind::Valid, rows, valid ? index() : ExprId())});
  }

  void instruction() {
    static constexpr isa::Opcode kBinary[] = {isa::Opcode::TAdd, isa::Opcode::TSub, isa::Opcode::TMul,
                                              isa::Opcode::TDiv};
    static constexpr isa::Opcode kScalar[] = {isa::Opcode::TAdds, isa::Opcode::TMuls, isa::Opcode::TMaxs};
    static constexpr isa::Pipe kPipes[] = {isa::Pipe::MTE2, isa::Pipe::V, isa::Pipe::MTE3};
    switch (pick(ring_tiles_.empty() ? 7 : 9)) {
      case 7:
      case 8:
        ring(pick(static_cast<int>(ring_tiles_.size())));
        break;
      case 0:
        transfer(false, tile(isa::OperandKind::TileOut), gm(false, pick(has_view_ ? 3 : 2)));
        break;
      case 1:
        transfer(true, tile(isa::OperandKind::TileIn), gm(true, pick(has_view_ ? 3 : 2)));
        break;
      case 2:
        b_.inst(kBinary[pick(4)],
                {tile(isa::OperandKind::TileOut), tile(isa::OperandKind::TileIn), tile(isa::OperandKind::TileIn)});
        break;
      case 3:
        b_.inst(kScalar[pick(3)], {tile(isa::OperandKind::TileOut), tile(isa::OperandKind::TileIn),
                                   Builder::value(isa::OperandKind::Scalar, real())});
        break;
      case 4: {
        const int from = pick(3);
        b_.flag(pick(2) == 0 ? isa::Opcode::SetFlag : isa::Opcode::WaitFlag, kPipes[from],
                kPipes[(from + 1 + pick(2)) % 3],
                pick(2) == 0 ? b_.num(pick(8)) : b_.e().make(ExprOp::Mod, index(), b_.num(8)));
        break;
      }
      case 5:
        b_.inst(isa::Opcode::PipeBarrier,
                {Builder::attribute(isa::OperandKind::PipeSrc,
                                    static_cast<int>(pick(2) == 0 ? isa::Pipe::All : isa::Pipe::V))});
        break;
      default:
        b_.inst(isa::Opcode::TExp, {tile(isa::OperandKind::TileOut), tile(isa::OperandKind::TileIn)});
        break;
    }
  }

  void ring(int number) {
    const isa::BufferId own = ring_tiles_[static_cast<size_t>(number)];
    isa::Operand ring;
    ring.kind = isa::OperandKind::Ring;
    ring.ring = isa::RingId(static_cast<uint32_t>(number));
    if (b_.f.rings[ring.ring.index()].direction == isa::RingDirection::V2C) {
      b_.inst(isa::Opcode::TPush, {ring, Builder::tile_operand(isa::OperandKind::TileIn, own)});
      return;
    }
    const ExprId rows = pick(2) == 0 ? index() : ExprId();
    b_.inst(isa::Opcode::TPop, {Builder::tile_operand(isa::OperandKind::TileOut, own), ring,
                                Builder::value(isa::OperandKind::Valid, rows, rows.valid() ? index() : ExprId())});
  }

  void statements(int depth) {
    const size_t atoms = atoms_.size();
    for (int i = 0; i < 2 + pick(5); ++i) {
      switch (depth > 3 ? 9 : pick(9)) {
        case 0: {
          const SymId sym = b_.symbol(hint(), SymKind::Loop);
          b_.open(b_.op(OpKind::For, {}, {index(), index(), pick(2) == 0 ? b_.num(1 + pick(3)) : dims_[0]}), {sym});
          const size_t outside = atoms_.size();
          atoms_.push_back(b_.sym(sym));
          statements(depth + 1);
          atoms_.resize(outside);
          b_.close();
          break;
        }
        case 1: {
          Op branch = b_.op(OpKind::If, {}, {condition()});
          branch.regions = {b_.f.add_region(), b_.f.add_region()};
          const std::vector<RegionId> sides = branch.regions;
          b_.run(std::move(branch));
          const RegionId outside = b_.region;
          b_.region = sides[0];
          statements(depth + 1);
          b_.region = sides[1];
          if (pick(2) == 0) {
            statements(depth + 1);
          }
          b_.region = outside;
          break;
        }
        case 2:
          atoms_.push_back(b_.let(hint(), index()));
          break;
        default:
          instruction();
          break;
      }
    }
    atoms_.resize(atoms);
  }

  std::mt19937 random_;
  Builder b_;
  std::vector<ExprId> atoms_;
  std::vector<ExprId> dims_;
  std::vector<ExprId> scalars_;
  bool has_view_ = false;
  std::vector<isa::BufferId> ring_tiles_;  // by ring
};

// The cube half of a pair: loops that push and pop whole tiles.
inline Function random_cube(std::mt19937& random, const std::vector<isa::Ring>& rings) {
  Builder b(FunctionKind::Core, "cube_half");
  b.f.core_kind = CoreKind::Cube;
  b.f.automatic = false;
  b.f.rings = rings;
  b.f.ring_spans.resize(rings.size());
  const ExprId d = b.dim("D0");
  std::vector<isa::BufferId> tiles;
  for (const isa::Ring& ring : rings) {
    const bool push = ring.direction == isa::RingDirection::C2V;
    tiles.push_back(b.buf("t", {ring.dtype, ring.rows, ring.cols, Layout::Nz, push ? Space::Acc : Space::Mat},
                          0x8000 * static_cast<int64_t>(tiles.size()), 1));
  }
  for (int loops = 0; loops < 3; ++loops) {
    b.open(b.op(OpKind::For, {}, {b.num(0), d, b.num(1)}), {b.symbol(rings[0].name, SymKind::Loop)});
    for (uint32_t i = 0; i < rings.size(); ++i) {
      isa::Operand ring;
      ring.kind = isa::OperandKind::Ring;
      ring.ring = isa::RingId(i);
      if (random() % 3 == 0) {
        continue;
      }
      if (rings[i].direction == isa::RingDirection::C2V) {
        b.inst(isa::Opcode::TPush, {ring, Builder::tile_operand(isa::OperandKind::TileIn, tiles[i])});
      } else {
        b.inst(isa::Opcode::TPop, {Builder::tile_operand(isa::OperandKind::TileOut, tiles[i]), ring,
                                   Builder::value(isa::OperandKind::Valid, {})});
      }
    }
    b.close();
  }
  return std::move(b.f);
}

// A pair, its two cores and no program: legal for a2a3 instruction by instruction.
inline Module random_pair_module(uint32_t seed) {
  std::mt19937 random(seed);
  auto pick = [&](uint32_t n) { return static_cast<int64_t>(random() % n); };
  std::vector<isa::Ring> rings;
  static constexpr isa::Split kSplits[] = {isa::Split::None, isa::Split::Rows, isa::Split::Cols};
  for (int64_t i = 0; i < 1 + pick(3); ++i) {
    isa::Ring ring;
    ring.name = i == 0 ? "v" : "ring_" + std::to_string(i);
    ring.direction = pick(2) == 0 ? isa::RingDirection::C2V : isa::RingDirection::V2C;
    ring.dtype = DType::F32;
    ring.rows = 32 * (1 + pick(2));
    ring.cols = 32 * (1 + pick(3));
    ring.slots = 1 + pick(4);
    ring.split = kSplits[pick(3)];
    rings.push_back(ring);
  }
  Module module;
  module.functions.push_back(RandomCore(seed, rings).run());
  module.functions.push_back(random_cube(random, rings));
  Function pair = module.functions[0];  // its interface covers both
  pair.name = "both";
  pair.kind = FunctionKind::Pair;
  pair.pair_cube = module.functions[1].name;
  pair.pair_vec = module.functions[0].name;
  pair.core_kind = CoreKind::Vec;
  pair.rings.clear();
  pair.ring_spans.clear();
  pair.buffers.clear();
  pair.buffer_spans.clear();
  pair.tensors.clear();
  pair.body_region().ops.clear();
  module.functions.insert(module.functions.begin() + static_cast<std::ptrdiff_t>(pick(3)), std::move(pair));
  return module;
}

// A program that runs random cores over its parameters and buffers.
inline Function random_program(std::mt19937& random, const Module& module) {
  Builder b(FunctionKind::Program, "main");
  auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const ExprId m = b.dim("M");
  const ValueId flat = b.param("flat", Builder::tensor(DType::F32, {m, b.num(64)}));
  const ExprId s = b.scalar_param("s", DType::F32, 0.125);
  const ExprId n = b.scalar_param("n", DType::I32);
  const ValueId deep = b.param("deep", Builder::tensor(DType::F32, {b.num(2), m, b.num(64)}), ParamMode::InOut);
  std::vector<ValueId> outputs = {
      b.param("out", Builder::tensor(DType::F32, {b.e().mul(m, b.num(2)), b.num(64)}), ParamMode::Out)};
  for (size_t i = 0; i < pick(3); ++i) {
    const ExprId offset = b.e().mul(m, b.num(static_cast<int64_t>(512 * i)));
    outputs.push_back(b.add(b.op(OpKind::Buffer, {}, {offset}),
                            Builder::tensor(DType::F32, {b.e().mul(m, b.num(2)), b.num(64)}), i == 0 ? "main" : ""));
  }
  std::vector<OpId> tasks;
  for (size_t i = 0; i < 1 + pick(5); ++i) {
    const Function& core = module.functions[pick(module.functions.size())];
    Op op = b.op(OpKind::Task);
    op.callee = core.name;
    op.name = i % 2 == 0 ? "t" : "";
    op.operands = {flat, deep, outputs[i == 0 ? 0 : pick(outputs.size())]};
    for (const Param& param : core.params) {
      if (!param.is_tensor()) {
        op.exprs.push_back(is_float(param.dtype) ? (pick(2) == 0 ? s : b.e().real(-0.5)) : n);
      }
    }
    for (size_t d = 0; d < core.dims.size(); ++d) {
      op.task_dims.push_back(d == 0 ? m : b.num(2));
    }
    op.blocks = b.e().min(b.num(8), b.e().ceildiv(m, b.num(4)));
    for (OpId earlier : tasks) {
      if (pick(2) == 0) {
        op.after.push_back(earlier);
      }
    }
    tasks.push_back(b.run(std::move(op)));
  }
  return std::move(b.f);
}

// Two cores and a program that runs them.
inline Module random_module(uint32_t seed) {
  Module module;
  module.functions.push_back(RandomCore(2 * seed).run());
  module.functions.push_back(RandomCore(2 * seed + 1).run());
  std::mt19937 random(seed);
  module.functions.push_back(random_program(random, module));
  return module;
}

}  // namespace pto::ir::samples
