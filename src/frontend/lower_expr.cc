// Expressions: names, operators, calls of built-ins and inline helpers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "src/frontend/lower.h"
#include "src/support/text.h"

namespace pto::frontend {
namespace {

constexpr int kDeepestEvaluation = 2000;      // nested expressions, through inline helpers too
constexpr size_t kDeepestExpansion = 32;      // inline helpers in inline helpers
constexpr size_t kMostOps = size_t{1} << 18;  // of one function

// Part of the language's design, but not of this compiler.
constexpr std::array<std::string_view, 31> kNotYet = {
    "erf",    "sin",        "cos",       "floor",  "ceil",   "round",    "prod",       "argmax",
    "argmin", "layernorm",  "rmsnorm",   "concat", "slice",  "pad",      "gather",     "scatter",
    "take",   "iota",       "sort",      "topk",   "cumsum", "quant",    "dequant",    "print",
    "assert", "atomic_add", "transpose", "pow",    "where",  "prefetch", "row_argmax",
};

ir::OpKind op_kind(ast::Operator op) {
  switch (op) {
    case ast::Operator::Add:
      return ir::OpKind::Add;
    case ast::Operator::Sub:
      return ir::OpKind::Sub;
    case ast::Operator::Mul:
      return ir::OpKind::Mul;
    default:
      return ir::OpKind::Div;
  }
}

std::optional<isa::Cmp> comparison(ast::Operator op) {
  switch (op) {
    case ast::Operator::Lt:
      return isa::Cmp::Lt;
    case ast::Operator::Le:
      return isa::Cmp::Le;
    case ast::Operator::Gt:
      return isa::Cmp::Gt;
    case ast::Operator::Ge:
      return isa::Cmp::Ge;
    case ast::Operator::Eq:
      return isa::Cmp::Eq;
    case ast::Operator::Ne:
      return isa::Cmp::Ne;
    default:
      return std::nullopt;
  }
}

bool is_arithmetic(ast::Operator op) {
  return op == ast::Operator::Add || op == ast::Operator::Sub || op == ast::Operator::Mul || op == ast::Operator::Div;
}

std::string_view spelling_of(ast::Operator op) {
  switch (op) {
    case ast::Operator::Add:
      return "`+`";
    case ast::Operator::Sub:
      return "`-`";
    case ast::Operator::Mul:
      return "`*`";
    case ast::Operator::Div:
      return "`/`";
    case ast::Operator::Mod:
      return "`%`";
    case ast::Operator::Pow:
      return "`**`";
    case ast::Operator::And:
      return "`&&`";
    case ast::Operator::Or:
      return "`||`";
    case ast::Operator::BitAnd:
      return "`&`";
    case ast::Operator::BitOr:
      return "`|`";
    case ast::Operator::BitXor:
      return "`^`";
    case ast::Operator::Shl:
      return "`<<`";
    case ast::Operator::Shr:
      return "`>>`";
    case ast::Operator::Not:
      return "`!`";
    case ast::Operator::BitNot:
      return "`~`";
    default:
      return "a comparison";
  }
}

}  // namespace

ir::ValueId Lower::emit(ir::Op op, ir::Type type, Span span) {
  if (fn().ops.size() > kMostOps) {
    error(DiagId::ExpansionTooLarge, fn().span, {fn().name, std::to_string(kMostOps)});
    return {};
  }
  if (!in_body(span)) {
    return {};
  }
  const ir::ValueId result = fn().add_value(std::move(type), "");
  op.results = {result};
  op.spans = spans(span);
  fn().add_op(region_, std::move(op));
  return result;
}

// Dims, defaults and constraints are index expressions: there is nowhere for an operation to stand.
bool Lower::in_body(Span span) {
  if (!region_.valid()) {
    error(DiagId::WrongPlace, span, {"an operation", "outside of a body"});
  }
  return region_.valid();
}

void Lower::emit_effect(ir::Op op, Span span) {
  if (!in_body(span)) {
    return;
  }
  op.spans = spans(span);
  fn().add_op(region_, std::move(op));
}

Val Lower::eval(ast::ExprRef ref) {
  const ast::Expr& expr = at(ref);
  const bool deep = eval_depth_ >= kDeepestEvaluation;
  // What inline helpers expand to may double with each of them; the text itself is bounded.
  expanded_ += expanding_.empty() ? 0 : 1;
  if (deep || expanded_ > kMostOps || fn().ops.size() > kMostOps) {
    if (exhausted_) {
      return {};
    }
    exhausted_ = true;
    if (deep) {
      module_.sink.report(DiagId::NestingTooDeep, fn().span, {std::to_string(kDeepestEvaluation)});
    } else {
      module_.sink.report(DiagId::ExpansionTooLarge, fn().span, {fn().name, std::to_string(kMostOps)});
    }
    return {};
  }
  ++eval_depth_;
  Val out;
  switch (expr.kind) {
    case ast::ExprKind::Int:
      if (expr.integer > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        out = fail(DiagId::SyntaxError, expr.span, {"this integer literal does not fit 64 bits"});
      } else {
        out = Val::scalar(fn().exprs.integer(static_cast<int64_t>(expr.integer)));
      }
      break;
    case ast::ExprKind::Float:
      out = Val::scalar(fn().exprs.real(expr.real));
      break;
    case ast::ExprKind::Name:
      out = eval_name(expr);
      break;
    case ast::ExprKind::Prefix:
      out = eval_prefix(expr);
      break;
    case ast::ExprKind::Binary:
      out = eval_binary(expr);
      break;
    case ast::ExprKind::Call:
      out = eval_call(expr);
      break;
    case ast::ExprKind::Index:
      out = eval_index(expr);
      break;
    case ast::ExprKind::List:
      out = fail(DiagId::WrongPlace, expr.span, {"a list", "here"});
      break;
    case ast::ExprKind::String:
      out = fail(DiagId::WrongPlace, expr.span, {"a string", "here"});
      break;
    case ast::ExprKind::Error:
      break;
  }
  --eval_depth_;
  return out;
}

Val Lower::eval_name(const ast::Expr& expr) {
  if (Binding* binding = lookup(expr.text)) {
    switch (binding->kind) {
      case Binding::Kind::Scalar:
        return Val::scalar(binding->expr);
      case Binding::Kind::Value: {
        if (binding->param >= 0 && fn().params[static_cast<size_t>(binding->param)].mode == ir::ParamMode::Out) {
          error(DiagId::ReadOfOutput, expr.span, {expr.text}).help("declare it `inout` to read and write it");
          return {};
        }
        return Val::of(binding->value);
      }
      case Binding::Kind::Empty:
        error(DiagId::ReadBeforeWrite, expr.span, {expr.text})
            .note(binding->span, "declared here, without a value")
            .help("assign it before, on every way that leads here");
        return {};
      case Binding::Kind::Ring:
        return fail(DiagId::WrongPlace, expr.span, {"ring `" + expr.text + "`", "in an expression"});
      case Binding::Kind::Buffer:
        return fail(DiagId::WrongPlace, expr.span, {"buffer `" + expr.text + "`", "in an expression"});
      case Binding::Kind::Task:
        return fail(DiagId::WrongPlace, expr.span, {"task `" + expr.text + "`", "in an expression"});
      case Binding::Kind::Poison:
        return {};
    }
  }
  if (module_.constants.contains(expr.text)) {
    const auto value = module_.constant(expr.text);
    return value ? Val::scalar(fn().exprs.integer(*value)) : Val{};
  }
  if (expr.text == "inf") {
    return Val::scalar(fn().exprs.real(std::numeric_limits<double>::infinity()));
  }
  if (expr.text == "nan") {
    return Val::scalar(fn().exprs.real(std::numeric_limits<double>::quiet_NaN()));
  }
  if (expr.text == "true" || expr.text == "false") {
    return Val::scalar(fn().exprs.integer(expr.text == "true" ? 1 : 0));
  }
  if (module_.declared.contains(expr.text)) {
    error(DiagId::WrongPlace, expr.span, {"`" + expr.text + "`", "in an expression without a call"})
        .note(module_.declared[expr.text], "declared here");
    return {};
  }
  unknown(DiagId::UnknownName, expr.span, expr.text, visible_names());
  return {};
}

Val Lower::eval_index(const ast::Expr& expr) {
  if (is_level(ir::Level::Tensor)) {
    return unsupported(expr.span, "a slice of a tensor in a graph");
  }
  const bool points = std::all_of(expr.slices.begin(), expr.slices.end(),
                                  [](const ast::Slice& slice) { return slice.kind == ast::SliceKind::Point; });
  if (points && is_level(ir::Level::Tile) && !dtype_from_spelling(word(expr.a))) {
    return unsupported(expr.span, "a scalar read of a tensor");
  }
  return fail(DiagId::WrongPlace, expr.span, {"a window of a tensor or a type", "here"});
}

Val Lower::eval_prefix(const ast::Expr& expr) {
  const ast::Expr& inner = at(expr.a);
  if (expr.op == ast::Operator::Neg && inner.kind == ast::ExprKind::Int && inner.integer == uint64_t{1} << 63) {
    return Val::scalar(fn().exprs.integer(std::numeric_limits<int64_t>::min()));
  }
  const Val val = eval(expr.a);
  if (val.is_error()) {
    return {};
  }
  if (expr.op != ast::Operator::Neg) {
    return unsupported(expr.op_span, std::string("the operator ") + std::string(spelling_of(expr.op)));
  }
  if (val.is_scalar()) {
    return negate_scalar(val.expr, expr.span);
  }
  if (!val.is_value()) {
    return fail(DiagId::WrongType, expr.span, {"`-`", "one value", text(val)});
  }
  return unary_value(ir::OpKind::Neg, "`-`", val.value, expr.span);
}

Val Lower::eval_binary(const ast::Expr& expr) {
  // Left first, in the order of the text: the order of operations is that of reading.
  const Val a = eval(expr.a);
  const Val b = eval(expr.b);
  if (a.is_error() || b.is_error()) {
    return {};
  }
  if (a.is_scalar() && b.is_scalar()) {
    return scalar_binary(expr, a.expr, b.expr);
  }
  const std::string name(spelling_of(expr.op));
  if (a.kind == Val::Kind::Tuple || b.kind == Val::Kind::Tuple) {
    return fail(DiagId::WrongType, expr.span, {name, "one value on each side", text(a.is_value() ? b : a)});
  }
  if (const auto cmp = comparison(expr.op)) {
    return compare_op(*cmp, a, b, expr);
  }
  if (!is_arithmetic(expr.op)) {
    return unsupported(expr.op_span, "the operator " + name + " on tensors and tiles");
  }
  return binary_op(op_kind(expr.op), name, a, b, expr.span, at(expr.a).span, at(expr.b).span);
}

const ast::Argument* Lower::argument(const ast::Expr& call, std::string_view name) const {
  for (const ast::Argument& arg : call.args) {
    if (arg.name.text == name) {
      return &arg;
    }
  }
  return nullptr;
}

std::string Lower::word(ast::ExprRef ref) const {
  const ast::Expr& expr = at(ref);
  return expr.kind == ast::ExprKind::Name ? expr.text : "";
}

std::optional<bool> Lower::flag(const ast::Expr& call, std::string_view name) {
  const ast::Argument* arg = argument(call, name);
  if (arg == nullptr) {
    return false;
  }
  const std::string text = word(arg->value);
  if (text != "true" && text != "false") {
    error(DiagId::WrongType, at(arg->value).span,
          {"`" + std::string(name) + "`", "`true` or `false`", "something else"});
    return std::nullopt;
  }
  return text == "true";
}

bool Lower::check_arguments(const ast::Expr& call, const std::string& name, size_t positional,
                            std::initializer_list<std::string_view> named) {
  size_t count = 0;
  std::set<std::string> seen;
  for (const ast::Argument& arg : call.args) {
    if (arg.name.empty()) {
      ++count;
      if (!seen.empty()) {
        error(DiagId::WrongPlace, at(arg.value).span, {"a positional argument", "behind a named one"});
        return false;
      }
      continue;
    }
    if (std::find(named.begin(), named.end(), arg.name.text) == named.end()) {
      std::vector<std::string> known(named.begin(), named.end());
      Handle handle = error(DiagId::UnknownArgument, arg.name.span, {name, arg.name.text});
      const std::vector<std::string_view> views(known.begin(), known.end());
      if (const auto near = closest(arg.name.text, views)) {
        handle.help("did you mean `" + std::string(*near) + "`?");
      }
      return false;
    }
    if (!seen.insert(arg.name.text).second) {
      error(DiagId::DuplicateName, arg.name.span, {arg.name.text});
      return false;
    }
    if (!arg.layout.empty() && arg.name.text != "in") {
      error(DiagId::WrongPlace, arg.layout.span, {"a layout", "behind this argument"});
      return false;
    }
  }
  if (count != positional) {
    error(DiagId::ArgumentCount, call.span,
          {name, std::to_string(positional) + (positional == 1 ? " argument" : " arguments"), std::to_string(count)});
    return false;
  }
  return true;
}

Val Lower::value_operand(ast::ExprRef ref, const std::string& what) {
  Val val = eval(ref);
  if (val.is_error() || val.is_value()) {
    return val;
  }
  return fail(DiagId::WrongType, at(ref).span, {what, is_level(ir::Level::Tile) ? "a tile" : "a tensor", text(val)});
}

Val Lower::eval_call(const ast::Expr& expr) {
  const ast::Expr& callee = at(expr.a);
  if (callee.kind != ast::ExprKind::Name) {
    return fail(DiagId::WrongPlace, callee.span, {"a call of something that is no name", "here"});
  }
  const std::string name = callee.text;
  if (const auto helper = module_.inlines.find(name); helper != module_.inlines.end()) {
    return expand_inline(name, helper->second, expr);
  }
  // A built-in's name means the built-in, so that the text of an operation is never a call of an item.
  bool found = false;
  Val out = scalar_builtin(name, expr, found);
  if (!found && (is_level(ir::Level::Tensor) || is_level(ir::Level::Tile))) {
    out = builtin(name, expr, found);
  }
  if (!found && is_level(ir::Level::Block) && name == "reshape") {
    found = true;
    out = reshape_op(expr);
  }
  if (!found && is_level(ir::Level::Tile)) {
    out = tile_builtin(name, expr, found);
  }
  if (found || !in_body(expr.span)) {
    return out;
  }
  if (const auto function = module_.function_names.find(name); function != module_.function_names.end()) {
    return call_function(*function->second, expr);
  }
  if (std::find(kNotYet.begin(), kNotYet.end(), name) != kNotYet.end()) {
    return unsupported(callee.span, "`" + name + "`");
  }
  if (is_builtin(name)) {
    return fail(DiagId::WrongPlace, callee.span, {"`" + name + "`", level_word()});
  }
  std::vector<std::string> candidates = builtin_names();
  for (const auto& [each, span] : module_.declared) {
    candidates.push_back(each);
  }
  unknown(DiagId::UnknownName, callee.span, name, std::move(candidates));
  return {};
}

Val Lower::expand_inline(const std::string& name, const ModuleContext::Inline& helper, const ast::Expr& call) {
  const ast::Item& item = *helper.item;
  if (std::find(expanding_.begin(), expanding_.end(), name) != expanding_.end()) {
    std::string path;
    for (const std::string& each : expanding_) {
      path += each + " -> ";
    }
    return fail(DiagId::Recursion, call.span, {name, path + name});
  }
  if (expanding_.size() >= kDeepestExpansion) {
    return fail(DiagId::NestingTooDeep, call.span, {std::to_string(kDeepestExpansion)});
  }
  if (!check_arguments(call, name, item.names.size(), {})) {
    return {};
  }
  if (!item.value.valid() && !in_body(call.span)) {
    return {};
  }
  if (!item.value.valid() && !is_level(ir::Level::Tile)) {
    error(DiagId::WrongPlace, call.span, {"`" + name + "`, a helper with statements,", level_word()})
        .note(item.name.span, "declared here");
    return {};
  }
  std::map<std::string, Binding> scope;
  for (size_t i = 0; i < item.names.size(); ++i) {
    // A tensor of a kernel is a place: the helper may load it or store to it as the kernel may.
    const Binding* place = is_level(ir::Level::Tile) ? lookup(word(call.args[i].value)) : nullptr;
    if (place != nullptr && place->kind == Binding::Kind::Value && fn().type(place->value).is_tensor()) {
      scope[item.names[i].text] = *place;
      scope[item.names[i].text].span = item.names[i].span;
      continue;
    }
    const Val val = eval(call.args[i].value);
    if (val.is_error()) {
      return {};
    }
    Binding binding;
    binding.span = item.names[i].span;
    if (val.is_scalar()) {
      binding.expr = val.expr;
    } else if (val.is_value()) {
      binding.kind = Binding::Kind::Value;
      binding.value = val.value;
    } else {
      return fail(DiagId::WrongType, at(call.args[i].value).span, {"`" + name + "`", "one value", text(val)});
    }
    scope[item.names[i].text] = binding;
  }
  // The helper sees its parameters and the items of the module, nothing of the caller.
  std::vector<std::map<std::string, Binding>> outer = {std::move(scope)};
  std::swap(outer, scopes_);
  const ast::File* outer_file = file_;
  file_ = helper.file;
  expansions_.push_back(call.span);
  expanding_.push_back(name);
  // Names of the caller's loops are out of sight, so none of them has to be kept from assignment.
  const size_t outer_depth = parallel_depth_;
  parallel_depth_ = 0;
  Val out{Val::Kind::Tuple, {}, {}, {}};
  if (item.value.valid()) {
    out = eval(item.value);
  } else {
    push_scope();
    block(item.body);
    pop_scope();
  }
  parallel_depth_ = outer_depth;
  expanding_.pop_back();
  expansions_.pop_back();
  file_ = outer_file;
  std::swap(outer, scopes_);
  return out;
}

}  // namespace pto::frontend
