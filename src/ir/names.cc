#include "src/ir/names.h"

#include <algorithm>
#include <utility>

#include "pto/dtype.h"
#include "pto/isa.h"

namespace pto::ir {

namespace {

using WordSet = std::set<std::string_view>;

// Words that no name of ours may be: keywords and builtin functions. Some of them are free as names in the grammar; not
// using them costs nothing.
const WordSet& words() {
  static const WordSet kWords = [] {
    WordSet words = {
        "import",  "const",   "fn",         "graph",   "fused",   "kernel",   "core",        "auto",        "program",
        "where",   "inout",   "let",        "var",     "for",     "in",       "step",        "pipeline",    "parallel",
        "if",      "else",    "while",      "return",  "assert",  "print",    "buffer",      "task",        "blocks",
        "after",   "buf",     "at",         "slots",   "stride",  "tile",     "layout",      "valid",       "index",
        "inf",     "nan",     "true",       "false",   "zeros",   "ceildiv",  "block_index", "block_count", "row_sum",
        "row_max", "row_min", "col_sum",    "col_max", "col_min", "keepdims", "axis",        "split",       "ring",
        "pair",    "lanes",   "lane_index",
#define PTO_DTYPE(Name, spelling, code, bits, cls) spelling,
#include "pto/dtype.def"
#define PTO_INSTR(Name, mnemonic, code, format, pipe, dtypes, valid, timing, doc) mnemonic,
#include "pto/isa.def"
    };
    static constexpr std::string_view kOps[] = {
#define PTO_OP(Name, spelling, levels, shape, doc) spelling,
#include "src/ir/ops.def"
    };
    for (std::string_view op : kOps) {
      if (is_identifier(op)) {
        words.insert(op);
      }
    }
    return words;
  }();
  return kWords;
}

// How often each value is an operand of an op that is in the body.
std::vector<int> count_uses(const Function& function, const std::vector<OpId>& order) {
  std::vector<int> uses(function.values.size(), 0);
  for (OpId id : order) {
    for (ValueId operand : function.ops[id].operands) {
      ++uses.at(operand.index());
    }
  }
  return uses;
}

bool stated_in_place(const Function& function, ValueId value) {
  const OpId def = function.values[value].def;
  if (!def.valid()) {
    return false;
  }
  const Op& op = function.ops[def];
  return op.results.size() == 1 && op.kind != OpKind::For && op.kind != OpKind::If && op.kind != OpKind::Call &&
         op.kind != OpKind::Buffer;
}

class Namer {
 public:
  explicit Namer(const Function& function) : function_(function), order_(ops_in_order(function)) {}

  Names run() {
    names_.values.resize(function_.values.size());
    names_.bindings.resize(function_.values.size(), Binding::Let);
    names_.tasks.resize(function_.ops.size());
    name_params();
    // Both cores of a pair name a ring alike, so its name stays and others make room.
    for (const isa::Ring& ring : function_.rings) {
      pool_.reserve(ring.name);
    }
    name_loop_symbols();
    for (const isa::Buffer& buffer : function_.buffers) {
      names_.buffers.push_back(pool_.take(buffer.name));
    }
    share_names_of_loops();
    for (OpId id : order_) {
      name_results(function_.ops[id]);
      if (function_.ops[id].kind == OpKind::Task) {
        names_.tasks[id.index()] = pool_.take(function_.ops[id].name);
      }
    }
    names_.pool = std::move(pool_);
    return std::move(names_);
  }

 private:
  std::string take_param(const std::string& name) {
    if (is_identifier(name) && params_.insert(name).second) {
      pool_.reserve(name);
      return name;
    }
    std::string other = pool_.take(is_identifier(name) ? name : "p");
    params_.insert(other);
    return other;
  }

  void name_params() {
    names_.symbols = function_.symbols;
    for (SymId dim : function_.dims) {
      Symbol& symbol = names_.symbols.at(dim.index());
      symbol.name = take_param(symbol.name);
    }
    for (const Param& param : function_.params) {
      names_.params.push_back(take_param(param.name));
      if (param.is_tensor()) {
        names_.values.at(param.value.index()) = names_.params.back();
      } else {
        names_.symbols.at(param.sym.index()).name = names_.params.back();
      }
    }
    for (const Op& op : function_.ops) {
      if (!op.callee.empty()) {
        pool_.reserve(op.callee);
      }
    }
  }

  // Loops beside each other may use one name; nested ones may not.
  void name_loop_symbols() {
    if (!function_.body.valid()) {
      return;
    }
    std::vector<std::string> all;
    NamePool scoped = pool_;
    name_loop_symbols_of(function_.body, scoped, all);
    for (const std::string& name : all) {
      pool_.reserve(name);
    }
  }

  void name_loop_symbols_of(RegionId region, NamePool& scoped, std::vector<std::string>& all) {
    std::vector<std::string> lets;
    for (OpId id : function_.regions[region].ops) {
      const Op& op = function_.ops[id];
      std::vector<std::string> here;
      for (SymId sym : op.syms) {
        Symbol& symbol = names_.symbols.at(sym.index());
        symbol.name = scoped.take(symbol.name);
        here.push_back(symbol.name);
        all.push_back(symbol.name);
      }
      for (RegionId inner : op.regions) {
        name_loop_symbols_of(inner, scoped, all);
      }
      if (op.kind == OpKind::Let) {
        lets.insert(lets.end(), here.begin(), here.end());
        continue;
      }
      for (const std::string& name : here) {
        scoped.release(name);
      }
    }
    for (const std::string& name : lets) {
      scoped.release(name);
    }
  }

  // For each carried value, `group_` of the values that bear its name. A parser takes carried values in the order in
  // which the variables are declared, so initial values are stated in place only as long as that keeps the order.
  void share_names_of_loops() {
    group_.resize(function_.values.size());
    const std::vector<int> uses = count_uses(function_, order_);
    find_regions();
    for (OpId id : order_) {
      const Op& loop = function_.ops[id];
      if (loop.kind != OpKind::For || loop.regions.size() != 1) {
        continue;
      }
      const Region& body = function_.regions[loop.regions[0]];
      const Op* yield = body.ops.empty() ? nullptr : &function_.ops[body.ops.back()];
      size_t in_place = 0;
      size_t position = 0;
      for (size_t i = 0; i < body.args.size(); ++i) {
        const ValueId arg = body.args[i];
        join(arg, arg);
        if (i < loop.results.size()) {
          join(loop.results[i], arg);
        }
        auto only_use = [&](ValueId value, RegionId region) {
          return value.valid() && uses[value.index()] == 1 && stated_in_place(function_, value) &&
                 region_of_.at(function_.values[value].def.index()) == region;
        };
        const ValueId init = i < loop.operands.size() ? loop.operands[i] : ValueId();
        if (in_place == i && only_use(init, region_of_.at(id.index())) && position <= position_of(init)) {
          join(init, arg);
          names_.bindings[init.index()] = Binding::Var;
          position = position_of(init);
          ++in_place;
        }
        const ValueId next = yield != nullptr && i < yield->operands.size() ? yield->operands[i] : ValueId();
        if (only_use(next, loop.regions[0]) && !read_after(arg, next, body)) {
          join(next, arg);
          names_.bindings[next.index()] = Binding::Assign;
        }
      }
    }
  }

  // Which region an op stands in, and where.
  void find_regions() {
    region_of_.resize(function_.ops.size());
    position_.resize(function_.ops.size());
    for (uint32_t r = 0; r < function_.regions.size(); ++r) {
      const std::vector<OpId>& ops = function_.regions[RegionId(r)].ops;
      for (size_t i = 0; i < ops.size(); ++i) {
        region_of_.at(ops[i].index()) = RegionId(r);
        position_.at(ops[i].index()) = i;
      }
    }
  }

  size_t position_of(ValueId value) const { return position_.at(function_.values[value].def.index()); }

  void join(ValueId value, ValueId arg) { group_[value.index()] = arg; }

  // Does an op of the body after the one that makes `next` read `arg`?
  bool read_after(ValueId arg, ValueId next, const Region& body) {
    const OpId def = function_.values[next].def;
    bool after = false;
    for (OpId id : body.ops) {
      if (after && reads(id, arg)) {
        return true;
      }
      after = after || id == def;
    }
    return false;
  }

  bool reads(OpId id, ValueId value) const {
    const Op& op = function_.ops[id];
    if (std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end()) {
      return true;
    }
    for (RegionId region : op.regions) {
      for (OpId inner : function_.regions[region].ops) {
        if (reads(inner, value)) {
          return true;
        }
      }
    }
    return false;
  }

  void name_results(const Op& op) {
    for (ValueId result : op.results) {
      name_value(result);
    }
    for (RegionId region : op.regions) {
      for (ValueId arg : function_.regions[region].args) {
        name_value(arg);
      }
    }
  }

  void name_value(ValueId value) {
    std::string& name = names_.values.at(value.index());
    if (!name.empty()) {
      return;
    }
    const ValueId arg = group_.at(value.index());
    if (!arg.valid() || arg == value) {
      name = pool_.take(function_.values[value].name);
      return;
    }
    const std::string& hint = function_.values[arg].name;
    std::string& shared = names_.values.at(arg.index());
    if (shared.empty()) {
      shared = pool_.take(hint.empty() ? function_.values[value].name : hint);
    }
    name = shared;
  }

  const Function& function_;
  std::vector<OpId> order_;
  Names names_;
  NamePool pool_;
  std::set<std::string> params_;
  std::vector<RegionId> region_of_;  // by OpId
  std::vector<size_t> position_;     // by OpId
  std::vector<ValueId> group_;       // by ValueId: the body argument whose name it bears
};

}  // namespace

bool is_identifier(std::string_view text) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || digit(c); });
}

std::string NamePool::take(const std::string& hint) {
  const bool usable = is_identifier(hint);
  if (usable && words().count(hint) == 0 && taken_.insert(hint).second) {
    return hint;
  }
  const bool ends_in_digit = usable && hint.back() >= '0' && hint.back() <= '9';
  const std::string base = !usable ? "t" : ends_in_digit ? hint + "_" : hint;
  int64_t& next = next_.try_emplace(base, usable ? 1 : 0).first->second;
  while (true) {
    std::string name = base + std::to_string(next++);
    if (words().count(name) == 0 && taken_.insert(name).second) {
      return name;
    }
  }
}

Names make_names(const Function& function) {
  return Namer(function).run();
}

void normalize_names(Function& function) {
  Names names = make_names(function);
  for (size_t i = 0; i < function.params.size(); ++i) {
    function.params[i].name = names.params[i];
  }
  function.symbols = names.symbols;
  for (uint32_t i = 0; i < names.values.size(); ++i) {
    function.values[ValueId(i)].name = names.values[i];
  }
  for (size_t i = 0; i < function.buffers.size(); ++i) {
    function.buffers[i].name = names.buffers[i];
  }
  for (uint32_t i = 0; i < names.tasks.size(); ++i) {
    if (!names.tasks[i].empty()) {
      function.ops[OpId(i)].name = names.tasks[i];
    }
  }
}

}  // namespace pto::ir
