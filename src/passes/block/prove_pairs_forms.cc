#include "src/passes/block/prove_pairs_forms.h"

#include <algorithm>
#include <numeric>

#include "src/support/checked.h"
#include "src/support/expr_ops.h"

namespace pto::passes {

namespace {

constexpr size_t kMostCases = 6;
constexpr size_t kMostWork = 500000;  // expressions looked at
constexpr int kMostPasses = 50;
constexpr int64_t kLongestPeriod = 32;  // what repeats less often is an atom
constexpr int64_t kMostValues = 64;     // of an atom that is not alone in a comparison
constexpr size_t kMostRanges = 64;      // special iterations of a loop
constexpr int64_t kLargest = int64_t{1} << 40;

bool no_loops(const Form& form) {
  return std::all_of(form.cases.begin(), form.cases.end(), [](const Linear& x) { return x.loops.empty(); });
}

bool no_atoms(const Form& form) {
  return std::all_of(form.cases.begin(), form.cases.end(), [](const Linear& x) { return x.atoms.empty(); });
}

class Analysis {
 public:
  explicit Analysis(PairSkeleton& pair) : pair_(pair) {}

  PairForms run() {
    // What is an atom in one place is an atom everywhere, or equal expressions would not be equal.
    for (int pass = 0;; ++pass) {
      const size_t known = opaque_.size();
      look_at_all(false);
      if (work_ > kMostWork || pass == kMostPasses) {
        out_.problem = "its loop bounds and conditions are too large";
        return std::move(out_);
      }
      if (opaque_.size() == known) {
        break;
      }
    }
    look_at_all(true);
    collect_ranges();
    for (size_t p = 0; p < pair_.processes.size() && out_.problem.empty(); ++p) {
      const std::vector<RingNode>& nodes = pair_.processes[p].nodes;
      for (size_t number = 0; number < nodes.size() && out_.order.size() <= kMostPairAtoms; ++number) {
        if (nodes[number].kind == RingNode::Kind::Loop) {
          mark_trip(nodes[number], out_.trips[p][number]);
        }
      }
    }
    if (out_.period > 2 * kLongestPeriod) {
      out_.problem = "its loops repeat themselves only every " + std::to_string(out_.period) + " iterations";
    }
    return std::move(out_);
  }

 private:
  struct Context {
    RingNode* loop = nullptr;
    Form trip;
  };

  void look_at_all(bool final) {
    final_ = final;
    out_.formulas.assign(pair_.processes.size(), {});
    out_.trips.assign(pair_.processes.size(), {});
    for (size_t p = 0; p < pair_.processes.size(); ++p) {
      RingProcess& process = pair_.processes[p];
      out_.formulas[p].resize(process.nodes.size());
      out_.trips[p].resize(process.nodes.size());
      stack_.clear();
      body(p, process.body);
    }
  }

  void body(size_t p, const std::vector<size_t>& nodes) {
    for (const size_t number : nodes) {
      RingNode& node = pair_.processes[p].nodes[number];
      if (node.kind == RingNode::Kind::Event || work_ > kMostWork || out_.order.size() > kMostPairAtoms) {
        continue;
      }
      const bool loop = node.kind == RingNode::Kind::Loop;
      forms_.clear();
      for (const ExprId part : pair_.pool.post_order(node.expr)) {
        ++work_;
        forms_.emplace(part, form_of(part));
      }
      if (loop && !is_trip(forms_.at(node.expr))) {
        opaque_.insert(node.expr);
        forms_[node.expr] = atom(node.expr);
      }
      const Form form = forms_.at(node.expr);
      if (final_) {
        out_.formulas[p][number] = formula(node.expr, needed(node.expr));
        out_.trips[p][number] = form;
      }
      if (loop) {
        stack_.push_back({&node, form});
      }
      body(p, node.body);
      if (loop) {
        stack_.pop_back();
      }
      body(p, node.other);
    }
  }

  // A trip count must be the same in all iterations of the loops around, up to what repeats, and grow with its atoms.
  bool is_trip(const Form& form) {
    return no_loops(form) && std::all_of(form.cases.begin(), form.cases.end(), [&](const Linear& x) {
             return x.divisor == 1 && x.wobble <= kMostValues &&
                    std::all_of(x.atoms.begin(), x.atoms.end(), [&](const auto& part) {
                      return part.second > 0 && (x.atoms.size() == 1 || least_of(part.first).value_or(-1) >= 0);
                    });
           });
  }

  static Form atom(ExprId expr) {
    Linear alone;
    alone.atoms[expr] = 1;
    return {{alone}};
  }

  static Form truth() {
    Linear some;
    some.wobble = 1;
    return {{some}};
  }

  Form constant(int64_t value) const {
    Linear alone;
    alone.constant = value;
    return {{alone}};
  }

  Form make_opaque(ExprId expr) {
    opaque_.insert(expr);
    return atom(expr);
  }

  Form form_of(ExprId expr) {
    const ExprNode& node = pair_.pool[expr];
    if (opaque_.count(expr) != 0) {
      return atom(expr);
    }
    switch (node.op) {
      case ExprOp::Int:
        return node.value > -kLargest && node.value < kLargest ? constant(node.value) : make_opaque(expr);
      case ExprOp::Sym:
        if (const auto depth = pair_.counter_depth(expr)) {
          Linear counter;
          counter.loops[*depth] = 1;
          return {{counter}};
        }
        return atom(expr);
      case ExprOp::BlockIndex:
      case ExprOp::BlockCount:
        return atom(expr);
      case ExprOp::Add:
      case ExprOp::Sub:
        return pair_.pool.known_real(expr) ? make_opaque(expr) : sum(expr, node.op == ExprOp::Add ? 1 : -1);
      case ExprOp::Mul:
        return product(expr);
      case ExprOp::FloorDiv:
      case ExprOp::CeilDiv:
      case ExprOp::Mod:
        return quotient(expr);
      case ExprOp::Min:
      case ExprOp::Max:
        return computed(expr, false) ? either(expr) : make_opaque(expr);
      case ExprOp::Lt:
      case ExprOp::Le:
      case ExprOp::Eq:
      case ExprOp::Ne:
        return computed(expr, false) ? truth() : make_opaque(expr);
      case ExprOp::And:
      case ExprOp::Or:
        return truth();
      case ExprOp::Float:
      case ExprOp::LaneIndex:
      case ExprOp::Div:
        return make_opaque(expr);
    }
    return make_opaque(expr);
  }

  Form sum(ExprId expr, int64_t sign) {
    const ExprNode& node = pair_.pool[expr];
    Form all;
    for (const Linear& a : forms_.at(node.a).cases) {
      for (const Linear& b : forms_.at(node.b).cases) {
        const auto both = add_linear(a, b, sign);
        if (!both || all.cases.size() == kMostCases) {
          return make_opaque(expr);
        }
        all.cases.push_back(*both);
      }
    }
    return all;
  }

  Form product(ExprId expr) {
    const ExprNode& node = pair_.pool[expr];
    const auto left = pair_.pool.constant(node.a);
    const auto factor = left ? left : pair_.pool.constant(node.b);
    if (pair_.pool.known_real(expr)) {
      return make_opaque(expr);
    }
    Form all;
    for (const Linear& x : forms_.at(left ? node.b : node.a).cases) {
      const auto scaled = factor ? scale_linear(x, *factor) : std::nullopt;
      if (!scaled) {
        return make_opaque(expr);
      }
      all.cases.push_back(*scaled);
    }
    return all;
  }

  // Of loop counters by a small constant: the quotient bends, the rest repeats.
  Form quotient(ExprId expr) {
    const ExprNode& node = pair_.pool[expr];
    const auto by = pair_.pool.constant(node.b);
    Form form = forms_.at(node.a);
    if (!by || *by <= 0 || !no_atoms(form)) {
      return make_opaque(expr);
    }
    for (Linear& x : form.cases) {
      if (*by > kLongestPeriod || x.divisor * *by > kLongestPeriod || x.wobble > kLargest / 2) {
        return make_opaque(expr);
      }
    }
    for (Linear& x : form.cases) {
      if (node.op == ExprOp::Mod) {
        x = Linear{};
        x.wobble = *by;
      } else {
        x.divisor *= *by;
        x.wobble += x.divisor;
      }
    }
    return form;
  }

  void period_of(int64_t period) {
    if (out_.period <= 2 * kLongestPeriod) {
      out_.period = std::lcm(out_.period, period);
    }
  }

  Form either(ExprId expr) {
    const ExprNode& node = pair_.pool[expr];
    Form form = forms_.at(node.a);
    const Form& other = forms_.at(node.b);
    form.cases.insert(form.cases.end(), other.cases.begin(), other.cases.end());
    return form.cases.size() > kMostCases ? make_opaque(expr) : form;
  }

  // ---- where a comparison of the two operands changes

  bool computed(ExprId expr, bool note) {
    const ExprNode& node = pair_.pool[expr];
    if (pair_.pool.known_real(node.a) || pair_.pool.known_real(node.b)) {
      return false;
    }
    for (const Linear& a : forms_.at(node.a).cases) {
      for (const Linear& b : forms_.at(node.b).cases) {
        const auto difference = add_linear(a, b, -1);
        if (!difference || !changes(*difference, note)) {
          return false;
        }
      }
    }
    return true;
  }

  // Is it known where the sign of `d` changes, that is, within a few iterations or values? With `note`: says so at the
  // loop or atoms.
  bool changes(const Linear& d, bool note) {
    if (d.loops.size() > 1) {
      return false;
    }
    if (d.loops.empty()) {
      return d.atoms.empty() || changes_with_atoms(d, note);
    }
    const auto [depth, factor] = *d.loops.begin();
    if (static_cast<size_t>(depth) >= stack_.size()) {
      return false;
    }
    Context& context = stack_[static_cast<size_t>(depth)];
    const int64_t width = (d.wobble + d.divisor) / std::abs(factor) + 1;
    if (width > kMostValues) {
      return false;
    }
    if (d.atoms.empty()) {
      const int64_t at = *floor_div(-d.constant, factor);
      if (note) {
        context.loop->heads.push_back({at - width, at + width});
      }
      return true;
    }
    if (no_atoms(context.trip)) {
      return changes_in_short_loop(d, context, note);
    }
    // A distance from the end: the atoms are those of the trip count.
    for (const Linear& trip : context.trip.cases) {
      if (trip.atoms.empty()) {
        continue;
      }
      const auto rest = add_linear(d, *scale_linear(trip, factor), 1);
      if (!rest || d.divisor != 1 || trip.wobble != 0 || !rest->atoms.empty()) {
        return false;
      }
      const int64_t distance = *floor_div(rest->constant, factor);
      if (note) {
        context.loop->tails.push_back({distance - width, distance + width});
      }
    }
    return true;
  }

  bool changes_with_atoms(const Linear& d, bool note) {
    const bool positive = d.atoms.begin()->second > 0;
    if (std::any_of(d.atoms.begin(), d.atoms.end(), [&](const auto& x) { return (x.second > 0) != positive; })) {
      return false;  // it depends on a relation between atoms
    }
    for (const auto& [expr, factor] : d.atoms) {
      const int64_t width = (d.wobble + d.divisor) / std::abs(factor) + 1;
      const int64_t at = *floor_div(-d.constant, factor);
      if (d.atoms.size() == 1) {
        if (note) {
          for (int64_t value = at - width; value <= at + width && width < kMostValues; ++value) {
            atom_of(expr).marks.insert(value);
          }
        }
        if (width >= kMostValues) {
          return false;
        }
        continue;
      }
      if (std::abs(at) + width > kMostValues || least_of(expr).value_or(-1) < 0) {
        return false;
      }
      if (note) {
        note_all(expr, at + width);
      }
    }
    return true;
  }

  // The loop runs a constant number of times: the atom is compared with so many values.
  bool changes_in_short_loop(const Linear& d, Context& context, bool note) {
    int64_t most = 0;
    for (const Linear& trip : context.trip.cases) {
      most = std::max(most, trip.constant + trip.wobble);
    }
    if (most > kMostValues || d.atoms.size() > 1) {
      return false;
    }
    const auto& [expr, factor] = *d.atoms.begin();
    const auto& [depth, loop_factor] = *d.loops.begin();
    const int64_t from_loop = loop_factor > -kLargest / kMostValues && loop_factor < kLargest / kMostValues
                                  ? *ceil_div(std::abs(loop_factor) * most + d.wobble + d.divisor, std::abs(factor)) + 1
                                  : kLargest;
    const int64_t at = *floor_div(-d.constant, factor);
    if (from_loop > kMostValues) {
      return false;
    }
    if (note) {
      context.loop->heads.push_back({0, most});
      for (int64_t value = at - from_loop; value <= at + from_loop; ++value) {
        atom_of(expr).marks.insert(value);
      }
    }
    return true;
  }

  // ---- what is needed of the final forms

  // The parts of an expression that are computed, and its atoms. Says what is to be known of comparisons and quotients.
  std::set<ExprId> needed(ExprId root) {
    std::set<ExprId> seen;
    std::vector<ExprId> open = {root};
    while (!open.empty()) {
      const ExprId expr = open.back();
      open.pop_back();
      if (!seen.insert(expr).second) {
        continue;
      }
      const ExprNode& node = pair_.pool[expr];
      if (is_atom(expr)) {
        atom_of(expr);
        note_counters(expr);
      } else if (!is_leaf(node.op)) {
        if (node.op == ExprOp::Min || node.op == ExprOp::Max || is_comparison(node.op)) {
          computed(expr, true);
        } else if (node.op == ExprOp::FloorDiv || node.op == ExprOp::CeilDiv || node.op == ExprOp::Mod) {
          for (const Linear& x : forms_.at(node.a).cases) {
            period_of(x.divisor * *pair_.pool.constant(node.b));
          }
        }
        open.push_back(node.b);
        open.push_back(node.a);
      }
    }
    return seen;
  }

  bool is_atom(ExprId expr) const {
    const ExprOp op = pair_.pool[expr].op;
    return opaque_.count(expr) != 0 || op == ExprOp::BlockIndex || op == ExprOp::BlockCount ||
           (op == ExprOp::Sym && !pair_.counter_depth(expr));
  }

  // An atom that mentions loop counters may change from iteration to iteration.
  void note_counters(ExprId atom) {
    for (const ExprId part : pair_.pool.post_order(atom)) {
      const auto depth = pair_.counter_depth(part);
      if (depth && static_cast<size_t>(*depth) < stack_.size()) {
        stack_[static_cast<size_t>(*depth)].loop->changing = atom;
      }
    }
  }

  Atom& atom_of(ExprId expr) {
    const auto found = out_.atoms.find(expr);
    if (found != out_.atoms.end()) {
      return found->second;
    }
    out_.order.push_back(expr);
    Atom& atom = out_.atoms[expr];
    atom.number = out_.order.size() - 1;
    atom.truth = is_truth(pair_.pool[expr].op);
    atom.least = least_of(expr);
    const auto most = pair_.most.find(expr);
    if (most != pair_.most.end()) {
      atom.most = most->second;
    }
    return atom;
  }

  void note_all(ExprId expr, int64_t to) {
    Atom& atom = atom_of(expr);
    atom.all_to = std::max(atom.all_to.value_or(to), to);
  }

  static void make_unique(std::vector<IterationRange>& ranges) {
    auto key = [](const IterationRange& range) { return std::pair(range.first, range.last); };
    std::sort(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    ranges.erase(
        std::unique(ranges.begin(), ranges.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
        ranges.end());
  }

  void collect_ranges() {
    out_.heads.resize(pair_.counters.size());
    out_.tails.resize(pair_.counters.size());
    for (RingProcess& process : pair_.processes) {
      for (RingNode& node : process.nodes) {
        if (node.kind == RingNode::Kind::Loop) {
          const auto depth = static_cast<size_t>(node.depth);
          make_unique(node.heads);
          make_unique(node.tails);
          out_.heads[depth].insert(out_.heads[depth].end(), node.heads.begin(), node.heads.end());
          out_.tails[depth].insert(out_.tails[depth].end(), node.tails.begin(), node.tails.end());
        }
      }
    }
    for (auto* all : {&out_.heads, &out_.tails}) {
      for (std::vector<IterationRange>& ranges : *all) {
        make_unique(ranges);
        if (ranges.size() > kMostRanges) {
          out_.problem = "its loops have too many special iterations";
        }
      }
    }
    if (work_ > kMostWork) {
      out_.problem = "its loop bounds and conditions are too large";
    }
  }

  // How the trip counts' atoms matter: where the trip count is one at which marks of the loop meet.
  void mark_trip(const RingNode& node, const Form& trip) {
    std::set<int64_t> lengths = {0};
    auto add = [&](int64_t first, int64_t last) {
      for (int64_t at = first; at <= last && work_ <= kMostWork; ++at, ++work_) {
        lengths.insert(at);
      }
    };
    for (const IterationRange& range : node.heads) {
      add(range.first, range.last);
      for (const IterationRange& end : node.tails) {
        add(range.first + end.first, range.last + end.last);
      }
    }
    for (const IterationRange& range : node.tails) {
      add(range.first, range.last);
    }
    for (const Linear& x : trip.cases) {
      for (const auto& [expr, factor] : x.atoms) {
        if (x.atoms.size() > 1) {
          note_all(expr, *ceil_div(std::max<int64_t>(0, *lengths.rbegin() - x.constant + x.wobble), factor) + 1);
          continue;
        }
        for (const int64_t length : lengths) {
          const int64_t last = *ceil_div(length - x.constant + x.wobble, factor);
          for (int64_t value = *floor_div(length - x.constant - x.wobble, factor); value <= last; ++value, ++work_) {
            atom_of(expr).marks.insert(value);
          }
        }
      }
    }
    if (work_ > kMostWork) {
      out_.problem = "its loop bounds and conditions are too large";
    }
  }

  std::optional<int64_t> least_of(ExprId expr) {
    const auto found = least_.find(expr);
    if (found != least_.end()) {
      return found->second;
    }
    for (const ExprId part : pair_.pool.post_order(expr)) {
      if (least_.count(part) == 0) {
        ++work_;
        least_[part] = least_value(pair_, part, least_);
      }
    }
    return least_.at(expr);
  }

  Formula formula(ExprId root, const std::set<ExprId>& parts) {
    Formula out;
    std::map<ExprId, size_t> at;
    for (const ExprId expr : pair_.pool.post_order(root)) {
      if (parts.count(expr) == 0) {
        continue;
      }
      Formula::Step step;
      const ExprNode& node = pair_.pool[expr];
      if (is_atom(expr)) {
        step.op = ExprOp::Sym;
        step.value = -1 - static_cast<int64_t>(out_.atoms.at(expr).number);
      } else if (const auto depth = pair_.counter_depth(expr)) {
        step.op = ExprOp::Sym;
        step.value = *depth;
      } else {
        step.op = node.op;
        step.value = node.value;
        if (!is_leaf(node.op)) {
          step.a = at.at(node.a);
          step.b = at.at(node.b);
        }
      }
      at[expr] = out.steps.size();
      out.steps.push_back(step);
    }
    return out;
  }

  PairSkeleton& pair_;
  PairForms out_;
  bool final_ = false;
  size_t work_ = 0;
  std::set<ExprId> opaque_;
  std::map<ExprId, Form> forms_;  // of the expression that is looked at
  std::map<ExprId, std::optional<int64_t>> least_;
  std::vector<Context> stack_;
};

}  // namespace

PairForms analyse_forms(PairSkeleton& pair) {
  return Analysis(pair).run();
}

std::optional<int64_t> evaluate(const Formula& formula, const std::vector<int64_t>& counters,
                                const std::vector<int64_t>& atoms) {
  std::vector<int64_t> values;
  values.reserve(formula.steps.size());
  for (const Formula::Step& step : formula.steps) {
    if (step.op == ExprOp::Int) {
      values.push_back(step.value);
    } else if (step.op == ExprOp::Sym) {
      values.push_back(step.value >= 0 ? counters.at(static_cast<size_t>(step.value))
                                       : atoms.at(static_cast<size_t>(-1 - step.value)));
    } else {
      const auto value = apply_int(step.op, values[step.a], values[step.b]);
      if (!value) {
        return std::nullopt;
      }
      values.push_back(*value);
    }
  }
  return values.back();
}

}  // namespace pto::passes
