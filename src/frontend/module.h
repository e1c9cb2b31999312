// What the items of a compilation share: the parsed files, the names of items, constants, and the functions being made.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/frontend/ast.h"
#include "src/frontend/frontend.h"

namespace pto::frontend {

struct FunctionInfo {
  const ast::File* file = nullptr;
  const ast::Item* item = nullptr;
  ir::Function function;
  bool ok = true;  // its signature can be used
  bool body_ok = true;
  // For each parameter as declared (parameters, then results): its place in function.params.
  std::vector<size_t> order;
  std::map<std::string, ExprId> dims;               // what a dim's name stands for: its symbol or its value
  std::vector<std::pair<std::string, Span>> calls;  // functions it calls, with the first place
};

// A constant is computed when it is first asked for; `Busy` finds the ones defined by themselves.
struct Constant {
  const ast::File* file = nullptr;
  const ast::Item* item = nullptr;
  enum class State : uint8_t { New, Busy, Done, Failed } state = State::New;
  int64_t value = 0;
};

struct ModuleContext {
  ModuleContext(const Options& options_in, DiagnosticSink& sink_in) : options(options_in), sink(sink_in) {}

  const Options& options;
  DiagnosticSink& sink;
  std::vector<std::unique_ptr<ast::File>> files;
  std::vector<std::unique_ptr<FunctionInfo>> functions;  // in order of the text, imports first
  std::map<std::string, FunctionInfo*> function_names;
  std::map<std::string, Constant> constants;
  struct Inline {
    const ast::File* file = nullptr;
    const ast::Item* item = nullptr;
  };
  std::map<std::string, Inline> inlines;
  std::map<std::string, Span> declared;  // every item's name
  std::set<std::string> paired;          // cores that a pair names
  std::set<std::string> used_defines;
  static constexpr int kDeepestConstant = 256;  // constants in constants
  int constant_depth = 0;

  // The value of `-D name=...` if it is an integer; the sink hears of values that are none.
  std::optional<int64_t> define(const std::string& name);
  bool define_is_dynamic(const std::string& name);
  std::optional<int64_t> constant(const std::string& name);
};

}  // namespace pto::frontend
