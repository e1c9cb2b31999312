// Emission to objects and back: hand-built modules, what each field holds, and random cores and programs.
#include "src/codegen/codegen.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/ir/random_module.h"
#include "tests/unit/ir/samples.h"

namespace pto::codegen {
namespace {

using ir::samples::Builder;

Target a2a3() {
  DiagnosticSink sink;
  Result<Target> target = builtin_target("a2a3", sink);
  REQUIRE(target.ok());
  return *target;
}

object::Object emit_all(const ir::Module& module, const SourceManager* sources = nullptr) {
  std::vector<std::string> violations;
  const bool valid = ir::verify(module, violations);
  for (const std::string& violation : violations) {
    UNSCOPED_INFO(violation);
  }
  REQUIRE(valid);
  DiagnosticSink sink;
  Result<object::Object> object = emit(module, a2a3(), sources, sink);
  UNSCOPED_INFO(render_text(sink, nullptr, {}));
  REQUIRE(object.ok());
  return *object;
}

// Through the file and back to text, which must not change, and to bytes, which must not either.
void check_round_trip(const ir::Module& module) {
  const object::Object object = emit_all(module);
  const ir::Module lifted = lift(object);
  REQUIRE(ir::print(lifted) == ir::print(module));
  REQUIRE(ir::equal(lifted, module));
  const std::vector<uint8_t> bytes = object::write(object);
  const object::Object again = emit_all(lifted);
  REQUIRE(object::write(again) == bytes);
  DiagnosticSink sink;
  const Result<object::Object> read = object::read(bytes, "x.ptobin", sink);
  REQUIRE(read.ok());
  REQUIRE(ir::print(lift(*read)) == ir::print(module));
  REQUIRE(object::write(emit_all(lift(*read))) == bytes);
}

TEST_CASE("the samples survive the way to an object and back") {
  check_round_trip(ir::samples::block_module());
  check_round_trip(ir::samples::exec_module());
}

TEST_CASE("graphs and kernels are not emitted") {
  ir::Module module = ir::samples::tile_module();
  const object::Object object = emit_all(module);
  CHECK(object.cores.empty());
  CHECK(object.programs.empty());
  CHECK(object.target == "a2a3");
  CHECK(object.target_hash == a2a3().hash);
}

TEST_CASE("a core's parts") {
  const object::Object object = emit_all(ir::samples::block_module());
  REQUIRE(object.cores.size() == 2);
  const object::Core& scale = object.cores[0];
  CHECK(scale.name == "scale");
  CHECK(scale.kind == CoreKind::Vec);
  REQUIRE(scale.symbols.size() == 4);
  CHECK(scale.symbols[0] == Symbol{"M", SymKind::Dim, DType::I64});
  CHECK(scale.symbols[1] == Symbol{"factor", SymKind::Scalar, DType::F32});
  CHECK(scale.symbols[2] == Symbol{"i", SymKind::Loop, DType::I64});
  CHECK(scale.symbols[3] == Symbol{"row", SymKind::Let, DType::I64});
  REQUIRE(scale.params.size() == 3);
  CHECK(scale.params[0].is_tensor);
  CHECK_FALSE(scale.params[1].is_tensor);
  CHECK(scale.params[1].sym == SymId(1));
  CHECK(scale.params[2].mode == object::ParamMode::Out);
  CHECK(scale.exprs.print(scale.params[2].dims.at(0), scale.symbols) == "M");
  CHECK(scale.code.front().kind == object::StmtKind::For);
  CHECK(scale.code.at(1).kind == object::StmtKind::Let);
  CHECK(scale.code.back().kind == object::StmtKind::EndFor);
  CHECK(scale.code.size() == 13);

  const object::Core& product = object.cores[1];
  CHECK(product.doc == "One block of a product.");
  CHECK(product.params.at(0).doc == "left");
  REQUIRE(product.views.size() == 1);
  CHECK(product.views[0].name == "flat");
  CHECK(product.views[0].base == isa::TensorId(0));
  CHECK(product.buffers.at(0).slot_stride == 1024);
  CHECK(product.buffers.at(1).slot_stride == 0x1000);
  std::vector<object::StmtKind> kinds;
  for (const object::Stmt& stmt : product.code) {
    if (stmt.kind != object::StmtKind::Inst) {
      kinds.push_back(stmt.kind);
    }
  }
  using K = object::StmtKind;
  CHECK(kinds == std::vector<K>{K::For, K::If, K::Else, K::EndIf, K::EndFor});
}

TEST_CASE("a program's parts") {
  const object::Object object = emit_all(ir::samples::exec_module());
  REQUIRE(object.programs.size() == 1);
  const object::Program& twice = object.programs[0];
  CHECK(twice.params.at(1).default_value == 2.0);
  REQUIRE(twice.constraints.size() == 1);
  CHECK(twice.constraints[0].text == "M % 16 == 0");
  REQUIRE(twice.buffers.size() == 2);
  // spare: 0 .. M * 256, h: M * 256 .. M * 512.
  for (int64_t m : {1, 16, 1000}) {
    const std::vector<int64_t> ints = {m, 0};
    const std::vector<double> floats = {0, 2.0};
    CHECK(twice.exprs.evaluate(twice.workspace_bytes, {ints, floats, 0, 1}) == 512 * m);
  }
  REQUIRE(twice.tasks.size() == 3);
  const object::Task& last = twice.tasks[2];
  CHECK(last.name == "last");
  CHECK(last.core == 0);
  REQUIRE(last.args.size() == 3);
  // Tensors: x, y, spare, h.
  CHECK(last.args[0].tensor == 3);
  CHECK_FALSE(last.args[1].is_tensor);
  CHECK(twice.exprs.print(last.args[1].scalar, twice.symbols) == "1.0 / factor");
  CHECK(last.args[2].tensor == 1);
  CHECK(last.after == std::vector<uint32_t>{0, 1});
  CHECK(twice.exprs.print(last.dims.at(0), twice.symbols) == "M");
  CHECK(twice.exprs.print(last.blocks, twice.symbols) == "min(48, ceildiv(M, 16))");
}

TEST_CASE("a program without workspace needs none, one with odd types rounds up") {
  ir::Module module;
  Builder b(ir::FunctionKind::Program, "p");
  b.param("x", Builder::tensor(DType::F32, {b.num(4)}));
  module.functions.push_back(b.f);
  object::Object object = emit_all(module);
  CHECK(object.programs[0].exprs.constant(object.programs[0].workspace_bytes) == 0);

  b.add(b.op(ir::OpKind::Buffer, {}, {b.num(64)}), Builder::tensor(DType::I4, {b.num(3), b.num(5)}), "nibbles");
  module.functions[0] = b.f;
  object = emit_all(module);
  CHECK(object.programs[0].exprs.constant(object.programs[0].workspace_bytes) == 64 + 8);
}

TEST_CASE("what stands in the object depends on the text alone") {
  // The same core with other ids, unused symbols and expressions, and names that print alike.
  ir::Module module = ir::samples::block_module();
  const std::vector<uint8_t> bytes = object::write(emit_all(module), false);
  Builder b(ir::FunctionKind::Core, "scale");
  b.e().integer(12345);
  b.symbol("ghost", SymKind::Let);
  const ir::Function& old = module.functions[0];
  ir::Function moved = old;
  moved.exprs = ExprPool();
  moved.symbols.clear();
  moved.exprs.integer(12345);
  moved.add_symbol({"ghost", SymKind::Let, DType::I64});
  for (const Symbol& symbol : old.symbols) {
    const SymId id = moved.add_symbol(symbol);
    if (is_float(symbol.dtype)) {
      moved.exprs.mark_real(id);
    }
  }
  auto shift = [](SymId sym) { return SymId(sym.index() + 1); };
  auto expr = [&](ExprId& id) {
    if (id.valid()) {
      id = moved.exprs.import(old.exprs, id, [&](SymId sym) { return moved.exprs.symbol(shift(sym)); });
    }
  };
  // Backwards, so that ids come in another order.
  for (uint32_t i = static_cast<uint32_t>(moved.ops.size()); i-- > 0;) {
    ir::Op& op = moved.ops[ir::OpId(i)];
    std::for_each(op.exprs.begin(), op.exprs.end(), expr);
    for (SymId& sym : op.syms) {
      sym = shift(sym);
    }
    for (isa::Operand& operand : op.inst.operands) {
      expr(operand.slot);
      expr(operand.a);
      expr(operand.b);
      std::for_each(operand.offsets.begin(), operand.offsets.end(), expr);
    }
  }
  for (SymId& dim : moved.dims) {
    dim = shift(dim);
  }
  for (ir::Param& param : moved.params) {
    if (param.is_tensor()) {
      std::for_each(param.type.dims.begin(), param.type.dims.end(), expr);
      moved.values[param.value].type = param.type;
    } else {
      param.sym = shift(param.sym);
    }
  }
  module.functions[0] = moved;
  CHECK(object::write(emit_all(module), false) == bytes);
}

TEST_CASE("locations") {
  SourceManager sources;
  sources.add("unused.pto", "nothing");
  const uint16_t file = sources.add("k.pto", "line one\n  here\n");
  ir::Module module = ir::samples::block_module();
  for (ir::Op& op : module.functions[0].ops) {
    op.spans = {{file, 4, 11}};
  }
  module.functions[0].span = {file, 1, 0};
  const object::Object object = emit_all(module, &sources);
  CHECK(object.source_files == std::vector<std::string>{"k.pto"});
  CHECK(object.cores[0].location == object::Location{1, 1, 1});
  CHECK(object.cores[0].code.front().location == object::Location{1, 2, 3});
  CHECK(object.cores[0].code.back().location == object::Location{1, 2, 3});
  CHECK(object.cores[1].code.front().location == object::Location{});
  // The source map aside, it is the object without sources.
  CHECK(object::write(object, false) == object::write(emit_all(module), false));
  CHECK(object::write(object) != object::write(emit_all(module)));
}

TEST_CASE("an object that the machine can't run is refused") {
  ir::Module module = ir::samples::block_module();
  module.functions[0].buffers[1].address = 0x1004;
  DiagnosticSink sink;
  CHECK_FALSE(emit(module, a2a3(), nullptr, sink).ok());
  REQUIRE(sink.has_errors());
  CHECK(sink.all()[0].message.find("`u`") != std::string::npos);
}

TEST_CASE("names of another tool's object are made spellable") {
  object::Object object = emit_all(ir::samples::exec_module());
  object.cores[0].name = "a core";
  object.cores[0].buffers[0].name = "for";
  object.cores[0].params[0].name = "x y";
  object.cores.push_back(object.cores[0]);
  object.programs[0].tasks[0].name = "";
  const ir::Module module = lift(object);
  std::vector<std::string> violations;
  CHECK(ir::verify(module, violations));
  CHECK(violations.empty());
  CHECK(module.functions[0].name != module.functions[1].name);
  CHECK(ir::print(module).find("buf for1: ") != std::string::npos);
}

TEST_CASE("random modules survive the way to an object and back") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    check_round_trip(ir::samples::random_module(seed));
  }
}

}  // namespace
}  // namespace pto::codegen
