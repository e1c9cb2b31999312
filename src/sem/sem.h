// What each instruction computes: one implementation, used by ptorun and by the tile-level evaluator.
// Depends on support and isa only. The caller has checked the instruction (isa::check_instruction), evaluated its
// expressions, set the destination's valid region (isa::valid_of_destination) and made sure windows are in bounds.
//
// Results are the same bits at every SIMD width: matrix products round the product to the accumulator's type and add in
// ascending k, starting from the accumulator or bias; row sums use one fixed tree (see reduce.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "pto/isa.h"

namespace pto::sem {

struct TileView {
  std::byte* data = nullptr;  // desc.bytes() bytes
  TileDesc desc;
  Valid valid;
};

// A window of a tensor in global memory, from its first element. Strides in elements.
struct GmView {
  std::byte* data = nullptr;
  DType dtype = DType::None;
  int64_t row_stride = 0;
  int64_t col_stride = 1;
};

struct Args {
  std::span<TileView> tiles;  // tile operands in operand order
  GmView gm;                  // tload, tstore
  double real = 0;            // Scalar operand, for float element types
  int64_t integer = 0;        // Scalar operand, for integer element types
  int64_t index[2] = {0, 0};  // Index operands in order
  isa::Round round = isa::Round::None;
  isa::Cmp cmp = isa::Cmp::Eq;
  isa::Pad pad = isa::Pad::Zero;
};

// Never fails: what could fail was checked before. Synchronisation instructions do nothing here.
void execute(isa::Opcode opcode, const Args& args);

}  // namespace pto::sem
