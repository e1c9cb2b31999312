// The part of a core's timeline that deals with other cores of its cluster: rings, and what to say when everybody
// waits.
#include <algorithm>

#include "runtime/machine/arbiter.h"
#include "runtime/machine/core_timer.h"

namespace pto::runtime {

// --- rings

std::optional<Ticks> CoreTimer::ring_ready(const Instruction& inst, int64_t number) const {
  const size_t ring = inst.ring;
  return inst.ring_op == RingOp::Push ? rings_->room(ring, number) : rings_->tile(ring, number);
}

// The instruction's work ends then: the other side may hear of it.
void CoreTimer::ring_done(const Entry& entry, const Valid& valid, Ticks end) {
  const Instruction& inst = *entry.inst;
  const size_t ring = inst.ring;
  if (inst.ring_op == RingOp::Push) {
    rings_->pushed(ring, side_, valid, end + config_.ring_latency);
  } else if (inst.ring_op == RingOp::Free || !inst.ring_local) {
    rings_->freed(ring, side_, end + config_.ring_latency);
  }
}

// Is the tile that has come what the pop expects?
bool CoreTimer::check_pop(const Entry& entry, const Valid& valid) {
  const Instruction& inst = *entry.inst;
  std::string problem = rings_->problem(inst.ring, side_, entry.number, valid);
  if (problem.empty()) {
    return true;
  }
  fault_ = {
      DiagId::FaultRing,
      location(inst.statement),
      {std::string(isa::info(inst.opcode).mnemonic), timed_->program->core->rings[inst.ring].name, std::move(problem)},
      ""};
  status_ = Status::Fault;
  return false;
}

void CoreTimer::ring_transfer(const Instruction& inst, int64_t number, const timing::Cost& cost,
                              Transfer& transfer) const {
  const size_t ring = inst.ring;
  const Valid valid = stepper_.issued().valids[0];
  transfer.bytes = cost.gm_bytes;
  transfer.cap = std::clamp<int64_t>(cost.rate_cap, 1, Arbiter::kMostRate);
  transfer.after = cost.latency + cost.tail;
  transfer.write = inst.ring_op == RingOp::Push;
  transfer.ring = true;
  transfer.offset = rings_->address(ring, side_, number);
  transfer.rows = valid.rows;
  transfer.stride = rings_->row_bytes(ring);
  transfer.row_bytes = byte_size(inst.gm_dtype, valid.cols);
}

// --- what it waits for

std::vector<CoreWait> CoreTimer::waits() const {
  std::vector<CoreWait> found;
  if (!walked_ && have_) {
    found.push_back(scalar_wait());
  }
  for (uint32_t i = 0; i < pipes_.size(); ++i) {
    if (pipes_[i].count > 0) {
      found.push_back(pipe_wait(i));
    }
  }
  return found;
}

CoreWait CoreTimer::scalar_wait() const {
  const Instruction& inst = *stepper_.issued().inst;
  CoreWait wait;
  wait.statement = inst.statement;
  const bool room = inst.pipe == isa::Pipe::S || inst.pipe == isa::Pipe::All ||
                    pipes_[static_cast<size_t>(inst.pipe)].count < static_cast<size_t>(config_.queue_depth);
  if (inst.kind == InstKind::WaitFlag && inst.pipe == isa::Pipe::S) {
    wait.other = inst.source_pipe;
    wait.what = "for flag " + flag_text(flag_index(inst, stepper_.issued().event));
  } else if (inst.kind == InstKind::Barrier && inst.pipe == isa::Pipe::All) {
    wait.kind = CoreWait::Kind::Barrier;
    wait.what = "in a barrier for all pipes";
  } else if (inst.ring_op != RingOp::None && room) {
    wait.since = now_;
    describe_ring(inst, ring_counts_[inst.ring], wait);
  } else {
    wait.kind = CoreWait::Kind::Queue;
    wait.other = inst.pipe;
    wait.what = "for room in the queue of pipe " + std::string(isa::spelling(inst.pipe));
  }
  return wait;
}

CoreWait CoreTimer::pipe_wait(uint32_t index) const {
  const Pipe& pipe = pipes_[index];
  const Entry& entry = pipe.queue[pipe.head];
  CoreWait wait;
  wait.pipe = static_cast<isa::Pipe>(index);
  wait.statement = entry.inst->statement;
  wait.since = std::max(pipe.free, entry.issued);
  if (entry.inst->ring_op != RingOp::None) {
    describe_ring(*entry.inst, entry.number, wait);
  } else {
    wait.other = entry.inst->source_pipe;
    wait.what = "for flag " + flag_text(entry.flag);
  }
  return wait;
}

void CoreTimer::describe_ring(const Instruction& inst, int64_t number, CoreWait& wait) const {
  const isa::Ring& ring = timed_->program->core->rings[inst.ring];
  const bool push = inst.ring_op == RingOp::Push;
  wait.kind = push ? CoreWait::Kind::Room : CoreWait::Kind::Tile;
  wait.ring = inst.ring;
  wait.number = push ? number - ring.slots : number;
  wait.what = ring_wait(ring, push, rings_->held(wait.ring));
}

std::optional<isa::Pipe> CoreTimer::pipe_of_ring(size_t ring) const {
  for (size_t i = 0; i < pipes_.size(); ++i) {
    const Pipe& pipe = pipes_[i];
    for (size_t k = 0; k < pipe.count; ++k) {
      const Instruction& inst = *pipe.queue[(pipe.head + k) & (pipe.queue.size() - 1)].inst;
      if (inst.ring_op != RingOp::None && inst.ring == ring) {
        return static_cast<isa::Pipe>(i);
      }
    }
  }
  return std::nullopt;
}

}  // namespace pto::runtime
