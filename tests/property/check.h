// The properties that every generated program has on every target.
#pragma once

#include <string>

#include "tests/property/generated.h"

namespace pto::test {

struct Thoroughness {
  bool round_trips = true;  // the dump of every level leads to the same object
  bool depths = true;       // pipeline depths don't change values
};

// Fails the running test where a property does not hold. `label` names the program in messages.
void check_program(const Generated& program, const std::string& target_name, const std::string& label,
                   const Thoroughness& how);

}  // namespace pto::test
