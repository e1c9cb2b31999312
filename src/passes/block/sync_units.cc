#include "src/passes/block/sync_units.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;

using PipePair = std::pair<uint8_t, uint8_t>;
constexpr int64_t kMaxIds = 1024;  // wider ranges are not told apart

class Grouping {
 public:
  explicit Grouping(const ir::Function& core) : core_(core) {
    for_each_op(core, [&](OpId id) {
      const Op& op = core.ops[id];
      if (is_flag(op) || is_barrier(op)) {
        index_[id] = ops_.size();
        ops_.push_back(id);
        parent_.push_back(parent_.size());
      }
    });
    std::map<Flag, size_t> open;
    region(core.body);
    join_the_rest();
  }

  std::vector<SyncUnit> units() {
    std::map<size_t, size_t> unit_of;
    std::vector<SyncUnit> units;
    for (size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = core_.ops[ops_[i]];
      const auto [at, fresh] = unit_of.emplace(root(i), units.size());
      if (fresh) {
        SyncUnit unit;
        unit.barrier = is_barrier(op);
        unit.src = static_cast<isa::Pipe>(op.inst.operands[0].attribute);
        unit.dst = unit.barrier ? unit.src : static_cast<isa::Pipe>(op.inst.operands[1].attribute);
        if (!unit.barrier) {
          std::tie(unit.first_id, unit.last_id) = event_ids_of(core_, op.inst.operands[2].a);
        }
        units.push_back(unit);
      }
      SyncUnit& unit = units[at->second];
      if (!unit.barrier) {
        const auto [first, last] = event_ids_of(core_, op.inst.operands[2].a);
        unit.first_id = std::min(unit.first_id, first);
        unit.last_id = std::max(unit.last_id, last);
      }
      unit.ops.push_back(ops_[i]);
    }
    return units;
  }

 private:
  using Flag = std::pair<PipePair, int64_t>;

  static bool is_barrier(const Op& op) {
    return op.kind == OpKind::Inst && isa::info(op.inst.opcode).format == isa::Format::Barrier;
  }
  static PipePair pair_of(const Op& op) { return {op.inst.operands[0].attribute, op.inst.operands[1].attribute}; }
  size_t root(size_t i) {
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }

  // Matches sets with the waits right behind them. Returns the flags that the region mentions.
  std::set<Flag> region(ir::RegionId id) {
    std::set<Flag> mentioned;
    std::map<Flag, size_t> open;  // a set that nothing followed yet
    for (OpId op_id : core_.regions[id].ops) {
      const Op& op = core_.ops[op_id];
      for (ir::RegionId inner : op.regions) {
        for (const Flag& flag : region(inner)) {
          open.erase(flag);
          mentioned.insert(flag);
        }
      }
      if (!is_flag(op)) {
        continue;
      }
      const size_t me = index_.at(op_id);
      const auto [first, last] = event_ids_of(core_, op.inst.operands[2].a);
      std::optional<size_t> partner;
      for (int64_t event = first; event < last; ++event) {
        const Flag flag{pair_of(op), event};
        mentioned.insert(flag);
        const auto it = open.find(flag);
        partner = it == open.end() || (event > first && partner != it->second) ? std::nullopt
                                                                               : std::optional<size_t>(it->second);
        if (it != open.end()) {
          open.erase(it);
        }
        if (op.inst.opcode == isa::Opcode::SetFlag) {
          open[flag] = me;
        }
      }
      if (op.inst.opcode == isa::Opcode::WaitFlag && partner &&
          core_.ops[ops_[*partner]].inst.operands[2].a == op.inst.operands[2].a) {
        parent_[me] = root(*partner);
        matched_.insert(me);
        matched_.insert(*partner);
      }
    }
    return mentioned;
  }

  void join_the_rest() {
    std::map<Flag, size_t> owner;
    for (size_t i = 0; i < ops_.size(); ++i) {
      const Op& op = core_.ops[ops_[i]];
      if (!is_flag(op) || matched_.count(i) != 0) {
        continue;
      }
      const auto [first, last] = event_ids_of(core_, op.inst.operands[2].a);
      for (int64_t event = first; event < last; ++event) {
        const auto [it, fresh] = owner.emplace(Flag{pair_of(op), event}, i);
        if (!fresh) {
          const size_t a = root(it->second);
          const size_t b = root(i);
          parent_[std::max(a, b)] = std::min(a, b);
        }
      }
    }
  }

  const ir::Function& core_;
  std::vector<OpId> ops_;
  std::map<OpId, size_t> index_;
  std::vector<size_t> parent_;
  std::set<size_t> matched_;
};

}  // namespace

bool is_flag(const Op& op) {
  return op.kind == OpKind::Inst && isa::info(op.inst.opcode).format == isa::Format::Flag;
}

std::pair<int64_t, int64_t> event_ids_of(const ir::Function& core, ExprId event) {
  const ExprPool& exprs = core.exprs;
  if (const auto constant = exprs.constant(event)) {
    return {*constant, *constant < kMaxIds ? *constant + 1 : *constant};
  }
  const ExprNode& node = exprs[event];
  const bool shifted = node.op == ExprOp::Add && exprs.constant(node.b).has_value();
  const int64_t first = shifted ? exprs.constant(node.b).value_or(0) : 0;
  const ExprNode& mod = shifted ? exprs[node.a] : node;
  const auto ids = mod.op == ExprOp::Mod ? exprs.constant(mod.b) : std::nullopt;
  if (!ids || *ids <= 0 || first < 0 || first > kMaxIds || *ids > kMaxIds) {
    return {0, kMaxIds};  // any
  }
  return {first, first + *ids};
}

std::vector<SyncUnit> sync_units(const ir::Function& core) {
  return Grouping(core).units();
}

}  // namespace pto::passes
