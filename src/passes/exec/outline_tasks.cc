// A core or pair that no program calls is an entry itself: it gets a program of one task under its own name; the core
// is renamed after its kind. The task runs on as many blocks as the target has cores of that kind, or clusters.
#include "src/passes/exec/outline_tasks.h"

#include <algorithm>
#include <set>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"

namespace pto::passes {

using ir::FunctionKind;
using ir::Op;
using ir::OpKind;

ir::Function make_single_task_program(const ir::Function& core, const std::string& name) {
  ir::Function program;
  program.kind = FunctionKind::Program;
  program.name = name;
  program.doc = core.doc;
  program.span = core.span;
  program.body = program.add_region();
  copy_interface(core, program);
  Op task;
  task.kind = OpKind::Task;
  task.name = "t0";
  task.callee = core.name;
  task.spans = {core.span};
  for (SymId dim : program.dims) {
    task.task_dims.push_back(program.exprs.symbol(dim));
  }
  for (const ir::Param& param : program.params) {
    if (param.is_tensor()) {
      task.operands.push_back(param.value);
    } else {
      task.exprs.push_back(program.exprs.symbol(param.sym));
    }
  }
  program.add_op(program.body, std::move(task));
  return program;
}

int64_t units(const ir::Function& callee, const Target& target) {
  return callee.kind == FunctionKind::Pair ? target.clusters() : target.cores(callee.core_kind);
}

PassResult outline_tasks(PassContext& context) {
  std::set<std::string> called;
  for (const ir::Function& function : context.module.functions) {
    if (function.kind == FunctionKind::Pair) {
      called.insert({function.pair_cube, function.pair_vec});
    }
  }
  for (ir::Function& function : context.module.functions) {
    if (function.kind != FunctionKind::Program) {
      continue;
    }
    for (ir::OpId id : function.body_region().ops) {
      Op& op = function.ops[id];
      if (op.kind != OpKind::Task) {
        continue;
      }
      called.insert(op.callee);
      const ir::Function* core = context.module.find(op.callee);
      if (!op.blocks.valid() && core != nullptr) {
        op.blocks = function.exprs.integer(units(*core, context.target));
      }
    }
  }
  bool changed = false;
  std::vector<ir::Function> functions;
  for (ir::Function& function : context.module.functions) {
    const bool entry = (function.kind == FunctionKind::Core || function.kind == FunctionKind::Pair) &&
                       called.count(function.name) == 0;
    functions.push_back(function);
    if (!entry) {
      continue;
    }
    changed = true;
    ir::Function& core = functions.back();
    const std::string name = core.name;
    const std::string kind(core.kind == FunctionKind::Pair ? "pair" : spelling(core.core_kind));
    core.name = unique_function_name(context.module, name + "_" + kind);
    ir::Function program = make_single_task_program(core, name);
    program.ops[program.body_region().ops.back()].blocks = program.exprs.integer(units(core, context.target));
    functions.push_back(std::move(program));
  }
  context.module.functions = std::move(functions);
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
