#include "src/driver/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "src/support/text.h"

namespace pto::driver {

namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  ptoc softmax.pto -o softmax.ptobin --target a5 -D N=1000\n"
    "  ptoc softmax.pto --emit-ir=block -o softmax.block.pto\n"
    "Exit codes: 0 ok, 1 bad input, 2 usage, 70 internal error.";

struct Raw {
  std::vector<std::string> inputs;
  std::vector<std::string> defines;
  std::string emit_ir;
  std::string passes;
  std::vector<std::string> skip;
  std::string error_format = "text";
  bool no_source_map = false;
  bool no_reuse = false;
  std::vector<std::string> reports;
};

void declare(CLI::App& app, Options& o, Raw& raw) {
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.add_option("INPUT", raw.inputs, "A .pto file, `-` for standard input; a .ptobin with --disasm");
  const char* files = "Files";
  app.add_option("-o,--output", o.output, "Output file, `-` for standard output; default: INPUT with .ptobin")
      ->group(files);
  app.add_option("-I,--include", o.include_paths, "A folder to look for imports in")
      ->allow_extra_args(false)
      ->group(files);
  app.add_flag("--MD,-M", o.depfile, "Write a make dependency file beside the output")->group(files);
  app.add_option("--MF", o.depfile_path, "Name of the dependency file")->group(files);
  app.add_option("--MT", o.depfile_target, "Target named in the dependency file")->group(files);
  app.add_flag("--no-source-map", raw.no_source_map, "Leave source locations out of the object")->group(files);
  const char* what = "What to compile";
  app.add_option("--target", o.target, "Machine: a built-in name or a .json file (default a2a3)")->group(what);
  app.add_option("-D", raw.defines, "NAME=VALUE: a constant or a dim; NAME=? makes a dim dynamic")
      ->allow_extra_args(false)
      ->group(what);
  const char* passes = "Passes";
  app.add_option("--emit-ir", raw.emit_ir, "Print the program at a level: tensor, tile, block or exec")->group(passes);
  app.add_option("--emit-ir-after", o.emit_ir_after, "Print the program after a pass, and stop")->group(passes);
  app.add_option("--emit-ir-dir", o.emit_ir_dir, "Write the program after each pass to numbered files")->group(passes);
  app.add_option("--passes", raw.passes, "Run these passes, comma separated, instead of all")->group(passes);
  app.add_option("--skip-pass", raw.skip, "Leave a pass out")->allow_extra_args(false)->group(passes);
  app.add_option("--pass-limit", o.pass_limit, "Run only the first N passes")
      ->check(CLI::NonNegativeNumber)
      ->group(passes);
  app.add_flag("--no-reuse", raw.no_reuse, "Give every buffer bytes of its own")->group(passes);
  app.add_option("--drop-sync", o.drop_sync,
                 "Leave the N-th synchronisation of --report=sync out before the proof: a test of the prover")
      ->check(CLI::PositiveNumber)
      ->group(passes);
  app.add_flag("--time-passes", o.time_passes, "Print how long each pass took")->group(passes);
  app.add_flag("--verify-each", o.verify_each, "Check the program's invariants after each pass")->group(passes);
  app.add_flag("--check-each-pass", o.check_each_pass,
               "Evaluate the program before and after each pass; name the first pass that changes a value")
      ->group(passes);
  const char* about = "Information";
  app.add_option("--report", raw.reports,
                 "memory[:FILE]: what is where and when in each memory; by FILE's name text, .json, .svg or .html. "
                 "sync[:FILE]: what each flag and barrier is good for; text or .json")
      ->allow_extra_args(false)
      ->group(about);
  app.add_flag("--disasm", o.disasm, "Print an object as .pto")->group(about);
  app.add_flag("--list-passes", o.list_passes, "List the passes in their order")->group(about);
  app.add_flag("--list-instrs", o.list_instrs, "List the instructions")->group(about);
  app.add_flag("--list-targets", o.list_targets, "List the built-in targets")->group(about);
  app.add_flag("--version", o.version, "Print the version and exit")->group(about);
  const char* diagnostics = "Diagnostics";
  app.add_option("--error-format", raw.error_format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->group(diagnostics);
  app.add_option("--color", o.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(diagnostics);
  app.add_option("--max-errors", o.render.max_errors, "Print at most N errors")->group(diagnostics);
  app.add_flag("--Werror", o.warnings_as_errors, "Treat warnings as errors")->group(diagnostics);
  app.footer(kFooter);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) {
      parts.push_back(text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return parts;
}

// CLI11 wants two dashes in front of long names; compilers are called with one: -MD, -MF, -MT, -Werror.
std::string with_two_dashes(const std::string& arg) {
  for (const char* name : {"-MD", "-MF", "-MT", "-Werror"}) {
    if (arg == name) {
      return "-" + arg;
    }
  }
  return arg;
}

// Reports that the program can write, and what of them goes where.
std::string check_reports(const Raw& raw, Options& o) {
  bool to_output = false;
  for (const std::string& text : raw.reports) {
    const size_t colon = std::min(text.find(':'), text.size());
    const ReportRequest report{text.substr(0, colon), colon == text.size() ? "" : text.substr(colon + 1)};
    if (report.what != "memory" && report.what != "sync") {
      return "`--report=" + text + "`: reports are memory, memory:FILE, sync, sync:FILE";
    }
    if (colon != text.size() && report.file.empty()) {
      return "`--report=" + text + "`: the file's name is missing";
    }
    to_output = to_output || report.file.empty() || report.file == "-";
    o.reports.push_back(report);
  }
  const bool text = o.emit_ir || !o.emit_ir_after.empty() || o.pass_limit >= 0 || !raw.passes.empty();
  if (to_output && (o.output == "-" || (o.output.empty() && text))) {
    return "the report and the program would both go to standard output; name a file for one of them";
  }
  if (!o.reports.empty() && o.disasm) {
    return "`--report` does not go with `--disasm`";
  }
  return "";
}

std::string check(const Raw& raw, Options& o) {
  const bool list = o.list_passes || o.list_instrs || o.list_targets || o.version;
  if (!list && raw.inputs.empty()) {
    return "no input file";
  }
  if (raw.inputs.size() > 1) {
    return "one input file at a time: `" + raw.inputs[0] + "` or `" + raw.inputs[1] + "`?";
  }
  o.input = raw.inputs.empty() ? "" : raw.inputs[0];
  for (const std::string& define : raw.defines) {
    const size_t equals = define.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == define.size()) {
      return "`-D " + define + "`: expected NAME=VALUE";
    }
    o.defines[define.substr(0, equals)] = define.substr(equals + 1);
  }
  if (!raw.emit_ir.empty()) {
    for (ir::Level level : {ir::Level::Tensor, ir::Level::Tile, ir::Level::Block, ir::Level::Exec}) {
      if (ir::spelling(level) == raw.emit_ir) {
        o.emit_ir = level;
      }
    }
    if (!o.emit_ir) {
      return "`--emit-ir=" + raw.emit_ir + "`: levels are tensor, tile, block, exec";
    }
  }
  return check_reports(raw, o);
}

// "did you mean" for an unknown option.
std::string suggestion(const CLI::App& app, const std::vector<std::string>& args) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  std::vector<std::string_view> views(names.begin(), names.end());
  for (const std::string& arg : args) {
    const std::string name = arg.substr(0, arg.find('='));
    if (name.size() > 2 && name[0] == '-' && std::find(names.begin(), names.end(), name) == names.end()) {
      if (const auto near = closest(name, views)) {
        return "; did you mean `" + std::string(*near) + "`?";
      }
    }
  }
  return "";
}

}  // namespace

ParsedOptions parse_options(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  ParsedOptions parsed;
  Options& o = parsed.options;
  Raw raw;
  CLI::App app("Compiles .pto programs for tile-based accelerators to objects that ptorun runs.", "ptoc");
  declare(app, o, raw);
  std::vector<std::string> reversed;
  for (auto it = args.rbegin(); it != args.rend(); ++it) {
    reversed.push_back(with_two_dashes(*it));
  }
  std::string problem;
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    parsed.exit = kExitOk;
    return parsed;
  } catch (const CLI::ParseError& error) {
    problem = error.what() + suggestion(app, args);
  }
  if (problem.empty()) {
    problem = check(raw, o);
  }
  if (!problem.empty()) {
    err << "ptoc: " << printable(problem) << "\nptoc: `ptoc --help` lists the options\n";
    parsed.exit = kExitUsage;
    return parsed;
  }
  o.json_errors = raw.error_format == "json";
  o.source_map = !raw.no_source_map;
  o.reuse_memory = !raw.no_reuse;
  o.skip_passes = raw.skip;
  if (!raw.passes.empty()) {
    o.passes = split(raw.passes);
  }
  return parsed;
}

}  // namespace pto::driver
