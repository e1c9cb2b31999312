// Steps, each taken only if the one before does not fit: every buffer apart; chains of in-place results in one pipe as
// one buffer; buffers that are never live together on the same bytes; in-place results across pipes.
#include "src/passes/block/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "src/passes/block/memory_pack.h"

namespace pto::passes {

namespace {

using isa::Buffer;
using isa::Operand;
using isa::OperandKind;

constexpr size_t kMostParts = 256;  // of lives that are joined: beyond it costs more than it saves

bool one_pipe(uint32_t pipes) {
  return (pipes & (pipes - 1)) == 0;
}

int64_t bytes_of(const Buffer& buffer) {
  return std::clamp<int64_t>(buffer.total_bytes(), 0, kMostBytes);
}

// Is an element of one at the same place as of the other?
bool same_places(const TileDesc& a, const TileDesc& b) {
  return a.space == b.space && a.layout == b.layout && a.rows == b.rows && a.cols == b.cols && a.bytes() == b.bytes();
}

// Buffers that become one: a result on the bytes of an operand that nobody needs any more.
class Chains {
 public:
  Chains(const ir::Function& core, const CoreLives& lives) : core_(core), leader_(core.buffers.size()) {
    std::iota(leader_.begin(), leader_.end(), size_t{0});
    for (const Life& life : lives.buffers) {
      halves_.push_back(life.halves);
      pipes_.push_back(life.pipes);
      free_.push_back(!life.whole);
    }
  }

  size_t find(size_t buffer) {
    while (leader_[buffer] != buffer) {
      buffer = leader_[buffer] = leader_[leader_[buffer]];
    }
    return buffer;
  }
  const LiveRanges& halves(size_t leader) const { return halves_[leader]; }

  void join(const CoreLives& lives, const Target& target, bool across_pipes) {
    for (ir::OpId id : lives.instructions) {
      const isa::Inst& inst = core_.ops[id].inst;
      if (inst.operands.empty() || inst.operands[0].kind != OperandKind::TileOut) {
        continue;
      }
      for (size_t i = 1; i < inst.operands.size(); ++i) {
        if (inst.operands[i].kind == OperandKind::TileIn && works_in_place(inst, i, target) &&
            join(inst.operands[i].buffer.index(), inst.operands[0].buffer.index(), across_pipes)) {
          break;
        }
      }
    }
  }

 private:
  bool may_join(size_t buffer) const {
    const Buffer& b = core_.buffers[buffer];
    return b.address < 0 && b.slots == 1 && free_[buffer];
  }

  bool join(size_t source, size_t result, bool across_pipes) {
    const size_t a = find(source);
    const size_t b = find(result);
    if (a == b || !may_join(source) || !may_join(result) ||
        !same_places(core_.buffers[source].tile, core_.buffers[result].tile) ||
        (!across_pipes && !one_pipe(pipes_[a] | pipes_[b])) || halves_[a].size() + halves_[b].size() > kMostParts ||
        meet(halves_[a], halves_[b])) {
      return false;
    }
    leader_[b] = a;
    halves_[a] = unite(halves_[a], halves_[b]);
    pipes_[a] |= pipes_[b];
    return true;
  }

  const ir::Function& core_;
  std::vector<size_t> leader_;
  std::vector<LiveRanges> halves_;  // by leader
  std::vector<uint32_t> pipes_;     // by leader
  std::vector<bool> free_;
};

// The packing problem of one memory.
struct SpaceProblem {
  PackProblem problem;
  std::vector<std::vector<size_t>> buffers;  // by item
};

SpaceProblem problem_of(const ir::Function& core, const Target& target, const CoreLives& lives, Space space,
                        Chains& chains) {
  SpaceProblem out;
  out.problem.align = std::max<int64_t>(1, target.space(space).align);
  out.problem.capacity = target.space(space).bytes;
  std::vector<size_t> item_of(core.buffers.size());
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    const Buffer& buffer = core.buffers[i];
    if (buffer.tile.space != space || chains.find(i) != i) {
      continue;
    }
    item_of[i] = out.problem.items.size();
    PackItem item;
    item.address = buffer.address;
    item.positions = to_positions(chains.halves(i));
    out.problem.items.push_back(std::move(item));
    out.buffers.emplace_back();
  }
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    if (core.buffers[i].tile.space != space) {
      continue;
    }
    const size_t index = item_of[chains.find(i)];
    PackItem& item = out.problem.items[index];
    item.bytes = std::max(item.bytes, bytes_of(core.buffers[i]));
    item.starts |= lives.buffers[i].starts;
    item.ends |= lives.buffers[i].ends;
    item.in_loop = item.in_loop || lives.buffers[i].in_loop;
    out.buffers[index].push_back(i);
  }
  return out;
}

// Most bytes live at one half point, whatever the plan.
int64_t live_bound(const ir::Function& core, const Target& target, const CoreLives& lives, Space space,
                   bool addresses_given) {
  PackProblem problem;
  problem.align = target.space(space).align;
  int64_t fixed = 0;
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    const Buffer& buffer = core.buffers[i];
    if (buffer.tile.space == space) {
      problem.items.push_back({bytes_of(buffer), -1, lives.buffers[i].halves});
      if (addresses_given && buffer.address >= 0) {
        fixed = std::max(fixed, end_of(buffer.address, bytes_of(buffer)));
      }
    }
  }
  return std::max(fixed, packing_bound(problem));
}

class Planner {
 public:
  Planner(const ir::Function& core, const Target& target, MemoryPlan& plan)
      : core_(core), target_(target), plan_(plan) {}

  void run(Space space, bool reuse) {
    SpacePlan result;
    result.space = space;
    result.capacity = target_.space(space).bytes;
    Chains single(core_, plan_.lives);
    const SpaceProblem apart = problem_of(core_, target_, plan_.lives, space, single);
    Packing best = pack_apart(apart.problem);
    result.apart = best.peak;
    const SpaceProblem* chosen = &apart;
    SpaceProblem chained;
    SpaceProblem across;
    if (reuse && best.peak > result.capacity) {
      auto improve = [&](const SpaceProblem& problem, Packing packing) {
        if (best.peak > result.capacity && packing.peak < best.peak) {
          best = std::move(packing);
          chosen = &problem;
        }
      };
      Chains chains(core_, plan_.lives);
      chains.join(plan_.lives, target_, false);
      chained = problem_of(core_, target_, plan_.lives, space, chains);
      improve(chained, pack_apart(chained.problem));
      if (best.peak > result.capacity) {
        improve(chained, pack(chained.problem));
      }
      if (best.peak > result.capacity) {
        chains.join(plan_.lives, target_, true);
        across = problem_of(core_, target_, plan_.lives, space, chains);
        improve(across, pack(across.problem));
      }
      if (best.peak > result.capacity) {
        improve(apart, pack(apart.problem));
      }
    }
    for (size_t i = 0; i < chosen->buffers.size(); ++i) {
      for (size_t buffer : chosen->buffers[i]) {
        plan_.addresses[buffer] = best.addresses[i];
      }
    }
    result.peak = best.peak;
    result.crossings = best.crossings;
    result.bound = std::min(best.peak, live_bound(core_, target_, plan_.lives, space, true));
    plan_.spaces.push_back(result);
  }

 private:
  const ir::Function& core_;
  const Target& target_;
  MemoryPlan& plan_;
};

std::vector<Space> spaces_of(const ir::Function& core) {
  std::vector<Space> spaces;
  for (const Buffer& buffer : core.buffers) {
    spaces.push_back(buffer.tile.space);
  }
  std::sort(spaces.begin(), spaces.end());
  spaces.erase(std::unique(spaces.begin(), spaces.end()), spaces.end());
  return spaces;
}

// Memory that the core at the other end of a local ring writes whenever it likes.
void reserve_rings(const ir::Function& core, const Target& target, std::vector<bool>& reserved) {
  for (ir::OpId id : ir::ops_in_order(core)) {
    const ir::Op& op = core.ops[id];
    if (op.kind != ir::OpKind::Inst || op.inst.opcode != isa::Opcode::TPop) {
      continue;
    }
    const isa::Ring& ring = core.rings[op.inst.operands[1].ring.index()];
    if (target.ring_is_local(ring.direction)) {
      reserved[op.inst.operands[0].buffer.index()] = true;
    }
  }
}

}  // namespace

std::vector<bool> reserved_buffers(const ir::Function& core, const Target& target) {
  std::vector<bool> reserved(core.buffers.size(), false);
  if (!core.rings.empty()) {
    reserve_rings(core, target, reserved);
  }
  std::vector<size_t> placed;
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    if (core.buffers[i].address >= 0) {
      placed.push_back(i);
    }
  }
  auto key = [&](size_t i) { return std::pair(core.buffers[i].tile.space, core.buffers[i].address); };
  std::stable_sort(placed.begin(), placed.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  int64_t end = 0;
  for (size_t i = 0; i < placed.size(); ++i) {
    const Buffer& buffer = core.buffers[placed[i]];
    const bool first = i == 0 || core.buffers[placed[i - 1]].tile.space != buffer.tile.space;
    if (!first && buffer.address < end) {
      reserved[placed[i]] = true;
      for (size_t j = i; j-- > 0 && !reserved[placed[j]] && core.buffers[placed[j]].tile.space == buffer.tile.space &&
                         end_of(core.buffers[placed[j]].address, bytes_of(core.buffers[placed[j]])) > buffer.address;) {
        reserved[placed[j]] = true;
      }
    }
    end = std::max(first ? 0 : end, end_of(buffer.address, bytes_of(buffer)));
  }
  return reserved;
}

MemoryPlan plan_buffers(const ir::Function& core, const Target& target, bool reuse) {
  MemoryPlan plan;
  plan.lives = buffer_lives(core, target, reserved_buffers(core, target));
  plan.addresses.resize(core.buffers.size());
  Planner planner(core, target, plan);
  for (Space space : spaces_of(core)) {
    planner.run(space, reuse);
  }
  return plan;
}

bool may_fit(const ir::Function& core, const Target& target, Space space) {
  const CoreLives lives = buffer_lives(core, target, reserved_buffers(core, target));
  return live_bound(core, target, lives, space, true) <= target.space(space).bytes;
}

MemoryPlan measure_buffers(const ir::Function& core, const Target& target) {
  MemoryPlan plan;
  std::vector<bool> rings(core.buffers.size(), false);
  if (!core.rings.empty()) {
    reserve_rings(core, target, rings);
  }
  plan.lives = buffer_lives(core, target, rings);
  for (const Buffer& buffer : core.buffers) {
    plan.addresses.push_back(buffer.address);
  }
  for (Space space : spaces_of(core)) {
    Chains single(core, plan.lives);
    const SpaceProblem apart = problem_of(core, target, plan.lives, space, single);
    PackProblem unplaced = apart.problem;
    for (PackItem& item : unplaced.items) {
      item.address = -1;
    }
    std::vector<int64_t> addresses;
    for (const PackItem& item : apart.problem.items) {
      addresses.push_back(item.address);
    }
    SpacePlan result;
    result.space = space;
    result.capacity = target.space(space).bytes;
    result.peak = peak_of(apart.problem, addresses);
    result.apart = pack_apart(unplaced).peak;
    result.crossings = count_crossings(apart.problem, addresses);
    result.bound = std::min(result.peak, live_bound(core, target, plan.lives, space, false));
    plan.spaces.push_back(result);
  }
  return plan;
}

}  // namespace pto::passes
