// The command line of `ptorun` as data. Names and values are checked for form here; whether they fit the object is
// arguments.h.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/runtime.h"
#include "runtime/io/compare.h"

namespace pto::ptorun {

// One `NAME=VALUE`.
struct NamedValue {
  std::string name;
  std::string value;
};

enum class ColorWhen : uint8_t { Auto, Always, Never };

struct Options {
  std::string object;
  std::vector<NamedValue> in;
  std::vector<NamedValue> out;     // value: the path, without `@`
  std::vector<NamedValue> expect;  // the same
  std::vector<NamedValue> dims;
  std::optional<std::string> entry;
  std::optional<std::string> target;
  runtime::Options run;
  runtime::io::CompareOptions compare;
  bool list = false;
  bool stats = false;
  std::optional<std::string> json;  // "-": standard output
  std::optional<std::string> trace;
  bool json_errors = false;
  ColorWhen color = ColorWhen::Auto;
};

// Nothing: the program is done, with exit code `exit_code` (after --help or --version, or with errors in the sink).
// `options.json_errors` and `options.color` are set even then, as far as they could be read.
bool parse_options(const std::vector<std::string>& args, Options& options, int& exit_code, std::ostream& out,
                   DiagnosticSink& sink);

}  // namespace pto::ptorun
