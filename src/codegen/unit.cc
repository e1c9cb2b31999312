#include "src/codegen/unit.h"

#include "pto/result.h"

namespace pto::codegen {

object::Location Locations::at(Span span) {
  if (sources_ == nullptr || !span.valid() || span.file > sources_->file_count()) {
    return {};
  }
  const auto [entry, is_new] = numbers_.try_emplace(span.file, static_cast<uint32_t>(files_.size() + 1));
  if (is_new) {
    files_.push_back(sources_->name(span.file));
  }
  const LineColumn position = sources_->line_column(span);
  return {entry->second, static_cast<uint32_t>(position.line), static_cast<uint32_t>(position.column)};
}

SymId Unit::define(SymId sym) {
  const Symbol& symbol = names.symbols.at(sym.index());
  symbols_.push_back(symbol);
  const SymId id(static_cast<uint32_t>(symbols_.size() - 1));
  map_.at(sym.index()) = id;
  if (is_float(symbol.dtype)) {
    exprs_.mark_real(id);
  }
  return id;
}

ExprId Unit::expr(ExprId id) {
  PTO_CHECK(id.valid(), "an expression is missing in what is emitted");
  return exprs_.import(function.exprs, id, [&](SymId sym) {
    const SymId mapped = map_.at(sym.index());
    PTO_CHECK(mapped.valid(), "an expression uses a symbol out of its scope");
    return exprs_.symbol(mapped);
  });
}

std::vector<ExprId> Unit::list(const std::vector<ExprId>& ids) {
  std::vector<ExprId> out;
  out.reserve(ids.size());
  for (ExprId id : ids) {
    out.push_back(expr(id));
  }
  return out;
}

void Unit::signature(bool with_defaults, std::vector<SymId>& dims, std::vector<object::Param>& params) {
  for (SymId dim : function.dims) {
    dims.push_back(define(dim));
  }
  for (size_t i = 0; i < function.params.size(); ++i) {
    const ir::Param& from = function.params[i];
    object::Param to;
    to.name = names.params[i];
    to.doc = from.doc;
    to.is_tensor = from.is_tensor();
    to.mode = static_cast<object::ParamMode>(from.mode);
    to.dtype = from.is_tensor() ? from.type.dtype : from.dtype;
    if (!from.is_tensor()) {
      to.sym = define(from.sym);
      if (with_defaults) {
        to.default_value = from.default_value;
      }
    }
    params.push_back(std::move(to));
  }
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_tensor) {
      params[i].dims = list(function.params[i].type.dims);
    }
  }
}

static_assert(static_cast<int>(object::ParamMode::In) == static_cast<int>(ir::ParamMode::In) &&
              static_cast<int>(object::ParamMode::Out) == static_cast<int>(ir::ParamMode::Out) &&
              static_cast<int>(object::ParamMode::InOut) == static_cast<int>(ir::ParamMode::InOut));

}  // namespace pto::codegen
