// What the memory planner does never changes a value: the same kernel with every buffer on bytes of its own, and on a
// machine whose vector memory is so small that buffers have to share.
#include <catch2/catch.hpp>
#include <random>

#include "src/codegen/codegen.h"
#include "src/frontend/frontend.h"
#include "src/passes/pipeline.h"
#include "tests/property/liveness.h"
#include "tests/property/toolchain.h"

using namespace pto;
using namespace pto::test;

namespace {

constexpr int64_t kAll = 196608;

Target with_vec_bytes(int64_t bytes) {
  std::string json = target_named("a2a3").json;
  const std::string from = "\"vec\": {\"bytes\": " + std::to_string(kAll);
  const size_t at = json.find(from);
  REQUIRE(at != std::string::npos);
  json.replace(at, from.size(), "\"vec\": {\"bytes\": " + std::to_string(bytes));
  DiagnosticSink sink;
  return *parse_target(json, "small.json", sink);
}

Compiled compile_with(const std::string& text, const Target& target, bool reuse) {
  Compiled compiled;
  DiagnosticSink sink;
  SourceManager sources;
  frontend::Options options;
  options.target = &target;
  auto module = frontend::compile_source(sources, sources.add("dag.pto", text), options, sink);
  if (module) {
    passes::PassContext context{*module, target, sink};
    context.options.reuse_memory = reuse;
    const passes::PipelineReport report = run_pipeline(context, {});
    compiled.ok = report.ok;
    if (compiled.ok) {
      auto object = codegen::emit(*module, target, nullptr, sink);
      compiled.ok = object.ok();
      compiled.object = std::move(*object);
    }
  }
  compiled.error = render_text(sink, &sources, {});
  return compiled;
}

// A block of 8 rows: values made of earlier ones, so that many are live for long, in straight lines, loops and
// branches.
std::string random_dag(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](size_t count) { return static_cast<size_t>(random() % count); };
  std::vector<std::string> names = {"p", "q"};
  std::string text =
      "kernel k[M](x: f32[M, 64], y: f32[M, 64]) -> (z: f32[M, 64], w: f32[M, 64]) {\n"
      "    parallel i in 0..M step 8 pipeline 1 {\n"
      "        let p = load(x[i :+ 8, :]);\n        let q = load(y[i :+ 8, :]);\n";
  auto any = [&] { return names[pick(names.size())]; };
  auto operation = [&] {
    const std::string a = any();
    const std::string b = any();
    switch (pick(7)) {
      case 0:
        return a + " + " + b;
      case 1:
        return a + " - " + b;
      case 2:
        return "max(" + a + ", " + b + ")";
      case 3:
        return "min(" + a + ", 0.5)";
      case 4:
        return a + " * 0.25";
      case 5:
        return a + " - row_max(" + b + ")";
      default:
        return "abs(" + a + ")";
    }
  };
  const size_t count = 4 + pick(16);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "v" + std::to_string(i);
    const size_t what = pick(8);
    const std::string from = any();
    const std::string other = any();
    if (what == 0) {
      text += "        var " + name + " = " + from + ";\n        for j in 0..3 pipeline 1 {\n            " + name +
              " = " + name + " * 0.5 + " + other + ";\n        }\n";
    } else if (what == 1) {
      text += "        var " + name + " = " + from +
              ";\n        for j in 0..4 pipeline 1 {\n            let s = load(y[i :+ 8, :]);\n            " + name +
              " += s - " + other + ";\n        }\n";
    } else {
      text += "        let " + name + " = " + operation() + ";\n";
    }
    names.push_back(name);
  }
  const std::string a = any();
  const std::string b = any();
  const std::string c = any();
  return text + "        store(z[i :+ 8, :], " + names.back() + " + " + a + ");\n        store(w[i :+ 8, :], " + b +
         " - " + c + ");\n    }\n}\n";
}

int64_t bytes_used(const object::Object& object) {
  int64_t most = 0;
  for (const object::Core& core : object.cores) {
    for (const isa::Buffer& buffer : core.buffers) {
      most = std::max(most, buffer.address + buffer.total_bytes());
    }
  }
  return most;
}

}  // namespace

TEST_CASE("sharing bytes changes no value") {
  runtime::Arguments arguments;
  std::vector<double> values(32 * 64);
  std::mt19937_64 random(7);
  for (const char* name : {"x", "y"}) {
    for (double& value : values) {
      value = static_cast<double>(random() % 4096) / 1024 - 2;
    }
    arguments.arrays[name] = make_array(DType::F32, {32, 64}, values);
  }
  int shared = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string text = random_dag(seed);
    INFO("seed " << seed << "\n" << text);
    const Target& large = target_named("a2a3");
    const Compiled apart = compile_with(text, large, false);
    INFO(apart.error);
    REQUIRE(apart.ok);
    std::string error;
    const runtime::RunResult expected = run(apart, large, arguments, {}, error);
    INFO(error);
    REQUIRE(expected.status == runtime::RunStatus::Ok);
    // The smallest memory that it fits, in steps of a tile: the sharing is as tight as it gets.
    const int64_t all = bytes_used(apart.object);
    Compiled tight;
    for (int64_t bytes = 2048; bytes <= all && !tight.ok; bytes += 2048) {
      const Target small = with_vec_bytes(bytes);
      tight = compile_with(text, small, true);
      if (tight.ok) {
        shared += bytes_used(tight.object) < all ? 1 : 0;
        for (const object::Core& core : tight.object.cores) {
          CHECK(check_liveness(core) == "");
        }
        const runtime::RunResult got = run(tight, small, arguments, {}, error);
        INFO(error);
        REQUIRE(got.status == runtime::RunStatus::Ok);
        for (const char* name : {"z", "w"}) {
          CHECK(got.outputs.at(name).data == expected.outputs.at(name).data);
        }
      }
    }
    CHECK(tight.ok);
  }
  CHECK(shared > 150);
}
