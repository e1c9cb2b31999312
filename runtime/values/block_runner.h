// Runs one block of a core program on host memory: the core's memories are byte arenas, poisoned at the start of every
// block so that what nobody wrote is not a plausible number. One runner a host thread; arenas are reused. A core of a
// mixed task stops where it has to wait for a ring, and can be resumed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/machine/program.h"
#include "runtime/machine/stepper.h"
#include "runtime/values/ring_memory.h"
#include "src/sem/sem.h"

namespace pto::runtime {

inline constexpr std::byte kPoison{0xFF};  // NaN in every float type

class BlockRunner {
 public:
  enum class Status : uint8_t { Ok, Fault, Limit, Blocked };

  // `tensors`: host memory of the core's tensor parameters. `max_statements`: 0 for no limit. `rings` and `side`: of a
  // core of a pair; a lane is its side.
  void start(const Program& program, int64_t block, int event_ids, std::span<std::byte* const> tensors,
             int64_t max_statements, RingMemory* rings = nullptr, int side = kCubeSide);
  // What all blocks together may still take; below 0 runs end with Limit.
  void set_budget(std::atomic<int64_t>* statements) { budget_ = statements; }
  // As far as it goes. Blocked: a ring is full or empty.
  Status resume();
  const Fault& fault() const { return fault_; }
  int64_t statements() const { return statements_; }
  // "waits for room in ring `s`, 2 of 2 slots full,": of a blocked core.
  std::string waiting() const;
  const object::Location& location() const;

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Arena {
    std::unique_ptr<std::byte, Free> memory;
    int64_t bytes = 0;
  };
  void prepare(const Program& program);
  Status run();
  bool spend();
  bool ready();
  bool execute();
  bool move_ring(sem::Args& args);
  void poison(uint32_t slot);

  std::array<Arena, kSpaceCount> arenas_;
  std::array<sem::TileView, kMaxTiles> views_;
  Stepper stepper_;
  const Program* program_ = nullptr;
  std::span<std::byte* const> tensors_;
  int64_t max_statements_ = 0;
  int64_t statements_ = 0;
  int64_t counted_ = 0;  // of them, those that were taken from the budget
  std::atomic<int64_t>* budget_ = nullptr;
  RingMemory* rings_ = nullptr;
  int side_ = kCubeSide;
  bool pending_ = false;  // an instruction that waits for a ring
  Fault fault_;
};

}  // namespace pto::runtime
