// Branches of kernels, floats by name, round trips through global memory, moves between the cores: against hand-worked
// results.
#include <catch2/catch.hpp>
#include <cmath>

#include "src/eval/check_pass.h"
#include "tests/unit/eval/run.h"

using namespace pto;
using namespace pto::eval;
using namespace pto::eval::test;

TEST_CASE("a branch's results are those of the side that ran") {
  // t starts as x; three times: t = (j < n ? exp(t) : t) + x.
  const Module module = ir::samples::branch_module();
  for (const int64_t n : {-1, 0, 1, 2, 5}) {
    std::vector<double> x(9 * 64);
    std::vector<double> golden;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<double>(i % 5) / 4 - 0.5;
      double t = x[i];
      for (int64_t j = 0; j < 3; ++j) {
        t = (j < n ? std::exp(t) : t) + x[i];
      }
      golden.push_back(t);
    }
    const Run r = run(module, "choose", {9}, {tensor(DType::F32, {9, 64}, x), unwritten_tensor(DType::F32, {9, 64})},
                      {static_cast<double>(n)});
    INFO(r.status.text);
    REQUIRE(r.status.ok());
    CHECK(r.tensors[1].data == golden);
    CHECK(r.tensors[1].is_written(9 * 64 - 1));
  }
}

// a = 1; if n > 0 { b = 2; c = b + b; } d = a + a
TEST_CASE("a branch without results leaves what is outside alone") {
  Builder b(FunctionKind::Kernel, "merge");
  const ExprId n = b.scalar_param("n", DType::I32);
  const ValueId d = b.param("d", Builder::tensor(DType::F32, {b.num(8), b.num(8)}), ParamMode::Out);
  const Type type = b.tile(DType::F32, 8, 8);
  const ValueId a = b.add(b.op(OpKind::Full, {}, {b.e().real(1)}), type);
  Op branch = b.op(OpKind::If, {}, {b.e().make(ExprOp::Lt, b.num(0), n)});
  branch.regions = {b.f.add_region(), b.f.add_region()};
  const ir::RegionId then = branch.regions[0];
  b.run(std::move(branch));
  b.region = then;
  const ValueId two = b.add(b.op(OpKind::Full, {}, {b.e().real(2)}), type);
  b.add(OpKind::Add, {two, two}, type);
  b.region = b.f.body;
  b.run(b.op(OpKind::Store, {d, b.add(OpKind::Add, {a, a}, type)}, {b.num(0), b.num(0)}));
  const Module module = module_of(std::move(b));
  for (const double value : {0.0, 1.0}) {
    const Run r = run(module, "merge", {}, {unwritten_tensor(DType::F32, {8, 8})}, {value});
    INFO(r.status.text);
    REQUIRE(r.status.ok());
    CHECK(r.tensors[0].data == std::vector<double>(64, 2.0));
  }
}

// for i in 0..8 { store(g[i], i); x = load(g[i]); diff[i] = x - i; }
TEST_CASE("a load sees the store in front of it") {
  Builder b(FunctionKind::Kernel, "trip");
  const ValueId g = b.param("g", Builder::tensor(DType::F32, {b.num(8), b.num(8)}), ParamMode::InOut);
  const ValueId diff = b.param("diff", Builder::tensor(DType::F32, {b.num(8), b.num(8)}), ParamMode::Out);
  const Type row = b.tile(DType::F32, 1, 8);
  const SymId i = b.symbol("i", SymKind::Loop);
  b.open(b.op(OpKind::For, {}, {b.num(0), b.num(8), b.num(1)}), {i});
  const ExprId value = b.e().mul(b.sym(i), b.e().real(1));
  b.run(b.op(OpKind::Store, {g, b.add(b.op(OpKind::Full, {}, {value}), row)}, {b.sym(i), b.num(0)}));
  const ValueId x = b.add(b.op(OpKind::Load, {g}, {b.sym(i), b.num(0)}), row);
  b.run(b.op(OpKind::Store, {diff, b.add_scalar(OpKind::Sub, x, value, ScalarSide::Right, row)}, {b.sym(i), b.num(0)}));
  b.close();
  const Module module = module_of(std::move(b));
  const Run r = run(module, "trip", {},
                    {tensor(DType::F32, {8, 8}, std::vector<double>(64, 77)), unwritten_tensor(DType::F32, {8, 8})});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  CHECK(r.tensors[1].data == std::vector<double>(64, 0.0));
  CHECK(r.tensors[0].data[63] == 7);
}

TEST_CASE("a float by name has its element type's value, an index by name stays whole") {
  Builder b(FunctionKind::Kernel, "named");
  const ExprId s = b.scalar_param("s", DType::F16);
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {b.num(1), b.num(8)}), ParamMode::Out);
  Op let = b.op(OpKind::Let, {}, {b.e().make(ExprOp::Div, s, b.e().real(3))});
  let.syms = {b.f.add_symbol({"third", SymKind::Let, DType::F16})};
  b.f.exprs.mark_real(let.syms[0]);
  const ExprId third = b.sym(let.syms[0]);
  b.run(std::move(let));
  const ValueId t = b.add(b.op(OpKind::Full, {}, {third}), b.tile(DType::F32, 1, 8));
  b.run(b.op(OpKind::Store, {y, t}, {b.num(0), b.num(0)}));
  const Run r = run(module_of(std::move(b)), "named", {}, {unwritten_tensor(DType::F32, {1, 8})}, {1.0});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  CHECK(r.tensors[0].data[3] == 0.333251953125);  // 1365 / 4096, the f16 next to a third
}

TEST_CASE("a move between the memories of both cores keeps the value") {
  Builder b(FunctionKind::Kernel, "sent");
  const ValueId x = b.param("x", Builder::tensor(DType::F32, {b.num(8), b.num(8)}));
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {b.num(8), b.num(8)}), ParamMode::Out);
  const Type type = b.tile(DType::F32, 8, 8);
  const ValueId t = b.add(b.op(OpKind::Load, {x}, {b.num(0), b.num(0)}), type);
  const ValueId product = b.add(OpKind::MatMul, {t, t}, Builder::placed(type, Space::Acc));
  const ValueId vec = b.add(OpKind::Move, {product}, Builder::placed(type, Space::Vec));
  const ValueId back = b.add(OpKind::Move, {vec}, Builder::placed(type, Space::Mat, Layout::Nz));
  b.run(b.op(OpKind::Store, {y, back}, {b.num(0), b.num(0)}));
  std::vector<double> diagonal(64);
  for (size_t i = 0; i < 8; ++i) {
    diagonal[i * 9] = static_cast<double>(i) / 3;  // its square is no f16
  }
  const Module module = module_of(std::move(b));
  std::vector<std::string> violations;
  CHECK(ir::verify(module, violations));
  const Run r = run(module, "sent", {}, {tensor(DType::F32, {8, 8}, diagonal), unwritten_tensor(DType::F32, {8, 8})});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  CHECK(r.tensors[1].data[63] == diagonal[63] * diagonal[63]);
  CHECK(r.tensors[1].data[1] == 0);
}

TEST_CASE("the checker sees a branch taken the wrong way, and leaves pairs alone") {
  Module module = ir::samples::branch_module();
  DiagnosticSink sink;
  PassChecker checker(sink);
  checker.start(module);
  CHECK(checker.observe("nothing", module));
  for (Op& op : module.functions[0].ops) {
    if (op.kind == OpKind::If) {
      std::swap(op.regions[0], op.regions[1]);
    }
  }
  CHECK_FALSE(checker.observe("swap", module));
  REQUIRE(sink.all().size() == 1);
  CHECK(sink.all()[0].code() == "E0905");

  DiagnosticSink quiet;
  PassChecker other(quiet);
  other.start(ir::samples::pair_module());
  CHECK(other.observe("nothing", ir::samples::pair_module()));
  CHECK(quiet.all().empty());
}
