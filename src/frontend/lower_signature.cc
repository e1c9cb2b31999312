// Dims, parameters and constraints of a function.
#include <algorithm>

#include "src/frontend/lower.h"
#include "src/support/checked.h"

namespace pto::frontend {
namespace {

constexpr int kMaxRank = 5;

}  // namespace

bool Lower::signature() {
  const ast::Item& item = *info_.item;
  const size_t errors = module_.sink.error_count();
  fn().name = item.name.text;
  fn().doc = item.doc;
  fn().span = item.name.span;
  fn().automatic = item.automatic;
  if (item.kind == ast::ItemKind::Core) {
    if (item.core_kind.text == "cube") {
      fn().core_kind = CoreKind::Cube;
    } else if (item.core_kind.text != "vec") {
      error(DiagId::UnknownValue, item.core_kind.span, {item.core_kind.text, "kind of core", "`vec` and `cube`"});
    }
  }
  dims();
  std::vector<const ast::Param*> declared;
  for (const ast::Param& param : item.params) {
    declared.push_back(&param);
  }
  for (const ast::Param& param : item.results) {
    declared.push_back(&param);
  }
  if (item.kind == ast::ItemKind::Core) {
    core_directions();
  }
  std::vector<ir::Param> inputs;
  std::vector<ir::Param> outputs;
  std::vector<std::pair<bool, size_t>> places;  // output?, place there
  for (size_t i = 0; i < declared.size(); ++i) {
    const ast::Param& param = *declared[i];
    ir::ParamMode mode = i >= item.params.size() ? ir::ParamMode::Out
                         : param.is_inout        ? ir::ParamMode::InOut
                                                 : ir::ParamMode::In;
    if (const auto known = core_modes_.find(param.name.text); known != core_modes_.end()) {
      mode = known->second;
    }
    if (!parameter(param, mode)) {
      info_.ok = false;
      continue;
    }
    auto& list = mode == ir::ParamMode::Out ? outputs : inputs;
    places.emplace_back(mode == ir::ParamMode::Out, list.size());
    list.push_back(std::move(fn().params.back()));
    fn().params.pop_back();
  }
  for (const auto& [is_output, place] : places) {
    info_.order.push_back(place + (is_output ? inputs.size() : 0));
  }
  fn().params = std::move(inputs);
  fn().params.insert(fn().params.end(), outputs.begin(), outputs.end());
  for (size_t i = 0; i < fn().params.size(); ++i) {
    if (Binding* binding = lookup(fn().params[i].name)) {
      binding->param = static_cast<int>(i);
    }
  }
  constraints();
  info_.ok = info_.ok && module_.sink.error_count() == errors;
  if (info_.ok) {
    check_dims_bound();
  }
  return info_.ok;
}

void Lower::dims() {
  for (const ast::Dim& dim : info_.item->dims) {
    const std::string& name = dim.name.text;
    Binding binding;
    std::optional<int64_t> value;
    bool is_static = dim.value.valid();
    if (module_.define_is_dynamic(name)) {
      is_static = false;
    } else if (module_.options.defines.contains(name)) {
      value = module_.define(name);
      is_static = true;
      if (value && *value < 1) {
        module_.sink.report(DiagId::InvalidDim, "-D " + name, {"dim `" + name + "`", std::to_string(*value)});
        value.reset();
      }
      if (!value) {
        info_.ok = false;
      }
    } else if (is_static) {
      value = constant(dim.value, "the default of dim `" + name + "`");
    }
    if (is_static) {
      binding.expr = fn().exprs.integer(value.value_or(1));
      info_.ok = info_.ok && value.has_value();
    } else {
      const SymId sym = fn().add_symbol({name, SymKind::Dim, DType::I64});
      fn().dims.push_back(sym);
      binding.expr = fn().exprs.symbol(sym);
    }
    info_.dims[name] = binding.expr;
    declare(dim.name, binding);
  }
}

std::optional<DType> Lower::dtype(const ast::Name& name) {
  const auto type = dtype_from_spelling(name.text);
  if (!type) {
    std::vector<std::string> known = {"bool", "i8",  "u8",  "i16", "u16",  "i32",  "u32",
                                      "i64",  "u64", "f16", "f32", "bf16", "index"};
    unknown(DiagId::UnknownName, name.span, name.text, std::move(known)).note(name.span, "expected an element type");
    return std::nullopt;
  }
  if (bit_width(*type) < 8 || (is_float(*type) && bit_width(*type) < 16)) {
    unsupported(name.span, "the type `" + name.text + "`");
    return std::nullopt;
  }
  return type;
}

std::optional<std::vector<ExprId>> Lower::shape(const std::vector<ast::ExprRef>& refs, Span span) {
  if (refs.empty() || refs.size() > kMaxRank) {
    error(DiagId::RankMismatch, span, {"a tensor", "1 to 5", std::to_string(refs.size())});
    return std::nullopt;
  }
  std::vector<ExprId> out;
  for (const ast::ExprRef ref : refs) {
    const ExprId dim = index(ref, "a dim");
    if (!dim.valid()) {
      return std::nullopt;
    }
    if (const auto value = fn().exprs.constant(dim); value && *value < 1) {
      error(DiagId::InvalidDim, at(ref).span, {"a dim", std::to_string(*value)});
      return std::nullopt;
    }
    out.push_back(dim);
  }
  return out;
}

bool Lower::check_tensor_size(const ir::Type& type, Span span, const std::string& what) {
  int64_t bytes = byte_size(type.dtype);
  for (const ExprId dim : type.dims) {
    const auto value = fn().exprs.constant(dim);
    const auto product = checked_mul(bytes, value.value_or(1));
    if (!product) {
      error(DiagId::SizeOverflow, span, {what});
      return false;
    }
    bytes = *product;
  }
  return true;
}

std::optional<ir::Type> Lower::tensor_type(const ast::Type& type) {
  if (type.is_tile) {
    error(DiagId::WrongPlace, type.span, {"a tile type", "for a tensor in global memory"});
    return std::nullopt;
  }
  if (!type.layout.empty() || type.strides.valid()) {
    unsupported(type.span, type.strides.valid() ? "`strides` of a tensor" : "`layout` of a tensor");
    return std::nullopt;
  }
  const auto element = dtype(type.dtype);
  if (!element) {
    return std::nullopt;
  }
  auto dims = shape(type.dims, type.span);
  if (!dims) {
    return std::nullopt;
  }
  ir::Type out;
  out.kind = ir::TypeKind::Tensor;
  out.dtype = *element;
  out.dims = std::move(*dims);
  if (!check_tensor_size(out, type.span, "this tensor")) {
    return std::nullopt;
  }
  return out;
}

bool Lower::parameter(const ast::Param& param, ir::ParamMode mode) {
  ir::Param out;
  out.name = param.name.text;
  out.doc = param.doc;
  out.mode = mode;
  out.span = param.name.span;
  Binding binding;
  if (param.type.dims.empty() && !param.type.is_tile) {
    const auto type = param.type.dtype.text == "index" ? DType::I64 : dtype(param.type.dtype);
    if (!type) {
      declare(param.name, poisoned());
      return false;
    }
    if (mode != ir::ParamMode::In) {
      error(DiagId::WrongPlace, param.span, {"a scalar", mode == ir::ParamMode::Out ? "among results" : "as `inout`"});
      return false;
    }
    out.dtype = *type;
    scalar_parameter(param, *type, out);
    binding.expr = fn().exprs.symbol(out.sym);
  } else {
    const auto type = tensor_type(param.type);
    if (!type) {
      declare(param.name, poisoned());
      return false;
    }
    if (param.value.valid()) {
      error(DiagId::WrongPlace, at(param.value).span, {"a default value", "on a tensor parameter"});
    }
    out.type = *type;
    out.value = fn().add_value(*type, out.name);
    binding.kind = Binding::Kind::Value;
    binding.value = out.value;
  }
  declare(param.name, binding);
  fn().params.push_back(std::move(out));
  return true;
}

void Lower::scalar_parameter(const ast::Param& param, DType dtype, ir::Param& out) {
  out.sym = fn().add_symbol({out.name, SymKind::Scalar, dtype});
  if (is_float(dtype)) {
    fn().exprs.mark_real(out.sym);
  }
  if (!param.value.valid()) {
    return;
  }
  const ExprId value = scalar_value(param.value, dtype, "the default of `" + out.name + "`");
  if (!value.valid()) {
    info_.ok = false;
    return;
  }
  const ExprNode& node = fn().exprs[value];
  if (node.op == ExprOp::Int) {
    out.default_value = static_cast<double>(node.value);
  } else if (node.op == ExprOp::Float) {
    out.default_value = node.fvalue;
  } else {
    error(DiagId::NotConstant, at(param.value).span, {"the default of `" + out.name + "`"});
  }
}

void Lower::constraints() {
  for (const ast::ExprRef ref : info_.item->constraints) {
    const ExprId condition = index(ref, "a constraint");
    if (!condition.valid()) {
      continue;
    }
    if (fn().exprs.constant(condition) == 0) {
      error(DiagId::ConstraintFails, at(ref).span, {});
      continue;
    }
    learn(condition);
    // One that always holds (its dims became static) has nothing left to check.
    if (!fn().exprs.constant(condition)) {
      fn().constraints.push_back({condition, text(condition), at(ref).span});
    }
  }
}

// Facts that later proofs use: `M % 16 == 0`, `M <= 8192`.
void Lower::learn(ExprId condition) {
  const ExprNode node = fn().exprs[condition];
  if (node.op == ExprOp::And) {
    learn(node.a);
    learn(node.b);
    return;
  }
  if (node.op != ExprOp::Eq && node.op != ExprOp::Le) {
    return;
  }
  ExprId left = node.a;
  ExprId right = node.b;
  if (node.op == ExprOp::Eq && fn().exprs.constant(left)) {
    std::swap(left, right);
  }
  const ExprNode& a = fn().exprs[left];
  const auto value = fn().exprs.constant(right);
  if (!value) {
    return;
  }
  // Dims are at least zero, which the proofs use; scalars may be anything.
  const auto dim_of = [&](ExprId id) -> std::optional<SymId> {
    const ExprNode& leaf = fn().exprs[id];
    const bool is_dim = leaf.op == ExprOp::Sym && fn().symbols[leaf.sym.index()].kind == SymKind::Dim;
    return is_dim ? std::optional(leaf.sym) : std::nullopt;
  };
  if (node.op == ExprOp::Le) {
    if (const auto dim = dim_of(left)) {
      facts_.upper[dim->index()] = *value;
    }
  } else if (a.op == ExprOp::Mod && *value == 0) {
    const auto dim = dim_of(a.a);
    const auto divisor = fn().exprs.constant(a.b);
    if (dim && divisor && *divisor > 0) {
      facts_.divisor[dim->index()] = *divisor;
    }
  }
}

// Every dynamic dim must be a whole dim of some tensor: that is where a run reads its value. A core of a pair gets it
// from there.
void Lower::check_dims_bound() {
  if (fn().kind == ir::FunctionKind::Core && module_.paired.contains(fn().name)) {
    return;
  }
  for (const SymId sym : fn().dims) {
    const ExprId wanted = fn().exprs.symbol(sym);
    const bool found = std::any_of(fn().params.begin(), fn().params.end(), [&](const ir::Param& param) {
      return std::find(param.type.dims.begin(), param.type.dims.end(), wanted) != param.type.dims.end();
    });
    if (!found) {
      const std::string& name = fn().symbols[sym.index()].name;
      error(DiagId::DimNotBound, fn().span, {name, fn().name, "no parameter has it as a dim of its own"})
          .help("give it a default: `" + name + " = 128`, or set it with `-D " + name + "=128`");
      info_.ok = false;
    }
  }
}

}  // namespace pto::frontend
