// Hand-counted timelines of mixed tasks on variants of the `unit` target: every instruction takes one cycle on its
// pipe.
#include <algorithm>

#include "kernels.h"
#include "pairs.h"

namespace pto::test {
namespace {

using isa::RingDirection;
using isa::Split;

constexpr auto kIn = object::ParamMode::In;
constexpr auto kOut = object::ParamMode::Out;

// The cube core pushes a product `turns` times, both lanes double their halves and store the last one.
struct PingPong {
  CoreBuilder cube{"up", CoreKind::Cube};
  CoreBuilder vec{"down", CoreKind::Vec};
  Target target;
  bool local;

  explicit PingPong(Target machine, int64_t turns = 3, int64_t slots = 2)
      : target(std::move(machine)), local(target.ring_is_local(RingDirection::C2V)) {
    const isa::Ring ring{"s", RingDirection::C2V, DType::F32, 32, 32, slots, Split::Rows};
    fill_cube(ring, turns);
    fill_vec(ring, turns);
  }

  // acc is written in mte2 [0, 2), mte1 [4, 6), m [8, 9); fix may work from 11 on.
  void fill_cube(const isa::Ring& ring, int64_t turns) {
    CoreBuilder& b = cube;
    const auto x = b.tensor("x", DType::F16, {b.num(32), b.num(kDepth)}, kIn);
    const auto am = b.buffer("am", DType::F16, 32, kDepth, 0, Space::Mat, Layout::Nz);
    const auto left = b.buffer("left", DType::F16, 32, kDepth, 0, Space::Left, target.left_layout);
    const auto right = b.buffer("right", DType::F16, kDepth, 32, 0, Space::Right, Layout::Zn);
    const auto acc = b.buffer("acc", DType::F32, 32, 32, 0, Space::Acc, Layout::Nz);
    const auto s = b.ring(ring);
    b.load(am, x, {b.num(0), b.num(0)});           // mte2 [0, 1)
    b.load(am, x, {b.num(0), b.num(0)});           // mte2 [1, 2)
    b.sync(Pipe::MTE2, Pipe::MTE1);                // mte2 [2, 3), mte1 [3, 4)
    b.tiles(Opcode::TMov, {left, am});             // mte1 [4, 5)
    b.tiles(Opcode::TMov, {right, am});            // mte1 [5, 6)
    b.sync(Pipe::MTE1, Pipe::M);                   // mte1 [6, 7), m [7, 8)
    b.tiles(Opcode::TMatMul, {acc, left, right});  // m [8, 9)
    b.sync(Pipe::M, Pipe::FIX);                    // m [9, 10), fix [10, 11)
    for (int64_t i = 0; i < turns; ++i) {
      b.push(s, acc);
    }
  }

  void fill_vec(const isa::Ring& ring, int64_t turns) {
    CoreBuilder& b = vec;
    const auto y = b.tensor("y", DType::F32, {b.num(32), b.num(32)}, kOut);
    const auto p = b.buffer("p", DType::F32, 16, 32, 0, Space::Vec, Layout::ND, local ? ring.slots : 1);
    const auto q = b.buffer("q", DType::F32, 16, 32, 65536);
    const auto s = b.ring(ring);
    for (int64_t i = 0; i < turns; ++i) {
      b.pop(p, s);
      if (!local) {
        b.sync(Pipe::MTE2, Pipe::V);
      }
      b.with_scalar(Opcode::TMuls, q, p, b.num(2));
      if (local) {
        b.free(s, p);
      } else {
        b.sync(Pipe::V, Pipe::MTE2);
      }
    }
    b.sync(Pipe::V, Pipe::MTE3, 1);
    b.store(y, {b.pool().mul(b.lane(), b.num(16)), b.num(0)}, q);
  }

  ProgramBuilder program(int64_t blocks = 1) const {
    ProgramBuilder p(target);
    const auto x = p.tensor("x", DType::F16, {p.num(32), p.num(kDepth)}, kIn);
    const auto y = p.tensor("y", DType::F32, {p.num(32), p.num(32)}, kOut);
    const uint32_t up = p.core(cube);
    p.pair_task("job", up, {x}, p.core(vec), {y}, p.num(blocks));
    return p;
  }
};

runtime::RunResult timed(ProgramBuilder& p) {
  runtime::Arguments arguments;
  arguments.arrays["x"].dtype = DType::F16;
  arguments.arrays["x"].shape = {32, kDepth};
  runtime::Options options;
  options.mode = runtime::Mode::Time;
  options.record_trace = true;
  runtime::RunResult result = p.run(arguments, options);
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  check_accounts(result);
  return result;
}

const runtime::PipeStats& pipe_of(const runtime::RunResult& result, CoreKind kind, int index, Pipe pipe) {
  const auto at = std::find_if(result.cores.begin(), result.cores.end(), [&](const runtime::CoreStats& core) {
    return core.kind == kind && core.index == index;
  });
  REQUIRE(at != result.cores.end());
  return at->pipes[static_cast<size_t>(pipe)];
}

// Starts of an instruction on a core, in order. Cores are cube cores, then vector cores.
std::vector<int64_t> starts(const runtime::RunResult& result, size_t core, Opcode opcode) {
  std::vector<int64_t> times;
  for (const runtime::TraceSlice& slice : result.trace) {
    if (slice.core == core && slice.opcode == opcode) {
      times.push_back(slice.start);
    }
  }
  return times;
}

using Times = std::vector<int64_t>;
constexpr auto kRing = static_cast<size_t>(runtime::Stall::Ring);

Target global_rings() {
  Target target = target_named("unit");
  std::erase_if(target.paths, [](const DataPath& path) {
    return (path.from == Space::Acc && path.to == Space::Vec) || (path.from == Space::Vec && path.to == Space::Mat);
  });
  return target;
}

TEST_CASE("core to core: pops wait for tiles, pushes for slots") {
  ProgramBuilder p = PingPong(target_named("unit")).program();
  const runtime::RunResult result = timed(p);
  // Tiles come at 12 and 13. v: pop, double, free for each. The third push waits for the first free, at 15.
  CHECK(starts(result, 0, Opcode::TPush) == Times{11, 12, 15});
  for (size_t lane : {1, 2}) {
    CHECK(starts(result, lane, Opcode::TPop) == Times{12, 15, 18});
    CHECK(starts(result, lane, Opcode::TFree) == Times{14, 17, 20});
    CHECK(starts(result, lane, Opcode::TStore) == Times{23});
  }
  CHECK(result.cycles == 24);
  CHECK(pipe_of(result, CoreKind::Cube, 0, Pipe::FIX).stall[kRing] == 2);
  CHECK(pipe_of(result, CoreKind::Vec, 0, Pipe::V).stall[kRing] == 12);
  CHECK(pipe_of(result, CoreKind::Vec, 1, Pipe::V).stall[kRing] == 12);
  CHECK(pipe_of(result, CoreKind::Vec, 0, Pipe::V).busy == 10);
  CHECK(result.gm_read_bytes == 2 * 32 * kDepth * 2);
  CHECK(result.gm_write_bytes == 32 * 32 * 4);
  REQUIRE(result.cores.size() == 3);
  CHECK(result.cores[0].blocks == 1);
  CHECK(result.cores[2].blocks == 1);
}

TEST_CASE("the other core hears of a push or free some cycles later") {
  Target target = target_named("unit");
  target.ring_latency_cycles = 5;
  ProgramBuilder p = PingPong(target).program();
  const runtime::RunResult result = timed(p);
  // Pushes end at 12 and 13, come at 17 and 18. The first free ends at 20, is known at 25.
  CHECK(starts(result, 0, Opcode::TPush) == Times{11, 12, 25});
  CHECK(starts(result, 1, Opcode::TPop) == Times{17, 20, 31});
  CHECK(starts(result, 2, Opcode::TFree) == Times{19, 22, 33});
  CHECK(result.cycles == 37);
}

TEST_CASE("one slot: pushes and pops take turns") {
  ProgramBuilder p = PingPong(target_named("unit"), 3, 1).program();
  const runtime::RunResult result = timed(p);
  CHECK(starts(result, 0, Opcode::TPush) == Times{11, 15, 19});
  CHECK(starts(result, 1, Opcode::TPop) == Times{12, 16, 20});
  CHECK(result.cycles == 26);
}

TEST_CASE("a path's latency delays a tile too") {
  Target target = target_named("unit");
  for (DataPath& path : target.paths) {
    path.latency_cycles = path.from == Space::Acc && path.to == Space::Vec ? 3 : 0;
  }
  ProgramBuilder p = PingPong(target).program();
  const runtime::RunResult result = timed(p);
  CHECK(starts(result, 0, Opcode::TPush)[1] == 12);
  CHECK(starts(result, 1, Opcode::TPop)[0] == 15);
}

TEST_CASE("through global memory: a pop copies and gives the slot back") {
  ProgramBuilder p = PingPong(global_rings()).program();
  const runtime::RunResult result = timed(p);
  // mte2: pop, set; v: wait, double, set; mte2: wait: six cycles a turn. The first pop ends at 13, and frees its slot.
  CHECK(starts(result, 0, Opcode::TPush) == Times{11, 12, 13});
  CHECK(starts(result, 1, Opcode::TPop) == Times{12, 18, 24});
  CHECK(starts(result, 2, Opcode::TPop) == Times{12, 18, 24});
  CHECK(result.cycles == 32);
  CHECK(pipe_of(result, CoreKind::Cube, 0, Pipe::FIX).stall[kRing] == 0);
  CHECK(pipe_of(result, CoreKind::Vec, 0, Pipe::MTE2).stall[kRing] == 12);
  // Pushes and pops move whole tiles and halves through global memory.
  CHECK(result.gm_read_bytes == 2 * 32 * kDepth * 2 + 3 * 32 * 32 * 4);
  CHECK(result.gm_write_bytes == 3 * 32 * 32 * 4 + 32 * 32 * 4);
}

TEST_CASE("rings in global memory are behind the L2 and share its bandwidth") {
  Target target = global_rings();
  // 32 bytes a cycle for all: a push of 4096 bytes takes 128 cycles, both pops of 2048 bytes together as many.
  target.l2_bytes_per_cycle = 32;
  ProgramBuilder p = PingPong(target, 1).program();
  const runtime::RunResult result = timed(p);
  const auto push = starts(result, 0, Opcode::TPush);
  const auto pop = starts(result, 1, Opcode::TPop);
  REQUIRE(push.size() == 1);
  REQUIRE(pop.size() == 1);
  CHECK(pop[0] - push[0] == 129);
  const auto free_slot = std::find_if(result.trace.begin(), result.trace.end(), [](const runtime::TraceSlice& slice) {
    return slice.core == 1 && slice.opcode == Opcode::TPop;
  });
  CHECK(free_slot->end - free_slot->start == 129);
  // The slots were written just now, so pops find them in the cache: HBM bandwidth doesn't matter.
  target.hbm_bytes_per_cycle = 1;
  ProgramBuilder q = PingPong(target, 1).program();
  const runtime::RunResult slow = timed(q);
  CHECK(starts(slow, 1, Opcode::TPop)[0] - starts(slow, 0, Opcode::TPush)[0] == 129);
}

TEST_CASE("a wait for a ring holds its pipe, or the scalar unit") {
  for (const bool scalar : {false, true}) {
    CAPTURE(scalar);
    Target target = target_named("unit");
    target.ring_wait_scalar = scalar;
    PingPong pair(target);
    // A load behind the pops that needs none of them.
    CoreBuilder& b = pair.vec;
    const auto z = b.tensor("z", DType::F32, {b.num(32), b.num(32)}, kIn);
    const auto t = b.buffer("t", DType::F32, 32, 32, 131072);
    b.load(t, z, {b.num(0), b.num(0)});
    ProgramBuilder p(target);
    const auto x = p.tensor("x", DType::F16, {p.num(32), p.num(kDepth)}, kIn);
    const auto y = p.tensor("y", DType::F32, {p.num(32), p.num(32)}, kOut);
    const auto w = p.buffer("w", DType::F32, {p.num(32), p.num(32)}, 0);
    p.program.workspace_bytes = p.num(4096);
    const uint32_t up = p.core(pair.cube);
    p.pair_task("job", up, {x}, p.core(pair.vec), {y, w}, p.num(1));
    const runtime::RunResult result = timed(p);
    // The third tile has come at 16: a scalar unit that waits for it issues nothing before.
    CHECK(starts(result, 1, Opcode::TLoad) == Times{scalar ? 16 : 0});
    CHECK(starts(result, 1, Opcode::TPop) == Times{12, 15, 18});
    CHECK(result.cycles == 24);
    CHECK(pipe_of(result, CoreKind::Vec, 0, Pipe::S).stall[kRing] == (scalar ? 16 : 0));
    CHECK(pipe_of(result, CoreKind::Vec, 0, Pipe::V).stall[kRing] == (scalar ? 0 : 12));
    CHECK(pipe_of(result, CoreKind::Cube, 0, Pipe::S).stall[kRing] == (scalar ? 15 : 0));
  }
}

TEST_CASE("a pop that only waits doesn't keep a vector unit warm") {
  Target target = target_named("unit");
  target.vector_costs[isa::TimingClass::VecMuls].head = 5;
  ProgramBuilder p = PingPong(target, 1).program();
  // pop [12, 13), head and product [13, 19), free [19, 20), set, wait, store.
  CHECK(timed(p).cycles == 23);
}

// --- clusters

TEST_CASE("a mixed block takes a cluster, and the next waits for one") {
  // unit has two clusters: blocks 0 and 1 run at once, block 2 behind them.
  ProgramBuilder two = PingPong(target_named("unit")).program(2);
  CHECK(timed(two).cycles == 24);
  ProgramBuilder three = PingPong(target_named("unit")).program(3);
  const runtime::RunResult result = timed(three);
  CHECK(result.cycles == 48);
  CHECK(result.cores.size() == 6);
  CHECK(result.cores[0].blocks == 2);
  CHECK(result.cores[1].blocks == 1);
}

// The same with a task of `blocks` blocks of vector work in front.
int64_t start_behind(int64_t blocks) {
  CoreBuilder add = vector_add();
  ProgramBuilder p = PingPong(target_named("unit")).program();
  const auto a = p.buffer("a", DType::F32, {p.num(48), p.num(64)}, 0);
  const auto b = p.buffer("b", DType::F32, {p.num(48), p.num(64)}, 12288);
  const auto c = p.buffer("c", DType::F32, {p.num(48), p.num(64)}, 24576);
  p.program.workspace_bytes = p.num(36864);
  object::Task pair = p.program.tasks[0];
  p.program.tasks.clear();
  p.task("add", p.core(add), {a, b, c}, {p.num(48)}, p.num(blocks));
  p.program.tasks.push_back(pair);
  const runtime::RunResult result = timed(p);
  REQUIRE(result.tasks.size() == 2);
  CHECK(result.tasks[0].start == 0);
  return result.tasks[1].start;
}

TEST_CASE("a cluster is free when all its cores are") {
  const int64_t first = start_behind(1);   // vector core 0 works: the second cluster is free
  const int64_t second = start_behind(2);  // vector cores 0 and 1
  const int64_t third = start_behind(3);   // one core of each cluster works
  CHECK(first == 0);
  CHECK(second == 0);
  // Two loads, set, wait, add, set, wait, store, barrier.
  CHECK(third == 9);
}

TEST_CASE("a lane may still work when its cluster's other cores have the next block") {
  // One cluster. Lane 1 of the first task goes on after its tiles; the second task needs lane 0 only.
  Target target = target_named("unit");
  target.cube_cores = 1;
  target.vec_cores = 2;
  PingPong first(target, 1);
  CoreBuilder& b = first.vec;
  b.begin_if(b.lane());
  for (int i = 0; i < 40; ++i) {
    b.barrier(Pipe::V);
  }
  b.end_if();
  ProgramBuilder p(target);
  const auto x = p.tensor("x", DType::F16, {p.num(32), p.num(kDepth)}, kIn);
  const auto y = p.tensor("y", DType::F32, {p.num(32), p.num(32)}, kOut);
  const auto z = p.tensor("z", DType::F32, {p.num(32), p.num(32)}, kOut);
  const uint32_t up = p.core(first.cube);
  const uint32_t down = p.core(first.vec);
  PingPong second(target, 1);
  for (CoreBuilder* core : {&second.cube, &second.vec}) {
    core->core.name += "2";
    core->core.rings[0].split = Split::None;
  }
  for (isa::Buffer& buffer : second.vec.core.buffers) {
    buffer.tile.rows = 32;
    buffer.slot_stride = buffer.slots == 1 ? 0 : buffer.tile.bytes();
  }
  const uint32_t up2 = p.core(second.cube);
  const uint32_t down2 = p.core(second.vec);
  p.pair_task("both", up, {x}, down, {y}, p.num(1));
  p.pair_task("one", up2, {x}, down2, {z}, p.num(2), 1);
  const runtime::RunResult result = timed(p);
  // v: pop, double, free, set, and 40 barriers on lane 1. The second task starts when lane 0's store has ended.
  CHECK(result.tasks[0].end == 12 + 4 + 40);
  CHECK(result.tasks[1].start == 18);
  CHECK(result.tasks[1].end == 18 * 3);
  CHECK(result.cycles == 56);
}

TEST_CASE("a target without clusters, or with too few lanes, can't run a pair") {
  Target one = target_named("unit");
  one.vec_per_cube = 1;
  ProgramBuilder p = PingPong(one).program();
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F16, {32, kDepth}, std::vector<uint16_t>(1024, 0));
  CHECK(p.run(arguments).status == runtime::RunStatus::BadInput);
  Target few = target_named("unit");
  few.vec_cores = 1;
  ProgramBuilder q = PingPong(few).program();
  CHECK(q.run(arguments).status == runtime::RunStatus::BadInput);
  CHECK_THAT(q.messages(), Catch::Contains("job"));
}

TEST_CASE("waits for rings have a name in reports") {
  ProgramBuilder p = PingPong(target_named("unit")).program();
  const runtime::RunResult result = timed(p);
  const std::string table = runtime::stats_text(result, p.target);
  CHECK_THAT(table, Catch::Contains(" ring"));
  CHECK(runtime::spelling(runtime::Stall::Ring) == "ring");
  const std::string trace = runtime::trace_json(result, p.object, p.target);
  CHECK_THAT(trace, Catch::Contains("\"name\":\"tpush\""));
  CHECK_THAT(trace, Catch::Contains("\"name\":\"tpop\""));
  CHECK_THAT(trace, Catch::Contains("\"name\":\"tfree\""));
}

}  // namespace
}  // namespace pto::test
