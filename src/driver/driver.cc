#include "src/driver/driver.h"

#include <algorithm>
#include <ostream>

#include "pto/isa.h"
#include "pto/object.h"
#include "src/driver/compile.h"
#include "src/driver/options.h"
#include "src/passes/pass.h"

namespace pto::driver {

namespace {

constexpr const char* kVersion = "0.1.0";

void list_passes(std::ostream& out) {
  for (const passes::PassInfo& pass : passes::all_passes()) {
    std::string name(pass.name);
    name.resize(std::max<size_t>(name.size(), 16), ' ');
    std::string level(ir::spelling(pass.level));
    level.resize(std::max<size_t>(level.size(), 7), ' ');
    out << name << level << pass.doc << "\n";
  }
}

void list_instructions(std::ostream& out) {
  for (const isa::InstrInfo& info : isa::all_instructions()) {
    std::string name(info.mnemonic);
    name.resize(std::max<size_t>(name.size(), 18), ' ');
    out << name << info.doc << "\n";
  }
}

// Prints what the sink holds; warnings become errors with --Werror.
int finish(Run& run, const Terminal& terminal, int code) {
  RenderOptions render = run.options.render;
  render.color =
      run.options.color == "always" || (run.options.color == "auto" && terminal.err_is_terminal && !terminal.no_color);
  run.err << (run.options.json_errors ? render_json(run.sink, &run.sources)
                                      : render_text(run.sink, &run.sources, render));
  const auto& all = run.sink.all();
  const bool warned =
      std::any_of(all.begin(), all.end(), [](const Diagnostic& d) { return d.severity == Severity::Warning; });
  return code == kExitOk && run.options.warnings_as_errors && warned ? static_cast<int>(kExitBadInput) : code;
}

}  // namespace

int run_ptoc(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal) {
  const ParsedOptions parsed = parse_options(args, out, err);
  if (parsed.exit) {
    return *parsed.exit;
  }
  const Options& options = parsed.options;
  if (options.version) {
    out << "ptoc " << kVersion << " (objects: version " << object::kVersion << ")\n";
    return kExitOk;
  }
  if (options.list_passes) {
    list_passes(out);
    return kExitOk;
  }
  if (options.list_instrs) {
    list_instructions(out);
    return kExitOk;
  }
  if (options.list_targets) {
    for (std::string_view name : builtin_targets()) {
      out << name << "\n";
    }
    return kExitOk;
  }
  SourceManager sources;
  DiagnosticSink sink;
  Run run{options, sources, sink, out, err};
  const int code = options.disasm ? disassemble(run) : compile(run);
  return finish(run, terminal, code);
}

}  // namespace pto::driver
