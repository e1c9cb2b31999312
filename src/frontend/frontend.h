// From `.pto` text to IR: the one entry of this library. Parsing, names, types and shapes happen behind it; everything
// wrong with the text reaches the sink, with as many errors a run as can be told apart from their consequences.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/result.h"
#include "pto/source.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::frontend {

struct Options {
  // `-D NAME=VALUE`: an integer, or `?` for a dim that becomes dynamic.
  std::map<std::string, std::string> defines;
  // Where imports are looked for after the folder of the importing file, in order.
  std::vector<std::string> include_paths;
  // The text of a file, or nullopt if there is none. Without it every import fails.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
  // Cores are checked against it: buffers and instructions. Null: not checked.
  const Target* target = nullptr;
};

// `file` is a text of `sources`; imported texts are added to it. `imported`, if given, gets their paths in order of
// reading.
Result<ir::Module> compile_source(SourceManager& sources, uint16_t file, const Options& options, DiagnosticSink& sink,
                                  std::vector<std::string>* imported = nullptr);

}  // namespace pto::frontend
