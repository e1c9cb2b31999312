// Drops surplus flags. insert-sync reasons region by region; what a flag inside a nested loop already orders for the
// region around it, it does not see. Here each flag is taken out in turn and stays out if the prover is still content.
// A needed flag costs little to try: the prover stops at the first race.
#include <algorithm>
#include <map>
#include <tuple>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_proof.h"
#include "src/passes/block/sync_units.h"

namespace pto::passes {

using ir::Op;
using ir::OpId;

void elide_flags(ir::Function& core, const Target& target, int64_t max_steps) {
  std::vector<bool> without(core.ops.size());
  SyncProver prover(core, target);
  bool any = false;
  for (const SyncUnit& unit : sync_units(core)) {
    if (max_steps <= 0) {
      break;
    }
    auto leave_out = [&](bool out) {
      for (OpId id : unit.ops) {
        without[id.index()] = out;
      }
    };
    leave_out(true);
    ProofOptions options;
    options.stop_at_first = true;
    options.max_steps = max_steps;
    const SyncProof proof = prover.prove(options, without);
    max_steps -= proof.steps;
    if (proof.proved()) {
      any = true;
    } else {
      leave_out(false);
    }
  }
  if (any) {
    rewrite_region(core, core.body, [&](OpId id) -> std::vector<OpId> {
      return without[id.index()] ? std::vector<OpId>{} : std::vector<OpId>{id};
    });
  }
}

bool compact_event_ids(ir::Function& core, int limit) {
  // Ids that one expression covers stay together; presets and drains name parts of them.
  using Range = std::tuple<uint8_t, uint8_t, int64_t, int64_t>;
  std::vector<Range> ranges;
  for_each_op(core, [&](OpId id) {
    const Op& op = core.ops[id];
    if (is_flag(op)) {
      const auto [first, last] = event_ids_of(core, op.inst.operands[2].a);
      ranges.emplace_back(op.inst.operands[0].attribute, op.inst.operands[1].attribute, first, last);
    }
  });
  std::sort(ranges.begin(), ranges.end());
  std::map<std::tuple<uint8_t, uint8_t, int64_t>, int64_t> shift;  // by pipes and old id
  std::map<std::pair<uint8_t, uint8_t>, int64_t> next;
  for (size_t i = 0; i < ranges.size();) {
    const auto [src, dst, first, end] = ranges[i];
    int64_t last = end;
    for (; i < ranges.size() && std::get<0>(ranges[i]) == src && std::get<1>(ranges[i]) == dst &&
           std::get<2>(ranges[i]) < last;
         ++i) {
      last = std::max(last, std::get<3>(ranges[i]));
    }
    int64_t& id = next[{src, dst}];
    for (int64_t event = first; event < last; ++event) {
      shift[{src, dst, event}] = id - first;
    }
    id += last - first;
    if (id > limit) {
      return false;
    }
  }
  for_each_op(core, [&](OpId id) {
    Op& op = core.ops[id];
    if (is_flag(op)) {
      ExprId& event = op.inst.operands[2].a;
      const auto [first, last] = event_ids_of(core, event);
      event = core.exprs.add(
          event, core.exprs.integer(shift.at({op.inst.operands[0].attribute, op.inst.operands[1].attribute, first})));
    }
  });
  return true;
}

}  // namespace pto::passes
