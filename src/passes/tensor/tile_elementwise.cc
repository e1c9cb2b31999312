// Tiling of elementwise groups and row reductions. Three schemes:
//   flat     no broadcast, no reduction: the tensors as one long row, cut into tiles of one row
//   rows     the last dim is static and a block of whole rows fits: one pass
//   chunked  the last dim is dynamic or long: blocks of rows by chunks of columns. Reductions run in stages, one loop
//   over
//            the chunks each, the chunks recomputed from the inputs; then a last loop computes what is stored.
#include <algorithm>
#include <limits>
#include <set>

#include "pto/result.h"
#include "src/passes/tensor/iteration_space.h"
#include "src/passes/tensor/tile_builder.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::OpShape;
using ir::ValueId;

constexpr int64_t kMaxTileElements = 16384;  // longer tiles gain nothing: start-up costs are below a percent by then

bool is_reduce(OpKind kind) {
  return ir::op_info(kind).shape == OpShape::Reduce;
}

int64_t power_of_two_below(int64_t value) {
  int64_t power = 1;
  while (power * 2 <= value) {
    power *= 2;
  }
  return power;
}

class ElementwiseTiler {
 public:
  ElementwiseTiler(TileBuilder& builder, const Target& target, DiagnosticSink& sink)
      : b_(builder), graph_(builder.graph()), target_(target), sink_(sink) {}

  bool run() {
    if (!find_space() || !check_values()) {
      return false;
    }
    measure();
    if (!has_reduction_ && all_full_) {
      return flat();
    }
    return rows_fit() ? rows() : chunked();
  }

 private:
  using Tiles = std::map<ValueId, ValueId>;

  bool fail(const Op& op, const std::string& why) {
    sink_.report(DiagId::UnsupportedLowering, op.span(), {"`" + std::string(ir::op_info(op.kind).spelling) + "`", why});
    return false;
  }
  const std::vector<OpId>& body() const { return graph_.body_region().ops; }
  bool is_compute(const Op& op) const {
    return op.kind != OpKind::Assign && op.kind != OpKind::Reshape && op.kind != OpKind::Full;
  }
  // Emitted where they stand. A comparison is where a choice needs it, in the size that it needs.
  bool is_emitted(const Op& op) const { return is_compute(op) && op.kind != OpKind::Compare; }
  // The parameter that a value is, looking through reshapes; not valid: it is computed.
  ValueId source(ValueId value) const {
    while (graph_.values[value].def.valid()) {
      const Op& op = graph_.ops[graph_.values[value].def];
      if (op.kind != OpKind::Reshape) {
        return ValueId();
      }
      value = op.operands[0];
    }
    return value;
  }
  // What an assignment stores, before reshapes.
  ValueId computed(ValueId value) const {
    while (graph_.values[value].def.valid() && graph_.ops[graph_.values[value].def].kind == OpKind::Reshape) {
      value = graph_.ops[graph_.values[value].def].operands[0];
    }
    return value;
  }
  Extent extent(ValueId value) const { return *extent_in(graph_, space_, graph_.type(value).dims); }

  bool find_space();
  bool check_values();
  void measure();
  bool rows_fit();
  bool flat();
  bool rows();
  bool chunked();
  void emit(const std::vector<OpId>& ops, Tiles& tiles);
  ValueId tile(ValueId value, Tiles& tiles);
  ValueId load_tile(ValueId value);
  ValueId constant_tile(const Op& op, ValueId value);
  ValueId whole_tile(ValueId input);
  void widen_inputs(const Op& op, std::vector<ValueId>& inputs);
  ValueId select_tile(const Op& op, ValueId value, std::vector<ValueId> inputs, Tiles& tiles);
  void store_outputs(Tiles& tiles, bool full_ones, bool column_ones);
  std::vector<OpId> needed_for(const std::vector<ValueId>& values, const Tiles& known) const;
  int depth(ValueId value) const;
  void stage(int level, Tiles& row_tiles);
  ExprId reduction_start(const Op& op);
  void chunk_loop(int64_t step);

  TileBuilder& b_;
  const ir::Function& graph_;
  const Target& target_;
  DiagnosticSink& sink_;
  std::vector<ExprId> space_;
  ExprId row_extent_;  // of the kernel
  ExprId col_extent_;
  bool has_reduction_ = false;
  bool all_full_ = true;
  int64_t bytes_per_element_ = 0;
  int64_t row_multiple_ = 8;
  int64_t col_multiple_ = 8;
  // The block being emitted.
  bool flat_ = false;
  int64_t tile_rows_ = 1;
  int64_t tile_cols_ = 1;
  ExprId row_offset_;
  ExprId col_offset_;
};

bool ElementwiseTiler::find_space() {
  for (OpId id : body()) {
    const Op& op = graph_.ops[id];
    if (!is_compute(op)) {
      continue;
    }
    const std::vector<ExprId>& space = space_of(graph_, op);
    if (space_.empty() || (related(graph_, space, space_) && space != space_)) {
      space_ = space;
    }
    has_reduction_ = has_reduction_ || is_reduce(op.kind);
  }
  if (space_.empty()) {
    const Op& op = graph_.ops[body().front()];
    return fail(op, "it computes nothing");
  }
  ExprPool& exprs = b_.exprs();
  row_extent_ = exprs.integer(1);
  for (size_t i = 0; i + 1 < space_.size(); ++i) {
    row_extent_ = exprs.mul(row_extent_, b_.cloner().expr(space_[i]));
  }
  col_extent_ = b_.cloner().expr(space_.back());
  return true;
}

bool ElementwiseTiler::check_values() {
  for (OpId id : body()) {
    const Op& op = graph_.ops[id];
    if (!is_compute(op)) {
      continue;
    }
    if (is_reduce(op.kind) && op.axis + 1 != static_cast<int>(graph_.type(op.operands[0]).dims.size())) {
      return fail(op, "a reduction inside a graph runs along the last axis only; write a kernel for other axes");
    }
    std::vector<ValueId> values = op.operands;
    values.insert(values.end(), op.results.begin(), op.results.end());
    for (ValueId value : values) {
      const auto where = extent_in(graph_, space_, graph_.type(value).dims);
      if (!where) {
        return fail(op, "this broadcast is neither a row over all rows nor a column over all columns");
      }
      all_full_ = all_full_ && *where == Extent::Full;
    }
  }
  return true;
}

// Bytes of vector memory that one element of the tile costs: loads and results twice (double buffers), and the most
// intermediate tiles that are alive at once.
void ElementwiseTiler::measure() {
  std::set<ValueId> loaded;
  std::map<ValueId, size_t> last_use;
  for (size_t i = 0; i < body().size(); ++i) {
    for (ValueId operand : graph_.ops[body()[i]].operands) {
      last_use[computed(operand)] = i;
    }
  }
  int64_t temporaries = 0;
  int64_t peak = 0;
  std::vector<std::pair<size_t, int64_t>> alive;
  for (size_t i = 0; i < body().size(); ++i) {
    const Op& op = graph_.ops[body()[i]];
    for (ValueId value : op.operands) {
      const DType dtype = graph_.type(value).dtype;
      if (source(value).valid() && op.kind != OpKind::Assign && loaded.insert(value).second) {
        bytes_per_element_ += 2 * byte_size(dtype);
      }
      if (op.kind == OpKind::Assign && value != op.operands[0]) {
        bytes_per_element_ += byte_size(dtype);
      }
      row_multiple_ = std::max<int64_t>(row_multiple_, 32 / byte_size(dtype));
      col_multiple_ = std::max<int64_t>(col_multiple_, 32 / byte_size(dtype));
    }
    for (ValueId result : op.results) {
      const int64_t size = byte_size(graph_.type(result).dtype);
      row_multiple_ = std::max<int64_t>(row_multiple_, 32 / size);
      col_multiple_ = std::max<int64_t>(col_multiple_, 32 / size);
      const auto where = extent_in(graph_, space_, graph_.type(result).dims);
      const int64_t bytes = where == Extent::Full ? size : 0;  // columns and rows are small beside whole tiles
      temporaries += bytes;
      alive.emplace_back(last_use.count(result) != 0 ? last_use[result] : i, bytes);
    }
    peak = std::max(peak, temporaries);
    for (auto& [end, bytes] : alive) {
      if (end == i) {
        temporaries -= bytes;
        bytes = 0;
      }
    }
  }
  bytes_per_element_ += peak;
}

bool ElementwiseTiler::rows_fit() {
  const auto columns = b_.exprs().constant(col_extent_);
  if (!columns || *columns > 1 << 20) {
    return false;
  }
  const int64_t width = round_up(*columns, col_multiple_);
  // Beside the tiles a row costs its scratch for reductions and its part of the columns.
  const int64_t row_bytes = width * bytes_per_element_ + (has_reduction_ ? 2 * target_.vector_repeat_bytes : 0) + 64;
  int64_t rows = (target_.space(Space::Vec).bytes - 1024) / row_bytes;
  rows = std::min(rows, std::max(row_multiple_, kMaxTileElements / width));
  if (rows < row_multiple_) {
    return false;
  }
  rows = row_multiple_ * power_of_two_below(rows / row_multiple_);
  if (const auto extent = b_.exprs().constant(row_extent_)) {
    while (rows > row_multiple_ && (*extent + rows - 1) / rows < target_.vec_cores) {
      rows /= 2;
    }
  }
  tile_rows_ = rows;
  tile_cols_ = width;
  return true;
}

// ---- emission

ValueId ElementwiseTiler::load_tile(ValueId value) {
  const ValueId param = source(value);
  ExprPool& exprs = b_.exprs();
  if (flat_) {
    return b_.load(b_.cloner().value(value), {col_offset_}, 1, tile_cols_);
  }
  switch (extent(value)) {
    case Extent::Full:
      return b_.load(b_.view(param, {row_extent_, col_extent_}), {row_offset_, col_offset_}, tile_rows_, tile_cols_);
    case Extent::Column:
      return b_.load(b_.view(param, {row_extent_, exprs.integer(1)}), {row_offset_, exprs.integer(0)}, tile_rows_, 1);
    case Extent::Row:
      return b_.load(b_.view(param, {col_extent_}), {col_offset_}, 1, tile_cols_);
  }
  return ValueId();
}

ValueId ElementwiseTiler::constant_tile(const Op& op, ValueId value) {
  const Extent where = flat_ ? Extent::Full : extent(value);
  const int64_t rows = flat_ || where == Extent::Row ? 1 : tile_rows_;
  const int64_t cols = where == Extent::Column ? 1 : tile_cols_;
  const ValueId tile = b_.full(graph_.type(value).dtype, rows, cols, b_.cloner().expr(op.exprs[0]));
  ir::Type& type = b_.kernel().values[tile].type;
  type.valid_rows = rows == 1 ? b_.exprs().integer(1) : b_.remaining(row_extent_, row_offset_, rows);
  type.valid_cols = cols == 1 ? b_.exprs().integer(1) : b_.remaining(col_extent_, col_offset_, cols);
  return tile;
}

// `input` as large as the block's tiles.
ValueId ElementwiseTiler::whole_tile(ValueId input) {
  ir::Type type = b_.kernel().type(input);
  if (flat_ || (type.rows == tile_rows_ && type.cols == tile_cols_)) {
    return input;
  }
  Op op;
  op.kind = OpKind::Broadcast;
  op.operands = {input};
  type.rows = tile_rows_;
  type.cols = tile_cols_;
  type.valid_rows = b_.remaining(row_extent_, row_offset_, tile_rows_);
  type.valid_cols = b_.remaining(col_extent_, col_offset_, tile_cols_);
  return b_.add(std::move(op), std::move(type), "");
}

// Instructions take a row or a column beside a whole tile, never a row beside a column; comparisons and choices take
// neither.
void ElementwiseTiler::widen_inputs(const Op& op, std::vector<ValueId>& inputs) {
  const ir::Function& kernel = b_.kernel();
  int64_t rows = 1;
  int64_t cols = 1;
  for (ValueId input : inputs) {
    rows = std::max(rows, kernel.type(input).rows);
    cols = std::max(cols, kernel.type(input).cols);
  }
  auto whole = [&](ValueId input) { return kernel.type(input).rows == rows && kernel.type(input).cols == cols; };
  const bool all = op.kind == OpKind::Compare || op.kind == OpKind::Select;
  if (!all && std::any_of(inputs.begin(), inputs.end(), whole)) {
    return;
  }
  for (ValueId& input : inputs) {
    if (!whole(input) && (all || kernel.type(input).rows == 1)) {
      input = whole_tile(input);
    }
  }
}

// A mask can't be repeated along rows or columns, so what it compares is as large as what is chosen.
ValueId ElementwiseTiler::select_tile(const Op& op, ValueId value, std::vector<ValueId> inputs, Tiles& tiles) {
  const Op* compare =
      graph_.values[op.operands[0]].def.valid() ? &graph_.ops[graph_.values[op.operands[0]].def] : nullptr;
  if (compare == nullptr || compare->kind != OpKind::Compare) {
    inputs.insert(inputs.begin(), tile(op.operands[0], tiles));
    return b_.elementwise(op, inputs, graph_.type(value).dtype);
  }
  const size_t compared = compare->operands.size();
  std::vector<ValueId> all;
  for (ValueId operand : compare->operands) {
    all.push_back(tile(operand, tiles));
  }
  all.insert(all.end(), inputs.begin(), inputs.end());
  widen_inputs(op, all);
  const std::vector<ValueId> sides(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(compared));
  b_.at(*compare);
  const auto known = tiles.find(op.operands[0]);
  const bool reuse = known != tiles.end() && b_.kernel().type(known->second).rows == b_.kernel().type(all[0]).rows &&
                     b_.kernel().type(known->second).cols == b_.kernel().type(all[0]).cols;
  all[compared - 1] = reuse ? known->second : b_.elementwise(*compare, sides, DType::Bool);
  tiles[op.operands[0]] = all[compared - 1];
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(compared - 1));
  b_.at(op);
  return b_.elementwise(op, all, graph_.type(value).dtype);
}

// The tile of a value in the block being emitted; what it is computed from is in `tiles` already.
ValueId ElementwiseTiler::tile(ValueId value, Tiles& tiles) {
  const auto known = tiles.find(value);
  if (known != tiles.end()) {
    return known->second;
  }
  ValueId result;
  if (source(value).valid()) {
    result = load_tile(value);
  } else {
    const Op& op = graph_.ops[graph_.values[value].def];
    if (op.kind == OpKind::Reshape) {
      result = tile(op.operands[0], tiles);
    } else if (op.kind == OpKind::Full) {
      result = constant_tile(op, value);
    } else {
      std::vector<ValueId> inputs;
      for (size_t i = op.kind == OpKind::Select ? 1 : 0; i < op.operands.size(); ++i) {
        inputs.push_back(tile(op.operands[i], tiles));
      }
      b_.at(op);
      if (op.kind == OpKind::Broadcast) {
        result = flat_ || extent(op.operands[0]) == extent(value) ? inputs[0] : whole_tile(inputs[0]);
      } else if (op.kind == OpKind::Select) {
        result = select_tile(op, value, std::move(inputs), tiles);
      } else {
        widen_inputs(op, inputs);
        result = b_.elementwise(op, inputs, graph_.type(value).dtype);
      }
    }
  }
  tiles[value] = result;
  return result;
}

void ElementwiseTiler::emit(const std::vector<OpId>& ops, Tiles& tiles) {
  for (OpId id : ops) {
    const Op& op = graph_.ops[id];
    b_.at(op);
    if (is_emitted(op)) {
      tile(op.results[0], tiles);
    }
  }
}

void ElementwiseTiler::store_outputs(Tiles& tiles, bool full_ones, bool column_ones) {
  ExprPool& exprs = b_.exprs();
  for (OpId id : body()) {
    const Op& op = graph_.ops[id];
    if (op.kind != OpKind::Assign) {
      continue;
    }
    const ValueId value = computed(op.operands[1]);
    const bool column = !flat_ && extent(value) == Extent::Column;
    if (column ? !column_ones : !full_ones) {
      continue;
    }
    b_.at(op);
    const ValueId result = tile(value, tiles);
    if (flat_) {
      b_.store(b_.cloner().value(op.operands[0]), {col_offset_}, result);
    } else if (column) {
      b_.store(b_.view(op.operands[0], {row_extent_, exprs.integer(1)}), {row_offset_, exprs.integer(0)}, result);
    } else {
      b_.store(b_.view(op.operands[0], {row_extent_, col_extent_}), {row_offset_, col_offset_}, result);
    }
  }
}

bool ElementwiseTiler::flat() {
  ExprPool& exprs = b_.exprs();
  const ExprId elements = exprs.mul(row_extent_, col_extent_);
  int64_t width = power_of_two_below((target_.space(Space::Vec).bytes - 1024) / bytes_per_element_);
  width = std::clamp<int64_t>(width, col_multiple_, kMaxTileElements);
  if (const auto count = exprs.constant(elements)) {
    while (width > 1024 && (*count + width - 1) / width < target_.vec_cores) {
      width /= 2;
    }
  }
  flat_ = true;
  tile_rows_ = 1;
  tile_cols_ = width;
  col_extent_ = elements;
  // Every parameter as one row; the views stand before the parallel. From here the cloner maps values to these views.
  for (OpId id : body()) {
    for (ValueId value : graph_.ops[id].operands) {
      const ValueId param = source(value);
      if (param.valid()) {
        b_.at(graph_.ops[id]);
        b_.cloner().map(value, b_.view(param, {elements}));
      }
    }
  }
  const SymId i = b_.loop_symbol("i");
  b_.loop(OpKind::Parallel, {i}, {elements}, {width});
  col_offset_ = exprs.symbol(i);
  row_offset_ = exprs.integer(0);
  Tiles tiles;
  emit(body(), tiles);
  store_outputs(tiles, true, true);
  return true;
}

bool ElementwiseTiler::rows() {
  ExprPool& exprs = b_.exprs();
  const SymId i = b_.loop_symbol("i");
  b_.loop(OpKind::Parallel, {i}, {row_extent_}, {tile_rows_});
  row_offset_ = exprs.symbol(i);
  col_offset_ = exprs.integer(0);
  Tiles tiles;
  emit(body(), tiles);
  store_outputs(tiles, true, true);
  return true;
}

// How many reductions lie on the way to a value.
int ElementwiseTiler::depth(ValueId value) const {
  std::map<ValueId, int> depths;
  for (OpId id : body()) {
    const Op& op = graph_.ops[id];
    int deepest = 0;
    for (ValueId operand : op.operands) {
      const auto it = depths.find(operand);
      deepest = std::max(deepest, it == depths.end() ? 0 : it->second);
    }
    for (ValueId result : op.results) {
      depths[result] = deepest + (is_reduce(op.kind) ? 1 : 0);
    }
  }
  const auto it = depths.find(value);
  return it == depths.end() ? 0 : it->second;
}

// The ops, in order, that compute `values` from what is known.
std::vector<OpId> ElementwiseTiler::needed_for(const std::vector<ValueId>& values, const Tiles& known) const {
  std::set<ValueId> wanted(values.begin(), values.end());
  std::vector<OpId> ops;
  for (auto it = body().rbegin(); it != body().rend(); ++it) {
    const Op& op = graph_.ops[*it];
    const bool wants = std::any_of(op.results.begin(), op.results.end(), [&](ValueId result) {
      return wanted.count(result) != 0 && known.count(result) == 0;
    });
    if (wants) {
      wanted.insert(op.operands.begin(), op.operands.end());
      ops.push_back(*it);
    }
  }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

ExprId ElementwiseTiler::reduction_start(const Op& op) {
  const DType dtype = graph_.type(op.operands[0]).dtype;
  ExprPool& exprs = b_.exprs();
  if (is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return exprs.real(op.kind == OpKind::Sum ? 0 : op.kind == OpKind::ReduceMax ? -infinity : infinity);
  }
  if (op.kind == OpKind::Sum) {
    return exprs.integer(0);
  }
  const int bits = bit_width(dtype);
  const bool is_signed = dtype_class(dtype) == DTypeClass::Int;
  const int64_t top = is_signed || bits == 64 ? (int64_t{1} << (std::min(bits, 63) - 1)) - 1 : (int64_t{1} << bits) - 1;
  return exprs.integer(op.kind == OpKind::ReduceMin ? top : is_signed ? -top - 1 : 0);
}

void ElementwiseTiler::chunk_loop(int64_t step) {
  const SymId j = b_.loop_symbol("j");
  b_.loop(OpKind::For, {j}, {col_extent_}, {step});
  col_offset_ = b_.exprs().symbol(j);
}

// One loop over the chunks that reduces everything of one depth.
void ElementwiseTiler::stage(int level, Tiles& row_tiles) {
  std::vector<OpId> reductions;
  std::vector<ValueId> operands;
  for (OpId id : body()) {
    const Op& op = graph_.ops[id];
    if (is_reduce(op.kind) && depth(op.results[0]) == level) {
      reductions.push_back(id);
      operands.push_back(op.operands[0]);
    }
  }
  // Columns that the chunks need, computed once before the loop.
  for (OpId id : needed_for(operands, row_tiles)) {
    const Op& op = graph_.ops[id];
    if (is_emitted(op) && extent(op.results[0]) == Extent::Column) {
      tile(op.results[0], row_tiles);
    }
  }
  ir::Function& kernel = b_.kernel();
  std::vector<ValueId> starts;
  for (OpId id : reductions) {
    const Op& op = graph_.ops[id];
    b_.at(op);
    const ValueId start = b_.full(graph_.type(op.results[0]).dtype, tile_rows_, 1, reduction_start(op));
    kernel.values[start].type.valid_rows = b_.remaining(row_extent_, row_offset_, tile_rows_);
    starts.push_back(start);
  }
  const ir::RegionId outside = b_.region();
  chunk_loop(tile_cols_);
  const OpId loop = kernel.regions[outside].ops.back();
  const ir::RegionId inside = b_.region();
  Tiles tiles = row_tiles;
  Op yield;
  yield.kind = OpKind::Yield;
  emit(needed_for(operands, tiles), tiles);
  for (size_t i = 0; i < reductions.size(); ++i) {
    const Op& op = graph_.ops[reductions[i]];
    const ValueId carried = kernel.add_value(kernel.type(starts[i]), "");
    kernel.regions[inside].args.push_back(carried);
    b_.at(op);
    const ValueId part = b_.elementwise(op, {tile(op.operands[0], tiles)}, graph_.type(op.results[0]).dtype);
    const OpKind combine = op.kind == OpKind::Sum         ? OpKind::Add
                           : op.kind == OpKind::ReduceMax ? OpKind::Max
                                                          : OpKind::Min;
    yield.operands.push_back(b_.binary(combine, carried, part));
  }
  kernel.add_op(inside, std::move(yield));
  b_.enter(outside);
  for (size_t i = 0; i < reductions.size(); ++i) {
    const ValueId result = kernel.add_value(kernel.type(starts[i]), "");
    kernel.values[result].def = loop;
    kernel.ops[loop].operands.push_back(starts[i]);
    kernel.ops[loop].results.push_back(result);
    row_tiles[graph_.ops[reductions[i]].results[0]] = result;
  }
}

bool ElementwiseTiler::chunked() {
  ExprPool& exprs = b_.exprs();
  const int64_t budget = target_.space(Space::Vec).bytes - 4096;
  tile_rows_ = row_multiple_;
  const int64_t fit = budget / (tile_rows_ * bytes_per_element_);
  tile_cols_ = std::clamp<int64_t>(power_of_two_below(fit), col_multiple_, kMaxTileElements / tile_rows_);
  const SymId i = b_.loop_symbol("i");
  row_offset_ = exprs.symbol(i);
  if (!has_reduction_) {
    const SymId j = b_.loop_symbol("j");
    col_offset_ = exprs.symbol(j);
    b_.loop(OpKind::Parallel, {i, j}, {row_extent_, col_extent_}, {tile_rows_, tile_cols_});
    Tiles tiles;
    emit(body(), tiles);
    store_outputs(tiles, true, true);
    return true;
  }
  b_.loop(OpKind::Parallel, {i}, {row_extent_}, {tile_rows_});
  Tiles row_tiles;
  int deepest = 0;
  for (OpId id : body()) {
    for (ValueId result : graph_.ops[id].results) {
      deepest = std::max(deepest, depth(result));
    }
  }
  for (int level = 1; level <= deepest; ++level) {
    stage(level, row_tiles);
  }
  store_outputs(row_tiles, false, true);
  std::vector<ValueId> outputs;
  for (OpId id : body()) {
    const Op& op = graph_.ops[id];
    if (op.kind == OpKind::Assign && extent(computed(op.operands[1])) != Extent::Column) {
      outputs.push_back(computed(op.operands[1]));
    }
  }
  if (!outputs.empty()) {
    for (OpId id : needed_for(outputs, row_tiles)) {
      const Op& op = graph_.ops[id];
      if (is_emitted(op) && extent(op.results[0]) == Extent::Column) {
        tile(op.results[0], row_tiles);
      }
    }
    chunk_loop(tile_cols_);
    Tiles tiles = row_tiles;
    emit(needed_for(outputs, tiles), tiles);
    store_outputs(tiles, true, false);
  }
  return true;
}

}  // namespace

bool tile_elementwise(TileBuilder& builder, const Target& target, DiagnosticSink& sink) {
  return ElementwiseTiler(builder, target, sink).run();
}

}  // namespace pto::passes
