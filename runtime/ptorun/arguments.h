// Values from the command line for the parameters of an entry: which parameters there are and what direction and
// element type they have is checked here, whether shapes fit each other is checked by the run.
#pragma once

#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/result.h"
#include "pto/runtime.h"
#include "runtime/io/compare.h"
#include "runtime/ptorun/options.h"

namespace pto::ptorun {

struct Expectation {
  std::string parameter;
  std::string path;
  runtime::io::Golden golden;
};

struct BoundArguments {
  runtime::Arguments arguments;
  std::vector<Expectation> expectations;  // in the order of the command line
};

// The entry that the options name, or the only one. Null after an error.
const object::Program* choose_entry(const object::Object& object, const Options& options, DiagnosticSink& sink);

// Reads files and makes arrays. All problems are reported, not the first only.
Result<BoundArguments> bind_arguments(const object::Program& program, const Options& options, DiagnosticSink& sink);

// "f16[M, 512]", "f32" for a scalar.
std::string parameter_type(const object::Program& program, const object::Param& param);

}  // namespace pto::ptorun
