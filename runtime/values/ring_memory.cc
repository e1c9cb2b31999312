#include "runtime/values/ring_memory.h"

#include <algorithm>

namespace pto::runtime {

RingMemory::RingMemory(std::span<const isa::Ring> rings, int lanes) {
  for (const isa::Ring& ring : rings) {
    State state;
    state.ring = ring;
    state.slots.resize(static_cast<size_t>(ring.slots));
    for (Slot& slot : state.slots) {
      slot.bytes.assign(static_cast<size_t>(ring.slot_bytes()), std::byte{0xFF});
    }
    state.pushers = ring.pushers(lanes);
    state.poppers = ring.poppers(lanes);
    states_.push_back(std::move(state));
  }
}

bool RingMemory::can_push(size_t ring, int side) const {
  const State& state = states_[ring];
  const int64_t freed = *std::min_element(state.freed.begin(), state.freed.begin() + state.poppers);
  return state.pushed[side_index(side)] - freed < state.ring.slots;
}

bool RingMemory::can_pop(size_t ring, int side) const {
  const State& state = states_[ring];
  return *std::min_element(state.pushed.begin(), state.pushed.begin() + state.pushers) > state.popped[side_index(side)];
}

RingWindow RingMemory::window(State& state, int64_t number, int side) {
  Slot& slot = state.slots[static_cast<size_t>(number % state.ring.slots)];
  return {slot.bytes.data() + (side == kCubeSide ? 0 : state.ring.lane_offset(side)), state.ring.cols};
}

RingWindow RingMemory::push(size_t ring, int side, const Valid& valid) {
  State& state = states_[ring];
  const size_t index = side_index(side);
  const int64_t number = state.pushed[index]++;
  state.slots[static_cast<size_t>(number % state.ring.slots)].valids[index] = valid;
  return window(state, number, side);
}

RingWindow RingMemory::pop(size_t ring, int side, const Valid& valid, std::string& problem) {
  State& state = states_[ring];
  const int64_t number = state.popped[side_index(side)]++;
  problem = ring_problem(state.ring, state.slots[static_cast<size_t>(number % state.ring.slots)].valids, side, valid);
  return window(state, number, side);
}

void RingMemory::give_back(size_t ring, int side) {
  ++states_[ring].freed[side_index(side)];
}

int64_t RingMemory::held(size_t ring) const {
  const State& state = states_[ring];
  return *std::max_element(state.pushed.begin(), state.pushed.begin() + state.pushers) -
         *std::min_element(state.freed.begin(), state.freed.begin() + state.poppers);
}

}  // namespace pto::runtime
