// The pool: interning, import, type questions. Simplification is expr_simplify.cc, evaluation expr_eval.cc, text
// expr_print.cc.
#include "pto/expr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "pto/result.h"
#include "src/support/expr_ops.h"

namespace pto {
namespace {

uint32_t saturating_sum(uint32_t a, uint32_t b) {
  const uint32_t sum = a + b;
  return sum < a ? std::numeric_limits<uint32_t>::max() : sum;
}

uint64_t bits_of(double value) {
  return std::bit_cast<uint64_t>(value);
}

// One NaN, so that equal text is an equal node.
double canonical(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

}  // namespace

ExprId ExprPool::integer(int64_t value) {
  ExprNode node;
  node.op = ExprOp::Int;
  node.value = value;
  return intern(node);
}

ExprId ExprPool::real(double value) {
  ExprNode node;
  node.op = ExprOp::Float;
  node.fvalue = canonical(value);
  return intern(node);
}

ExprId ExprPool::symbol(SymId sym) {
  PTO_CHECK(sym.valid(), "an expression of no symbol");
  ExprNode node;
  node.op = ExprOp::Sym;
  node.sym = sym;
  return intern(node);
}

ExprId ExprPool::leaf(ExprOp op) {
  PTO_CHECK(op == ExprOp::BlockIndex || op == ExprOp::BlockCount || op == ExprOp::LaneIndex, "not a leaf of its own");
  ExprNode node;
  node.op = op;
  return intern(node);
}

void ExprPool::mark_real(SymId sym) {
  PTO_CHECK(sym.valid(), "no symbol to mark");
  if (real_symbols_.size() <= sym.index()) {
    real_symbols_.resize(sym.index() + size_t{1});
  }
  real_symbols_[sym.index()] = 1;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const ExprNode& node = nodes_[ExprId(static_cast<uint32_t>(i))];
    if (node.op == ExprOp::Sym && node.sym == sym) {
      real_[i] = 1;
    }
  }
}

ExprId ExprPool::make(ExprOp op, ExprId a, ExprId b) {
  PTO_CHECK(!is_leaf(op) && a.index() < nodes_.size() && b.index() < nodes_.size(), "operands of another pool");
  const ExprId simpler = simplify(*this, op, a, b);
  if (simpler.valid()) {
    return simpler;
  }
  ExprNode node;
  node.op = op;
  node.a = a;
  node.b = b;
  return intern(node);
}

ExprId ExprPool::append_raw(const ExprNode& node) {
  if (!is_leaf(node.op)) {
    PTO_CHECK(node.a.index() < nodes_.size() && node.b.index() < nodes_.size(), "operands that come later");
  }
  return add_node(node);
}

ExprId ExprPool::intern(const ExprNode& node) {
  const Key key{static_cast<int>(node.op), node.a.index(), node.op == ExprOp::Sym ? node.sym.index() : node.b.index(),
                node.value, bits_of(node.fvalue)};
  const auto found = index_.find(key);
  return found != index_.end() ? found->second : add_node(node);
}

ExprId ExprPool::add_node(const ExprNode& node) {
  PTO_CHECK(nodes_.size() < std::numeric_limits<uint32_t>::max() - 1, "too many expressions");
  bool real = node.op == ExprOp::Float || node.op == ExprOp::Div;
  uint32_t size = 1;
  if (node.op == ExprOp::Sym) {
    real = node.sym.index() < real_symbols_.size() && real_symbols_[node.sym.index()] != 0;
  } else if (!is_leaf(node.op)) {
    real = real || (follows_operands(node.op) && (known_real(node.a) || known_real(node.b)));
    size = saturating_sum(1, saturating_sum(tree_size(node.a), tree_size(node.b)));
  }
  real_.push_back(real ? 1 : 0);
  tree_sizes_.push_back(size);
  const ExprId id = nodes_.add(node);
  // The first of equal nodes stands for all: a file may have an expression twice.
  index_.emplace(Key{static_cast<int>(node.op), node.a.index(),
                     node.op == ExprOp::Sym ? node.sym.index() : node.b.index(), node.value, bits_of(node.fvalue)},
                 id);
  return id;
}

std::optional<int64_t> ExprPool::constant(ExprId id) const {
  const ExprNode& node = nodes_[id];
  return node.op == ExprOp::Int ? std::optional(node.value) : std::nullopt;
}

// Operands have lower ids than their users, so ascending ids are an order of evaluation.
std::vector<ExprId> ExprPool::nodes_of(ExprId id) const {
  std::vector<ExprId> found;
  if (tree_size(id) <= kSmallTree) {
    found.push_back(id);
    for (size_t i = 0; i < found.size(); ++i) {
      const ExprNode& node = nodes_[found[i]];
      if (!is_leaf(node.op)) {
        found.push_back(node.a);
        found.push_back(node.b);
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  std::vector<bool> used(id.index() + size_t{1});
  used[id.index()] = true;
  for (uint32_t i = id.index() + 1; i-- > 0;) {
    if (!used[i]) {
      continue;
    }
    found.push_back(ExprId(i));
    const ExprNode& node = nodes_[ExprId(i)];
    if (!is_leaf(node.op)) {
      used[node.a.index()] = true;
      used[node.b.index()] = true;
    }
  }
  std::reverse(found.begin(), found.end());
  return found;
}

bool ExprPool::is_real(ExprId id, const std::vector<Symbol>& symbols) const {
  const std::vector<ExprId> order = nodes_of(id);
  std::vector<bool> real(order.size());
  const auto real_of = [&](ExprId operand) {
    return real[static_cast<size_t>(std::lower_bound(order.begin(), order.end(), operand) - order.begin())];
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const ExprNode& node = nodes_[order[i]];
    if (node.op == ExprOp::Sym) {
      real[i] = node.sym.index() < symbols.size() && is_float(symbols[node.sym.index()].dtype);
    } else if (follows_operands(node.op)) {
      real[i] = real_of(node.a) || real_of(node.b);
    } else {
      real[i] = node.op == ExprOp::Float || node.op == ExprOp::Div;
    }
  }
  return real.back();
}

// Left to right, operands first: the order depends on what the expression is, not on how the pool came to hold it.
std::vector<ExprId> ExprPool::post_order(ExprId id) const {
  std::vector<ExprId> order;
  std::vector<bool> seen(nodes_.size(), false);
  std::vector<std::pair<ExprId, bool>> work = {{id, false}};
  while (!work.empty()) {
    const auto [at, operands_done] = work.back();
    work.pop_back();
    if (operands_done) {
      order.push_back(at);
      continue;
    }
    if (seen[at.index()]) {
      continue;
    }
    seen[at.index()] = true;
    work.emplace_back(at, true);
    const ExprNode& node = nodes_[at];
    for (ExprId operand : {node.b, node.a}) {
      if (operand.valid()) {
        work.emplace_back(operand, false);
      }
    }
  }
  return order;
}

ExprId ExprPool::import(const ExprPool& from, ExprId id, const std::function<ExprId(SymId)>& map) {
  std::map<ExprId, ExprId> copies;
  for (ExprId part : from.post_order(id)) {
    const ExprNode node = from[part];
    switch (node.op) {
      case ExprOp::Int:
        copies[part] = integer(node.value);
        break;
      case ExprOp::Float:
        copies[part] = real(node.fvalue);
        break;
      case ExprOp::Sym:
        copies[part] = map(node.sym);
        break;
      case ExprOp::BlockIndex:
      case ExprOp::BlockCount:
      case ExprOp::LaneIndex:
        copies[part] = leaf(node.op);
        break;
      default:
        copies[part] = make(node.op, copies.at(node.a), copies.at(node.b));
    }
  }
  return copies.at(id);
}

void ExprPool::collect_symbols(ExprId id, std::vector<SymId>& out) const {
  for (const ExprId part : post_order(id)) {
    const ExprNode& node = nodes_[part];
    if (node.op == ExprOp::Sym && std::find(out.begin(), out.end(), node.sym) == out.end()) {
      out.push_back(node.sym);
    }
  }
}

}  // namespace pto
