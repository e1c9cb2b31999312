#include "src/passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace pto::passes {

std::vector<std::string> default_pipeline() {
  std::vector<std::string> names;
  for (const PassInfo& pass : all_passes()) {
    names.emplace_back(pass.name);
  }
  return names;
}

namespace {

std::string join_violations(const std::vector<std::string>& violations) {
  std::string text;
  for (const std::string& violation : violations) {
    text += "\n  " + violation;
  }
  return text;
}

// What is wrong with the module after `pass`; empty: nothing.
std::string broken_promise(const PassInfo& pass, const ir::Module& module) {
  std::vector<std::string> violations;
  if (!ir::verify(module, violations)) {
    return "after pass `" + std::string(pass.name) + "` the module is invalid:" + join_violations(violations);
  }
  const std::string reason = check_property(pass.produces_property, module);
  if (!reason.empty()) {
    return "pass `" + std::string(pass.name) + "` promised " + std::string(spelling(pass.produces_property)) +
           ", but " + reason;
  }
  return "";
}

// The passes to run, or nullopt with an error for a name that is no pass.
std::optional<std::vector<const PassInfo*>> resolve(const PipelineOptions& options, DiagnosticSink& sink) {
  std::vector<const PassInfo*> passes;
  auto known = [&](const std::string& name) {
    const PassInfo* pass = find_pass(name);
    if (pass == nullptr) {
      sink.report(DiagId::UnknownPass, "ptoc", {name}).help("`ptoc --list-passes` lists them");
    }
    return pass;
  };
  bool ok = true;
  for (const std::string& name : options.skip) {
    ok = known(name) != nullptr && ok;
  }
  for (const std::string& name : options.passes) {
    const PassInfo* pass = known(name);
    ok = pass != nullptr && ok;
    if (pass != nullptr && std::find(options.skip.begin(), options.skip.end(), name) == options.skip.end()) {
      passes.push_back(pass);
    }
  }
  if (!ok) {
    return std::nullopt;
  }
  return passes;
}

// Is what the pass requires established, by an earlier pass or by the module itself?
bool requirement_met(const PassInfo& pass, const ir::Module& module, DiagnosticSink& sink) {
  const std::string reason = check_property(pass.requires_property, module);
  if (reason.empty()) {
    return true;
  }
  sink.report(DiagId::PassOrder, "ptoc",
              {std::string(pass.name), std::string(spelling(pass.requires_property)), reason});
  return false;
}

// Names are those of the dump at every moment, so that compiling a dump gives the same names as going on without it.
void normalize_all(ir::Module& module) {
  for (ir::Function& function : module.functions) {
    ir::normalize_names(function);
  }
}

}  // namespace

PipelineReport run_pipeline(PassContext& context, const PipelineOptions& options) {
  PipelineReport report;
  const auto passes = resolve(options, context.sink);
  if (!passes) {
    return report;
  }
  normalize_all(context.module);
  if (options.observer) {
    options.observer(nullptr, PassResult::Unchanged, context.module);
  }
  int count = 0;
  for (const PassInfo* pass : *passes) {
    if (options.pass_limit >= 0 && count++ >= options.pass_limit) {
      break;
    }
    if (!requirement_met(*pass, context.module, context.sink)) {
      return report;
    }
    const auto start = std::chrono::steady_clock::now();
    const PassResult result = pass->run(context);
    if (result != PassResult::Failed) {
      normalize_all(context.module);
    }
    const auto end = std::chrono::steady_clock::now();
    report.timings.push_back({std::string(pass->name), std::chrono::duration<double, std::milli>(end - start).count()});
    if (result == PassResult::Failed || context.sink.has_errors()) {
      return report;
    }
    if (options.verify_each) {
      report.internal_error = broken_promise(*pass, context.module);
      if (!report.internal_error.empty()) {
        return report;
      }
    }
    if (options.observer) {
      options.observer(pass, result, context.module);
    }
  }
  report.ok = true;
  return report;
}

}  // namespace pto::passes
