#include <cstdio>
#include <cstdlib>

#include "pto/diagnostics.h"
#include "pto/result.h"

namespace pto {

// The one exception to "libraries never print": after a bug of ours nothing can be trusted, a sink included. _Exit, so
// that no destructor runs on a broken state.
void internal_error(const char* file, int line, const char* what) {
  std::fprintf(stderr,
               "internal error: %s (%s:%d)\n"
               "This is a bug in the PTO toolchain, not in your program. Please report it together with the input.\n",
               what, file, line);
  std::fflush(stderr);
  std::_Exit(kExitInternal);
}

}  // namespace pto
