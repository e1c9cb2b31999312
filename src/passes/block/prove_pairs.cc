// Proves that the two programs of a pair fit each other: as many pushes as pops on every path, popped tiles of local
// rings given back once and not used afterwards, nobody waits for ever.
//
// The cores of a cluster are deterministic processes that talk through bounded FIFOs, so whether they end does not
// depend on who runs when: one schedule decides. For given trip counts a core is a list of pushes, pops and frees
// (ring_events.h), in the order in which it waits, and the lists are run against each other.
//
// Which trip counts? Loop bounds and conditions are computed from constants, loop variables and "atoms": everything
// else that stands in them (dims, `ceildiv(N, 64)`, block_index()), equal expressions of both cores being one atom.
// Atoms are given all small values, from 0 to kMore beyond the largest ring and the largest constant of a bound. That
// is enough:
//   * A loop iteration that starts with all rings empty and ends so is the same whatever came before it. Iterations
//   that
//     end otherwise (a loop that runs ahead) differ from each other by what is in the rings, at most all slots, so
//     behind so many iterations they repeat.
//   * In nested loops an atom has one value in a run though it may differ between outer iterations: each run for one
//     outer iteration that ends with empty rings shows that the iteration fits for that value, wherever it stands.
// Atoms are varied independently of each other: a pair whose proof needs a relation between two of them is not proved.
//
// Not checked here: hazards inside a core (prove-sync), valid regions of tiles (they are checked when the program
// runs).
#include <algorithm>
#include <array>
#include <set>

#include "pto/result.h"
#include "src/passes/block/ring_events.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

using ir::OpId;

constexpr size_t kMostSteps = 100000;  // of one core in one run
constexpr size_t kMostRuns = 4000;     // assignments of atoms
constexpr int64_t kMore = 2;
constexpr size_t kMostAtoms = 6;

struct Process {
  const RingProgram* program = nullptr;
  std::string name;  // "the cube core", "lane 1"
  int side = -1;     // of a lane: its number
  std::vector<RingEvent> events;
  size_t at = 0;
};

// One ring while processes run against each other.
struct RingState {
  isa::Ring ring;
  bool local = false;
  int pushers = 1;
  int poppers = 1;
  std::array<int64_t, 2> pushed{};
  std::array<int64_t, 2> popped{};
  std::array<int64_t, 2> freed{};
};

class PairProver {
 public:
  PairProver(PassContext& context, const ir::Function& pair, const ir::Function& cube, const ir::Function& vec)
      : context_(context), pair_(pair), cube_(cube, context.target), vec_(vec, context.target) {}

  bool run() {
    Atoms atoms;
    if (!find_atoms(atoms)) {
      return false;
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : atoms) {
      names.push_back(name);
    }
    // All combinations of small values, or of fewer values where there are many atoms.
    std::vector<int64_t> values = values_to_try();
    const int64_t most = values.back();
    size_t runs = 1;
    for (size_t i = 0; i < names.size(); ++i) {
      runs *= values.size();
      if (runs > kMostRuns) {
        values = {0, 1, 2, most};
        runs = 1;
        for (size_t j = 0; j < names.size(); ++j) {
          runs *= values.size();
        }
        break;
      }
    }
    for (size_t number = 0; number < runs; ++number) {
      size_t rest = number;
      for (const std::string& name : names) {
        atoms[name] = std::max(values[rest % values.size()], least_value(name));
        rest /= values.size();
      }
      if (!simulate(atoms)) {
        return false;
      }
    }
    return true;
  }

 private:
  Span span(const Process& process, OpId op) const { return process.program->core().ops[op].span(); }

  // Dims and block_count() are at least 1.
  int64_t least_value(const std::string& atom) const {
    const bool dim = std::any_of(pair_.dims.begin(), pair_.dims.end(),
                                 [&](SymId sym) { return pair_.symbols[sym.index()].name == atom; });
    return dim || atom == "block_count()" ? 1 : 0;
  }

  // Small values up to some more tiles than can be on their way, and around every constant that is added to or compared with
  // something in a bound or condition (factors and divisors are part of atoms).
  std::vector<int64_t> values_to_try() const {
    int64_t slots = 0;
    for (const isa::Ring& ring : cube_.core().rings) {
      slots += ring.slots + 1;  // and one in a core's hands
    }
    std::set<int64_t> values;
    for (int64_t value = 0; value <= slots + kMore; ++value) {
      values.insert(value);
    }
    for (const RingProgram* program : {&cube_, &vec_}) {
      for (int64_t constant : program->constants()) {
        for (int64_t value : {constant - 1, constant, constant + 1, constant + slots + kMore}) {
          values.insert(std::max<int64_t>(0, value));
        }
      }
    }
    return {values.begin(), values.end()};
  }

  std::vector<Process> processes() const {
    std::vector<Process> all;
    all.push_back({&cube_, "the cube core", -1, {}, 0});
    for (int lane = 0; lane < pair_.lanes; ++lane) {
      all.push_back({&vec_, "lane " + std::to_string(lane), lane, {}, 0});
    }
    return all;
  }

  bool undecided(const std::string& why) {
    context_.sink.report(DiagId::PairUndecided, pair_.span, {pair_.name, why});
    return false;
  }

  bool find_atoms(Atoms& atoms) {
    for (size_t known = 0;; known = atoms.size()) {
      for (const Process& process : processes()) {
        if (!process.program->run(std::max(0, process.side), atoms, kMostSteps)) {
          return undecided("its loops run too long");
        }
      }
      if (atoms.size() > kMostAtoms) {
        std::string list;
        for (const auto& [name, value] : atoms) {
          list += (list.empty() ? "`" : ", `") + name + "`";
        }
        return undecided("it depends on " + std::to_string(atoms.size()) + " independent values, more than " +
                         std::to_string(kMostAtoms) + ": " + list);
      }
      if (known == atoms.size()) {
        return true;
      }
    }
  }

  static std::string text(const Atoms& atoms) {
    std::string list;
    for (const auto& [name, value] : atoms) {
      list += (list.empty() ? "" : ", ") + ("`" + name + "` = " + std::to_string(value));
    }
    return list.empty() ? "" : " for " + list;
  }

  // ---- one run

  bool simulate(Atoms atoms) {
    std::vector<Process> all = processes();
    const size_t known = atoms.size();
    for (Process& process : all) {
      auto events = process.program->run(std::max(0, process.side), atoms, kMostSteps);
      if (!events) {
        return undecided("its loops run too long" + text(atoms));
      }
      process.events = std::move(*events);
      if (!check_tiles(process, atoms)) {
        return false;
      }
    }
    if (atoms.size() != known) {
      return undecided("a condition depends on values that others don't");
    }
    std::map<std::string, RingState> rings;
    for (const isa::Ring& ring : cube_.core().rings) {
      RingState& state = rings[ring.name];
      const bool to_vec = ring.direction == isa::RingDirection::C2V;
      const int lanes = static_cast<int>(pair_.lanes);
      state.ring = ring;
      state.local = cube_.local(ring);
      state.pushers = to_vec || ring.split == isa::Split::None ? 1 : lanes;
      state.poppers = to_vec ? lanes : 1;
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (Process& process : all) {
        while (process.at < process.events.size() && step(process, rings)) {
          ++process.at;
          moved = true;
        }
      }
    }
    return ended(all, rings, atoms);
  }

  static bool step(const Process& process, std::map<std::string, RingState>& rings) {
    const RingEvent& event = process.events[process.at];
    RingState& state = rings.at(event.ring);
    const auto side = static_cast<size_t>(std::max(0, process.side));
    switch (event.action) {
      case RingAction::Push: {
        const int64_t freed = *std::min_element(state.freed.begin(), state.freed.begin() + state.poppers);
        if (state.pushed[side] - freed >= state.ring.slots) {
          return false;
        }
        ++state.pushed[side];
        return true;
      }
      case RingAction::Pop: {
        const int64_t pushed = *std::min_element(state.pushed.begin(), state.pushed.begin() + state.pushers);
        if (pushed <= state.popped[side]) {
          return false;
        }
        ++state.popped[side];
        state.freed[side] += state.local ? 0 : 1;
        return true;
      }
      case RingAction::Free:
        ++state.freed[side];
        return true;
      case RingAction::Use:
        return true;
    }
    return true;
  }

  bool ended(const std::vector<Process>& all, const std::map<std::string, RingState>& rings, const Atoms& atoms) {
    const Process* stuck = nullptr;
    for (const Process& process : all) {
      stuck = stuck == nullptr && process.at < process.events.size() ? &process : stuck;
    }
    if (stuck != nullptr) {
      auto what = [&](const Process& process) {
        const RingEvent& event = process.events[process.at];
        return process.name + " waits for " + (event.action == RingAction::Push ? "room in" : "a tile from") +
               " ring `" + event.ring + "`";
      };
      auto handle = context_.sink.report(DiagId::PairDeadlock, span(*stuck, stuck->events[stuck->at].op),
                                         {pair_.name, what(*stuck) + text(atoms)});
      for (const Process& process : all) {
        if (&process != stuck) {
          if (process.at < process.events.size()) {
            handle.note(span(process, process.events[process.at].op), what(process));
          } else {
            handle.note(process.program->core().span, process.name + " has ended");
          }
        }
      }
      return false;
    }
    for (const auto& [name, state] : rings) {
      for (int side = 0; side < state.poppers; ++side) {
        for (int pusher = 0; pusher < state.pushers; ++pusher) {
          const int64_t pushed = state.pushed[static_cast<size_t>(pusher)];
          const int64_t popped = state.popped[static_cast<size_t>(side)];
          if (pushed != popped) {
            context_.sink.report(DiagId::PairUnbalanced, last_of(all, name),
                                 {name, pair_.name, std::to_string(pushed), std::to_string(popped), text(atoms)});
            return false;
          }
        }
      }
    }
    return true;
  }

  Span last_of(const std::vector<Process>& all, const std::string& ring) const {
    Span found = pair_.span;
    for (const Process& process : all) {
      for (const RingEvent& event : process.events) {
        found = event.ring == ring && event.action == RingAction::Push ? span(process, event.op) : found;
      }
    }
    return found;
  }

  // A popped tile of a local ring is given back once, before the next pop, and used only in between.
  bool check_tiles(const Process& process, const Atoms& atoms) {
    std::map<std::string, OpId> held;
    auto fail = [&](const RingEvent& event, const std::string& why) {
      const isa::Inst& inst = process.program->core().ops[event.op].inst;
      context_.sink.report(DiagId::PairTile, span(process, event.op),
                           {std::string(isa::info(inst.opcode).mnemonic), event.ring, why + text(atoms)});
      return false;
    };
    for (const RingEvent& event : process.events) {
      const bool local = is_local(process, event.ring);
      if (!local || event.action == RingAction::Push) {
        continue;
      }
      const bool has = held.count(event.ring) != 0;
      if (event.action == RingAction::Pop && has) {
        return fail(event, "the tile popped before has not been given back");
      }
      if (event.action == RingAction::Free && !has) {
        return fail(event, "no tile of it is held");
      }
      if (event.action == RingAction::Use && !has) {
        return fail(event, "its tile is used while none is held");
      }
      if (event.action == RingAction::Pop) {
        held[event.ring] = event.op;
      } else if (event.action == RingAction::Free) {
        held.erase(event.ring);
      }
    }
    for (const auto& [ring, op] : held) {
      return fail({RingAction::Pop, ring, op}, "the tile is never given back");
    }
    return true;
  }

  static bool is_local(const Process& process, const std::string& name) {
    for (const isa::Ring& ring : process.program->core().rings) {
      if (ring.name == name) {
        return process.program->local(ring);
      }
    }
    return false;
  }

  PassContext& context_;
  const ir::Function& pair_;
  RingProgram cube_;
  RingProgram vec_;
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
