// Passes: free functions over a module. A pass says whether it changed anything; what it needs and what it establishes
// are properties with checkers, so that an order that doesn't fit is refused when the pipeline is built and a pass that
// doesn't do what it claims is found by --verify-each.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/source.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

enum class PassResult : uint8_t { Unchanged, Changed, Failed };

// What the user may switch off or fix, for tests and for people who look for a fault.
struct PassOptions {
  bool reuse_memory = true;   // buffers that are never live together may share bytes
  bool elide_sync = true;     // drop flags that others imply
  bool split_lanes = true;    // mixed kernels use both vector lanes
  int64_t pipeline = 0;       // depth of loops that don't say one; 0: the compiler chooses
};

struct PassContext {
  ir::Module& module;
  const Target& target;
  DiagnosticSink& sink;
  PassOptions options = {};
  const SourceManager* sources = nullptr;  // for messages that name lines; may be missing
};

// What may hold of a module. Each has a checker in properties.cc.
enum class Property : uint8_t {
  None,
  CallsInlined,     // graphs call only fused graphs and kernels
  BasicOps,         // no softmax, mean, sigmoid, tanh
  Fused,            // graphs hold calls and assignments only
  NoGraphs,         // graphs and fused graphs are gone
  SpacesAssigned,   // every tile of a kernel has a memory and a layout
  NoKernels,        // kernels are gone
  BuffersPlaced,    // every buffer has an address
  SyncComplete,     // no core waits for the compiler to insert flags
  TasksOutlined,    // every core is called by a program
  EdgesDerived,     // tasks that conflict are ordered
  WorkspacePlanned  // every workspace buffer has an offset
};
std::string_view spelling(Property property);
// Why it does not hold; empty: it holds.
std::string check_property(Property property, const ir::Module& module);

struct PassInfo {
  PassResult (*run)(PassContext&);
  std::string_view name;
  ir::Level level;
  Property requires_property;
  Property produces_property;
  std::string_view doc;
};
const std::vector<PassInfo>& all_passes();
const PassInfo* find_pass(std::string_view name);

#define PTO_PASS(function, name, level, requires_, produces, doc) PassResult function(PassContext& context);
#include "src/passes/passes.def"

}  // namespace pto::passes
