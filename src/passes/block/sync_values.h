// What the prover knows of the scalars of a core at a moment of its walk: values of the counters around it and of the
// lets that follow from them. Internal to prove-sync.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/ir/ir.h"
#include "src/passes/block/sync_counter.h"

namespace pto::passes {

class SyncValues {
 public:
  explicit SyncValues(const ir::Function& core);

  // Does anything that matters depend on lane_index()?
  bool lanes_differ() const { return lanes_differ_; }
  void reset(int64_t lane);
  void set(SymId symbol, std::optional<int64_t> value) { known_[symbol.index()] = value; }
  // nullopt: not known.
  std::optional<int64_t> value(ExprId expr);
  // Why not, in words: "depends on `M`".
  std::string unknown_part(ExprId expr);
  const CounterUse& use_of(ir::OpId loop);
  // A number for a condition that is the same whenever it is asked, depends on the arguments alone, and stands at
  // several branches; there are at most kMaxFixed.
  std::optional<size_t> fixed(ExprId condition) const;
  static constexpr size_t kMaxFixed = 6;

 private:
  struct Needs {
    std::vector<SymId> symbols;
    bool block = false;  // block_index(), block_count()
    bool lane = false;
  };
  const Needs& needs(ExprId expr);
  bool far(ExprId expr) const;
  // Can its value ever be known? Not if it depends on an argument or on the block.
  bool can_be_known(ExprId expr);

  const ir::Function& core_;
  std::vector<std::optional<Needs>> needs_;  // by ExprId
  std::vector<bool> knowable_;               // by SymId
  bool lanes_differ_ = false;
  std::map<ExprId, size_t> fixed_;
  std::map<ir::OpId, CounterUse> uses_;
  std::map<ExprId, std::vector<SymId>> wild_;  // expressions of no period, and the counters that it is about
  std::vector<std::optional<int64_t>> known_;  // by SymId
  std::vector<int64_t> ints_;                  // room for evaluation
  int64_t lane_ = 0;
};

}  // namespace pto::passes
