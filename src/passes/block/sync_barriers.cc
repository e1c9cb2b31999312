#include "src/passes/block/sync_barriers.h"

#include <optional>
#include <set>
#include <tuple>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_deps.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using isa::Pipe;

// Memory, begin, end, pipe, write. In global memory the number of the tensor and one more.
using Touch = std::tuple<Space, int64_t, int64_t, Pipe, bool>;
using Touches = std::set<Touch>;
using Conflict = std::optional<std::pair<Pipe, Pipe>>;

bool conflict(const Touch& a, const Touch& b) {
  return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) < std::get<2>(b) && std::get<1>(b) < std::get<2>(a) &&
         std::get<3>(a) != std::get<3>(b) && (std::get<4>(a) || std::get<4>(b));
}

Conflict conflict(const Touches& earlier, const Touches& later) {
  for (const Touch& a : earlier) {
    for (const Touch& b : later) {
      if (conflict(a, b)) {
        return std::make_pair(std::get<3>(a), std::get<3>(b));
      }
    }
  }
  return std::nullopt;
}

class Barriers {
 public:
  Barriers(ir::Function& core, const Target& target) : core_(core), target_(target) {}

  std::vector<InsertedBarrier> run() {
    Touches open;
    region(core_.body, open);
    return std::move(inserted_);
  }

 private:
  // `open`: what may not be over yet, at the begin and afterwards at the end.
  void region(ir::RegionId id, Touches& open) {
    const std::vector<OpId> ops = core_.regions[id].ops;
    std::vector<OpId> out;
    for (OpId op_id : ops) {
      const OpKind kind = core_.ops[op_id].kind;
      if (kind == OpKind::Inst) {
        const Touches mine = touches(op_id);
        separate(open, conflict(open, mine), op_id, out);
        open.insert(mine.begin(), mine.end());
      } else if (kind == OpKind::If) {
        branch(op_id, open);
      } else if (kind == OpKind::For) {
        loop(op_id, open, out);
      }
      out.push_back(op_id);
    }
    core_.regions[id].ops = std::move(out);
  }

  void branch(OpId id, Touches& open) {
    Touches other = open;
    const std::vector<ir::RegionId> regions = core_.ops[id].regions;
    region(regions[0], open);
    region(regions[1], other);
    open.merge(other);
  }

  // Iterations are kept apart where they conflict: then each begins with nothing open.
  void loop(OpId id, Touches& open, std::vector<OpId>& out) {
    const ir::RegionId body = core_.ops[id].regions[0];
    Touches mine;
    collect(body, mine);
    separate(open, conflict(open, mine), id, out);
    const Conflict inside = conflict(mine, mine);
    Touches at_end = inside ? Touches() : open;
    region(body, at_end);
    if (inside) {
      auto& ops = core_.regions[body].ops;
      inserted_.push_back({id, inside->first, inside->second});
      ops.insert(ops.begin(), barrier_op(core_, core_.ops[id].spans));
    }
    open.merge(at_end);  // what was open before still is if the loop runs no time
  }

  void separate(Touches& open, const Conflict& why, OpId before, std::vector<OpId>& out) {
    if (why) {
      inserted_.push_back({before, why->first, why->second});
      out.push_back(barrier_op(core_, core_.ops[before].spans));
      open.clear();
    }
  }

  void collect(ir::RegionId id, Touches& all) const {
    for (OpId op_id : core_.regions[id].ops) {
      const Op& op = core_.ops[op_id];
      if (op.kind == OpKind::Inst) {
        all.merge(touches(op_id));
      }
      for (ir::RegionId inner : op.regions) {
        collect(inner, all);
      }
    }
  }

  Touches touches(OpId id) const {
    Touches all;
    for (const Access& access : accesses_of(core_, core_.ops[id].inst, target_)) {
      all.insert({access.space, access.begin, access.end, access.pipe, access.write});
    }
    return all;
  }

  ir::Function& core_;
  const Target& target_;
  std::vector<InsertedBarrier> inserted_;
};

}  // namespace

OpId barrier_op(ir::Function& core, const std::vector<Span>& spans) {
  Op op;
  op.kind = OpKind::Inst;
  op.inst.opcode = isa::Opcode::PipeBarrier;
  op.inst.operands.resize(1);
  op.inst.operands[0].kind = isa::OperandKind::PipeSrc;
  op.inst.operands[0].attribute = static_cast<uint8_t>(Pipe::All);
  op.spans = spans;
  return make_op(core, std::move(op));
}

std::vector<InsertedBarrier> insert_barriers(ir::Function& core, const Target& target) {
  return Barriers(core, target).run();
}

}  // namespace pto::passes
