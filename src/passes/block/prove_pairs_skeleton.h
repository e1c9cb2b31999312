// What the cores of a pair do with their rings: push, pop and free instructions with the loops and branches around
// them, for the cube core and for each vector lane. All scalar expressions are brought into one pool, with lets written
// out, the lane's number put in and loops counted from 0 in steps of 1, so that what is equal in two cores is one
// expression. Used by prove-pairs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::passes {

enum class RingAction : uint8_t { Push, Pop, Free, Use };  // Use: of the tile popped last, where rings are local

// Iterations by number, first and last: where something changes.
struct IterationRange {
  int64_t first = 0;
  int64_t last = 0;
};

struct RingNode {
  enum class Kind : uint8_t { Event, Loop, Branch };
  Kind kind = Kind::Event;
  RingAction action = RingAction::Push;
  size_t ring = 0;
  ir::OpId op;
  ExprId expr;                // Loop: how often it runs. Branch: the condition
  int depth = 0;              // Loop: number of loops around it
  std::vector<size_t> body;   // Loop, Branch
  std::vector<size_t> other;  // Branch
  // Filled in by the analysis of expressions (prove_pairs_forms.h). Loops: where iterations begin to differ from those
  // before, counted from the first and from the end, and an expression whose value may differ from one iteration to the
  // next in a way that is not known.
  std::vector<IterationRange> heads;
  std::vector<IterationRange> tails;
  ExprId changing;
};

struct RingProcess {
  const ir::Function* core = nullptr;
  std::string name;  // "the cube core", "lane 1"
  size_t side = 0;   // the lane's number
  bool cube = false;
  std::vector<RingNode> nodes;
  std::vector<size_t> body;
  Span span(ir::OpId op) const { return core->ops[op].span(); }
};

struct PairSkeleton {
  std::vector<isa::Ring> rings;
  std::vector<uint8_t> local;  // by ring: are its slots in the consumer's memory?
  size_t lanes = 2;
  std::vector<RingProcess> processes;
  ExprPool pool;
  std::vector<Symbol> symbols;
  std::vector<SymId> counters;      // by depth: a loop's iteration
  std::map<ExprId, int64_t> least;  // by `where`
  std::map<ExprId, int64_t> most;   // by `where`
  std::string text(ExprId expr) const;
  // The depth of the loop that the expression counts the iterations of; nullopt: it isn't a counter.
  std::optional<int> counter_depth(ExprId expr) const;
  std::vector<size_t> pushers;  // by ring: how many processes' pushes count
  std::vector<size_t> poppers;
};

PairSkeleton pair_skeleton(const ir::Function& pair, const ir::Function& cube, const ir::Function& vec,
                           const Target& target);

}  // namespace pto::passes
