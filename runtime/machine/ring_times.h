// When the tiles of a cluster's rings come and when their slots are free again: what the timelines of its cores tell
// each other. Times are known ahead, like flags. One for every block of a mixed task that runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pto/isa.h"
#include "pto/target.h"
#include "runtime/check/ring_regions.h"
#include "src/timing/timing.h"

namespace pto::runtime {

using timing::Ticks;

class RingTimes {
 public:
  // `rings`: of both cores, which have the same; methods take their numbers (isa::RingId).
  // `address`: where the first ring's slots begin in global memory; they follow each other. Local rings have none.
  RingTimes(std::span<const isa::Ring> rings, int lanes, const Target& target, int64_t address);

  // When there is room for a side's push number `number`, or its pop number `number` has come; nullopt: not known yet.
  std::optional<Ticks> room(size_t ring, int64_t number) const;
  std::optional<Ticks> tile(size_t ring, int64_t number) const;
  void pushed(size_t ring, int side, const Valid& valid, Ticks visible);
  void freed(size_t ring, int side, Ticks visible);

  // What is wrong with a pop whose tile has come: see `ring_problem`.
  std::string problem(size_t ring, int side, int64_t number, const Valid& expected) const;
  // Sides that should have pushed tile `number`, or given it back, and have not.
  std::vector<int> late_pushers(size_t ring, int64_t number) const;
  std::vector<int> late_poppers(size_t ring, int64_t number) const;

  // Address of the side's part of a slot, and the bytes from row to row.
  int64_t address(size_t ring, int side, int64_t number) const;
  int64_t row_bytes(size_t ring) const;

  const isa::Ring& ring(size_t index) const { return states_[index].ring; }
  int64_t held(size_t ring) const;
  uint64_t changes() const { return changes_; }  // grows with every push and free

  // Global memory that the rings of one cluster take.
  static int64_t bytes(std::span<const isa::Ring> rings, const Target& target);

 private:
  // Nobody is further ahead than a ring's slots, so older times are never asked for.
  static constexpr size_t kKept = 2 * static_cast<size_t>(isa::kMaxRingSlots);
  struct Side {
    int64_t pushed = 0;
    int64_t freed = 0;
    std::array<Ticks, kKept> push_times{};
    std::array<Ticks, kKept> free_times{};
    std::array<Valid, kKept> valids{};  // of pushed tiles
  };
  struct State {
    isa::Ring ring;
    std::array<Side, 2> sides;  // lanes, or the cube core as 0
    int pushers = 1;
    int poppers = 1;
    int64_t address = 0;
  };
  std::vector<State> states_;
  uint64_t changes_ = 0;
};

}  // namespace pto::runtime
