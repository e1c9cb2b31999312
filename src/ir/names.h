// The names that a function's text has: unique, no keywords, no builtins, none empty. The printer, `normalize_names`
// and the object emitter use the same ones, so that a dump, its parse and the object agree.
//
// It also decides which values share the name of a loop's variable, which is how carried values look in the text:
//     var acc = zeros(f32[8, 8]);      the initial value, where the loop is its only use; else `var acc = t0;`
//     for k in 0..4 {                  the body's argument
//         acc = matmul(a, b, acc: acc);    the next value, where that is its only use and nothing reads the old one
//         after it
//     }                                acc: the loop's result
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/ir/ir.h"

namespace pto::ir {

// Names in use. `take` gives one that is not: the hint, or the hint and a number.
class NamePool {
 public:
  // Takes a name as it is, even where it is a word of the language.
  void reserve(const std::string& name) { taken_.insert(name); }
  void release(const std::string& name) { taken_.erase(name); }
  std::string take(const std::string& hint);

 private:
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int64_t, std::less<>> next_;  // by hint: the number to try next
};

// How a value's defining statement begins.
enum class Binding : uint8_t {
  Let,     // let t0 = ...
  Var,     // var acc = ...: a loop's initial value, stated in place
  Assign,  // acc = ...: a loop's next value, stated in place
};

struct Names {
  std::vector<std::string> params;   // by position
  std::vector<Symbol> symbols;       // by SymId, with the names of the text
  std::vector<std::string> buffers;  // by isa::BufferId
  std::vector<std::string> values;   // by ValueId; empty for values outside the body
  std::vector<std::string> tasks;    // by OpId; empty unless a task
  std::vector<Binding> bindings;     // by ValueId
  NamePool pool;                     // all of them
};

Names make_names(const Function& function);

// [A-Za-z_][A-Za-z0-9_]*
bool is_identifier(std::string_view text);

}  // namespace pto::ir
