#include "src/passes/block/memory_plan.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>

#include "src/passes/block/memory_overflow.h"
#include "src/passes/block/memory_pack.h"
#include "src/passes/block/select.h"
#include "tests/unit/passes/core_builder.h"
#include "tests/unit/passes/path_oracle.h"

using namespace pto;
using namespace pto::test;
using passes::MemoryPlan;
using passes::SpacePlan;

namespace {

Target with_vec_bytes(int64_t bytes) {
  Target target = target_named("a2a3");
  target.spaces[static_cast<size_t>(Space::Vec)].bytes = bytes;
  return target;
}

const SpacePlan& vec(const MemoryPlan& plan) {
  for (const SpacePlan& space : plan.spaces) {
    if (space.space == Space::Vec) {
      return space;
    }
  }
  FAIL("no plan for vec");
  return plan.spaces.front();
}

// Two buffers with a byte in common while both are live, by lives that the oracle found.
std::string clash(const ir::Function& core, const MemoryPlan& plan, const Target& target) {
  const PathOracle oracle(core, target);
  std::vector<std::set<int64_t>> lives;
  for (uint32_t i = 0; i < core.buffers.size(); ++i) {
    lives.push_back(oracle.live(i));
    if (plan.addresses[i] % 32 != 0 || plan.addresses[i] < 0) {
      return "an address that is not aligned";
    }
  }
  for (size_t a = 0; a < core.buffers.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const int64_t at_a = plan.addresses[a];
      const int64_t at_b = plan.addresses[b];
      if (at_a >= at_b + core.buffers[b].total_bytes() || at_b >= at_a + core.buffers[a].total_bytes()) {
        continue;
      }
      for (int64_t point : lives[a]) {
        // Within one instruction only a result may take over from its operand, on exactly its bytes.
        const bool same = at_a == at_b && core.buffers[a].tile == core.buffers[b].tile;
        if (lives[b].count(point) != 0 || (!same && lives[b].count(point ^ 1) != 0)) {
          return core.buffers[a].name + " and " + core.buffers[b].name + " at " + std::to_string(point);
        }
      }
    }
  }
  return "";
}

}  // namespace

TEST_CASE("no two live buffers share a byte, whatever the memory's size") {
  int fitted = 0;
  int shared = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    const ir::Function core = RandomCore(seed + 1000, 7, 24).core();
    int64_t all = 0;
    for (const isa::Buffer& buffer : core.buffers) {
      all += buffer.total_bytes();
    }
    const int64_t least = vec(passes::plan_buffers(core, with_vec_bytes(32))).peak;
    for (const int64_t bytes : {all, (all + least) / 64 * 32, least, int64_t{32}}) {
      const Target target = with_vec_bytes(bytes);
      const MemoryPlan plan = passes::plan_buffers(core, target);
      INFO(ir::print(core));
      REQUIRE(clash(core, plan, target) == "");
      CHECK(vec(plan).bound <= vec(plan).peak);
      CHECK(vec(plan).apart == all);
      fitted += vec(plan).fits() ? 1 : 0;
      shared += vec(plan).fits() && bytes < all ? 1 : 0;
    }
    const MemoryPlan apart = passes::plan_buffers(core, with_vec_bytes(32), false);
    CHECK(vec(apart).peak == all);
  }
  CHECK(fitted > 300);
  CHECK(shared > 100);
}

TEST_CASE("buffers that fill a memory exactly stay apart") {  // P4
  CoreBuilder b;
  for (int i = 0; i < 24; ++i) {
    b.load(b.buffer(32, 64));
  }
  const MemoryPlan plan = passes::plan_buffers(b.core, target_named("a2a3"));
  CHECK(vec(plan).peak == 196608);
  CHECK(vec(plan).fits());
  for (size_t i = 0; i < 24; ++i) {
    CHECK(plan.addresses[i] == static_cast<int64_t>(i) * 8192);
  }
}

TEST_CASE("scratch never shares with the source or the result of its instruction") {  // P3
  CoreBuilder b;
  const uint32_t x = b.buffer(32, 64);
  const uint32_t sum = b.buffer(32, 64);
  const uint32_t tmp = b.buffer(32, 64);
  const uint32_t other = b.buffer(32, 64);
  b.load(other);
  b.store(other);
  b.load(x);
  b.inst(isa::Opcode::TRowSum, {sum, x, tmp});
  b.store(sum);
  const MemoryPlan plan = passes::plan_buffers(b.core, with_vec_bytes(3 * 8192));
  CHECK(vec(plan).peak == 3 * 8192);
  CHECK(plan.addresses[tmp] != plan.addresses[sum]);
  CHECK(plan.addresses[tmp] != plan.addresses[x]);
}

TEST_CASE("sharing prefers bytes that stay with one pipe") {  // P5
  // `first` ends on mte3 and `second` on v; `third` begins and ends on v.
  CoreBuilder b;
  const uint32_t first = b.buffer(32, 64);
  const uint32_t second = b.buffer(32, 64);
  const uint32_t third = b.buffer(32, 64);
  const uint32_t keep = b.buffer(32, 64);
  b.load(keep);
  b.load(first);
  b.exp(second, keep);
  b.add(keep, second, first);
  b.store(first);
  b.inst(isa::Opcode::TRowSum, {third, keep, keep});
  b.add(keep, third, keep);
  b.store(keep);
  const MemoryPlan plan = passes::plan_buffers(b.core, with_vec_bytes(3 * 8192));
  CHECK(vec(plan).fits());
  CHECK(plan.addresses[third] == plan.addresses[second]);
}

TEST_CASE("a chain in one pipe is one buffer before anything else is shared") {
  CoreBuilder b;
  const uint32_t x = b.buffer(32, 64);
  const uint32_t e = b.buffer(32, 64);
  const uint32_t f = b.buffer(32, 64);
  const uint32_t g = b.buffer(32, 64);
  b.load(x);
  b.exp(e, x);
  b.exp(f, e);
  b.exp(g, f);
  b.store(g);
  // x is loaded and g is stored by other pipes: they keep their bytes as long as they can.
  MemoryPlan plan = passes::plan_buffers(b.core, with_vec_bytes(3 * 8192));
  CHECK(vec(plan).peak == 3 * 8192);
  CHECK(plan.addresses[e] == plan.addresses[f]);
  CHECK(plan.addresses[x] != plan.addresses[e]);
  CHECK(plan.addresses[g] != plan.addresses[e]);
  plan = passes::plan_buffers(b.core, with_vec_bytes(8192));
  CHECK(vec(plan).peak == 8192);
  CHECK(vec(plan).bound == 8192);
}

TEST_CASE("only what the hardware does in place is done in place") {
  const Target a2a3 = with_vec_bytes(32);
  Target a5 = target_named("a5");
  a5.spaces[static_cast<size_t>(Space::Vec)].bytes = 32;
  auto peak = [&](isa::Opcode opcode, const Target& target) {
    CoreBuilder b;
    const uint32_t x = b.buffer(32, 64);
    const uint32_t y = b.buffer(32, 64);
    b.load(x);
    b.inst(opcode, {y, x, x, x});
    b.store(y);
    return vec(passes::plan_buffers(b.core, target)).peak / 8192;
  };
  CHECK(peak(isa::Opcode::TExp, a2a3) == 1);
  CHECK(peak(isa::Opcode::TRecip, a2a3) == 2);
  CHECK(peak(isa::Opcode::TRecip, a5) == 1);
  CHECK(peak(isa::Opcode::TAdds, a2a3) == 1);
  CHECK(peak(isa::Opcode::TRsubs, a2a3) == 1);
  CHECK(peak(isa::Opcode::TRowExpand, a2a3) == 2);
  CHECK(peak(isa::Opcode::TColSum, a2a3) == 2);
  CHECK(peak(isa::Opcode::TFillPad, a2a3) == 2);
  CHECK(peak(isa::Opcode::TExtract, a2a3) == 2);
  // A choice stands on the data, never on the mask, though it has the same shape here.
  CoreBuilder b;
  const uint32_t mask = b.buffer(32, 64);
  const uint32_t data = b.buffer(32, 64);
  const uint32_t result = b.buffer(32, 64);
  b.load(mask);
  b.load(data);
  b.inst(isa::Opcode::TSels, {result, mask, data});
  b.store(result);
  const MemoryPlan plan = passes::plan_buffers(b.core, a2a3);
  CHECK(vec(plan).peak == 2 * 8192);
  CHECK(plan.addresses[result] == plan.addresses[data]);
}

TEST_CASE("a carried sum keeps its bytes through the loop") {
  // acc = acc + t four times; t and u come and go.
  CoreBuilder b;
  const uint32_t acc = b.buffer(32, 64);
  const uint32_t t = b.buffer(32, 64);
  const uint32_t u = b.buffer(32, 64);
  b.load(acc);
  b.loop(b.num(0), b.num(4), [&](SymId) {
    b.load(t);
    b.add(acc, acc, t);
    b.load(u);
    b.store(u);
  });
  b.store(acc);
  const MemoryPlan plan = passes::plan_buffers(b.core, with_vec_bytes(2 * 8192));
  CHECK(vec(plan).peak == 2 * 8192);
  CHECK(plan.addresses[acc] != plan.addresses[t]);
  CHECK(plan.addresses[acc] != plan.addresses[u]);
  CHECK(plan.addresses[t] == plan.addresses[u]);
}

TEST_CASE("addresses that are written stay, and what shares them by hand is left alone") {
  CoreBuilder b;
  const uint32_t x = b.buffer(32, 64);
  const uint32_t view = b.buffer(64, 32);
  const uint32_t t = b.buffer(32, 64);
  b.core.buffers[x].address = 4096;
  b.core.buffers[view].address = 4096;
  b.load(x);
  b.load(t);
  b.store(t);
  b.store(view);  // reads what was written through x
  const MemoryPlan plan = passes::plan_buffers(b.core, with_vec_bytes(20480));
  CHECK(plan.addresses[x] == 4096);
  CHECK(plan.addresses[view] == 4096);
  CHECK(plan.addresses[t] == 12288);
}

TEST_CASE("the memory of a local ring is reserved") {
  CoreBuilder b;
  isa::Ring ring;
  ring.dtype = DType::F32;
  ring.rows = 32;
  ring.cols = 64;
  ring.slots = 2;
  b.core.rings = {ring};
  b.core.ring_spans.resize(1);
  const uint32_t x = b.buffer(32, 64);
  const uint32_t popped = b.buffer(32, 64, 2);
  const uint32_t y = b.buffer(32, 64);
  b.load(x);
  b.store(x);
  b.inst(isa::Opcode::TPop, {popped});
  b.inst(isa::Opcode::TStore, {popped});
  b.load(y);
  b.store(y);
  Target a5 = target_named("a5");
  a5.spaces[static_cast<size_t>(Space::Vec)].bytes = 32;
  CHECK(vec(passes::plan_buffers(b.core, a5)).peak == 3 * 8192);
  // Through global memory a pop is a copy, and its buffer like any other.
  CHECK(vec(passes::plan_buffers(b.core, with_vec_bytes(32))).peak == 2 * 8192);
}

TEST_CASE("the smallest change is found by trying") {
  CoreBuilder b;
  const uint32_t a = b.buffer(128, 192);
  const uint32_t c = b.buffer(128, 192);
  const uint32_t d = b.buffer(128, 192);
  b.load(a);
  b.load(c);
  b.inst(isa::Opcode::TRowSum, {d, a, c});
  b.add(d, d, c);
  b.add(d, d, a);
  b.store(d);
  const Target target = target_named("a2a3");
  const MemoryPlan plan = passes::plan_buffers(b.core, target);
  CHECK(vec(plan).peak == 294912);
  CHECK(vec(plan).bound == 294912);
  CHECK(passes::smallest_change(b.core, target, Space::Vec, true) ==
        "it fits with 80 rows instead of 128 in `b0`, `b1` and `b2`");

  CoreBuilder slots;
  const uint32_t deep = slots.buffer(64, 256, 4);
  slots.loop(slots.num(0), slots.dim, [&](SymId i) {
    const ExprId slot = slots.core.exprs.make(ExprOp::Mod, slots.core.exprs.symbol(i), slots.num(2));
    slots.inst(isa::Opcode::TLoad, {deep}, {slot});
    slots.inst(isa::Opcode::TStore, {deep}, {slot});
  });
  CHECK(passes::smallest_change(slots.core, target, Space::Vec, true) == "it fits with 3 slots instead of 4 in `b0`");

  CoreBuilder wide;
  const uint32_t row = wide.buffer(1, 65536);
  wide.load(row);
  wide.store(row);
  CHECK(passes::smallest_change(wide.core, target, Space::Vec, true) ==
        "it fits with 49152 columns instead of 65536 in `b0`");
}

TEST_CASE("placing is deterministic, and place_buffers says the worst overflow") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ir::Function core = RandomCore(seed, 12, 60).core();
    const Target target = with_vec_bytes(4096);
    CHECK(passes::plan_buffers(core, target).addresses == passes::plan_buffers(core, target).addresses);
  }
  CoreBuilder b;
  b.load(b.buffer(512, 256));
  ir::Function core = b.core;
  const auto overflow = passes::place_buffers(core, target_named("a2a3"));
  REQUIRE(overflow);
  CHECK(overflow->space == Space::Vec);
  CHECK(overflow->needed == 524288);
  CHECK(overflow->available == 196608);
}

// Not a test: `passes_test "[bench]"` prints how planning grows.
TEST_CASE("time of planning by instructions", "[.bench]") {
  double before = 0;
  for (const int count : {1000, 4000, 16000}) {
    CoreBuilder b;
    std::vector<uint32_t> chains;
    for (int i = 0; i < 24; ++i) {
      chains.push_back(b.buffer(8 * (1 + i % 4), 64));
      b.load(chains.back());
    }
    for (int i = 24; i < count; ++i) {
      uint32_t& chain = chains[static_cast<size_t>(i) % chains.size()];
      const uint32_t next = b.buffer(b.core.buffers[chain].tile.rows, 64);
      b.exp(next, chain);
      chain = next;
    }
    const auto start = std::chrono::steady_clock::now();
    const MemoryPlan plan = passes::plan_buffers(b.core, target_named("a2a3"));
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    const MemoryPlan tight = passes::plan_buffers(b.core, with_vec_bytes(32));
    const std::chrono::duration<double, std::milli> both = std::chrono::steady_clock::now() - start;
    std::cout << count << " instructions: " << time.count() << " ms, without a fit " << (both - time).count() << " ms";
    std::cout << (before > 0 ? ", ratio " + std::to_string(time.count() / before) : "") << "\n";
    before = time.count();
    CHECK(vec(plan).fits());
  }
}
