// How a conversion rounds. A header of its own because `support` converts elements and must not see the instruction set.
#pragma once

#include <cstdint>

namespace pto::isa {

enum class Round : uint8_t { None, Rint, Round, Floor, Ceil, Trunc, Odd };

}  // namespace pto::isa
