#include "src/passes/block/sync_deps.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

using isa::Pipe;

constexpr size_t kPipes = isa::kPipeCount;

// Accesses that are alike to whoever comes an iteration later.
struct Latest {
  int item = 0;
  bool write = false;
  Access access;
  int64_t rotation = 0;
};

// Bytes that no access of the region touches in part.
struct Cell {
  std::array<int, kPipes> read;  // the last item that reads or writes it on each pipe; -1: none
  std::array<int, kPipes> write;
  std::array<std::vector<Latest>, kPipes> latest;  // from the end of the body, where iterations follow each other
  Cell() {
    read.fill(-1);
    write.fill(-1);
  }
};

class Finder {
 public:
  Finder(const std::vector<const std::vector<Access>*>& items, const std::function<int64_t(const Access&)>& rotation)
      : items_(items), rotation_(rotation) {
    for (const auto* accesses : items) {
      for (const Access& access : *accesses) {
        cuts_[access.space].push_back(access.begin);
        cuts_[access.space].push_back(access.end);
      }
    }
    size_t first = 0;
    for (auto& [space, at] : cuts_) {
      std::sort(at.begin(), at.end());
      at.erase(std::unique(at.begin(), at.end()), at.end());
      first_[space] = first;
      first += at.size();
    }
    cells_.resize(first);
  }

  std::vector<Dependence> run(bool loop) {
    if (loop) {
      collect_latest();
    }
    for (int to = 0; to < static_cast<int>(items_.size()); ++to) {
      const std::vector<Access>& accesses = *items_[static_cast<size_t>(to)];
      for (const Access& access : accesses) {
        forward(access, to);
        if (loop) {
          carried(access, to);
        }
      }
      for (const Access& access : accesses) {
        const auto [begin, end] = cells_of(access);
        for (size_t cell = begin; cell < end; ++cell) {
          (access.write ? cells_[cell].write : cells_[cell].read)[static_cast<size_t>(access.pipe)] = to;
        }
      }
    }
    return std::move(deps_);
  }

 private:
  std::pair<size_t, size_t> cells_of(const Access& access) const {
    const std::vector<int64_t>& at = cuts_.at(access.space);
    auto index = [&](int64_t byte) {
      return first_.at(access.space) + static_cast<size_t>(std::lower_bound(at.begin(), at.end(), byte) - at.begin());
    };
    return {index(access.begin), index(access.end)};
  }

  void add(Pipe src, int from, const Access& b, int to, int64_t distance) {
    if (seen_.insert({src, from, b.pipe, to, distance}).second) {
      deps_.push_back({src, b.pipe, from, to, distance});
    }
  }

  // In the same iteration.
  void forward(const Access& b, int to) {
    std::array<int, kPipes> nearest;
    nearest.fill(-1);
    const auto [begin, end] = cells_of(b);
    for (size_t cell = begin; cell < end; ++cell) {
      for (size_t p = 0; p < kPipes; ++p) {
        nearest[p] = std::max({nearest[p], cells_[cell].write[p], b.write ? cells_[cell].read[p] : -1});
      }
    }
    for (size_t p = 0; p < kPipes; ++p) {
      if (static_cast<Pipe>(p) != b.pipe && nearest[p] >= 0) {
        add(static_cast<Pipe>(p), nearest[p], b, to, 0);
      }
    }
  }

  // Of each cell and pipe the last accesses of the body, the last one first; as many as someone can ask for.
  void collect_latest() {
    for (int item = static_cast<int>(items_.size()) - 1; item >= 0; --item) {
      for (const Access& access : *items_[static_cast<size_t>(item)]) {
        const int64_t rotation = rotation_(access);
        const auto [begin, end] = cells_of(access);
        for (size_t cell = begin; cell < end; ++cell) {
          enter(cells_[cell].latest[static_cast<size_t>(access.pipe)], {item, access.write, access, rotation});
        }
      }
    }
  }

  static void enter(std::vector<Latest>& latest, Latest entry) {
    // An access hides earlier ones that differ in nothing that matters. A nested loop or branch does not see itself, so
    // behind it one more is kept.
    ir::RegionId other;
    for (const Latest& known : latest) {
      const bool covers = known.write || !entry.write;  // whoever conflicts with a read minds a write
      const bool alike = known.access.buffer == entry.access.buffer && known.access.slot == entry.access.slot;
      if (!covers || known.rotation != entry.rotation || (entry.rotation != 0 && !alike)) {
        continue;
      }
      const ir::RegionId inner = known.access.inner;
      if (!inner.valid() || inner == entry.access.inner || (other.valid() && other != inner)) {
        return;
      }
      other = inner;
    }
    latest.push_back(std::move(entry));
  }

  // In an earlier iteration.
  void carried(const Access& b, int to) {
    const int64_t rotation = rotation_(b);
    std::array<std::array<int, 2>, kPipes> nearest;  // with distance 1, and with that of the rotation
    for (auto& row : nearest) {
      row.fill(-1);
    }
    const auto [begin, end] = cells_of(b);
    for (size_t cell = begin; cell < end; ++cell) {
      for (size_t p = 0; p < kPipes; ++p) {
        if (static_cast<Pipe>(p) == b.pipe) {
          continue;
        }
        for (const Latest& a : cells_[cell].latest[p]) {
          if (!a.write && !b.write) {
            continue;
          }
          // A nested loop's or branch's own flags, never taken back between its runs, order one run against the next.
          if (a.item == to && a.access.inner.valid() && a.access.inner == b.inner) {
            continue;
          }
          const bool same = rotation > 0 && a.access.buffer == b.buffer && a.access.slot == b.slot;
          int& from = nearest[p][same ? 1 : 0];
          from = std::max(from, a.item);
          if (rotation == 0) {
            break;
          }
        }
      }
    }
    for (size_t p = 0; p < kPipes; ++p) {
      if (nearest[p][0] >= 0) {
        add(static_cast<Pipe>(p), nearest[p][0], b, to, 1);
      }
      if (nearest[p][1] >= 0) {
        add(static_cast<Pipe>(p), nearest[p][1], b, to, rotation);
      }
    }
  }

  const std::vector<const std::vector<Access>*>& items_;
  const std::function<int64_t(const Access&)>& rotation_;
  std::map<Space, std::vector<int64_t>> cuts_;
  std::map<Space, size_t> first_;
  std::vector<Cell> cells_;
  std::vector<Dependence> deps_;
  std::set<std::tuple<Pipe, int, Pipe, int, int64_t>> seen_;
};

}  // namespace

std::vector<Access> accesses_of(const ir::Function& core, const isa::Inst& inst, const Target& target) {
  std::vector<Access> accesses;
  const Pipe pipe = isa::pipe_of(inst, core.buffers, target);
  for (const isa::Operand& operand : inst.operands) {
    Access access;
    access.pipe = pipe;
    access.write = isa::writes(operand.kind);
    if (isa::is_tile(operand.kind)) {
      const isa::Buffer& buffer = core.buffers[operand.buffer.index()];
      access.space = buffer.tile.space;
      access.begin = buffer.address;
      access.end = buffer.address + buffer.total_bytes();
      access.buffer = operand.buffer;
      access.slot = operand.slot;
      if (const auto slot = operand.slot.valid() ? core.exprs.constant(operand.slot) : std::nullopt) {
        access.begin = buffer.address + *slot * buffer.slot_stride;
        access.end = access.begin + buffer.tile.bytes();
      }
    } else if (isa::is_gm(operand.kind)) {
      access.space = Space::Gm;
      access.begin = root_tensor(core, core.tensors[operand.tensor.index()]).index();
      access.end = access.begin + 1;
    } else {
      continue;
    }
    accesses.push_back(access);
  }
  return accesses;
}

std::vector<Dependence> find_dependences(const std::vector<const std::vector<Access>*>& items, bool loop,
                                         const std::function<int64_t(const Access&)>& rotation) {
  return Finder(items, rotation).run(loop);
}

}  // namespace pto::passes
