#include "src/passes/block/sync_counter.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;

constexpr int64_t kMaxPeriod = 4096;
constexpr int64_t kMaxExact = 4096;
constexpr int64_t kMaxFactor = int64_t{1} << 31;

// From the counter's value `from` on: Constant: does not change. Periodic: value(c + period) = value(c).
// Growing: value(c + period) = value(c) + growth. Wild: nothing is known.
struct Shape {
  enum class Kind : uint8_t { Constant, Periodic, Growing, Wild } kind = Kind::Constant;
  int64_t period = 1;
  int64_t from = 0;
  int64_t growth = 0;
  std::optional<int64_t> offset;  // Growing: the value is growth * c + offset, of every c
};
using Kind = Shape::Kind;

Shape wild() {
  return {Kind::Wild, 1, 0, 0, std::nullopt};
}

Shape checked(Shape shape) {
  const bool too_much = shape.period > kMaxPeriod || shape.from > kMaxExact || shape.growth > kMaxFactor ||
                        shape.growth < -kMaxFactor ||
                        (shape.offset && (*shape.offset > kMaxFactor || *shape.offset < -kMaxFactor));
  return too_much ? wild() : shape;
}

Shape periodic(int64_t period, int64_t from) {
  return checked({Kind::Periodic, period, from, 0, std::nullopt});
}

class Analysis {
 public:
  Analysis(const ir::Function& core, SymId counter) : core_(core) {
    Shape shape;
    shape.kind = Kind::Growing;
    shape.growth = 1;
    shape.offset = 0;
    symbols_[counter] = shape;
  }

  void let(SymId sym, ExprId expr) {
    const Shape& shape = of(expr);
    if (shape.kind != Kind::Constant) {
      symbols_[sym] = shape;
    }
  }
  // An inner loop's counter: known on its own, however its bounds depend on this one.
  void inner_counter(SymId sym) { symbols_.erase(sym); }

  const Shape& of(ExprId expr) {
    const auto known = shapes_.find(expr);
    if (known != shapes_.end()) {
      return known->second;
    }
    for (ExprId node : core_.exprs.post_order(expr)) {
      if (shapes_.find(node) == shapes_.end()) {
        shapes_.emplace(node, checked(compute(core_.exprs[node])));
      }
    }
    return shapes_.at(expr);
  }

 private:
  std::optional<int64_t> literal(ExprId expr) const { return core_.exprs.constant(expr); }

  Shape compute(const ExprNode& node) {
    if (node.op == ExprOp::Sym) {
      const auto it = symbols_.find(node.sym);
      return it == symbols_.end() ? Shape{} : it->second;
    }
    if (!node.a.valid() || !node.b.valid()) {
      return {};
    }
    const Shape a = shapes_.at(node.a);
    const Shape b = shapes_.at(node.b);
    if (a.kind == Kind::Constant && b.kind == Kind::Constant) {
      return {};
    }
    if (a.kind == Kind::Wild || b.kind == Kind::Wild) {
      return wild();
    }
    if (a.kind != Kind::Growing && b.kind != Kind::Growing) {
      return periodic(std::lcm(a.period, b.period), std::max(a.from, b.from));
    }
    switch (node.op) {
      case ExprOp::Add:
        return sum(a, b, 1, node);
      case ExprOp::Sub:
        return sum(a, b, -1, node);
      case ExprOp::Mul:
        return product(a, b, node);
      case ExprOp::FloorDiv:
      case ExprOp::CeilDiv:
        return quotient(a, node.b);
      case ExprOp::Mod:
        return remainder(a, node.b);
      case ExprOp::Min:
      case ExprOp::Max:
        return bounded(a, b, node);
      case ExprOp::Lt:
      case ExprOp::Le:
      case ExprOp::Eq:
      case ExprOp::Ne:
        return comparison(sum(a, b, -1, node), node);
      default:
        return wild();
    }
  }

  // a + sign * b
  Shape sum(const Shape& a, const Shape& b, int64_t sign, const ExprNode& node) {
    Shape out;
    out.kind = Kind::Growing;
    out.period = std::lcm(a.period, b.period);
    out.from = std::max(a.from, b.from);
    out.growth = a.growth * (out.period / a.period) + sign * b.growth * (out.period / b.period);
    auto offset = [&](const Shape& shape, ExprId expr) {
      return shape.kind == Kind::Constant ? literal(expr) : shape.kind == Kind::Growing ? shape.offset : std::nullopt;
    };
    const auto left = offset(a, node.a);
    const auto right = offset(b, node.b);
    if (left && right && out.period == 1) {
      out.offset = *left + sign * *right;
    }
    if (out.growth == 0) {
      return periodic(out.period, out.from);
    }
    return out;
  }

  Shape product(const Shape& a, const Shape& b, const ExprNode& node) {
    const auto factor = literal(a.kind == Kind::Growing ? node.b : node.a);
    const Shape& growing = a.kind == Kind::Growing ? a : b;
    if (!factor || *factor > kMaxFactor || *factor < -kMaxFactor) {
      return wild();
    }
    Shape out = checked(growing);
    out.growth *= *factor;
    if (out.offset) {
      *out.offset *= *factor;
    }
    return out.growth == 0 ? periodic(1, 0) : out;
  }

  Shape quotient(const Shape& a, ExprId divisor) {
    const auto by = literal(divisor);
    if (!by || *by <= 0 || *by > kMaxPeriod || a.kind != Kind::Growing) {
      return wild();
    }
    const int64_t times = *by / std::gcd(a.growth, *by);
    Shape out = a;
    out.period = a.period * times;
    out.growth = a.growth * times / *by;
    out.offset.reset();
    return out;
  }

  Shape remainder(const Shape& a, ExprId modulus) {
    const auto by = literal(modulus);
    if (!by || *by == 0 || *by > kMaxPeriod || *by < -kMaxPeriod || a.kind != Kind::Growing) {
      return wild();
    }
    return periodic(a.period * (std::abs(*by) / std::gcd(a.growth, *by)), a.from);
  }

  // Where growth * c + offset has passed zero for good: the smallest such counter.
  static std::optional<int64_t> passed(const Shape& line) {
    if (line.kind != Kind::Growing || !line.offset) {
      return std::nullopt;
    }
    return std::max<int64_t>(0, -*line.offset / line.growth + 2);
  }

  Shape comparison(const Shape& difference, const ExprNode&) {
    if (difference.kind == Kind::Constant || difference.kind == Kind::Periodic) {
      return difference;  // a difference that repeats
    }
    const auto at = passed(difference);
    return at ? periodic(1, std::max(*at, difference.from)) : wild();
  }

  Shape bounded(const Shape& a, const Shape& b, const ExprNode& node) {
    const auto at = passed(sum(a, b, -1, node));
    if (!at) {
      return wild();
    }
    // From there on it is the one or the other.
    const int64_t growth = sum(a, b, -1, node).growth;
    const bool is_a = (growth > 0) == (node.op == ExprOp::Max);
    Shape out = is_a ? a : b;
    out.from = std::max(out.from, *at);
    out.offset.reset();
    if (out.kind == Kind::Constant) {
      out = periodic(1, out.from);
    }
    return out;
  }

  const ir::Function& core_;
  std::map<SymId, Shape> symbols_;
  std::map<ExprId, Shape> shapes_;
};

class Scan {
 public:
  Scan(const ir::Function& core, const Op& loop, const std::function<bool(ExprId)>& matters)
      : core_(core), matters_(matters), analysis_(core, loop.syms[0]) {
    region(loop.regions[0]);
  }
  CounterUse use;

 private:
  void look(ExprId expr) {
    if (!expr.valid() || !matters_(expr)) {
      return;
    }
    const Shape& shape = analysis_.of(expr);
    const int64_t period = std::lcm(use.period, shape.period);
    if (shape.kind == Kind::Wild || shape.kind == Kind::Growing || period > kMaxPeriod) {
      use.wild.insert(expr);
      return;
    }
    use.period = period;
    use.exact = std::max(use.exact, shape.from);
  }

  void region(ir::RegionId id) {
    for (OpId op_id : core_.regions[id].ops) {
      const Op& op = core_.ops[op_id];
      switch (op.kind) {
        case OpKind::Let:
          analysis_.let(op.syms[0], op.exprs[0]);
          break;
        case OpKind::If:
          look(op.exprs[0]);
          break;
        case OpKind::For:
          for (ExprId bound : op.exprs) {
            look(bound);
          }
          analysis_.inner_counter(op.syms[0]);
          break;
        case OpKind::Inst:
          for (const isa::Operand& operand : op.inst.operands) {
            if (isa::is_tile(operand.kind)) {
              look(operand.slot);
            } else if (operand.kind == isa::OperandKind::Event) {
              look(operand.a);
            }
          }
          break;
        default:
          break;
      }
      for (ir::RegionId inner : op.regions) {
        region(inner);
      }
    }
  }

  const ir::Function& core_;
  const std::function<bool(ExprId)>& matters_;
  Analysis analysis_;
};

}  // namespace

CounterUse counter_use(const ir::Function& core, const Op& loop, const std::function<bool(ExprId)>& matters) {
  return Scan(core, loop, matters).use;
}

}  // namespace pto::passes
