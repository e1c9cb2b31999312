// What a core does with its rings: its push, pop and free instructions with the loops and branches around them, and the
// list of them for given values of everything that decides about loops and branches. Used by prove-pairs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

enum class RingAction : uint8_t { Push, Pop, Free, Use };  // Use: of the tile popped last, where rings are local

struct RingEvent {
  RingAction action = RingAction::Push;
  std::string ring;
  ir::OpId op;
};

// Values of what an expression can't be computed from: dims, scalars, quotients of them. By text, in which lets are
// written out and loop variables numbered by nesting, so that equal expressions of two cores are equal.
using Atoms = std::map<std::string, int64_t>;

class RingProgram {
 public:
  RingProgram(const ir::Function& core, const Target& target);

  const ir::Function& core() const { return core_; }
  bool local(const isa::Ring& ring) const { return target_.ring_is_local(ring.direction); }
  // Constants that are added to or compared with something in the bounds of loops and the conditions of branches around
  // ring instructions.
  std::set<int64_t> constants() const;
  // The events for a lane, in order. Atoms that have no value yet get `missing` and are added. nullopt: more than `most`
  // steps.
  std::optional<std::vector<RingEvent>> run(int64_t lane, Atoms& atoms, size_t most) const;

 private:
  struct State;
  void add_constants(ExprId expr, std::set<int64_t>& found) const;
  bool matters(ir::RegionId region) const;
  bool region(ir::RegionId region, State& state) const;
  int64_t trips(const ir::Op& loop, State& state) const;
  void instruction(ir::OpId id, State& state) const;
  int64_t value(ExprId expr, State& state) const;
  int64_t atom(ExprId expr, State& state) const;
  std::string text(ExprId expr, const State& state) const;
  bool known(ExprId expr, const State& state) const;

  const ir::Function& core_;
  const Target& target_;
  std::set<ir::RegionId> relevant_;                  // regions with ring instructions
  std::map<isa::BufferId, std::string> ring_memory_;  // buffers that are the memory of a local ring
};

}  // namespace pto::passes
