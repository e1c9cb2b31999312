#include "runtime/values/block_runner.h"

#include <cstring>
#include <new>

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

BlockRunner::Status BlockRunner::run(const Program& program, int64_t block, int event_ids,
                                     std::span<std::byte* const> tensors, int64_t max_statements) {
  prepare(program);
  stepper_.start(program, block, event_ids);
  int64_t statements = 0;
  for (;;) {
    const Stepper::Status status = stepper_.next(kBudget);
    statements += 1 + stepper_.take_scalar_steps();
    if (max_statements > 0 && statements > max_statements) {
      return Status::Limit;
    }
    switch (status) {
      case Stepper::Status::Done:
        return Status::Ok;
      case Stepper::Status::Fault:
        return Status::Fault;
      case Stepper::Status::Budget:
        break;
      case Stepper::Status::Instruction:
        if (stepper_.issued().inst->kind == InstKind::Work) {
          execute(program, tensors);
        }
        break;
    }
  }
}

void BlockRunner::execute(const Program& program, std::span<std::byte* const> tensors) {
  const Issued& issued = stepper_.issued();
  const Instruction& inst = *issued.inst;
  for (uint8_t i = 0; i < inst.tile_count; ++i) {
    const SlotInfo& slot = program.slots[issued.slots[i]];
    views_[i] = {arenas_[static_cast<size_t>(slot.space)].memory.get() + slot.address, inst.descs[i],
                 issued.valids[i]};
  }
  sem::Args args;
  args.tiles = {views_.data(), inst.tile_count};
  if (inst.has_gm) {
    if (issued.window.rows == 0 || issued.window.cols == 0) {
      // Nothing moves, and the window need not lie inside the tensor.
      return;
    }
    const CoreTensor& tensor = program.tensors[inst.tensor];
    args.gm = {tensors[tensor.root] + byte_size(tensor.dtype, issued.gm_offset), tensor.dtype, issued.gm_row_stride, 1};
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
}

}  // namespace pto::runtime
