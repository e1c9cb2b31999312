// Windows of tensors, loads and stores, and where tiles are.
#include <algorithm>

#include "src/frontend/lower.h"
#include "src/support/checked.h"

namespace pto::frontend {
namespace {

constexpr int64_t kMostTileBytes = int64_t{1} << 31;  // far above any memory of a core; keeps later sums small

}  // namespace

bool Lower::check_tile_size(const ir::Type& type, Span span) {
  const auto elements = checked_mul(type.rows, type.cols);
  const auto bytes = elements ? checked_mul(*elements, byte_size(type.dtype)) : std::nullopt;
  if (!bytes || *bytes > kMostTileBytes) {
    error(DiagId::OutOfBounds, span,
          {"a tile of " + std::to_string(type.rows) + " x " + std::to_string(type.cols) +
           " elements is larger than any memory"});
    return false;
  }
  return true;
}

// `in: left layout(zz)`
bool Lower::placement(const ast::Expr& call, ir::Type& type) {
  const ast::Argument* arg = argument(call, "in");
  if (arg == nullptr) {
    return true;
  }
  const auto space = space_from_spelling(word(arg->value));
  if (!space || *space == Space::None || *space == Space::Gm) {
    error(DiagId::UnknownValue, at(arg->value).span,
          {word(arg->value), "memory of a core", "`vec`, `mat`, `left`, `right`, `acc`, `bias` and `scaling`"});
    return false;
  }
  type.space = *space;
  type.layout = Layout::None;
  if (!arg->layout.empty()) {
    const auto layout = layout_from_spelling(arg->layout.text);
    if (!layout || *layout == Layout::None) {
      error(DiagId::UnknownValue, arg->layout.span,
            {arg->layout.text, "layout", "`nd`, `dn`, `nz`, `zn`, `zz` and `nn`"});
      return false;
    }
    type.layout = *layout;
  }
  return true;
}

// Valid elements of a window of `length` at `offset`. Not simplified by what is known of loops: a type must be the same
// when it is derived from a dump, where a pass may have changed the loops around it. Proofs happen where regions are
// compared.
ExprId Lower::clipped(int64_t length, ExprId dim, ExprId offset) {
  ExprPool& pool = fn().exprs;
  return pool.min(pool.integer(length), pool.sub(dim, offset));
}

bool Lower::window_dim(const ast::Slice& slice, ExprId dim, DType dtype, bool last, Window& out,
                       std::vector<int64_t>& lengths, std::vector<ExprId>& valids) {
  ExprPool& pool = fn().exprs;
  if (slice.kind == ast::SliceKind::Point) {
    if (!lengths.empty()) {
      error(DiagId::WindowMismatch, slice.span, {"a window", "a plain index can't stand behind a range"});
      return false;
    }
    const ExprId offset = index(slice.a, "an index");
    out.offsets.push_back(offset);
    const auto position = offset.valid() ? pool.constant(offset) : std::nullopt;
    const auto size = pool.constant(dim);
    if (position && (*position < 0 || (size && *position >= *size))) {
      error(DiagId::OutOfBounds, slice.span,
            {"index " + std::to_string(*position) + " is outside of dim `" + text(dim) + "`"});
      return false;
    }
    return offset.valid();
  }
  ExprId offset = pool.integer(0);
  std::optional<int64_t> length;
  if (slice.kind == ast::SliceKind::Length) {
    offset = index(slice.a, "an offset");
    length = constant(slice.b, "the length of a window");
  } else if (slice.kind == ast::SliceKind::Range) {
    offset = slice.a.valid() ? index(slice.a, "an offset") : offset;
    const ExprId end = slice.b.valid() ? index(slice.b, "an end") : dim;
    if (!offset.valid() || !end.valid()) {
      return false;
    }
    length = pool.constant(pool.sub(end, offset));
    if (!length || *length < 1) {
      error(DiagId::NotConstant, slice.span, {"the length of a window"}).help("write `start :+ length`");
      return false;
    }
  } else {
    length = pool.constant(dim);
    if (!length) {
      error(DiagId::NotConstant, slice.span, {"the dim that `:` stands for"})
          .note(slice.span, "it is `" + text(dim) + "`")
          .help("write a window: `0 :+ 1024`, or make the dim static");
      return false;
    }
  }
  if (!offset.valid() || !length) {
    return false;
  }
  const auto position = pool.constant(offset);
  const auto size = pool.constant(dim);
  if (position && (*position < 0 || (size && *position >= *size))) {
    error(DiagId::OutOfBounds, slice.span,
          {"offset " + std::to_string(*position) + " is outside of dim `" + text(dim) + "`"});
    return false;
  }
  if (slice.kind == ast::SliceKind::All && last) {
    // Rows of a tile in vec memory start at multiples of 32 bytes.
    const int64_t step = std::max<int64_t>(1, 32 / byte_size(dtype));
    const auto rounded = ceil_div(*length, step);
    const auto whole = rounded ? checked_mul(*rounded, step) : std::nullopt;
    if (!whole) {
      error(DiagId::SizeOverflow, slice.span, {"this tile"});
      return false;
    }
    length = *whole;
  }
  out.offsets.push_back(offset);
  lengths.push_back(*length);
  valids.push_back(clipped(*length, dim, offset));
  return true;
}

std::optional<Lower::Window> Lower::window(ast::ExprRef ref, const std::string& what) {
  const ast::Expr& expr = at(ref);
  if (expr.kind != ast::ExprKind::Index || at(expr.a).kind != ast::ExprKind::Name) {
    error(DiagId::WrongType, expr.span, {what, "a window of a tensor like `x[i :+ 8, :]`", "something else"});
    return std::nullopt;
  }
  const ast::Expr& base = at(expr.a);
  Binding* binding = lookup(base.text);
  if (binding == nullptr) {
    unknown(DiagId::UnknownName, base.span, base.text, visible_names());
    return std::nullopt;
  }
  if (binding->kind == Binding::Kind::Poison) {
    return std::nullopt;
  }
  if (binding->kind != Binding::Kind::Value || !fn().type(binding->value).is_tensor()) {
    error(DiagId::WrongType, base.span, {what, "a tensor", "`" + base.text + "`, which is none"})
        .note(binding->span, "declared here");
    return std::nullopt;
  }
  Window out;
  out.tensor = binding->value;
  out.param = binding->param;
  const ir::Type tensor = fn().type(binding->value);
  if (expr.slices.size() != tensor.dims.size()) {
    error(DiagId::RankMismatch, expr.span,
          {"a window of `" + base.text + "`", std::to_string(tensor.dims.size()), std::to_string(expr.slices.size())});
    return std::nullopt;
  }
  std::vector<int64_t> lengths;
  std::vector<ExprId> valids;
  for (size_t i = 0; i < expr.slices.size(); ++i) {
    const bool last = i + 1 == expr.slices.size();
    if (!window_dim(expr.slices[i], tensor.dims[i], tensor.dtype, last, out, lengths, valids)) {
      return std::nullopt;
    }
  }
  if (lengths.empty() || lengths.size() > 2) {
    error(DiagId::WindowMismatch, expr.span,
          {"a window", "it has one or two ranges, found " + std::to_string(lengths.size())});
    return std::nullopt;
  }
  if (lengths.size() == 1) {
    lengths.insert(lengths.begin(), 1);
    valids.insert(valids.begin(), fn().exprs.integer(1));
  }
  out.tile.kind = ir::TypeKind::Tile;
  out.tile.dtype = tensor.dtype;
  out.tile.rows = lengths[0];
  out.tile.cols = lengths[1];
  out.tile.valid_rows = valids[0];
  out.tile.valid_cols = valids[1];
  return check_tile_size(out.tile, expr.span) ? std::optional(out) : std::nullopt;
}

Val Lower::load_op(const ast::Expr& call) {
  if (!check_arguments(call, "load", 1, {"in"})) {
    return {};
  }
  auto from = window(call.args[0].value, "`load`");
  if (!from || !placement(call, from->tile)) {
    return {};
  }
  if (from->param >= 0 && fn().params[static_cast<size_t>(from->param)].mode == ir::ParamMode::Out) {
    error(DiagId::ReadOfOutput, at(call.args[0].value).span, {fn().params[static_cast<size_t>(from->param)].name})
        .help("declare it `inout` to read and write it");
    return {};
  }
  ir::Op op;
  op.kind = ir::OpKind::Load;
  op.operands = {from->tensor};
  op.exprs = std::move(from->offsets);
  const ir::ValueId result = emit(std::move(op), std::move(from->tile), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::store_op(const ast::Expr& call) {
  const Val none{Val::Kind::Tuple, {}, {}, {}};
  if (!check_arguments(call, "store", 2, {})) {
    return {};
  }
  auto to = window(call.args[0].value, "`store`");
  const Val val = value_operand(call.args[1].value, "`store`");
  if (to && to->param >= 0) {
    const auto place = static_cast<size_t>(to->param);
    if (fn().params[place].mode == ir::ParamMode::In) {
      error(DiagId::WriteOfInput, at(call.args[0].value).span, {fn().params[place].name})
          .note(fn().params[place].span, "declared here")
          .help("declare it `inout`, or among the results");
      return {};
    }
    written_.insert(place);
  }
  if (!to || val.is_error()) {
    return {};
  }
  const ir::Type tile = fn().type(val.value);
  if (!tile.is_tile()) {
    return fail(DiagId::WrongType, at(call.args[1].value).span, {"`store`", "a tile", text(tile)});
  }
  // An accumulator is converted on its way out.
  if (tile.dtype != to->tile.dtype && tile.space != Space::Acc) {
    error(DiagId::TypeMismatch, call.span, {"`store`", dtype_name(to->tile.dtype), dtype_name(tile.dtype)})
        .help("`cast(t, " + dtype_name(to->tile.dtype) + ")` converts the tile");
    return {};
  }
  if (tile.rows != to->tile.rows || tile.cols != to->tile.cols) {
    return fail(
        DiagId::WindowMismatch, call.span,
        {"`store`", "the window has " + std::to_string(to->tile.rows) + " x " + std::to_string(to->tile.cols) +
                        " elements, the tile " + std::to_string(tile.rows) + " x " + std::to_string(tile.cols)});
  }
  ir::Op op;
  op.kind = ir::OpKind::Store;
  op.operands = {to->tensor, val.value};
  op.exprs = std::move(to->offsets);
  emit_effect(std::move(op), call.span);
  windows_[static_cast<uint32_t>(fn().ops.size() - 1)] = to->tile;
  return none;
}

Val Lower::move_op(const ast::Expr& call) {
  if (!check_arguments(call, "move", 1, {"in"})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`move`");
  if (val.is_error()) {
    return {};
  }
  if (argument(call, "in") == nullptr) {
    return fail(DiagId::ArgumentCount, call.span, {"move", "where to: `in: left`", "nothing"});
  }
  ir::Type type = fn().type(val.value);
  if (!type.is_tile()) {
    return fail(DiagId::WrongType, call.span, {"`move`", "a tile", text(type)});
  }
  if (!placement(call, type)) {
    return {};
  }
  ir::Op op;
  op.kind = ir::OpKind::Move;
  op.operands = {val.value};
  const ir::ValueId result = emit(std::move(op), std::move(type), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::extract_op(const ast::Expr& call) {
  if (!check_arguments(call, "extract", 3, {"in"})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`extract`");
  if (val.is_error()) {
    return {};
  }
  const ir::Type from = fn().type(val.value);
  const ast::Expr& start = at(call.args[1].value);
  const ast::Expr& size = at(call.args[2].value);
  if (!from.is_tile()) {
    return fail(DiagId::WrongType, call.span, {"`extract`", "a tile", text(from)});
  }
  for (const ast::Expr* list : {&start, &size}) {
    if (list->kind != ast::ExprKind::List || list->items.size() != 2) {
      return fail(DiagId::WrongType, list->span, {"`extract`", "a pair like `[0, 16]`", "something else"});
    }
  }
  ir::Op op;
  op.kind = ir::OpKind::Extract;
  op.operands = {val.value};
  op.exprs = {index(start.items[0], "a row"), index(start.items[1], "a column")};
  const auto rows = constant(size.items[0], "a number of rows");
  const auto cols = constant(size.items[1], "a number of columns");
  if (!op.exprs[0].valid() || !op.exprs[1].valid() || !rows || !cols) {
    return {};
  }
  ir::Type type = from;
  type.rows = *rows;
  type.cols = *cols;
  const std::pair<int64_t, int64_t> dims[] = {{from.rows, *rows}, {from.cols, *cols}};
  for (size_t i = 0; i < 2; ++i) {
    const auto offset = fn().exprs.constant(op.exprs[i]);
    const auto end = checked_add(offset.value_or(0), dims[i].second);
    if (!end || *end > dims[i].first || offset.value_or(0) < 0) {
      return fail(DiagId::OutOfBounds, call.span, {"the window leaves the tile, which is " + text(from)});
    }
  }
  type.valid_rows = clipped(*rows, from.valid_rows, op.exprs[0]);
  type.valid_cols = clipped(*cols, from.valid_cols, op.exprs[1]);
  type.layout = Layout::None;
  if (!placement(call, type)) {
    return {};
  }
  const ir::ValueId result = emit(std::move(op), std::move(type), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

Val Lower::fillpad_op(const ast::Expr& call) {
  if (!check_arguments(call, "fillpad", 2, {})) {
    return {};
  }
  const Val val = value_operand(call.args[0].value, "`fillpad`");
  const auto pad = isa::pad_from_spelling(word(call.args[1].value));
  if (!pad) {
    return fail(DiagId::UnknownValue, at(call.args[1].value).span,
                {word(call.args[1].value), "padding", "`zero`, `max` and `min`"});
  }
  if (val.is_error()) {
    return {};
  }
  ir::Type type = fn().type(val.value);
  if (!type.is_tile()) {
    return fail(DiagId::WrongType, call.span, {"`fillpad`", "a tile", text(type)});
  }
  type.valid_rows = fn().exprs.integer(type.rows);
  type.valid_cols = fn().exprs.integer(type.cols);
  ir::Op op;
  op.kind = ir::OpKind::FillPad;
  op.pad = *pad;
  op.operands = {val.value};
  const ir::ValueId result = emit(std::move(op), std::move(type), call.span);
  return result.valid() ? Val::of(result) : Val{};
}

}  // namespace pto::frontend
