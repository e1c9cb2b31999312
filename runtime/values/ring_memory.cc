#include "runtime/values/ring_memory.h"

#include <algorithm>

#include "pto/result.h"

namespace pto::runtime {
namespace {

using isa::RingDirection;
using isa::Split;

size_t index_of(int side) { return side == RingMemory::kCube ? 0 : static_cast<size_t>(side); }

std::string text(const Valid& valid) { return std::to_string(valid.rows) + " x " + std::to_string(valid.cols); }

int64_t share(int64_t whole, int64_t half, int side) {
  return std::clamp<int64_t>(whole - side * half, 0, half);
}

}  // namespace

RingMemory::RingMemory(std::span<const isa::Ring> rings, int lanes) {
  for (const isa::Ring& ring : rings) {
    State state;
    state.ring = ring;
    state.slots.resize(static_cast<size_t>(ring.slots));
    for (Slot& slot : state.slots) {
      slot.bytes.assign(static_cast<size_t>(ring.slot_bytes()), std::byte{0xFF});
    }
    const bool to_vec = ring.direction == RingDirection::C2V;
    state.pushers = to_vec || ring.split == Split::None ? 1 : lanes;
    state.poppers = to_vec ? lanes : 1;
    states_.push_back(std::move(state));
  }
}

size_t RingMemory::find(const std::string& name) const {
  const auto it = std::find_if(states_.begin(), states_.end(), [&](const State& s) { return s.ring.name == name; });
  PTO_CHECK(it != states_.end(), "both cores of a pair have the same rings");
  return static_cast<size_t>(it - states_.begin());
}

bool RingMemory::can_push(size_t ring, int side) const {
  const State& state = states_[ring];
  const int64_t freed = *std::min_element(state.freed.begin(), state.freed.begin() + state.poppers);
  return state.pushed[index_of(side)] - freed < state.ring.slots;
}

bool RingMemory::can_pop(size_t ring, int side) const {
  const State& state = states_[ring];
  return *std::min_element(state.pushed.begin(), state.pushed.begin() + state.pushers) > state.popped[index_of(side)];
}

RingWindow RingMemory::window(State& state, int64_t number, int side, bool lane_side) {
  Slot& slot = state.slots[static_cast<size_t>(number % state.ring.slots)];
  RingWindow window{slot.bytes.data(), state.ring.cols};
  if (lane_side && state.ring.split == Split::Rows) {
    window.data += byte_size(state.ring.dtype, side * (state.ring.rows / 2) * state.ring.cols);
  } else if (lane_side && state.ring.split == Split::Cols) {
    window.data += byte_size(state.ring.dtype, side * (state.ring.cols / 2));
  }
  return window;
}

RingWindow RingMemory::push(size_t ring, int side, const Valid& valid) {
  State& state = states_[ring];
  const size_t index = index_of(side);
  const int64_t number = state.pushed[index]++;
  state.slots[static_cast<size_t>(number % state.ring.slots)].valids[index] = valid;
  return window(state, number, side, side != kCube);
}

// The valid region that this side gets of the tile in the slot.
Valid RingMemory::expected(const State& state, const Slot& slot, int side, std::string& problem) const {
  const isa::Ring& ring = state.ring;
  const Valid first = slot.valids[0];
  if (ring.split == Split::None) {
    return first;
  }
  const bool rows = ring.split == Split::Rows;
  if (ring.direction == RingDirection::C2V) {
    return rows ? Valid{share(first.rows, ring.rows / 2, side), first.cols}
                : Valid{first.rows, share(first.cols, ring.cols / 2, side)};
  }
  // Halves that form one rectangle: the second is empty, or the first is full and the other side is the same.
  const Valid second = slot.valids[1];
  const int64_t a = rows ? first.rows : first.cols;
  const int64_t b = rows ? second.rows : second.cols;
  const int64_t half = (rows ? ring.rows : ring.cols) / 2;
  const bool same = rows ? first.cols == second.cols : first.rows == second.rows;
  if (b != 0 && (a != half || !same)) {
    problem = "the lanes pushed " + text(first) + " and " + text(second) + ", which is no rectangle";
  }
  return rows ? Valid{a + b, first.cols} : Valid{first.rows, a + b};
}

RingWindow RingMemory::pop(size_t ring, int side, const Valid& valid, std::string& problem) {
  State& state = states_[ring];
  const int64_t number = state.popped[index_of(side)]++;
  const Valid have = expected(state, state.slots[static_cast<size_t>(number % state.ring.slots)], side, problem);
  // Of an empty region only that it is empty counts.
  const bool both_empty = have.rows * have.cols == 0 && valid.rows * valid.cols == 0;
  if (problem.empty() && have != valid && !both_empty) {
    problem = "the tile is valid in " + text(have) + ", the pop says " + text(valid);
  }
  return window(state, number, side, side != kCube);
}

void RingMemory::give_back(size_t ring, int side) { ++states_[ring].freed[index_of(side)]; }

int64_t RingMemory::held(size_t ring) const {
  const State& state = states_[ring];
  return *std::max_element(state.pushed.begin(), state.pushed.begin() + state.pushers) -
         *std::min_element(state.freed.begin(), state.freed.begin() + state.poppers);
}

}  // namespace pto::runtime
