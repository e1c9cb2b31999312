// Lives of buffers, found another way: a graph of everything that can happen next, where the first iteration of a loop
// is another node than the later ones, and two searches over it for each buffer. A point is live if a touch of the
// buffer leads to it and it leads to a read with no write before. Buffers have one slot here.
#pragma once

#include <set>
#include <vector>

#include "src/passes/block/lifetimes.h"

namespace pto::test {

class PathOracle {
 public:
  PathOracle(const ir::Function& core, const Target& target) : core_(core), target_(target) {
    number(core.body);
    const size_t entry = node(-1);
    const size_t exit = walk(core.body, entry);
    (void)exit;
  }

  int positions() const { return static_cast<int>(instructions_.size()); }

  // Half points at which the buffer is live.
  std::set<int64_t> live(uint32_t buffer) const {
    const size_t count = nodes_.size();
    std::vector<std::vector<size_t>> into(count);
    for (size_t n = 0; n < count; ++n) {
      for (size_t next : nodes_[n].next) {
        into[next].push_back(n);
      }
    }
    // Touched on some way here (behind the node), pending at some way on (in front of the node).
    std::vector<bool> touched(count);
    std::vector<bool> pending(count);
    std::vector<size_t> work;
    for (size_t n = 0; n < count; ++n) {
      if (use(n, buffer).any()) {
        touched[n] = true;
        work.push_back(n);
      }
    }
    while (!work.empty()) {
      const size_t n = work.back();
      work.pop_back();
      for (size_t next : nodes_[n].next) {
        if (!touched[next]) {
          touched[next] = true;
          work.push_back(next);
        }
      }
    }
    for (size_t n = 0; n < count; ++n) {
      if (use(n, buffer).reads) {
        pending[n] = true;
        work.push_back(n);
      }
    }
    while (!work.empty()) {
      const size_t n = work.back();
      work.pop_back();
      for (size_t before : into[n]) {
        const Use u = use(before, buffer);
        if (!pending[before] && !u.writes && !u.scratch) {
          pending[before] = true;
          work.push_back(before);
        }
      }
    }
    std::set<int64_t> points;
    for (size_t n = 0; n < count; ++n) {
      if (nodes_[n].position < 0) {
        continue;
      }
      const Use u = use(n, buffer);
      bool touched_before = false;
      for (size_t before : into[n]) {
        touched_before = touched_before || touched[before];
      }
      bool pending_behind = false;
      for (size_t next : nodes_[n].next) {
        pending_behind = pending_behind || pending[next];
      }
      const int64_t read = 2 * nodes_[n].position;
      if (u.reads || u.scratch || (touched_before && pending[n])) {
        points.insert(read);
      }
      if (u.writes || u.scratch || (u.reads && !u.in_place) || (touched[n] && pending_behind)) {
        points.insert(read + 1);
      }
    }
    return points;
  }

 private:
  struct Node {
    int position = -1;
    std::vector<size_t> next;
  };
  struct Use {
    bool reads = false;
    bool writes = false;
    bool scratch = false;
    bool in_place = true;
    bool any() const { return reads || writes || scratch; }
  };

  Use use(size_t n, uint32_t buffer) const {
    Use u;
    if (nodes_[n].position < 0) {
      return u;
    }
    const isa::Inst& inst = core_.ops[instructions_[static_cast<size_t>(nodes_[n].position)]].inst;
    for (size_t i = 0; i < inst.operands.size(); ++i) {
      const isa::Operand& operand = inst.operands[i];
      if (!isa::is_tile(operand.kind) || operand.buffer.index() != buffer) {
        continue;
      }
      u.scratch = u.scratch || operand.kind == isa::OperandKind::TileTmp;
      u.reads = u.reads || operand.kind == isa::OperandKind::TileIn || operand.kind == isa::OperandKind::TileInOut;
      u.writes = u.writes || operand.kind == isa::OperandKind::TileOut || operand.kind == isa::OperandKind::TileInOut;
      u.in_place = u.in_place && passes::works_in_place(inst, i, target_);
    }
    return u;
  }

  void number(ir::RegionId region) {
    for (ir::OpId id : core_.regions[region].ops) {
      if (core_.ops[id].kind == ir::OpKind::Inst) {
        positions_.emplace_back(id, static_cast<int>(instructions_.size()));
        instructions_.push_back(id);
      }
      for (ir::RegionId inner : core_.ops[id].regions) {
        number(inner);
      }
    }
  }
  int position_of(ir::OpId id) const {
    for (const auto& [op, position] : positions_) {
      if (op == id) {
        return position;
      }
    }
    return -1;
  }

  size_t node(int position) {
    nodes_.push_back({position, {}});
    return nodes_.size() - 1;
  }
  size_t after(size_t from, int position) {
    const size_t made = node(position);
    nodes_[from].next.push_back(made);
    return made;
  }

  // Nodes for one pass through a region that begins behind `from`; returns the node at its end.
  size_t walk(ir::RegionId region, size_t from) {
    for (ir::OpId id : core_.regions[region].ops) {
      const ir::Op& op = core_.ops[id];
      if (op.kind == ir::OpKind::Inst) {
        from = after(from, position_of(id));
      } else if (op.kind == ir::OpKind::If) {
        from = branch(op, from);
      } else if (op.kind == ir::OpKind::For) {
        from = loop(op, from);
      }
    }
    return from;
  }

  size_t branch(const ir::Op& op, size_t from) {
    const ExprNode& condition = core_.exprs[op.exprs[0]];
    const bool first = condition.op == ExprOp::Eq && first_.count(core_.exprs[condition.a].sym) != 0;
    const size_t join = node(-1);
    for (size_t body = 0; body < (first ? 1u : 2u); ++body) {
      const size_t end = walk(op.regions[body], after(from, -1));
      nodes_[end].next.push_back(join);
    }
    return join;
  }

  size_t loop(const ir::Op& op, size_t from) {
    const size_t exit = node(-1);
    if (core_.exprs[op.exprs[1]].op != ExprOp::Int) {
      nodes_[from].next.push_back(exit);
    }
    first_.insert(op.syms[0]);
    const size_t end_of_first = walk(op.regions[0], after(from, -1));
    first_.erase(op.syms[0]);
    nodes_[end_of_first].next.push_back(exit);
    const size_t header = after(end_of_first, -1);
    const size_t end = walk(op.regions[0], header);
    nodes_[end].next.push_back(header);
    nodes_[end].next.push_back(exit);
    return exit;
  }

  const ir::Function& core_;
  const Target& target_;
  std::vector<ir::OpId> instructions_;
  std::vector<std::pair<ir::OpId, int>> positions_;
  std::vector<Node> nodes_;
  std::set<SymId> first_;
};

}  // namespace pto::test
