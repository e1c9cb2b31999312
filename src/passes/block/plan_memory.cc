// Gives every buffer of an `auto core` an address. Buffers whose lifetimes don't overlap may share bytes. A result may
// take over its operand's bytes where the instruction works element by element in one pipe (chains of such buffers are
// placed as one). Placement is first fit, largest first; addresses that are written in the program stay.
#include <algorithm>
#include <numeric>

#include "pto/result.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/lifetimes.h"
#include "src/passes/block/select.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;

// Instructions whose destination may be their first tile source: they read element (i, j) before they write it.
bool works_in_place(isa::Format format) {
  return format == isa::Format::Unary || format == isa::Format::Binary || format == isa::Format::TileScalar ||
         format == isa::Format::ScalarTile;
}

struct Group {
  std::vector<size_t> buffers;
  Lifetime life;
  Space space = Space::None;
  int64_t bytes = 0;
  int64_t address = -1;
};

class Planner {
 public:
  Planner(ir::Function& core, const Target& target)
      : core_(core), target_(target), lives_(buffer_lifetimes(core, target)), leader_(core.buffers.size()) {
    std::iota(leader_.begin(), leader_.end(), size_t{0});
  }

  std::optional<Overflow> run() {
    share_in_place();
    make_groups();
    return place();
  }

 private:
  size_t find(size_t buffer) {
    while (leader_[buffer] != buffer) {
      buffer = leader_[buffer] = leader_[leader_[buffer]];
    }
    return buffer;
  }

  // A buffer that may be merged: unplaced, one slot, touched by one pipe only.
  bool mergeable(size_t buffer) const {
    const isa::Buffer& b = core_.buffers[buffer];
    return b.address < 0 && b.slots == 1 && (lives_[buffer].pipes & (lives_[buffer].pipes - 1)) == 0;
  }

  void share_in_place() {
    int position = 0;
    for_each_op(core_, [&](OpId id) {
      const Op& op = core_.ops[id];
      if (op.kind != OpKind::Inst) {
        return;
      }
      const int here = position++;
      if (!works_in_place(isa::info(op.inst.opcode).format)) {
        return;
      }
      const size_t dst = op.inst.operands[0].buffer.index();
      for (const isa::Operand& operand : op.inst.operands) {
        if (operand.kind != isa::OperandKind::TileIn) {
          continue;
        }
        const size_t src = operand.buffer.index();
        const size_t from = find(src);
        const size_t to = find(dst);
        if (from != to && mergeable(src) && mergeable(dst) && core_.buffers[src].tile == core_.buffers[dst].tile &&
            lives_[from].last == here && lives_[to].first == here) {
          leader_[to] = from;
          lives_[from].last = lives_[to].last;
          return;
        }
      }
    });
  }

  void make_groups() {
    std::vector<size_t> group_of(core_.buffers.size());
    for (size_t i = 0; i < core_.buffers.size(); ++i) {
      const isa::Buffer& buffer = core_.buffers[i];
      const size_t leader = find(i);
      if (leader == i) {
        group_of[i] = groups_.size();
        groups_.push_back({{}, lives_[i], buffer.tile.space, 0, buffer.address});
      }
    }
    for (size_t i = 0; i < core_.buffers.size(); ++i) {
      Group& group = groups_[group_of[find(i)]];
      group.buffers.push_back(i);
      group.bytes = std::max(group.bytes, core_.buffers[i].total_bytes());
    }
  }

  std::optional<Overflow> place() {
    std::vector<size_t> order(groups_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const bool fixed_a = groups_[a].address >= 0;
      const bool fixed_b = groups_[b].address >= 0;
      return fixed_a != fixed_b ? fixed_a : groups_[a].bytes > groups_[b].bytes;
    });
    std::optional<Overflow> overflow;
    std::vector<size_t> placed;
    for (size_t index : order) {
      Group& group = groups_[index];
      if (group.address < 0) {
        group.address = lowest_address(group, placed);
      }
      placed.push_back(index);
      const int64_t end = group.address + group.bytes;
      const int64_t available = target_.space(group.space).bytes;
      if (end > available && (!overflow || end - available > overflow->needed - overflow->available)) {
        overflow = Overflow{group.space, end, available};
      }
      for (size_t buffer : group.buffers) {
        core_.buffers[buffer].address = group.address;
      }
    }
    return overflow;
  }

  int64_t lowest_address(const Group& group, const std::vector<size_t>& placed) const {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t other : placed) {
      if (groups_[other].space == group.space && groups_[other].life.overlaps(group.life)) {
        taken.emplace_back(groups_[other].address, groups_[other].address + groups_[other].bytes);
      }
    }
    std::sort(taken.begin(), taken.end());
    const int64_t align = std::max<int64_t>(1, target_.space(group.space).align);
    int64_t address = 0;
    for (const auto& [begin, end] : taken) {
      if (address + group.bytes <= begin) {
        break;
      }
      address = std::max(address, round_up(end, align));
    }
    return address;
  }

  ir::Function& core_;
  const Target& target_;
  std::vector<Lifetime> lives_;
  std::vector<size_t> leader_;
  std::vector<Group> groups_;
};

void report_overflow(const ir::Function& core, const Overflow& overflow, DiagnosticSink& sink) {
  auto handle = sink.report(DiagId::BufferOverflow, core.span,
                            {std::string(spelling(overflow.space)), std::to_string(overflow.needed),
                             std::to_string(overflow.available), std::to_string(overflow.needed - overflow.available)});
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    const isa::Buffer& buffer = core.buffers[i];
    if (buffer.tile.space == overflow.space) {
      const Span span = i < core.buffer_spans.size() ? core.buffer_spans[i] : Span{};
      handle.note(span, "`" + buffer.name + "`: " + std::string(spelling(buffer.tile.dtype)) + "[" +
                            std::to_string(buffer.tile.rows) + ", " + std::to_string(buffer.tile.cols) + "] x " +
                            std::to_string(buffer.slots) + ", " + std::to_string(buffer.total_bytes()) + " bytes at " +
                            std::to_string(buffer.address));
    }
  }
}

}  // namespace

std::optional<Overflow> place_buffers(ir::Function& core, const Target& target) {
  return Planner(core, target).run();
}

PassResult plan_memory(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    const bool unplaced = std::any_of(function.buffers.begin(), function.buffers.end(),
                                      [](const isa::Buffer& buffer) { return buffer.address < 0; });
    if (function.kind != ir::FunctionKind::Core || !unplaced) {
      continue;
    }
    if (const auto overflow = place_buffers(function, context.target)) {
      report_overflow(function, *overflow, context.sink);
      return PassResult::Failed;
    }
    changed = true;
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
