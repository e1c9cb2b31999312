// Emission to objects and back: hand-built modules, what each field holds, and random cores and programs.
#include "src/codegen/codegen.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "tests/unit/ir/samples.h"

namespace pto::codegen {
namespace {

using ir::samples::Builder;
using isa::Opcode;
using isa::OperandKind;
using isa::Pipe;

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

// Random cores: nested loops, branches, lets and instructions that every family allows, with random index arithmetic.
class RandomCore {
 public:
  explicit RandomCore(uint32_t seed) : random_(seed), b_(ir::FunctionKind::Core, "core_" + std::to_string(seed)) {}

  ir::Function run() {
    if (pick(2) == 0) {
      b_.f.doc = "a comment\nin lines";
    }
    for (int i = 0; i < 1 + pick(2); ++i) {
      atoms_.push_back(b_.dim("D" + std::to_string(i)));
    }
    dims_ = atoms_;
    b_.param("x", Builder::tensor(DType::F32, {dims_[0], b_.num(64)}), ir::ParamMode::In, pick(2) == 0 ? "in" : "");
    if (pick(2) == 0) {
      scalars_.push_back(b_.scalar_param("s", DType::F32));
    }
    if (pick(2) == 0) {
      atoms_.push_back(b_.scalar_param("n", DType::I32));
    }
    const ir::ValueId c =
        b_.param("c", Builder::tensor(DType::F32, {dims_.back(), dims_[0], b_.num(64)}), ir::ParamMode::InOut);
    b_.param("y", Builder::tensor(DType::F32, {b_.e().mul(dims_[0], b_.num(2)), b_.num(64)}), ir::ParamMode::Out);
    if (pick(2) == 0) {
      const ir::ValueId view =
          b_.add(ir::OpKind::Reshape, {c},
                 Builder::tensor(DType::F32, {b_.num(64), b_.e().mul(dims_.back(), dims_[0])}), hint());
      b_.f.tensors.push_back(view);
      has_view_ = true;
    }
    for (int i = 0; i < 4; ++i) {
      b_.buf(hint(), {DType::F32, 8, 64, Layout::ND, Space::Vec}, 0x2000 * i, 1 + pick(3));
    }
    statements(0);
    return std::move(b_.f);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }

  std::string hint() {
    static const std::string kHints[] = {"", "a", "b", "i", "i1", "t0", "acc", "for", "v", "x"};
    return kHints[pick(10)];
  }

  ExprId index(int depth = 0) {
    const int choice = pick(depth > 2 ? 3 : 12);
    if (choice == 0) {
      return b_.num(pick(5) == 0 ? -pick(100) : pick(100));
    }
    if (choice < 3) {
      return pick(6) == 0 ? b_.e().leaf(pick(2) == 0 ? ExprOp::BlockIndex : ExprOp::BlockCount)
                          : atoms_[static_cast<size_t>(pick(static_cast<int>(atoms_.size())))];
    }
    static constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::Min, ExprOp::Max};
    static constexpr ExprOp kDivisions[] = {ExprOp::FloorDiv, ExprOp::CeilDiv, ExprOp::Mod};
    if (choice < 6) {
      return b_.e().make(kDivisions[pick(3)], index(depth + 1), b_.num(1 + pick(20)));
    }
    return b_.e().make(kOps[pick(5)], index(depth + 1), index(depth + 1));
  }

  ExprId condition() {
    static constexpr ExprOp kOps[] = {ExprOp::Lt, ExprOp::Le, ExprOp::Eq, ExprOp::Ne};
    const ExprId a = b_.e().make(kOps[pick(4)], index(), index());
    return pick(2) == 0 ? a : b_.e().make(pick(2) == 0 ? ExprOp::And : ExprOp::Or, a, condition());
  }

  ExprId real(int depth = 0) {
    if (depth > 2 || pick(2) == 0) {
      return scalars_.empty() || pick(2) == 0 ? b_.e().real((pick(2000) - 1000) / 64.0) : scalars_[0];
    }
    static constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::Div};
    return b_.e().make(kOps[pick(4)], real(depth + 1), real(depth + 1));
  }

  isa::Operand tile(OperandKind kind) {
    const auto number = static_cast<uint32_t>(pick(4));
    const int64_t slots = b_.f.buffers[number].slots;
    ExprId slot;
    if (pick(2) == 0) {
      slot = pick(2) == 0 ? b_.num(pick(static_cast<int>(slots))) : b_.e().make(ExprOp::Mod, index(), b_.num(slots));
    }
    return Builder::tile_operand(kind, isa::BufferId(number), slot);
  }

  isa::Operand gm(bool store) {
    const int choice = pick(has_view_ ? 3 : 2);
    if (choice == 0) {
      return Builder::gm(store ? OperandKind::GmOut : OperandKind::GmIn, store ? 2 : 0, {index(), b_.num(0)});
    }
    const OperandKind kind = store ? OperandKind::GmOut : OperandKind::GmIn;
    return choice == 1 ? Builder::gm(kind, 1, {index(), index(), b_.num(0)}) : Builder::gm(kind, 3, {index(), index()});
  }

  void instruction() {
    static constexpr Opcode kBinary[] = {Opcode::TAdd, Opcode::TSub, Opcode::TMul, Opcode::TDiv};
    static constexpr Opcode kScalar[] = {Opcode::TAdds, Opcode::TMuls, Opcode::TMaxs};
    static constexpr Pipe kPipes[] = {Pipe::MTE2, Pipe::V, Pipe::MTE3};
    switch (pick(7)) {
      case 0: {
        const bool valid = pick(2) == 0;
        b_.inst(Opcode::TLoad,
                {tile(OperandKind::TileOut), gm(false),
                 Builder::value(OperandKind::Valid, valid ? index() : ExprId(), valid ? index() : ExprId())});
        break;
      }
      case 1:
        b_.inst(Opcode::TStore, {gm(true), tile(OperandKind::TileIn)});
        break;
      case 2:
        b_.inst(kBinary[pick(4)], {tile(OperandKind::TileOut), tile(OperandKind::TileIn), tile(OperandKind::TileIn)});
        break;
      case 3:
        b_.inst(kScalar[pick(3)],
                {tile(OperandKind::TileOut), tile(OperandKind::TileIn), Builder::value(OperandKind::Scalar, real())});
        break;
      case 4: {
        const int from = pick(3);
        b_.flag(pick(2) == 0 ? Opcode::SetFlag : Opcode::WaitFlag, kPipes[from], kPipes[(from + 1 + pick(2)) % 3],
                pick(2) == 0 ? b_.num(pick(8)) : b_.e().make(ExprOp::Mod, index(), b_.num(8)));
        break;
      }
      case 5:
        b_.inst(Opcode::PipeBarrier,
                {Builder::attribute(OperandKind::PipeSrc, static_cast<int>(pick(2) == 0 ? Pipe::All : Pipe::V))});
        break;
      default:
        b_.inst(Opcode::TExp, {tile(OperandKind::TileOut), tile(OperandKind::TileIn)});
        break;
    }
  }

  void statements(int depth) {
    const size_t atoms = atoms_.size();
    for (int i = 0; i < 2 + pick(5); ++i) {
      switch (depth > 3 ? 9 : pick(9)) {
        case 0: {
          const SymId sym = b_.symbol(hint(), SymKind::Loop);
          b_.open(b_.op(ir::OpKind::For, {}, {index(), index(), pick(2) == 0 ? b_.num(1 + pick(3)) : dims_[0]}), {sym});
          const size_t outside = atoms_.size();
          atoms_.push_back(b_.sym(sym));
          statements(depth + 1);
          atoms_.resize(outside);
          b_.close();
          break;
        }
        case 1: {
          ir::Op branch = b_.op(ir::OpKind::If, {}, {condition()});
          branch.regions = {b_.f.add_region(), b_.f.add_region()};
          const std::vector<ir::RegionId> sides = branch.regions;
          b_.run(std::move(branch));
          const ir::RegionId outside = b_.region;
          b_.region = sides[0];
          statements(depth + 1);
          b_.region = sides[1];
          if (pick(2) == 0) {
            statements(depth + 1);
          }
          b_.region = outside;
          break;
        }
        case 2:
          atoms_.push_back(b_.let(hint(), index()));
          break;
        default:
          instruction();
          break;
      }
    }
    atoms_.resize(atoms);
  }

  std::mt19937 random_;
  Builder b_;
  std::vector<ExprId> atoms_;
  std::vector<ExprId> dims_;
  std::vector<ExprId> scalars_;
  bool has_view_ = false;
};

// A program that runs random cores over its parameters and buffers.
ir::Function random_program(std::mt19937& random, const ir::Module& module) {
  Builder b(ir::FunctionKind::Program, "main");
  auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const ExprId m = b.dim("M");
  const ir::ValueId flat = b.param("flat", Builder::tensor(DType::F32, {m, b.num(64)}));
  const ExprId s = b.scalar_param("s", DType::F32, 0.125);
  const ExprId n = b.scalar_param("n", DType::I32);
  const ir::ValueId deep = b.param("deep", Builder::tensor(DType::F32, {b.num(2), m, b.num(64)}), ir::ParamMode::InOut);
  std::vector<ir::ValueId> outputs = {
      b.param("out", Builder::tensor(DType::F32, {b.e().mul(m, b.num(2)), b.num(64)}), ir::ParamMode::Out)};
  for (size_t i = 0; i < pick(3); ++i) {
    const ExprId offset = b.e().mul(m, b.num(static_cast<int64_t>(512 * i)));
    outputs.push_back(b.add(b.op(ir::OpKind::Buffer, {}, {offset}),
                            Builder::tensor(DType::F32, {b.e().mul(m, b.num(2)), b.num(64)}), i == 0 ? "main" : ""));
  }
  std::vector<ir::OpId> tasks;
  for (size_t i = 0; i < 1 + pick(5); ++i) {
    const ir::Function& core = module.functions[pick(module.functions.size())];
    ir::Op op = b.op(ir::OpKind::Task);
    op.callee = core.name;
    op.name = i % 2 == 0 ? "t" : "";
    op.operands = {flat, deep, outputs[pick(outputs.size())]};
    for (const ir::Param& param : core.params) {
      if (!param.is_tensor()) {
        op.exprs.push_back(is_float(param.dtype) ? (pick(2) == 0 ? s : b.e().real(-0.5)) : n);
      }
    }
    for (size_t d = 0; d < core.dims.size(); ++d) {
      op.task_dims.push_back(d == 0 ? m : b.num(2));
    }
    op.blocks = b.e().min(b.num(8), b.e().ceildiv(m, b.num(4)));
    for (ir::OpId earlier : tasks) {
      if (pick(2) == 0) {
        op.after.push_back(earlier);
      }
    }
    tasks.push_back(b.run(std::move(op)));
  }
  return std::move(b.f);
}

TEST_CASE("random modules survive the way to an object and back") {
  std::mt19937 random(7);
  for (uint32_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    ir::Module module;
    module.functions.push_back(RandomCore(2 * seed).run());
    module.functions.push_back(RandomCore(2 * seed + 1).run());
    module.functions.push_back(random_program(random, module));
    check_round_trip(module);
  }
}

}  // namespace
}  // namespace pto::codegen
