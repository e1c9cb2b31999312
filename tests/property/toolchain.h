// Both sides of the toolchain in one process, for properties of whole programs: text to object, object to results, and the
// evaluator's results to compare with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pto/object.h"
#include "pto/runtime.h"
#include "src/eval/frame.h"
#include "src/ir/ir.h"
#include "src/passes/pass.h"

namespace pto::test {

using Defines = std::map<std::string, std::string>;

// For `last_pass`: no pass at all.
inline constexpr const char* kParse = "parse";

const Target& target_named(const std::string& name);

struct Compiled {
  bool ok = false;
  std::string error;  // rendered
  ir::Module module;  // after the last pass that ran
  object::Object object;
  std::vector<uint8_t> bytes;  // without source map; empty if passes were left out
};
// All passes, or those of the levels up to `level`, or those up to and with `last_pass`.
Compiled compile(const std::string& text, const Target& target, const Defines& defines = {},
                 std::optional<ir::Level> level = std::nullopt, const std::string& last_pass = "",
                 const passes::PassOptions& options = {});

// Runs the only program of the object.
runtime::RunResult run(const Compiled& compiled, const Target& target, const runtime::Arguments& arguments,
                       const runtime::Options& options, std::string& error);

// What the evaluator says of `entry` of the text as written: each result's elements, by name. Empty with a reason in `error`.
std::map<std::string, std::vector<double>> expected(const std::string& text, const Target& target, const Defines& defines,
                                                    const std::string& entry, const runtime::Arguments& arguments,
                                                    const runtime::RunResult& shapes, std::string& error);

runtime::Array make_array(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values);
std::vector<double> values_of(const runtime::Array& array);

}  // namespace pto::test
