#include <catch2/catch.hpp>

#include "tests/unit/passes/core_builder.h"
#include "tests/unit/passes/path_oracle.h"

using namespace pto;
using namespace pto::test;
using passes::LiveRange;
using passes::LiveRanges;

namespace {

LiveRanges positions(const ir::Function& core, uint32_t buffer) {
  return passes::to_positions(passes::buffer_lives(core, target_named("a2a3")).buffers.at(buffer).halves);
}

std::set<int64_t> points(const LiveRanges& intervals) {
  std::set<int64_t> all;
  for (const LiveRange& part : intervals) {
    for (int64_t at = part.begin; at <= part.end; ++at) {
      all.insert(at);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("lives are what a search over all paths finds") {
  const Target target = target_named("a2a3");
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    INFO("seed " << seed);
    const ir::Function core = RandomCore(seed, 4, 14).core();
    const passes::CoreLives lives = passes::buffer_lives(core, target);
    const PathOracle oracle(core, target);
    REQUIRE(static_cast<int>(lives.instructions.size()) == oracle.positions());
    for (uint32_t i = 0; i < core.buffers.size(); ++i) {
      INFO("buffer " << i << "\n" << ir::print(core));
      REQUIRE(points(lives.buffers[i].halves) == oracle.live(i));
    }
  }
}

TEST_CASE("a life has a hole between the last read of one value and the next write") {
  CoreBuilder b;
  const uint32_t x = b.buffer(8, 8);
  const uint32_t y = b.buffer(8, 8);
  b.load(x);   // 0
  b.store(x);  // 1
  b.load(y);   // 2
  b.store(y);  // 3
  b.load(x);   // 4
  b.store(x);  // 5
  CHECK(positions(b.core, x) == LiveRanges{{0, 1}, {4, 5}});
  CHECK(positions(b.core, y) == LiveRanges{{2, 3}});
}

TEST_CASE("what is carried round a loop lives in all of it, what is not does not") {
  CoreBuilder b;
  const uint32_t sum = b.buffer(8, 8);
  const uint32_t t = b.buffer(8, 8);
  b.load(sum);  // 0
  b.loop(b.num(0), b.dim, [&](SymId) {
    b.load(t);           // 1
    b.add(sum, sum, t);  // 2
    b.load(t);           // 3
    b.store(t);          // 4
  });
  b.store(sum);  // 5
  CHECK(positions(b.core, sum) == LiveRanges{{0, 5}});
  CHECK(positions(b.core, t) == LiveRanges{{1, 4}});
}

// P6 of the faults we know of other planners.
TEST_CASE("written in the first iteration only and read in all: live round the loop, not before it") {
  CoreBuilder b;
  const uint32_t acc = b.buffer(8, 8);
  const uint32_t t = b.buffer(8, 8);
  b.load(t);   // 0
  b.store(t);  // 1
  b.loop(b.num(0), b.num(4), [&](SymId i) {
    b.load(t);  // 2
    b.branch(
        b.is(i, 0),
        [&] {
          b.exp(acc, t); /* 3 */
        },
        [&] {
          b.add(acc, acc, t); /* 4 */
        });
  });
  b.store(acc);  // 5
  CHECK(positions(b.core, acc) == LiveRanges{{2, 5}});
  // In a loop around it, it does not live from one run to the next.
  CoreBuilder outer;
  const uint32_t sum = outer.buffer(8, 8);
  const uint32_t u = outer.buffer(8, 8);
  outer.loop(outer.num(0), outer.dim, [&](SymId) {
    outer.load(u);   // 0
    outer.store(u);  // 1
    outer.loop(outer.num(0), outer.num(4), [&](SymId i) {
      outer.branch(
          outer.is(i, 0),
          [&] {
            outer.load(sum); /* 2 */
          },
          [&] {
            outer.add(sum, sum, u); /* 3 */
          });
    });
    outer.store(sum);  // 4
  });
  CHECK(positions(outer.core, sum) == LiveRanges{{2, 4}});
}

// P2: not only counted loops have an inside.
TEST_CASE("used in one branch only: live there only; the branches of one `if` share no time") {
  CoreBuilder b;
  const uint32_t a = b.buffer(8, 8);
  const uint32_t c = b.buffer(8, 8);
  const uint32_t x = b.buffer(8, 8);
  b.load(x);  // 0
  b.branch(
      b.opaque(),
      [&] {
        b.load(a);       // 1
        b.store(a);      // 2
        b.add(a, x, x);  // 3
        b.store(a);      // 4
      },
      [&] {
        b.load(c);   // 5
        b.store(c);  // 6
      });
  b.load(c);                                          // 7
  b.store(c);                                         // 8
  CHECK(positions(b.core, a) == LiveRanges{{1, 4}});  // dead between 2 and 3, but adjacent
  CHECK(positions(b.core, c) == LiveRanges{{5, 8}});
  CHECK(positions(b.core, x) == LiveRanges{{0, 3}});
}

// P1: a tile that is read but never written has a life too.
TEST_CASE("a tile that nobody writes, and scratch, live where they are named") {
  CoreBuilder b;
  const uint32_t never = b.buffer(8, 8);
  const uint32_t tmp = b.buffer(8, 8);
  const uint32_t x = b.buffer(8, 8);
  const uint32_t sum = b.buffer(8, 8);
  b.store(never);                               // 0
  b.load(x);                                    // 1
  b.inst(isa::Opcode::TRowSum, {sum, x, tmp});  // 2
  b.store(sum);                                 // 3
  CHECK(positions(b.core, never) == LiveRanges{{0, 0}});
  CHECK(positions(b.core, tmp) == LiveRanges{{2, 2}});
  // Scratch is in the way of source and result alike: P3.
  const passes::CoreLives lives = passes::buffer_lives(b.core, target_named("a2a3"));
  CHECK(lives.buffers[tmp].halves == LiveRanges{{4, 5}});
  CHECK(lives.buffers[sum].halves.front().begin == 5);
  CHECK(lives.buffers[x].halves.front().end == 5);
}

TEST_CASE("slots that rotate with a loop live in all of it; a slot that is read an iteration later lives on") {
  CoreBuilder b;
  const uint32_t ahead = b.buffer(8, 8, 2);
  const uint32_t inner = b.buffer(8, 8, 2);
  const uint32_t x = b.buffer(8, 8);
  b.load(x);   // 0
  b.store(x);  // 1
  b.loop(b.num(0), b.dim, [&](SymId) {
    b.load(x);  // 2
    b.loop(b.num(0), b.dim, [&](SymId k) {
      const ExprId now = b.core.exprs.make(ExprOp::Mod, b.core.exprs.symbol(k), b.num(2));
      const ExprId next = b.core.exprs.make(ExprOp::Mod, b.core.exprs.add(b.core.exprs.symbol(k), b.num(1)), b.num(2));
      b.store(x);                                   // 3
      b.inst(isa::Opcode::TLoad, {inner}, {now});   // 4
      b.inst(isa::Opcode::TStore, {inner}, {now});  // 5
      b.inst(isa::Opcode::TLoad, {ahead}, {next});  // 6
      b.inst(isa::Opcode::TStore, {ahead}, {now});  // 7
    });
    b.store(x);  // 8
  });
  b.store(x);  // 9
  CHECK(positions(b.core, inner) == LiveRanges{{3, 7}});
  CHECK(positions(b.core, ahead) == LiveRanges{{2, 8}});  // from one inner loop to the next
}

TEST_CASE("the memory of a local ring is never anybody else's") {
  CoreBuilder b;
  isa::Ring ring;
  ring.name = "s";
  ring.dtype = DType::F32;
  ring.rows = 8;
  ring.cols = 8;
  ring.slots = 2;
  b.core.rings = {ring};
  b.core.ring_spans.resize(1);
  const uint32_t x = b.buffer(8, 8);
  const uint32_t popped = b.buffer(8, 8, 2);
  b.load(x);                              // 0
  b.inst(isa::Opcode::TPop, {popped});    // 1
  b.inst(isa::Opcode::TStore, {popped});  // 2
  b.store(x);                             // 3
  const Target a5 = target_named("a5");
  const Target a2a3 = target_named("a2a3");
  REQUIRE(a5.ring_is_local(isa::RingDirection::C2V));
  CHECK(passes::to_positions(passes::buffer_lives(b.core, a5, {false, true}).buffers[popped].halves) ==
        LiveRanges{{0, 3}});
  CHECK(passes::to_positions(passes::buffer_lives(b.core, a2a3).buffers[popped].halves) == LiveRanges{{1, 2}});
}

namespace {

// for i0 { if i0 == 0 && ... { write b0 } else { add to b0 } for i1 { ... } add b0 to the sum }
void nest(CoreBuilder& b, uint32_t sum, std::vector<SymId> loops, int left, bool ask_for_all) {
  if (left == 0) {
    return;
  }
  const uint32_t t = b.buffer(8, 8);
  b.loop(b.num(0), b.dim, [&](SymId i) {
    loops.push_back(i);
    ExprId condition = b.is(i, 0);
    for (size_t outer = 0; ask_for_all && outer + 1 < loops.size(); ++outer) {
      condition = b.core.exprs.make(ExprOp::And, condition, b.is(loops[outer], 0));
    }
    b.branch(
        condition, [&] { b.exp(t, sum); }, [&] { b.add(t, t, sum); });
    nest(b, sum, loops, left - 1, ask_for_all);
    b.add(sum, sum, t);
  });
}

}  // namespace

TEST_CASE("deep nests of loops and first iterations are no harder than others") {
  for (const bool ask_for_all : {false, true}) {
    CoreBuilder b;
    const uint32_t sum = b.buffer(8, 8);
    b.load(sum);
    nest(b, sum, {}, 30, ask_for_all);
    b.store(sum);
    const passes::CoreLives lives = passes::buffer_lives(b.core, target_named("a2a3"));
    CHECK(lives.instructions.size() == 92);
    CHECK(passes::to_positions(lives.buffers[sum].halves) == LiveRanges{{0, 91}});
    // The outermost is written before anything reads it.
    CHECK(passes::to_positions(lives.buffers[1].halves).front().begin == 1);
  }
}
