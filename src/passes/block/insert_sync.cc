// Orders conflicting accesses of different pipes in `auto core`s.
//
// Regions are done from the inside out; a nested loop then counts as one item with all its accesses. In a region:
//   1. Accesses that conflict with earlier ones of other pipes are dependences (sync_deps.h).
//   2. Dependences are taken shortest first; one that existing flags already imply costs nothing, else it gets a flag:
//      set after the earlier item, wait before the later one. A flag from an earlier iteration is set in advance, once
//      an iteration in flight, and taken back at the end: before and after the outermost loop, so that a nested loop
//      starts and ends with all its flags set and its runs overlap. Every path is balanced, zero trips too.
//   3. A flag may be set again only after its wait: where that isn't implied, a flag in the other direction is added.
//   4. Flags get event ids (sync_ids.h); where there are too few, a barrier on all pipes, with a remark.
// A branch in a loop is done like a loop of its own over the iterations that take it: both ends of its flags are
// inside, so they are balanced whether it is taken or not. Between a branch and its surroundings, the other branch too,
// flags stand before and after the whole `if`. See docs/passes/insert-sync.md.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_barriers.h"
#include "src/passes/block/sync_deps.h"
#include "src/passes/block/sync_ids.h"
#include "src/passes/block/sync_order.h"
#include "src/passes/block/sync_proof.h"
#include "src/passes/block/sync_units.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using isa::Pipe;

using PipePair = std::pair<Pipe, Pipe>;

struct Item {
  OpId op;
  std::vector<Access> accesses;
  // At the top: flags carried by the loops inside, set before the item and taken back after it; how many event ids each
  // pair of pipes has inside, and who mentions them.
  std::vector<Flag> presets;
  std::map<PipePair, int64_t> ids;
  std::map<PipePair, std::vector<OpId>> flag_ops;
  std::map<PipePair, int64_t> first_id;
};

// What a region tells the one around it.
struct Summary {
  std::vector<Access> accesses;
  std::vector<Flag> carried;  // to preset and drain at the top
};

class Inserter {
 public:
  // `item_ids`: event ids that a pair of pipes may have inside one item of the top. `merge`: save ids where that costs
  // little.
  Inserter(const Target& target, ir::Function& core, int item_ids, bool merge)
      : target_(target), core_(core), item_ids_(item_ids), merge_(merge) {}
  // Did the ids suffice without barriers?
  bool run() {
    region(core_.body, SymId(), false);
    return barriers_ == 0;
  }

  // Where a barrier stands in for a flag, and for which one.
  struct Spill {
    OpId barrier;
    PipePair pipes;
  };
  const std::vector<Spill>& spills() const { return spills_; }

 private:
  Summary region(ir::RegionId id, SymId counter, bool loop);
  Item make_item(OpId id, SymId counter, bool loop, Summary& summary);
  bool contiguous(ExprId condition, SymId counter) const;
  bool rotates_with(const Access& access, SymId counter) const;
  int64_t depth_of(const std::vector<Item>& items, SymId counter) const;
  std::vector<Dependence> dependences(const std::vector<Item>& items, SymId counter, bool loop) const;
  void order_dependences(std::vector<Dependence> deps, RegionOrder& order, int64_t depth);
  void merge_neighbours(const std::vector<Item>& items, RegionOrder& order) const;
  bool only_on(const std::vector<Item>& items, int first, int last, Pipe pipe) const;
  bool is_balanced(RegionOrder& order, const Flag& flag) const;
  bool balance(RegionOrder& order, int64_t depth);
  void separate_iterations(RegionOrder& order);
  void allocate_ids(RegionOrder& order);
  void colour_ids(RegionOrder& order, std::vector<Item>& items, bool loop);
  Flag barrier_before(int item, Pipe src, Pipe dst);
  void emit(ir::RegionId id, const std::vector<Item>& items, RegionOrder& order, SymId counter);
  OpId flag_op(isa::Opcode opcode, const Flag& flag, ExprId event, const std::vector<Span>& spans);
  ExprId event(const Flag& flag, SymId counter);

  const Target& target_;
  ir::Function& core_;
  int item_ids_;
  bool merge_;
  std::map<PipePair, int64_t> next_id_;             // inside the current item of the top
  std::map<PipePair, std::vector<OpId>> flag_ops_;  // there
  std::vector<Spill> spills_;
  int64_t barriers_ = 0;
  int nesting_ = 0;
};

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

// Do the iterations that fulfil the condition follow each other: `c < n`, `3 <= c`? Only then is the next run of a
// branch the one with the next slot.
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

Item Inserter::make_item(OpId id, SymId counter, bool in_loop, Summary& summary) {
  const Op op = core_.ops[id];
  Item item;
  item.op = id;
  if (op.kind == OpKind::Inst) {
    item.accesses = accesses_of(core_, op.inst, target_);
  }
  const bool loop = op.kind == OpKind::For;
  SymId inner_counter = loop ? op.syms[0] : SymId();
  if (op.kind == OpKind::If && in_loop && counter.valid() && contiguous(op.exprs[0], counter)) {
    inner_counter = counter;
  }
  const bool top = nesting_ == 1;
  for (ir::RegionId inner : op.regions) {
    const Summary nested = region(inner, inner_counter, loop || in_loop);
    std::set<Access> seen;
    for (Access access : nested.accesses) {
      access.inner = inner;
      if (seen.insert(access).second) {
        item.accesses.push_back(access);
      }
    }
    auto& carried = top ? item.presets : summary.carried;
    carried.insert(carried.end(), nested.carried.begin(), nested.carried.end());
  }
  if (top) {
    item.ids = std::exchange(next_id_, {});
    item.flag_ops = std::exchange(flag_ops_, {});
  }
  return item;
}

std::vector<Dependence> Inserter::dependences(const std::vector<Item>& items, SymId counter, bool loop) const {
  std::vector<const std::vector<Access>*> accesses;
  for (const Item& item : items) {
    accesses.push_back(&item.accesses);
  }
  return find_dependences(accesses, loop, [&](const Access& access) {
    return rotates_with(access, counter) ? core_.buffers[access.buffer.index()].slots : 0;
  });
}

void Inserter::order_dependences(std::vector<Dependence> deps, RegionOrder& order, int64_t depth) {
  auto reach = [&](const Dependence& d) { return item_point(d.to) + d.distance * order.length() - item_point(d.from); };
  std::stable_sort(deps.begin(), deps.end(),
                   [&](const Dependence& a, const Dependence& b) { return reach(a) < reach(b); });
  for (const Dependence& d : deps) {
    // The body of the outermost loop runs once: iterations with the same slot lie so many apart.
    const bool again = nesting_ > 2;
    if (again ? order.ordered_alike(d.src, item_point(d.from), d.dst, item_point(d.to), d.distance)
              : order.ordered(d.src, item_point(d.from), d.dst, item_point(d.to), d.distance)) {
      continue;
    }
    Flag flag;
    flag.src = d.src;
    flag.dst = d.dst;
    flag.set_after = d.from;
    flag.wait_before = d.to;
    flag.distance = d.distance;
    flag.ids = d.distance > 0 ? d.distance : depth;
    order.add(flag);
  }
}

// Are items first .. last single instructions of one pipe?
bool Inserter::only_on(const std::vector<Item>& items, int first, int last, Pipe pipe) const {
  return std::all_of(items.begin() + first, items.begin() + last + 1, [&](const Item& item) {
    return core_.ops[item.op].kind == OpKind::Inst && !item.accesses.empty() && item.accesses[0].pipe == pipe;
  });
}

// One flag for two where nothing but their own pipe's work stands between the sets, and between the waits: two loads
// for one stage, say. Only where several iterations are in flight, so that a pipe that waits a little longer has work
// to do. Still it costs 2 to 6 % of the cycles of a matrix product (the first load of a block waits for more, the first
// move too), so it is done only for want of ids.
void Inserter::merge_neighbours(const std::vector<Item>& items, RegionOrder& order) const {
  constexpr size_t kMaxFlags = 256;
  std::vector<Flag> flags = order.flags();
  for (size_t i = 0; i < flags.size() && flags.size() <= kMaxFlags; ++i) {
    for (size_t j = i + 1; j < flags.size();) {
      Flag& a = flags[i];
      const Flag& b = flags[j];
      const auto [first_set, last_set] = std::minmax(a.set_after, b.set_after);
      const auto [first_wait, last_wait] = std::minmax(a.wait_before, b.wait_before);
      const bool alike = a.src == b.src && a.dst == b.dst && a.distance == b.distance && a.ids == b.ids && a.ids > 1;
      if (!alike || (a.distance == 0 && last_set >= first_wait) || !only_on(items, first_set, last_set, a.src) ||
          !only_on(items, first_wait, last_wait, a.dst)) {
        ++j;
        continue;
      }
      a.set_after = last_set;
      a.wait_before = first_wait;
      flags.erase(flags.begin() + static_cast<std::ptrdiff_t>(j));
      j = i + 1;
    }
  }
  order.replace(std::move(flags));
}

// An id must not be set again before it was waited for: in a loop that is about the next iteration that uses it; of a
// flag from an earlier iteration, about the wait in the same one.
bool Inserter::is_balanced(RegionOrder& order, const Flag& flag) const {
  const int64_t iterations = flag.distance == 0 ? flag.ids : 0;
  return nesting_ > 2 ? order.ordered_alike(flag.dst, flag.wait(), flag.src, flag.set(), iterations)
                      : order.ordered(flag.dst, flag.wait(), flag.src, flag.set(), iterations);
}

// Adds flags in the other direction where that isn't implied. False if there is no place for one.
bool Inserter::balance(RegionOrder& order, int64_t depth) {
  for (size_t i = 0; i < order.flags().size(); ++i) {
    const Flag flag = order.flags()[i];
    if (is_balanced(order, flag)) {
      continue;
    }
    if (flag.distance != 0 && flag.wait_before >= flag.set_after) {
      return false;
    }
    Flag back;
    back.src = flag.dst;
    back.dst = flag.src;
    back.set_after = flag.wait_before;
    back.wait_before = flag.set_after;
    back.distance = flag.distance == 0 ? depth : 0;
    back.ids = depth;
    order.add(back);
  }
  return true;
}

// Begins each iteration with a barrier, which does without flags from one to the next.
void Inserter::separate_iterations(RegionOrder& order) {
  std::vector<Flag> flags;
  for (const Flag& flag : order.flags()) {
    if (flag.distance == 0) {
      flags.push_back(flag);
    }
  }
  flags.push_back(barrier_before(0, Pipe::All, Pipe::All));
  order.replace(std::move(flags));
}

Flag Inserter::barrier_before(int item, Pipe src, Pipe dst) {
  barriers_ += src == Pipe::All ? 0 : 1;
  Flag barrier;
  barrier.src = src;
  barrier.dst = dst;
  barrier.barrier = true;
  barrier.wait_before = item;
  return barrier;
}

// Flags from one iteration to another, and those with an id for each iteration in flight, have ids of their own. When
// they run out, a flag joins one that there is, if it leads as far: set later, waited for earlier; else a barrier
// stands in.
void Inserter::allocate_ids(RegionOrder& order) {
  std::vector<Flag> flags;
  for (Flag flag : order.flags()) {
    if (flag.distance == 0 && flag.ids == 1) {
      flags.push_back(flag);  // coloured later
      continue;
    }
    int64_t& next = next_id_[{flag.src, flag.dst}];
    if (next + flag.ids <= item_ids_) {
      flag.first_id = next;
      next += flag.ids;
      flags.push_back(flag);
      continue;
    }
    const auto host = std::find_if(flags.begin(), flags.end(), [&](const Flag& other) {
      return !other.barrier && other.src == flag.src && other.dst == flag.dst && other.distance == flag.distance &&
             flag.distance > 0 && other.ids == flag.ids;
    });
    if (host == flags.end()) {
      flags.push_back(barrier_before(flag.distance > 0 ? 0 : flag.wait_before, flag.src, flag.dst));
      continue;
    }
    host->set_after = std::max(host->set_after, flag.set_after);
    host->wait_before = std::min(host->wait_before, flag.wait_before);
  }
  order.replace(std::move(flags));
}

// The other flags share ids where their lives don't meet; at the top the items with flags inside, too.
void Inserter::colour_ids(RegionOrder& order, std::vector<Item>& items, bool loop) {
  std::vector<Flag> flags;
  for (const Flag& flag : order.flags()) {
    if (!flag.barrier && flag.first_id < 0) {
      flags.push_back(flag);
    }
  }
  std::stable_sort(flags.begin(), flags.end(), [](const Flag& a, const Flag& b) { return a.set_after < b.set_after; });
  IdColouring colouring(order, next_id_, std::max<int64_t>(item_ids_, target_.event_ids), loop);
  int done = 0;  // items whose ids are placed
  std::vector<Flag> placed;
  // Before this item a barrier: flags across it, or up to it, are not needed, so their ids are free.
  auto cut_at = [&](int at, PipePair pair) {
    auto across = [&](const Flag& flag) { return !flag.barrier && flag.set_after < at && flag.wait_before >= at; };
    std::vector<Flag> rest = order.flags();
    std::erase_if(rest, across);
    std::erase_if(placed, across);
    rest.push_back(barrier_before(at, pair.first, pair.second));
    order.replace(std::move(rest));
    colouring.forget_across(at);
  };
  auto place_items = [&](int end) {
    for (; done < end; ++done) {
      Item& item = items[static_cast<size_t>(done)];
      for (const auto& [pair, ids] : item.ids) {
        const IdUse use{pair.first, pair.second, item_point(done), drain_point(done), done, done, ids};
        int64_t first = colouring.place(use);
        if (first < 0) {
          cut_at(done, pair);
          first = std::max<int64_t>(0, colouring.place(use));
        }
        item.first_id[pair] = first;
      }
    }
  };
  for (Flag flag : flags) {
    place_items(flag.set_after + 1);
    flag.first_id = colouring.place(id_use(flag));
    if (flag.first_id >= 0) {
      placed.push_back(flag);
    } else {
      order.add(barrier_before(flag.wait_before, flag.src, flag.dst));
    }
  }
  place_items(static_cast<int>(items.size()));
  for (const Flag& flag : order.flags()) {  // barriers, and flags that colouring added, with their ids
    if (flag.barrier || flag.first_id >= 0) {
      placed.push_back(flag);
    }
  }
  order.replace(std::move(placed));
  if (nesting_ > 1) {
    next_id_ = colouring.ends();
  }
}

Summary Inserter::region(ir::RegionId id, SymId counter, bool loop) {
  ++nesting_;
  const std::vector<OpId> ops = core_.regions[id].ops;
  RegionOrder order(static_cast<int64_t>(ops.size()));
  std::vector<Item> items;
  Summary summary;
  for (OpId op : ops) {
    items.push_back(make_item(op, counter, loop, summary));
    const auto& accesses = items.back().accesses;
    summary.accesses.insert(summary.accesses.end(), accesses.begin(), accesses.end());
  }
  const int64_t depth = loop ? depth_of(items, counter) : 1;
  order_dependences(dependences(items, counter, loop), order, depth);
  if (loop) {
    if (merge_) {
      merge_neighbours(items, order);
    }
    if (!balance(order, depth)) {
      separate_iterations(order);
    }
  }
  allocate_ids(order);
  colour_ids(order, items, loop);
  for (const Flag& flag : order.flags()) {
    if (!flag.barrier && flag.distance > 0) {
      summary.carried.push_back(flag);
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
  const OpId id = make_op(core_, std::move(op));
  if (nesting_ > 1) {
    flag_ops_[{flag.src, flag.dst}].push_back(id);
  }
  return id;
}

void Inserter::emit(ir::RegionId id, const std::vector<Item>& items, RegionOrder& order, SymId counter) {
  std::vector<std::vector<const Flag*>> waits(items.size());
  std::vector<std::vector<const Flag*>> sets(items.size());
  for (const Flag& flag : order.flags()) {
    waits[static_cast<size_t>(flag.wait_before)].push_back(&flag);
    if (!flag.barrier) {
      sets[static_cast<size_t>(flag.set_after)].push_back(&flag);
    }
  }
  std::vector<OpId> out;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    const std::vector<Span> spans = core_.ops[item.op].spans;
    // The ids inside the item begin where colouring put them.
    for (const auto& [pair, flag_ops] : item.flag_ops) {
      for (OpId op : flag_ops) {
        ExprId& event = core_.ops[op].inst.operands[2].a;
        event = core_.exprs.add(event, core_.exprs.integer(item.first_id.at(pair)));
      }
    }
    auto each_id = [&](isa::Opcode opcode) {
      for (const Flag& flag : item.presets) {
        const int64_t first = flag.first_id + item.first_id.at({flag.src, flag.dst});
        for (int64_t n = 0; n < flag.ids; ++n) {
          out.push_back(flag_op(opcode, flag, core_.exprs.integer(first + n), spans));
        }
      }
    };
    const Flag* barrier = nullptr;
    for (const Flag* flag : waits[i]) {
      if (flag->barrier) {
        barrier = flag;
      } else {
        out.push_back(flag_op(isa::Opcode::WaitFlag, *flag, event(*flag, counter), spans));
      }
    }
    if (barrier != nullptr) {
      out.push_back(barrier_op(core_, spans));
      if (barrier->src != Pipe::All) {
        spills_.push_back({out.back(), {barrier->src, barrier->dst}});
      }
    }
    each_id(isa::Opcode::SetFlag);
    out.push_back(item.op);
    each_id(isa::Opcode::WaitFlag);
    for (const Flag* flag : sets[i]) {
      out.push_back(flag_op(isa::Opcode::SetFlag, *flag, event(*flag, counter), spans));
    }
  }
  core_.regions[id].ops = std::move(out);
}

void report_spill(PassContext& context, const ir::Function& core, OpId at, Pipe src, Pipe dst) {
  context.sink.report(
      DiagId::EventIdsExhausted, core.ops[at].span(),
      {std::string(isa::spelling(src)), std::string(isa::spelling(dst)), std::to_string(context.target.event_ids)});
}

// Says which flags did not get ids, of those barriers that are still there.
void report_spills(PassContext& context, const ir::Function& core, const std::vector<Inserter::Spill>& spills) {
  std::vector<bool> stands(core.ops.size());
  for_each_op(core, [&](OpId id) { stands[id.index()] = true; });
  for (const auto& [barrier, pipes] : spills) {
    if (stands[barrier.index()]) {
      report_spill(context, core, barrier, pipes.first, pipes.second);
    }
  }
}

constexpr int64_t kElideSteps = 4'000'000;

// If a loop needs more event ids than the target has: with flags that serve for several, or with as many ids as it
// takes, since surplus flags go afterwards. If what is left is still too much, barriers stand in.
void insert_flags(PassContext& context, ir::Function& core) {
  constexpr int kPlenty = 64;
  const Target& target = context.target;
  auto elide = [&](ir::Function& function) {
    if (context.options.elide_sync) {
      elide_flags(function, target, kElideSteps);
    }
  };
  for (const auto& [ids, merge] : {std::make_pair(target.event_ids, false), std::make_pair(target.event_ids, true),
                                   std::make_pair(kPlenty, false)}) {
    ir::Function trial = core;
    if (!Inserter(target, trial, ids, merge).run()) {
      continue;
    }
    elide(trial);
    if (compact_event_ids(trial, target.event_ids) && sync_is_proved(trial, target)) {
      core = std::move(trial);
      return;
    }
  }
  ir::Function spilled = core;
  Inserter inserter(target, spilled, target.event_ids, true);
  inserter.run();
  elide(spilled);
  if (sync_is_proved(spilled, target)) {
    core = std::move(spilled);
    report_spills(context, core, inserter.spills());
    return;
  }
  for (const InsertedBarrier& barrier : insert_barriers(core, target)) {
    report_spill(context, core, barrier.before, barrier.src, barrier.dst);
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
