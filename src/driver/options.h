// The command line of ptoc.
#pragma once

#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "src/ir/ir.h"

namespace pto::driver {

// --report=WHAT[:FILE]; no file: standard output.
struct ReportRequest {
  std::string what;
  std::string file;
};

struct Options {
  std::string input;
  std::string output;  // empty: beside the input for an object, standard output for text
  std::string target = "a2a3";
  bool target_given = false;
  std::map<std::string, std::string> defines;
  std::vector<std::string> include_paths;
  std::optional<ir::Level> emit_ir;
  std::string emit_ir_after;
  std::string emit_ir_dir;
  bool disasm = false;
  bool source_map = true;
  std::optional<std::vector<std::string>> passes;
  std::vector<std::string> skip_passes;
  int pass_limit = -1;
  bool reuse_memory = true;
  int64_t drop_sync = 0;  // number of a synchronisation to leave out; 0: none
  std::vector<ReportRequest> reports;
  bool time_passes = false;
  bool verify_each = false;
  bool check_each_pass = false;
  bool list_passes = false;
  bool list_instrs = false;
  bool list_targets = false;
  bool version = false;
  bool depfile = false;
  std::string depfile_path;    // -MF
  std::string depfile_target;  // -MT
  bool json_errors = false;
  RenderOptions render;
  std::string color = "auto";
  bool warnings_as_errors = false;
};

// An exit code: the command line was wrong or asked for help, which is printed.
struct ParsedOptions {
  Options options;
  std::optional<int> exit;
};
ParsedOptions parse_options(const std::vector<std::string>& args, std::ostream& out, std::ostream& err);

}  // namespace pto::driver
