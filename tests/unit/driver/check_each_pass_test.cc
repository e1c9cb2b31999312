// --check-each-pass: programs of every kind keep their values through the passes, and a pass that doesn't is reported.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "src/driver/dumps.h"
#include "src/frontend/frontend.h"
#include "src/passes/pipeline.h"
#include "tests/unit/driver/ptoc.h"

using namespace pto;
using namespace pto::test;

namespace {

ir::Module parse(const std::string& text) {
  SourceManager sources;
  DiagnosticSink sink;
  auto module = frontend::compile_source(sources, sources.add("test.pto", text), {}, sink);
  INFO(render_text(sink, &sources, {}));
  REQUIRE(module);
  return std::move(*module);
}

struct Case {
  const char* name;
  const char* text;
};

const Case kPrograms[] = {
    {"softmax of f16", "graph g[M, N](x: f16[M, N]) -> (y: f16[M, N]) { y = softmax(x); }"},
    {"tanh and sigmoid", "graph g[N](x: f16[N]) -> (y: f16[N], z: f16[N]) { y = tanh(x); z = sigmoid(x); }"},
    {"mean", "graph g[M, N = 100](x: f32[M, N]) -> (y: f32[M, 1]) { y = mean(x, axis: -1, keepdims: true); }"},
    {"integers",
     "graph g[M, N](x: i32[M, N], y: i32[M, N]) -> (z: i32[M, N], s: i32[M]) {\n"
     "  z = max(x * y, x - 3);\n  s = sum(x * y, axis: -1);\n}"},
    {"selection",
     "graph g[M, N](x: f32[M, N], y: f32[M, N]) -> (z: f32[M, N]) {\n"
     "  z = select(x < y, x, y) + select(x < 0.5, x, 0.0);\n}"},
    {"casts",
     "graph g[M, N](x: f32[M, N]) -> (z: i32[M, N], h: f16[M, N]) {\n"
     "  z = cast(x * 3.0, i32, round: floor);\n  h = cast(exp(x), f16);\n}"},
    {"reshape", "graph g[M, N](x: f32[M, N], b: f32[N]) -> (z: f32[M * N]) { z = reshape(x + b, [M * N]); }"},
    {"scalars", "graph g[M, N](x: f32[M, N], s: f32) -> (z: f32[M, N]) { z = s - x / s; }"},
    {"three dims",
     "graph g[A, B, N](x: f32[A, B, N], r: f32[N], c: f32[A, B, 1]) -> (y: f32[A, B, N], z: f32[A, B]) {\n"
     "  let t = x * r + c;\n  y = exp(t);\n  z = max(t, axis: -1);\n}"},
    {"product of i8", "graph g[M, N, K](a: i8[M, K], b: i8[K, N]) -> (c: i32[M, N]) { c = matmul(a, b); }"},
    {"product, then vector work",
     "graph g[M, N](x: f32[M, N], w: f32[N, M]) -> (y: f32[M, M], s: f32[M, M]) {\n"
     "  let t = matmul(x, w);\n  y = t - 1.0;\n  s = softmax(t * 0.5);\n}"},
    {"constraints",
     "graph g[M, N](x: f32[M, N]) -> (y: f32[M, N]) where M % 16 == 0, N <= 100, N >= 50 { y = x / 3.0; }"},
    {"bias kernel",
     "kernel g[M, N, K](a: f16[M, K], b: f16[K, N], v: f32[N]) -> (c: f16[M, N]) {\n"
     "  parallel m in 0..M step 64, n in 0..N step 64 {\n"
     "    var acc = broadcast(load(v[n :+ 64]), [64, 64]);\n"
     "    for k in 0..K step 32 { acc += matmul(load(a[m :+ 64, k :+ 32]), load(b[k :+ 32, n :+ 64])); }\n"
     "    store(c[m :+ 64, n :+ 64], cast(acc, f16));\n  }\n}"},
    {"program of kernels",
     "kernel add[M, N](x: f32[M, N], inout c: f32[M, N]) {\n"
     "  parallel i in 0..M step 8, j in 0..N step 64 {\n"
     "    store(c[i :+ 8, j :+ 64], load(c[i :+ 8, j :+ 64]) + load(x[i :+ 8, j :+ 64]) * 2.0);\n  }\n}\n"
     "kernel colsum[M, N](x: f32[M, N]) -> (y: f32[1, N]) {\n"
     "  parallel j in 0..N step 64 {\n"
     "    var s = zeros(f32[1, 64]);\n"
     "    for i in 0..M step 16 { s = s + col_sum(load(x[i :+ 16, j :+ 64])); }\n"
     "    store(y[0 :+ 1, j :+ 64], s);\n  }\n}\n"
     "program g[M, N](x: f32[M, N], inout c: f32[M, N]) -> (y: f32[1, N]) {\n"
     "  task t0 = add(x, c);\n  task t1 = colsum(c, y) after t0;\n}"},
};

}  // namespace

TEST_CASE("the samples keep their values through every pass") {
  const Folder folder;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const std::string& name : samples()) {
      INFO(name << " on " << target);
      const Outcome run = ptoc({sample(name), "--check-each-pass", "--target", target, "-o", folder / "out.ptobin"});
      INFO(run.err);
      CHECK(run.code == 0);
      CHECK_THAT(run.err, !Catch::Contains("E09") && !Catch::Contains("R0907"));
    }
  }
}

TEST_CASE("programs of every kind keep their values through every pass") {
  const Folder folder;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const Case& each : kPrograms) {
      INFO(each.name << " on " << target);
      const std::string source = folder.write("case.pto", each.text);
      const Outcome run = ptoc({source, "--check-each-pass", "--target", target, "-o", folder / "out.ptobin"});
      INFO(run.err);
      CHECK(run.code == 0);
      CHECK_THAT(run.err, !Catch::Contains("E09") && !Catch::Contains("R0907"));
    }
  }
}

// The Tensor evaluator against the Tile evaluator on what the passes make of the same graph; both round after every
// operation here, which --check-each-pass does not compare.
TEST_CASE("a graph and its tiles agree to the rounding of their type") {
  DiagnosticSink sink;
  const auto target = builtin_target("a2a3", sink);
  REQUIRE(target);
  const ir::Module before = parse(
      "graph g[M, N](x: f32[M, N], w: f32[N]) -> (y: f32[M, N]) {\n"
      "  let e = exp(x - max(x, axis: -1, keepdims: true));\n"
      "  y = e / sum(e, axis: -1, keepdims: true) * w;\n}");
  ir::Module after = before;
  passes::PassContext context{after, *target, sink};
  passes::PipelineOptions pipeline;
  pipeline.passes = {"inline", "decompose", "dce", "fuse", "lower-to-tile", "infer-space"};
  REQUIRE(run_pipeline(context, pipeline).ok);
  REQUIRE(after.find("g")->kind == ir::FunctionKind::Program);
  for (int sample = 0; sample < eval::kSamples; ++sample) {
    std::string reason;
    const auto inputs = eval::make_inputs(*before.find("g"), sample, reason);
    REQUIRE(inputs);
    std::vector<eval::Tensor> results;
    for (const ir::Module* module : {&before, static_cast<const ir::Module*>(&after)}) {
      eval::Inputs copy = *inputs;
      eval::Arguments arguments{copy.dims, copy.scalars, {}, 0, 1};
      for (eval::Tensor& tensor : copy.tensors) {
        arguments.tensors.push_back(&tensor);
      }
      eval::Options options;
      options.precision = eval::Precision::Rounded;
      const eval::Status status = evaluate(*module, *module->find("g"), arguments, options);
      INFO(status.text);
      REQUIRE(status.ok());
      results.push_back(copy.tensors.back());
    }
    REQUIRE(results[0].data.size() == results[1].data.size());
    double worst = 0;
    for (size_t i = 0; i < results[0].data.size(); ++i) {
      const double was = results[0].data[i];
      worst = std::max(worst, std::abs(was - results[1].data[i]) / std::max(std::abs(was), 1e-30));
    }
    CHECK(worst < 1e-5);
  }
}

TEST_CASE("a pass that changes a value is an internal error, whatever it says of itself") {
  for (const passes::PassResult says : {passes::PassResult::Changed, passes::PassResult::Unchanged}) {
    driver::Options options;
    options.check_each_pass = true;
    SourceManager sources;
    DiagnosticSink sink;
    std::ostringstream out;
    std::ostringstream err;
    driver::Run run{options, sources, sink, out, err};
    const auto target = builtin_target("a2a3", sink);
    REQUIRE(target);
    driver::Dumps dumps(run, *target);
    const ir::Module before = parse("graph g[M](x: f32[M]) -> (y: f32[M]) { y = x * 2.0 + 1.0; }");
    dumps.observe(nullptr, passes::PassResult::Unchanged, before);
    dumps.observe(passes::find_pass("inline"), says, before);
    CHECK_FALSE(dumps.value_changed());
    dumps.observe(passes::find_pass("fuse"), says, parse("graph g[M](x: f32[M]) -> (y: f32[M]) { y = x + x + 1.0; }"));
    CHECK_FALSE(dumps.value_changed());
    dumps.observe(passes::find_pass("dce"), says, parse("graph g[M](x: f32[M]) -> (y: f32[M]) { y = x + x; }"));
    CHECK(dumps.value_changed());
    CHECK_FALSE(dumps.ok());
    REQUIRE(sink.all().size() == 1);
    CHECK(sink.all()[0].id == DiagId::PassChangedValue);
    CHECK_THAT(sink.all()[0].message, Catch::StartsWith("pass `dce` changed `y` of `g`: element [0] was "));
    CHECK(dumps.before().functions[0].ops.size() == 3);  // the module that shows it
  }
}
