#include "src/eval/tensor_eval.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

namespace pto::eval {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ScalarSide;
using ir::ValueId;

using Index = std::vector<int64_t>;

// Row-major position in `dims` of an index into a shape that `dims` broadcasts to: missing leading dims and dims of
// length 1 don't move.
size_t broadcast_offset(const Index& dims, const Index& index) {
  const size_t missing = index.size() - dims.size();
  int64_t offset = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    offset = offset * dims[i] + (dims[i] == 1 ? 0 : index[missing + i]);
  }
  return static_cast<size_t>(offset);
}

// Calls visit(index, position) for every element of a shape, in row-major order.
void for_each_element(const Index& dims, const std::function<void(const Index&, size_t)>& visit) {
  Index index(dims.size(), 0);
  const auto count = static_cast<size_t>(element_count(dims));
  for (size_t position = 0; position < count; ++position) {
    visit(index, position);
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];) {
      index[d] = 0;
    }
  }
}

class TensorEval : public Frame {
 public:
  using Frame::Frame;

  bool run() {
    if (!bind()) {
      return false;
    }
    values_.assign(function_.values.size(), nullptr);
    size_t next = 0;
    for (const ir::Param& param : function_.params) {
      if (param.is_tensor()) {
        values_.at(param.value.index()) = arguments_.tensors[next++];
      }
    }
    for (ir::OpId id : function_.body_region().ops) {
      const Op& op = function_.ops[id];
      if (!all_written(op) || !step(op)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool all_written(const Op& op);
  bool step(const Op& op);
  bool special(const Op& op);
  bool call(const Op& op);
  bool assign(const Op& op);
  bool elementwise(const Op& op, const std::function<double(const std::vector<double>&)>& f);
  bool reduce(const Op& op);
  bool softmax(const Op& op);
  bool matmul(const Op& op);
  bool fill(const Op& op);
  bool reshape(const Op& op);
  bool define(const Op& op, Tensor value, size_t result = 0);
  const Tensor& operand(const Op& op, size_t i) const { return *values_.at(op.operands[i].index()); }

  std::vector<Tensor*> values_;  // by value
  std::vector<std::unique_ptr<Tensor>> owned_;
};

// What an op reads has values. The first operand of an assignment is where it writes.
bool TensorEval::all_written(const Op& op) {
  for (size_t i = op.kind == OpKind::Assign ? 1 : 0; i < op.operands.size(); ++i) {
    const Tensor* value = values_.at(op.operands[i].index());
    if (value == nullptr) {
      return fault(op.span(), name_of(op.operands[i]) + " has no value");
    }
    const auto missing = std::find(value->written.begin(), value->written.end(), uint8_t{0});
    if (missing != value->written.end()) {
      return fault(op.span(), "element " + std::to_string(missing - value->written.begin()) + " of " +
                                  name_of(op.operands[i]) + " is read, but nothing wrote it");
    }
  }
  return true;
}

// Sets a result; its shape must be what the program says.
bool TensorEval::define(const Op& op, Tensor value, size_t result) {
  const ValueId id = op.results.at(result);
  const auto wanted = shape(function_.type(id).dims, op.span());
  if (!wanted || !hold(element_count(value.dims), op.span())) {
    return false;
  }
  if (*wanted != value.dims || function_.type(id).dtype != value.dtype) {
    return fault(op.span(), spelling(op.kind) + " gives the shape " + shape_text(value.dims) + ", its result has " +
                                shape_text(*wanted));
  }
  owned_.push_back(std::make_unique<Tensor>(std::move(value)));
  values_.at(id.index()) = owned_.back().get();
  return true;
}

bool TensorEval::step(const Op& op) {
  switch (ir::op_info(op.kind).shape) {
    case ir::OpShape::Unary: {
      const DType dtype = operand(op, 0).dtype;
      return elementwise(op, [&](const std::vector<double>& x) { return unary_element(op.kind, dtype, x[0]); });
    }
    case ir::OpShape::Binary: {
      const DType dtype = operand(op, 0).dtype;
      return elementwise(op, [&](const std::vector<double>& x) { return binary_element(op.kind, dtype, x[0], x[1]); });
    }
    case ir::OpShape::Reduce: return reduce(op);
    case ir::OpShape::Special: return special(op);
  }
  return false;
}

bool TensorEval::special(const Op& op) {
  switch (op.kind) {
    case OpKind::Cast: {
      const DType from = operand(op, 0).dtype;
      const DType to = function_.type(op.results[0]).dtype;
      return elementwise(op, [&](const std::vector<double>& x) { return cast_element(to, from, x[0], op.round); });
    }
    case OpKind::Compare:
      return elementwise(op, [&](const std::vector<double>& x) { return compare_element(op.cmp, x[0], x[1]) ? 1 : 0; });
    case OpKind::Select:
      return elementwise(op, [&](const std::vector<double>& x) { return x[0] != 0 ? x[1] : x[2]; });
    case OpKind::Broadcast:
      return elementwise(op, [&](const std::vector<double>& x) { return x[0]; });
    case OpKind::Softmax: return softmax(op);
    case OpKind::MatMul:
    case OpKind::MatMulBias: return matmul(op);
    case OpKind::Full: return fill(op);
    case OpKind::Reshape: return reshape(op);
    case OpKind::Call: return call(op);
    case OpKind::Assign: return assign(op);
    default: return fault(op.span(), spelling(op.kind) + " can't stand in a graph");
  }
}

// `f` gets the op's values in order, with the scalar where it stands.
bool TensorEval::elementwise(const Op& op, const std::function<double(const std::vector<double>&)>& f) {
  Index dims;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Index& other = operand(op, i).dims;
    dims.insert(dims.begin(), other.size() > dims.size() ? other.size() - dims.size() : 0, 1);
    for (size_t d = 0; d < other.size(); ++d) {
      int64_t& dim = dims[dims.size() - other.size() + d];
      if (other[d] != dim && other[d] != 1 && dim != 1) {
        return fault(op.span(), spelling(op.kind) + " has operands of the shapes " + shape_text(dims) + " and " +
                                    shape_text(other));
      }
      dim = other[d] == 1 ? dim : other[d];
    }
  }
  if (op.kind == OpKind::Broadcast) {  // to a shape that no operand has
    const auto wider = shape(function_.type(op.results[0]).dims, op.span());
    if (!wider) {
      return false;
    }
    const size_t missing = wider->size() - std::min(wider->size(), dims.size());
    bool fits = wider->size() >= dims.size();
    for (size_t d = 0; fits && d < dims.size(); ++d) {
      fits = dims[d] == 1 || dims[d] == (*wider)[missing + d];
    }
    if (!fits) {
      return fault(op.span(), "the shape " + shape_text(dims) + " does not broadcast to " + shape_text(*wider));
    }
    dims = *wider;
  }
  // Where the scalar stands among the arguments of `f`.
  const bool select = op.kind == OpKind::Select;
  const size_t first = select ? 1 : 0;
  const size_t scalar_at = op.scalar_side == ScalarSide::Left ? first : first + 1;
  std::vector<double> x(op.operands.size());
  if (op.scalar_side != ScalarSide::None) {
    const auto value = scalar(op.exprs[0], operand(op, first).dtype, op.span());
    if (!value) {
      return false;
    }
    x.insert(x.begin() + static_cast<std::ptrdiff_t>(scalar_at), *value);
  }
  const int64_t count = element_count(dims);
  const DType dtype = function_.type(op.results[0]).dtype;
  if (count < 0 || !spend(count, op.span())) {
    return fail(Outcome::Limit, op.span(), "a result is too large");
  }
  Tensor out{dtype, dims, std::vector<double>(static_cast<size_t>(count)), {}};
  for_each_element(dims, [&](const Index& index, size_t position) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const size_t slot = op.scalar_side != ScalarSide::None && i >= scalar_at ? i + 1 : i;
      x[slot] = operand(op, i).data[broadcast_offset(operand(op, i).dims, index)];
    }
    out.data[position] = settle(dtype, f(x));
  });
  return define(op, std::move(out));
}

bool TensorEval::reduce(const Op& op) {
  const Tensor& x = operand(op, 0);
  const auto axis = static_cast<size_t>(op.axis);
  if (axis >= x.dims.size() || !spend(element_count(x.dims), op.span())) {
    return fault(op.span(), "the axis is out of range");
  }
  Index dims = x.dims;
  dims[axis] = 1;
  Tensor out{x.dtype, dims, std::vector<double>(static_cast<size_t>(element_count(dims))), {}};
  for_each_element(dims, [&](const Index& index, size_t position) {
    double value = reduce_start(op.kind, x.dtype);
    Index at = index;
    for (at[axis] = 0; at[axis] < x.dims[axis]; ++at[axis]) {
      value = reduce_element(op.kind, x.dtype, value, x.data[broadcast_offset(x.dims, at)]);
    }
    if (op.kind == OpKind::Mean) {
      value = binary_element(OpKind::Div, x.dtype, value, static_cast<double>(x.dims[axis]));
    }
    out.data[position] = settle(x.dtype, value);
  });
  return define(op, std::move(out));
}

bool TensorEval::softmax(const Op& op) {
  const Tensor& x = operand(op, 0);
  const auto axis = static_cast<size_t>(op.axis);
  if (axis >= x.dims.size() || !spend(3 * element_count(x.dims), op.span())) {
    return fault(op.span(), "the axis is out of range");
  }
  Tensor out{x.dtype, x.dims, std::vector<double>(x.data.size()), {}};
  Index rows = x.dims;
  rows[axis] = 1;
  for_each_element(rows, [&](const Index& index, size_t) {
    Index at = index;
    double peak = reduce_start(OpKind::ReduceMax, x.dtype);
    for (at[axis] = 0; at[axis] < x.dims[axis]; ++at[axis]) {
      peak = reduce_element(OpKind::ReduceMax, x.dtype, peak, x.data[broadcast_offset(x.dims, at)]);
    }
    double sum = 0;
    for (at[axis] = 0; at[axis] < x.dims[axis]; ++at[axis]) {
      sum += std::exp(x.data[broadcast_offset(x.dims, at)] - peak);
    }
    for (at[axis] = 0; at[axis] < x.dims[axis]; ++at[axis]) {
      const size_t position = broadcast_offset(x.dims, at);
      out.data[position] = settle(x.dtype, std::exp(x.data[position] - peak) / sum);
    }
  });
  return define(op, std::move(out));
}

bool TensorEval::matmul(const Op& op) {
  const Tensor& a = operand(op, 0);
  const Tensor& b = operand(op, 1);
  const bool biased = op.operands.size() > 2;
  if (a.dims.size() != 2 || b.dims.size() != 2 || a.dims[1] != b.dims[0] ||
      (biased && operand(op, 2).dims != Index{b.dims[1]})) {
    return fault(op.span(), spelling(op.kind) + " has operands of the shapes " + shape_text(a.dims) + " and " +
                                shape_text(b.dims));
  }
  const int64_t rows = a.dims[0];
  const int64_t depth = a.dims[1];
  const int64_t cols = b.dims[1];
  const int64_t work = element_count({rows, depth, cols});
  if (work < 0 || !spend(work / 4 + 1, op.span())) {
    return fail(Outcome::Limit, op.span(), "the product is too large");
  }
  const DType dtype = function_.type(op.results[0]).dtype;
  Tensor out{dtype, {rows, cols}, std::vector<double>(static_cast<size_t>(rows * cols)), {}};
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      double sum = biased ? operand(op, 2).data[static_cast<size_t>(c)] : 0;
      for (int64_t k = 0; k < depth; ++k) {
        sum += a.data[static_cast<size_t>(r * depth + k)] * b.data[static_cast<size_t>(k * cols + c)];
      }
      const double value = is_float(dtype) ? settle(dtype, sum) : wrapped(dtype, to_integer(sum));
      out.data[static_cast<size_t>(r * cols + c)] = value;
    }
  }
  return define(op, std::move(out));
}

bool TensorEval::fill(const Op& op) {
  const ir::Type& type = function_.type(op.results[0]);
  const auto dims = shape(type.dims, op.span());
  const auto value = dims ? scalar(op.exprs[0], type.dtype, op.span()) : std::nullopt;
  if (!value || !spend(element_count(*dims), op.span())) {
    return false;
  }
  return define(op, {type.dtype, *dims, std::vector<double>(static_cast<size_t>(element_count(*dims)), *value), {}});
}

bool TensorEval::reshape(const Op& op) {
  const auto dims = shape(function_.type(op.results[0]).dims, op.span());
  const Tensor& x = operand(op, 0);
  if (!dims) {
    return false;
  }
  if (element_count(*dims) != element_count(x.dims)) {
    return fault(op.span(), "can't reshape " + shape_text(x.dims) + " to " + shape_text(*dims));
  }
  return define(op, {x.dtype, *dims, x.data, {}});
}

bool TensorEval::call(const Op& op) {
  const ir::Function* callee = session_.module.find(op.callee);
  if (callee == nullptr) {
    return fault(op.span(), "there is no `" + op.callee + "`");
  }
  Arguments arguments;
  std::vector<const Tensor*> inputs;
  size_t input = 0;
  for (const ir::Param& param : callee->params) {
    if (param.is_tensor()) {
      const bool given = param.mode != ir::ParamMode::Out && input < op.operands.size();
      arguments.tensors.push_back(given ? values_.at(op.operands[input++].index()) : nullptr);
      inputs.push_back(arguments.tensors.back());
    } else if (arguments.scalars.size() < op.exprs.size()) {
      const auto value = scalar(op.exprs[arguments.scalars.size()], param.dtype, op.span());
      if (!value) {
        return false;
      }
      arguments.scalars.push_back(*value);
    }
  }
  const auto dims = solve_dims(*callee, inputs);
  if (!dims) {
    return fault(op.span(), "the dims of `" + op.callee + "` don't follow from its arguments");
  }
  arguments.dims = *dims;
  // Results: shapes as this function has them; the callee checks them against its own.
  size_t result = 0;
  for (Tensor*& tensor : arguments.tensors) {
    if (tensor != nullptr) {
      continue;
    }
    const ValueId id = op.results.at(result);
    auto wanted = shape(function_.type(id).dims, op.span());
    if (!wanted || element_count(*wanted) > session_.options.max_elements ||
        !define(op, unwritten_tensor(function_.type(id).dtype, *wanted), result++)) {
      return fail(Outcome::Limit, op.span(), "a result is too large");
    }
    tensor = values_.at(id.index());
  }
  return evaluate(session_, *callee, arguments);
}

bool TensorEval::assign(const Op& op) {
  Tensor* target = values_.at(op.operands[0].index());
  const Tensor& value = operand(op, 1);
  if (target == nullptr || target->dims != value.dims) {
    return fault(op.span(), "the value of the shape " + shape_text(value.dims) + " does not fit the output");
  }
  target->data = value.data;
  target->written.clear();
  return true;
}

}  // namespace

bool run_graph(Session& session, const ir::Function& graph, const Arguments& arguments) {
  return TensorEval(session, graph, arguments).run();
}

}  // namespace pto::eval
