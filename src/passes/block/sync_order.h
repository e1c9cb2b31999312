// What orders what inside one region: flags between pipes, and the question whether they already imply an order.
// Internal to insert-sync.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "pto/isa.h"

namespace pto::passes {

// A point on a pipe's way through a region with n items. The body is seen as unrolled: iteration t adds 4 n t.
// Item k stands at 4 k + 3. Before it come the drains of item k - 1 (4 k), sets (4 k + 1), and waits (4 k + 2).
using Point = int64_t;
inline Point item_point(int64_t item) {
  return 4 * item + 3;
}
inline Point drain_point(int64_t item) {
  return 4 * (item + 1);
}
inline Point set_point(int64_t after_item) {
  return 4 * (after_item + 1) + 1;
}
inline Point wait_point(int64_t before_item) {
  return 4 * before_item + 2;
}

// A flag: what the source pipe did before `set` is before what the destination pipe does after `wait`, `distance`
// iterations later.
struct Flag {
  isa::Pipe src = isa::Pipe::S;
  isa::Pipe dst = isa::Pipe::S;
  int set_after = -1;  // items
  int wait_before = -1;
  int64_t distance = 0;
  bool barrier = false;  // a pipe_barrier all before item `wait_before` instead of a flag
  int64_t ids = 1;       // event ids, one an iteration in flight
  int64_t first_id = -1;
  Point set() const { return set_point(set_after); }
  Point wait() const { return wait_point(wait_before); }
};

class RegionOrder {
 public:
  explicit RegionOrder(int64_t items) : length_(4 * items) {}
  Point length() const { return length_; }
  void add(const Flag& flag);
  const std::vector<Flag>& flags() const { return flags_; }
  // Puts others in place of all flags.
  void replace(std::vector<Flag> flags);

  // Is whatever stands at `from` on pipe `src` before whatever stands at `to` on pipe `dst`, `iterations` later?
  bool ordered(isa::Pipe src, Point from, isa::Pipe dst, Point to, int64_t iterations) const;
  // The same for the next iteration with the same slot of `rotation`, in a loop that runs again and again: its counter
  // begins anew, so other iterations need not lie between. Only flags that rotate alike are of use.
  bool ordered_alike(isa::Pipe src, Point from, isa::Pipe dst, Point to, int64_t rotation);

 private:
  // Flags from one pipe to another that no other one beats, by where they are set: later sets come with later waits.
  using Front = std::map<Point, Point>;
  void enter(Front& front, Point set, Point wait) const;
  // Where the pipe behind `front` is after a wait whose set stands behind `at`.
  Point next_wait(const Front& front, Point at, int64_t iterations) const;

  Point length_;
  std::vector<Flag> flags_;
  std::array<std::array<Front, isa::kPipeCount>, isa::kPipeCount> fronts_;
  // By rotation: the flags that count there, those that rotate as if from one iteration to the next.
  struct Alike {
    size_t seen = 0;  // of flags_
    std::unique_ptr<RegionOrder> order;
  };
  std::map<int64_t, Alike> alike_;
};

}  // namespace pto::passes
