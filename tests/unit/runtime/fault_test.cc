// Core programs that go wrong: what is said, where, and that it doesn't depend on threads.
#include "kernels.h"

namespace pto::test {
namespace {

constexpr auto kIn = object::ParamMode::In;
constexpr auto kOut = object::ParamMode::Out;

// A vector core program over x and y, both f32[rows, 64], with two tile buffers.
struct Bench {
  CoreBuilder b{"bench", CoreKind::Vec};
  int64_t rows;
  isa::TensorId x, y;
  isa::BufferId s, t;
  explicit Bench(int64_t n = 40) : rows(n) {
    x = b.tensor("x", DType::F32, {b.num(n), b.num(64)}, kIn);
    y = b.tensor("y", DType::F32, {b.num(n), b.num(64)}, kOut);
    s = b.buffer("s", DType::F32, 16, 64, 0);
    t = b.buffer("t", DType::F32, 16, 64, 4096, Space::Vec, Layout::ND, 2);
  }
  ExprId num(int64_t value) { return b.num(value); }
  ProgramBuilder program(int64_t blocks = 1, const char* target = "unit") const {
    ProgramBuilder p(target_named(target));
    const auto px = p.tensor("x", DType::F32, {p.num(rows), p.num(64)}, kIn);
    const auto py = p.tensor("y", DType::F32, {p.num(rows), p.num(64)}, kOut);
    p.task("job", p.core(b), {px, py}, {}, p.num(blocks));
    return p;
  }
  runtime::Arguments arguments() const {
    runtime::Arguments result;
    result.arrays["x"] =
        array_of(DType::F32, {rows, 64}, std::vector<float>(static_cast<size_t>(rows * 64), 1.0f));
    return result;
  }
  void store_end() {
    b.sync(Pipe::V, Pipe::MTE3, 7);
    b.store(y, {num(0), num(0)}, s);
  }
};

// The same fault in every mode and with every number of threads.
void expect(const Bench& bench, runtime::RunStatus status, const std::vector<std::string>& texts,
            int64_t blocks = 1) {
  std::string first;
  for (auto mode : {runtime::Mode::Both, runtime::Mode::Values, runtime::Mode::Time}) {
    for (int threads : {1, 3}) {
      ProgramBuilder p = bench.program(blocks);
      runtime::Options options;
      options.mode = mode;
      options.threads = threads;
      const runtime::RunResult result = p.run(bench.arguments(), options);
      CHECK(result.status == status);
      CHECK(result.outputs.empty());
      const std::string messages = p.messages();
      for (const std::string& text : texts) {
        CHECK_THAT(messages, Catch::Contains(text));
      }
      if (mode != runtime::Mode::Time) {
        first = first.empty() ? messages : first;
        CHECK(messages == first);
      }
    }
  }
}

TEST_CASE("windows that leave their tensor") {
  Bench k;
  k.b.load(k.s, k.x, {k.num(32), k.num(0)});
  k.store_end();
  expect(k, runtime::RunStatus::Fault,
         {"test.pto:1:5: error[E0703]: `tload` leaves tensor `x`: index 32 to 47 in dimension 0, which has 40",
          "`x` is [40, 64], the window 16 x 64", "in block 0 of 1 of task `job`, core program `bench`"});
  Bench n;
  n.b.load(n.s, n.x, {n.num(-1), n.num(0)});
  n.store_end();
  expect(n, runtime::RunStatus::Fault, {"index -1 to 14 in dimension 0"});
  Bench st;
  st.b.load(st.s, st.x, {st.num(0), st.num(0)});
  st.b.sync(Pipe::MTE2, Pipe::MTE3);
  st.b.store(st.y, {st.num(0), st.num(1)}, st.s);
  expect(st, runtime::RunStatus::Fault,
         {"test.pto:4:5: error[E0703]: `tstore` leaves tensor `y`: index 1 to 64 in dimension 1, which has 64"});
}

TEST_CASE("an empty window may stand anywhere and moves nothing") {
  Bench k;
  k.b.load(k.s, k.x, {k.num(0), k.num(0)});
  k.b.sync(Pipe::MTE2, Pipe::MTE3);
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  k.b.load({k.t, k.num(0)}, k.x, {k.num(1000), k.num(0)}, k.num(0), k.num(64));
  k.b.store(k.y, {k.num(1000), k.num(0)}, {k.t, k.num(0)});
  ProgramBuilder p = k.program();
  const runtime::RunResult result = p.run(k.arguments());
  INFO(p.messages());
  CHECK(result.status == runtime::RunStatus::Ok);
  CHECK(result.gm_read_bytes == 4096);
}

TEST_CASE("slots, valid regions, event ids") {
  Bench k;
  k.b.load({k.t, k.b.pool().add(k.b.block(), k.num(1))}, k.x, {k.num(0), k.num(0)});
  k.store_end();
  expect(k, runtime::RunStatus::Fault, {"error[E0706]: `tstore` reads `s`, which was never written"});
  expect(k, runtime::RunStatus::Fault, {}, 2);
  Bench slot;
  slot.b.load(slot.s, slot.x, {slot.num(0), slot.num(0)});
  slot.b.load({slot.t, slot.b.pool().add(slot.b.block(), slot.num(1))}, slot.x, {slot.num(0), slot.num(0)});
  slot.b.sync(Pipe::MTE2, Pipe::MTE3);
  slot.b.store(slot.y, {slot.num(0), slot.num(0)}, slot.s);
  expect(slot, runtime::RunStatus::Fault,
         {"test.pto:2:5: error[E0702]: `tload` uses slot 2 of buffer `t`, which has 2", "in block 1 of 3"}, 3);
  Bench valid;
  valid.b.load(valid.s, valid.x, {valid.num(0), valid.num(0)}, valid.num(17), valid.num(64));
  valid.store_end();
  expect(valid, runtime::RunStatus::Fault,
         {"error[E0704]: `tload` gives `s` the valid region 17 x 64, but the tile is 16 x 64"});
  Bench event;
  event.b.load(event.s, event.x, {event.num(0), event.num(0)});
  event.b.set(Pipe::MTE2, Pipe::V, event.b.pool().add(event.b.block(), event.num(8)));
  event.store_end();
  expect(event, runtime::RunStatus::Fault, {"error[E0708]: `set_flag` uses event id 8; the target has ids 0 to 7"});
}

TEST_CASE("reads of what was never written, or is no longer there") {
  Bench k;
  k.b.with_scalar(Opcode::TMuls, k.s, {k.t, k.num(1)}, k.num(2));
  k.store_end();
  expect(k, runtime::RunStatus::Fault,
         {"test.pto:1:5: error[E0706]: `tmuls` reads `t[1]`, which was never written"});
  Bench lost;
  const auto over = lost.b.buffer("over", DType::F32, 8, 64, 2048);  // the second half of s
  lost.b.load(lost.s, lost.x, {lost.num(0), lost.num(0)});
  lost.b.load(over, lost.x, {lost.num(0), lost.num(0)});
  lost.store_end();
  expect(lost, runtime::RunStatus::Fault,
         {"test.pto:5:5: error[E0706]: `tstore` reads `s`, which has been overwritten by line 2"});
}

TEST_CASE("sources that don't agree") {
  Bench k;
  k.b.load(k.s, k.x, {k.num(0), k.num(0)}, k.num(15), k.num(64));
  k.b.load({k.t, k.num(0)}, k.x, {k.num(0), k.num(0)}, k.num(14), k.num(64));
  k.b.sync(Pipe::MTE2, Pipe::V);
  k.b.tiles(Opcode::TAdd, {k.s, k.s, {k.t, k.num(0)}});
  k.store_end();
  expect(k, runtime::RunStatus::Fault,
         {"test.pto:5:5: error[E0707]: `tadd` needs sources with the same valid region, or one that is wholly valid: `s` is "
          "valid in 15 x 64, `t[0]` in 14 x 64"});
}

TEST_CASE("expressions without a value are faults only where they are used") {
  Bench k;
  const ExprId zero = k.b.let("zero", k.b.pool().sub(k.b.block(), k.b.block()));
  const ExprId bad = k.b.pool().make(ExprOp::FloorDiv, k.num(1), k.b.pool().mul(k.b.block(), k.num(1)));
  k.b.begin_if(k.b.pool().make(ExprOp::Lt, k.num(100), k.b.block()));
  k.b.load(k.s, k.x, {bad, zero});
  k.b.end_if();
  k.b.load(k.s, k.x, {k.num(0), zero});
  k.b.sync(Pipe::MTE2, Pipe::MTE3);
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  ProgramBuilder p = k.program();
  CHECK(p.run(k.arguments()).status == runtime::RunStatus::Ok);
  INFO(p.messages());
  Bench used;
  used.b.load(used.s, used.x, {used.b.pool().make(ExprOp::FloorDiv, used.num(1), used.b.block()), used.num(0)});
  used.store_end();
  expect(used, runtime::RunStatus::Fault,
         {"test.pto:1:5: error[E0701]: an offset of `tload` overflows, divides by zero or has no value"});
}

TEST_CASE("the fault of the first block in task order is reported, whoever finds one first") {
  Bench k(64);
  // Block 5 walks long before it fails; blocks 6 to 63 fail at once.
  ExprPool& p = k.b.pool();
  k.b.begin_if(p.make(ExprOp::Eq, k.b.block(), k.num(5)));
  k.b.loop("i", k.num(0), k.num(300000));
  k.b.end_loop();
  k.b.end_if();
  const ExprId row = p.make(ExprOp::Max, p.sub(k.b.block(), k.num(4)), k.num(0));
  k.b.load(k.s, k.x, {p.mul(row, k.num(1000)), k.num(0)});
  k.b.sync(Pipe::MTE2, Pipe::MTE3);
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  for (int threads : {1, 2, 4}) {
    ProgramBuilder program = k.program(64);
    runtime::Options options;
    options.threads = threads;
    options.mode = runtime::Mode::Values;
    CHECK(program.run(k.arguments(), options).status == runtime::RunStatus::Fault);
    CHECK_THAT(program.messages(), Catch::Contains("in block 5 of 64"));
    CHECK(program.sink.error_count() == 1);
  }
}

runtime::RunResult timed(ProgramBuilder& p, const Bench& k, int64_t max_cycles = 0) {
  runtime::Options options;
  options.max_cycles = max_cycles;
  return p.run(k.arguments(), options);
}

TEST_CASE("a flag that is never set is a deadlock, told with line and cycle") {
  Bench k;
  k.b.load(k.s, k.x, {k.num(0), k.num(0)});
  k.b.wait(Pipe::MTE2, Pipe::MTE3, 3);
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  ProgramBuilder p = k.program(2);
  const runtime::RunResult result = timed(p, k);
  CHECK(result.status == runtime::RunStatus::Deadlock);
  CHECK(result.outputs.empty());
  CHECK_THAT(p.messages(), Catch::Contains("test.pto:2:5: error[E0713]: deadlock at cycle 1: vec core 0, task `job` "
                                           "block 0: pipe mte3 waits for flag mte2 -> mte3, 3 at test.pto:2"));
  CHECK_THAT(p.messages(), Catch::Contains("vec core 1, task `job` block 1"));
}

TEST_CASE("two pipes that wait for each other, and a scalar unit behind a full queue") {
  Bench k;
  k.b.load(k.s, k.x, {k.num(0), k.num(0)});
  k.b.wait(Pipe::V, Pipe::MTE3, 0);
  k.b.set(Pipe::MTE3, Pipe::V, 0);
  k.b.wait(Pipe::MTE3, Pipe::V, 0);
  k.b.set(Pipe::V, Pipe::MTE3, 0);
  for (int i = 0; i < 40; ++i) {
    k.b.with_scalar(Opcode::TMuls, k.s, k.s, k.num(2));
  }
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  ProgramBuilder p = k.program();
  CHECK(timed(p, k).status == runtime::RunStatus::Deadlock);
  CHECK_THAT(p.messages(), Catch::Contains("pipe s waits for room in the queue of pipe v"));
  CHECK_THAT(p.messages(), Catch::Contains("pipe mte3 waits for flag v -> mte3, 0 at test.pto:2"));
  CHECK_THAT(p.messages(), Catch::Contains("pipe v waits for flag mte3 -> v, 0 at test.pto:4"));
}

TEST_CASE("a wait may stand before its set") {
  Bench k;
  k.b.wait(Pipe::MTE2, Pipe::MTE3, 0);
  k.b.load(k.s, k.x, {k.num(0), k.num(0)});
  k.b.set(Pipe::MTE2, Pipe::MTE3, 0);
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  ProgramBuilder p = k.program();
  const runtime::RunResult result = timed(p, k);
  INFO(p.messages());
  CHECK(result.status == runtime::RunStatus::Ok);
  CHECK(result.cycles == 4);
}

TEST_CASE("flags that are set twice or left behind") {
  Bench twice;
  twice.b.load(twice.s, twice.x, {twice.num(0), twice.num(0)});
  twice.b.set(Pipe::MTE2, Pipe::MTE3, 0);
  twice.b.set(Pipe::MTE2, Pipe::MTE3, 0);
  for (int i = 0; i < 5; ++i) {
    twice.b.barrier(Pipe::V);  // mte3 is late: both sets have happened
  }
  twice.b.sync(Pipe::V, Pipe::MTE3, 1);
  twice.b.wait(Pipe::MTE2, Pipe::MTE3, 0);
  twice.b.wait(Pipe::MTE2, Pipe::MTE3, 0);
  twice.b.store(twice.y, {twice.num(0), twice.num(0)}, twice.s);
  ProgramBuilder p = twice.program();
  CHECK(timed(p, twice).status == runtime::RunStatus::Fault);
  CHECK_THAT(p.messages(), Catch::Contains("test.pto:3:5: error[E0709]: flag mte2 -> mte3, 0 is set again before it "
                                           "was waited for"));
  Bench left;
  left.b.load(left.s, left.x, {left.num(0), left.num(0)});
  left.b.set(Pipe::MTE2, Pipe::V, 5);
  left.b.sync(Pipe::MTE2, Pipe::MTE3);
  left.b.store(left.y, {left.num(0), left.num(0)}, left.s);
  ProgramBuilder q = left.program();
  CHECK(timed(q, left).status == runtime::RunStatus::Fault);
  CHECK_THAT(q.messages(), Catch::Contains("test.pto:2:5: error[E0710]: flag mte2 -> v, 5 is still set when core "
                                           "program `bench` ends"));
}

TEST_CASE("limits end loops that would never end") {
  Bench k;
  k.b.load(k.s, k.x, {k.num(0), k.num(0)});
  k.b.sync(Pipe::MTE2, Pipe::MTE3);
  k.b.loop("i", k.num(0), k.num(int64_t{1} << 60));
  k.b.end_loop();
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  for (auto mode : {runtime::Mode::Both, runtime::Mode::Time, runtime::Mode::Values}) {
    ProgramBuilder p = k.program();
    runtime::Options options;
    options.mode = mode;
    options.max_cycles = 1000;
    CHECK(p.run(k.arguments(), options).status == runtime::RunStatus::Limit);
    CHECK_THAT(p.messages(), Catch::Contains("error[E0714]: the run needs more than 1000 cycles"));
  }
  Bench busy;
  busy.b.load(busy.s, busy.x, {busy.num(0), busy.num(0)});
  busy.b.sync(Pipe::MTE2, Pipe::V);
  busy.b.loop("i", busy.num(0), busy.num(100));
  busy.b.with_scalar(Opcode::TMuls, busy.s, busy.s, busy.num(1));
  busy.b.end_loop();
  busy.store_end();
  ProgramBuilder p = busy.program();
  CHECK(timed(p, busy, 106).status == runtime::RunStatus::Ok);
  CHECK(timed(p, busy, 105).status == runtime::RunStatus::Limit);
}

TEST_CASE("a loop's step is at least one") {
  Bench k;
  k.b.load(k.s, k.x, {k.num(0), k.num(0)});
  k.b.loop("i", k.num(0), k.num(4));
  k.b.core.code.back().step = k.b.pool().sub(k.b.block(), k.num(1));
  k.b.end_loop();
  k.b.sync(Pipe::MTE2, Pipe::MTE3);
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  expect(k, runtime::RunStatus::Fault,
         {"test.pto:2:5: error[E0711]: a loop of core program `bench` has step -1; a step is at least 1"});
}

TEST_CASE("views show the same elements") {
  Bench k;
  k.b.core.views.push_back({"xf", k.x, {k.num(40 * 32), k.num(2)}});
  k.b.core.views.push_back({"xg", isa::TensorId(2), {k.num(20), k.num(128)}});
  const auto wide = k.b.buffer("wide", DType::F32, 8, 128, 16384);
  k.b.load(wide, isa::TensorId(3), {k.num(0), k.num(0)});
  k.b.load(k.s, k.x, {k.num(0), k.num(0)});
  k.b.sync(Pipe::MTE2, Pipe::MTE3);
  k.b.store(k.y, {k.num(0), k.num(0)}, k.s);
  ProgramBuilder p = k.program();
  const runtime::RunResult result = timed(p, k);
  INFO(p.messages());
  CHECK(result.status == runtime::RunStatus::Ok);
  k.b.core.views[1].dims[0] = k.num(21);
  ProgramBuilder q = k.program();
  const runtime::RunStatus status = timed(q, k).status;
  CHECK((status == runtime::RunStatus::Fault || status == runtime::RunStatus::BadInput));
}

}  // namespace
}  // namespace pto::test
