// From ticks to the cycles of RunResult.
#pragma once

#include "pto/runtime.h"
#include "runtime/machine/core_timer.h"

namespace pto::runtime {

// Rounded up, so that what ends in a cycle has used it.
int64_t cycles_of(Ticks ticks);

// busy + stalls + idle == cycles_of(total) for every pipe: the parts are rounded where they meet, not one by one.
CoreStats core_stats(const CoreTimer& core, int index, Ticks total);

// Sets RunResult::busiest and its utilisation.
void find_busiest(RunResult& result);

}  // namespace pto::runtime
