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

class PairRunner {
 public:
  // Blocked: every core waits for a ring; `stuck` says which.
  BlockRunner::Status run(const Program& cube, const Program& vec, uint32_t lanes, int64_t block, int event_ids,
                          std::span<std::byte* const> cube_tensors, std::span<std::byte* const> vec_tensors,
                          int64_t max_statements);
  const Fault& fault() const { return fault_; }
  const std::vector<std::string>& stuck() const { return stuck_; }
  const object::Location& stuck_at() const { return stuck_at_; }

 private:
  std::array<BlockRunner, 3> runners_;
  Fault fault_;
  std::vector<std::string> stuck_;
  object::Location stuck_at_;
};

}  // namespace pto::runtime
