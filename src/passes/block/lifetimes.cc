#include "src/passes/block/lifetimes.h"

#include <algorithm>
#include <functional>
#include <set>

namespace pto::passes {

namespace {

struct Loop {
  int parent = -1;
  int begin = 0;
  int end = 0;
  SymId symbol;
};

struct Access {
  int position = 0;
  int loop = -1;  // innermost
  bool reads_first = false;
  ir::OpId op;
};

class Walker {
 public:
  Walker(const ir::Function& core, const Target& target) : core_(core), target_(target) {
    accesses_.resize(core.buffers.size());
    slot_symbols_.resize(core.buffers.size());
    lifetimes_.resize(core.buffers.size());
    walk(core.body, -1);
  }

  std::vector<Lifetime> run() {
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      if (!accesses_[i].empty()) {
        measure(i);
      }
    }
    return std::move(lifetimes_);
  }

 private:
  void walk(ir::RegionId region, int loop) {
    for (ir::OpId id : core_.regions[region].ops) {
      const ir::Op& op = core_.ops[id];
      if (op.kind == ir::OpKind::Inst) {
        visit(id, loop);
        ++position_;
      }
      if (op.kind == ir::OpKind::For) {
        const int inner = static_cast<int>(loops_.size());
        loops_.push_back({loop, position_, position_, op.syms[0]});
        walk(op.regions[0], inner);
        loops_[static_cast<size_t>(inner)].end = std::max(position_ - 1, loops_[static_cast<size_t>(inner)].begin);
      } else {
        for (ir::RegionId inner : op.regions) {
          walk(inner, loop);
        }
      }
    }
  }

  void visit(ir::OpId id, int loop) {
    const ir::Op& op = core_.ops[id];
    const isa::Pipe pipe = isa::pipe_of(op.inst, core_.buffers, target_);
    std::set<uint32_t> read;
    for (const isa::Operand& operand : op.inst.operands) {
      if (isa::is_tile(operand.kind) && isa::reads(operand.kind) && operand.kind != isa::OperandKind::TileTmp) {
        read.insert(operand.buffer.index());
      }
    }
    for (const isa::Operand& operand : op.inst.operands) {
      if (!isa::is_tile(operand.kind)) {
        continue;
      }
      const size_t buffer = operand.buffer.index();
      accesses_[buffer].push_back({position_, loop, read.count(operand.buffer.index()) != 0, id});
      lifetimes_[buffer].pipes |= 1u << static_cast<int>(pipe);
      if (operand.slot.valid()) {
        core_.exprs.collect_symbols(operand.slot, slot_symbols_[buffer]);
      }
    }
  }

  bool contains(int loop, const Access& access) const {
    if (loop < 0) {
      return true;
    }
    for (int at = access.loop; at >= 0; at = loops_[static_cast<size_t>(at)].parent) {
      if (at == loop) {
        return true;
      }
    }
    return false;
  }

  void cover(Lifetime& life, int loop) const {
    life.first = std::min(life.first, loops_[static_cast<size_t>(loop)].begin);
    life.last = std::max(life.last, loops_[static_cast<size_t>(loop)].end);
  }

  void measure(size_t buffer) {
    Lifetime& life = lifetimes_[buffer];
    const std::vector<Access>& accesses = accesses_[buffer];
    life.first = accesses.front().position;
    life.last = accesses.back().position;
    life.last_reader = accesses.back().op;
    const std::vector<SymId>& symbols = slot_symbols_[buffer];
    for (const Access& access : accesses) {
      for (int loop = access.loop; loop >= 0; loop = loops_[static_cast<size_t>(loop)].parent) {
        const bool all_inside =
            std::all_of(accesses.begin(), accesses.end(), [&](const Access& other) { return contains(loop, other); });
        const bool rotates =
            std::find(symbols.begin(), symbols.end(), loops_[static_cast<size_t>(loop)].symbol) != symbols.end();
        if (!all_inside || rotates || accesses.front().reads_first) {
          cover(life, loop);
        }
      }
    }
  }

  const ir::Function& core_;
  const Target& target_;
  int position_ = 0;
  std::vector<Loop> loops_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<std::vector<SymId>> slot_symbols_;
  std::vector<Lifetime> lifetimes_;
};

}  // namespace

std::vector<Lifetime> buffer_lifetimes(const ir::Function& core, const Target& target) {
  return Walker(core, target).run();
}

}  // namespace pto::passes
