// What the table cannot say by itself: the pipe of an instruction whose route decides, and valid regions.
#include <algorithm>

#include "pto/isa.h"
#include "pto/target.h"

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

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Bytes of a packed mask row, counted in elements of the mask tile.
int64_t mask_columns(int64_t columns, DType mask) {
  return ceil_div(columns, std::max(bit_width(mask), 8));
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
  const Valid whole{destination.rows, destination.cols};
  const Valid first = sources.empty() ? whole : sources.front();
  const Valid last = sources.empty() ? whole : sources.back();
  // Of sources that must agree one may be wholly valid: the smaller region counts.
  const Valid both{std::min(first.rows, last.rows), std::min(first.cols, last.cols)};
  switch (info(opcode).valid) {
    case ValidRule::None:
      return {};
    case ValidRule::Explicit:
      return explicit_valid.value_or(whole);
    case ValidRule::Full:
      return whole;
    case ValidRule::Same:
      return both;
    case ValidRule::SameAsSecond:
      // Behind a mask stand one or two data tiles.
      return sources.size() == 3 ? Valid{std::min(sources[1].rows, last.rows), std::min(sources[1].cols, last.cols)}
                                 : last;
    case ValidRule::Mask:
      return {both.rows, mask_columns(both.cols, destination.dtype)};
    case ValidRule::RowReduce:
      return {first.rows, 1};
    case ValidRule::ColReduce:
      return {1, first.cols};
    case ValidRule::Full2D:
      // The repeated operand is one row or column; where the other one is empty, so is the result.
      return {std::min(first.rows, last.rows) == 0 ? 0 : std::max(first.rows, last.rows),
              std::min(first.cols, last.cols) == 0 ? 0 : std::max(first.cols, last.cols)};
    case ValidRule::MatMul: {
      // An accumulator that is read too stands in front of the left operand.
      const size_t left = info(opcode).format == Format::MatMulAcc ? 1 : 0;
      return sources.size() < left + 2 ? whole : Valid{sources[left].rows, sources[left + 1].cols};
    }
  }
  return whole;
}

}  // namespace pto::isa
