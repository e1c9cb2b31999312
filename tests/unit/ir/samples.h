// Modules built by hand, one a level, and small builders, for the tests of whoever prints, parses, verifies or emits
// IR.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "src/ir/ir.h"

namespace pto::ir::samples {

// Shorthand over one function under construction. Ops go to the end of `region`, which starts as the body.
struct Builder {
  Function f;
  RegionId region;

  explicit Builder(FunctionKind kind, std::string name) {
    f.kind = kind;
    f.name = std::move(name);
    f.body = f.add_region();
    region = f.body;
  }

  ExprPool& e() { return f.exprs; }
  ExprId num(int64_t value) { return f.exprs.integer(value); }
  ExprId sym(SymId id) { return f.exprs.symbol(id); }

  ExprId dim(const std::string& name) {
    f.dims.push_back(f.add_symbol({name, SymKind::Dim, DType::I64}));
    return sym(f.dims.back());
  }
  SymId symbol(const std::string& name, SymKind kind) { return f.add_symbol({name, kind, DType::I64}); }

  static Type tensor(DType dtype, std::vector<ExprId> dims) {
    Type type;
    type.kind = TypeKind::Tensor;
    type.dtype = dtype;
    type.dims = std::move(dims);
    return type;
  }
  Type tile(DType dtype, int64_t rows, int64_t cols) { return tile(dtype, rows, cols, num(rows), num(cols)); }
  static Type tile(DType dtype, int64_t rows, int64_t cols, ExprId valid_rows, ExprId valid_cols) {
    Type type;
    type.kind = TypeKind::Tile;
    type.dtype = dtype;
    type.rows = rows;
    type.cols = cols;
    type.valid_rows = valid_rows;
    type.valid_cols = valid_cols;
    return type;
  }
  static Type placed(Type type, Space space, Layout layout = Layout::None) {
    type.space = space;
    type.layout = layout;
    return type;
  }

  ValueId param(const std::string& name, Type type, ParamMode mode = ParamMode::In, const std::string& doc = "") {
    Param param;
    param.name = name;
    param.doc = doc;
    param.mode = mode;
    param.type = type;
    param.value = f.add_value(std::move(type), name);
    f.params.push_back(param);
    if (f.kind == FunctionKind::Core) {
      f.tensors.push_back(param.value);
    }
    return param.value;
  }
  ExprId scalar_param(const std::string& name, DType dtype, std::optional<double> default_value = {}) {
    Param param;
    param.name = name;
    param.dtype = dtype;
    param.sym = f.add_symbol({name, SymKind::Scalar, dtype});
    param.default_value = default_value;
    f.params.push_back(param);
    if (is_float(dtype)) {
      f.exprs.mark_real(param.sym);
    }
    return sym(param.sym);
  }

  Op op(OpKind kind, std::vector<ValueId> operands = {}, std::vector<ExprId> exprs = {}) {
    Op op;
    op.kind = kind;
    op.operands = std::move(operands);
    op.exprs = std::move(exprs);
    return op;
  }
  ValueId add(Op op, Type result, const std::string& name = "") {
    const ValueId value = f.add_value(std::move(result), name);
    op.results = {value};
    f.add_op(region, std::move(op));
    return value;
  }
  ValueId add(OpKind kind, std::vector<ValueId> operands, Type result, const std::string& name = "") {
    return add(op(kind, std::move(operands)), std::move(result), name);
  }
  ValueId add_scalar(OpKind kind, ValueId value, ExprId scalar, ScalarSide side, Type result,
                     const std::string& name = "") {
    Op each = op(kind, {value}, {scalar});
    each.scalar_side = side;
    return add(std::move(each), std::move(result), name);
  }
  OpId run(Op op) { return f.add_op(region, std::move(op)); }
  ExprId let(const std::string& name, ExprId value) {
    Op each = op(OpKind::Let, {}, {value});
    each.syms = {symbol(name, SymKind::Let)};
    const SymId id = each.syms[0];
    run(std::move(each));
    return sym(id);
  }

  // Opens a loop; ops go to its body until `close`. `syms` are made by `symbol`.
  OpId open(Op op, std::vector<SymId> syms) {
    op.syms = std::move(syms);
    op.regions = {f.add_region()};
    const RegionId body = op.regions[0];
    const OpId id = run(std::move(op));
    outer_.push_back(region);
    region = body;
    return id;
  }
  void close() {
    region = outer_.back();
    outer_.pop_back();
  }
  void carry(OpId loop, ValueId init, const std::string& name) {
    Op& op = f.ops[loop];
    op.operands.push_back(init);
    const ValueId arg = f.add_value(f.type(init), name);
    f.regions[op.regions[0]].args.push_back(arg);
    const ValueId result = f.add_value(f.type(init), name);
    f.values[result].def = loop;
    f.ops[loop].results.push_back(result);
  }
  ValueId carried(OpId loop, size_t i) { return f.regions[f.ops[loop].regions[0]].args.at(i); }
  ValueId after(OpId loop, size_t i) { return f.ops[loop].results.at(i); }

  // Cores.
  isa::BufferId buf(const std::string& name, TileDesc tile, int64_t address, int64_t slots = 1) {
    isa::Buffer buffer;
    buffer.name = name;
    buffer.tile = tile;
    buffer.address = address;
    buffer.slots = slots;
    buffer.slot_stride = slots == 1 ? 0 : tile.bytes();
    f.buffers.push_back(buffer);
    f.buffer_spans.push_back({});
    return isa::BufferId(static_cast<uint32_t>(f.buffers.size() - 1));
  }
  OpId inst(isa::Opcode opcode, std::vector<isa::Operand> operands) {
    Op each = op(OpKind::Inst);
    each.inst = {opcode, std::move(operands)};
    return run(std::move(each));
  }
  static isa::Operand tile_operand(isa::OperandKind kind, isa::BufferId buffer, ExprId slot = {}) {
    isa::Operand operand;
    operand.kind = kind;
    operand.buffer = buffer;
    operand.slot = slot;
    return operand;
  }
  static isa::Operand gm(isa::OperandKind kind, uint32_t tensor, std::vector<ExprId> offsets) {
    isa::Operand operand;
    operand.kind = kind;
    operand.tensor = isa::TensorId(tensor);
    operand.offsets = std::move(offsets);
    return operand;
  }
  static isa::Operand value(isa::OperandKind kind, ExprId a, ExprId b = {}) {
    isa::Operand operand;
    operand.kind = kind;
    operand.a = a;
    operand.b = b;
    return operand;
  }
  static isa::Operand attribute(isa::OperandKind kind, int attribute) {
    isa::Operand operand;
    operand.kind = kind;
    operand.attribute = static_cast<uint8_t>(attribute);
    return operand;
  }
  void flag(isa::Opcode opcode, isa::Pipe from, isa::Pipe to, ExprId event) {
    inst(opcode, {attribute(isa::OperandKind::PipeSrc, static_cast<int>(from)),
                  attribute(isa::OperandKind::PipeDst, static_cast<int>(to)), value(isa::OperandKind::Event, event)});
  }

 private:
  std::vector<RegionId> outer_;
};

// A graph with scalars on both sides, reductions, a comparison, a call of two results and two outputs.
inline Module tensor_module() {
  Module module;
  {
    Builder b(FunctionKind::Graph, "split");
    const ExprId m = b.dim("M");
    const Type type = Builder::tensor(DType::F32, {m, b.num(64)});
    const ValueId x = b.param("x", type);
    const ExprId scale = b.scalar_param("scale", DType::F32, 0.5);
    const ValueId low = b.param("low", type, ParamMode::Out);
    const ValueId high = b.param("high", type, ParamMode::Out);
    const ValueId scaled = b.add_scalar(OpKind::Mul, x, scale, ScalarSide::Right, type);
    const ValueId rest = b.add(OpKind::Sub, {x, scaled}, type, "rest");
    b.run(b.op(OpKind::Assign, {low, scaled}));
    b.run(b.op(OpKind::Assign, {high, rest}));
    module.functions.push_back(std::move(b.f));
  }
  Builder b(FunctionKind::FusedGraph, "tensor_sample");
  b.f.doc = "What it does.\n\nAnd more.";
  const ExprId m = b.dim("M");
  const Type wide = Builder::tensor(DType::F32, {m, b.num(64)});
  const Type column = Builder::tensor(DType::F32, {m, b.num(1)});
  const ValueId x = b.param("x", wide, ParamMode::In, "the input");
  const ValueId w = b.param("w", Builder::tensor(DType::F16, {b.num(64), b.num(32)}));
  const ValueId v = b.param("v", Builder::tensor(DType::F32, {b.num(32)}));
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {m, b.num(32)}), ParamMode::Out);
  const ValueId z = b.param("z", Builder::tensor(DType::I32, {b.e().mul(m, b.num(64))}), ParamMode::Out);
  b.f.constraints.push_back({b.e().make(ExprOp::Le, m, b.num(8192)), "M <= 8192", {}});
  Op call = b.op(OpKind::Call, {x}, {b.e().real(0.25)});
  call.callee = "split";
  call.results = {b.f.add_value(wide, "low"), b.f.add_value(wide, "high")};
  const ValueId low = call.results[0];
  const ValueId high = call.results[1];
  b.run(std::move(call));
  Op reduce = b.op(OpKind::ReduceMax, {low});
  reduce.axis = 1;
  const ValueId peak = b.add(std::move(reduce), column, "max");
  const ValueId shifted = b.add(OpKind::Sub, {low, peak}, wide);
  const ValueId gate = b.add_scalar(OpKind::Div, shifted, b.e().real(1.0), ScalarSide::Left, wide, "x");
  const ValueId bounded = b.add_scalar(OpKind::Max, gate, b.e().real(-1.0), ScalarSide::Right, wide);
  Op less = b.op(OpKind::Compare, {bounded, high});
  less.cmp = isa::Cmp::Lt;
  const ValueId smaller = b.add(std::move(less), Builder::tensor(DType::Bool, {m, b.num(64)}), "smaller");
  Op select = b.op(OpKind::Select, {smaller, bounded}, {b.e().real(0.0)});
  select.scalar_side = ScalarSide::Right;
  const ValueId chosen = b.add(std::move(select), wide, "t0");
  const ValueId half = b.add(b.op(OpKind::Cast, {chosen}), Builder::tensor(DType::F16, {m, b.num(64)}), "half");
  const ValueId product = b.add(OpKind::MatMulBias, {half, w, v}, b.f.type(y));
  Op softmax = b.op(OpKind::Softmax, {product});
  softmax.axis = 1;
  b.run(b.op(OpKind::Assign, {y, b.add(std::move(softmax), b.f.type(y))}));
  Op cast = b.op(OpKind::Cast, {chosen});
  cast.round = isa::Round::Trunc;
  const ValueId whole = b.add(std::move(cast), Builder::tensor(DType::I32, {m, b.num(64)}));
  const ValueId flat = b.add(OpKind::Reshape, {whole}, b.f.type(z));
  const ValueId doubled = b.add_scalar(OpKind::Mul, flat, b.num(-2), ScalarSide::Right, b.f.type(z));
  const ValueId negated = b.add(OpKind::Neg, {doubled}, b.f.type(z), "row_max");
  b.run(b.op(OpKind::Assign, {z, negated}));
  module.functions.push_back(std::move(b.f));
  return module;
}

// The matrix product kernel with an accumulator, and a kernel of row operations with a swap of carried values.
inline Module tile_module() {
  Module module;
  {
    Builder b(FunctionKind::Kernel, "gemm");
    const ExprId m = b.dim("M");
    const ExprId n = b.dim("N");
    const ExprId k = b.dim("K");
    const ValueId a = b.param("a", Builder::tensor(DType::F16, {m, k}));
    const ValueId w = b.param("b", Builder::tensor(DType::F16, {k, n}));
    const ValueId c = b.param("c", Builder::tensor(DType::F32, {m, n}), ParamMode::Out);
    const SymId i = b.symbol("m", SymKind::Loop);
    const SymId j = b.symbol("n", SymKind::Loop);
    const SymId p = b.symbol("k", SymKind::Loop);
    b.open(b.op(OpKind::Parallel, {}, {b.num(0), m, b.num(128), b.num(0), n, b.num(256)}), {i, j});
    auto valid = [&](int64_t size, ExprId dim, SymId at) { return b.e().min(b.num(size), b.e().sub(dim, b.sym(at))); };
    const Type acc_type = Builder::tile(DType::F32, 128, 256, valid(128, m, i), valid(256, n, j));
    const ValueId zero = b.add(b.op(OpKind::Full, {}, {b.e().real(0.0)}), acc_type, "acc");
    Op loop = b.op(OpKind::For, {}, {b.num(0), k, b.num(64)});
    loop.pipeline = 2;
    const OpId inner = b.open(std::move(loop), {p});
    b.carry(inner, zero, "acc");
    const ValueId left = b.add(
        b.op(OpKind::Load, {a}, {b.sym(i), b.sym(p)}),
        Builder::placed(Builder::tile(DType::F16, 128, 64, valid(128, m, i), valid(64, k, p)), Space::Mat, Layout::Nz));
    const ValueId right = b.add(b.op(OpKind::Load, {w}, {b.sym(p), b.sym(j)}),
                                Builder::tile(DType::F16, 64, 256, valid(64, k, p), valid(256, n, j)), "rhs");
    const ValueId moved =
        b.add(OpKind::Move, {left}, Builder::placed(b.f.type(left), Space::Left, Layout::Zz), "moved");
    const ValueId next = b.add(OpKind::MatMul, {moved, right, b.carried(inner, 0)}, acc_type);
    b.run(b.op(OpKind::Yield, {next}));
    b.close();
    b.run(b.op(OpKind::Store, {c, b.after(inner, 0)}, {b.sym(i), b.sym(j)}));
    b.close();
    module.functions.push_back(std::move(b.f));
  }
  Builder b(FunctionKind::Kernel, "rows");
  const ExprId m = b.dim("M");
  const ValueId x = b.param("x", Builder::tensor(DType::F32, {b.num(2), m, b.num(64)}));
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {m, b.num(64)}), ParamMode::InOut);
  const SymId i = b.symbol("i", SymKind::Loop);
  b.open(b.op(OpKind::Parallel, {}, {b.num(0), m, b.num(8)}), {i});
  const ExprId row = b.let("row", b.e().mul(b.sym(i), b.num(2)));
  const Type type = Builder::tile(DType::F32, 8, 64, b.e().min(b.num(8), b.e().sub(m, b.sym(i))), b.num(64));
  auto column = [&](Type of) {
    of.cols = 1;
    of.valid_cols = b.num(1);
    return of;
  };
  const ValueId t = b.add(b.op(OpKind::Load, {x}, {b.num(1), b.sym(i), b.num(0)}), type, "t");
  const ValueId partly = b.add(b.op(OpKind::Full, {}, {b.e().real(1.5)}), type);
  const OpId loop =
      b.open(b.op(OpKind::For, {}, {b.num(1), b.e().add(row, b.num(1)), b.num(1)}), {b.symbol("i", SymKind::Loop)});
  b.carry(loop, t, "a");
  b.carry(loop, partly, "b");
  b.carry(loop, t, "c");
  Op max = b.op(OpKind::ReduceMax, {b.carried(loop, 2)});
  max.axis = 1;
  const ValueId peak = b.add(std::move(max), column(type), "peak");
  const ValueId low = b.add(OpKind::Sub, {b.carried(loop, 0), peak}, type);
  b.run(b.op(OpKind::Yield, {b.carried(loop, 1), b.carried(loop, 0), low}));
  b.close();
  Op pad = b.op(OpKind::FillPad, {b.after(loop, 1)});
  pad.pad = isa::Pad::Max;
  const ValueId padded = b.add(std::move(pad), b.tile(DType::F32, 8, 64), "for");
  const ValueId window =
      b.add(b.op(OpKind::Extract, {padded}, {b.num(0), b.num(16)}), b.tile(DType::F32, 8, 16), "window");
  Op min = b.op(OpKind::ReduceMin, {window});
  min.axis = 1;
  const ValueId extreme = b.add(std::move(min), b.tile(DType::F32, 8, 1));
  const ValueId wide =
      b.add(OpKind::Broadcast, {b.add(OpKind::Exp, {extreme}, b.tile(DType::F32, 8, 1))}, b.tile(DType::F32, 8, 64));
  const ValueId sum = b.add(OpKind::Add, {b.after(loop, 0), wide}, type);
  b.run(b.op(OpKind::Store, {y, sum}, {b.sym(i), b.num(0)}));
  b.close();
  module.functions.push_back(std::move(b.f));
  return module;
}

// A branch with a result, in a loop that carries it; its values come from an operation, a load and from outside.
inline Function branch_kernel() {
  Builder b(FunctionKind::Kernel, "choose");
  const ExprId m = b.dim("M");
  const ValueId x = b.param("x", Builder::tensor(DType::F32, {m, b.num(64)}));
  const ExprId n = b.scalar_param("n", DType::I32);
  const ValueId y = b.param("y", Builder::tensor(DType::F32, {m, b.num(64)}), ParamMode::Out);
  const SymId i = b.symbol("i", SymKind::Loop);
  const OpId parallel = b.open(b.op(OpKind::Parallel, {}, {b.num(0), m, b.num(8)}), {i});
  b.f.ops[parallel].split = isa::Split::Cols;
  b.f.ops[parallel].pipeline = 2;
  const Type type = Builder::tile(DType::F32, 8, 64, b.e().min(b.num(8), b.e().sub(m, b.sym(i))), b.num(64));
  const ValueId t = b.add(b.op(OpKind::Load, {x}, {b.sym(i), b.num(0)}), type, "t");
  const SymId j = b.symbol("j", SymKind::Loop);
  const OpId loop = b.open(b.op(OpKind::For, {}, {b.num(0), b.num(3), b.num(1)}), {j});
  b.carry(loop, t, "t");
  Op branch = b.op(OpKind::If, {}, {b.e().make(ExprOp::Lt, b.sym(j), n)});
  branch.regions = {b.f.add_region(), b.f.add_region()};
  const std::vector<RegionId> sides = branch.regions;
  const ValueId result = b.f.add_value(type, "t");
  const ValueId other = b.f.add_value(type, "t");
  branch.results = {result, other};
  b.run(std::move(branch));
  const RegionId outside = b.region;
  b.region = sides[0];
  b.let("k", b.e().mul(b.sym(j), b.num(2)));
  const ValueId next = b.add(OpKind::Exp, {b.carried(loop, 0)}, type);
  b.run(b.op(OpKind::Yield, {next, t}));
  b.region = sides[1];
  b.run(b.op(OpKind::Yield, {b.carried(loop, 0), b.add(b.op(OpKind::Load, {x}, {b.sym(i), b.num(0)}), type)}));
  b.region = outside;
  b.run(b.op(OpKind::Yield, {b.add(OpKind::Add, {result, other}, type)}));
  b.close();
  b.run(b.op(OpKind::Store, {y, b.after(loop, 0)}, {b.sym(i), b.num(0)}));
  b.close();
  return std::move(b.f);
}

inline Module branch_module() {
  Module module;
  module.functions.push_back(branch_kernel());
  return module;
}

// A vec core of every kind of operand, and a cube core with slots, a branch and a view.
inline Module block_module() {
  using isa::Opcode;
  using isa::OperandKind;
  using isa::Pipe;
  Module module;
  {
    Builder b(FunctionKind::Core, "scale");
    const ExprId m = b.dim("M");
    b.param("x", Builder::tensor(DType::F32, {m, b.num(64)}));
    const ExprId factor = b.scalar_param("factor", DType::F32);
    b.param("y", Builder::tensor(DType::F32, {m, b.num(64)}), ParamMode::Out);
    const isa::BufferId t = b.buf("t", {DType::F32, 16, 64, Layout::ND, Space::Vec}, 0);
    const isa::BufferId u = b.buf("u", {DType::F32, 16, 64, Layout::ND, Space::Vec}, 0x1000);
    const SymId i = b.symbol("i", SymKind::Loop);
    b.open(b.op(OpKind::For, {},
                {b.e().leaf(ExprOp::BlockIndex), b.e().ceildiv(m, b.num(16)), b.e().leaf(ExprOp::BlockCount)}),
           {i});
    const ExprId row = b.let("row", b.e().mul(b.sym(i), b.num(16)));
    const ExprId rows = b.e().min(b.num(16), b.e().sub(m, row));
    b.inst(Opcode::TLoad,
           {Builder::tile_operand(OperandKind::TileOut, t), Builder::gm(OperandKind::GmIn, 0, {row, b.num(0)}),
            Builder::value(OperandKind::Valid, rows, b.num(64))});
    b.flag(Opcode::SetFlag, Pipe::MTE2, Pipe::V, b.num(0));
    b.flag(Opcode::WaitFlag, Pipe::MTE2, Pipe::V, b.num(0));
    b.inst(Opcode::TMuls, {Builder::tile_operand(OperandKind::TileOut, u),
                           Builder::tile_operand(OperandKind::TileIn, t), Builder::value(OperandKind::Scalar, factor)});
    b.inst(Opcode::PipeBarrier, {Builder::attribute(OperandKind::PipeSrc, static_cast<int>(Pipe::V))});
    b.inst(Opcode::TAdds,
           {Builder::tile_operand(OperandKind::TileOut, t), Builder::tile_operand(OperandKind::TileIn, u),
            Builder::value(OperandKind::Scalar, b.e().real(2.0))});
    b.flag(Opcode::SetFlag, Pipe::V, Pipe::MTE3, b.num(0));
    b.flag(Opcode::WaitFlag, Pipe::V, Pipe::MTE3, b.num(0));
    b.inst(Opcode::TStore,
           {Builder::gm(OperandKind::GmOut, 1, {row, b.num(0)}), Builder::tile_operand(OperandKind::TileIn, t)});
    b.inst(Opcode::PipeBarrier, {Builder::attribute(OperandKind::PipeSrc, static_cast<int>(Pipe::All))});
    b.close();
    module.functions.push_back(std::move(b.f));
  }
  Builder b(FunctionKind::Core, "product");
  b.f.core_kind = CoreKind::Cube;
  b.f.doc = "One block of a product.";
  const ValueId a = b.param("a", Builder::tensor(DType::F16, {b.num(16), b.num(64)}), ParamMode::In, "left");
  b.param("w", Builder::tensor(DType::F16, {b.num(64), b.num(32)}));
  b.param("c", Builder::tensor(DType::F32, {b.num(16), b.num(32)}), ParamMode::InOut);
  const ValueId view = b.add(OpKind::Reshape, {a}, Builder::tensor(DType::F16, {b.num(4), b.num(256)}), "flat");
  b.f.tensors.push_back(view);
  const isa::BufferId am = b.buf("am", {DType::F16, 16, 32, Layout::Nz, Space::Mat}, 0, 2);
  const isa::BufferId wm = b.buf("wm", {DType::F16, 32, 32, Layout::Nz, Space::Mat}, 0x1000, 2);
  b.f.buffers[1].slot_stride = 0x1000;
  const isa::BufferId al = b.buf("left", {DType::F16, 16, 32, Layout::Zz, Space::Left}, 0);
  const isa::BufferId wr = b.buf("right", {DType::F16, 32, 32, Layout::Zn, Space::Right}, 0);
  const isa::BufferId acc = b.buf("acc", {DType::F32, 16, 32, Layout::Nz, Space::Acc}, 0);
  const SymId k = b.symbol("k", SymKind::Loop);
  b.open(b.op(OpKind::For, {}, {b.num(0), b.num(2), b.num(1)}), {k});
  const ExprId slot = b.sym(k);
  const ExprId at = b.e().mul(slot, b.num(32));
  b.inst(Opcode::TLoad, {Builder::tile_operand(OperandKind::TileOut, am, slot),
                         Builder::gm(OperandKind::GmIn, 0, {b.num(0), at}), Builder::value(OperandKind::Valid, {})});
  b.inst(Opcode::TLoad, {Builder::tile_operand(OperandKind::TileOut, wm, slot),
                         Builder::gm(OperandKind::GmIn, 1, {at, b.num(0)}), Builder::value(OperandKind::Valid, {})});
  b.inst(Opcode::PipeBarrier, {Builder::attribute(OperandKind::PipeSrc, static_cast<int>(Pipe::All))});
  b.inst(Opcode::TExtract,
         {Builder::tile_operand(OperandKind::TileOut, al), Builder::tile_operand(OperandKind::TileIn, am, slot),
          Builder::value(OperandKind::Index, b.num(0)), Builder::value(OperandKind::Index, b.num(0)),
          Builder::value(OperandKind::Valid, b.num(16), b.num(32))});
  b.inst(Opcode::TMov,
         {Builder::tile_operand(OperandKind::TileOut, wr), Builder::tile_operand(OperandKind::TileIn, wm, slot)});
  b.inst(Opcode::PipeBarrier, {Builder::attribute(OperandKind::PipeSrc, static_cast<int>(Pipe::All))});
  Op branch = b.op(OpKind::If, {}, {b.e().make(ExprOp::Eq, b.sym(k), b.num(0))});
  branch.regions = {b.f.add_region(), b.f.add_region()};
  const std::vector<RegionId> sides = branch.regions;
  b.run(std::move(branch));
  const RegionId body = b.region;
  b.region = sides[0];
  b.inst(Opcode::TMatMul,
         {Builder::tile_operand(OperandKind::TileOut, acc), Builder::tile_operand(OperandKind::TileIn, al),
          Builder::tile_operand(OperandKind::TileIn, wr)});
  b.region = sides[1];
  b.inst(Opcode::TMatMulAcc,
         {Builder::tile_operand(OperandKind::TileInOut, acc), Builder::tile_operand(OperandKind::TileIn, al),
          Builder::tile_operand(OperandKind::TileIn, wr)});
  b.region = body;
  b.inst(Opcode::PipeBarrier, {Builder::attribute(OperandKind::PipeSrc, static_cast<int>(Pipe::All))});
  b.close();
  b.inst(Opcode::TStore,
         {Builder::gm(OperandKind::GmOut, 2, {b.num(0), b.num(0)}), Builder::tile_operand(OperandKind::TileIn, acc)});
  module.functions.push_back(std::move(b.f));
  return module;
}

// The two halves of a pair, which pass one tile, and the pair.
inline Module pair_module() {
  using isa::Opcode;
  Module module;
  for (const CoreKind kind : {CoreKind::Cube, CoreKind::Vec}) {
    Builder b(FunctionKind::Core, kind == CoreKind::Cube ? "cube_half" : "vec_half");
    b.f.core_kind = kind;
    const ExprId m = b.dim("M");
    const ExprId n = b.scalar_param("n", DType::I32);
    b.param("x", Builder::tensor(DType::F32, {m, b.num(64)}), ParamMode::In);
    b.f.rings = {{"s", isa::RingDirection::C2V, DType::F32, 32, 64, 2, isa::Split::Rows}};
    b.f.ring_spans = {{}};
    isa::Operand ring;
    ring.kind = isa::OperandKind::Ring;
    ring.ring = isa::RingId(0);
    if (kind == CoreKind::Cube) {
      const auto t = b.buf("t", {DType::F32, 32, 64, Layout::Nz, Space::Acc}, 0);
      b.inst(Opcode::TPush, {ring, Builder::tile_operand(isa::OperandKind::TileIn, t)});
    } else {
      const auto t = b.buf("t", {DType::F32, 16, 64, Layout::ND, Space::Vec}, 0);
      b.inst(Opcode::TPop,
             {Builder::tile_operand(isa::OperandKind::TileOut, t), ring,
              Builder::value(isa::OperandKind::Valid, b.e().add(n, b.e().leaf(ExprOp::LaneIndex)), b.num(64))});
    }
    module.functions.push_back(std::move(b.f));
  }
  Builder b(FunctionKind::Pair, "both");
  const ExprId m = b.dim("M");
  b.param("x", Builder::tensor(DType::F32, {m, b.num(64)}), ParamMode::In);
  b.scalar_param("n", DType::I32);
  b.f.pair_cube = "cube_half";
  b.f.pair_vec = "vec_half";
  module.functions.push_back(std::move(b.f));
  return module;
}

// The core `scale` of block_module and a program that runs it twice through a workspace buffer.
inline Module exec_module() {
  Module module;
  module.functions.push_back(block_module().functions[0]);
  Builder b(FunctionKind::Program, "twice");
  b.f.doc = "Scales twice.";
  const ExprId m = b.dim("M");
  const Type type = Builder::tensor(DType::F32, {m, b.num(64)});
  const ValueId x = b.param("x", type);
  const ExprId factor = b.scalar_param("factor", DType::F32, 2.0);
  const ValueId y = b.param("y", type, ParamMode::Out);
  b.f.constraints.push_back({b.e().make(ExprOp::Eq, b.e().make(ExprOp::Mod, m, b.num(16)), b.num(0)), "M%16==0", {}});
  const ValueId spare = b.add(b.op(OpKind::Buffer, {}, {b.num(0)}), type, "spare");
  const ValueId h = b.add(b.op(OpKind::Buffer, {}, {b.e().mul(m, b.num(256))}), type, "h");
  auto task = [&](const std::string& name, std::vector<ValueId> tensors, ExprId scalar, std::vector<OpId> after) {
    Op op = b.op(OpKind::Task, std::move(tensors), {scalar});
    op.name = name;
    op.callee = "scale";
    op.task_dims = {m};
    op.blocks = b.e().min(b.num(48), b.e().ceildiv(m, b.num(16)));
    op.after = std::move(after);
    return b.run(std::move(op));
  };
  const OpId t0 = task("t0", {x, h}, factor, {});
  const OpId t1 = task("t1", {x, spare}, b.e().real(1.0), {});
  task("last", {h, y}, b.e().make(ExprOp::Div, b.e().real(1.0), factor), {t0, t1});
  module.functions.push_back(std::move(b.f));
  return module;
}

}  // namespace pto::ir::samples
