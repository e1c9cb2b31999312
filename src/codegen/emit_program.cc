// A program's workspace and tasks.
#include <algorithm>

#include "pto/result.h"
#include "src/codegen/unit.h"

namespace pto::codegen {

namespace {

class ProgramEmitter {
 public:
  ProgramEmitter(const ir::Function& function, const ir::Module& module, const std::map<std::string, uint32_t>& cores,
                 Locations& locations)
      : unit_(function, program_.exprs, program_.symbols), module_(module), cores_(cores), locations_(locations) {}

  object::Program run() {
    const ir::Function& function = unit_.function;
    program_.name = function.name;
    program_.doc = function.doc;
    program_.location = locations_.at(function.span);
    unit_.signature(true, program_.dims, program_.params);
    for (const ir::Param& param : function.params) {
      if (param.is_tensor()) {
        add_tensor(param.value);
      }
    }
    for (const ir::Constraint& constraint : function.constraints) {
      // The text of the dump rather than of the source, so that a dump compiles to the same object.
      program_.constraints.push_back(
          {unit_.expr(constraint.condition), function.exprs.print(constraint.condition, unit_.names.symbols)});
    }
    const std::vector<ir::OpId>& ops = function.body_region().ops;
    for (ir::OpId id : ops) {
      if (function.ops[id].kind == ir::OpKind::Buffer) {
        buffer(function.ops[id]);
      }
    }
    workspace();
    for (ir::OpId id : ops) {
      if (function.ops[id].kind == ir::OpKind::Task) {
        task(id, function.ops[id]);
      }
    }
    return std::move(program_);
  }

 private:
  void add_tensor(ir::ValueId value) {
    const auto number = static_cast<uint32_t>(tensors_.size());
    tensors_[value] = number;
  }

  void buffer(const ir::Op& op) {
    PTO_CHECK(op.exprs.size() == 1, "a workspace buffer was not placed");
    const ir::ValueId value = op.results.at(0);
    const ir::Type& type = unit_.function.type(value);
    program_.buffers.push_back(
        {unit_.names.values.at(value.index()), type.dtype, unit_.list(type.dims), unit_.expr(op.exprs[0])});
    add_tensor(value);
  }

  // The largest end of a buffer.
  void workspace() {
    ExprPool& pool = program_.exprs;
    ExprId bytes = pool.integer(0);
    for (const object::WorkBuffer& each : program_.buffers) {
      ExprId size = pool.integer(1);
      for (ExprId dim : each.dims) {
        size = pool.mul(size, dim);
      }
      const int bits = bit_width(each.dtype);
      size = bits % 8 == 0 ? pool.mul(size, pool.integer(bits / 8))
                           : pool.ceildiv(pool.mul(size, pool.integer(bits)), pool.integer(8));
      bytes = pool.make(ExprOp::Max, bytes, pool.add(each.offset, size));
    }
    program_.workspace_bytes = bytes;
  }

  struct Call {
    uint32_t core = 0;
    std::vector<object::Argument> args;
    std::vector<ExprId> dims;
  };

  // What a core gets of a task's arguments: those of the callee's parameters and dims that have the same names. The
  // callee is the core itself, or a pair.
  Call call(const ir::Op& op, const ir::Function& callee, const std::string& name) {
    const auto number = cores_.find(name);
    const ir::Function* core = module_.find(name);
    PTO_CHECK(number != cores_.end() && core != nullptr, "a task calls something that is no core");
    std::map<std::string, object::Argument> arguments;
    size_t tensor = 0;
    size_t scalar = 0;
    for (const ir::Param& param : callee.params) {
      object::Argument argument;
      argument.is_tensor = param.is_tensor();
      if (argument.is_tensor) {
        const auto found = tensors_.find(op.operands.at(tensor++));
        PTO_CHECK(found != tensors_.end(), "a task's argument is no tensor of the program");
        argument.tensor = found->second;
      } else {
        argument.scalar = op.exprs.at(scalar++);
      }
      arguments[param.name] = argument;
    }
    Call result;
    result.core = number->second;
    for (const ir::Param& param : core->params) {
      object::Argument argument = arguments.at(param.name);
      argument.scalar = unit_.optional(argument.scalar);
      result.args.push_back(argument);
    }
    for (SymId dim : core->dims) {
      const std::string& wanted = core->symbols[dim.index()].name;
      for (size_t i = 0; i < callee.dims.size(); ++i) {
        if (callee.symbols[callee.dims[i].index()].name == wanted) {
          result.dims.push_back(unit_.expr(op.task_dims[i]));
        }
      }
    }
    PTO_CHECK(result.dims.size() == core->dims.size(), "a pair lacks a dim of its core");
    return result;
  }

  void task(ir::OpId id, const ir::Op& op) {
    const ir::Function* callee = module_.find(op.callee);
    PTO_CHECK(callee != nullptr, "a task calls something that is no core");
    PTO_CHECK(op.blocks.valid() && op.task_dims.size() == callee->dims.size(), "a task has no blocks or dims");
    object::Task task;
    task.name = unit_.names.tasks.at(id.index());
    task.location = locations_.at(op.span());
    if (callee->kind == ir::FunctionKind::Pair) {
      const Call cube = call(op, *callee, callee->pair_cube);
      const Call vec = call(op, *callee, callee->pair_vec);
      task.core = cube.core;
      task.args = cube.args;
      task.dims = cube.dims;
      task.vec = object::TaskLanes{vec.core, vec.args, vec.dims, static_cast<uint32_t>(callee->lanes)};
    } else {
      Call one = call(op, *callee, callee->name);
      task.core = one.core;
      task.args = std::move(one.args);
      task.dims = std::move(one.dims);
    }
    task.blocks = unit_.expr(op.blocks);
    for (ir::OpId other : op.after) {
      const auto found = tasks_.find(other);
      PTO_CHECK(found != tasks_.end(), "a task waits for a later one");
      task.after.push_back(found->second);
    }
    std::sort(task.after.begin(), task.after.end());
    task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
    tasks_[id] = static_cast<uint32_t>(program_.tasks.size());
    program_.tasks.push_back(std::move(task));
  }

  object::Program program_;
  Unit unit_;
  const ir::Module& module_;
  const std::map<std::string, uint32_t>& cores_;
  Locations& locations_;
  std::map<ir::ValueId, uint32_t> tensors_;
  std::map<ir::OpId, uint32_t> tasks_;
};

}  // namespace

object::Program emit_program(const ir::Function& function, const ir::Module& module,
                             const std::map<std::string, uint32_t>& cores, Locations& locations) {
  return ProgramEmitter(function, module, cores, locations).run();
}

}  // namespace pto::codegen
