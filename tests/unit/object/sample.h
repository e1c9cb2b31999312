// Objects for the tests: one written by hand that the a2a3 target accepts, and random ones of valid structure. And a
// comparison of objects that knows nothing of the file format.
#pragma once

#include <cstdint>

#include "pto/object.h"

namespace pto::object {

// Two cores (vec `scale`, cube `mul`) and a program `both` with a workspace buffer, a constraint and two tasks.
Object sample();

// A cube core `top` and a vector core `bottom` that share a split ring, and a program `run` that runs them as a pair on
// two lanes. The a2a3 target accepts it.
Object mixed_sample();

// Valid for check_structure, not for a target: instructions have operands of their formats and anything else at random.
Object random_object(uint32_t seed);

// Field by field.
bool same(const Object& a, const Object& b);
// The same with locations and source files left out.
Object without_locations(Object object);

}  // namespace pto::object
