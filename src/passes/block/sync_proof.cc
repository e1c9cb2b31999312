// The prover. It interprets a core over abstract states (sync_state.h). A loop with an unknown number of iterations is
// run from its set of entry states until no new state appears, and is left from every one of them, so a proof holds for
// all trip counts. Slots, event ids and conditions are evaluated with the actual counters, and iterations that these
// can't tell apart (sync_counter.h) are walked once, so the number of states is finite. Where the two ways of a branch
// meet, states that became equal are one again; beyond kMaxApart, states with equal flags are merged: what then is
// known is what was known on every way.
//
// What it takes for granted: distinct tensor parameters don't overlap; pipes execute in order.
#include "src/passes/block/sync_proof.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_state.h"
#include "src/passes/block/sync_values.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using isa::Pipe;

constexpr size_t kPipes = isa::kPipeCount;
constexpr size_t kMaxApart = 32;     // states at one point before they are merged
constexpr size_t kMaxSeen = 64;      // states at a loop's head before they are merged
constexpr size_t kMaxStates = 8192;  // at a loop's head at all
constexpr size_t kMaxMoments = 1u << 20;
constexpr size_t kMaxFlags = 1024;
constexpr size_t kMaxFindings = 100;
constexpr int64_t kMaxStored = int64_t{1} << 24;  // tracks of all states at one point

using States = std::map<std::string, SyncState>;

// Which iterations an event belongs to: a loop's counter, and those of the loops around.
struct Moment {
  SymId counter;
  int64_t value = 0;
  uint32_t outer = 0;
};

constexpr int64_t kUnknown = -1;

int64_t trip_count(std::optional<int64_t> lo, std::optional<int64_t> hi, std::optional<int64_t> step) {
  int64_t distance = 0;
  if (!lo || !hi || !step || *step <= 0 || __builtin_sub_overflow(*hi, *lo, &distance)) {
    return kUnknown;
  }
  return distance > 0 ? (distance - 1) / *step + 1 : 0;
}

std::optional<int64_t> counter_at(int64_t lo, int64_t step, int64_t iteration) {
  int64_t way = 0;
  int64_t value = 0;
  if (__builtin_mul_overflow(iteration, step, &way) || __builtin_add_overflow(lo, way, &value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

class SyncProver::Program {
 public:
  Program(const ir::Function& core, const Target& target);
  SyncProof prove(const ProofOptions& options, const std::vector<bool>& without);

 private:
  void run(int64_t lane);
  States region(ir::RegionId id, States states);
  States loop(OpId id, States states);
  States branch(OpId id, States states);
  void instruction(OpId id, SyncState& state);
  void set_flag(OpId id, SyncState& state);
  void wait_flag(OpId id, SyncState& state);
  void access(OpId id, const isa::Operand& operand, Pipe pipe, SyncState& state);
  std::pair<size_t, size_t> place(const isa::Operand& operand, bool& vague);
  std::optional<size_t> flag(OpId id);

  States keyed(States states);
  void limit(States& states);
  bool too_much(const States& states);
  void found(SyncFinding finding);
  void undecided(OpId id, const std::string& why);
  void race(OpId id, size_t track, const Origin& earlier, Pipe pipe, bool write, bool vague);
  std::string iteration(uint32_t moment) const;

  const ir::Function& core_;
  const Target& target_;
  SyncCells cells_;
  std::vector<Pipe> pipe_of_;      // by OpId
  std::vector<bool> popped_into_;  // by buffer: a tpop names it, so its name without a slot is the tile popped last
  SyncValues values_;

  // Of one proof.
  ProofOptions options_;
  const std::vector<bool>* without_ = nullptr;
  std::map<FlagKey, size_t> flag_numbers_;
  std::vector<FlagKey> flag_keys_;
  std::vector<Moment> moments_;
  uint32_t moment_ = 0;
  std::set<std::tuple<SyncFinding::Kind, OpId, OpId>> reported_;
  SyncProof proof_;
  bool gave_up_ = false;
};

SyncProver::SyncProver(const ir::Function& core, const Target& target)
    : program_(std::make_unique<Program>(core, target)) {}
SyncProver::~SyncProver() = default;
SyncProof SyncProver::prove(const ProofOptions& options, const std::vector<bool>& without) {
  return program_->prove(options, without);
}

SyncProver::Program::Program(const ir::Function& core, const Target& target)
    : core_(core),
      target_(target),
      cells_(core, target),
      pipe_of_(core.ops.size(), Pipe::All),
      popped_into_(core.buffers.size()),
      values_(core) {
  for_each_op(core, [&](OpId id) {
    const isa::Inst& inst = core.ops[id].inst;
    if (core.ops[id].kind != OpKind::Inst) {
      return;
    }
    pipe_of_[id.index()] = isa::pipe_of(inst, core.buffers, target);
    for (const isa::Operand& operand : inst.operands) {
      if (isa::is_tile(operand.kind) && inst.opcode == isa::Opcode::TPop) {
        popped_into_[operand.buffer.index()] = true;
      }
    }
  });
}

SyncProof SyncProver::Program::prove(const ProofOptions& options, const std::vector<bool>& without) {
  options_ = options;
  without_ = &without;
  proof_ = {};
  reported_.clear();
  gave_up_ = false;
  // The lanes of a cluster run the same program; where it asks for the lane, each is a program of its own.
  for (int64_t lane = 0; lane < (values_.lanes_differ() ? 2 : 1) && !gave_up_; ++lane) {
    run(lane);
  }
  return std::move(proof_);
}

// ---- findings

void SyncProver::Program::found(SyncFinding finding) {
  if (gave_up_ || !reported_.insert({finding.kind, finding.first, finding.second}).second) {
    return;
  }
  proof_.findings.push_back(std::move(finding));
  gave_up_ = options_.stop_at_first || proof_.findings.size() >= kMaxFindings;
}

void SyncProver::Program::undecided(OpId id, const std::string& why) {
  SyncFinding finding;
  finding.kind = SyncFinding::Kind::Undecided;
  finding.second = id;
  finding.why = why;
  found(std::move(finding));
  gave_up_ = true;
}

std::string SyncProver::Program::iteration(uint32_t moment) const {
  std::string text;
  for (; moment != 0; moment = moments_[moment].outer) {
    const Moment& m = moments_[moment];
    text = core_.symbols[m.counter.index()].name + " = " + std::to_string(m.value) + (text.empty() ? "" : ", ") + text;
  }
  return text;
}

void SyncProver::Program::race(OpId id, size_t track, const Origin& earlier, Pipe pipe, bool write, bool vague) {
  SyncFinding finding;
  finding.first = OpId(earlier.op);
  finding.second = id;
  finding.first_pipe = cells_.track(track).pipe;
  finding.second_pipe = pipe;
  finding.first_writes = cells_.track(track).write;
  finding.second_writes = write;
  finding.first_iteration = iteration(earlier.moment);
  finding.second_iteration = iteration(moment_);
  const Interval where = cells_.where(cells_.cell_of(track));
  if (!proof_.findings.empty()) {
    SyncFinding& latest = proof_.findings.back();
    if (latest.kind == finding.kind && latest.first == finding.first && latest.second == id &&
        latest.space == where.space && latest.end == where.begin) {
      latest.end = where.end;  // the next cell of the same two accesses
      return;
    }
  }
  finding.space = where.space;
  finding.begin = where.begin;
  finding.end = where.end;
  if (earlier.vague || vague) {
    // They may touch different slots.
    const OpId unknown = vague ? id : finding.first;
    finding.kind = SyncFinding::Kind::Undecided;
    for (const isa::Operand& operand : core_.ops[unknown].inst.operands) {
      if (isa::is_tile(operand.kind) && operand.slot.valid() && !values_.value(operand.slot)) {
        finding.why = "the slot of `" + core_.buffers[operand.buffer.index()].name + "` " +
                      values_.unknown_part(operand.slot) + ", so " +
                      describe_access(core_, finding.first, finding.first_pipe) + " and " +
                      describe_access(core_, id, pipe) + " may touch the same bytes with no order between them";
        break;
      }
    }
    if (finding.why.empty()) {
      finding.why = "a slot's number is not known";
    }
  }
  found(std::move(finding));
}

// ---- instructions

std::pair<size_t, size_t> SyncProver::Program::place(const isa::Operand& operand, bool& vague) {
  if (isa::is_gm(operand.kind)) {
    return cells_.of_tensor(operand.tensor);
  }
  const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
  if (!operand.slot.valid()) {
    return cells_.of_buffer(operand.buffer, popped_into_[operand.buffer.index()] ? -1 : 0);
  }
  const auto slot = buffer.slots == 1 ? std::optional<int64_t>(0) : values_.value(operand.slot);
  vague = !slot;
  return cells_.of_buffer(operand.buffer, slot.value_or(-1));
}

void SyncProver::Program::access(OpId id, const isa::Operand& operand, Pipe pipe, SyncState& state) {
  bool vague = false;
  const auto [first, last] = place(operand, vague);
  const bool write = isa::writes(operand.kind);
  proof_.steps += static_cast<int64_t>(last - first);
  for (size_t cell = first; cell < last; ++cell) {
    const auto [begin, end] = cells_.tracks(cell);
    for (size_t t = begin; t < end; ++t) {
      const Track& track = cells_.track(t);
      if (track.pipe == pipe) {
        if (track.write == write) {
          state.begin(pipe, t);
          state.origin(t) = {id.index(), moment_, vague};
        } else if (write && !vague) {
          state.forget(t);  // who is ordered after this write is after the pipe's earlier reads
        }
        continue;
      }
      const bool open = state.open(pipe, t);
      if (open && (write || track.write)) {
        race(id, t, state.origin(t), pipe, write, vague);
      }
      // Whoever is ordered after this access is after everything its pipe knew to be over.
      if (!vague && !open && (write || !track.write)) {
        state.forget(t);
      }
    }
  }
}

std::optional<size_t> SyncProver::Program::flag(OpId id) {
  const auto& operands = core_.ops[id].inst.operands;
  const auto event = values_.value(operands[2].a);
  if (!event) {
    undecided(id, "the event id " + values_.unknown_part(operands[2].a));
    return std::nullopt;
  }
  const FlagKey key{static_cast<Pipe>(operands[0].attribute), static_cast<Pipe>(operands[1].attribute), *event};
  const auto [it, fresh] = flag_numbers_.emplace(key, flag_keys_.size());
  if (fresh) {
    flag_keys_.push_back(key);
  }
  if (flag_keys_.size() > kMaxFlags) {
    undecided(id, "the program has more than " + std::to_string(kMaxFlags) + " flags");
    return std::nullopt;
  }
  return it->second;
}

void SyncProver::Program::set_flag(OpId id, SyncState& state) {
  const auto index = flag(id);
  if (!index) {
    return;
  }
  state.grow(flag_keys_.size());
  FlagState& flag = state.flag(*index);
  const auto& [src, dst, event] = flag_keys_[*index];
  if (flag.set || state.wait_open(*index, src)) {
    SyncFinding finding;
    finding.kind = SyncFinding::Kind::SetTwice;
    finding.first = OpId(flag.set ? flag.setter : flag.waiter);
    finding.second = id;
    finding.first_pipe = dst;
    finding.second_pipe = src;
    finding.second_iteration = iteration(moment_);
    found(std::move(finding));
  }
  state.set_flag(*index, src);
  flag.setter = id.index();
}

void SyncProver::Program::wait_flag(OpId id, SyncState& state) {
  const auto index = flag(id);
  if (!index) {
    return;
  }
  state.grow(flag_keys_.size());
  const Pipe dst = std::get<1>(flag_keys_[*index]);
  if (!state.flag(*index).set) {
    SyncFinding finding;
    finding.kind = SyncFinding::Kind::WaitWithoutSet;
    finding.second = id;
    finding.second_pipe = dst;
    finding.second_iteration = iteration(moment_);
    found(std::move(finding));
    return;
  }
  state.wait_flag(*index, dst);
  state.flag(*index).waiter = id.index();
}

void SyncProver::Program::instruction(OpId id, SyncState& state) {
  const Op& op = core_.ops[id];
  if (++proof_.steps > options_.max_steps) {
    undecided(id, "the program has too many different states");
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
      // One pipe is in order anyway. All of them: everybody knows everything.
      if (static_cast<Pipe>(op.inst.operands[0].attribute) == Pipe::All) {
        state.barrier();
      }
      return;
    default:
      break;
  }
  const Pipe pipe = pipe_of_[id.index()];
  if (number(pipe) >= kPipes) {
    return;
  }
  for (const isa::Operand& operand : op.inst.operands) {
    if (isa::is_tile(operand.kind) || isa::is_gm(operand.kind)) {
      access(id, operand, pipe, state);
    }
  }
}

// ---- control flow

States SyncProver::Program::keyed(States states) {
  States out;
  for (auto& [key, state] : states) {
    std::string text = state.normalize(flag_keys_);
    out.emplace(std::move(text), std::move(state));
  }
  return out;
}

// Takes states together that differ only in what is known.
void SyncProver::Program::limit(States& states) {
  if (states.size() <= kMaxApart) {
    return;
  }
  std::map<std::string, SyncState> by_flags;
  for (auto& [key, state] : states) {
    proof_.steps += static_cast<int64_t>(cells_.track_count());
    const auto [it, fresh] = by_flags.emplace(state.flags_text(), state);
    if (!fresh) {
      it->second.merge(state);
    }
  }
  states = keyed(std::move(by_flags));
}

bool SyncProver::Program::too_much(const States& states) {
  return static_cast<int64_t>(states.size()) * static_cast<int64_t>(cells_.track_count() + 1) > kMaxStored;
}

States SyncProver::Program::region(ir::RegionId id, States states) {
  for (OpId op_id : core_.regions[id].ops) {
    if (gave_up_) {
      return states;
    }
    if (!without_->empty() && (*without_)[op_id.index()]) {
      continue;
    }
    const Op& op = core_.ops[op_id];
    if (op.kind == OpKind::For) {
      states = loop(op_id, std::move(states));
    } else if (op.kind == OpKind::If) {
      states = branch(op_id, std::move(states));
    } else if (op.kind == OpKind::Let) {
      values_.set(op.syms[0], values_.value(op.exprs[0]));
    } else if (op.kind == OpKind::Inst) {
      for (auto& [key, state] : states) {
        instruction(op_id, state);  // keys are brought up to date where states meet: at loops and branches
      }
    }
    if (too_much(states)) {
      undecided(op_id, "the program has too many different states");
    }
  }
  return states;
}

States SyncProver::Program::branch(OpId id, States states) {
  const Op& op = core_.ops[id];
  const auto condition = values_.value(op.exprs[0]);
  if (condition) {
    return region(op.regions[*condition != 0 ? 0 : 1], std::move(states));
  }
  // A condition on the arguments that stands at several branches has the same value at all of them.
  const auto fixed = values_.fixed(op.exprs[0]);
  std::array<States, 2> ways;
  for (size_t side = 0; side < 2; ++side) {
    for (const auto& [key, state] : states) {
      if (!fixed || state.may_assume(*fixed, side == 0)) {
        SyncState taken = state;
        if (fixed) {
          taken.assume(*fixed, side == 0);
        }
        ways[side].emplace(key, std::move(taken));
      }
    }
    ways[side] = keyed(region(op.regions[side], std::move(ways[side])));
  }
  ways[0].merge(ways[1]);
  limit(ways[0]);
  return std::move(ways[0]);
}

States SyncProver::Program::loop(OpId id, States states) {
  const Op& op = core_.ops[id];
  const CounterUse& use = values_.use_of(id);
  const auto lo = values_.value(op.exprs[0]);
  const auto hi = values_.value(op.exprs[1]);
  const auto step = values_.value(op.exprs[2]);
  const SymId counter = op.syms[0];
  const int64_t trips = trip_count(lo, hi, step);
  const uint32_t outer = moment_;
  states = keyed(std::move(states));
  States exits;
  if (trips == kUnknown) {
    exits = states;
  } else if (trips == 0) {
    return states;
  }
  using Phase = std::pair<int64_t, int64_t>;
  std::set<std::pair<Phase, std::string>> seen;
  std::map<std::pair<Phase, std::string>, SyncState> covers;  // by flags: merged states of a phase with too many
  for (int64_t i = 0; trips == kUnknown || i < trips; ++i) {
    const auto now = lo && step ? counter_at(*lo, *step, i) : std::nullopt;
    Phase phase{0, 0};
    if (now) {
      phase = {(*now % use.period + use.period) % use.period, std::min(*now, use.exact)};
    }
    States fresh;
    for (auto& [key, state] : states) {
      if (seen.size() > kMaxSeen && seen.count({phase, key}) == 0) {
        const auto [it, first] = covers.emplace(std::make_pair(phase, state.flags_text()), state);
        if (!first) {
          it->second.merge(state);
          state = it->second;
        }
        proof_.steps += static_cast<int64_t>(cells_.track_count());
        std::string merged = state.normalize(flag_keys_);
        if (seen.insert({phase, merged}).second) {
          fresh.emplace(std::move(merged), std::move(state));
        }
      } else if (seen.insert({phase, key}).second) {
        fresh.emplace(key, std::move(state));
      }
    }
    if (fresh.empty()) {
      break;  // every state from here on was run before, so were the states that it leads to
    }
    if (++proof_.steps > options_.max_steps) {
      undecided(id, "the program has too many different states");
      break;
    }
    values_.set(counter, now);
    if (moments_.size() < kMaxMoments) {
      moment_ = static_cast<uint32_t>(moments_.size());
      moments_.push_back({counter, now.value_or(i), outer});
    }
    states = keyed(region(op.regions[0], std::move(fresh)));
    if (gave_up_) {
      break;
    }
    if (seen.size() > kMaxStates ||
        static_cast<int64_t>(seen.size()) * static_cast<int64_t>(cells_.track_count() + 1) > 16 * kMaxStored) {
      undecided(id, "the loop has too many different states");
      break;
    }
    if (i + 1 == trips) {
      exits = states;  // exactly the last iteration
      break;
    }
    // Left from here, if the number of iterations is not known or these states come up again.
    for (const auto& [key, state] : states) {
      exits.emplace(key, state);
    }
    limit(exits);
  }
  values_.set(counter, std::nullopt);
  moment_ = outer;
  return exits;
}

void SyncProver::Program::run(int64_t lane) {
  values_.reset(lane);
  flag_numbers_.clear();
  flag_keys_.clear();
  moments_.assign(1, Moment{});
  moment_ = 0;
  SyncState start(cells_);
  start.grow(0);
  States states;
  states.emplace("", std::move(start));
  states = region(core_.body, std::move(states));
  for (const auto& [key, state] : states) {
    for (const FlagState& flag : state.flags()) {
      if (flag.set) {
        SyncFinding finding;
        finding.kind = SyncFinding::Kind::Unconsumed;
        finding.second = OpId(flag.setter);
        found(std::move(finding));
      }
    }
  }
}

// ---- words

std::string describe_access(const ir::Function& core, OpId id, Pipe pipe) {
  return "`" + std::string(isa::info(core.ops[id].inst.opcode).mnemonic) + "` on " + std::string(isa::spelling(pipe));
}

std::string describe_bytes(const SyncFinding& finding) {
  if (finding.space == Space::Gm) {
    return "";
  }
  char text[80];
  std::snprintf(text, sizeof text, "bytes 0x%llx to 0x%llx", static_cast<unsigned long long>(finding.begin),
                static_cast<unsigned long long>(finding.end));
  return text;
}

bool sync_is_proved(const ir::Function& core, const Target& target) {
  ProofOptions options;
  options.stop_at_first = true;
  return SyncProver(core, target).prove(options).proved();
}

}  // namespace pto::passes
