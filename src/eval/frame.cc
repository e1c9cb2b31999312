#include "src/eval/frame.h"

#include <utility>

#include "src/eval/program_eval.h"
#include "src/eval/tensor_eval.h"
#include "src/eval/tile_eval.h"

namespace pto::eval {

namespace {

constexpr int kMaxDepth = 64;  // of calls

}  // namespace

std::string shape_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  }
  return text + "]";
}

std::string spelling(ir::OpKind kind) { return "`" + std::string(ir::op_info(kind).spelling) + "`"; }

bool evaluate(Session& session, const ir::Function& function, const Arguments& arguments) {
  if (session.depth >= kMaxDepth) {
    session.status = {Outcome::Limit, "calls are nested too deep", function.span};
    return false;
  }
  ++session.depth;
  bool ok = false;
  switch (function.kind) {
    case ir::FunctionKind::Graph:
    case ir::FunctionKind::FusedGraph:
      ok = run_graph(session, function, arguments);
      break;
    case ir::FunctionKind::Kernel:
      ok = run_kernel(session, function, arguments);
      break;
    case ir::FunctionKind::Program:
      ok = run_program(session, function, arguments);
      break;
    case ir::FunctionKind::Core:
    case ir::FunctionKind::Pair:
      session.status = {Outcome::Unsupported, "`" + function.name + "` is a core", function.span};
      break;
  }
  --session.depth;
  return ok;
}

Status evaluate(const ir::Module& module, const ir::Function& function, const Arguments& arguments,
                const Options& options) {
  Session session{module, options, {}, 0, 0, 0};
  evaluate(session, function, arguments);
  return std::move(session.status);
}

std::optional<std::vector<int64_t>> solve_dims(const ir::Function& callee, const std::vector<const Tensor*>& tensors) {
  std::vector<std::optional<int64_t>> by_symbol(callee.symbols.size());
  size_t next = 0;
  for (const ir::Param& param : callee.params) {
    if (!param.is_tensor()) {
      continue;
    }
    const Tensor* tensor = next < tensors.size() ? tensors[next] : nullptr;
    ++next;
    for (size_t i = 0; tensor != nullptr && i < param.type.dims.size() && i < tensor->dims.size(); ++i) {
      const ExprNode& node = callee.exprs[param.type.dims[i]];
      if (node.op == ExprOp::Sym && !by_symbol[node.sym.index()]) {
        by_symbol[node.sym.index()] = tensor->dims[i];
      }
    }
  }
  std::vector<int64_t> dims;
  for (SymId sym : callee.dims) {
    if (!by_symbol[sym.index()]) {
      return std::nullopt;
    }
    dims.push_back(*by_symbol[sym.index()]);
  }
  return dims;
}

void Frame::set(SymId sym, int64_t value) {
  ints_.at(sym.index()) = value;
  floats_.at(sym.index()) = static_cast<double>(value);
}

bool Frame::let(const ir::Op& op) {
  const DType dtype = function_.symbols.at(op.syms[0].index()).dtype;
  if (is_float(dtype)) {
    const auto value = scalar(op.exprs[0], dtype, op.span());
    floats_.at(op.syms[0].index()) = value.value_or(0);
    return value.has_value();
  }
  const auto value = integer(op.exprs[0], op.span());
  if (value) {
    set(op.syms[0], *value);
  }
  return value.has_value();
}

bool Frame::fail(Outcome outcome, Span span, std::string text) {
  if (session_.status.ok()) {
    session_.status = {outcome, "`" + function_.name + "`: " + text, span.valid() ? span : function_.span};
  }
  return false;
}

bool Frame::spend(int64_t work, Span span) {
  if (work > session_.options.max_work - session_.work) {
    return fail(Outcome::Limit, span, "it needs more than " + std::to_string(session_.options.max_work) + " operations");
  }
  session_.work += work;
  return true;
}

bool Frame::hold(int64_t elements, Span span) {
  if (elements < 0 || elements > session_.options.max_elements - session_.elements) {
    return fail(Outcome::Limit, span, "it holds more than " + std::to_string(session_.options.max_elements) + " elements");
  }
  session_.elements += elements;
  held_ += elements;
  return true;
}

bool Frame::bind() {
  ints_.assign(function_.symbols.size(), 0);
  floats_.assign(function_.symbols.size(), 0.0);
  if (arguments_.dims.size() != function_.dims.size()) {
    return fault(function_.span, "a dim has no value");
  }
  for (size_t i = 0; i < function_.dims.size(); ++i) {
    set(function_.dims[i], arguments_.dims[i]);
  }
  size_t scalars = 0;
  size_t tensors = 0;
  for (const ir::Param& param : function_.params) {
    if (param.is_tensor()) {
      ++tensors;
      continue;
    }
    if (scalars == arguments_.scalars.size()) {
      return fault(param.span, "`" + param.name + "` has no value");
    }
    const double value = arguments_.scalars[scalars++];
    if (!is_float(param.dtype)) {
      set(param.sym, to_integer(value));
    } else {
      floats_.at(param.sym.index()) = on_grid(param.dtype, value);
    }
  }
  if (tensors != arguments_.tensors.size()) {
    return fault(function_.span, "it takes " + std::to_string(tensors) + " tensors");
  }
  tensors = 0;
  for (const ir::Param& param : function_.params) {
    if (!param.is_tensor()) {
      continue;
    }
    const Tensor& given = *arguments_.tensors[tensors++];
    const auto wanted = shape(param.type.dims, param.span);
    if (!wanted) {
      return false;
    }
    if (given.dims != *wanted || given.dtype != param.type.dtype) {
      return fault(param.span, "`" + param.name + "` has the shape " + shape_text(given.dims) + ", the parameter " +
                                   shape_text(*wanted));
    }
  }
  return true;
}

std::optional<int64_t> Frame::integer(ExprId expr, Span span) {
  const auto value = function_.exprs.evaluate(expr, env());
  if (!value) {
    fault(span, "`" + function_.exprs.print(expr, function_.symbols) + "` overflows or divides by zero");
  }
  return value;
}

std::optional<double> Frame::scalar(ExprId expr, DType dtype, Span span) {
  if (!is_float(dtype)) {
    const auto value = integer(expr, span);
    return value ? std::optional(wrapped(dtype, *value)) : std::nullopt;
  }
  const auto value = function_.exprs.evaluate_real(expr, env());
  if (!value) {
    fault(span, "`" + function_.exprs.print(expr, function_.symbols) + "` has no value");
    return std::nullopt;
  }
  return on_grid(dtype, *value);
}

std::optional<std::vector<int64_t>> Frame::shape(const std::vector<ExprId>& dims, Span span) {
  std::vector<int64_t> out;
  for (ExprId dim : dims) {
    const auto value = integer(dim, span);
    if (!value) {
      return std::nullopt;
    }
    out.push_back(*value);
  }
  if (element_count(out) < 0) {
    fault(span, "the shape " + shape_text(out) + " is no shape");
    return std::nullopt;
  }
  return out;
}

std::string Frame::name_of(ir::ValueId value) const {
  const std::string& name = function_.values[value].name;
  return name.empty() ? "a value" : "`" + name + "`";
}

}  // namespace pto::eval
