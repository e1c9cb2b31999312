#include "runtime/ptorun/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <ostream>
#include <string_view>
#include <thread>
#include <utility>

#include "pto/object.h"
#include "runtime/io/generate.h"
#include "src/support/text.h"

namespace pto::ptorun {
namespace {

constexpr std::string_view kVersion = "0.1.0";
const std::string kSubject = "ptorun";
constexpr int64_t kMaxThreads = 1024;

constexpr std::string_view kDescription =
    "Runs an entry of a PTO object: computes its values and simulates its time.\n"
    "  ptorun add.ptobin --in x=@x.npy --in y=f32[64,1024]:randn(seed=1) --out z=@z.npy\n"
    "  ptorun add.ptobin --in x=@x.npy --in y=@y.npy --expect z=@golden.npy --stats";

constexpr std::string_view kFooter =
    "An array is @FILE.npy, TYPE[DIMS]@FILE.npy or TYPE[DIMS]:GENERATOR. Generators: zeros, ones, full(V),\n"
    "arange(start=0, step=1), rand(seed=0), randn(seed=0), uniform(lo=, hi=, seed=0), randint(lo=, hi=, seed=0).\n"
    "Exit codes: 0 ok, 1 bad input, 2 usage, 3 comparison failed, 4 fault in the program, 5 deadlock or limit.\n";

// The values as they were typed; options that take one are kept as lists so that a second one can be refused by name.
struct RawOptions {
  std::vector<std::string> objects;
  std::vector<std::string> in, out, expect, dims;
  std::map<std::string, std::vector<std::string>> single;
  bool list = false, stats = false, nan_equal = false, version = false;
};

void declare(CLI::App& app, RawOptions& raw) {
  app.set_help_flag("-h,--help", "Print this help and exit");
  const auto all = CLI::MultiOptionPolicy::TakeAll;
  app.add_option("OBJECT", raw.objects, "The object, `-` for standard input")
      ->type_name("")
      ->expected(1)
      ->multi_option_policy(all);
  const auto repeated = [&](const char* name, std::vector<std::string>& into, const char* what, const char* doc,
                            const char* group) {
    app.add_option(name, into, doc)->allow_extra_args(false)->type_name(what)->group(group);
  };
  const auto single = [&](const std::string& name, const char* what, const char* doc, const char* group) {
    app.add_option(name, raw.single[name], doc)
        ->expected(1)
        ->multi_option_policy(all)
        ->allow_extra_args(false)
        ->type_name(what)
        ->group(group);
  };
  const char* arguments = "Arguments and results";
  repeated("--in", raw.in, "NAME=VALUE", "Value of an input: an array, or a number for a scalar", arguments);
  repeated("--out", raw.out, "NAME=@FILE", "Write an output as .npy", arguments);
  repeated("--expect", raw.expect, "NAME=@FILE", "Compare an output with a .npy file", arguments);
  repeated("--dim", raw.dims, "NAME=SIZE", "Value of a dim that no input gives", arguments);
  single("--rtol", "R", "Relative tolerance; by type: f32 1e-4, f16 1e-3, bf16 1e-2, integers 0", arguments);
  single("--atol", "A", "Absolute tolerance; by type: f32 1e-5, f16 1e-3, bf16 1e-2, integers 0", arguments);
  app.add_flag("--nan-equal", raw.nan_equal, "NaN equals NaN")->group(arguments);
  const char* what = "What to run";
  single("--entry", "NAME", "The entry, where the object has more than one", what);
  app.add_flag("--list", raw.list, "List entries, parameters, tasks and cores; run nothing")->group(what);
  single("--mode", "both|values|time", "Values and time (default), or one of them", what);
  single("--target", "NAME|FILE.json", "The machine; must be the one the object was made for", what);
  single("--threads", "N", "Host threads; never changes a value or a cycle", what);
  single("--max-cycles", "N", "Stop, with exit code 5, when the simulated time is longer", what);
  const char* reports = "Reports";
  app.add_flag("--stats", raw.stats, "Print where the cycles went")->group(reports);
  single("--json", "[FILE]", "Write the report as JSON, to standard output without FILE", reports);
  single("--trace", "FILE", "Write a Chrome/Perfetto trace", reports);
  single("--error-format", "text|json", "How errors are printed", reports);
  single("--color", "auto|always|never", "Colours of errors", reports);
  app.add_flag("--version", raw.version, "Print the version and exit")->group(reports);
  app.footer(std::string(kFooter));
}

// `NAME=VALUE` lists into `into`; duplicates refused.
bool split_named(const std::string& option, const std::vector<std::string>& texts, bool is_file,
                 std::vector<NamedValue>& into, DiagnosticSink& sink) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      sink.report(DiagId::Usage, option,
                  {"`" + text + "` is not of the form " + (is_file ? "NAME=@FILE" : "NAME=VALUE")});
      continue;
    }
    NamedValue named{text.substr(0, equals), text.substr(equals + 1)};
    const auto same = [&](const NamedValue& other) { return other.name == named.name; };
    if (std::any_of(into.begin(), into.end(), same)) {
      sink.report(DiagId::ArgumentTwice, option, {"the value of", named.name});
      continue;
    }
    if (is_file) {
      if (named.value[0] != '@' || named.value.size() == 1 || named.value == "@-") {
        sink.report(DiagId::Usage, option, {"`" + named.value + "` is no file"})
            .help("write `" + option + " " + named.name + "=@FILE.npy`");
        continue;
      }
      named.value.erase(0, 1);
    }
    into.push_back(std::move(named));
  }
  return !sink.has_errors();
}

class Reader {
 public:
  Reader(const RawOptions& raw, DiagnosticSink& sink) : raw_(raw), sink_(sink) {}

  // The value of an option that may be given once.
  std::optional<std::string> text(const std::string& name) {
    const std::vector<std::string>& values = raw_.single.at(name);
    if (values.size() > 1) {
      sink_.report(DiagId::Usage, kSubject, {"`" + name + "` is given " + std::to_string(values.size()) + " times"});
    }
    return values.empty() ? std::nullopt : std::optional(values.front());
  }

  std::optional<std::string> file(const std::string& name) {
    std::optional<std::string> value = text(name);
    if (value && value->empty()) {
      sink_.report(DiagId::Usage, kSubject, {"`" + name + "` needs a value"});
    }
    return value;
  }

  int64_t integer(const std::string& name, int64_t low, int64_t high, int64_t otherwise) {
    const std::optional<std::string> value = text(name);
    if (!value) {
      return otherwise;
    }
    const std::optional<int64_t> number = runtime::io::parse_int(*value);
    if (!number || *number < low || *number > high) {
      sink_.report(DiagId::Usage, kSubject,
                   {"`" + name + "` takes a number from " + std::to_string(low) + " to " + std::to_string(high) +
                    ", not `" + *value + "`"});
      return otherwise;
    }
    return *number;
  }

  std::optional<double> tolerance(const std::string& name) {
    const std::optional<std::string> value = text(name);
    const std::optional<double> number = value ? runtime::io::parse_real(*value) : std::nullopt;
    if (value && (!number || !(*number >= 0) || std::isinf(*number))) {
      sink_.report(DiagId::Usage, kSubject, {"`" + name + "` takes a number from 0 up, not `" + *value + "`"});
    }
    return number;
  }

  // Index of the option's value among `words`; 0 if it is not given.
  int choice(const std::string& name, std::vector<std::string_view> words) {
    const std::optional<std::string> value = text(name);
    const auto found = std::find(words.begin(), words.end(), value.value_or(std::string(words.front())));
    if (found != words.end()) {
      return static_cast<int>(found - words.begin());
    }
    std::string list;
    for (const std::string_view word : words) {
      list += (list.empty() ? "`" : ", `") + std::string(word) + "`";
    }
    auto handle =
        sink_.report(DiagId::Usage, kSubject, {"`" + name + "` is one of " + list + ", not `" + *value + "`"});
    if (const auto near = closest(*value, words)) {
      handle.help("did you mean `" + std::string(*near) + "`?");
    }
    return 0;
  }

 private:
  const RawOptions& raw_;
  DiagnosticSink& sink_;
};

void report_unknown(const CLI::App& app, const std::string& argument, DiagnosticSink& sink) {
  const std::string name = argument.substr(0, argument.find('='));
  auto handle = sink.report(DiagId::Usage, kSubject, {"unknown option `" + name + "`"});
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& long_name : option->get_lnames()) {
      known.push_back("--" + long_name);
    }
  }
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto near = closest(name, views);
  handle.help(near ? "did you mean `" + std::string(*near) + "`?" : "`ptorun --help` lists the options");
}

// A path that two results would be written to.
void check_distinct_files(const Options& options, DiagnosticSink& sink) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    const std::string normal = std::filesystem::path(path).lexically_normal().string();
    if (std::find(paths.begin(), paths.end(), normal) != paths.end() && normal != "/dev/null") {
      sink.report(DiagId::Usage, kSubject, {"two results would be written to `" + path + "`"});
    }
    paths.push_back(normal);
  };
  for (const NamedValue& out : options.out) {
    add(out.value);
  }
  if (options.trace) {
    add(*options.trace);
  }
  if (options.json && *options.json != "-") {
    add(*options.json);
  }
}

// Options that ask for what the chosen mode does not compute.
void check_combinations(const Options& options, DiagnosticSink& sink) {
  const auto usage = [&](const std::string& text) { sink.report(DiagId::Usage, kSubject, {text}); };
  if (options.trace == "-") {
    usage("`--trace` needs a file");
  }
  if (options.stats && options.json == "-") {
    usage("`--stats` and `--json` both print to standard output; give `--json=FILE`");
  }
  if (options.list) {
    return;
  }
  if (options.run.mode == runtime::Mode::Time && !(options.out.empty() && options.expect.empty())) {
    usage("`--mode=time` computes no values: " + std::string(options.out.empty() ? "`--expect`" : "`--out`") +
          " can't be given");
  }
  if (options.run.mode == runtime::Mode::Values && (options.trace || options.stats)) {
    usage("`--mode=values` has no time: " + std::string(options.trace ? "`--trace`" : "`--stats`") + " can't be given");
  }
  if (options.run.mode == runtime::Mode::Values && options.run.max_cycles > 0) {
    usage("`--mode=values` has no time: `--max-cycles` can't be given");
  }
}

void fill(const RawOptions& raw, Options& options, DiagnosticSink& sink) {
  Reader reader(raw, sink);
  // First, so that the errors that follow are printed as asked.
  options.json_errors = reader.choice("--error-format", {"text", "json"}) == 1;
  options.color = static_cast<ColorWhen>(reader.choice("--color", {"auto", "always", "never"}));
  split_named("--in", raw.in, false, options.in, sink);
  split_named("--out", raw.out, true, options.out, sink);
  split_named("--expect", raw.expect, true, options.expect, sink);
  split_named("--dim", raw.dims, false, options.dims, sink);
  options.compare = {reader.tolerance("--rtol"), reader.tolerance("--atol"), raw.nan_equal};
  options.entry = reader.text("--entry");
  options.target = reader.file("--target");
  options.trace = reader.file("--trace");
  options.json = reader.file("--json");
  options.list = raw.list;
  options.stats = raw.stats;
  options.run.mode = static_cast<runtime::Mode>(reader.choice("--mode", {"both", "values", "time"}));
  const int64_t host = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
  options.run.threads = static_cast<int>(reader.integer("--threads", 1, kMaxThreads, host));
  options.run.max_cycles = reader.integer("--max-cycles", 1, std::numeric_limits<int64_t>::max(), 0);
  options.run.record_trace = options.trace.has_value();
  if (raw.objects.empty()) {
    sink.report(DiagId::Usage, kSubject, {"no object is given"}).help("`ptorun --help` shows how to call it");
  } else if (raw.objects.size() > 1) {
    sink.report(DiagId::Usage, kSubject,
                {"one object is run at a time, but `" + raw.objects[0] + "` and `" + raw.objects[1] + "` are given"});
  } else {
    options.object = raw.objects[0];
  }
  if (!sink.has_errors()) {
    check_combinations(options, sink);
    check_distinct_files(options, sink);
  }
}

}  // namespace

bool parse_options(const std::vector<std::string>& args, Options& options, int& exit_code, std::ostream& out,
                   DiagnosticSink& sink) {
  CLI::App app{std::string(kDescription), "ptorun"};
  RawOptions raw;
  declare(app, raw);
  app.allow_extras();
  std::vector<std::string> reversed(args.rbegin(), args.rend());  // as CLI11 wants them
  // A bare `--json` would take the object as its value.
  std::replace(reversed.begin(), reversed.end(), std::string("--json"), std::string("--json=-"));
  exit_code = kExitUsage;
  try {
    app.parse(reversed);
    for (const std::string& extra : app.remaining()) {
      if (extra != "--") {
        report_unknown(app, extra, sink);
      }
    }
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    exit_code = kExitOk;
    return false;
  } catch (const CLI::ParseError& error) {
    sink.report(DiagId::Usage, kSubject, {error.what()});
  }
  if (raw.version) {
    out << "ptorun " << kVersion << " (reads objects of version " << object::kOldestReadable << " to "
        << object::kVersion << ")\n";
    exit_code = kExitOk;
    return false;
  }
  if (sink.has_errors()) {
    // Best effort, for how this very error is printed.
    const auto& formats = raw.single.at("--error-format");
    options.json_errors = !formats.empty() && formats.front() == "json";
    return false;
  }
  fill(raw, options, sink);
  return !sink.has_errors();
}

}  // namespace pto::ptorun
