// What emitting a core and emitting a program share: symbols and expressions in order of use, parameters, locations.
// Internal to src/codegen.
#pragma once

#include <map>
#include <vector>

#include "pto/object.h"
#include "pto/source.h"
#include "src/ir/ir.h"
#include "src/ir/names.h"

namespace pto::codegen {

// File names and positions of spans, of one object. Files are numbered as they are met.
class Locations {
 public:
  Locations(const SourceManager* sources, std::vector<std::string>& files) : sources_(sources), files_(files) {}
  object::Location at(Span span);

 private:
  const SourceManager* sources_;
  std::vector<std::string>& files_;
  std::map<uint16_t, uint32_t> numbers_;
};

// Copies symbols and expressions of a function into the pool of a core or program.
class Unit {
 public:
  Unit(const ir::Function& function, ExprPool& exprs, std::vector<Symbol>& symbols)
      : function(function),
        names(ir::make_names(function)),
        exprs_(exprs),
        symbols_(symbols),
        map_(function.symbols.size()) {}

  // The first mention of a symbol.
  SymId define(SymId sym);
  ExprId expr(ExprId id);
  ExprId optional(ExprId id) { return id.valid() ? expr(id) : id; }
  std::vector<ExprId> list(const std::vector<ExprId>& ids);
  // Dims, then scalar parameters, then shapes: so that a shape may use any of them.
  void signature(bool with_defaults, std::vector<SymId>& dims, std::vector<object::Param>& params);

  const ir::Function& function;
  const ir::Names names;

 private:
  ExprPool& exprs_;
  std::vector<Symbol>& symbols_;
  std::vector<SymId> map_;  // by the function's SymId
};

object::Core emit_core(const ir::Function& function, Locations& locations);
object::Program emit_program(const ir::Function& function, const ir::Module& module,
                             const std::map<std::string, uint32_t>& cores, Locations& locations);

}  // namespace pto::codegen
