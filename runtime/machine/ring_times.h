// When the tiles of a cluster's rings come and when their slots are free again: what the timelines of its cores tell each
// other. Times are known ahead, like flags. One for every block of a mixed task that runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pto/isa.h"
#include "src/timing/timing.h"

namespace pto::runtime {

using timing::Ticks;

class RingTimes {
 public:
  static constexpr int kCube = -1;  // a side; lanes are 0 and 1

  // `address`: where the first ring's slots begin in global memory; they follow each other.
  RingTimes(std::span<const isa::Ring> rings, int lanes, int64_t address);

  size_t find(const std::string& name) const;
  // When there is room for a side's push number `number`, or its pop number `number` has come; nullopt: not known yet.
  std::optional<Ticks> room(size_t ring, int64_t number) const;
  std::optional<Ticks> tile(size_t ring, int64_t number) const;
  void pushed(size_t ring, int side, Ticks visible);
  void freed(size_t ring, int side, Ticks visible);

  // Address of the side's part of a slot, and the bytes from row to row.
  int64_t address(size_t ring, int side, int64_t number) const;
  int64_t row_bytes(size_t ring) const;

  const isa::Ring& ring(size_t index) const { return states_[index].ring; }
  int64_t held(size_t ring) const;
  uint64_t changes() const { return changes_; }  // grows with every push and free

  static int64_t bytes(std::span<const isa::Ring> rings);

 private:
  // Nobody is further ahead than a ring's slots, so older times are never asked for.
  static constexpr size_t kKept = 2 * static_cast<size_t>(isa::kMaxRingSlots);
  struct Side {
    int64_t pushed = 0;
    int64_t freed = 0;
    std::array<Ticks, kKept> push_times{};
    std::array<Ticks, kKept> free_times{};
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
