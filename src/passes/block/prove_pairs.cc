// Proves that the programs of a pair fit each other: as many pushes as pops on every path, popped tiles of local rings
// given back once and not used afterwards, nobody waits for ever - for all values of dims and scalars, all trip counts.
//
// A core is reduced to its ring instructions, loops and branches (prove_pairs_skeleton.h). What loop bounds and
// conditions depend on are atoms (prove_pairs_forms.h): dims, scalars, `ceildiv(N, 64)`, equal expressions of all cores
// being one. With a value for each atom a core is a list of events (prove_pairs_trace.h), and the lists are run against
// each other (prove_pairs_run.h); one schedule decides. Not all values need to be tried:
//
//   * Iterations of a loop are equal, up to a period, behind those that are counted from its start and before those that
//     are counted from its end; where that is, is known. If all cores can be at the beginning of such an iteration
//     together, and a period later again with the same tiles in the rings, then the list with that period once more, or
//     any number of times, runs like the list without. The pieces of different loops lie behind or inside each other,
//     so each holds whatever the others do. So a value is tried up to the point from which on only more such periods
//     come, and that they are such periods is checked in the run, not assumed.
//   * An atom that mentions a loop's counter may have another value in every iteration. It gets the same one in all, and
//     all its values are tried; all rings must be empty between iterations, so that each iteration is a run of its own.
//
// Assumed: dims are at least 1, `where` holds, all waits happen in program order. Atoms vary independently of each
// other: a pair whose proof needs a relation between two of them is not proved.
//
// Not checked here: hazards inside a core (prove-sync), valid regions of tiles (they are checked when the program
// runs).
#include <algorithm>
#include <set>

#include "pto/result.h"
#include "src/passes/block/prove_pairs_run.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::OpId;

constexpr size_t kMostSteps = 200000;  // of one core in one run
constexpr size_t kMostRuns = 20000;    // assignments of atoms
constexpr size_t kMostValues = 1000;   // of one atom

enum class Verdict : uint8_t { Fits, Reported, NotSteady };

class PairProver {
 public:
  PairProver(PassContext& context, const ir::Function& pair, const ir::Function& cube, const ir::Function& vec)
      : context_(context), function_(pair), pair_(pair_skeleton(pair, cube, vec, context.target)) {}

  bool run() {
    forms_ = analyse_forms(pair_);
    if (!forms_.problem.empty()) {
      return undecided(forms_.problem);
    }
    if (forms_.order.size() > kMostPairAtoms) {
      return too_many_atoms();
    }
    // How many values behind the last that is special: some more where a steady state takes longer to come.
    Verdict verdict = Verdict::NotSteady;
    for (const int64_t more : {1, 3, 8, 24, 60}) {
      verdict = verdict == Verdict::NotSteady ? run_all(forms_.period + more) : verdict;
    }
    return verdict == Verdict::NotSteady ? not_steady() : verdict == Verdict::Fits;
  }

 private:
  // ---- what is tried

  std::vector<int64_t> values_of(const Atom& atom, int64_t behind) const {
    if (atom.truth) {
      return {0, 1};
    }
    const int64_t span = behind + forms_.period;
    const int64_t least = atom.least ? *atom.least : atom.marks.empty() ? 0 : *atom.marks.begin() - 2;
    std::set<int64_t> values;
    auto add = [&](int64_t from, int64_t to) {
      for (int64_t value = std::max(from, least); value <= to && values.size() <= kMostValues; ++value) {
        values.insert(value);
      }
    };
    add(least, std::max(least, atom.all_to.value_or(least)) + span - 1);
    for (const int64_t mark : atom.marks) {
      add(mark - 1, mark + span - 1);
    }
    while (atom.most && values.size() > 1 && *values.rbegin() > *atom.most) {
      values.erase(std::prev(values.end()));
    }
    return {values.begin(), values.end()};
  }

  Verdict run_all(int64_t behind) {
    std::vector<std::vector<int64_t>> values;
    size_t runs = 1;
    for (const ExprId atom : forms_.order) {
      values.push_back(values_of(forms_.atoms.at(atom), behind));
      if (values.back().size() > kMostValues) {
        undecided("`" + pair_.text(atom) + "` matters at too many values");
        return Verdict::Reported;
      }
      runs *= values.back().size();
      if (runs > kMostRuns) {
        too_many_atoms();
        return Verdict::Reported;
      }
    }
    for (size_t number = 0; number < runs; ++number) {
      AtomValues atoms;
      size_t rest = number;
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t at = rest % values[i].size();
        rest /= values[i].size();
        atoms.values.push_back(values[i][at]);
        atoms.grows.push_back(stands_for_more(i, values[i], at) ? 1 : 0);
      }
      const Verdict verdict = check(atoms);
      if (verdict != Verdict::Fits) {
        return verdict == Verdict::NotSteady && found_far_away(atoms) ? Verdict::Reported : verdict;
      }
    }
    return Verdict::Fits;
  }

  // Is the value a period later left out?
  bool stands_for_more(size_t atom, const std::vector<int64_t>& values, size_t at) const {
    const Atom& known = forms_.atoms.at(forms_.order[atom]);
    const int64_t next = values[at] + forms_.period;
    return !known.truth && (!known.most || next <= *known.most) &&
           !std::binary_search(values.begin(), values.end(), next);
  }

  // No steady state near `atoms`: perhaps because a ring fills up slowly.
  bool found_far_away(AtomValues atoms) {
    for (size_t i = 0; i < atoms.values.size(); ++i) {
      for (int64_t far = 16; far <= 256 && atoms.grows[i] != 0; far *= 2) {
        AtomValues other = atoms;
        other.values[i] += far;
        other.grows.assign(other.grows.size(), 0);
        if (check(other) == Verdict::Reported) {
          return true;
        }
      }
    }
    return false;
  }

  // ---- one run

  Verdict check(const AtomValues& atoms) {
    std::vector<RingTrace> first;
    for (int cut = 0; cut <= kUncut; ++cut) {
      std::vector<RingTrace> traces;
      std::string problem;
      for (size_t p = 0; p < pair_.processes.size() && problem.empty(); ++p) {
        if (auto trace = ring_trace(pair_, forms_, p, atoms, cut, kMostSteps, problem)) {
          work_ += trace->steps;
          traces.push_back(std::move(*trace));
        }
      }
      if (!problem.empty() && cut < kUncut) {
        continue;
      }
      if (!problem.empty() || work_ > kMostPairWork) {
        if (!first.empty() && !fits(first, atoms)) {
          return Verdict::Reported;
        }
        undecided((problem.empty() ? "that takes too many steps" : problem) + text(atoms));
        return Verdict::Reported;
      }
      const bool is_cut = std::any_of(traces.begin(), traces.end(), [](const RingTrace& trace) {
        return std::any_of(trace.sites.begin(), trace.sites.end(), [](const PumpSite& s) { return s.skipped > 0; });
      });
      if (is_cut && !steady(traces)) {
        first = first.empty() ? std::move(traces) : std::move(first);
        continue;  // cut elsewhere, in the end nowhere
      }
      if (!fits(traces, atoms)) {
        return Verdict::Reported;
      }
      if (const auto loop = loop_out_of_step(pair_, traces, work_)) {
        return out_of_step(*loop);
      }
      return is_cut || steady(traces) ? Verdict::Fits : Verdict::NotSteady;
    }
    return Verdict::NotSteady;
  }

  bool steady(const std::vector<RingTrace>& traces) {
    std::array<const PumpSite*, 3> odd{};
    const auto groups = pump_groups(pair_, forms_, traces, odd, work_);
    if (groups) {
      const PumpGroup* group = group_that_does_not_pump(pair_, forms_, traces, *groups, work_);
      if (group == nullptr) {
        return true;
      }
      odd = group->sites;
    }
    unsteady_.clear();
    for (size_t p = 0; p < traces.size(); ++p) {
      if (odd[p] != nullptr) {
        unsteady_.emplace_back(p, traces[p].runs[odd[p]->run].node);
      }
    }
    return false;
  }

  bool fits(const std::vector<RingTrace>& traces, const AtomValues& atoms) {
    for (size_t p = 0; p < traces.size(); ++p) {
      if (!check_tiles(pair_.processes[p], traces[p], atoms)) {
        return false;
      }
    }
    RingRun run(pair_, traces, work_);
    run.advance({kNoCut, kNoCut, kNoCut});
    return (run.ended() || waits(run, traces, atoms)) && check_counts(run, atoms);
  }

  // A popped tile of a local ring is given back once, before the next pop, and used only in between.
  bool check_tiles(const RingProcess& process, const RingTrace& trace, const AtomValues& atoms) {
    std::vector<OpId> held(pair_.rings.size());
    auto fail = [&](const RingEvent& event, const std::string& why) {
      const isa::Inst& inst = process.core->ops[event.op].inst;
      context_.sink.report(
          DiagId::PairTile, process.span(event.op),
          {std::string(isa::info(inst.opcode).mnemonic), pair_.rings[event.ring].name, why + text(atoms)});
      return false;
    };
    for (const RingEvent& event : trace.events) {
      OpId& holds = held[event.ring];
      if (event.action == RingAction::Push) {
        if (process.side >= pair_.pushers[event.ring]) {
          return fail(event, "it is not split, so only lane 0 pushes");
        }
        continue;
      }
      if (pair_.local[event.ring] == 0) {
        continue;
      }
      if (event.action == RingAction::Pop && holds.valid()) {
        return fail(event, "the tile popped before has not been given back");
      }
      if (event.action == RingAction::Free && !holds.valid()) {
        return fail(event, "no tile of it is held");
      }
      if (event.action == RingAction::Use && !holds.valid()) {
        return fail(event, "its tile is used while none is held");
      }
      holds = event.action == RingAction::Pop ? event.op : event.action == RingAction::Free ? OpId{} : holds;
    }
    for (size_t ring = 0; ring < held.size(); ++ring) {
      if (held[ring].valid()) {
        return fail({RingAction::Pop, ring, held[ring]}, "the tile is never given back");
      }
    }
    return true;
  }

  // ---- reports; all return false

  bool undecided(const std::string& why) {
    context_.sink.report(DiagId::PairUndecided, function_.span, {function_.name, why});
    return false;
  }

  bool too_many_atoms() {
    constexpr size_t kMostNamed = 6;
    std::string list;
    for (size_t i = 0; i < std::min(forms_.order.size(), kMostNamed); ++i) {
      list += (i == 0 ? "`" : ", `") + pair_.text(forms_.order[i]) + "`";
    }
    return undecided("it depends on too many independent values, " + std::to_string(forms_.order.size()) + ": " + list +
                     (forms_.order.size() > kMostNamed ? ", ..." : ""));
  }

  bool not_steady() {
    const auto& [process, node] = unsteady_.front();
    auto handle = context_.sink.report(
        DiagId::PairUndecided, function_.span,
        {function_.name, "loops that run `" + pair_.text(pair_.processes[process].nodes[node].expr) +
                             "` times don't come to a state that repeats itself"});
    for (const auto& [p, n] : unsteady_) {
      handle.note(pair_.processes[p].span(pair_.processes[p].nodes[n].op), "this loop of " + pair_.processes[p].name);
    }
    return false;
  }

  Verdict out_of_step(const std::pair<size_t, size_t>& loop) {
    const RingProcess& process = pair_.processes[loop.first];
    const RingNode& node = process.nodes[loop.second];
    context_.sink
        .report(DiagId::PairUndecided, function_.span,
                {function_.name, "`" + pair_.text(node.changing) +
                                     "` may differ between iterations of a loop, and tiles stay in rings from one "
                                     "iteration to the next"})
        .note(process.span(node.op), "this loop of " + process.name);
    return Verdict::Reported;
  }

  std::string text(const AtomValues& atoms) const {
    std::string list;
    for (size_t i = 0; i < forms_.order.size(); ++i) {
      list += (i == 0 ? " for `" : ", `") + pair_.text(forms_.order[i]) + "` = " + std::to_string(atoms.values[i]);
    }
    return list;
  }

  bool waits(const RingRun& run, const std::vector<RingTrace>& traces, const AtomValues& atoms) {
    auto stuck = [&](size_t p) { return run.at()[p] < traces[p].events.size(); };
    auto event = [&](size_t p) { return traces[p].events[run.at()[p]]; };
    auto what = [&](size_t p) {
      return pair_.processes[p].name + " waits for " +
             (event(p).action == RingAction::Push ? "room in" : "a tile from") + " ring `" +
             pair_.rings[event(p).ring].name + "`";
    };
    size_t first = 0;
    while (!stuck(first)) {
      ++first;
    }
    auto handle = context_.sink.report(DiagId::PairDeadlock, pair_.processes[first].span(event(first).op),
                                       {function_.name, what(first) + text(atoms)});
    for (size_t p = 0; p < traces.size(); ++p) {
      const RingProcess& process = pair_.processes[p];
      if (p != first && stuck(p)) {
        handle.note(process.span(event(p).op), what(p));
      } else if (p != first) {
        handle.note(process.core->span, process.name + " has ended");
      }
    }
    return false;
  }

  bool check_counts(const RingRun& run, const AtomValues& atoms) {
    if (!run.ended()) {
      return false;
    }
    for (size_t ring = 0; ring < pair_.rings.size(); ++ring) {
      for (size_t popper = 0; popper < pair_.poppers[ring]; ++popper) {
        for (size_t pusher = 0; pusher < pair_.pushers[ring]; ++pusher) {
          const int64_t pushed = run.pushed(ring, pusher);
          const int64_t popped = run.popped(ring, popper);
          if (pushed != popped) {
            return unbalanced(ring, pusher, popper, pushed, popped, atoms);
          }
        }
      }
    }
    return true;
  }

  // The last instruction of a kind in the text; nullopt: there is none.
  std::optional<Span> last_of(RingAction action, size_t ring, size_t side) const {
    std::optional<Span> found;
    for (const RingProcess& process : pair_.processes) {
      const bool sends = process.cube == (pair_.rings[ring].direction == isa::RingDirection::C2V);
      for (const RingNode& node : process.nodes) {
        if (node.kind == RingNode::Kind::Event && node.action == action && node.ring == ring && process.side == side &&
            sends == (action == RingAction::Push)) {
          found = process.span(node.op);
        }
      }
    }
    return found;
  }

  bool unbalanced(size_t ring, size_t pusher, size_t popper, int64_t pushed, int64_t popped, const AtomValues& atoms) {
    const auto push = last_of(RingAction::Push, ring, pusher);
    const auto pop = last_of(RingAction::Pop, ring, popper);
    auto handle = context_.sink.report(
        DiagId::PairUnbalanced, push.value_or(pop.value_or(function_.span)),
        {pair_.rings[ring].name, function_.name, std::to_string(pushed), std::to_string(popped), text(atoms)});
    if (push && pop) {
      handle.note(*pop, "it is popped here");
    }
    return false;
  }

  PassContext& context_;
  const ir::Function& function_;
  PairSkeleton pair_;
  PairForms forms_;
  size_t work_ = 0;                                  // events that were written out or run
  std::vector<std::pair<size_t, size_t>> unsteady_;  // process and node of loops without a steady state
};

}  // namespace

PassResult prove_pairs(PassContext& context) {
  bool ok = true;
  for (const ir::Function& function : context.module.functions) {
    if (function.kind != ir::FunctionKind::Pair) {
      continue;
    }
    const ir::Function* cube = context.module.find(function.pair_cube);
    const ir::Function* vec = context.module.find(function.pair_vec);
    PTO_CHECK(cube != nullptr && vec != nullptr, "a pair names cores of the module");
    ok = PairProver(context, function, *cube, *vec).run() && ok;
  }
  return ok ? PassResult::Unchanged : PassResult::Failed;
}

}  // namespace pto::passes
