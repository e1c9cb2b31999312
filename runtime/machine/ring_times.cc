#include "runtime/machine/ring_times.h"

#include <algorithm>

namespace pto::runtime {
namespace {

using isa::RingDirection;

constexpr int64_t kSlotAlignment = 512;

int64_t slot_stride(const isa::Ring& ring) {
  return (ring.slot_bytes() + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

}  // namespace

int64_t RingTimes::bytes(std::span<const isa::Ring> rings, const Target& target) {
  int64_t total = 0;
  for (const isa::Ring& ring : rings) {
    total += target.ring_is_local(ring.direction) ? 0 : ring.slots * slot_stride(ring);
  }
  return total;
}

RingTimes::RingTimes(std::span<const isa::Ring> rings, int lanes, const Target& target, int64_t address) {
  for (const isa::Ring& ring : rings) {
    State state;
    state.ring = ring;
    state.pushers = ring.pushers(lanes);
    state.poppers = ring.poppers(lanes);
    state.address = address;
    address += bytes({&ring, 1}, target);
    states_.push_back(std::move(state));
  }
}

std::optional<Ticks> RingTimes::room(size_t ring, int64_t number) const {
  const State& state = states_[ring];
  const int64_t needed = number - state.ring.slots;  // the slot's last use
  Ticks at = 0;
  for (int side = 0; needed >= 0 && side < state.poppers; ++side) {
    const Side& popper = state.sides[static_cast<size_t>(side)];
    if (popper.freed <= needed) {
      return std::nullopt;
    }
    at = std::max(at, popper.free_times[static_cast<size_t>(needed) % kKept]);
  }
  return at;
}

std::optional<Ticks> RingTimes::tile(size_t ring, int64_t number) const {
  const State& state = states_[ring];
  Ticks at = 0;
  for (int side = 0; side < state.pushers; ++side) {
    const Side& pusher = state.sides[static_cast<size_t>(side)];
    if (pusher.pushed <= number) {
      return std::nullopt;
    }
    at = std::max(at, pusher.push_times[static_cast<size_t>(number) % kKept]);
  }
  return at;
}

void RingTimes::pushed(size_t ring, int side, const Valid& valid, Ticks visible) {
  Side& pusher = states_[ring].sides[side_index(side)];
  pusher.valids[static_cast<size_t>(pusher.pushed) % kKept] = valid;
  pusher.push_times[static_cast<size_t>(pusher.pushed++) % kKept] = visible;
  ++changes_;
}

void RingTimes::freed(size_t ring, int side, Ticks visible) {
  Side& popper = states_[ring].sides[side_index(side)];
  popper.free_times[static_cast<size_t>(popper.freed++) % kKept] = visible;
  ++changes_;
}

std::string RingTimes::problem(size_t ring, int side, int64_t number, const Valid& expected) const {
  const State& state = states_[ring];
  const size_t at = static_cast<size_t>(number) % kKept;
  return ring_problem(state.ring, {state.sides[0].valids[at], state.sides[1].valids[at]}, side, expected);
}

std::vector<int> RingTimes::late_pushers(size_t ring, int64_t number) const {
  const State& state = states_[ring];
  std::vector<int> late;
  for (int side = 0; side < state.pushers; ++side) {
    if (state.sides[static_cast<size_t>(side)].pushed <= number) {
      late.push_back(state.ring.direction == RingDirection::C2V ? kCubeSide : side);
    }
  }
  return late;
}

std::vector<int> RingTimes::late_poppers(size_t ring, int64_t number) const {
  const State& state = states_[ring];
  std::vector<int> late;
  for (int side = 0; side < state.poppers; ++side) {
    if (state.sides[static_cast<size_t>(side)].freed <= number) {
      late.push_back(state.ring.direction == RingDirection::C2V ? side : kCubeSide);
    }
  }
  return late;
}

int64_t RingTimes::address(size_t ring, int side, int64_t number) const {
  const State& state = states_[ring];
  return state.address + number % state.ring.slots * slot_stride(state.ring) +
         (side == kCubeSide ? 0 : state.ring.lane_offset(side));
}

int64_t RingTimes::row_bytes(size_t ring) const {
  return byte_size(states_[ring].ring.dtype, states_[ring].ring.cols);
}

int64_t RingTimes::held(size_t ring) const {
  const State& state = states_[ring];
  int64_t pushed = 0;
  int64_t freed = INT64_MAX;
  for (int side = 0; side < state.pushers; ++side) {
    pushed = std::max(pushed, state.sides[static_cast<size_t>(side)].pushed);
  }
  for (int side = 0; side < state.poppers; ++side) {
    freed = std::min(freed, state.sides[static_cast<size_t>(side)].freed);
  }
  return pushed - freed;
}

}  // namespace pto::runtime
