// The structure of an object: everything that can be said of it without a target. `read` and `verify` both run this;
// the invariants are listed in structure_core.cc and structure_program.cc. Internal to src/object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/object.h"

namespace pto::object {

// Collects what is wrong with one object: at most kMostProblems are reported.
class Problems {
 public:
  Problems(const Object& object, const std::string& subject, DiagnosticSink& sink)
      : object_(object), subject_(subject), sink_(sink) {}
  // "core `add`, statement 3 (k.pto:12:9): message"; `where` names the unit, the index is from 0, negative for none.
  void add(const std::string& where, const std::string& message);
  bool none() const { return count_ == 0; }
  bool full() const;
  std::string place(const Location& location) const;  // " (k.pto:12:9)", or nothing

 private:
  const Object& object_;
  const std::string& subject_;
  DiagnosticSink& sink_;
  int count_ = 0;
};

// What checks ask about an expression, computed once for every node of a pool.
struct ExprFacts {
  enum class Kind : uint8_t { Int, IntLiteral, Real, Mixed };
  Kind kind = Kind::Int;
  bool uses_block = false;  // block_index() or block_count()
  bool uses_scalar = false;
  bool uses_local = false;  // a loop variable or a let
  // Statements where all its loop variables and lets have values: begin <= index < end.
  uint32_t begin = 0;
  uint32_t end = 0xFFFFFFFF;
};

// Where a loop variable or a let has its value. Symbols of other kinds have one everywhere.
struct Scope {
  uint32_t begin = 0;
  uint32_t end = 0xFFFFFFFF;
};

std::vector<ExprFacts> expr_facts(const ExprPool& pool, const std::vector<Symbol>& symbols,
                                  const std::vector<Scope>& scopes);

// Which expressions are allowed at a place.
enum class ExprUse : uint8_t { Dim, Setup, Code };  // over dims; dims and scalars; anything in scope

// Answers for one unit's expressions; the messages say what is wrong with a use.
class ExprChecker {
 public:
  ExprChecker(const ExprPool& pool, std::vector<ExprFacts> facts, Problems& problems)
      : pool_(pool), facts_(std::move(facts)), problems_(problems) {}
  void set_statement(uint32_t index) { statement_ = index; }
  // Reports unless `id` is an expression of the pool that may be used so. `what` names it: "the step".
  bool integer(const std::string& where, const std::string& what, ExprId id, ExprUse use);
  bool scalar(const std::string& where, const std::string& what, ExprId id, DType type, ExprUse use);

 private:
  bool common(const std::string& where, const std::string& what, ExprId id, ExprUse use);
  const ExprPool& pool_;
  std::vector<ExprFacts> facts_;
  Problems& problems_;
  uint32_t statement_ = 0;
};

// Checks shared by cores and programs.
bool check_name(const std::string& where, const std::string& what, const std::string& name, Problems& problems);
bool check_text(const std::string& where, const std::string& what, const std::string& text, Problems& problems);
void check_symbols(const std::string& where, const std::vector<Symbol>& symbols, const std::vector<SymId>& dims,
                   const std::vector<Param>& params, bool locals_allowed, Problems& problems);
void check_params(const std::string& where, const std::vector<Param>& params, bool defaults_allowed, ExprChecker& exprs,
                  Problems& problems);
bool check_rank(const std::string& where, const std::string& what, const std::vector<ExprId>& dims, ExprChecker& exprs,
                Problems& problems);
void check_pool(const std::string& where, const ExprPool& pool, size_t symbols, Problems& problems);

void check_core(const Core& core, Problems& problems);
void check_program(const Object& object, const Program& program, Problems& problems);
// The whole object. True if nothing was wrong.
bool check_structure(const Object& object, Problems& problems);

}  // namespace pto::object
