// The order of passes and the running of it: dumps, limits, timing, checks after each pass.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/passes/pass.h"

namespace pto::passes {

// The default pipeline: all of passes.def in its order.
std::vector<std::string> default_pipeline();

struct PassTiming {
  std::string pass;
  double milliseconds = 0;
};

struct PipelineOptions {
  std::vector<std::string> passes = default_pipeline();
  std::vector<std::string> skip;
  int pass_limit = -1;  // run only so many; -1: all
  bool verify_each = false;
  // Called before the first pass (with nullptr) and after each pass that ran.
  std::function<void(const PassInfo*, PassResult, const ir::Module&)> observer;
};

struct PipelineReport {
  bool ok = false;
  std::vector<PassTiming> timings;
  // A pass broke the module or its promise: our bug. Text names pass, function, violations.
  std::string internal_error;
};

// Errors of the user are in the sink; `ok` is false then. Unknown names and an order that does not fit are errors too.
PipelineReport run_pipeline(PassContext& context, const PipelineOptions& options);

}  // namespace pto::passes
