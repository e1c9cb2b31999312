// Compiles a text in memory and shows what came out: errors as "E0201 3:7 message", a module as text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "src/frontend/frontend.h"

namespace pto::frontend::test {

struct Outcome {
  std::optional<ir::Module> module;
  std::vector<std::string> errors;  // in the order of reporting
  std::vector<std::string> notes;   // of all errors, "note: ..." and "help: ..."
  std::vector<std::string> imported;
  std::string text() const { return module ? ir::print(*module) : std::string(); }
  std::string first() const { return errors.empty() ? std::string() : errors.front(); }
};

struct Setup {
  std::map<std::string, std::string> defines;
  std::map<std::string, std::string> files;
  std::vector<std::string> include_paths;
  const Target* target = nullptr;
};

inline Outcome compile(const std::string& text, const Setup& setup = {}) {
  SourceManager sources;
  const uint16_t file = sources.add("test.pto", text);
  DiagnosticSink sink;
  Options options;
  options.defines = setup.defines;
  options.include_paths = setup.include_paths;
  options.target = setup.target;
  options.read_file = [&](const std::string& path) -> std::optional<std::string> {
    const auto found = setup.files.find(path);
    return found == setup.files.end() ? std::nullopt : std::optional(found->second);
  };
  Outcome out;
  Result<ir::Module> module = compile_source(sources, file, options, sink, &out.imported);
  if (module) {
    out.module = std::move(*module);
  }
  for (const Diagnostic& each : sink.all()) {
    std::string place = each.subject;
    if (each.span.valid()) {
      const LineColumn at = sources.line_column(each.span);
      place = (each.span.file == file ? "" : sources.name(each.span.file) + ":") + std::to_string(at.line) + ":" +
              std::to_string(at.column);
    }
    out.errors.push_back(each.code() + " " + place + " " + each.message);
    for (const Note& note : each.notes) {
      out.notes.push_back((note.is_help ? "help: " : "note: ") + note.text);
    }
  }
  return out;
}

// A module that must verify, and whose text must give an equal module.
struct RoundTrip {
  bool valid = false;
  bool equal = false;
  std::string text;
  std::string problem;
};

inline RoundTrip round_trip(const ir::Module& module) {
  RoundTrip out;
  std::vector<std::string> violations;
  out.valid = ir::verify(module, violations);
  out.text = ir::print(module);
  const Outcome again = compile(out.text);
  out.equal = again.module && ir::equal(module, *again.module);
  out.problem = violations.empty() ? again.first() : violations.front();
  return out;
}

}  // namespace pto::frontend::test
