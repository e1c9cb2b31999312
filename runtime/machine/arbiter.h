// Who gets how much of the global memory's bandwidth. Transfers of all cores share the L2's rate and, for the part that
// misses the cache, the HBM's: rates are max-min fair (nobody can have more without taking from somebody who has less),
// each core's own cap included. They are computed anew whenever a transfer starts or ends, in integers.
//
// Transfers with equal caps and equal parts of HBM traffic have equal rates for as long as they live. They are kept
// together as a group: a change of rates costs one division a group, however many transfers there are.
#pragma once

#include <cstdint>
#include <vector>

#include "src/timing/timing.h"

namespace pto::runtime {

using timing::Ticks;

class Arbiter {
 public:
  static constexpr Ticks kNever = INT64_MAX;
  static constexpr int64_t kMostRate = int64_t{1} << 46;

  // Rates in bytes a cycle times 256, like timing::Cost::rate_cap.
  Arbiter(int64_t hbm_rate, int64_t l2_rate) : hbm_rate_(hbm_rate), l2_rate_(l2_rate) {}

  struct Done {
    uint32_t core = 0;
    uint32_t pipe = 0;
  };

  // `bytes` > 0 move; `hbm_bytes` of HBM traffic go with them, at the same pace.
  void add(Ticks now, uint32_t core, uint32_t pipe, int64_t bytes, int64_t hbm_bytes, int64_t cap);
  // Transfers that end at `now` or before, in the order of cores and pipes. Call `settle` when all that happens at `now`
  // has been told.
  void finish(Ticks now, std::vector<Done>& done);
  // New rates, if anything changed.
  void settle(Ticks now);
  Ticks next_end() const { return next_end_; }
  bool idle() const { return used_ == 0; }

 private:
  struct Transfer {
    int64_t finish = 0;  // ends when its group's `served` gets there
    uint32_t core = 0;
    uint32_t pipe = 0;
  };
  struct Group {
    int64_t cap = 0;
    int64_t weight = 0;  // HBM bytes a byte, times 256
    int64_t draw = 0;    // HBM rate at the cap
    int64_t rate = 0;    // 0: not started
    int64_t served = 0;  // 1/65536 bytes that a member had which was there from the start, up to `updated`
    Ticks updated = 0;
    Ticks end = kNever;               // of the member that ends first
    bool open = false;                // in share(): has no rate yet
    std::vector<Transfer> transfers;  // a heap, the one that ends first on top
  };

  Group& group(int64_t cap, int64_t weight);
  void advance(Group& group, Ticks now);
  void share();
  bool close_capped(int64_t level, int64_t& l2, int64_t& hbm);

  const int64_t hbm_rate_;
  const int64_t l2_rate_;
  int64_t l2_wanted_ = 0;  // sums over all transfers at their caps
  int64_t hbm_wanted_ = 0;
  std::vector<Group> groups_;  // the first `used_` have members; the others keep their memory
  size_t used_ = 0;
  std::vector<int64_t> rates_;  // what share() decided, by group
  Ticks next_end_ = kNever;
  bool changed_ = false;
};

}  // namespace pto::runtime
