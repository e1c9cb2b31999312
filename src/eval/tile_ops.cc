#include "src/eval/tile_ops.h"

#include <algorithm>

namespace pto::eval {

using ir::Op;
using ir::OpKind;
using ir::ScalarSide;

std::optional<Tile> TileOps::make_tile(const Op& op) {
  const ir::Type& type = function_.type(op.results[0]);
  Tile tile{type.dtype, type.rows, type.cols, {}};
  const std::pair<ExprId, int64_t*> sides[] = {{type.valid_rows, &tile.rows}, {type.valid_cols, &tile.cols}};
  for (const auto& [expr, length] : sides) {
    if (!expr.valid()) {
      continue;
    }
    const auto valid = integer(expr, op.span());
    if (!valid) {
      return std::nullopt;
    }
    if (*valid < 0 || *valid > *length) {
      fault(op.span(), spelling(op.kind) + " gives a valid region of " + std::to_string(*valid) + " in a tile of " +
                           std::to_string(type.rows) + " x " + std::to_string(type.cols));
      return std::nullopt;
    }
    *length = *valid;
  }
  const int64_t count = element_count({tile.rows, tile.cols});
  if (count < 0 || count > session_.options.max_elements) {
    fail(Outcome::Limit, op.span(), "a tile is too large");
    return std::nullopt;
  }
  tile.data.resize(static_cast<size_t>(count));
  return tile;
}

bool TileOps::define(const Op& op, Tile tile) {
  TilePtr& slot = tiles_.at(op.results[0].index());
  int64_t& held = held_by_value_[op.results[0].index()];
  release(held);
  held = 0;
  if (!hold(static_cast<int64_t>(tile.data.size()), op.span())) {
    return false;
  }
  held = static_cast<int64_t>(tile.data.size());
  slot = std::make_shared<const Tile>(std::move(tile));
  return true;
}

// An element of an operand that broadcasts to the result.
std::optional<double> TileOps::read(const Op& op, size_t operand, int64_t r, int64_t c) {
  const ir::Type& type = function_.type(op.operands[operand]);
  const Tile& tile = *tiles_.at(op.operands[operand].index());
  const int64_t row = type.rows == 1 ? 0 : r;
  const int64_t col = type.cols == 1 ? 0 : c;
  if (row >= tile.rows || col >= tile.cols) {
    fault(op.span(), spelling(op.kind) + " reads element [" + std::to_string(row) + ", " + std::to_string(col) + "] of " +
                         name_of(op.operands[operand]) + ", whose valid region is " + std::to_string(tile.rows) + " x " +
                         std::to_string(tile.cols));
    return std::nullopt;
  }
  return tile.at(row, col);
}

bool TileOps::compute(const Op& op) {
  for (ir::ValueId operand : op.operands) {
    if (tiles_.at(operand.index()) == nullptr) {
      return fault(op.span(), name_of(operand) + " has no value");
    }
  }
  if (op.results.size() != 1 || !function_.type(op.results[0]).is_tile()) {
    return fault(op.span(), spelling(op.kind) + " can't stand in a kernel");
  }
  const DType from = op.operands.empty() ? DType::None : function_.type(op.operands[0]).dtype;
  const DType to = function_.type(op.results[0]).dtype;
  switch (ir::op_info(op.kind).shape) {
    case ir::OpShape::Unary:
      return elementwise(op, [&](const std::vector<double>& x) { return unary_element(op.kind, from, x[0]); });
    case ir::OpShape::Binary:
      return elementwise(op, [&](const std::vector<double>& x) { return binary_element(op.kind, from, x[0], x[1]); });
    case ir::OpShape::Reduce: return reduce(op);
    case ir::OpShape::Special: break;
  }
  switch (op.kind) {
    case OpKind::Cast:
      return elementwise(op, [&](const std::vector<double>& x) { return cast_element(to, from, x[0], op.round); });
    case OpKind::Compare:
      return elementwise(op, [&](const std::vector<double>& x) { return compare_element(op.cmp, x[0], x[1]) ? 1 : 0; });
    case OpKind::Select:
      return elementwise(op, [&](const std::vector<double>& x) { return x[0] != 0 ? x[1] : x[2]; });
    case OpKind::Broadcast:
      return elementwise(op, [&](const std::vector<double>& x) { return x[0]; });
    case OpKind::Move:  // may convert: out of an accumulator, to a bias
      return elementwise(op, [&](const std::vector<double>& x) {
        return from == to ? x[0] : cast_element(to, from, x[0], isa::Round::Rint);
      });
    case OpKind::MatMul:
    case OpKind::MatMulBias: return matmul(op);
    case OpKind::Full: return fill(op);
    case OpKind::FillPad: return fill_pad(op);
    case OpKind::Extract: return extract(op);
    default: return fault(op.span(), spelling(op.kind) + " can't stand in a kernel");
  }
}

// `f` gets the op's values in order, with the scalar where it stands.
bool TileOps::elementwise(const Op& op, const ElementFunction& f) {
  auto tile = make_tile(op);
  if (!tile || !spend(tile->rows * tile->cols, op.span())) {
    return false;
  }
  const size_t first = op.kind == OpKind::Select ? 1 : 0;
  const bool has_scalar = op.scalar_side != ScalarSide::None;
  const size_t scalar_at = op.scalar_side == ScalarSide::Left ? first : first + 1;
  std::vector<double> x(op.operands.size() + (has_scalar ? 1 : 0));
  if (has_scalar) {
    const auto value = scalar(op.exprs[0], function_.type(op.operands.at(first)).dtype, op.span());
    if (!value) {
      return false;
    }
    x.at(scalar_at) = *value;
  }
  for (int64_t r = 0; r < tile->rows; ++r) {
    for (int64_t c = 0; c < tile->cols; ++c) {
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const auto element = read(op, i, r, c);
        if (!element) {
          return false;
        }
        x[has_scalar && i >= scalar_at ? i + 1 : i] = *element;
      }
      tile->at(r, c) = settle(tile->dtype, f(x));
    }
  }
  return define(op, std::move(*tile));
}

bool TileOps::reduce(const Op& op) {
  auto tile = make_tile(op);
  const Tile& x = *tiles_.at(op.operands[0].index());
  if (!tile || !spend(x.rows * x.cols, op.span())) {
    return false;
  }
  const bool along_row = op.axis == 1;
  if ((along_row ? tile->rows > x.rows : tile->cols > x.cols)) {
    return fault(op.span(), spelling(op.kind) + " has a result with a larger valid region than its operand");
  }
  for (int64_t r = 0; r < tile->rows; ++r) {
    for (int64_t c = 0; c < tile->cols; ++c) {
      double value = reduce_start(op.kind, x.dtype);
      for (int64_t i = 0; i < (along_row ? x.cols : x.rows); ++i) {
        value = reduce_element(op.kind, x.dtype, value, along_row ? x.at(r, i) : x.at(i, c));
      }
      tile->at(r, c) = settle(tile->dtype, value);
    }
  }
  return define(op, std::move(*tile));
}

bool TileOps::matmul(const Op& op) {
  auto tile = make_tile(op);
  const Tile& a = *tiles_.at(op.operands.at(0).index());
  const Tile& b = *tiles_.at(op.operands.at(1).index());
  if (!tile) {
    return false;
  }
  const int64_t work = element_count({tile->rows, a.cols, tile->cols});
  if (work < 0 || !spend(work / 4 + 1, op.span())) {
    return fail(Outcome::Limit, op.span(), "a product is too large");
  }
  if (a.cols != b.rows || tile->rows > a.rows || tile->cols > b.cols) {
    return fault(op.span(), spelling(op.kind) + " multiplies valid regions of " + shape_text({a.rows, a.cols}) + " and " +
                                shape_text({b.rows, b.cols}) + " into " + shape_text({tile->rows, tile->cols}));
  }
  for (int64_t r = 0; r < tile->rows; ++r) {
    for (int64_t c = 0; c < tile->cols; ++c) {
      double sum = 0;
      if (op.operands.size() > 2) {
        const auto start = read(op, 2, r, c);  // a bias is one row
        if (!start) {
          return false;
        }
        sum = *start;
      }
      for (int64_t k = 0; k < a.cols; ++k) {
        sum += a.at(r, k) * b.at(k, c);
      }
      tile->at(r, c) = is_float(tile->dtype) ? settle(tile->dtype, sum) : wrapped(tile->dtype, to_integer(sum));
    }
  }
  return define(op, std::move(*tile));
}

bool TileOps::fill(const Op& op) {
  auto tile = make_tile(op);
  const auto value = tile ? scalar(op.exprs.at(0), tile->dtype, op.span()) : std::nullopt;
  if (!value || !spend(tile->rows * tile->cols, op.span())) {
    return false;
  }
  std::fill(tile->data.begin(), tile->data.end(), *value);
  return define(op, std::move(*tile));
}

bool TileOps::fill_pad(const Op& op) {
  auto tile = make_tile(op);
  const Tile& x = *tiles_.at(op.operands[0].index());
  if (!tile || !spend(tile->rows * tile->cols, op.span())) {
    return false;
  }
  const double pad = pad_element(op.pad, tile->dtype);
  for (int64_t r = 0; r < tile->rows; ++r) {
    for (int64_t c = 0; c < tile->cols; ++c) {
      tile->at(r, c) = r < x.rows && c < x.cols ? x.at(r, c) : pad;
    }
  }
  return define(op, std::move(*tile));
}

bool TileOps::extract(const Op& op) {
  auto tile = make_tile(op);
  const auto row = integer(op.exprs.at(0), op.span());
  const auto col = integer(op.exprs.at(1), op.span());
  const Tile& x = *tiles_.at(op.operands[0].index());
  if (!tile || !row || !col || !spend(tile->rows * tile->cols, op.span())) {
    return false;
  }
  if (*row < 0 || *col < 0 || tile->rows > x.rows - *row || tile->cols > x.cols - *col) {
    return fault(op.span(), "`extract` reads " + shape_text({tile->rows, tile->cols}) + " at " + shape_text({*row, *col}) +
                                " of " + name_of(op.operands[0]) + ", whose valid region is " + shape_text({x.rows, x.cols}));
  }
  for (int64_t r = 0; r < tile->rows; ++r) {
    for (int64_t c = 0; c < tile->cols; ++c) {
      const double value = x.at(*row + r, *col + c);
      tile->at(r, c) = x.dtype == tile->dtype ? value : cast_element(tile->dtype, x.dtype, value, isa::Round::Rint);
    }
  }
  return define(op, std::move(*tile));
}

}  // namespace pto::eval
