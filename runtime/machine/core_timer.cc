#include "runtime/machine/core_timer.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/machine/arbiter.h"

namespace pto::runtime {
namespace {

constexpr int64_t kBudget = 4096;             // loop steps without an instruction before the limit is looked at
constexpr Ticks kMostCost = Ticks{1} << 48;   // of one instruction
constexpr uint32_t kScalar = static_cast<uint32_t>(isa::Pipe::S);

Ticks to_ticks(double cycles) {
  const double ticks = cycles * static_cast<double>(timing::kTicksPerCycle);
  return ticks >= static_cast<double>(kMostCost) ? kMostCost : std::llround(ticks);
}

}  // namespace

TimingConfig timing_config(const Target& target, int64_t max_cycles) {
  TimingConfig config;
  config.target = &target;
  config.scalar = to_ticks(target.scalar_cycles);
  config.flag_latency = to_ticks(target.flag_latency_cycles);
  config.ring_latency = to_ticks(target.ring_latency_cycles);
  config.queue_depth = std::max(1, target.queue_depth);
  if (max_cycles > 0 && max_cycles < kMostTicks / timing::kTicksPerCycle) {
    config.limit = max_cycles * timing::kTicksPerCycle;
  }
  return config;
}

const timing::Cost& TimedProgram::cost(const Target& target, const Issued& issued) {
  const Instruction& inst = *issued.inst;
  Memo& memo = memos[static_cast<size_t>(&inst - program->instructions.data())];
  bool same = memo.known;
  for (uint8_t i = 0; same && i < inst.tile_count; ++i) {
    same = memo.valids[i] == issued.valids[i];
  }
  if (same) {
    return memo.cost;
  }
  timing::Cost cost =
      timing::instruction_cost(target, program->core->kind, inst.opcode, {inst.descs.data(), inst.tile_count},
                               {issued.valids.data(), inst.tile_count}, inst.gm_dtype);
  for (Ticks* part : {&cost.issue, &cost.busy, &cost.idle_head, &cost.tail, &cost.latency}) {
    *part = std::clamp<Ticks>(*part, 0, kMostCost);
  }
  memo.valids = issued.valids;
  memo.cost = cost;
  memo.known = true;
  return memo.cost;
}

// --- blocks

void CoreTimer::start(std::shared_ptr<TimedProgram> program, const BlockStart& block, std::shared_ptr<RingTimes> rings,
                      int side) {
  timed_ = std::move(program);
  block_ = block;
  rings_ = std::move(rings);
  side_ = side;
  ring_counts_.fill(0);
  stepper_.start(*timed_->program, block.block, std::max(0, side), config_.target->event_ids);
  for (Pipe& pipe : pipes_) {
    pipe.issued = 0;
    pipe.started = 0;
    pipe.free = block.start;
    pipe.done = block.start;
    pipe.entered = false;
    // `worked` stays: a pipe that did nothing since the last block was idle.
  }
  now_ = block.start;
  barrier_until_ = 0;
  statements_ = 0;
  dirty_ = 0;
  have_ = false;
  walked_ = false;
  running_ = true;
  status_ = Status::Waiting;
  ++blocks_;
}

void CoreTimer::rings_changed() {
  dirty_ = (uint32_t{1} << pipes_.size()) - 1;
}

CoreTimer::Status CoreTimer::advance() {
  for (;;) {
    drain_all();
    if (status_ != Status::Waiting || walked_) {
      break;
    }
    walk();
    if (dirty_ == 0) {
      break;
    }
  }
  if (status_ == Status::Waiting && walked_ && quiet()) {
    finish_block();
  }
  if (status_ != Status::Waiting) {
    running_ = false;
  }
  return status_;
}

void CoreTimer::walk() {
  while (status_ == Status::Waiting) {
    if (!have_) {
      const Stepper::Status stepped = stepper_.next(kBudget);
      const int64_t steps = stepper_.take_scalar_steps();
      statements_ += steps + 1;
      if (steps > 0) {
        enter(pipes_[kScalar]);
        work(pipes_[kScalar], now_, now_ + steps * config_.scalar);
        now_ += steps * config_.scalar;
      }
      // A statement takes time on every machine; one whose description says otherwise must not run for ever.
      *config_.statements -= steps + 1;
      if (now_ > config_.limit || statements_ > config_.limit || *config_.statements < 0) {
        status_ = Status::Limit;
      } else if (stepped == Stepper::Status::Fault) {
        fault_ = stepper_.fault();
        status_ = Status::Fault;
      } else if (stepped == Stepper::Status::Done) {
        walked_ = true;
        return;
      }
      have_ = stepped == Stepper::Status::Instruction;
      if (!have_) {
        continue;
      }
    }
    if (status_ != Status::Waiting || !issue()) {
      return;
    }
    have_ = false;
    drain_all();
  }
}

bool CoreTimer::quiet() const {
  return std::all_of(pipes_.begin(), pipes_.end(), [](const Pipe& pipe) { return pipe.count == 0 && !pipe.in_flight; });
}

void CoreTimer::finish_block() {
  end_ = now_;
  for (const Pipe& pipe : pipes_) {
    end_ = std::max({end_, pipe.free, pipe.done});
  }
  if (end_ > config_.limit) {
    status_ = Status::Limit;
    return;
  }
  status_ = Status::Finished;
  for (uint32_t pair = 0; flags_set_ > 0 && pair < flags_.size(); ++pair) {
    for (uint32_t id = 0; id < flags_[pair].size(); ++id) {
      Flag& found = flags_[pair][id];
      if (found.pending == 0) {
        continue;
      }
      fault_ = {DiagId::FaultFlagLeft, location(found.setter[0]),
                {flag_text(id * static_cast<uint32_t>(flags_.size()) + pair), timed_->program->core->name}, ""};
      status_ = Status::Fault;
      return;
    }
  }
}

// --- accounts

// The time between the core's last block and this one, told once a pipe has something to do in this block.
void CoreTimer::enter(Pipe& pipe) {
  if (pipe.entered) {
    return;
  }
  pipe.entered = true;
  pipe.accounted = std::max(pipe.accounted, block_.core_free);  // idle until then
  account(pipe, block_.ready, Stall::Dependency);
  account(pipe, block_.start, Stall::Dispatch);
}

void CoreTimer::account(Pipe& pipe, Ticks until, Stall reason) {
  if (until > pipe.accounted) {
    pipe.totals.stalls[static_cast<size_t>(reason)] += until - pipe.accounted;
    pipe.accounted = until;
  }
}

void CoreTimer::work(Pipe& pipe, Ticks from, Ticks until) {
  account(pipe, from, Stall::Issue);
  pipe.totals.busy += until - pipe.accounted;
  pipe.accounted = until;
}

void CoreTimer::trace(uint32_t pipe, const Instruction& inst, Ticks from, Ticks until) {
  if (config_.trace == nullptr) {
    return;
  }
  if (config_.trace->size() >= kMostSlices) {
    status_ = Status::Limit;
    return;
  }
  config_.trace->push_back(
      {index_, static_cast<isa::Pipe>(pipe), inst.opcode, block_.task, from, until, location(inst.statement)});
}

const object::Location& CoreTimer::location(uint32_t statement) const {
  return timed_->program->core->code[statement].location;
}

// --- the scalar unit

bool CoreTimer::issue() {
  const Issued& issued = stepper_.issued();
  const Instruction& inst = *issued.inst;
  const timing::Cost& cost = timed_->cost(*config_.target, issued);
  if (inst.kind == InstKind::Barrier && inst.pipe == isa::Pipe::All) {
    return issue_barrier_all(cost);
  }
  if (inst.pipe == isa::Pipe::S) {
    return issue_scalar(inst, cost);
  }
  return issue_queued(inst, cost);
}

bool CoreTimer::issue_barrier_all(const timing::Cost& cost) {
  if (!quiet()) {
    return false;
  }
  Pipe& scalar = pipes_[kScalar];
  enter(scalar);
  work(scalar, now_, now_ + cost.issue);
  now_ += cost.issue;
  const Ticks from = now_;
  for (const Pipe& pipe : pipes_) {
    now_ = std::max({now_, pipe.free, pipe.done});
  }
  account(scalar, now_, Stall::Barrier);
  work(scalar, now_, now_ + cost.busy);
  now_ += cost.busy;
  barrier_until_ = now_;
  ++scalar.totals.instructions;
  trace(kScalar, *stepper_.issued().inst, from, now_);
  return true;
}

// Flags from or to the scalar unit, and barriers on it: it waits itself.
bool CoreTimer::issue_scalar(const Instruction& inst, const timing::Cost& cost) {
  Pipe& scalar = pipes_[kScalar];
  const Ticks turn = now_ + cost.issue;
  Ticks at = turn;
  const uint32_t index = inst.kind == InstKind::Barrier ? 0 : flag_index(inst, stepper_.issued().event);
  if (inst.kind == InstKind::WaitFlag && !wait_flag(index, turn, at)) {
    return false;
  }
  enter(scalar);
  work(scalar, now_, turn);
  account(scalar, at, Stall::Flag);
  work(scalar, at, at + cost.busy);
  now_ = at + cost.busy;
  ++scalar.totals.instructions;
  trace(kScalar, inst, turn, now_);
  return inst.kind != InstKind::SetFlag || set_flag(index, now_, inst.statement);
}

bool CoreTimer::issue_queued(const Instruction& inst, const timing::Cost& cost) {
  Pipe& pipe = pipes_[static_cast<size_t>(inst.pipe)];
  Pipe& scalar = pipes_[kScalar];
  Ticks at = now_;
  if (pipe.issued >= config_.queue_depth) {
    const int64_t leaves = pipe.issued - config_.queue_depth;  // the instruction that makes room
    if (leaves >= pipe.started) {
      return false;
    }
    at = std::max(at, pipe.starts[static_cast<size_t>(leaves % config_.queue_depth)]);
  }
  Ticks ring = at;
  const bool counted = inst.ring_op == RingOp::Push || inst.ring_op == RingOp::Pop;
  if (counted && config_.target->ring_wait_scalar) {
    const std::optional<Ticks> ready = ring_ready(inst, ring_counts_[inst.ring]);
    if (!ready) {
      return false;
    }
    ring = std::max(at, *ready);
  }
  enter(scalar);
  account(scalar, at, Stall::Issue);
  account(scalar, ring, Stall::Ring);
  at = ring;
  work(scalar, at, at + cost.issue);
  now_ = at + cost.issue;
  ++pipe.issued;
  push(pipe, make_entry(inst, cost));
  ring_counts_[inst.ring] += counted ? 1 : 0;
  dirty_ |= uint32_t{1} << static_cast<uint32_t>(inst.pipe);
  return true;
}

CoreTimer::Entry CoreTimer::make_entry(const Instruction& inst, const timing::Cost& cost) {
  const Issued& issued = stepper_.issued();
  Entry entry;
  entry.inst = &inst;
  entry.issued = now_;
  entry.cost = cost;
  if (inst.kind == InstKind::SetFlag || inst.kind == InstKind::WaitFlag) {
    entry.flag = flag_index(inst, issued.event);
  } else if (inst.ring_op != RingOp::None) {
    entry.number = ring_counts_[inst.ring];
    entry.valid = issued.valids[0];
    if (inst.ring_op != RingOp::Free && !inst.ring_local) {
      ring_transfer(inst, entry.number, cost, entry.transfer);
    }
  } else if (inst.has_gm) {
    const CoreTensor& tensor = timed_->program->tensors[inst.tensor];
    Transfer& transfer = entry.transfer;
    transfer.bytes = cost.gm_bytes;
    transfer.cap = std::clamp<int64_t>(cost.rate_cap, 1, Arbiter::kMostRate);
    transfer.after = cost.latency + cost.tail;
    transfer.write = inst.gm_write;
    transfer.tensor = tensor.root;
    transfer.offset = byte_size(tensor.dtype, issued.gm_offset);
    transfer.rows = issued.window.rows;
    transfer.stride = byte_size(tensor.dtype, issued.gm_row_stride);
    transfer.row_bytes = byte_size(tensor.dtype, issued.window.cols);
  }
  return entry;
}

// --- pipes

void CoreTimer::push(Pipe& pipe, const Entry& entry) {
  if (pipe.count == pipe.ring.size()) {
    std::rotate(pipe.ring.begin(), pipe.ring.begin() + static_cast<std::ptrdiff_t>(pipe.head), pipe.ring.end());
    pipe.head = 0;
    pipe.ring.resize(std::max<size_t>(8, pipe.ring.size() * 2));
  }
  // Sizes are powers of two.
  pipe.ring[(pipe.head + pipe.count) & (pipe.ring.size() - 1)] = entry;
  ++pipe.count;
}

// The first instruction of the queue starts: it makes room.
void CoreTimer::pop(Pipe& pipe, Ticks start) {
  if (pipe.starts.empty()) {
    pipe.starts.assign(static_cast<size_t>(config_.queue_depth), 0);
  }
  pipe.starts[static_cast<size_t>(pipe.started % config_.queue_depth)] = start;
  ++pipe.started;
  ++pipe.totals.instructions;
  pipe.head = (pipe.head + 1) & (pipe.ring.size() - 1);
  --pipe.count;
}

void CoreTimer::drain_all() {
  while (dirty_ != 0 && status_ == Status::Waiting) {
    const auto pipe = static_cast<uint32_t>(std::countr_zero(dirty_));
    if (pipes_[pipe].count == 0 || pipes_[pipe].in_flight || !drain_one(pipe)) {
      dirty_ &= ~(uint32_t{1} << pipe);
    }
  }
}

// Starts the first instruction in a pipe's queue, if the time is known. False: it is not.
bool CoreTimer::drain_one(uint32_t index) {
  Pipe& pipe = pipes_[index];
  Entry& entry = pipe.ring[pipe.head];
  const Instruction& inst = *entry.inst;
  const Ticks turn = std::max({pipe.free, entry.issued, barrier_until_});
  Ticks start = turn;
  Stall reason = Stall::Issue;
  if (inst.kind == InstKind::WaitFlag) {
    if (!wait_flag(entry.flag, turn, start)) {
      return false;
    }
    reason = Stall::Flag;
  } else if (inst.kind == InstKind::Barrier) {
    start = std::max(turn, pipe.done);
    reason = Stall::Barrier;
  } else if (inst.ring_op == RingOp::Push || inst.ring_op == RingOp::Pop) {
    const std::optional<Ticks> ready = ring_ready(inst, entry.number);
    if (!ready || (inst.ring_op == RingOp::Pop && !check_pop(entry))) {
      return false;
    }
    start = std::max(turn, *ready);
    reason = Stall::Ring;
  }
  enter(pipe);
  account(pipe, std::min(turn, barrier_until_), Stall::Barrier);
  account(pipe, turn, Stall::Issue);
  account(pipe, start, reason);
  if (inst.kind == InstKind::Work) {
    entry.cost.busy += start > pipe.worked ? entry.cost.idle_head : 0;
    if (inst.has_gm || (inst.ring_op != RingOp::None && inst.ring_op != RingOp::Free && !inst.ring_local)) {
      start_copy(pipe, index, entry, start);
      return true;
    }
  }
  const Ticks end = start + entry.cost.busy;
  work(pipe, start, end);
  pipe.free = end;
  const uint32_t flag = entry.flag;
  const uint32_t statement = inst.statement;
  if (inst.kind == InstKind::Work) {
    // A pop or free of a local ring only synchronises: a pipe that was idle before it still is.
    pipe.worked = inst.ring_op == RingOp::Pop || inst.ring_op == RingOp::Free ? pipe.worked : end;
    pipe.done = std::max(pipe.done, end + entry.cost.tail);
    if (inst.ring_op != RingOp::None) {
      ring_done(entry, pipe.done);
    }
  }
  trace(index, inst, inst.kind == InstKind::Work ? start : turn, end);
  pop(pipe, start);
  if (inst.kind == InstKind::SetFlag) {
    set_flag(flag, std::max(end, pipe.done), statement);
  }
  return true;
}

void CoreTimer::start_copy(Pipe& pipe, uint32_t index, Entry& entry, Ticks start) {
  work(pipe, start, start + entry.cost.busy);
  if (entry.transfer.bytes == 0) {  // an empty region: nothing moves, nobody waits for it
    pipe.free = start + entry.cost.busy;
    pipe.worked = pipe.free;
    pipe.done = std::max(pipe.done, pipe.free);
    if (entry.inst->ring_op != RingOp::None) {
      ring_done(entry, pipe.free);
    }
    trace(index, *entry.inst, start, pipe.free);
    pop(pipe, start);
    return;
  }
  pipe.in_flight = true;
  pipe.flying = entry;
  pipe.transfer = entry.transfer;
  pipe.transfer.start = start + entry.cost.busy;
  pipe.flying.issued = start;  // from here on, for the trace
  pop(pipe, start);
  requests_.push_back(index);
}

void CoreTimer::transfer_ended(uint32_t index, Ticks end) {
  Pipe& pipe = pipes_[index];
  const Transfer& transfer = pipe.transfer;
  const Ticks alone = ((transfer.bytes << 16) + transfer.cap / 2) / transfer.cap;
  work(pipe, transfer.start, std::min(end, transfer.start + alone));
  account(pipe, end, Stall::Bandwidth);
  pipe.free = end;
  pipe.worked = end;
  pipe.done = std::max(pipe.done, end + transfer.after);
  pipe.in_flight = false;
  if (pipe.flying.inst->ring_op != RingOp::None) {
    ring_done(pipe.flying, end + transfer.after);
  }
  trace(index, *pipe.flying.inst, pipe.flying.issued, end);
  dirty_ |= uint32_t{1} << index;
}

// --- flags

// Pairs of pipes vary fastest, so that tables grow with the ids in use.
uint32_t CoreTimer::flag_index(const Instruction& inst, int64_t event) const {
  const auto pair = static_cast<uint32_t>(inst.source_pipe) * isa::kPipeCount +
                    static_cast<uint32_t>(inst.destination_pipe);
  return static_cast<uint32_t>(event) * static_cast<uint32_t>(flags_.size()) + pair;
}

CoreTimer::Flag& CoreTimer::flag(uint32_t index) {
  std::vector<Flag>& pair = flags_[index % flags_.size()];
  const size_t id = index / flags_.size();
  if (id >= pair.size()) {
    pair.resize(id + 1);
  }
  return pair[id];
}

std::string CoreTimer::flag_text(uint32_t index) const {
  const auto pair = static_cast<uint32_t>(index % flags_.size());
  return std::string(isa::spelling(static_cast<isa::Pipe>(pair / isa::kPipeCount))) + " -> " +
         std::string(isa::spelling(static_cast<isa::Pipe>(pair % isa::kPipeCount))) + ", " +
         std::to_string(index / flags_.size());
}

bool CoreTimer::fail_flag_twice(uint32_t index, uint32_t statement) {
  fault_ = {DiagId::FaultFlagTwice, location(statement), {flag_text(index)}, ""};
  status_ = Status::Fault;
  return false;
}

// A set that is known before the wait for the one before it is, stays pending: the wait decides whether it came too early.
bool CoreTimer::set_flag(uint32_t index, Ticks fire, uint32_t statement) {
  Flag& found = flag(index);
  if (found.pending == Flag::kMostPending || (found.pending == 0 && fire < found.cleared)) {
    return fail_flag_twice(index, statement);
  }
  found.fired[found.pending] = fire;
  found.setter[found.pending] = statement;
  ++found.pending;
  ++flags_set_;
  dirty_ |= uint32_t{1} << (index % flags_.size() % isa::kPipeCount);
  return true;
}

// False: not set yet, or set twice (then the status says so).
bool CoreTimer::wait_flag(uint32_t index, Ticks turn, Ticks& cleared) {
  Flag& found = flag(index);
  if (found.pending == 0) {
    return false;
  }
  cleared = std::max(turn, found.fired[0] + config_.flag_latency);
  if (found.pending > 1 && found.fired[1] < cleared) {
    return fail_flag_twice(index, found.setter[1]);
  }
  found.cleared = cleared;
  --found.pending;
  --flags_set_;
  std::copy(found.fired.begin() + 1, found.fired.end(), found.fired.begin());
  std::copy(found.setter.begin() + 1, found.setter.end(), found.setter.begin());
  return true;
}

}  // namespace pto::runtime
