// Walks one block of a core program in program order: evaluates expressions, keeps the valid region of every slot, checks
// what can only be checked with values known (slots, windows, valid regions, uninitialised reads), and hands out one
// instruction after the other. Knows nothing of bytes or time, so values and time can't disagree about either.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/check/faults.h"
#include "runtime/machine/program.h"

namespace pto::runtime {

// An instruction with its operands as they are now.
struct Issued {
  const Instruction* inst = nullptr;
  std::array<uint32_t, kMaxTiles> slots{};  // index among all slots of the core
  std::array<Valid, kMaxTiles> valids{};    // of the tile operands, the destination's being the new one
  int64_t gm_offset = 0;                    // element of the tensor where the window starts
  int64_t gm_row_stride = 0;                // elements
  Valid window;                             // rows and columns that move
  int64_t event = 0;
  std::array<int64_t, 2> index{};
};

class Stepper {
 public:
  enum class Status : uint8_t { Instruction, Done, Fault, Budget };

  // `target` decides the number of event ids.
  void start(const Program& program, int64_t block, int64_t lane, int event_ids);
  // The next instruction is in `issued()`. Budget: `budget` loop steps and lets were taken without meeting one.
  Status next(int64_t budget);

  const Issued& issued() const { return issued_; }
  const Fault& fault() const { return fault_; }
  // Loop iterations and lets since the last call.
  int64_t take_scalar_steps() {
    const int64_t steps = scalar_steps_;
    scalar_steps_ = 0;
    return steps;
  }
  // The value of a Scalar operand of the current instruction.
  double scalar_real() const;
  int64_t scalar_integer() const;

 private:
  struct SlotState {
    Valid valid;
    bool written = false;
    uint32_t lost_to = 0;  // statement that overwrote it, plus one
  };

  bool loop_head(const WalkStep& step);
  bool loop_next(const WalkStep& step);
  void evaluate(EvalRange range);
  void evaluate_carefully(EvalRange range);
  bool good(Reg reg) const { return !any_bad_ || bad_[reg] == 0; }
  bool resolve(const Instruction& inst);
  bool take_ring(const Instruction& inst);
  bool take_slots(const Instruction& inst);
  bool take_destination(const Instruction& inst);
  bool take_window(const Instruction& inst);
  bool check_registers(const Instruction& inst);
  bool agree(const Instruction& inst);
  bool alike(const Instruction& inst, uint8_t a, uint8_t b);
  bool agree_matmul(const Instruction& inst);
  bool agree_window(const Instruction& inst);
  bool agree_mask(const Instruction& inst);
  bool same(const Instruction& inst, uint8_t a, uint8_t b, bool rows, bool cols, const char* rule);
  void write_slot(uint32_t slot, const Valid& valid, uint32_t statement);

  bool fail(DiagId id, std::array<std::string, 6> args, std::string note = {});
  bool fail_expression(const char* what);
  std::string mnemonic() const;
  std::string tile_name(const Instruction& inst, uint8_t tile) const;

  const Program* program_ = nullptr;
  int event_ids_ = 0;
  uint32_t at_ = 0;
  uint32_t statement_ = 0;
  int64_t scalar_steps_ = 0;
  int64_t lane_ = 0;
  bool any_bad_ = false;
  std::vector<int64_t> registers_;
  std::vector<uint8_t> bad_;
  std::vector<SlotState> slots_;
  struct Popped {
    int64_t count = 0;
    bool held = false;  // popped and not given back
  };
  std::vector<Popped> popped_;  // by buffer: those that are memory of local rings
  Issued issued_;
  Fault fault_;
};

}  // namespace pto::runtime
