// A core's views, buffers and code.
#include <algorithm>

#include "pto/result.h"
#include "src/codegen/unit.h"

namespace pto::codegen {

namespace {

class CoreEmitter {
 public:
  CoreEmitter(const ir::Function& function, Locations& locations)
      : unit_(function, core_.exprs, core_.symbols), locations_(locations) {}

  object::Core run() {
    const ir::Function& function = unit_.function;
    core_.name = function.name;
    core_.doc = function.doc;
    core_.kind = function.core_kind;
    core_.location = locations_.at(function.span);
    unit_.signature(false, core_.dims, core_.params);
    for (size_t i = 0; i < function.buffers.size(); ++i) {
      add_buffer(i);
    }
    core_.rings = function.rings;
    region(function.body);
    return std::move(core_);
  }

 private:
  void add_buffer(size_t index) {
    isa::Buffer buffer = unit_.function.buffers[index];
    PTO_CHECK(buffer.address >= 0, "a buffer was not placed");
    buffer.name = unit_.names.buffers[index];
    if (buffer.slots == 1) {
      buffer.slot_stride = 0;
    } else if (buffer.slot_stride == 0) {
      buffer.slot_stride = buffer.tile.bytes();
    }
    core_.buffers.push_back(std::move(buffer));
  }

  void region(ir::RegionId region) {
    for (ir::OpId id : unit_.function.regions[region].ops) {
      statement(unit_.function.ops[id]);
    }
  }

  void statement(const ir::Op& op) {
    object::Stmt stmt;
    stmt.location = locations_.at(op.span());
    switch (op.kind) {
      case ir::OpKind::Reshape:
        return view(op);
      case ir::OpKind::Yield:
        return;
      case ir::OpKind::Let:
        stmt.kind = object::StmtKind::Let;
        stmt.value = unit_.expr(op.exprs.at(0));
        stmt.sym = unit_.define(op.syms.at(0));
        break;
      case ir::OpKind::Inst:
        stmt.kind = object::StmtKind::Inst;
        stmt.inst = instruction(op.inst);
        break;
      case ir::OpKind::For:
        return loop(op, std::move(stmt));
      case ir::OpKind::If:
        return branch(op, std::move(stmt));
      default:
        PTO_CHECK(false, "an operation of another level stands in a core");
    }
    core_.code.push_back(std::move(stmt));
  }

  void loop(const ir::Op& op, object::Stmt stmt) {
    stmt.kind = object::StmtKind::For;
    stmt.lo = unit_.expr(op.exprs.at(0));
    stmt.hi = unit_.expr(op.exprs.at(1));
    stmt.step = unit_.expr(op.exprs.at(2));
    stmt.sym = unit_.define(op.syms.at(0));
    const object::Location location = stmt.location;
    core_.code.push_back(std::move(stmt));
    region(op.regions.at(0));
    close(object::StmtKind::EndFor, location);
  }

  void branch(const ir::Op& op, object::Stmt stmt) {
    stmt.kind = object::StmtKind::If;
    stmt.value = unit_.expr(op.exprs.at(0));
    const object::Location location = stmt.location;
    core_.code.push_back(std::move(stmt));
    region(op.regions.at(0));
    if (!unit_.function.regions[op.regions.at(1)].ops.empty()) {
      close(object::StmtKind::Else, location);
      region(op.regions[1]);
    }
    close(object::StmtKind::EndIf, location);
  }

  // The end of a part of a statement, which stands where the statement does.
  void close(object::StmtKind kind, const object::Location& location) {
    object::Stmt stmt;
    stmt.kind = kind;
    stmt.location = location;
    core_.code.push_back(std::move(stmt));
  }

  void view(const ir::Op& op) {
    const std::vector<ir::ValueId>& tensors = unit_.function.tensors;
    const auto base = std::find(tensors.begin(), tensors.end(), op.operands.at(0));
    PTO_CHECK(base != tensors.end(), "a view of something that is no tensor of the core");
    object::View view;
    view.name = unit_.names.values.at(op.results.at(0).index());
    view.base = isa::TensorId(static_cast<uint32_t>(base - tensors.begin()));
    view.dims = unit_.list(unit_.function.type(op.results[0]).dims);
    core_.views.push_back(std::move(view));
  }

  isa::Inst instruction(const isa::Inst& from) {
    isa::Inst to = from;
    for (isa::Operand& operand : to.operands) {
      operand.slot = unit_.optional(operand.slot);
      operand.offsets = unit_.list(operand.offsets);
      operand.a = unit_.optional(operand.a);
      operand.b = unit_.optional(operand.b);
    }
    return to;
  }

  object::Core core_;
  Unit unit_;
  Locations& locations_;
};

}  // namespace

object::Core emit_core(const ir::Function& function, Locations& locations) {
  return CoreEmitter(function, locations).run();
}

}  // namespace pto::codegen
