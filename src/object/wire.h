// The numbers of the file format for the enums of the toolchain, both ways. They are written out one by one, so that an
// enum can be reordered without changing the format. Internal to src/object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "pto/object.h"
#include "ptob_generated.h"

namespace pto::object {

// What `ptob.fbs` says for an id that refers to nothing.
inline constexpr uint32_t kNoId = 0xFFFFFFFF;

template <typename Ours, typename Wire, size_t kSize>
using EnumTable = std::array<std::pair<Ours, Wire>, kSize>;

#define PTO_SAME(Enum, Name)     \
  std::pair {                    \
    Enum::Name, wire::Enum::Name \
  }

inline constexpr std::array kExprOps = {
    PTO_SAME(ExprOp, Int),        PTO_SAME(ExprOp, Float),     PTO_SAME(ExprOp, Sym), PTO_SAME(ExprOp, BlockIndex),
    PTO_SAME(ExprOp, BlockCount), PTO_SAME(ExprOp, LaneIndex), PTO_SAME(ExprOp, Add), PTO_SAME(ExprOp, Sub),
    PTO_SAME(ExprOp, Mul),        PTO_SAME(ExprOp, FloorDiv),  PTO_SAME(ExprOp, Mod), PTO_SAME(ExprOp, CeilDiv),
    PTO_SAME(ExprOp, Min),        PTO_SAME(ExprOp, Max),       PTO_SAME(ExprOp, Div), PTO_SAME(ExprOp, Lt),
    PTO_SAME(ExprOp, Le),         PTO_SAME(ExprOp, Eq),        PTO_SAME(ExprOp, Ne),  PTO_SAME(ExprOp, And),
    PTO_SAME(ExprOp, Or)};
inline constexpr std::array kSymKinds = {PTO_SAME(SymKind, Dim), PTO_SAME(SymKind, Loop), PTO_SAME(SymKind, Let),
                                         PTO_SAME(SymKind, Scalar)};
inline constexpr std::array kCoreKinds = {PTO_SAME(CoreKind, Vec), PTO_SAME(CoreKind, Cube)};
inline constexpr std::array kParamModes = {PTO_SAME(ParamMode, In), PTO_SAME(ParamMode, Out),
                                           PTO_SAME(ParamMode, InOut)};
inline constexpr std::array kStmtKinds = {PTO_SAME(StmtKind, Inst), PTO_SAME(StmtKind, For), PTO_SAME(StmtKind, EndFor),
                                          PTO_SAME(StmtKind, Let),  PTO_SAME(StmtKind, If),  PTO_SAME(StmtKind, Else),
                                          PTO_SAME(StmtKind, EndIf)};
inline constexpr std::array kSpaces = {PTO_SAME(Space, None), PTO_SAME(Space, Gm),   PTO_SAME(Space, Vec),
                                       PTO_SAME(Space, Mat),  PTO_SAME(Space, Left), PTO_SAME(Space, Right),
                                       PTO_SAME(Space, Acc),  PTO_SAME(Space, Bias), PTO_SAME(Space, Scaling)};
inline constexpr std::array kLayouts = {PTO_SAME(Layout, None), PTO_SAME(Layout, ND), PTO_SAME(Layout, DN),
                                        PTO_SAME(Layout, Nz),   PTO_SAME(Layout, Zn), PTO_SAME(Layout, Zz),
                                        PTO_SAME(Layout, Nn)};
#undef PTO_SAME
#define PTO_SAME(Enum, Name)          \
  std::pair {                         \
    isa::Enum::Name, wire::Enum::Name \
  }
inline constexpr std::array kRounds = {PTO_SAME(Round, None),  PTO_SAME(Round, Rint), PTO_SAME(Round, Round),
                                       PTO_SAME(Round, Floor), PTO_SAME(Round, Ceil), PTO_SAME(Round, Trunc),
                                       PTO_SAME(Round, Odd)};
inline constexpr std::array kRingDirections = {PTO_SAME(RingDirection, C2V), PTO_SAME(RingDirection, V2C)};
inline constexpr std::array kSplits = {PTO_SAME(Split, None), PTO_SAME(Split, Rows), PTO_SAME(Split, Cols)};
inline constexpr std::array kCmps = {PTO_SAME(Cmp, Eq), PTO_SAME(Cmp, Ne), PTO_SAME(Cmp, Lt),
                                     PTO_SAME(Cmp, Le), PTO_SAME(Cmp, Gt), PTO_SAME(Cmp, Ge)};
inline constexpr std::array kPads = {PTO_SAME(Pad, Zero), PTO_SAME(Pad, Max), PTO_SAME(Pad, Min)};
inline constexpr std::array kPipes = {PTO_SAME(Pipe, S),    PTO_SAME(Pipe, V),    PTO_SAME(Pipe, M),
                                      PTO_SAME(Pipe, MTE1), PTO_SAME(Pipe, MTE2), PTO_SAME(Pipe, MTE3),
                                      PTO_SAME(Pipe, FIX),  PTO_SAME(Pipe, All)};
#undef PTO_SAME

// The file's number for a value. A value without one is our bug: `verify` refuses it.
template <typename Ours, typename Wire, size_t kSize>
Wire to_wire(const EnumTable<Ours, Wire, kSize>& table, Ours value) {
  for (const auto& [ours, theirs] : table) {
    if (ours == value) {
      return theirs;
    }
  }
  internal_error(__FILE__, __LINE__, "an enum value that the object format doesn't have");
}

// Nullopt: a number that this version doesn't know.
template <typename Ours, typename Wire, size_t kSize>
std::optional<Ours> from_wire(const EnumTable<Ours, Wire, kSize>& table, Wire value) {
  for (const auto& [ours, theirs] : table) {
    if (theirs == value) {
      return ours;
    }
  }
  return std::nullopt;
}

// The attribute of an operand of kind Round, Cmp, Pad, PipeSrc or PipeDst.
std::optional<uint8_t> attribute_to_wire(isa::OperandKind kind, uint8_t attribute);
std::optional<uint8_t> attribute_from_wire(isa::OperandKind kind, uint8_t number);

}  // namespace pto::object
