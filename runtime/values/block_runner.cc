#include "runtime/values/block_runner.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace pto::runtime {
namespace {

constexpr std::align_val_t kArenaAlignment{64};
constexpr int64_t kBudget = 1 << 16;  // loop steps without an instruction before limits are looked at

}  // namespace

void BlockRunner::Free::operator()(std::byte* memory) const { ::operator delete(memory, kArenaAlignment); }

void BlockRunner::prepare(const Program& program) {
  for (size_t space = 0; space < arenas_.size(); ++space) {
    const int64_t bytes = program.space_bytes[space];
    Arena& arena = arenas_[space];
    if (bytes > arena.bytes) {
      arena.memory.reset();
      arena.memory.reset(static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kArenaAlignment)));
      arena.bytes = bytes;
    }
    if (bytes > 0) {
      std::memset(arena.memory.get(), static_cast<int>(kPoison), static_cast<size_t>(bytes));
    }
  }
}

void BlockRunner::start(const Program& program, int64_t block, int event_ids,
                        std::span<std::byte* const> tensors, int64_t max_statements, RingMemory* rings, int side) {
  prepare(program);
  program_ = &program;
  tensors_ = tensors;
  max_statements_ = max_statements;
  statements_ = 0;
  counted_ = 0;
  rings_ = rings;
  side_ = side;
  pending_ = false;
  stepper_.start(program, block, std::max(0, side), event_ids);
}

BlockRunner::Status BlockRunner::resume() {
  const Status status = run();
  return spend() || status == Status::Fault ? status : Status::Limit;
}

// Takes what has run from the budget. False: it is spent.
bool BlockRunner::spend() {
  const int64_t more = statements_ - std::exchange(counted_, statements_);
  return budget_ == nullptr || budget_->fetch_sub(more, std::memory_order_relaxed) >= more;
}

BlockRunner::Status BlockRunner::run() {
  for (;;) {
    if (!pending_) {
      const Stepper::Status status = stepper_.next(kBudget);
      statements_ += 1 + stepper_.take_scalar_steps();
      if ((max_statements_ > 0 && statements_ > max_statements_) || (statements_ - counted_ >= kBudget && !spend())) {
        return Status::Limit;
      }
      switch (status) {
        case Stepper::Status::Done:
          return Status::Ok;
        case Stepper::Status::Fault:
          fault_ = stepper_.fault();
          return Status::Fault;
        case Stepper::Status::Budget:
          continue;
        case Stepper::Status::Instruction:
          break;
      }
    }
    pending_ = !ready();
    if (pending_) {
      return Status::Blocked;
    }
    if (stepper_.issued().inst->kind == InstKind::Work && !execute()) {
      return Status::Fault;
    }
  }
}

bool BlockRunner::ready() {
  const Instruction& inst = *stepper_.issued().inst;
  switch (inst.ring_op) {
    case RingOp::Push:
      return rings_->can_push(inst.ring, side_);
    case RingOp::Pop:
      return rings_->can_pop(inst.ring, side_);
    default:
      return true;
  }
}

const object::Location& BlockRunner::location() const {
  return program_->core->code[stepper_.issued().inst->statement].location;
}

std::string BlockRunner::waiting() const {
  const Instruction& inst = *stepper_.issued().inst;
  const isa::Ring& ring = program_->core->rings[inst.ring];
  return "waits " + ring_wait(ring, inst.ring_op == RingOp::Push, rings_->held(inst.ring));
}

void BlockRunner::poison(uint32_t index) {
  const SlotInfo& slot = program_->slots[index];
  std::memset(arenas_[static_cast<size_t>(slot.space)].memory.get() + slot.address, static_cast<int>(kPoison),
              static_cast<size_t>(slot.bytes));
}

// Tiles go through rings as through global memory: a push is a store to the slot, a pop a load from it.
bool BlockRunner::move_ring(sem::Args& args) {
  const Issued& issued = stepper_.issued();
  const Instruction& inst = *issued.inst;
  const size_t ring = inst.ring;
  const Valid valid = issued.valids[0];
  if (inst.ring_op == RingOp::Free) {
    rings_->give_back(ring, side_);
    poison(issued.slots[0]);
    return true;
  }
  std::string problem;
  const RingWindow window = inst.ring_op == RingOp::Push ? rings_->push(ring, side_, valid)
                                                         : rings_->pop(ring, side_, valid, problem);
  if (!problem.empty()) {
    fault_ = {DiagId::FaultRing, location(),
              {std::string(isa::info(inst.opcode).mnemonic), program_->core->rings[inst.ring].name, problem}, ""};
    return false;
  }
  if (valid.rows > 0 && valid.cols > 0) {
    args.gm = {window.data, inst.gm_dtype, window.row_stride, 1};
    sem::execute(inst.ring_op == RingOp::Push ? isa::Opcode::TStore : isa::Opcode::TLoad, args);
  }
  if (inst.ring_op == RingOp::Pop && !inst.ring_local) {
    rings_->give_back(ring, side_);
  }
  return true;
}

bool BlockRunner::execute() {
  const Program& program = *program_;
  const Issued& issued = stepper_.issued();
  const Instruction& inst = *issued.inst;
  for (uint8_t i = 0; i < inst.tile_count; ++i) {
    const SlotInfo& slot = program.slots[issued.slots[i]];
    views_[i] = {arenas_[static_cast<size_t>(slot.space)].memory.get() + slot.address, inst.descs[i],
                 issued.valids[i]};
  }
  sem::Args args;
  args.tiles = {views_.data(), inst.tile_count};
  if (inst.ring_op != RingOp::None) {
    return move_ring(args);
  }
  if (inst.has_gm) {
    if (issued.window.rows == 0 || issued.window.cols == 0) {
      // Nothing moves, and the window need not lie inside the tensor.
      return true;
    }
    const CoreTensor& tensor = program.tensors[inst.tensor];
    args.gm = {tensors_[tensor.root] + byte_size(tensor.dtype, issued.gm_offset), tensor.dtype, issued.gm_row_stride, 1};
  }
  if (inst.has_scalar) {
    args.real = stepper_.scalar_real();
    args.integer = stepper_.scalar_integer();
  }
  args.index[0] = issued.index[0];
  args.index[1] = issued.index[1];
  args.round = inst.round;
  args.cmp = inst.cmp;
  args.pad = inst.pad;
  sem::execute(inst.opcode, args);
  return true;
}

}  // namespace pto::runtime
