#include "runtime/machine/stepper.h"

#include <algorithm>

#include "runtime/machine/eval.h"
#include "src/isa/valid_rule.h"

namespace pto::runtime {

void Stepper::start(const Program& program, int64_t block, int64_t lane, int event_ids) {
  program_ = &program;
  event_ids_ = event_ids;
  at_ = 0;
  statement_ = 0;
  scalar_steps_ = 0;
  any_bad_ = program.any_bad;
  registers_ = program.registers;
  bad_ = program.bad;
  registers_[program.block_index] = block;
  registers_[program.lane_index] = lane;
  lane_ = lane;
  popped_.assign(program.core->buffers.size(), {});
  slots_.resize(program.slots.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    const TileDesc& tile = program.core->buffers[program.slots[i].buffer].tile;
    slots_[i] = {{tile.rows, tile.cols}, false, 0};
  }
  evaluate(program.start);
}

Stepper::Status Stepper::next(int64_t budget) {
  for (;;) {
    const WalkStep& step = program_->walk[at_];
    statement_ = step.statement;
    switch (step.kind) {
      case WalkKind::Inst:
        ++at_;
        return resolve(program_->instructions[step.target]) ? Status::Instruction : Status::Fault;
      case WalkKind::End:
        return Status::Done;
      case WalkKind::Let:
        if (!good(step.lo)) {
          fail_expression("this `let`");
          return Status::Fault;
        }
        registers_[step.sym] = registers_[step.lo];
        evaluate(step.evals);
        ++at_;
        ++scalar_steps_;
        break;
      case WalkKind::For:
        if (!loop_head(step)) {
          return Status::Fault;
        }
        break;
      case WalkKind::If:
        if (!good(step.lo)) {
          fail_expression("the condition");
          return Status::Fault;
        }
        at_ = registers_[step.lo] != 0 ? at_ + 1 : step.target;
        ++scalar_steps_;
        break;
      case WalkKind::Jump:
        at_ = step.target;
        break;
      case WalkKind::EndFor:
        loop_next(program_->walk[step.target]);
        break;
    }
    if (scalar_steps_ >= budget) {
      return Status::Budget;
    }
  }
}

bool Stepper::loop_head(const WalkStep& step) {
  if (!good(step.lo) || !good(step.hi) || !good(step.step)) {
    return fail_expression("the range of this loop");
  }
  if (registers_[step.step] < 1) {
    return fail(DiagId::FaultLoop, {program_->core->name, std::to_string(registers_[step.step])});
  }
  ++scalar_steps_;
  if (registers_[step.lo] >= registers_[step.hi]) {
    at_ = step.target;
    return true;
  }
  registers_[step.sym] = registers_[step.lo];
  evaluate(step.evals);
  ++at_;
  return true;
}

// `step` is the loop's head; we stand at its end.
bool Stepper::loop_next(const WalkStep& step) {
  int64_t value = 0;
  const bool overflow = __builtin_add_overflow(registers_[step.sym], registers_[step.step], &value);
  if (overflow || value >= registers_[step.hi]) {
    at_ = step.target;
    return false;
  }
  ++scalar_steps_;
  registers_[step.sym] = value;
  evaluate(step.evals);
  at_ = static_cast<uint32_t>(&step - program_->walk.data()) + 1;
  return true;
}

void Stepper::evaluate(EvalRange range) {
  if (any_bad_) {
    evaluate_carefully(range);
    return;
  }
  int64_t* registers = registers_.data();
  for (uint32_t i = range.begin; i < range.end; ++i) {
    const EvalStep& step = program_->evals[i];
    if (!apply_eval(step.op, registers[step.a], registers[step.b], registers[step.to])) {
      any_bad_ = true;
      evaluate_carefully({i, range.end});
      return;
    }
  }
}

// Some value does not exist: an error only when something uses it.
void Stepper::evaluate_carefully(EvalRange range) {
  for (uint32_t i = range.begin; i < range.end; ++i) {
    const EvalStep& step = program_->evals[i];
    const int64_t a = registers_[step.a];
    const bool exists = operands_good(step.op, a, bad_[step.a] != 0, bad_[step.b] != 0);
    bad_[step.to] = exists && apply_eval(step.op, a, registers_[step.b], registers_[step.to]) ? 0 : 1;
  }
}

double Stepper::scalar_real() const {
  const Instruction& inst = *issued_.inst;
  const int64_t value = registers_[inst.scalar];
  return inst.scalar_real ? as_real(value) : static_cast<double>(value);
}

int64_t Stepper::scalar_integer() const {
  const Instruction& inst = *issued_.inst;
  const int64_t value = registers_[inst.scalar];
  if (!inst.scalar_real) {
    return value;
  }
  const double real = as_real(value);
  return real > -9.2e18 && real < 9.2e18 ? static_cast<int64_t>(real) : 0;
}

bool Stepper::resolve(const Instruction& inst) {
  issued_.inst = &inst;
  if (any_bad_ && !check_registers(inst)) {
    return false;
  }
  if (inst.kind != InstKind::Work) {
    issued_.event = registers_[inst.event];
    if (inst.kind != InstKind::Barrier && (issued_.event < 0 || issued_.event >= event_ids_)) {
      return fail(DiagId::FaultEvent, {mnemonic(), std::to_string(issued_.event), std::to_string(event_ids_ - 1)});
    }
    return true;
  }
  for (uint8_t i = 0; i < inst.index_count; ++i) {
    issued_.index[i] = registers_[inst.index[i]];
  }
  if (inst.ring_op != RingOp::None && !take_ring(inst)) {
    return false;
  }
  if (!take_slots(inst) || !take_destination(inst) || !agree(inst)) {
    return false;
  }
  if (inst.has_gm && !take_window(inst)) {
    return false;
  }
  for (uint8_t i = 0; i < inst.tile_count; ++i) {
    if (inst.tiles[i].kind == isa::OperandKind::TileTmp) {
      write_slot(issued_.slots[i], issued_.valids[i], statement_);
      slots_[issued_.slots[i]].written = false;  // scratch holds nothing behind the instruction
      slots_[issued_.slots[i]].lost_to = statement_ + 1;
    }
  }
  if (inst.destination >= 0) {
    const auto destination = static_cast<size_t>(inst.destination);
    write_slot(issued_.slots[destination], issued_.valids[destination], statement_);
  }
  return true;
}

// Lane 0 alone pushes whole tiles. A popped tile of a local ring is given back before the next one is popped.
bool Stepper::take_ring(const Instruction& inst) {
  if (inst.ring_op == RingOp::Push) {
    return lane_ == 0 || program_->core->rings[inst.ring].split != isa::Split::None ||
           fail(DiagId::FaultRing, {mnemonic(), program_->core->rings[inst.ring].name,
                                    "only lane 0 may push into a ring that is not split"});
  }
  if (!inst.ring_local) {
    return true;
  }
  Popped& popped = popped_[inst.tiles[0].buffer];
  const std::string& ring = program_->core->rings[inst.ring].name;
  if (popped.held == (inst.ring_op == RingOp::Pop)) {
    return fail(DiagId::FaultRing, {mnemonic(), ring,
                                    popped.held ? "the tile popped before has not been given back"
                                                : "no tile of it is held"});
  }
  popped.held = !popped.held;
  popped.count += popped.held ? 1 : 0;
  return true;
}

// Slots of the tile operands and the valid regions of those that are read.
bool Stepper::take_slots(const Instruction& inst) {
  for (uint8_t i = 0; i < inst.tile_count; ++i) {
    const TileOperand& tile = inst.tiles[i];
    const int64_t slot =
        tile.popped ? std::max<int64_t>(0, popped_[tile.buffer].count - 1) % tile.slots : registers_[tile.slot];
    if (slot < 0 || slot >= tile.slots) {
      const std::string& name = program_->core->buffers[tile.buffer].name;
      return fail(DiagId::FaultSlot, {mnemonic(), std::to_string(slot), name, std::to_string(tile.slots)});
    }
    const auto index = tile.first_slot + static_cast<uint32_t>(slot);
    issued_.slots[i] = index;
    if (tile.kind != isa::OperandKind::TileIn && tile.kind != isa::OperandKind::TileInOut) {
      issued_.valids[i] = {inst.descs[i].rows, inst.descs[i].cols};
      continue;
    }
    const SlotState& state = slots_[index];
    if (!state.written) {
      std::string why = "was never written";
      if (state.lost_to != 0) {
        const object::Stmt& by = program_->core->code[state.lost_to - 1];
        why = by.inst.opcode == isa::Opcode::TFree ? "was given back to its ring" : "has been overwritten";
        why += by.location.line != 0 ? " by line " + std::to_string(by.location.line) : std::string();
      }
      return fail(DiagId::FaultUninitialised, {mnemonic(), tile_name(inst, i), why});
    }
    issued_.valids[i] = state.valid;
  }
  return true;
}

bool Stepper::take_destination(const Instruction& inst) {
  if (inst.destination < 0) {
    return true;
  }
  const auto destination = static_cast<size_t>(inst.destination);
  const TileDesc& desc = inst.descs[destination];
  Valid explicit_valid;
  if (inst.has_valid) {
    explicit_valid = {registers_[inst.valid_rows], registers_[inst.valid_cols]};
  }
  const Valid valid = isa::valid_by_rule(inst.valid_rule, inst.left, desc,
                                         {issued_.valids.data() + inst.first_source, inst.source_count},
                                         inst.has_valid ? &explicit_valid : nullptr);
  if (valid.rows < 0 || valid.cols < 0 || valid.rows > desc.rows || valid.cols > desc.cols) {
    return fail(DiagId::FaultValid, {mnemonic(), tile_name(inst, static_cast<uint8_t>(destination)),
                                     valid_text(valid), valid_text({desc.rows, desc.cols})});
  }
  // An accumulator that is read too keeps its old region until the agreement has been checked.
  if (inst.tiles[destination].kind == isa::OperandKind::TileInOut) {
    if (issued_.valids[destination] != valid) {
      return fail(DiagId::FaultAgreement,
                  {mnemonic(), "an accumulator of the product's size",
                   tile_name(inst, static_cast<uint8_t>(destination)), valid_text(issued_.valids[destination]),
                   "the product", valid_text(valid)});
    }
  }
  issued_.valids[destination] = valid;
  return true;
}

bool Stepper::take_window(const Instruction& inst) {
  const CoreTensor& tensor = program_->tensors[inst.tensor];
  const Valid valid = issued_.valids[0];  // the only tile of a load or store
  issued_.window = valid;
  issued_.gm_row_stride = inst.gm_rank > 1 ? tensor.strides[inst.gm_rank - 2U] : 0;
  issued_.gm_offset = 0;
  if (valid.rows == 0 || valid.cols == 0) {
    return true;  // nothing moves
  }
  const std::string& name = program_->core->tensor_name(isa::TensorId(inst.tensor));
  if (inst.gm_rank == 1 && valid.rows != 1) {
    return fail(DiagId::FaultWindow, {mnemonic(), name, "0", std::to_string(valid.rows), "of the tile's rows", "1"});
  }
  for (size_t axis = 0; axis < inst.gm_rank; ++axis) {
    const int64_t offset = registers_[inst.offsets[axis]];
    const size_t behind = inst.gm_rank - 1U - axis;  // dimensions that follow
    const int64_t extent = behind == 0 ? valid.cols : behind == 1 ? valid.rows : 1;
    if (offset < 0 || offset > tensor.dims[axis] || extent > tensor.dims[axis] - offset) {
      const std::string last = offset > INT64_MAX - extent ? "more" : std::to_string(offset + extent - 1);
      return fail(DiagId::FaultWindow, {mnemonic(), name, std::to_string(offset), last, std::to_string(axis),
                                        std::to_string(tensor.dims[axis])},
                  "`" + name + "` is " + dims_text(tensor.dims) + ", the window " + valid_text(valid));
    }
    issued_.gm_offset += offset * tensor.strides[axis];
  }
  return true;
}

bool Stepper::check_registers(const Instruction& inst) {
  for (uint8_t i = 0; i < inst.tile_count; ++i) {
    if (!good(inst.tiles[i].slot)) {
      return fail_expression("a slot");
    }
  }
  for (uint8_t i = 0; inst.has_gm && i < inst.gm_rank; ++i) {
    if (!good(inst.offsets[i])) {
      return fail_expression("an offset");
    }
  }
  if (inst.has_valid && (!good(inst.valid_rows) || !good(inst.valid_cols))) {
    return fail_expression("the valid region");
  }
  for (uint8_t i = 0; i < inst.index_count; ++i) {
    if (!good(inst.index[i])) {
      return fail_expression("an index");
    }
  }
  if (inst.has_scalar && !good(inst.scalar)) {
    return fail_expression("the scalar");
  }
  const bool flag = inst.kind == InstKind::SetFlag || inst.kind == InstKind::WaitFlag;
  return !flag || good(inst.event) || fail_expression("the event id");
}

// --- agreement of the sources' valid regions

bool Stepper::same(const Instruction& inst, uint8_t a, uint8_t b, bool rows, bool cols, const char* rule) {
  const Valid x = issued_.valids[a];
  const Valid y = issued_.valids[b];
  if ((!rows || x.rows == y.rows) && (!cols || x.cols == y.cols)) {
    return true;
  }
  return fail(DiagId::FaultAgreement,
              {mnemonic(), rule, tile_name(inst, a), valid_text(x), tile_name(inst, b), valid_text(y)});
}

// Elementwise sources: of two, one may be wholly valid.
bool Stepper::alike(const Instruction& inst, uint8_t a, uint8_t b) {
  for (const uint8_t tile : {a, b}) {
    if (issued_.valids[tile] == Valid{inst.descs[tile].rows, inst.descs[tile].cols}) {
      return true;
    }
  }
  return same(inst, a, b, true, true, "sources with the same valid region, or one that is wholly valid");
}

bool Stepper::agree(const Instruction& inst) {
  switch (inst.agreement) {
    case Agreement::None:
      return true;
    case Agreement::Equal:
      return alike(inst, inst.source(0), inst.source(1));
    case Agreement::RowExpand:
      return same(inst, inst.source(0), inst.source(1), true, false, "sources with the same number of valid rows");
    case Agreement::ColExpand:
      return same(inst, inst.source(0), inst.source(1), false, true, "sources with the same number of valid columns");
    case Agreement::RowRepeat:
      return same(inst, inst.source(0), static_cast<uint8_t>(inst.destination), true, false,
                  "as many rows as the result");
    case Agreement::ColRepeat:
      return same(inst, inst.source(0), static_cast<uint8_t>(inst.destination), false, true,
                  "as many columns as the result");
    case Agreement::MaskThenData:
      return agree_mask(inst);
    case Agreement::MatMul:
      return agree_matmul(inst);
    case Agreement::Window:
      return agree_window(inst);
  }
  return true;
}

bool Stepper::agree_mask(const Instruction& inst) {
  if (inst.source_count == 3 && !alike(inst, inst.source(1), inst.source(2))) {
    return false;
  }
  const Valid first = issued_.valids[inst.source(1)];
  const Valid last = issued_.valids[inst.source(inst.source_count - 1U)];
  const Valid data[] = {{std::min(first.rows, last.rows), std::min(first.cols, last.cols)}};
  const Valid wanted = isa::valid_of_destination(isa::Opcode::TCmp, inst.descs[inst.source(0)], data, std::nullopt);
  if (issued_.valids[inst.source(0)] == wanted) {
    return true;
  }
  return fail(DiagId::FaultAgreement,
              {mnemonic(), "a mask of " + valid_text(wanted), tile_name(inst, inst.source(0)),
               valid_text(issued_.valids[inst.source(0)]), tile_name(inst, inst.source(1)), valid_text(data[0])});
}

bool Stepper::agree_matmul(const Instruction& inst) {
  const uint8_t a = inst.source(inst.left);
  const uint8_t b = inst.source(inst.left + 1U);
  if (issued_.valids[a].cols != issued_.valids[b].rows) {
    return fail(DiagId::FaultAgreement,
                {mnemonic(), "as many columns on the left as rows on the right", tile_name(inst, a),
                 valid_text(issued_.valids[a]), tile_name(inst, b), valid_text(issued_.valids[b])});
  }
  const size_t bias = inst.left + 2U;
  if (bias < inst.source_count) {
    return same(inst, b, inst.source(bias), false, true, "as many columns on the right as in the bias");
  }
  return true;
}

bool Stepper::agree_window(const Instruction& inst) {
  const uint8_t source = inst.source(0);
  const Valid have = issued_.valids[source];
  const Valid want = issued_.valids[static_cast<size_t>(inst.destination)];
  const int64_t row = issued_.index[0];
  const int64_t col = issued_.index[1];
  if (want.rows == 0 || want.cols == 0) {
    return true;
  }
  if (row >= 0 && col >= 0 && row <= have.rows && col <= have.cols && want.rows <= have.rows - row &&
      want.cols <= have.cols - col) {
    return true;
  }
  return fail(DiagId::FaultExtract, {mnemonic(), valid_text(want), std::to_string(row) + ", " + std::to_string(col),
                                     tile_name(inst, source), valid_text(have)});
}

void Stepper::write_slot(uint32_t slot, const Valid& valid, uint32_t statement) {
  SlotState& state = slots_[slot];
  state.valid = valid;
  state.written = true;
  const SlotInfo& info = program_->slots[slot];
  for (uint32_t i = info.overlap_begin; i < info.overlap_end; ++i) {
    SlotState& other = slots_[program_->overlaps[i]];
    if (other.written) {
      other.written = false;
      other.lost_to = statement + 1;
    }
  }
}

// --- faults

bool Stepper::fail(DiagId id, std::array<std::string, 6> args, std::string note) {
  fault_.id = id;
  fault_.location = statement_ < program_->core->code.size() ? program_->core->code[statement_].location
                                                            : program_->core->location;
  fault_.args = std::move(args);
  fault_.note = std::move(note);
  return false;
}

bool Stepper::fail_expression(const char* what) {
  const object::Stmt& stmt = program_->core->code[statement_];
  const bool inst = stmt.kind == object::StmtKind::Inst;
  return fail(DiagId::FaultExpression,
              {what, inst ? "`" + mnemonic() + "`" : "core program `" + program_->core->name + "`"});
}

std::string Stepper::mnemonic() const {
  return std::string(isa::info(program_->core->code[statement_].inst.opcode).mnemonic);
}

std::string Stepper::tile_name(const Instruction& inst, uint8_t tile) const {
  const isa::Buffer& buffer = program_->core->buffers[inst.tiles[tile].buffer];
  if (buffer.slots == 1) {
    return buffer.name;
  }
  return buffer.name + "[" + std::to_string(issued_.slots[tile] - inst.tiles[tile].first_slot) + "]";
}

}  // namespace pto::runtime
