// Writes composite operations in basic ones. Formulas: softmax is the max-shifted one; mean divides by the length;
// sigmoid(x) = 1 / (1 + exp(-x)); tanh(x) = 1 - 2 / (exp(2 x) + 1). Both keep their limits where exp overflows to
// infinity.
#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ScalarSide;
using ir::ValueId;

// Collects the replacement of one op. The last op of a formula takes over the original result, so no use changes.
class Formula {
 public:
  Formula(ir::Function& function, OpId original)
      : function_(function),
        operand_(function.ops[original].operands[0]),
        result_(function.ops[original].results[0]),
        axis_(function.ops[original].axis),
        spans_(function.ops[original].spans) {}

  ValueId operand() const { return operand_; }
  std::vector<OpId> finish() { return std::move(ops_); }

  ValueId unary(OpKind kind, ValueId x, bool last = false) { return add(kind, {x}, {}, ScalarSide::None, x, last); }
  ValueId binary(OpKind kind, ValueId x, ValueId y, bool last = false) {
    return add(kind, {x, y}, {}, ScalarSide::None, x, last);
  }
  ValueId scalar(OpKind kind, ValueId x, ExprId value, bool last = false) {
    return add(kind, {x}, {value}, ScalarSide::Right, x, last);
  }
  ValueId reduce(OpKind kind, ValueId x, bool last = false) {
    const ValueId value = add(kind, {x}, {}, ScalarSide::None, x, last);
    if (!last) {
      function_.values[value].type.dims[static_cast<size_t>(axis_)] = function_.exprs.integer(1);
    }
    return value;
  }
  ExprId real(double value) { return function_.exprs.real(value); }

  // The length of the reduced axis, as a scalar for float arithmetic.
  ExprId axis_length() {
    const ExprId length = function_.type(operand_).dims[static_cast<size_t>(axis_)];
    const auto constant = function_.exprs.constant(length);
    return constant ? real(static_cast<double>(*constant)) : function_.exprs.mul(length, real(1.0));
  }

 private:
  ValueId add(OpKind kind, std::vector<ValueId> operands, std::vector<ExprId> exprs, ScalarSide side, ValueId like,
              bool last) {
    Op op;
    op.kind = kind;
    op.operands = std::move(operands);
    op.exprs = std::move(exprs);
    op.scalar_side = side;
    op.axis = ir::op_info(kind).shape == ir::OpShape::Reduce ? axis_ : 0;
    op.spans = spans_;
    const ir::Type type = function_.type(like);
    const ValueId value = last ? result_ : function_.add_value(type, "");
    op.results = {value};
    ops_.push_back(make_op(function_, std::move(op)));
    return value;
  }

  ir::Function& function_;
  ValueId operand_;
  ValueId result_;
  int axis_;
  std::vector<Span> spans_;
  std::vector<OpId> ops_;
};

void sigmoid(Formula& f) {
  const ValueId e = f.unary(OpKind::Exp, f.scalar(OpKind::Mul, f.operand(), f.real(-1.0)));
  f.unary(OpKind::Recip, f.scalar(OpKind::Add, e, f.real(1.0)), true);
}

void tanh(Formula& f) {
  const ValueId e = f.unary(OpKind::Exp, f.scalar(OpKind::Mul, f.operand(), f.real(2.0)));
  const ValueId r = f.unary(OpKind::Recip, f.scalar(OpKind::Add, e, f.real(1.0)));
  f.scalar(OpKind::Add, f.scalar(OpKind::Mul, r, f.real(-2.0)), f.real(1.0), true);
}

void softmax(Formula& f) {
  const ValueId shifted = f.binary(OpKind::Sub, f.operand(), f.reduce(OpKind::ReduceMax, f.operand()));
  const ValueId e = f.unary(OpKind::Exp, shifted);
  f.binary(OpKind::Div, e, f.reduce(OpKind::Sum, e), true);
}

void mean(Formula& f) {
  f.scalar(OpKind::Div, f.reduce(OpKind::Sum, f.operand()), f.axis_length(), true);
}

}  // namespace

PassResult decompose(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    rewrite_region(function, function.body, [&](OpId id) -> std::vector<OpId> {
      const OpKind kind = function.ops[id].kind;
      void (*formula)(Formula&) = kind == OpKind::Sigmoid   ? sigmoid
                                  : kind == OpKind::Tanh    ? tanh
                                  : kind == OpKind::Softmax ? softmax
                                  : kind == OpKind::Mean    ? mean
                                                            : nullptr;
      if (formula == nullptr) {
        return {id};
      }
      changed = true;
      Formula f(function, id);
      formula(f);
      return f.finish();
    });
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
