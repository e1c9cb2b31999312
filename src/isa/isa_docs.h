// The reference page of the instruction set, made from the tables that the programs use, so that it can't fall behind.
#pragma once

#include <string>

#include "pto/isa.h"

namespace pto::isa {

// The text of docs/isa.md: every instruction with its operands, element types on each family, pipe and sentence, and
// the tables of type pairs.
std::string isa_markdown();

// "tadd DST, SRC, SRC": how an instruction is written in a core.
std::string instruction_syntax(const InstrInfo& row);

}  // namespace pto::isa
