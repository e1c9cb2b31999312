// Scopes, spans, diagnostics, and the words that messages use for types and values.
#include <algorithm>

#include "src/frontend/lower.h"
#include "src/support/text.h"

namespace pto::frontend {

Lower::Lower(ModuleContext& module, FunctionInfo& info)
    : module_(module), info_(info), file_(info.file), level_(ir::level_of(info.function.kind)) {
  push_scope();
}

Lower::Handle Lower::error(DiagId id, Span span, std::initializer_list<std::string> args) {
  Handle handle = module_.sink.report(id, span, args);
  for (auto call = expansions_.rbegin(); call != expansions_.rend(); ++call) {
    handle.note(*call, "expanded from here");
  }
  return handle;
}

Val Lower::fail(DiagId id, Span span, std::initializer_list<std::string> args) {
  error(id, span, args);
  return {};
}

Val Lower::unsupported(Span span, const std::string& what) {
  return fail(DiagId::NotSupported, span, {what});
}

Lower::Handle Lower::unknown(DiagId id, Span span, const std::string& name, std::vector<std::string> candidates) {
  Handle handle = error(id, span, {name});
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  if (const auto near = closest(name, views)) {
    handle.help("did you mean `" + std::string(*near) + "`?");
  }
  return handle;
}

Binding* Lower::lookup(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) {
      return &found->second;
    }
  }
  return nullptr;
}

void Lower::declare(const ast::Name& name, Binding binding) {
  binding.span = name.span;
  binding.depth = scopes_.size();
  auto& scope = scopes_.back();
  const auto [place, fresh] = scope.emplace(name.text, binding);
  if (!fresh) {
    error(DiagId::DuplicateName, name.span, {name.text}).note(place->second.span, "declared here");
    place->second = binding;
  }
}

std::vector<std::string> Lower::visible_names() const {
  std::vector<std::string> names;
  for (const auto& scope : scopes_) {
    for (const auto& [name, binding] : scope) {
      names.push_back(name);
    }
  }
  for (const auto& [name, constant] : module_.constants) {
    names.push_back(name);
  }
  return names;
}

std::vector<Span> Lower::spans(Span span) const {
  std::vector<Span> out = {span};
  out.insert(out.end(), expansions_.rbegin(), expansions_.rend());
  return out;
}

std::string Lower::text(ExprId id) const {
  return id.valid() ? fn().exprs.print(id, fn().symbols) : "?";
}

std::string Lower::dims_text(const std::vector<ExprId>& dims) const {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    out += (i == 0 ? "" : ", ") + text(dims[i]);
  }
  return out + "]";
}

std::string Lower::text(const ir::Type& type) const {
  if (type.is_tensor()) {
    return dtype_name(type.dtype) + dims_text(type.dims);
  }
  std::string out =
      "tile " + dtype_name(type.dtype) + "[" + std::to_string(type.rows) + ", " + std::to_string(type.cols);
  if (type.valid_rows.valid() && !is_whole(type)) {
    out += "; " + text(type.valid_rows) + ", " + text(type.valid_cols);
  }
  out += "]";
  if (type.space != Space::None) {
    out += " in " + std::string(spelling(type.space));
  }
  if (type.layout != Layout::None) {
    out += " layout(" + std::string(spelling(type.layout)) + ")";
  }
  return out;
}

std::string Lower::text(const Val& val) const {
  switch (val.kind) {
    case Val::Kind::Scalar: {
      const DType type = scalar_type(val.expr);
      if (type == DType::None) {
        return is_real(val.expr) ? "a float literal" : "an index expression";
      }
      return "a scalar of type " + dtype_name(type);
    }
    case Val::Kind::Value:
      return text(fn().type(val.value));
    case Val::Kind::Tuple:
      return std::to_string(val.values.size()) + " results";
    case Val::Kind::Error:
      break;
  }
  return "an error";
}

std::string Lower::level_word() const {
  switch (fn().kind) {
    case ir::FunctionKind::Graph:
    case ir::FunctionKind::FusedGraph:
      return "in a graph";
    case ir::FunctionKind::Kernel:
      return "in a kernel";
    case ir::FunctionKind::Core:
      return "in a core";
    case ir::FunctionKind::Pair:
      return "in a pair";
    case ir::FunctionKind::Program:
      break;
  }
  return "in a program";
}

}  // namespace pto::frontend
