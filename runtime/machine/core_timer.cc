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

const timing::Cost& TimedProgram::new_cost(const Target& target, const Issued& issued) {
  const Instruction& inst = *issued.inst;
  Memo& memo = memos[static_cast<size_t>(&inst - program->instructions.data())];
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

// --- accounts

// The time between the core's last block and this one, told once a pipe has something to do in this block.
inline void CoreTimer::enter(Pipe& pipe) {
  if (!pipe.entered) {
    enter_block(pipe);
  }
}

inline void CoreTimer::account(Pipe& pipe, Ticks until, Stall reason) {
  if (until > pipe.accounted) {
    pipe.totals.stalls[static_cast<size_t>(reason)] += until - pipe.accounted;
    pipe.accounted = until;
  }
}

inline void CoreTimer::work(Pipe& pipe, Ticks from, Ticks until) {
  account(pipe, from, Stall::Issue);
  pipe.totals.busy += until - pipe.accounted;
  pipe.accounted = until;
}

inline void CoreTimer::trace(uint32_t pipe, const Instruction& inst, Ticks from, Ticks until) {
  if (config_.trace != nullptr) {
    add_slice(pipe, inst, from, until);
  }
}

void CoreTimer::enter_block(Pipe& pipe) {
  pipe.entered = true;
  pipe.accounted = std::max(pipe.accounted, block_.core_free);  // idle until then
  account(pipe, block_.ready, Stall::Dependency);
  account(pipe, block_.start, Stall::Dispatch);
}

void CoreTimer::add_slice(uint32_t pipe, const Instruction& inst, Ticks from, Ticks until) {
  if (config_.trace->size() >= kMostSlices) {
    status_ = Status::Limit;
    return;
  }
  config_.trace->push_back(
      {index_, static_cast<isa::Pipe>(pipe), inst.opcode, block_.task, from, until, location(inst.statement)});
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
    pipe.free = block.start;
    pipe.done = block.start;
    pipe.entered = false;
    // `worked` stays: a pipe that did nothing since the last block was idle.
  }
  event_ids_ = static_cast<uint32_t>(config_.target->event_ids);
  // Flags are not set now, and were last cleared in the past.
  flags_.resize(std::max(flags_.size(), timed_->program->flag_pairs.size() * event_ids_));
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
  for (uint32_t index = 0; flags_set_ > 0 && index < flags_.size(); ++index) {
    if (flags_[index].pending > 0) {
      fault_ = {DiagId::FaultFlagLeft,
                location(flags_[index].sets[0].setter),
                {flag_text(index), timed_->program->core->name},
                ""};
      status_ = Status::Fault;
      return;
    }
  }
}

const object::Location& CoreTimer::location(uint32_t statement) const {
  return timed_->program->core->code[statement].location;
}

// --- flags

std::string CoreTimer::flag_text(uint32_t index) const {
  const FlagPair& pair = timed_->program->flag_pairs[index / event_ids_];
  return std::string(isa::spelling(pair.source)) + " -> " + std::string(isa::spelling(pair.destination)) + ", " +
         std::to_string(index % event_ids_);
}

bool CoreTimer::fail_flag_twice(uint32_t index, uint32_t statement) {
  fault_ = {DiagId::FaultFlagTwice, location(statement), {flag_text(index)}, ""};
  status_ = Status::Fault;
  return false;
}

// A set that is known before the wait for the one before it is, stays pending: the wait decides whether it came too
// early.
inline bool CoreTimer::set_flag(const Instruction& inst, uint32_t index, Ticks fire) {
  Flag& flag = flags_[index];
  if (flag.pending == Flag::kMostPending || (flag.pending == 0 && fire < flag.cleared)) {
    return fail_flag_twice(index, inst.statement);
  }
  flag.sets[flag.pending++] = {fire, inst.statement};
  ++flags_set_;
  dirty_ |= uint32_t{1} << static_cast<uint32_t>(inst.destination_pipe);
  return true;
}

// False: not set yet, or set twice (then the status says so).
inline bool CoreTimer::wait_flag(uint32_t index, Ticks turn, Ticks& cleared) {
  Flag& flag = flags_[index];
  if (flag.pending == 0) {
    return false;
  }
  cleared = std::max(turn, flag.sets[0].fired + config_.flag_latency);
  if (flag.pending > 1 && flag.sets[1].fired < cleared) {
    return fail_flag_twice(index, flag.sets[1].setter);
  }
  flag.cleared = cleared;
  --flag.pending;
  --flags_set_;
  for (uint32_t i = 0; i < flag.pending; ++i) {
    flag.sets[i] = flag.sets[i + 1];
  }
  return true;
}

// --- the scalar unit

inline bool CoreTimer::issue() {
  const Issued& issued = stepper_.issued();
  const Instruction& inst = *issued.inst;
  const timing::Cost& cost = timed_->cost(*config_.target, issued);
  if (inst.pipe == isa::Pipe::All) {
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
  return inst.kind != InstKind::SetFlag || set_flag(inst, index, now_);
}

bool CoreTimer::issue_queued(const Instruction& inst, const timing::Cost& cost) {
  Pipe& pipe = pipes_[static_cast<size_t>(inst.pipe)];
  Pipe& scalar = pipes_[kScalar];
  if (pipe.count == static_cast<size_t>(config_.queue_depth)) {
    return false;
  }
  if (pipe.starts.empty()) {
    pipe.starts.assign(static_cast<size_t>(config_.queue_depth), 0);
  }
  const Ticks room = std::max(now_, pipe.starts[pipe.next_issue]);
  Ticks at = room;
  const bool counted = inst.ring_op == RingOp::Push || inst.ring_op == RingOp::Pop;
  if (counted && config_.target->ring_wait_scalar) {
    const std::optional<Ticks> ready = ring_ready(inst, ring_counts_[inst.ring]);
    if (!ready) {
      return false;
    }
    at = std::max(at, *ready);
  }
  pipe.next_issue = pipe.next_issue + 1 == pipe.starts.size() ? 0 : pipe.next_issue + 1;
  enter(scalar);
  account(scalar, room, Stall::Issue);
  account(scalar, at, Stall::Ring);
  now_ = at + cost.issue;
  work(scalar, at, now_);
  Entry& entry = push(pipe);
  entry.inst = &inst;
  entry.issued = now_;
  entry.busy = cost.busy;
  entry.idle_head = cost.idle_head;
  entry.tail = cost.tail;
  if (inst.kind != InstKind::Work) {
    entry.flag = inst.kind == InstKind::Barrier ? 0 : flag_index(inst, stepper_.issued().event);
  } else if (inst.has_gm || inst.ring_op != RingOp::None) {
    entry.number = ring_counts_[inst.ring];
    fill_move(inst, cost, move_of(pipe, entry));
    ring_counts_[inst.ring] += counted ? 1 : 0;
  }
  dirty_ |= uint32_t{1} << static_cast<uint32_t>(inst.pipe);
  return true;
}

void CoreTimer::fill_move(const Instruction& inst, const timing::Cost& cost, Move& move) {
  const Issued& issued = stepper_.issued();
  Transfer& transfer = move.transfer;
  move.valid = issued.valids[0];
  if (!inst.transfers) {
    return;
  }
  transfer = Transfer();
  if (inst.ring_op != RingOp::None) {
    ring_transfer(inst, ring_counts_[inst.ring], cost, transfer);
    return;
  }
  const CoreTensor& tensor = timed_->program->tensors[inst.tensor];
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

// --- pipes

inline CoreTimer::Entry& CoreTimer::push(Pipe& pipe) {
  if (pipe.count == pipe.queue.size()) {
    grow(pipe);
  }
  return pipe.queue[(pipe.head + pipe.count++) & (pipe.queue.size() - 1)];
}

void CoreTimer::grow(Pipe& pipe) {
  const auto head = static_cast<std::ptrdiff_t>(pipe.head);
  std::rotate(pipe.queue.begin(), pipe.queue.begin() + head, pipe.queue.end());
  if (!pipe.moves.empty()) {
    std::rotate(pipe.moves.begin(), pipe.moves.begin() + head, pipe.moves.end());
  }
  pipe.head = 0;
  pipe.queue.resize(std::max<size_t>(8, pipe.queue.size() * 2));
}

inline CoreTimer::Move& CoreTimer::move_of(Pipe& pipe, const Entry& entry) {
  if (pipe.moves.size() < pipe.queue.size()) {
    pipe.moves.resize(pipe.queue.size());
  }
  return pipe.moves[static_cast<size_t>(&entry - pipe.queue.data())];
}

// The first instruction of the queue starts: it makes room.
inline void CoreTimer::pop(Pipe& pipe, Ticks start) {
  pipe.starts[pipe.next_start] = start;
  pipe.next_start = pipe.next_start + 1 == pipe.starts.size() ? 0 : pipe.next_start + 1;
  ++pipe.totals.instructions;
  pipe.head = (pipe.head + 1) & (pipe.queue.size() - 1);
  --pipe.count;
}

inline void CoreTimer::drain_all() {
  while (dirty_ != 0 && status_ == Status::Waiting) {
    const auto pipe = static_cast<uint32_t>(std::countr_zero(dirty_));
    if (pipes_[pipe].count == 0 || pipes_[pipe].in_flight || !drain_one(pipe)) {
      dirty_ &= ~(uint32_t{1} << pipe);
    }
  }
}

// When an instruction whose turn it is may start, and why not at once. False: that is not known yet.
inline bool CoreTimer::wait_turn(Pipe& pipe, const Entry& entry, Ticks turn, Ticks& start, Stall& reason) {
  const Instruction& inst = *entry.inst;
  start = turn;
  reason = Stall::Issue;
  if (inst.kind == InstKind::WaitFlag) {
    reason = Stall::Flag;
    return wait_flag(entry.flag, turn, start);
  }
  if (inst.kind == InstKind::Barrier) {
    reason = Stall::Barrier;
    start = std::max(turn, pipe.done);
  } else if (inst.ring_op == RingOp::Push || inst.ring_op == RingOp::Pop) {
    const std::optional<Ticks> ready = ring_ready(inst, entry.number);
    if (!ready || (inst.ring_op == RingOp::Pop && !check_pop(entry, move_of(pipe, entry).valid))) {
      return false;
    }
    reason = Stall::Ring;
    start = std::max(turn, *ready);
  }
  return true;
}

// Starts the first instruction in a pipe's queue, if the time is known. False: it is not.
bool CoreTimer::drain_one(uint32_t index) {
  Pipe& pipe = pipes_[index];
  const Entry& entry = pipe.queue[pipe.head];
  const Instruction& inst = *entry.inst;
  const Ticks turn = std::max({pipe.free, entry.issued, barrier_until_});
  Ticks start = turn;
  Stall reason = Stall::Issue;
  if (!wait_turn(pipe, entry, turn, start, reason)) {
    return false;
  }
  enter(pipe);
  account(pipe, std::min(turn, barrier_until_), Stall::Barrier);
  account(pipe, turn, Stall::Issue);
  account(pipe, start, reason);
  Ticks end = start + entry.busy;
  if (inst.kind != InstKind::Work) {
    work(pipe, start, end);
    pipe.free = end;
    trace(index, inst, turn, end);
    pop(pipe, start);
    return inst.kind != InstKind::SetFlag || set_flag(inst, entry.flag, std::max(end, pipe.done));
  }
  end += start > pipe.worked ? entry.idle_head : 0;
  if (inst.transfers) {
    start_copy(pipe, index, start, end);
    return true;
  }
  work(pipe, start, end);
  pipe.free = end;
  // A pop or free of a local ring only synchronises: a pipe that was idle before it still is.
  pipe.worked = inst.ring_op == RingOp::Pop || inst.ring_op == RingOp::Free ? pipe.worked : end;
  pipe.done = std::max(pipe.done, end + entry.tail);
  if (inst.ring_op != RingOp::None) {
    ring_done(entry, move_of(pipe, entry).valid, pipe.done);
  }
  trace(index, inst, start, end);
  pop(pipe, start);
  return true;
}

// `begin`: when it has a right to bandwidth.
void CoreTimer::start_copy(Pipe& pipe, uint32_t index, Ticks start, Ticks begin) {
  const Entry& entry = pipe.queue[pipe.head];
  const Move& move = move_of(pipe, entry);
  work(pipe, start, begin);
  if (move.transfer.bytes == 0) {  // an empty region: nothing moves, nobody waits for it
    pipe.free = begin;
    pipe.worked = begin;
    pipe.done = std::max(pipe.done, begin);
    if (entry.inst->ring_op != RingOp::None) {
      ring_done(entry, move.valid, begin);
    }
    trace(index, *entry.inst, start, begin);
    pop(pipe, start);
    return;
  }
  pipe.in_flight = true;
  pipe.flying = entry;
  pipe.flying.issued = start;
  pipe.flight = move;
  pipe.flight.transfer.start = begin;
  pop(pipe, start);
  requests_.push_back(index);
}

void CoreTimer::transfer_ended(uint32_t index, Ticks end) {
  Pipe& pipe = pipes_[index];
  const Transfer& transfer = pipe.flight.transfer;
  const Ticks alone = ((transfer.bytes << 16) + transfer.cap / 2) / transfer.cap;
  work(pipe, transfer.start, std::min(end, transfer.start + alone));
  account(pipe, end, Stall::Bandwidth);
  pipe.free = end;
  pipe.worked = end;
  pipe.done = std::max(pipe.done, end + transfer.after);
  pipe.in_flight = false;
  if (pipe.flying.inst->ring_op != RingOp::None) {
    ring_done(pipe.flying, pipe.flight.valid, end + transfer.after);
  }
  trace(index, *pipe.flying.inst, pipe.flying.issued, end);
  dirty_ |= uint32_t{1} << index;
}

}  // namespace pto::runtime
