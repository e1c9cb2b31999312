#include "src/passes/exec/task_accesses.h"

#include <algorithm>
#include <optional>

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

}  // namespace

std::vector<TaskAccess> task_accesses(const ir::Function& program, const ir::Op& task, const ir::Function& core) {
  (void)program;
  std::vector<TaskAccess> accesses;
  std::vector<ir::ValueId> params;
  size_t next = 0;
  for (const ir::Param& param : core.params) {
    if (param.is_tensor()) {
      accesses.push_back({task.operands[next++], false, false, false, {}});
      params.push_back(param.value);
    }
  }
  for_each_op(core, [&](ir::OpId id) {
    const ir::Op& op = core.ops[id];
    if (op.kind != OpKind::Inst) {
      return;
    }
    for (const isa::Operand& operand : op.inst.operands) {
      if (!isa::is_gm(operand.kind)) {
        continue;
      }
      ir::ValueId tensor = core.tensors[operand.tensor.index()];
      bool view = false;
      while (core.values[tensor].def.valid()) {
        tensor = core.ops[core.values[tensor].def].operands[0];
        view = true;
      }
      const auto at = std::find(params.begin(), params.end(), tensor);
      TaskAccess& access = accesses[static_cast<size_t>(at - params.begin())];
      access.read = access.read || isa::reads(operand.kind);
      access.write = access.write || isa::writes(operand.kind);
      const auto window = view ? std::nullopt : constant_window(core, op.inst, operand);
      if (!window) {
        access.whole = true;
      } else if (access.ranges.empty()) {
        access.ranges = *window;
      } else {
        for (size_t i = 0; i < access.ranges.size(); ++i) {
          access.ranges[i].first = std::min(access.ranges[i].first, (*window)[i].first);
          access.ranges[i].second = std::max(access.ranges[i].second, (*window)[i].second);
        }
      }
    }
  });
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
