#include "src/passes/block/sync_order.h"

#include <algorithm>
#include <limits>

namespace pto::passes {

namespace {

constexpr Point kNever = std::numeric_limits<Point>::max();
constexpr size_t kPipes = isa::kPipeCount;

}  // namespace

void RegionOrder::enter(Front& front, Point set, Point wait) const {
  // A later set with an earlier wait says more.
  const auto better = front.lower_bound(set);
  if (better != front.end() && better->second <= wait) {
    return;
  }
  auto worse = front.upper_bound(set);
  while (worse != front.begin() && std::prev(worse)->second >= wait) {
    worse = front.erase(std::prev(worse));
  }
  front[set] = wait;
}

void RegionOrder::add(const Flag& flag) {
  flags_.push_back(flag);
  if (!flag.barrier) {
    enter(fronts_[static_cast<size_t>(flag.src)][static_cast<size_t>(flag.dst)], flag.set(),
          flag.wait() + flag.distance * length_);
    return;
  }
  for (size_t a = 0; a < kPipes; ++a) {
    for (size_t b = 0; b < kPipes; ++b) {
      enter(fronts_[a][b], flag.wait() + 1, flag.wait());  // it stands behind the waits there
    }
  }
}

void RegionOrder::replace(std::vector<Flag> flags) {
  flags_.clear();
  alike_.clear();
  for (auto& row : fronts_) {
    row.fill({});
  }
  for (const Flag& flag : flags) {
    add(flag);
  }
}

Point RegionOrder::next_wait(const Front& front, Point at, int64_t iterations) const {
  Point best = kNever;
  if (front.empty()) {
    return best;
  }
  // A set behind the last item stands at the begin of the next iteration: one iteration to either side is enough.
  const int64_t now = at / length_;
  for (int64_t t = std::max<int64_t>(0, now - 1); t <= std::min(now + 1, iterations); ++t) {
    const auto found = front.upper_bound(at - t * length_);
    if (found != front.end()) {
      best = std::min(best, found->second + t * length_);
    }
  }
  return best;
}

bool RegionOrder::ordered(isa::Pipe src, Point from, isa::Pipe dst, Point to, int64_t iterations) const {
  if (length_ == 0) {
    return false;
  }
  std::array<Point, kPipes> reached;
  reached.fill(kNever);
  reached[static_cast<size_t>(src)] = from;
  const Point goal = to + iterations * length_;
  const Point& arrival = reached[static_cast<size_t>(dst)];
  // The pipe that has been reached first is where the way goes on: nothing reaches it earlier.
  std::array<bool, kPipes> done{};
  while (arrival >= goal) {
    size_t next = kPipes;
    for (size_t p = 0; p < kPipes; ++p) {
      if (!done[p] && reached[p] < goal && (next == kPipes || reached[p] < reached[next])) {
        next = p;
      }
    }
    if (next == kPipes) {
      return false;
    }
    done[next] = true;
    for (size_t p = 0; p < kPipes; ++p) {
      if (!done[p]) {
        reached[p] = std::min(reached[p], next_wait(fronts_[next][p], reached[next], iterations));
      }
    }
  }
  return true;
}

bool RegionOrder::ordered_alike(isa::Pipe src, Point from, isa::Pipe dst, Point to, int64_t rotation) {
  if (rotation <= 1) {
    return ordered(src, from, dst, to, rotation);
  }
  Alike& alike = alike_[rotation];
  if (alike.order == nullptr) {
    alike.order = std::make_unique<RegionOrder>(length_ / 4);
  }
  for (; alike.seen < flags_.size(); ++alike.seen) {
    Flag flag = flags_[alike.seen];
    if (flag.distance <= 1 || flag.distance == rotation) {
      flag.distance = std::min<int64_t>(flag.distance, 1);
      alike.order->add(flag);
    }
  }
  return alike.order->ordered(src, from, dst, to, 1);
}

}  // namespace pto::passes
