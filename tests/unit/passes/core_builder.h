// Makes core programs for tests of the block passes, by hand and at random: vector instructions over named buffers in
// loops and branches.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::test {

inline Target target_named(const char* name) {
  DiagnosticSink sink;
  return *builtin_target(name, sink);
}

class CoreBuilder {
 public:
  CoreBuilder() {
    core.kind = ir::FunctionKind::Core;
    core.automatic = true;
    core.name = "f";
    core.body = core.add_region();
    const SymId m = core.add_symbol({"M", SymKind::Dim, DType::I64});
    core.dims = {m};
    dim = core.exprs.symbol(m);
    ir::Type type;
    type.kind = ir::TypeKind::Tensor;
    type.dtype = DType::F32;
    type.dims = {dim, num(64)};
    core.tensors = {core.add_value(type, "x")};
    region = core.body;
  }

  ExprId num(int64_t value) { return core.exprs.integer(value); }

  uint32_t buffer(int64_t rows, int64_t cols, int64_t slots = 1, Space space = Space::Vec, DType dtype = DType::F32) {
    isa::Buffer b;
    b.name = "b" + std::to_string(core.buffers.size());
    b.tile = {dtype, rows, cols, Layout::ND, space};
    b.slots = slots;
    b.slot_stride = slots == 1 ? 0 : b.tile.bytes();
    core.buffers.push_back(b);
    core.buffer_spans.push_back({});
    return static_cast<uint32_t>(core.buffers.size() - 1);
  }

  // Tile operands in order; what else the format has gets something valid.
  ir::OpId inst(isa::Opcode opcode, std::vector<uint32_t> tiles, std::vector<ExprId> slots = {}) {
    ir::Op op;
    op.kind = ir::OpKind::Inst;
    op.inst.opcode = opcode;
    size_t next = 0;
    for (isa::OperandKind kind : isa::format_operands(isa::info(opcode).format)) {
      isa::Operand operand;
      operand.kind = kind;
      if (isa::is_tile(kind)) {
        operand.buffer = isa::BufferId(tiles.at(next));
        operand.slot = next < slots.size() ? slots[next] : ExprId{};
        ++next;
      } else if (isa::is_gm(kind)) {
        operand.tensor = isa::TensorId(0);
        operand.offsets = {num(0), num(0)};
      } else if (kind == isa::OperandKind::Ring) {
        operand.ring = isa::RingId(0);
      } else if (kind == isa::OperandKind::Scalar) {
        operand.a = core.exprs.real(1);
      } else if (kind == isa::OperandKind::Index) {
        operand.a = num(0);
      }
      op.inst.operands.push_back(operand);
    }
    return core.add_op(region, std::move(op));
  }
  void load(uint32_t to) { inst(isa::Opcode::TLoad, {to}); }
  void store(uint32_t from) { inst(isa::Opcode::TStore, {from}); }
  void add(uint32_t to, uint32_t a, uint32_t b) { inst(isa::Opcode::TAdd, {to, a, b}); }
  void exp(uint32_t to, uint32_t from) { inst(isa::Opcode::TExp, {to, from}); }

  // Body and branches are built by the callbacks.
  template <typename Body>
  SymId loop(ExprId lo, ExprId hi, Body body) {
    ir::Op op;
    op.kind = ir::OpKind::For;
    const SymId symbol = core.add_symbol({"i" + std::to_string(core.symbols.size()), SymKind::Loop, DType::I64});
    op.syms = {symbol};
    op.exprs = {lo, hi, num(1)};
    const ir::RegionId inner = core.add_region();
    op.regions = {inner};
    core.add_op(region, std::move(op));
    inside(inner, [&] { body(symbol); });
    return symbol;
  }
  template <typename Then, typename Else>
  void branch(ExprId condition, Then then, Else otherwise) {
    ir::Op op;
    op.kind = ir::OpKind::If;
    op.exprs = {condition};
    const ir::RegionId first = core.add_region();
    const ir::RegionId second = core.add_region();
    op.regions = {first, second};
    core.add_op(region, std::move(op));
    inside(first, then);
    inside(second, otherwise);
  }
  // A condition that nothing is known of.
  ExprId opaque() { return core.exprs.make(ExprOp::Lt, dim, num(static_cast<int64_t>(10 + core.symbols.size()))); }
  ExprId is(SymId symbol, int64_t value) { return core.exprs.make(ExprOp::Eq, core.exprs.symbol(symbol), num(value)); }

  ir::Function core;
  ExprId dim;
  ir::RegionId region;

 private:
  template <typename Body>
  void inside(ir::RegionId inner, Body body) {
    const ir::RegionId outside = region;
    region = inner;
    body();
    region = outside;
  }
};

// Loops that run surely and loops that may not, branches nothing is known of and branches on the first iteration.
class RandomCore {
 public:
  RandomCore(uint64_t seed, int buffers, int instructions) : random_(seed), left_(instructions) {
    for (int i = 0; i < buffers; ++i) {
      const int64_t rows[] = {8, 8, 16, 32};
      b_.buffer(rows[pick(4)], 8 * (1 + pick(8)));
    }
    while (left_ > 0) {
      statements(0);
    }
  }
  ir::Function core() const { return b_.core; }

 private:
  uint32_t pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  uint32_t any() { return pick(static_cast<uint32_t>(b_.core.buffers.size())); }

  void statements(int depth) {
    for (uint32_t i = 0, count = 1 + pick(4); i < count && left_ > 0; ++i) {
      statement(depth);
    }
  }

  void statement(int depth) {
    const uint32_t what = pick(depth < 4 ? 12 : 8);
    if (what >= 10) {
      const bool first_only = !loops_.empty() && pick(2) == 0;
      const ExprId condition = first_only ? b_.is(loops_[pick(static_cast<uint32_t>(loops_.size()))], 0) : b_.opaque();
      b_.branch(
          condition, [&] { statements(depth + 1); },
          [&] {
            if (pick(2) == 0) {
              statements(depth + 1);
            }
          });
      return;
    }
    if (what >= 8) {
      const ExprId hi = pick(2) == 0 ? b_.num(4) : b_.core.exprs.add(b_.dim, b_.num(-1));
      b_.loop(b_.num(0), hi, [&](SymId symbol) {
        loops_.push_back(symbol);
        statements(depth + 1);
        loops_.pop_back();
      });
      return;
    }
    --left_;
    const uint32_t to = any();
    const uint32_t a = any();
    const uint32_t b = any();
    switch (what) {
      case 0:
      case 1:
        return b_.load(to);
      case 2:
      case 3:
        return b_.store(to);
      case 4:
        return b_.exp(to, a);
      case 5:
        b_.inst(isa::Opcode::TRowSum, {to, a, b});
        return;
      default:
        return b_.add(to, a, b);
    }
  }

  std::mt19937_64 random_;
  int left_;
  CoreBuilder b_;
  std::vector<SymId> loops_;
};

}  // namespace pto::test
