// Vector tiles that one operation ties together row by row (or column by column) form a group. A group is shared by the
// lanes when every tile of it can be halved along the axis: even, halves that the memory can hold, no reduction along
// the axis, no window cut out of it. What is left is done by both lanes alike, and lane 0 alone stores and pushes it.
// Sums along the axis stay in one piece, so that sharing changes no bit of the result.
#include "src/passes/block/mixed_plan.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;
using isa::RingDirection;
using isa::Split;

constexpr int64_t kMostSlots = 4;

class Planner {
 public:
  Planner(const ir::Function& kernel, const Target& target, DiagnosticSink& sink)
      : kernel_(kernel), target_(target), sink_(sink) {}

  std::optional<MixedPlan> run(bool split_lanes) {
    region(kernel_.body);
    if (!plan_.mixed()) {
      return plan_;
    }
    if (!check_memory()) {
      return std::nullopt;
    }
    if (split_lanes) {
      share();
    }
    make_rings();
    return plan_;
  }

 private:
  CoreKind core_of(ValueId value) const { return target_.space(kernel_.type(value).space).core; }
  bool in_vec(ValueId value) const { return kernel_.type(value).is_tile() && kernel_.type(value).space == Space::Vec; }
  bool crosses(const Op& op) const {
    return op.kind == OpKind::Move && core_of(op.operands[0]) != core_of(op.results[0]);
  }

  // ---- who does what

  void give(OpId id, CoreKind kind) {
    plan_.ops[kind].insert(id);
    (kind == CoreKind::Cube ? plan_.cube : plan_.vec) = true;
  }

  void touch(ValueId tensor, CoreKind kind) {
    for (;;) {
      plan_.tensors[kind].insert(tensor);
      const OpId def = kernel_.values[tensor].def;
      if (!def.valid()) {
        return;
      }
      tensor = kernel_.ops[def].operands[0];
    }
  }

  void region(ir::RegionId id) {
    for (OpId op_id : kernel_.regions[id].ops) {
      const Op& op = kernel_.ops[op_id];
      for (ir::RegionId inner : op.regions) {
        region(inner);
        for (CoreKind kind : {CoreKind::Vec, CoreKind::Cube}) {
          const auto& ops = kernel_.regions[inner].ops;
          if (std::any_of(ops.begin(), ops.end(), [&](OpId o) { return plan_.ops[kind].count(o) != 0; })) {
            give(op_id, kind);
          }
        }
      }
      if (!op.regions.empty() || op.kind == OpKind::Let || op.kind == OpKind::Yield || op.kind == OpKind::Reshape) {
        continue;
      }
      const ValueId tile = op.kind == OpKind::Store ? op.operands[1] : op.results[0];
      give(op_id, core_of(tile));
      if (crosses(op)) {
        give(op_id, core_of(op.operands[0]));
      }
      if (op.kind == OpKind::Load || op.kind == OpKind::Store) {
        touch(op.operands[0], core_of(tile));
      }
    }
  }

  // Nothing orders the cores of a cluster but rings: what one kind writes in global memory the other must not touch.
  bool check_memory() {
    std::map<ValueId, std::map<CoreKind, OpId>> stores;
    std::map<ValueId, std::map<CoreKind, OpId>> loads;
    for_each_op(kernel_, [&](OpId id) {
      const Op& op = kernel_.ops[id];
      if (op.kind == OpKind::Load) {
        loads[root_tensor(kernel_, op.operands[0])].emplace(core_of(op.results[0]), id);
      } else if (op.kind == OpKind::Store) {
        stores[root_tensor(kernel_, op.operands[0])].emplace(core_of(op.operands[1]), id);
      }
    });
    for (const auto& [tensor, by_kind] : stores) {
      for (const auto& [kind, id] : by_kind) {
        const CoreKind other = kind == CoreKind::Cube ? CoreKind::Vec : CoreKind::Cube;
        const auto load = loads[tensor].find(other);
        if (load != loads[tensor].end()) {
          sink_
              .report(DiagId::MixedKernel, kernel_.ops[load->second].span(),
                      {kernel_.name, kernel_.values[tensor].name, std::string(spelling(other)),
                       std::string(spelling(kind))})
              .note(kernel_.ops[id].span(), "written here")
              .help("use the tile itself instead of loading it again, or write two kernels");
          return false;
        }
      }
    }
    return true;
  }

  // ---- sharing by the lanes

  int64_t extent(ValueId value, Split axis) const {
    const ir::Type& type = kernel_.type(value);
    return axis == Split::Rows ? type.rows : type.cols;
  }

  ValueId leader(ValueId value) {
    auto it = leader_.emplace(value, value).first;
    while (it->second != it->first) {
      it = leader_.find(it->second);
    }
    leader_[value] = it->first;
    return it->first;
  }
  void tie(ValueId a, ValueId b) {
    const ValueId x = leader(a);
    const ValueId y = leader(b);
    if (x != y) {
      leader_[std::max(x, y)] = std::min(x, y);
    }
  }

  bool can_halve(ValueId value, Split axis) const {
    const ir::Type& type = kernel_.type(value);
    if (extent(value, axis) % 2 != 0) {
      return false;
    }
    isa::Buffer half;
    half.name = "half";
    half.tile = {type.dtype, axis == Split::Rows ? type.rows / 2 : type.rows,
                 axis == Split::Cols ? type.cols / 2 : type.cols, type.layout, type.space};
    if (type.dtype == DType::Bool) {  // a mask, eight columns a byte
      return axis == Split::Rows;
    }
    return !isa::check_buffer(half, target_).has_value();
  }

  // Why not to halve along the axis: reductions along it, windows, what arrives from the accumulator in a type that
  // can't be split.
  bool op_allows(const Op& op, Split axis) const {
    switch (op.kind) {
      case OpKind::Sum:
      case OpKind::ReduceMax:
      case OpKind::ReduceMin:
        return (op.axis == 0) != (axis == Split::Rows);
      case OpKind::Extract:
        return false;
      case OpKind::Move: {
        const ir::Type& type = kernel_.type(op.results[0]);
        isa::Ring ring{"r", RingDirection::C2V, type.dtype, type.rows, type.cols, 1, axis};
        ring.direction = in_vec(op.results[0]) ? RingDirection::C2V : RingDirection::V2C;
        return !crosses(op) || !isa::check_ring(ring, target_).has_value();
      }
      default:
        return true;
    }
  }

  // Groups along one axis; the values that the lanes share.
  std::set<ValueId> shared_along(Split axis) {
    leader_.clear();
    std::set<ValueId> members;
    std::set<ValueId> refused;  // any member of a refused group
    auto wide = [&](ValueId v) { return in_vec(v) && extent(v, axis) > 1; };
    auto tie_all = [&](const std::vector<ValueId>& values) {
      for (ValueId v : values) {
        if (wide(v)) {
          tie(values_first(values, wide), v);
        }
      }
    };
    for_each_op(kernel_, [&](OpId id) {
      const Op& op = kernel_.ops[id];
      if (op.kind == OpKind::Yield) {
        return;
      }
      if (op.kind == OpKind::For || op.kind == OpKind::If) {
        for (const auto& chain : joined_values(kernel_, op)) {
          note(chain, axis, members, refused);
          tie_all(chain);
        }
        return;
      }
      std::vector<ValueId> values = op.operands;
      values.insert(values.end(), op.results.begin(), op.results.end());
      note(values, axis, members, refused);
      tie_all(values);
      if (!op_allows(op, axis)) {
        std::copy_if(values.begin(), values.end(), std::inserter(refused, refused.end()), wide);
      }
    });
    refuse_hazards(axis, refused);
    std::set<ValueId> refused_leaders;
    for (ValueId v : refused) {
      refused_leaders.insert(leader(v));
    }
    std::set<ValueId> shared;
    for (ValueId v : members) {
      if (refused_leaders.count(leader(v)) == 0) {
        shared.insert(v);
      }
    }
    return shared;
  }

  template <typename Pred>
  static ValueId values_first(const std::vector<ValueId>& values, Pred wide) {
    return *std::find_if(values.begin(), values.end(), wide);
  }

  void note(const std::vector<ValueId>& values, Split axis, std::set<ValueId>& members, std::set<ValueId>& refused) {
    for (ValueId v : values) {
      if (!in_vec(v) || extent(v, axis) <= 1) {
        continue;
      }
      members.insert(v);
      if (!can_halve(v, axis)) {
        refused.insert(v);
      }
    }
  }

  // A tensor that vector work both reads and writes: a lane may only meet its own elements, so all windows must be the
  // same along the axis.
  void refuse_hazards(Split axis, std::set<ValueId>& refused) {
    std::map<ValueId, std::vector<OpId>> accesses;
    std::set<ValueId> written;
    for_each_op(kernel_, [&](OpId id) {
      const Op& op = kernel_.ops[id];
      const bool store = op.kind == OpKind::Store && in_vec(op.operands[1]);
      if (store || (op.kind == OpKind::Load && in_vec(op.results[0]))) {
        accesses[root_tensor(kernel_, op.operands[0])].push_back(id);
        if (store) {
          written.insert(root_tensor(kernel_, op.operands[0]));
        }
      }
    });
    for (ValueId tensor : written) {
      const auto& ids = accesses[tensor];
      const bool loaded =
          std::any_of(ids.begin(), ids.end(), [&](OpId id) { return kernel_.ops[id].kind == OpKind::Load; });
      const Op& first = kernel_.ops[ids.front()];
      const bool alike = std::all_of(ids.begin(), ids.end(), [&](OpId id) {
        const Op& op = kernel_.ops[id];
        return op.operands[0] == first.operands[0] && op.exprs == first.exprs &&
               extent(tile_of(op), axis) == extent(tile_of(first), axis);
      });
      if (loaded && !alike) {
        for (OpId id : ids) {
          refused.insert(tile_of(kernel_.ops[id]));
          no_lanes_ = true;
        }
      }
    }
  }
  static ValueId tile_of(const Op& op) { return op.kind == OpKind::Store ? op.operands[1] : op.results[0]; }

  void share() {
    std::optional<Split> wish;
    for_each_op(kernel_, [&](OpId id) {
      if (kernel_.ops[id].kind == OpKind::Parallel) {
        wish = kernel_.ops[id].split;
      }
    });
    if (wish == Split::None || target_.vec_per_cube < 2) {
      return;
    }
    int64_t best = 0;
    for (Split axis : {Split::Rows, Split::Cols}) {
      if (wish && *wish != axis) {
        continue;
      }
      const std::set<ValueId> shared = shared_along(axis);
      int64_t elements = 0;
      for (ValueId v : shared) {
        elements += kernel_.type(v).rows * kernel_.type(v).cols;
      }
      // Rows lie together in memory: columns only where rows leave half of the work undivided.
      if (elements > 2 * best && !no_lanes_) {
        best = elements;
        plan_.shared = shared;
        plan_.axis = axis;
        plan_.lanes = 2;
      }
    }
  }

  // ---- rings

  std::string ring_name(RingDirection direction) {
    const std::string base = direction == RingDirection::C2V ? "to_vec" : "to_cube";
    std::string name = base;
    auto taken = [&] {
      return std::any_of(plan_.rings.begin(), plan_.rings.end(), [&](const isa::Ring& r) { return r.name == name; }) ||
             std::any_of(kernel_.symbols.begin(), kernel_.symbols.end(),
                         [&](const Symbol& s) { return s.name == name; }) ||
             std::any_of(kernel_.values.begin(), kernel_.values.end(),
                         [&](const ir::Value& v) { return v.name == name; });
    };
    for (int i = 1; taken(); ++i) {
      name = base + "_" + std::to_string(i);
    }
    return name;
  }

  double copy_cycles(Space from, Space to, CoreKind core, int64_t bytes) const {
    const DataPath* path = target_.path(from, to, core);
    return path == nullptr
               ? 0
               : path->start_cycles + path->latency_cycles + static_cast<double>(bytes) / path->bytes_per_cycle;
  }

  // As many as keep the slower of the two copies busy: a slot is taken from the begin of its push until the producer
  // hears that it is free, and in that time the slower side could handle so many tiles. Never less than two, one being
  // worked on while the next one comes. Local slots take the consumer's memory: at most half of it for all rings
  // together.
  int64_t ring_slots(const isa::Ring& ring) const {
    const bool to_vec = ring.direction == RingDirection::C2V;
    const bool local = target_.ring_is_local(ring.direction);
    const Space from = to_vec ? Space::Acc : Space::Vec;
    const Space to = to_vec ? Space::Vec : Space::Mat;
    const int64_t lane = byte_size(ring.dtype, ring.lane_rows() * ring.lane_cols());
    const double push = copy_cycles(from, local ? to : Space::Gm, to_vec ? CoreKind::Cube : CoreKind::Vec,
                                    to_vec ? ring.slot_bytes() : lane);
    const double pop =
        local ? 0
              : copy_cycles(Space::Gm, to, to_vec ? CoreKind::Vec : CoreKind::Cube, to_vec ? lane : ring.slot_bytes());
    const double taken = push + pop + 2 * target_.ring_latency_cycles;
    int64_t slots =
        std::clamp<int64_t>(static_cast<int64_t>(std::ceil(taken / std::max({push, pop, 1.0}))), 2, kMostSlots);
    const int64_t bytes = to_vec ? lane : ring.slot_bytes();
    const int64_t share = target_.space(to).bytes / 2 / static_cast<int64_t>(crossing_count(to_vec));
    while (local && slots > 1 && slots * bytes > share) {
      --slots;
    }
    return slots;
  }

  size_t crossing_count(bool to_vec) const {
    size_t count = 0;
    for_each_op(kernel_, [&](OpId id) {
      const Op& op = kernel_.ops[id];
      count += crosses(op) && in_vec(op.results[0]) == to_vec ? 1 : 0;
    });
    return count;
  }

  void make_rings() {
    for_each_op(kernel_, [&](OpId id) {
      const Op& op = kernel_.ops[id];
      if (!crosses(op)) {
        return;
      }
      const bool to_vec = in_vec(op.results[0]);
      const ir::Type& type = kernel_.type(to_vec ? op.operands[0] : op.results[0]);
      isa::Ring ring;
      ring.direction = to_vec ? RingDirection::C2V : RingDirection::V2C;
      ring.name = ring_name(ring.direction);
      ring.dtype = type.dtype;
      ring.rows = type.rows;
      ring.cols = type.cols;
      ring.split = plan_.shared.count(to_vec ? op.results[0] : op.operands[0]) != 0 ? plan_.axis : Split::None;
      ring.slots = ring_slots(ring);
      plan_.crossings[id] = isa::RingId(static_cast<uint32_t>(plan_.rings.size()));
      plan_.rings.push_back(std::move(ring));
    });
  }

  const ir::Function& kernel_;
  const Target& target_;
  DiagnosticSink& sink_;
  MixedPlan plan_;
  std::map<ValueId, ValueId> leader_;
  bool no_lanes_ = false;
};

}  // namespace

std::optional<MixedPlan> plan_mixed(const ir::Function& kernel, const Target& target, bool split_lanes,
                                    DiagnosticSink& sink) {
  return Planner(kernel, target, sink).run(split_lanes);
}

}  // namespace pto::passes
