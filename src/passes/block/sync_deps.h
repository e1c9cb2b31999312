// Which accesses of a region depend on which earlier ones: the nearest conflict of each other pipe is enough, pipes
// work in order. Internal to insert-sync.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

struct Access {
  isa::Pipe pipe = isa::Pipe::S;
  Space space = Space::None;
  int64_t begin = 0;  // bytes; tensors: begin is the root tensor's number, end one more
  int64_t end = 0;
  bool write = false;
  isa::BufferId buffer;
  ExprId slot;
  ir::RegionId inner;  // seen from outside: the loop body or branch that it is in
  friend bool operator==(const Access&, const Access&) = default;
  friend std::weak_ordering operator<=>(const Access&, const Access&) = default;
};

// What an instruction touches. A slot whose number isn't constant may be any.
std::vector<Access> accesses_of(const ir::Function& core, const isa::Inst& inst, const Target& target);

// What item `from` does on pipe `src` comes before what item `to` does on pipe `dst`, `distance` iterations later.
struct Dependence {
  isa::Pipe src = isa::Pipe::S;
  isa::Pipe dst = isa::Pipe::S;
  int from = 0;
  int to = 0;
  int64_t distance = 0;
};

// `items`: the accesses of each, in program order. `rotation`: the number of slots of an access whose slot goes round
// with the loop's counter, else 0: the same bytes come up again only so many iterations later. In a loop (`loop`)
// dependences on earlier iterations are found, too.
std::vector<Dependence> find_dependences(const std::vector<const std::vector<Access>*>& items, bool loop,
                                         const std::function<int64_t(const Access&)>& rotation);

}  // namespace pto::passes
