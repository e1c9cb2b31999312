// An independent check of what the memory planner did: a walk over a core's code that remembers, byte by byte, through which
// buffer each byte was written last. A read that meets bytes written through a buffer at another address found a victim of
// sharing. Three iterations of every loop are walked, whatever their bounds.
#pragma once

#include <string>

#include "pto/object.h"

namespace pto::test {

// Why the placement is wrong; empty: it is right.
std::string check_liveness(const object::Core& core);

}  // namespace pto::test
