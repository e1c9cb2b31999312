// The question that elide-sync asks of the prover.
#pragma once

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// Is the core proved free of races, lost flags and endless waits? Stops at the first thing wrong.
bool sync_is_proved(const ir::Function& core, const Target& target);

// Drops flags that a proof does without: each flag of an `auto core` in turn, with its waits, presets and drains.
void elide_flags(ir::Function& core, const Target& target);

// Numbers the event ids of each pair of pipes from zero without gaps. False if a pair then has more than `limit`.
bool compact_event_ids(ir::Function& core, int limit);

}  // namespace pto::passes
