// A core program made ready to run for one task: dims, scalar arguments and block_count() are constants, every other
// expression is a short list of steps placed where its last input is set (loop-invariant ones run once, outside the
// loop), operands are resolved to registers, memory slots and tensors. Values and time walk the same program with the
// same Stepper.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "pto/isa.h"
#include "pto/object.h"
#include "pto/target.h"
#include "runtime/check/faults.h"
#include "runtime/loader/tasks.h"

namespace pto::runtime {

// Index of a 64-bit register; floats are kept as their bits.
using Reg = uint32_t;

enum class EvalOp : uint8_t {
  Add, Sub, Mul, FloorDiv, CeilDiv, Mod, Min, Max, Lt, Le, Eq, Ne, And, Or,  // integers
  Shift, Mask,  // the quotient and the remainder for a power of two: right by `b`, bits of `b`
  RealAdd, RealSub, RealMul, RealDiv, RealMin, RealMax, RealLt, RealLe, RealEq, RealNe,
  ToReal,
};
struct EvalStep {
  EvalOp op = EvalOp::Add;
  Reg to = 0;
  Reg a = 0;
  Reg b = 0;
};
struct EvalRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

enum class WalkKind : uint8_t { Inst, For, EndFor, Let, If, Jump, End };
struct WalkStep {
  WalkKind kind = WalkKind::End;
  // Inst: index in Program::instructions. For: the step behind its EndFor. EndFor: its For. If: where to go on when the
  // condition is zero. Jump: where to go on.
  uint32_t target = 0;
  uint32_t statement = 0;
  Reg sym = 0;                   // For, Let: the register of the symbol
  Reg lo = 0, hi = 0, step = 0;  // For. Let, If: lo is the value
  EvalRange evals;               // run when `sym` has been set
};

// What must hold between the valid regions of the sources.
enum class Agreement : uint8_t {
  None,
  Equal,         // all the same
  MaskThenData,  // a packed mask, then data tiles that are the same
  RowExpand,     // a tile and a column: the same rows
  ColExpand,     // a tile and a row: the same columns
  MatMul,        // [accumulator,] left, right[, bias]
  RowRepeat,     // a column that is repeated: as many rows as the destination
  ColRepeat,     // a row that is repeated: as many columns as the destination
  Window,        // textract: the window inside the source's valid region
};

enum class InstKind : uint8_t { Work, SetFlag, WaitFlag, Barrier };
enum class RingOp : uint8_t { None, Push, Pop, Free };  // of Work

struct TileOperand {
  isa::OperandKind kind = isa::OperandKind::TileIn;
  uint32_t buffer = 0;
  uint32_t first_slot = 0;  // index of slot 0 among all slots of the core
  int64_t slots = 1;
  Reg slot = 0;
  bool popped = false;  // the memory of a local ring: the slot is that of the tile popped last
};

inline constexpr size_t kMaxTiles = 4;
inline constexpr size_t kMaxRank = 5;

struct Instruction {
  isa::Opcode opcode = isa::Opcode::TLoad;
  InstKind kind = InstKind::Work;
  RingOp ring_op = RingOp::None;
  uint8_t ring = 0;  // isa::RingId
  bool ring_local = false;
  isa::Pipe pipe = isa::Pipe::S;
  isa::ValidRule valid_rule = isa::ValidRule::None;
  Agreement agreement = Agreement::None;
  uint8_t tile_count = 0;
  uint8_t first_source = 0;  // tiles that are read, without scratch: they stand side by side
  uint8_t source_count = 0;
  uint8_t left = 0;          // of a matrix product: which source is the left operand
  int8_t destination = -1;   // index in `tiles`
  bool has_gm = false;
  bool transfers = false;  // shares the bandwidth of global memory: has_gm, or a ring there
  bool gm_write = false;
  bool has_valid = false;
  bool scalar_real = false;
  bool has_scalar = false;
  uint8_t index_count = 0;
  uint8_t gm_rank = 0;
  std::array<TileOperand, kMaxTiles> tiles;
  std::array<TileDesc, kMaxTiles> descs;
  uint32_t tensor = 0;  // isa::TensorId
  DType gm_dtype = DType::None;
  std::array<Reg, kMaxRank> offsets{};
  Reg valid_rows = 0;
  Reg valid_cols = 0;
  Reg scalar = 0;
  std::array<Reg, 2> index{};
  Reg event = 0;
  isa::Pipe source_pipe = isa::Pipe::S;
  isa::Pipe destination_pipe = isa::Pipe::S;
  uint32_t flag_pair = 0;  // of SetFlag and WaitFlag: in Program::flag_pairs
  isa::Round round = isa::Round::None;
  isa::Cmp cmp = isa::Cmp::Eq;
  isa::Pad pad = isa::Pad::Zero;
  uint32_t statement = 0;
  uint8_t source(size_t index) const { return static_cast<uint8_t>(first_source + index); }
};

// A tensor of the core: parameter or view.
struct CoreTensor {
  uint32_t root = 0;  // tensor parameter
  DType dtype = DType::None;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // elements
};

struct FlagPair {
  isa::Pipe source = isa::Pipe::S;
  isa::Pipe destination = isa::Pipe::S;
};

struct SlotInfo {
  uint32_t buffer = 0;
  Space space = Space::None;
  int64_t address = 0;
  int64_t bytes = 0;
  uint32_t overlap_begin = 0;  // in Program::overlaps: other slots with a byte in common
  uint32_t overlap_end = 0;
};

struct Program {
  const object::Core* core = nullptr;
  int64_t blocks = 1;
  std::vector<WalkStep> walk;
  std::vector<Instruction> instructions;
  std::vector<FlagPair> flag_pairs;  // that flags are between, by source, then destination
  std::vector<EvalStep> evals;
  EvalRange start;                 // run at the start of a block
  std::vector<int64_t> registers;  // at the start of a block: constants have their values
  std::vector<uint8_t> bad;        // constants that can't be computed
  bool any_bad = false;
  Reg block_index = 0;
  Reg lane_index = 0;
  std::vector<CoreTensor> tensors;
  std::vector<SlotInfo> slots;
  std::vector<uint32_t> overlaps;
  std::array<int64_t, kSpaceCount> space_bytes{};  // memory that the buffers span
};

// False: `fault` says why. `plan` is a plan of a task that runs `core`.
bool decode(const object::Core& core, const TaskPlan& plan, const Target& target, Program& out, Fault& fault);

}  // namespace pto::runtime
