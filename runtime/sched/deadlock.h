// Explains a deadlock: what every pipe of every core waits for, and who waits for whom in a circle.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "pto/object.h"
#include "runtime/machine/core_timer.h"

namespace pto::runtime {

// A core whose block can't go on.
struct StuckCore {
  const CoreTimer* timer = nullptr;
  std::string name;  // "vec core 1, lane 1, task `t0` block 3"
  // Of a mixed block: where its cube core and its lanes are among the stuck cores; none: that core has ended.
  std::array<std::optional<size_t>, 3> sides{};
};

struct StuckLine {
  std::string text;
  object::Location location;
};

// A line a wait. Those that wait for each other in a circle come first, in the order of that circle; without a circle,
// a wait that will never end and waits for no other.
std::vector<StuckLine> explain_deadlock(const std::vector<StuckCore>& cores, const object::Object& object);

}  // namespace pto::runtime
