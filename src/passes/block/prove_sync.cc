// Proves every core program free of races, or says what is wrong: an independent check of insert-sync and of
// hand-written cores. It interprets the program over abstract states (sync_state.h). A loop with an unknown number of
// iterations is run from its set of entry states until no new state appears, and is left from every one of them, so a
// proof holds for all trip counts. Slots, event ids and conditions are evaluated with the actual counter; a counter
// matters only modulo the moduli that it is used with, and below the constants that it is compared with, so the number
// of states is finite.
//
// What it takes for granted: distinct tensor parameters don't overlap; pipes execute in order.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_proof.h"
#include "src/passes/block/sync_state.h"
#include "src/passes/pass.h"

namespace pto::passes {

Event* SyncState::find(const EventKey& key) {
  const auto at = std::lower_bound(events.begin(), events.end(), key,
                                   [](const Event& event, const EventKey& k) { return event.key < k; });
  return at != events.end() && at->key == key ? &*at : nullptr;
}

void SyncState::put(Event event) {
  if (Event* known = find(event.key)) {
    *known = std::move(event);
    return;
  }
  const auto at = std::lower_bound(events.begin(), events.end(), event.key,
                                   [](const Event& e, const EventKey& k) { return e.key < k; });
  events.insert(at, std::move(event));
}

void SyncState::forget_known() {
  std::erase_if(events, [](const Event& event) { return (event.needed & ~event.known) == 0; });
}

std::string SyncState::key() const {
  std::string text;
  text.reserve(16 + events.size() * 40);
  auto put_number = [&](uint64_t number) { text.append(reinterpret_cast<const char*>(&number), sizeof number); };
  auto put_flags = [&](const FlagSet& flags) {
    const FlagSet low(~uint64_t{0});
    put_number((flags & low).to_ullong());
    put_number((flags >> 64).to_ullong());
  };
  put_flags(set);
  for (const Event& event : events) {
    put_number(uint64_t{event.key.op} << 32 | static_cast<uint32_t>(event.key.operand));
    put_number(static_cast<uint64_t>(event.key.begin));
    put_number(event.known);
    put_flags(event.promised);
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
  Prover(const Target& target, DiagnosticSink& sink, const ir::Function& core, bool stop_at_first)
      : target_(target), sink_(sink), core_(core), stop_at_first_(stop_at_first), ints_(core.symbols.size(), 0) {}
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
  Interval reach(const isa::Operand& operand) const;
  ir::ValueId root_tensor(const isa::Operand& operand) const;
  PipeSet rivals(OpId id, int number);
  void forget_covered(const Interval& where, bool write, Pipe pipe, const EventKey& key, SyncState& state);
  std::optional<Interval> place(OpId id, const isa::Operand& operand);
  void race(OpId id, const Event& earlier, const Interval& where);
  struct Needs {
    std::vector<SymId> symbols;
    bool block = false;
  };
  const Needs& needs(ExprId expr);
  std::optional<int64_t> value(ExprId expr);
  void undecided(const Op& op, const std::string& why);
  std::string name(OpId id) const;
  std::optional<size_t> flag(OpId id);
  // How far a loop counter is told apart: modulo `period`, and exactly below `exact`.
  struct CounterUse {
    int64_t period = 1;
    int64_t exact = 0;
  };
  CounterUse counter_use(const Op& loop) const;
  void scan_counter(ExprId expr, SymId counter, CounterUse& use) const;

  const Target& target_;
  DiagnosticSink& sink_;
  const ir::Function& core_;
  bool stop_at_first_;
  std::map<SymId, int64_t> known_;  // counters of the loops around the current point
  std::map<ExprId, Needs> needs_;
  std::vector<int64_t> ints_;  // room for evaluation
  std::map<FlagKey, size_t> flag_numbers_;
  std::map<std::pair<OpId, int>, PipeSet> rivals_;
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
    sink_.report(DiagId::SyncUndecided, op.span(), {why});
  }
  gave_up_ = true;
}

// What the value of an expression depends on; found once for each.
const Prover::Needs& Prover::needs(ExprId expr) {
  const auto known = needs_.find(expr);
  if (known != needs_.end()) {
    return known->second;
  }
  Needs result;
  core_.exprs.collect_symbols(expr, result.symbols);
  std::function<bool(ExprId)> has_block = [&](ExprId e) {
    const ExprNode& node = core_.exprs[e];
    return node.op == ExprOp::BlockIndex || node.op == ExprOp::BlockCount || (node.a.valid() && has_block(node.a)) ||
           (node.b.valid() && has_block(node.b));
  };
  result.block = has_block(expr);
  return needs_.emplace(expr, std::move(result)).first->second;
}

// The value of an expression whose symbols are loop counters with known values, or lets of such; nullopt otherwise.
std::optional<int64_t> Prover::value(ExprId expr) {
  if (const auto constant = core_.exprs.constant(expr)) {
    return constant;
  }
  const Needs& needed = needs(expr);
  if (needed.block) {
    return std::nullopt;
  }
  for (SymId sym : needed.symbols) {
    const auto it = known_.find(sym);
    if (it == known_.end()) {
      return std::nullopt;
    }
    ints_[sym.index()] = it->second;
  }
  ExprEnv env;
  env.ints = ints_;
  return core_.exprs.evaluate(expr, env);
}

std::optional<Interval> Prover::place(OpId id, const isa::Operand& operand) {
  if (isa::is_gm(operand.kind)) {
    return reach(operand);
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

void Prover::race(OpId id, const Event& earlier, const Interval& where) {
  if (!reported_.insert({earlier.key.op, id.index()}).second) {
    return;
  }
  const OpId other(earlier.key.op);
  const Pipe pipe = isa::pipe_of(core_.ops[id].inst, core_.buffers, target_);
  auto describe = [&](OpId op, Pipe p) { return name(op) + " on " + std::string(isa::spelling(p)); };
  auto handle = sink_.report(DiagId::SyncRace, core_.ops[id].span(),
                             {describe(other, earlier.pipe), describe(id, pipe), std::string(spelling(where.space))});
  std::string bytes;
  if (where.space != Space::Gm) {
    char text[80];
    std::snprintf(text, sizeof text, ", bytes 0x%llx to 0x%llx",
                  static_cast<unsigned long long>(std::max(where.begin, earlier.where.begin)),
                  static_cast<unsigned long long>(std::min(where.end, earlier.where.end)));
    bytes = text;
  }
  handle.note(core_.ops[other].span(), std::string(earlier.write ? "written" : "read") + " here" + bytes);
  handle.help("order them with `set_flag " + std::string(isa::spelling(earlier.pipe)) + " -> " +
              std::string(isa::spelling(pipe)) +
              ", ID` after the first and the matching `wait_flag` before the second");
}

// Where an operand's bytes can be at all, whatever its slot.
Interval Prover::reach(const isa::Operand& operand) const {
  if (isa::is_gm(operand.kind)) {
    const int64_t tensor = root_tensor(operand).index();
    return {Space::Gm, tensor, tensor + 1};
  }
  const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
  return {buffer.tile.space, buffer.address, buffer.address + buffer.total_bytes()};
}

ir::ValueId Prover::root_tensor(const isa::Operand& operand) const {
  ir::ValueId tensor = core_.tensors[operand.tensor.index()];
  while (core_.values[tensor].def.valid()) {
    tensor = core_.ops[core_.values[tensor].def].operands[0];
  }
  return tensor;
}

// The pipes on which some instruction of the program can conflict with an operand.
PipeSet Prover::rivals(OpId id, int number) {
  const auto known = rivals_.find({id, number});
  if (known != rivals_.end()) {
    return known->second;
  }
  const isa::Operand& mine = core_.ops[id].inst.operands[static_cast<size_t>(number)];
  PipeSet pipes = 0;
  for_each_op(core_, [&](OpId other_id) {
    const Op& other = core_.ops[other_id];
    if (other.kind != OpKind::Inst) {
      return;
    }
    for (const isa::Operand& operand : other.inst.operands) {
      if ((isa::is_tile(operand.kind) || isa::is_gm(operand.kind)) &&
          (isa::writes(mine.kind) || isa::writes(operand.kind)) && reach(mine).overlaps(reach(operand))) {
        pipes |= bit(isa::pipe_of(other.inst, core_.buffers, target_));
      }
    }
  });
  rivals_[{id, number}] = pipes;
  return pipes;
}

void Prover::access(OpId id, const isa::Operand& operand, int number, Pipe pipe, SyncState& state) {
  const auto where = place(id, operand);
  if (!where) {
    return;
  }
  const bool write = isa::writes(operand.kind);
  for (const Event& event : state.events) {
    if (!event.is_wait && event.pipe != pipe && (write || event.write) && event.where.overlaps(*where) &&
        (event.known & bit(pipe)) == 0) {
      race(id, event, *where);
    }
  }
  const EventKey key{id.index(), where->begin, number};
  forget_covered(*where, write, pipe, key, state);
  const PipeSet needed = rivals(id, number);
  if ((needed & ~bit(pipe)) != 0) {
    state.put({key, pipe, *where, write, false, bit(pipe), needed, {}});
  }
}

// Whoever is ordered after an access is ordered after everything that its pipe knew to be over. So the access stands in
// for earlier ones to the same bytes that it comes after, if it conflicts with whatever they conflict with. (For its
// own earlier time too: what a flag promises was about that.)
void Prover::forget_covered(const Interval& where, bool write, Pipe pipe, const EventKey& key, SyncState& state) {
  std::erase_if(state.events, [&](const Event& event) {
    const bool covered = !event.is_wait && event.where.space == where.space && event.where.begin >= where.begin &&
                         event.where.end <= where.end && (write || !event.write) && (event.known & bit(pipe)) != 0;
    return covered || event.key == key;
  });
}

std::optional<size_t> Prover::flag(OpId id) {
  const Op& op = core_.ops[id];
  const auto event = value(op.inst.operands[2].a);
  if (!event) {
    undecided(op, "the event id does not follow from the loop counters around it");
    return std::nullopt;
  }
  const FlagKey key{static_cast<Pipe>(op.inst.operands[0].attribute), static_cast<Pipe>(op.inst.operands[1].attribute),
                    *event};
  const size_t number = flag_numbers_.emplace(key, flag_numbers_.size()).first->second;
  if (number >= FlagSet().size()) {
    undecided(op, "the program has more than " + std::to_string(FlagSet().size()) + " flags");
    return std::nullopt;
  }
  return number;
}

// The latest wait for a flag is an event like an access: the flag may be set again by a pipe that knows it to be over.
EventKey wait_key(size_t flag) {
  return {0x80000000u + static_cast<uint32_t>(flag), 0, 0};
}

void Prover::set_flag(OpId id, SyncState& state) {
  const auto number = flag(id);
  if (!number) {
    return;
  }
  const auto src = static_cast<Pipe>(core_.ops[id].inst.operands[0].attribute);
  const Event* latest_wait = state.find(wait_key(*number));
  const bool wait_may_be_open = latest_wait != nullptr && (latest_wait->known & bit(src)) == 0;
  if ((state.set[*number] || wait_may_be_open) && reported_.insert({id.index(), id.index()}).second) {
    auto handle = sink_.report(DiagId::SyncSetTwice, core_.ops[id].span(), {});
    if (state.set[*number]) {
      handle.note(core_.ops[OpId(state.setters[*number])].span(), "set here before");
    }
  }
  for (Event& event : state.events) {
    event.promised[*number] = (event.known & bit(src)) != 0;
  }
  state.set[*number] = true;
  state.setters[*number] = id.index();
}

void Prover::wait_flag(OpId id, SyncState& state) {
  const auto number = flag(id);
  if (!number) {
    return;
  }
  const auto dst = static_cast<Pipe>(core_.ops[id].inst.operands[1].attribute);
  if (!state.set[*number]) {
    if (reported_.insert({id.index(), id.index()}).second) {
      sink_.report(DiagId::SyncWaitWithoutSet, core_.ops[id].span(), {});
    }
    return;
  }
  for (Event& event : state.events) {
    if (event.promised[*number]) {
      event.known |= bit(dst);
      event.promised[*number] = false;
    }
  }
  state.set[*number] = false;
  const auto src = static_cast<Pipe>(core_.ops[id].inst.operands[0].attribute);
  state.put({wait_key(*number), dst, {}, false, true, bit(dst), bit(src), {}});
  state.forget_known();
}

void Prover::barrier(const Op& op, SyncState& state) {
  if (static_cast<Pipe>(op.inst.operands[0].attribute) != Pipe::All) {
    return;  // one pipe is in order anyway
  }
  state.events.clear();  // everybody knows everything
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
    case isa::Format::Barrier:
      barrier(op, state);
      return;
    default:
      break;
  }
  const Pipe pipe = isa::pipe_of(op.inst, core_.buffers, target_);
  for (size_t i = 0; i < op.inst.operands.size(); ++i) {
    const isa::OperandKind kind = op.inst.operands[i].kind;
    if (isa::is_tile(kind) || isa::is_gm(kind)) {
      access(id, op.inst.operands[i], static_cast<int>(i), pipe, state);
    }
  }
}

Prover::States Prover::region(ir::RegionId id, States states) {
  for (OpId op_id : core_.regions[id].ops) {
    gave_up_ = gave_up_ || (stop_at_first_ && sink_.has_errors());
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
      if (state.set[flag] && left.insert(setter).second && !gave_up_) {
        sink_.report(DiagId::SyncUnconsumed, core_.ops[OpId(setter)].span(), {});
      }
    }
  }
}

}  // namespace

bool sync_is_proved(const ir::Function& core, const Target& target) {
  DiagnosticSink sink;
  Prover(target, sink, core, true).run();
  return !sink.has_errors();
}

PassResult prove_sync(PassContext& context) {
  const size_t before = context.sink.error_count();
  for (const ir::Function& function : context.module.functions) {
    if (function.kind == ir::FunctionKind::Core) {
      Prover(context.target, context.sink, function, false).run();
    }
  }
  return context.sink.error_count() == before ? PassResult::Unchanged : PassResult::Failed;
}

}  // namespace pto::passes
