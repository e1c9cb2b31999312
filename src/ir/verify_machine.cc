// Cores and programs.
#include <algorithm>
#include <span>

#include "src/ir/verifier.h"

namespace pto::ir {

// Buffers, and the list of tensors that instructions count.
void Verifier::core() {
  for (const isa::Buffer& buffer : function_.buffers) {
    check(buffer.slots >= 1, "a buffer has no slots");
    check(buffer.address >= 0 || function_.automatic, "a buffer has no address in a core that is not automatic");
    check(buffer.tile.rows > 0 && buffer.tile.cols > 0 && buffer.tile.dtype != DType::None &&
              buffer.tile.space != Space::None,
          "a buffer's tile is incomplete");
  }
  std::vector<ValueId> tensors;
  for (const Param& param : function_.params) {
    if (param.is_tensor()) {
      tensors.push_back(param.value);
    }
  }
  for (OpId id : function_.body_region().ops) {
    if (id.index() < function_.ops.size() && function_.ops[id].kind == OpKind::Reshape) {
      const std::vector<ValueId>& results = function_.ops[id].results;
      tensors.insert(tensors.end(), results.begin(), results.end());
    }
  }
  check(tensors == function_.tensors, "the list of tensors is not the parameters and views");
}

void Verifier::instruction(const Op& op) {
  const std::span<const isa::OperandKind> format = isa::format_operands(isa::info(op.inst.opcode).format);
  if (!check(op.inst.operands.size() == format.size(), "does not follow the instruction's format")) {
    return;
  }
  for (size_t i = 0; i < format.size(); ++i) {
    operand(op.inst.operands[i], format[i]);
  }
}

void Verifier::operand(const isa::Operand& operand, isa::OperandKind expected) {
  using isa::OperandKind;
  if (!check(operand.kind == expected, "does not follow the instruction's format")) {
    return;
  }
  for (ExprId expr : {operand.slot, operand.a, operand.b}) {
    check(!expr.valid() || in_range(expr), "an operand's expression is out of range");
  }
  auto needs = [&](ExprId expr) {
    if (check(expr.valid() && in_range(expr), "an operand's expression is out of range")) {
      expression(expr, "an operand");
    }
  };
  if (isa::is_tile(expected)) {
    check(operand.buffer.index() < function_.buffers.size(), "an operand's buffer is out of range");
    if (operand.slot.valid()) {
      needs(operand.slot);
    }
    return;
  }
  if (isa::is_gm(expected)) {
    if (check(operand.tensor.index() < function_.tensors.size(), "an operand's tensor is out of range")) {
      const ValueId tensor = function_.tensors[operand.tensor.index()];
      check(tensor.index() < function_.values.size() && type(tensor).dims.size() == operand.offsets.size(),
            "an operand has a wrong number of offsets");
      if (tensor.index() < function_.values.size()) {
        check(value_in_scope_[tensor.index()], "uses a value that is not defined there");
        const Param* param = root(tensor);
        const ParamMode refused = expected == OperandKind::GmOut ? ParamMode::In : ParamMode::Out;
        check(param == nullptr || param->mode != refused,
              refused == ParamMode::In ? "writes an input" : "reads an output");
      }
    }
    std::for_each(operand.offsets.begin(), operand.offsets.end(), needs);
    return;
  }
  switch (expected) {
    case OperandKind::Scalar:
    case OperandKind::Index:
    case OperandKind::Event:
      return needs(operand.a);
    case OperandKind::Valid:
      if (check(operand.a.valid() == operand.b.valid(), "a valid region has one side only") && operand.a.valid()) {
        needs(operand.a);
        needs(operand.b);
      }
      return;
    case OperandKind::Round:
      check(operand.attribute <= static_cast<uint8_t>(isa::Round::Odd), "an attribute is out of range");
      return;
    case OperandKind::Cmp:
      check(operand.attribute <= static_cast<uint8_t>(isa::Cmp::Ge), "an attribute is out of range");
      return;
    case OperandKind::Pad:
      check(operand.attribute <= static_cast<uint8_t>(isa::Pad::Min), "an attribute is out of range");
      return;
    default:
      check(operand.attribute <= static_cast<uint8_t>(isa::Pipe::All), "an attribute is out of range");
      return;
  }
}

void Verifier::task(const Op& op) {
  for (OpId other : op.after) {
    check(function_.ops[other].kind == OpKind::Task && op_seen_[other.index()] && other != current_id_,
          "waits for something that is no earlier task");
  }
  const Function* callee = module_.find(op.callee);
  if (!check(callee != nullptr && (callee->kind == FunctionKind::Kernel || callee->kind == FunctionKind::Core),
             "calls no kernel or core")) {
    return;
  }
  size_t operand = 0;
  size_t scalars = 0;
  for (const Param& param : callee->params) {
    if (!param.is_tensor()) {
      if (scalars < op.exprs.size()) {
        check(function_.exprs.is_real(op.exprs[scalars], function_.symbols) == is_float(param.dtype),
              "a scalar argument has another type than the parameter");
      }
      ++scalars;
      continue;
    }
    if (operand < op.operands.size()) {
      argument(op.operands[operand], param);
      const Param* target = root(op.operands[operand]);
      if (target != nullptr) {
        check(param.mode == ParamMode::In || target->mode != ParamMode::In, "writes an input");
      }
    }
    ++operand;
  }
  check(operand == op.operands.size() && scalars == op.exprs.size(), "has a wrong number of arguments");
  check(op.task_dims.empty() || op.task_dims.size() == callee->dims.size(), "has a wrong number of dims");
}

}  // namespace pto::ir
