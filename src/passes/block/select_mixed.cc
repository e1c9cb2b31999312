// Selection, halves of mixed kernels: what the other kind of core does is left out, and a move to it becomes a push on
// this side and a pop on the other. On targets with local rings the popped tile is the ring's slot, which is given back
// behind the last statement that uses it.
#include <algorithm>

#include "src/passes/block/selector.h"

namespace pto::passes {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;
using isa::Opcode;
using isa::OperandKind;

bool Selector::mine(OpId id) const {
  if (!plan_.mixed()) {
    return true;
  }
  const Op& op = kernel_.ops[id];
  if (op.kind == OpKind::Let || op.kind == OpKind::Yield) {
    return true;
  }
  if (op.kind == OpKind::Reshape) {
    return plan_.tensors.at(side_).count(op.results[0]) != 0;
  }
  return plan_.ops.at(side_).count(id) != 0;
}

bool Selector::mine(ValueId value) const {
  return target_.space(kernel_.type(value).space).core == side_;
}

ExprId Selector::lane_start(int64_t extent) {
  return exprs().mul(exprs().leaf(ExprOp::LaneIndex), exprs().integer(extent / 2));
}

bool Selector::lane_zero(const std::vector<Span>& spans, const std::function<bool()>& body) {
  const ir::RegionId outside = region_;
  region_ = add_branch(exprs().make(ExprOp::Eq, exprs().leaf(ExprOp::LaneIndex), exprs().integer(0)), spans)[0];
  const bool ok = body();
  region_ = outside;
  return ok;
}

namespace {

isa::Operand ring_operand(isa::RingId ring) {
  isa::Operand operand;
  operand.kind = OperandKind::Ring;
  operand.ring = ring;
  return operand;
}

}  // namespace

bool Selector::cross(OpId id) {
  const Op& op = kernel_.ops[id];
  const isa::RingId ring = plan_.crossings.at(id);
  return mine(op.results[0]) ? pop(id, ring) : push(op, ring);
}

bool Selector::push(const Op& op, isa::RingId ring) {
  const ValueId value = op.operands[0];
  auto write = [&] { return emit(op, Opcode::TPush, {ring_operand(ring), tile(OperandKind::TileIn, use(value))}); };
  return side_ == CoreKind::Vec && plan_.lanes == 2 && !shared(value) ? lane_zero(op.spans, write) : write();
}

bool Selector::pop(OpId id, isa::RingId ring) {
  const Op& op = kernel_.ops[id];
  const ValueId value = op.results[0];
  if (!target_.ring_is_local(plan_.rings[ring.index()].direction)) {
    return emit(op, Opcode::TPop, {tile(OperandKind::TileOut, define(op)), ring_operand(ring), valid(value)});
  }
  const TileRef ref{add_buffer(describe(value), kernel_.values[value].name, plan_.rings[ring.index()].slots, op.spans),
                    ExprId()};
  ring_buffers_.insert(ref.buffer);
  tiles_[value] = ref;
  if (!emit(op, Opcode::TPop, {tile(OperandKind::TileOut, ref), ring_operand(ring), valid(value)})) {
    return false;
  }
  // A slot can't be carried round a loop or out of a branch: that is a tile of its own.
  OpId last = id;
  bool kept = false;
  const auto uses = uses_.find(value);
  if (uses != uses_.end()) {
    kept = std::any_of(uses->second.begin(), uses->second.end(), [&](OpId use) {
      return kernel_.ops[use].kind == OpKind::Yield || kernel_.ops[use].kind == OpKind::For;
    });
    const auto& ops = kernel_.regions[region_of(kernel_, id)].ops;
    for (auto it = std::find(ops.begin(), ops.end(), id); it != ops.end(); ++it) {
      last = mentions(*it, value) ? *it : last;
    }
  }
  if (kept) {
    const TileRef own = define(op);
    copy(op, own, ref);
    last = id;
  }
  popped_[last].push_back({ring, ref, op.spans});
  return true;
}

bool Selector::free_behind(OpId statement) {
  const auto found = popped_.find(statement);
  if (found == popped_.end()) {
    return true;
  }
  const std::vector<Popped> popped = std::move(found->second);
  popped_.erase(found);
  return std::all_of(popped.begin(), popped.end(), [&](const Popped& p) {
    Op origin;
    origin.kind = OpKind::Move;
    origin.spans = p.spans;
    return emit(origin, Opcode::TFree, {ring_operand(p.ring), tile(OperandKind::TileTmp, p.tile)});
  });
}

// A half doesn't need the index names of the other one.
void Selector::remove_unused_lets() {
  for (bool again = true; again;) {
    std::set<SymId> used;
    auto collect = [&](ExprId e) {
      if (e.valid()) {
        std::vector<SymId> symbols;
        exprs().collect_symbols(e, symbols);
        used.insert(symbols.begin(), symbols.end());
      }
    };
    for_each_op(core_, [&](OpId id) {
      const Op& op = core_.ops[id];
      std::for_each(op.exprs.begin(), op.exprs.end(), collect);
      for (const isa::Operand& operand : op.inst.operands) {
        std::for_each(operand.offsets.begin(), operand.offsets.end(), collect);
        for (ExprId e : {operand.slot, operand.a, operand.b}) {
          collect(e);
        }
      }
    });
    again = false;
    rewrite_region(core_, core_.body, [&](OpId id) {
      const Op& op = core_.ops[id];
      if (op.kind == OpKind::Let && used.count(op.syms[0]) == 0) {
        again = true;
        return std::vector<OpId>{};
      }
      return std::vector<OpId>{id};
    });
  }
}

}  // namespace pto::passes
