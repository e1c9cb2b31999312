// What a run tells its user: the summary, the verdicts of --expect, and the JSON report.
#pragma once

#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/runtime.h"
#include "runtime/io/compare.h"
#include "runtime/ptorun/arguments.h"
#include "runtime/ptorun/options.h"

namespace pto::ptorun {

struct Verdict {
  std::string parameter;
  std::string path;
  DType dtype = DType::None;
  std::vector<int64_t> got_shape;
  std::vector<int64_t> golden_shape;
  runtime::io::Comparison comparison;
};

std::vector<Verdict> compare_outputs(const runtime::RunResult& result, const BoundArguments& bound,
                                     const Options& options);

// An error for each verdict that is no match.
void report_mismatches(const std::vector<Verdict>& verdicts, DiagnosticSink& sink);

// "softmax: 12345 cycles, 6.67 us, busiest pipe v 83.1 %", and a line for each verdict that is a match.
std::string summary_text(const object::Program& program, const runtime::RunResult& result,
                         const std::vector<Verdict>& verdicts);

// Schema "ptorun/1", see docs/cli.md.
std::string report_json(const object::Program& program, const Target& target, const Options& options,
                        const runtime::RunResult& result, const std::vector<Verdict>& verdicts);

}  // namespace pto::ptorun
