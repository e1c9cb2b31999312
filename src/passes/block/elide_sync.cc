// Drops surplus flags. insert-sync reasons region by region; what a flag inside a nested loop already orders for the
// region around it, it does not see. Here each flag is taken out in turn and stays out if the prover is still content.
// A needed flag costs little to try: the prover stops at the first race.
#include <algorithm>
#include <map>
#include <tuple>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_proof.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;

// The flags that an event expression stands for: `i % 2 + 2` is the ids 2 and 3.
std::pair<int64_t, int64_t> id_range(const ir::Function& core, ExprId event) {
  const ExprPool& exprs = core.exprs;
  if (const auto constant = exprs.constant(event)) {
    return {*constant, *constant + 1};
  }
  const ExprNode& node = exprs[event];
  const bool shifted = node.op == ExprOp::Add && exprs.constant(node.b).has_value();
  const int64_t first = shifted ? exprs.constant(node.b).value_or(0) : 0;
  const ExprNode& mod = shifted ? exprs[node.a] : node;
  return {first, first + exprs.constant(mod.b).value_or(1)};
}

bool is_flag(const Op& op) {
  return op.kind == OpKind::Inst && isa::info(op.inst.opcode).format == isa::Format::Flag;
}

// One flag: its pipes and the range of its ids. Constant ids of presets and drains fall into the range of the rotating
// ones.
using FlagGroup = std::tuple<uint8_t, uint8_t, int64_t, int64_t>;

bool belongs(const ir::Function& core, const Op& op, const FlagGroup& group) {
  const auto& operands = op.inst.operands;
  const auto [first, last] = id_range(core, operands[2].a);
  return operands[0].attribute == std::get<0>(group) && operands[1].attribute == std::get<1>(group) &&
         first >= std::get<2>(group) && last <= std::get<3>(group);
}

std::vector<FlagGroup> groups_of(const ir::Function& core) {
  std::vector<FlagGroup> groups;
  for_each_op(core, [&](OpId id) {
    const Op& op = core.ops[id];
    if (is_flag(op)) {
      const auto [first, last] = id_range(core, op.inst.operands[2].a);
      groups.emplace_back(op.inst.operands[0].attribute, op.inst.operands[1].attribute, first, last);
    }
  });
  // Ranges inside of others go: they are presets and drains.
  std::vector<FlagGroup> whole;
  for (const FlagGroup& group : groups) {
    const bool inside = std::any_of(groups.begin(), groups.end(), [&](const FlagGroup& other) {
      return other != group && std::get<0>(other) == std::get<0>(group) && std::get<1>(other) == std::get<1>(group) &&
             std::get<2>(other) <= std::get<2>(group) && std::get<3>(other) >= std::get<3>(group);
    });
    if (!inside && std::find(whole.begin(), whole.end(), group) == whole.end()) {
      whole.push_back(group);
    }
  }
  return whole;
}

}  // namespace

void elide_flags(ir::Function& core, const Target& target) {
  for (const FlagGroup& group : groups_of(core)) {
    const IdVector<ir::RegionId, ir::Region> before = core.regions;
    rewrite_region(core, core.body, [&](OpId id) -> std::vector<OpId> {
      const Op& op = core.ops[id];
      return is_flag(op) && belongs(core, op, group) ? std::vector<OpId>{} : std::vector<OpId>{id};
    });
    if (!sync_is_proved(core, target)) {
      core.regions = before;
    }
  }
}

bool compact_event_ids(ir::Function& core, int limit) {
  std::vector<FlagGroup> groups = groups_of(core);
  std::sort(groups.begin(), groups.end());
  std::map<std::pair<uint8_t, uint8_t>, int64_t> next;
  std::map<FlagGroup, int64_t> first;
  for (const FlagGroup& group : groups) {
    int64_t& id = next[{std::get<0>(group), std::get<1>(group)}];
    first[group] = id;
    id += std::get<3>(group) - std::get<2>(group);
    if (id > limit) {
      return false;
    }
  }
  for_each_op(core, [&](OpId id) {
    Op& op = core.ops[id];
    if (!is_flag(op)) {
      return;
    }
    for (const FlagGroup& group : groups) {
      if (!belongs(core, op, group)) {
        continue;
      }
      ExprId& event = op.inst.operands[2].a;
      const int64_t shift = first[group] - std::get<2>(group);
      event = core.exprs.add(event, core.exprs.integer(shift));
      break;
    }
  });
  return true;
}

}  // namespace pto::passes
