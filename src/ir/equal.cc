// Structural equality of modules: two walks side by side that pair up values, symbols and tasks as they are defined.
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "src/ir/ir.h"

namespace pto::ir {

namespace {

bool same_bits(double a, double b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

// Is the memory of an op's result written in the text? Elsewhere it follows from the op and its operands.
bool writes_place(OpKind kind) {
  return kind == OpKind::Load || kind == OpKind::Move || kind == OpKind::Extract || kind == OpKind::Full ||
         kind == OpKind::Broadcast;
}

int64_t slot_stride(const isa::Buffer& buffer) {
  if (buffer.slots == 1) {
    return 0;
  }
  return buffer.slot_stride == 0 ? buffer.tile.bytes() : buffer.slot_stride;
}

class Comparison {
 public:
  Comparison(const Function& a, const Function& b) : a_(a), b_(b) {
    symbols_.resize(a.symbols.size());
    values_.resize(a.values.size());
    ops_.resize(a.ops.size());
  }

  bool run() {
    return a_.kind == b_.kind && a_.name == b_.name && a_.doc == b_.doc &&
           (a_.kind != FunctionKind::Core || (a_.core_kind == b_.core_kind && a_.automatic == b_.automatic)) &&
           a_.pair_cube == b_.pair_cube && a_.pair_vec == b_.pair_vec &&
           (a_.kind != FunctionKind::Pair || a_.lanes == b_.lanes) && dims() && params() && constraints() &&
           buffers() && a_.rings == b_.rings && a_.body.valid() == b_.body.valid() &&
           (!a_.body.valid() || region(a_.body, b_.body)) && tensors();
  }

 private:
  bool bind(SymId a, SymId b, bool by_name) {
    const Symbol& left = a_.symbols.at(a.index());
    const Symbol& right = b_.symbols.at(b.index());
    symbols_.at(a.index()) = b;
    return left.kind == right.kind && left.dtype == right.dtype && (!by_name || left.name == right.name);
  }

  bool dims() {
    if (a_.dims.size() != b_.dims.size()) {
      return false;
    }
    for (size_t i = 0; i < a_.dims.size(); ++i) {
      if (!bind(a_.dims[i], b_.dims[i], true)) {
        return false;
      }
    }
    return true;
  }

  bool params() {
    if (a_.params.size() != b_.params.size()) {
      return false;
    }
    for (size_t i = 0; i < a_.params.size(); ++i) {
      const Param& left = a_.params[i];
      const Param& right = b_.params[i];
      const bool defaults = left.default_value.has_value() == right.default_value.has_value() &&
                            (!left.default_value || same_bits(*left.default_value, *right.default_value));
      if (left.name != right.name || left.doc != right.doc || left.mode != right.mode || !defaults ||
          left.is_tensor() != right.is_tensor()) {
        return false;
      }
      if (left.is_tensor()) {
        values_.at(left.value.index()) = right.value;
      } else if (left.dtype != right.dtype || !bind(left.sym, right.sym, true)) {
        return false;
      }
    }
    // Types last: a dim may be a scalar that is declared behind the tensor.
    for (size_t i = 0; i < a_.params.size(); ++i) {
      if (a_.params[i].is_tensor() && !types(a_.params[i].type, b_.params[i].type, true)) {
        return false;
      }
    }
    return true;
  }

  bool constraints() {
    if (a_.constraints.size() != b_.constraints.size()) {
      return false;
    }
    for (size_t i = 0; i < a_.constraints.size(); ++i) {
      if (!exprs(a_.constraints[i].condition, b_.constraints[i].condition)) {
        return false;
      }
    }
    return true;
  }

  bool buffers() const {
    if (a_.buffers.size() != b_.buffers.size()) {
      return false;
    }
    for (size_t i = 0; i < a_.buffers.size(); ++i) {
      const isa::Buffer& left = a_.buffers[i];
      const isa::Buffer& right = b_.buffers[i];
      if (!(left.tile == right.tile) || left.address != right.address || left.slots != right.slots ||
          slot_stride(left) != slot_stride(right)) {
        return false;
      }
    }
    return true;
  }

  bool tensors() const {
    if (a_.kind != FunctionKind::Core) {
      return true;
    }
    if (a_.tensors.size() != b_.tensors.size()) {
      return false;
    }
    for (size_t i = 0; i < a_.tensors.size(); ++i) {
      if (!value(a_.tensors[i], b_.tensors[i])) {
        return false;
      }
    }
    return true;
  }

  // A conjunction over all pairs of nodes, each looked at once: no recursion, and no blow-up on shared nodes.
  bool exprs(ExprId a, ExprId b) {
    std::vector<std::pair<ExprId, ExprId>> todo = {{a, b}};
    while (!todo.empty()) {
      const auto [left, right] = todo.back();
      todo.pop_back();
      if (!left.valid() || !right.valid()) {
        if (left.valid() != right.valid()) {
          return false;
        }
        continue;
      }
      if (!equal_exprs_.insert({left, right}).second) {
        continue;
      }
      const ExprNode& x = a_.exprs[left];
      const ExprNode& y = b_.exprs[right];
      if (x.op != y.op) {
        return false;
      }
      switch (x.op) {
        case ExprOp::Int:
          if (x.value != y.value) {
            return false;
          }
          break;
        case ExprOp::Float:
          if (!same_bits(x.fvalue, y.fvalue)) {
            return false;
          }
          break;
        case ExprOp::Sym:
          if (!symbols_.at(x.sym.index()).valid() || symbols_[x.sym.index()] != y.sym) {
            return false;
          }
          break;
        default:
          todo.push_back({x.a, y.a});
          todo.push_back({x.b, y.b});
          break;
      }
    }
    return true;
  }

  bool expr_lists(const std::vector<ExprId>& a, const std::vector<ExprId>& b) {
    if (a.size() != b.size()) {
      return false;
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!exprs(a[i], b[i])) {
        return false;
      }
    }
    return true;
  }

  bool types(const Type& a, const Type& b, bool with_place) {
    return a.kind == b.kind && a.dtype == b.dtype && expr_lists(a.dims, b.dims) && a.rows == b.rows &&
           a.cols == b.cols && exprs(a.valid_rows, b.valid_rows) && exprs(a.valid_cols, b.valid_cols) &&
           (!with_place || (a.space == b.space && a.layout == b.layout));
  }

  bool value(ValueId a, ValueId b) const { return values_.at(a.index()).valid() && values_[a.index()] == b; }

  bool define(const std::vector<ValueId>& a, const std::vector<ValueId>& b, bool with_place) {
    if (a.size() != b.size()) {
      return false;
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (!types(a_.type(a[i]), b_.type(b[i]), with_place)) {
        return false;
      }
      values_.at(a[i].index()) = b[i];
    }
    return true;
  }

  // The ops of a region without a Yield of nothing, which may be there or not.
  static std::vector<OpId> ops_of(const Function& function, RegionId region) {
    std::vector<OpId> ops = function.regions[region].ops;
    if (!ops.empty() && function.ops[ops.back()].kind == OpKind::Yield && function.ops[ops.back()].operands.empty()) {
      ops.pop_back();
    }
    return ops;
  }

  bool region(RegionId a, RegionId b) {
    if (!define(a_.regions[a].args, b_.regions[b].args, false)) {
      return false;
    }
    const std::vector<OpId> left = ops_of(a_, a);
    const std::vector<OpId> right = ops_of(b_, b);
    if (left.size() != right.size()) {
      return false;
    }
    for (size_t i = 0; i < left.size(); ++i) {
      if (!ops(a_.ops[left[i]], b_.ops[right[i]])) {
        return false;
      }
      ops_.at(left[i].index()) = right[i];
    }
    return true;
  }

  bool ops(const Op& a, const Op& b) {
    if (a.kind != b.kind || a.operands.size() != b.operands.size() || a.syms.size() != b.syms.size() ||
        a.regions.size() != b.regions.size() || !attributes(a, b)) {
      return false;
    }
    for (size_t i = 0; i < a.operands.size(); ++i) {
      if (!value(a.operands[i], b.operands[i])) {
        return false;
      }
    }
    if (!expr_lists(a.exprs, b.exprs) || !exprs(a.blocks, b.blocks)) {
      return false;
    }
    for (size_t i = 0; i < a.syms.size(); ++i) {
      if (!bind(a.syms[i], b.syms[i], false)) {
        return false;
      }
    }
    for (size_t i = 0; i < a.regions.size(); ++i) {
      if (!region(a.regions[i], b.regions[i])) {
        return false;
      }
    }
    return define(a.results, b.results, writes_place(a.kind)) && instructions(a.inst, b.inst, a.kind);
  }

  bool attributes(const Op& a, const Op& b) {
    if (a.scalar_side != b.scalar_side || a.axis != b.axis || a.round != b.round || a.cmp != b.cmp || a.pad != b.pad ||
        a.pipeline != b.pipeline || a.split != b.split || a.callee != b.callee || a.after.size() != b.after.size()) {
      return false;
    }
    for (size_t i = 0; i < a.after.size(); ++i) {
      if (ops_.at(a.after[i].index()) != b.after[i] || !b.after[i].valid()) {
        return false;
      }
    }
    // Derived from the arguments, and perhaps not yet.
    return a.task_dims.empty() || b.task_dims.empty() || expr_lists(a.task_dims, b.task_dims);
  }

  bool instructions(const isa::Inst& a, const isa::Inst& b, OpKind kind) {
    if (kind != OpKind::Inst) {
      return true;
    }
    if (a.opcode != b.opcode || a.operands.size() != b.operands.size()) {
      return false;
    }
    for (size_t i = 0; i < a.operands.size(); ++i) {
      const isa::Operand& left = a.operands[i];
      const isa::Operand& right = b.operands[i];
      if (left.kind != right.kind || left.buffer != right.buffer || left.tensor != right.tensor ||
          left.ring != right.ring || left.attribute != right.attribute || !exprs(left.slot, right.slot) ||
          !exprs(left.a, right.a) || !exprs(left.b, right.b) || !expr_lists(left.offsets, right.offsets)) {
        return false;
      }
    }
    return true;
  }

  const Function& a_;
  const Function& b_;
  std::vector<SymId> symbols_;  // of b, by SymId of a; likewise below
  std::vector<ValueId> values_;
  std::vector<OpId> ops_;
  std::set<std::pair<ExprId, ExprId>> equal_exprs_;  // compared, or on the list: equal unless the answer is already no
};

}  // namespace

bool equal(const Function& a, const Function& b) {
  return Comparison(a, b).run();
}

bool equal(const Module& a, const Module& b) {
  if (a.functions.size() != b.functions.size()) {
    return false;
  }
  for (size_t i = 0; i < a.functions.size(); ++i) {
    if (!equal(a.functions[i], b.functions[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace pto::ir
