#include "runtime/values/pair_runner.h"

namespace pto::runtime {

void PairRunner::set_budget(std::atomic<int64_t>* statements) {
  for (BlockRunner& runner : runners_) {
    runner.set_budget(statements);
  }
}

BlockRunner::Status PairRunner::run(const Program& cube, const Program& vec, uint32_t lanes, int64_t block,
                                    int event_ids, std::span<std::byte* const> cube_tensors,
                                    std::span<std::byte* const> vec_tensors, int64_t max_statements) {
  RingMemory rings(cube.core->rings, static_cast<int>(lanes));
  stuck_.clear();
  runners_[0].start(cube, block, event_ids, cube_tensors, max_statements, &rings, kCubeSide);
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    runners_[lane + 1].start(vec, block, event_ids, vec_tensors, max_statements, &rings, static_cast<int>(lane));
  }
  const size_t count = lanes + 1;
  std::array<bool, 3> done{};
  for (bool all = false, moved = true; !all; moved = false) {
    all = true;
    for (size_t i = 0; i < count; ++i) {
      if (done[i]) {
        continue;
      }
      const int64_t before = runners_[i].statements();
      const BlockRunner::Status status = runners_[i].resume();
      moved = moved || runners_[i].statements() != before;
      if (status == BlockRunner::Status::Fault || status == BlockRunner::Status::Limit) {
        fault_ = runners_[i].fault();
        fault_side_ = static_cast<int>(i) - 1;
        return status;
      }
      done[i] = status == BlockRunner::Status::Ok;
      all = all && done[i];
    }
    if (!all && !moved) {
      for (size_t i = 0; i < count; ++i) {
        if (!done[i]) {
          stuck_.push_back({side_text(static_cast<int>(i) - 1) + " " + runners_[i].waiting(), runners_[i].location()});
        }
      }
      return BlockRunner::Status::Blocked;
    }
  }
  for (size_t i = 0; i < cube.core->rings.size(); ++i) {
    if (rings.held(i) != 0) {
      fault_ = ring_left(*cube.core, rings.ring(i).name, rings.held(i));
      fault_side_ = kCubeSide;
      return BlockRunner::Status::Fault;
    }
  }
  return BlockRunner::Status::Ok;
}

}  // namespace pto::runtime
