#include "src/passes/tensor/iteration_space.h"

namespace pto::passes {

std::optional<Extent> extent_in(const ir::Function& function, const std::vector<ExprId>& space,
                                const std::vector<ExprId>& shape) {
  if (shape.empty() || shape.size() > space.size()) {
    return std::nullopt;
  }
  auto is_one = [&](ExprId e) { return function.exprs.constant(e) == 1; };
  const size_t missing = space.size() - shape.size();
  bool leading_equal = true;
  bool leading_one = true;
  for (size_t i = 0; i < missing; ++i) {
    leading_equal = leading_equal && is_one(space[i]);
  }
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    leading_equal = leading_equal && shape[i] == space[i + missing];
    leading_one = leading_one && is_one(shape[i]);
  }
  const bool last_equal = shape.back() == space.back();
  if (leading_equal && last_equal) {
    return Extent::Full;
  }
  if (leading_equal && is_one(shape.back())) {
    return Extent::Column;
  }
  if (leading_one && last_equal) {
    return Extent::Row;
  }
  return std::nullopt;
}

bool related(const ir::Function& function, const std::vector<ExprId>& large, const std::vector<ExprId>& small) {
  return extent_in(function, large, small).has_value();
}

const std::vector<ExprId>& space_of(const ir::Function& function, const ir::Op& op) {
  const bool reduce = ir::op_info(op.kind).shape == ir::OpShape::Reduce;
  return function.type(reduce ? op.operands[0] : op.results[0]).dims;
}

}  // namespace pto::passes
