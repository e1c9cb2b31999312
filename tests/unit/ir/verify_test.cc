// The verifier accepts the samples and names every invariant of its header when it is broken.
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <type_traits>

#include "tests/unit/ir/random_module.h"
#include "tests/unit/ir/samples.h"

namespace pto::ir {
namespace {

using samples::Builder;

std::vector<std::string> violations_of(const Module& module) {
  std::vector<std::string> violations;
  const bool good = verify(module, violations);
  CHECK(good == violations.empty());
  return violations;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

OpId find(const Function& function, OpKind kind, size_t skip = 0) {
  for (OpId id : ops_in_order(function)) {
    if (function.ops[id].kind == kind && skip-- == 0) {
      return id;
    }
  }
  return {};
}

struct Broken {
  const char* message;
  size_t function;
  std::function<void(Function&)> apply;
};

std::function<void(Function&)> on(OpKind kind, std::function<void(Function&, Op&)> apply, size_t skip = 0) {
  return [=](Function& f) { apply(f, f.ops[find(f, kind, skip)]); };
}

void expect_all(const Module& good, const std::vector<Broken>& cases) {
  REQUIRE(joined(violations_of(good)) == "");
  for (const Broken& each : cases) {
    Module bad = good;
    each.apply(bad.functions.at(each.function));
    const std::string text = joined(violations_of(bad));
    INFO("expected: " << each.message << "\ngot: " << text);
    CHECK(text.find(each.message) != std::string::npos);
    CHECK(text.find("`" + bad.functions[each.function].name + "`") == 0);
  }
}

TEST_CASE("the samples are valid") {
  CHECK(joined(violations_of(samples::tensor_module())) == "");
  CHECK(joined(violations_of(samples::tile_module())) == "");
  CHECK(joined(violations_of(samples::block_module())) == "");
  CHECK(joined(violations_of(samples::exec_module())) == "");
}

TEST_CASE("function names are unique") {
  Module module = samples::tile_module();
  module.functions[1].name = "gemm";
  CHECK(joined(violations_of(module)).find("two functions are named `gemm`") != std::string::npos);
}

TEST_CASE("items") {
  const ValueId far(1000000);
  expect_all(
      samples::tensor_module(),
      {
          {"the name is no identifier", 0, [](Function& f) { f.name = "a b"; }},
          {"a dim's symbol is out of range", 0, [](Function& f) { f.dims[0] = SymId(99); }},
          {"a parameter's value is out of range", 0, [=](Function& f) { f.params[0].value = far; }},
          {"a parameter's symbol is out of range", 0, [](Function& f) { f.params[1].sym = SymId(99); }},
          {"a parameter's type has an expression out of range", 0,
           [](Function& f) { f.params[0].type.dims[0] = ExprId(9999); }},
          {"a constraint's expression is out of range", 1, [](Function& f) { f.constraints[0].condition = {}; }},
          {"a symbol is defined twice", 0, [](Function& f) { f.dims.push_back(f.dims[0]); }},
          {"a dim's or scalar's symbol has another kind", 0,
           [](Function& f) { f.symbols[f.dims[0].index()].kind = SymKind::Let; }},
          {"an input stands behind an output", 0, [](Function& f) { std::swap(f.params[1], f.params[2]); }},
          {"a scalar parameter is an output", 0, [](Function& f) { f.params[1].mode = ParamMode::InOut; }},
          {"a scalar's symbol has another type", 0, [](Function& f) { f.params[1].dtype = DType::F16; }},
          {"a value is defined twice", 0, [](Function& f) { f.params[3].value = f.params[2].value; }},
          {"a tensor parameter is no tensor", 0, [](Function& f) { f.params[0].type.kind = TypeKind::None; }},
          {"a parameter and its value have different types", 0,
           [](Function& f) { f.params[0].type.dtype = DType::F16; }},
          {"a parameter's value has a defining op", 0, [](Function& f) { f.values[f.params[0].value].def = OpId(0); }},
          {"two parameters or dims have one name", 0, [](Function& f) { f.params[0].name = "M"; }},
          {"a parameter's or dim's name is no identifier", 0, [](Function& f) { f.params[0].name = ""; }},
          {"has no body", 0, [](Function& f) { f.body = {}; }},
          {"the body has arguments", 0, [](Function& f) { f.body_region().args.push_back(f.params[0].value); }},
          {"a tensor's rank is not 1 to 5", 0,
           [](Function& f) {
             f.params[0].type.dims.clear();
             f.values[f.params[0].value].type = f.params[0].type;
           }},
          {"a type has no element type", 0,
           [](Function& f) {
             f.params[0].type.dtype = DType::None;
             f.values[f.params[0].value].type = f.params[0].type;
           }},
      });
}

TEST_CASE("structure") {
  expect_all(
      samples::tile_module(),
      {
          {"a region has an op out of range", 0, [](Function& f) { f.body_region().ops.push_back(OpId(999)); }},
          {"stands in two places", 0, [](Function& f) { f.body_region().ops.push_back(f.body_region().ops[0]); }},
          {"an operand is out of range", 0, on(OpKind::Move, [](Function&, Op& o) { o.operands[0] = ValueId(999); })},
          {"a result is out of range", 0, on(OpKind::Move, [](Function&, Op& o) { o.results[0] = {}; })},
          {"a region is out of range", 0, on(OpKind::For, [](Function&, Op& o) { o.regions[0] = RegionId(99); })},
          {"a symbol is out of range", 0, on(OpKind::For, [](Function&, Op& o) { o.syms[0] = {}; })},
          {"an expression is out of range", 0, on(OpKind::For, [](Function&, Op& o) { o.exprs[0] = {}; })},
          {"a region's argument is out of range", 0,
           on(OpKind::For, [](Function& f, Op& o) { f.regions[o.regions[0]].args[0] = ValueId(999); })},
          {"a result's type has an expression out of range", 0,
           on(OpKind::Move, [](Function& f, Op& o) { f.values[o.results[0]].type.valid_rows = {}; })},
          {"shares a region", 0, on(OpKind::For, [](Function& f, Op& o) { o.regions[0] = f.body; })},
          {"uses a value that is not defined there", 0,
           on(OpKind::Move, [](Function& f, Op& o) { o.operands[0] = f.ops[find(f, OpKind::MatMul)].results[0]; })},
          {"uses a value that is not defined there", 0,
           on(OpKind::Store, [](Function& f, Op& o) { o.operands[1] = f.ops[find(f, OpKind::MatMul)].results[0]; })},
          {"an expression uses a symbol that is not defined there", 0,
           on(OpKind::Store, [](Function& f, Op& o) { o.exprs[0] = f.ops[find(f, OpKind::Load)].exprs[1]; })},
          {"an expression uses a symbol that is not defined there", 1,
           [](Function& f) {
             // The let behind its use.
             std::vector<OpId>& ops = f.regions[f.ops[find(f, OpKind::Parallel)].regions[0]].ops;
             std::rotate(ops.begin(), ops.begin() + 1, ops.end());
           }},
          {"a valid region uses a symbol that is not defined there", 0,
           on(OpKind::Full,
              [](Function& f, Op& o) {
                f.values[o.results[0]].type.valid_rows = f.ops[find(f, OpKind::Load)].exprs[1];
              })},
          {"defines a value twice", 0,
           on(OpKind::Move, [](Function& f, Op& o) { o.results[0] = f.ops[find(f, OpKind::Load)].results[0]; })},
          {"a result names another defining op", 0,
           on(OpKind::Move, [](Function& f, Op& o) { f.values[o.results[0]].def = OpId(0); })},
          {"defines a symbol twice", 0,
           on(OpKind::For, [](Function& f, Op& o) { o.syms[0] = f.ops[find(f, OpKind::Parallel)].syms[0]; })},
          {"its symbol has another kind", 1,
           on(OpKind::Let, [](Function& f, Op& o) { f.symbols[o.syms[0].index()].kind = SymKind::Loop; })},
          {"is not the last op of a loop's body or of a branch with results", 0,
           on(OpKind::Parallel,
              [](Function& f, Op& o) {
                Op yield;
                yield.kind = OpKind::Yield;
                f.add_op(o.regions[0], yield);
              })},
          {"is not the last op of a loop's body or of a branch with results", 0,
           on(OpKind::For,
              [](Function& f, Op& o) {
                std::vector<OpId>& ops = f.regions[o.regions[0]].ops;
                std::swap(ops[ops.size() - 1], ops[ops.size() - 2]);
              })},
          {"carries values but its body has no yield", 0,
           on(OpKind::For, [](Function& f, Op& o) { f.regions[o.regions[0]].ops.pop_back(); })},
          {"yields a wrong number of values", 1, on(OpKind::Yield, [](Function&, Op& o) { o.operands.pop_back(); })},
          {"initial values and carried values differ in number", 1,
           on(OpKind::For, [](Function&, Op& o) { o.operands.pop_back(); })},
          {"results and carried values differ in number", 1,
           on(OpKind::For, [](Function&, Op& o) { o.results.pop_back(); })},
          {"a carried value is defined twice", 1,
           on(OpKind::For,
              [](Function& f, Op& o) { f.regions[o.regions[0]].args[1] = f.regions[o.regions[0]].args[0]; })},
          {"a carried value has a defining op", 1,
           on(OpKind::For, [](Function& f, Op& o) { f.values[f.regions[o.regions[0]].args[1]].def = OpId(0); })},
          {"a carried value and its initial value have different types", 0,
           on(OpKind::Full, [](Function& f, Op& o) { f.values[o.results[0]].type.rows = 64; })},
          {"a carried value and its result have different types", 0,
           on(OpKind::For, [](Function& f, Op& o) { f.values[o.results[0]].type.rows = 64; })},
          {"a carried value and its next value have different types", 0,
           on(OpKind::MatMul, [](Function& f, Op& o) { f.values[o.results[0]].type.rows = 64; })},
          {"the step is not positive", 0, on(OpKind::For, [](Function& f, Op& o) { o.exprs[2] = f.exprs.integer(0); })},
          {"the pipeline depth is negative", 0, on(OpKind::For, [](Function&, Op& o) { o.pipeline = -1; })},
          {"has a wrong number of operands", 0, on(OpKind::Move, [](Function&, Op& o) { o.operands.clear(); })},
          {"has a wrong number of results", 0, on(OpKind::Move, [](Function&, Op& o) { o.results.clear(); })},
          {"has a wrong number of expressions", 0, on(OpKind::For, [](Function&, Op& o) { o.exprs.pop_back(); })},
          {"has a wrong number of expressions", 0, on(OpKind::Parallel, [](Function&, Op& o) { o.exprs.pop_back(); })},
          {"has a wrong number of regions", 0, on(OpKind::Move, [](Function& f, Op& o) { o.regions = {f.body}; })},
          {"has a wrong number of symbols", 0, on(OpKind::For, [](Function&, Op& o) { o.syms.clear(); })},
          {"has a wrong number of loop variables", 0, on(OpKind::Parallel, [](Function&, Op& o) { o.syms.clear(); })},
          {"takes no scalar", 0, on(OpKind::Move, [](Function&, Op& o) { o.scalar_side = ScalarSide::Left; })},
          {"stands inside another statement", 0,
           on(OpKind::For,
              [](Function&, Op& o) {
                o.kind = OpKind::Parallel;
                o.operands.clear();
                o.results.clear();
              })},
          {"a tile has no elements", 0,
           on(OpKind::Move, [](Function& f, Op& o) { f.values[o.results[0]].type.cols = 0; })},
      });
}

TEST_CASE("regions nest no deeper than a limit") {
  Builder b(FunctionKind::Core, "deep");
  for (int i = 0; i < 300; ++i) {
    b.open(b.op(OpKind::For, {}, {b.num(0), b.num(4), b.num(1)}), {b.symbol("i", SymKind::Loop)});
  }
  Module module;
  module.functions.push_back(std::move(b.f));
  CHECK(joined(violations_of(module)).find("regions nest too deep") != std::string::npos);
}

TEST_CASE("levels") {
  expect_all(
      samples::exec_module(),
      {
          {"is not allowed at this level", 1, on(OpKind::Buffer, [](Function&, Op& o) { o.kind = OpKind::Full; })},
          {"the number of blocks uses block_index() or block_count()", 1,
           on(OpKind::Task, [](Function& f, Op& o) { o.blocks = f.exprs.leaf(ExprOp::BlockCount); })},
      });
  expect_all(samples::block_module(),
             {
                 {"stands behind another statement", 1,
                  [](Function& f) { std::swap(f.body_region().ops[0], f.body_region().ops[1]); }},
                 {"carries values in a core", 1,
                  on(OpKind::For,
                     [](Function& f, Op& o) {
                       o.operands = {f.params[0].value};
                       f.regions[o.regions[0]].args = {f.add_value(f.params[0].type, "a")};
                     })},
             });
}

TEST_CASE("branches") {
  expect_all(
      samples::branch_module(),
      {
          {"has results but a branch has no yield", 0,
           on(OpKind::If, [](Function& f, Op& o) { f.regions[o.regions[1]].ops.pop_back(); })},
          {"a branch yields a wrong number of values", 0,
           on(OpKind::If, [](Function& f, Op& o) { f.ops[f.regions[o.regions[0]].ops.back()].operands.pop_back(); })},
          {"a branch's value and the result have different types", 0,
           on(OpKind::If, [](Function& f, Op& o) { f.values[o.results[0]].type.cols = 32; })},
          {"a branch has arguments", 0,
           on(OpKind::If,
              [](Function& f, Op& o) { f.regions[o.regions[0]].args = {f.add_value(f.type(o.results[0]), "a")}; })},
          {"uses a value that is not defined there", 0,
           on(OpKind::Store, [](Function& f, Op& o) { o.operands[1] = f.ops[find(f, OpKind::Exp)].results[0]; })},
          {"a valid region uses a symbol that is not defined there", 0,
           on(OpKind::If,
              [](Function& f, Op& o) {
                f.values[o.results[0]].type.valid_rows = f.exprs.symbol(f.ops[find(f, OpKind::Let)].syms[0]);
              })},
          {"is not the last op of a loop's body or of a branch with results", 0,
           on(OpKind::If, [](Function&, Op& o) { o.results.clear(); })},
          {"has a wrong number of regions", 0, on(OpKind::If, [](Function&, Op& o) { o.regions.pop_back(); })},
          {"is split but is no parallel loop", 0, on(OpKind::If, [](Function&, Op& o) { o.split = isa::Split::Rows; })},
      });
  expect_all(samples::block_module(), {{"carries values in a core", 1, on(OpKind::If, [](Function& f, Op& o) {
                                          o.results = {f.add_value(f.params[0].type, "a")};
                                        })}});
}

TEST_CASE("rings and pairs") {
  expect_all(
      samples::pair_module(),
      {
          {"a ring's name is no identifier or taken", 0, [](Function& f) { f.rings[0].name = "x"; }},
          {"a ring's name is no identifier or taken", 0, [](Function& f) { f.rings[0].name = "M"; }},
          {"a ring's name is no identifier or taken", 1, [](Function& f) { f.rings.push_back(f.rings[0]); }},
          {"a ring's tile is incomplete", 0, [](Function& f) { f.rings[0].cols = 0; }},
          {"a ring has a wrong number of slots", 0, [](Function& f) { f.rings[0].slots = 17; }},
          {"a ring's tile has no halves", 0, [](Function& f) { f.rings[0].rows = 31; }},
          {"has too many rings", 0, [](Function& f) { f.rings.resize(17, f.rings[0]); }},
          {"an operand's ring is out of range", 1,
           on(OpKind::Inst, [](Function&, Op& o) { o.inst.operands[1].ring = isa::RingId(3); })},
          {"does not follow the instruction's format", 1,
           on(OpKind::Inst, [](Function&, Op& o) { std::swap(o.inst.operands[0], o.inst.operands[1]); })},
          {"an operand uses lane_index()", 1, [](Function& f) { f.core_kind = CoreKind::Cube; }},
          {"a pair has a wrong number of lanes", 2, [](Function& f) { f.lanes = 3; }},
          {"a pair of one lane splits a ring", 2, [](Function& f) { f.lanes = 1; }},
          {"a pair's cube core is none", 2, [](Function& f) { f.pair_cube = "vec_half"; }},
          {"a pair's vec core is none", 2, [](Function& f) { f.pair_vec = "nobody"; }},
          {"a pair's vec core is none", 2, [](Function& f) { f.pair_vec = "both"; }},
          {"a core of a pair has a dim that the pair has not", 2, [](Function& f) { f.symbols[0].name = "K"; }},
          {"a core of a pair has a parameter that the pair has not", 2, [](Function& f) { f.params.pop_back(); }},
          {"a core's parameter has a mode that the pair's has not", 2,
           [](Function& f) {
             f.params[0].mode = ParamMode::Out;
             std::swap(f.params[0], f.params[1]);
           }},
          {"a core's parameter has another type than the pair's", 2,
           [](Function& f) {
             f.params[0].type.dims[1] = f.exprs.integer(32);
             f.values[f.params[0].value].type = f.params[0].type;
           }},
          {"a pair has a body", 2,
           [](Function& f) {
             Op loop;
             loop.kind = OpKind::If;
             f.add_op(f.body, loop);
           }},
      });
  Module differ = samples::pair_module();
  differ.functions[0].rings[0].slots = 3;
  CHECK(joined(violations_of(differ)).find("the cores of a pair have different rings") != std::string::npos);
  Module kernel = samples::tile_module();
  kernel.functions[0].rings = samples::pair_module().functions[0].rings;
  CHECK(joined(violations_of(kernel)).find("has rings but is no core") != std::string::npos);
  for (uint32_t seed = 0; seed < 50; ++seed) {
    CHECK(joined(violations_of(samples::random_pair_module(seed))) == "");
  }
}

void retype(Function& f, ValueId value, DType dtype) {
  f.values[value].type.dtype = dtype;
}

TEST_CASE("types of tensors") {
  expect_all(
      samples::tensor_module(),
      {
          {"its values are not all tensors", 1,
           on(OpKind::Neg, [](Function& f, Op& o) { f.values[o.results[0]].type.kind = TypeKind::None; })},
          {"element types differ", 1, on(OpKind::Neg, [](Function& f, Op& o) { retype(f, o.results[0], DType::I16); })},
          {"an operand's shape does not broadcast to the result's", 0,
           on(OpKind::Sub, [](Function& f, Op& o) { f.values[o.results[0]].type.dims[1] = f.exprs.integer(32); })},
          {"the result's rank is not its operands'", 0,
           on(OpKind::Sub, [](Function& f, Op& o) { f.values[o.results[0]].type.dims.push_back(f.exprs.integer(1)); })},
          {"its scalar is an integer, its elements are floats", 1,
           on(OpKind::Div, [](Function& f, Op& o) { o.exprs[0] = f.exprs.integer(1); })},
          {"its scalar is a float, its elements are integers", 1,
           on(OpKind::Mul, [](Function& f, Op& o) { o.exprs[0] = f.exprs.real(1.5); })},
          {"its result is not bool", 1,
           on(OpKind::Compare, [](Function& f, Op& o) { retype(f, o.results[0], DType::I8); })},
          {"its condition is not bool", 1, on(OpKind::Select, [](Function&, Op& o) { o.operands[0] = o.operands[1]; })},
          {"its scalar is an integer, its elements are floats", 1,
           on(OpKind::Select, [](Function& f, Op& o) { o.exprs[0] = f.exprs.integer(1); })},
          {"the axis is out of range", 1, on(OpKind::ReduceMax, [](Function&, Op& o) { o.axis = 2; })},
          {"its result has a wrong shape", 1, on(OpKind::ReduceMax, [](Function&, Op& o) { o.axis = 0; })},
          {"its result has another rank", 1,
           on(OpKind::ReduceMax, [](Function& f, Op& o) { f.values[o.results[0]].type.dims.pop_back(); })},
          {"the axis is out of range", 1, on(OpKind::Softmax, [](Function&, Op& o) { o.axis = -1; })},
          {"its result has another shape", 1,
           on(OpKind::Cast, [](Function& f, Op& o) { f.values[o.results[0]].type.dims[1] = f.exprs.integer(63); })},
          {"its result has a wrong element type", 1,
           on(OpKind::MatMulBias, [](Function& f, Op& o) { retype(f, o.results[0], DType::F16); })},
          {"what it adds to has another element type", 1,
           [](Function& f) {
             f.params[2].type.dtype = DType::F16;
             retype(f, f.params[2].value, DType::F16);
           }},
          {"its shapes do not fit", 1,
           on(OpKind::MatMulBias,
              [](Function& f, Op& o) { f.values[o.results[0]].type.dims[1] = f.exprs.integer(31); })},
          {"its values are not of rank 2", 1,
           on(OpKind::MatMulBias, [](Function& f, Op& o) { f.values[o.results[0]].type.dims.pop_back(); })},
          {"has an accumulator outside a kernel", 1,
           on(OpKind::MatMulBias, [](Function&, Op& o) { o.kind = OpKind::MatMul; })},
          {"changes the number of elements", 1,
           on(OpKind::Reshape,
              [](Function& f, Op& o) {
                f.values[o.operands[0]].type.dims = {f.exprs.integer(4)};
                f.values[o.results[0]].type.dims = {f.exprs.integer(5)};
              })},
          {"its target is no output parameter", 0,
           on(OpKind::Assign, [](Function& f, Op& o) { o.operands[0] = f.params[0].value; })},
          {"the value's type is not the output's", 1,
           on(OpKind::Assign,
              [](Function& f, Op& o) { std::swap(o.operands[1], f.ops[find(f, OpKind::Assign, 1)].operands[1]); })},
          {"assigns output `low` 0 times", 0,
           on(OpKind::Assign, [](Function& f, Op& o) { o.operands[0] = f.params[3].value; })},
          {"assigns output `high` 2 times", 0,
           on(OpKind::Assign, [](Function& f, Op& o) { o.operands[0] = f.params[3].value; })},
          {"calls no graph or kernel", 1, on(OpKind::Call, [](Function&, Op& o) { o.callee = "nobody"; })},
          {"has a wrong number of arguments or results", 1,
           on(OpKind::Call, [](Function&, Op& o) { o.exprs.clear(); })},
          {"an argument has another type than the parameter", 1,
           on(OpKind::Call, [](Function& f, Op& o) { o.operands[0] = f.params[1].value; })},
          {"a scalar argument has another type than the parameter", 1,
           on(OpKind::Call, [](Function& f, Op& o) { o.exprs[0] = f.exprs.integer(1); })},
      });
}

TEST_CASE("types of tiles") {
  expect_all(
      samples::tile_module(),
      {
          {"its values are not all tiles", 1,
           on(OpKind::Exp, [](Function& f, Op& o) { o.operands[0] = f.params[0].value; })},
          {"an operand's shape does not broadcast to the result's", 1,
           on(OpKind::Add, [](Function& f, Op& o) { f.values[o.results[0]].type.rows = 4; })},
          {"the result is larger than its operands", 1,
           on(OpKind::Exp, [](Function& f, Op& o) { f.values[o.results[0]].type.cols = 2; })},
          {"the axis is out of range", 1, on(OpKind::ReduceMax, [](Function&, Op& o) { o.axis = 2; })},
          {"its result has a wrong shape", 1, on(OpKind::ReduceMax, [](Function&, Op& o) { o.axis = 0; })},
          {"its shapes do not fit", 0,
           on(OpKind::MatMul, [](Function& f, Op& o) { f.values[o.results[0]].type.cols = 128; })},
          {"does not go between a tensor and a tile", 0,
           on(OpKind::Store, [](Function& f, Op& o) { o.operands[1] = f.params[0].value; })},
          {"has a wrong number of offsets", 0, on(OpKind::Store, [](Function&, Op& o) { o.exprs.pop_back(); })},
          {"element types differ", 0,
           on(OpKind::Load, [](Function& f, Op& o) { retype(f, o.results[0], DType::F32); })},
          {"reads an output", 0, on(OpKind::Load, [](Function& f, Op& o) { o.operands[0] = f.params[2].value; })},
          {"writes an input", 0, on(OpKind::Store, [](Function& f, Op& o) { o.operands[0] = f.params[0].value; })},
          {"its result has another shape", 0,
           on(OpKind::Move, [](Function& f, Op& o) { f.values[o.results[0]].type.cols = 32; })},
          {"element types differ", 0,
           on(OpKind::Move, [](Function& f, Op& o) { retype(f, o.results[0], DType::F32); })},
          {"its window is larger than the tile", 1,
           on(OpKind::Extract, [](Function& f, Op& o) { f.values[o.results[0]].type.cols = 65; })},
          {"its result is not wholly valid", 1,
           on(OpKind::FillPad,
              [](Function& f, Op& o) { f.values[o.results[0]].type.valid_rows = f.exprs.integer(7); })},
          {"its scalar is an integer, its elements are floats", 1,
           on(OpKind::Full, [](Function& f, Op& o) { o.exprs[0] = f.exprs.integer(1); })},
          {"an operand's shape does not broadcast to the result's", 1,
           on(OpKind::Broadcast, [](Function& f, Op& o) { f.values[o.operands[0]].type.cols = 3; })},
      });
}

TEST_CASE("a window of a vector is one row") {
  Builder b(FunctionKind::Kernel, "k");
  const ValueId v = b.param("v", Builder::tensor(DType::F32, {b.num(64)}));
  const ValueId flat = b.add(OpKind::Reshape, {v}, Builder::tensor(DType::F32, {b.num(8), b.num(8)}));
  b.add(b.op(OpKind::Load, {v}, {b.num(0)}), b.tile(DType::F32, 1, 64));
  b.add(b.op(OpKind::Load, {flat}, {b.num(0), b.num(0)}), b.tile(DType::F32, 8, 8));
  Module module;
  module.functions.push_back(std::move(b.f));
  expect_all(module, {
                         {"covers more than one row of a tensor of rank 1", 0,
                          on(OpKind::Load, [](Function& f, Op& o) { f.values[o.results[0]].type.rows = 2; })},
                     });
}

TEST_CASE("cores") {
  auto inst = [](size_t skip, std::function<void(Function&, isa::Inst&)> apply) {
    return on(
        OpKind::Inst, [apply](Function& f, Op& o) { apply(f, o.inst); }, skip);
  };
  expect_all(
      samples::block_module(),
      {
          {"a buffer has no slots", 0, [](Function& f) { f.buffers[0].slots = 0; }},
          {"a buffer has no address in a core that is not automatic", 0,
           [](Function& f) { f.buffers[0].address = -1; }},
          {"a buffer's tile is incomplete", 0, [](Function& f) { f.buffers[0].tile.space = Space::None; }},
          {"the list of tensors is not the parameters and views", 1, [](Function& f) { f.tensors.pop_back(); }},
          {"does not follow the instruction's format", 0,
           inst(0, [](Function&, isa::Inst& i) { i.operands.pop_back(); })},
          {"does not follow the instruction's format", 0,
           inst(0, [](Function&, isa::Inst& i) { std::swap(i.operands[0], i.operands[1]); })},
          {"an operand's buffer is out of range", 0,
           inst(0, [](Function&, isa::Inst& i) { i.operands[0].buffer = isa::BufferId(9); })},
          {"an operand's tensor is out of range", 0,
           inst(0, [](Function&, isa::Inst& i) { i.operands[1].tensor = isa::TensorId(9); })},
          {"an operand has a wrong number of offsets", 0,
           inst(0, [](Function&, isa::Inst& i) { i.operands[1].offsets.pop_back(); })},
          {"an operand's expression is out of range", 0,
           inst(0, [](Function&, isa::Inst& i) { i.operands[1].offsets[0] = {}; })},
          {"an operand's expression is out of range", 0,
           inst(1, [](Function&, isa::Inst& i) { i.operands[2].a = ExprId(9999); })},
          {"a valid region has one side only", 0, inst(0, [](Function&, isa::Inst& i) { i.operands[2].b = {}; })},
          {"an attribute is out of range", 0, inst(1, [](Function&, isa::Inst& i) { i.operands[0].attribute = 99; })},
          {"reads an output", 0, inst(0, [](Function&, isa::Inst& i) { i.operands[1].tensor = isa::TensorId(1); })},
          {"writes an input", 0, inst(8, [](Function&, isa::Inst& i) { i.operands[0].tensor = isa::TensorId(0); })},
          {"an operand uses a symbol that is not defined there", 0,
           inst(0,
                [](Function& f, isa::Inst& i) {
                  i.operands[1].offsets[0] = f.exprs.symbol(f.add_symbol({"z", SymKind::Loop, DType::I64}));
                })},
      });
}

TEST_CASE("programs") {
  expect_all(
      samples::exec_module(),
      {
          {"calls no kernel or core", 1, on(OpKind::Task, [](Function&, Op& o) { o.callee = "twice"; })},
          {"has a wrong number of arguments", 1, on(OpKind::Task, [](Function&, Op& o) { o.operands.pop_back(); })},
          {"has a wrong number of arguments", 1, on(OpKind::Task, [](Function&, Op& o) { o.exprs.clear(); })},
          {"has a wrong number of dims", 1,
           on(OpKind::Task, [](Function&, Op& o) { o.task_dims.push_back(o.task_dims[0]); })},
          {"an argument has another type than the parameter", 1,
           on(OpKind::Buffer, [](Function& f, Op& o) { retype(f, o.results[0], DType::F16); })},
          {"a scalar argument has another type than the parameter", 1,
           on(OpKind::Task, [](Function& f, Op& o) { o.exprs[0] = f.exprs.integer(1); })},
          {"writes an input", 1, on(OpKind::Task, [](Function&, Op& o) { o.operands[1] = o.operands[0]; })},
          {"waits for something that is no earlier task", 1,
           on(OpKind::Task, [](Function& f, Op& o) { o.after = {f.body_region().ops.back()}; })},
          {"waits for something that is no earlier task", 1,
           on(OpKind::Task, [](Function& f, Op& o) { o.after = {find(f, OpKind::Buffer)}; })},
          {"a task to wait for is out of range", 1, on(OpKind::Task, [](Function&, Op& o) { o.after = {OpId(999)}; })},
          {"its result is no tensor", 1,
           on(OpKind::Buffer,
              [](Function& f, Op& o) {
                f.values[o.results[0]].type.kind = TypeKind::Tile;
                f.values[o.results[0]].type.rows = f.values[o.results[0]].type.cols = 8;
                f.values[o.results[0]].type.valid_rows = f.values[o.results[0]].type.valid_cols = f.exprs.integer(8);
              })},
          {"has a wrong number of expressions", 1,
           on(OpKind::Buffer, [](Function&, Op& o) { o.exprs.push_back(o.exprs[0]); })},
      });
}

// Ids out of nowhere end in violations, never in a crash or a loop; what is accepted can be printed and compared.
TEST_CASE("random damage") {
  std::mt19937 random(3);
  auto pick = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
  size_t refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<Module> modules = {samples::tensor_module(), samples::tile_module(), samples::block_module(),
                                   samples::exec_module()};
    Module module = modules[pick(4)];
    Function& f = module.functions[pick(2)];
    for (uint32_t times = 1 + pick(2); times > 0; --times) {
      Op& op = f.ops[OpId(pick(f.ops.size()))];
      // One past the end now and then.
      auto id = [&](auto& ids, size_t size) {
        if (!ids.empty()) {
          ids[pick(ids.size())] = typename std::decay_t<decltype(ids)>::value_type(pick(size + 1));
        }
      };
      switch (pick(12)) {
        case 0:
          id(op.operands, f.values.size());
          break;
        case 1:
          id(op.results, f.values.size());
          break;
        case 2:
          id(op.regions, f.regions.size());
          break;
        case 3:
          id(op.syms, f.symbols.size());
          break;
        case 4:
          id(op.exprs, f.exprs.size());
          break;
        case 5:
          id(f.regions[RegionId(pick(f.regions.size()))].ops, f.ops.size());
          break;
        case 6:
          id(f.regions[RegionId(pick(f.regions.size()))].args, f.values.size());
          break;
        case 7:
          f.values[ValueId(pick(f.values.size()))].def = OpId(pick(f.ops.size() + 1));
          break;
        case 8:
          op.kind = static_cast<OpKind>(pick(static_cast<size_t>(OpKind::Task) + 1));
          break;
        case 9:
          f.values[ValueId(pick(f.values.size()))].type = f.type(ValueId(pick(f.values.size())));
          break;
        case 10:
          op.operands.resize(pick(4), ValueId(pick(f.values.size())));
          break;
        default:
          if (!op.inst.operands.empty()) {
            isa::Operand& operand = op.inst.operands[pick(op.inst.operands.size())];
            operand.a = ExprId(pick(f.exprs.size() + 1));
            operand.buffer = isa::BufferId(pick(f.buffers.size() + 1));
            operand.tensor = isa::TensorId(pick(f.tensors.size() + 1));
          }
          break;
      }
    }
    std::vector<std::string> violations;
    if (verify(module, violations)) {
      REQUIRE_FALSE(print(module).empty());
      REQUIRE(equal(module, module));
    } else {
      ++refused;
    }
  }
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace pto::ir
