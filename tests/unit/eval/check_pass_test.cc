// The checker sees passes that change values, and leaves those alone that don't.
#include <catch2/catch.hpp>

#include "src/eval/check_pass.h"
#include "tests/unit/eval/run.h"

using namespace pto;
using namespace pto::eval;
using namespace pto::eval::test;

namespace {

// y = x * factor + 0.5 (by a scalar operand), or another formula on the way.
Module graph(double factor, DType dtype = DType::F32, OpKind kind = OpKind::Mul) {
  Builder b(FunctionKind::Graph, "g");
  const ExprId m = b.dim("M");
  const ExprId n = b.dim("N");
  const Type type = Builder::tensor(dtype, {m, n});
  const ValueId x = b.param("x", type);
  const ValueId y = b.param("y", type, ParamMode::Out);
  const ValueId t = b.add_scalar(kind, x, b.e().real(factor), ScalarSide::Right, type);
  b.run(b.op(OpKind::Assign, {y, b.add_scalar(OpKind::Add, t, b.e().real(0.5), ScalarSide::Right, type)}));
  return module_of(std::move(b));
}

// The same graph as a kernel over rows of 64 columns; `columns` of them are written.
Module kernel(double factor, int64_t columns = 64) {
  Builder b(FunctionKind::Kernel, "g");
  const ExprId m = b.dim("M");
  const ExprId n = b.dim("N");
  const ValueId x = b.param("x", Builder::tensor(DType::F32, {m, n}));
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {m, n}), ParamMode::Out);
  const SymId i = b.symbol("i", SymKind::Loop);
  const SymId j = b.symbol("j", SymKind::Loop);
  b.open(b.op(OpKind::Parallel, {}, {b.num(0), m, b.num(1), b.num(0), n, b.num(64)}), {i, j});
  const Type type =
      Builder::tile(DType::F32, 1, 64, b.num(1), b.e().min(b.num(columns), b.e().sub(n, b.sym(j))));
  const ValueId t = b.add(b.op(OpKind::Load, {x}, {b.sym(i), b.sym(j)}), type);
  const ValueId u = b.add_scalar(OpKind::Mul, t, b.e().real(factor), ScalarSide::Right, type);
  b.run(b.op(OpKind::Store, {y, b.add_scalar(OpKind::Add, u, b.e().real(0.5), ScalarSide::Right, type)},
             {b.sym(i), b.sym(j)}));
  b.close();
  return module_of(std::move(b));
}

// What the checker says when `before` becomes `after`; empty: nothing.
std::string verdict(const Module& before, const Module& after) {
  DiagnosticSink sink;
  PassChecker checker(sink);
  checker.start(before);
  const bool ok = checker.observe("p", after);
  CHECK(ok != sink.has_errors());
  return sink.all().empty() ? "" : sink.all().back().code() + " " + sink.all().back().message;
}

Module with_constraint(Module module, ExprOp op, int64_t value) {
  Function& f = module.functions[0];
  f.constraints.push_back({f.exprs.make(op, f.exprs.symbol(f.dims[0]), f.exprs.integer(value)), "", {}});
  return module;
}

}  // namespace

TEST_CASE("a pass that keeps values passes") {
  CHECK(verdict(graph(3), graph(3)).empty());
  CHECK(verdict(graph(3), kernel(3)).empty());
  CHECK(verdict(graph(4), graph(0.25, DType::F32, OpKind::Div)).empty());
  CHECK(verdict(graph(0.125, DType::F16), graph(8, DType::F16, OpKind::Div)).empty());
}

TEST_CASE("a changed value is reported with pass, result, function and element") {
  const std::string text = verdict(graph(3), kernel(2.99));
  CHECK_THAT(text, Catch::StartsWith("E0905 pass `p` changed `y` of `g`: element [0, "));
  CHECK_THAT(text, Catch::Contains("(with M = 1, N = 17)"));
  CHECK_THAT(verdict(graph(3), kernel(3.00001)), Catch::StartsWith("E0905"));
  CHECK_THAT(verdict(graph(3), kernel(-3)), Catch::StartsWith("E0905"));
  // Half a unit in the last place of an f16 is within the budget of f16.
  CHECK(verdict(graph(3, DType::F16), graph(3.001, DType::F16)).empty());
  CHECK_THAT(verdict(graph(3, DType::F16), graph(3.1, DType::F16)), Catch::StartsWith("E0905"));
}

TEST_CASE("elements that are no longer written are reported") {
  CHECK_THAT(verdict(kernel(3), kernel(3, 63)), Catch::StartsWith("E0905 pass `p` changed `y` of `g`: element [0, 63]"));
}

TEST_CASE("programs that break are reported") {
  CHECK_THAT(verdict(graph(3), Module()), Catch::StartsWith("E0906 pass `p` broke `g`: it is gone"));
  Module wrong = kernel(3);
  for (ir::Value& value : wrong.functions[0].values) {
    if (value.type.is_tile()) {
      value.type.valid_cols = wrong.functions[0].exprs.integer(64);
    }
  }
  CHECK_THAT(verdict(graph(3), wrong), Catch::StartsWith("E0906 pass `p` broke `g`:") && Catch::Contains("leaves `x`"));
  Module invalid = graph(3);
  invalid.functions[0].params.pop_back();
  CHECK_THAT(verdict(graph(3), invalid), Catch::StartsWith("E0906"));
}

TEST_CASE("a pass must not bring infinities of a narrow type") {
  // exp(x) / 2^12 against exp(x) * 2^4 / 2^16: equal in exact arithmetic, but f16 overflows on the way.
  auto scaled = [](bool detour) {
    Builder b(FunctionKind::Graph, "g");
    const Type type = Builder::tensor(DType::F16, {b.dim("M"), b.dim("N")});
    const ValueId x = b.param("x", type);
    const ValueId y = b.param("y", type, ParamMode::Out);
    const ValueId small = b.add_scalar(OpKind::Mul, x, b.e().real(0.5), ScalarSide::Right, type);
    ValueId e = b.add(OpKind::Exp, {small}, type);
    if (detour) {
      e = b.add_scalar(OpKind::Mul, e, b.e().real(4096), ScalarSide::Right, type);
    }
    b.run(b.op(OpKind::Assign, {y, b.add_scalar(OpKind::Mul, e, b.e().real(detour ? 1.0 / 4096 : 1), ScalarSide::Right, type)}));
    return module_of(std::move(b));
  };
  CHECK(verdict(scaled(false), scaled(false)).empty());
  CHECK_THAT(verdict(scaled(false), scaled(true)), Catch::StartsWith("E0905") && Catch::Contains(", is inf"));
}

TEST_CASE("how floats are rounded to integers matters") {
  auto cast = [](isa::Round round) {
    Builder b(FunctionKind::Graph, "g");
    const ExprId m = b.dim("M");
    const ValueId x = b.param("x", Builder::tensor(DType::F32, {m}));
    const ValueId y = b.param("y", Builder::tensor(DType::I32, {m}), ParamMode::Out);
    Op op = b.op(OpKind::Cast, {x});
    op.round = round;
    b.run(b.op(OpKind::Assign, {y, b.add(std::move(op), b.f.type(y))}));
    return module_of(std::move(b));
  };
  CHECK(verdict(cast(isa::Round::Rint), cast(isa::Round::Round)).empty());  // no halves among the inputs
  CHECK_THAT(verdict(cast(isa::Round::Rint), cast(isa::Round::Floor)), Catch::StartsWith("E0905"));
}

TEST_CASE("dims satisfy the constraints, or the entry is left out and said to be") {
  const Module sixteen = with_constraint(graph(3), ExprOp::Eq, 16);
  CHECK_THAT(verdict(sixteen, graph(3.1)), Catch::Contains("M = 16"));
  const Module none = with_constraint(graph(3), ExprOp::Eq, 1000003);
  CHECK(verdict(none, graph(3.1)) == "R0907 `g` is not checked after passes: no small dims satisfy its constraints");
}

TEST_CASE("an entry that became a core is left alone") {
  Module core = ir::samples::block_module();
  core.functions.resize(1);
  core.functions[0].name = "g";
  CHECK(verdict(graph(3), core).empty());
}

TEST_CASE("inputs depend on nothing but the entry") {
  std::string reason;
  const Module module = graph(3);
  for (int sample = 0; sample < kSamples; ++sample) {
    const auto a = make_inputs(module.functions[0], sample, reason);
    const auto b = make_inputs(graph(5).functions[0], sample, reason);
    REQUIRE(a);
    REQUIRE(b);
    CHECK(a->dims == b->dims);
    CHECK(a->tensors[0].data == b->tensors[0].data);
    CHECK(a->tensors[1].data.size() == a->tensors[0].data.size());
  }
}
