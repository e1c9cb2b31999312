#include "src/passes/analysis/loop_cost.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace pto::passes {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;
using isa::Opcode;
using isa::Pipe;
using timing::Ticks;

namespace {

constexpr int64_t kUnknownTrips = 8;
constexpr Ticks kMostTicks = Ticks{1} << 56;  // sums of a few stay far from the end of 64 bits

Ticks times(Ticks a, int64_t b) {
  return a > kMostTicks / std::max<int64_t>(1, b) ? kMostTicks : a * b;
}
Ticks plus(Ticks a, Ticks b) {
  return std::min(kMostTicks, a + b);
}

std::optional<Opcode> opcode_of(const Op& op) {
  switch (op.kind) {
    case OpKind::Load:
      return Opcode::TLoad;
    case OpKind::Store:
      return Opcode::TStore;
    case OpKind::Move:
      return Opcode::TMov;
    case OpKind::Extract:
      return Opcode::TExtract;
    case OpKind::FillPad:
      return Opcode::TFillPad;
    case OpKind::MatMul:
    case OpKind::MatMulBias:
      return Opcode::TMatMul;
    case OpKind::Mul:
      return op.exprs.empty() ? Opcode::TMul : Opcode::TMuls;
    case OpKind::Div:
      return op.exprs.empty() ? Opcode::TDiv : Opcode::TDivs;
    case OpKind::Max:
      return op.exprs.empty() ? Opcode::TMax : Opcode::TMaxs;
    case OpKind::Min:
      return op.exprs.empty() ? Opcode::TMin : Opcode::TMins;
    case OpKind::Exp:
      return Opcode::TExp;
    case OpKind::Log:
      return Opcode::TLog;
    case OpKind::Sqrt:
      return Opcode::TSqrt;
    case OpKind::Rsqrt:
      return Opcode::TRsqrt;
    case OpKind::Recip:
      return Opcode::TRecip;
    case OpKind::Abs:
      return Opcode::TAbs;
    case OpKind::Relu:
      return Opcode::TRelu;
    case OpKind::Neg:
      return Opcode::TNeg;
    case OpKind::Cast:
      return Opcode::TCvt;
    case OpKind::Compare:
      return Opcode::TCmps;
    case OpKind::Select:
      return Opcode::TSels;
    case OpKind::Full:
      return Opcode::TExpands;
    case OpKind::Broadcast:
      return Opcode::TRowExpand;
    default:
      break;
  }
  switch (ir::op_info(op.kind).shape) {
    case ir::OpShape::Binary:
      return op.exprs.empty() ? Opcode::TAdd : Opcode::TAdds;
    case ir::OpShape::Reduce:
      return op.axis == 1 ? Opcode::TRowSum : Opcode::TColSum;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool LoopCosts::moves_data(const Op& loop) const {
  const auto& ops = kernel_.regions[loop.regions[0]].ops;
  return std::any_of(ops.begin(), ops.end(), [&](OpId id) {
    const OpKind kind = kernel_.ops[id].kind;
    return kind == OpKind::Load || kind == OpKind::Store || kind == OpKind::Move || kind == OpKind::Extract;
  });
}

int64_t LoopCosts::trips(const Op& loop) const {
  int64_t trips = 1;
  bool known = true;
  for (size_t i = 0; i + 2 < loop.exprs.size(); i += 3) {
    const auto lo = kernel_.exprs.constant(loop.exprs[i]);
    const auto hi = kernel_.exprs.constant(loop.exprs[i + 1]);
    const auto step = kernel_.exprs.constant(loop.exprs[i + 2]);
    int64_t count = kUnknownTrips;
    known = known && lo && hi && step;
    if (lo && hi && step && *step > 0) {
      count = *hi > *lo ? static_cast<int64_t>((static_cast<__int128>(*hi) - *lo + *step - 1) / *step) : 0;
    }
    trips = static_cast<int64_t>(std::min<__int128>(static_cast<__int128>(trips) * count, int64_t{1} << 40));
  }
  if (!known) {
    return kUnknownTrips;
  }
  if (loop.kind == OpKind::Parallel) {  // of one core
    trips = (trips + target_.cube_cores - 1) / std::max(1, target_.cube_cores);
  }
  return trips;
}

LoopCosts::Cost LoopCosts::instruction(const Op& op) const {
  Cost cost;
  const auto opcode = opcode_of(op);
  if (!opcode) {
    return cost;
  }
  std::vector<TileDesc> tiles;
  auto add = [&](ValueId value) {
    const ir::Type& type = kernel_.type(value);
    if (type.is_tile()) {
      tiles.push_back({type.dtype, type.rows, type.cols, type.layout, type.space});
    }
  };
  std::for_each(op.results.begin(), op.results.end(), add);
  std::for_each(op.operands.begin(), op.operands.end(), add);
  if (tiles.empty() || (tiles[0].space == Space::Acc && !ir::is_matmul(op.kind) && op.kind != OpKind::Store)) {
    return cost;  // zeros, rows and casts of an accumulator are part of what follows
  }
  const bool store = op.kind == OpKind::Store;
  const CoreKind core = target_.space(tiles[0].space).core;
  if (!store && tiles.size() > 1 && target_.space(tiles[1].space).core != core) {  // through a ring
    cost.latency = std::llround(2 * target_.ring_latency_cycles * static_cast<double>(timing::kTicksPerCycle));
    return cost;
  }
  const DType gm = op.kind == OpKind::Load || store ? kernel_.type(op.operands[0]).dtype : DType::None;
  const timing::Cost one = timing::instruction_cost(target_, core, *opcode, tiles, {}, gm);
  Pipe pipe = isa::info(*opcode).pipe;
  if (pipe == Pipe::Route) {
    const Space from = store ? tiles[0].space : op.kind == OpKind::Load ? Space::Gm : tiles.back().space;
    const DataPath* path = target_.path(from, store ? Space::Gm : tiles[0].space, core);
    pipe = path != nullptr ? path->pipe : Pipe::S;
  }
  cost.busy = std::max(one.busy, one.issue);
  cost.latency = one.latency + one.tail;
  if (one.gm_bytes > 0) {
    const double share = target_.l2_bytes_per_cycle / std::max(1, target_.cores(core));
    const double rate =
        std::min(static_cast<double>(one.rate_cap) / static_cast<double>(timing::kTicksPerCycle), share);
    const double ticks =
        static_cast<double>(one.gm_bytes) * static_cast<double>(timing::kTicksPerCycle) / std::max(rate, 1e-3);
    cost.busy = plus(cost.busy, ticks < static_cast<double>(kMostTicks) ? std::llround(ticks) : kMostTicks);
  }
  cost.pipes[static_cast<size_t>(core) * isa::kPipeCount + static_cast<size_t>(pipe)] = cost.busy;
  return cost;
}

LoopCosts::Cost LoopCosts::region(ir::RegionId id) const {
  Cost sum;
  for (OpId op : kernel_.regions[id].ops) {
    const Cost one = cost_of(op);
    for (size_t i = 0; i < sum.pipes.size(); ++i) {
      sum.pipes[i] = plus(sum.pipes[i], one.pipes[i]);
    }
    sum.busy = plus(sum.busy, plus(one.busy, one.latency));
  }
  return sum;
}

// Which ops of the list use each value, themselves or in their regions, in ascending order.
void LoopCosts::add_uses(OpId id, size_t position, std::map<ValueId, std::vector<size_t>>& uses) const {
  const Op& op = kernel_.ops[id];
  for (ValueId value : op.operands) {
    std::vector<size_t>& known = uses[value];
    if (known.empty() || known.back() != position) {
      known.push_back(position);
    }
  }
  for (ir::RegionId region : op.regions) {
    for (OpId inner : kernel_.regions[region].ops) {
      add_uses(inner, position, uses);
    }
  }
}

LoopCosts::Cost LoopCosts::loop(const Op& op, int64_t depth, int64_t starts) const {
  const auto& ops = kernel_.regions[op.regions[0]].ops;
  std::vector<Cost> costs;
  for (OpId id : ops) {
    costs.push_back(cost_of(id));
  }
  Cost total;
  Ticks once = 0;
  for (const Cost& one : costs) {
    for (size_t i = 0; i < total.pipes.size(); ++i) {
      total.pipes[i] = plus(total.pipes[i], one.pipes[i]);
    }
    once = plus(once, plus(one.busy, one.latency));
  }
  // From the start of a tile's definition to the end of its last use, which waits for what comes in between.
  Ticks occupied = 0;
  std::map<ValueId, std::vector<size_t>> uses;
  for (size_t i = 0; i < ops.size(); ++i) {
    add_uses(ops[i], i, uses);
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    for (ValueId value : kernel_.ops[ops[i]].results) {
      if (!kernel_.type(value).is_tile() || !kernel_.ops[ops[i]].regions.empty()) {
        continue;
      }
      size_t last = i;
      ValueId held = value;
      // A sum stays in its buffer through loops and products.
      for (bool follows = true; follows;) {
        follows = false;
        for (size_t j : uses[held]) {
          if (j <= i) {
            continue;
          }
          last = std::max(last, j);
          const Op& use = kernel_.ops[ops[j]];
          if (use.results.size() == 1 && kernel_.type(held).space == Space::Acc &&
              kernel_.type(use.results[0]).space == Space::Acc) {
            held = use.results[0];
            follows = true;
            break;
          }
        }
      }
      Ticks life = 0;
      Ticks latency = 0;
      for (size_t j = i; j <= last; ++j) {
        life = plus(life, costs[j].busy);
        latency = std::max(latency, costs[j].latency);
      }
      life = plus(life, latency);
      occupied = std::max(occupied, life);
    }
  }
  // Slots start again at the first one whenever the loop does: a single iteration overlaps with nothing.
  const int64_t once_each = trips(op);
  const int64_t count = once_each > 1 ? std::min<int64_t>(once_each, int64_t{1} << 40) * starts : once_each;
  Ticks each = *std::max_element(total.pipes.begin(), total.pipes.end());
  each = std::max(each, occupied / std::max<int64_t>(1, depth));
  for (Ticks& pipe : total.pipes) {
    pipe = times(pipe, count);
  }
  total.busy = count > 0 ? plus(once, times(each, count - 1)) : 0;
  return total;
}

LoopCosts::Cost LoopCosts::cost_of(OpId id) const {
  const Op& op = kernel_.ops[id];
  if (op.kind == OpKind::For || op.kind == OpKind::Parallel) {
    return loop(op, std::max<int64_t>(1, op.pipeline), 1);
  }
  if (op.kind == OpKind::If) {
    const Cost a = region(op.regions[0]);
    const Cost b = region(op.regions[1]);
    return a.busy >= b.busy ? a : b;
  }
  return instruction(op);
}

Ticks LoopCosts::time(OpId id, int64_t depth, int64_t starts) const {
  return loop(kernel_.ops[id], depth, std::clamp<int64_t>(starts, 1, 1 << 20)).busy;
}

}  // namespace pto::passes
