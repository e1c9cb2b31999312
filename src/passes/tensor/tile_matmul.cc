// Tiling of a matrix product: blocks of the result spread over the cores, a loop over K in each. The cost model chooses
// the shape of a block and the step along K, which fills the L1 memory; tile-l0 cuts it for the operand memories.
#include <algorithm>
#include <map>
#include <vector>

#include "src/passes/analysis/matmul_cost.h"
#include "src/passes/tensor/tile_builder.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

constexpr int64_t kUnknown = 2048;  // a dim that the caller gives counts as long
constexpr int64_t kLongest = int64_t{1} << 16;

// The block and the step along K that take least time by the cost model.
Extents choose_shape(const ir::Function& kernel, const Target& target, const ir::Type& left, const ir::Type& right,
                     DType sum, DType stored, bool bias) {
  auto extent = [&](ExprId dim) { return std::min(kernel.exprs.constant(dim).value_or(kUnknown), kLongest); };
  BlockRequest request;
  request.product = {extent(left.dims[0]), extent(right.dims[1]), extent(left.dims[1])};
  if (bias) {
    request.most_cols = target.space(Space::Bias).bytes / byte_size(sum);
  }
  return choose_block(MatmulCosts(target, left.dtype, sum, stored), request).block;
}

}  // namespace

namespace {

// Vector work behind the product: what is added to it, or multiplied with it, is as large as the product or a row.
ValueId finish(TileBuilder& b, const std::vector<const Op*>& work, std::map<ValueId, ValueId> tiles, ValueId product,
               const Extents& shape, ExprId row, ExprId col) {
  const ir::Function& graph = b.graph();
  const size_t rank = graph.type(product).dims.size();
  ValueId last = tiles.at(product);
  for (const Op* op : work) {
    b.at(*op);
    std::vector<ValueId> inputs;
    for (ValueId operand : op->operands) {
      if (tiles.count(operand) == 0) {
        const bool whole = graph.type(operand).dims.size() == rank;
        tiles[operand] = whole ? b.load(b.cloner().value(operand), {row, col}, shape.m, shape.n)
                               : b.load(b.cloner().value(operand), {col}, 1, shape.n);
      }
      inputs.push_back(tiles.at(operand));
    }
    last = b.elementwise(*op, inputs, graph.type(op->results[0]).dtype);
    tiles[op->results[0]] = last;
  }
  return last;
}

// Can it stand behind the product? Its operands from outside are tensors in global memory, of the product's shape or
// rows.
bool fits_behind(const ir::Function& graph, const Op& op, ValueId product) {
  const ir::OpShape shape = ir::op_info(op.kind).shape;
  const auto& dims = graph.type(product).dims;
  return (shape == ir::OpShape::Unary || shape == ir::OpShape::Binary || op.kind == OpKind::Cast) &&
         graph.type(op.results[0]).dims == dims &&
         std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId operand) {
           const auto& own = graph.type(operand).dims;
           return own == dims || (!graph.values[operand].def.valid() && own.size() == 1 && own[0] == dims[1]);
         });
}

}  // namespace

bool tile_matmul(TileBuilder& b, const Target& target, DiagnosticSink& sink) {
  const ir::Function& graph = b.graph();
  const Op* product = nullptr;
  const Op* convert = nullptr;
  const Op* assign = nullptr;
  std::vector<const Op*> work;
  for (OpId id : graph.body_region().ops) {
    const Op& op = graph.ops[id];
    if (ir::is_matmul(op.kind)) {
      product = &op;
    } else if (product != nullptr && fits_behind(graph, op, product->results[0])) {
      work.push_back(&op);
    } else if (op.kind == OpKind::Assign && assign == nullptr) {
      assign = &op;
    } else {
      sink.report(
          DiagId::UnsupportedLowering, op.span(),
          {"`" + std::string(ir::op_info(op.kind).spelling) + "`",
           "a fused graph around a matrix product holds the product and elementwise work on it, with tensors of its "
           "shape and rows"});
      return false;
    }
  }
  if (work.size() == 1 && work[0]->kind == OpKind::Cast && work[0]->round == isa::Round::Rint) {
    convert = work[0];  // the store does it
    work.clear();
  }
  for (ValueId operand : product->operands) {
    if (graph.values[operand].def.valid()) {
      sink.report(DiagId::UnsupportedLowering, product->span(),
                  {"`matmul`", "its operands must be tensors in global memory"});
      return false;
    }
  }
  b.at(*product);
  ExprPool& exprs = b.exprs();
  ir::Function& kernel = b.kernel();
  const ValueId left = b.cloner().value(product->operands[0]);
  const ValueId right = b.cloner().value(product->operands[1]);
  const ir::Type left_type = kernel.type(left);
  const ExprId rows = left_type.dims[0];
  const ExprId depth = left_type.dims[1];
  const ExprId cols = kernel.type(right).dims[1];
  const DType accumulator = graph.type(product->results[0]).dtype;
  const DType stored = convert != nullptr ? graph.type(convert->results[0]).dtype : accumulator;
  Extents shape = choose_shape(kernel, target, left_type, kernel.type(right), accumulator, stored,
                               product->kind == OpKind::MatMulBias);
  // The vector lanes have half a block each, and some tiles of it at a time.
  constexpr int64_t kTilesAtATime = 6;
  while (!work.empty() && shape.m * shape.n / 2 * 4 * kTilesAtATime > target.space(Space::Vec).bytes) {
    int64_t& longer = shape.n > shape.m ? shape.n : shape.m;
    if (longer <= 32) {
      break;
    }
    longer = round_up(longer / 2, 32);
  }
  const SymId m = b.loop_symbol("m");
  const SymId n = b.loop_symbol("n");
  b.loop(OpKind::Parallel, {m, n}, {rows, cols}, {shape.m, shape.n});
  const ExprId row = exprs.symbol(m);
  const ExprId col = exprs.symbol(n);
  ValueId start;
  if (product->kind == OpKind::MatMulBias) {
    const ValueId bias = b.load(b.cloner().value(product->operands[2]), {col}, 1, shape.n);
    Op broadcast;
    broadcast.kind = OpKind::Broadcast;
    broadcast.operands = {bias};
    ir::Type type = kernel.type(bias);
    type.rows = shape.m;
    type.valid_rows = exprs.integer(shape.m);
    start = b.add(std::move(broadcast), std::move(type), "");
  } else {
    start = b.full(accumulator, shape.m, shape.n, is_float(accumulator) ? exprs.real(0) : exprs.integer(0));
  }
  ir::Type type = kernel.type(start);
  type.valid_rows = b.remaining(rows, row, shape.m);
  type.valid_cols = b.remaining(cols, col, shape.n);
  kernel.values[start].type = type;

  auto multiply = [&](ExprId step, ValueId sum) {
    Op op;
    op.kind = OpKind::MatMul;
    const ValueId left_tile = b.load(left, {row, step}, shape.m, shape.k);
    const ValueId right_tile = b.load(right, {step, col}, shape.k, shape.n);
    op.operands = {left_tile, right_tile, sum};
    return b.add(std::move(op), type, "");
  };
  ValueId result;
  if (exprs.constant(depth).value_or(shape.k + 1) <= shape.k) {  // one step: its buffers rotate with the blocks
    result = multiply(exprs.integer(0), start);
  } else {
    const ir::RegionId outside = b.region();
    const SymId k = b.loop_symbol("k");
    const OpId loop = b.loop(OpKind::For, {k}, {depth}, {shape.k});
    const ValueId carried = kernel.add_value(type, "acc");
    kernel.regions[b.region()].args.push_back(carried);
    Op yield;
    yield.kind = OpKind::Yield;
    yield.operands = {multiply(exprs.symbol(k), carried)};
    kernel.add_op(b.region(), std::move(yield));
    b.enter(outside);
    result = kernel.add_value(type, "acc");
    kernel.values[result].def = loop;
    kernel.ops[loop].operands = {start};
    kernel.ops[loop].results = {result};
  }
  if (convert != nullptr) {
    Op cast;
    cast.kind = OpKind::Cast;
    cast.round = convert->round;
    cast.operands = {result};
    type.dtype = graph.type(convert->results[0]).dtype;
    b.at(*convert);
    result = b.add(std::move(cast), type, "");
  }
  if (!work.empty()) {
    result = finish(b, work, {{product->results[0], result}}, product->results[0], shape, row, col);
  }
  b.at(*assign);
  b.store(b.cloner().value(assign->operands[0]), {row, col}, result);
  return true;
}

}  // namespace pto::passes
