#include "src/passes/block/sync_values.h"

#include <algorithm>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

constexpr int64_t kNear = 8;  // below, counters are told apart where nothing repeats

}  // namespace

SyncValues::SyncValues(const ir::Function& core)
    : core_(core),
      needs_(core.exprs.size()),
      knowable_(core.symbols.size()),
      known_(core.symbols.size()),
      ints_(core.symbols.size()) {
  std::map<ExprId, int> asked;
  for_each_op(core, [&](ir::OpId id) {
    const ir::Op& op = core.ops[id];
    auto look = [&](ExprId expr) { lanes_differ_ = lanes_differ_ || (expr.valid() && needs(expr).lane); };
    if (op.kind == ir::OpKind::Let || op.kind == ir::OpKind::If || op.kind == ir::OpKind::For) {
      for (ExprId expr : op.exprs) {
        look(expr);
      }
    }
    if (op.kind == ir::OpKind::Let) {
      knowable_[op.syms[0].index()] = can_be_known(op.exprs[0]);
    } else if (op.kind == ir::OpKind::For) {
      knowable_[op.syms[0].index()] = can_be_known(op.exprs[0]) && can_be_known(op.exprs[2]);
    } else if (op.kind == ir::OpKind::Inst) {
      for (const isa::Operand& operand : op.inst.operands) {
        look(isa::is_tile(operand.kind)                ? operand.slot
             : operand.kind == isa::OperandKind::Event ? operand.a
                                                       : ExprId());
      }
    }
    if (op.kind == ir::OpKind::If && !core.exprs.constant(op.exprs[0]) && !needs(op.exprs[0]).lane) {
      const auto& symbols = needs(op.exprs[0]).symbols;
      const bool of_arguments = std::all_of(symbols.begin(), symbols.end(), [&](SymId symbol) {
        const SymKind kind = core.symbols[symbol.index()].kind;
        return kind == SymKind::Dim || kind == SymKind::Scalar;
      });
      if (of_arguments && ++asked[op.exprs[0]] == 2 && fixed_.size() < kMaxFixed) {
        fixed_.emplace(op.exprs[0], fixed_.size());
      }
    }
  });
}

void SyncValues::reset(int64_t lane) {
  lane_ = lane;
  std::fill(known_.begin(), known_.end(), std::nullopt);
}

// What the value of an expression depends on; found once for each.
const SyncValues::Needs& SyncValues::needs(ExprId expr) {
  std::optional<Needs>& known = needs_[expr.index()];
  if (!known) {
    Needs result;
    core_.exprs.collect_symbols(expr, result.symbols);
    for (ExprId node : core_.exprs.nodes_of(expr)) {
      const ExprOp op = core_.exprs[node].op;
      result.block = result.block || op == ExprOp::BlockIndex || op == ExprOp::BlockCount;
      result.lane = result.lane || op == ExprOp::LaneIndex;
    }
    known = std::move(result);
  }
  return *known;
}

bool SyncValues::can_be_known(ExprId expr) {
  const Needs& needed = needs(expr);
  return !needed.block && std::all_of(needed.symbols.begin(), needed.symbols.end(),
                                      [&](SymId symbol) { return knowable_[symbol.index()]; });
}

std::optional<int64_t> SyncValues::value(ExprId expr) {
  if (const auto constant = core_.exprs.constant(expr)) {
    return constant;
  }
  const Needs& needed = needs(expr);
  if (needed.block || far(expr)) {
    return std::nullopt;
  }
  for (SymId sym : needed.symbols) {
    const auto& known = known_[sym.index()];
    if (!known) {
      return std::nullopt;
    }
    ints_[sym.index()] = *known;
  }
  ExprEnv env;
  env.ints = ints_;
  env.lane_index = lane_;
  return core_.exprs.evaluate(expr, env);
}

// Does it depend on a counter in a way that nothing repeats, and has that counter come too far to look at each value?
bool SyncValues::far(ExprId expr) const {
  const auto wild = wild_.empty() ? wild_.end() : wild_.find(expr);
  return wild != wild_.end() && std::any_of(wild->second.begin(), wild->second.end(), [&](SymId counter) {
           return known_[counter.index()].value_or(kNear) >= kNear;
         });
}

std::string SyncValues::unknown_part(ExprId expr) {
  const Needs& needed = needs(expr);
  if (needed.block) {
    return "depends on the block";
  }
  for (SymId sym : needed.symbols) {
    if (!known_[sym.index()]) {
      return "depends on `" + core_.symbols[sym.index()].name + "`";
    }
  }
  return far(expr) ? "does not repeat as the loop goes on" : "has no value";
}

const CounterUse& SyncValues::use_of(ir::OpId loop) {
  const auto known = uses_.find(loop);
  if (known != uses_.end()) {
    return known->second;
  }
  CounterUse& use =
      uses_.emplace(loop, counter_use(core_, core_.ops[loop], [&](ExprId expr) { return can_be_known(expr); }))
          .first->second;
  for (ExprId expr : use.wild) {
    wild_[expr].push_back(core_.ops[loop].syms[0]);
    use.exact = std::max(use.exact, kNear);
  }
  return use;
}

std::optional<size_t> SyncValues::fixed(ExprId condition) const {
  const auto it = fixed_.find(condition);
  return it == fixed_.end() ? std::nullopt : std::optional<size_t>(it->second);
}

}  // namespace pto::passes
