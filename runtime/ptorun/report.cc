#include "runtime/ptorun/report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/io/npy.h"
#include "src/support/text.h"

namespace pto::ptorun {
namespace {

using Json = nlohmann::ordered_json;
using runtime::io::Comparison;
using runtime::io::shape_text;

std::string number(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "max abs error 1.2e-07, max rel error 3e-06, max 2 ulp (rtol 1e-04, atol 1e-05)"
std::string error_text(const Verdict& verdict) {
  const Comparison& comparison = verdict.comparison;
  if (!is_float(verdict.dtype) && comparison.max_abs == 0) {
    return "all equal";
  }
  std::string text =
      "max abs error " + number(comparison.max_abs, "%.3g") + ", max rel error " + number(comparison.max_rel, "%.3g");
  if (is_float(verdict.dtype)) {
    text += ", max " + std::to_string(comparison.max_ulp) + " ulp";
  }
  return text + " (rtol " + number(comparison.tolerance.rtol, "%g") + ", atol " +
         number(comparison.tolerance.atol, "%g") + ")";
}

std::string count_text(int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Json pipe_json(const runtime::PipeStats& stats) {
  Json stalls;
  for (int stall = 0; stall < runtime::kStallCount; ++stall) {
    stalls[std::string(runtime::spelling(static_cast<runtime::Stall>(stall)))] = stats.stall[stall];
  }
  return {{"busy", stats.busy}, {"idle", stats.idle}, {"instructions", stats.instructions}, {"stalls", stalls}};
}

Json core_json(const runtime::CoreStats& core) {
  Json json = {{"kind", spelling(core.kind)}, {"index", core.index}, {"blocks", core.blocks}};
  for (int pipe = 0; pipe < isa::kPipeCount; ++pipe) {
    const runtime::PipeStats& stats = core.pipes[pipe];
    if (stats.instructions > 0 || stats.busy > 0) {
      json["pipes"][std::string(isa::spelling(static_cast<isa::Pipe>(pipe)))] = pipe_json(stats);
    }
  }
  return json;
}

void add_time(Json& json, const runtime::RunResult& result) {
  json["cycles"] = result.cycles;
  json["microseconds"] = result.microseconds;
  json["instructions"] = result.instructions;
  json["gm_read_bytes"] = result.gm_read_bytes;
  json["gm_write_bytes"] = result.gm_write_bytes;
  json["busiest"] = {{"pipe", isa::spelling(result.busiest)}, {"utilisation", result.busiest_utilisation}};
  json["tasks"] = Json::array();
  for (const runtime::TaskStats& task : result.tasks) {
    json["tasks"].push_back({{"name", task.name}, {"start", task.start}, {"end", task.end}, {"blocks", task.blocks}});
  }
  json["cores"] = Json::array();
  for (const runtime::CoreStats& core : result.cores) {
    json["cores"].push_back(core_json(core));
  }
}

Json verdict_json(const Verdict& verdict) {
  const Comparison& comparison = verdict.comparison;
  Json json = {{"name", verdict.parameter},
               {"file", verdict.path},
               {"match", comparison.match},
               {"rtol", comparison.tolerance.rtol},
               {"atol", comparison.tolerance.atol}};
  if (!comparison.same_shape) {
    json["expected_shape"] = verdict.golden_shape;
    return json;
  }
  json["elements"] = comparison.elements;
  json["mismatches"] = comparison.mismatches;
  json["nan_got"] = comparison.nan_got;
  json["nan_expected"] = comparison.nan_expected;
  json["nan_both"] = comparison.nan_both;
  json["max_abs_error"] = comparison.max_abs;
  json["max_rel_error"] = comparison.max_rel;  // null: infinite
  if (is_float(verdict.dtype)) {
    json["max_ulp"] = comparison.max_ulp;
  }
  if (comparison.mismatches > 0) {
    json["first"] = {{"index", comparison.first}, {"expected", comparison.expected}, {"got", comparison.got}};
  }
  return json;
}

}  // namespace

std::vector<Verdict> compare_outputs(const runtime::RunResult& result, const BoundArguments& bound,
                                     const Options& options) {
  std::vector<Verdict> verdicts;
  for (const Expectation& expectation : bound.expectations) {
    const auto output = result.outputs.find(expectation.parameter);
    PTO_CHECK(output != result.outputs.end(), "a run left out an output");
    verdicts.push_back({expectation.parameter, expectation.path, output->second.dtype, output->second.shape,
                        expectation.golden.array.shape,
                        runtime::io::compare(output->second, expectation.golden, options.compare)});
  }
  return verdicts;
}

void report_mismatches(const std::vector<Verdict>& verdicts, DiagnosticSink& sink) {
  for (const Verdict& verdict : verdicts) {
    const Comparison& comparison = verdict.comparison;
    if (comparison.match) {
      continue;
    }
    if (!comparison.same_shape) {
      sink.report(
          DiagId::ComparisonFailed, std::string(),
          {verdict.parameter, verdict.path,
           "its shape is " + shape_text(verdict.got_shape) + ", expected is " + shape_text(verdict.golden_shape)});
      continue;
    }
    auto handle = sink.report(
        DiagId::ComparisonFailed, std::string(),
        {verdict.parameter, verdict.path,
         std::to_string(comparison.mismatches) + " of " + count_text(comparison.elements, "value") + ", first at " +
             shape_text(comparison.first) + ": expected " + comparison.expected + ", got " + comparison.got});
    handle.note({}, error_text(verdict));
    if (comparison.nan_got > 0) {
      handle.note({}, count_text(comparison.nan_got, "value") + " NaN where the golden array has a number");
    }
    if (comparison.nan_expected > 0) {
      handle.note({}, count_text(comparison.nan_expected, "value") + " not NaN where the golden array has NaN");
    }
    if (comparison.nan_both > 0) {
      handle.note({}, count_text(comparison.nan_both, "value") + " NaN on both sides");
      if (comparison.nan_both == comparison.mismatches) {
        handle.help("`--nan-equal` lets NaN equal NaN");
      }
    }
  }
}

std::string summary_text(const object::Program& program, const runtime::RunResult& result,
                         const std::vector<Verdict>& verdicts) {
  std::string text = program.name + ": ";
  if (result.timed) {
    text += std::to_string(result.cycles) + " cycles, " + number(result.microseconds, "%.2f") + " us, busiest pipe " +
            std::string(isa::spelling(result.busiest)) + " " + number(100 * result.busiest_utilisation, "%.1f") +
            " %\n";
  } else {
    text += "values computed\n";
  }
  for (const Verdict& verdict : verdicts) {
    if (verdict.comparison.match) {
      text += verdict.parameter + ": matches " + verdict.path + ", " +
              count_text(verdict.comparison.elements, "value") + ", " + error_text(verdict) + "\n";
    }
  }
  return printable(text, true);
}

std::string report_json(const object::Program& program, const Target& target, const Options& options,
                        const runtime::RunResult& result, const std::vector<Verdict>& verdicts) {
  bool match = true;
  for (const Verdict& verdict : verdicts) {
    match = match && verdict.comparison.match;
  }
  static constexpr const char* kModes[] = {"both", "values", "time"};
  Json json;
  json["schema"] = "ptorun/1";
  json["object"] = options.object;
  json["entry"] = program.name;
  json["target"] = target.name;
  json["mode"] = kModes[static_cast<int>(options.run.mode)];
  json["status"] = match ? "ok" : "mismatch";
  json["dims"] = result.dims;
  if (result.timed) {
    add_time(json, result);
  }
  json["outputs"] = Json::array();
  for (const auto& [name, array] : result.outputs) {
    Json output = {{"name", name}, {"dtype", spelling(array.dtype)}, {"shape", array.shape}};
    for (const NamedValue& out : options.out) {
      if (out.name == name) {
        output["file"] = out.value;
      }
    }
    json["outputs"].push_back(output);
  }
  json["expect"] = Json::array();
  for (const Verdict& verdict : verdicts) {
    json["expect"].push_back(verdict_json(verdict));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pto::ptorun
