#include "src/passes/block/lifetimes.h"

#include <algorithm>
#include <map>

#include "src/passes/block/lifetimes_tree.h"

namespace pto::passes {

bool meet(const LiveRanges& a, const LiveRanges& b) {
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].end < b[j].begin) {
      ++i;
    } else if (b[j].end < a[i].begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

namespace {

// Sorted by begin, any overlaps: to the normal form.
LiveRanges joined(LiveRanges sorted) {
  LiveRanges out;
  for (const LiveRange& next : sorted) {
    if (!out.empty() && next.begin <= out.back().end + 1) {
      out.back().end = std::max(out.back().end, next.end);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

void sort_by_begin(LiveRanges& intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const LiveRange& a, const LiveRange& b) { return a.begin < b.begin; });
}

}  // namespace

LiveRanges unite(const LiveRanges& a, const LiveRanges& b) {
  LiveRanges both;
  both.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both),
             [](const LiveRange& x, const LiveRange& y) { return x.begin < y.begin; });
  return joined(std::move(both));
}

LiveRanges to_positions(const LiveRanges& halves) {
  LiveRanges positions;
  for (const LiveRange& part : halves) {
    positions.push_back({part.begin / 2, part.end / 2});
  }
  return joined(std::move(positions));
}

bool works_in_place(const isa::Inst& inst, size_t source, const Target& target) {
  switch (isa::info(inst.opcode).format) {
    case isa::Format::Unary:
      return inst.opcode != isa::Opcode::TRecip || target.family != IsaFamily::A2A3;
    case isa::Format::Binary:
    case isa::Format::TileScalar:
    case isa::Format::ScalarTile:
    case isa::Format::Convert:
      return true;
    case isa::Format::Select:
    case isa::Format::SelectScalar:
      return source > 1;  // not the mask
    default:
      return false;
  }
}

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using isa::Operand;
using isa::OperandKind;

constexpr size_t kMostSlotNames = 30;

// Walks the core once: its regions, and who touches which buffer where.
class Walker {
 public:
  Walker(const ir::Function& core, const Target& target) : core_(core), target_(target) {
    accesses.resize(core.buffers.size());
    slot_names_.resize(core.buffers.size());
    rotates.resize(core.buffers.size());
    dependent.resize(core.buffers.size());
    shape.symbol_region.assign(core.symbols.size(), -1);
    let_loops_.resize(core.symbols.size());
    walk(core.body, -1);
    for (size_t i = 0; i < core.buffers.size(); ++i) {
      note_slots(i);
    }
  }

  CodeShape shape;
  std::vector<OpId> instructions;
  std::vector<std::vector<BufferUse>> accesses;
  std::vector<std::vector<int>> rotates;  // by buffer: loops that its slots rotate with
  std::vector<std::vector<std::pair<int, uint32_t>>>
      dependent;  // by buffer: (region of a symbol, names that mention it)

 private:
  int here() const { return static_cast<int>(instructions.size()); }

  int walk(ir::RegionId id, int node) {
    const int index = static_cast<int>(shape.regions.size());
    shape.regions.push_back({node, here(), here(), index});
    for (OpId op_id : core_.regions[id].ops) {
      const Op& op = core_.ops[op_id];
      switch (op.kind) {
        case OpKind::Inst:
          visit(op, index);
          instructions.push_back(op_id);
          break;
        case OpKind::For:
        case OpKind::If:
          enter(op, index);
          break;
        case OpKind::Let:
          define(op, index);
          break;
        default:
          break;
      }
    }
    shape.regions[static_cast<size_t>(index)].end = here();
    shape.regions[static_cast<size_t>(index)].last_inside = static_cast<int>(shape.regions.size()) - 1;
    return index;
  }

  void enter(const Op& op, int region) {
    const int index = static_cast<int>(shape.nodes.size());
    shape.nodes.emplace_back();
    CodeShape::Node node;
    node.region = region;
    node.loop = op.kind == OpKind::For;
    if (node.loop) {
      node.symbol = op.syms[0];
      node.first = op.exprs[0];
      node.surely_runs = shape.surely_runs(core_, op);
      let_loops_[op.syms[0].index()] = {index};
      loop_of_symbol_[op.syms[0]] = index;
    } else {
      node.condition = op.exprs[0];
      std::vector<SymId> symbols;
      core_.exprs.collect_symbols(node.condition, symbols);
      for (SymId symbol : symbols) {
        const auto loop = loop_of_symbol_.find(symbol);
        if (loop != loop_of_symbol_.end()) {
          node.asks.push_back(loop->second);
        }
      }
    }
    shape.nodes[static_cast<size_t>(index)] = node;
    std::vector<int> bodies;
    for (ir::RegionId inner : op.regions) {
      const int body = static_cast<int>(shape.regions.size());
      if (node.loop) {
        shape.symbol_region[op.syms[0].index()] = body;
      }
      bodies.push_back(walk(inner, index));
    }
    shape.nodes[static_cast<size_t>(index)].bodies = std::move(bodies);
  }

  void define(const Op& op, int region) {
    const SymId symbol = op.syms[0];
    shape.symbol_region[symbol.index()] = region;
    std::vector<SymId> symbols;
    core_.exprs.collect_symbols(op.exprs[0], symbols);
    add_loops(symbols, let_loops_[symbol.index()]);
  }

  void add_loops(const std::vector<SymId>& symbols, std::vector<int>& loops) const {
    for (SymId symbol : symbols) {
      const std::vector<int>& more = let_loops_[symbol.index()];
      loops.insert(loops.end(), more.begin(), more.end());
    }
    std::sort(loops.begin(), loops.end());
    loops.erase(std::unique(loops.begin(), loops.end()), loops.end());
  }

  uint32_t bit_of(size_t buffer, const Operand& operand) {
    if (core_.buffers[buffer].slots == 1) {
      return 1;
    }
    std::vector<ExprId>& names = slot_names_[buffer];
    auto at = std::find(names.begin(), names.end(), operand.slot);
    if (at == names.end()) {
      if (names.size() == kMostSlotNames) {
        return kAnySlot;
      }
      at = names.insert(names.end(), operand.slot);
    }
    return uint32_t{1} << (at - names.begin());
  }

  void visit(const Op& op, int region) {
    const isa::Pipe pipe = isa::pipe_of(op.inst, core_.buffers, target_);
    const auto& operands = op.inst.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      if (!isa::is_tile(operand.kind)) {
        continue;
      }
      const size_t buffer = operand.buffer.index();
      std::vector<BufferUse>& list = accesses[buffer];
      if (list.empty() || list.back().position != here()) {
        list.push_back({here(), region, pipe});
      }
      BufferUse& access = list.back();
      const uint32_t bit = bit_of(buffer, operand);
      // Scratch holds nothing before and after.
      const bool scratch = operand.kind == OperandKind::TileTmp;
      if (isa::reads(operand.kind) && !scratch) {
        access.reads |= bit;
      }
      if (isa::writes(operand.kind)) {
        access.kills |= bit & ~kAnySlot;
      }
      access.writes = access.writes || isa::writes(operand.kind);
      access.at_read_only = access.at_read_only && works_in_place(op.inst, i, target_);
      access.at_write_only = access.at_write_only && operand.kind == OperandKind::TileOut;
    }
  }

  void note_slots(size_t buffer) {
    const std::vector<ExprId>& names = slot_names_[buffer];
    for (size_t bit = 0; bit < names.size(); ++bit) {
      if (!names[bit].valid()) {
        continue;
      }
      std::vector<SymId> symbols;
      core_.exprs.collect_symbols(names[bit], symbols);
      add_loops(symbols, rotates[buffer]);
      for (SymId symbol : symbols) {
        const int region = shape.symbol_region[symbol.index()];
        if (region >= 0) {
          dependent[buffer].emplace_back(region, uint32_t{1} << bit);
        }
      }
    }
  }

  const ir::Function& core_;
  const Target& target_;
  std::vector<std::vector<ExprId>> slot_names_;  // by buffer: distinct slot expressions
  std::vector<std::vector<int>> let_loops_;      // by symbol: loops that its value follows from
  std::map<SymId, int> loop_of_symbol_;
};

void note_pipes(Life& life, const std::vector<BufferUse>& accesses) {
  size_t part = 0;
  bool first = true;
  uint32_t last = 0;
  for (const BufferUse& access : accesses) {
    const uint32_t pipe = uint32_t{1} << static_cast<int>(access.pipe);
    life.pipes |= pipe;
    while (part < life.halves.size() && life.halves[part].end < 2 * int64_t{access.position}) {
      ++part;
      first = true;
      life.ends |= last;
    }
    if (first) {
      life.starts |= pipe;
      first = false;
    }
    last = pipe;
  }
  life.ends |= last;
}

}  // namespace

CoreLives buffer_lives(const ir::Function& core, const Target& target, const std::vector<bool>& reserved) {
  Walker walker(core, target);
  CoreLives lives;
  lives.buffers.resize(core.buffers.size());
  const int64_t count = static_cast<int64_t>(walker.instructions.size());
  const LiveRange everything{0, std::max<int64_t>(1, 2 * count - 1)};
  for (size_t i = 0; i < core.buffers.size(); ++i) {
    Life& life = lives.buffers[i];
    const std::vector<BufferUse>& accesses = walker.accesses[i];
    life.whole = i < reserved.size() && reserved[i];
    if (life.whole) {
      life.halves = {everything};
    } else if (!accesses.empty()) {
      life.halves = live_halves(core, walker.shape, accesses, walker.dependent[i]);
      for (int loop : walker.rotates[i]) {
        const auto& body = walker.shape.body_of(loop);
        if (body.begin < body.end) {
          life.halves.push_back({2 * int64_t{body.begin}, 2 * int64_t{body.end} - 1});
        }
      }
      sort_by_begin(life.halves);
      life.halves = joined(std::move(life.halves));
    }
    life.in_loop = std::any_of(accesses.begin(), accesses.end(),
                               [&](const BufferUse& access) { return walker.shape.in_loop(access.region); });
    note_pipes(life, accesses);
  }
  lives.instructions = std::move(walker.instructions);
  return lives;
}

}  // namespace pto::passes
