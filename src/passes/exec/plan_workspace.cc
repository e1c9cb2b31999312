// Gives workspace buffers offsets. Sizes are expressions over the program's dims, so buffers are put into lanes: two
// buffers share a lane when every task that uses the one is over before any that uses the other starts. A lane is as
// long as its longest buffer; lanes lie one behind the other, on 512-byte boundaries.
#include <algorithm>
#include <set>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

constexpr int64_t kAlignment = 512;  // an L2 line

ExprId aligned_bytes(ir::Function& program, const ir::Type& type) {
  ExprPool& exprs = program.exprs;
  ExprId elements = exprs.integer(1);
  for (ExprId dim : type.dims) {
    elements = exprs.mul(elements, dim);
  }
  const ExprId bytes = exprs.mul(elements, exprs.integer(byte_size(type.dtype)));
  return exprs.mul(exprs.ceildiv(bytes, exprs.integer(kAlignment)), exprs.integer(kAlignment));
}

// For each task, the tasks that are certainly over before it starts.
std::map<OpId, std::set<OpId>> all_before(const ir::Function& program) {
  std::map<OpId, std::set<OpId>> before;
  for (OpId id : program.body_region().ops) {
    const Op& op = program.ops[id];
    if (op.kind != OpKind::Task) {
      continue;
    }
    for (OpId earlier : op.after) {
      before[id].insert(earlier);
      const std::set<OpId> more = before[earlier];
      before[id].insert(more.begin(), more.end());
    }
  }
  return before;
}

bool plan(ir::Function& program) {
  std::vector<OpId> buffers;
  std::map<ValueId, std::vector<OpId>> users;
  for (OpId id : program.body_region().ops) {
    const Op& op = program.ops[id];
    if (op.kind == OpKind::Buffer && op.exprs.empty()) {
      buffers.push_back(id);
    }
    for (ValueId operand : op.operands) {
      users[operand].push_back(id);
    }
  }
  if (buffers.empty()) {
    return false;
  }
  auto before = all_before(program);
  auto all_over = [&](OpId a, OpId b) {
    const auto& first = users[program.ops[a].results[0]];
    const auto& second = users[program.ops[b].results[0]];
    return std::all_of(first.begin(), first.end(), [&](OpId f) {
      return std::all_of(second.begin(), second.end(), [&](OpId s) { return before[s].count(f) != 0; });
    });
  };
  std::vector<std::vector<OpId>> lanes;
  for (OpId buffer : buffers) {
    const auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const std::vector<OpId>& members) {
      return std::all_of(members.begin(), members.end(),
                         [&](OpId other) { return all_over(other, buffer) || all_over(buffer, other); });
    });
    if (lane == lanes.end()) {
      lanes.push_back({buffer});
    } else {
      lane->push_back(buffer);
    }
  }
  ExprId offset = program.exprs.integer(0);
  for (const auto& lane : lanes) {
    ExprId length;
    for (OpId buffer : lane) {
      program.ops[buffer].exprs = {offset};
      const ExprId bytes = aligned_bytes(program, program.type(program.ops[buffer].results[0]));
      length = length.valid() ? program.exprs.make(ExprOp::Max, length, bytes) : bytes;
    }
    offset = program.exprs.add(offset, length);
  }
  return true;
}

}  // namespace

PassResult plan_workspace(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    if (function.kind == ir::FunctionKind::Program) {
      changed = plan(function) || changed;
    }
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
