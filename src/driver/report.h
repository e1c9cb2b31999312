// --report=WHAT[:FILE]: what the compiler found out about the program, for people and for other programs.
#pragma once

#include "pto/target.h"
#include "src/driver/compile.h"

namespace pto::driver {

// Writes all reports that were asked for, of the module as it is after the last pass. false: an error is in the sink.
bool write_reports(Run& run, const ir::Module& module, const Target& target);

}  // namespace pto::driver
