// Objects to bytes. Everything is written in the order it has in memory and nothing is shared, so equal objects have
// equal bytes.
#include "pto/object.h"
#include "pto/result.h"
#include "src/object/source_map.h"
#include "src/object/wire.h"

namespace pto::object {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

template <typename Tag>
uint32_t number(Id<Tag> id) {
  static_assert(kNoId == 0xFFFFFFFF);
  return id.index();
}

class Writer {
  template <typename Items, typename WriteOne>
  auto all(const Items& items, const WriteOne& write_one) {
    std::vector<decltype(write_one(*items.begin()))> offsets;
    offsets.reserve(items.size());
    for (const auto& item : items) {
      offsets.push_back(write_one(item));
    }
    return builder_.CreateVector(offsets);
  }

  Offset<flatbuffers::String> text(const std::string& value) { return builder_.CreateString(value); }

  // Optional texts and lists are left out when they are empty.
  Offset<flatbuffers::String> optional_text(const std::string& value) {
    return value.empty() ? Offset<flatbuffers::String>() : text(value);
  }

  template <typename IdT>
  Offset<flatbuffers::Vector<uint32_t>> ids(const std::vector<IdT>& list) {
    if (list.empty()) {
      return {};
    }
    std::vector<uint32_t> numbers;
    numbers.reserve(list.size());
    for (const IdT id : list) {
      numbers.push_back(number(id));
    }
    return builder_.CreateVector(numbers);
  }

  auto write(const ExprPool& pool) {
    std::vector<wire::ExprNode> nodes;
    nodes.reserve(pool.size());
    for (uint32_t i = 0; i < pool.size(); ++i) {
      const ExprNode& node = pool[ExprId(i)];
      int64_t value = node.value;
      if (node.op == ExprOp::Float) {
        std::memcpy(&value, &node.fvalue, sizeof value);
      } else if (node.op == ExprOp::Sym) {
        value = node.sym.index();
      }
      nodes.emplace_back(value, number(node.a), number(node.b), to_wire(kExprOps, node.op));
    }
    return builder_.CreateVectorOfStructs(nodes);
  }

  Offset<wire::Symbol> write(const Symbol& symbol) {
    return wire::CreateSymbol(builder_, text(symbol.name), to_wire(kSymKinds, symbol.kind),
                              static_cast<uint8_t>(symbol.dtype));
  }

  Offset<wire::Param> write(const Param& param) {
    const auto name = text(param.name);
    const auto doc = optional_text(param.doc);
    const auto dims = ids(param.dims);
    wire::ParamBuilder out(builder_);
    out.add_name(name);
    out.add_doc(doc);
    out.add_dtype(static_cast<uint8_t>(param.dtype));
    out.add_is_tensor(param.is_tensor);
    out.add_mode(to_wire(kParamModes, param.mode));
    out.add_dims(dims);
    out.add_sym(number(param.sym));
    if (param.default_value) {
      out.add_default_value(*param.default_value);
    }
    return out.Finish();
  }

  Offset<wire::View> write(const View& view) {
    const auto name = text(view.name);
    return wire::CreateView(builder_, name, number(view.base), ids(view.dims));
  }

  Offset<wire::Buffer> write(const isa::Buffer& buffer) {
    return wire::CreateBuffer(builder_, text(buffer.name), static_cast<uint8_t>(buffer.tile.dtype), buffer.tile.rows,
                              buffer.tile.cols, to_wire(kLayouts, buffer.tile.layout),
                              to_wire(kSpaces, buffer.tile.space), buffer.address, buffer.slots, buffer.slot_stride);
  }

  Offset<wire::Ring> write(const isa::Ring& ring) {
    return wire::CreateRing(builder_, text(ring.name), to_wire(kRingDirections, ring.direction),
                            static_cast<uint8_t>(ring.dtype), ring.rows, ring.cols, ring.slots,
                            to_wire(kSplits, ring.split));
  }

  // Only the fields that the operand's kind uses.
  Offset<wire::Operand> write(const isa::Operand& operand) {
    if (isa::is_tile(operand.kind)) {
      return wire::CreateOperand(builder_, number(operand.buffer), number(operand.slot));
    }
    if (isa::is_gm(operand.kind)) {
      const auto offsets = ids(operand.offsets);
      return wire::CreateOperand(builder_, kNoId, kNoId, number(operand.tensor), offsets);
    }
    if (operand.kind == isa::OperandKind::Ring) {
      return wire::CreateOperand(builder_, kNoId, kNoId, kNoId, 0, kNoId, kNoId, 0, number(operand.ring));
    }
    const uint8_t attribute = attribute_to_wire(operand.kind, operand.attribute).value_or(0);
    return wire::CreateOperand(builder_, kNoId, kNoId, kNoId, 0, number(operand.a), number(operand.b), attribute);
  }

  Offset<wire::Stmt> write(const Stmt& stmt) {
    const wire::StmtKind kind = to_wire(kStmtKinds, stmt.kind);
    switch (stmt.kind) {
      case StmtKind::For:
        return wire::CreateStmt(builder_, kind, 0, 0, number(stmt.sym), number(stmt.lo), number(stmt.hi),
                                number(stmt.step));
      case StmtKind::Let:
        return wire::CreateStmt(builder_, kind, 0, 0, number(stmt.sym), kNoId, kNoId, kNoId, number(stmt.value));
      case StmtKind::If:
        return wire::CreateStmt(builder_, kind, 0, 0, kNoId, kNoId, kNoId, kNoId, number(stmt.value));
      case StmtKind::EndFor:
      case StmtKind::Else:
      case StmtKind::EndIf:
        return wire::CreateStmt(builder_, kind);
      case StmtKind::Inst:
        break;
    }
    const auto operands = all(stmt.inst.operands, [&](const isa::Operand& operand) { return write(operand); });
    return wire::CreateStmt(builder_, kind, isa::info(stmt.inst.opcode).wire_code, operands);
  }

  Offset<wire::Core> write(const Core& core) {
    const auto name = text(core.name);
    const auto doc = optional_text(core.doc);
    const auto exprs = write(core.exprs);
    const auto symbols = all(core.symbols, [&](const Symbol& symbol) { return write(symbol); });
    const auto dims = ids(core.dims);
    const auto params = all(core.params, [&](const Param& param) { return write(param); });
    const auto views = all(core.views, [&](const View& view) { return write(view); });
    const auto buffers = all(core.buffers, [&](const isa::Buffer& buffer) { return write(buffer); });
    const auto code = all(core.code, [&](const Stmt& stmt) { return write(stmt); });
    const auto rings = core.rings.empty() ? Offset<flatbuffers::Vector<Offset<wire::Ring>>>()
                                          : all(core.rings, [&](const isa::Ring& ring) { return write(ring); });
    return wire::CreateCore(builder_, name, doc, to_wire(kCoreKinds, core.kind), exprs, symbols, dims, params, views,
                            buffers, code, rings);
  }

  Offset<wire::Argument> write(const Argument& argument) {
    return argument.is_tensor ? wire::CreateArgument(builder_, true, argument.tensor)
                              : wire::CreateArgument(builder_, false, 0, number(argument.scalar));
  }

  Offset<wire::TaskLanes> write(const TaskLanes& lanes) {
    const auto args = all(lanes.args, [&](const Argument& argument) { return write(argument); });
    return wire::CreateTaskLanes(builder_, lanes.core, args, ids(lanes.dims), static_cast<uint8_t>(lanes.lanes));
  }

  Offset<wire::Task> write(const Task& task) {
    const auto name = text(task.name);
    const auto args = all(task.args, [&](const Argument& argument) { return write(argument); });
    const auto dims = ids(task.dims);
    const auto after = task.after.empty() ? Offset<flatbuffers::Vector<uint32_t>>() : builder_.CreateVector(task.after);
    const auto vec = task.vec ? write(*task.vec) : Offset<wire::TaskLanes>();
    return wire::CreateTask(builder_, name, task.core, args, dims, number(task.blocks), after, vec);
  }

  Offset<wire::WorkBuffer> write(const WorkBuffer& buffer) {
    const auto name = text(buffer.name);
    return wire::CreateWorkBuffer(builder_, name, static_cast<uint8_t>(buffer.dtype), ids(buffer.dims),
                                  number(buffer.offset));
  }

  Offset<wire::Constraint> write(const Constraint& constraint) {
    return wire::CreateConstraint(builder_, number(constraint.condition), optional_text(constraint.text));
  }

  Offset<wire::Program> write(const Program& program) {
    const auto name = text(program.name);
    const auto doc = optional_text(program.doc);
    const auto exprs = write(program.exprs);
    const auto symbols = all(program.symbols, [&](const Symbol& symbol) { return write(symbol); });
    const auto dims = ids(program.dims);
    const auto params = all(program.params, [&](const Param& param) { return write(param); });
    const auto constraints = all(program.constraints, [&](const Constraint& constraint) { return write(constraint); });
    const auto buffers = all(program.buffers, [&](const WorkBuffer& buffer) { return write(buffer); });
    const auto tasks = all(program.tasks, [&](const Task& task) { return write(task); });
    return wire::CreateProgram(builder_, name, doc, exprs, symbols, dims, params, constraints, buffers,
                               number(program.workspace_bytes), tasks);
  }

 public:
  std::vector<uint8_t> run(const Object& object, bool source_map) {
    // First, because the builder works from the end: the map becomes the file's last part.
    const auto map = builder_.CreateVector(source_map ? write_source_map(object) : std::vector<uint8_t>());
    const auto target = builder_.CreateString(object.target);
    const auto cores = all(object.cores, [&](const Core& core) { return write(core); });
    const auto programs = all(object.programs, [&](const Program& program) { return write(program); });
    wire::FinishObjectBuffer(
        builder_, wire::CreateObject(builder_, object.version, target, object.target_hash, cores, programs, map));
    return {builder_.GetBufferPointer(), builder_.GetBufferPointer() + builder_.GetSize()};
  }

 private:
  FlatBufferBuilder builder_;
};

}  // namespace

std::vector<uint8_t> write(const Object& object, bool source_map) {
  return Writer().run(object, source_map);
}

}  // namespace pto::object
