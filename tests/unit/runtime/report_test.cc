// The trace and the table of a run.
#include "kernels.h"

#include <nlohmann/json.hpp>

namespace pto::test {
namespace {

TEST_CASE("the trace is JSON with a process a core, a thread a pipe, and lines") {
  Target target = target_named("unit");
  target.clock_ghz = 2;
  ProgramBuilder p = vector_add_program(target, 2);
  p.object.source_files = {"dir\\with \"quotes\".pto"};
  runtime::Options options;
  options.record_trace = true;
  const runtime::RunResult result = p.run(vector_add_arguments(32), options);
  REQUIRE(result.status == runtime::RunStatus::Ok);
  const std::string text = runtime::trace_json(result, p.object, target);
  const nlohmann::json json = nlohmann::json::parse(text);
  size_t slices = 0;
  std::vector<std::string> processes;
  for (const nlohmann::json& event : json["traceEvents"]) {
    if (event["ph"] == "X") {
      const runtime::TraceSlice& slice = result.trace[slices++];
      CHECK(event["name"] == isa::info(slice.opcode).mnemonic);
      CHECK(event["pid"] == slice.core);
      CHECK(event["tid"] == static_cast<int>(slice.pipe));
      CHECK(event["ts"].get<double>() == Approx(static_cast<double>(slice.start) / 2000));
      CHECK(event["dur"].get<double>() == Approx(static_cast<double>(slice.end - slice.start) / 2000));
      CHECK(event["args"]["task"] == "t0");
      CHECK(event["args"]["line"] == "dir\\with \"quotes\".pto:" + std::to_string(slice.location.line));
    } else if (event["name"] == "process_name") {
      processes.push_back(event["args"]["name"]);
    }
  }
  CHECK(slices == result.trace.size());
  CHECK(slices == static_cast<size_t>(result.instructions));
  CHECK(processes == std::vector<std::string>{"vec core 0", "vec core 1"});
  CHECK(text == runtime::trace_json(result, p.object, target));
}

TEST_CASE("the table names cycles, pipes and tasks") {
  const Target target = target_named("unit");
  ProgramBuilder p = vector_add_program(target, 2);
  const runtime::RunResult result = p.run(vector_add_arguments(32));
  REQUIRE(result.status == runtime::RunStatus::Ok);
  const std::string text = runtime::stats_text(result, target);
  CHECK_THAT(text, Catch::Contains("cycles        " + std::to_string(result.cycles) + "\n"));
  CHECK_THAT(text, Catch::Contains("vec mte2       2"));
  CHECK_THAT(text, Catch::Contains("t0"));
  for (int reason = 0; reason < runtime::kStallCount; ++reason) {
    CHECK_THAT(text, Catch::Contains(std::string(runtime::spelling(static_cast<runtime::Stall>(reason)))));
  }
  runtime::Options options;
  options.mode = runtime::Mode::Values;
  CHECK_THAT(runtime::stats_text(p.run(vector_add_arguments(32), options), target), Catch::Contains("values only"));
}

}  // namespace
}  // namespace pto::test
