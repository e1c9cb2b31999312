#include "src/passes/analysis/matmul_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

using timing::Ticks;

namespace {

constexpr double kGainWorthLoops = 0.95;

TileDesc tile(DType type, int64_t rows, int64_t cols, Space space, const Target& target) {
  const Layout layout = space == Space::Left ? target.left_layout : space == Space::Right ? Layout::Zn : Layout::Nz;
  return {type, rows, cols, layout, space};
}

constexpr int64_t kMostShapes = 96;  // that are looked at closely
constexpr int64_t kMostStep = 2048;  // of K: longer rows load no faster

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Pieces of one extent: how many of the full size, and the last one.
struct Cut {
  int64_t full = 0;
  int64_t last = 0;
  int64_t count() const { return full + 1; }
};
Cut cut(int64_t extent, int64_t piece) {
  const int64_t count = std::max<int64_t>(1, ceil_div(extent, piece));
  return {count - 1, extent - (count - 1) * piece};
}

// Sum of f(size) over the pieces of an extent.
template <typename F>
Ticks over(const Cut& c, int64_t piece, F f) {
  return (c.full > 0 ? c.full * f(piece) : 0) + f(c.last);
}

}  // namespace

int64_t MatmulCosts::col_step() const {
  return std::max<int64_t>(16, 32 * 8 / std::max(1, bit_width(operand_)));
}

Ticks MatmulCosts::multiply(const Extents& piece) const {
  const std::array<TileDesc, 3> tiles = {tile(accumulator_, piece.m, piece.n, Space::Acc, target_),
                                         tile(operand_, piece.m, piece.k, Space::Left, target_),
                                         tile(operand_, piece.k, piece.n, Space::Right, target_)};
  return timing::instruction_cost(target_, CoreKind::Cube, isa::Opcode::TMatMul, tiles, {}, DType::None).busy;
}

Ticks MatmulCosts::to_left(int64_t m, int64_t k) const {
  const std::array<TileDesc, 2> tiles = {tile(operand_, m, k, Space::Left, target_),
                                         tile(operand_, m, k, Space::Mat, target_)};
  return timing::instruction_cost(target_, CoreKind::Cube, isa::Opcode::TExtract, tiles, {}, DType::None).busy;
}

Ticks MatmulCosts::to_right(int64_t k, int64_t n) const {
  const std::array<TileDesc, 2> tiles = {tile(operand_, k, n, Space::Right, target_),
                                         tile(operand_, k, n, Space::Mat, target_)};
  return timing::instruction_cost(target_, CoreKind::Cube, isa::Opcode::TExtract, tiles, {}, DType::None).busy;
}

namespace {

Ticks transfer(const timing::Cost& cost, double rate) {
  const double cap = std::min(static_cast<double>(cost.rate_cap), rate * static_cast<double>(timing::kTicksPerCycle));
  return std::max(
      cost.issue,
      cost.busy + static_cast<Ticks>(std::llround(static_cast<double>(cost.gm_bytes) *
                                                  static_cast<double>(timing::kTicksPerCycle * timing::kTicksPerCycle) /
                                                  std::max(1.0, cap))));
}

}  // namespace

Ticks MatmulCosts::load(int64_t rows, int64_t cols, double rate) const {
  const std::array<TileDesc, 1> tiles = {tile(operand_, rows, cols, Space::Mat, target_)};
  return transfer(timing::instruction_cost(target_, CoreKind::Cube, isa::Opcode::TLoad, tiles, {}, operand_), rate);
}

Ticks MatmulCosts::store(int64_t m, int64_t n, double rate) const {
  const std::array<TileDesc, 1> tiles = {tile(accumulator_, m, n, Space::Acc, target_)};
  return transfer(timing::instruction_cost(target_, CoreKind::Cube, isa::Opcode::TStore, tiles, {}, stored_), rate);
}

Ticks MatmulCosts::load_latency() const {
  const std::array<TileDesc, 1> tiles = {tile(operand_, row_step(), col_step(), Space::Mat, target_)};
  return timing::instruction_cost(target_, CoreKind::Cube, isa::Opcode::TLoad, tiles, {}, operand_).latency;
}

std::vector<int64_t> piece_sizes(int64_t extent, int64_t step) {
  std::vector<int64_t> sizes;
  const int64_t boxes = std::max<int64_t>(1, ceil_div(extent, step));
  sizes.push_back(boxes * step);
  for (int64_t size = boxes; size > 1;) {
    size = ceil_div(boxes, ceil_div(boxes, size - 1));
    sizes.push_back(size * step);
  }
  return sizes;
}

std::optional<Ticks> l0_time(const MatmulCosts& costs, const L0Request& request, const L0Plan& plan) {
  const Target& target = costs.target();
  const Extents& p = plan.piece;
  auto fits = [&](Space space, int64_t bytes, int64_t sharers) { return bytes <= target.space(space).bytes / sharers; };
  // A product that is left whole and takes one slot only has to fit by itself.
  const int64_t sharers = plan.operand_slots == 1 && plan.sum_slots == 1 ? 1 : request.sharers;
  if (!fits(Space::Left, costs.bytes(p.m * p.k) * plan.operand_slots, sharers) ||
      !fits(Space::Right, costs.bytes(p.k * p.n) * plan.operand_slots, sharers) ||
      (request.grid && !fits(Space::Acc, costs.sum_bytes(p.m * p.n) * plan.sum_slots, sharers))) {
    return std::nullopt;
  }
  const Cut m = cut(request.tile.m, p.m);
  const Cut n = cut(request.tile.n, p.n);
  const Cut k = cut(request.tile.k, p.k);
  const Ticks products = over(m, p.m, [&](int64_t pm) {
    return over(n, p.n, [&](int64_t pn) {
      return over(k, p.k, [&](int64_t pk) { return costs.multiply({pm, pn, pk}); });
    });
  });
  const Ticks left =
      over(m, p.m, [&](int64_t pm) { return over(k, p.k, [&](int64_t pk) { return costs.to_left(pm, pk); }); });
  const Ticks right =
      over(n, p.n, [&](int64_t pn) { return over(k, p.k, [&](int64_t pk) { return costs.to_right(pk, pn); }); });
  const Ticks copies = left * (plan.stationary == Stationary::Left ? 1 : n.count()) +
                       right * (plan.stationary == Stationary::Right ? 1 : m.count());
  const int64_t pieces = m.count() * n.count() * k.count();
  Ticks time = products + copies;
  if (plan.operand_slots > 1) {
    // A loop over pieces starts with the first slot: after an odd number of them that is the one that was used last.
    const bool hidden = request.streamed && (pieces == 1 || pieces % 2 == 0);
    time = std::max(products, copies) + (hidden ? 0 : std::min(products, copies) / pieces);
  }
  if (request.grid) {
    const double rate = target.l2_bytes_per_cycle / std::max(1, target.cube_cores);
    const Ticks drain =
        over(m, p.m, [&](int64_t pm) { return over(n, p.n, [&](int64_t pn) { return costs.store(pm, pn, rate); }); });
    const int64_t blocks = m.count() * n.count();
    time = plan.sum_slots > 1 ? std::max(time, drain) + std::min(time, drain) / blocks : time + drain;
  }
  return time;
}

std::optional<L0Plan> choose_l0(const MatmulCosts& costs, const L0Request& request) {
  std::optional<L0Plan> whole;
  std::optional<L0Plan> best;
  auto take = [&](std::optional<L0Plan>& place, L0Plan plan) {
    const auto time = l0_time(costs, request, plan);
    if (time && (!place || *time < place->time)) {
      plan.time = *time;
      place = plan;
    }
  };
  const auto sizes = [](bool may, int64_t extent, int64_t step, bool even) {
    std::vector<int64_t> list = may ? piece_sizes(extent, step) : std::vector<int64_t>{extent};
    if (even) {
      list.erase(std::remove_if(list.begin(), list.end(), [&](int64_t size) { return extent % size != 0; }),
                 list.end());
    }
    return list;
  };
  const auto ms = sizes(request.grid && request.cut_rows, request.tile.m, std::max(costs.row_step(), request.row_step),
                        request.even_rows);
  const auto ns = sizes(request.grid && request.cut_columns, request.tile.n, costs.col_step(), request.even_columns);
  const auto ks = sizes(true, request.tile.k, costs.col_step(), false);
  for (int64_t operand_slots : {2, 1}) {
    for (int64_t sum_slots : {2, 1}) {
      if (sum_slots > 1 && !request.grid) {
        continue;
      }
      for (int64_t m : ms) {
        for (int64_t n : ns) {
          for (int64_t k : ks) {
            L0Plan plan{{m, n, k}, Stationary::Output, operand_slots, sum_slots, 0};
            take(plan.whole(request.tile) ? whole : best, plan);
            if (k == request.tile.k && (m < request.tile.m || n < request.tile.n)) {
              plan.stationary = Stationary::Left;
              take(best, plan);
              plan.stationary = Stationary::Right;
              take(best, plan);
            }
          }
        }
      }
    }
  }
  const bool keep =
      whole && (!best || static_cast<double>(best->time) >= kGainWorthLoops * static_cast<double>(whole->time));
  return keep ? whole : best;
}

// The operands arrive over MTE2 while the block before is multiplied; two steps of K are in flight. With one
// accumulator the products wait for its store, with two the store runs beside the next block.
Ticks block_time(const MatmulCosts& costs, const BlockRequest& request, const BlockPlan& plan, Ticks l0_step) {
  const Target& target = costs.target();
  const Extents& b = plan.block;
  const int64_t blocks = ceil_div(request.product.m, b.m) * ceil_div(request.product.n, b.n);
  const int64_t cores = std::max<int64_t>(1, std::min<int64_t>(target.cube_cores, blocks));
  const double rate = target.l2_bytes_per_cycle / static_cast<double>(cores);
  const int64_t steps = std::max<int64_t>(1, ceil_div(request.product.k, b.k));
  const int64_t turns = ceil_div(blocks, cores);
  const Ticks load =
      costs.load(std::min(b.m, request.product.m), b.k, rate) + costs.load(b.k, std::min(b.n, request.product.n), rate);
  const Ticks drain = costs.store(b.m, b.n, rate);
  const Ticks products = steps * l0_step;
  // Each tile is in its buffer from the start of its load until it is multiplied, and there are up to three buffers.
  const Ticks loads = steps * std::max(load, (costs.load_latency() + load + l0_step) / 3);
  Ticks turn = 0;
  if (plan.sum_slots > 1) {
    turn = std::max({products, loads, drain, (products + drain) / 2});
  } else {
    turn = std::max(products + drain, loads + std::max<Ticks>(0, drain - 2 * load));
  }
  const Ticks fill = costs.load_latency() + load + l0_step;
  // Cores start one after the other, and those that start first take the blocks that are left over.
  const auto dispatch = [&](int64_t started) {
    return std::llround(target.dispatch_cycles * static_cast<double>(started * timing::kTicksPerCycle));
  };
  const int64_t left_over = blocks % cores;
  const Ticks first = left_over > 0 ? dispatch(left_over) + turns * turn : 0;
  const Ticks last = dispatch(cores) + blocks / cores * turn;
  return fill + std::max(first, last) + (plan.sum_slots > 1 ? drain : 0);
}

BlockPlan choose_block(const MatmulCosts& costs, const BlockRequest& request) {
  const Target& target = costs.target();
  const Extents& all = request.product;
  const int64_t acc = target.space(Space::Acc).bytes;
  const int64_t mat = target.space(Space::Mat).bytes * 31 / 32;  // a bias row needs some
  const Extents least = {costs.row_step(), costs.col_step(), costs.col_step()};
  std::vector<BlockPlan> shapes;  // `time`: a bound from below
  for (int64_t m : piece_sizes(all.m, least.m)) {
    for (int64_t n : piece_sizes(all.n, least.n)) {
      for (int64_t slots : {2, 1}) {
        if (costs.sum_bytes(m * n) * slots <= acc && (request.most_cols == 0 || n <= request.most_cols)) {
          const Extents whole = {m, n, round_up(all.k, least.k)};
          BlockPlan plan{whole, slots, 0};
          plan.time = block_time(costs, request, plan, costs.multiply(whole));
          shapes.push_back(plan);
        }
      }
    }
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const BlockPlan& a, const BlockPlan& b) { return a.time < b.time; });
  BlockPlan best{least, 1, std::numeric_limits<Ticks>::max()};
  const std::vector<int64_t> ks = piece_sizes(all.k, least.k);
  int64_t tried = 0;
  for (const BlockPlan& shape : shapes) {
    // The bound counts the fill of one long step: it may be a little above what short steps reach.
    if (shape.time / 2 > best.time || ++tried > kMostShapes) {
      break;
    }
    for (int64_t k : ks) {
      BlockPlan plan = shape;
      plan.block.k = k;
      const Extents& b = plan.block;
      if (2 * (costs.bytes(b.m * k) + costs.bytes(k * b.n)) > mat || k > kMostStep) {
        continue;
      }
      L0Request inside;
      inside.tile = b;
      inside.streamed = true;
      const auto l0 = choose_l0(costs, inside);
      if (!l0) {
        continue;
      }
      plan.time = block_time(costs, request, plan, l0->time);
      if (plan.time < best.time) {
        best = plan;
      }
    }
  }
  return best;
}

}  // namespace pto::passes
