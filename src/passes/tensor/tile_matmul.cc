// Tiling of a matrix product: blocks of the result spread over the cores, a loop over K in each. Block shapes fill the
// accumulator memory and leave room for two operand tiles in the left and right memories.
#include <algorithm>

#include "src/passes/tensor/tile_builder.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

struct BlockShape {
  int64_t m = 128;
  int64_t n = 256;
  int64_t k = 64;
};

// The step along a dim: no longer than the dim itself, if that is static.
int64_t clip(const ExprPool& exprs, ExprId extent, int64_t step, int64_t multiple) {
  const auto constant = exprs.constant(extent);
  return constant ? std::min(step, round_up(*constant, multiple)) : step;
}

BlockShape choose_shape(const ExprPool& exprs, const Target& target, DType dtype, ExprId m, ExprId n, ExprId k) {
  const int64_t size = byte_size(dtype);
  const int64_t box = std::max<int64_t>(16, 32 / size);
  BlockShape shape;
  shape.n = clip(exprs, n, 256, box);
  shape.m = clip(exprs, m, 128, 16);
  while (shape.m * shape.n * 4 > target.space(Space::Acc).bytes) {
    shape.m = round_up(shape.m / 2, 16);
  }
  // Two tiles of each operand, one being filled while the other is multiplied.
  const int64_t left = target.space(Space::Left).bytes / 2 / (shape.m * size);
  const int64_t right = target.space(Space::Right).bytes / 2 / (shape.n * size);
  shape.k = std::max(box, std::min({left, right, 128 / size}) / box * box);
  shape.k = clip(exprs, k, shape.k, box);
  return shape;
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
  const BlockShape shape = choose_shape(exprs, target, left_type.dtype, rows, cols, depth);

  const SymId m = b.loop_symbol("m");
  const SymId n = b.loop_symbol("n");
  b.loop(OpKind::Parallel, {m, n}, {rows, cols}, {shape.m, shape.n});
  const ExprId row = exprs.symbol(m);
  const ExprId col = exprs.symbol(n);
  const DType accumulator = graph.type(product->results[0]).dtype;
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

  const ir::RegionId outside = b.region();
  const SymId k = b.loop_symbol("k");
  const OpId loop = b.loop(OpKind::For, {k}, {depth}, {shape.k});
  const ExprId step = exprs.symbol(k);
  const ValueId carried = kernel.add_value(type, "acc");
  kernel.regions[b.region()].args.push_back(carried);
  Op multiply;
  multiply.kind = OpKind::MatMul;
  const ValueId left_tile = b.load(left, {row, step}, shape.m, shape.k);
  const ValueId right_tile = b.load(right, {step, col}, shape.k, shape.n);
  multiply.operands = {left_tile, right_tile, carried};
  const ValueId sum = b.add(std::move(multiply), type, "");
  Op yield;
  yield.kind = OpKind::Yield;
  yield.operands = {sum};
  kernel.add_op(b.region(), std::move(yield));
  b.enter(outside);
  ValueId result = kernel.add_value(type, "acc");
  kernel.values[result].def = loop;
  kernel.ops[loop].operands = {start};
  kernel.ops[loop].results = {result};
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
