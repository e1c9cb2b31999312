#include "src/eval/check_pass.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace pto::eval {

namespace {

using ir::Function;
using ir::FunctionKind;
using ir::Module;
using ir::Op;
using ir::OpId;
using ir::OpKind;

std::set<std::string> called_functions(const Module& module) {
  std::set<std::string> called;
  for (const Function& function : module.functions) {
    called.insert({function.pair_cube, function.pair_vec});
    for (OpId id : ir::ops_in_order(function)) {
      called.insert(function.ops[id].callee);
    }
  }
  return called;
}

// The function and everything that it calls.
void reachable(const Module& module, const std::string& name, std::set<std::string>& seen) {
  const Function* function = module.find(name);
  if (function == nullptr || !seen.insert(name).second) {
    return;
  }
  for (OpId id : ir::ops_in_order(*function)) {
    if (!function->ops[id].callee.empty()) {
      reachable(module, function->ops[id].callee, seen);
    }
  }
}

bool runs_core(const Module& module, const std::string& name) {
  std::set<std::string> names;
  reachable(module, name, names);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& each) { return ir::level_of(module.find(each)->kind) == ir::Level::Block; });
}

// Four units in the last place.
double budget_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return 0x1p-21;
    case DType::F16: return 0x1p-8;
    case DType::BF16: return 0x1p-5;
    case DType::F8E4M3: return 0x1p-1;
    default: return is_float(dtype) ? 1.0 : 0.0;
  }
}

// The statement that writes a result, to point at.
Span span_of_result(const Function& function, size_t tensor) {
  ir::ValueId target;
  for (const ir::Param& param : function.params) {
    if (param.is_tensor() && tensor-- == 0) {
      target = param.value;
      break;
    }
  }
  Span span = function.span;
  for (OpId id : ir::ops_in_order(function)) {
    const Op& op = function.ops[id];
    const bool writes = op.kind == OpKind::Assign || op.kind == OpKind::Store || op.kind == OpKind::Task;
    if (!writes || op.operands.empty()) {
      continue;
    }
    // Of a kernel through a view, of a task as its last tensor.
    ir::ValueId to = op.kind == OpKind::Task ? op.operands.back() : op.operands.front();
    const OpId def = function.values[to].def;
    if (def.valid() && function.ops[def].kind == OpKind::Reshape) {
      to = function.ops[def].operands.front();
    }
    if (to == target && op.span().valid()) {
      span = op.span();
    }
  }
  return span;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// "[2, 0, 5]"
std::string element_text(const std::vector<int64_t>& dims, size_t position) {
  auto rest = static_cast<int64_t>(position);
  std::vector<int64_t> index(dims.size());
  for (size_t d = dims.size(); d-- > 0;) {
    index[d] = rest % dims[d];
    rest /= dims[d];
  }
  return shape_text(index);
}

std::string sizes_text(const std::vector<std::string>& names, const std::vector<int64_t>& dims) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : ", ") + names[i] + " = " + std::to_string(dims[i]);
  }
  return text;
}

bool finite(const Tensor& tensor, size_t i) { return tensor.is_written(i) && std::isfinite(tensor.data[i]); }

}  // namespace

void PassChecker::start(const Module& module) {
  const std::set<std::string> called = called_functions(module);
  for (const Function& function : module.functions) {
    if (called.count(function.name) == 0 && !runs_core(module, function.name)) {
      add_entry(module, function);
    }
  }
}

void PassChecker::add_entry(const Module& module, const Function& function) {
  Entry entry;
  entry.name = function.name;
  for (SymId dim : function.dims) {
    entry.dims.push_back(function.symbols[dim.index()].name);
  }
  std::set<std::string> names;
  reachable(module, function.name, names);
  for (const std::string& name : names) {
    const Function& each = *module.find(name);
    for (const ir::Value& value : each.values) {
      entry.budget = std::max(entry.budget, budget_of(value.type.dtype));
    }
    for (OpId id : ir::ops_in_order(each)) {
      const Op& op = each.ops[id];
      if (op.kind == OpKind::Cast && is_float(each.type(op.operands[0]).dtype) && !is_float(each.type(op.results[0]).dtype)) {
        entry.casts_to_integer = true;
      }
    }
  }
  entry.narrow = entry.budget > budget_of(DType::F32);
  std::string reason;
  for (int i = 0; i < kSamples && (i == 0 || !function.dims.empty() || i == 1); ++i) {
    auto inputs = make_inputs(function, i, reason);
    if (!inputs) {
      continue;
    }
    Sample sample{std::move(*inputs), {}, {}};
    Status status = run(module, function, entry, sample.inputs, Precision::Exact, sample.exact);
    if (status.ok() && entry.narrow) {
      status = run(module, function, entry, sample.inputs, Precision::Rounded, sample.rounded);
    }
    if (status.ok()) {
      entry.samples.push_back(std::move(sample));
    } else {
      reason = status.text;
    }
  }
  if (entry.samples.empty()) {
    sink_.report(DiagId::CheckSkipped, function.span, {function.name, reason});
    return;
  }
  entries_.push_back(std::move(entry));
}

Status PassChecker::run(const Module& module, const Function& function, const Entry& entry, const Inputs& inputs,
                        Precision precision, std::vector<Tensor>& after) const {
  Arguments arguments;
  for (SymId dim : function.dims) {
    const auto it = std::find(entry.dims.begin(), entry.dims.end(), function.symbols[dim.index()].name);
    if (it == entry.dims.end()) {
      return {Outcome::Fault, "it has a new dim `" + function.symbols[dim.index()].name + "`", function.span};
    }
    arguments.dims.push_back(inputs.dims[static_cast<size_t>(it - entry.dims.begin())]);
  }
  arguments.scalars = inputs.scalars;
  after = inputs.tensors;
  for (Tensor& tensor : after) {
    arguments.tensors.push_back(&tensor);
  }
  Options options;
  options.precision = precision;
  return evaluate(module, function, arguments, options);
}

bool PassChecker::broken(std::string_view pass, Span span, const std::string& name, const std::string& why) {
  sink_.report(DiagId::PassBroke, span, {std::string(pass), name, why});
  return false;
}

bool PassChecker::observe(std::string_view pass, const Module& module) {
  if (entries_.empty()) {
    return true;
  }
  std::vector<std::string> violations;
  if (!ir::verify(module, violations)) {
    return broken(pass, {}, "the program", violations.front());
  }
  std::vector<Entry> kept;
  for (Entry& entry : entries_) {
    bool keep = true;
    if (!check(pass, module, entry, keep)) {
      return false;
    }
    if (keep) {
      kept.push_back(std::move(entry));
    }
  }
  entries_ = std::move(kept);
  return true;
}

bool PassChecker::check(std::string_view pass, const Module& module, Entry& entry, bool& keep) {
  const Function* function = module.find(entry.name);
  if (function == nullptr) {
    return broken(pass, {}, "`" + entry.name + "`", "it is gone");
  }
  if (runs_core(module, entry.name)) {
    keep = false;
    return true;
  }
  for (Sample& sample : entry.samples) {
    if (!check_sample(pass, module, *function, entry, sample, keep)) {
      return false;
    }
    if (!keep) {
      break;
    }
  }
  return true;
}

bool PassChecker::check_sample(std::string_view pass, const Module& module, const Function& function, const Entry& entry,
                               Sample& sample, bool& keep) {
  std::vector<Tensor> exact;
  std::vector<Tensor> rounded;
  Status status = run(module, function, entry, sample.inputs, Precision::Exact, exact);
  if (status.ok() && entry.narrow) {
    status = run(module, function, entry, sample.inputs, Precision::Rounded, rounded);
  }
  if (status.outcome == Outcome::Limit) {
    sink_.report(DiagId::CheckSkipped, function.span, {entry.name, status.text});
    keep = false;
    return true;
  }
  const std::string where =
      entry.dims.empty() ? std::string() : " (with " + sizes_text(entry.dims, sample.inputs.dims) + ")";
  if (!status.ok()) {
    return broken(pass, status.span, "`" + entry.name + "`", status.text + where);
  }
  size_t tensor = 0;
  for (const ir::Param& param : function.params) {
    if (!param.is_tensor()) {
      continue;
    }
    const size_t at = tensor++;
    std::optional<Difference> found = compare(entry, sample.exact[at], exact[at]);
    for (size_t i = 0; !found && i < exact[at].data.size() && entry.narrow; ++i) {
      if (finite(sample.rounded[at], i) && finite(exact[at], i) && !finite(rounded[at], i)) {
        found = {i, sample.rounded[at].data[i], rounded[at].data[i]};
      }
    }
    if (found) {
      sink_.report(DiagId::PassChangedValue, span_of_result(function, at),
                   {std::string(pass), param.name, entry.name, element_text(exact[at].dims, found->element),
                    number_text(found->was), number_text(found->is) + where});
      return false;
    }
  }
  sample.exact = std::move(exact);
  sample.rounded = std::move(rounded);
  return true;
}

// The element that differs most; nullopt: all agree. What nothing wrote counts as NaN.
std::optional<PassChecker::Difference> PassChecker::compare(const Entry& entry, const Tensor& was, const Tensor& is) const {
  double magnitude = 0;
  for (size_t i = 0; i < was.data.size(); ++i) {
    magnitude = std::max(magnitude, finite(was, i) ? std::fabs(was.data[i]) : 0);
  }
  const double budget = is_float(was.dtype) ? entry.budget * magnitude : 0;
  size_t may_be_off_by_one = entry.casts_to_integer && is_integer(was.dtype) ? was.data.size() / 100 : 0;
  std::optional<Difference> worst;
  double most = -1;
  for (size_t i = 0; i < was.data.size() && was.data.size() == is.data.size(); ++i) {
    const double a = was.is_written(i) ? was.data[i] : std::nan("");
    const double b = is.is_written(i) ? is.data[i] : std::nan("");
    if (a == b || (std::isnan(a) && std::isnan(b))) {
      continue;
    }
    const double distance = std::isfinite(a) && std::isfinite(b) ? std::fabs(a - b) : HUGE_VAL;
    if (distance == 1 && may_be_off_by_one > 0) {
      --may_be_off_by_one;
      continue;
    }
    if (distance > budget && distance > most) {
      most = distance;
      worst = {i, a, b};
    }
  }
  return worst;
}

}  // namespace pto::eval
