// Fused graphs become kernels, with tile shapes chosen here; graphs become programs whose tasks call them. Values that
// pass between tasks become workspace buffers; a value that is assigned to a result is written there directly.
#include <algorithm>
#include <set>

#include "pto/result.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"
#include "src/passes/tensor/tile_builder.h"

namespace pto::passes {

namespace {

using ir::FunctionKind;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

bool has_matmul(const ir::Function& graph) {
  return std::any_of(graph.body_region().ops.begin(), graph.body_region().ops.end(), [&](OpId id) {
    return ir::is_matmul(graph.ops[id].kind);
  });
}

std::optional<ir::Function> lower_fused(PassContext& context, const ir::Function& graph) {
  ir::Function kernel;
  TileBuilder builder(graph, kernel);
  const bool ok = has_matmul(graph) ? tile_matmul(builder, context.target, context.sink)
                                    : tile_elementwise(builder, context.target, context.sink);
  return ok ? std::optional<ir::Function>(std::move(kernel)) : std::nullopt;
}

// The graph's own parameters, dims and constraints over to the program.
void copy_interface(const ir::Function& graph, ir::Function& program, Cloner& cloner) {
  program.kind = FunctionKind::Program;
  program.name = graph.name;
  program.doc = graph.doc;
  program.span = graph.span;
  program.body = program.add_region();
  std::map<SymId, SymId> symbols;
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    const SymId old(static_cast<uint32_t>(i));
    symbols[old] = program.add_symbol(graph.symbols[i]);
    cloner.map(old, program.exprs.symbol(symbols[old]));
  }
  for (SymId dim : graph.dims) {
    program.dims.push_back(symbols[dim]);
  }
  for (const ir::Param& old : graph.params) {
    ir::Param param = old;
    if (old.is_tensor()) {
      param.type = cloner.type(old.type);
      param.value = program.add_value(param.type, old.name);
      cloner.map(old.value, param.value);
    } else {
      param.sym = symbols[old.sym];
    }
    program.params.push_back(std::move(param));
  }
  for (const ir::Constraint& constraint : graph.constraints) {
    program.constraints.push_back({cloner.expr(constraint.condition), constraint.text, constraint.span});
  }
}

class ProgramBuilder {
 public:
  ProgramBuilder(PassContext& context, const ir::Function& graph)
      : context_(context), graph_(graph), cloner_(graph, program_) {}

  std::optional<ir::Function> run() {
    copy_interface(graph_, program_, cloner_);
    if (!bind_results()) {
      return std::nullopt;
    }
    for (OpId id : graph_.body_region().ops) {
      if (graph_.ops[id].kind == OpKind::Call && !add_task(graph_.ops[id])) {
        return std::nullopt;
      }
    }
    return std::move(program_);
  }

 private:
  // A call's result that is assigned to a result parameter is that parameter.
  bool bind_results() {
    for (OpId id : graph_.body_region().ops) {
      const Op& op = graph_.ops[id];
      if (op.kind != OpKind::Assign) {
        continue;
      }
      const ValueId value = op.operands[1];
      if (!graph_.values[value].def.valid() || cloner_.has(value)) {
        context_.sink.report(DiagId::UnsupportedLowering, op.span(),
                             {"this assignment", "a result must be computed, and only one result may hold the value"});
        return false;
      }
      cloner_.map(value, cloner_.value(op.operands[0]));
    }
    return true;
  }

  ValueId result_value(ValueId value, const Op& call) {
    if (!cloner_.has(value)) {
      std::string name = graph_.values[value].name;
      Op buffer;
      buffer.kind = OpKind::Buffer;
      const ValueId created = program_.add_value(cloner_.type(graph_.type(value)), name.empty() ? "t" : name);
      buffer.results = {created};
      buffer.spans = call.spans;
      program_.add_op(program_.body, std::move(buffer));
      cloner_.map(value, created);
    }
    return cloner_.value(value);
  }

  bool add_task(const Op& call) {
    const ir::Function* callee = context_.module.find(call.callee);
    PTO_CHECK(callee != nullptr, "the front end resolved every call");
    Op task;
    task.kind = OpKind::Task;
    task.name = "t" + std::to_string(tasks_++);
    task.callee = call.callee;
    task.spans = call.spans;
    size_t input = 0;
    size_t output = 0;
    size_t scalar = 0;
    for (const ir::Param& param : callee->params) {
      if (!param.is_tensor()) {
        task.exprs.push_back(cloner_.expr(call.exprs[scalar++]));
      } else if (param.mode == ir::ParamMode::Out) {
        task.operands.push_back(result_value(call.results[output++], call));
      } else {
        task.operands.push_back(cloner_.value(call.operands[input++]));
      }
    }
    const auto dims = solve_dims(*callee, program_, task.operands);
    if (!dims) {
      context_.sink.report(DiagId::UnsupportedLowering, call.span(),
                           {"this computation", "a dim of its shapes stands alone in none of the graph's inputs"});
      return false;
    }
    task.task_dims = *dims;
    program_.add_op(program_.body, std::move(task));
    return true;
  }

  PassContext& context_;
  const ir::Function& graph_;
  ir::Function program_;
  Cloner cloner_;
  int tasks_ = 0;
};

}  // namespace

PassResult lower_to_tile(PassContext& context) {
  std::vector<ir::Function> functions;
  bool changed = false;
  for (const ir::Function& function : context.module.functions) {
    std::optional<ir::Function> lowered;
    if (function.kind == FunctionKind::FusedGraph) {
      lowered = lower_fused(context, function);
    } else if (function.kind == FunctionKind::Graph) {
      lowered = ProgramBuilder(context, function).run();
    } else {
      functions.push_back(function);
      continue;
    }
    if (!lowered) {
      return PassResult::Failed;
    }
    changed = true;
    functions.push_back(std::move(*lowered));
  }
  context.module.functions = std::move(functions);
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
