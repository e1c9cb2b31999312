#include "src/passes/tensor/tile_builder.h"

namespace pto::passes {

using ir::Op;
using ir::OpKind;
using ir::Type;
using ir::TypeKind;
using ir::ValueId;

TileBuilder::TileBuilder(const ir::Function& graph, ir::Function& kernel)
    : graph_(graph), kernel_(kernel), cloner_(graph, kernel) {
  kernel.kind = ir::FunctionKind::Kernel;
  kernel.name = graph.name;
  kernel.doc = graph.doc;
  kernel.span = graph.span;
  kernel.body = kernel.add_region();
  region_ = kernel.body;
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    if (graph.symbols[i].kind == SymKind::Dim || graph.symbols[i].kind == SymKind::Scalar) {
      const SymId sym = kernel.add_symbol(graph.symbols[i]);
      cloner_.map(SymId(static_cast<uint32_t>(i)), kernel.exprs.symbol(sym));
    }
  }
  auto symbol = [&](SymId old) { return kernel.exprs[cloner_.expr_of(old)].sym; };
  for (SymId dim : graph.dims) {
    kernel.dims.push_back(symbol(dim));
  }
  for (const ir::Param& old : graph.params) {
    ir::Param param = old;
    if (old.is_tensor()) {
      param.type = cloner_.type(old.type);
      param.value = kernel.add_value(param.type, old.name);
      cloner_.map(old.value, param.value);
    } else {
      param.sym = symbol(old.sym);
    }
    kernel.params.push_back(std::move(param));
  }
  for (const ir::Constraint& constraint : graph.constraints) {
    kernel.constraints.push_back({cloner_.expr(constraint.condition), constraint.text, constraint.span});
  }
}

SymId TileBuilder::loop_symbol(const std::string& name) {
  std::string unique = name;
  auto taken = [&](const std::string& candidate) {
    for (const Symbol& symbol : kernel_.symbols) {
      if (symbol.name == candidate) {
        return true;
      }
    }
    return false;
  };
  while (taken(unique)) {
    unique += "_";
  }
  return kernel_.add_symbol({unique, SymKind::Loop, DType::I64});
}

ValueId TileBuilder::add(Op op, Type type, const std::string& name) {
  const ValueId value = kernel_.add_value(std::move(type), name);
  op.results = {value};
  op.spans = spans_;
  kernel_.add_op(region_, std::move(op));
  return value;
}

ValueId TileBuilder::view(ValueId graph_param, std::vector<ExprId> dims) {
  const ValueId tensor = cloner_.value(graph_param);
  Type type = kernel_.type(tensor);
  if (type.dims == dims) {
    return tensor;
  }
  const auto key = std::make_pair(tensor, dims);
  const auto known = views_.find(key);
  if (known != views_.end()) {
    return known->second;
  }
  type.dims = std::move(dims);
  const ValueId result = kernel_.add_value(std::move(type), kernel_.values[tensor].name + "_view");
  Op op;
  op.kind = OpKind::Reshape;
  op.operands = {tensor};
  op.results = {result};
  op.spans = spans_;
  const ir::OpId id = make_op(kernel_, std::move(op));
  auto& ops = kernel_.body_region().ops;
  ops.insert(ops.begin() + static_cast<std::ptrdiff_t>(views_.size()), id);
  views_[key] = result;
  return result;
}

ExprId TileBuilder::remaining(ExprId extent, ExprId offset, int64_t step) {
  return exprs().min(exprs().integer(step), exprs().sub(extent, offset));
}

ValueId TileBuilder::load(ValueId tensor, std::vector<ExprId> offsets, int64_t rows, int64_t cols) {
  const Type source = kernel_.type(tensor);
  const size_t rank = source.dims.size();
  Type type;
  type.kind = TypeKind::Tile;
  type.dtype = source.dtype;
  type.rows = rows;
  type.cols = cols;
  type.valid_rows = rank >= 2 ? remaining(source.dims[rank - 2], offsets[rank - 2], rows) : exprs().integer(1);
  type.valid_cols = remaining(source.dims[rank - 1], offsets[rank - 1], cols);
  Op op;
  op.kind = OpKind::Load;
  op.operands = {tensor};
  op.exprs = std::move(offsets);
  return add(std::move(op), std::move(type), "");
}

void TileBuilder::store(ValueId tensor, std::vector<ExprId> offsets, ValueId tile) {
  Op op;
  op.kind = OpKind::Store;
  op.operands = {tensor, tile};
  op.exprs = std::move(offsets);
  op.spans = spans_;
  kernel_.add_op(region_, std::move(op));
}

ValueId TileBuilder::full(DType dtype, int64_t rows, int64_t cols, ExprId value) {
  Type type;
  type.kind = TypeKind::Tile;
  type.dtype = dtype;
  type.rows = rows;
  type.cols = cols;
  type.valid_rows = exprs().integer(rows);
  type.valid_cols = exprs().integer(cols);
  Op op;
  op.kind = OpKind::Full;
  op.exprs = {value};
  return add(std::move(op), std::move(type), "");
}

ValueId TileBuilder::elementwise(const Op& origin, const std::vector<ValueId>& inputs, DType dtype) {
  Op op;
  op.kind = origin.kind;
  op.operands = inputs;
  for (ExprId e : origin.exprs) {
    op.exprs.push_back(cloner_.expr(e));
  }
  op.scalar_side = origin.scalar_side;
  op.round = origin.round;
  op.cmp = origin.cmp;
  Type type = kernel_.type(inputs.back());  // the data operand: Select's first is the mask
  for (ValueId input : inputs) {            // broadcasting: the larger extent
    const Type& other = kernel_.type(input);
    if (other.rows > type.rows) {
      type.rows = other.rows;
      type.valid_rows = other.valid_rows;
    }
    if (other.cols > type.cols) {
      type.cols = other.cols;
      type.valid_cols = other.valid_cols;
    }
  }
  type.dtype = dtype;
  if (ir::op_info(origin.kind).shape == ir::OpShape::Reduce) {
    op.axis = 1;
    type.cols = 1;
    type.valid_cols = exprs().integer(1);
  }
  return add(std::move(op), std::move(type), "");
}

ValueId TileBuilder::binary(OpKind kind, ValueId a, ValueId b) {
  Op op;
  op.kind = kind;
  op.operands = {a, b};
  Type type = kernel_.type(b);
  return add(std::move(op), std::move(type), "");
}

ir::OpId TileBuilder::loop(OpKind kind, const std::vector<SymId>& symbols, const std::vector<ExprId>& extents,
                           const std::vector<int64_t>& steps) {
  Op op;
  op.kind = kind;
  op.syms = symbols;
  op.spans = spans_;
  for (size_t i = 0; i < symbols.size(); ++i) {
    op.exprs.push_back(exprs().integer(0));
    op.exprs.push_back(extents[i]);
    op.exprs.push_back(exprs().integer(steps[i]));
  }
  const ir::RegionId body = kernel_.add_region();
  op.regions = {body};
  const ir::OpId id = kernel_.add_op(region_, std::move(op));
  region_ = body;
  return id;
}

}  // namespace pto::passes
