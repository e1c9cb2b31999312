// Selection, the operations: which instruction does what. Simple ops are a table walk; broadcasting picks the expand
// form.
#include <algorithm>
#include <iterator>

#include "src/passes/block/selector.h"

namespace pto::passes {

using ir::Op;
using ir::OpKind;
using ir::ScalarSide;
using isa::Opcode;
using isa::OperandKind;

namespace {

struct BinaryRow {
  OpKind kind;
  Opcode tiles;        // two tiles of one shape
  Opcode tile_scalar;  // tile, scalar
  Opcode scalar_tile;  // scalar, tile
  Opcode row_expand;   // one is a column
  Opcode col_expand;   // one is a row
};

constexpr BinaryRow kBinary[] = {
    {OpKind::Add, Opcode::TAdd, Opcode::TAdds, Opcode::TAdds, Opcode::TRowExpandAdd, Opcode::TColExpandAdd},
    {OpKind::Sub, Opcode::TSub, Opcode::TSubs, Opcode::TRsubs, Opcode::TRowExpandSub, Opcode::TColExpandSub},
    {OpKind::Mul, Opcode::TMul, Opcode::TMuls, Opcode::TMuls, Opcode::TRowExpandMul, Opcode::TColExpandMul},
    {OpKind::Div, Opcode::TDiv, Opcode::TDivs, Opcode::TRdivs, Opcode::TRowExpandDiv, Opcode::TColExpandDiv},
    {OpKind::Max, Opcode::TMax, Opcode::TMaxs, Opcode::TMaxs, Opcode::TRowExpandMax, Opcode::TColExpandMax},
    {OpKind::Min, Opcode::TMin, Opcode::TMins, Opcode::TMins, Opcode::TRowExpandMin, Opcode::TColExpandMin},
};

struct UnaryRow {
  OpKind kind;
  Opcode opcode;
};

constexpr UnaryRow kUnary[] = {
    {OpKind::Neg, Opcode::TNeg},     {OpKind::Abs, Opcode::TAbs},   {OpKind::Exp, Opcode::TExp},
    {OpKind::Log, Opcode::TLog},     {OpKind::Sqrt, Opcode::TSqrt}, {OpKind::Rsqrt, Opcode::TRsqrt},
    {OpKind::Recip, Opcode::TRecip}, {OpKind::Relu, Opcode::TRelu},
};

struct ReduceRow {
  OpKind kind;
  Opcode rows;     // along a row
  Opcode columns;  // along a column
};

constexpr ReduceRow kReduce[] = {
    {OpKind::Sum, Opcode::TRowSum, Opcode::TColSum},
    {OpKind::ReduceMax, Opcode::TRowMax, Opcode::TColMax},
    {OpKind::ReduceMin, Opcode::TRowMin, Opcode::TColMin},
};

template <typename Row, size_t N>
const Row* find_row(const Row (&rows)[N], OpKind kind) {
  const auto it = std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.kind == kind; });
  return it == std::end(rows) ? nullptr : &*it;
}

isa::Operand attribute(OperandKind kind, uint8_t value) {
  isa::Operand operand;
  operand.kind = kind;
  operand.attribute = value;
  return operand;
}

}  // namespace

bool Selector::unsupported(const Op& op, const std::string& why) {
  sink_.report(DiagId::NoInstruction, op.span(), {target_.name, std::string(ir::op_info(op.kind).spelling), why});
  return false;
}

bool Selector::operation(const Op& op) {
  switch (ir::op_info(op.kind).shape) {
    case ir::OpShape::Binary:
      return binary(op);
    case ir::OpShape::Unary:
      return unary(op);
    case ir::OpShape::Reduce:
      return reduce(op);
    case ir::OpShape::Special:
      break;
  }
  switch (op.kind) {
    case OpKind::Load:
      return load(op);
    case OpKind::Store:
      return store(op);
    case OpKind::MatMul:
    case OpKind::MatMulBias:
      return matmul(op);
    case OpKind::Full:
      return fill(op);
    case OpKind::Broadcast:
      return broadcast(op);
    case OpKind::Cast:
      return convert(op);
    case OpKind::Move:
      return move(op);
    case OpKind::Extract:
      return extract(op);
    case OpKind::FillPad:
      return fill_pad(op);
    case OpKind::Compare:
      return compare(op);
    case OpKind::Select:
      return select(op);
    default:
      return unsupported(op, "it has no form on tiles");
  }
}

bool Selector::binary(const Op& op) {
  const BinaryRow& row = *find_row(kBinary, op.kind);
  if (op.scalar_side != ScalarSide::None) {
    const TileRef source = use(op.operands[0]);
    const TileRef dst = define(op);
    if (op.scalar_side == ScalarSide::Left && row.scalar_tile != row.tile_scalar) {
      return emit(op, row.scalar_tile,
                  {tile(OperandKind::TileOut, dst), scalar(expr(op.exprs[0])), tile(OperandKind::TileIn, source)});
    }
    return emit(op, row.tile_scalar,
                {tile(OperandKind::TileOut, dst), tile(OperandKind::TileIn, source), scalar(expr(op.exprs[0]))});
  }
  const ir::Type& a = kernel_.type(op.operands[0]);
  const ir::Type& b = kernel_.type(op.operands[1]);
  const bool rows_differ = a.rows != b.rows;
  const bool cols_differ = a.cols != b.cols;
  if (rows_differ && cols_differ) {
    return unsupported(op, "its operands broadcast in both directions");
  }
  const Opcode opcode = rows_differ ? row.col_expand : cols_differ ? row.row_expand : row.tiles;
  const TileRef left = use(op.operands[0]);
  const TileRef right = use(op.operands[1]);
  return emit(
      op, opcode,
      {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, left), tile(OperandKind::TileIn, right)});
}

bool Selector::unary(const Op& op) {
  const UnaryRow* row = find_row(kUnary, op.kind);
  if (row == nullptr) {
    return unsupported(op, "it has no form on tiles");
  }
  const TileRef source = use(op.operands[0]);
  return emit(op, row->opcode, {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, source)});
}

bool Selector::reduce(const Op& op) {
  const ReduceRow* row = find_row(kReduce, op.kind);
  if (row == nullptr) {
    return unsupported(op, "it has no form on tiles");
  }
  const TileRef source = use(op.operands[0]);
  const TileRef dst = define(op);
  if (op.axis == 0) {
    return emit(op, row->columns, {tile(OperandKind::TileOut, dst), tile(OperandKind::TileIn, source)});
  }
  TileDesc folded = describe(op.operands[0]);
  folded.cols = std::min(folded.cols, target_.vector_repeat_bytes / byte_size(folded.dtype));
  const TileRef scratch = new_buffer(folded, "tmp", op.spans);
  return emit(
      op, row->rows,
      {tile(OperandKind::TileOut, dst), tile(OperandKind::TileIn, source), tile(OperandKind::TileTmp, scratch)});
}

bool Selector::compare(const Op& op) {
  const isa::Operand cmp = attribute(OperandKind::Cmp, static_cast<uint8_t>(op.cmp));
  const TileRef a = use(op.operands[0]);
  if (op.scalar_side != ScalarSide::None) {
    // `scalar < tile` is `tile > scalar`.
    constexpr isa::Cmp kMirrored[] = {isa::Cmp::Eq, isa::Cmp::Ne, isa::Cmp::Gt,
                                      isa::Cmp::Ge, isa::Cmp::Lt, isa::Cmp::Le};
    isa::Operand side = cmp;
    if (op.scalar_side == ScalarSide::Left) {
      side.attribute = static_cast<uint8_t>(kMirrored[static_cast<size_t>(op.cmp)]);
    }
    return emit(
        op, Opcode::TCmps,
        {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, a), scalar(expr(op.exprs[0])), side});
  }
  const TileRef b = use(op.operands[1]);
  return emit(
      op, Opcode::TCmp,
      {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, a), tile(OperandKind::TileIn, b), cmp});
}

bool Selector::select(const Op& op) {
  const TileRef mask = use(op.operands[0]);
  const TileRef a = use(op.operands[1]);
  if (op.scalar_side == ScalarSide::Right) {
    return emit(op, Opcode::TSels,
                {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, mask), tile(OperandKind::TileIn, a),
                 scalar(expr(op.exprs[0]))});
  }
  if (op.scalar_side == ScalarSide::Left) {
    return unsupported(op, "the scalar must be the second choice; turn the comparison round");
  }
  const TileRef b = use(op.operands[2]);
  return emit(op, Opcode::TSel,
              {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, mask), tile(OperandKind::TileIn, a),
               tile(OperandKind::TileIn, b)});
}

bool Selector::load(const Op& op) {
  const ir::ValueId result = op.results[0];
  return emit(op, Opcode::TLoad,
              {tile(OperandKind::TileOut, define(op)), window(OperandKind::GmIn, op.operands[0], op.exprs, result),
               valid(result)});
}

bool Selector::store(const Op& op) {
  const ir::ValueId stored = op.operands[1];
  auto write = [&] {
    return emit(op, Opcode::TStore,
                {window(OperandKind::GmOut, op.operands[0], op.exprs, stored), tile(OperandKind::TileIn, use(stored))});
  };
  // What both lanes have one of them stores.
  return side_ == CoreKind::Vec && plan_.lanes == 2 && !shared(stored) ? lane_zero(op.spans, write) : write();
}

bool Selector::matmul(const Op& op) {
  const isa::Operand left = tile(OperandKind::TileIn, use(op.operands[0]));
  const isa::Operand right = tile(OperandKind::TileIn, use(op.operands[1]));
  if (op.kind == OpKind::MatMulBias) {
    const isa::Operand bias = tile(OperandKind::TileIn, use(op.operands[2]));
    return emit(op, Opcode::TMatMulBias, {tile(OperandKind::TileOut, define(op)), left, right, bias});
  }
  if (op.operands.size() == 2) {
    return emit(op, Opcode::TMatMul, {tile(OperandKind::TileOut, define(op)), left, right});
  }
  // The sum stays where it is: the accumulator's buffer becomes the result's.
  const ir::ValueId sum = op.operands[2];
  const TileRef ref = use(sum);
  if (uses_.at(sum).size() > 1) {
    return unsupported(op, "the accumulator is read again after the product changed it");
  }
  tiles_[op.results[0]] = ref;
  const auto start = starts_.find(sum);
  auto accumulate = [&] { return emit(op, Opcode::TMatMulAcc, {tile(OperandKind::TileInOut, ref), left, right}); };
  if (start == starts_.end()) {
    return accumulate();
  }
  const Start begin = start->second;
  auto overwrite = [&] {
    const isa::Operand dst = tile(OperandKind::TileOut, ref);
    return begin.bias ? emit(op, Opcode::TMatMulBias, {dst, left, right, tile(OperandKind::TileIn, *begin.bias)})
                      : emit(op, Opcode::TMatMul, {dst, left, right});
  };
  if (!begin.first.valid()) {
    return overwrite();
  }
  const ir::RegionId outside = region_;
  const auto sides = add_branch(begin.first, op.spans);
  region_ = sides[0];
  bool ok = overwrite();
  region_ = sides[1];
  ok = ok && accumulate();
  region_ = outside;
  return ok;
}

bool Selector::fill(const Op& op) {
  const ir::Type& type = kernel_.type(op.results[0]);
  if (type.space == Space::Acc) {
    const ExprNode& value = kernel_.exprs[op.exprs[0]];
    if ((value.op == ExprOp::Float && value.fvalue == 0) || (value.op == ExprOp::Int && value.value == 0)) {
      define(op);
      starts_[op.results[0]] = {};
      return true;
    }
    return unsupported(op, "an accumulator starts from zeros or from a broadcast row");
  }
  return emit(op, Opcode::TExpands,
              {tile(OperandKind::TileOut, define(op)), scalar(expr(op.exprs[0])), valid(op.results[0])});
}

bool Selector::broadcast(const Op& op) {
  const ir::Type& type = kernel_.type(op.results[0]);
  const TileRef source = use(op.operands[0]);
  if (type.space == Space::Acc) {
    define(op);
    starts_[op.results[0]] = {source, ExprId()};
    return true;
  }
  const bool row = kernel_.type(op.operands[0]).rows == 1 && type.rows != 1;
  return emit(op, row ? Opcode::TColExpand : Opcode::TRowExpand,
              {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, source), valid(op.results[0])});
}

bool Selector::convert(const Op& op) {
  const TileRef source = use(op.operands[0]);
  if (kernel_.type(op.results[0]).space == Space::Acc) {
    // What takes it out converts: the cast accumulator is the accumulator.
    const auto uses = uses_.find(op.results[0]);
    const bool leaves = uses != uses_.end() && std::all_of(uses->second.begin(), uses->second.end(), [&](ir::OpId use) {
                          return kernel_.ops[use].kind == OpKind::Store || kernel_.ops[use].kind == OpKind::Move;
                        });
    if (!leaves) {
      return unsupported(op, "an accumulator is converted on its way out; nothing else may use the result");
    }
    if (op.round != isa::Round::Rint) {
      return unsupported(op, "on its way out of the accumulator a value is rounded to nearest even");
    }
    tiles_[op.results[0]] = source;
    return true;
  }
  return emit(op, Opcode::TCvt,
              {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, source),
               attribute(OperandKind::Round, static_cast<uint8_t>(op.round))});
}

bool Selector::move(const Op& op) {
  const TileRef source = use(op.operands[0]);
  return emit(op, Opcode::TMov, {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, source)});
}

bool Selector::extract(const Op& op) {
  const TileRef source = use(op.operands[0]);
  isa::Operand row;
  row.kind = OperandKind::Index;
  row.a = expr(op.exprs[0]);
  isa::Operand col = row;
  col.a = expr(op.exprs[1]);
  return emit(
      op, Opcode::TExtract,
      {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, source), row, col, valid(op.results[0])});
}

bool Selector::fill_pad(const Op& op) {
  const TileRef source = use(op.operands[0]);
  return emit(op, Opcode::TFillPad,
              {tile(OperandKind::TileOut, define(op)), tile(OperandKind::TileIn, source),
               attribute(OperandKind::Pad, static_cast<uint8_t>(op.pad))});
}

}  // namespace pto::passes
