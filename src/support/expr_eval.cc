// Evaluation. Small trees, which is what programs have, are evaluated by recursion: fast and of bounded depth. Large
// ones node by node in order of their ids, each once, so that neither depth nor sharing can hurt.
#include <algorithm>

#include "src/support/expr_ops.h"

namespace pto {
namespace {

// `Operands` gives the value of an operand as an integer or as a float; false: it has none.
template <typename Operands>
bool integer_value(const ExprPool& pool, const ExprNode& node, const ExprEnv& env, const Operands& operands,
                   int64_t& out) {
  switch (node.op) {
    case ExprOp::Int:
      out = node.value;
      return true;
    case ExprOp::Sym:
      if (node.sym.index() >= env.ints.size()) {
        return false;
      }
      out = env.ints[node.sym.index()];
      return true;
    case ExprOp::BlockIndex:
      out = env.block_index;
      return true;
    case ExprOp::BlockCount:
      out = env.block_count;
      return true;
    case ExprOp::LaneIndex:
      out = env.lane_index;
      return true;
    case ExprOp::Float:
    case ExprOp::Div:
      return false;
    default:
      break;
  }
  if (is_comparison(node.op) && (pool.known_real(node.a) || pool.known_real(node.b))) {
    double a = 0;
    double b = 0;
    if (!operands.real(node.a, a) || !operands.real(node.b, b)) {
      return false;
    }
    out = compare_real(node.op, a, b) ? 1 : 0;
    return true;
  }
  int64_t a = 0;
  if (!operands.integer(node.a, a)) {
    return false;
  }
  if (is_logic(node.op) && (a != 0) == (node.op == ExprOp::Or)) {
    out = a != 0 ? 1 : 0;
    return true;
  }
  int64_t b = 0;
  if (!operands.integer(node.b, b)) {
    return false;
  }
  const std::optional<int64_t> value = apply_int(node.op, a, b);
  out = value.value_or(0);
  return value.has_value();
}

template <typename Operands>
bool real_value(const ExprPool& pool, const ExprNode& node, const ExprEnv& env, const Operands& operands, double& out) {
  if (node.op == ExprOp::Float) {
    out = node.fvalue;
    return true;
  }
  if (node.op == ExprOp::Sym) {
    if (node.sym.index() >= env.floats.size()) {
      return false;
    }
    out = env.floats[node.sym.index()];
    return true;
  }
  if (node.op == ExprOp::Div || follows_operands(node.op)) {
    double a = 0;
    double b = 0;
    if (!operands.real(node.a, a) || !operands.real(node.b, b)) {
      return false;
    }
    out = apply_real(node.op, a, b).value_or(0);
    return true;
  }
  int64_t value = 0;
  if (!integer_value(pool, node, env, operands, value)) {
    return false;
  }
  out = static_cast<double>(value);
  return true;
}

struct Recursive {
  const ExprPool& pool;
  const ExprEnv& env;
  bool integer(ExprId id, int64_t& out) const { return integer_value(pool, pool[id], env, *this, out); }
  bool real(ExprId id, double& out) const { return real_value(pool, pool[id], env, *this, out); }
};

// Both values of every node: which of the two a user asks for depends on the user.
class Tabulated {
 public:
  Tabulated(const ExprPool& pool, ExprId root, const ExprEnv& env) : order_(pool.nodes_of(root)), rows_(order_.size()) {
    for (size_t i = 0; i < order_.size(); ++i) {
      const ExprNode& node = pool[order_[i]];
      Row row;
      row.has_integer = integer_value(pool, node, env, *this, row.integer);
      row.has_real = real_value(pool, node, env, *this, row.real);
      rows_[i] = row;
    }
  }
  bool integer(ExprId id, int64_t& out) const {
    const Row& found = row(id);
    out = found.integer;
    return found.has_integer;
  }
  bool real(ExprId id, double& out) const {
    const Row& found = row(id);
    out = found.real;
    return found.has_real;
  }

 private:
  struct Row {
    int64_t integer = 0;
    double real = 0;
    bool has_integer = false;
    bool has_real = false;
  };
  const Row& row(ExprId id) const {
    return rows_[static_cast<size_t>(std::lower_bound(order_.begin(), order_.end(), id) - order_.begin())];
  }
  std::vector<ExprId> order_;
  std::vector<Row> rows_;
};

}  // namespace

std::optional<int64_t> ExprPool::evaluate(ExprId id, const ExprEnv& env) const {
  int64_t value = 0;
  const bool ok = tree_size(id) <= kSmallTree ? Recursive{*this, env}.integer(id, value)
                                              : Tabulated(*this, id, env).integer(id, value);
  return ok ? std::optional(value) : std::nullopt;
}

std::optional<double> ExprPool::evaluate_real(ExprId id, const ExprEnv& env) const {
  double value = 0;
  const bool ok =
      tree_size(id) <= kSmallTree ? Recursive{*this, env}.real(id, value) : Tabulated(*this, id, env).real(id, value);
  return ok ? std::optional(value) : std::nullopt;
}

}  // namespace pto
