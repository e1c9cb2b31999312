// prove-pairs against an oracle that runs pairs for many dims, on random programs that fit and on such with a fault;
// and programs whose faults only show for certain or for large trip counts.
#include <catch2/catch.hpp>

#include "src/passes/pass.h"
#include "tests/unit/passes/core_builder.h"
#include "tests/unit/passes/pair_programs.h"

using namespace pto;
using namespace pto::test;
using isa::RingDirection;
using isa::Split;

namespace {

// "E0420" and so on, or "" for a pair that fits.
std::string verdict(const PairProgram& program, std::string* text = nullptr) {
  static const Target a2a3 = target_named("a2a3");
  static const Target a5 = target_named("a5");
  ir::Module module = PairTranslator(program).run();
  DiagnosticSink sink;
  passes::PassContext context{module, program.local ? a5 : a2a3, sink};
  const bool ok = passes::prove_pairs(context) != passes::PassResult::Failed;
  const std::string report = render_text(sink, nullptr, {});
  if (text != nullptr) {
    *text = report;
  }
  REQUIRE(ok == !sink.has_errors());
  const size_t at = report.find("E04");
  return ok ? "" : report.substr(at, 5);
}

// The smallest dims for which the oracle finds a fault; "" if there are none.
std::string fault(const PairProgram& program, int64_t most_m, int64_t most_n) {
  for (int64_t m = 1; m <= most_m; ++m) {
    for (int64_t n = 1; n <= most_n; ++n) {
      const std::string wrong = PairOracle(program, m, n, static_cast<uint64_t>(m * 100 + n)).run();
      if (!wrong.empty()) {
        return wrong + " for M = " + std::to_string(m) + ", N = " + std::to_string(n);
      }
    }
  }
  return "";
}

PairBody together(std::initializer_list<PairBody> parts) {
  PairBody all;
  for (const PairBody& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

PairExpr less(PairExpr a, PairExpr b) {
  return make(ExprOp::Lt, std::move(a), std::move(b));
}
PairExpr plus(PairExpr a, int64_t b) {
  return make(ExprOp::Add, std::move(a), num(b));
}

// A loop whose cube side asks `distance` iterations ahead of the answers.
PairProgram skewed(int64_t distance, int64_t slots, bool local) {
  PairProgram p;
  p.local = local;
  const size_t s = p.ring(RingDirection::C2V, slots);
  const size_t t = p.ring(RingDirection::V2C, slots);
  p.cube = {loop(plus(dim_m(), distance), {branch(less(counter(0), dim_m()), {push(s)}),
                                           branch(make(ExprOp::Le, num(distance), counter(0)), p.taken(t))})};
  p.vec = {loop(dim_m(), together({p.taken(s), {push(t)}}))};
  return p;
}

// Random pairs whose cores fit by construction as long as rings are large enough, and faults in them.
class RandomPair {
 public:
  explicit RandomPair(uint64_t seed) : random_(seed) {
    program.local = pick(2) == 0;
    program.lanes = 1 + pick(2);
    for (size_t i = 0; i < 2; ++i) {
      down_.push_back(program.ring(RingDirection::C2V, 1 + pick(3)));
      up_.push_back(program.ring(RingDirection::V2C, 1 + pick(3), pick(3) == 0 ? Split::None : Split::Rows));
    }
    both(program.cube, program.vec, 0);
  }

  // One change to one core.
  void damage() {
    PairBody* body = pick(2) == 0 ? &program.cube : &program.vec;
    while (true) {
      if (body->empty()) {
        return;
      }
      const size_t at = static_cast<size_t>(pick(static_cast<int64_t>(body->size())));
      PairNode& node = (*body)[at];
      if (!node.body.empty() && pick(4) != 0) {
        body = !node.other.empty() && pick(2) == 0 ? &node.other : &node.body;
        continue;
      }
      switch (pick(4)) {
        case 0:
          body->erase(body->begin() + static_cast<std::ptrdiff_t>(at));
          return;
        case 1:
          body->insert(body->begin() + static_cast<std::ptrdiff_t>(at), PairNode(node));
          return;
        case 2:
          std::swap((*body)[at], (*body)[static_cast<size_t>(pick(static_cast<int64_t>(body->size())))]);
          return;
        default:
          if (node.kind == PairNode::Kind::Loop || node.kind == PairNode::Kind::Branch) {
            node.expr = plus(node.expr, 1);
          } else {
            program.rings[node.ring].slots = 1;
          }
          return;
      }
    }
  }

  PairProgram program;
  // Does a bound or condition relate what the prover takes for independent?
  bool related = false;

 private:
  int64_t pick(int64_t count) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(count)); }

  PairExpr trip(int depth) {
    switch (pick(10)) {
      case 0:
        return num(depth == 0 && pick(3) == 0 ? 120 + pick(100) : 1 + pick(4));
      case 1:
        return plus(dim_m(), 1 - pick(3));
      case 2:
        return dim_n();
      case 3:
        return make(ExprOp::Min, dim_m(), num(3));
      case 4:
        related = true;
        return make(ExprOp::CeilDiv, dim_m(), num(2));
      case 5:
        return make(ExprOp::Add, dim_m(), dim_n());
      case 6:
        related = related || depth > 0;
        return depth > 0 ? plus(counter(depth - 1), 1) : dim_m();
      case 7:
        return make(ExprOp::Max, plus(dim_m(), -2), num(1));
      default:
        return dim_m();
    }
  }

  // `trip` is that of the innermost loop.
  PairExpr condition(int depth, const PairExpr& trip) {
    const PairExpr i = depth > 0 ? counter(depth - 1) : dim_n();
    switch (pick(9)) {
      case 0:
        return less(i, num(1 + pick(3)));
      case 1:
        return make(ExprOp::Le, num(1 + pick(3)), i);
      case 2:
        return make(ExprOp::Eq, make(ExprOp::Mod, i, num(2)), num(pick(2)));
      case 3:
        related = related || depth == 0;
        return less(i, make(ExprOp::Sub, trip, num(1)));
      case 4:
        return less(num(2), dim_m());
      case 5:
        related = true;
        return less(i, dim_n());
      case 6:
        related = true;
        return make(ExprOp::Eq, make(ExprOp::Mod, i, dim_n()), num(0));
      case 7:
        related = true;
        return less(dim_m(), dim_n());
      default:
        return make(ExprOp::Or, make(ExprOp::Eq, i, num(0)), less(num(1), dim_n()));
    }
  }

  void send(PairBody& from, PairBody& to, size_t ring) {
    const bool one = program.rings[ring].direction == RingDirection::V2C && program.rings[ring].split == Split::None;
    from.push_back(one ? branch(make(ExprOp::Eq, lane(), num(0)), {push(ring)}) : push(ring));
    for (const PairNode& node : program.taken(ring)) {
      to.push_back(node);
    }
  }

  void both(PairBody& cube, PairBody& vec, int depth) {
    for (int64_t i = 0, count = 1 + pick(3); i < count; ++i) {
      one(cube, vec, depth);
    }
  }

  void one(PairBody& cube, PairBody& vec, int depth) {
    const int64_t what = pick(depth < 2 ? 10 : 4);
    if (what < 2) {
      send(cube, vec, down_[static_cast<size_t>(pick(2))]);
    } else if (what < 4) {
      send(vec, cube, up_[static_cast<size_t>(pick(2))]);
    } else if (what < 7) {
      const PairExpr outside = trip_;
      trip_ = trip(depth);
      PairNode a = loop(trip_, {});
      PairNode b = a;
      both(a.body, b.body, depth + 1);
      trip_ = outside;
      cube.push_back(std::move(a));
      vec.push_back(std::move(b));
    } else if (what < 9) {
      PairNode a = branch(condition(depth, trip_), {});
      PairNode b = a;
      both(a.body, b.body, depth);
      if (pick(3) == 0) {
        both(a.other, b.other, depth);
      }
      cube.push_back(std::move(a));
      vec.push_back(std::move(b));
    } else {
      // The cube core asks ahead.
      const PairExpr times = pick(2) == 0 ? dim_m() : dim_n();
      const int64_t distance = 1 + pick(3);
      PairBody ask;
      PairBody answer;
      PairBody work;
      send(ask, work, down_[0]);
      send(work, answer, up_[0]);
      cube.push_back(loop(plus(times, distance), {branch(less(counter(depth), times), ask),
                                                  branch(make(ExprOp::Le, num(distance), counter(depth)), answer)}));
      vec.push_back(loop(times, work));
    }
  }

  std::mt19937_64 random_;
  std::vector<size_t> down_;
  std::vector<size_t> up_;
  PairExpr trip_ = dim_m();
};

}  // namespace

TEST_CASE("prove-pairs agrees with runs of random pairs") {
  int fit = 0;
  int faulty = 0;
  int undecided = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    RandomPair random(seed);
    if (seed % 2 == 1) {
      random.damage();
    }
    std::string text;
    const std::string said = verdict(random.program, &text);
    const std::string found = fault(random.program, 14, 6);
    INFO("seed " << seed << ", oracle: " << (found.empty() ? "fits" : found) << ", prover: " << text);
    if (said.empty()) {
      ++fit;
      CHECK(found.empty());
    } else if (said == "E0423") {
      ++undecided;
    } else {
      ++faulty;
      CHECK((random.related || !found.empty()));
    }
  }
  CHECK(fit > 250);
  CHECK(faulty > 100);
  CHECK(undecided < 50);
}

TEST_CASE("a loop that runs ahead fits exactly when its rings have room") {
  for (const bool local : {false, true}) {
    for (int64_t distance = 1; distance <= 5; ++distance) {
      for (int64_t slots = 1; slots <= 5; ++slots) {
        const PairProgram program = skewed(distance, slots, local);
        INFO("distance " << distance << ", " << slots << " slots, " << (local ? "local" : "global"));
        CHECK(verdict(program) == (fault(program, 20, 1).empty() ? "" : "E0420"));
      }
    }
  }
}

TEST_CASE("every dropped event of a pair that fits is found") {
  for (const bool local : {false, true}) {
    const PairProgram program = skewed(2, 3, local);
    REQUIRE(verdict(program).empty());
    for (const bool cube : {true, false}) {
      const PairBody& top = cube ? program.cube : program.vec;
      for (size_t branch_number = 0; branch_number < (cube ? 2 : 1); ++branch_number) {
        const PairBody& body = cube ? top[0].body[branch_number].body : top[0].body;
        for (size_t i = 0; i < body.size(); ++i) {
          PairProgram mutant = program;
          PairBody& damaged = cube ? mutant.cube[0].body[branch_number].body : mutant.vec[0].body;
          if (damaged[i].kind == PairNode::Kind::Use) {
            continue;
          }
          damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(i));
          CHECK(verdict(mutant).substr(0, 4) == "E042");
          CHECK(verdict(mutant) != "E0423");
        }
      }
    }
  }
}

TEST_CASE("a ring that fills up slowly is a deadlock far away") {
  PairProgram p;
  const size_t s = p.ring(RingDirection::C2V, 1);
  const size_t t = p.ring(RingDirection::V2C, 16);
  const PairExpr fourth = make(ExprOp::Eq, make(ExprOp::Mod, counter(0), num(4)), num(0));
  p.cube = {loop(dim_m(), {push(s)}), loop(dim_m(), {branch(fourth, {pop(t)})})};
  p.vec = {loop(dim_m(), {pop(s), branch(fourth, {push(t)})})};
  REQUIRE(fault(p, 60, 1).empty());
  REQUIRE(!fault(p, 100, 1).empty());
  std::string text;
  CHECK(verdict(p, &text) == "E0420");
  CHECK(text.find("for `M` = 7") != std::string::npos);
}

TEST_CASE("a condition that changes between iterations in an unknown way needs empty rings in between") {
  const PairExpr some = make(ExprOp::Eq, make(ExprOp::Mod, plus(counter(0), 1), dim_n()), num(0));
  PairProgram p;
  const size_t s = p.ring(RingDirection::C2V, 1);
  const size_t t = p.ring(RingDirection::V2C, 1);
  p.cube = {loop(dim_m(), {branch(some, {push(s)}, {pop(t)})})};
  p.vec = {loop(dim_m(), {branch(some, {pop(s)}, {push(t)})})};
  REQUIRE(fault(p, 20, 6).empty());
  CHECK(verdict(p).empty());
  // All conditions true: fits; all false: fits; one of each: the cores wait for each other.
  p.vec = {loop(dim_m(), {branch(some, {pop(s)})}), loop(dim_m(), {branch(some, {}, {push(t)})})};
  REQUIRE(!fault(p, 20, 6).empty());
  CHECK(verdict(p) == "E0423");
}

TEST_CASE("a trip count that depends on an outer loop is one of many") {
  const PairExpr causal =
      make(ExprOp::CeilDiv, make(ExprOp::Min, dim_n(), plus(make(ExprOp::Mul, counter(0), num(64)), 64)), num(64));
  for (const bool local : {false, true}) {
    PairProgram p = skewed(3, 4, local);
    p.cube = {loop(dim_m(), {loop(plus(causal, 3), {branch(less(counter(1), causal), {push(0)}),
                                                    branch(make(ExprOp::Le, num(3), counter(1)), p.taken(1))})})};
    p.vec = {loop(dim_m(), {loop(causal, together({p.taken(0), {push(1)}}))})};
    CHECK(verdict(p).empty());
    p.rings[0].slots = 1;
    p.rings[1].slots = 1;
    CHECK(verdict(p) == "E0420");
  }
}

TEST_CASE("lanes are told apart") {
  PairProgram p;
  const size_t s = p.ring(RingDirection::C2V, 2);
  p.cube = {push(s)};
  p.vec = {branch(less(num(0), make(ExprOp::Sub, dim_m(), make(ExprOp::Mul, lane(), num(8)))), {pop(s)})};
  REQUIRE(!fault(p, 20, 1).empty());
  CHECK(verdict(p).substr(0, 4) == "E042");
  PairProgram q;
  const size_t t = q.ring(RingDirection::V2C, 2, Split::None);
  q.cube = {pop(t)};
  q.vec = {push(t)};
  CHECK(verdict(q) == "E0422");
  q.vec = {branch(make(ExprOp::Eq, lane(), num(0)), {push(t)})};
  CHECK(verdict(q).empty());
  q.vec = {branch(make(ExprOp::Eq, lane(), num(1)), {push(t)})};
  CHECK(verdict(q) != "");
}

TEST_CASE("long loops are decided without running them to the end") {
  PairProgram p = skewed(3, 3, true);
  const PairExpr often = num(1000003);
  p.cube[0].expr = plus(often, 3);
  p.cube[0].body[0].expr = less(counter(0), often);
  p.vec[0].expr = often;
  CHECK(verdict(p).empty());
  p.vec[0].expr = plus(often, 1);
  CHECK(verdict(p) == "E0420");
  p.vec[0].expr = often;
  p.rings[0].slots = 1;
  p.rings[1].slots = 1;
  CHECK(verdict(p).substr(0, 4) == "E042");
}

TEST_CASE("what happens only in one far iteration or for one far value is found") {
  const PairExpr i = counter(0);
  const PairExpr conditions[] = {
      less(i, plus(dim_m(), -20)),                                                  // from the end
      make(ExprOp::Le, num(25), i),                                                 // from the start
      make(ExprOp::Eq, i, num(40)),                                                 // one iteration
      make(ExprOp::Eq, i, plus(dim_m(), -30)),                                      // one from the end
      less(num(45), dim_m()),                                                       // many iterations
      make(ExprOp::Eq, dim_m(), num(33)),                                           // one number of them
      make(ExprOp::And, make(ExprOp::Le, num(7), i), less(i, plus(dim_m(), -31))),  // both
      make(ExprOp::Eq, make(ExprOp::FloorDiv, i, num(8)), num(5)),
      less(plus(make(ExprOp::Mod, i, num(5)), 30), i),
      make(ExprOp::Lt, make(ExprOp::Mul, num(3), i), plus(make(ExprOp::Mul, num(3), dim_m()), -100)),
  };
  for (const PairExpr& condition : conditions) {
    for (const PairExpr& trip : {dim_m(), num(300)}) {
      PairProgram p;
      const size_t s = p.ring(RingDirection::C2V, 1);
      const size_t t = p.ring(RingDirection::V2C, 1);
      // In step, but where the condition holds each core waits for the other first.
      p.cube = {loop(trip, {push(s), pop(t), branch(condition, {pop(t), push(s)})})};
      p.vec = {loop(trip, {pop(s), push(t), branch(condition, {pop(s), push(t)})})};
      INFO(fault(p, 60, 1));
      REQUIRE(fault(p, 60, 1).substr(0, 4) == "wait");
      const std::string said = verdict(p);
      CHECK((said == "E0420" || said == "E0423"));
      p.vec = {loop(trip, {pop(s), push(t), branch(condition, {push(t), pop(s)})})};
      REQUIRE(fault(p, 60, 1).empty());
      CHECK(verdict(p).empty());
    }
  }
}

TEST_CASE("what is stated about dims is used") {
  PairProgram p;
  const size_t s = p.ring(RingDirection::C2V, 2);
  p.cube = {loop(dim_m(), {push(s)})};
  p.vec = {pop(s), loop(plus(dim_m(), -1), {pop(s)})};
  CHECK(verdict(p).empty());  // M is at least 1
  p.vec = {pop(s), pop(s), pop(s), loop(plus(dim_m(), -3), {pop(s)})};
  CHECK(verdict(p) != "");
  ir::Module module = PairTranslator(p).run();
  ir::Function& pair = module.functions[2];
  const ExprId m = pair.exprs.symbol(pair.dims[0]);
  pair.constraints.push_back({pair.exprs.make(ExprOp::Le, pair.exprs.integer(3), m), "M >= 3", {}});
  DiagnosticSink sink;
  const Target target = target_named("a2a3");
  passes::PassContext context{module, target, sink};
  CHECK(passes::prove_pairs(context) == passes::PassResult::Unchanged);
}
