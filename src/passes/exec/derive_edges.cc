// Orders tasks that touch the same elements of a tensor, one of them writing: read after write, write after read, write
// after write. Program order decides who comes first. An edge that others imply is left out; edges that are written
// stay.
#include <algorithm>

#include "pto/result.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/exec/task_accesses.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;

class EdgeBuilder {
 public:
  EdgeBuilder(const ir::Module& module, ir::Function& program) : program_(program) {
    for (OpId id : program.body_region().ops) {
      const Op& op = program.ops[id];
      if (op.kind == OpKind::Task) {
        const ir::Function* core = module.find(op.callee);
        PTO_CHECK(core != nullptr, "every task calls a core of the module");
        tasks_.push_back(id);
        accesses_.push_back(task_accesses(module, op, *core));
      }
    }
  }

  bool run() {
    bool changed = false;
    const size_t n = tasks_.size();
    // before[j][i]: task i is over before task j starts.
    std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
    for (size_t j = 0; j < n; ++j) {
      Op& task = program_.ops[tasks_[j]];
      for (OpId earlier : task.after) {
        absorb(before, j, index_of(earlier));
      }
      for (size_t i = j; i-- > 0;) {
        if (!before[j][i] && depends(i, j)) {
          task.after.push_back(tasks_[i]);
          absorb(before, j, i);
          changed = true;
        }
      }
      std::sort(task.after.begin(), task.after.end());
    }
    return changed;
  }

 private:
  size_t index_of(OpId id) const {
    return static_cast<size_t>(std::find(tasks_.begin(), tasks_.end(), id) - tasks_.begin());
  }
  static void absorb(std::vector<std::vector<bool>>& before, size_t j, size_t i) {
    before[j][i] = true;
    for (size_t k = 0; k < before.size(); ++k) {
      before[j][k] = before[j][k] || before[i][k];
    }
  }
  bool depends(size_t i, size_t j) const {
    for (const TaskAccess& a : accesses_[i]) {
      for (const TaskAccess& b : accesses_[j]) {
        if (conflict(a, b)) {
          return true;
        }
      }
    }
    return false;
  }

  ir::Function& program_;
  std::vector<OpId> tasks_;
  std::vector<std::vector<TaskAccess>> accesses_;
};

}  // namespace

PassResult derive_edges(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    if (function.kind == ir::FunctionKind::Program) {
      changed = EdgeBuilder(context.module, function).run() || changed;
    }
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
