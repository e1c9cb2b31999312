// Replaces calls of graphs by the callee's body. Graphs that were only called go away; fused graphs and kernels stay
// calls.
#include <algorithm>
#include <set>

#include "pto/result.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

// Copies the callee's body in front of position `at`, its parameters bound to the call's arguments. Returns the ops.
std::vector<OpId> expand_call(ir::Function& caller, const ir::Function& callee, const Op& call) {
  const ir::RegionId scratch = caller.add_region();
  Cloner cloner(callee, caller);
  size_t tensor = 0;
  size_t scalar = 0;
  for (const ir::Param& param : callee.params) {
    if (!param.is_tensor()) {
      cloner.map(param.sym, call.exprs[scalar++]);
    } else if (param.mode != ir::ParamMode::Out) {
      cloner.map(param.value, call.operands[tensor++]);
    }
  }
  const auto dims = solve_dims(callee, caller, call.operands);
  PTO_CHECK(dims.has_value(), "the front end accepts only calls whose dims follow from the arguments");
  for (size_t i = 0; i < callee.dims.size(); ++i) {
    cloner.map(callee.dims[i], (*dims)[i]);
  }
  std::vector<OpId> ops;
  for (OpId id : callee.body_region().ops) {
    if (callee.ops[id].kind == OpKind::Assign) {
      continue;  // its value stands for the call's result, below
    }
    ops.push_back(cloner.clone(id, scratch));
  }
  // Results of the call become the assigned values: replace every use.
  std::map<ValueId, ValueId> replaced;
  size_t result = 0;
  for (const ir::Param& param : callee.params) {
    if (!param.is_tensor() || param.mode != ir::ParamMode::Out) {
      continue;
    }
    for (OpId id : callee.body_region().ops) {
      const Op& assign = callee.ops[id];
      if (assign.kind == OpKind::Assign && assign.operands[0] == param.value) {
        replaced[call.results[result]] = cloner.value(assign.operands[1]);
      }
    }
    ++result;
  }
  for (size_t i = 0; i < caller.ops.size(); ++i) {
    for (ValueId& operand : caller.ops[OpId(static_cast<uint32_t>(i))].operands) {
      const auto it = replaced.find(operand);
      if (it != replaced.end()) {
        operand = it->second;
      }
    }
  }
  return ops;
}

}  // namespace

PassResult inline_calls(PassContext& context) {
  std::set<std::string> inlined;
  // Callees come before or after their callers; the front end refuses recursion, so repeating until no call is left
  // ends.
  for (bool again = true; again;) {
    again = false;
    for (ir::Function& function : context.module.functions) {
      if (function.kind != ir::FunctionKind::Graph) {
        continue;
      }
      rewrite_region(function, function.body, [&](OpId id) -> std::vector<OpId> {
        const Op call = function.ops[id];
        const ir::Function* callee = call.kind == OpKind::Call ? context.module.find(call.callee) : nullptr;
        if (callee == nullptr || callee->kind != ir::FunctionKind::Graph) {
          return {id};
        }
        again = true;
        inlined.insert(callee->name);
        return expand_call(function, *callee, call);
      });
    }
  }
  auto& functions = context.module.functions;
  functions.erase(std::remove_if(functions.begin(), functions.end(),
                                 [&](const ir::Function& f) { return inlined.count(f.name) != 0; }),
                  functions.end());
  return inlined.empty() ? PassResult::Unchanged : PassResult::Changed;
}

}  // namespace pto::passes
