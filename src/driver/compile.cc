#include "src/driver/compile.h"

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <ostream>

#include "src/codegen/codegen.h"
#include "src/driver/dumps.h"
#include "src/driver/report.h"
#include "src/driver/report_sync.h"
#include "src/frontend/frontend.h"
#include "src/passes/pipeline.h"
#include "src/support/fs.h"

namespace pto::driver {

namespace {

constexpr int64_t kMaxSourceBytes = int64_t{64} << 20;
constexpr int64_t kMaxObjectBytes = int64_t{256} << 20;

std::string display_name(const std::string& path) {
  return path == "-" ? "<stdin>" : path;
}

// The passes up to the level asked for.
passes::PipelineOptions pipeline_options(const Options& options) {
  passes::PipelineOptions pipeline;
  if (options.passes) {
    pipeline.passes = *options.passes;
  }
  if (options.emit_ir) {
    std::vector<std::string> kept;
    for (const std::string& name : pipeline.passes) {
      const passes::PassInfo* pass = passes::find_pass(name);
      if (pass == nullptr || pass->level <= *options.emit_ir) {
        kept.push_back(name);
      }
    }
    pipeline.passes = kept;
  }
  if (!options.emit_ir_after.empty()) {
    const auto at = std::find(pipeline.passes.begin(), pipeline.passes.end(), options.emit_ir_after);
    if (at != pipeline.passes.end()) {
      pipeline.passes.erase(at + 1, pipeline.passes.end());
    } else {
      pipeline.passes = {options.emit_ir_after};  // refused as unknown, or run alone
    }
  }
  pipeline.skip = options.skip_passes;
  pipeline.pass_limit = options.pass_limit;
  pipeline.verify_each = options.verify_each;
  return pipeline;
}

// A compiler bug: what happened, and a file that shows it again.
int internal_failure(Run& run, const std::string& what, const ir::Module& module) {
  run.err << "internal error: " << what << "\n";
  const std::string path = "ptoc-crash.pto";
  DiagnosticSink ignored;
  if (write_file_atomic(path, ir::print(module), ignored)) {
    run.err << "internal error: the program before it is in " << path << "\n";
  }
  return kExitInternal;
}

void print_timings(Run& run, const passes::PipelineReport& report) {
  for (const passes::PassTiming& timing : report.timings) {
    run.err << std::fixed << std::setprecision(3) << std::setw(10) << timing.milliseconds << " ms  " << timing.pass
            << "\n";
  }
}

bool write_depfile(Run& run, const std::string& output, const std::vector<std::string>& imported) {
  const Options& options = run.options;
  if (!options.depfile && options.depfile_path.empty()) {
    return true;
  }
  auto escape = [](const std::string& path) {
    std::string text;
    for (char c : path) {
      text += c == ' ' || c == '#' ? "\\" : c == '$' ? "$" : "";
      text += c;
    }
    return text;
  };
  const std::string target = options.depfile_target.empty() ? output : options.depfile_target;
  std::string text = escape(target) + ": " + escape(options.input);
  for (const std::string& path : imported) {
    text += " \\\n  " + escape(path);
  }
  text += "\n";
  const std::string path = options.depfile_path.empty() ? std::filesystem::path(output).replace_extension(".d").string()
                                                        : options.depfile_path;
  return write_file_atomic(path, text, run.sink);
}

Result<ir::Module> parse(Run& run, const Target& target, std::vector<std::string>& imported) {
  auto text = read_file(run.options.input, kMaxSourceBytes, run.sink);
  if (!text) {
    return Reported{};
  }
  const uint16_t file = run.sources.add(display_name(run.options.input), std::move(*text));
  frontend::Options options;
  options.defines = run.options.defines;
  options.include_paths = run.options.include_paths;
  options.target = &target;
  options.read_file = [](const std::string& path) -> std::optional<std::string> {
    DiagnosticSink ignored;
    auto read = read_file(path, kMaxSourceBytes, ignored);
    return read ? std::optional<std::string>(std::move(*read)) : std::nullopt;
  };
  return frontend::compile_source(run.sources, file, options, run.sink, &imported);
}

int write_object(Run& run, const ir::Module& module, const Target& target, const std::vector<std::string>& imported) {
  auto object = codegen::emit(module, target, run.options.source_map ? &run.sources : nullptr, run.sink);
  if (!object || run.sink.has_errors()) {
    return kExitBadInput;
  }
  const std::vector<uint8_t> bytes = object::write(*object, run.options.source_map);
  const std::string path = run.options.input == "-"
                               ? "out.ptobin"
                               : std::filesystem::path(run.options.input).replace_extension(".ptobin").string();
  const std::string output = run.options.output.empty() ? path : run.options.output;
  if (!write_depfile(run, output, imported)) {
    return kExitBadInput;
  }
  return write_output(run, std::string(bytes.begin(), bytes.end()), path) ? kExitOk : kExitBadInput;
}

}  // namespace

Result<Target> load_target(const std::string& name, DiagnosticSink& sink) {
  if (name.size() < 5 || name.substr(name.size() - 5) != ".json") {
    return builtin_target(name, sink);
  }
  auto text = read_file(name, int64_t{1} << 20, sink);
  if (!text) {
    return Reported{};
  }
  return parse_target(*text, name, sink);
}

bool write_output(Run& run, const std::string& bytes, const std::string& fallback) {
  const std::string path = run.options.output.empty() ? fallback : run.options.output;
  if (path == "-") {
    run.out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return static_cast<bool>(run.out);
  }
  return write_file_atomic(path, bytes, run.sink);
}

int compile(Run& run) {
  const auto target = load_target(run.options.target, run.sink);
  if (!target) {
    return kExitBadInput;
  }
  std::vector<std::string> imported;
  auto module = parse(run, *target, imported);
  if (!module) {
    return kExitBadInput;
  }
  if (module->functions.empty()) {
    run.sink.report(DiagId::NothingToCompile, display_name(run.options.input), {});
    return kExitBadInput;
  }
  std::vector<std::string> violations;
  if (!ir::verify(*module, violations)) {
    return internal_failure(run, "the front end made an invalid program: " + violations.front(), *module);
  }
  passes::PipelineOptions pipeline = pipeline_options(run.options);
  Dumps dumps(run, *target);
  int64_t syncs = -1;  // that --drop-sync could choose from
  pipeline.observer = [&](const passes::PassInfo* pass, passes::PassResult result, const ir::Module& after) {
    if (run.options.drop_sync > 0 && pass != nullptr && pass->name == "insert-sync") {
      syncs = drop_sync(*module, run.options.drop_sync);
    }
    dumps.observe(pass, result, after);
  };
  passes::PassContext context{*module, *target, run.sink, {}, &run.sources};
  context.options.reuse_memory = run.options.reuse_memory;
  const passes::PipelineReport report = run_pipeline(context, pipeline);
  if (run.options.time_passes) {
    print_timings(run, report);
  }
  if (!report.internal_error.empty()) {
    return internal_failure(run, report.internal_error, *module);
  }
  if (dumps.value_changed()) {
    return internal_failure(run, "a pass changed what the program computes", dumps.before());
  }
  if (!report.ok || !dumps.ok()) {
    return kExitBadInput;
  }
  if (syncs < run.options.drop_sync && run.options.drop_sync > 0) {
    run.err << "ptoc: `--drop-sync=" << run.options.drop_sync << "`: "
            << (syncs < 0 ? "insert-sync did not run"
                          : "the program has " + std::to_string(syncs) + " synchronisations")
            << "\n";
    return kExitUsage;
  }
  violations.clear();
  if (!ir::verify(*module, violations)) {
    return internal_failure(run, "the compiled program is invalid: " + violations.front(), *module);
  }
  if (run.options.emit_ir || !run.options.emit_ir_after.empty() || run.options.pass_limit >= 0 || run.options.passes) {
    if (!write_output(run, ir::print(*module), "-")) {
      return kExitBadInput;
    }
  } else if (const int code = write_object(run, *module, *target, imported); code != kExitOk) {
    return code;
  }
  return write_reports(run, *module, *target) ? kExitOk : kExitBadInput;
}

int disassemble(Run& run) {
  auto bytes = read_file(run.options.input, kMaxObjectBytes, run.sink);
  if (!bytes) {
    return kExitBadInput;
  }
  const std::string subject = display_name(run.options.input);
  const auto object = object::read({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()}, subject, run.sink);
  if (!object) {
    return kExitBadInput;
  }
  const auto target = load_target(run.options.target_given ? run.options.target : object->target, run.sink);
  if (!target || !object::verify(*object, *target, subject, run.sink)) {
    return kExitBadInput;
  }
  const std::string text = "// target " + object->target + "\n" + ir::print(codegen::lift(*object));
  return write_output(run, text, "-") ? kExitOk : kExitBadInput;
}

}  // namespace pto::driver
