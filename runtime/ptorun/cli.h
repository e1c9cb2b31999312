// The program `ptorun` as a function, so that tests run it in process. Everything a user sees is written to `out` (what
// was asked for: --list, --stats, --json, --help, --version) or `err` (everything else); files are read and written by
// path.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace pto::ptorun {

struct Terminal {
  bool err_is_terminal = false;
  bool no_color = false;  // the NO_COLOR convention
};

// `args` without the program's name. Returns an ExitCode. Never throws.
int run_cli(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal = {});

}  // namespace pto::ptorun
