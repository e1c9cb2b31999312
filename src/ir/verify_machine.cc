// Cores, pairs and programs.
#include <algorithm>
#include <set>
#include <span>

#include "src/ir/names.h"
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
  rings();
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

void Verifier::rings() {
  std::set<std::string> names;  // in the text a ring keeps its name, so nothing else may have it
  for (SymId dim : function_.dims) {
    names.insert(function_.symbols[dim.index()].name);
  }
  for (const Param& param : function_.params) {
    names.insert(param.name);
  }
  check(function_.rings.size() <= isa::kMaxRings, "has too many rings");
  for (const isa::Ring& ring : function_.rings) {
    check(is_identifier(ring.name) && names.insert(ring.name).second, "a ring's name is no identifier or taken");
    check(ring.rows > 0 && ring.cols > 0 && ring.dtype != DType::None, "a ring's tile is incomplete");
    check(ring.slots >= 1 && ring.slots <= isa::kMaxRingSlots, "a ring has a wrong number of slots");
    check((ring.split != isa::Split::Rows || ring.rows % 2 == 0) &&
              (ring.split != isa::Split::Cols || ring.cols % 2 == 0),
          "a ring's tile has no halves");
  }
}

void Verifier::pair() {
  check(function_.body_region().ops.empty(), "a pair has a body");
  check(function_.lanes == 1 || function_.lanes == 2, "a pair has a wrong number of lanes");
  pair_member(function_.pair_cube, CoreKind::Cube);
  pair_member(function_.pair_vec, CoreKind::Vec);
  const Function* cube = module_.find(function_.pair_cube);
  const Function* vec = module_.find(function_.pair_vec);
  if (cube != nullptr && vec != nullptr) {
    check(cube->rings == vec->rings, "the cores of a pair have different rings");
    check(function_.lanes == 2 || std::all_of(cube->rings.begin(), cube->rings.end(),
                                              [](const isa::Ring& ring) { return ring.split == isa::Split::None; }),
          "a pair of one lane splits a ring");
  }
}

// Every dim and parameter of the core is one of the pair's by name.
void Verifier::pair_member(const std::string& name, CoreKind kind) {
  const Function* core = module_.find(name);
  if (!check(core != nullptr && core->kind == FunctionKind::Core && core->core_kind == kind,
             kind == CoreKind::Cube ? "a pair's cube core is none" : "a pair's vec core is none")) {
    return;
  }
  for (SymId dim : core->dims) {
    const bool known = std::any_of(function_.dims.begin(), function_.dims.end(), [&](SymId own) {
      return function_.symbols[own.index()].name == core->symbols.at(dim.index()).name;
    });
    check(known, "a core of a pair has a dim that the pair has not");
  }
  for (const Param& param : core->params) {
    const auto own = std::find_if(function_.params.begin(), function_.params.end(),
                                  [&](const Param& each) { return each.name == param.name; });
    if (!check(own != function_.params.end(), "a core of a pair has a parameter that the pair has not")) {
      continue;
    }
    check(own->mode == param.mode || own->mode == ParamMode::InOut,
          "a core's parameter has a mode that the pair's has not");
    const bool same = own->is_tensor() == param.is_tensor() && own->dtype == param.dtype &&
                      (!param.is_tensor() || type_text(function_, own->type) == type_text(*core, param.type));
    check(same, "a core's parameter has another type than the pair's");
  }
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
    case OperandKind::Ring:
      check(operand.ring.index() < function_.rings.size(), "an operand's ring is out of range");
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
  if (!check(callee != nullptr && (callee->kind == FunctionKind::Kernel || level_of(callee->kind) == Level::Block),
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
