#include "runtime/machine/arbiter.h"

#include <algorithm>

namespace pto::runtime {
namespace {

constexpr int64_t kMostWeight = int64_t{1} << 20;

// What a transfer of this rate draws from the HBM. Saturates where no server is that fast anyway, so that sums fit.
int64_t hbm_draw(int64_t rate, int64_t weight) {
  const auto draw = static_cast<__int128>(rate) * weight / 256;
  return draw < Arbiter::kMostRate ? static_cast<int64_t>(draw) : Arbiter::kMostRate;
}

}  // namespace

void Arbiter::add(Ticks now, uint32_t core, uint32_t pipe, int64_t bytes, int64_t hbm_bytes, int64_t cap) {
  Transfer transfer;
  transfer.left = bytes << 16;
  transfer.cap = std::clamp<int64_t>(cap, 1, kMostRate);
  transfer.weight = std::min(kMostWeight, (hbm_bytes << 8) / bytes);
  transfer.updated = now;
  transfer.core = core;
  transfer.pipe = pipe;
  transfers_.push_back(transfer);
  changed_ = true;
}

void Arbiter::finish(Ticks now, std::vector<Done>& done) {
  done.clear();
  if (next_end_ > now) {
    return;
  }
  std::erase_if(transfers_, [&](const Transfer& transfer) {
    if (transfer.end > now) {
      return false;
    }
    done.push_back({transfer.core, transfer.pipe});
    return true;
  });
  std::sort(done.begin(), done.end(), [](const Done& a, const Done& b) {
    return a.core != b.core ? a.core < b.core : a.pipe < b.pipe;
  });
  changed_ = true;
}

void Arbiter::settle(Ticks now) {
  if (!changed_) {
    return;
  }
  changed_ = false;
  share();
  next_end_ = kNever;
  for (size_t i = 0; i < transfers_.size(); ++i) {
    set_rate(transfers_[i], rates_[i], now);
    next_end_ = std::min(next_end_, transfers_[i].end);
  }
}

void Arbiter::set_rate(Transfer& transfer, int64_t rate, Ticks now) {
  if (transfer.rate == rate) {
    return;
  }
  transfer.left = std::max<int64_t>(0, transfer.left - transfer.rate * (now - transfer.updated));
  transfer.updated = now;
  transfer.rate = rate;
  transfer.end = now + (transfer.left + rate / 2) / rate;
}

// Progressive filling: all rates grow together; a transfer stops at its cap, or when a server it uses is full.
void Arbiter::share() {
  const size_t count = transfers_.size();
  rates_.resize(count);
  int64_t l2 = l2_rate_;
  int64_t hbm = hbm_rate_;
  int64_t l2_wanted = 0;
  int64_t hbm_wanted = 0;
  for (size_t i = 0; i < count; ++i) {
    rates_[i] = transfers_[i].cap;
    l2_wanted += transfers_[i].cap;
    hbm_wanted += hbm_draw(transfers_[i].cap, transfers_[i].weight);
  }
  if (l2_wanted <= l2 && hbm_wanted <= hbm) {
    return;
  }
  open_.clear();
  for (uint32_t i = 0; i < count; ++i) {
    open_.push_back(i);
  }
  // Gives a transfer its rate; it leaves the open ones.
  const auto fix = [&](uint32_t i, int64_t rate) {
    rates_[i] = std::max<int64_t>(1, rate);
    l2 = std::max<int64_t>(0, l2 - rate);
    hbm = std::max<int64_t>(0, hbm - hbm_draw(rate, transfers_[i].weight));
  };
  while (!open_.empty()) {
    int64_t weights = 0;
    for (uint32_t i : open_) {
      weights += transfers_[i].weight;
    }
    const int64_t l2_level = l2 / static_cast<int64_t>(open_.size());
    const int64_t hbm_level =
        weights > 0 ? static_cast<int64_t>(static_cast<__int128>(hbm) * 256 / weights) : INT64_MAX;
    const int64_t level = std::min(l2_level, hbm_level);
    const size_t before = open_.size();
    std::erase_if(open_, [&](uint32_t i) {
      const bool capped = transfers_[i].cap <= level;
      if (capped) {
        fix(i, transfers_[i].cap);
      }
      return capped;
    });
    if (open_.size() < before) {
      continue;
    }
    std::erase_if(open_, [&](uint32_t i) {
      const bool full = l2_level <= hbm_level || transfers_[i].weight > 0;
      if (full) {
        fix(i, level);
      }
      return full;
    });
  }
}

}  // namespace pto::runtime
