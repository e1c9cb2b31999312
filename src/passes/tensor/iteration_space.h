// The two-dimensional iteration space of an elementwise group: rows are all leading dims together, columns the last
// dim.
#pragma once

#include <optional>
#include <vector>

#include "src/ir/ir.h"

namespace pto::passes {

// How a tensor lies in a space [lead..., N].
enum class Extent : uint8_t {
  Full,    // the space itself
  Column,  // [lead..., 1]
  Row,     // [N], or [1..., N]
};

// nullopt: the shape is none of these. Shapes may have fewer dims than the space; missing leading dims count as 1.
std::optional<Extent> extent_in(const ir::Function& function, const std::vector<ExprId>& space,
                                const std::vector<ExprId>& shape);

// May a group over `large` also hold an op over `small`?
bool related(const ir::Function& function, const std::vector<ExprId>& large, const std::vector<ExprId>& small);

// Over which shape an elementwise op or reduction iterates.
const std::vector<ExprId>& space_of(const ir::Function& function, const ir::Op& op);

}  // namespace pto::passes
