#include "runtime/machine/arbiter.h"

#include <algorithm>

namespace pto::runtime {
namespace {

constexpr int64_t kMostWeight = int64_t{1} << 20;
constexpr int64_t kMostServed = int64_t{1} << 60;  // before members and group are counted from 0 again

// What a transfer of this rate draws from the HBM. Saturates where no server is that fast anyway, so that sums fit.
int64_t hbm_draw(int64_t rate, int64_t weight) {
  const auto draw = static_cast<__int128>(rate) * weight / 256;
  return draw < Arbiter::kMostRate ? static_cast<int64_t>(draw) : Arbiter::kMostRate;
}

constexpr auto kLater = [](const auto& a, const auto& b) { return a.finish > b.finish; };

// When `left` have been served, to the nearest tick.
Ticks end_of(Ticks now, int64_t left, int64_t rate) {
  return now + (left + rate / 2) / rate;
}

}  // namespace

void Arbiter::add(Ticks now, uint32_t core, uint32_t pipe, int64_t bytes, int64_t hbm_bytes, int64_t cap) {
  cap = std::clamp<int64_t>(cap, 1, kMostRate);
  Group& group = this->group(cap, std::min(kMostWeight, (hbm_bytes << 8) / bytes));
  advance(group, now);
  group.transfers.push_back({group.served + (bytes << 16), core, pipe});
  std::push_heap(group.transfers.begin(), group.transfers.end(), kLater);
  if (group.rate > 0) {
    group.end = end_of(now, group.transfers.front().finish - group.served, group.rate);
  }
  l2_wanted_ += cap;
  hbm_wanted_ += group.draw;
  changed_ = true;
}

// There are about as many groups as there are kinds of copies in the programs that run.
Arbiter::Group& Arbiter::group(int64_t cap, int64_t weight) {
  for (size_t i = 0; i < used_; ++i) {
    if (groups_[i].cap == cap && groups_[i].weight == weight) {
      return groups_[i];
    }
  }
  if (used_ == groups_.size()) {
    groups_.emplace_back();
  }
  Group& group = groups_[used_++];
  group.cap = cap;
  group.weight = weight;
  group.draw = hbm_draw(cap, weight);
  group.rate = 0;
  group.served = 0;
  group.updated = 0;
  group.end = kNever;
  return group;
}

// Up to `now` at the rate it has. A member's end does not depend on when this is called: whole ticks are whole rates.
void Arbiter::advance(Group& group, Ticks now) {
  group.served += group.rate * (now - group.updated);
  group.updated = now;
  if (group.served > kMostServed) {
    for (Transfer& transfer : group.transfers) {
      transfer.finish -= group.served;
    }
    group.served = 0;
  }
}

void Arbiter::finish(Ticks now, std::vector<Done>& done) {
  done.clear();
  if (next_end_ > now) {
    return;
  }
  for (size_t i = 0; i < used_;) {
    Group& group = groups_[i];
    while (group.end <= now) {
      done.push_back({group.transfers.front().core, group.transfers.front().pipe});
      std::pop_heap(group.transfers.begin(), group.transfers.end(), kLater);
      group.transfers.pop_back();
      l2_wanted_ -= group.cap;
      hbm_wanted_ -= group.draw;
      group.end = group.transfers.empty()
                      ? kNever
                      : end_of(group.updated, group.transfers.front().finish - group.served, group.rate);
    }
    if (group.transfers.empty()) {
      std::swap(group, groups_[--used_]);
    } else {
      ++i;
    }
  }
  if (done.size() > 1) {
    std::sort(done.begin(), done.end(),
              [](const Done& a, const Done& b) { return a.core != b.core ? a.core < b.core : a.pipe < b.pipe; });
  }
  changed_ = true;
}

void Arbiter::settle(Ticks now) {
  if (!changed_) {
    return;
  }
  changed_ = false;
  const bool enough = l2_wanted_ <= l2_rate_ && hbm_wanted_ <= hbm_rate_;
  if (!enough) {
    share();
  }
  next_end_ = kNever;
  for (size_t i = 0; i < used_; ++i) {
    Group& group = groups_[i];
    const int64_t rate = enough ? group.cap : rates_[i];
    if (rate != group.rate) {
      advance(group, now);
      group.rate = rate;
      group.end = end_of(now, group.transfers.front().finish - group.served, rate);
    }
    next_end_ = std::min(next_end_, group.end);
  }
}

// Progressive filling: all rates grow together; a transfer stops at its cap, or when a server it uses is full.
void Arbiter::share() {
  rates_.resize(used_);
  int64_t l2 = l2_rate_;
  int64_t hbm = hbm_rate_;
  for (size_t i = 0; i < used_; ++i) {
    groups_[i].open = true;
  }
  for (;;) {
    int64_t open = 0;
    int64_t weights = 0;
    for (size_t i = 0; i < used_; ++i) {
      const auto members = static_cast<int64_t>(groups_[i].transfers.size());
      open += groups_[i].open ? members : 0;
      weights += groups_[i].open ? members * groups_[i].weight : 0;
    }
    if (open == 0) {
      return;
    }
    const int64_t l2_level = l2 / open;
    const int64_t hbm_level = weights > 0 ? hbm * 256 / weights : INT64_MAX;
    const int64_t level = std::min(l2_level, hbm_level);
    if (close_capped(level, l2, hbm)) {
      continue;
    }
    for (size_t i = 0; i < used_; ++i) {
      Group& group = groups_[i];
      if (group.open && (l2_level <= hbm_level || group.weight > 0)) {
        const auto members = static_cast<int64_t>(group.transfers.size());
        group.open = false;
        rates_[i] = std::max<int64_t>(1, level);
        l2 = std::max<int64_t>(0, l2 - level * members);
        hbm = std::max<int64_t>(0, hbm - hbm_draw(level, group.weight) * members);
      }
    }
  }
}

// Groups whose caps are below the level get their caps. False: there are none.
bool Arbiter::close_capped(int64_t level, int64_t& l2, int64_t& hbm) {
  bool any = false;
  for (size_t i = 0; i < used_; ++i) {
    Group& group = groups_[i];
    if (group.open && group.cap <= level) {
      const auto members = static_cast<int64_t>(group.transfers.size());
      group.open = false;
      any = true;
      rates_[i] = group.cap;
      l2 = std::max<int64_t>(0, l2 - group.cap * members);
      hbm = std::max<int64_t>(0, hbm - group.draw * members);
    }
  }
  return any;
}

}  // namespace pto::runtime
