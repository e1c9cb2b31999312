// Objects back to IR. Pools and symbols are taken over as they are, so every ExprId and SymId of the object stays
// valid.
#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>

#include "pto/result.h"
#include "src/codegen/codegen.h"
#include "src/ir/names.h"

namespace pto::codegen {

namespace {

// Names of functions that tasks can use: identifiers, each once.
class FunctionNames {
 public:
  std::string take(const std::string& name) {
    if (ir::is_identifier(name) && taken_.insert(name).second) {
      return name;
    }
    while (true) {
      std::string other = "f" + std::to_string(next_++);
      if (taken_.insert(other).second) {
        return other;
      }
    }
  }

 private:
  std::set<std::string> taken_;
  uint64_t next_ = 0;
};

ir::Type tensor_type(DType dtype, const std::vector<ExprId>& dims) {
  ir::Type type;
  type.kind = ir::TypeKind::Tensor;
  type.dtype = dtype;
  type.dims = dims;
  return type;
}

// The part that cores and programs share. Returns the values of tensor parameters.
std::vector<ir::ValueId> lift_signature(const ExprPool& exprs, const std::vector<Symbol>& symbols,
                                        const std::vector<SymId>& dims, const std::vector<object::Param>& params,
                                        ir::Function& function) {
  std::vector<ir::ValueId> tensors;
  function.exprs = exprs;
  function.symbols = symbols;
  function.dims = dims;
  for (const object::Param& from : params) {
    ir::Param to;
    to.name = from.name;
    to.doc = from.doc;
    to.mode = static_cast<ir::ParamMode>(from.mode);
    if (from.is_tensor) {
      to.type = tensor_type(from.dtype, from.dims);
      to.value = function.add_value(to.type, from.name);
      tensors.push_back(to.value);
    } else {
      to.dtype = from.dtype;
      to.sym = from.sym;
      to.default_value = from.default_value;
    }
    function.params.push_back(std::move(to));
  }
  function.body = function.add_region();
  return tensors;
}

class CoreLifter {
 public:
  explicit CoreLifter(const object::Core& core) : core_(core) {}

  ir::Function run(std::string name) {
    function_.kind = ir::FunctionKind::Core;
    function_.name = std::move(name);
    function_.doc = core_.doc;
    function_.core_kind = core_.kind;
    function_.tensors = lift_signature(core_.exprs, core_.symbols, core_.dims, core_.params, function_);
    function_.buffers = core_.buffers;
    function_.buffer_spans.resize(core_.buffers.size());
    function_.rings = core_.rings;
    function_.ring_spans.resize(core_.rings.size());
    open_.push_back({function_.body, ir::OpId()});
    for (const object::View& view : core_.views) {
      add_view(view);
    }
    for (const object::Stmt& stmt : core_.code) {
      statement(stmt);
    }
    ir::normalize_names(function_);
    return std::move(function_);
  }

 private:
  // A region that statements go to, and the branch it belongs to, if any.
  struct Open {
    ir::RegionId region;
    ir::OpId branch;
  };

  void add_view(const object::View& view) {
    ir::Op op;
    op.kind = ir::OpKind::Reshape;
    const ir::ValueId base = function_.tensors.at(view.base.index());
    op.operands = {base};
    op.results = {function_.add_value(tensor_type(function_.type(base).dtype, view.dims), view.name)};
    function_.tensors.push_back(op.results[0]);
    function_.add_op(function_.body, std::move(op));
  }

  void statement(const object::Stmt& stmt) {
    ir::Op op;
    switch (stmt.kind) {
      case object::StmtKind::Inst:
        op.kind = ir::OpKind::Inst;
        op.inst = stmt.inst;
        add(std::move(op));
        break;
      case object::StmtKind::Let:
        op.kind = ir::OpKind::Let;
        op.syms = {stmt.sym};
        op.exprs = {stmt.value};
        add(std::move(op));
        break;
      case object::StmtKind::For:
        op.kind = ir::OpKind::For;
        op.syms = {stmt.sym};
        op.exprs = {stmt.lo, stmt.hi, stmt.step};
        op.regions = {function_.add_region()};
        open_.push_back({op.regions[0], ir::OpId()});
        add_outside(std::move(op));
        break;
      case object::StmtKind::If: {
        op.kind = ir::OpKind::If;
        op.exprs = {stmt.value};
        op.regions = {function_.add_region(), function_.add_region()};
        open_.push_back({op.regions[0], ir::OpId()});
        const ir::OpId id = add_outside(std::move(op));
        open_.back().branch = id;
        break;
      }
      case object::StmtKind::Else:
        open_.back().region = function_.ops[open_.back().branch].regions.at(1);
        break;
      case object::StmtKind::EndFor:
      case object::StmtKind::EndIf:
        PTO_CHECK(open_.size() > 1, "the end of a loop or branch that did not begin");
        open_.pop_back();
        break;
    }
  }

  void add(ir::Op op) { function_.add_op(open_.back().region, std::move(op)); }
  // To the region around the one that was just opened.
  ir::OpId add_outside(ir::Op op) { return function_.add_op(open_[open_.size() - 2].region, std::move(op)); }

  const object::Core& core_;
  ir::Function function_;
  std::vector<Open> open_;
};

// The pairs that tasks run, each once. Objects have none of their own: a pair's parameters are those of its cores.
class PairLifter {
 public:
  PairLifter(const ir::Module& cores, FunctionNames& names) : cores_(cores), names_(names) {}

  const ir::Function& pair(const object::Task& task, const std::string& cube, const std::string& vec) {
    for (const ir::Function& known : pairs_) {
      if (known.pair_cube == cube && known.pair_vec == vec && known.lanes == static_cast<int64_t>(task.vec->lanes)) {
        return known;
      }
    }
    ir::Function pair;
    pair.kind = ir::FunctionKind::Pair;
    pair.name = names_.take(cube + "_pair");
    pair.pair_cube = cube;
    pair.pair_vec = vec;
    pair.lanes = task.vec->lanes;
    pair.body = pair.add_region();
    std::map<std::string, ExprId> symbols;
    std::vector<ir::Param> outputs;
    for (const std::string& name : {cube, vec}) {
      const ir::Function& core = *cores_.find(name);
      for (SymId dim : core.dims) {
        symbol(core, dim, pair, symbols);
      }
      for (const ir::Param& param : core.params) {
        add(core, param, pair, symbols, outputs);
      }
    }
    pair.params.insert(pair.params.end(), outputs.begin(), outputs.end());
    for (ir::Param& param : pair.params) {
      if (param.type.is_tensor()) {
        param.value = pair.add_value(param.type, param.name);
      }
    }
    pairs_.push_back(std::move(pair));
    return pairs_.back();
  }

  std::deque<ir::Function>& pairs() { return pairs_; }

 private:
  static ExprId symbol(const ir::Function& core, SymId sym, ir::Function& pair,
                       std::map<std::string, ExprId>& symbols) {
    const Symbol& from = core.symbols[sym.index()];
    const auto known = symbols.find(from.name);
    if (known != symbols.end()) {
      return known->second;
    }
    const SymId made = pair.add_symbol(from);
    if (from.kind == SymKind::Dim) {
      pair.dims.push_back(made);
    }
    return symbols[from.name] = pair.exprs.symbol(made);
  }

  static void add(const ir::Function& core, const ir::Param& param, ir::Function& pair,
                  std::map<std::string, ExprId>& symbols, std::vector<ir::Param>& outputs) {
    for (std::vector<ir::Param>* list : {&pair.params, &outputs}) {
      const auto known =
          std::find_if(list->begin(), list->end(), [&](const ir::Param& p) { return p.name == param.name; });
      if (known == list->end()) {
        continue;
      }
      if (known->mode != param.mode) {
        known->mode = ir::ParamMode::InOut;
        if (list == &outputs) {
          pair.params.push_back(*known);
          outputs.erase(known);
        }
      }
      return;
    }
    ir::Param made = param;
    made.value = ir::ValueId();
    if (param.is_tensor()) {
      for (ExprId& dim : made.type.dims) {
        dim = pair.exprs.import(core.exprs, dim, [&](SymId s) { return symbol(core, s, pair, symbols); });
      }
    } else {
      made.sym = pair.exprs[symbol(core, param.sym, pair, symbols)].sym;
    }
    (made.mode == ir::ParamMode::Out ? outputs : pair.params).push_back(std::move(made));
  }

  const ir::Module& cores_;
  FunctionNames& names_;
  std::deque<ir::Function> pairs_;
};

// What a task of a pair gives to each of the pair's parameters and dims: what one of the two cores gets.
void pair_arguments(const object::Task& task, const object::Object& object, const ir::Function& pair,
                    const std::vector<ir::ValueId>& tensors, ir::Op& op) {
  const object::Core* cores[] = {&object.cores.at(task.core), &object.cores.at(task.vec->core)};
  const std::vector<object::Argument>* args[] = {&task.args, &task.vec->args};
  const std::vector<ExprId>* dims[] = {&task.dims, &task.vec->dims};
  for (const ir::Param& param : pair.params) {
    for (size_t side = 0; side < 2; ++side) {
      const auto& params = cores[side]->params;
      const auto at =
          std::find_if(params.begin(), params.end(), [&](const object::Param& p) { return p.name == param.name; });
      if (at != params.end()) {
        const object::Argument& argument = (*args[side])[static_cast<size_t>(at - params.begin())];
        if (argument.is_tensor) {
          op.operands.push_back(tensors.at(argument.tensor));
        } else {
          op.exprs.push_back(argument.scalar);
        }
        break;
      }
    }
  }
  for (SymId dim : pair.dims) {
    ExprId value;
    for (size_t side = 0; side < 2 && !value.valid(); ++side) {
      for (size_t i = 0; i < cores[side]->dims.size(); ++i) {
        if (cores[side]->symbols[cores[side]->dims[i].index()].name == pair.symbols[dim.index()].name) {
          value = (*dims[side])[i];
        }
      }
    }
    op.task_dims.push_back(value);
  }
}

ir::Function lift_program(const object::Program& program, const object::Object& object, std::string name,
                          const std::vector<std::string>& core_names, PairLifter& pairs) {
  ir::Function function;
  function.kind = ir::FunctionKind::Program;
  function.name = std::move(name);
  function.doc = program.doc;
  std::vector<ir::ValueId> tensors =
      lift_signature(program.exprs, program.symbols, program.dims, program.params, function);
  for (const object::Constraint& constraint : program.constraints) {
    function.constraints.push_back({constraint.condition, constraint.text, {}});
  }
  for (const object::WorkBuffer& buffer : program.buffers) {
    ir::Op op;
    op.kind = ir::OpKind::Buffer;
    op.exprs = {buffer.offset};
    op.results = {function.add_value(tensor_type(buffer.dtype, buffer.dims), buffer.name)};
    tensors.push_back(op.results[0]);
    function.add_op(function.body, std::move(op));
  }
  std::vector<ir::OpId> tasks;
  for (const object::Task& task : program.tasks) {
    ir::Op op;
    op.kind = ir::OpKind::Task;
    op.name = task.name;
    op.callee = core_names.at(task.core);
    if (task.vec) {
      const ir::Function& pair = pairs.pair(task, op.callee, core_names.at(task.vec->core));
      op.callee = pair.name;
      pair_arguments(task, object, pair, tensors, op);
    }
    PTO_CHECK(task.args.size() == object.cores.at(task.core).params.size(), "a task has a wrong number of arguments");
    for (const object::Argument& argument : task.vec ? std::vector<object::Argument>{} : task.args) {
      if (argument.is_tensor) {
        op.operands.push_back(tensors.at(argument.tensor));
      } else {
        op.exprs.push_back(argument.scalar);
      }
    }
    if (!task.vec) {
      op.task_dims = task.dims;
    }
    op.blocks = task.blocks;
    for (uint32_t other : task.after) {
      op.after.push_back(tasks.at(other));
    }
    tasks.push_back(function.add_op(function.body, std::move(op)));
  }
  ir::normalize_names(function);
  return function;
}

}  // namespace

ir::Module lift(const object::Object& object) {
  ir::Module module;
  FunctionNames names;
  std::vector<std::string> core_names;
  for (const object::Core& core : object.cores) {
    core_names.push_back(names.take(core.name));
    module.functions.push_back(CoreLifter(core).run(core_names.back()));
  }
  std::vector<ir::Function> programs;
  PairLifter pairs(module, names);
  for (const object::Program& program : object.programs) {
    programs.push_back(lift_program(program, object, names.take(program.name), core_names, pairs));
  }
  std::move(pairs.pairs().begin(), pairs.pairs().end(), std::back_inserter(module.functions));
  std::move(programs.begin(), programs.end(), std::back_inserter(module.functions));
  return module;
}

}  // namespace pto::codegen
