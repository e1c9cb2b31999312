// When each buffer of a core program holds something: one interval of instruction positions a buffer.
#pragma once

#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

struct Lifetime {
  int first = -1;  // position of the instruction that begins it; -1: never touched
  int last = -1;
  uint32_t pipes = 0;    // bit set over isa::Pipe of the instructions that touch it
  ir::OpId last_reader;  // the instruction at `last`
  bool overlaps(const Lifetime& other) const {
    return first >= 0 && other.first >= 0 && first <= other.last && other.first <= last;
  }
};

// A buffer that is used inside and outside of a loop, or carries a value from one iteration to the next, or rotates
// with a loop, lives for the whole loop.
std::vector<Lifetime> buffer_lifetimes(const ir::Function& core, const Target& target);

}  // namespace pto::passes
