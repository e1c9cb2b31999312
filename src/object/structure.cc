// What cores and programs have in common: names, expressions, symbols, parameters; and the object around them.
//
// Invariants here:
//   1. The version is one that this program reads; counts are within src/object/limits.h.
//   2. Names are identifiers; the names of cores are distinct, and of programs; texts are valid UTF-8 without NUL.
//   3. Expressions name existing symbols. (That operands are earlier nodes is ExprPool's own invariant.) No expression
//      is larger than can be printed; used ones don't mix integers with floats, integer literals apart.
//   4. `dims` lists the symbols of kind Dim, each once; they are `index`. Every Scalar symbol belongs to one parameter
//      of its type. Loop variables are `index`.
//   5. Tensors have rank 1 to 5, and dims over the unit's dims only. Parameters have distinct names.
// Not checked here: that names of symbols and buffers are distinct (loops may share a name).
#include "src/object/structure.h"

#include <algorithm>
#include <set>

#include "src/object/limits.h"
#include "src/support/expr_ops.h"
#include "src/support/text.h"

namespace pto::object {

void Problems::add(const std::string& where, const std::string& message) {
  if (!full()) {
    ++count_;
    sink_.report(DiagId::ObjectInvalid, subject_, {where + ": " + message});
  }
}

bool Problems::full() const {
  return count_ >= kMostProblems;
}

std::string Problems::place(const Location& location) const {
  if (location.file == 0 || location.file > object_.source_files.size()) {
    return {};
  }
  std::string text = " (";
  text += object_.source_files[location.file - 1];
  text.append(":").append(std::to_string(location.line));
  return text.append(":").append(std::to_string(location.column)).append(")");
}

namespace {

using Kind = ExprFacts::Kind;

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || digit(c); });
}

Kind both(Kind a, Kind b) {
  if (a == Kind::Mixed || b == Kind::Mixed) {
    return Kind::Mixed;
  }
  if (a == b) {
    return a == Kind::IntLiteral ? Kind::Int : a;
  }
  if (a == Kind::IntLiteral || b == Kind::IntLiteral) {
    return a == Kind::IntLiteral ? b : a;
  }
  return Kind::Real;  // an integer beside a float counts as a float
}

bool is_integer_kind(Kind kind) {
  return kind == Kind::Int || kind == Kind::IntLiteral;
}

Kind kind_of_operator(ExprOp op, Kind a, Kind b) {
  const Kind operands = both(a, b);
  if (follows_operands(op)) {
    return operands;
  }
  if (op == ExprOp::Div) {
    return operands == Kind::Real ? Kind::Real : Kind::Mixed;
  }
  if (is_comparison(op)) {
    return operands == Kind::Mixed ? Kind::Mixed : Kind::Int;
  }
  return is_integer_kind(operands) ? Kind::Int : Kind::Mixed;
}

ExprFacts leaf_facts(const ExprNode& node, const std::vector<Symbol>& symbols, const std::vector<Scope>& scopes) {
  ExprFacts facts;
  switch (node.op) {
    case ExprOp::Int:
      facts.kind = Kind::IntLiteral;
      break;
    case ExprOp::Float:
      facts.kind = Kind::Real;
      break;
    case ExprOp::Sym: {
      const Symbol& symbol = symbols[node.sym.index()];
      facts.kind = is_float(symbol.dtype) ? Kind::Real : Kind::Int;
      facts.uses_scalar = symbol.kind == SymKind::Scalar;
      facts.uses_local = symbol.kind == SymKind::Loop || symbol.kind == SymKind::Let;
      if (facts.uses_local) {
        facts.begin = scopes[node.sym.index()].begin;
        facts.end = scopes[node.sym.index()].end;
      }
      break;
    }
    default:
      facts.uses_block = true;
  }
  return facts;
}

}  // namespace

// Precondition: check_pool found nothing.
std::vector<ExprFacts> expr_facts(const ExprPool& pool, const std::vector<Symbol>& symbols,
                                  const std::vector<Scope>& scopes) {
  std::vector<ExprFacts> all(pool.size());
  for (uint32_t i = 0; i < pool.size(); ++i) {
    const ExprNode& node = pool[ExprId(i)];
    if (is_leaf(node.op)) {
      all[i] = leaf_facts(node, symbols, scopes);
      continue;
    }
    const ExprFacts& a = all[node.a.index()];
    const ExprFacts& b = all[node.b.index()];
    ExprFacts& facts = all[i];
    facts.kind = kind_of_operator(node.op, a.kind, b.kind);
    facts.uses_block = a.uses_block || b.uses_block;
    facts.uses_scalar = a.uses_scalar || b.uses_scalar;
    facts.uses_local = a.uses_local || b.uses_local;
    facts.begin = std::max(a.begin, b.begin);
    facts.end = std::min(a.end, b.end);
  }
  return all;
}

bool ExprChecker::common(const std::string& where, const std::string& what, ExprId id, ExprUse use) {
  if (id.index() >= pool_.size()) {
    problems_.add(where, what + (id.valid() ? " is an expression that doesn't exist" : " is missing"));
    return false;
  }
  const ExprFacts& facts = facts_[id.index()];
  if (pool_.tree_size(id) > ExprPool::kMostPrinted) {
    problems_.add(where, what + " is too large an expression");
    return false;
  }
  if (facts.kind == Kind::Mixed) {
    problems_.add(where, what + " mixes integers with floats");
    return false;
  }
  if (use != ExprUse::Code && (facts.uses_block || facts.uses_local || (use == ExprUse::Dim && facts.uses_scalar))) {
    problems_.add(where, what + (use == ExprUse::Dim ? " may only use dims" : " may only use dims and scalars"));
    return false;
  }
  if (facts.uses_local && (statement_ < facts.begin || statement_ >= facts.end)) {
    problems_.add(where, what + " uses a loop variable or `let` outside its scope");
    return false;
  }
  return true;
}

bool ExprChecker::integer(const std::string& where, const std::string& what, ExprId id, ExprUse use) {
  if (!common(where, what, id, use)) {
    return false;
  }
  if (!is_integer_kind(facts_[id.index()].kind)) {
    problems_.add(where, what + " must be an integer");
    return false;
  }
  return true;
}

bool ExprChecker::scalar(const std::string& where, const std::string& what, ExprId id, DType type, ExprUse use) {
  if (!is_float(type)) {
    return integer(where, what, id, use);
  }
  if (!common(where, what, id, use)) {
    return false;
  }
  if (facts_[id.index()].kind == Kind::Int) {
    problems_.add(where, what + " must be a float");
    return false;
  }
  return true;
}

bool check_name(const std::string& where, const std::string& what, const std::string& name, Problems& problems) {
  if (name.size() > kLongestName || !is_identifier(name)) {
    problems.add(where, what + " has a name that is no identifier");
    return false;
  }
  return true;
}

bool check_text(const std::string& where, const std::string& what, const std::string& text, Problems& problems) {
  if (text.size() > kLongestText || find_invalid_utf8(text) || text.find('\0') != std::string::npos) {
    problems.add(where, what + " is not valid text");
    return false;
  }
  return true;
}

void check_pool(const std::string& where, const ExprPool& pool, size_t symbols, Problems& problems) {
  if (pool.size() > kMostExprs) {
    problems.add(where, "too many expressions");
    return;
  }
  for (uint32_t i = 0; i < pool.size(); ++i) {
    const ExprNode& node = pool[ExprId(i)];
    if (node.op == ExprOp::Sym && node.sym.index() >= symbols) {
      problems.add(where, "an expression names a symbol that doesn't exist");
      return;
    }
  }
}

void check_symbols(const std::string& where, const std::vector<Symbol>& symbols, const std::vector<SymId>& dims,
                   const std::vector<Param>& params, bool locals_allowed, Problems& problems) {
  std::vector<int> owners(symbols.size());
  for (const SymId dim : dims) {
    if (dim.index() >= symbols.size() || symbols[dim.index()].kind != SymKind::Dim) {
      problems.add(where, "a dim is no symbol of that kind");
      return;
    }
    ++owners[dim.index()];
  }
  for (const Param& param : params) {
    if (param.is_tensor) {
      continue;
    }
    if (param.sym.index() >= symbols.size() || symbols[param.sym.index()].kind != SymKind::Scalar ||
        symbols[param.sym.index()].dtype != param.dtype) {
      problems.add(where, "a scalar parameter has no symbol of its type");
      return;
    }
    ++owners[param.sym.index()];
  }
  for (size_t i = 0; i < symbols.size(); ++i) {
    const Symbol& symbol = symbols[i];
    if (!check_name(where, "a symbol", symbol.name, problems)) {
      return;
    }
    const std::string quoted = "symbol `" + symbol.name + "`";
    const bool local = symbol.kind == SymKind::Loop || symbol.kind == SymKind::Let;
    if (symbol.kind > SymKind::Scalar || (local && !locals_allowed)) {
      problems.add(where, quoted + " has a kind that is not allowed here");
    } else if (!local && owners[i] != 1) {
      problems.add(where, quoted + " must belong to one dim or parameter");
    } else if (dtype_class(symbol.dtype) == DTypeClass::None ||
               ((symbol.kind == SymKind::Dim || symbol.kind == SymKind::Loop) && symbol.dtype != DType::I64)) {
      problems.add(where, quoted + " has a wrong type");
    }
  }
}

bool check_rank(const std::string& where, const std::string& what, const std::vector<ExprId>& dims, ExprChecker& exprs,
                Problems& problems) {
  if (dims.empty() || dims.size() > kHighestRank) {
    problems.add(where, what + " must have rank 1 to 5");
    return false;
  }
  bool ok = true;
  for (const ExprId dim : dims) {
    ok = exprs.integer(where, "a dim of " + what, dim, ExprUse::Dim) && ok;
  }
  return ok;
}

void check_params(const std::string& where, const std::vector<Param>& params, bool defaults_allowed, ExprChecker& exprs,
                  Problems& problems) {
  std::set<std::string> names;
  for (const Param& param : params) {
    if (!check_name(where, "a parameter", param.name, problems) ||
        !check_text(where, "a parameter's comment", param.doc, problems)) {
      continue;
    }
    const std::string what = "parameter `" + param.name + "`";
    if (!names.insert(param.name).second) {
      problems.add(where, what + " is there twice");
    }
    if (param.mode > ParamMode::InOut || dtype_class(param.dtype) == DTypeClass::None) {
      problems.add(where, what + " has a wrong type or mode");
    } else if (param.is_tensor) {
      check_rank(where, what, param.dims, exprs, problems);
    } else if (param.mode != ParamMode::In || !param.dims.empty()) {
      problems.add(where, what + " is a scalar and can only be read");
    }
    if (param.default_value && (param.is_tensor || !defaults_allowed)) {
      problems.add(where, what + " can't have a default");
    }
  }
}

namespace {

// Distinct identifiers. `what`: "core".
template <typename Items>
void check_units(const std::string& what, const Items& items, Problems& problems) {
  if (items.size() > kMostUnits) {
    problems.add("object", "it has too many " + what + "s");
  }
  std::set<std::string> names;
  for (const auto& item : items) {
    if (check_name("object", "a " + what, item.name, problems) && !names.insert(item.name).second) {
      problems.add("object", what + " `" + item.name + "` is there twice");
    }
  }
}

}  // namespace

bool check_structure(const Object& object, Problems& problems) {
  if (object.version < kOldestReadable || object.version > kVersion) {
    problems.add("object", "its version is not one of this program's");
  }
  if (object.target.empty() || object.target.size() > kLongestName) {
    problems.add("object", "it has no valid target name");
  } else {
    check_text("object", "its target name", object.target, problems);
  }
  if (object.source_files.size() > kMostFiles) {
    problems.add("object", "it has too many source files");
  }
  for (const std::string& file : object.source_files) {
    if (file.size() > kLongestName || !check_text("object", "a source file's name", file, problems)) {
      problems.add("object", "a source file's name is not valid");
      break;
    }
  }
  check_units("core", object.cores, problems);
  check_units("program", object.programs, problems);
  for (const Core& core : object.cores) {
    if (!problems.full()) {
      check_core(core, problems);
    }
  }
  // Tasks are checked against the parameters of cores, which must be right for that.
  if (problems.none()) {
    for (const Program& program : object.programs) {
      check_program(object, program, problems);
    }
  }
  return problems.none();
}

}  // namespace pto::object
