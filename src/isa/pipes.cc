// What the table cannot say by itself: the pipe of an instruction whose route decides, and valid regions.
#include <algorithm>

#include "pto/isa.h"
#include "pto/target.h"
#include "src/isa/valid_rule.h"

namespace pto {

bool has_pipe(CoreKind kind, isa::Pipe pipe) {
  switch (pipe) {
    case isa::Pipe::S:
    case isa::Pipe::MTE2:
    case isa::Pipe::MTE3:
    case isa::Pipe::All:
      return true;
    case isa::Pipe::V:
      return kind == CoreKind::Vec;
    case isa::Pipe::M:
    case isa::Pipe::MTE1:
    case isa::Pipe::FIX:
      return kind == CoreKind::Cube;
    case isa::Pipe::Route:
      break;
  }
  return false;
}

}  // namespace pto

namespace pto::isa {
namespace {

// Space of the first operand of the given direction; None if there is none or its buffer doesn't exist.
Space space_of(const Inst& inst, std::span<const Buffer> buffers, bool destination) {
  for (const Operand& operand : inst.operands) {
    if (operand.kind == OperandKind::TileTmp || (destination ? !writes(operand.kind) : !reads(operand.kind))) {
      continue;
    }
    if (is_gm(operand.kind)) {
      return Space::Gm;
    }
    return operand.buffer.valid() && operand.buffer.index() < buffers.size()
               ? buffers[operand.buffer.index()].tile.space
               : Space::None;
  }
  return Space::None;
}

// The pipe of tpush, tpop and tfree. Global memory is one end of a ring that is not local.
Pipe ring_pipe(const Inst& inst, std::span<const Buffer> buffers, const Target& target) {
  const Format format = info(inst.opcode).format;
  const auto tile = std::find_if(inst.operands.begin(), inst.operands.end(),
                                 [](const Operand& operand) { return is_tile(operand.kind); });
  if (tile == inst.operands.end() || !tile->buffer.valid() || tile->buffer.index() >= buffers.size()) {
    return Pipe::Route;
  }
  const Space space = buffers[tile->buffer.index()].tile.space;
  const CoreKind core = target.space(space).core;
  if (format == Format::Push) {
    const DataPath* path = target.path(space, Space::Gm, core);
    return path != nullptr ? path->pipe : Pipe::Route;
  }
  if (target.ring_is_local(core == CoreKind::Vec ? RingDirection::C2V : RingDirection::V2C)) {
    return core == CoreKind::Vec ? Pipe::V : Pipe::MTE1;
  }
  const DataPath* path = format == Format::Pop ? target.path(Space::Gm, space, core) : nullptr;
  return path != nullptr ? path->pipe : Pipe::Route;
}

Pipe flag_pipe(const Inst& inst, bool destination) {
  const OperandKind kind = destination ? OperandKind::PipeDst : OperandKind::PipeSrc;
  for (const Operand& operand : inst.operands) {
    if (operand.kind == kind) {
      return static_cast<Pipe>(operand.attribute);
    }
  }
  return Pipe::S;
}

}  // namespace

Pipe pipe_of(const Inst& inst, std::span<const Buffer> buffers, const Target& target) {
  const InstrInfo& row = info(inst.opcode);
  if (row.format == Format::Flag || row.format == Format::Barrier) {
    return flag_pipe(inst, inst.opcode == Opcode::WaitFlag);
  }
  if (row.pipe != Pipe::Route) {
    return row.pipe;
  }
  if (row.format == Format::Push || row.format == Format::Pop || row.format == Format::Free) {
    return ring_pipe(inst, buffers, target);
  }
  const Space to = space_of(inst, buffers, true);
  // A fill has no source: its route is from the memory to itself.
  const Space from = row.format == Format::Fill ? to : space_of(inst, buffers, false);
  const CoreKind core = target.space(from == Space::Gm ? to : from).core;
  const DataPath* path = target.path(from, to, core);
  return path != nullptr ? path->pipe : Pipe::Route;
}

Valid valid_of_destination(Opcode opcode, const TileDesc& destination, std::span<const Valid> sources,
                           std::optional<Valid> explicit_valid) {
  const InstrInfo& row = info(opcode);
  return valid_by_rule(row.valid, row.format == Format::MatMulAcc ? 1 : 0, destination, sources,
                       explicit_valid ? &*explicit_valid : nullptr);
}

}  // namespace pto::isa
