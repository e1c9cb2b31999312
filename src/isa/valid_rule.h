// The rules by which a destination's valid region follows from those of the sources, inline: the simulator needs one
// for every instruction. Everybody else calls isa::valid_of_destination.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "pto/isa.h"

namespace pto::isa {

// Bytes of a packed mask row, counted in elements of the mask tile.
inline int64_t mask_columns(int64_t columns, DType mask) {
  const int64_t width = std::max(bit_width(mask), 8);
  return (columns + width - 1) / width;
}

// `left`: of ValidRule::MatMul, which source is the left operand: an accumulator that is read too stands in front of
// it. `explicit_valid`: null if the instruction has none.
inline Valid valid_by_rule(ValidRule rule, size_t left, const TileDesc& destination, std::span<const Valid> sources,
                           const Valid* explicit_valid) {
  const Valid whole{destination.rows, destination.cols};
  const Valid& first = sources.empty() ? whole : sources.front();
  const Valid& last = sources.empty() ? whole : sources.back();
  // Of sources that must agree one may be wholly valid: the smaller region counts.
  const auto both = [](const Valid& a, const Valid& b) {
    return Valid{std::min(a.rows, b.rows), std::min(a.cols, b.cols)};
  };
  switch (rule) {
    case ValidRule::None:
      return {};
    case ValidRule::Explicit:
      return explicit_valid != nullptr ? *explicit_valid : whole;
    case ValidRule::Full:
      return whole;
    case ValidRule::Same:
      return both(first, last);
    case ValidRule::SameAsSecond:
      // Behind a mask stand one or two data tiles.
      return sources.size() == 3 ? both(sources[1], last) : last;
    case ValidRule::Mask:
      return {std::min(first.rows, last.rows), mask_columns(std::min(first.cols, last.cols), destination.dtype)};
    case ValidRule::RowReduce:
      return {first.rows, 1};
    case ValidRule::ColReduce:
      return {1, first.cols};
    case ValidRule::Full2D:
      // The repeated operand is one row or column; where the other one is empty, so is the result.
      return {std::min(first.rows, last.rows) == 0 ? 0 : std::max(first.rows, last.rows),
              std::min(first.cols, last.cols) == 0 ? 0 : std::max(first.cols, last.cols)};
    case ValidRule::MatMul:
      return sources.size() < left + 2 ? whole : Valid{sources[left].rows, sources[left + 1].cols};
  }
  return whole;
}

}  // namespace pto::isa
