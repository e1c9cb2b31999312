// Statements of the Tensor and Tile levels: one operation on values each.
#include <cstddef>

#include "src/ir/printer.h"

namespace pto::ir {

namespace {

std::string_view infix(isa::Cmp cmp) {
  switch (cmp) {
    case isa::Cmp::Eq:
      return " == ";
    case isa::Cmp::Ne:
      return " != ";
    case isa::Cmp::Lt:
      return " < ";
    case isa::Cmp::Le:
      return " <= ";
    case isa::Cmp::Gt:
      return " > ";
    case isa::Cmp::Ge:
      return " >= ";
  }
  return "";
}

}  // namespace

std::string Printer::rhs(const Op& op) const {
  switch (op_info(op.kind).shape) {
    case OpShape::Binary:
      return binary(op);
    case OpShape::Unary:
      return unary(op);
    case OpShape::Reduce:
      return reduce(op);
    case OpShape::Special:
      break;
  }
  auto operand = [&](size_t i) { return name(op.operands.at(i)); };
  const Type& result = function_.type(op.results.at(0));
  const std::string function(op_info(op.kind).spelling);
  switch (op.kind) {
    case OpKind::Cast:
      return cast(op);
    case OpKind::Compare:
      return compare(op);
    case OpKind::Select:
      return select(op);
    case OpKind::Full:
      return full(op);
    case OpKind::Softmax:
      return "softmax(" + operand(0) + ", axis: " + std::to_string(op.axis) + ")";
    case OpKind::MatMul:
    case OpKind::MatMulBias:
      return matmul(op);
    case OpKind::Reshape:
      return "reshape(" + operand(0) + ", [" + expr_list(result.dims) + "])";
    case OpKind::Load:
      return "load(" + window(op.operands.at(0), op.exprs, result) + place(result) + ")";
    case OpKind::Move:
      return "move(" + operand(0) + place(result) + ")";
    case OpKind::Extract:
      return "extract(" + operand(0) + ", [" + expr_list(op.exprs) + "], " + shape(result) + place(result) + ")";
    case OpKind::Broadcast:
      return "broadcast(" + operand(0) + ", " + broadcast_shape(op) + place(result) + ")";
    case OpKind::FillPad:
      return "fillpad(" + operand(0) + ", " + std::string(spelling(op.pad)) + ")";
    default:
      return function + "()";
  }
}

// "[64, 16]": a tensor's dims or a tile's rows and columns.
std::string Printer::shape(const Type& type) const {
  if (type.is_tensor()) {
    return "[" + expr_list(type.dims) + "]";
  }
  return "[" + std::to_string(type.rows) + ", " + std::to_string(type.cols) + "]";
}

// The two sides of an operation where one may be a scalar, of the other's element type.
std::pair<std::string, std::string> Printer::sides(const Op& op, size_t first, bool as_terms) const {
  const ValueId value = op.operands.at(first);
  if (op.scalar_side == ScalarSide::None) {
    return {name(value), name(op.operands.at(first + 1))};
  }
  const DType type = function_.type(value).dtype;
  std::string text = as_terms ? scalar_term(op.exprs.at(0), type) : scalar(op.exprs.at(0), type);
  if (op.scalar_side == ScalarSide::Left) {
    return {std::move(text), name(value)};
  }
  return {name(value), std::move(text)};
}

std::string Printer::binary(const Op& op) const {
  const bool call = op.kind == OpKind::Max || op.kind == OpKind::Min;
  const auto [left, right] = sides(op, 0, !call);
  const std::string spelling(op_info(op.kind).spelling);
  return call ? spelling + "(" + left + ", " + right + ")" : left + " " + spelling + " " + right;
}

std::string Printer::compare(const Op& op) const {
  const auto [left, right] = sides(op, 0, true);
  return left + std::string(infix(op.cmp)) + right;
}

std::string Printer::select(const Op& op) const {
  const auto [left, right] = sides(op, 1, false);
  return "select(" + name(op.operands.at(0)) + ", " + left + ", " + right + ")";
}

std::string Printer::unary(const Op& op) const {
  const std::string& operand = name(op.operands.at(0));
  return op.kind == OpKind::Neg ? "-" + operand : std::string(op_info(op.kind).spelling) + "(" + operand + ")";
}

std::string Printer::reduce(const Op& op) const {
  const std::string spelling(op_info(op.kind).spelling);
  const std::string& operand = name(op.operands.at(0));
  if (function_.type(op.operands[0]).is_tile()) {
    return (op.axis == 1 ? "row_" : "col_") + spelling + "(" + operand + ")";
  }
  return spelling + "(" + operand + ", axis: " + std::to_string(op.axis) + ", keepdims: true)";
}

std::string Printer::cast(const Op& op) const {
  std::string text =
      "cast(" + name(op.operands.at(0)) + ", " + std::string(spelling(function_.type(op.results.at(0)).dtype));
  if (op.round != isa::Round::Rint) {
    text += ", round: " + std::string(spelling(op.round));
  }
  return text + ")";
}

// Its rows and columns; with element type and valid region where a repeated row or column is not wholly valid.
std::string Printer::broadcast_shape(const Op& op) const {
  const Type& result = function_.type(op.results.at(0));
  if (result.is_tensor()) {
    return shape(result);
  }
  const Type& from = function_.type(op.operands.at(0));
  const bool row = from.rows == 1 && from.cols == result.cols;
  const bool whole = row ? function_.exprs.constant(result.valid_rows) == result.rows
                         : function_.exprs.constant(result.valid_cols) == result.cols;
  return whole ? shape(result) : tile_shape(result);
}

// "f32[8, 64]", or "f32[8, 64; r, c]" if it is not wholly valid.
std::string Printer::tile_shape(const Type& type) const {
  std::string tile(spelling(type.dtype));
  tile += "[" + std::to_string(type.rows) + ", " + std::to_string(type.cols);
  const bool whole =
      function_.exprs.constant(type.valid_rows) == type.rows && function_.exprs.constant(type.valid_cols) == type.cols;
  if (!whole) {
    tile += "; " + expr(type.valid_rows) + ", " + expr(type.valid_cols);
  }
  return tile + "]";
}

std::string Printer::full(const Op& op) const {
  const Type& result = function_.type(op.results.at(0));
  const std::string value = scalar(op.exprs.at(0), result.dtype);
  const std::string dtype(spelling(result.dtype));
  if (result.is_tensor()) {
    return "full(" + dtype + shape(result) + ", " + value + ")";
  }
  const std::string tile = tile_shape(result);
  if (value == "0" || value == "0.0") {
    return "zeros(" + tile + place(result) + ")";
  }
  return "full(" + tile + ", " + value + place(result) + ")";
}

std::string Printer::matmul(const Op& op) const {
  std::string text = "matmul(" + name(op.operands.at(0)) + ", " + name(op.operands.at(1));
  if (op.kind == OpKind::MatMulBias) {
    text += ", bias: " + name(op.operands.at(2));
  } else if (op.operands.size() > 2) {
    text += ", acc: " + name(op.operands[2]);
  }
  return text + ")";
}

// "x[b, i :+ 8, 0 :+ 1024]": the tile covers the last two dims, or the last one if the tensor has no more; in front of
// them stand plain indices.
std::string Printer::window(ValueId tensor, const std::vector<ExprId>& offsets, const Type& tile) const {
  std::string text = name(tensor) + "[";
  for (size_t i = 0; i < offsets.size(); ++i) {
    const size_t from_end = offsets.size() - i;
    text += i == 0 ? "" : ", ";
    // One row that is certainly there is a plain index; `i :+ 1` may be past the end.
    const bool row =
        from_end == 2 && tile.rows == 1 && tile.valid_rows.valid() && function_.exprs.constant(tile.valid_rows) == 1;
    if (from_end > 2 || row) {
      text += expr(offsets[i]);
    } else {
      text += expr(offsets[i]) + " :+ " + std::to_string(from_end == 1 ? tile.cols : tile.rows);
    }
  }
  return text + "]";
}

std::string Printer::place(const Type& tile) const {
  if (!tile.is_tile() || tile.space == Space::None) {
    return "";
  }
  std::string text = ", in: " + std::string(spelling(tile.space));
  if (tile.layout != Layout::None) {
    text += " layout(" + std::string(spelling(tile.layout)) + ")";
  }
  return text;
}

// Arguments of a call or task in the order of the callee's parameters: tensors are operands, scalars expressions.
std::string Printer::arguments(const Op& op, bool results) const {
  const Function* callee = module_ == nullptr ? nullptr : module_->find(op.callee);
  std::string text;
  size_t tensor = 0;
  size_t scalar_index = 0;
  auto add = [&](const std::string& argument) { text += (text.empty() ? "" : ", ") + argument; };
  if (callee != nullptr) {
    for (const Param& param : callee->params) {
      if (param.is_tensor() && (results || param.mode != ParamMode::Out) && tensor < op.operands.size()) {
        add(name(op.operands[tensor++]));
      } else if (!param.is_tensor() && scalar_index < op.exprs.size()) {
        add(scalar(op.exprs[scalar_index++], param.dtype));
      }
    }
  }
  while (tensor < op.operands.size()) {
    add(name(op.operands[tensor++]));
  }
  while (scalar_index < op.exprs.size()) {
    add(expr(op.exprs[scalar_index++]));
  }
  return text;
}

void Printer::call(const Op& op) {
  std::string results;
  for (ValueId result : op.results) {
    results += (results.empty() ? "" : ", ") + name(result);
  }
  const std::string text = op.callee + "(" + arguments(op, false) + ");";
  if (op.results.empty()) {
    line(text);
  } else if (op.results.size() == 1) {
    line("let " + results + " = " + text);
  } else {
    line("let (" + results + ") = " + text);
  }
}

}  // namespace pto::ir
