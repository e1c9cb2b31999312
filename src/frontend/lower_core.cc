// Block level: buffers, views, and instructions, whose operands are read by their format's kinds.
#include <algorithm>

#include "src/frontend/lower.h"
#include "src/support/checked.h"

namespace pto::frontend {
namespace {

using isa::OperandKind;

constexpr int64_t kMostSlots = 4096;

std::string_view what_is(OperandKind kind) {
  switch (kind) {
    case OperandKind::TileOut:
    case OperandKind::TileIn:
    case OperandKind::TileInOut:
    case OperandKind::TileTmp:
      return "a buffer";
    case OperandKind::GmIn:
    case OperandKind::GmOut:
      return "a place in a tensor like `x[0, 0]`";
    case OperandKind::Scalar:
      return "a scalar";
    case OperandKind::Index:
      return "an index expression";
    case OperandKind::Valid:
      return "`valid(rows, cols)`";
    case OperandKind::Round:
      return "a rounding mode";
    case OperandKind::Cmp:
      return "a comparison";
    case OperandKind::Pad:
      return "a padding";
    case OperandKind::PipeSrc:
    case OperandKind::PipeDst:
      return "a pipe";
    case OperandKind::Event:
      return "an event id";
    case OperandKind::Ring:
      return "a ring";
  }
  return "";
}

std::string format_text(const isa::InstrInfo& info) {
  std::string out = "its operands are ";
  bool first = true;
  for (const OperandKind kind : isa::format_operands(info.format)) {
    out += first ? "" : ", ";
    out += what_is(kind);
    first = false;
  }
  return out;
}

}  // namespace

// The tensor that a name in a Gm operand stands for, through indices.
std::string Lower::base_tensor(ast::ExprRef ref) const {
  const ast::Expr& expr = at(ref);
  if (expr.kind == ast::ExprKind::Index) {
    return word(expr.a);
  }
  return expr.kind == ast::ExprKind::Name ? expr.text : "";
}

void Lower::note_directions(const ast::Block& block, std::map<std::string, std::string>& views,
                            std::set<std::string>& read, std::set<std::string>& written) const {
  for (const ast::Stmt& stmt : block.statements) {
    if (stmt.kind == ast::StmtKind::Let && stmt.names.size() == 1 && stmt.value.valid()) {
      const ast::Expr& value = at(stmt.value);
      if (value.kind == ast::ExprKind::Call && word(value.a) == "reshape" && !value.args.empty()) {
        const std::string base = base_tensor(value.args[0].value);
        const auto known = views.find(base);
        views[stmt.names[0].text] = known == views.end() ? base : known->second;
      }
    }
    for (const ast::Block& inner : stmt.blocks) {
      note_directions(inner, views, read, written);
    }
    if (stmt.kind != ast::StmtKind::Instruction) {
      continue;
    }
    const auto opcode = isa::opcode_from_mnemonic(stmt.names[0].text);
    if (!opcode) {
      continue;
    }
    const auto kinds = isa::format_operands(isa::info(*opcode).format);
    for (size_t i = 0; i < kinds.size() && i < stmt.operands.size(); ++i) {
      if (isa::is_gm(kinds[i])) {
        const std::string base = base_tensor(stmt.operands[i].value);
        const auto view = views.find(base);
        (kinds[i] == OperandKind::GmIn ? read : written).insert(view == views.end() ? base : view->second);
      }
    }
  }
}

// A core's parameters get their direction from its body; what is written must agree.
void Lower::core_directions() {
  std::map<std::string, std::string> views;
  std::set<std::string> read;
  std::set<std::string> written;
  note_directions(info_.item->body, views, read, written);
  auto check = [&](const ast::Param& param, bool is_result) {
    if (param.type.dims.empty()) {
      return;
    }
    const std::string& name = param.name.text;
    const bool reads = read.contains(name);
    const bool writes = written.contains(name);
    const std::string does = reads && writes ? "reads and writes it"
                             : reads         ? "only reads it"
                             : writes        ? "only writes it"
                                             : "never uses it";
    if ((is_result && (reads || !writes)) || (param.is_inout && !writes)) {
      error(DiagId::DirectionMismatch, param.span, {name, is_result ? "a result" : "`inout`", does});
    }
    core_modes_[name] = is_result || (writes && !reads && !param.is_inout) ? ir::ParamMode::Out
                        : writes                                           ? ir::ParamMode::InOut
                                                                           : ir::ParamMode::In;
  };
  for (const ast::Param& param : info_.item->params) {
    check(param, false);
  }
  for (const ast::Param& param : info_.item->results) {
    check(param, true);
  }
}

void Lower::buf_statement(const ast::Stmt& stmt) {
  const ast::Name& name = stmt.names[0];
  const ast::Type& type = stmt.types[0];
  const bool automatic = fn().automatic;
  auto poison = [&] { declare(name, poisoned()); };
  if (body_started_ || region_ != fn().body) {
    error(DiagId::WrongPlace, stmt.span, {"`buf`", "behind other statements"});
  }
  if (!type.is_tile) {
    error(DiagId::WrongType, type.span, {"`buf`", "a tile type like `tile f32[16, 64]`", "another type"});
    return poison();
  }
  const auto element = dtype(type.dtype);
  const auto rows = constant(type.dims[0], "a buffer's number of rows");
  const auto cols = constant(type.dims[1], "a buffer's number of columns");
  if (!element || !rows || !cols) {
    return poison();
  }
  isa::Buffer buffer;
  buffer.name = name.text;
  buffer.tile = {*element, *rows, *cols, Layout::ND, Space::None};
  ir::Type size;
  size.dtype = *element;
  size.rows = *rows;
  size.cols = *cols;
  const auto space = space_from_spelling(stmt.space.text);
  if (!space || *space == Space::None || *space == Space::Gm) {
    if (stmt.space.empty()) {
      error(DiagId::WrongPlace, stmt.span, {"a buffer without a memory", level_word()}).help("write `at vec:0x0`");
    } else {
      error(DiagId::UnknownValue, stmt.space.span,
            {stmt.space.text, "memory of a core", "`vec`, `mat`, `left`, `right`, `acc`, `bias` and `scaling`"});
    }
    return poison();
  }
  buffer.tile.space = *space;
  buffer.tile.layout = default_layout(*space);
  if (!stmt.layout.empty()) {
    const auto layout = layout_from_spelling(stmt.layout.text);
    if (!layout || *layout == Layout::None) {
      error(DiagId::UnknownValue, stmt.layout.span,
            {stmt.layout.text, "layout", "`nd`, `dn`, `nz`, `zn`, `zz` and `nn`"});
      return poison();
    }
    buffer.tile.layout = *layout;
  }
  if (!check_tile_size(size, type.span) || !buffer_place(stmt, buffer)) {
    return poison();
  }
  if (buffer.address < 0 && !automatic) {
    error(DiagId::BufferInvalid, stmt.span, {name.text, "it has no address"})
        .help("write `at " + stmt.space.text + ":0x0`, or make this an `auto core`");
    return poison();
  }
  if (module_.options.target != nullptr && buffer.address >= 0) {
    if (const auto problem = isa::check_buffer(buffer, *module_.options.target)) {
      error(DiagId::BufferInvalid, stmt.span, {name.text, *problem});
    }
  }
  Binding binding;
  binding.kind = Binding::Kind::Buffer;
  binding.index = static_cast<uint32_t>(fn().buffers.size());
  fn().buffers.push_back(std::move(buffer));
  fn().buffer_spans.push_back(stmt.span);
  declare(name, binding);
}

Layout Lower::default_layout(Space space) const {
  switch (space) {
    case Space::Mat:
    case Space::Acc:
      return Layout::Nz;
    case Space::Left:
      return module_.options.target != nullptr ? module_.options.target->left_layout : Layout::Zz;
    case Space::Right:
      return Layout::Zn;
    default:
      return Layout::ND;
  }
}

bool Lower::buffer_place(const ast::Stmt& stmt, isa::Buffer& buffer) {
  if (stmt.address.valid()) {
    const auto address = constant(stmt.address, "an address", 0);
    if (!address) {
      return false;
    }
    buffer.address = *address;
  }
  if (stmt.slots.valid()) {
    const auto slots = constant(stmt.slots, "a number of slots");
    if (!slots) {
      return false;
    }
    if (*slots > kMostSlots) {
      error(DiagId::BufferInvalid, at(stmt.slots).span,
            {buffer.name, "it has more than " + std::to_string(kMostSlots) + " slots"});
      return false;
    }
    buffer.slots = *slots;
  }
  if (stmt.stride.valid()) {
    const auto stride = constant(stmt.stride, "a stride");
    if (!stride) {
      return false;
    }
    if (*stride < buffer.tile.bytes()) {
      error(DiagId::BufferInvalid, at(stmt.stride).span,
            {buffer.name, "a stride of " + std::to_string(*stride) + " is less than a tile's " +
                              std::to_string(buffer.tile.bytes()) + " bytes"});
      return false;
    }
    buffer.slot_stride = buffer.slots == 1 ? 0 : *stride;
  } else if (buffer.slots > 1) {
    buffer.slot_stride = buffer.tile.bytes();
  }
  const auto span = checked_mul(buffer.slot_stride, buffer.slots);
  const auto end = span ? checked_add(*span, std::max<int64_t>(buffer.address, 0)) : std::nullopt;
  if (!end || !checked_add(*end, buffer.tile.bytes())) {
    error(DiagId::BufferInvalid, stmt.span, {buffer.name, "its last address does not fit 64 bits"});
    return false;
  }
  return true;
}

bool Lower::tile_operand(const ast::Expr& expr, isa::Operand& out) {
  const bool indexed = expr.kind == ast::ExprKind::Index;
  const ast::Expr& base = indexed ? at(expr.a) : expr;
  if (base.kind != ast::ExprKind::Name) {
    error(DiagId::WrongType, expr.span, {"this operand", "a buffer", "an expression"});
    return false;
  }
  const Binding* binding = lookup(base.text);
  if (binding == nullptr) {
    std::vector<std::string> names;
    for (const isa::Buffer& buffer : fn().buffers) {
      names.push_back(buffer.name);
    }
    unknown(DiagId::UnknownName, base.span, base.text, std::move(names));
    return false;
  }
  if (binding->kind == Binding::Kind::Poison) {
    return false;
  }
  if (binding->kind != Binding::Kind::Buffer) {
    error(DiagId::WrongType, base.span, {"this operand", "a buffer", "`" + base.text + "`, which is none"})
        .note(binding->span, "declared here");
    return false;
  }
  out.buffer = isa::BufferId(binding->index);
  if (!indexed) {
    return true;
  }
  const isa::Buffer& buffer = fn().buffers[binding->index];
  if (expr.slices.size() != 1 || expr.slices[0].kind != ast::SliceKind::Point) {
    error(DiagId::WrongType, expr.span, {"a buffer", "one slot like `" + base.text + "[0]`", "something else"});
    return false;
  }
  out.slot = index(expr.slices[0].a, "a slot");
  if (!out.slot.valid()) {
    return false;
  }
  const auto slot = fn().exprs.constant(out.slot);
  if (slot && (*slot < 0 || *slot >= buffer.slots)) {
    error(DiagId::OutOfBounds, expr.slices[0].span,
          {"slot " + std::to_string(*slot) + " of `" + base.text + "`, which has " + std::to_string(buffer.slots)});
    return false;
  }
  return true;
}

bool Lower::gm_operand(isa::OperandKind kind, const ast::Expr& expr, isa::Operand& out) {
  if (expr.kind != ast::ExprKind::Index || at(expr.a).kind != ast::ExprKind::Name) {
    error(DiagId::WrongType, expr.span, {"this operand", std::string(what_is(kind)), "something else"});
    return false;
  }
  const ast::Expr& base = at(expr.a);
  const Binding* binding = lookup(base.text);
  if (binding == nullptr) {
    unknown(DiagId::UnknownName, base.span, base.text, visible_names());
    return false;
  }
  if (binding->kind == Binding::Kind::Poison) {
    return false;
  }
  const auto tensor = std::find(fn().tensors.begin(), fn().tensors.end(), binding->value);
  if (binding->kind != Binding::Kind::Value || tensor == fn().tensors.end()) {
    error(DiagId::WrongType, base.span, {"this operand", "a tensor", "`" + base.text + "`, which is none"})
        .note(binding->span, "declared here");
    return false;
  }
  out.tensor = isa::TensorId(static_cast<uint32_t>(tensor - fn().tensors.begin()));
  const size_t rank = fn().type(binding->value).dims.size();
  if (expr.slices.size() != rank) {
    error(DiagId::RankMismatch, expr.span,
          {"a place in `" + base.text + "`", std::to_string(rank), std::to_string(expr.slices.size())});
    return false;
  }
  for (const ast::Slice& slice : expr.slices) {
    if (slice.kind != ast::SliceKind::Point) {
      error(DiagId::WrongPlace, slice.span,
            {"a range", "in an instruction: a tile covers the last dims from the place given"});
      return false;
    }
    const ExprId offset = index(slice.a, "an offset");
    if (!offset.valid()) {
      return false;
    }
    if (const auto value = fn().exprs.constant(offset); value && *value < 0) {
      error(DiagId::OutOfBounds, slice.span, {"offset " + std::to_string(*value) + " is in front of the tensor"});
      return false;
    }
    out.offsets.push_back(offset);
  }
  return true;
}

bool Lower::valid_operand(const ast::Expr& expr, isa::Operand& out) {
  if (!check_arguments(expr, "valid", 2, {})) {
    return false;
  }
  out.a = index(expr.args[0].value, "a number of rows");
  out.b = index(expr.args[1].value, "a number of columns");
  return out.a.valid() && out.b.valid();
}

bool Lower::pipe(const std::string& word, Span span, isa::Operand& out) {
  const auto pipe = isa::pipe_from_spelling(word);
  if (!pipe || *pipe == isa::Pipe::Route) {
    error(DiagId::UnknownValue, span, {word, "pipe", "`s`, `v`, `m`, `mte1`, `mte2`, `mte3`, `fix` and `all`"});
    return false;
  }
  out.attribute = static_cast<uint8_t>(*pipe);
  return true;
}

bool Lower::attribute_operand(isa::OperandKind kind, const ast::Operand& given, isa::Operand& out) {
  const std::string text = word(given.value);
  auto take = [&](auto value, std::string_view what, std::string_view known) {
    if (!value) {
      error(DiagId::UnknownValue, given.span, {text, std::string(what), std::string(known)});
      return false;
    }
    out.attribute = static_cast<uint8_t>(*value);
    return true;
  };
  switch (kind) {
    case OperandKind::Round:
      return take(isa::round_from_spelling(text), "rounding mode",
                  "`rint`, `round`, `floor`, `ceil`, `trunc` and `odd`");
    case OperandKind::Cmp:
      return take(isa::cmp_from_spelling(text), "comparison", "`eq`, `ne`, `lt`, `le`, `gt` and `ge`");
    case OperandKind::Pad:
      return take(isa::pad_from_spelling(text), "padding", "`zero`, `max` and `min`");
    default:
      return false;
  }
}

// A scalar has the element type of the tile it works on: a comparison's destination is a mask, so the last one read.
DType Lower::scalar_type_of(const isa::Inst& inst) const {
  DType type = DType::None;
  for (const isa::Operand& operand : inst.operands) {
    const bool sets = operand.kind == OperandKind::TileIn || (isa::is_tile(operand.kind) && type == DType::None);
    if (sets && operand.buffer.valid()) {
      type = fn().buffers[operand.buffer.index()].tile.dtype;
    }
  }
  return type;
}

bool Lower::operand(isa::OperandKind kind, const ast::Operand& given, isa::Operand& out, DType scalar) {
  const ast::Expr& expr = at(given.value);
  if (!given.arrow.empty() && kind != OperandKind::PipeSrc) {
    error(DiagId::WrongPlace, given.span, {"`->`", "in this operand"});
    return false;
  }
  if (isa::is_tile(kind)) {
    return tile_operand(expr, out);
  }
  if (isa::is_gm(kind)) {
    return gm_operand(kind, expr, out);
  }
  switch (kind) {
    case OperandKind::Ring:
      return ring_operand(expr, out);
    case OperandKind::Scalar:
      out.a = scalar_value(given.value, scalar, "a scalar operand");
      return out.a.valid();
    case OperandKind::Index:
    case OperandKind::Event:
      out.a = index(given.value, what_is(kind));
      return out.a.valid();
    case OperandKind::Valid:
      if (expr.kind != ast::ExprKind::Call || word(expr.a) != "valid") {
        error(DiagId::WrongType, given.span, {"this operand", std::string(what_is(kind)), "something else"});
        return false;
      }
      return valid_operand(expr, out);
    case OperandKind::PipeSrc:
    case OperandKind::PipeDst:
      return pipe(word(given.value), expr.span, out);
    default:
      return attribute_operand(kind, given, out);
  }
}

void Lower::instruction(const ast::Stmt& stmt) {
  const ast::Name& mnemonic = stmt.names[0];
  const auto opcode = isa::opcode_from_mnemonic(mnemonic.text);
  if (!opcode) {
    std::vector<std::string> names;
    for (const isa::InstrInfo& each : isa::all_instructions()) {
      names.emplace_back(each.mnemonic);
    }
    unknown(DiagId::UnknownInstruction, mnemonic.span, mnemonic.text, std::move(names));
    return;
  }
  const isa::InstrInfo& info = isa::info(*opcode);
  isa::Inst inst;
  inst.opcode = *opcode;
  const auto kinds = isa::format_operands(info.format);
  // Two passes: a scalar's type is known when the tiles are.
  std::vector<std::pair<size_t, const ast::Operand*>> scalars;
  bool ok = true;
  size_t next = 0;
  auto wrong = [&](const std::string& found) {
    error(DiagId::ArgumentCount, stmt.span, {mnemonic.text, "other operands", found}).help(format_text(info));
  };
  for (size_t i = 0; i < kinds.size(); ++i) {
    isa::Operand out;
    out.kind = kinds[i];
    if (kinds[i] == OperandKind::PipeDst) {
      const ast::Name& arrow = stmt.operands[next - 1].arrow;
      if (arrow.empty()) {
        return wrong("no `-> pipe`");
      }
      ok = pipe(arrow.text, arrow.span, out) && ok;
    } else if (next >= stmt.operands.size()) {
      if (kinds[i] != OperandKind::Valid) {
        return wrong(std::to_string(stmt.operands.size()));
      }
    } else if (kinds[i] == OperandKind::Scalar) {
      scalars.emplace_back(i, &stmt.operands[next++]);
    } else {
      const bool pair_follows = i + 1 < kinds.size() && kinds[i + 1] == OperandKind::PipeDst;
      if (kinds[i] == OperandKind::PipeSrc && !pair_follows && !stmt.operands[next].arrow.empty()) {
        return wrong("`->`");
      }
      ok = operand(kinds[i], stmt.operands[next++], out, DType::None) && ok;
    }
    inst.operands.push_back(std::move(out));
  }
  if (next != stmt.operands.size()) {
    return wrong(std::to_string(stmt.operands.size()));
  }
  for (const auto& [place, given] : scalars) {
    const DType type = scalar_type_of(inst);
    ok = (!ok || operand(OperandKind::Scalar, *given, inst.operands[place], type)) && ok;
  }
  if (!ok) {
    return;
  }
  check_against_target(inst, stmt);
  ir::Op op;
  op.kind = ir::OpKind::Inst;
  op.inst = std::move(inst);
  emit_effect(std::move(op), stmt.span);
}

void Lower::check_against_target(const isa::Inst& inst, const ast::Stmt& stmt) {
  if (module_.options.target == nullptr) {
    return;
  }
  std::vector<isa::TensorInfo> tensors;
  for (const ir::ValueId value : fn().tensors) {
    tensors.push_back({fn().type(value).dtype, static_cast<int>(fn().type(value).dims.size())});
  }
  if (const auto problem = isa::check_instruction(inst, fn().buffers, fn().rings, tensors, *module_.options.target)) {
    error(DiagId::InstructionInvalid, stmt.span, {stmt.names[0].text, *problem});
  }
}

}  // namespace pto::frontend
