#include "src/passes/block/lifetimes_tree.h"

#include <algorithm>
#include <map>
#include <optional>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

bool CodeShape::surely_runs(const ir::Function& core, const ir::Op& loop) {
  const auto first = core.exprs.constant(loop.exprs[0]);
  const auto step = core.exprs.constant(loop.exprs[2]);
  const auto bound = lower_bound(core, loop.exprs[1]);
  return first && step && bound && *step > 0 && *bound > *first;
}

bool CodeShape::in_loop(int region) const {
  for (int node = regions[static_cast<size_t>(region)].node; node >= 0;) {
    if (nodes[static_cast<size_t>(node)].loop) {
      return true;
    }
    node = regions[static_cast<size_t>(nodes[static_cast<size_t>(node)].region)].node;
  }
  return false;
}

namespace {

// Pending before = gen | (pending after & pass).
struct Transfer {
  uint32_t gen = 0;
  uint32_t pass = ~uint32_t{0};
  uint32_t apply(uint32_t after) const { return gen | (after & pass); }
  // This one stands in front of `next`.
  Transfer then(const Transfer& next) const { return {gen | (next.gen & pass), pass & next.pass}; }
};

constexpr size_t kMostAssumed = 2;          // loops that are taken to be in their first iteration, at a time
constexpr uint32_t kLongestCondition = 64;  // nodes

// The regions that touch the buffer, and in each of them what does, in order.
class Tree {
 public:
  Tree(const ir::Function& core, const CodeShape& shape, const std::vector<BufferUse>& accesses,
       const std::vector<std::pair<int, uint32_t>>& dependent)
      : core_(core), shape_(shape), accesses_(accesses), dependent_(dependent) {
    build();
  }

  LiveRanges run() {
    mark(0, 0, false);
    return std::move(out_);
  }

 private:
  struct Item {
    int access = -1;
    int node = -1;
    std::vector<int> children;  // by body of the node: index of a Part, or -1
  };
  struct Part {
    int region = 0;
    std::vector<Item> items;
    std::vector<int> asks;                           // loops that branches in it ask for
    std::map<std::vector<int>, Transfer> transfers;  // by what is assumed of those
  };

  const CodeShape::Region& region_of(const Part& part) const {
    return shape_.regions[static_cast<size_t>(part.region)];
  }
  const CodeShape::Node& node_of(const Item& item) const { return shape_.nodes[static_cast<size_t>(item.node)]; }

  void build() {
    parts_.push_back({});
    std::vector<int> open = {0};  // parts from the outermost to the current one
    std::vector<int> chain;
    for (size_t i = 0; i < accesses_.size(); ++i) {
      chain.clear();
      int region = accesses_[i].region;
      // Close what the access is not in, then open what it is in.
      while (!inside(region, parts_[static_cast<size_t>(open.back())].region)) {
        open.pop_back();
      }
      const int current = parts_[static_cast<size_t>(open.back())].region;
      while (region != current) {
        chain.push_back(region);
        const int node = shape_.regions[static_cast<size_t>(region)].node;
        region = shape_.nodes[static_cast<size_t>(node)].region;
      }
      for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
        open.push_back(child(open.back(), *it));
      }
      Item item;
      item.access = static_cast<int>(i);
      parts_[static_cast<size_t>(open.back())].items.push_back(item);
    }
    // Inner parts were made after the outer ones.
    for (size_t i = parts_.size(); i-- > 0;) {
      collect_asks(parts_[i]);
    }
  }

  void collect_asks(Part& part) {
    for (const Item& item : part.items) {
      if (item.node >= 0) {
        const std::vector<int>& own = node_of(item).asks;
        part.asks.insert(part.asks.end(), own.begin(), own.end());
        for (int child : item.children) {
          if (child >= 0) {
            const std::vector<int>& inner = parts_[static_cast<size_t>(child)].asks;
            part.asks.insert(part.asks.end(), inner.begin(), inner.end());
          }
        }
      }
    }
    std::sort(part.asks.begin(), part.asks.end());
    part.asks.erase(std::unique(part.asks.begin(), part.asks.end()), part.asks.end());
  }

  bool inside(int region, int outer) const {
    return region >= outer && region <= shape_.regions[static_cast<size_t>(outer)].last_inside;
  }

  int child(int part, int region) {
    const int node = shape_.regions[static_cast<size_t>(region)].node;
    const std::vector<int>& bodies = shape_.nodes[static_cast<size_t>(node)].bodies;
    const auto body = static_cast<size_t>(std::find(bodies.begin(), bodies.end(), region) - bodies.begin());
    const int made = static_cast<int>(parts_.size());
    Part fresh;
    fresh.region = region;
    parts_.push_back(std::move(fresh));
    std::vector<Item>& items = parts_[static_cast<size_t>(part)].items;
    if (items.empty() || items.back().node != node) {
      Item item;
      item.node = node;
      item.children.assign(bodies.size(), -1);
      items.push_back(std::move(item));
    }
    items.back().children[body] = made;
    return made;
  }

  // Names lose their meaning where a symbol that they mention is not defined any more.
  uint32_t outside(const CodeShape::Node& loop, uint32_t pending) const {
    for (const auto& [region, names] : dependent_) {
      if ((pending & names) != 0 && inside(region, loop.bodies[0])) {
        pending = (pending & ~names) | kAnySlot;
      }
    }
    return pending;
  }

  // ---- conditions ----

  std::optional<int64_t> value(ExprId id, const std::vector<int>& assumed) const {
    if (core_.exprs.tree_size(id) > kLongestCondition) {
      return std::nullopt;
    }
    const ExprNode& node = core_.exprs[id];
    if (node.op == ExprOp::Sym) {
      for (int loop : assumed) {
        if (shape_.nodes[static_cast<size_t>(loop)].symbol == node.sym) {
          return core_.exprs.constant(shape_.nodes[static_cast<size_t>(loop)].first);
        }
      }
      return std::nullopt;
    }
    if (node.op == ExprOp::Int) {
      return node.value;
    }
    if (!node.a.valid() || !node.b.valid()) {
      return std::nullopt;
    }
    const auto a = value(node.a, assumed);
    const auto b = value(node.b, assumed);
    switch (node.op) {
      case ExprOp::And:
        return a == 0 || b == 0 ? std::optional<int64_t>(0) : a && b ? std::optional<int64_t>(1) : std::nullopt;
      case ExprOp::Or:
        return (a && a != 0) || (b && b != 0) ? std::optional<int64_t>(1)
               : a && b                       ? std::optional<int64_t>(0)
                                              : std::nullopt;
      case ExprOp::Eq:
        return a && b ? std::optional<int64_t>(*a == *b) : std::nullopt;
      case ExprOp::Ne:
        return a && b ? std::optional<int64_t>(*a != *b) : std::nullopt;
      case ExprOp::Lt:
        return a && b ? std::optional<int64_t>(*a < *b) : std::nullopt;
      case ExprOp::Le:
        return a && b ? std::optional<int64_t>(*a <= *b) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // ---- what is pending ----

  Transfer transfer(int index, const std::vector<int>& assumed) {
    Part& part = parts_[static_cast<size_t>(index)];
    std::vector<int> known;  // of what is assumed, what makes a difference here
    std::copy_if(assumed.begin(), assumed.end(), std::back_inserter(known), [&](int loop) { return asks(part, loop); });
    if (const auto found = part.transfers.find(known); found != part.transfers.end()) {
      return found->second;
    }
    Transfer all;
    for (size_t i = part.items.size(); i-- > 0;) {
      all = transfer(part.items[i], known).then(all);
    }
    part.transfers.emplace(std::move(known), all);
    return all;
  }

  static bool asks(const Part& part, int loop) { return std::binary_search(part.asks.begin(), part.asks.end(), loop); }

  Transfer child_transfer(const Item& item, size_t body, const std::vector<int>& assumed) {
    return body < item.children.size() && item.children[body] >= 0 ? transfer(item.children[body], assumed)
                                                                   : Transfer{};
  }

  Transfer transfer(const Item& item, const std::vector<int>& assumed) {
    if (item.node < 0) {
      const BufferUse& access = accesses_[static_cast<size_t>(item.access)];
      return {access.reads, ~access.kills};
    }
    const CodeShape::Node& node = node_of(item);
    if (node.loop) {
      return loop_transfer(item, assumed);
    }
    if (const auto taken = value(node.condition, assumed)) {
      return child_transfer(item, *taken != 0 ? 0 : 1, assumed);
    }
    const Transfer a = child_transfer(item, 0, assumed);
    const Transfer b = child_transfer(item, 1, assumed);
    return {a.gen | b.gen, a.pass | b.pass};
  }

  // Pending where an iteration begins that may be any but the first.
  uint32_t at_header(const Item& item, uint32_t after, const std::vector<int>& assumed) {
    const Transfer body = child_transfer(item, 0, assumed);
    uint32_t pending = body.apply(after);
    for (uint32_t before = 0; before != pending;) {
      before = pending;
      pending |= body.apply(after | outside(node_of(item), pending));
    }
    return pending;
  }

  Transfer loop_transfer(const Item& item, const std::vector<int>& assumed) {
    const CodeShape::Node& node = node_of(item);
    Transfer first = child_transfer(item, 0, assumed);
    if (asks(parts_[static_cast<size_t>(item.children[0])], item.node) && assumed.size() < kMostAssumed) {
      std::vector<int> more = assumed;
      more.push_back(item.node);
      first = child_transfer(item, 0, more);
    }
    const uint32_t again = outside(node, at_header(item, 0, assumed));
    return {outside(node, first.apply(again)), node.surely_runs ? first.pass : ~uint32_t{0}};
  }

  // ---- where it is live ----

  void emit(int64_t begin, int64_t end) {
    if (begin <= end) {
      out_.push_back({begin, end});
    }
  }
  // All of positions [begin, end).
  void emit_gap(int begin, int end) { emit(2 * int64_t{begin}, 2 * int64_t{end} - 1); }

  // `pending` behind the region; `touched`: some path to the region's begin wrote the buffer.
  void mark(int index, uint32_t pending, bool touched) {
    const CodeShape::Region& region = region_of(parts_[static_cast<size_t>(index)]);
    int at = region.end;
    for (size_t i = parts_[static_cast<size_t>(index)].items.size(); i-- > 0;) {
      const Item& item = parts_[static_cast<size_t>(index)].items[i];
      const bool before = touched || i > 0;
      if (item.node < 0) {
        const BufferUse& access = accesses_[static_cast<size_t>(item.access)];
        if (pending != 0) {
          emit_gap(access.position + 1, at);
        }
        mark_access(access, pending, before);
        at = access.position;
      } else {
        const CodeShape::Node& node = node_of(item);
        const int begin = shape_.regions[static_cast<size_t>(node.bodies.front())].begin;
        if (pending != 0) {
          emit_gap(shape_.regions[static_cast<size_t>(node.bodies.back())].end, at);
        }
        mark_node(item, pending, before);
        at = begin;
      }
      pending = transfer(item, {}).apply(pending);
    }
    if (pending != 0 && touched) {
      emit_gap(region.begin, at);
    }
  }

  void mark_access(const BufferUse& access, uint32_t pending, bool touched) {
    const bool live_in = (access.reads != 0 || (pending & ~access.kills) != 0) && touched;
    const int64_t read = 2 * int64_t{access.position};
    const bool from_write = access.at_write_only && !live_in;
    const bool to_read = access.at_read_only && !access.writes && pending == 0;
    emit(from_write ? read + 1 : read, to_read ? read : read + 1);
  }

  void mark_node(const Item& item, uint32_t pending, bool touched) {
    const CodeShape::Node& node = node_of(item);
    if (node.loop) {
      const uint32_t again = outside(node, at_header(item, pending, {}));
      mark(item.children[0], pending | again, true);
      return;
    }
    for (size_t body = 0; body < item.children.size(); ++body) {
      const CodeShape::Region& region = shape_.regions[static_cast<size_t>(node.bodies[body])];
      if (item.children[body] >= 0) {
        mark(item.children[body], pending, touched);
      } else if (pending != 0 && touched) {
        emit_gap(region.begin, region.end);
      }
    }
  }

  const ir::Function& core_;
  const CodeShape& shape_;
  const std::vector<BufferUse>& accesses_;
  const std::vector<std::pair<int, uint32_t>>& dependent_;
  std::vector<Part> parts_;
  LiveRanges out_;
};

}  // namespace

LiveRanges live_halves(const ir::Function& core, const CodeShape& shape, const std::vector<BufferUse>& accesses,
                       const std::vector<std::pair<int, uint32_t>>& dependent) {
  return Tree(core, shape, accesses, dependent).run();
}

}  // namespace pto::passes
