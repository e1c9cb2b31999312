// The synchronisations of a core: a flag with all its sets and waits, or a barrier. elide-sync drops them,
// `--report=sync` lists them, `--drop-sync` leaves one out.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

struct SyncUnit {
  bool barrier = false;
  isa::Pipe src = isa::Pipe::All;  // barriers: their pipe
  isa::Pipe dst = isa::Pipe::All;
  int64_t first_id = 0;  // [first_id, last_id)
  int64_t last_id = 0;
  std::vector<ir::OpId> ops;  // in program order; with presets and drains
};

// In order of the first instruction. A set and a wait of the same flag that follow each other in a region, with nothing
// of the flag between them, are a unit; what remains of a flag is one.
std::vector<SyncUnit> sync_units(const ir::Function& core);

// Ids that an event expression stands for: `i % 2 + 2` is [2, 4).
std::pair<int64_t, int64_t> event_ids_of(const ir::Function& core, ExprId event);
bool is_flag(const ir::Op& op);

// Drops synchronisation that a proof does without, one unit after the other, with what `max_steps` allows of work.
void elide_flags(ir::Function& core, const Target& target, int64_t max_steps);

// Numbers the event ids of each pair of pipes from zero without gaps. False if a pair then has more than `limit`.
bool compact_event_ids(ir::Function& core, int limit);

}  // namespace pto::passes
