#include "src/passes/block/ring_events.h"

#include <algorithm>

#include "src/support/expr_ops.h"

namespace pto::passes {

using ir::Op;
using ir::OpId;
using ir::OpKind;

struct RingProgram::State {
  int64_t lane = 0;
  Atoms* atoms = nullptr;
  size_t budget = 0;
  int depth = 0;                   // of loops
  std::map<SymId, int64_t> loops;  // values of loop variables
  std::map<SymId, int> depths;     // which loop, from outside
  std::map<SymId, ExprId> lets;
  std::vector<RingEvent> events;
};

RingProgram::RingProgram(const ir::Function& core, const Target& target) : core_(core), target_(target) {
  for (OpId id : ir::ops_in_order(core)) {
    const Op& op = core.ops[id];
    if (op.kind == OpKind::Inst && op.inst.opcode == isa::Opcode::TPop) {
      const isa::Ring& ring = core.rings[op.inst.operands[1].ring.index()];
      if (local(ring)) {
        ring_memory_[op.inst.operands[0].buffer] = ring.name;
      }
    }
  }
  matters(core.body);
}

// Does anything in the region touch a ring? Remembers all regions that do.
bool RingProgram::matters(ir::RegionId region) const {
  bool found = false;
  for (OpId id : core_.regions[region].ops) {
    const Op& op = core_.ops[id];
    for (ir::RegionId inner : op.regions) {
      found = matters(inner) || found;
    }
    for (const isa::Operand& operand : op.inst.operands) {
      found = found || operand.kind == isa::OperandKind::Ring ||
              (isa::is_tile(operand.kind) && ring_memory_.count(operand.buffer) != 0);
    }
  }
  if (found) {
    const_cast<RingProgram*>(this)->relevant_.insert(region);
  }
  return found;
}

void RingProgram::add_constants(ExprId expr, std::set<int64_t>& found) const {
  const ExprNode& node = core_.exprs[expr];
  if (is_leaf(node.op) || node.op == ExprOp::CeilDiv || node.op == ExprOp::FloorDiv || node.op == ExprOp::Mod) {
    return;  // quotients are atoms
  }
  for (ExprId operand : {node.a, node.b}) {
    const auto value = core_.exprs.constant(operand);
    if (value && node.op != ExprOp::Mul) {
      found.insert(*value < 0 ? -*value : *value);
    }
    add_constants(operand, found);
  }
}

std::set<int64_t> RingProgram::constants() const {
  std::set<int64_t> found;
  for (OpId id : ir::ops_in_order(core_)) {
    const Op& op = core_.ops[id];
    const bool relevant =
        std::any_of(op.regions.begin(), op.regions.end(), [&](ir::RegionId r) { return relevant_.count(r) != 0; });
    // The trip count of a loop with another step is an atom.
    if (relevant && (op.kind != OpKind::For || core_.exprs.constant(op.exprs[2]) == 1)) {
      for (ExprId expr : op.exprs) {
        add_constants(expr, found);
      }
    }
  }
  return found;
}

std::optional<std::vector<RingEvent>> RingProgram::run(int64_t lane, Atoms& atoms, size_t most) const {
  State state;
  state.lane = lane;
  state.atoms = &atoms;
  state.budget = most;
  if (!region(core_.body, state)) {
    return std::nullopt;
  }
  return std::move(state.events);
}

bool RingProgram::region(ir::RegionId id, State& state) const {
  for (OpId op_id : core_.regions[id].ops) {
    const Op& op = core_.ops[op_id];
    if (state.budget-- == 0) {
      return false;
    }
    if (op.kind == OpKind::Let) {
      state.lets[op.syms[0]] = op.exprs[0];
    } else if (op.kind == OpKind::Inst) {
      instruction(op_id, state);
    } else if (op.kind == OpKind::If) {
      if (relevant_.count(op.regions[0]) == 0 && relevant_.count(op.regions[1]) == 0) {
        continue;
      }
      if (!region(op.regions[value(op.exprs[0], state) != 0 ? 0 : 1], state)) {
        return false;
      }
    } else if (op.kind == OpKind::For && relevant_.count(op.regions[0]) != 0) {
      const int64_t count = trips(op, state);
      const int64_t lo = value(op.exprs[0], state);
      const int64_t step = core_.exprs.constant(op.exprs[2]).value_or(1);
      state.depths[op.syms[0]] = ++state.depth;
      for (int64_t i = 0; i < count; ++i) {
        state.loops[op.syms[0]] = lo + i * step;
        if (!region(op.regions[0], state)) {
          return false;
        }
      }
      --state.depth;
    }
  }
  return true;
}

// How often a loop runs. `for j in 0..N step 64` and `for j in 0..ceildiv(N, 64)` run equally often: the same atom.
int64_t RingProgram::trips(const Op& loop, State& state) const {
  const std::optional<int64_t> step = core_.exprs.constant(loop.exprs[2]);
  const bool computed = step == 1 || (known(loop.exprs[0], state) && known(loop.exprs[1], state));
  if (step && computed) {
    const int64_t length = value(loop.exprs[1], state) - value(loop.exprs[0], state);
    return length <= 0 ? 0 : (length - 1) / std::max<int64_t>(1, *step) + 1;
  }
  const bool from_zero = core_.exprs.constant(loop.exprs[0]) == 0;
  const std::string length = from_zero ? text(loop.exprs[1], state)
                                       : "(" + text(loop.exprs[1], state) + " - " + text(loop.exprs[0], state) + ")";
  return state.atoms->emplace("ceildiv(" + length + ", " + text(loop.exprs[2], state) + ")", 1).first->second;
}

void RingProgram::instruction(OpId id, State& state) const {
  const isa::Inst& inst = core_.ops[id].inst;
  const isa::Operand* ring = nullptr;
  for (const isa::Operand& operand : inst.operands) {
    ring = operand.kind == isa::OperandKind::Ring ? &operand : ring;
  }
  for (const isa::Operand& operand : inst.operands) {
    const auto memory = isa::is_tile(operand.kind) ? ring_memory_.find(operand.buffer) : ring_memory_.end();
    if (memory != ring_memory_.end() && (ring == nullptr || inst.opcode == isa::Opcode::TPush)) {
      state.events.push_back({RingAction::Use, memory->second, id});
    }
  }
  if (ring != nullptr) {
    const RingAction action = inst.opcode == isa::Opcode::TPush  ? RingAction::Push
                              : inst.opcode == isa::Opcode::TPop ? RingAction::Pop
                                                                 : RingAction::Free;
    state.events.push_back({action, core_.rings[ring->ring.index()].name, id});
  }
}

// Can it be computed from loop variables and the lane alone?
bool RingProgram::known(ExprId expr, const State& state) const {
  const ExprNode& node = core_.exprs[expr];
  switch (node.op) {
    case ExprOp::Int:
    case ExprOp::LaneIndex:
      return true;
    case ExprOp::Float:
    case ExprOp::BlockIndex:
    case ExprOp::BlockCount:
      return false;
    case ExprOp::Sym: {
      const auto let = state.lets.find(node.sym);
      return let != state.lets.end() ? known(let->second, state) : state.loops.count(node.sym) != 0;
    }
    default:
      return known(node.a, state) && known(node.b, state);
  }
}

// `expr` with lets written out and loop variables as $1, $2 from outside.
std::string RingProgram::text(ExprId expr, const State& state) const {
  const ExprNode& node = core_.exprs[expr];
  if (node.op == ExprOp::Sym) {
    const auto let = state.lets.find(node.sym);
    if (let != state.lets.end()) {
      return text(let->second, state);
    }
    const auto loop = state.depths.find(node.sym);
    return loop != state.depths.end() ? "$" + std::to_string(loop->second) : core_.symbols[node.sym.index()].name;
  }
  if (is_leaf(node.op)) {
    return core_.exprs.print(expr, core_.symbols);
  }
  static constexpr const char* kNames[] = {"",  "",    "",    "",  "",  "",   "+",  "-",  "*",  "/", "ceildiv",
                                           "%", "min", "max", "/", "<", "<=", "==", "!=", "&&", "||"};
  const std::string a = text(node.a, state);
  const std::string b = text(node.b, state);
  const std::string name = kNames[static_cast<size_t>(node.op)];
  return name.size() > 2 ? name + "(" + a + ", " + b + ")" : "(" + a + " " + name + " " + b + ")";
}

int64_t RingProgram::atom(ExprId expr, State& state) const {
  return state.atoms->emplace(text(expr, state), 1).first->second;
}

int64_t RingProgram::value(ExprId expr, State& state) const {
  const ExprNode& node = core_.exprs[expr];
  switch (node.op) {
    case ExprOp::Int:
      return node.value;
    case ExprOp::LaneIndex:
      return state.lane;
    case ExprOp::Sym: {
      const auto let = state.lets.find(node.sym);
      if (let != state.lets.end()) {
        return value(let->second, state);
      }
      const auto loop = state.loops.find(node.sym);
      return loop != state.loops.end() ? loop->second : atom(expr, state);
    }
    case ExprOp::Add:
    case ExprOp::Sub:
    case ExprOp::Mul:
    case ExprOp::Min:
    case ExprOp::Max:
    case ExprOp::Lt:
    case ExprOp::Le:
    case ExprOp::Eq:
    case ExprOp::Ne:
    case ExprOp::And:
    case ExprOp::Or:
      return apply_int(node.op, value(node.a, state), value(node.b, state)).value_or(0);
    case ExprOp::FloorDiv:
    case ExprOp::CeilDiv:
    case ExprOp::Mod:
      if (known(expr, state)) {
        return apply_int(node.op, value(node.a, state), value(node.b, state)).value_or(0);
      }
      return atom(expr, state);
    default:
      return atom(expr, state);
  }
}

}  // namespace pto::passes
