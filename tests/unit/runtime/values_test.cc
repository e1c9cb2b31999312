// Values of whole runs against plain loops.
#include "kernels.h"

namespace pto::test {
namespace {

TEST_CASE("vector add gives the sums, with a ragged last tile") {
  for (const char* name : {"unit", "a2a3", "a5"}) {
    for (int64_t rows : {1, 16, 63, 100}) {
      ProgramBuilder p = vector_add_program(target_named(name));
      const runtime::Arguments arguments = vector_add_arguments(rows);
      const runtime::RunResult result = p.run(arguments);
      INFO(p.messages());
      REQUIRE(result.status == runtime::RunStatus::Ok);
      CHECK(result.dims.at("M") == rows);
      const auto x = values_of<float>(arguments.arrays.at("x"));
      const auto y = values_of<float>(arguments.arrays.at("y"));
      const auto z = values_of<float>(result.outputs.at("z"));
      REQUIRE(z.size() == x.size());
      CHECK(result.outputs.at("z").shape == std::vector<int64_t>{rows, 64});
      size_t wrong = 0;
      for (size_t i = 0; i < z.size(); ++i) {
        wrong += z[i] == x[i] + y[i] ? 0 : 1;
      }
      CHECK(wrong == 0);
      CHECK(result.cycles > 0);
      check_accounts(result);
    }
  }
}

TEST_CASE("a matrix product gives the sums of products, ragged on every side") {
  const Target target = target_named("a2a3");
  ProgramBuilder p = gemm_program(target, DType::F32, 32, 32, 16, 3);
  const int64_t m = 70, n = 41, k = 37;
  std::vector<float> a(static_cast<size_t>(m * k));
  std::vector<float> b(static_cast<size_t>(k * n));
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(static_cast<int>(i * 7 % 13) - 6);
  }
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(static_cast<int>(i * 5 % 11) - 5);
  }
  runtime::Arguments arguments;
  arguments.arrays["a"] = array_of(DType::F32, {m, k}, a);
  arguments.arrays["b"] = array_of(DType::F32, {k, n}, b);
  const runtime::RunResult result = p.run(arguments);
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  const auto c = values_of<float>(result.outputs.at("c"));
  size_t wrong = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;  // small integers: exact in any order
      for (int64_t l = 0; l < k; ++l) {
        sum += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
      }
      wrong += c[static_cast<size_t>(i * n + j)] == sum ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  check_accounts(result);
}

// A chain through the workspace where two buffers share their bytes, plus an inout.
ProgramBuilder chain_program(const Target& target) {
  ProgramBuilder p(target);
  const ExprId m = p.dim("M");
  const auto x = p.tensor("x", DType::F32, {m, p.num(64)}, object::ParamMode::In);
  const auto c = p.tensor("c", DType::F32, {m, p.num(64)}, object::ParamMode::InOut);
  const auto y = p.tensor("y", DType::F32, {m, p.num(64)}, object::ParamMode::Out);
  const auto h = p.buffer("h", DType::F32, {m, p.num(64)}, 0);
  const auto g = p.buffer("g", DType::F32, {m, p.num(64)}, 0);
  p.program.workspace_bytes = p.program.exprs.mul(m, p.num(256));
  const uint32_t add = p.core(vector_add());
  const auto t0 = p.task("t0", add, {x, x, h}, {m}, p.num(4));           // h = 2x
  const auto t1 = p.task("t1", add, {h, c, c}, {m}, p.num(4), {t0});     // c += 2x
  const auto t2 = p.task("t2", add, {c, c, g}, {m}, p.num(4), {t1});     // g = 2c, over h
  p.task("t3", add, {g, x, y}, {m}, p.num(4), {t2});                     // y = 2c + x
  return p;
}

TEST_CASE("tasks pass values through the workspace and inouts; threads change nothing") {
  const int64_t rows = 333;
  std::vector<float> x(static_cast<size_t>(rows * 64));
  std::vector<float> c(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 100);
    c[i] = static_cast<float>(i % 7);
  }
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F32, {rows, 64}, x);
  arguments.arrays["c"] = array_of(DType::F32, {rows, 64}, c);
  std::optional<runtime::RunResult> first;
  for (int threads : {1, 2, 4, 1000000}) {
    ProgramBuilder p = chain_program(target_named("a5"));
    runtime::Options options;
    options.threads = threads;
    runtime::RunResult result = p.run(arguments, options);
    INFO(p.messages());
    REQUIRE(result.status == runtime::RunStatus::Ok);
    if (!first) {
      const auto y = values_of<float>(result.outputs.at("y"));
      const auto sums = values_of<float>(result.outputs.at("c"));
      size_t wrong = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        wrong += sums[i] == c[i] + 2 * x[i] && y[i] == 2 * (c[i] + 2 * x[i]) + x[i] ? 0 : 1;
      }
      CHECK(wrong == 0);
      CHECK(result.tasks.size() == 4);
      first = std::move(result);
      continue;
    }
    CHECK(result.outputs.at("y").data == first->outputs.at("y").data);
    CHECK(result.outputs.at("c").data == first->outputs.at("c").data);
    CHECK(result.cycles == first->cycles);
  }
  // The caller's array is not the inout's.
  CHECK(values_of<float>(arguments.arrays.at("c")) == c);
}

TEST_CASE("a missing edge between tasks does not make values depend on threads") {
  const int64_t rows = 200;
  const std::vector<float> x(static_cast<size_t>(rows * 64), 3.0f);
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F32, {rows, 64}, x);
  arguments.arrays["c"] = array_of(DType::F32, {rows, 64}, x);
  for (int threads : {1, 4}) {
    ProgramBuilder p = chain_program(target_named("a5"));
    for (object::Task& task : p.program.tasks) {
      task.after.clear();
    }
    runtime::Options options;
    options.threads = threads;
    options.mode = runtime::Mode::Values;
    const runtime::RunResult result = p.run(arguments, options);
    REQUIRE(result.status == runtime::RunStatus::Ok);
    CHECK(values_of<float>(result.outputs.at("y")) == std::vector<float>(x.size(), 21.0f));
    CHECK_FALSE(result.timed);
  }
}

TEST_CASE("scalars reach the code: floats are rounded to their type, defaults hold") {
  CoreBuilder b("scale", CoreKind::Vec);
  const auto x = b.tensor("x", DType::F32, {b.num(8), b.num(64)}, object::ParamMode::In);
  const auto y = b.tensor("y", DType::F32, {b.num(8), b.num(64)}, object::ParamMode::Out);
  const ExprId factor = b.scalar("factor", DType::F32);
  const ExprId skip = b.scalar("skip", DType::I32);
  const auto s = b.buffer("s", DType::F32, 8, 64, 0);
  b.load(s, x, {b.num(0), b.num(0)});
  b.sync(Pipe::MTE2, Pipe::V);
  b.begin_if(b.pool().make(ExprOp::Eq, skip, b.num(0)));
  b.with_scalar(Opcode::TMuls, s, s, b.pool().make(ExprOp::Mul, factor, b.pool().real(2.0)));
  b.end_if();
  b.sync(Pipe::V, Pipe::MTE3);
  b.store(y, {b.num(0), b.num(0)}, s);

  ProgramBuilder p(target_named("unit"));
  const auto px = p.tensor("x", DType::F32, {p.num(8), p.num(64)}, object::ParamMode::In);
  const auto py = p.tensor("y", DType::F32, {p.num(8), p.num(64)}, object::ParamMode::Out);
  const ExprId pf = p.scalar("factor", DType::F32);
  const ExprId ps = p.scalar("skip", DType::I32, 0);
  p.task("t", p.core(b), {px, py}, {}, p.num(1), {}, {pf, ps});
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F32, {8, 64}, std::vector<float>(512, 3.0f));
  arguments.scalars["factor"] = 0.1;
  runtime::RunResult result = p.run(arguments);
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(values_of<float>(result.outputs.at("y"))[5] == 3.0f * (0.1f * 2.0f));
  const int64_t with = result.instructions;
  arguments.scalars["skip"] = 1;
  result = p.run(arguments);
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(values_of<float>(result.outputs.at("y"))[5] == 3.0f);
  CHECK(result.instructions == with - 1);
}

TEST_CASE("what no task writes of an output stays poison") {
  CoreBuilder b("half", CoreKind::Vec);
  const auto x = b.tensor("x", DType::F32, {b.num(16), b.num(64)}, object::ParamMode::In);
  const auto y = b.tensor("y", DType::F32, {b.num(16), b.num(64)}, object::ParamMode::Out);
  const auto s = b.buffer("s", DType::F32, 16, 64, 0);
  b.load(s, x, {b.num(0), b.num(0)}, b.num(8), b.num(64));
  b.sync(Pipe::MTE2, Pipe::MTE3);
  b.store(y, {b.num(0), b.num(0)}, s);
  ProgramBuilder p(target_named("unit"));
  const auto px = p.tensor("x", DType::F32, {p.num(16), p.num(64)}, object::ParamMode::In);
  const auto py = p.tensor("y", DType::F32, {p.num(16), p.num(64)}, object::ParamMode::Out);
  p.task("t", p.core(b), {px, py}, {}, p.num(1));
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F32, {16, 64}, std::vector<float>(1024, 1.0f));
  const runtime::RunResult result = p.run(arguments);
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  const auto y_values = values_of<float>(result.outputs.at("y"));
  CHECK(y_values[511] == 1.0f);
  CHECK(y_values[512] != y_values[512]);
}

}  // namespace
}  // namespace pto::test
