// Writes one function as `.pto` text. Items and structure are in printer.cc, statements of the Tensor and Tile levels
// in printer_values.cc, those of the Block and Execution levels in printer_machine.cc.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/ir/ir.h"
#include "src/ir/names.h"

namespace pto::ir {

class Printer {
 public:
  Printer(const Function& function, const Module* module)
      : function_(function), module_(module), names_(make_names(function)), spare_names_(names_.pool) {}

  std::string print_item();
  std::string type(const Type& type) const;

 private:
  // Items.
  void doc(const std::string& text, int indent);
  std::string param(size_t index) const;
  void param_lines(bool results);
  std::string pair_tail() const;

  // Structure.
  void region(RegionId region);
  void statement(OpId id);
  void for_loop(const Op& op);
  void parallel(const Op& op);
  void branch(const Op& op);
  void branch_region(const Op& op, size_t side);
  void assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& values);
  void yield(const Region& body, const Op& yield);
  std::string range(SymId sym, ExprId lo, ExprId hi, ExprId step) const;
  void line(const std::string& text);

  // Right sides of `let x = ...` of the Tensor and Tile levels.
  std::string rhs(const Op& op) const;
  std::string binary(const Op& op) const;
  std::string compare(const Op& op) const;
  std::string select(const Op& op) const;
  std::string unary(const Op& op) const;
  std::string reduce(const Op& op) const;
  std::string cast(const Op& op) const;
  std::string full(const Op& op) const;
  std::string broadcast_shape(const Op& op) const;
  std::string tile_shape(const Type& type) const;
  std::string matmul(const Op& op) const;
  std::string window(ValueId tensor, const std::vector<ExprId>& offsets, const Type& tile) const;
  std::string shape(const Type& type) const;
  std::pair<std::string, std::string> sides(const Op& op, size_t first, bool as_terms) const;
  std::string place(const Type& tile) const;  // ", in: left layout(zz)" or nothing
  std::string arguments(const Op& op, bool results) const;
  void call(const Op& op);

  // Block and Execution level.
  void buffers();
  void rings();
  std::string instruction(const isa::Inst& inst) const;
  std::string operand(const isa::Operand& operand, DType scalar_type) const;
  void buffer(const Op& op);
  void task(OpId id, const Op& op);

  // Pieces.
  const std::string& name(ValueId value) const { return names_.values.at(value.index()); }
  std::string expr(ExprId id) const { return function_.exprs.print(id, names_.symbols); }
  std::string term(ExprId id) const;                // in parentheses unless it is a name, a number or a call
  std::string scalar(ExprId id, DType type) const;  // as expr, constants spelled as `type` wants them
  std::string scalar_term(ExprId id, DType type) const;
  std::string expr_list(const std::vector<ExprId>& ids) const;

  const Function& function_;
  const Module* module_;
  Names names_;
  NamePool spare_names_;  // for temporaries that no value stands behind
  std::string out_;
  int indent_ = 0;
};

}  // namespace pto::ir
