// Runs one block of a mixed task on one host thread: the cube core's program and those of the lanes take turns, each as
// far as its rings let it.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "runtime/values/block_runner.h"
#include "runtime/values/ring_memory.h"

namespace pto::runtime {

// What one core of a block waits for: "lane 0 waits for a tile from ring `s`, 0 of 2 slots full,".
struct RingWait {
  std::string what;
  object::Location location;
};

class PairRunner {
 public:
  // Blocked: every core waits for a ring; `stuck` says which.
  BlockRunner::Status run(const Program& cube, const Program& vec, uint32_t lanes, int64_t block, int event_ids,
                          std::span<std::byte* const> cube_tensors, std::span<std::byte* const> vec_tensors,
                          int64_t max_statements);
  const Fault& fault() const { return fault_; }
  int fault_side() const { return fault_side_; }
  const std::vector<RingWait>& stuck() const { return stuck_; }
  void set_budget(std::atomic<int64_t>* statements);

 private:
  std::array<BlockRunner, 3> runners_;
  Fault fault_;
  int fault_side_ = kCubeSide;
  std::vector<RingWait> stuck_;
};

}  // namespace pto::runtime
