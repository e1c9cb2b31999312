#include "src/passes/block/sync_order.h"

#include <algorithm>
#include <array>
#include <limits>

namespace pto::passes {

bool RegionOrder::ordered(isa::Pipe src, Point from, isa::Pipe dst, Point to, int64_t iterations) const {
  constexpr Point kNever = std::numeric_limits<Point>::max();
  std::array<Point, isa::kPipeCount> reached;
  reached.fill(kNever);
  reached[static_cast<size_t>(src)] = from;
  const Point goal = to + iterations * length_;
  Point& arrival = reached[static_cast<size_t>(dst)];
  // Flags only lead forward, so a few rounds reach a fixed point.
  for (bool again = true; again && arrival >= goal;) {
    again = false;
    auto relax = [&](size_t a, Point set, size_t b, Point wait) {
      if (reached[a] < set && wait < reached[b]) {
        reached[b] = wait;
        again = true;
      }
    };
    for (const Flag& flag : flags_) {
      for (int64_t t = 0; t <= iterations; ++t) {
        if (flag.barrier) {
          const Point at = flag.wait + t * length_;
          for (size_t a = 0; a < isa::kPipeCount; ++a) {
            for (size_t b = 0; b < isa::kPipeCount; ++b) {
              relax(a, at, b, at);
            }
          }
        } else {
          relax(static_cast<size_t>(flag.src), flag.set + t * length_, static_cast<size_t>(flag.dst),
                flag.wait + (t + flag.distance) * length_);
        }
      }
    }
  }
  return arrival < goal;
}

}  // namespace pto::passes
