// What one core of a pair does with its rings when every atom has a value: a list of pushes, pops, frees and uses, and
// where in it iterations of loops begin. Long stretches of equal iterations are cut short; where that is, and where
// more would stand for larger values of the atoms, is a PumpSite. Used by prove-pairs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/passes/block/prove_pairs_forms.h"

namespace pto::passes {

struct RingEvent {
  RingAction action = RingAction::Push;
  size_t ring = 0;
  ir::OpId op;
};

// One run of a loop. Iteration i begins at event `heads[first + i]` of the trace; the loop ends at `heads[first +
// count]`.
struct LoopRun {
  size_t node = 0;
  size_t first = 0;
  size_t count = 0;  // iterations that are written out
};

// A period of iterations that begins with one of `first`..`last` (numbers of written ones) stands for many of them.
struct PumpSite {
  int level = 0;  // number of sites around it
  size_t run = 0;
  int64_t first = 0;  // first > last: there are none
  int64_t last = 0;
  int64_t skipped = 0;  // iterations that are left out behind them; 0: more only for larger values of atoms
};

struct RingTrace {
  std::vector<RingEvent> events;
  std::vector<size_t> heads;
  std::vector<LoopRun> runs;
  std::vector<PumpSite> sites;
  size_t steps = 0;  // what it took to make it
};

struct AtomValues {
  std::vector<int64_t> values;  // by number
  std::vector<uint8_t> grows;   // is this value to stand for larger ones?
};

// Where long loops are cut: in `kUncut`, nowhere. The same number of iterations must be left out in all cores, though
// they may differ in a few iterations of prologue; if a cut falls between, another one does not.
inline constexpr int kUncut = 3;

// Nullopt: more than `most` steps, or a value that doesn't fit; `problem` says which.
std::optional<RingTrace> ring_trace(const PairSkeleton& pair, const PairForms& forms, size_t process,
                                    const AtomValues& atoms, int cut, size_t most, std::string& problem);

}  // namespace pto::passes
