// Values of mixed tasks against plain loops: every way through a ring, every split, ragged tiles.
#include "pairs.h"

namespace pto::test {
namespace {

using isa::Split;

// An integer up to 2048 in size as f16.
uint16_t half_of(int value) {
  if (value == 0) {
    return 0;
  }
  const unsigned size = static_cast<unsigned>(value < 0 ? -value : value);
  int exponent = 0;
  while ((size >> (exponent + 1)) != 0) {
    ++exponent;
  }
  const unsigned mantissa = (size << 10 >> exponent) & 0x3FF;
  return static_cast<uint16_t>((value < 0 ? 0x8000u : 0u) | static_cast<unsigned>(exponent + 15) << 10 | mantissa);
}

int left(int64_t row, int64_t k) {
  return static_cast<int>((row * 7 + k * 3) % 11) - 5;
}
int right(int64_t k, int64_t col) {
  return static_cast<int>((k * 5 + col) % 7) - 3;
}

int product(int64_t row, int64_t col) {
  int sum = 0;
  for (int64_t k = 0; k < kDepth; ++k) {
    sum += left(row, k) * right(k, col);
  }
  return sum;
}

runtime::Arguments arguments_of(int64_t rows) {
  std::vector<uint16_t> x;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < kDepth; ++k) {
      x.push_back(half_of(left(row, k)));
    }
  }
  std::vector<uint16_t> w;
  for (int64_t k = 0; k < kDepth; ++k) {
    for (int64_t col = 0; col < 32; ++col) {
      w.push_back(half_of(right(k, col)));
    }
  }
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F16, {rows, kDepth}, x);
  arguments.arrays["w"] = array_of(DType::F16, {kDepth, 32}, w);
  return arguments;
}

// Is `value` what nobody wrote?
bool poisoned(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits == 0xFFFFFFFF;
}

void check_to_vector(const Relay& relay) {
  CAPTURE(relay.target, static_cast<int>(relay.split), relay.lanes, relay.slots, relay.rows, relay.blocks);
  ProgramBuilder p = to_vector(relay);
  const runtime::RunResult result = p.run(arguments_of(relay.rows));
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  check_accounts(result);
  const auto y = values_of<float>(result.outputs.at("y"));
  size_t wrong = 0;
  for (int64_t lane = 0; lane < 2; ++lane) {
    for (int64_t row = 0; row < relay.rows; ++row) {
      for (int64_t col = 0; col < 32; ++col) {
        const float got = y[static_cast<size_t>((lane * relay.rows + row) * 32 + col)];
        const bool mine = relay.split == Split::None   ? lane < relay.lanes
                          : relay.split == Split::Rows ? row % 32 / 16 == lane
                                                       : col / 16 == lane;
        wrong += mine ? got != static_cast<float>(2 * product(row, col)) : !poisoned(got);
      }
    }
  }
  CHECK(wrong == 0);
}

void check_to_cube(const Relay& relay) {
  CAPTURE(relay.target, static_cast<int>(relay.split), relay.lanes, relay.slots, relay.rows, relay.blocks);
  ProgramBuilder p = to_cube(relay);
  const runtime::RunResult result = p.run(arguments_of(relay.rows));
  INFO(p.messages());
  REQUIRE(result.status == runtime::RunStatus::Ok);
  check_accounts(result);
  const auto y = values_of<float>(result.outputs.at("y"));
  size_t wrong = 0;
  for (int64_t row = 0; row < relay.rows; ++row) {
    for (int64_t col = 0; col < 32; ++col) {
      wrong += y[static_cast<size_t>(row * 32 + col)] == static_cast<float>(2 * product(row, col)) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("tiles from the cube core to the lanes, through global memory and core to core") {
  for (const char* target : {"a2a3", "a5", "unit"}) {
    for (Split split : {Split::None, Split::Rows, Split::Cols}) {
      for (int64_t slots : {1, 2, 3}) {
        for (int64_t rows : {1, 16, 17, 64, 130}) {
          check_to_vector({target, split, 2, slots, rows, 1 + rows / 64, DType::F32});
        }
      }
    }
    check_to_vector({target, Split::None, 1, 2, 70, 2, DType::F32});
  }
}

TEST_CASE("tiles from the lanes to the cube core") {
  for (const char* target : {"a2a3", "a5"}) {
    for (Split split : {Split::None, Split::Rows, Split::Cols}) {
      for (int64_t slots : {1, 2, 3}) {
        for (int64_t rows : {1, 16, 17, 64, 130}) {
          check_to_cube({target, split, 2, slots, rows, 1 + rows / 64, DType::F32});
        }
      }
    }
    check_to_cube({target, Split::None, 1, 2, 70, 2, DType::F32});
  }
}

TEST_CASE("an accumulator is converted on its way into a ring as a store converts it") {
  for (const char* target : {"a2a3", "a5"}) {
    ProgramBuilder p = to_vector({target, Split::None, 2, 2, 1, 1, DType::F16});
    runtime::Arguments arguments = arguments_of(1);
    // Products 2049 and 2051 lie between f16 numbers: the even ones are 2048 and 2052.
    std::vector<uint16_t> x(32, 0);
    std::vector<uint16_t> w(1024, 0);
    x[0] = half_of(683);
    x[1] = half_of(1);
    w[0] = half_of(3);  // 2049
    w[1] = half_of(3);  // 2049 + 2
    w[33] = half_of(2);
    w[2] = half_of(1);  // 683
    arguments.arrays["x"] = array_of(DType::F16, {1, kDepth}, x);
    arguments.arrays["w"] = array_of(DType::F16, {kDepth, 32}, w);
    const runtime::RunResult result = p.run(arguments);
    INFO(p.messages());
    REQUIRE(result.status == runtime::RunStatus::Ok);
    const auto y = values_of<float>(result.outputs.at("y"));
    CHECK(y[0] == 2 * 2048.0f);
    CHECK(y[1] == 2 * 2052.0f);
    CHECK(y[2] == 2 * 683.0f);
  }
}

TEST_CASE("the number of host threads changes no bit and no cycle of a mixed task") {
  for (const char* target : {"a2a3", "a5"}) {
    std::optional<runtime::RunResult> first;
    for (int threads : {1, 2, 4}) {
      ProgramBuilder p = to_vector({target, Split::Rows, 2, 2, 1000, 30, DType::F32});
      runtime::Options options;
      options.threads = threads;
      options.record_trace = true;
      runtime::RunResult result = p.run(arguments_of(1000), options);
      INFO(p.messages());
      REQUIRE(result.status == runtime::RunStatus::Ok);
      if (first) {
        CHECK(result.outputs.at("y").data == first->outputs.at("y").data);
        CHECK(result.cycles == first->cycles);
        CHECK(runtime::trace_json(result, p.object, p.target) == runtime::trace_json(*first, p.object, p.target));
      } else {
        first = std::move(result);
      }
    }
  }
}

TEST_CASE("a mixed task is ordered with others by what either of its cores touches") {
  // The relay's output is doubled by a task without edges to it: values still come in task order.
  ProgramBuilder p = to_vector({"unit", Split::Rows, 2, 2, 64, 2, DType::F32});
  CoreBuilder twice("twice", CoreKind::Vec);
  const auto y = twice.tensor("y", DType::F32, {twice.num(128), twice.num(32)}, object::ParamMode::In);
  const auto z = twice.tensor("z", DType::F32, {twice.num(128), twice.num(32)}, object::ParamMode::Out);
  const auto t = twice.buffer("t", DType::F32, 128, 32, 0);
  twice.load(t, y, {twice.num(0), twice.num(0)});
  twice.barrier(Pipe::All);
  twice.with_scalar(Opcode::TMuls, t, t, twice.num(2));
  twice.barrier(Pipe::All);
  twice.store(z, {twice.num(0), twice.num(0)}, t);
  // `y` becomes a buffer that both tasks use.
  p.program.params.pop_back();
  p.program.buffers.push_back({"y", DType::F32, {p.num(2), p.num(64), p.num(32)}, p.num(0)});
  p.program.buffers.push_back({"flat", DType::F32, {p.num(128), p.num(32)}, p.num(0)});
  p.program.workspace_bytes = p.num(2 * 64 * 32 * 4);
  object::Param out;
  out.name = "z";
  out.dtype = DType::F32;
  out.mode = object::ParamMode::Out;
  out.dims = {p.num(128), p.num(32)};
  p.program.params.push_back(out);
  p.program.tasks[0].vec->args[0].tensor = 3;
  p.task("t1", p.core(twice), {4, 2}, {}, p.num(1));
  for (int threads : {1, 4}) {
    runtime::Options options;
    options.threads = threads;
    options.mode = runtime::Mode::Values;
    const runtime::RunResult result = p.run(arguments_of(64), options);
    INFO(p.messages());
    REQUIRE(result.status == runtime::RunStatus::Ok);
    const auto values = values_of<float>(result.outputs.at("z"));
    CHECK(values[5] == static_cast<float>(4 * product(0, 5)));
    CHECK(values[(64 + 16) * 32 + 9] == static_cast<float>(4 * product(16, 9)));
  }
}

}  // namespace
}  // namespace pto::test
