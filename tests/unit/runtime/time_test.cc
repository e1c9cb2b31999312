// Hand-counted timelines on the `unit` target: every instruction takes one cycle on its pipe, everything else none.
#include "kernels.h"

#include <map>

namespace pto::test {
namespace {

constexpr auto kIn = object::ParamMode::In;
constexpr auto kOut = object::ParamMode::Out;

runtime::Arguments shape_only(int64_t rows, int64_t cols) {
  runtime::Arguments arguments;
  arguments.arrays["x"].dtype = DType::F32;
  arguments.arrays["x"].shape = {rows, cols};
  return arguments;
}

runtime::Options time_only(bool trace = false) {
  runtime::Options options;
  options.mode = runtime::Mode::Time;
  options.record_trace = trace;
  return options;
}

// A program of one core program over x (in) and y (out), both f32[rows, cols].
ProgramBuilder around(const CoreBuilder& core, const Target& target, int64_t blocks, int64_t rows, int64_t cols) {
  ProgramBuilder p(target);
  const auto x = p.tensor("x", DType::F32, {p.num(rows), p.num(cols)}, kIn);
  const auto y = p.tensor("y", DType::F32, {p.num(rows), p.num(cols)}, kOut);
  p.task("t", p.core(core), {x, y}, {}, p.num(blocks));
  return p;
}

int64_t cycles(ProgramBuilder& p, const runtime::Arguments& arguments) {
  const runtime::RunResult result = p.run(arguments, time_only());
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(result.outputs.empty());
  check_accounts(result);
  return result.cycles;
}

struct Scale {
  CoreBuilder b{"scale", CoreKind::Vec};
  isa::TensorId x, y;
  Scale(int64_t rows, int64_t cols) {
    x = b.tensor("x", DType::F32, {b.num(rows), b.num(cols)}, kIn);
    y = b.tensor("y", DType::F32, {b.num(rows), b.num(cols)}, kOut);
  }
};

Scale chain() {
  Scale k(16, 64);
  CoreBuilder& b = k.b;
  const auto s = b.buffer("s", DType::F32, 16, 64, 0);
  const auto t = b.buffer("t", DType::F32, 16, 64, 4096);
  b.load(s, k.x, {b.num(0), b.num(0)});           // mte2 [0, 1)
  b.set(Pipe::MTE2, Pipe::V, 0);                  // mte2 [1, 2)
  b.wait(Pipe::MTE2, Pipe::V, 0);                 // v    [2, 3)
  b.with_scalar(Opcode::TMuls, t, s, b.num(2));   // v    [3, 4)
  b.set(Pipe::V, Pipe::MTE3, 3);                  // v    [4, 5)
  b.wait(Pipe::V, Pipe::MTE3, 3);                 // mte3 [5, 6)
  b.store(k.y, {b.num(0), b.num(0)}, t);          // mte3 [6, 7)
  return k;
}

TEST_CASE("load, compute, store behind each other: 7 cycles") {
  ProgramBuilder p = around(chain().b, target_named("unit"), 1, 16, 64);
  const runtime::RunResult result = p.run(shape_only(16, 64), time_only(true));
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(result.timed);
  CHECK(result.cycles == 7);
  CHECK(result.microseconds == Approx(0.007));
  CHECK(result.instructions == 7);
  CHECK(result.gm_read_bytes == 4096);
  CHECK(result.gm_write_bytes == 4096);
  REQUIRE(result.cores.size() == 1);
  const auto& pipes = result.cores[0].pipes;
  const auto flag = static_cast<size_t>(runtime::Stall::Flag);
  const auto& v = pipes[static_cast<size_t>(Pipe::V)];
  CHECK(v.busy == 3);
  CHECK(v.stall[flag] == 2);
  CHECK(v.idle == 2);
  const auto& mte3 = pipes[static_cast<size_t>(Pipe::MTE3)];
  CHECK(mte3.busy == 2);
  CHECK(mte3.stall[flag] == 5);
  CHECK(mte3.idle == 0);
  check_accounts(result);
  REQUIRE(result.trace.size() == 7);
  const runtime::TraceSlice& last = result.trace.back();
  CHECK(last.opcode == Opcode::TStore);
  CHECK(last.start == 6);
  CHECK(last.end == 7);
  CHECK(last.location.line == 7);
  REQUIRE(result.tasks.size() == 1);
  CHECK(result.tasks[0].start == 0);
  CHECK(result.tasks[0].end == 7);
}

// Two slots, flags both ways. The vector pipe is the slowest: five instructions a turn. It starts its first turn in cycle
// 4 (wait, load, set on mte2 behind the two sets that open the buffers), and the last store's flag is waited for last.
CoreBuilder pipelined(int64_t turns) {
  Scale k(16 * turns, 64);
  CoreBuilder& b = k.b;
  ExprPool& p = b.pool();
  const auto s = b.buffer("s", DType::F32, 16, 64, 0, Space::Vec, Layout::ND, 2);
  const auto t = b.buffer("t", DType::F32, 16, 64, 8192, Space::Vec, Layout::ND, 2);
  for (int64_t id = 0; id < 2; ++id) {
    b.set(Pipe::V, Pipe::MTE2, id);
  }
  for (int64_t id = 0; id < 2; ++id) {
    b.set(Pipe::MTE3, Pipe::V, id);
  }
  const ExprId i = b.loop("i", b.num(0), b.num(turns));
  const ExprId slot = p.make(ExprOp::Mod, i, b.num(2));
  const ExprId row = p.mul(i, b.num(16));
  b.wait(Pipe::V, Pipe::MTE2, slot);
  b.load({s, slot}, k.x, {row, b.num(0)});
  b.set(Pipe::MTE2, Pipe::V, slot);
  b.wait(Pipe::MTE2, Pipe::V, slot);
  b.wait(Pipe::MTE3, Pipe::V, slot);
  b.with_scalar(Opcode::TMuls, {t, slot}, {s, slot}, b.num(2));
  b.set(Pipe::V, Pipe::MTE2, slot);
  b.set(Pipe::V, Pipe::MTE3, slot);
  b.wait(Pipe::V, Pipe::MTE3, slot);
  b.store(k.y, {row, b.num(0)}, {t, slot});
  b.set(Pipe::MTE3, Pipe::V, slot);
  b.end_loop();
  for (int64_t id = 0; id < 2; ++id) {
    b.wait(Pipe::V, Pipe::MTE2, id);
  }
  for (int64_t id = 0; id < 2; ++id) {
    b.wait(Pipe::MTE3, Pipe::V, id);
  }
  return b;
}

TEST_CASE("double buffering overlaps load, compute and store") {
  for (int64_t turns : {2, 4, 10, 100}) {
    ProgramBuilder p = around(pipelined(turns), target_named("unit"), 1, 16 * turns, 64);
    // 4 + 5 a turn, then wait, store, set on mte3 and the last wait on v.
    CHECK(cycles(p, shape_only(16 * turns, 64)) == 4 + 5 * turns + 4);
  }
}

TEST_CASE("a barrier on one pipe waits for its tail, a barrier on all for everybody") {
  Target target = target_named("unit");
  target.vector_costs[isa::TimingClass::VecMuls].tail = 10;
  Scale k(16, 64);
  CoreBuilder& b = k.b;
  const auto s = b.buffer("s", DType::F32, 16, 64, 0);
  const auto t = b.buffer("t", DType::F32, 16, 64, 4096);
  b.load(s, k.x, {b.num(0), b.num(0)});          // mte2 [0, 1)
  b.barrier(Pipe::All);                          // [1, 2)
  b.with_scalar(Opcode::TMuls, t, s, b.num(2));  // v [2, 3), visible at 13
  b.barrier(Pipe::V);                            // v [13, 14)
  b.with_scalar(Opcode::TMuls, t, s, b.num(3));  // v [14, 15), visible at 25
  b.with_scalar(Opcode::TMuls, t, s, b.num(4));  // v [15, 16), visible at 26
  b.sync(Pipe::V, Pipe::MTE3);                   // v [16, 17), set at 26; mte3 [26, 27)
  b.store(k.y, {b.num(0), b.num(0)}, t);         // mte3 [27, 28)
  ProgramBuilder p = around(b, target, 1, 16, 64);
  const runtime::RunResult result = p.run(shape_only(16, 64), time_only());
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(result.cycles == 28);
  const auto& v = result.cores[0].pipes[static_cast<size_t>(Pipe::V)];
  CHECK(v.stall[static_cast<size_t>(runtime::Stall::Barrier)] == 2 + 10);
  check_accounts(result);
}

TEST_CASE("a pipe that was idle pays its head, a busy one does not") {
  Target target = target_named("unit");
  target.vector_costs[isa::TimingClass::VecMuls].head = 5;
  Scale k(16, 64);
  CoreBuilder& b = k.b;
  const auto s = b.buffer("s", DType::F32, 16, 64, 0);
  const auto t = b.buffer("t", DType::F32, 16, 64, 4096);
  b.load(s, k.x, {b.num(0), b.num(0)});
  b.sync(Pipe::MTE2, Pipe::V);                   // v free at 3
  b.with_scalar(Opcode::TMuls, t, s, b.num(2));  // [3, 9)
  b.with_scalar(Opcode::TMuls, t, s, b.num(3));  // [9, 10)
  b.sync(Pipe::V, Pipe::MTE3);                   // v [10, 11), mte3 [11, 12)
  b.store(k.y, {b.num(0), b.num(0)}, t);         // [12, 13)
  ProgramBuilder p = around(b, target, 1, 16, 64);
  CHECK(cycles(p, shape_only(16, 64)) == 13);
}

TEST_CASE("the scalar unit pays for issue and loops, and waits when a queue is full") {
  Target target = target_named("unit");
  target.issue_cycles = 2;
  target.scalar_cycles = 3;
  Scale k(16, 64);
  CoreBuilder& b = k.b;
  const auto s = b.buffer("s", DType::F32, 16, 64, 0);
  b.with_scalar(Opcode::TMuls, s, s, b.num(2));
  b.core.code.clear();
  b.load(s, k.x, {b.num(0), b.num(0)});  // a path without issue cost: mte2 [0, 1)
  b.sync(Pipe::MTE2, Pipe::V);           // scalar [0, 4); mte2 [2, 3); v [4, 5)
  b.loop("i", b.num(0), b.num(3));
  b.with_scalar(Opcode::TMuls, s, s, b.num(2));  // issued at 9, 14, 19: v until 20
  b.end_loop();
  b.sync(Pipe::V, Pipe::MTE3);            // issued at 21 and 23: v [21, 22); mte3 [23, 24)
  b.store(k.y, {b.num(0), b.num(0)}, s);  // [24, 25)
  ProgramBuilder p = around(b, target, 1, 16, 64);
  const runtime::RunResult result = p.run(shape_only(16, 64), time_only());
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(result.cycles == 25);
  const auto& scalar = result.cores[0].pipes[static_cast<size_t>(Pipe::S)];
  CHECK(scalar.busy == 23);
  CHECK(scalar.idle == 2);
  check_accounts(result);

  // Queue depth 1: the second of two 10-cycle instructions enters when the first has started, the third at 10.
  Target slow = target_named("unit");
  slow.vector_costs[isa::TimingClass::VecMuls].floor = 10;
  slow.queue_depth = 1;
  Scale q(16, 64);
  const auto u = q.b.buffer("u", DType::F32, 16, 64, 0);
  q.b.load(u, q.x, {q.b.num(0), q.b.num(0)});
  q.b.barrier(Pipe::All);  // until 2
  for (int i = 0; i < 3; ++i) {
    q.b.with_scalar(Opcode::TMuls, u, u, q.b.num(2));  // v [2, 12), [12, 22), [22, 32)
  }
  q.b.barrier(Pipe::All);  // the third entered the queue at 12
  q.b.store(q.y, {q.b.num(0), q.b.num(0)}, u);
  ProgramBuilder r = around(q.b, slow, 1, 16, 64);
  const runtime::RunResult full = r.run(shape_only(16, 64), time_only());
  INFO(r.messages());
  REQUIRE(full.status == runtime::RunStatus::Ok);
  CHECK(full.cycles == 34);
  const auto& waiting = full.cores[0].pipes[static_cast<size_t>(Pipe::S)];
  CHECK(waiting.stall[static_cast<size_t>(runtime::Stall::Issue)] == 10);
  CHECK(waiting.stall[static_cast<size_t>(runtime::Stall::Barrier)] == 1 + 20);
}

// One load of rows x 16 floats a block: 64 bytes a row.
CoreBuilder loads(ExprId (*rows)(CoreBuilder&), int times) {
  Scale k(64, 16);
  CoreBuilder& b = k.b;
  const auto s = b.buffer("s", DType::F32, 16, 16, 0);
  for (int i = 0; i < times; ++i) {
    b.load(s, k.x, {b.pool().mul(b.block(), b.num(16)), b.num(0)}, rows(b), b.num(16));
    b.barrier(Pipe::All);
  }
  // The output must have a writer, but a store would compete with the loads of other cores: it never runs.
  b.begin_if(b.pool().make(ExprOp::Lt, b.num(100), b.block()));
  b.store(k.y, {b.num(0), b.num(0)}, s);
  b.end_if();
  return b;
}

Target memory_target(double path, double hbm, double l2, int64_t l2_bytes) {
  Target target = target_named("unit");
  for (DataPath& way : target.paths) {
    if (way.from == Space::Gm) {
      way.bytes_per_cycle = path;
      way.start_cycles = 0;
    }
  }
  target.hbm_bytes_per_cycle = hbm;
  target.l2_bytes_per_cycle = l2;
  target.l2_bytes = l2_bytes;
  target.sync_cycles = 0;
  return target;
}

TEST_CASE("cores share the memory's bandwidth") {
  const Target target = memory_target(64, 64, 1e9, 0);
  const auto equal = [](CoreBuilder& b) { return b.num(16); };  // 1024 bytes
  ProgramBuilder one = around(loads(equal, 1), target, 1, 64, 16);
  CHECK(cycles(one, shape_only(64, 16)) == 16);
  ProgramBuilder two = around(loads(equal, 1), target, 2, 64, 16);
  const runtime::RunResult result = two.run(shape_only(64, 16), time_only());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(result.cycles == 32);
  CHECK(result.gm_read_bytes == 2048);
  REQUIRE(result.cores.size() == 2);
  for (const runtime::CoreStats& core : result.cores) {
    const auto& mte2 = core.pipes[static_cast<size_t>(Pipe::MTE2)];
    CHECK(mte2.busy == 16);
    CHECK(mte2.stall[static_cast<size_t>(runtime::Stall::Bandwidth)] == 16);
  }
  CHECK(result.busiest == Pipe::MTE2);
  CHECK(result.busiest_utilisation == Approx(0.5));
  check_accounts(result);
}

std::map<int, int64_t> load_ends(const CoreBuilder& core, const Target& target, int64_t blocks) {
  ProgramBuilder p = around(core, target, blocks, 64, 16);
  const runtime::RunResult result = p.run(shape_only(64, 16), time_only(true));
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  std::map<int, int64_t> ends;
  for (const runtime::TraceSlice& slice : result.trace) {
    if (slice.opcode == Opcode::TLoad) {
      ends[slice.core] = slice.end;
    }
  }
  return ends;
}

TEST_CASE("max-min fair rates, by hand") {
  const auto by_block = [](CoreBuilder& b) {
    return b.pool().mul(b.num(8), b.pool().add(b.block(), b.num(1)));  // 512 and 1024 bytes
  };
  // 32 each until cycle 16; then the second has 512 bytes left and all 64: until 24.
  std::map<int, int64_t> ends = load_ends(loads(by_block, 1), memory_target(64, 64, 1e9, 0), 2);
  CHECK(ends[0] == 16);
  CHECK(ends[1] == 24);
  // The cap of 40 binds when it is alone: 512 / 40 = 12.8 more cycles, which end in cycle 29.
  ends = load_ends(loads(by_block, 1), memory_target(40, 64, 1e9, 0), 2);
  CHECK(ends[0] == 16);
  CHECK(ends[1] == 29);
  // Nobody is in anybody's way.
  ends = load_ends(loads(by_block, 1), memory_target(32, 64, 1e9, 0), 2);
  CHECK(ends[0] == 16);
  CHECK(ends[1] == 32);
}

TEST_CASE("what was read before comes from the L2") {
  const auto whole = [](CoreBuilder& b) { return b.num(16); };
  // First 1024 bytes at 16, again at 64: 64 + 16 cycles.
  CHECK(load_ends(loads(whole, 2), memory_target(1024, 16, 64, 1 << 20), 1)[0] == 64 + 16);
  // No cache: twice at 16.
  CHECK(load_ends(loads(whole, 2), memory_target(1024, 16, 64, 0), 1)[0] == 64 + 64);
  // A cache of one line: the kilobyte does not stay.
  CHECK(load_ends(loads(whole, 2), memory_target(1024, 16, 64, 512), 1)[0] == 64 + 64);
}

TEST_CASE("latency is seen by waiters but not by the next copy") {
  Target target = target_named("unit");
  for (DataPath& way : target.paths) {
    way.latency_cycles = way.from == Space::Gm ? 100 : 0;
  }
  Scale k(32, 64);
  CoreBuilder& b = k.b;
  const auto s = b.buffer("s", DType::F32, 16, 64, 0);
  const auto t = b.buffer("t", DType::F32, 16, 64, 4096);
  b.load(s, k.x, {b.num(0), b.num(0)});   // mte2 [0, 1), visible at 101
  b.load(t, k.x, {b.num(16), b.num(0)});  // mte2 [1, 2), visible at 102
  b.sync(Pipe::MTE2, Pipe::MTE3);         // set at 102, mte3 [102, 103)
  b.store(k.y, {b.num(0), b.num(0)}, s);  // [103, 104)
  ProgramBuilder p = around(b, target, 1, 32, 64);
  CHECK(cycles(p, shape_only(32, 64)) == 104);
}

TEST_CASE("blocks go to the free core with the lowest index, tasks wait for tasks") {
  Target target = target_named("unit");  // 4 vector cores
  ProgramBuilder p = around(chain().b, target, 10, 16, 64);
  CHECK(cycles(p, shape_only(16, 64)) == 21);  // three waves of 7

  target.launch_cycles = 100;
  target.dispatch_cycles = 2;
  target.pickup_cycles = 3;
  target.complete_cycles = 5;
  ProgramBuilder q = around(chain().b, target, 2, 16, 64);
  const auto x = 0U;
  const auto z = q.tensor("z", DType::F32, {q.num(16), q.num(64)}, kOut);
  q.task("u", 0, {x, z}, {}, q.num(1), {0});
  const runtime::RunResult result = q.run(shape_only(16, 64), time_only());
  INFO(q.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  // Block 0: dispatched at 102, starts at 105. Block 1: 104, 107 to 114. u is ready at 119, starts at 124 on core 0.
  CHECK(result.tasks[0].start == 105);
  CHECK(result.tasks[0].end == 114);
  CHECK(result.tasks[1].start == 124);
  CHECK(result.tasks[1].end == 131);
  CHECK(result.cycles == 136);
  REQUIRE(result.cores.size() == 2);
  CHECK(result.cores[0].blocks == 2);
  const auto& mte2 = result.cores[0].pipes[static_cast<size_t>(Pipe::MTE2)];
  // Idle until its block ended at 112, then the dependency until 119, then five cycles of dispatch; 105 at the start.
  CHECK(mte2.stall[static_cast<size_t>(runtime::Stall::Dependency)] == 7);
  CHECK(mte2.stall[static_cast<size_t>(runtime::Stall::Dispatch)] == 105 + 5);
  CHECK(mte2.busy == 4);
  check_accounts(result);
}

TEST_CASE("a program without tasks takes its launch") {
  Target target = target_named("unit");
  target.launch_cycles = 42;
  ProgramBuilder p(target);
  const runtime::RunResult result = p.run({}, {});
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(result.cycles == 42);
  CHECK(result.instructions == 0);
  CHECK_FALSE(runtime::stats_text(result, target).empty());
  CHECK_FALSE(runtime::trace_json(result, p.object, target).empty());
}

TEST_CASE("recording a trace and computing values change no cycle") {
  for (const char* name : {"unit", "a2a3", "a5"}) {
    const Target target = target_named(name);
    ProgramBuilder p = vector_add_program(target, 30);
    const runtime::Arguments arguments = vector_add_arguments(1000);
    std::vector<int64_t> seen;
    for (bool trace : {false, true}) {
      for (auto mode : {runtime::Mode::Both, runtime::Mode::Time}) {
        runtime::Options options;
        options.record_trace = trace;
        options.mode = mode;
        const runtime::RunResult result = p.run(arguments, options);
        INFO(p.messages());
        REQUIRE(result.status == runtime::RunStatus::Ok);
        seen.push_back(result.cycles);
        CHECK(result.trace.empty() == !trace);
        check_accounts(result);
        // Slices of one pipe don't overlap.
        for (size_t i = 1; i < result.trace.size(); ++i) {
          const auto& a = result.trace[i - 1];
          const auto& b = result.trace[i];
          CHECK((a.core != b.core || a.pipe != b.pipe || a.end <= b.start));
        }
      }
    }
    CHECK(seen == std::vector<int64_t>(4, seen[0]));
  }
}

}  // namespace
}  // namespace pto::test
