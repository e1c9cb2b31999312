// The properties that every generated program has on every target. Besides what can be chosen: values, accounts of time,
// and that the loss of any inserted synchronisation is noticed.
#pragma once

#include <string>

#include "tests/property/generated.h"

namespace pto::test {

struct Thoroughness {
  bool round_trips = true;  // the dump of every level leads to the same object
  bool depths = true;       // pipeline depths written into the dump don't change values
  bool threads = true;      // neither do host threads, which don't change cycles either
  bool variants = true;     // nor what the compiler is told about memory, flags, lanes and depths
};

// Fails the running test where a property does not hold. `label` names the program in messages.
void check_program(const Generated& program, const std::string& target_name, const std::string& label,
                   const Thoroughness& how);

}  // namespace pto::test
