// Pairs: an object has a task with two cores where the IR has a task of a pair, and the way back makes the pair again.
#include <catch2/catch.hpp>

#include "src/codegen/codegen.h"
#include "tests/unit/ir/samples.h"

namespace pto::codegen {
namespace {

using ir::samples::Builder;
using isa::Opcode;
using isa::OperandKind;
using isa::Pipe;

Target target_of(const char* name) {
  DiagnosticSink sink;
  Result<Target> target = builtin_target(name, sink);
  REQUIRE(target.ok());
  return *target;
}

object::Object emit_all(const ir::Module& module, const char* target = "a2a3") {
  std::vector<std::string> violations;
  const bool valid = ir::verify(module, violations);
  for (const std::string& violation : violations) {
    UNSCOPED_INFO(violation);
  }
  REQUIRE(valid);
  DiagnosticSink sink;
  Result<object::Object> object = emit(module, target_of(target), nullptr, sink);
  UNSCOPED_INFO(render_text(sink, nullptr, {}));
  REQUIRE(object.ok());
  return *object;
}

isa::Operand ring(uint32_t index) {
  isa::Operand operand;
  operand.kind = OperandKind::Ring;
  operand.ring = isa::RingId(index);
  return operand;
}

isa::Ring ring_named(const std::string& name, isa::Split split) {
  return {name, isa::RingDirection::C2V, DType::F32, 64, 64, 2, split};
}

// A core that fills or empties rings `names`, in that order of declaration. The cube core has dims K, M, the vector
// core M.
ir::Function core(CoreKind kind, const std::string& name, const std::vector<std::string>& names, isa::Split split) {
  Builder b(ir::FunctionKind::Core, name);
  b.f.core_kind = kind;
  const bool cube = kind == CoreKind::Cube;
  const ExprId k = cube ? b.dim("K") : ExprId();
  const ExprId m = b.dim("M");
  for (const std::string& each : names) {
    b.f.rings.push_back(ring_named(each, split));
    b.f.ring_spans.emplace_back();
  }
  const ExprId zero = b.num(0);
  if (cube) {
    b.param("x", Builder::tensor(DType::F16, {m, k}));
    b.scalar_param("turns", DType::I32);
    const isa::BufferId acc = b.buf("acc", {DType::F32, 64, 64, Layout::Nz, Space::Acc}, 0);
    for (uint32_t i = 0; i < names.size(); ++i) {
      b.inst(Opcode::TPush, {ring(i), Builder::tile_operand(OperandKind::TileIn, acc)});
    }
    return std::move(b.f);
  }
  b.scalar_param("scale", DType::F32);
  b.scalar_param("turns", DType::I32);
  b.param("y", Builder::tensor(DType::F32, {m, b.num(64)}), ir::ParamMode::Out);
  const int64_t rows = split == isa::Split::Rows ? 32 : 64;
  const isa::BufferId p = b.buf("p", {DType::F32, rows, 64, Layout::ND, Space::Vec}, 0);
  for (uint32_t i = 0; i < names.size(); ++i) {
    b.inst(Opcode::TPop,
           {Builder::tile_operand(OperandKind::TileOut, p), ring(i), Builder::value(OperandKind::Valid, {})});
  }
  b.flag(Opcode::SetFlag, Pipe::MTE2, Pipe::MTE3, zero);
  b.flag(Opcode::WaitFlag, Pipe::MTE2, Pipe::MTE3, zero);
  const ExprId row = b.let("row", b.e().mul(b.e().leaf(ExprOp::LaneIndex), b.num(rows)));
  b.inst(Opcode::TStore,
         {Builder::gm(OperandKind::GmOut, 0, {row, zero}), Builder::tile_operand(OperandKind::TileIn, p)});
  return std::move(b.f);
}

// What the parameters of both cores are together: inputs in the order of cores, then outputs.
ir::Function pair(const std::string& name, const std::string& cube, const std::string& vec, int64_t lanes) {
  Builder b(ir::FunctionKind::Pair, name);
  const ExprId k = b.dim("K");
  const ExprId m = b.dim("M");
  b.param("x", Builder::tensor(DType::F16, {m, k}));
  b.scalar_param("turns", DType::I32);
  b.scalar_param("scale", DType::F32);
  b.param("y", Builder::tensor(DType::F32, {m, b.num(64)}), ir::ParamMode::Out);
  b.f.pair_cube = cube;
  b.f.pair_vec = vec;
  b.f.lanes = lanes;
  return std::move(b.f);
}

struct Call {
  std::string task;
  std::string callee;
  bool lanes_only = false;
};

ir::Module module_of(std::vector<ir::Function> functions, const std::vector<Call>& calls) {
  ir::Module module;
  module.functions = std::move(functions);
  Builder b(ir::FunctionKind::Program, "main");
  const ExprId k = b.dim("A");
  const ExprId m = b.dim("B");
  const ir::ValueId x = b.param("x", Builder::tensor(DType::F16, {m, k}));
  const ir::ValueId y = b.param("y", Builder::tensor(DType::F32, {m, b.num(64)}), ir::ParamMode::Out);
  std::vector<ir::OpId> tasks;
  for (const Call& call : calls) {
    ir::Op op = b.op(ir::OpKind::Task, {x, y}, {b.num(3), b.e().real(0.5)});
    op.name = call.task;
    op.callee = call.callee;
    op.task_dims = {k, m};
    op.blocks = b.num(2);
    op.after = tasks;
    tasks.push_back(b.run(std::move(op)));
  }
  module.functions.push_back(std::move(b.f));
  return module;
}

ir::Module one_pair() {
  return module_of({core(CoreKind::Cube, "up", {"s"}, isa::Split::Rows),
                    core(CoreKind::Vec, "down", {"s"}, isa::Split::Rows), pair("up_pair", "up", "down", 2)},
                   {{"t0", "up_pair"}});
}

}  // namespace

TEST_CASE("a task of a pair has both cores, each with its own arguments") {
  const object::Object object = emit_all(one_pair());
  REQUIRE(object.cores.size() == 2);
  CHECK(object.cores[0].rings == std::vector<isa::Ring>{ring_named("s", isa::Split::Rows)});
  CHECK(object.cores[1].rings == object.cores[0].rings);
  REQUIRE(object.programs.size() == 1);
  const object::Program& main = object.programs[0];
  REQUIRE(main.tasks.size() == 1);
  const object::Task& task = main.tasks[0];
  const auto text = [&](ExprId id) { return main.exprs.print(id, main.symbols); };
  CHECK(task.core == 0);
  REQUIRE(task.args.size() == 2);  // x, turns
  CHECK(task.args[0].tensor == 0);
  CHECK(text(task.args[1].scalar) == "3");
  REQUIRE(task.dims.size() == 2);  // K, M
  CHECK(text(task.dims[0]) == "A");
  CHECK(text(task.dims[1]) == "B");
  REQUIRE(task.vec);
  CHECK(task.vec->core == 1);
  CHECK(task.vec->lanes == 2);
  REQUIRE(task.vec->args.size() == 3);  // scale, turns, y
  CHECK(text(task.vec->args[0].scalar) == "0.5");
  CHECK(text(task.vec->args[1].scalar) == "3");
  CHECK(task.vec->args[2].tensor == 1);
  REQUIRE(task.vec->dims.size() == 1);  // M
  CHECK(text(task.vec->dims[0]) == "B");
}

TEST_CASE("pairs survive the way to an object and back") {
  const auto check = [](const ir::Module& module) {
    const object::Object object = emit_all(module);
    const ir::Module lifted = lift(object);
    CHECK(ir::print(lifted) == ir::print(module));
    CHECK(ir::equal(lifted, module));
    const std::vector<uint8_t> bytes = object::write(object);
    CHECK(object::write(emit_all(lifted)) == bytes);
    DiagnosticSink sink;
    const Result<object::Object> read = object::read(bytes, "x.ptobin", sink);
    REQUIRE(read.ok());
    CHECK(object::write(emit_all(lift(*read))) == bytes);
  };
  check(one_pair());
  // Two tasks of one pair, and the same cores again on one lane: one pair each.
  check(module_of({core(CoreKind::Cube, "up", {"s", "t"}, isa::Split::None),
                   core(CoreKind::Vec, "down", {"s", "t"}, isa::Split::None), pair("up_pair", "up", "down", 2),
                   pair("f0", "up", "down", 1)},
                  {{"t0", "up_pair"}, {"t1", "f0"}, {"t2", "up_pair"}}));
}

TEST_CASE("the name of a pair is not in the object") {
  ir::Module module = one_pair();
  const std::vector<uint8_t> bytes = object::write(emit_all(module));
  module.functions[2].name = "other";
  for (ir::Op& op : module.functions[3].ops) {
    op.callee = "other";
  }
  CHECK(object::write(emit_all(module)) == bytes);
}

TEST_CASE("a tensor that one core reads and the other writes is the pair's to read and write") {
  ir::Module module = one_pair();
  object::Object object = emit_all(module);
  // The vector core's `y` gets the name and shape of another input of the cube core.
  object::Param extra;
  extra.name = "y";
  extra.dtype = DType::F32;
  extra.dims = object.cores[0].params[0].dims;
  extra.dims[1] = object.cores[0].exprs.integer(64);
  object.cores[0].params.push_back(extra);
  object.programs[0].tasks[0].args.push_back({true, 1, {}});
  const ir::Module lifted = lift(object);
  const ir::Function* pair = lifted.find("up_pair");
  REQUIRE(pair != nullptr);
  std::vector<std::string> names;
  for (const ir::Param& param : pair->params) {
    names.push_back(param.name);
  }
  CHECK(names == std::vector<std::string>{"x", "turns", "y", "scale"});
  CHECK(pair->params[2].mode == ir::ParamMode::InOut);
  CHECK(object::write(emit_all(lifted)) == object::write(object));
}

}  // namespace pto::codegen
