// Kernels and programs of kernels: against hand-worked results, plain loops, and wrong programs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>

#include "tests/unit/eval/run.h"

using namespace pto;
using namespace pto::eval;
using namespace pto::eval::test;

namespace {

// y = 2 x over blocks of `rows` x 4; `valid` false: the valid region is the whole tile, whatever the tensor has.
Module scale_kernel(int64_t rows, bool valid, DType out = DType::F32) {
  Builder b(FunctionKind::Kernel, "scale");
  const ExprId m = b.dim("M");
  const ValueId x = b.param("x", Builder::tensor(DType::F32, {m, b.num(4)}));
  const ValueId y = b.param("y", Builder::tensor(out, {m, b.num(4)}), ParamMode::Out);
  const SymId i = b.symbol("i", SymKind::Loop);
  b.open(b.op(OpKind::Parallel, {}, {b.num(0), m, b.num(rows)}), {i});
  const ExprId left = b.e().min(b.num(rows), b.e().sub(m, b.sym(i)));
  const Type type = Builder::tile(DType::F32, rows, 4, valid ? left : b.num(rows), b.num(4));
  const ValueId t = b.add(b.op(OpKind::Load, {x}, {b.sym(i), b.num(0)}), type, "t");
  const ValueId d = b.add_scalar(OpKind::Mul, t, b.e().real(2), ScalarSide::Right, type);
  b.run(b.op(OpKind::Store, {y, d}, {b.sym(i), b.num(0)}));
  b.close();
  return module_of(std::move(b));
}

std::vector<double> counting(size_t count) {
  std::vector<double> data(count);
  for (size_t i = 0; i < count; ++i) {
    data[i] = static_cast<double>(i % 11) - 5;
  }
  return data;
}

}  // namespace

TEST_CASE("blocks cover a tensor, the last one partly") {
  const Module module = scale_kernel(8, true);
  for (const int64_t m : {1, 8, 19}) {
    std::vector<double> x = counting(static_cast<size_t>(m) * 4);
    const Run r = run(module, "scale", {m}, {tensor(DType::F32, {m, 4}, x), unwritten_tensor(DType::F32, {m, 4})});
    INFO(r.status.text);
    REQUIRE(r.status.ok());
    std::for_each(x.begin(), x.end(), [](double& each) { each *= 2; });
    CHECK(r.tensors[1].data == x);
    CHECK(std::count(r.tensors[1].written.begin(), r.tensors[1].written.end(), 1) == m * 4);
  }
}

TEST_CASE("a core's share of a parallel is every block_count-th block") {
  const Module module = scale_kernel(2, true);
  Tensor x = tensor(DType::F32, {10, 4}, std::vector<double>(40, 1));
  Tensor y = unwritten_tensor(DType::F32, {10, 4});
  Arguments arguments{{10}, {}, {&x, &y}, 1, 3};
  REQUIRE(evaluate(module, module.functions[0], arguments, {}).ok());
  for (int64_t row = 0; row < 10; ++row) {
    const bool mine = row / 2 % 3 == 1;
    CHECK(y.written[static_cast<size_t>(row * 4)] == (mine ? 1 : 0));
  }
}

TEST_CASE("a window that leaves its tensor is a fault") {
  const Module module = scale_kernel(8, false);
  auto status = [&](int64_t m) {
    const size_t count = static_cast<size_t>(m) * 4;
    return run(module, "scale", {m}, {tensor(DType::F32, {m, 4}, counting(count)), unwritten_tensor(DType::F32, {m, 4})})
        .status;
  };
  CHECK(status(16).ok());
  CHECK(status(17).outcome == Outcome::Fault);
  CHECK_THAT(status(17).text, Catch::Contains("leaves `x`: index 16 to 23 in dimension 0, which has 17"));
}

TEST_CASE("what nothing wrote can't be read") {
  const Module module = scale_kernel(8, true);
  Tensor x = unwritten_tensor(DType::F32, {2, 4});
  std::fill(x.written.begin(), x.written.end(), uint8_t{1});
  x.written[5] = 0;
  const Run r = run(module, "scale", {2}, {x, unwritten_tensor(DType::F32, {2, 4})});
  CHECK(r.status.outcome == Outcome::Fault);
  CHECK_THAT(r.status.text, Catch::Contains("element 5 of `x` is read, but nothing wrote it"));
}

TEST_CASE("padding can't be read until it is filled") {
  for (const bool filled : {false, true}) {
    Builder b(FunctionKind::Kernel, "k");
    const ValueId x = b.param("x", Builder::tensor(DType::F32, {b.num(3)}));
    const ValueId y = b.param("y", Builder::tensor(DType::F32, {b.num(8)}), ParamMode::Out);
    const Type whole = b.tile(DType::F32, 1, 8);
    ValueId t = b.add(b.op(OpKind::Load, {x}, {b.num(0)}), Builder::tile(DType::F32, 1, 8, b.num(1), b.num(3)), "t");
    if (filled) {
      Op pad = b.op(OpKind::FillPad, {t});
      pad.pad = isa::Pad::Max;
      t = b.add(std::move(pad), whole);
    }
    b.run(b.op(OpKind::Store, {y, b.add(OpKind::Neg, {t}, whole)}, {b.num(0)}));
    const Run r = run(module_of(std::move(b)), "k", {},
                      {tensor(DType::F32, {3}, {1, 2, 3}), unwritten_tensor(DType::F32, {8})});
    if (filled) {
      REQUIRE(r.status.ok());
      CHECK(r.tensors[1].data[2] == -3);
      CHECK(r.tensors[1].data[3] == -std::numeric_limits<double>::infinity());
    } else {
      CHECK(r.status.outcome == Outcome::Fault);
      CHECK_THAT(r.status.text, Catch::Contains("`neg` reads element [0, 3] of `t`, whose valid region is 1 x 3"));
    }
  }
}

TEST_CASE("the sample product kernel is a product") {
  const Module module = ir::samples::tile_module();
  const int64_t m = 5, n = 7, k = 150;  // three steps along k, the last one partly
  const std::vector<double> a = counting(static_cast<size_t>(m * k));
  const std::vector<double> b = counting(static_cast<size_t>(k * n));
  const Run r = run(module, "gemm", {m, n, k},
                    {tensor(DType::F16, {m, k}, a), tensor(DType::F16, {k, n}, b), unwritten_tensor(DType::F32, {m, n})});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += a[static_cast<size_t>(i * k + p)] * b[static_cast<size_t>(p * n + j)];
      }
      CHECK(r.tensors[2].data[static_cast<size_t>(i * n + j)] == sum);
    }
  }
}

TEST_CASE("column reductions, extraction, selection and views") {
  Builder b(FunctionKind::Kernel, "k");
  const ValueId x = b.param("x", Builder::tensor(DType::I32, {b.num(2), b.num(2), b.num(3)}));
  const ValueId y = b.param("y", Builder::tensor(DType::I32, {b.num(3)}), ParamMode::Out);
  const ValueId z = b.param("z", Builder::tensor(DType::I32, {b.num(2), b.num(2)}), ParamMode::Out);
  const ValueId view = b.add(OpKind::Reshape, {x}, Builder::tensor(DType::I32, {b.num(4), b.num(3)}));
  const Type type = Builder::tile(DType::I32, 8, 8, b.num(4), b.num(3));
  const ValueId t = b.add(b.op(OpKind::Load, {view}, {b.num(0), b.num(0)}), type, "t");
  Op sum = b.op(OpKind::Sum, {t});
  sum.axis = 0;
  b.run(b.op(OpKind::Store, {y, b.add(std::move(sum), Builder::tile(DType::I32, 1, 8, b.num(1), b.num(3)))}, {b.num(0)}));
  Op compare = b.op(OpKind::Compare, {t}, {b.num(5)});
  compare.scalar_side = ScalarSide::Left;
  compare.cmp = isa::Cmp::Lt;  // 5 < t
  Type mask = type;
  mask.dtype = DType::Bool;
  const ValueId large = b.add(std::move(compare), mask);
  Op select = b.op(OpKind::Select, {large, t}, {b.num(-1)});
  select.scalar_side = ScalarSide::Left;  // -1 where large
  const ValueId chosen = b.add(std::move(select), type);
  const ValueId window = b.add(b.op(OpKind::Extract, {chosen}, {b.num(1), b.num(1)}), b.tile(DType::I32, 2, 2));
  b.run(b.op(OpKind::Store, {z, window}, {b.num(0), b.num(0)}));
  const Run r = run(module_of(std::move(b)), "k", {},
                    {tensor(DType::I32, {2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
                     unwritten_tensor(DType::I32, {3}), unwritten_tensor(DType::I32, {2, 2})});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  CHECK(r.tensors[1].data == std::vector<double>{18, 22, 26});
  CHECK(r.tensors[2].data == std::vector<double>{4, 5, -1, -1});
}

TEST_CASE("a loop that does not run leaves its carried values, endless ones end") {
  for (const int64_t step : {1, 0}) {
    Builder b(FunctionKind::Kernel, "k");
    const ExprId n = b.dim("N");
    const ValueId y = b.param("y", Builder::tensor(DType::F32, {b.num(1)}), ParamMode::Out);
    const Type type = b.tile(DType::F32, 1, 1);
    const ValueId start = b.add(b.op(OpKind::Full, {}, {b.e().real(10)}), type);
    const OpId loop =
        b.open(b.op(OpKind::For, {}, {b.num(0), n, b.num(step)}), {b.symbol("i", SymKind::Loop)});
    b.carry(loop, start, "acc");
    b.run(b.op(OpKind::Yield, {b.add_scalar(OpKind::Add, b.carried(loop, 0), b.e().real(1), ScalarSide::Right, type)}));
    b.close();
    b.run(b.op(OpKind::Store, {y, b.after(loop, 0)}, {b.num(0)}));
    const Module module = module_of(std::move(b));
    auto with = [&](int64_t dim) { return run(module, "k", {dim}, {unwritten_tensor(DType::F32, {1})}); };
    if (step == 0) {
      CHECK(with(3).status.outcome == Outcome::Fault);
      continue;
    }
    CHECK(with(0).tensors[0].data[0] == 10);
    CHECK(with(5).tensors[0].data[0] == 15);
    CHECK(with(int64_t{1} << 60).status.outcome == Outcome::Limit);
  }
}

TEST_CASE("programs run their tasks in order; cores are not evaluated") {
  Module module = scale_kernel(8, true);
  auto program = [&](const std::string& callee) {
    Builder b(FunctionKind::Program, "twice");
    const ExprId m = b.dim("M");
    const Type type = Builder::tensor(DType::F32, {m, b.num(4)});
    const ValueId x = b.param("x", type);
    const ValueId y = b.param("y", type, ParamMode::Out);
    const ValueId h = b.add(b.op(OpKind::Buffer), type, "h");
    for (const auto& [from, to] : {std::pair(x, h), std::pair(h, y)}) {
      Op task = b.op(OpKind::Task, {from, to});
      task.name = from == x ? "t0" : "t1";
      task.callee = callee;
      task.task_dims = {m};
      task.blocks = b.num(2);
      b.run(std::move(task));
    }
    return std::move(b.f);
  };
  module.functions.push_back(program("scale"));
  const Run r = run(module, "twice", {3},
                    {tensor(DType::F32, {3, 4}, std::vector<double>(12, 3)), unwritten_tensor(DType::F32, {3, 4})});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  CHECK(r.tensors[1].data == std::vector<double>(12, 12));

  Module cores = ir::samples::exec_module();
  const Run unsupported = run(cores, "twice", {16},
                              {tensor(DType::F32, {16, 64}, std::vector<double>(1024, 1)),
                               unwritten_tensor(DType::F32, {16, 64})},
                              {2});
  CHECK(unsupported.status.outcome == Outcome::Unsupported);
}
