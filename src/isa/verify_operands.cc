// Rules about the shape of an instruction: are the operands there, and do they name something.
#include "src/isa/verify.h"

namespace pto::isa {
namespace {

constexpr int kMaxRank = 5;

std::string operand_text(size_t index) {
  return "operand " + std::to_string(index + 1);
}

Verdict check_tile_operand(const Context& context, const Operand& operand, size_t index) {
  if (!operand.buffer.valid() || operand.buffer.index() >= context.buffers.size()) {
    return operand_text(index) + " names no buffer";
  }
  return std::nullopt;
}

Verdict check_gm_operand(const Context& context, const Operand& operand, size_t index) {
  if (!operand.tensor.valid() || operand.tensor.index() >= context.tensors.size()) {
    return operand_text(index) + " names no tensor";
  }
  const TensorInfo& tensor = context.tensors[operand.tensor.index()];
  if (tensor.rank < 1 || tensor.rank > kMaxRank) {
    return operand_text(index) + " is a tensor of rank " + std::to_string(tensor.rank) + ": a rank must be 1 to 5";
  }
  if (operand.offsets.size() != static_cast<size_t>(tensor.rank)) {
    return operand_text(index) + " has " + std::to_string(operand.offsets.size()) + " offsets for a tensor of rank " +
           std::to_string(tensor.rank);
  }
  for (ExprId offset : operand.offsets) {
    if (!offset.valid()) {
      return operand_text(index) + " lacks an offset";
    }
  }
  return std::nullopt;
}

// Highest legal number of an attribute.
std::optional<uint8_t> last_attribute(OperandKind kind) {
  switch (kind) {
    case OperandKind::Round:
      return static_cast<uint8_t>(Round::Odd);
    case OperandKind::Cmp:
      return static_cast<uint8_t>(Cmp::Ge);
    case OperandKind::Pad:
      return static_cast<uint8_t>(Pad::Min);
    case OperandKind::PipeSrc:
    case OperandKind::PipeDst:
      return static_cast<uint8_t>(Pipe::All);
    default:
      return std::nullopt;
  }
}

Verdict check_operand(const Context& context, const Operand& operand, size_t index) {
  if (is_tile(operand.kind)) {
    return check_tile_operand(context, operand, index);
  }
  if (is_gm(operand.kind)) {
    return check_gm_operand(context, operand, index);
  }
  if (const std::optional<uint8_t> last = last_attribute(operand.kind)) {
    return operand.attribute > *last
               ? Verdict(operand_text(index) + " has the unknown value " + std::to_string(operand.attribute))
               : std::nullopt;
  }
  if (operand.kind == OperandKind::Ring) {
    return !operand.ring.valid() || operand.ring.index() >= context.rings.size()
               ? Verdict(operand_text(index) + " names no ring")
               : std::nullopt;
  }
  if (operand.kind == OperandKind::Valid) {
    return operand.a.valid() != operand.b.valid()
               ? Verdict(operand_text(index) + ": a valid region needs rows and columns, or neither")
               : std::nullopt;
  }
  return operand.a.valid() ? std::nullopt : Verdict(operand_text(index) + " has no value");
}

bool both_on(CoreKind kind, Pipe a, Pipe b) {
  return has_pipe(kind, a) && has_pipe(kind, b);
}

}  // namespace

Verdict rule_operands(const Context& context) {
  const std::span<const OperandKind> kinds = format_operands(context.row.format);
  const std::vector<Operand>& operands = context.inst.operands;
  if (operands.size() != kinds.size()) {
    return std::to_string(operands.size()) + " operands, but it takes " + std::to_string(kinds.size());
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (operands[i].kind != kinds[i]) {
      return operand_text(i) + " is of the wrong kind";
    }
    if (Verdict wrong = check_operand(context, operands[i], i)) {
      return wrong;
    }
  }
  return std::nullopt;
}

Verdict rule_flag_pipes(const Context& context) {
  const auto source = static_cast<Pipe>(context.attribute(OperandKind::PipeSrc));
  const auto destination = static_cast<Pipe>(context.attribute(OperandKind::PipeDst));
  if (source == Pipe::All || destination == Pipe::All) {
    return "a flag is between two pipes, not `all`";
  }
  if (source == destination) {
    return "a flag from `" + std::string(spelling(source)) + "` to itself: use `pipe_barrier`";
  }
  if (!both_on(CoreKind::Vec, source, destination) && !both_on(CoreKind::Cube, source, destination)) {
    return "no kind of core has both pipe " + tick(source) + " and pipe " + tick(destination);
  }
  return std::nullopt;
}

// The vector unit of a2a3 compares 32-bit integers for equality only.
Verdict rule_compare_mode(const Context& context) {
  const auto mode = static_cast<Cmp>(context.attribute(OperandKind::Cmp));
  const DType type = context.tile(1).dtype;
  if (context.family() == IsaFamily::A2A3 && type == DType::I32 && mode != Cmp::Eq) {
    return "mode " + tick(mode) + " on `i32`: on family `a2a3` 32-bit integers can only be compared with `eq`";
  }
  return std::nullopt;
}

}  // namespace pto::isa
