// Cuts matrix products into pieces that fit the operand memories. A product becomes a loop over pieces of K that adds
// to one accumulator; where the accumulator itself is too large, or smaller ones run better, loops over pieces of rows
// and columns around it, each of which stores its piece. Which pieces: the cost model (analysis/matmul_cost.h). Sums
// are added in the order of k as before, so no value changes by a bit.
//
// Only products whose operands come from `mat` by a move of their own are cut: what is written by hand with `extract`
// stays. Bounds of loops are the valid extents, so that every piece has something in it; the loop over K, which a sum
// goes through, runs at least once.
#include "src/passes/tile/tile_l0.h"

#include <algorithm>
#include <functional>
#include <set>

#include "src/passes/analysis/matmul_cost.h"
#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/pad_tiles.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Type;
using ir::ValueId;

bool is_zeros(const ir::Function& kernel, const Op& op) {
  if (op.kind != OpKind::Full) {
    return false;
  }
  const ExprNode& value = kernel.exprs[op.exprs[0]];
  return (value.op == ExprOp::Float && value.fvalue == 0) || (value.op == ExprOp::Int && value.value == 0);
}

// A product with what stands around it.
struct Product {
  ValueId left;  // in mat
  ValueId right;
  // Where the sum starts: nothing (zeros), a value, or a row in bias memory.
  std::optional<ValueId> sum;
  std::optional<ValueId> row;
  // The whole life of the sum, if that is: zeros or a row, this product, a cast, a store.
  std::optional<OpId> broadcast;
  std::optional<OpId> cast;
  std::optional<OpId> store;
  L0Plan plan;
};

class L0Tiler {
 public:
  L0Tiler(ir::Function& kernel, const Target& target) : kernel_(kernel), target_(target), uses_(uses_of(kernel)) {}

  bool run();

 private:
  std::optional<OpId> only_use(ValueId value) const;
  std::optional<ValueId> moved_from(ValueId operand) const;
  void find_start(const Op& op, Product& product) const;
  void find_end(OpId id, Product& product) const;
  bool ordered_memory(OpId from, OpId to) const;
  std::optional<Product> examine(OpId id, bool streamed);
  void plan_region(ir::RegionId region, bool in_for);
  void replace(OpId id, const Product& product);

  // Building. Ops go to the end of `out_`.
  ExprPool& exprs() { return kernel_.exprs; }
  ExprId clip(int64_t length, ExprId valid, ExprId offset) {
    return exprs().min(exprs().integer(length), exprs().sub(valid, offset));
  }
  OpId emit(Op op) {
    op.spans = op.spans.empty() ? spans_ : op.spans;
    out_.push_back(make_op(kernel_, std::move(op)));
    return out_.back();
  }
  ValueId emit(Op op, Type type, const std::string& name) {
    op.results = {kernel_.add_value(std::move(type), name)};
    const ValueId result = op.results[0];
    emit(std::move(op));
    return result;
  }
  OpId loop(const std::string& name, ExprId extent, int64_t step, const std::function<void(ExprId, Op&)>& body);
  void over(const std::string& name, ExprId extent, int64_t whole, int64_t step,
            const std::function<void(ExprId)>& body);
  ValueId window(ValueId from, const Type& like, ExprId row, ExprId col, int64_t rows, int64_t cols);
  ValueId zeros(const Type& type);
  ValueId start_of_block(const Product& product, const Type& sum);
  void sum_over_k(const Product& product, const Op& origin, const Type& sum, ValueId start, ValueId result, ExprId row,
                  ExprId col);
  void block(const Product& product, const Op& origin, ExprId row, ExprId col, ValueId left, ValueId right);
  void store_piece(const Product& product, ValueId value, ExprId row, ExprId col);

  ir::Function& kernel_;
  const Target& target_;
  Uses uses_;
  std::map<OpId, Product> products_;
  std::set<OpId> dropped_;
  int64_t count_ = 0;  // products of the kernel
  std::vector<OpId> out_;
  std::vector<Span> spans_;
};

std::optional<OpId> L0Tiler::only_use(ValueId value) const {
  const auto found = uses_.find(value);
  return found != uses_.end() && found->second.size() == 1 ? std::optional<OpId>(found->second[0]) : std::nullopt;
}

// The tile in `mat` that a move of its own brings to the product.
std::optional<ValueId> L0Tiler::moved_from(ValueId operand) const {
  const OpId def = kernel_.values[operand].def;
  if (!def.valid() || kernel_.ops[def].kind != OpKind::Move || !only_use(operand)) {
    return std::nullopt;
  }
  const ValueId source = kernel_.ops[def].operands[0];
  return kernel_.type(source).space == Space::Mat ? std::optional<ValueId>(source) : std::nullopt;
}

void L0Tiler::find_start(const Op& op, Product& product) const {
  if (op.kind == OpKind::MatMulBias) {
    product.row = op.operands[2];
  } else if (op.operands.size() == 3) {
    product.sum = op.operands[2];
    const OpId def = kernel_.values[*product.sum].def;
    if (def.valid() && kernel_.ops[def].kind == OpKind::Broadcast && only_use(*product.sum)) {
      product.broadcast = def;
      product.row = kernel_.ops[def].operands[0];
    }
  }
}

// Between two ops of a region nothing reads or writes global memory in a way that a store must not pass.
bool L0Tiler::ordered_memory(OpId from, OpId to) const {
  const std::vector<OpId>& ops = kernel_.regions[region_of(kernel_, from)].ops;
  const auto first = std::find(ops.begin(), ops.end(), from);
  const auto last = std::find(ops.begin(), ops.end(), to);
  return last != ops.end() && first < last && std::none_of(first + 1, last, [&](OpId id) {
           const Op& op = kernel_.ops[id];
           return op.kind == OpKind::Load || op.kind == OpKind::Store || !op.regions.empty();
         });
}

void L0Tiler::find_end(OpId id, Product& product) const {
  std::optional<OpId> use = only_use(kernel_.ops[id].results[0]);
  if (use && kernel_.ops[*use].kind == OpKind::Cast && kernel_.type(kernel_.ops[*use].results[0]).space == Space::Acc) {
    product.cast = use;
    use = only_use(kernel_.ops[*use].results[0]);
  }
  if (use && kernel_.ops[*use].kind == OpKind::Store && ordered_memory(id, *use) &&
      kernel_.type(kernel_.ops[*use].operands[0]).dims.size() >= 2) {
    product.store = use;
  } else {
    product.cast.reset();
  }
}

std::optional<Product> L0Tiler::examine(OpId id, bool streamed) {
  const Op& op = kernel_.ops[id];
  const auto left = moved_from(op.operands[0]);
  const auto right = moved_from(op.operands[1]);
  if (!left || !right) {
    return std::nullopt;
  }
  Product product;
  product.left = *left;
  product.right = *right;
  find_start(op, product);
  find_end(id, product);
  const Type& a = kernel_.type(op.operands[0]);
  const Type& b = kernel_.type(op.operands[1]);
  const int64_t l1 = target_.space(Space::Mat).bytes;
  if (byte_size(a.dtype, a.rows * a.cols) > l1 || byte_size(b.dtype, b.rows * b.cols) > l1) {
    return std::nullopt;
  }
  L0Request request;
  request.tile = {a.rows, b.cols, a.cols};
  if (!in_boxes(a, b)) {
    request.row_step = box_step(a.dtype);
    request.tile = {round_up(a.rows, request.row_step), round_up(b.cols, request.row_step),
                    round_up(a.cols, request.row_step)};
  }
  request.streamed = streamed;
  request.sharers = std::max<int64_t>(1, count_);
  bool fresh = !product.sum;
  if (product.sum) {
    const OpId def = kernel_.values[*product.sum].def;
    fresh = product.broadcast || (def.valid() && is_zeros(kernel_, kernel_.ops[def]) && only_use(*product.sum));
  }
  request.grid = fresh && product.store.has_value();
  request.cut_columns = !product.row;  // a row in bias memory is moved whole
  if (product.store) {
    request.even_rows = !ends_alike(kernel_, kernel_.ops[*product.store], 2);
    request.even_columns = !ends_alike(kernel_, kernel_.ops[*product.store], 1);
    request.cut_rows = !request.even_rows || request.tile.m == a.rows;
    request.cut_columns = request.cut_columns && (!request.even_columns || request.tile.n == b.cols);
  }
  const DType stored = product.store ? kernel_.type(kernel_.ops[*product.store].operands[0]).dtype : DType::None;
  const MatmulCosts costs(target_, a.dtype, kernel_.type(op.results[0]).dtype, stored);
  auto plan = choose_l0(costs, request);
  if (!plan && request.sharers > 1) {  // nobody else's room is spared
    request.sharers = 1;
    plan = choose_l0(costs, request);
  }
  if (!plan || plan->whole(request.tile)) {
    return std::nullopt;  // as it is; what doesn't fit is said when memory is planned
  }
  product.plan = *plan;
  Extents& piece = product.plan.piece;  // what is not cut keeps its shape
  piece = {std::min(piece.m, a.rows), std::min(piece.n, b.cols), std::min(piece.k, a.cols)};
  return product;
}

void L0Tiler::plan_region(ir::RegionId region, bool in_for) {
  for (OpId id : kernel_.regions[region].ops) {
    const Op& op = kernel_.ops[id];
    if (ir::is_matmul(op.kind)) {
      if (auto product = examine(id, in_for)) {
        products_[id] = *product;
      }
    }
    for (ir::RegionId inner : op.regions) {
      plan_region(inner, in_for || op.kind == OpKind::For);
    }
  }
}

// ---- building

OpId L0Tiler::loop(const std::string& name, ExprId extent, int64_t step, const std::function<void(ExprId, Op&)>& body) {
  Op op;
  op.kind = OpKind::For;
  op.syms = {kernel_.add_symbol({name, SymKind::Loop, DType::I64})};
  op.exprs = {exprs().integer(0), extent, exprs().integer(step)};
  op.regions = {kernel_.add_region()};
  const ir::RegionId region = op.regions[0];
  std::vector<OpId> outside;
  std::swap(outside, out_);
  body(exprs().symbol(op.syms[0]), op);
  kernel_.regions[region].ops = std::move(out_);
  out_ = std::move(outside);
  return emit(std::move(op));
}

// Once at 0 if there is only one piece.
void L0Tiler::over(const std::string& name, ExprId extent, int64_t whole, int64_t step,
                   const std::function<void(ExprId)>& body) {
  if (step >= whole) {
    body(exprs().integer(0));
  } else {
    loop(name, extent, step, [&](ExprId at, Op&) { body(at); });
  }
}

ValueId L0Tiler::window(ValueId from, const Type& like, ExprId row, ExprId col, int64_t rows, int64_t cols) {
  Type type = like;
  const Type source = kernel_.type(from);
  type.rows = rows;
  type.cols = cols;
  type.valid_rows = clip(rows, source.valid_rows, row);
  type.valid_cols = clip(cols, source.valid_cols, col);
  Op op;
  op.kind = OpKind::Extract;
  op.operands = {from};
  op.exprs = {row, col};
  return emit(std::move(op), std::move(type), kernel_.values[from].name);
}

ValueId L0Tiler::zeros(const Type& type) {
  Op op;
  op.kind = OpKind::Full;
  op.exprs = {is_float(type.dtype) ? exprs().real(0) : exprs().integer(0)};
  return emit(std::move(op), type, "");
}

// A fresh sum for a block.
ValueId L0Tiler::start_of_block(const Product& product, const Type& sum) {
  if (!product.row) {
    return zeros(sum);
  }
  Op broadcast;
  broadcast.kind = OpKind::Broadcast;
  broadcast.operands = {*product.row};
  return emit(std::move(broadcast), sum, "");
}

// result = start + left[row :+ m, :] * right[:, col :+ n], in pieces of K.
void L0Tiler::sum_over_k(const Product& product, const Op& origin, const Type& sum, ValueId start, ValueId result,
                         ExprId row, ExprId col) {
  const Extents& piece = product.plan.piece;
  const Type left_type = kernel_.type(origin.operands[0]);
  const Type right_type = kernel_.type(origin.operands[1]);
  const ExprId valid = kernel_.type(product.left).valid_cols;
  const ExprId extent =
      exprs().constant(valid).value_or(0) >= 1 ? valid : exprs().make(ExprOp::Max, exprs().integer(1), valid);
  const OpId id = loop("ki", extent, piece.k, [&](ExprId at, Op& op) {
    const ValueId carried = kernel_.add_value(sum, "acc");
    kernel_.regions[op.regions[0]].args.push_back(carried);
    Op multiply;
    multiply.kind = OpKind::MatMul;
    const ValueId left = window(product.left, left_type, row, at, piece.m, piece.k);
    const ValueId right = window(product.right, right_type, at, col, piece.k, piece.n);
    multiply.operands = {left, right, carried};
    Op yield;
    yield.kind = OpKind::Yield;
    yield.operands = {emit(std::move(multiply), sum, "")};
    emit(std::move(yield));
  });
  kernel_.ops[id].operands = {start};
  kernel_.ops[id].results = {result};
  kernel_.values[result].def = id;
}

void L0Tiler::store_piece(const Product& product, ValueId value, ExprId row, ExprId col) {
  if (product.cast) {
    Op cast = kernel_.ops[*product.cast];
    Type type = kernel_.type(value);
    type.dtype = kernel_.type(cast.results[0]).dtype;
    cast.operands = {value};
    value = emit(std::move(cast), std::move(type), "");
  }
  Op store = kernel_.ops[*product.store];
  store.operands[1] = value;
  const size_t rank = store.exprs.size();
  store.exprs[rank - 2] = exprs().add(store.exprs[rank - 2], row);
  store.exprs[rank - 1] = exprs().add(store.exprs[rank - 1], col);
  emit(std::move(store));
}

// One block of the grid, stored. `left`, `right`: operands that are there already; not valid: K goes in pieces.
void L0Tiler::block(const Product& product, const Op& origin, ExprId row, ExprId col, ValueId left, ValueId right) {
  const Extents& piece = product.plan.piece;
  Type sum = kernel_.type(origin.results[0]);
  sum.rows = piece.m;
  sum.cols = piece.n;
  sum.valid_rows = clip(piece.m, kernel_.type(product.left).valid_rows, row);
  sum.valid_cols = clip(piece.n, kernel_.type(product.right).valid_cols, col);
  ValueId result;
  const ValueId start = start_of_block(product, sum);
  if (left.valid()) {
    Op multiply;
    multiply.kind = OpKind::MatMul;
    multiply.operands = {left, right, start};
    result = emit(std::move(multiply), sum, "");
  } else {
    result = kernel_.add_value(sum, "acc");
    sum_over_k(product, origin, sum, start, result, row, col);
  }
  store_piece(product, result, row, col);
}

void L0Tiler::replace(OpId id, const Product& product) {
  const Op op = kernel_.ops[id];
  spans_ = op.spans;
  const L0Plan& plan = product.plan;
  const Type a = kernel_.type(op.operands[0]);
  const Type b = kernel_.type(op.operands[1]);
  const ExprId zero = exprs().integer(0);
  if (plan.piece.m == a.rows && plan.piece.n == b.cols) {
    const Type sum = kernel_.type(op.results[0]);
    const ValueId start = op.kind == OpKind::MatMulBias ? start_of_block(product, sum)
                          : product.sum                 ? *product.sum
                                                        : zeros(sum);
    sum_over_k(product, op, sum, start, op.results[0], zero, zero);
    return;
  }
  const bool whole_k = plan.piece.k >= a.cols;
  auto rows = [&](const std::function<void(ExprId)>& body) {
    over("mi", kernel_.type(product.left).valid_rows, a.rows, plan.piece.m, body);
  };
  auto cols = [&](const std::function<void(ExprId)>& body) {
    over("ni", kernel_.type(product.right).valid_cols, b.cols, plan.piece.n, body);
  };
  auto left = [&](ExprId row) { return window(product.left, a, row, zero, plan.piece.m, a.cols); };
  auto right = [&](ExprId col) { return window(product.right, b, zero, col, b.rows, plan.piece.n); };
  if (plan.stationary == Stationary::Right) {
    cols([&](ExprId col) {
      const ValueId held = right(col);
      rows([&](ExprId row) { block(product, op, row, col, left(row), held); });
    });
  } else if (plan.stationary == Stationary::Left) {
    rows([&](ExprId row) {
      const ValueId held = left(row);
      cols([&](ExprId col) { block(product, op, row, col, held, right(col)); });
    });
  } else {
    rows([&](ExprId row) {
      cols([&](ExprId col) {
        const ValueId l = whole_k ? left(row) : ValueId();
        block(product, op, row, col, l, whole_k ? right(col) : ValueId());
      });
    });
  }
}

bool L0Tiler::run() {
  for_each_op(kernel_, [&](OpId id) { count_ += ir::is_matmul(kernel_.ops[id].kind) ? 1 : 0; });
  plan_region(kernel_.body, false);
  std::map<OpId, OpId> places;  // where a product's pieces go: those that are stored, where their store was
  for (const auto& [id, product] : products_) {
    const Op& op = kernel_.ops[id];
    dropped_.insert(id);
    dropped_.insert(kernel_.values[op.operands[0]].def);
    dropped_.insert(kernel_.values[op.operands[1]].def);
    if (product.plan.piece.n >= kernel_.type(op.operands[1]).cols &&
        product.plan.piece.m >= kernel_.type(op.operands[0]).rows) {
      places[id] = id;
      continue;
    }
    places[*product.store] = id;
    for (const auto& gone : {product.broadcast, product.cast, product.store}) {
      if (gone) {
        dropped_.insert(*gone);
      }
    }
    if (product.sum && !product.broadcast) {
      dropped_.insert(kernel_.values[*product.sum].def);
    }
  }
  rewrite_region(kernel_, kernel_.body, [&](OpId id) {
    const auto place = places.find(id);
    if (place != places.end()) {
      out_.clear();
      replace(place->second, products_.at(place->second));
      return std::move(out_);
    }
    return dropped_.count(id) != 0 ? std::vector<OpId>{} : std::vector<OpId>{id};
  });
  return !products_.empty();
}

}  // namespace

PassResult tile_l0(PassContext& context) {
  bool changed = false;
  for (ir::Function& kernel : context.module.functions) {
    if (kernel.kind == ir::FunctionKind::Kernel) {
      changed = split_sums(kernel, context.target) || changed;
      changed = L0Tiler(kernel, context.target).run() || changed;
    }
  }
  return changed ? PassResult::Changed : PassResult::Unchanged;
}

}  // namespace pto::passes
