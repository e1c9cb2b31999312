// Structural equality: blind to ids and hints, not to anything that the text shows.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/unit/ir/samples.h"

namespace pto::ir {
namespace {

using samples::Builder;

std::vector<Module> all() {
  return {samples::tensor_module(), samples::tile_module(),   samples::block_module(),
          samples::exec_module(),   samples::branch_module(), samples::pair_module()};
}

OpId first(const Function& function, OpKind kind) {
  for (OpId id : ops_in_order(function)) {
    if (function.ops[id].kind == kind) {
      return id;
    }
  }
  return {};
}

TEST_CASE("modules equal themselves and nothing else") {
  const std::vector<Module> modules = all();
  for (size_t i = 0; i < modules.size(); ++i) {
    for (size_t j = 0; j < modules.size(); ++j) {
      CHECK(equal(modules[i], modules[j]) == (i == j));
    }
  }
}

TEST_CASE("hints, spans, unused values and ids do not count") {
  for (Module changed : all()) {
    const Module original = changed;
    for (Function& function : changed.functions) {
      function.span = {1, 2, 3};
      for (Value& value : function.values) {
        value.name = "other";
      }
      for (Op& op : function.ops) {
        op.spans = {{1, 4, 7}};
      }
      for (Symbol& symbol : function.symbols) {
        if (symbol.kind == SymKind::Loop || symbol.kind == SymKind::Let) {
          symbol.name += "_other";
        }
      }
      function.add_symbol({"unused", SymKind::Loop, DType::I64});
      function.add_value({}, "unused");
      function.exprs.integer(987654321);
    }
    CHECK(equal(original, changed));
    CHECK(equal(changed, original));
  }
}

TEST_CASE("ids may differ everywhere") {
  auto make = [](bool shifted) {
    Builder b(FunctionKind::Kernel, "k");
    if (shifted) {
      b.e().integer(77);
      b.symbol("gone", SymKind::Loop);
      b.f.add_value({}, "gone");
      b.f.ops.add(Op{});
      b.f.add_region();
    }
    const ExprId m = b.dim("M");
    const ValueId x = b.param("x", Builder::tensor(DType::F32, {m, b.num(8)}));
    b.open(b.op(OpKind::Parallel, {}, {b.num(0), m, b.num(8)}), {b.symbol("i", SymKind::Loop)});
    b.add(b.op(OpKind::Load, {x}, {b.num(0), b.num(0)}), b.tile(DType::F32, 8, 8));
    b.close();
    Module module;
    module.functions.push_back(std::move(b.f));
    return module;
  };
  CHECK(equal(make(false), make(true)));
}

TEST_CASE("an empty yield may be there or not") {
  Builder b(FunctionKind::Core, "c");
  b.open(b.op(OpKind::For, {}, {b.num(0), b.num(4), b.num(1)}), {b.symbol("i", SymKind::Loop)});
  Module without;
  without.functions.push_back(b.f);
  b.run(b.op(OpKind::Yield));
  Module with;
  with.functions.push_back(b.f);
  CHECK(equal(with, without));
  CHECK(equal(without, with));
}

TEST_CASE("everything in the text counts") {
  struct Change {
    const char* what;
    size_t module;
    size_t function;
    std::function<void(Function&)> apply;
  };
  auto op = [](OpKind kind, std::function<void(Op&)> apply) {
    return [kind, apply](Function& f) { apply(f.ops[first(f, kind)]); };
  };
  const std::vector<Change> changes = {
      {"name", 0, 0, [](Function& f) { f.name = "other"; }},
      {"doc", 0, 1, [](Function& f) { f.doc = "other"; }},
      {"kind", 0, 1, [](Function& f) { f.kind = FunctionKind::Graph; }},
      {"dim name", 0, 0, [](Function& f) { f.symbols[f.dims[0].index()].name = "Q"; }},
      {"param name", 0, 0, [](Function& f) { f.params[0].name = "q"; }},
      {"param doc", 0, 1, [](Function& f) { f.params[0].doc = "q"; }},
      {"param mode", 1, 1, [](Function& f) { f.params[1].mode = ParamMode::Out; }},
      {"param dim", 0, 0, [](Function& f) { f.params[0].type.dims[1] = f.exprs.integer(65); }},
      {"default", 0, 0, [](Function& f) { f.params[1].default_value = 0.25; }},
      {"no default", 0, 0, [](Function& f) { f.params[1].default_value.reset(); }},
      {"constraint", 0, 1, [](Function& f) { f.constraints[0].condition = f.exprs.integer(1); }},
      {"operand", 0, 0, op(OpKind::Sub, [](Op& o) { std::swap(o.operands[0], o.operands[1]); })},
      {"op kind", 0, 0, op(OpKind::Sub, [](Op& o) { o.kind = OpKind::Add; })},
      {"axis", 0, 1, op(OpKind::ReduceMax, [](Op& o) { o.axis = 0; })},
      {"cmp", 0, 1, op(OpKind::Compare, [](Op& o) { o.cmp = isa::Cmp::Gt; })},
      {"round", 0, 1, op(OpKind::Cast, [](Op& o) { o.round = isa::Round::Ceil; })},
      {"side", 0, 1, op(OpKind::Div, [](Op& o) { o.scalar_side = ScalarSide::Right; })},
      {"scalar", 0, 1, [](Function& f) { f.ops[first(f, OpKind::Max)].exprs[0] = f.exprs.real(-2.0); }},
      {"callee", 0, 1, op(OpKind::Call, [](Op& o) { o.callee = "other"; })},
      {"order", 0, 0, [](Function& f) { std::swap(f.body_region().ops[2], f.body_region().ops[3]); }},
      {"pipeline", 1, 0, op(OpKind::For, [](Op& o) { o.pipeline = 3; })},
      {"step", 1, 0, [](Function& f) { f.ops[first(f, OpKind::For)].exprs[2] = f.exprs.integer(32); }},
      {"place", 1, 0,
       [](Function& f) { f.values[f.ops[first(f, OpKind::Move)].results[0]].type.space = Space::Right; }},
      {"rows", 1, 1, [](Function& f) { f.values[f.ops[first(f, OpKind::Exp)].results[0]].type.rows = 9; }},
      {"pad", 1, 1, op(OpKind::FillPad, [](Op& o) { o.pad = isa::Pad::Min; })},
      {"yield", 1, 1, op(OpKind::Yield, [](Op& o) { std::swap(o.operands[0], o.operands[1]); })},
      {"loop variable", 1, 0, op(OpKind::Load, [](Op& o) { std::swap(o.exprs[0], o.exprs[1]); })},
      {"core kind", 2, 0, [](Function& f) { f.core_kind = CoreKind::Cube; }},
      {"auto", 2, 0, [](Function& f) { f.automatic = true; }},
      {"address", 2, 0, [](Function& f) { f.buffers[1].address += 32; }},
      {"slots", 2, 1, [](Function& f) { f.buffers[0].slots = 3; }},
      {"stride", 2, 1, [](Function& f) { f.buffers[1].slot_stride += 32; }},
      {"tile", 2, 0, [](Function& f) { f.buffers[1].tile.rows = 8; }},
      {"opcode", 2, 0, op(OpKind::Inst, [](Op& o) { o.inst.opcode = isa::Opcode::TStore; })},
      {"valid", 2, 0, op(OpKind::Inst, [](Op& o) { o.inst.operands[2].a = o.inst.operands[2].b; })},
      {"no valid", 2, 0, op(OpKind::Inst, [](Op& o) { o.inst.operands[2].a = o.inst.operands[2].b = {}; })},
      {"offset", 2, 0,
       op(OpKind::Inst, [](Op& o) { std::swap(o.inst.operands[1].offsets[0], o.inst.operands[1].offsets[1]); })},
      {"slot", 2, 1, op(OpKind::Inst, [](Op& o) { o.inst.operands[0].slot = {}; })},
      {"branch", 2, 1, op(OpKind::If, [](Op& o) { std::swap(o.regions[0], o.regions[1]); })},
      {"blocks", 3, 1, [](Function& f) { f.ops[first(f, OpKind::Task)].blocks = f.exprs.integer(1); }},
      {"no blocks", 3, 1, op(OpKind::Task, [](Op& o) { o.blocks = {}; })},
      {"after", 3, 1, [](Function& f) { f.ops[f.body_region().ops.back()].after.pop_back(); }},
      {"buffer offset", 3, 1, op(OpKind::Buffer, [](Op& o) { o.exprs.clear(); })},
      {"condition", 4, 0, [](Function& f) { f.ops[first(f, OpKind::If)].exprs[0] = f.exprs.integer(1); }},
      {"sides", 4, 0, op(OpKind::If, [](Op& o) { std::swap(o.regions[0], o.regions[1]); })},
      {"yield of a branch", 4, 0, op(OpKind::Yield, [](Op& o) { std::swap(o.operands[0], o.operands[1]); })},
      {"order of results", 4, 0, op(OpKind::If, [](Op& o) { std::swap(o.results[0], o.results[1]); })},
      {"split", 4, 0, op(OpKind::Parallel, [](Op& o) { o.split = isa::Split::Rows; })},
      {"no split", 4, 0, op(OpKind::Parallel, [](Op& o) { o.split.reset(); })},
      {"ring name", 5, 0, [](Function& f) { f.rings[0].name = "other"; }},
      {"ring slots", 5, 0, [](Function& f) { f.rings[0].slots = 3; }},
      {"ring split", 5, 1, [](Function& f) { f.rings[0].split = isa::Split::Cols; }},
      {"ring direction", 5, 1, [](Function& f) { f.rings[0].direction = isa::RingDirection::V2C; }},
      {"no ring", 5, 1, [](Function& f) { f.rings.clear(); }},
      {"ring operand", 5, 1, op(OpKind::Inst, [](Op& o) { o.inst.operands[1].ring = isa::RingId(1); })},
      {"cube core", 5, 2, [](Function& f) { f.pair_cube = "other"; }},
      {"vec core", 5, 2, [](Function& f) { f.pair_vec = "other"; }},
      {"lanes", 5, 2, [](Function& f) { f.lanes = 1; }},
      {"task dims", 3, 1, [](Function& f) { f.ops[first(f, OpKind::Task)].task_dims[0] = f.exprs.integer(8); }},
  };
  const std::vector<Module> originals = all();
  for (const Change& change : changes) {
    INFO(change.what);
    Module changed = originals[change.module];
    change.apply(changed.functions.at(change.function));
    CHECK_FALSE(equal(originals[change.module], changed));
    CHECK_FALSE(equal(changed, originals[change.module]));
  }
}

TEST_CASE("shared expressions do not blow up") {
  auto make = [] {
    Builder b(FunctionKind::Graph, "g");
    ExprId e = b.dim("M");
    for (int i = 0; i < 200; ++i) {
      e = b.e().make(ExprOp::Mod, b.e().make(ExprOp::FloorDiv, e, b.num(3 + i)),
                     b.e().make(ExprOp::CeilDiv, e, b.num(5)));
    }
    b.f.constraints.push_back({e, "", {}});
    return std::move(b.f);
  };
  CHECK(equal(make(), make()));
}

TEST_CASE("ops in order") {
  const Module module = samples::tile_module();
  std::vector<OpKind> kinds;
  for (OpId id : ops_in_order(module.functions[0])) {
    kinds.push_back(module.functions[0].ops[id].kind);
  }
  CHECK(kinds == std::vector<OpKind>{OpKind::Parallel, OpKind::Full, OpKind::For, OpKind::Load, OpKind::Load,
                                     OpKind::Move, OpKind::MatMul, OpKind::Yield, OpKind::Store});
}

TEST_CASE("the op table") {
  CHECK(op_info(OpKind::ReduceMax).spelling == "max");
  CHECK(op_info(OpKind::Task).levels == "X");
  CHECK(op_info(OpKind::Sub).shape == OpShape::Binary);
  CHECK(letter_of(level_of(FunctionKind::Kernel)) == 'L');
  CHECK(spelling(Level::Block) == "block");
  Module module = samples::exec_module();
  CHECK(module.find("twice") == &module.functions[1]);
  CHECK(module.find("nobody") == nullptr);
}

}  // namespace
}  // namespace pto::ir
