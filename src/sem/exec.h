// One function an instruction, declared from the instruction table: a row of isa.def without a definition in this
// folder is a link error. `execute` (execute.cc) calls them through an array in table order.
#pragma once

#include "src/sem/sem.h"

namespace pto::sem {

#define PTO_INSTR(Name, ...) void exec_##Name(const Args& args);
#include "pto/isa.def"

}  // namespace pto::sem
