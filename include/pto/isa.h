// The instruction table and instructions. Rows are in isa.def; this header gives them C++ names. What an instruction
// computes is in src/sem, what it costs in src/timing; both are found through the table.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pto/dtype.h"
#include "pto/expr.h"
#include "pto/round.h"
#include "pto/tile.h"

namespace pto {
class DiagnosticSink;
struct Target;
}  // namespace pto

namespace pto::isa {

enum class Opcode : uint16_t {
#define PTO_INSTR(Name, mnemonic, code, format, pipe, dtypes, valid, timing, doc) Name,
#include "pto/isa.def"
};
inline constexpr size_t kOpcodeCount = 0
#define PTO_INSTR(Name, ...) +1
#include "pto/isa.def"
    ;

// Route: looked up in the target's data paths. All: every pipe of the core, only in pipe_barrier.
enum class Pipe : uint8_t { S, V, M, MTE1, MTE2, MTE3, FIX, All, Route };
inline constexpr int kPipeCount = 7;  // S .. FIX
std::string_view spelling(Pipe pipe);  // "s", "v", "m", "mte1", "mte2", "mte3", "fix", "all"
std::optional<Pipe> pipe_from_spelling(std::string_view text);

enum class OperandKind : uint8_t {
  TileOut, TileIn, TileInOut,
  TileTmp,  // scratch: written and read, holds nothing before or after
  GmIn, GmOut,
  Scalar,   // of the destination's element type
  Index,    // an integer expression
  Valid,    // optional `valid(rows, cols)`; absent: the destination's whole shape
  Round, Cmp, Pad,
  PipeSrc, PipeDst, Event,
  Ring,
};

enum class Format : uint8_t {
#define PTO_FORMAT(Name, ...) Name,
#include "pto/formats.def"
};
std::span<const OperandKind> format_operands(Format format);

enum class DTypeRule : uint8_t {
#define PTO_DTYPE_RULE(Name, a2a3, a5) Name,
#include "pto/dtype_rules.def"
};

// How the destination's valid region follows from the sources'. `valid_of_destination` computes it.
enum class ValidRule : uint8_t {
  None,          // no tile destination
  Explicit,      // the instruction's Valid operand, or the whole destination
  Full,          // the whole destination
  Same,          // that of the tile sources; of two, one may be wholly valid
  SameAsSecond,  // that of the last tile source (the data operand behind a mask or scalar)
  Mask,          // rows of the source, ceil(cols / 8) bytes a row in the mask's elements
  RowReduce,     // (rows, 1)
  ColReduce,     // (1, cols)
  Full2D,        // the larger rows and cols of the two sources; empty if one is
  MatMul,        // rows of the left, columns of the right operand
};

enum class TimingClass : uint8_t {
  Transfer, Move, MatMul, Sync,
  VecBinary, VecMul, VecDiv, VecAdds, VecMuls, VecMaxs, VecMins, VecAbs, VecRelu, VecExp, VecLog, VecSqrt, VecRsqrt,
  VecCopy, VecCmp, VecSel, VecConvert, VecRowReduce, VecColReduce,
};

struct InstrInfo {
  Opcode opcode;
  std::string_view name;
  std::string_view mnemonic;
  uint16_t wire_code;
  Format format;
  Pipe pipe;
  DTypeRule dtypes;
  ValidRule valid;
  TimingClass timing;
  std::string_view doc;
};

const InstrInfo& info(Opcode opcode);
std::span<const InstrInfo> all_instructions();
std::optional<Opcode> opcode_from_mnemonic(std::string_view text);
std::optional<Opcode> opcode_from_wire_code(uint64_t code);

// Attribute values. Spellings are those of the language: round "rint", compare "lt", pad "zero".
enum class Cmp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };
enum class Pad : uint8_t { Zero, Max, Min };
std::string_view spelling(Round round);
std::string_view spelling(Cmp cmp);
std::string_view spelling(Pad pad);
std::optional<Round> round_from_spelling(std::string_view text);
std::optional<Cmp> cmp_from_spelling(std::string_view text);
std::optional<Pad> pad_from_spelling(std::string_view text);

using BufferId = Id<struct BufferTag>;
using RingId = Id<struct RingTag>;
using TensorId = Id<struct TensorTag>;  // a core's tensor parameters, then its views

// A place in a core's memory: `slots` tiles one behind the other from `address`, `slot_stride` bytes apart.
struct Buffer {
  std::string name;
  TileDesc tile;
  int64_t address = -1;  // bytes; -1: not placed yet
  int64_t slots = 1;
  int64_t slot_stride = 0;  // bytes; 0 when slots == 1
  friend bool operator==(const Buffer&, const Buffer&) = default;
  int64_t total_bytes() const { return slots == 1 ? tile.bytes() : slot_stride * (slots - 1) + tile.bytes(); }
};

// A FIFO of tiles between the cube core and the vector lanes of one cluster. Both programs of a pair declare it alike.
// C2V: the cube core pushes. Split None: every lane pops the whole tile. Rows, Cols: lane l pops its half, rows from
// l * rows / 2 or columns from l * cols / 2. V2C: the lanes push, each its half; Split None: lane 0 alone pushes.
// A slot is free again when every lane that pops it has given it back. Slots live in global memory, or, where the target
// has a path from the producer's memory to the consumer's, in the memory of the buffer that the consumer pops into: that
// buffer then has as many slots as the ring, and its name means the tile popped last.
enum class RingDirection : uint8_t { C2V, V2C };
enum class Split : uint8_t { None, Rows, Cols };
std::string_view spelling(RingDirection direction);  // "c2v", "v2c"
std::string_view spelling(Split split);              // "none", "rows", "cols"
std::optional<RingDirection> ring_direction_from_spelling(std::string_view text);
std::optional<Split> split_from_spelling(std::string_view text);

struct Ring {
  std::string name;
  RingDirection direction = RingDirection::C2V;
  DType dtype = DType::None;
  int64_t rows = 0;  // of a whole tile
  int64_t cols = 0;
  int64_t slots = 1;
  Split split = Split::None;
  friend bool operator==(const Ring&, const Ring&) = default;
  int64_t slot_bytes() const { return byte_size(dtype, rows * cols); }
  // What a vector lane pushes or pops.
  int64_t lane_rows() const { return split == Split::Rows ? rows / 2 : rows; }
  int64_t lane_cols() const { return split == Split::Cols ? cols / 2 : cols; }
  // Bytes from the begin of a slot to that part; rows of the whole tile follow each other.
  int64_t lane_offset(int lane) const {
    return byte_size(dtype, split == Split::Rows   ? lane * lane_rows() * cols
                            : split == Split::Cols ? lane * lane_cols()
                                                   : 0);
  }
  // How many cores of a cluster with so many lanes push it, and pop it.
  int pushers(int lanes) const { return direction == RingDirection::C2V || split == Split::None ? 1 : lanes; }
  int poppers(int lanes) const { return direction == RingDirection::C2V ? lanes : 1; }
};
inline constexpr int64_t kMaxRingSlots = 16;
inline constexpr size_t kMaxRings = 16;  // a core

struct Operand {
  OperandKind kind = OperandKind::TileIn;
  BufferId buffer;                // Tile*
  ExprId slot;                    // Tile*: which slot; not valid: 0
  TensorId tensor;                // Gm*
  std::vector<ExprId> offsets;    // Gm*: one a dimension; a tile covers the last two (or one) dimensions from there
  ExprId a;                       // Scalar, Index, Event: the value. Valid: rows
  ExprId b;                       // Valid: columns. Both not valid: whole destination
  uint8_t attribute = 0;          // Round, Cmp, Pad, PipeSrc, PipeDst as a number
  RingId ring = {};               // Ring
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct Inst {
  Opcode opcode = Opcode::TLoad;
  std::vector<Operand> operands;  // as format_operands(info(opcode).format), one each
  friend bool operator==(const Inst&, const Inst&) = default;
};

inline bool is_tile(OperandKind kind) {
  return kind == OperandKind::TileOut || kind == OperandKind::TileIn || kind == OperandKind::TileInOut ||
         kind == OperandKind::TileTmp;
}
inline bool is_gm(OperandKind kind) { return kind == OperandKind::GmIn || kind == OperandKind::GmOut; }
inline bool writes(OperandKind kind) {
  return kind == OperandKind::TileOut || kind == OperandKind::TileInOut || kind == OperandKind::TileTmp ||
         kind == OperandKind::GmOut;
}
inline bool reads(OperandKind kind) {
  return kind == OperandKind::TileIn || kind == OperandKind::TileInOut || kind == OperandKind::TileTmp ||
         kind == OperandKind::GmIn;
}

// The pipe that executes it. tpush: that of a store of its tile; tpop: that of a load, or the consumer's V or MTE1 where
// rings are local, and tfree alike. For set_flag the source pipe, for wait_flag the destination pipe. `All` for a barrier on all.
// Route instructions are looked up in the target; Pipe::Route comes back where the target has no such path.
Pipe pipe_of(const Inst& inst, std::span<const Buffer> buffers, const Target& target);

// Valid region of the destination. `sources` are the valid regions of the tile inputs in operand order (TileIn, TileInOut;
// not TileTmp); `explicit_valid` is the evaluated Valid operand.
Valid valid_of_destination(Opcode opcode, const TileDesc& destination, std::span<const Valid> sources,
                           std::optional<Valid> explicit_valid);

// Element types a rule allows on a family, as a bit set over DType.
using DTypeSet = uint32_t;
constexpr DTypeSet dtype_set(std::initializer_list<DType> types) {
  DTypeSet set = 0;
  for (DType type : types) {
    set |= DTypeSet{1} << static_cast<int>(type);
  }
  return set;
}

// What is wrong with an instruction's types, layouts, spaces and shapes on a target; nullopt: nothing. `tensors` are the
// element types and ranks of the tensors that Gm operands name. The one rule book: assembler, selection, writer, loader.
struct TensorInfo {
  DType dtype = DType::None;
  int rank = 0;
};
std::optional<std::string> check_instruction(const Inst& inst, std::span<const Buffer> buffers,
                                             std::span<const Ring> rings, std::span<const TensorInfo> tensors,
                                             const Target& target);
// Same for a buffer: alignment, capacity, layout legality of its space.
std::optional<std::string> check_buffer(const Buffer& buffer, const Target& target);
// Same for a ring: shape, slots, split, capacity of the consumer's memory where rings are local.
std::optional<std::string> check_ring(const Ring& ring, const Target& target);

}  // namespace pto::isa
