#include "src/passes/block/prove_pairs_skeleton.h"

#include <algorithm>

#include "pto/result.h"
#include "src/support/expr_ops.h"

namespace pto::passes {

using ir::Op;
using ir::OpId;
using ir::OpKind;

namespace {

// Symbols of the shared pool by name. Dims and scalars of the cores are the pair's by name.
class Names {
 public:
  explicit Names(PairSkeleton& pair) : pair_(pair) {}
  ExprId named(const Symbol& symbol) {
    const auto found = by_name_.find(symbol.name);
    if (found != by_name_.end()) {
      return found->second;
    }
    const SymId id = add(symbol);
    if (is_float(symbol.dtype)) {
      pair_.pool.mark_real(id);
    }
    return by_name_[symbol.name] = pair_.pool.symbol(id);
  }
  ExprId counter(int depth, const std::string& name) {
    while (pair_.counters.size() <= static_cast<size_t>(depth)) {
      pair_.counters.push_back(add({name, SymKind::Loop, DType::I64}));
    }
    return pair_.pool.symbol(pair_.counters[static_cast<size_t>(depth)]);
  }

 private:
  SymId add(Symbol symbol) {
    pair_.symbols.push_back(std::move(symbol));
    return SymId(static_cast<uint32_t>(pair_.symbols.size() - 1));
  }

  PairSkeleton& pair_;
  std::map<std::string, ExprId> by_name_;
};

// Expressions of one function in the shared pool, for one lane.
class Importer {
 public:
  Importer(PairSkeleton& pair, Names& names, const ir::Function& from, size_t lane)
      : pair_(pair), names_(names), from_(from), lane_(lane) {}

  void define(SymId symbol, ExprId value) { defined_[symbol] = value; }

  ExprId expr(ExprId id) {
    const auto done = done_.find(id);
    if (done != done_.end()) {
      return done->second;
    }
    for (const ExprId node : from_.exprs.post_order(id)) {
      if (done_.count(node) == 0) {
        const ExprId made = one(node);
        done_.emplace(node, made);
      }
    }
    return done_.at(id);
  }

 private:
  ExprId one(ExprId id) {
    const ExprNode& node = from_.exprs[id];
    ExprPool& pool = pair_.pool;
    switch (node.op) {
      case ExprOp::Int:
        return pool.integer(node.value);
      case ExprOp::Float:
        return pool.real(node.fvalue);
      case ExprOp::Sym: {
        const auto known = defined_.find(node.sym);
        return known != defined_.end() ? known->second : names_.named(from_.symbols[node.sym.index()]);
      }
      case ExprOp::LaneIndex:
        return pool.integer(static_cast<int64_t>(lane_));
      case ExprOp::BlockIndex:
      case ExprOp::BlockCount:
        return pool.leaf(node.op);
      default:
        return pool.make(node.op, done_.at(node.a), done_.at(node.b));
    }
  }

  PairSkeleton& pair_;
  Names& names_;
  const ir::Function& from_;
  size_t lane_;
  std::map<SymId, ExprId> defined_;
  std::map<ExprId, ExprId> done_;
};

class ProcessBuilder {
 public:
  ProcessBuilder(PairSkeleton& pair, Names& names, RingProcess& process)
      : pair_(pair),
        names_(names),
        process_(process),
        core_(*process.core),
        import_(pair, names, core_, process.side) {
    for (const OpId id : ir::ops_in_order(core_)) {
      const Op& op = core_.ops[id];
      if (op.kind == OpKind::Inst && op.inst.opcode == isa::Opcode::TPop) {
        const size_t ring = op.inst.operands[1].ring.index();
        if (pair_.local[ring] != 0) {
          ring_memory_[op.inst.operands[0].buffer] = ring;
        }
      }
    }
  }

  void run() { process_.body = region(core_.body, 0); }

 private:
  std::vector<size_t> region(ir::RegionId id, int depth) {
    std::vector<size_t> body;
    for (const OpId op_id : core_.regions[id].ops) {
      const Op& op = core_.ops[op_id];
      if (op.kind == OpKind::Let) {
        import_.define(op.syms[0], import_.expr(op.exprs[0]));
      } else if (op.kind == OpKind::Inst) {
        instruction(op_id, body);
      } else if (op.kind == OpKind::If) {
        branch(op_id, depth, body);
      } else if (op.kind == OpKind::For) {
        loop(op_id, depth, body);
      }
    }
    return body;
  }

  void add(RingNode node, std::vector<size_t>& body) {
    body.push_back(process_.nodes.size());
    process_.nodes.push_back(std::move(node));
  }

  void event(RingAction action, size_t ring, OpId op, std::vector<size_t>& body) {
    RingNode node;
    node.action = action;
    node.ring = ring;
    node.op = op;
    add(std::move(node), body);
  }

  void instruction(OpId id, std::vector<size_t>& body) {
    const isa::Inst& inst = core_.ops[id].inst;
    const isa::Operand* ring = nullptr;
    for (const isa::Operand& operand : inst.operands) {
      ring = operand.kind == isa::OperandKind::Ring ? &operand : ring;
    }
    for (const isa::Operand& operand : inst.operands) {
      const auto memory = isa::is_tile(operand.kind) ? ring_memory_.find(operand.buffer) : ring_memory_.end();
      if (memory == ring_memory_.end()) {
        continue;
      }
      const bool own = ring != nullptr && inst.opcode != isa::Opcode::TPush && ring->ring.index() == memory->second;
      if (!own) {
        event(RingAction::Use, memory->second, id, body);
      }
    }
    if (ring != nullptr) {
      event(inst.opcode == isa::Opcode::TPush  ? RingAction::Push
            : inst.opcode == isa::Opcode::TPop ? RingAction::Pop
                                               : RingAction::Free,
            ring->ring.index(), id, body);
    }
  }

  void branch(OpId id, int depth, std::vector<size_t>& body) {
    const Op& op = core_.ops[id];
    RingNode node;
    node.kind = RingNode::Kind::Branch;
    node.op = id;
    node.expr = import_.expr(op.exprs[0]);
    // The lane's number decides some branches once and for all.
    const auto constant = pair_.pool.constant(node.expr);
    node.body = constant && *constant == 0 ? std::vector<size_t>{} : region(op.regions[0], depth);
    node.other = constant && *constant != 0 ? std::vector<size_t>{} : region(op.regions[1], depth);
    if (constant) {
      const std::vector<size_t>& taken = *constant != 0 ? node.body : node.other;
      body.insert(body.end(), taken.begin(), taken.end());
    } else if (!node.body.empty() || !node.other.empty()) {
      add(std::move(node), body);
    }
  }

  void loop(OpId id, int depth, std::vector<size_t>& body) {
    const Op& op = core_.ops[id];
    ExprPool& pool = pair_.pool;
    const ExprId lo = import_.expr(op.exprs[0]);
    const ExprId hi = import_.expr(op.exprs[1]);
    const ExprId step = import_.expr(op.exprs[2]);
    const ExprId counter = names_.counter(depth, core_.symbols[op.syms[0].index()].name);
    import_.define(op.syms[0], pool.add(lo, pool.mul(counter, step)));
    RingNode node;
    node.kind = RingNode::Kind::Loop;
    node.op = id;
    node.depth = depth;
    const ExprId length = pool.constant(lo) == 0 ? hi : pool.sub(hi, lo);
    node.expr = pool.constant(step) == 1 ? length : pool.ceildiv(length, step);
    node.body = region(op.regions[0], depth + 1);
    if (!node.body.empty()) {
      add(std::move(node), body);
    }
  }

  PairSkeleton& pair_;
  Names& names_;
  RingProcess& process_;
  const ir::Function& core_;
  Importer import_;
  std::map<isa::BufferId, size_t> ring_memory_;  // buffers that are the memory of a local ring
};

// Bounds that a constraint gives to the expressions in it.
void add_facts(PairSkeleton& pair, ExprId condition) {
  const ExprNode node = pair.pool[condition];
  if (node.op == ExprOp::And) {
    add_facts(pair, node.a);
    add_facts(pair, node.b);
    return;
  }
  if (node.op != ExprOp::Lt && node.op != ExprOp::Le && node.op != ExprOp::Eq) {
    return;
  }
  const int64_t strict = node.op == ExprOp::Lt ? 1 : 0;
  const auto left = pair.pool.constant(node.a);
  const auto right = pair.pool.constant(node.b);
  constexpr int64_t kLargest = int64_t{1} << 40;
  if (left && *left > -kLargest && *left < kLargest) {
    int64_t& least = pair.least.try_emplace(node.b, *left + strict).first->second;
    least = std::max(least, *left + strict);
  }
  if (right && *right > -kLargest && *right < kLargest) {
    int64_t& most = pair.most.try_emplace(node.a, *right - strict).first->second;
    most = std::min(most, *right - strict);
    if (node.op == ExprOp::Eq) {
      int64_t& least = pair.least.try_emplace(node.a, *right).first->second;
      least = std::max(least, *right);
    }
  }
}

}  // namespace

std::string PairSkeleton::text(ExprId expr) const {
  constexpr uint32_t kLongest = 40;  // nodes: what fits a message
  return pool.tree_size(expr) > kLongest ? "..." : pool.print(expr, symbols);
}

std::optional<int> PairSkeleton::counter_depth(ExprId expr) const {
  const ExprNode& node = pool[expr];
  if (node.op != ExprOp::Sym) {
    return std::nullopt;
  }
  const auto found = std::find(counters.begin(), counters.end(), node.sym);
  return found == counters.end() ? std::nullopt : std::optional(static_cast<int>(found - counters.begin()));
}

PairSkeleton pair_skeleton(const ir::Function& pair, const ir::Function& cube, const ir::Function& vec,
                           const Target& target) {
  PairSkeleton skeleton;
  skeleton.lanes = static_cast<size_t>(pair.lanes);
  skeleton.rings = cube.rings;
  PTO_CHECK(cube.rings == vec.rings, "both cores of a pair have the same rings");
  for (const isa::Ring& ring : cube.rings) {
    skeleton.local.push_back(target.ring_is_local(ring.direction) ? 1 : 0);
    skeleton.pushers.push_back(static_cast<size_t>(ring.pushers(static_cast<int>(pair.lanes))));
    skeleton.poppers.push_back(static_cast<size_t>(ring.poppers(static_cast<int>(pair.lanes))));
  }
  Names names(skeleton);
  Importer import(skeleton, names, pair, 0);
  for (const ir::Constraint& constraint : pair.constraints) {
    add_facts(skeleton, import.expr(constraint.condition));
  }
  for (size_t number = 0; number <= skeleton.lanes; ++number) {
    RingProcess process;
    process.cube = number == 0;
    process.core = process.cube ? &cube : &vec;
    process.side = process.cube ? 0 : number - 1;
    process.name = process.cube ? "the cube core" : "lane " + std::to_string(process.side);
    ProcessBuilder(skeleton, names, process).run();
    skeleton.processes.push_back(std::move(process));
  }
  return skeleton;
}

}  // namespace pto::passes
