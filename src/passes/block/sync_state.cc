#include "src/passes/block/sync_state.h"

#include <algorithm>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

constexpr size_t kPipes = isa::kPipeCount;

bool matters(const isa::Operand& operand) {
  return isa::is_tile(operand.kind) || isa::is_gm(operand.kind);
}

}  // namespace

// ---- cells

SyncCells::SyncCells(const ir::Function& core, const Target& target) : core_(core) {
  std::map<Space, std::vector<int64_t>> cuts;
  std::vector<bool> seen(core.buffers.size());
  std::vector<std::pair<ir::OpId, isa::Pipe>> users;
  for_each_op(core, [&](ir::OpId id) {
    const ir::Op& op = core.ops[id];
    if (op.kind != ir::OpKind::Inst) {
      return;
    }
    const isa::Pipe pipe = isa::pipe_of(op.inst, core.buffers, target);
    bool any = false;
    for (const isa::Operand& operand : op.inst.operands) {
      if (isa::is_tile(operand.kind) && !seen[operand.buffer.index()]) {
        seen[operand.buffer.index()] = true;
        const isa::Buffer& buffer = core.buffers[operand.buffer.index()];
        for (int64_t slot = 0; slot < buffer.slots; ++slot) {
          const int64_t begin = buffer.address + slot * buffer.slot_stride;
          cuts[buffer.tile.space].push_back(begin);
          cuts[buffer.tile.space].push_back(begin + buffer.tile.bytes());
        }
      } else if (isa::is_gm(operand.kind)) {
        cuts[Space::Gm].push_back(root(operand.tensor));
        cuts[Space::Gm].push_back(root(operand.tensor) + 1);
      }
      any = any || matters(operand);
    }
    if (any && number(pipe) < kPipes) {
      users.emplace_back(id, pipe);
    }
  });
  for (auto& [space, at] : cuts) {
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    for (size_t i = 0; i + 1 < at.size(); ++i) {
      cells_.push_back({space, at[i], at[i + 1]});
    }
  }
  std::vector<PipeSet> readers(cells_.size());
  std::vector<PipeSet> writers(cells_.size());
  // Equal operands come again and again in long programs; each is spread over its cells once a pipe.
  std::map<std::tuple<isa::Pipe, size_t, size_t>, std::pair<bool, bool>> spread;
  for (const auto& [id, pipe] : users) {
    for (const isa::Operand& operand : core.ops[id].inst.operands) {
      if (!matters(operand)) {
        continue;
      }
      const auto constant = operand.slot.valid() ? core.exprs.constant(operand.slot) : std::nullopt;
      const auto [first, last] =
          isa::is_gm(operand.kind) ? of_tensor(operand.tensor) : of_buffer(operand.buffer, constant.value_or(-1));
      auto& [reads, writes] = spread[{pipe, first, last}];
      reads = reads || isa::reads(operand.kind);
      writes = writes || isa::writes(operand.kind);
    }
  }
  for (const auto& [key, use] : spread) {
    for (size_t cell = std::get<1>(key); cell < std::get<2>(key); ++cell) {
      readers[cell] |= use.first ? bit(std::get<0>(key)) : 0;
      writers[cell] |= use.second ? bit(std::get<0>(key)) : 0;
    }
  }
  for (size_t cell = 0; cell < cells_.size(); ++cell) {
    first_track_.push_back(tracks_.size());
    for (size_t p = 0; p < kPipes; ++p) {
      const isa::Pipe pipe = static_cast<isa::Pipe>(p);
      const PipeSet of_write = (readers[cell] | writers[cell]) & ~bit(pipe);
      const PipeSet of_read = writers[cell] & ~bit(pipe);
      if ((writers[cell] & bit(pipe)) != 0 && of_write != 0) {
        tracks_.push_back({pipe, true, of_write});
        cell_of_track_.push_back(cell);
      }
      if ((readers[cell] & bit(pipe)) != 0 && of_read != 0) {
        tracks_.push_back({pipe, false, of_read});
        cell_of_track_.push_back(cell);
      }
    }
  }
  first_track_.push_back(tracks_.size());
  for (size_t p = 0; p < kPipes; ++p) {
    needed_[p].resize((tracks_.size() + 63) / 64);
    for (size_t t = 0; t < tracks_.size(); ++t) {
      needed_[p][t / 64] |= uint64_t{tracks_[t].needed >> p & 1} << t % 64;
    }
  }
}

uint32_t SyncCells::root(isa::TensorId tensor) const {
  return root_tensor(core_, core_.tensors[tensor.index()]).index();
}

size_t SyncCells::boundary(Space space, int64_t at) const {
  const auto found = std::lower_bound(cells_.begin(), cells_.end(), std::make_pair(space, at),
                                      [](const Interval& cell, const std::pair<Space, int64_t>& key) {
                                        return std::make_pair(cell.space, cell.begin) < key;
                                      });
  return static_cast<size_t>(found - cells_.begin());
}

std::pair<size_t, size_t> SyncCells::of_buffer(isa::BufferId id, int64_t slot) const {
  const isa::Buffer& buffer = core_.buffers[id.index()];
  // Without a slot a buffer of several means the slot of the latest tpop: any.
  const bool all = slot < 0 || slot >= buffer.slots;
  const int64_t begin = buffer.address + (all ? 0 : slot * buffer.slot_stride);
  const int64_t end = begin + (all ? buffer.total_bytes() : buffer.tile.bytes());
  return {boundary(buffer.tile.space, begin), boundary(buffer.tile.space, end)};
}

std::pair<size_t, size_t> SyncCells::of_tensor(isa::TensorId tensor) const {
  const size_t cell = boundary(Space::Gm, root(tensor));
  return {cell, cell + 1};
}

Interval SyncCells::where(size_t cell) const {
  return cells_[cell];
}

// ---- states

void SyncState::grow(size_t flags) {
  const size_t stride = (cells_->track_count() + flags + 63) / 64;
  if (flags <= flags_.size() && stride_ != 0) {
    return;
  }
  std::vector<uint64_t> grown(stride * (kPipes + flags));
  for (size_t row = 0; stride_ != 0 && row < rows(); ++row) {
    std::copy_n(open_.begin() + static_cast<ptrdiff_t>(row * stride_), stride_,
                grown.begin() + static_cast<ptrdiff_t>(row * stride));
  }
  open_ = std::move(grown);
  stride_ = stride;
  flags_.resize(flags);
}

void SyncState::begin(isa::Pipe pipe, size_t track) {
  const uint64_t mask = uint64_t{1} << track % 64;
  for (size_t row = 0; row < kPipes; ++row) {
    open_[row * stride_ + track / 64] |= mask;
  }
  open_[number(pipe) * stride_ + track / 64] &= ~mask;
  // What a flag promised was about an earlier event.
  for (size_t f = 0; f < flags_.size(); ++f) {
    open_[(kPipes + f) * stride_ + track / 64] |= flags_[f].set ? mask : 0;
  }
}

void SyncState::forget(size_t track) {
  const uint64_t mask = ~(uint64_t{1} << track % 64);
  for (size_t row = 0; row < rows(); ++row) {
    open_[row * stride_ + track / 64] &= mask;
  }
}

void SyncState::set_flag(size_t flag, isa::Pipe src) {
  forget(cells_->track_count() + flag);
  std::copy_n(open_.begin() + static_cast<ptrdiff_t>(number(src) * stride_), stride_,
              open_.begin() + static_cast<ptrdiff_t>((kPipes + flag) * stride_));
  flags_[flag].set = true;
}

void SyncState::wait_flag(size_t flag, isa::Pipe dst) {
  for (size_t i = 0; i < stride_; ++i) {
    uint64_t& promise = open_[(kPipes + flag) * stride_ + i];
    open_[number(dst) * stride_ + i] &= promise;
    promise = 0;
  }
  flags_[flag].set = false;
  begin(dst, cells_->track_count() + flag);
}

void SyncState::barrier() {
  std::fill(open_.begin(), open_.end(), 0);
}

std::string SyncState::flags_text() const {
  std::string text = std::to_string(assumed_[0]) + " " + std::to_string(assumed_[1]) + ": ";
  for (size_t i = 0; i < flags_.size(); ++i) {
    if (flags_[i].set) {
      text += std::to_string(i) + " ";
    }
  }
  return text;
}

std::string SyncState::normalize(const std::vector<FlagKey>& flag_keys) {
  std::vector<uint64_t> live(stride_);
  for (size_t p = 0; p < kPipes && stride_ != 0; ++p) {
    const std::vector<uint64_t>& needed = cells_->needed(static_cast<isa::Pipe>(p));
    for (size_t i = 0; i < needed.size(); ++i) {
      live[i] |= open_[p * stride_ + i] & needed[i];
    }
  }
  for (size_t f = 0; f < flags_.size(); ++f) {
    if (wait_open(f, std::get<0>(flag_keys[f]))) {
      const size_t track = cells_->track_count() + f;
      live[track / 64] |= uint64_t{1} << track % 64;
    }
  }
  std::string text;
  auto put = [&](uint64_t value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(uint64_t{assumed_[0]} << 32 | assumed_[1]);
  auto put_row = [&](size_t row) {
    for (size_t i = 0; i < stride_; ++i) {
      uint64_t& word = open_[row * stride_ + i];
      word &= live[i];
      if (word != 0) {
        put(i);
        put(word);
      }
    }
    put(~uint64_t{0});
  };
  for (size_t p = 0; p < kPipes && stride_ != 0; ++p) {
    put_row(p);
  }
  for (size_t f = 0; f < flags_.size(); ++f) {
    if (flags_[f].set) {
      put(f);
      put_row(kPipes + f);
    }
  }
  return text;
}

void SyncState::merge(const SyncState& other) {
  SyncState theirs = other;
  theirs.grow(flags_.size());
  grow(theirs.flags_.size());
  for (size_t track = 0; track < origin_.size(); ++track) {
    bool mine = false;
    for (size_t row = 0; row < kPipes; ++row) {
      mine = mine || has(row, track);
    }
    if (!mine) {
      origin_[track] = theirs.origin_[track];
    }
  }
  for (size_t i = 0; i < open_.size(); ++i) {
    open_[i] |= theirs.open_[i];
  }
}

}  // namespace pto::passes
