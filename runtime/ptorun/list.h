// What `--list` prints: the entries of an object with their parameters, constraints and tasks, and its core programs.
#pragma once

#include <string>

#include "pto/object.h"
#include "pto/target.h"

namespace pto::ptorun {

// For people. `subject` names the object.
std::string list_text(const object::Object& object, const Target& target, const std::string& subject);
// Schema "ptorun-list/1", see docs/cli.md.
std::string list_json(const object::Object& object, const Target& target, const std::string& subject);

}  // namespace pto::ptorun
