// What loop bounds and conditions of a pair of cores depend on, for prove-pairs. An expression is either computed - it
// is linear in loop counters and atoms, or compares such - or it is itself an atom: something that may have any value.
// What is computed changes at known iterations of a loop only, counted from its start or its end, and at known values
// of the atoms; in between everything repeats with a known period. An atom that mentions a loop's counter may differ
// between iterations of that loop, which is noted there (RingNode::changing).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/passes/block/prove_pairs_linear.h"

namespace pto::passes {

// One of the cases, which one follows from comparisons that are computed.
struct Form {
  std::vector<Linear> cases;
};

struct Atom {
  size_t number = 0;             // in PairForms::order
  bool truth = false;            // 0 or 1
  std::optional<int64_t> least;  // what is known of its value
  std::optional<int64_t> most;
  std::set<int64_t> marks;        // values at which something changes
  std::optional<int64_t> all_to;  // changes depend on other atoms too: look at all values up to here
};

// A program for one expression: leaves and operations in order, the last is the value.
struct Formula {
  struct Step {
    ExprOp op = ExprOp::Int;
    int64_t value = 0;  // Int: the constant. Sym: the depth of a loop, or -1 - the number of an atom
    size_t a = 0;
    size_t b = 0;
  };
  std::vector<Step> steps;
};

inline constexpr size_t kMostPairAtoms = 24;  // more are not worth an attempt

struct PairForms {
  std::vector<ExprId> order;  // of atoms, as formulas number them
  std::map<ExprId, Atom> atoms;
  std::vector<std::vector<Formula>> formulas;  // by process and node; empty for events
  std::vector<std::vector<Form>> trips;        // by process and node; of loops
  // By depth of loop: what RingNode says of all loops of all processes there.
  std::vector<std::vector<IterationRange>> heads;
  std::vector<std::vector<IterationRange>> tails;
  int64_t period = 1;   // of everything that repeats
  std::string problem;  // why the analysis gave up; empty: it did not
};

// Also sets what RingNode says of loops.
PairForms analyse_forms(PairSkeleton& pair);

// Nullopt: the value does not fit.
std::optional<int64_t> evaluate(const Formula& formula, const std::vector<int64_t>& counters,
                                const std::vector<int64_t>& atoms);

}  // namespace pto::passes
