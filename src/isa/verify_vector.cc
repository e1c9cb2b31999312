// Rules of the vector unit's instructions.
#include "src/isa/verify.h"

namespace pto::isa {
namespace {

bool is_column(const TileDesc& tile) {
  return tile.layout == Layout::DN && tile.cols == 1;
}
bool is_flat(const TileDesc& tile) {
  return tile.layout == Layout::ND || is_column(tile);
}
bool same_shape(const TileDesc& a, const TileDesc& b) {
  return a.rows == b.rows && a.cols == b.cols;
}
// trowexpand, trowexpandadd and so on; the others of the family repeat a row.
bool repeats_a_column(const InstrInfo& row) {
  return row.mnemonic.starts_with("trowexpand");
}

Verdict need_nd(const Context& context, size_t operand) {
  return context.tile(operand).layout == Layout::ND ? std::nullopt
                                                    : Verdict(context.seen(operand) + ": it must have layout `nd`");
}

// Is `part` what stands beside `full` in an expansion: a column of its rows, or a row of its columns?
bool is_part_of(const TileDesc& part, const TileDesc& full, bool column) {
  return column ? is_column(part) && part.rows == full.rows
                : part.layout == Layout::ND && part.rows == 1 && part.cols == full.cols;
}
std::string part_rule(const TileDesc& full, bool column) {
  return column ? "a column " + shape_text(full.rows, 1) + " in layout `dn`"
                : "a row " + shape_text(1, full.cols) + " in layout `nd`";
}

}  // namespace

Verdict rule_all_in_vec(const Context& context) {
  for (size_t i = 0; i < context.inst.operands.size(); ++i) {
    if (is_tile(context.inst.operands[i].kind) && context.tile(i).space != Space::Vec) {
      return context.seen(i) + ": all its tiles must be in `vec` memory";
    }
  }
  return std::nullopt;
}

Verdict rule_data_types(const Context& context) {
  const std::vector<size_t> tiles = context.data_tiles();
  const DTypeSet allowed = dtypes_of(context.row.dtypes, context.family());
  const DType type = context.tile(tiles.front()).dtype;
  for (size_t i : tiles) {
    if (context.tile(i).dtype != type) {
      return context.seen(i) + ", operand " + std::to_string(tiles.front() + 1) + " has element type " + tick(type) +
             ": they must agree";
    }
  }
  if (!contains(allowed, type)) {
    return "element type " + tick(type) + " on family " + tick(context.family()) + ": it takes " + list_dtypes(allowed);
  }
  return std::nullopt;
}

// Elementwise: all tiles are laid out alike, so that one loop over bytes serves them.
Verdict rule_same_tiles(const Context& context) {
  const std::vector<size_t> tiles = context.data_tiles();
  const TileDesc& first = context.tile(tiles.front());
  for (size_t i : tiles) {
    const TileDesc& tile = context.tile(i);
    if (!is_flat(tile)) {
      return context.seen(i) + ": it must have layout `nd`, or `dn` with one column";
    }
    if (!same_shape(tile, first) || tile.layout != first.layout) {
      return context.seen(i) + ", operand " + std::to_string(tiles.front() + 1) + " is " + describe(first) +
             ": they must have the same shape and layout";
    }
  }
  return std::nullopt;
}

// A mask has one bit a column, packed from the lowest bit, every row from a new byte.
Verdict rule_mask(const Context& context) {
  const size_t operand = context.is_mask(0) ? 0 : 1;
  const TileDesc& mask = context.tile(operand);
  const TileDesc& data = context.tile(context.data_tiles().front());
  const DTypeSet allowed = mask_dtypes(context.family());
  if (!contains(allowed, mask.dtype)) {
    return context.seen(operand) + ": a mask on family " + tick(context.family()) + " has element type " +
           list_dtypes(allowed);
  }
  if (Verdict wrong = need_nd(context, operand)) {
    return wrong;
  }
  if (mask.rows != data.rows || mask.cols < (data.cols + bit_width(mask.dtype) - 1) / bit_width(mask.dtype)) {
    return context.seen(operand) + ": a mask for " + describe(data) +
           " needs as many rows, and in each one bit for every column";
  }
  return std::nullopt;
}

Verdict rule_conversion(const Context& context) {
  const DType to = context.tile(0).dtype;
  const DType from = context.tile(1).dtype;
  if (is_conversion(from, to, context.family())) {
    return std::nullopt;
  }
  return "family " + tick(context.family()) + " can't convert " + tick(from) + " to " + tick(to) + " in one step";
}

Verdict rule_row_reduce(const Context& context) {
  const TileDesc& to = context.tile(0);
  const TileDesc& from = context.tile(1);
  if (Verdict wrong = need_nd(context, 1)) {
    return wrong;
  }
  if (!is_flat(to) || to.rows != from.rows) {
    return context.seen(0) + ": the result of " + std::to_string(from.rows) + " rows must be a column " +
           shape_text(from.rows, 1) + " in layout `dn`, or a tile of as many rows in layout `nd`";
  }
  // Each row is folded into one vector repeat there.
  const TileDesc& scratch = context.tile(2);
  const int64_t repeat = std::min(from.cols, context.target.vector_repeat_bytes / byte_size(from.dtype));
  if (scratch.rows < from.rows || scratch.cols < repeat || scratch.dtype != from.dtype || scratch.layout != from.layout) {
    return context.seen(2) + ": the scratch tile must hold at least " + shape_text(from.rows, repeat) + " elements of " +
           tick(from.dtype) + " in layout `nd`";
  }
  return std::nullopt;
}

Verdict rule_col_reduce(const Context& context) {
  const TileDesc& to = context.tile(0);
  const TileDesc& from = context.tile(1);
  if (Verdict wrong = need_nd(context, 1)) {
    return wrong;
  }
  if (!is_part_of(to, from, false)) {
    return context.seen(0) + ": the result of " + std::to_string(from.cols) + " columns must be " +
           part_rule(from, false);
  }
  return std::nullopt;
}

// One source is like the destination, the other is a column (or a row) of it; they stand in any order.
Verdict rule_expand(const Context& context) {
  const TileDesc& to = context.tile(0);
  const TileDesc& a = context.tile(1);
  const TileDesc& b = context.tile(2);
  const bool column = repeats_a_column(context.row);
  if (Verdict wrong = need_nd(context, 0)) {
    return wrong;
  }
  const auto is_full = [&](const TileDesc& tile) { return tile.layout == Layout::ND && same_shape(tile, to); };
  if ((is_full(a) && is_part_of(b, to, column)) || (is_full(b) && is_part_of(a, to, column))) {
    return std::nullopt;
  }
  return "sources are " + describe(a) + " and " + describe(b) + ": for a result of " + shape_text(to.rows, to.cols) +
         " one must have that shape in layout `nd`, the other must be " + part_rule(to, column);
}

Verdict rule_broadcast(const Context& context) {
  const TileDesc& to = context.tile(0);
  const bool column = repeats_a_column(context.row);
  if (Verdict wrong = need_nd(context, 0)) {
    return wrong;
  }
  if (!is_part_of(context.tile(1), to, column)) {
    return context.seen(1) + ": for a result of " + shape_text(to.rows, to.cols) + " it must be " +
           part_rule(to, column);
  }
  return std::nullopt;
}

// tci writes the first row only.
Verdict rule_index_row(const Context& context) {
  return need_nd(context, 0);
}

}  // namespace pto::isa
