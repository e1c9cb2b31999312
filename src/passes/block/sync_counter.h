// How slots, event ids and conditions depend on a loop's counter: after some value they repeat with a period, or they
// grow for ever. That is what lets the prover stop: iterations that look the same need to be walked once. Internal to
// prove-sync.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "src/ir/ir.h"

namespace pto::passes {

// What a loop's body can tell of its counter: its value modulo `period`, and exactly below `exact`.
struct CounterUse {
  int64_t period = 1;
  int64_t exact = 0;
  // Expressions whose dependence is too wild to be followed: for large counters they count as unknown.
  std::set<ExprId> wild;
};

// Looks at the slots, event ids, conditions and loop bounds in the body of a loop, as far as they matter: expressions
// that have no known value anyway don't.
CounterUse counter_use(const ir::Function& core, const ir::Op& loop, const std::function<bool(ExprId)>& matters);

}  // namespace pto::passes
