// One function's verification. Structure is in verify.cc, types of values in verify_types.cc, cores and programs in
// verify_machine.cc. An op whose counts or ids are wrong is not looked at further, so that later checks may index
// freely.
#pragma once

#include <string>
#include <vector>

#include "src/ir/ir.h"

namespace pto::ir {

class Verifier {
 public:
  Verifier(const Module& module, const Function& function, std::vector<std::string>& violations)
      : module_(module), function_(function), violations_(violations) {}

  void run();

 private:
  // Structure.
  bool item();
  void params();
  void names();
  void constraints();
  void region(RegionId region, const Op* owner);  // owner is null for the function's body
  void op(OpId id, const Op* owner, bool last);
  bool ids(OpId id);
  bool counts(const Op& op);
  bool symbol_count(const Op& op);
  void scopes(const Op& op);
  void define_symbols(const Op& op);
  void define_results(OpId id);
  void loop(const Op& op);
  void branch(const Op& op);
  void placement(const Op& op, bool top);
  void outputs();
  bool in_range(const Type& type) const;
  bool in_range(ExprId expr) const { return expr.index() < function_.exprs.size(); }
  void expression(ExprId expr, const char* what);
  void coordinates(ExprId expr, const char* what);
  void type_expressions(const Type& type);

  // Types.
  void types(const Op& op);
  void elementwise(const Op& op);
  void compare(const Op& op);
  void select(const Op& op);
  void same_shape(const Op& op, bool same_dtype);
  void reduce(const Op& op);
  void matmul(const Op& op);
  void matmul_shapes(const Op& op);
  void reshape(const Op& op);
  void load_store(const Op& op);
  void tile_move(const Op& op);
  void fill(const Op& op);
  void broadcast(const Op& op);
  void call(const Op& op);
  void broadcasts(const std::vector<ValueId>& values, const Type& result);
  void scalar(ExprId expr, DType dtype);
  void argument(ValueId value, const Param& param);
  bool may_equal(ExprId a, ExprId b) const;
  bool may_match(const Type& a, const Type& b) const;
  const Type& type(ValueId value) const { return function_.values[value].type; }
  // The parameter that a tensor is, or is a view of; nullptr: neither.
  const Param* root(ValueId value) const;

  // Cores and programs.
  void core();
  void rings();
  void pair();
  void pair_member(const std::string& name, CoreKind kind);
  void instruction(const Op& op);
  void operand(const isa::Operand& operand, isa::OperandKind expected);
  void task(const Op& op);

  void fail(const std::string& text);
  bool check(bool condition, const char* text) {
    if (!condition) {
      fail(text);
    }
    return condition;
  }

  const Module& module_;
  const Function& function_;
  std::vector<std::string>& violations_;
  const Op* current_ = nullptr;
  OpId current_id_;
  std::vector<bool> op_seen_;
  std::vector<bool> region_seen_;
  std::vector<bool> value_defined_;  // ever
  std::vector<bool> value_in_scope_;
  std::vector<bool> symbol_defined_;  // ever
  std::vector<bool> symbol_in_scope_;
  int depth_ = 0;
  bool body_started_ = false;  // something else than a view was seen
};

}  // namespace pto::ir
