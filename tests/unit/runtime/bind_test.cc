// Arguments against parameters: every message, and that nothing is allocated before it.
#include "kernels.h"

namespace pto::test {
namespace {

constexpr auto kIn = object::ParamMode::In;
constexpr auto kOut = object::ParamMode::Out;

// c = a * b, never really run: binding fails before.
ProgramBuilder product() { return gemm_program(target_named("a2a3"), DType::F32, 32, 32, 16, 1); }

runtime::Array shape(std::vector<int64_t> dims, DType dtype = DType::F32) {
  runtime::Array array;
  array.dtype = dtype;
  array.shape = std::move(dims);
  return array;
}

// Runs for time, expects a bad input with exactly this text.
void expect(ProgramBuilder p, const runtime::Arguments& arguments, const std::string& text,
            runtime::Mode mode = runtime::Mode::Time) {
  runtime::Options options;
  options.mode = mode;
  const runtime::RunResult result = p.run(arguments, options);
  CHECK(result.status == runtime::RunStatus::BadInput);
  CHECK(result.outputs.empty());
  CHECK_THAT(p.messages(), Catch::Contains(text));
}

runtime::Arguments good() {
  runtime::Arguments arguments;
  arguments.arrays["a"] = shape({64, 48});
  arguments.arrays["b"] = shape({48, 32});
  return arguments;
}

TEST_CASE("good arguments bind every dim") {
  ProgramBuilder p = product();
  runtime::Options options;
  options.mode = runtime::Mode::Time;
  const runtime::RunResult result = p.run(good(), options);
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(result.dims == std::map<std::string, int64_t>{{"K", 48}, {"M", 64}, {"N", 32}});
}

TEST_CASE("arrays that don't fit each other are named, both") {
  runtime::Arguments arguments = good();
  arguments.arrays["b"] = shape({63, 32});
  expect(product(), arguments, "error[E0605]: `b` has 63 rows where `a` has 48 columns");
  arguments = good();
  arguments.dims["N"] = 33;
  expect(product(), arguments, "error[E0605]: `b` has 32 columns where dim `N` was given as 33");
  arguments = good();
  arguments.arrays["c"] = shape({64, 31});  // an output may be given to say its shape
  expect(product(), arguments, "error[E0605]: `c` has 31 columns where `b` has 32 columns");
}

TEST_CASE("derived and constant dims are checked") {
  ProgramBuilder p(target_named("unit"));
  const ExprId m = p.dim("M");
  p.tensor("x", DType::F32, {m, p.num(64)}, kIn);
  p.tensor("w", DType::F32, {p.program.exprs.mul(m, p.num(2))}, kIn);
  runtime::Arguments arguments;
  arguments.arrays["x"] = shape({4, 64});
  arguments.arrays["w"] = shape({8});
  runtime::Options options;
  options.mode = runtime::Mode::Time;
  CHECK(p.run(arguments, options).status == runtime::RunStatus::Ok);
  arguments.arrays["w"] = shape({9});
  expect(p, arguments, "error[E0605]: `w` has 9 elements where the parameter has 8 elements");
  expect(p, arguments, "M * 2 is 8");
  expect(p, arguments, "`M` is 4: `x` has 4 rows");
  arguments.arrays["w"] = shape({8});
  arguments.arrays["x"] = shape({4, 65});
  expect(p, arguments, "error[E0605]: `x` has 65 columns where the parameter has 64 columns");
}

TEST_CASE("types, ranks, data, missing and unknown arguments") {
  runtime::Arguments arguments = good();
  arguments.arrays["a"] = shape({64, 48}, DType::F16);
  expect(product(), arguments, "error[E0603]: `a` has element type f16 where the parameter has f32");
  arguments = good();
  arguments.arrays["a"] = shape({64, 48, 1});
  expect(product(), arguments, "error[E0604]: `a` has rank 3 where the parameter has rank 2");
  arguments = good();
  arguments.arrays.erase("b");
  expect(product(), arguments, "error[E0601]: `main` needs an array for `b`");
  arguments = good();
  arguments.arrays["d"] = shape({1});
  expect(product(), arguments, "error[E0602]: `main` has no array parameter `d`; it has `a`, `b`, `c`");
  arguments = good();
  arguments.scalars["s"] = 1;
  expect(product(), arguments, "error[E0602]: `main` has no scalar parameter `s`; it has none");
  arguments = good();
  arguments.dims["Q"] = 1;
  expect(product(), arguments, "error[E0602]: `main` has no dynamic dim `Q`; it has `M`, `N`, `K`");
  arguments = good();
  arguments.arrays["a"].data.resize(7);
  expect(product(), arguments, "error[E0606]: `a` has 7 bytes of data where its shape needs 12288",
         runtime::Mode::Both);
}

TEST_CASE("dims that nobody gives, or that are no dims") {
  ProgramBuilder p(target_named("unit"));
  const ExprId m = p.dim("M");
  p.tensor("y", DType::F32, {m}, kOut);
  expect(p, {}, "error[E0607]: no input binds dim `M`, and it was not given");
  runtime::Arguments arguments;
  arguments.dims["M"] = 0;
  expect(p, arguments, "error[E0608]: dim `M` is 0; a dim is at least 1");
  arguments = good();
  arguments.arrays["a"] = shape({-3, 48});
  expect(product(), arguments, "error[E0608]: dim `M` is -3; a dim is at least 1");
}

TEST_CASE("sizes that overflow, or are more than a run may take") {
  ProgramBuilder p(target_named("unit"));
  const ExprId m = p.dim("M");
  p.tensor("y", DType::F32, {m, m}, kOut);
  runtime::Arguments arguments;
  arguments.dims["M"] = int64_t{1} << 40;
  expect(p, arguments, "error[E0609]: the size of `y` can't be computed");
  arguments.dims["M"] = 100000;  // 40 GB
  expect(p, arguments, "error[E0610]: `main` needs 40000000000 bytes of global memory; the limit is 17179869184",
         runtime::Mode::Both);
  ProgramBuilder w(target_named("unit"));
  w.program.workspace_bytes = w.num(int64_t{1} << 60);
  expect(w, {}, "error[E0609]: the size of the workspace of `main` can't be computed");
}

TEST_CASE("constraints are shown as written") {
  ProgramBuilder p = product();
  ExprPool& e = p.program.exprs;
  const ExprId m = e.symbol(p.program.dims[0]);
  p.program.constraints.push_back(
      {e.make(ExprOp::Eq, e.make(ExprOp::Mod, m, p.num(16)), p.num(0)), "M % 16 == 0"});
  runtime::Options options;
  options.mode = runtime::Mode::Time;
  CHECK(p.run(good(), options).status == runtime::RunStatus::Ok);
  runtime::Arguments arguments = good();
  arguments.arrays["a"] = shape({65, 48});
  expect(p, arguments, "error[E0611]: `main` requires `M % 16 == 0`, which does not hold with `M` = 65");
}

TEST_CASE("scalars have values of their types") {
  ProgramBuilder p(target_named("unit"));
  p.scalar("n", DType::I8);
  p.scalar("f", DType::F32, 1.5);
  expect(p, {}, "error[E0601]: `main` needs a value for scalar `n`");
  runtime::Arguments arguments;
  runtime::Options options;
  options.mode = runtime::Mode::Time;
  for (const double bad : {128.0, -129.0, 0.5, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    arguments.scalars["n"] = bad;
    CHECK(p.run(arguments, options).status == runtime::RunStatus::BadInput);
    CHECK_THAT(p.messages(), Catch::Contains("error[E0612]: scalar `n` is "));
  }
  arguments.scalars["n"] = -128;
  CHECK(p.run(arguments, options).status == runtime::RunStatus::Ok);
}

TEST_CASE("outputs have writers, inputs have none") {
  ProgramBuilder p = vector_add_program(target_named("unit"));
  p.tensor("extra", DType::F32, {p.num(4)}, kOut);
  expect(p, vector_add_arguments(16), "error[E0613]: no task of `main` writes output `extra`");
  ProgramBuilder q = vector_add_program(target_named("unit"));
  q.program.tasks[0].args[2].tensor = 0;  // z is x
  expect(q, vector_add_arguments(16), "the argument for `z` can only be read");  // object::verify
}

TEST_CASE("tasks that don't fit their core programs") {
  ProgramBuilder p = vector_add_program(target_named("unit"));
  p.program.tasks[0].dims[0] = p.num(17);
  expect(p, vector_add_arguments(16), "error[E0615]: task `t0` of `main`: `x` is f32[16, 64] where parameter `x` of "
                                      "`add` is f32[17, 64]");
  ProgramBuilder q = vector_add_program(target_named("unit"));
  q.program.tasks[0].blocks = q.program.exprs.sub(q.program.exprs.symbol(q.program.dims[0]), q.num(16));
  expect(q, vector_add_arguments(16), "it has 0 blocks; a task has 1 to");
  Target none = target_named("unit");
  none.vec_cores = 0;
  ProgramBuilder r = vector_add_program(none);
  expect(r, vector_add_arguments(16), "error[E0617]: task `t0` needs a vec core and target `unit` has none");
}

TEST_CASE("buffers lie in the workspace") {
  ProgramBuilder p(target_named("unit"));
  p.buffer("h", DType::F32, {p.num(64)}, 128);
  p.program.workspace_bytes = p.num(256);
  expect(p, {}, "error[E0616]: buffer `h` of `main` does not fit the workspace: it takes 256 bytes from offset 128 of 256");
  ProgramBuilder q(target_named("unit"));
  q.buffer("h", DType::F32, {q.num(64)}, 2);
  q.program.workspace_bytes = q.num(512);
  expect(q, {}, "offset 2 is not a multiple of its element's size");
}

}  // namespace
}  // namespace pto::test
