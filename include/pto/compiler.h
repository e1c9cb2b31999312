// The compiler `ptoc` as a function: for tests, and for programs that compile kernels themselves (link pto::driver). What was
// asked for (--emit-ir, --disasm, lists, --help) goes to `out` or the file named with -o, everything else to `err`.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace pto::driver {

struct Terminal {
  bool err_is_terminal = false;
  bool no_color = false;  // the NO_COLOR convention
};

// `args` without the program's name. Returns an ExitCode. Never throws.
int run_ptoc(const std::vector<std::string>& args, std::ostream& out, std::ostream& err, const Terminal& terminal = {});

}  // namespace pto::driver
