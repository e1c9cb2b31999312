// From an object's core program to a Program: statements to walk steps, operands to registers, slots and tensors.
#include <algorithm>

#include "runtime/machine/expressions.h"
#include "runtime/machine/program.h"
#include "src/support/checked.h"

namespace pto::runtime {
namespace {

constexpr int64_t kMostSlots = int64_t{1} << 20;
constexpr size_t kMostOverlaps = size_t{1} << 20;

class Decoder {
 public:
  Decoder(const object::Core& core, const TaskPlan& plan, const Target& target, Program& out, Fault& fault)
      : core_(core), plan_(plan), target_(target), out_(out), fault_(fault), expressions_(core, plan, prepare(out)) {}

  bool run() {
    if (!find_ring_buffers() || !place_slots() || !check_ring_memory() || !add_tensors()) {
      return false;
    }
    for (uint32_t i = 0; i < core_.code.size(); ++i) {
      if (!statement(i)) {
        return false;
      }
    }
    if (!open_.empty()) {
      return fail("its loops and branches don't nest");
    }
    out_.walk.push_back({});
    number_flag_pairs();
    expressions_.finish();
    return true;
  }

 private:
  Program& prepare(Program& out) {
    out.core = &core_;
    out.blocks = plan_.blocks;
    return out;
  }

  bool fail(const std::string& text) {
    fault_.id = DiagId::FaultProgram;
    fault_.location = statement_ < core_.code.size() ? core_.code[statement_].location : core_.location;
    fault_.args = {core_.name, text};
    return false;
  }

  // --- memory

  bool place_slots() {
    for (const isa::Buffer& buffer : core_.buffers) {
      first_slot_.push_back(static_cast<uint32_t>(out_.slots.size()));
      if (buffer.slots < 1 || buffer.slots > kMostSlots - static_cast<int64_t>(out_.slots.size())) {
        return fail("its buffers have more than " + std::to_string(kMostSlots) + " slots");
      }
      const int64_t available = target_.space(buffer.tile.space).bytes;
      if (buffer.address < 0 || buffer.address > available || buffer.total_bytes() > available - buffer.address) {
        return fail("buffer `" + buffer.name + "` has no place in `" + std::string(spelling(buffer.tile.space)) +
                    "` memory");
      }
      for (int64_t slot = 0; slot < buffer.slots; ++slot) {
        out_.slots.push_back({static_cast<uint32_t>(first_slot_.size() - 1), buffer.tile.space,
                              buffer.address + slot * buffer.slot_stride, buffer.tile.bytes(), 0, 0});
      }
      int64_t& span = out_.space_bytes[static_cast<size_t>(buffer.tile.space)];
      span = std::max(span, buffer.address + buffer.total_bytes());
    }
    find_overlaps();
    return true;
  }

  // Pairs of slots that share bytes, by a sweep over addresses. A program with absurdly many pairs goes without.
  void find_overlaps() {
    std::vector<uint32_t> order(out_.slots.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const SlotInfo& x = out_.slots[a];
      const SlotInfo& y = out_.slots[b];
      return std::tie(x.space, x.address, a) < std::tie(y.space, y.address, b);
    });
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    for (size_t i = 0; i < order.size(); ++i) {
      const SlotInfo& slot = out_.slots[order[i]];
      for (size_t j = i + 1; j < order.size(); ++j) {
        const SlotInfo& other = out_.slots[order[j]];
        if (other.space != slot.space || other.address >= slot.address + slot.bytes) {
          break;
        }
        pairs.emplace_back(order[i], order[j]);
        pairs.emplace_back(order[j], order[i]);
        if (pairs.size() > kMostOverlaps) {
          return;
        }
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [slot, other] : pairs) {
      SlotInfo& info = out_.slots[slot];
      if (info.overlap_begin == info.overlap_end) {
        info.overlap_begin = static_cast<uint32_t>(out_.overlaps.size());
      }
      out_.overlaps.push_back(other);
      info.overlap_end = static_cast<uint32_t>(out_.overlaps.size());
    }
  }

  // --- tensors

  bool add_tensors() {
    const std::vector<uint32_t> roots = root_tensors(core_);
    for (uint32_t i = 0; i < roots.size(); ++i) {
      CoreTensor tensor;
      tensor.root = roots[i];
      const std::vector<ExprId>& dims = core_.tensor_dims(isa::TensorId(i));
      std::optional<int64_t> elements = 1;
      for (ExprId dim : dims) {
        const std::optional<Reg> reg = expressions_.integer(dim);
        const bool known = reg && out_.bad[*reg] == 0;
        tensor.dims.push_back(known ? out_.registers[*reg] : -1);
        elements = elements && tensor.dims.back() >= 1 ? checked_mul(*elements, tensor.dims.back()) : std::nullopt;
      }
      if (!elements || dims.empty() || dims.size() > kMaxRank) {
        return fail("the shape of `" + core_.tensor_name(isa::TensorId(i)) + "` can't be computed");
      }
      tensor.strides.assign(dims.size(), 1);
      for (size_t axis = dims.size() - 1; axis > 0; --axis) {
        tensor.strides[axis - 1] = tensor.strides[axis] * tensor.dims[axis];
      }
      const bool view = i >= roots.size() - core_.views.size();
      const int64_t whole = view ? elements_[tensor.root] : *elements;
      if (*elements != whole) {
        return fail("view `" + core_.tensor_name(isa::TensorId(i)) + "` has " + std::to_string(*elements) +
                    " elements where `" + core_.tensor_name(isa::TensorId(tensor.root)) + "` has " +
                    std::to_string(whole));
      }
      elements_.push_back(*elements);
      tensor.dtype = core_.tensor_infos()[tensor.root].dtype;
      out_.tensors.push_back(std::move(tensor));
    }
    return true;
  }

  // --- statements

  bool integer(ExprId id, Reg& reg, const char* what) {
    const std::optional<Reg> found = expressions_.integer(id);
    if (!found) {
      return fail(std::string(what) + " uses a name that has no value there");
    }
    reg = *found;
    return true;
  }

  bool statement(uint32_t index) {
    statement_ = index;
    const object::Stmt& stmt = core_.code[index];
    switch (stmt.kind) {
      case object::StmtKind::Inst:
        return add_step(WalkKind::Inst, static_cast<uint32_t>(out_.instructions.size())) && instruction(stmt.inst);
      case object::StmtKind::For:
        return open_loop(stmt);
      case object::StmtKind::EndFor:
        return close_loop();
      case object::StmtKind::Let:
        return let(stmt);
      case object::StmtKind::If:
        return open_if(stmt);
      case object::StmtKind::Else:
        return turn_if();
      case object::StmtKind::EndIf:
        return close_if();
    }
    return false;
  }

  uint32_t here() const { return static_cast<uint32_t>(out_.walk.size()); }

  bool add_step(WalkKind kind, uint32_t target) {
    WalkStep step;
    step.kind = kind;
    step.target = target;
    step.statement = statement_;
    out_.walk.push_back(step);
    return true;
  }

  bool open_loop(const object::Stmt& stmt) {
    WalkStep step;
    step.kind = WalkKind::For;
    step.statement = statement_;
    if (!integer(stmt.lo, step.lo, "the start of this loop") || !integer(stmt.hi, step.hi, "the end of this loop") ||
        !integer(stmt.step, step.step, "the step of this loop")) {
      return false;
    }
    expressions_.enter_scope();
    open_.push_back(here());
    if (!expressions_.define(stmt.sym, here(), step.sym)) {
      return fail("this loop sets a name that already has a value");
    }
    out_.walk.push_back(step);
    return true;
  }

  // The innermost open statement, if it is of this kind; its step is taken off the stack.
  bool close(WalkKind kind, uint32_t& opener) {
    if (open_.empty() || out_.walk[open_.back()].kind != kind) {
      return fail("its loops and branches don't nest");
    }
    opener = open_.back();
    open_.pop_back();
    expressions_.leave_scope();
    return true;
  }

  bool close_loop() {
    uint32_t loop = 0;
    if (!close(WalkKind::For, loop)) {
      return false;
    }
    add_step(WalkKind::EndFor, loop);
    out_.walk[loop].target = here();
    return true;
  }

  bool let(const object::Stmt& stmt) {
    WalkStep step;
    step.kind = WalkKind::Let;
    step.statement = statement_;
    if (!let_value(stmt, step.lo)) {
      return false;
    }
    if (!expressions_.define(stmt.sym, here(), step.sym)) {
      return fail("this `let` sets a name that already has a value");
    }
    out_.walk.push_back(step);
    return true;
  }

  bool open_if(const object::Stmt& stmt) {
    WalkStep step;
    step.kind = WalkKind::If;
    step.statement = statement_;
    if (!integer(stmt.value, step.lo, "the condition")) {
      return false;
    }
    expressions_.enter_scope();
    open_.push_back(here());
    out_.walk.push_back(step);
    return true;
  }

  // At an Else: the jump over the second branch takes the place of the If on the stack.
  bool turn_if() {
    uint32_t branch = 0;
    if (!close(WalkKind::If, branch)) {
      return false;
    }
    open_.push_back(here());
    expressions_.enter_scope();
    add_step(WalkKind::Jump, 0);
    out_.walk[branch].target = here();
    return true;
  }

  bool close_if() {
    uint32_t branch = 0;
    const bool has_else = !open_.empty() && out_.walk[open_.back()].kind == WalkKind::Jump;
    if (!close(has_else ? WalkKind::Jump : WalkKind::If, branch)) {
      return false;
    }
    out_.walk[branch].target = here();
    return true;
  }

  bool let_value(const object::Stmt& stmt, Reg& reg) {
    const bool real = is_float(core_.symbols[stmt.sym.index()].dtype);
    const std::optional<Reg> found = real ? expressions_.real(stmt.value) : expressions_.integer(stmt.value);
    if (!found) {
      return fail("this `let` uses a name that has no value there");
    }
    reg = *found;
    return true;
  }

  // --- instructions

  bool instruction(const isa::Inst& inst) {
    Instruction out;
    out.opcode = inst.opcode;
    out.statement = statement_;
    out.pipe = isa::pipe_of(inst, core_.buffers, target_);
    if (out.pipe == isa::Pipe::Route) {
      return fail("target `" + target_.name + "` has no data path for `" +
                  std::string(isa::info(inst.opcode).mnemonic) + "`");
    }
    for (const isa::Operand& operand : inst.operands) {
      if (!add_operand(operand, out)) {
        return false;
      }
    }
    const isa::Format format = isa::info(inst.opcode).format;
    out.valid_rule = isa::info(inst.opcode).valid;
    out.left = format == isa::Format::MatMulAcc ? 1 : 0;
    if (format == isa::Format::Flag) {
      out.kind = inst.opcode == isa::Opcode::WaitFlag ? InstKind::WaitFlag : InstKind::SetFlag;
    } else if (format == isa::Format::Barrier) {
      out.kind = InstKind::Barrier;
    }
    if (format == isa::Format::Push || format == isa::Format::Pop || format == isa::Format::Free) {
      ring(format, out);
    }
    out.transfers = out.has_gm || ((out.ring_op == RingOp::Push || out.ring_op == RingOp::Pop) && !out.ring_local);
    out.agreement = agreement_of(out);
    out_.instructions.push_back(out);
    return true;
  }

  // Few of all pairs are in use: their flags lie close together in memory.
  void number_flag_pairs() {
    std::array<std::optional<uint32_t>, isa::kPipeCount * isa::kPipeCount> numbers;
    const auto number = [&](const Instruction& inst) -> std::optional<uint32_t>& {
      return numbers[static_cast<size_t>(inst.source_pipe) * isa::kPipeCount +
                     static_cast<size_t>(inst.destination_pipe)];
    };
    const auto flag = [](const Instruction& inst) {
      return inst.kind == InstKind::SetFlag || inst.kind == InstKind::WaitFlag;
    };
    for (const Instruction& inst : out_.instructions) {
      if (flag(inst)) {
        number(inst) = 0;
      }
    }
    for (size_t pair = 0; pair < numbers.size(); ++pair) {
      if (numbers[pair]) {
        numbers[pair] = static_cast<uint32_t>(out_.flag_pairs.size());
        out_.flag_pairs.push_back(
            {static_cast<isa::Pipe>(pair / isa::kPipeCount), static_cast<isa::Pipe>(pair % isa::kPipeCount)});
      }
    }
    for (Instruction& inst : out_.instructions) {
      inst.flag_pair = flag(inst) ? *number(inst) : 0;
    }
  }

  void ring(isa::Format format, Instruction& out) {
    out.ring_op = format == isa::Format::Push  ? RingOp::Push
                  : format == isa::Format::Pop ? RingOp::Pop
                                               : RingOp::Free;
    out.gm_dtype = core_.rings[out.ring].dtype;
    out.ring_local = target_.ring_is_local(core_.rings[out.ring].direction);
  }

  // Which buffers are the memory of a local ring: what it pops into.
  bool find_ring_buffers() {
    ring_of_.assign(core_.buffers.size(), std::nullopt);
    std::vector<std::optional<uint32_t>> memory(core_.rings.size());
    for (; statement_ < core_.code.size(); ++statement_) {
      const object::Stmt& stmt = core_.code[statement_];
      if (stmt.kind != object::StmtKind::Inst || stmt.inst.opcode != isa::Opcode::TPop) {
        continue;
      }
      const uint32_t ring = stmt.inst.operands[1].ring.index();
      const uint32_t buffer = stmt.inst.operands[0].buffer.index();
      if (!target_.ring_is_local(core_.rings[ring].direction)) {
        continue;
      }
      if (ring_of_[buffer].value_or(ring) != ring || memory[ring].value_or(buffer) != buffer) {
        return fail("the memory of ring `" + core_.rings[ring].name + "` is not one buffer of its own");
      }
      ring_of_[buffer] = ring;
      memory[ring] = buffer;
    }
    statement_ = 0;
    return true;
  }

  // The producer writes a ring's memory whenever it is free: nothing else may live there.
  bool check_ring_memory() {
    for (const SlotInfo& slot : out_.slots) {
      for (uint32_t i = slot.overlap_begin; ring_of_[slot.buffer] && i < slot.overlap_end; ++i) {
        const std::string& other = core_.buffers[out_.slots[out_.overlaps[i]].buffer].name;
        return fail("buffer `" + other + "` shares bytes with `" + core_.buffers[slot.buffer].name +
                    "`, the memory of ring `" + core_.rings[*ring_of_[slot.buffer]].name + "`");
      }
    }
    return true;
  }

  // Only pops write the memory of a ring, its name means the tile popped last, and `tfree` gives back no other.
  bool check_ring_tile(const isa::Operand& operand, const Instruction& inst) {
    const std::optional<uint32_t> ring = ring_of_[operand.buffer.index()];
    const std::string& buffer = core_.buffers[operand.buffer.index()].name;
    if (inst.opcode == isa::Opcode::TFree) {
      return ring == inst.ring || fail("`" + buffer + "` is not the memory of ring `" + core_.rings[inst.ring].name + "`");
    }
    if (!ring) {
      return true;
    }
    const std::string what = "`" + buffer + "`, the memory of ring `" + core_.rings[*ring].name + "`, is ";
    if (operand.slot.valid()) {
      return fail(what + "named with a slot");
    }
    return !isa::writes(operand.kind) || inst.opcode == isa::Opcode::TPop ||
           fail(what + "written by `" + std::string(isa::info(inst.opcode).mnemonic) + "`");
  }

  bool add_operand(const isa::Operand& operand, Instruction& out) {
    using isa::OperandKind;
    switch (operand.kind) {
      case OperandKind::TileOut:
      case OperandKind::TileIn:
      case OperandKind::TileInOut:
      case OperandKind::TileTmp:
        return add_tile(operand, out);
      case OperandKind::GmIn:
      case OperandKind::GmOut:
        return add_window(operand, out);
      case OperandKind::Scalar:
        out.has_scalar = true;
        return add_scalar(operand, out);
      case OperandKind::Index:
        return out.index_count < out.index.size() && integer(operand.a, out.index[out.index_count++], "an index");
      case OperandKind::Valid:
        out.has_valid = operand.a.valid() && operand.b.valid();
        return !out.has_valid || (integer(operand.a, out.valid_rows, "a valid region") &&
                                  integer(operand.b, out.valid_cols, "a valid region"));
      case OperandKind::Round:
        out.round = static_cast<isa::Round>(operand.attribute);
        return true;
      case OperandKind::Cmp:
        out.cmp = static_cast<isa::Cmp>(operand.attribute);
        return true;
      case OperandKind::Pad:
        out.pad = static_cast<isa::Pad>(operand.attribute);
        return true;
      case OperandKind::Ring:
        out.ring = static_cast<uint8_t>(operand.ring.index());
        return true;
      case OperandKind::PipeSrc:
        out.source_pipe = static_cast<isa::Pipe>(operand.attribute);
        return true;
      case OperandKind::PipeDst:
        out.destination_pipe = static_cast<isa::Pipe>(operand.attribute);
        return true;
      case OperandKind::Event:
        return integer(operand.a, out.event, "an event id");
    }
    return false;
  }

  bool add_tile(const isa::Operand& operand, Instruction& out) {
    if (out.tile_count == kMaxTiles) {
      return fail("an instruction has too many tiles");
    }
    const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
    TileOperand tile;
    tile.kind = operand.kind;
    tile.buffer = operand.buffer.index();
    tile.first_slot = first_slot_[tile.buffer];
    tile.slots = buffer.slots;
    tile.slot = expressions_.constant(0);
    tile.popped = ring_of_[tile.buffer].has_value();
    if (!check_ring_tile(operand, out)) {
      return false;
    }
    if (operand.slot.valid() && !integer(operand.slot, tile.slot, "a slot")) {
      return false;
    }
    if (operand.kind == isa::OperandKind::TileOut || operand.kind == isa::OperandKind::TileInOut) {
      out.destination = static_cast<int8_t>(out.tile_count);
    }
    if (operand.kind == isa::OperandKind::TileIn || operand.kind == isa::OperandKind::TileInOut) {
      out.first_source = out.source_count == 0 ? out.tile_count : out.first_source;
      ++out.source_count;
    }
    out.descs[out.tile_count] = buffer.tile;
    out.tiles[out.tile_count++] = tile;
    return true;
  }

  bool add_window(const isa::Operand& operand, Instruction& out) {
    const CoreTensor& tensor = out_.tensors[operand.tensor.index()];
    if (operand.offsets.size() != tensor.dims.size()) {
      return fail("a window has another rank than its tensor");
    }
    out.has_gm = true;
    out.gm_write = operand.kind == isa::OperandKind::GmOut;
    out.tensor = operand.tensor.index();
    out.gm_dtype = tensor.dtype;
    out.gm_rank = static_cast<uint8_t>(tensor.dims.size());
    for (size_t axis = 0; axis < operand.offsets.size(); ++axis) {
      if (!integer(operand.offsets[axis], out.offsets[axis], "an offset")) {
        return false;
      }
    }
    return true;
  }

  bool add_scalar(const isa::Operand& operand, Instruction& out) {
    out.scalar_real = expressions_.is_real(operand.a);
    const std::optional<Reg> reg = out.scalar_real ? expressions_.real(operand.a) : expressions_.integer(operand.a);
    if (!reg) {
      return fail("a scalar uses a name that has no value there");
    }
    out.scalar = *reg;
    return true;
  }

  static Agreement agreement_of(const Instruction& out) {
    using isa::Opcode;
    const isa::InstrInfo& row = isa::info(out.opcode);
    switch (row.valid) {
      case isa::ValidRule::Same:
      case isa::ValidRule::Mask:
        return out.source_count > 1 ? Agreement::Equal : Agreement::None;
      case isa::ValidRule::SameAsSecond:
        return out.source_count > 1 ? Agreement::MaskThenData : Agreement::None;
      case isa::ValidRule::Full2D:
        return out.opcode >= Opcode::TRowExpandAdd && out.opcode <= Opcode::TRowExpandExpDif ? Agreement::RowExpand
                                                                                            : Agreement::ColExpand;
      case isa::ValidRule::MatMul:
        return Agreement::MatMul;
      case isa::ValidRule::Explicit:
        if (row.format == isa::Format::Extract) {
          return Agreement::Window;
        }
        if (row.format == isa::Format::Broadcast) {
          return out.opcode == Opcode::TRowExpand ? Agreement::RowRepeat : Agreement::ColRepeat;
        }
        return Agreement::None;
      default:
        return Agreement::None;
    }
  }

  const object::Core& core_;
  const TaskPlan& plan_;
  const Target& target_;
  Program& out_;
  Fault& fault_;
  ExpressionCompiler expressions_;
  std::vector<uint32_t> first_slot_;  // by buffer
  std::vector<int64_t> elements_;     // by tensor
  std::vector<uint32_t> open_;        // walk steps of For, If, Jump that wait for their ends
  std::vector<std::optional<uint32_t>> ring_of_;  // by buffer: the local ring whose memory it is
  uint32_t statement_ = 0;
};

}  // namespace

bool decode(const object::Core& core, const TaskPlan& plan, const Target& target, Program& out, Fault& fault) {
  return Decoder(core, plan, target, out, fault).run();
}

}  // namespace pto::runtime
