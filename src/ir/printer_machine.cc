// Statements of the Block and Execution levels: buffers, rings, instructions, tasks.
#include <cstdio>

#include "src/ir/printer.h"

namespace pto::ir {

namespace {

std::string hex(int64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llX", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

void Printer::buffers() {
  for (size_t i = 0; i < function_.buffers.size(); ++i) {
    const isa::Buffer& buffer = function_.buffers[i];
    const TileDesc& tile = buffer.tile;
    std::string text = "buf " + names_.buffers[i] + ": tile " + std::string(spelling(tile.dtype)) + "[" +
                       std::to_string(tile.rows) + ", " + std::to_string(tile.cols) + "]";
    if (tile.space != Space::Vec || tile.layout != Layout::ND) {
      text += " layout(" + std::string(spelling(tile.layout)) + ")";
    }
    const std::string space(spelling(tile.space));
    text += buffer.address >= 0 ? " at " + space + ":" + hex(buffer.address) : " in " + space;
    if (buffer.slots != 1) {
      text += " slots " + std::to_string(buffer.slots);
      if (buffer.slot_stride != 0 && buffer.slot_stride != tile.bytes()) {
        text += " stride " + hex(buffer.slot_stride);
      }
    }
    line(text + ";");
  }
}

void Printer::rings() {
  for (const isa::Ring& ring : function_.rings) {
    std::string text = "ring " + ring.name + ": " + std::string(isa::spelling(ring.direction)) + " tile " +
                       std::string(spelling(ring.dtype)) + "[" + std::to_string(ring.rows) + ", " +
                       std::to_string(ring.cols) + "] slots " + std::to_string(ring.slots);
    if (ring.split != isa::Split::None) {
      text += " split " + std::string(isa::spelling(ring.split));
    }
    line(text + ";");
  }
}

// An instruction's operands in the order of its format. A scalar operand has the element type of the destination,
// except that a comparison's has that of the tile it is compared with.
std::string Printer::instruction(const isa::Inst& inst) const {
  const isa::InstrInfo& info = isa::info(inst.opcode);
  std::string text(info.mnemonic);
  DType scalar_type = DType::None;
  for (const isa::Operand& each : inst.operands) {
    const bool sets_type =
        each.kind == isa::OperandKind::TileIn || (isa::is_tile(each.kind) && scalar_type == DType::None);
    if (sets_type && each.buffer.valid()) {
      scalar_type = function_.buffers.at(each.buffer.index()).tile.dtype;
    }
  }
  bool first = true;
  for (const isa::Operand& each : inst.operands) {
    const std::string piece = operand(each, scalar_type);
    if (piece.empty()) {
      continue;
    }
    text += each.kind == isa::OperandKind::PipeDst ? " -> " : first ? " " : ", ";
    text += piece;
    first = false;
  }
  return text;
}

std::string Printer::operand(const isa::Operand& operand, DType scalar_type) const {
  using isa::OperandKind;
  if (isa::is_tile(operand.kind)) {
    std::string text = names_.buffers.at(operand.buffer.index());
    return operand.slot.valid() ? text + "[" + expr(operand.slot) + "]" : text;
  }
  if (isa::is_gm(operand.kind)) {
    return name(function_.tensors.at(operand.tensor.index())) + "[" + expr_list(operand.offsets) + "]";
  }
  switch (operand.kind) {
    case OperandKind::Scalar:
      return scalar(operand.a, scalar_type);
    case OperandKind::Index:
    case OperandKind::Event:
      return expr(operand.a);
    case OperandKind::Valid:
      return operand.a.valid() ? "valid(" + expr(operand.a) + ", " + expr(operand.b) + ")" : "";
    case OperandKind::Ring:
      return function_.rings.at(operand.ring.index()).name;
    case OperandKind::Round:
      return std::string(spelling(static_cast<isa::Round>(operand.attribute)));
    case OperandKind::Cmp:
      return std::string(spelling(static_cast<isa::Cmp>(operand.attribute)));
    case OperandKind::Pad:
      return std::string(spelling(static_cast<isa::Pad>(operand.attribute)));
    case OperandKind::PipeSrc:
    case OperandKind::PipeDst:
      return std::string(spelling(static_cast<isa::Pipe>(operand.attribute)));
    default:
      return "";
  }
}

void Printer::buffer(const Op& op) {
  const ValueId result = op.results.at(0);
  std::string text = "buffer " + name(result) + ": " + type(function_.type(result));
  if (!op.exprs.empty()) {
    text += " at " + expr(op.exprs[0]);
  }
  line(text + ";");
}

void Printer::task(OpId id, const Op& op) {
  std::string text = "task " + names_.tasks.at(id.index()) + " = " + op.callee + "(" + arguments(op, true) + ")";
  if (op.blocks.valid()) {
    text += " blocks " + expr(op.blocks);
  }
  for (size_t i = 0; i < op.after.size(); ++i) {
    text += (i == 0 ? " after " : ", ") + names_.tasks.at(op.after[i].index());
  }
  line(text + ";");
}

}  // namespace pto::ir
