// Types of values, op by op. Dims are compared as far as both sides are known numbers.
#include <algorithm>

#include "src/ir/verifier.h"

namespace pto::ir {

namespace {

// Element type of a matrix product, or None.
DType product_type(DType operand) {
  switch (operand) {
    case DType::F16:
    case DType::BF16:
    case DType::F32:
      return DType::F32;
    case DType::I8:
      return DType::I32;
    default:
      return DType::None;
  }
}

}  // namespace

bool Verifier::may_equal(ExprId a, ExprId b) const {
  const std::optional<int64_t> left = function_.exprs.constant(a);
  const std::optional<int64_t> right = function_.exprs.constant(b);
  return a == b || !left || !right || *left == *right;
}

bool Verifier::may_match(const Type& a, const Type& b) const {
  if (a.kind != b.kind || a.dtype != b.dtype || a.dims.size() != b.dims.size() || a.rows != b.rows ||
      a.cols != b.cols) {
    return false;
  }
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), [&](ExprId x, ExprId y) { return may_equal(x, y); });
}

const Param* Verifier::root(ValueId value) const {
  // As many steps as there are values: broken definitions may go in a circle.
  for (size_t step = 0; step < function_.values.size() && function_.values[value].def.valid(); ++step) {
    const OpId def = function_.values[value].def;
    if (def.index() >= function_.ops.size()) {
      return nullptr;
    }
    const Op& op = function_.ops[def];
    if (op.kind != OpKind::Reshape || op.operands.size() != 1 || op.operands[0].index() >= function_.values.size()) {
      return nullptr;
    }
    value = op.operands[0];
  }
  for (const Param& param : function_.params) {
    if (param.is_tensor() && param.value == value) {
      return &param;
    }
  }
  return nullptr;
}

void Verifier::types(const Op& op) {
  const TypeKind values = level_of(function_.kind) == Level::Tile ? TypeKind::Tile : TypeKind::Tensor;
  switch (op.kind) {
    case OpKind::Inst:
      return instruction(op);
    case OpKind::Task:
      return task(op);
    case OpKind::Buffer:
      check(type(op.results[0]).is_tensor(), "its result is no tensor");
      check(op.exprs.size() <= 1, "has a wrong number of expressions");
      return;
    case OpKind::Call:
      return call(op);
    case OpKind::Load:
    case OpKind::Store:
      return load_store(op);
    case OpKind::Reshape:
      return reshape(op);
    case OpKind::For:
    case OpKind::If:
    case OpKind::Parallel:
    case OpKind::Let:
    case OpKind::Yield:
      return;
    default:
      break;
  }
  auto has_kind = [&](ValueId value) { return type(value).kind == values; };
  if (!check(std::all_of(op.operands.begin(), op.operands.end(), has_kind) &&
                 std::all_of(op.results.begin(), op.results.end(), has_kind),
             values == TypeKind::Tile ? "its values are not all tiles" : "its values are not all tensors")) {
    return;
  }
  if (op_info(op.kind).shape == OpShape::Reduce) {
    return reduce(op);
  }
  if (op_info(op.kind).shape != OpShape::Special) {
    return elementwise(op);
  }
  switch (op.kind) {
    case OpKind::Cast:
      return same_shape(op, false);
    case OpKind::FillPad:
      check(function_.exprs.constant(type(op.results[0]).valid_rows) == type(op.results[0]).rows &&
                function_.exprs.constant(type(op.results[0]).valid_cols) == type(op.results[0]).cols,
            "its result is not wholly valid");
      return same_shape(op, true);
    case OpKind::Softmax: {
      const int rank = static_cast<int>(type(op.operands[0]).dims.size());
      check(op.axis >= 0 && op.axis < rank, "the axis is out of range");
      return same_shape(op, true);
    }
    case OpKind::Compare:
      return compare(op);
    case OpKind::Select:
      return select(op);
    case OpKind::Full:
      return fill(op);
    case OpKind::MatMul:
    case OpKind::MatMulBias:
      return matmul(op);
    case OpKind::Assign: {
      const Param* target = root(op.operands[0]);
      check(target != nullptr && target->value == op.operands[0] && target->mode != ParamMode::In,
            "its target is no output parameter");
      check(may_match(type(op.operands[0]), type(op.operands[1])), "the value's type is not the output's");
      return;
    }
    case OpKind::Move:
    case OpKind::Extract:
      return tile_move(op);
    case OpKind::Broadcast:
      return broadcast(op);
    default:
      return;
  }
}

// Each value's dims or rows and columns fit the result's, or are 1; and each of the result's is one of theirs.
void Verifier::broadcasts(const std::vector<ValueId>& values, const Type& result) {
  if (result.is_tile()) {
    int64_t rows = 1;
    int64_t cols = 1;
    for (ValueId value : values) {
      const Type& each = type(value);
      check((each.rows == result.rows || each.rows == 1) && (each.cols == result.cols || each.cols == 1),
            "an operand's shape does not broadcast to the result's");
      rows = std::max(rows, each.rows);
      cols = std::max(cols, each.cols);
    }
    check(rows == result.rows && cols == result.cols, "the result is larger than its operands");
    return;
  }
  size_t rank = 0;
  for (ValueId value : values) {
    rank = std::max(rank, type(value).dims.size());
  }
  if (!check(rank == result.dims.size(), "the result's rank is not its operands'")) {
    return;
  }
  for (size_t from_end = 1; from_end <= rank; ++from_end) {
    const ExprId wanted = result.dims[rank - from_end];
    bool ones = true;
    for (ValueId value : values) {
      const std::vector<ExprId>& dims = type(value).dims;
      if (from_end > dims.size()) {
        continue;
      }
      const ExprId dim = dims[dims.size() - from_end];
      const bool one = function_.exprs.constant(dim) == 1;
      ones = ones && one;
      check(one || may_equal(dim, wanted), "an operand's shape does not broadcast to the result's");
    }
    check(!ones || function_.exprs.constant(wanted).value_or(1) == 1, "the result is larger than its operands");
  }
}

void Verifier::scalar(ExprId expr, DType dtype) {
  check(function_.exprs.is_real(expr, function_.symbols) == is_float(dtype),
        is_float(dtype) ? "its scalar is an integer, its elements are floats"
                        : "its scalar is a float, its elements are integers");
}

void Verifier::elementwise(const Op& op) {
  const Type& result = type(op.results[0]);
  for (ValueId operand : op.operands) {
    check(type(operand).dtype == result.dtype, "element types differ");
  }
  if (op.scalar_side != ScalarSide::None) {
    scalar(op.exprs[0], result.dtype);
  }
  broadcasts(op.operands, result);
}

void Verifier::compare(const Op& op) {
  const Type& result = type(op.results[0]);
  check(result.dtype == DType::Bool, "its result is not bool");
  const DType dtype = type(op.operands[0]).dtype;
  for (ValueId operand : op.operands) {
    check(type(operand).dtype == dtype, "element types differ");
  }
  if (op.scalar_side != ScalarSide::None) {
    scalar(op.exprs[0], dtype);
  }
  broadcasts(op.operands, result);
}

void Verifier::select(const Op& op) {
  const Type& result = type(op.results[0]);
  check(type(op.operands[0]).dtype == DType::Bool, "its condition is not bool");
  for (size_t i = 1; i < op.operands.size(); ++i) {
    check(type(op.operands[i]).dtype == result.dtype, "element types differ");
  }
  if (op.scalar_side != ScalarSide::None) {
    scalar(op.exprs[0], result.dtype);
  }
  broadcasts(op.operands, result);
}

void Verifier::same_shape(const Op& op, bool same_dtype) {
  Type operand = type(op.operands[0]);
  const Type& result = type(op.results[0]);
  check(!same_dtype || operand.dtype == result.dtype, "element types differ");
  operand.dtype = result.dtype;
  check(may_match(operand, result), "its result has another shape");
}

void Verifier::reduce(const Op& op) {
  const Type& operand = type(op.operands[0]);
  const Type& result = type(op.results[0]);
  check(operand.dtype == result.dtype, "element types differ");
  if (operand.is_tile()) {
    if (check(op.axis == 0 || op.axis == 1, "the axis is out of range")) {
      check(result.rows == (op.axis == 0 ? 1 : operand.rows) && result.cols == (op.axis == 1 ? 1 : operand.cols),
            "its result has a wrong shape");
    }
    return;
  }
  if (!check(op.axis >= 0 && static_cast<size_t>(op.axis) < operand.dims.size(), "the axis is out of range") ||
      !check(operand.dims.size() == result.dims.size(), "its result has another rank")) {
    return;
  }
  for (size_t i = 0; i < operand.dims.size(); ++i) {
    const bool reduced = i == static_cast<size_t>(op.axis);
    check(reduced ? function_.exprs.constant(result.dims[i]) == 1 : may_equal(operand.dims[i], result.dims[i]),
          "its result has a wrong shape");
  }
}

void Verifier::matmul(const Op& op) {
  const DType left = type(op.operands[0]).dtype;
  check(left == type(op.operands[1]).dtype, "element types differ");
  check(product_type(left) != DType::None && type(op.results[0]).dtype == product_type(left),
        "its result has a wrong element type");
  if (op.operands.size() > 2) {
    check(type(op.operands[2]).dtype == type(op.results[0]).dtype, "what it adds to has another element type");
  }
  check(op.kind != OpKind::MatMul || op.operands.size() == 2 || function_.kind == FunctionKind::Kernel,
        "has an accumulator outside a kernel");
  matmul_shapes(op);
}

void Verifier::matmul_shapes(const Op& op) {
  const Type& a = type(op.operands[0]);
  const Type& b = type(op.operands[1]);
  const Type& result = type(op.results[0]);
  const bool bias = op.kind == OpKind::MatMulBias;
  if (result.is_tile()) {
    check(a.cols == b.rows && a.rows == result.rows && b.cols == result.cols, "its shapes do not fit");
    if (op.operands.size() > 2) {
      const Type& start = type(op.operands[2]);
      check(start.rows == (bias ? 1 : result.rows) && start.cols == result.cols, "its shapes do not fit");
    }
    return;
  }
  if (!check(a.dims.size() == 2 && b.dims.size() == 2 && result.dims.size() == 2, "its values are not of rank 2")) {
    return;
  }
  check(may_equal(a.dims[1], b.dims[0]) && may_equal(a.dims[0], result.dims[0]) && may_equal(b.dims[1], result.dims[1]),
        "its shapes do not fit");
  if (bias) {
    check(type(op.operands[2]).dims.size() == 1 && may_equal(type(op.operands[2]).dims[0], result.dims[1]),
          "its shapes do not fit");
  }
}

void Verifier::reshape(const Op& op) {
  const Type& from = type(op.operands[0]);
  const Type& to = type(op.results[0]);
  if (!check(from.is_tensor() && to.is_tensor(), "its values are not all tensors")) {
    return;
  }
  check(from.dtype == to.dtype, "element types differ");
  auto elements = [&](const std::vector<ExprId>& dims) -> std::optional<int64_t> {
    int64_t product = 1;
    for (ExprId dim : dims) {
      const std::optional<int64_t> size = function_.exprs.constant(dim);
      if (!size || __builtin_mul_overflow(product, *size, &product)) {
        return std::nullopt;
      }
    }
    return product;
  };
  const std::optional<int64_t> before = elements(from.dims);
  const std::optional<int64_t> after = elements(to.dims);
  check(!before || !after || *before == *after, "changes the number of elements");
}

void Verifier::load_store(const Op& op) {
  const bool load = op.kind == OpKind::Load;
  const Type& tensor = type(op.operands[0]);
  const Type& tile = type(load ? op.results[0] : op.operands[1]);
  if (!check(tensor.is_tensor() && tile.is_tile(), "does not go between a tensor and a tile")) {
    return;
  }
  check(op.exprs.size() == tensor.dims.size(), "has a wrong number of offsets");
  check(tensor.dims.size() != 1 || tile.rows == 1, "covers more than one row of a tensor of rank 1");
  check(tensor.dtype == tile.dtype || (!load && tile.space == Space::Acc), "element types differ");
  const Param* param = root(op.operands[0]);
  if (check(param != nullptr, "its tensor is no parameter or view of one")) {
    check(load ? param->mode != ParamMode::Out : param->mode != ParamMode::In,
          load ? "reads an output" : "writes an input");
  }
}

// A move between memories may change the element type where the hardware converts: from an accumulator, to a bias.
void Verifier::tile_move(const Op& op) {
  const Type& from = type(op.operands[0]);
  const Type& to = type(op.results[0]);
  check(from.dtype == to.dtype || from.space == Space::Acc || to.space == Space::Bias, "element types differ");
  if (op.kind == OpKind::Move) {
    check(from.rows == to.rows && from.cols == to.cols, "its result has another shape");
    return;
  }
  check(to.rows <= from.rows && to.cols <= from.cols, "its window is larger than the tile");
}

void Verifier::fill(const Op& op) {
  scalar(op.exprs[0], type(op.results[0]).dtype);
}

void Verifier::broadcast(const Op& op) {
  const Type& from = type(op.operands[0]);
  const Type& to = type(op.results[0]);
  check(from.dtype == to.dtype, "element types differ");
  if (to.is_tile()) {
    check((from.rows == to.rows || from.rows == 1) && (from.cols == to.cols || from.cols == 1),
          "an operand's shape does not broadcast to the result's");
    return;
  }
  if (!check(from.dims.size() <= to.dims.size(), "an operand's shape does not broadcast to the result's")) {
    return;
  }
  const size_t missing = to.dims.size() - from.dims.size();
  for (size_t i = 0; i < from.dims.size(); ++i) {
    check(function_.exprs.constant(from.dims[i]) == 1 || may_equal(from.dims[i], to.dims[missing + i]),
          "an operand's shape does not broadcast to the result's");
  }
}

void Verifier::argument(ValueId value, const Param& param) {
  const Type& each = type(value);
  check(each.is_tensor() && each.dtype == param.type.dtype && each.dims.size() == param.type.dims.size(),
        "an argument has another type than the parameter");
}

void Verifier::call(const Op& op) {
  const Function* callee = module_.find(op.callee);
  if (!check(callee != nullptr && (level_of(callee->kind) == Level::Tensor || level_of(callee->kind) == Level::Tile),
             "calls no graph or kernel")) {
    return;
  }
  size_t operand = 0;
  size_t result = 0;
  size_t scalars = 0;
  for (const Param& param : callee->params) {
    if (!param.is_tensor()) {
      if (scalars < op.exprs.size()) {
        check(function_.exprs.is_real(op.exprs[scalars], function_.symbols) == is_float(param.dtype),
              "a scalar argument has another type than the parameter");
      }
      ++scalars;
    } else if (param.mode == ParamMode::Out) {
      if (result < op.results.size()) {
        argument(op.results[result], param);
      }
      ++result;
    } else {
      if (operand < op.operands.size()) {
        argument(op.operands[operand], param);
      }
      ++operand;
    }
  }
  check(operand == op.operands.size() && result == op.results.size() && scalars == op.exprs.size(),
        "has a wrong number of arguments or results");
}

}  // namespace pto::ir
