// What each instruction costs on a target: one implementation for the simulator and for the compiler's cost model.
// Units: 1/256 cycle ("ticks"), integers, so that every machine and every build computes the same timeline.
#pragma once

#include <cstdint>
#include <span>

#include "pto/isa.h"
#include "pto/target.h"

namespace pto::timing {

using Ticks = int64_t;
inline constexpr Ticks kTicksPerCycle = 256;

struct Cost {
  Ticks issue = 0;      // scalar unit busy
  Ticks busy = 0;       // the pipe is occupied; for global-memory copies without the transfer itself
  Ticks idle_head = 0;  // more, when the pipe was idle before
  Ticks tail = 0;       // later than `busy` for those who wait for the result
  // Global-memory copies: the transfer is arbitrated. Otherwise gm_bytes == 0.
  int64_t gm_bytes = 0;
  int64_t rate_cap = 0;  // most this core can draw: bytes a cycle, times 256
  Ticks latency = 0;     // first byte to arrive; overlaps with other copies of the queue
  bool gm_write = false;
};

// `tiles` and `valids`: the tile operands in operand order. `core` decides between paths that both kinds of core have.
Cost instruction_cost(const Target& target, CoreKind core, isa::Opcode opcode, std::span<const TileDesc> tiles,
                      std::span<const Valid> valids, DType gm_dtype);

}  // namespace pto::timing
