#include "runtime/ptorun/cli.h"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <ostream>
#include <span>
#include <string_view>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/runtime.h"
#include "pto/target.h"
#include "runtime/io/npy.h"
#include "runtime/io/staged_files.h"
#include "runtime/ptorun/arguments.h"
#include "runtime/ptorun/list.h"
#include "runtime/ptorun/options.h"
#include "runtime/ptorun/report.h"
#include "src/support/fs.h"

namespace pto::ptorun {
namespace {

constexpr int64_t kMaxObjectBytes = int64_t{1} << 28;
constexpr int64_t kMaxTargetBytes = int64_t{1} << 20;

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

Result<object::Object> load_object(const std::string& path, DiagnosticSink& sink) {
  const Result<std::string> file = read_file(path, kMaxObjectBytes, sink);
  if (!file) {
    return Reported();
  }
  const std::span bytes(reinterpret_cast<const uint8_t*>(file->data()), file->size());
  return object::read(bytes, path == "-" ? "<stdin>" : path, sink);
}

Result<Target> load_target(const std::string& name, DiagnosticSink& sink) {
  if (!name.ends_with(".json") && name.find('/') == std::string::npos) {
    return builtin_target(name, sink);
  }
  const Result<std::string> file = read_file(name, kMaxTargetBytes, sink);
  if (!file) {
    return Reported();
  }
  return parse_target(*file, name, sink);
}

// Addresses, layouts and synchronisation were chosen for one machine: another one would give wrong values or time.
bool check_target(const object::Object& object, const Target& target, const std::string& subject,
                  DiagnosticSink& sink) {
  if (object.target_hash == target.hash) {
    return true;
  }
  sink.report(DiagId::ObjectTarget, subject, {object.target, hex(object.target_hash), target.name, hex(target.hash)})
      .help("compile it again for this target, or give the description that it was made for with `--target`");
  return false;
}

int exit_code_of(runtime::RunStatus status) {
  switch (status) {
    case runtime::RunStatus::Ok:
      return kExitOk;
    case runtime::RunStatus::BadInput:
      return kExitBadInput;
    case runtime::RunStatus::Fault:
      return kExitFault;
    case runtime::RunStatus::Deadlock:
    case runtime::RunStatus::Limit:
      return kExitDeadlock;
  }
  return kExitInternal;
}

bool stage_outputs(const Options& options, const runtime::RunResult& result, runtime::io::StagedFiles& files,
                   DiagnosticSink& sink) {
  for (const NamedValue& out : options.out) {
    const auto output = result.outputs.find(out.name);
    PTO_CHECK(output != result.outputs.end(), "a run left out an output");
    const std::vector<std::byte> bytes = runtime::io::write_npy(output->second);
    if (!files.stage(out.value, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, sink)) {
      return false;
    }
  }
  return true;
}

// Everything after the arguments are known. Files appear only when nothing can go wrong any more, but they do appear
// when a comparison fails: they are what one looks at then.
int run_entry(const object::Object& object, const object::Program& program, const Target& target,
              const Options& options, std::ostream& out, std::ostream& err, DiagnosticSink& sink) {
  const Result<BoundArguments> bound = bind_arguments(program, options, sink);
  if (!bound) {
    return kExitBadInput;
  }
  const runtime::RunResult result =
      runtime::run(object, program, target, bound->arguments, options.run, options.object, sink);
  if (result.status != runtime::RunStatus::Ok) {
    return exit_code_of(result.status);
  }
  const std::vector<Verdict> verdicts = compare_outputs(result, *bound, options);
  const std::string json = options.json ? report_json(program, target, options, result, verdicts) : "";

  runtime::io::StagedFiles files;
  if (!stage_outputs(options, result, files, sink) ||
      (options.trace && !files.stage(*options.trace, runtime::trace_json(result, object, target), sink)) ||
      (options.json && *options.json != "-" && !files.stage(*options.json, json, sink)) || !files.commit(sink)) {
    return kExitBadInput;
  }

  err << summary_text(program, result, verdicts);
  if (options.stats) {
    out << runtime::stats_text(result, target);
  }
  if (options.json == "-") {
    out << json;
  }
  const size_t errors = sink.error_count();
  report_mismatches(verdicts, sink);
  return sink.error_count() == errors ? kExitOk : kExitMismatch;
}

int list_object(const object::Object& object, const Target& target, const Options& options, std::ostream& out,
                DiagnosticSink& sink) {
  if (options.json && *options.json != "-") {
    return write_file_atomic(*options.json, list_json(object, target, options.object), sink) ? kExitOk : kExitBadInput;
  }
  out << (options.json ? list_json(object, target, options.object) : list_text(object, target, options.object));
  return kExitOk;
}

int run_object(const Options& options, std::ostream& out, std::ostream& err, DiagnosticSink& sink) {
  const Result<object::Object> object = load_object(options.object, sink);
  if (!object) {
    return kExitBadInput;
  }
  const Result<Target> target = load_target(options.target.value_or(object->target), sink);
  if (!target || !check_target(*object, *target, options.object, sink) ||
      !object::verify(*object, *target, options.object, sink)) {
    return kExitBadInput;
  }
  if (options.list) {
    return list_object(*object, *target, options, out, sink);
  }
  const object::Program* program = choose_entry(*object, options, sink);
  return program == nullptr ? kExitBadInput : run_entry(*object, *program, *target, options, out, err, sink);
}

// Libraries that we use may throw, and memory may run out.
int run_guarded(const std::vector<std::string>& args, Options& options, std::ostream& out, std::ostream& err,
                DiagnosticSink& sink) {
  try {
    int exit_code = kExitOk;
    return parse_options(args, options, exit_code, out, sink) ? run_object(options, out, err, sink) : exit_code;
  } catch (const std::bad_alloc&) {
    sink.report(DiagId::CannotRead, options.object, {"there is not enough memory to run it"});
    return kExitBadInput;
  } catch (const std::exception& error) {
    err << "ptorun: internal error: " << error.what() << "\n";
    return kExitInternal;
  }
}

}  // namespace

int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal) {
  DiagnosticSink sink;
  Options options;
  int exit_code = run_guarded(args, options, out, err, sink);
  out.flush();
  if (!out && exit_code == kExitOk) {
    sink.report(DiagId::CannotWrite, std::string(), {"<stdout>", "the output could not be written"});
    exit_code = kExitBadInput;
  }
  const bool color = options.color == ColorWhen::Always ||
                     (options.color == ColorWhen::Auto && terminal.err_is_terminal && !terminal.no_color);
  err << (options.json_errors ? render_json(sink, nullptr) : render_text(sink, nullptr, {color, 20}));
  err.flush();
  return exit_code;
}

}  // namespace pto::ptorun
