// Proves every core program free of races, or says what is wrong: an independent check of insert-sync and of hand-written
// cores. It interprets the program over abstract states (sync_state.h). A loop with an unknown number of iterations is run
// from its set of entry states until no new state appears, and is left from every one of them, so a proof holds for all trip
// counts. Slots, event ids and conditions are evaluated with the actual counter; a counter matters only modulo the moduli
// that it is used with, and below the constants that it is compared with, so the number of states is finite.
//
// What it takes for granted: distinct tensor parameters don't overlap; pipes execute in order.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_state.h"
#include "src/passes/pass.h"

namespace pto::passes {

std::string SyncState::key() const {
  std::string text;
  for (const auto& [k, event] : events) {
    text += std::to_string(k.op) + "," + std::to_string(k.begin) + "," + std::to_string(k.operand) + ":" +
            std::to_string(event.known) + ";";
  }
  for (const auto& [k, seen] : flags) {
    text += "|" + std::to_string(static_cast<int>(std::get<0>(k))) + "," +
            std::to_string(static_cast<int>(std::get<1>(k))) + "," + std::to_string(std::get<2>(k)) + ":";
    for (const EventKey& e : seen) {
      text += std::to_string(e.op) + "," + std::to_string(e.begin) + "," + std::to_string(e.operand) + ";";
    }
  }
  return text;
}

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using isa::Pipe;

constexpr size_t kMaxStates = 4096;  // at one point of one program; more is reported as undecided
constexpr size_t kMaxSteps = 4000000;

class Prover {
 public:
  Prover(PassContext& context, const ir::Function& core) : context_(context), core_(core) {}
  void run();

 private:
  using States = std::map<std::string, SyncState>;

  static States with_new_keys(States states) {
    States keyed;
    for (auto& [key, state] : states) {
      std::string text = state.key();
      keyed.emplace(std::move(text), std::move(state));
    }
    return keyed;
  }

  States region(ir::RegionId id, States states);
  States loop(const Op& op, States states);
  States branch(const Op& op, const States& states);
  void instruction(OpId id, SyncState& state);
  void set_flag(OpId id, SyncState& state);
  void wait_flag(OpId id, SyncState& state);
  void barrier(const Op& op, SyncState& state);
  void access(OpId id, const isa::Operand& operand, int number, Pipe pipe, SyncState& state);
  std::optional<Interval> place(OpId id, const isa::Operand& operand);
  void race(OpId id, const EventKey& earlier_key, const Event& earlier, const Interval& where);
  std::optional<int64_t> value(ExprId expr);
  void undecided(const Op& op, const std::string& why);
  std::string name(OpId id) const;
  uint32_t flag_number(const FlagKey& key);
  // How far a loop counter is told apart: modulo `period`, and exactly below `exact`.
  struct CounterUse {
    int64_t period = 1;
    int64_t exact = 0;
  };
  CounterUse counter_use(const Op& loop) const;
  void scan_counter(ExprId expr, SymId counter, CounterUse& use) const;

  PassContext& context_;
  const ir::Function& core_;
  std::map<SymId, int64_t> known_;  // counters of the loops around the current point
  std::map<FlagKey, uint32_t> flag_numbers_;
  std::set<std::pair<uint32_t, uint32_t>> reported_;
  size_t steps_ = 0;
  bool gave_up_ = false;
};

std::string Prover::name(OpId id) const {
  const Op& op = core_.ops[id];
  return op.kind == OpKind::Inst ? "`" + std::string(isa::info(op.inst.opcode).mnemonic) + "`" : "this";
}

void Prover::undecided(const Op& op, const std::string& why) {
  if (!gave_up_) {
    context_.sink.report(DiagId::SyncUndecided, op.span(), {why});
  }
  gave_up_ = true;
}

// The value of an expression whose symbols are loop counters with known values, or lets of such; nullopt otherwise.
std::optional<int64_t> Prover::value(ExprId expr) {
  std::vector<SymId> symbols;
  core_.exprs.collect_symbols(expr, symbols);
  std::vector<int64_t> ints(core_.symbols.size(), 0);
  for (SymId sym : symbols) {
    const auto it = known_.find(sym);
    if (it == known_.end()) {
      return std::nullopt;
    }
    ints[sym.index()] = it->second;
  }
  std::function<bool(ExprId)> has_block = [&](ExprId e) {
    const ExprNode& node = core_.exprs[e];
    return node.op == ExprOp::BlockIndex || node.op == ExprOp::BlockCount || (node.a.valid() && has_block(node.a)) ||
           (node.b.valid() && has_block(node.b));
  };
  if (has_block(expr)) {
    return std::nullopt;
  }
  ExprEnv env;
  env.ints = ints;
  return core_.exprs.evaluate(expr, env);
}

uint32_t Prover::flag_number(const FlagKey& key) {
  return flag_numbers_.emplace(key, 0x80000000u + static_cast<uint32_t>(flag_numbers_.size())).first->second;
}

std::optional<Interval> Prover::place(OpId id, const isa::Operand& operand) {
  if (isa::is_gm(operand.kind)) {
    ir::ValueId tensor = core_.tensors[operand.tensor.index()];
    while (core_.values[tensor].def.valid()) {
      tensor = core_.ops[core_.values[tensor].def].operands[0];
    }
    return Interval{Space::Gm, tensor.index(), tensor.index() + int64_t{1}};
  }
  const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
  int64_t slot = 0;
  if (operand.slot.valid()) {
    const auto known = value(operand.slot);
    if (!known) {
      undecided(core_.ops[id], "the slot of `" + buffer.name + "` does not follow from the loop counters around it");
      return std::nullopt;
    }
    slot = *known;
  }
  const int64_t begin = buffer.address + slot * buffer.slot_stride;
  return Interval{buffer.tile.space, begin, begin + buffer.tile.bytes()};
}

void Prover::race(OpId id, const EventKey& earlier_key, const Event& earlier, const Interval& where) {
  if (!reported_.insert({earlier_key.op, id.index()}).second) {
    return;
  }
  const OpId other(earlier_key.op);
  const Pipe pipe = isa::pipe_of(core_.ops[id].inst, core_.buffers, context_.target);
  auto describe = [&](OpId op, Pipe p) { return name(op) + " on " + std::string(isa::spelling(p)); };
  auto handle = context_.sink.report(
      DiagId::SyncRace, core_.ops[id].span(),
      {describe(other, earlier.pipe), describe(id, pipe), std::string(spelling(where.space))});
  std::string bytes;
  if (where.space != Space::Gm) {
    char text[80];
    std::snprintf(text, sizeof text, " bytes 0x%llx to 0x%llx",
                  static_cast<unsigned long long>(std::max(where.begin, earlier.where.begin)),
                  static_cast<unsigned long long>(std::min(where.end, earlier.where.end)));
    bytes = text;
  }
  handle.note(core_.ops[other].span(), std::string(earlier.write ? "written" : "read") + " here" + bytes);
  handle.help("order them with `set_flag " + std::string(isa::spelling(earlier.pipe)) + " -> " +
              std::string(isa::spelling(pipe)) + ", ID` after the first and the matching `wait_flag` before the second");
}

void Prover::access(OpId id, const isa::Operand& operand, int number, Pipe pipe, SyncState& state) {
  const auto where = place(id, operand);
  if (!where) {
    return;
  }
  const bool write = isa::writes(operand.kind);
  for (const auto& [key, event] : state.events) {
    if (!event.is_wait && event.pipe != pipe && (write || event.write) && event.where.overlaps(*where) &&
        (event.known & bit(pipe)) == 0) {
      race(id, key, event, *where);
    }
  }
  const EventKey key{id.index(), where->begin, number};
  for (auto& [flag, seen] : state.flags) {
    seen.erase(key);  // what a flag promises is about the earlier time
  }
  state.events[key] = {pipe, *where, write, false, bit(pipe)};
}

void Prover::set_flag(OpId id, SyncState& state) {
  const isa::Inst& inst = core_.ops[id].inst;
  const auto event = value(inst.operands[2].a);
  if (!event) {
    undecided(core_.ops[id], "the event id does not follow from the loop counters around it");
    return;
  }
  const auto src = static_cast<Pipe>(inst.operands[0].attribute);
  const FlagKey key{src, static_cast<Pipe>(inst.operands[1].attribute), *event};
  const auto latest_wait = state.events.find(EventKey{flag_number(key), 0, 0});
  const bool wait_may_be_open =
      latest_wait != state.events.end() && (latest_wait->second.known & bit(src)) == 0;
  if ((state.flags.count(key) != 0 || wait_may_be_open) && reported_.insert({id.index(), id.index()}).second) {
    auto handle = context_.sink.report(DiagId::SyncSetTwice, core_.ops[id].span(), {});
    if (state.flags.count(key) != 0) {
      handle.note(core_.ops[OpId(state.setters[key])].span(), "set here before");
    }
  }
  std::set<EventKey> seen;
  for (const auto& [k, e] : state.events) {
    if ((e.known & bit(src)) != 0) {
      seen.insert(k);
    }
  }
  state.flags[key] = std::move(seen);
  state.setters[key] = id.index();
}

void Prover::wait_flag(OpId id, SyncState& state) {
  const isa::Inst& inst = core_.ops[id].inst;
  const auto event = value(inst.operands[2].a);
  if (!event) {
    undecided(core_.ops[id], "the event id does not follow from the loop counters around it");
    return;
  }
  const auto dst = static_cast<Pipe>(inst.operands[1].attribute);
  const FlagKey key{static_cast<Pipe>(inst.operands[0].attribute), dst, *event};
  const auto flag = state.flags.find(key);
  if (flag == state.flags.end()) {
    if (reported_.insert({id.index(), id.index()}).second) {
      context_.sink.report(DiagId::SyncWaitWithoutSet, core_.ops[id].span(), {});
    }
    return;
  }
  for (const EventKey& k : flag->second) {
    const auto it = state.events.find(k);
    if (it != state.events.end()) {
      it->second.known |= bit(dst);
    }
  }
  state.flags.erase(flag);
  const EventKey wait{flag_number(key), 0, 0};
  for (auto& [other, seen] : state.flags) {
    seen.erase(wait);
  }
  state.events[wait] = {dst, {}, false, true, bit(dst)};
}

void Prover::barrier(const Op& op, SyncState& state) {
  if (static_cast<Pipe>(op.inst.operands[0].attribute) != Pipe::All) {
    return;  // one pipe is in order anyway
  }
  for (auto& [key, event] : state.events) {
    event.known = ~PipeSet{0};
  }
}

void Prover::instruction(OpId id, SyncState& state) {
  const Op& op = core_.ops[id];
  if (++steps_ > kMaxSteps) {
    undecided(op, "the program has too many different states");
    return;
  }
  switch (isa::info(op.inst.opcode).format) {
    case isa::Format::Flag:
      if (op.inst.opcode == isa::Opcode::SetFlag) {
        set_flag(id, state);
      } else {
        wait_flag(id, state);
      }
      return;
    case isa::Format::Barrier: barrier(op, state); return;
    default: break;
  }
  const Pipe pipe = isa::pipe_of(op.inst, core_.buffers, context_.target);
  for (size_t i = 0; i < op.inst.operands.size(); ++i) {
    const isa::OperandKind kind = op.inst.operands[i].kind;
    if (isa::is_tile(kind) || isa::is_gm(kind)) {
      access(id, op.inst.operands[i], static_cast<int>(i), pipe, state);
    }
  }
}

Prover::States Prover::region(ir::RegionId id, States states) {
  for (OpId op_id : core_.regions[id].ops) {
    if (gave_up_) {
      return states;
    }
    const Op& op = core_.ops[op_id];
    if (op.kind == OpKind::For) {
      states = loop(op, std::move(states));
    } else if (op.kind == OpKind::If) {
      states = branch(op, states);
    } else if (op.kind == OpKind::Let) {
      const auto constant = value(op.exprs[0]);
      if (constant) {
        known_[op.syms[0]] = *constant;
      } else {
        known_.erase(op.syms[0]);
      }
    } else if (op.kind == OpKind::Inst) {
      for (auto& [key, state] : states) {
        instruction(op_id, state);  // keys are brought up to date where states meet: at loops and branches
      }
    }
    if (states.size() > kMaxStates) {
      undecided(op, "the program has too many different states");
    }
  }
  return states;
}

Prover::States Prover::branch(const Op& op, const States& states) {
  const auto condition = value(op.exprs[0]);
  States out;
  for (size_t side = 0; side < 2; ++side) {
    if (!condition || (*condition != 0) == (side == 0)) {
      States taken = with_new_keys(region(op.regions[side], states));
      out.merge(taken);
    }
  }
  return out;
}

void Prover::scan_counter(ExprId expr, SymId counter, CounterUse& use) const {
  const ExprNode& node = core_.exprs[expr];
  auto mentions = [&](ExprId e) {
    std::vector<SymId> symbols;
    core_.exprs.collect_symbols(e, symbols);
    return std::find(symbols.begin(), symbols.end(), counter) != symbols.end();
  };
  if (!mentions(expr)) {
    return;
  }
  const bool has_right = node.b.valid() && core_.exprs.constant(node.b).has_value();
  const int64_t right = has_right ? core_.exprs.constant(node.b).value_or(0) : 0;
  if (node.op == ExprOp::Mod && right > 0 && right <= 64) {
    use.period = std::lcm(use.period, right);
    return;
  }
  if (node.op == ExprOp::FloorDiv && right > 0 && right <= 4096) {
    use.period *= right;  // what is above multiplies in its own modulus
  }
  if (has_right && (node.op == ExprOp::Eq || node.op == ExprOp::Ne || node.op == ExprOp::Lt || node.op == ExprOp::Le)) {
    use.exact = std::max(use.exact, right + 2);
    return;
  }
  if (node.op == ExprOp::Sym || node.op == ExprOp::Min || node.op == ExprOp::Max) {
    use.exact = std::max<int64_t>(use.exact, 64);  // used as it is: only small counts can be told apart
  }
  for (ExprId child : {node.a, node.b}) {
    if (child.valid()) {
      scan_counter(child, counter, use);
    }
  }
}

Prover::CounterUse Prover::counter_use(const Op& loop) const {
  CounterUse use;
  std::function<void(ir::RegionId)> walk = [&](ir::RegionId region) {
    for (OpId id : core_.regions[region].ops) {
      const Op& op = core_.ops[id];
      if (op.kind == OpKind::If) {
        scan_counter(op.exprs[0], loop.syms[0], use);
      }
      for (const isa::Operand& operand : op.inst.operands) {
        if (op.kind == OpKind::Inst && isa::is_tile(operand.kind) && operand.slot.valid()) {
          scan_counter(operand.slot, loop.syms[0], use);
        }
        if (op.kind == OpKind::Inst && operand.kind == isa::OperandKind::Event) {
          scan_counter(operand.a, loop.syms[0], use);
        }
      }
      for (ir::RegionId inner : op.regions) {
        walk(inner);
      }
    }
  };
  walk(loop.regions[0]);
  return use;
}

Prover::States Prover::loop(const Op& op, States states) {
  const auto lo = value(op.exprs[0]);
  const auto step = value(op.exprs[2]);
  const auto hi = value(op.exprs[1]);
  const CounterUse use = counter_use(op);
  const SymId counter = op.syms[0];
  const auto trips = lo && hi && step && *step > 0
                         ? std::optional<int64_t>(std::max<int64_t>(0, (*hi - *lo + *step - 1) / *step))
                         : std::nullopt;
  States exits;
  if (!trips || *trips == 0) {
    exits = with_new_keys(states);
  }
  std::set<std::pair<std::string, std::pair<int64_t, int64_t>>> seen;
  std::map<int64_t, States> by_iteration;
  for (int64_t i = 0; !states.empty() && (!trips || i < *trips); ++i) {
    std::optional<int64_t> now;
    if (lo && step) {
      now = *lo + i * *step;
    }
    States fresh;
    states = with_new_keys(std::move(states));
    for (auto& [key, state] : states) {
      const auto phase = std::make_pair(now ? *now % use.period : 0, now ? std::min(*now, use.exact) : 0);
      if (seen.insert({key, phase}).second) {
        fresh.emplace(key, std::move(state));
      }
    }
    if (now) {
      known_[counter] = *now;
    } else {
      known_.erase(counter);
    }
    if (fresh.empty()) {
      break;  // every state from here on was run before, so were the states that it leads to
    }
    states = region(op.regions[0], std::move(fresh));
    if (gave_up_ || seen.size() > kMaxStates) {
      undecided(op, "the loop has too many different states");
      break;
    }
    states = with_new_keys(std::move(states));
    if (!trips || i + 1 == *trips) {
      for (const auto& [key, state] : states) {
        exits.emplace(key, state);
      }
    }
    by_iteration[i] = states;
  }
  known_.erase(counter);
  if (trips && *trips > 0 && exits.empty() && !gave_up_) {
    // The states repeated before the last iteration: leave from all of them.
    for (auto& [i, left] : by_iteration) {
      exits.merge(left);
    }
  }
  return exits;
}

void Prover::run() {
  States states;
  states.emplace("", SyncState{});
  states = region(core_.body, std::move(states));
  std::set<uint32_t> left;
  for (const auto& [key, state] : states) {
    for (const auto& [flag, setter] : state.setters) {
      if (state.flags.count(flag) != 0 && left.insert(setter).second && !gave_up_) {
        context_.sink.report(DiagId::SyncUnconsumed, core_.ops[OpId(setter)].span(), {});
      }
    }
  }
}

}  // namespace

PassResult prove_sync(PassContext& context) {
  const size_t before = context.sink.error_count();
  for (const ir::Function& function : context.module.functions) {
    if (function.kind == ir::FunctionKind::Core) {
      Prover(context, function).run();
    }
  }
  return context.sink.error_count() == before ? PassResult::Unchanged : PassResult::Failed;
}

}  // namespace pto::passes
