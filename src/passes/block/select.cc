// Selection, the pass: kernels become cores, mixed ones a core of each kind and the pair that names both, and whoever
// calls a kernel runs that. What becomes of a kernel's body is in selector.cc.
#include "src/passes/block/select.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/mixed_plan.h"
#include "src/passes/block/pad_tiles.h"
#include "src/passes/block/selector.h"
#include "src/passes/exec/outline_tasks.h"
#include "src/passes/pass.h"

namespace pto::passes {

using ir::FunctionKind;
using ir::Op;
using ir::OpId;
using ir::OpKind;

namespace {

// The pair's own interface is the kernel's.
ir::Function make_pair(const ir::Function& kernel, const SelectedKernel& cube, const SelectedKernel& vec,
                       int64_t lanes) {
  ir::Function pair;
  pair.kind = FunctionKind::Pair;
  pair.name = kernel.name + "_pair";
  pair.doc = kernel.doc;
  pair.span = kernel.span;
  pair.body = pair.add_region();
  pair.pair_cube = cube.core.name;
  pair.pair_vec = vec.core.name;
  pair.lanes = lanes;
  copy_interface(kernel, pair);
  return pair;
}

}  // namespace

std::optional<SelectedKernel> select_kernel(const ir::Function& written, const Target& target, bool split_lanes,
                                            DiagnosticSink& sink) {
  const std::optional<ir::Function> padded = pad_tiles(written, target);
  const ir::Function& kernel = padded ? *padded : written;
  const auto plan = plan_mixed(kernel, target, split_lanes, sink);
  if (!plan) {
    return std::nullopt;
  }
  auto first = Selector(kernel, *plan, plan->cube ? CoreKind::Cube : CoreKind::Vec, target, sink).run();
  if (!first || !plan->mixed()) {
    return first;
  }
  auto vec = Selector(kernel, *plan, CoreKind::Vec, target, sink).run();
  if (!vec) {
    return std::nullopt;
  }
  first->pair = make_pair(kernel, *first, *vec, plan->lanes);
  first->vec = std::move(vec->core);
  return first;
}

std::optional<Overflow> place_buffers(SelectedKernel& selected, const Target& target, bool reuse) {
  const auto overflow = place_buffers(selected.core, target, reuse);
  return overflow || !selected.vec ? overflow : place_buffers(*selected.vec, target, reuse);
}

namespace {

// min(cores, blocks) with the core's dims replaced by what the task gives them.
ExprId blocks_of_task(ir::Function& program, const Op& task, const SelectedKernel& selected, const Target& target) {
  std::map<SymId, ExprId> dims;
  for (size_t i = 0; i < selected.core.dims.size(); ++i) {
    dims[selected.core.dims[i]] = task.task_dims[i];
  }
  const ExprId blocks =
      program.exprs.import(selected.core.exprs, selected.blocks, [&](SymId sym) { return dims.at(sym); });
  return program.exprs.min(program.exprs.integer(units(selected.entry(), target)), blocks);
}

}  // namespace

PassResult select_instructions(PassContext& context) {
  std::vector<ir::Function> functions;
  std::map<std::string, SelectedKernel> selected;  // by kernel
  for (ir::Function& function : context.module.functions) {
    if (function.kind != FunctionKind::Kernel) {
      functions.push_back(std::move(function));
      continue;
    }
    auto result = select_kernel(function, context.target, context.options.split_lanes, context.sink);
    if (!result) {
      return PassResult::Failed;
    }
    functions.push_back(result->core);
    if (result->pair) {
      functions.push_back(*result->vec);
      functions.push_back(*result->pair);
    }
    for (size_t i = 0; i < (result->pair ? 3u : 1u); ++i) {  // an entry checks them: they go to the program
      functions[functions.size() - 1 - i].constraints.clear();
    }
    selected.emplace(function.name, std::move(*result));
  }
  std::set<std::string> called;
  auto bind = [&](ir::Function& program, Op& task, const std::string kernel) {  // a copy: task.callee changes here
    const SelectedKernel& core = selected.at(kernel);
    task.callee = core.entry().name;
    if (!task.blocks.valid()) {
      task.blocks = blocks_of_task(program, task, core, context.target);
    }
    called.insert(kernel);
  };
  for (ir::Function& function : functions) {
    if (function.kind != FunctionKind::Program) {
      continue;
    }
    for (OpId id : function.body_region().ops) {
      Op& op = function.ops[id];
      if (op.kind == OpKind::Task && selected.count(op.callee) != 0) {
        bind(function, op, op.callee);
      }
    }
  }
  // A kernel that no program calls is an entry itself: its core gets a program under the kernel's name, right behind
  // it.
  std::vector<ir::Function> all;
  for (ir::Function& function : functions) {
    all.push_back(std::move(function));
    for (const auto& [kernel, core] : selected) {
      if (core.entry().name == all.back().name && called.count(kernel) == 0) {
        ir::Function program = make_single_task_program(core.entry(), kernel);
        bind(program, program.ops[program.body_region().ops.back()], kernel);
        all.push_back(std::move(program));
        break;
      }
    }
  }
  context.module.functions = std::move(all);
  return selected.empty() ? PassResult::Unchanged : PassResult::Changed;
}

}  // namespace pto::passes
