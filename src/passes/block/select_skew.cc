// Selection, loops of the cube core that send a tile to the vector lanes and wait for what they make of it. In order,
// both kinds of core would take turns. So the loop runs a few iterations longer, and its first stage, what does not
// depend on an answer, works for a later iteration than its second:
//
//   for c in 0..n + 1 {
//       if c < n  { ... push s, product of iteration c ... }
//       if c >= 1 { pop p, ...; ... product of iteration c - 1 ... }
//   }
#include <algorithm>

#include "src/passes/block/selector.h"

namespace pto::passes {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

bool Selector::contains(OpId id, const std::function<bool(OpId)>& what) const {
  if (what(id)) {
    return true;
  }
  const Op& op = kernel_.ops[id];
  return std::any_of(op.regions.begin(), op.regions.end(), [&](ir::RegionId region) {
    const auto& ops = kernel_.regions[region].ops;
    return std::any_of(ops.begin(), ops.end(), [&](OpId inner) { return contains(inner, what); });
  });
}

std::optional<Selector::Stages> Selector::stages_of(const Op& loop) const {
  if (!plan_.mixed() || side_ != CoreKind::Cube ||
      std::any_of(loop.operands.begin(), loop.operands.end(), [&](ValueId init) { return mine(init); })) {
    return std::nullopt;
  }
  auto pushes = [&](OpId id) { return plan_.crossings.count(id) != 0 && mine(kernel_.ops[id].operands[0]); };
  auto pops = [&](OpId id) { return plan_.crossings.count(id) != 0 && mine(kernel_.ops[id].results[0]); };
  std::vector<OpId> ops;
  for (OpId id : kernel_.regions[loop.regions[0]].ops) {
    if (mine(id) && kernel_.ops[id].kind != OpKind::Let && kernel_.ops[id].kind != OpKind::Yield) {
      ops.push_back(id);
    }
  }
  auto uses_result = [&](OpId user, OpId def) {
    const auto& results = kernel_.ops[def].results;
    return std::any_of(results.begin(), results.end(), [&](ValueId v) { return mentions(user, v); });
  };
  std::set<OpId> answer;
  for (OpId id : ops) {
    if (contains(id, pops) ||
        std::any_of(answer.begin(), answer.end(), [&](OpId def) { return uses_result(id, def); })) {
      answer.insert(id);
    }
  }
  // What only the second stage needs is done there.
  for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
    const bool makes_tiles = !kernel_.ops[*it].results.empty() && !contains(*it, pushes);
    bool asked = false;
    bool answered = false;
    for (OpId user : ops) {
      if (uses_result(user, *it)) {
        (answer.count(user) != 0 ? answered : asked) = true;
      }
    }
    if (makes_tiles && answered && !asked) {
      answer.insert(*it);
    }
  }
  Stages stages;
  for (OpId id : ops) {
    (answer.count(id) != 0 ? stages.answer : stages.ask).push_back(id);
  }
  const bool asks = std::any_of(stages.ask.begin(), stages.ask.end(), [&](OpId id) { return contains(id, pushes); });
  const bool crosses = std::any_of(stages.ask.begin(), stages.ask.end(), [&](OpId def) {
    return std::any_of(stages.answer.begin(), stages.answer.end(), [&](OpId user) { return uses_result(user, def); });
  });
  // A first stage that stores must stay in step with the second.
  const bool stores = std::any_of(ops.begin(), ops.end(), [&](OpId id) {
    return contains(id, [&](OpId inner) { return kernel_.ops[inner].kind == OpKind::Store; });
  });
  if (!asks || crosses || stores || stages.answer.empty()) {
    return std::nullopt;
  }
  int64_t slots = isa::kMaxRingSlots;
  for (const auto& [id, ring] : plan_.crossings) {
    const OpId crossing = id;
    if (std::any_of(stages.ask.begin(), stages.ask.end(),
                    [&](OpId op) { return contains(op, [&](OpId inner) { return inner == crossing; }); })) {
      slots = std::min(slots, plan_.rings[ring.index()].slots);
    }
  }
  stages.distance = std::max<int64_t>(1, slots - 1);
  return stages;
}

bool Selector::skewed_loop(const Op& loop, const Stages& stages) {
  const ir::RegionId outside = region_;
  const Rotation outer = rotation_;
  const ExprId lo = expr(loop.exprs[0]);
  const ExprId step = expr(loop.exprs[2]);
  const ExprId trip = exprs().ceildiv(exprs().sub(expr(loop.exprs[1]), lo), step);
  const ExprId distance = exprs().integer(stages.distance);
  Symbol symbol = kernel_.symbols[loop.syms[0].index()];
  symbol.name = fresh_symbol(symbol.name + "_i");
  const SymId counter = core_.add_symbol(symbol);
  const ExprId now = exprs().symbol(counter);
  enter_loop(counter, exprs().add(trip, distance), loop.spans);
  const ir::RegionId body = region_;
  bool ok = true;
  for (const bool asking : {true, false}) {
    const ExprId iteration = asking ? now : exprs().sub(now, distance);
    region_ = body;
    region_ = add_branch(asking ? exprs().make(ExprOp::Lt, now, trip) : exprs().make(ExprOp::Le, distance, now),
                         loop.spans)[0];
    rotation_ = {iteration, std::max<int64_t>(1, loop.pipeline)};
    let(loop.syms[0], exprs().add(lo, exprs().mul(iteration, step)), loop.spans);
    const std::vector<OpId>& mine_now = asking ? stages.ask : stages.answer;
    for (OpId id : kernel_.regions[loop.regions[0]].ops) {
      const bool here =
          kernel_.ops[id].kind == OpKind::Let || std::find(mine_now.begin(), mine_now.end(), id) != mine_now.end();
      ok = ok && (!here || (statement(id) && free_behind(id)));
    }
  }
  region_ = outside;
  rotation_ = outer;
  return ok;
}

}  // namespace pto::passes
