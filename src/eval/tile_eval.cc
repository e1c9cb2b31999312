#include "src/eval/tile_eval.h"

#include <functional>
#include <memory>
#include <vector>

#include "src/eval/tile_ops.h"

namespace pto::eval {

namespace {

using ir::Op;
using ir::OpKind;
using ir::RegionId;
using ir::ValueId;

// A tensor parameter, or a view of one under other dims.
struct View {
  Tensor* tensor = nullptr;
  std::vector<int64_t> dims;
};

class TileEval : public TileOps {
 public:
  using TileOps::TileOps;

  bool run() {
    if (!bind()) {
      return false;
    }
    tiles_.assign(function_.values.size(), nullptr);
    held_by_value_.assign(function_.values.size(), 0);
    views_.assign(function_.values.size(), View());
    size_t next = 0;
    for (const ir::Param& param : function_.params) {
      if (param.is_tensor()) {
        Tensor* tensor = arguments_.tensors[next++];
        views_.at(param.value.index()) = {tensor, tensor->dims};
      }
    }
    return region(function_.body);
  }

 private:
  bool region(RegionId id);
  bool step(const Op& op);
  bool parallel(const Op& op);
  bool loop(const Op& op);
  bool branch(const Op& op);
  bool reshape(const Op& op);
  bool load(const Op& op);
  bool store(const Op& op);
  // The elements of a window, row by row: f(row, column, position in the tensor).
  bool window(const Op& op, int64_t rows, int64_t cols,
              const std::function<bool(int64_t, int64_t, size_t, Tensor&)>& f);

  std::vector<View> views_;  // by value
};

bool TileEval::region(RegionId id) {
  for (ir::OpId op : function_.regions[id].ops) {
    if (!step(function_.ops[op])) {
      return false;
    }
  }
  return true;
}

bool TileEval::step(const Op& op) {
  switch (op.kind) {
    case OpKind::Parallel: return parallel(op);
    case OpKind::For: return loop(op);
    case OpKind::If: return branch(op);
    case OpKind::Yield: return true;  // read by the loop or branch
    case OpKind::Let: return let(op);
    case OpKind::Reshape: return reshape(op);
    case OpKind::Load: return load(op);
    case OpKind::Store: return store(op);
    default: return compute(op);
  }
}

// Iterations in the order of the last variable first; a block takes every block_count-th one.
bool TileEval::parallel(const Op& op) {
  std::vector<int64_t> lows, steps, counts;
  int64_t total = 1;
  for (size_t i = 0; i < op.syms.size(); ++i) {
    const auto low = integer(op.exprs[3 * i], op.span());
    const auto high = integer(op.exprs[3 * i + 1], op.span());
    const auto step = integer(op.exprs[3 * i + 2], op.span());
    if (!low || !high || !step) {
      return false;
    }
    if (*step < 1) {
      return fault(op.span(), "a loop has step " + std::to_string(*step));
    }
    lows.push_back(*low);
    steps.push_back(*step);
    const __int128 distance = static_cast<__int128>(*high) - *low;
    counts.push_back(distance <= 0 ? 0 : static_cast<int64_t>((distance + *step - 1) / *step));
    if (__builtin_mul_overflow(total, counts.back(), &total)) {
      return fail(Outcome::Limit, op.span(), "a loop has too many iterations");
    }
  }
  for (int64_t t = arguments_.block_index; t < total; t += arguments_.block_count) {
    int64_t rest = t;
    for (size_t i = op.syms.size(); i-- > 0; rest /= counts[i]) {
      set(op.syms[i], lows[i] + rest % counts[i] * steps[i]);
    }
    if (!spend(1, op.span()) || !region(op.regions[0])) {
      return false;
    }
  }
  return true;
}

bool TileEval::loop(const Op& op) {
  const auto low = integer(op.exprs[0], op.span());
  const auto high = integer(op.exprs[1], op.span());
  const auto step = integer(op.exprs[2], op.span());
  if (!low || !high || !step) {
    return false;
  }
  if (*step < 1) {
    return fault(op.span(), "a loop has step " + std::to_string(*step));
  }
  const ir::Region& body = function_.regions[op.regions[0]];
  std::vector<TilePtr> carried;
  for (ValueId operand : op.operands) {
    carried.push_back(tiles_.at(operand.index()));
  }
  int64_t next = *low;
  for (bool more = next < *high; more; more = !__builtin_add_overflow(next, *step, &next) && next < *high) {
    set(op.syms[0], next);
    for (size_t i = 0; i < carried.size(); ++i) {
      tiles_.at(body.args.at(i).index()) = carried[i];
    }
    if (!spend(1, op.span()) || !region(op.regions[0])) {
      return false;
    }
    if (!carried.empty()) {
      const Op& yield = function_.ops[body.ops.back()];
      for (size_t i = 0; i < carried.size(); ++i) {
        carried[i] = tiles_.at(yield.operands.at(i).index());
      }
    }
  }
  for (size_t i = 0; i < carried.size(); ++i) {
    tiles_.at(op.results.at(i).index()) = carried[i];
  }
  return true;
}

bool TileEval::branch(const Op& op) {
  const auto condition = integer(op.exprs[0], op.span());
  if (!condition || !spend(1, op.span())) {
    return false;
  }
  const RegionId taken = op.regions[*condition != 0 ? 0 : 1];
  if (!region(taken)) {
    return false;
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    const Op& yield = function_.ops[function_.regions[taken].ops.back()];
    tiles_.at(op.results[i].index()) = tiles_.at(yield.operands.at(i).index());
  }
  return true;
}

bool TileEval::reshape(const Op& op) {
  const View& from = views_.at(op.operands[0].index());
  const auto dims = shape(function_.type(op.results[0]).dims, op.span());
  if (!dims) {
    return false;
  }
  if (from.tensor == nullptr || element_count(*dims) != element_count(from.dims)) {
    return fault(op.span(), "can't reshape " + shape_text(from.dims) + " to " + shape_text(*dims));
  }
  views_.at(op.results[0].index()) = {from.tensor, *dims};
  return true;
}

// A window covers the last two dims of the tensor, of one dim the only one, from the offsets.
bool TileEval::window(const Op& op, int64_t rows, int64_t cols,
                      const std::function<bool(int64_t, int64_t, size_t, Tensor&)>& f) {
  const View& view = views_.at(op.operands[0].index());
  const size_t rank = view.dims.size();
  if (view.tensor == nullptr || rank == 0 || op.exprs.size() != rank) {
    return fault(op.span(), name_of(op.operands[0]) + " is no tensor with " + std::to_string(op.exprs.size()) + " dims");
  }
  int64_t start = 0;
  int64_t row_stride = 0;
  for (size_t d = 0; d < rank; ++d) {
    const auto offset = integer(op.exprs[d], op.span());
    if (!offset) {
      return false;
    }
    const int64_t length = d + 1 == rank ? cols : d + 2 == rank ? rows : 1;
    if (*offset < 0 || length > view.dims[d] || *offset > view.dims[d] - length) {
      return fault(op.span(), spelling(op.kind) + " leaves " + name_of(op.operands[0]) + ": index " + std::to_string(*offset) +
                                  " to " + std::to_string(*offset + length - 1) + " in dimension " + std::to_string(d) +
                                  ", which has " + std::to_string(view.dims[d]));
    }
    start = start * view.dims[d] + *offset;
    row_stride = view.dims[d];
  }
  if (!spend(rows * cols, op.span())) {
    return false;
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      if (!f(r, c, static_cast<size_t>(start + r * row_stride + c), *view.tensor)) {
        return false;
      }
    }
  }
  return true;
}

bool TileEval::load(const Op& op) {
  auto tile = make_tile(op);
  if (!tile) {
    return false;
  }
  const bool ok = window(op, tile->rows, tile->cols, [&](int64_t r, int64_t c, size_t position, Tensor& tensor) {
    tile->at(r, c) = tensor.data[position];
    return tensor.is_written(position) || fault(op.span(), "element " + std::to_string(position) + " of " +
                                                               name_of(op.operands[0]) + " is read, but nothing wrote it");
  });
  return ok && define(op, std::move(*tile));
}

bool TileEval::store(const Op& op) {
  const TilePtr tile = tiles_.at(op.operands[1].index());
  if (tile == nullptr) {
    return fault(op.span(), name_of(op.operands[1]) + " has no value");
  }
  return window(op, tile->rows, tile->cols, [&](int64_t r, int64_t c, size_t position, Tensor& tensor) {
    const double value = tile->at(r, c);
    // A sum of products is converted on its way out.
    tensor.data[position] =
        tensor.dtype == tile->dtype ? value : cast_element(tensor.dtype, tile->dtype, value, isa::Round::Rint);
    if (!tensor.written.empty()) {
      tensor.written[position] = 1;
    }
    return true;
  });
}

}  // namespace

bool run_kernel(Session& session, const ir::Function& kernel, const Arguments& arguments) {
  return TileEval(session, kernel, arguments).run();
}

}  // namespace pto::eval
