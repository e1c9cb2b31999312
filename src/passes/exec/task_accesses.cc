#include "src/passes/exec/task_accesses.h"

#include <algorithm>
#include <optional>

#include "pto/result.h"
#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

using ir::OpKind;

// The window of one operand as constant ranges; nullopt where an offset or the valid region isn't constant.
std::optional<std::vector<std::pair<int64_t, int64_t>>> constant_window(const ir::Function& core, const isa::Inst& inst,
                                                                        const isa::Operand& operand) {
  const isa::Operand* tile = nullptr;
  for (const isa::Operand& other : inst.operands) {
    if (isa::is_tile(other.kind)) {
      tile = &other;
    }
  }
  if (tile == nullptr) {
    return std::nullopt;
  }
  const TileDesc& desc = core.buffers[tile->buffer.index()].tile;
  std::vector<std::pair<int64_t, int64_t>> ranges;
  const size_t rank = operand.offsets.size();
  for (size_t i = 0; i < rank; ++i) {
    const auto offset = core.exprs.constant(operand.offsets[i]);
    if (!offset) {
      return std::nullopt;
    }
    const int64_t length = i + 1 == rank ? desc.cols : i + 2 == rank ? desc.rows : 1;
    ranges.emplace_back(*offset, *offset + length);
  }
  return ranges;
}

void extend(TaskAccess& access, const std::optional<std::vector<std::pair<int64_t, int64_t>>>& window) {
  if (!window) {
    access.whole = true;
    return;
  }
  if (access.ranges.empty()) {
    access.ranges = *window;
    return;
  }
  for (size_t i = 0; i < access.ranges.size(); ++i) {
    access.ranges[i].first = std::min(access.ranges[i].first, (*window)[i].first);
    access.ranges[i].second = std::max(access.ranges[i].second, (*window)[i].second);
  }
}

// Adds what one core does to the accesses of the parameters that have the same names.
void collect(const ir::Function& core, const std::vector<std::string>& names, std::vector<TaskAccess>& accesses) {
  for_each_op(core, [&](ir::OpId id) {
    const ir::Op& op = core.ops[id];
    if (op.kind != OpKind::Inst) {
      return;
    }
    for (const isa::Operand& operand : op.inst.operands) {
      if (!isa::is_gm(operand.kind)) {
        continue;
      }
      const ir::ValueId named = core.tensors[operand.tensor.index()];
      const ir::ValueId tensor = root_tensor(core, named);
      const auto param =
          std::find_if(core.params.begin(), core.params.end(), [&](const ir::Param& p) { return p.value == tensor; });
      const auto at = std::find(names.begin(), names.end(), param->name);
      TaskAccess& access = accesses[static_cast<size_t>(at - names.begin())];
      access.read = access.read || isa::reads(operand.kind);
      access.write = access.write || isa::writes(operand.kind);
      extend(access, tensor != named ? std::nullopt : constant_window(core, op.inst, operand));
    }
  });
}

}  // namespace

std::vector<TaskAccess> task_accesses(const ir::Module& module, const ir::Op& task, const ir::Function& callee) {
  std::vector<TaskAccess> accesses;
  std::vector<std::string> names;
  for (const ir::Param& param : callee.params) {
    if (param.is_tensor()) {
      accesses.push_back({task.operands[accesses.size()], false, false, false, {}});
      names.push_back(param.name);
    }
  }
  if (callee.kind != ir::FunctionKind::Pair) {
    collect(callee, names, accesses);
    return accesses;
  }
  for (const std::string& half : {callee.pair_cube, callee.pair_vec}) {
    const ir::Function* core = module.find(half);
    PTO_CHECK(core != nullptr, "a pair names cores of the module");
    collect(*core, names, accesses);
  }
  return accesses;
}

bool conflict(const TaskAccess& a, const TaskAccess& b) {
  if (a.tensor != b.tensor || !((a.write && (b.read || b.write)) || (b.write && a.read))) {
    return false;
  }
  if (a.whole || b.whole || a.ranges.size() != b.ranges.size()) {
    return true;
  }
  for (size_t i = 0; i < a.ranges.size(); ++i) {
    if (a.ranges[i].second <= b.ranges[i].first || b.ranges[i].second <= a.ranges[i].first) {
      return false;
    }
  }
  return true;
}

}  // namespace pto::passes
