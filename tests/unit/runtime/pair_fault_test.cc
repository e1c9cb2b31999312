// Mixed tasks that go wrong: what is said of rings, tiles and cores that wait for each other.
#include <chrono>

#include "pairs.h"

namespace pto::test {
namespace {

using isa::RingDirection;
using isa::Split;

constexpr auto kIn = object::ParamMode::In;
constexpr auto kOut = object::ParamMode::Out;

// A cube core that has a product of 32 x 32 in `acc` and a vector core with memory `p` for ring `s`, both to be filled
// in; on `unit`, where rings are local. The vector core ends with a store of `q`.
struct Bench {
  CoreBuilder cube{"up", CoreKind::Cube};
  CoreBuilder vec{"down", CoreKind::Vec};
  isa::BufferId acc, p, q;
  isa::RingId up, down;
  isa::TensorId y;
  Split split;
  explicit Bench(Split how = Split::Rows, int64_t slots = 2) : split(how) {
    const isa::Ring ring{"s", RingDirection::C2V, DType::F32, 32, 32, slots, split};
    const Target target = target_named("unit");
    const auto x = cube.tensor("x", DType::F16, {cube.num(32), cube.num(kDepth)}, kIn);
    cube.tensor("w", DType::F16, {cube.num(kDepth), cube.num(32)}, kIn);
    const auto am = cube.buffer("am", DType::F16, 32, kDepth, 0, Space::Mat, Layout::Nz);
    acc = cube.buffer("acc", DType::F32, 32, 32, 0, Space::Acc, Layout::Nz);
    cube.load(am, x, {cube.num(0), cube.num(0)});
    cube.barrier(Pipe::All);
    multiply(cube, target, am, acc);
    up = cube.ring(ring);
    const int64_t rows = split == Split::Rows ? 16 : 32;
    y = vec.tensor("y", DType::F32, {vec.num(32), vec.num(32)}, kOut);
    p = vec.buffer("p", DType::F32, rows, 32, 0, Space::Vec, Layout::ND, slots);
    q = vec.buffer("q", DType::F32, rows, 32, 65536);
    down = vec.ring(ring);
  }
  void push() { cube.push(up, acc); }
  void pop() { vec.pop(p, down); }
  void free() { vec.free(down, p); }
  void take() { vec.with_scalar(Opcode::TMuls, q, p, vec.num(2)); }
  void store() {
    vec.barrier(Pipe::All);
    vec.store(y, {split == Split::Rows ? vec.pool().mul(vec.lane(), vec.num(16)) : vec.num(0), vec.num(0)}, q);
  }
  ProgramBuilder program(uint32_t lanes = 2) const {
    ProgramBuilder b(target_named("unit"));
    const auto x = b.tensor("x", DType::F16, {b.num(32), b.num(kDepth)}, kIn);
    const auto w = b.tensor("w", DType::F16, {b.num(kDepth), b.num(32)}, kIn);
    const auto out = b.tensor("y", DType::F32, {b.num(32), b.num(32)}, kOut);
    const uint32_t first = b.core(cube);
    b.pair_task("job", first, {x, w}, b.core(vec), {out}, b.num(1), lanes);
    return b;
  }
};

runtime::Arguments bench_arguments() {
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F16, {32, kDepth}, std::vector<uint16_t>(1024, 0x3C00));
  arguments.arrays["w"] = array_of(DType::F16, {kDepth, 32}, std::vector<uint16_t>(1024, 0x3C00));
  return arguments;
}

// Every mode and number of threads ends alike and says all of `texts`; both computes the same messages as values.
void expect(const ProgramBuilder& program, runtime::RunStatus status, const std::vector<std::string>& texts) {
  for (auto mode : {runtime::Mode::Both, runtime::Mode::Values, runtime::Mode::Time}) {
    for (int threads : {1, 3}) {
      ProgramBuilder p = program;
      runtime::Options options;
      options.mode = mode;
      options.threads = threads;
      const runtime::RunResult result = p.run(bench_arguments(), options);
      CHECK(result.status == status);
      CHECK(result.outputs.empty());
      for (const std::string& text : texts) {
        CHECK_THAT(p.messages(), Catch::Contains(text));
      }
    }
  }
}

TEST_CASE("the bench itself is sound") {
  Bench b;
  b.push();
  b.pop();
  b.take();
  b.free();
  b.store();
  ProgramBuilder p = b.program();
  const runtime::RunResult result = p.run(bench_arguments());
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  for (float value : values_of<float>(result.outputs.at("y"))) {
    CHECK(value == 64.0f);
  }
}

TEST_CASE("a pop expects the lane's share of what was pushed") {
  Bench b;
  b.push();
  b.vec.pop(b.p, b.down, b.vec.num(15), b.vec.num(32));
  b.take();
  b.free();
  b.store();
  expect(b.program(), runtime::RunStatus::Fault,
         {"test.pto:1:5: error[E0716]: `tpop` on ring `s`: what lane 0 gets of a tile pushed with 32 x 32 is valid in "
          "16 x 32, the pop expects 15 x 32",
          "in block 0 of 1 of task `job`, core program `down`, lane 0"});
  Bench second;  // only lane 1 is wrong
  second.push();
  second.vec.pop(second.p, second.down, second.vec.pool().sub(second.vec.num(16), second.vec.lane()),
                 second.vec.num(32));
  second.take();
  second.free();
  second.store();
  expect(second.program(), runtime::RunStatus::Fault, {"what lane 1 gets of a tile", "core program `down`, lane 1"});
}

TEST_CASE("tiles that nobody takes are left in the ring") {
  Bench b(Split::Rows, 3);
  b.push();
  b.push();
  b.push();
  b.pop();
  b.take();
  b.free();
  b.store();
  expect(b.program(), runtime::RunStatus::Fault,
         {"test.pto:1:1: error[E0717]: ring `s` still holds 2 tiles when core program `up` ends",
          "in block 0 of 1 of task `job`, core program `up`"});
  Bench kept;
  kept.push();
  kept.pop();
  kept.take();
  kept.store();
  expect(kept.program(), runtime::RunStatus::Fault, {"ring `s` still holds 1 tile when core program `up` ends"});
}

TEST_CASE("a popped tile is there from its pop to its free") {
  Bench late;
  late.push();
  late.pop();
  late.free();
  late.take();
  late.store();
  expect(late.program(), runtime::RunStatus::Fault,
         {"test.pto:3:5: error[E0706]: `tmuls` reads `p[0]`, which was given back to its ring by line 2"});
  Bench early;
  early.push();
  early.take();
  early.pop();
  early.free();
  early.store();
  expect(early.program(), runtime::RunStatus::Fault, {"error[E0706]: `tmuls` reads `p[0]`, which was never written"});
  Bench twice;
  twice.push();
  twice.push();
  twice.pop();
  twice.pop();
  twice.take();
  twice.free();
  twice.store();
  expect(twice.program(), runtime::RunStatus::Fault,
         {"test.pto:2:5: error[E0716]: `tpop` on ring `s`: the tile popped before has not been given back"});
  Bench freed;
  freed.push();
  freed.pop();
  freed.take();
  freed.free();
  freed.free();
  freed.store();
  expect(freed.program(), runtime::RunStatus::Fault,
         {"test.pto:4:5: error[E0716]: `tfree` on ring `s`: no tile of it is held"});
}

TEST_CASE("the memory of a ring is its own") {
  Bench written;
  written.push();
  written.pop();
  written.vec.with_scalar(Opcode::TMuls, written.p, written.p, written.vec.num(2));
  written.free();
  written.store();
  expect(written.program(), runtime::RunStatus::Fault,
         {"test.pto:2:5: error[E0712]: core program `down` can't run: `p`, the memory of ring `s`, is written by "
          "`tmuls`"});
  Bench slot;
  slot.push();
  slot.pop();
  slot.vec.with_scalar(Opcode::TMuls, slot.q, {slot.p, slot.vec.num(0)}, slot.vec.num(2));
  slot.free();
  slot.store();
  expect(slot.program(), runtime::RunStatus::Fault, {"`p`, the memory of ring `s`, is named with a slot"});
  Bench shared;
  shared.vec.buffer("r", DType::F32, 16, 32, 2048);  // slot 1 of p
  shared.push();
  shared.pop();
  shared.take();
  shared.free();
  shared.store();
  expect(shared.program(), runtime::RunStatus::Fault, {"buffer `r` shares bytes with `p`, the memory of ring `s`"});
  Bench other;
  other.push();
  other.pop();
  other.take();
  const auto r = other.vec.buffer("r", DType::F32, 16, 32, 131072, Space::Vec, Layout::ND, 2);
  other.vec.free(other.down, r);
  other.store();
  expect(other.program(), runtime::RunStatus::Fault, {"`r` is not the memory of ring `s`"});
}

TEST_CASE("a core that waits for a core that has ended") {
  Bench b;
  b.push();
  b.pop();
  b.take();
  b.free();
  b.pop();
  b.take();
  b.free();
  b.store();
  ProgramBuilder p = b.program();
  CHECK(p.run(bench_arguments()).status == runtime::RunStatus::Deadlock);
  CHECK_THAT(p.messages(), Catch::Contains("test.pto:4:5: error[E0713]: deadlock at cycle "));
  CHECK_THAT(
      p.messages(),
      Catch::Contains("vec core 0, lane 0, task `job` block 0: pipe v waits for a tile from ring `s`, 0 of 2 slots "
                      "full, at test.pto:4 since cycle "));
  CHECK_THAT(p.messages(), Catch::Contains("; the cube core, which has ended, should have pushed tile 1"));
  CHECK_THAT(p.messages(), Catch::Contains("vec core 1, lane 1, task `job` block 0"));
  runtime::Options options;
  options.mode = runtime::Mode::Values;
  CHECK(p.run(bench_arguments(), options).status == runtime::RunStatus::Deadlock);
  CHECK_THAT(
      p.messages(),
      Catch::Contains("test.pto:4:5: error[E0713]: deadlock: task `job` block 0: lane 0 waits for a tile from ring "
                      "`s`, 0 of 2 slots full, at test.pto:4:5"));
}

TEST_CASE("a ring that is full for ever") {
  Bench b;
  b.push();
  b.push();
  b.push();
  b.push();
  b.pop();
  b.take();
  b.free();
  b.store();
  ProgramBuilder p = b.program();
  CHECK(p.run(bench_arguments()).status == runtime::RunStatus::Deadlock);
  CHECK_THAT(p.messages(),
             Catch::Contains("cube core 0, task `job` block 0: pipe fix waits for room in ring `s`, 2 of 2 "
                             "slots full, at test.pto:"));
  CHECK_THAT(p.messages(),
             Catch::Contains("; lane 0, which has ended, should have given back tile 1; lane 1, which has "
                             "ended, should have given back tile 1"));
}

// The cube core wants a tile of the lanes before it sends one, and they the other way round.
ProgramBuilder circle(const Target& target) {
  const bool local = target.ring_is_local(RingDirection::C2V);
  const isa::Ring there{"there", RingDirection::C2V, DType::F32, 32, 32, 2, Split::None};
  const isa::Ring back{"back", RingDirection::V2C, DType::F16, 32, kDepth, 2, Split::Rows};
  CoreBuilder cube("up", CoreKind::Cube);
  cube.tensor("w", DType::F16, {cube.num(kDepth), cube.num(32)}, kIn);
  const auto am = cube.buffer("am", DType::F16, 32, kDepth, 0, Space::Mat, Layout::Nz, local ? 2 : 1);
  const auto acc = cube.buffer("acc", DType::F32, 32, 32, 0, Space::Acc, Layout::Nz);
  const auto to = cube.ring(there);
  const auto from = cube.ring(back);
  cube.pop(am, from);
  cube.barrier(Pipe::All);
  multiply(cube, target, am, acc);
  if (local) {
    cube.free(from, am);
  }
  cube.push(to, acc);
  CoreBuilder vec("down", CoreKind::Vec);
  const auto x = vec.tensor("x", DType::F16, {vec.num(32), vec.num(kDepth)}, kIn);
  const auto y = vec.tensor("y", DType::F32, {vec.num(32), vec.num(32)}, kOut);
  const auto p = vec.buffer("p", DType::F32, 32, 32, 0, Space::Vec, Layout::ND, local ? 2 : 1);
  const auto h = vec.buffer("h", DType::F16, 16, kDepth, 65536);
  const auto from_there = vec.ring(there);
  const auto to_back = vec.ring(back);
  vec.load(h, x, {vec.num(0), vec.num(0)});
  vec.pop(p, from_there);
  vec.barrier(Pipe::All);
  vec.store(y, {vec.num(0), vec.num(0)}, p);
  vec.barrier(Pipe::All);
  if (local) {
    vec.free(from_there, p);
  }
  vec.push(to_back, h);
  ProgramBuilder b(target);
  const auto px = b.tensor("x", DType::F16, {b.num(32), b.num(kDepth)}, kIn);
  const auto pw = b.tensor("w", DType::F16, {b.num(kDepth), b.num(32)}, kIn);
  const auto py = b.tensor("y", DType::F32, {b.num(32), b.num(32)}, kOut);
  const uint32_t up = b.core(cube);
  b.pair_task("job", up, {pw}, b.core(vec), {px, py}, b.num(1));
  return b;
}

TEST_CASE("cores that wait for each other are told in the order of their circle") {
  ProgramBuilder p = circle(target_named("unit"));
  CHECK(p.run(bench_arguments()).status == runtime::RunStatus::Deadlock);
  const std::string text = p.messages();
  INFO(text);
  const auto at = [&](const std::string& what) {
    const size_t found = text.find(what);
    CHECK(found != std::string::npos);
    return found;
  };
  const size_t first =
      at("cube core 0, task `job` block 0: pipe mte1 waits for a tile from ring `back`, 0 of 2 slots full, "
         "at test.pto:1 since cycle 0; lane 0 should have pushed tile 0; lane 1 should have pushed tile 0");
  const size_t second =
      at("vec core 0, lane 0, task `job` block 0: pipe s waits in a barrier for all pipes at test.pto:3");
  const size_t third =
      at("vec core 0, lane 0, task `job` block 0: pipe v waits for a tile from ring `there`, 0 of 2 slots "
         "full, at test.pto:2 since cycle 0; the cube core should have pushed tile 0");
  const size_t fourth = at("cube core 0, task `job` block 0: pipe s waits in a barrier for all pipes at test.pto:2");
  const size_t closed = at("each of these waits for the next one, and the last for the first");
  const size_t rest = at("vec core 1, lane 1, task `job` block 0: pipe s");
  CHECK(first < closed);
  CHECK(second < third);
  CHECK(third < closed);
  CHECK(fourth < closed);
  CHECK(closed < rest);
  // Where rings wait on the scalar unit, it is that which waits.
  ProgramBuilder q = circle(target_named("a2a3"));
  CHECK(q.run(bench_arguments()).status == runtime::RunStatus::Deadlock);
  CHECK_THAT(q.messages(),
             Catch::Contains("cube core 0, task `job` block 0: pipe s waits for a tile from ring `back`, 0 of "
                             "2 slots full, at test.pto:1 since cycle "));
  CHECK_THAT(q.messages(),
             Catch::Contains("vec core 0, lane 0, task `job` block 0: pipe s waits for a tile from ring `there`"));
  CHECK_THAT(q.messages(), Catch::Contains("each of these waits for the next one"));
}

// Lanes push into a ring of halves, `rows` valid each, and the cube core expects `expected` rows.
ProgramBuilder pushing(Split split, std::array<int64_t, 2> rows, int64_t expected) {
  const Target target = target_named("unit");
  const isa::Ring ring{"s", RingDirection::V2C, DType::F16, 32, kDepth, 2, split};
  CoreBuilder cube("up", CoreKind::Cube);
  const auto y = cube.tensor("y", DType::F32, {cube.num(32), cube.num(32)}, kOut);
  cube.tensor("w", DType::F16, {cube.num(kDepth), cube.num(32)}, kIn);
  const auto am = cube.buffer("am", DType::F16, 32, kDepth, 0, Space::Mat, Layout::Nz, 2);
  const auto acc = cube.buffer("acc", DType::F32, 32, 32, 0, Space::Acc, Layout::Nz);
  const auto from = cube.ring(ring);
  cube.pop(am, from, cube.num(expected), cube.num(kDepth));
  cube.barrier(Pipe::All);
  multiply(cube, target, am, acc);
  cube.free(from, am);
  cube.store(y, {cube.num(0), cube.num(0)}, acc);
  CoreBuilder vec("down", CoreKind::Vec);
  const auto x = vec.tensor("x", DType::F16, {vec.num(32), vec.num(kDepth)}, kIn);
  const auto h = vec.buffer("h", DType::F16, split == Split::Rows ? 16 : 32, kDepth, 0);
  const auto to = vec.ring(ring);
  ExprPool& e = vec.pool();
  const ExprId mine = e.add(vec.num(rows[0]), e.mul(vec.lane(), vec.num(rows[1] - rows[0])));
  vec.load(h, x, {vec.num(0), vec.num(0)}, mine, vec.num(kDepth));
  vec.barrier(Pipe::All);
  vec.push(to, h);
  ProgramBuilder b(target);
  const auto px = b.tensor("x", DType::F16, {b.num(32), b.num(kDepth)}, kIn);
  const auto pw = b.tensor("w", DType::F16, {b.num(kDepth), b.num(32)}, kIn);
  const auto py = b.tensor("y", DType::F32, {b.num(32), b.num(32)}, kOut);
  const uint32_t up = b.core(cube);
  b.pair_task("job", up, {py, pw}, b.core(vec), {px}, b.num(1));
  return b;
}

TEST_CASE("halves that the lanes push form one rectangle") {
  for (const auto& [first, second] : {std::pair<int64_t, int64_t>{16, 16}, {16, 3}, {16, 0}, {7, 0}}) {
    ProgramBuilder p = pushing(Split::Rows, {first, second}, first + second);
    const runtime::RunResult result = p.run(bench_arguments());
    INFO(p.messages());
    CHECK(result.status == runtime::RunStatus::Ok);
  }
  expect(
      pushing(Split::Rows, {8, 16}, 24), runtime::RunStatus::Fault,
      {"error[E0716]: `tpop` on ring `s`: the lanes pushed halves that are valid in 8 x 32 and 16 x 32, which together "
       "are no rectangle",
       "core program `up`"});
  expect(pushing(Split::Rows, {16, 4}, 32), runtime::RunStatus::Fault,
         {"what the cube core gets of the tile is valid in 20 x 32, the pop expects 32 x 32"});
}

TEST_CASE("of a ring without split only lane 0 may push") {
  expect(pushing(Split::None, {32, 32}, 32), runtime::RunStatus::Fault,
         {"error[E0716]: `tpush` on ring `s`: only lane 0 may push into a ring that is not split",
          "core program `down`, lane 1"});
}

TEST_CASE("a loop without end is ended") {
  Bench b;
  b.push();
  b.pop();
  b.take();
  b.free();
  b.vec.loop("i", b.vec.num(0), b.vec.num(int64_t{1} << 60));
  b.vec.end_loop();
  b.store();
  for (auto mode : {runtime::Mode::Both, runtime::Mode::Values, runtime::Mode::Time}) {
    for (int threads : {1, 2}) {
      ProgramBuilder p = b.program();
      runtime::Options options;
      options.mode = mode;
      options.threads = threads;
      options.max_statements = 1000000;
      CHECK(p.run(bench_arguments(), options).status == runtime::RunStatus::Limit);
      CHECK_THAT(p.messages(), Catch::Contains("error[E0714]: the run needs more than 1000000 statements"));
    }
  }
  CHECK(runtime::Options().max_statements >= 1000000000);
}

TEST_CASE("rings that would fill the memory are refused") {
  ProgramBuilder p = to_vector({"unit", Split::Rows, 2, 2, 32, 1, DType::F32});
  for (object::Core& core : p.object.cores) {
    for (int i = 0; i < 8; ++i) {
      core.rings.push_back({"big" + std::to_string(i), RingDirection::C2V, DType::F32, 4096, 4096, 16, Split::None});
    }
  }
  CHECK(p.run(bench_arguments()).status == runtime::RunStatus::BadInput);
  CHECK_THAT(p.messages(), Catch::Contains("its rings take 8589942784 bytes; the most are 67108864"));
}

}  // namespace
}  // namespace pto::test
