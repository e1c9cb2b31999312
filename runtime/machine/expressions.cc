#include "runtime/machine/expressions.h"

#include <algorithm>
#include <bit>

#include "runtime/machine/eval.h"

namespace pto::runtime {
namespace {

bool follows_operands(ExprOp op) {
  return op == ExprOp::Add || op == ExprOp::Sub || op == ExprOp::Mul || op == ExprOp::Min || op == ExprOp::Max;
}
bool is_comparison(ExprOp op) {
  return op == ExprOp::Lt || op == ExprOp::Le || op == ExprOp::Eq || op == ExprOp::Ne;
}
bool is_leaf(ExprOp op) {
  return op == ExprOp::Int || op == ExprOp::Float || op == ExprOp::Sym || op == ExprOp::BlockIndex ||
         op == ExprOp::BlockCount || op == ExprOp::LaneIndex;
}

EvalOp integer_op(ExprOp op) {
  switch (op) {
    case ExprOp::Sub: return EvalOp::Sub;
    case ExprOp::Mul: return EvalOp::Mul;
    case ExprOp::FloorDiv: return EvalOp::FloorDiv;
    case ExprOp::CeilDiv: return EvalOp::CeilDiv;
    case ExprOp::Mod: return EvalOp::Mod;
    case ExprOp::Min: return EvalOp::Min;
    case ExprOp::Max: return EvalOp::Max;
    case ExprOp::Lt: return EvalOp::Lt;
    case ExprOp::Le: return EvalOp::Le;
    case ExprOp::Eq: return EvalOp::Eq;
    case ExprOp::Ne: return EvalOp::Ne;
    case ExprOp::And: return EvalOp::And;
    case ExprOp::Or: return EvalOp::Or;
    default: return EvalOp::Add;
  }
}

EvalOp real_op(ExprOp op) {
  switch (op) {
    case ExprOp::Sub: return EvalOp::RealSub;
    case ExprOp::Mul: return EvalOp::RealMul;
    case ExprOp::Div: return EvalOp::RealDiv;
    case ExprOp::Min: return EvalOp::RealMin;
    case ExprOp::Max: return EvalOp::RealMax;
    case ExprOp::Lt: return EvalOp::RealLt;
    case ExprOp::Le: return EvalOp::RealLe;
    case ExprOp::Eq: return EvalOp::RealEq;
    case ExprOp::Ne: return EvalOp::RealNe;
    default: return EvalOp::RealAdd;
  }
}

}  // namespace

ExpressionCompiler::ExpressionCompiler(const object::Core& core, const TaskPlan& plan, Program& out)
    : core_(core), out_(out), symbols_(core.symbols.size()), ints_(core.exprs.size()), reals_(core.exprs.size()) {
  const std::vector<SymId> fixed = fixed_symbols(core);
  fixed_.assign(core.symbols.size(), 0);
  fixed_ints_.assign(core.symbols.size(), 0);
  fixed_reals_.assign(core.symbols.size(), 0);
  for (size_t i = 0; i < fixed.size() && i < plan.ints.size(); ++i) {
    fixed_[fixed[i].index()] = 1;
    fixed_ints_[fixed[i].index()] = plan.ints[i];
    fixed_reals_[fixed[i].index()] = plan.reals[i];
  }
  real_.assign(core.exprs.size(), 0);
  for (uint32_t i = 0; i < core.exprs.size(); ++i) {
    const ExprNode& node = core.exprs[ExprId(i)];
    const bool float_symbol = node.op == ExprOp::Sym && is_float(core.symbols[node.sym.index()].dtype);
    const bool float_operands =
        follows_operands(node.op) && (real_[node.a.index()] != 0 || real_[node.b.index()] != 0);
    real_[i] = node.op == ExprOp::Float || node.op == ExprOp::Div || float_symbol || float_operands ? 1 : 0;
  }
  definers_.resize(2);
  live_ = {true, true};
  stack_ = {0, 1};
  out_.block_index = new_register(0, false);
  out_.lane_index = new_register(0, false);
}

Reg ExpressionCompiler::new_register(int64_t value, bool bad) {
  out_.registers.push_back(value);
  out_.bad.push_back(bad ? 1 : 0);
  out_.any_bad = out_.any_bad || bad;
  return static_cast<Reg>(out_.registers.size() - 1);
}

Reg ExpressionCompiler::constant(int64_t value) {
  const auto [place, added] = constants_.try_emplace(value, 0);
  if (added) {
    place->second = new_register(value, false);
  }
  return place->second;
}

ExpressionCompiler::Known ExpressionCompiler::bad_constant() { return {new_register(0, true), kConstant}; }

void ExpressionCompiler::enter_scope() { scopes_.push_back(stack_.size()); }

void ExpressionCompiler::leave_scope() {
  while (stack_.size() > scopes_.back()) {
    live_[stack_.back()] = false;
    stack_.pop_back();
  }
  scopes_.pop_back();
}

bool ExpressionCompiler::define(SymId sym, uint32_t walk_step, Reg& reg) {
  std::optional<Known>& known = symbols_[sym.index()];
  if (fixed_[sym.index()] != 0 || (known && alive(*known))) {
    return false;
  }
  const auto serial = static_cast<uint32_t>(definers_.size());
  definers_.push_back({serial, walk_step, sym, {}});
  live_.push_back(true);
  stack_.push_back(serial);
  reg = new_register(0, false);
  known = Known{reg, serial};
  return true;
}

const ExpressionCompiler::Known* ExpressionCompiler::lookup(ExprId id, bool real) const {
  const std::optional<Known>& known = (real ? reals_ : ints_)[id.index()];
  return known && alive(*known) ? &*known : nullptr;
}

std::optional<Reg> ExpressionCompiler::compile(ExprId root, bool real) {
  if (!root.valid() || root.index() >= core_.exprs.size()) {
    return std::nullopt;
  }
  // Depth first without recursion: an object's expressions may be deep.
  std::vector<std::pair<ExprId, bool>> stack{{root, real}};
  while (!stack.empty()) {
    const auto [id, as_real_value] = stack.back();
    if (lookup(id, as_real_value) != nullptr) {
      stack.pop_back();
    } else if (!visit(id, as_real_value, stack)) {
      return std::nullopt;
    }
  }
  return lookup(root, real)->reg;
}

// Computes the value of a node whose operands are known, or pushes the operands that are not.
bool ExpressionCompiler::visit(ExprId id, bool real, std::vector<std::pair<ExprId, bool>>& stack) {
  const ExprNode& node = core_.exprs[id];
  std::optional<Known>& result = (real ? reals_ : ints_)[id.index()];
  if (is_leaf(node.op)) {
    result = leaf(node, real);
    return result.has_value();
  }
  if (!real && node.op == ExprOp::Div) {
    result = bad_constant();  // a fraction where an integer is needed
    return true;
  }
  const auto known = [&](ExprId operand, bool as_real_value) {
    const Known* found = lookup(operand, as_real_value);
    if (found == nullptr) {
      stack.emplace_back(operand, as_real_value);
    }
    return found;
  };
  if (real && node.op != ExprOp::Div && !follows_operands(node.op)) {
    if (const Known* value = known(id, false)) {
      result = operation(EvalOp::ToReal, *value, *value);
    }
    return true;
  }
  const bool real_operands =
      real || (is_comparison(node.op) && (real_[node.a.index()] != 0 || real_[node.b.index()] != 0));
  const Known* a = known(node.a, real_operands);
  const Known* b = known(node.b, real_operands);
  if (a != nullptr && b != nullptr) {
    result = operation(real_operands ? real_op(node.op) : integer_op(node.op), *a, *b);
  }
  return true;
}

std::optional<ExpressionCompiler::Known> ExpressionCompiler::leaf(const ExprNode& node, bool real) {
  const auto number = [&](int64_t value) {
    return Known{constant(real ? as_bits(static_cast<double>(value)) : value), kConstant};
  };
  switch (node.op) {
    case ExprOp::Int: return number(node.value);
    case ExprOp::Float: return real ? Known{constant(as_bits(node.fvalue)), kConstant} : bad_constant();
    case ExprOp::BlockCount: return number(out_.blocks);
    case ExprOp::LaneIndex: {
      const Known index{out_.lane_index, 1};
      return real ? operation(EvalOp::ToReal, index, index) : index;
    }
    case ExprOp::BlockIndex: {
      const Known index{out_.block_index, 1};
      return real ? operation(EvalOp::ToReal, index, index) : index;
    }
    default: break;
  }
  const size_t sym = node.sym.index();
  const bool float_symbol = is_float(core_.symbols[sym].dtype);
  if (fixed_[sym] != 0) {
    if (float_symbol) {
      return real ? Known{constant(as_bits(fixed_reals_[sym])), kConstant} : bad_constant();
    }
    return number(fixed_ints_[sym]);
  }
  const std::optional<Known>& known = symbols_[sym];
  if (!known || !alive(*known)) {
    return std::nullopt;
  }
  if (float_symbol != real) {
    return real ? operation(EvalOp::ToReal, *known, *known) : bad_constant();
  }
  return known;
}

ExpressionCompiler::Known ExpressionCompiler::operation(EvalOp op, Known a, Known b) {
  if (a.definer == kConstant && b.definer == kConstant) {
    return fold(op, a, b);
  }
  if ((op == EvalOp::FloorDiv || op == EvalOp::Mod) && b.definer == kConstant && out_.bad[b.reg] == 0) {
    const int64_t divisor = out_.registers[b.reg];
    if (divisor > 0 && (divisor & (divisor - 1)) == 0) {
      b.reg = constant(op == EvalOp::Mod ? divisor - 1 : std::countr_zero(static_cast<uint64_t>(divisor)));
      op = op == EvalOp::Mod ? EvalOp::Mask : EvalOp::Shift;
    }
  }
  // Serials grow with the depth of the stack: the larger one is set last.
  const Known result{new_register(0, false), std::max(a.definer, b.definer)};
  definers_[result.definer].steps.push_back({op, result.reg, a.reg, b.reg});
  return result;
}

ExpressionCompiler::Known ExpressionCompiler::fold(EvalOp op, Known a, Known b) {
  const int64_t left = out_.registers[a.reg];
  int64_t value = 0;
  const bool good = operands_good(op, left, out_.bad[a.reg] != 0, out_.bad[b.reg] != 0);
  if (!good || !apply_eval(op, left, out_.registers[b.reg], value)) {
    return bad_constant();
  }
  return {constant(value), kConstant};
}

void ExpressionCompiler::finish() {
  for (uint32_t serial = 1; serial < definers_.size(); ++serial) {
    const Definer& definer = definers_[serial];
    EvalRange range;
    range.begin = static_cast<uint32_t>(out_.evals.size());
    out_.evals.insert(out_.evals.end(), definer.steps.begin(), definer.steps.end());
    range.end = static_cast<uint32_t>(out_.evals.size());
    (serial == 1 ? out_.start : out_.walk[definer.walk_step].evals) = range;
  }
}

}  // namespace pto::runtime
