// Rules of data movement, fills and matrix products.
#include <algorithm>

#include "src/isa/verify.h"

namespace pto::isa {
namespace {

constexpr int64_t kMaxVecRows = 4095;  // fields of the copy engines
constexpr int64_t kMaxMatRows = 16384;
constexpr int64_t kMaxAccRows = 8192;
constexpr int64_t kMaxAccCols = 4095;
constexpr int64_t kMaxMatMulExtent = 4095;

bool same_shape(const TileDesc& a, const TileDesc& b) {
  return a.rows == b.rows && a.cols == b.cols;
}

Verdict need_path(const Context& context, Space from, Space to) {
  const Space inside = from == Space::Gm ? to : from;
  if (inside != Space::None && context.target.path(from, to, context.target.space(inside).core) != nullptr) {
    return std::nullopt;
  }
  return "target `" + context.target.name + "` has no path from " + tick(from) + " to " + tick(to);
}

// The path from `mat` memory to itself is for fills: nothing copies there.
Verdict need_copy_path(const Context& context, Space from, Space to) {
  if (from == Space::Mat && to == Space::Mat) {
    return "nothing copies from `mat` to `mat`: only fills stay in that memory";
  }
  return need_path(context, from, to);
}

bool is_matmul_operand(DType type, IsaFamily family) {
  return is_matmul(DType::F32, type, type, family) || is_matmul(DType::I32, type, type, family);
}

Verdict need_type(const Context& context, DType type) {
  const DTypeSet allowed = dtypes_of(context.row.dtypes, context.family());
  return contains(allowed, type) ? std::nullopt
                                 : Verdict("element type " + tick(type) + " on family " + tick(context.family()) +
                                           ": it takes " + list_dtypes(allowed));
}

Verdict need_at_most(const Context& context, size_t operand, int64_t value, int64_t most, const char* what) {
  return value <= most ? std::nullopt
                       : Verdict(context.seen(operand) + ": at most " + std::to_string(most) + " " + what +
                                 " in one instruction");
}

size_t gm_operand(const Context& context) {
  return context.row.format == Format::Store ? 0 : 1;
}
const TileDesc& copied_tile(const Context& context) {
  return context.tile(1 - gm_operand(context));
}

Verdict need_space(const Context& context, size_t operand, Space space) {
  return context.tile(operand).space == space
             ? std::nullopt
             : Verdict(context.seen(operand) + ": it must be in " + tick(space) + " memory");
}

}  // namespace

// A window covers the last two dimensions; a tensor of rank 1 is one row.
Verdict rule_gm_rank(const Context& context) {
  const TileDesc& tile = copied_tile(context);
  return context.tensor(gm_operand(context)).rank >= 2 || tile.rows == 1
             ? std::nullopt
             : Verdict("a tensor of rank 1 and a tile " + describe(tile) + ": the tile must have one row");
}

Verdict rule_load_route(const Context& context) {
  return need_path(context, Space::Gm, context.tile(0).space);
}

Verdict rule_load_types(const Context& context) {
  const DType from = context.tensor(1).dtype;
  if (context.tile(0).dtype != from) {
    return context.seen(0) + ", the tensor has element type " + tick(from) + ": a load doesn't convert";
  }
  return need_type(context, from);
}

// The copy engine keeps rows together: nd stays nd, or becomes boxes in `mat` memory.
// One column in vector memory: the same bytes as one row.
bool is_column(const TileDesc& tile) {
  return tile.space == Space::Vec && tile.layout == Layout::DN && tile.cols == 1;
}

Verdict rule_load_layout(const Context& context) {
  const TileDesc& tile = context.tile(0);
  if (tile.layout == Layout::ND || is_column(tile)) {
    return std::nullopt;
  }
  if (tile.space != Space::Mat) {
    return context.seen(0) + ": a tile loaded to `vec` memory must have layout `nd`, or `dn` with one column";
  }
  if (tile.layout != Layout::Nz) {
    return context.seen(0) + ": a tile loaded to `mat` memory must have layout `nd` or `nz`";
  }
  return bit_width(tile.dtype) <= 32 ? std::nullopt
                                     : Verdict(context.seen(0) + ": 64-bit elements can't be put into boxes");
}

Verdict rule_load_limits(const Context& context) {
  const TileDesc& tile = context.tile(0);
  return need_at_most(context, 0, tile.rows, tile.space == Space::Mat ? kMaxMatRows : kMaxVecRows, "rows");
}

Verdict rule_store_route(const Context& context) {
  return need_path(context, context.tile(1).space, Space::Gm);
}

Verdict rule_store_types(const Context& context) {
  const DType from = context.tile(1).dtype;
  const DType to = context.tensor(0).dtype;
  if (context.tile(1).space == Space::Acc) {
    return is_acc_to_gm(from, to, context.family())
               ? std::nullopt
               : Verdict("an accumulator of " + tick(from) + " can't be stored as " + tick(to) +
                         ": `f32` becomes `f32`, `f16` or `bf16`, `i32` stays");
  }
  if (from != to) {
    return context.seen(1) + ", the tensor has element type " + tick(to) + ": only a store from `acc` converts";
  }
  return need_type(context, from);
}

Verdict rule_store_layout(const Context& context) {
  const TileDesc& tile = context.tile(1);
  if (tile.layout == Layout::ND || is_column(tile) || (tile.space != Space::Vec && tile.layout == Layout::Nz)) {
    return std::nullopt;
  }
  return context.seen(1) + ": a tile stored from " + tick(tile.space) + " memory must have layout " +
         (tile.space == Space::Vec ? "`nd`, or `dn` with one column" : "`nd` or `nz`");
}

Verdict rule_store_limits(const Context& context) {
  const TileDesc& tile = context.tile(1);
  if (tile.space != Space::Acc) {
    return std::nullopt;
  }
  if (Verdict wrong = need_at_most(context, 1, tile.rows, kMaxAccRows, "rows")) {
    return wrong;
  }
  return need_at_most(context, 1, tile.cols, kMaxAccCols, "columns");
}

Verdict rule_move_route(const Context& context) {
  return need_copy_path(context, context.tile(1).space, context.tile(0).space);
}

Verdict rule_extract_route(const Context& context) {
  if (context.tile(0).space == Space::Bias) {
    return "a bias row is moved whole: use `tmov`";
  }
  return rule_move_route(context);
}

Verdict rule_move_types(const Context& context) {
  const TileDesc& to = context.tile(0);
  const TileDesc& from = context.tile(1);
  bool good = from.dtype == to.dtype;
  const char* rule = "the types must agree";
  if (to.space == Space::Bias) {
    good = is_bias_move(from.dtype, to.dtype, context.family());
    rule = "a bias is `f32` or `i32`, and may come from `f16` (on `a5` from `bf16`)";
  } else if (from.space == Space::Acc) {
    good = is_acc_to_mat(from.dtype, to.dtype, context.family());
    rule = "an accumulator of `f32` becomes `f16` or `bf16`";
  } else if (to.space == Space::Left || to.space == Space::Right) {
    good = good && is_matmul_operand(to.dtype, context.family());
    rule = "the types must agree and be ones that the target multiplies";
  }
  if (!good) {
    return "from " + tick(from.dtype) + " in " + tick(from.space) + " to " + tick(to.dtype) + " in " + tick(to.space) +
           " on family " + tick(context.family()) + ": " + rule;
  }
  return need_type(context, to.dtype);
}

// Into an operand memory from boxes of either kind, out of an accumulator into nz, else unchanged.
Verdict rule_move_layout(const Context& context) {
  const TileDesc& to = context.tile(0);
  const TileDesc& from = context.tile(1);
  if (to.space == Space::Left || to.space == Space::Right) {
    return from.layout == Layout::Nz || from.layout == Layout::Zn
               ? std::nullopt
               : Verdict(context.seen(1) + ": a matrix operand must come from layout `nz` or `zn`");
  }
  if (from.layout != to.layout) {
    return context.seen(1) + ", operand 1 is " + describe(to) + ": the layouts must agree";
  }
  return std::nullopt;
}

Verdict rule_move_shape(const Context& context) {
  return same_shape(context.tile(0), context.tile(1))
             ? std::nullopt
             : Verdict(context.seen(1) + ", operand 1 is " + describe(context.tile(0)) +
                       ": they must have the same shape");
}

// Where the window stands is known when its indices are; here only that one fits.
Verdict rule_extract_shape(const Context& context) {
  const TileDesc& to = context.tile(0);
  const TileDesc& from = context.tile(1);
  return to.rows <= from.rows && to.cols <= from.cols
             ? std::nullopt
             : Verdict(context.seen(1) + ": a window of " + shape_text(to.rows, to.cols) + " doesn't fit in it");
}

Verdict rule_fill_route(const Context& context) {
  const Space to = context.tile(0).space;
  const Space from = context.row.format == Format::Fill ? to : context.tile(1).space;
  if (from != to) {
    return context.seen(1) + ": a fill stays in one memory, and operand 1 is in " + tick(to);
  }
  return to == Space::Vec || to == Space::Mat
             ? need_path(context, from, to)
             : Verdict(context.seen(0) + ": only `vec` and `mat` memory can be filled");
}

Verdict rule_fill_layout(const Context& context) {
  const TileDesc& to = context.tile(0);
  if (to.space == Space::Vec && to.layout != Layout::ND && !(to.layout == Layout::DN && to.cols == 1)) {
    return context.seen(0) + ": in `vec` memory it must have layout `nd`, or `dn` with one column";
  }
  if (context.row.format == Format::FillPad &&
      (!same_shape(to, context.tile(1)) || to.layout != context.tile(1).layout)) {
    return context.seen(1) + ", operand 1 is " + describe(to) + ": they must have the same shape and layout";
  }
  return std::nullopt;
}

Verdict rule_mat_pad(const Context& context) {
  const auto pad = static_cast<Pad>(context.attribute(OperandKind::Pad));
  return context.tile(0).space == Space::Mat && pad != Pad::Zero
             ? Verdict("pad " + tick(pad) + " in `mat` memory: there only `zero` can be filled in")
             : std::nullopt;
}

Verdict rule_matmul_spaces(const Context& context) {
  constexpr Space kSpaces[] = {Space::Acc, Space::Left, Space::Right, Space::Bias};
  const size_t count = std::min(context.inst.operands.size(), std::size(kSpaces));
  for (size_t i = 0; i < count; ++i) {
    if (Verdict wrong = need_space(context, i, kSpaces[i])) {
      return wrong;
    }
  }
  return std::nullopt;
}

Verdict rule_matmul_types(const Context& context) {
  const DType acc = context.tile(0).dtype;
  const DType left = context.tile(1).dtype;
  const DType right = context.tile(2).dtype;
  return is_matmul(acc, left, right, context.family())
             ? std::nullopt
             : Verdict("family " + tick(context.family()) + " can't multiply " + tick(left) + " by " + tick(right) +
                       " into " + tick(acc));
}

Verdict rule_matmul_shapes(const Context& context) {
  const TileDesc& acc = context.tile(0);
  const TileDesc& left = context.tile(1);
  const TileDesc& right = context.tile(2);
  if (left.cols != right.rows || acc.rows != left.rows || acc.cols != right.cols) {
    return shape_text(left.rows, left.cols) + " by " + shape_text(right.rows, right.cols) + " into " +
           shape_text(acc.rows, acc.cols) + ": the shapes must be [m, k] by [k, n] into [m, n]";
  }
  const int64_t largest = std::max({left.rows, left.cols, right.cols});
  return largest <= kMaxMatMulExtent
             ? std::nullopt
             : Verdict("an extent of " + std::to_string(largest) + ": at most " + std::to_string(kMaxMatMulExtent));
}

Verdict rule_bias_operand(const Context& context) {
  const TileDesc& acc = context.tile(0);
  const TileDesc& bias = context.tile(3);
  return bias.dtype == acc.dtype && bias.rows == 1 && bias.cols == acc.cols
             ? std::nullopt
             : Verdict(context.seen(3) + ": the bias of " + describe(acc) + " must be one row of its columns and type");
}

}  // namespace pto::isa
