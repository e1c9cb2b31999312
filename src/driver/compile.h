// One run of ptoc: from a source file to an object or a dump.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "pto/source.h"
#include "pto/target.h"
#include "src/driver/options.h"
#include "src/ir/ir.h"

namespace pto::driver {

struct Run {
  const Options& options;
  SourceManager& sources;
  DiagnosticSink& sink;
  std::ostream& out;
  std::ostream& err;
};

// Each returns an ExitCode; errors are in the sink.
int compile(Run& run);
int disassemble(Run& run);

// Writes `bytes` to -o, or to `fallback` if there is no -o; `-` is standard output.
bool write_output(Run& run, const std::string& bytes, const std::string& fallback);
Result<Target> load_target(const std::string& name, DiagnosticSink& sink);

}  // namespace pto::driver
