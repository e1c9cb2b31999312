// Selection, the structure: blocks over cores, loops, buffers, carried values. Operations are in select_ops.cc.
//
// A `parallel` of T blocks becomes a loop over the blocks of one core: block_index(), block_index() + block_count(),
// ... Every tile gets a buffer. In a pipelined loop a tile's buffer has one slot an iteration in flight, unless only
// one pipe ever touches it. A carried tile lives in one buffer; an accumulator that starts from zeros or a bias has no
// value before the first product, which overwrites instead of adding.
#include "src/passes/block/selector.h"

#include <algorithm>
#include <set>

#include "pto/result.h"

namespace pto::passes {

using ir::FunctionKind;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;
using isa::OperandKind;

Selector::Selector(const ir::Function& kernel, const MixedPlan& plan, CoreKind side, const Target& target,
                   DiagnosticSink& sink)
    : kernel_(kernel),
      plan_(plan),
      side_(side),
      target_(target),
      sink_(sink),
      cloner_(kernel, core_),
      uses_(uses_of(kernel)) {}

std::optional<SelectedKernel> Selector::run() {
  copy_interface();
  blocks_ = exprs().integer(1);
  if (!region(kernel_.body)) {
    return std::nullopt;
  }
  stop_rotating_private_buffers();
  if (plan_.mixed()) {
    remove_unused_lets();
  }
  return SelectedKernel{std::move(core_), blocks_};
}

void Selector::copy_interface() {
  core_.kind = FunctionKind::Core;
  core_.automatic = true;
  core_.core_kind = side_;
  core_.name = kernel_.name + "_" + std::string(spelling(side_));
  core_.doc = kernel_.doc;
  core_.span = kernel_.span;
  core_.body = core_.add_region();
  core_.rings = plan_.rings;
  core_.ring_spans.assign(plan_.rings.size(), kernel_.span);
  region_ = core_.body;
  for (SymId dim : kernel_.dims) {
    core_.dims.push_back(exprs()[cloner_.expr_of(dim)].sym);
  }
  if (!plan_.mixed()) {
    for (const ir::Param& old : kernel_.params) {
      add_param(old, old.mode);
    }
  } else {
    // A half has the tensors that it touches, with the direction that it needs: what is written only comes last.
    std::map<ValueId, std::pair<bool, bool>> touched;  // read, written
    for_each_op(kernel_, [&](OpId id) {
      const Op& op = kernel_.ops[id];
      if (mine(id) && (op.kind == OpKind::Load || op.kind == OpKind::Store)) {
        auto& [read, written] = touched[root_tensor(kernel_, op.operands[0])];
        (op.kind == OpKind::Load ? read : written) = true;
      }
    });
    for (const bool outputs : {false, true}) {
      for (const ir::Param& old : kernel_.params) {
        const auto [read, written] = old.is_tensor() ? touched[old.value] : std::pair(true, false);
        if ((read || written) && outputs == (written && !read)) {
          add_param(old, !written ? ir::ParamMode::In : read ? ir::ParamMode::InOut : ir::ParamMode::Out);
        }
      }
    }
  }
  for (const ir::Constraint& constraint : kernel_.constraints) {
    core_.constraints.push_back({expr(constraint.condition), constraint.text, constraint.span});
  }
}

void Selector::add_param(const ir::Param& old, ir::ParamMode mode) {
  ir::Param param = old;
  param.mode = mode;
  if (old.is_tensor()) {
    param.type = cloner_.type(old.type);
    param.value = core_.add_value(param.type, old.name);
    tensors_[old.value] = static_cast<uint32_t>(core_.tensors.size());
    core_.tensors.push_back(param.value);
    cloner_.map(old.value, param.value);
  } else {
    param.sym = exprs()[cloner_.expr_of(old.sym)].sym;
  }
  core_.params.push_back(std::move(param));
}

bool Selector::region(ir::RegionId id) {
  const std::vector<OpId>& ops = kernel_.regions[id].ops;
  return std::all_of(ops.begin(), ops.end(), [&](OpId op) { return statement(op) && free_behind(op); });
}

bool Selector::statement(OpId id) {
  const Op& op = kernel_.ops[id];
  if (!mine(id)) {
    return true;
  }
  if (plan_.crossings.count(id) != 0) {
    return cross(id);
  }
  switch (op.kind) {
    case OpKind::Reshape: {
      Op view;
      view.kind = OpKind::Reshape;
      view.operands = {cloner_.value(op.operands[0])};
      view.spans = op.spans;
      view.results = {core_.add_value(cloner_.type(kernel_.type(op.results[0])), kernel_.values[op.results[0]].name)};
      tensors_[op.results[0]] = static_cast<uint32_t>(core_.tensors.size());
      core_.tensors.push_back(view.results[0]);
      cloner_.map(op.results[0], view.results[0]);
      core_.add_op(core_.body, std::move(view));
      return true;
    }
    case OpKind::Parallel:
      return parallel(op);
    case OpKind::For:
      return for_loop(id);
    case OpKind::If:
      return branch(id);
    case OpKind::Let:
      if (region_ == core_.body) {  // outside the blocks: their number may depend on it, so it goes where it is used
        cloner_.map(op.syms[0], expr(op.exprs[0]));
      } else {
        let(op.syms[0], expr(op.exprs[0]), op.spans);
      }
      return true;
    case OpKind::Yield:
      return true;
    default:
      return operation(op);
  }
}

ExprId Selector::let(SymId kernel_symbol, ExprId value, const std::vector<Span>& spans) {
  Symbol symbol = kernel_.symbols[kernel_symbol.index()];
  symbol.kind = SymKind::Let;
  Op op;
  op.kind = OpKind::Let;
  op.syms = {core_.add_symbol(symbol)};
  op.exprs = {value};
  op.spans = spans;
  const ExprId result = exprs().symbol(op.syms[0]);
  core_.add_op(region_, std::move(op));
  cloner_.map(kernel_symbol, result);
  return result;
}

void Selector::enter_loop(SymId counter, ExprId trip, const std::vector<Span>& spans) {
  Op loop;
  loop.kind = OpKind::For;
  loop.syms = {counter};
  loop.exprs = {exprs().integer(0), trip, exprs().integer(1)};
  loop.spans = spans;
  const ir::RegionId body = core_.add_region();
  loop.regions = {body};
  core_.add_op(region_, std::move(loop));
  region_ = body;
}

// A name that no symbol of the core or the kernel has.
std::string Selector::fresh_symbol(const std::string& base) const {
  std::string name = base;
  auto taken = [&](const std::vector<Symbol>& symbols) {
    return std::any_of(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.name == name; });
  };
  for (int i = 1; taken(core_.symbols) || taken(kernel_.symbols); ++i) {
    name = base + std::to_string(i);
  }
  return name;
}

bool Selector::parallel(const Op& op) {
  const ir::RegionId outside = region_;
  const Rotation outer = rotation_;
  std::vector<ExprId> counts;
  ExprId blocks = exprs().integer(1);
  for (size_t i = 0; i < op.syms.size(); ++i) {
    counts.push_back(
        exprs().ceildiv(exprs().sub(expr(op.exprs[3 * i + 1]), expr(op.exprs[3 * i])), expr(op.exprs[3 * i + 2])));
    blocks = exprs().mul(blocks, counts.back());
  }
  blocks_ = blocks;
  const ExprId index = exprs().leaf(ExprOp::BlockIndex);
  const ExprId count = exprs().leaf(ExprOp::BlockCount);
  const SymId counter = core_.add_symbol({fresh_symbol("it"), SymKind::Loop, DType::I64});
  enter_loop(counter, exprs().ceildiv(exprs().sub(blocks, index), count), op.spans);
  rotation_ = {exprs().symbol(counter), std::max<int64_t>(1, op.pipeline)};
  Op block;
  block.kind = OpKind::Let;
  block.syms = {core_.add_symbol({fresh_symbol("block"), SymKind::Let, DType::I64})};
  block.exprs = {exprs().add(index, exprs().mul(exprs().symbol(counter), count))};
  block.spans = op.spans;
  const ExprId b = exprs().symbol(block.syms[0]);
  core_.add_op(region_, std::move(block));
  // The last variable runs fastest.
  for (size_t i = 0; i < op.syms.size(); ++i) {
    ExprId position = b;
    if (op.syms.size() == 2) {
      position = exprs().make(i == 0 ? ExprOp::FloorDiv : ExprOp::Mod, b, counts[1]);
    }
    let(op.syms[i], exprs().add(expr(op.exprs[3 * i]), exprs().mul(position, expr(op.exprs[3 * i + 2]))), op.spans);
  }
  const bool ok = region(op.regions[0]);
  region_ = outside;
  rotation_ = outer;
  return ok;
}

// Does the loop's core form need a counter from zero: for slots, or to tell the first iteration?
bool Selector::needs_counter(const Op& loop) const {
  return loop.pipeline > 1 || std::any_of(loop.operands.begin(), loop.operands.end(),
                                          [&](ValueId init) { return starts_.count(init) != 0; });
}

// Prepares the buffer of the loop's i-th carried tile, and what the body and the code after the loop see of it.
bool Selector::carry_in(const Op& loop, size_t i, ExprId first) {
  const ir::Region& body = kernel_.regions[loop.regions[0]];
  const ValueId init = loop.operands[i];
  const ValueId arg = body.args[i];
  const auto start = starts_.find(init);
  TileRef ref;
  if (start != starts_.end()) {
    if (exprs().constant(expr(loop.exprs[0])) != 0 || lower_bound(core_, expr(loop.exprs[1])).value_or(0) < 1) {
      sink_.report(DiagId::LoopMayNotRun, loop.span(), {kernel_.name});
      return false;
    }
    const Start outer = start->second;
    ref = tiles_.at(init);
    const ExprId condition = outer.first.valid() ? exprs().make(ExprOp::And, outer.first, first) : first;
    starts_[arg] = {outer.bias, condition};
  } else if (uses_.at(init).size() == 1) {
    ref = use(init);
  } else {
    ref = new_buffer(describe(init), kernel_.values[arg].name, loop.spans);
    copy(loop, ref, use(init));
  }
  tiles_[arg] = ref;
  tiles_[loop.results[i]] = ref;
  // The yielded tile is written straight into the carried buffer when nobody reads the old value after that.
  const ValueId yielded = kernel_.ops[body.ops.back()].operands[i];
  const OpId def = kernel_.values[yielded].def;
  const auto position = std::find(body.ops.begin(), body.ops.end(), def);
  if (position == body.ops.end() || starts_.count(arg) != 0) {
    return true;
  }
  const bool read_later = used_after(loop.regions[0], def, arg);
  if (!read_later && directed_.count(yielded) == 0) {
    directed_[yielded] = ref;
  }
  return true;
}

bool Selector::mentions(OpId id, ValueId value) const {
  const Op& op = kernel_.ops[id];
  return std::find(op.operands.begin(), op.operands.end(), value) != op.operands.end() ||
         std::any_of(op.regions.begin(), op.regions.end(), [&](ir::RegionId region) {
           const auto& ops = kernel_.regions[region].ops;
           return std::any_of(ops.begin(), ops.end(), [&](OpId inner) { return mentions(inner, value); });
         });
}

// Does an op behind `position`, which stands in the region itself, use the value?
bool Selector::used_after(ir::RegionId region, OpId position, ValueId value) const {
  const auto& ops = kernel_.regions[region].ops;
  const auto at = std::find(ops.begin(), ops.end(), position);
  return at != ops.end() && std::any_of(at + 1, ops.end(), [&](OpId id) { return mentions(id, value); });
}

// At the end of the body what is carried goes to its place.
void Selector::carry_out(const Op& loop) {
  const ir::Region& body = kernel_.regions[loop.regions[0]];
  std::vector<Copy> copies;
  for (size_t i = 0; i < loop.operands.size(); ++i) {
    const ValueId yielded = kernel_.ops[body.ops.back()].operands[i];
    if (!mine(yielded)) {
      continue;
    }
    copies.push_back({tiles_.at(body.args[i]), use(yielded), yielded});
  }
  copy_together(loop, std::move(copies));
}

// Copies as if all at once: a tile that an earlier copy overwrites is saved first.
void Selector::copy_together(const Op& origin, std::vector<Copy> copies) {
  copies.erase(std::remove_if(copies.begin(), copies.end(),
                              [](const Copy& c) { return c.from.buffer == c.to.buffer && c.from.slot == c.to.slot; }),
               copies.end());
  for (size_t i = 0; i < copies.size(); ++i) {
    for (size_t j = i + 1; j < copies.size(); ++j) {
      if (copies[j].from.buffer == copies[i].to.buffer) {
        const TileRef saved = new_buffer(describe(copies[j].value), "saved", origin.spans);
        copy(origin, saved, copies[j].from);
        copies[j].from = saved;
      }
    }
  }
  for (const Copy& c : copies) {
    copy(origin, c.to, c.from);
  }
}

bool Selector::for_loop(OpId id) {
  const Op& loop = kernel_.ops[id];
  if (const auto stages = stages_of(loop)) {
    return skewed_loop(loop, *stages);
  }
  const ir::RegionId outside = region_;
  const Rotation outer = rotation_;
  const ExprId lo = expr(loop.exprs[0]);
  const ExprId step = expr(loop.exprs[2]);
  const ExprId trip = exprs().ceildiv(exprs().sub(expr(loop.exprs[1]), lo), step);
  Symbol symbol = kernel_.symbols[loop.syms[0].index()];
  const bool plain = exprs().constant(lo) == 0 && exprs().constant(step) == 1;
  const bool counted = needs_counter(loop) && !plain;
  if (counted) {
    symbol.name = fresh_symbol(symbol.name + "_i");
  }
  const SymId counter = core_.add_symbol(symbol);
  const ExprId first = exprs().make(ExprOp::Eq, exprs().symbol(counter), exprs().integer(0));
  for (size_t i = 0; i < loop.operands.size(); ++i) {
    if (mine(loop.operands[i]) && !carry_in(loop, i, first)) {
      return false;
    }
  }
  enter_loop(counter, trip, loop.spans);
  if (!counted && !plain) {
    core_.ops[core_.regions[outside].ops.back()].exprs = {lo, expr(loop.exprs[1]), step};
  }
  rotation_ = {exprs().symbol(counter), std::max<int64_t>(1, loop.pipeline)};
  if (counted) {
    let(loop.syms[0], exprs().add(lo, exprs().mul(exprs().symbol(counter), step)), loop.spans);
  } else {
    cloner_.map(loop.syms[0], exprs().symbol(counter));
  }
  if (!region(loop.regions[0])) {
    return false;
  }
  carry_out(loop);
  region_ = outside;
  rotation_ = outer;
  return true;
}

// ---- building

TileDesc Selector::describe(ValueId value) const {
  const ir::Type& type = kernel_.type(value);
  TileDesc tile{type.dtype, type.rows, type.cols, type.layout, type.space};
  if (shared(value)) {
    (plan_.axis == isa::Split::Rows ? tile.rows : tile.cols) /= 2;
  }
  if (type.dtype == DType::Bool) {  // a mask: one bit a column
    tile.dtype = DType::U8;
    tile.cols = round_up((type.cols + 7) / 8, 32);
    tile.layout = Layout::ND;  // of a column's comparison too
  }
  return tile;
}

isa::BufferId Selector::add_buffer(const TileDesc& tile, const std::string& name, int64_t slots,
                                   const std::vector<Span>& spans) {
  isa::Buffer buffer;
  const std::string base = name.empty() ? "t" : name;
  const int number = names_[base]++;
  buffer.name = number == 0 ? base : base + "_" + std::to_string(number);
  buffer.tile = tile;
  buffer.slots = slots;
  buffer.slot_stride = slots == 1 ? 0 : slot_stride(tile, target_);
  core_.buffers.push_back(std::move(buffer));
  core_.buffer_spans.push_back(spans.empty() ? Span{} : spans.front());
  return isa::BufferId(static_cast<uint32_t>(core_.buffers.size() - 1));
}

Selector::TileRef Selector::new_buffer(const TileDesc& tile, const std::string& name, const std::vector<Span>& spans) {
  TileRef ref{add_buffer(tile, name, rotation_.depth, spans), ExprId()};
  if (rotation_.depth > 1) {
    ref.slot = exprs().make(ExprOp::Mod, rotation_.counter, exprs().integer(rotation_.depth));
  }
  return ref;
}

Selector::TileRef Selector::define(const Op& op, size_t result) {
  const ValueId value = op.results[result];
  const auto directed = directed_.find(value);
  const TileRef ref = directed != directed_.end() ? directed->second
                                                  : new_buffer(describe(value), kernel_.values[value].name, op.spans);
  tiles_[value] = ref;
  return ref;
}

Selector::TileRef Selector::use(ValueId value) const {
  const auto it = tiles_.find(value);
  PTO_CHECK(it != tiles_.end(), "a tile is selected before its uses");
  return it->second;
}

isa::Operand Selector::tile(OperandKind kind, const TileRef& ref) const {
  isa::Operand operand;
  operand.kind = kind;
  operand.buffer = ref.buffer;
  operand.slot = ref.slot;
  return operand;
}

isa::Operand Selector::scalar(ExprId value) const {
  isa::Operand operand;
  operand.kind = OperandKind::Scalar;
  operand.a = value;
  return operand;
}

isa::Operand Selector::valid(ValueId value) {
  const ir::Type& type = kernel_.type(value);
  const TileDesc tile = describe(value);
  isa::Operand operand;
  operand.kind = OperandKind::Valid;
  ExprId rows = expr(type.valid_rows);
  ExprId cols = expr(type.valid_cols);
  auto share = [&](ExprId whole, int64_t extent, int64_t half) {
    if (exprs().constant(whole) == extent) {
      return exprs().integer(half);
    }
    const ExprId left = exprs().sub(whole, lane_start(extent));
    return exprs().make(ExprOp::Max, exprs().integer(0), exprs().min(exprs().integer(half), left));
  };
  if (shared(value) && plan_.axis == isa::Split::Rows) {
    rows = share(rows, type.rows, tile.rows);
  } else if (shared(value)) {
    cols = share(cols, type.cols, tile.cols);
  }
  if (exprs().constant(rows) != tile.rows || exprs().constant(cols) != tile.cols) {
    operand.a = rows;
    operand.b = cols;
  }
  return operand;
}

isa::Operand Selector::window(OperandKind kind, ValueId tensor, const std::vector<ExprId>& offsets, ValueId tile) {
  isa::Operand operand;
  operand.kind = kind;
  operand.tensor = isa::TensorId(tensors_.at(tensor));
  for (ExprId offset : offsets) {
    operand.offsets.push_back(expr(offset));
  }
  if (shared(tile)) {
    const bool rows = plan_.axis == isa::Split::Rows;
    const ir::Type& type = kernel_.type(tile);
    ExprId& offset = operand.offsets[operand.offsets.size() - (rows ? 2 : 1)];
    offset = exprs().add(offset, lane_start(rows ? type.rows : type.cols));
  }
  return operand;
}

bool Selector::emit(const Op& origin, isa::Opcode opcode, std::vector<isa::Operand> operands) {
  Op op;
  op.kind = OpKind::Inst;
  op.inst = {opcode, std::move(operands)};
  op.spans = origin.spans;
  std::vector<isa::TensorInfo> tensors;
  for (ValueId value : core_.tensors) {
    tensors.push_back({core_.type(value).dtype, static_cast<int>(core_.type(value).dims.size())});
  }
  const auto problem = isa::check_instruction(op.inst, core_.buffers, core_.rings, tensors, target_);
  if (problem) {
    sink_.report(DiagId::NoInstruction, origin.span(),
                 {target_.name, std::string(ir::op_info(origin.kind).spelling), *problem});
    return false;
  }
  core_.add_op(region_, std::move(op));
  return true;
}

void Selector::copy(const Op& origin, const TileRef& to, const TileRef& from) {
  emit(origin, isa::Opcode::TMov, {tile(OperandKind::TileOut, to), tile(OperandKind::TileIn, from)});
}

// Slots serve overlap between pipes. A buffer that one pipe alone touches needs one slot: that pipe works in order.
void Selector::stop_rotating_private_buffers() {
  std::vector<std::set<isa::Pipe>> pipes(core_.buffers.size());
  for_each_op(core_, [&](OpId id) {
    const Op& op = core_.ops[id];
    if (op.kind != OpKind::Inst) {
      return;
    }
    for (const isa::Operand& operand : op.inst.operands) {
      if (isa::is_tile(operand.kind)) {
        pipes[operand.buffer.index()].insert(isa::pipe_of(op.inst, core_.buffers, target_));
      }
    }
  });
  for (size_t i = 0; i < pipes.size(); ++i) {
    if (pipes[i].size() < 2 && ring_buffers_.count(isa::BufferId(static_cast<uint32_t>(i))) == 0) {
      core_.buffers[i].slots = 1;
      core_.buffers[i].slot_stride = 0;
    }
  }
  for_each_op(core_, [&](OpId id) {
    for (isa::Operand& operand : core_.ops[id].inst.operands) {
      if (isa::is_tile(operand.kind) && core_.buffers[operand.buffer.index()].slots == 1) {
        operand.slot = ExprId();
      }
    }
  });
}

}  // namespace pto::passes
