// Runs the ring instructions of the cores of a pair against each other, and shows that the run stands for longer ones.
//
// The cores are deterministic processes that talk through bounded FIFOs, so whether they end does not depend on who
// runs when: one schedule decides, and if some schedule brings all cores to certain places, every schedule can still do
// so. Used by prove-pairs.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "src/passes/block/prove_pairs_trace.h"

namespace pto::passes {

inline constexpr size_t kMostPairWork = 50000000;  // for one pair: a second or two

// By process: a number of events of its trace.
using RingCut = std::array<size_t, 3>;
inline constexpr size_t kNoCut = std::numeric_limits<size_t>::max();

class RingRun {
 public:
  // `work` counts events; it outlives the run.
  RingRun(const PairSkeleton& pair, const std::vector<RingTrace>& traces, size_t& work);
  // Lets everybody go on until it waits or has done as many events as the limit says.
  void advance(const RingCut& limit);
  const RingCut& at() const { return at_; }
  bool ended() const;
  bool all_empty() const;
  int64_t pushed(size_t ring, size_t side) const { return rings_[ring].pushed[side]; }
  int64_t popped(size_t ring, size_t side) const { return rings_[ring].popped[side]; }

 private:
  struct State {
    std::array<int64_t, 2> pushed{};
    std::array<int64_t, 2> popped{};
    std::array<int64_t, 2> freed{};
  };
  bool step(size_t process);

  const PairSkeleton* pair_;
  const std::vector<RingTrace>* traces_;
  std::vector<State> rings_;
  RingCut at_{};
  size_t* work_;
};

// Sites of several processes at which the same loop goes on.
struct PumpGroup {
  std::array<const PumpSite*, 3> sites{};  // nullptr: the process has no part in it
};

// Puts sites together so that what a group pushes is what it pops. Nullopt: it can't be done; `odd` is a site that is
// left.
std::optional<std::vector<PumpGroup>> pump_groups(const PairSkeleton& pair, const PairForms& forms,
                                                  const std::vector<RingTrace>& traces,
                                                  std::array<const PumpSite*, 3>& odd, size_t& work);

// Can all processes of a group be at the beginning of such iterations together, and a period later at the next ones,
// with the same tiles in all rings? Then the loops may go on so for ever. Returns the first group that can't.
const PumpGroup* group_that_does_not_pump(const PairSkeleton& pair, const PairForms& forms,
                                          const std::vector<RingTrace>& traces, const std::vector<PumpGroup>& groups,
                                          size_t& work);

// The first loop whose iterations may differ in an unknown way though tiles stay in rings from one to the next;
// process and node.
std::optional<std::pair<size_t, size_t>> loop_out_of_step(const PairSkeleton& pair,
                                                          const std::vector<RingTrace>& traces, size_t& work);

}  // namespace pto::passes
