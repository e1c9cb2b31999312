// Graphs whose results were worked out by hand.
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/unit/eval/run.h"

using namespace pto;
using namespace pto::eval;
using namespace pto::eval::test;

TEST_CASE("elementwise operations broadcast, with scalars on either side") {
  Builder b(FunctionKind::Graph, "g");
  const ExprId m = b.dim("M");
  const Type full = Builder::tensor(DType::F32, {m, b.num(3)});
  const ValueId x = b.param("x", full);
  const ValueId row = b.param("row", Builder::tensor(DType::F32, {b.num(3)}));
  const ValueId col = b.param("col", Builder::tensor(DType::F32, {m, b.num(1)}));
  const ExprId s = b.scalar_param("s", DType::F32);
  const ValueId y = b.param("y", full, ParamMode::Out);
  const ValueId t = b.add(OpKind::Add, {b.add(OpKind::Mul, {x, row}, full), col}, full);
  b.run(b.op(OpKind::Assign, {y, b.add_scalar(OpKind::Sub, t, s, ScalarSide::Left, full)}));
  const Module module = module_of(std::move(b));
  const Run r = run(module, "g", {2},
                    {tensor(DType::F32, {2, 3}, {1, 2, 3, 4, 5, 6}), tensor(DType::F32, {3}, {1, 10, 100}),
                     tensor(DType::F32, {2, 1}, {0.5, -0.5}), unwritten_tensor(DType::F32, {2, 3})},
                    {7});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  CHECK(r.tensors[3].data == std::vector<double>{5.5, -13.5, -293.5, 3.5, -42.5, -592.5});
  CHECK(r.tensors[3].written.empty());
}

TEST_CASE("reductions run along any axis") {
  for (const int axis : {0, 1, 2}) {
    Builder b(FunctionKind::Graph, "g");
    const ValueId x = b.param("x", Builder::tensor(DType::I32, {b.num(2), b.num(2), b.num(2)}));
    std::vector<ExprId> dims(3, b.num(2));
    dims[static_cast<size_t>(axis)] = b.num(1);
    const Type type = Builder::tensor(DType::I32, dims);
    const OpKind kinds[] = {OpKind::Sum, OpKind::ReduceMax, OpKind::ReduceMin};
    std::vector<ValueId> outs;
    for (const char* name : {"sum", "max", "min"}) {
      outs.push_back(b.param(name, type, ParamMode::Out));
    }
    for (size_t i = 0; i < 3; ++i) {
      Op op = b.op(kinds[i], {x});
      op.axis = axis;
      b.run(b.op(OpKind::Assign, {outs[i], b.add(std::move(op), type)}));
    }
    const Module module = module_of(std::move(b));
    std::vector<int64_t> shape(3, 2);
    shape[static_cast<size_t>(axis)] = 1;
    const Tensor none = unwritten_tensor(DType::I32, shape);
    const Run r = run(module, "g", {}, {tensor(DType::I32, {2, 2, 2}, {1, -2, 3, 4, 5, 6, -7, 8}), none, none, none});
    REQUIRE(r.status.ok());
    const std::vector<double> sums[] = {{6, 4, -4, 12}, {4, 2, -2, 14}, {-1, 7, 11, 1}};
    const std::vector<double> maxima[] = {{5, 6, 3, 8}, {3, 4, 5, 8}, {1, 4, 6, 8}};
    const std::vector<double> minima[] = {{1, -2, -7, 4}, {1, -2, -7, 6}, {-2, 3, 5, -7}};
    CHECK(r.tensors[1].data == sums[axis]);
    CHECK(r.tensors[2].data == maxima[axis]);
    CHECK(r.tensors[3].data == minima[axis]);
  }
}

TEST_CASE("composite operations follow their definitions") {
  Builder b(FunctionKind::Graph, "g");
  const Type type = Builder::tensor(DType::F32, {b.num(1), b.num(3)});
  const ValueId x = b.param("x", type);
  std::vector<ValueId> outs;
  for (const char* name : {"soft", "sig", "tan"}) {
    outs.push_back(b.param(name, type, ParamMode::Out));
  }
  const ValueId mean = b.param("mean", Builder::tensor(DType::F32, {b.num(1), b.num(1)}), ParamMode::Out);
  Op softmax = b.op(OpKind::Softmax, {x});
  softmax.axis = 1;
  b.run(b.op(OpKind::Assign, {outs[0], b.add(std::move(softmax), type)}));
  b.run(b.op(OpKind::Assign, {outs[1], b.add(OpKind::Sigmoid, {x}, type)}));
  b.run(b.op(OpKind::Assign, {outs[2], b.add(OpKind::Tanh, {x}, type)}));
  Op average = b.op(OpKind::Mean, {x});
  average.axis = 1;
  b.run(b.op(OpKind::Assign, {mean, b.add(std::move(average), b.f.type(mean))}));
  const Module module = module_of(std::move(b));
  const Tensor none = unwritten_tensor(DType::F32, {1, 3});
  // softmax of ln 1, ln 2, ln 5: shares of eight.
  const Run r = run(module, "g", {},
                    {tensor(DType::F32, {1, 3}, {0, 0.6931471805599453, 1.6094379124341003}), none, none, none,
                     unwritten_tensor(DType::F32, {1, 1})});
  REQUIRE(r.status.ok());
  const double shares[] = {0.125, 0.25, 0.625};
  const double sigmoids[] = {0.5, 2.0 / 3, 5.0 / 6};
  const double tangents[] = {0, 0.6, 12.0 / 13};  // (x^2 - 1) / (x^2 + 1) of 1, 2, 5
  for (size_t i = 0; i < 3; ++i) {
    CHECK(r.tensors[1].data[i] == Approx(shares[i]).epsilon(1e-12));
    CHECK(r.tensors[2].data[i] == Approx(sigmoids[i]).epsilon(1e-12));
    CHECK(r.tensors[3].data[i] == Approx(tangents[i]).epsilon(1e-12).margin(1e-15));
  }
  CHECK(r.tensors[4].data[0] == Approx(std::log(10.0) / 3).epsilon(1e-12));
}

TEST_CASE("products, with and without a bias") {
  Builder b(FunctionKind::Graph, "g");
  const ValueId x = b.param("x", Builder::tensor(DType::F16, {b.num(2), b.num(3)}));
  const ValueId w = b.param("w", Builder::tensor(DType::F16, {b.num(3), b.num(2)}));
  const ValueId v = b.param("v", Builder::tensor(DType::F32, {b.num(2)}));
  const Type type = Builder::tensor(DType::F32, {b.num(2), b.num(2)});
  const ValueId y = b.param("y", type, ParamMode::Out);
  const ValueId z = b.param("z", type, ParamMode::Out);
  b.run(b.op(OpKind::Assign, {y, b.add(OpKind::MatMul, {x, w}, type)}));
  b.run(b.op(OpKind::Assign, {z, b.add(OpKind::MatMulBias, {x, w, v}, type)}));
  const Module module = module_of(std::move(b));
  const Tensor none = unwritten_tensor(DType::F32, {2, 2});
  const Run r = run(module, "g", {},
                    {tensor(DType::F16, {2, 3}, {1, 2, 3, 4, 5, 6}), tensor(DType::F16, {3, 2}, {1, 2, 3, 4, 5, 6}),
                     tensor(DType::F32, {2}, {100, -100}), none, none});
  REQUIRE(r.status.ok());
  CHECK(r.tensors[3].data == std::vector<double>{22, 28, 49, 64});
  CHECK(r.tensors[4].data == std::vector<double>{122, -72, 149, -36});
}

TEST_CASE("the sample graph: calls, comparison, selection, casts, reshape") {
  const Module module = ir::samples::tensor_module();
  std::vector<double> x(64, 0.0);
  x[0] = 3;
  x[1] = -40;
  const Run r = run(module, "tensor_sample", {1},
                    {tensor(DType::F32, {1, 64}, x), tensor(DType::F16, {64, 32}, std::vector<double>(64 * 32, 0.0)),
                     tensor(DType::F32, {32}, std::vector<double>(32, 1.0)), unwritten_tensor(DType::F32, {1, 32}),
                     unwritten_tensor(DType::I32, {64})});
  INFO(r.status.text);
  REQUIRE(r.status.ok());
  // low = x / 4, high = x - low, gate = 1 / (low - 0.75): 1 / 0, 1 / -10.75, 1 / -0.75; at least -1; kept where < high.
  // 1 / 0 is infinite, which is not less than 2.25: 0. -0.093 is not less than -30: 0. -1 is less than 0: -1.
  CHECK(r.tensors[3].data == std::vector<double>(32, 1.0 / 32));
  CHECK(r.tensors[4].data[0] == 0);
  CHECK(r.tensors[4].data[1] == 0);
  CHECK(r.tensors[4].data[2] == -2);  // -(-2 * -1)
  CHECK(r.tensors[4].data[63] == -2);
}

TEST_CASE("results are rounded to their types where that is asked for") {
  Builder b(FunctionKind::Graph, "g");
  const Type type = Builder::tensor(DType::F16, {b.num(2)});
  const ValueId x = b.param("x", type);
  const ValueId y = b.param("y", type, ParamMode::Out);
  b.run(b.op(OpKind::Assign,
             {y, b.add_scalar(OpKind::Add, b.add(OpKind::Exp, {x}, type), b.e().real(1.0 / 3), ScalarSide::Right, type)}));
  const Module module = module_of(std::move(b));
  const Tensor in = tensor(DType::F16, {2}, {0, 12});
  const Run exact = run(module, "g", {}, {in, unwritten_tensor(DType::F16, {2})});
  const Run rounded = run(module, "g", {}, {in, unwritten_tensor(DType::F16, {2})}, {}, Precision::Rounded);
  REQUIRE(exact.status.ok());
  REQUIRE(rounded.status.ok());
  const double third = 1365.0 / 4096;  // of f16: scalars are of the element type either way
  CHECK(exact.tensors[1].data[0] == 1 + third);
  CHECK(rounded.tensors[1].data[0] == 1365.0 / 1024);
  CHECK(exact.tensors[1].data[1] == Approx(std::exp(12.0) + third).epsilon(1e-14));
  CHECK(std::isinf(rounded.tensors[1].data[1]));
}

TEST_CASE("shapes that do not fit are told, not computed") {
  Builder b(FunctionKind::Graph, "g");
  const ExprId m = b.dim("M");
  const ExprId n = b.dim("N");
  const Type type = Builder::tensor(DType::F32, {m});
  const ValueId x = b.param("x", type);
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {n}));
  const ValueId z = b.param("z", type, ParamMode::Out);
  b.run(b.op(OpKind::Assign, {z, b.add(OpKind::Add, {x, y}, type)}));
  const Module module = module_of(std::move(b));
  auto with = [&](int64_t dim_n, std::vector<double> second) {
    return run(module, "g", {2, dim_n},
               {tensor(DType::F32, {2}, {1, 2}), tensor(DType::F32, {static_cast<int64_t>(second.size())}, second),
                unwritten_tensor(DType::F32, {2})});
  };
  CHECK(with(2, {1, 2}).status.ok());
  CHECK(with(1, {5}).tensors[2].data == std::vector<double>{6, 7});
  CHECK(with(3, {1, 2, 3}).status.outcome == Outcome::Fault);
  CHECK_THAT(with(2, {1, 2, 3}).status.text, Catch::Contains("`y` has the shape [3]"));
}

TEST_CASE("work and memory are limited") {
  Builder b(FunctionKind::Graph, "g");
  const ExprId m = b.dim("M");
  const Type type = Builder::tensor(DType::F32, {m, m, m});
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {b.num(1)}), ParamMode::Out);
  b.add(b.op(OpKind::Full, {}, {b.e().real(1)}), type);
  b.run(b.op(OpKind::Assign, {y, b.add(b.op(OpKind::Full, {}, {b.e().real(1)}), b.f.type(y))}));
  const Module module = module_of(std::move(b));
  auto outcome = [&](int64_t dim) {
    return run(module, "g", {dim}, {unwritten_tensor(DType::F32, {1})}).status.outcome;
  };
  CHECK(outcome(10) == Outcome::Ok);
  CHECK(outcome(1000) == Outcome::Limit);
  CHECK(outcome(int64_t{1} << 40) == Outcome::Fault);  // no shape at all
}
