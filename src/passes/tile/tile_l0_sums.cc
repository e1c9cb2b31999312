// Loops over K whose sum is larger than the accumulator. What such a loop may look like: it carries the sum, which
// starts from zeros or from a row, its body loads both operands and adds their product, and what it gives is stored
// right behind it, perhaps after a cast. Then each piece of rows and columns can be added up and stored before the next
// one; its loads are narrowed to the piece. Anything else stays, and `plan-memory` says that it doesn't fit.
#include <algorithm>
#include <set>

#include "src/passes/analysis/matmul_cost.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/pad_tiles.h"
#include "src/passes/tile/tile_l0.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

constexpr int64_t kLongest = 1 << 16;  // extents that are worth a search

struct Sum {
  OpId start;  // zeros or a row
  OpId left_load;
  OpId right_load;
  OpId left_move;
  OpId right_move;
  OpId product;
  std::optional<OpId> cast;
  OpId store;
  int64_t m = 0;
  int64_t n = 0;
};

class Splitter {
 public:
  Splitter(ir::Function& kernel, const Target& target) : kernel_(kernel), target_(target), uses_(uses_of(kernel)) {}

  bool run() {
    for_each_op(kernel_, [&](OpId id) {
      if (kernel_.ops[id].kind == OpKind::For) {
        if (const auto sum = examine(id)) {
          sums_[id] = *sum;
          gone_.insert({sum->start, sum->store});
          if (sum->cast) {
            gone_.insert(*sum->cast);
          }
        }
      }
    });
    rewrite_region(kernel_, kernel_.body, [&](OpId id) {
      const auto sum = sums_.find(id);
      if (sum != sums_.end()) {
        return split(id, sum->second);
      }
      return gone_.count(id) != 0 ? std::vector<OpId>{} : std::vector<OpId>{id};
    });
    return !sums_.empty();
  }

 private:
  const Op& op(OpId id) const { return kernel_.ops[id]; }
  ExprPool& exprs() { return kernel_.exprs; }

  std::optional<OpId> only_use(ValueId value) const {
    const auto found = uses_.find(value);
    return found != uses_.end() && found->second.size() == 1 ? std::optional<OpId>(found->second[0]) : std::nullopt;
  }

  // The op of that kind in the region that makes a value for one user.
  std::optional<OpId> maker(ir::RegionId region, ValueId value, OpKind kind) const {
    const OpId def = kernel_.values[value].def;
    const auto& ops = kernel_.regions[region].ops;
    const bool here = def.valid() && std::find(ops.begin(), ops.end(), def) != ops.end();
    return here && op(def).kind == kind && only_use(value) ? std::optional<OpId>(def) : std::nullopt;
  }

  // The store that takes the loop's sum, the next op but for a cast.
  bool find_end(OpId loop, Sum& sum) const {
    const std::vector<OpId>& ops = kernel_.regions[region_of(kernel_, loop)].ops;
    auto at = std::find(ops.begin(), ops.end(), loop);
    ValueId value = op(loop).results[0];
    if (++at != ops.end() && op(*at).kind == OpKind::Cast && only_use(value) == *at) {
      sum.cast = *at;
      value = op(*at).results[0];
      ++at;
    }
    if (at == ops.end() || op(*at).kind != OpKind::Store || only_use(value) != *at) {
      return false;
    }
    sum.store = *at;
    return op(*at).exprs.size() >= 2;
  }

  std::optional<Sum> examine(OpId id) {
    const Op& loop = op(id);
    if (loop.operands.size() != 1 || kernel_.type(loop.results[0]).space != Space::Acc) {
      return std::nullopt;
    }
    const ir::RegionId body = loop.regions[0];
    const ir::Region& region = kernel_.regions[body];
    const OpId start = kernel_.values[loop.operands[0]].def;
    Sum sum;
    if (region.ops.size() != 6 || !start.valid() ||
        (op(start).kind != OpKind::Full && op(start).kind != OpKind::Broadcast) || !only_use(loop.operands[0]) ||
        !find_end(id, sum)) {
      return std::nullopt;
    }
    const auto product = maker(body, op(region.ops.back()).operands[0], OpKind::MatMul);
    if (!product || op(*product).operands.size() != 3 || op(*product).operands[2] != region.args[0]) {
      return std::nullopt;
    }
    const auto left_move = maker(body, op(*product).operands[0], OpKind::Move);
    const auto right_move = maker(body, op(*product).operands[1], OpKind::Move);
    if (!left_move || !right_move) {
      return std::nullopt;
    }
    const auto left_load = maker(body, op(*left_move).operands[0], OpKind::Load);
    const auto right_load = maker(body, op(*right_move).operands[0], OpKind::Load);
    if (!left_load || !right_load) {
      return std::nullopt;
    }
    for (OpId load : {*left_load, *right_load}) {  // a later piece loads after an earlier one was stored
      if (op(load).exprs.size() < 2 ||
          root_tensor(kernel_, op(load).operands[0]) == root_tensor(kernel_, op(sum.store).operands[0])) {
        return std::nullopt;
      }
    }
    sum.start = start;
    sum.left_load = *left_load;
    sum.right_load = *right_load;
    sum.left_move = *left_move;
    sum.right_move = *right_move;
    sum.product = *product;
    return too_large(sum) && choose(sum) ? std::optional<Sum>(sum) : std::nullopt;
  }

  // In memory, where it may be padded.
  bool too_large(const Sum& sum) const {
    const Type& left = kernel_.type(op(sum.left_move).results[0]);
    const Type& right = kernel_.type(op(sum.right_move).results[0]);
    const int64_t step = in_boxes(left, right) ? 1 : box_step(left.dtype);
    const int64_t elements = round_up(left.rows, step) * round_up(right.cols, step);
    return byte_size(kernel_.type(op(sum.product).results[0]).dtype, elements) > target_.space(Space::Acc).bytes;
  }

  // The pieces that take least time: of loads, products and stores the slowest.
  bool choose(Sum& sum) {
    const Type& left = kernel_.type(op(sum.left_move).results[0]);
    const Type& right = kernel_.type(op(sum.right_move).results[0]);
    if (std::max({left.rows, left.cols, right.cols}) > kLongest) {
      return false;
    }
    const DType total = kernel_.type(op(sum.product).results[0]).dtype;
    const MatmulCosts costs(target_, left.dtype, total, kernel_.type(op(sum.store).operands[0]).dtype);
    const double rate = target_.l2_bytes_per_cycle / std::max(1, target_.cube_cores);
    std::optional<timing::Ticks> best;
    const bool even_rows = !ends_alike(kernel_, op(sum.store), 2);
    const bool even_cols = !ends_alike(kernel_, op(sum.store), 1);
    const bool row = op(sum.start).kind == OpKind::Broadcast;  // moved whole
    const int64_t row_step = in_boxes(left, right) ? costs.row_step() : box_step(left.dtype);
    for (int64_t m : piece_sizes(left.rows, row_step)) {
      for (int64_t n : row ? std::vector<int64_t>{right.cols} : piece_sizes(right.cols, costs.col_step())) {
        if (costs.sum_bytes(m * n) > target_.space(Space::Acc).bytes ||
            (even_rows && m < left.rows && left.rows % m != 0) ||
            (even_cols && n < right.cols && right.cols % n != 0)) {
          continue;
        }
        const int64_t pieces = ((left.rows + m - 1) / m) * ((right.cols + n - 1) / n);
        const timing::Ticks load = costs.load(m, left.cols, rate) + costs.load(left.cols, n, rate);
        const timing::Ticks time = pieces * std::max(load, costs.multiply({m, n, left.cols}));
        if (!best || time < *best) {
          best = time;
          sum.m = std::min(m, left.rows);
          sum.n = std::min(n, right.cols);
        }
      }
    }
    return best.has_value();
  }

  // ---- building

  ExprId remaining(ValueId tensor, size_t from_end, ExprId offset, int64_t length) {
    const std::vector<ExprId>& dims = kernel_.type(tensor).dims;
    return exprs().min(exprs().integer(length), exprs().sub(dims[dims.size() - from_end], offset));
  }

  // Narrows a load and the move behind it to a piece; `from_end`: 2 for rows, 1 for columns.
  void narrow(OpId load, OpId move, size_t from_end, ExprId at, int64_t length) {
    Op& loaded = kernel_.ops[load];
    ExprId& offset = loaded.exprs[loaded.exprs.size() - from_end];
    offset = exprs().add(offset, at);
    const ExprId valid = remaining(loaded.operands[0], from_end, offset, length);
    for (ValueId value : {loaded.results[0], kernel_.ops[move].results[0]}) {
      Type& type = kernel_.values[value].type;
      (from_end == 2 ? type.rows : type.cols) = length;
      (from_end == 2 ? type.valid_rows : type.valid_cols) = valid;
    }
  }

  ExprId enter(std::vector<OpId>& loops, const std::string& name, ExprId extent, int64_t whole, int64_t step) {
    if (step >= whole) {
      return exprs().integer(0);
    }
    Op loop;
    loop.kind = OpKind::For;
    loop.syms = {kernel_.add_symbol({name, SymKind::Loop, DType::I64})};
    loop.exprs = {exprs().integer(0), extent, exprs().integer(step)};
    loop.regions = {kernel_.add_region()};
    const ExprId symbol = exprs().symbol(loop.syms[0]);
    loops.push_back(make_op(kernel_, std::move(loop)));
    return symbol;
  }

  std::vector<OpId> split(OpId id, const Sum& sum) {
    const Type left = kernel_.type(op(sum.left_move).results[0]);
    const Type right = kernel_.type(op(sum.right_move).results[0]);
    std::vector<OpId> loops;
    const ExprId row = enter(loops, "mi", left.valid_rows, left.rows, sum.m);
    const ExprId col = enter(loops, "ni", right.valid_cols, right.cols, sum.n);
    narrow(sum.left_load, sum.left_move, 2, row, sum.m);
    narrow(sum.right_load, sum.right_move, 1, col, sum.n);
    std::vector<ValueId> sums = {op(id).operands[0], kernel_.regions[op(id).regions[0]].args[0],
                                 op(sum.product).results[0], op(id).results[0]};
    std::vector<OpId> body = {sum.start, id};
    if (sum.cast) {
      sums.push_back(op(*sum.cast).results[0]);
      body.push_back(*sum.cast);
    }
    body.push_back(sum.store);
    for (ValueId value : sums) {
      Type& type = kernel_.values[value].type;
      type.rows = sum.m;
      type.cols = sum.n;
      type.valid_rows = kernel_.type(op(sum.left_move).results[0]).valid_rows;
      type.valid_cols = kernel_.type(op(sum.right_move).results[0]).valid_cols;
    }
    std::vector<ExprId>& offsets = kernel_.ops[sum.store].exprs;
    offsets[offsets.size() - 2] = exprs().add(offsets[offsets.size() - 2], row);
    offsets[offsets.size() - 1] = exprs().add(offsets[offsets.size() - 1], col);
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      kernel_.ops[*loop].spans = op(id).spans;
      kernel_.regions[op(*loop).regions[0]].ops = std::move(body);
      body = {*loop};
    }
    return body;
  }

  ir::Function& kernel_;
  const Target& target_;
  Uses uses_;
  std::map<OpId, Sum> sums_;
  std::set<OpId> gone_;  // from where they stand: they are part of the pieces
};

}  // namespace

bool in_boxes(const Type& left, const Type& right) {
  const int64_t step = box_step(left.dtype);
  return left.rows % 16 == 0 && left.cols % step == 0 && right.cols % step == 0;
}

bool ends_alike(ir::Function& kernel, const Op& store, size_t from_end) {
  const Type& tile = kernel.type(store.operands[1]);
  const std::vector<ExprId> dims = kernel.type(store.operands[0]).dims;
  ExprPool& exprs = kernel.exprs;
  const ExprId room = exprs.sub(dims[dims.size() - from_end], store.exprs[store.exprs.size() - from_end]);
  return exprs.min(exprs.integer(from_end == 2 ? tile.rows : tile.cols), room) ==
         (from_end == 2 ? tile.valid_rows : tile.valid_cols);
}

bool split_sums(ir::Function& kernel, const Target& target) {
  return Splitter(kernel, target).run();
}

}  // namespace pto::passes
