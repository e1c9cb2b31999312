#include "src/passes/block/sync_ids.h"

#include <algorithm>

namespace pto::passes {

namespace {

constexpr int kMaxDepth = 3;  // flags that free ids of flags that free ids

}  // namespace

// May `after` have the id of `before`? Its set must come after the wait.
IdColouring::State IdColouring::between(const IdUse& before, const IdUse& after) const {
  if (before.last_item > after.first_item || before.last_wait >= after.first_set) {
    return State::Taken;
  }
  if (order_.ordered(before.dst, before.last_wait, after.src, after.first_set, 0)) {
    return State::Free;
  }
  return before.last_item < after.first_item ? State::NeedsFlag : State::Taken;
}

// In a loop: may the next iteration's first use follow this one's last?
bool IdColouring::comes_round(const IdUse& last, const IdUse& first) const {
  return !loop_ || order_.ordered(last.dst, last.last_wait, first.src, first.first_set, 1);
}

// Only the neighbours matter: what is before the one before is before that.
IdColouring::State IdColouring::state_of(const IdUse& use, int64_t id,
                                         std::vector<std::pair<IdUse, IdUse>>& gaps) const {
  const auto found = used_.find({use.src, use.dst});
  if (found == used_.end() || static_cast<size_t>(id) >= found->second.size() ||
      found->second[static_cast<size_t>(id)].empty()) {
    return comes_round(use, use) ? State::Free : State::Taken;
  }
  const std::map<Point, IdUse>& users = found->second[static_cast<size_t>(id)];
  const auto next = users.lower_bound(use.first_set);
  State state = State::Free;
  auto gap = [&](const IdUse& before, const IdUse& after) {
    const State here = between(before, after);
    if (here == State::NeedsFlag) {
      gaps.emplace_back(before, after);
    }
    state = std::max(state, here);
  };
  if (next != users.begin()) {
    gap(std::prev(next)->second, use);
  }
  if (next != users.end()) {
    gap(use, next->second);
  }
  const bool round = next == users.end()     ? comes_round(use, users.begin()->second)
                     : next == users.begin() ? comes_round(users.rbegin()->second, use)
                                             : true;
  state = round ? state : State::Taken;
  return state;
}

bool IdColouring::add_back(const IdUse& before, const IdUse& after, int depth) {
  if (order_.ordered(before.dst, before.last_wait, after.src, after.first_set, 0)) {
    return true;
  }
  Flag back;
  back.src = before.dst;
  back.dst = before.src;
  back.set_after = before.last_item;
  back.wait_before = after.first_item;
  back.first_id = place(id_use(back), depth + 1);
  if (back.first_id < 0) {
    return false;
  }
  order_.add(back);
  return true;
}

void IdColouring::enter(const IdUse& use, int64_t first_id) {
  auto& by_id = used_[{use.src, use.dst}];
  by_id.resize(std::max(by_id.size(), static_cast<size_t>(first_id + use.ids)));
  int64_t& end = ends_[{use.src, use.dst}];
  end = std::max(end, first_id + use.ids);
  for (int64_t id = first_id; id < first_id + use.ids; ++id) {
    by_id[static_cast<size_t>(id)][use.first_set] = use;
  }
}

void IdColouring::forget_across(int item) {
  for (auto& [pair, by_id] : used_) {
    for (auto& users : by_id) {
      std::erase_if(users,
                    [&](const auto& user) { return user.second.first_item < item && user.second.last_item >= item; });
    }
  }
}

int64_t IdColouring::place(const IdUse& use, int depth) {
  int64_t best = -1;
  Point best_wait = 0;
  std::vector<std::pair<IdUse, IdUse>> best_gaps;
  const auto begin = begins_.find({use.src, use.dst});
  for (int64_t first = begin == begins_.end() ? 0 : begin->second; first + use.ids <= limit_; ++first) {
    std::vector<std::pair<IdUse, IdUse>> gaps;
    State state = State::Free;
    for (int64_t id = first; id < first + use.ids; ++id) {
      state = std::max(state, state_of(use, id, gaps));
    }
    if (state == State::Free) {
      enter(use, first);
      return first;
    }
    if (state == State::NeedsFlag) {
      // The one that has been idle the longest costs the least.
      Point wait = 0;
      for (const auto& [before, after] : gaps) {
        wait = std::max(wait, before.last_wait);
      }
      if (best < 0 || wait < best_wait) {
        best = first;
        best_wait = wait;
        best_gaps = std::move(gaps);
      }
    }
  }
  if (best < 0 || depth >= kMaxDepth) {
    return -1;
  }
  for (const auto& [before, after] : best_gaps) {
    if (!add_back(before, after, depth)) {
      return -1;  // what was added stays: it does no harm
    }
  }
  enter(use, best);
  return best;
}

}  // namespace pto::passes
