// Helpers that passes share: cloning ops from one function to another, uses of values, rewriting a region op by op.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

// Copies ops, types and expressions of one function into another. A value must be mapped before an op that uses it is
// cloned; a symbol that is not mapped is created in the destination under its name.
class Cloner {
 public:
  Cloner(const ir::Function& from, ir::Function& to) : from_(from), to_(to) {}
  void map(ir::ValueId from, ir::ValueId to) { values_[from] = to; }
  void map(SymId from, ExprId to) { symbols_[from] = to; }
  bool has(ir::ValueId from) const { return values_.count(from) != 0; }
  ir::ValueId value(ir::ValueId from) const;
  ExprId expr(ExprId from);
  ExprId expr_of(SymId from);  // what the symbol is mapped to
  ir::Type type(const ir::Type& from);
  // Appends a copy of the op, with its regions, at the end of `into`; maps its results.
  ir::OpId clone(ir::OpId op, ir::RegionId into);

 private:
  SymId new_symbol(SymId from);
  const ir::Function& from_;
  ir::Function& to_;
  std::map<ir::ValueId, ir::ValueId> values_;
  std::map<SymId, ExprId> symbols_;
};

// Gives a function without an interface the dims, parameters and constraints of another one.
void copy_interface(const ir::Function& from, ir::Function& to);

// The ops that use each value, in order of appearance; an op that uses it twice is there twice.
using Uses = std::map<ir::ValueId, std::vector<ir::OpId>>;
Uses uses_of(const ir::Function& function);

// The parameter that a tensor is, or that it is a view of.
ir::ValueId root_tensor(const ir::Function& function, ir::ValueId tensor);

// Calls `visit` for every op that is in a region, outer ops first.
void for_each_op(const ir::Function& function, const std::function<void(ir::OpId)>& visit);

// The region that an op stands in; not valid: in none.
ir::RegionId region_of(const ir::Function& function, ir::OpId op);

// Rebuilds a region: `rewrite` is called for each op in order and returns the ops that stand in its place.
void rewrite_region(ir::Function& function, ir::RegionId region,
                    const std::function<std::vector<ir::OpId>(ir::OpId)>& rewrite);

// The values that must be one tile because a loop or a branch joins them: for a For, initial value, body argument,
// yielded value and result of each carried value; for an If, both yielded values and the result of each. Empty for
// other ops.
std::vector<std::vector<ir::ValueId>> joined_values(const ir::Function& function, const ir::Op& op);

// Adds an op to the function without placing it in a region.
ir::OpId make_op(ir::Function& function, ir::Op op);

// The callee's dims as expressions of the caller, solved from the shapes of the tensor arguments. nullopt if a dim does
// not follow from any shape.
std::optional<std::vector<ExprId>> solve_dims(const ir::Function& callee, ir::Function& caller,
                                              const std::vector<ir::ValueId>& tensor_arguments);

// Symbols of dims that an expression or type mentions, added to `dims` in order and once.
void collect_dims(const ir::Function& function, ExprId expr, std::vector<SymId>& dims);

// A name that no function of the module has.
std::string unique_function_name(const ir::Module& module, const std::string& base);

// Smallest value an expression can have, where that follows from dims >= 1 and constants; nullopt: not known.
std::optional<int64_t> lower_bound(const ir::Function& function, ExprId expr);

inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Bytes from slot to slot of a buffer that has several for such a tile.
int64_t slot_stride(const TileDesc& tile, const Target& target);

}  // namespace pto::passes
