// How a kernel is shared by the cores that run it: which ops belong to the cube core and which to the vector lanes, which
// tiles cross between them, and what of the vector work the two lanes split. Only reads the kernel; `select` follows it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

struct MixedPlan {
  bool cube = false;                         // has work for the cube core
  bool vec = false;                          // has work for vector cores
  bool mixed() const { return cube && vec; }
  std::map<CoreKind, std::set<ir::OpId>> ops;  // what each kind of core does; loops and branches around it too
  std::map<CoreKind, std::set<ir::ValueId>> tensors;  // parameters and views that it touches
  int64_t lanes = 1;
  isa::Split axis = isa::Split::None;        // of `shared` tiles
  std::set<ir::ValueId> shared;              // vector tiles of which each lane has its half
  std::map<ir::OpId, isa::RingId> crossings;  // moves from one kind of core to the other
  std::vector<isa::Ring> rings;
};

// nullopt after an error: cores of one kind read in global memory what the other kind writes there.
std::optional<MixedPlan> plan_mixed(const ir::Function& kernel, const Target& target, bool split_lanes,
                                    DiagnosticSink& sink);

}  // namespace pto::passes
