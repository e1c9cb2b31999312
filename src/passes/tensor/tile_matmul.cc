// Tiling of a matrix product: blocks of the result spread over the cores, a loop over K in each. The cost model chooses
// the shape of a block and the step along K, which fills the L1 memory; tile-l0 cuts it for the operand memories.
#include <algorithm>

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

bool tile_matmul(TileBuilder& b, const Target& target, DiagnosticSink& sink) {
  const ir::Function& graph = b.graph();
  const Op* product = nullptr;
  const Op* convert = nullptr;
  const Op* assign = nullptr;
  for (OpId id : graph.body_region().ops) {
    const Op& op = graph.ops[id];
    if (op.kind == OpKind::MatMul || op.kind == OpKind::MatMulBias) {
      product = &op;
    } else if (op.kind == OpKind::Cast && product != nullptr) {
      convert = &op;
    } else if (op.kind == OpKind::Assign && assign == nullptr) {
      assign = &op;
    } else {
      sink.report(DiagId::UnsupportedLowering, op.span(),
                  {"`" + std::string(ir::op_info(op.kind).spelling) + "`",
                   "a fused graph around a matrix product holds the product and a cast of it"});
      return false;
    }
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
  const Extents shape = choose_shape(kernel, target, left_type, kernel.type(right), accumulator, stored,
                                     product->kind == OpKind::MatMulBias);
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
  b.at(*assign);
  b.store(b.cloner().value(assign->operands[0]), {row, col}, result);
  return true;
}

}  // namespace pto::passes
