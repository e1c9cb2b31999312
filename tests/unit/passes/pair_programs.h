// Programs of pairs of cores for tests of prove-pairs: trees of loops, branches and ring instructions, with a
// translation to IR and an oracle that runs them for given dims in a random order of cores. The oracle shares nothing
// with the prover.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "src/ir/ir.h"

namespace pto::test {

// An expression over the dims M and N, the counters of the loops around it, and the lane.
struct PairExpr {
  enum class Kind : uint8_t { Int, M, N, Counter, Lane, Op };
  Kind kind = Kind::Int;
  int64_t value = 0;  // Int; Counter: depth of the loop
  ExprOp op = ExprOp::Add;
  std::vector<PairExpr> parts;
};

inline PairExpr num(int64_t value) {
  return {PairExpr::Kind::Int, value, {}, {}};
}
inline PairExpr dim_m() {
  return {PairExpr::Kind::M, 0, {}, {}};
}
inline PairExpr dim_n() {
  return {PairExpr::Kind::N, 0, {}, {}};
}
inline PairExpr counter(int depth) {
  return {PairExpr::Kind::Counter, depth, {}, {}};
}
inline PairExpr lane() {
  return {PairExpr::Kind::Lane, 0, {}, {}};
}
inline PairExpr make(ExprOp op, PairExpr a, PairExpr b) {
  return {PairExpr::Kind::Op, 0, op, {std::move(a), std::move(b)}};
}

struct PairNode {
  enum class Kind : uint8_t { Push, Pop, Free, Use, Loop, Branch };
  Kind kind = Kind::Push;
  size_t ring = 0;
  PairExpr expr;  // trip count or condition
  std::vector<PairNode> body;
  std::vector<PairNode> other;
};
using PairBody = std::vector<PairNode>;

inline PairNode push(size_t ring) {
  return {PairNode::Kind::Push, ring, {}, {}, {}};
}
inline PairNode pop(size_t ring) {
  return {PairNode::Kind::Pop, ring, {}, {}, {}};
}
inline PairNode free_slot(size_t ring) {
  return {PairNode::Kind::Free, ring, {}, {}, {}};
}
inline PairNode use(size_t ring) {
  return {PairNode::Kind::Use, ring, {}, {}, {}};
}
inline PairNode loop(PairExpr trip, PairBody body) {
  return {PairNode::Kind::Loop, 0, std::move(trip), std::move(body), {}};
}
inline PairNode branch(PairExpr condition, PairBody body, PairBody other = {}) {
  return {PairNode::Kind::Branch, 0, std::move(condition), std::move(body), std::move(other)};
}

struct PairProgram {
  std::vector<isa::Ring> rings;
  bool local = false;  // are slots in the consumer's memory?
  int64_t lanes = 2;
  PairBody cube;
  PairBody vec;

  size_t ring(isa::RingDirection direction, int64_t slots, isa::Split split = isa::Split::Rows) {
    isa::Ring r;
    r.name = "r" + std::to_string(rings.size());
    r.direction = direction;
    r.dtype = DType::F32;
    r.rows = 16;
    r.cols = 16;
    r.slots = slots;
    r.split = split;
    rings.push_back(r);
    return rings.size() - 1;
  }
  // What the consumer of a ring does with one tile.
  PairBody taken(size_t ring) const {
    return local ? PairBody{pop(ring), use(ring), free_slot(ring)} : PairBody{pop(ring)};
  }
};

class PairTranslator {
 public:
  explicit PairTranslator(const PairProgram& program) : program_(program) {}

  ir::Module run() {
    ir::Module module;
    module.functions.push_back(core("c", CoreKind::Cube, program_.cube));
    module.functions.push_back(core("v", CoreKind::Vec, program_.vec));
    ir::Function pair;
    pair.kind = ir::FunctionKind::Pair;
    pair.name = "p";
    pair.dims = {pair.add_symbol({"M", SymKind::Dim, DType::I64}), pair.add_symbol({"N", SymKind::Dim, DType::I64})};
    pair.pair_cube = "c";
    pair.pair_vec = "v";
    pair.lanes = program_.lanes;
    module.functions.push_back(std::move(pair));
    return module;
  }

 private:
  ir::Function core(const std::string& name, CoreKind kind, const PairBody& nodes) {
    ir::Function f;
    f.kind = ir::FunctionKind::Core;
    f.core_kind = kind;
    f.name = name;
    f.dims = {f.add_symbol({"M", SymKind::Dim, DType::I64}), f.add_symbol({"N", SymKind::Dim, DType::I64})};
    f.rings = program_.rings;
    f.ring_spans.resize(f.rings.size());
    for (const isa::Ring& ring : f.rings) {
      isa::Buffer buffer;
      buffer.name = "b" + ring.name;
      buffer.slots = ring.slots;
      f.buffers.push_back(buffer);
      f.buffer_spans.push_back({});
    }
    f.buffers.push_back({});
    f.buffer_spans.push_back({});
    f.body = f.add_region();
    counters_.clear();
    body(f, f.body, nodes);
    return f;
  }

  ExprId expr(ir::Function& f, const PairExpr& e) {
    switch (e.kind) {
      case PairExpr::Kind::Int:
        return f.exprs.integer(e.value);
      case PairExpr::Kind::M:
        return f.exprs.symbol(f.dims[0]);
      case PairExpr::Kind::N:
        return f.exprs.symbol(f.dims[1]);
      case PairExpr::Kind::Counter:
        return f.exprs.symbol(counters_.at(static_cast<size_t>(e.value)));
      case PairExpr::Kind::Lane:
        return f.exprs.leaf(ExprOp::LaneIndex);
      case PairExpr::Kind::Op:
        return f.exprs.make(e.op, expr(f, e.parts[0]), expr(f, e.parts[1]));
    }
    return {};
  }

  isa::Operand tile(isa::OperandKind kind, size_t buffer) {
    isa::Operand operand;
    operand.kind = kind;
    operand.buffer = isa::BufferId(static_cast<uint32_t>(buffer));
    return operand;
  }

  void body(ir::Function& f, ir::RegionId region, const PairBody& nodes) {
    for (const PairNode& node : nodes) {
      ir::Op op;
      isa::Operand ring;
      ring.kind = isa::OperandKind::Ring;
      ring.ring = isa::RingId(static_cast<uint32_t>(node.ring));
      op.kind = ir::OpKind::Inst;
      switch (node.kind) {
        case PairNode::Kind::Push:
          op.inst = {isa::Opcode::TPush, {ring, tile(isa::OperandKind::TileIn, f.buffers.size() - 1)}};
          break;
        case PairNode::Kind::Pop:
          op.inst = {isa::Opcode::TPop, {tile(isa::OperandKind::TileOut, node.ring), ring}};
          break;
        case PairNode::Kind::Free:
          op.inst = {isa::Opcode::TFree, {ring, tile(isa::OperandKind::TileTmp, node.ring)}};
          break;
        case PairNode::Kind::Use:
          op.inst = {
              isa::Opcode::TExp,
              {tile(isa::OperandKind::TileOut, f.buffers.size() - 1), tile(isa::OperandKind::TileIn, node.ring)}};
          break;
        case PairNode::Kind::Loop:
        case PairNode::Kind::Branch:
          nested(f, region, node);
          continue;
      }
      f.add_op(region, std::move(op));
    }
  }

  void nested(ir::Function& f, ir::RegionId region, const PairNode& node) {
    ir::Op op;
    const ir::RegionId first = f.add_region();
    const ir::RegionId second = f.add_region();
    const ExprId e = expr(f, node.expr);
    if (node.kind == PairNode::Kind::Branch) {
      op.kind = ir::OpKind::If;
      op.exprs = {e};
      op.regions = {first, second};
      f.add_op(region, std::move(op));
      body(f, first, node.body);
      body(f, second, node.other);
      return;
    }
    op.kind = ir::OpKind::For;
    const SymId symbol = f.add_symbol({"i" + std::to_string(f.symbols.size()), SymKind::Loop, DType::I64});
    op.syms = {symbol};
    op.exprs = {f.exprs.integer(0), e, f.exprs.integer(1)};
    op.regions = {first};
    f.add_op(region, std::move(op));
    counters_.push_back(symbol);
    body(f, first, node.body);
    counters_.pop_back();
  }

  const PairProgram& program_;
  std::vector<SymId> counters_;
};

// Runs a pair for given dims. What is wrong with it: "", "tile", "wait" or "left".
class PairOracle {
 public:
  PairOracle(const PairProgram& program, int64_t m, int64_t n, uint64_t seed)
      : program_(program), m_(m), n_(n), random_(seed) {}

  std::string run() {
    std::vector<std::vector<PairNode>> events;
    for (int64_t p = 0; p <= program_.lanes; ++p) {
      lane_ = std::max<int64_t>(0, p - 1);
      trace_.clear();
      walk(p == 0 ? program_.cube : program_.vec);
      if (!tiles_held_well(p)) {
        return "tile";
      }
      events.push_back(trace_);
    }
    // tokens[ring][what][lane]
    std::vector<std::array<std::array<int64_t, 2>, 3>> count(program_.rings.size());
    std::vector<size_t> at(events.size(), 0);
    while (true) {
      std::vector<size_t> able;
      for (size_t p = 0; p < events.size(); ++p) {
        if (at[p] < events[p].size() && can(events[p][at[p]], p, count)) {
          able.push_back(p);
        }
      }
      if (able.empty()) {
        break;
      }
      const size_t p = able[random_() % able.size()];
      const PairNode& event = events[p][at[p]++];
      const size_t side = p == 0 ? 0 : p - 1;
      auto& ring = count[event.ring];
      if (event.kind == PairNode::Kind::Push) {
        ++ring[0][side];
      } else if (event.kind == PairNode::Kind::Pop) {
        ++ring[1][side];
        ring[2][side] += program_.local ? 0 : 1;
      } else if (event.kind == PairNode::Kind::Free) {
        ++ring[2][side];
      }
    }
    for (size_t p = 0; p < events.size(); ++p) {
      if (at[p] < events[p].size()) {
        return "wait";
      }
    }
    for (size_t r = 0; r < count.size(); ++r) {
      for (size_t from = 0; from < senders(r); ++from) {
        for (size_t to = 0; to < receivers(r); ++to) {
          if (count[r][0][from] != count[r][1][to]) {
            return "left";
          }
        }
      }
    }
    return "";
  }

 private:
  bool down(size_t r) const { return program_.rings[r].direction == isa::RingDirection::C2V; }
  size_t senders(size_t r) const {
    return down(r) || program_.rings[r].split == isa::Split::None ? 1 : static_cast<size_t>(program_.lanes);
  }
  size_t receivers(size_t r) const { return down(r) ? static_cast<size_t>(program_.lanes) : 1; }

  int64_t value(const PairExpr& e) const {
    switch (e.kind) {
      case PairExpr::Kind::Int:
        return e.value;
      case PairExpr::Kind::M:
        return m_;
      case PairExpr::Kind::N:
        return n_;
      case PairExpr::Kind::Counter:
        return counters_.at(static_cast<size_t>(e.value));
      case PairExpr::Kind::Lane:
        return lane_;
      case PairExpr::Kind::Op:
        break;
    }
    const int64_t a = value(e.parts[0]);
    const int64_t b = value(e.parts[1]);
    switch (e.op) {
      case ExprOp::Add:
        return a + b;
      case ExprOp::Sub:
        return a - b;
      case ExprOp::Mul:
        return a * b;
      case ExprOp::Mod:
        return ((a % b) + b) % b;
      case ExprOp::FloorDiv:
        return (a - (((a % b) + b) % b)) / b;
      case ExprOp::CeilDiv:
        return -((-a - (((-a % b) + b) % b)) / b);
      case ExprOp::Min:
        return std::min(a, b);
      case ExprOp::Max:
        return std::max(a, b);
      case ExprOp::Lt:
        return a < b ? 1 : 0;
      case ExprOp::Le:
        return a <= b ? 1 : 0;
      case ExprOp::Eq:
        return a == b ? 1 : 0;
      case ExprOp::Ne:
        return a != b ? 1 : 0;
      case ExprOp::And:
        return a != 0 && b != 0 ? 1 : 0;
      case ExprOp::Or:
        return a != 0 || b != 0 ? 1 : 0;
      default:
        return 0;
    }
  }

  void walk(const PairBody& body) {
    for (const PairNode& node : body) {
      if (node.kind == PairNode::Kind::Branch) {
        walk(value(node.expr) != 0 ? node.body : node.other);
      } else if (node.kind == PairNode::Kind::Loop) {
        const int64_t trip = value(node.expr);
        for (int64_t i = 0; i < trip; ++i) {
          counters_.push_back(i);
          walk(node.body);
          counters_.pop_back();
        }
      } else {
        PairNode event = node;
        event.body.clear();
        trace_.push_back(event);
      }
    }
  }

  bool tiles_held_well(int64_t process) const {
    std::vector<bool> held(program_.rings.size(), false);
    for (const PairNode& event : trace_) {
      if (event.kind == PairNode::Kind::Push) {
        if (process == 2 && senders(event.ring) == 1) {
          return false;
        }
        continue;
      }
      if (!program_.local) {
        continue;
      }
      if (held[event.ring] == (event.kind == PairNode::Kind::Pop)) {
        return false;
      }
      held[event.ring] = event.kind != PairNode::Kind::Free;
    }
    return std::find(held.begin(), held.end(), true) == held.end();
  }

  bool can(const PairNode& event, size_t process,
           const std::vector<std::array<std::array<int64_t, 2>, 3>>& count) const {
    const auto& ring = count[event.ring];
    const size_t side = process == 0 ? 0 : process - 1;
    if (event.kind == PairNode::Kind::Push) {
      for (size_t to = 0; to < receivers(event.ring); ++to) {
        if (ring[0][side] - ring[2][to] >= program_.rings[event.ring].slots) {
          return false;
        }
      }
    } else if (event.kind == PairNode::Kind::Pop) {
      for (size_t from = 0; from < senders(event.ring); ++from) {
        if (ring[0][from] <= ring[1][side]) {
          return false;
        }
      }
    }
    return true;
  }

  const PairProgram& program_;
  int64_t m_;
  int64_t n_;
  int64_t lane_ = 0;
  std::mt19937_64 random_;
  std::vector<int64_t> counters_;
  PairBody trace_;
};

}  // namespace pto::test
