// Orders conflicting accesses of different pipes in `auto core`s.
//
// Regions are done from the inside out; a nested loop then counts as one item with all its accesses. In a region:
//   1. For every access, the last conflicting access of each other pipe before it (in this iteration; in a loop also in
//   an
//      earlier one, as many iterations back as the buffer has slots) is a dependence.
//   2. Dependences are taken shortest first; one that existing flags already imply costs nothing, else it gets a flag:
//      set after the earlier item, wait before the later one. A flag from an earlier iteration is set in advance, once
//      an iteration in flight, and taken back at the end: before and after the outermost loop, so that a nested loop
//      starts and ends with all its flags set and its runs overlap. Every path is balanced, zero trips too.
//   3. A flag in a loop may be set again only after its wait: where that isn't implied, a flag in the other direction
//   is added.
// A branch in a loop is done like a loop of its own over the iterations that take it: both ends of its flags are inside,
// so they are balanced whether it is taken or not. Between a branch and its surroundings, the other branch too, flags
// stand before and after the whole `if`.
// Event ids: a flag in a pipelined loop has one id an iteration in flight. When a pair of pipes runs out of ids, a
// barrier on all pipes takes the flag's place, with a remark.
#include <algorithm>
#include <map>
#include <set>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_order.h"
#include "src/passes/block/sync_proof.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using isa::Pipe;

struct Access {
  Pipe pipe = Pipe::S;
  Space space = Space::None;
  int64_t begin = 0;  // bytes; tensors: begin is the root tensor's number, end one more
  int64_t end = 0;
  bool write = false;
  isa::BufferId buffer;
  ExprId slot;
  ir::RegionId inner;  // seen from outside: the loop body or branch that it is in
};

struct Dependence {
  Pipe src = Pipe::S;
  Pipe dst = Pipe::S;
  int from = 0;
  int to = 0;
  int64_t distance = 0;
};

// A flag of a nested branch whose ids the next run of that region uses again.
struct Reuse {
  int item = 0;
  Pipe src = Pipe::S;
  Pipe dst = Pipe::S;
};

struct Item {
  OpId op;
  std::vector<Access> accesses;
  std::vector<Flag>
      presets;  // at the top: flags carried by the loops inside, set before the item and taken back after it
};

// What a region tells the one around it.
struct Summary {
  std::vector<Access> accesses;
  std::vector<Flag> carried;              // to preset and drain at the top
  std::set<std::pair<Pipe, Pipe>> flags;  // pairs of pipes with flags inside
};

class Inserter {
 public:
  Inserter(PassContext& context, ir::Function& core, int event_ids)
      : context_(context), core_(core), event_ids_(event_ids) {}
  void run() { region(core_.body, SymId(), false); }

 private:
  Summary region(ir::RegionId id, SymId counter, bool loop);
  std::vector<Access> accesses_of(const Op& op) const;
  uint32_t root_tensor(isa::TensorId tensor) const;
  Item make_item(OpId id, SymId counter, bool loop, std::vector<Reuse>& reuses, int index, Summary& summary);
  bool contiguous(ExprId condition, SymId counter) const;
  bool conflict(const Access& a, const Access& b) const;
  int64_t carried_distance(const Access& a, const Access& b, SymId counter) const;
  bool rotates_with(const Access& access, SymId counter) const;
  int64_t depth_of(const std::vector<Item>& items, SymId counter) const;
  std::vector<Dependence> dependences(const std::vector<Item>& items, SymId counter, bool loop) const;
  void order_dependences(std::vector<Dependence> deps, RegionOrder& order, int64_t depth);
  void balance(RegionOrder& order, const std::vector<Reuse>& reuses, bool loop, int64_t depth);
  void allocate_ids(RegionOrder& order, const std::vector<Item>& items);
  bool share_id(RegionOrder& order, Flag& flag, bool loop);
  void emit(ir::RegionId id, const std::vector<Item>& items, RegionOrder& order, SymId counter);
  OpId flag_op(isa::Opcode opcode, const Flag& flag, ExprId event, const std::vector<Span>& spans);
  ExprId event(const Flag& flag, SymId counter);
  OpId barrier_op(const std::vector<Span>& spans);

  PassContext& context_;
  ir::Function& core_;
  int event_ids_;  // that a pair of pipes may use
  std::map<std::pair<Pipe, Pipe>, int64_t> next_id_;
  int nesting_ = 0;
};

uint32_t Inserter::root_tensor(isa::TensorId tensor) const {
  ir::ValueId value = core_.tensors[tensor.index()];
  while (core_.values[value].def.valid()) {
    value = core_.ops[core_.values[value].def].operands[0];
  }
  return value.index();
}

std::vector<Access> Inserter::accesses_of(const Op& op) const {
  std::vector<Access> accesses;
  const Pipe pipe = isa::pipe_of(op.inst, core_.buffers, context_.target);
  for (const isa::Operand& operand : op.inst.operands) {
    Access access;
    access.pipe = pipe;
    access.write = isa::writes(operand.kind);
    if (isa::is_tile(operand.kind)) {
      const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
      access.space = buffer.tile.space;
      access.begin = buffer.address;
      access.end = buffer.address + buffer.total_bytes();
      access.buffer = operand.buffer;
      access.slot = operand.slot;
      if (operand.slot.valid()) {
        if (const auto slot = core_.exprs.constant(operand.slot)) {
          access.begin = buffer.address + *slot * buffer.slot_stride;
          access.end = access.begin + buffer.tile.bytes();
        }
      }
    } else if (isa::is_gm(operand.kind)) {
      access.space = Space::Gm;
      access.begin = root_tensor(operand.tensor);
      access.end = access.begin + 1;
    } else {
      continue;
    }
    accesses.push_back(access);
  }
  return accesses;
}

bool Inserter::conflict(const Access& a, const Access& b) const {
  return a.pipe != b.pipe && (a.write || b.write) && a.space == b.space && a.begin < b.end && b.begin < a.end;
}

bool Inserter::rotates_with(const Access& access, SymId counter) const {
  if (!access.slot.valid() || !counter.valid()) {
    return false;
  }
  const ExprNode& node = core_.exprs[access.slot];
  if (node.op != ExprOp::Mod || core_.exprs.constant(node.b) != core_.buffers[access.buffer.index()].slots) {
    return false;
  }
  const ExprNode& rotating = core_.exprs[node.a];  // the counter, or the counter and a constant
  const ExprNode& symbol =
      rotating.op == ExprOp::Add && core_.exprs.constant(rotating.b) ? core_.exprs[rotating.a] : rotating;
  return symbol.op == ExprOp::Sym && symbol.sym == counter;
}

// How many iterations later the same bytes come up again.
int64_t Inserter::carried_distance(const Access& a, const Access& b, SymId counter) const {
  const bool same = a.buffer.valid() && a.buffer == b.buffer && a.slot == b.slot;
  return same && rotates_with(a, counter) ? core_.buffers[a.buffer.index()].slots : 1;
}

int64_t Inserter::depth_of(const std::vector<Item>& items, SymId counter) const {
  int64_t depth = 1;
  for (const Item& item : items) {
    for (const Access& access : item.accesses) {
      if (rotates_with(access, counter)) {
        depth = std::max(depth, core_.buffers[access.buffer.index()].slots);
      }
    }
  }
  return depth;
}

// Do the iterations that fulfil the condition follow each other: `c < n`, `3 <= c`? Only then is the next run of a branch
// the one with the next slot.
bool Inserter::contiguous(ExprId condition, SymId counter) const {
  const ExprNode& node = core_.exprs[condition];
  if (node.op != ExprOp::Lt && node.op != ExprOp::Le) {
    return false;
  }
  auto is_counter = [&](ExprId e) { return core_.exprs[e].op == ExprOp::Sym && core_.exprs[e].sym == counter; };
  auto depends = [&](ExprId e) {
    std::vector<SymId> symbols;
    core_.exprs.collect_symbols(e, symbols);
    return std::find(symbols.begin(), symbols.end(), counter) != symbols.end();
  };
  return (is_counter(node.a) && !depends(node.b)) || (is_counter(node.b) && !depends(node.a));
}

Item Inserter::make_item(OpId id, SymId counter, bool in_loop, std::vector<Reuse>& reuses, int index,
                         Summary& summary) {
  const Op op = core_.ops[id];
  Item item;
  item.op = id;
  if (op.kind == OpKind::Inst) {
    item.accesses = accesses_of(op);
  }
  const bool loop = op.kind == OpKind::For;
  SymId inner_counter = loop ? op.syms[0] : SymId();
  if (op.kind == OpKind::If && in_loop && counter.valid() && contiguous(op.exprs[0], counter)) {
    inner_counter = counter;
  }
  for (ir::RegionId inner : op.regions) {
    const Summary nested = region(inner, inner_counter, loop || in_loop);
    for (Access access : nested.accesses) {
      access.inner = inner;
      item.accesses.push_back(access);
    }
    for (const auto& [src, dst] : nested.flags) {
      if (!loop && !in_loop) {
        reuses.push_back({index, src, dst});
      }
      summary.flags.insert({src, dst});
    }
    auto& carried = nesting_ == 1 ? item.presets : summary.carried;
    carried.insert(carried.end(), nested.carried.begin(), nested.carried.end());
  }
  return item;
}

std::vector<Dependence> Inserter::dependences(const std::vector<Item>& items, SymId counter, bool loop) const {
  std::vector<Dependence> deps;
  const int count = static_cast<int>(items.size());
  std::set<std::tuple<int, int, int, int, int64_t>> seen;
  auto add = [&](const Access& a, int from, const Access& b, int to, int64_t distance) {
    const auto key = std::make_tuple(static_cast<int>(a.pipe), from, static_cast<int>(b.pipe), to, distance);
    if (seen.insert(key).second) {
      deps.push_back({a.pipe, b.pipe, from, to, distance});
    }
  };
  for (int to = 0; to < count; ++to) {
    for (const Access& b : items[static_cast<size_t>(to)].accesses) {
      // Backwards: the nearest conflict of each pipe is enough, pipes work in order.
      uint32_t found = 0;
      for (int from = to - 1; from >= 0; --from) {
        for (const Access& a : items[static_cast<size_t>(from)].accesses) {
          if ((found >> static_cast<int>(a.pipe) & 1) == 0 && conflict(a, b)) {
            add(a, from, b, to, 0);
          }
        }
        for (const Access& a : items[static_cast<size_t>(from)].accesses) {
          found |= conflict(a, b) ? 1u << static_cast<int>(a.pipe) : 0;
        }
      }
      std::set<std::pair<Pipe, int64_t>> carried;
      for (int from = count - 1; loop && from >= 0; --from) {
        for (const Access& a : items[static_cast<size_t>(from)].accesses) {
          // A nested loop's or branch's own flags, never taken back between its runs, order one run against the next.
          const bool own = from == to && a.inner.valid() && a.inner == b.inner;
          const int64_t distance = !own && conflict(a, b) ? carried_distance(a, b, counter) : 0;
          if (distance > 0 && carried.insert({a.pipe, distance}).second) {
            add(a, from, b, to, distance);
          }
        }
      }
    }
  }
  return deps;
}

void Inserter::order_dependences(std::vector<Dependence> deps, RegionOrder& order, int64_t depth) {
  auto reach = [&](const Dependence& d) { return item_point(d.to) + d.distance * order.length() - item_point(d.from); };
  std::stable_sort(deps.begin(), deps.end(),
                   [&](const Dependence& a, const Dependence& b) { return reach(a) < reach(b); });
  for (const Dependence& d : deps) {
    if (order.ordered(d.src, item_point(d.from), d.dst, item_point(d.to), d.distance)) {
      continue;
    }
    Flag flag;
    flag.src = d.src;
    flag.dst = d.dst;
    flag.set_after = d.from;
    flag.wait_before = d.to;
    flag.set = set_point(d.from);
    flag.wait = wait_point(d.to);
    flag.distance = d.distance;
    flag.ids = d.distance > 0 ? d.distance : depth;
    order.add(flag);
  }
}

// A flag must not be set again before its wait. In a loop that is about the next iteration that uses the id; for a flag
// of a nested region, about the next run of that region.
void Inserter::balance(RegionOrder& order, const std::vector<Reuse>& reuses, bool loop, int64_t depth) {
  if (!loop) {
    return;
  }
  auto add_back = [&](Pipe src, Pipe dst, int set_after, int wait_before, int64_t distance) {
    Flag back;
    back.src = src;
    back.dst = dst;
    back.set_after = set_after;
    back.wait_before = wait_before;
    back.set = set_point(set_after);
    back.wait = wait_point(wait_before);
    back.distance = distance;
    back.ids = distance;
    order.add(back);
  };
  for (size_t i = 0; i < order.flags().size(); ++i) {
    const Flag flag = order.flags()[i];
    if (flag.placed && flag.distance == 0 && !order.ordered(flag.dst, flag.wait, flag.src, flag.set, flag.ids)) {
      add_back(flag.dst, flag.src, flag.wait_before, flag.set_after, depth);
    }
  }
  for (const Reuse& reuse : reuses) {
    const Point at = item_point(reuse.item);
    if (!order.ordered(reuse.dst, at, reuse.src, at, 1)) {
      add_back(reuse.dst, reuse.src, reuse.item, reuse.item, 1);
    }
  }
}

// May the flag use the id of an earlier flag of this region? Only if that one's wait is over before this one is set.
bool Inserter::share_id(RegionOrder& order, Flag& flag, bool loop) {
  if (loop || nesting_ > 1 || flag.distance != 0) {
    return false;
  }
  for (const Flag& other : order.flags()) {
    if (other.placed && !other.barrier && other.first_id >= 0 && other.src == flag.src && other.dst == flag.dst &&
        other.ids == flag.ids && other.wait < flag.set) {
      const bool free = std::none_of(order.flags().begin(), order.flags().end(), [&](const Flag& third) {
        return third.placed && third.first_id == other.first_id && third.src == flag.src && third.dst == flag.dst &&
               !order.ordered(third.dst, third.wait, flag.src, flag.set, 0);
      });
      if (free) {
        flag.first_id = other.first_id;
        return true;
      }
    }
  }
  return false;
}

void Inserter::allocate_ids(RegionOrder& order, const std::vector<Item>& items) {
  for (size_t i = 0; i < order.flags().size(); ++i) {
    Flag flag = order.flags()[i];
    if (!flag.placed || flag.barrier) {
      continue;
    }
    int64_t& next = next_id_[{flag.src, flag.dst}];
    if (next + flag.ids <= event_ids_) {
      flag.first_id = next;
      next += flag.ids;
    } else if (!share_id(order, flag, false)) {
      flag.barrier = true;
      flag.wait_before = flag.distance > 0 ? 0 : flag.wait_before;
      flag.wait = wait_point(flag.wait_before);
      const Op& op = core_.ops[items[static_cast<size_t>(flag.wait_before)].op];
      context_.sink.report(
          DiagId::EventIdsExhausted, op.span(),
          {std::string(isa::spelling(flag.src)), std::string(isa::spelling(flag.dst)), std::to_string(event_ids_)});
    }
    order.flags()[i] = flag;
  }
}

Summary Inserter::region(ir::RegionId id, SymId counter, bool loop) {
  ++nesting_;
  const std::vector<OpId> ops = core_.regions[id].ops;
  RegionOrder order(static_cast<int64_t>(ops.size()));
  std::vector<Item> items;
  std::vector<Reuse> reuses;
  Summary summary;
  for (size_t i = 0; i < ops.size(); ++i) {
    items.push_back(make_item(ops[i], counter, loop, reuses, static_cast<int>(i), summary));
    for (const Access& access : items.back().accesses) {
      summary.accesses.push_back(access);
    }
  }
  const int64_t depth = loop ? depth_of(items, counter) : 1;
  order_dependences(dependences(items, counter, loop), order, depth);
  balance(order, reuses, loop, depth);
  allocate_ids(order, items);
  for (const Flag& flag : order.flags()) {
    if (flag.placed && !flag.barrier) {
      summary.flags.insert({flag.src, flag.dst});
      if (flag.distance > 0) {
        summary.carried.push_back(flag);
      }
    }
  }
  emit(id, items, order, counter);
  --nesting_;
  return summary;
}

// ---- emission

ExprId Inserter::event(const Flag& flag, SymId counter) {
  ExprPool& exprs = core_.exprs;
  const ExprId first = exprs.integer(flag.first_id);
  if (flag.ids == 1) {
    return first;
  }
  return exprs.add(exprs.make(ExprOp::Mod, exprs.symbol(counter), exprs.integer(flag.ids)), first);
}

OpId Inserter::flag_op(isa::Opcode opcode, const Flag& flag, ExprId event, const std::vector<Span>& spans) {
  Op op;
  op.kind = OpKind::Inst;
  op.inst.opcode = opcode;
  op.inst.operands.resize(3);
  op.inst.operands[0].kind = isa::OperandKind::PipeSrc;
  op.inst.operands[0].attribute = static_cast<uint8_t>(flag.src);
  op.inst.operands[1].kind = isa::OperandKind::PipeDst;
  op.inst.operands[1].attribute = static_cast<uint8_t>(flag.dst);
  op.inst.operands[2].kind = isa::OperandKind::Event;
  op.inst.operands[2].a = event;
  op.spans = spans;
  return make_op(core_, std::move(op));
}

OpId Inserter::barrier_op(const std::vector<Span>& spans) {
  Op op;
  op.kind = OpKind::Inst;
  op.inst.opcode = isa::Opcode::PipeBarrier;
  op.inst.operands.resize(1);
  op.inst.operands[0].kind = isa::OperandKind::PipeSrc;
  op.inst.operands[0].attribute = static_cast<uint8_t>(Pipe::All);
  op.spans = spans;
  return make_op(core_, std::move(op));
}

void Inserter::emit(ir::RegionId id, const std::vector<Item>& items, RegionOrder& order, SymId counter) {
  std::vector<OpId> out;
  for (int i = 0; i < static_cast<int>(items.size()); ++i) {
    const Item& item = items[static_cast<size_t>(i)];
    const std::vector<Span> spans = core_.ops[item.op].spans;
    auto each_id = [&](isa::Opcode opcode) {
      for (const Flag& flag : item.presets) {
        for (int64_t n = 0; n < flag.ids; ++n) {
          out.push_back(flag_op(opcode, flag, core_.exprs.integer(flag.first_id + n), spans));
        }
      }
    };
    each_id(isa::Opcode::SetFlag);
    bool barrier = false;
    for (const Flag& flag : order.flags()) {
      if (flag.placed && flag.wait_before == i) {
        barrier = barrier || flag.barrier;
        if (!flag.barrier) {
          out.push_back(flag_op(isa::Opcode::WaitFlag, flag, event(flag, counter), spans));
        }
      }
    }
    if (barrier) {
      out.push_back(barrier_op(spans));
    }
    out.push_back(item.op);
    each_id(isa::Opcode::WaitFlag);
    for (const Flag& flag : order.flags()) {
      if (flag.placed && !flag.barrier && flag.set_after == i) {
        out.push_back(flag_op(isa::Opcode::SetFlag, flag, event(flag, counter), spans));
      }
    }
  }
  core_.regions[id].ops = std::move(out);
}

// First with as many event ids as it takes, since surplus flags go afterwards. If what is left is still too many, again
// with the target's number, where barriers stand in.
void insert_flags(PassContext& context, ir::Function& core) {
  constexpr int kPlenty = 64;
  ir::Function trial = core;
  Inserter(context, trial, kPlenty).run();
  if (context.options.elide_sync) {
    elide_flags(trial, context.target);
  }
  if (compact_event_ids(trial, context.target.event_ids)) {
    core = std::move(trial);
    return;
  }
  Inserter(context, core, context.target.event_ids).run();
  if (context.options.elide_sync) {
    elide_flags(core, context.target);
  }
}

}  // namespace

PassResult insert_sync(PassContext& context) {
  bool changed = false;
  for (ir::Function& function : context.module.functions) {
    if (function.kind == ir::FunctionKind::Core && function.automatic) {
      insert_flags(context, function);
      function.automatic = false;
      changed = true;
    }
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
