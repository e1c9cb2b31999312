// Compiled expressions and the walk against the pool's own evaluator, on random programs.
#include "builder.h"

#include <random>

#include "runtime/machine/stepper.h"

namespace pto::test {
namespace {

struct Walk {
  CoreBuilder b{"walk", CoreKind::Vec};
  std::mt19937 random;
  std::vector<ExprId> names;  // in scope
  std::vector<int64_t> ints;
  std::vector<double> reals;

  explicit Walk(uint32_t seed) : random(seed) {
    names = {b.dim("M"), b.dim("N"), b.block(), b.pool().leaf(ExprOp::BlockCount)};
  }
  int pick(int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); }

  ExprId expression(int depth) {
    if (depth == 0 || pick(5) == 0) {
      return pick(3) == 0 ? b.num(pick(9) - 3) : names[static_cast<size_t>(pick(static_cast<int>(names.size())))];
    }
    constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::FloorDiv, ExprOp::CeilDiv,
                               ExprOp::Mod, ExprOp::Min, ExprOp::Max, ExprOp::Lt,       ExprOp::Le,
                               ExprOp::Eq,  ExprOp::Ne,  ExprOp::And, ExprOp::Or};
    const ExprOp op = kOps[pick(14)];
    const ExprId a = expression(depth - 1);
    return b.pool().make(op, a, expression(depth - 1));
  }
  // An instruction whose event id is an expression: what the walk hands out and we can look at.
  void observe() {
    b.wait(Pipe::V, Pipe::MTE2, b.pool().make(ExprOp::Mod, expression(4), b.num(8)));
  }
  void body(int depth) {
    const size_t scope = names.size();
    const int count = 1 + pick(4);
    for (int i = 0; i < count; ++i) {
      switch (depth > 0 ? pick(5) : pick(2)) {
        case 0:
          observe();
          break;
        case 1: {
          const ExprId value = expression(3);
          names.push_back(b.let("l" + std::to_string(b.core.symbols.size()), value));
          break;
        }
        case 2: {
          names.push_back(b.loop("i" + std::to_string(b.core.symbols.size()), b.num(pick(4) - 1), b.num(pick(5)), 1 + pick(2)));
          body(depth - 1);
          b.end_loop();
          names.resize(scope);
          break;
        }
        default: {
          b.begin_if(expression(2));
          body(depth - 1);
          if (pick(2) == 0) {
            b.begin_else();
            body(depth - 1);
          }
          b.end_if();
        }
      }
    }
    names.resize(scope);
  }
};

// Interprets the code tree-wise with ExprPool::evaluate. Event ids in order; a fault ends it with -1.
class Oracle {
 public:
  Oracle(const object::Core& core, int64_t block, int64_t blocks, std::vector<int64_t> ints)
      : core_(core), block_(block), blocks_(blocks), ints_(std::move(ints)), reals_(ints_.size()) {
    run(0, core.code.size());
  }
  std::vector<int64_t> events;

 private:
  std::optional<int64_t> value(ExprId id) {
    for (size_t i = 0; i < ints_.size(); ++i) {
      reals_[i] = static_cast<double>(ints_[i]);
    }
    return core_.exprs.evaluate(id, {ints_, reals_, block_, blocks_});
  }
  bool fault() {
    events.push_back(-1);
    return false;
  }
  size_t end_of(size_t at, size_t* middle = nullptr) const {
    int depth = 0;
    for (size_t i = at;; ++i) {
      const auto kind = core_.code[i].kind;
      depth += kind == object::StmtKind::For || kind == object::StmtKind::If ? 1 : 0;
      if (kind == object::StmtKind::Else && depth == 1 && middle != nullptr) {
        *middle = i;
      }
      depth -= kind == object::StmtKind::EndFor || kind == object::StmtKind::EndIf ? 1 : 0;
      if (depth == 0) {
        return i;
      }
    }
  }
  bool run(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const object::Stmt& stmt = core_.code[i];
      switch (stmt.kind) {
        case object::StmtKind::Inst: {
          const auto event = value(stmt.inst.operands[2].a);
          if (!event) {
            return fault();
          }
          events.push_back(*event);
          break;
        }
        case object::StmtKind::Let: {
          const auto set = value(stmt.value);
          if (!set) {
            return fault();
          }
          ints_[stmt.sym.index()] = *set;
          break;
        }
        case object::StmtKind::For: {
          const size_t last = end_of(i);
          const int64_t lo = *value(stmt.lo);
          const int64_t hi = *value(stmt.hi);
          const int64_t step = *value(stmt.step);
          for (int64_t at = lo; at < hi; at += step) {
            ints_[stmt.sym.index()] = at;
            if (!run(i + 1, last)) {
              return false;
            }
          }
          i = last;
          break;
        }
        case object::StmtKind::If: {
          const auto condition = value(stmt.value);
          if (!condition) {
            return fault();
          }
          size_t middle = 0;
          const size_t last = end_of(i, &middle);
          if (*condition != 0 ? !run(i + 1, middle != 0 ? middle : last)
                              : middle != 0 && !run(middle + 1, last)) {
            return false;
          }
          i = last;
          break;
        }
        default:
          break;
      }
    }
    return true;
  }
  const object::Core& core_;
  const int64_t block_;
  const int64_t blocks_;
  std::vector<int64_t> ints_;
  std::vector<double> reals_;
};

TEST_CASE("the walk hands out what the evaluator computes") {
  size_t instructions = 0;
  size_t faults = 0;
  const Target target = target_named("unit");
  for (uint32_t seed = 1; seed <= 1500; ++seed) {
    Walk walk(seed);
    walk.body(3);
    const int64_t m = 1 + walk.pick(9);
    const int64_t n = 1 + walk.pick(9);
    runtime::TaskPlan plan;
    plan.blocks = 3;
    plan.ints = {m, n};
    plan.reals = {static_cast<double>(m), static_cast<double>(n)};
    runtime::Program program;
    runtime::Fault fault;
    REQUIRE(runtime::decode(walk.b.core, plan, target, program, fault));
    runtime::Stepper stepper;
    for (int64_t block = 0; block < 3; ++block) {
      std::vector<int64_t> ints(walk.b.core.symbols.size(), 0);
      ints[0] = m;
      ints[1] = n;
      const Oracle oracle(walk.b.core, block, 3, ints);
      std::vector<int64_t> events;
      stepper.start(program, block, 0, 8);
      for (bool going = true; going;) {
        switch (stepper.next(1000000)) {
          case runtime::Stepper::Status::Instruction:
            events.push_back(stepper.issued().event);
            break;
          case runtime::Stepper::Status::Fault:
            CHECK(stepper.fault().id == DiagId::FaultExpression);
            events.push_back(-1);
            ++faults;
            going = false;
            break;
          default:
            going = false;
        }
      }
      instructions += events.size();
      INFO("seed " << seed << " block " << block);
      REQUIRE(events == oracle.events);
    }
  }
  CHECK(instructions > 5000);  // the programs are not all empty
  CHECK(faults > 100);
}

TEST_CASE("names are known where they are set, and only there") {
  const Target target = target_named("unit");
  CoreBuilder b("late", CoreKind::Vec);
  const ExprId i = b.loop("i", b.num(0), b.num(2));
  b.end_loop();
  b.wait(Pipe::V, Pipe::MTE2, i);
  runtime::TaskPlan plan;
  plan.blocks = 1;
  runtime::Program program;
  runtime::Fault fault;
  CHECK_FALSE(runtime::decode(b.core, plan, target, program, fault));
  CHECK(fault.id == DiagId::FaultProgram);
  CHECK_THAT(fault.args[1], Catch::Contains("has no value there"));
}

}  // namespace
}  // namespace pto::test
