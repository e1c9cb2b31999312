// Broken core programs, by the hundred: whatever is wrong, a run ends, says the same for every number of threads, and
// has an error exactly when it failed.
#include <random>

#include "kernels.h"
#include "pairs.h"

namespace pto::test {
namespace {

void mutate(std::vector<object::Stmt>& code, std::mt19937& random) {
  const auto pick = [&](size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
  for (std::ptrdiff_t i = 1 + pick(2); i > 0 && code.size() > 2; --i) {
    const auto a = pick(code.size());
    const auto b = pick(code.size());
    switch (pick(4)) {
      case 0:
        code.erase(code.begin() + a);
        break;
      case 1:
        std::swap(code[static_cast<size_t>(a)], code[static_cast<size_t>(b)]);
        break;
      case 2: {
        const object::Stmt copy = code[static_cast<size_t>(a)];
        code.insert(code.begin() + b, copy);
        break;
      }
      default:
        for (isa::Operand& operand : code[static_cast<size_t>(a)].inst.operands) {
          operand.attribute = static_cast<uint8_t>(
              operand.kind == OperandKind::PipeSrc || operand.kind == OperandKind::PipeDst ? pick(8)
                                                                                           : operand.attribute);
        }
    }
  }
}

// One instruction of a ring too many or too few.
void mutate_rings(std::vector<object::Stmt>& code, std::mt19937& random) {
  std::vector<std::ptrdiff_t> places;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].kind == object::StmtKind::Inst && code[i].inst.opcode >= Opcode::TPush &&
        code[i].inst.opcode <= Opcode::TFree) {
      places.push_back(static_cast<std::ptrdiff_t>(i));
    }
  }
  const std::ptrdiff_t at = places[random() % places.size()];
  if (random() % 2 == 0) {
    code.erase(code.begin() + at);
  } else {
    const object::Stmt copy = code[static_cast<size_t>(at)];
    code.insert(code.begin() + static_cast<std::ptrdiff_t>(random() % code.size()), copy);
  }
}

using Seen = std::array<int, 5>;  // by RunStatus

// One and three threads say the same, and an error is there exactly when the run failed.
void check_run(ProgramBuilder& p, const runtime::Arguments& arguments, Seen& seen) {
  std::string first;
  std::optional<runtime::RunResult> result;
  for (int threads : {1, 3}) {
    runtime::Options options;
    options.threads = threads;
    options.max_cycles = 1000000;
    runtime::RunResult now = p.run(arguments, options);
    INFO(p.messages());
    CHECK((now.status == runtime::RunStatus::Ok) == !p.sink.has_errors());
    if (now.status == runtime::RunStatus::Ok) {
      check_accounts(now);
    }
    if (!result) {
      first = p.messages();
      ++seen[static_cast<size_t>(now.status)];
      result = std::move(now);
      continue;
    }
    CHECK(p.messages() == first);
    CHECK(now.status == result->status);
    CHECK(now.cycles == result->cycles);
    CHECK(now.outputs.size() == result->outputs.size());
    for (const auto& [name, array] : now.outputs) {
      CHECK(array.data == result->outputs.at(name).data);
    }
  }
}

// The mutations are not all of one kind.
void check_seen(const Seen& seen) {
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::Ok)] > 10);
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::BadInput)] > 10);
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::Fault)] > 10);
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::Deadlock)] > 10);
}

TEST_CASE("a broken program ends with an error or a result, the same for all threads") {
  const Target unit = target_named("unit");
  const Target real = target_named("a2a3");
  runtime::Arguments vectors = vector_add_arguments(100);
  runtime::Arguments matrices;
  matrices.arrays["a"] = array_of(DType::F32, {70, 37}, std::vector<float>(70 * 37, 1.0f));
  matrices.arrays["b"] = array_of(DType::F32, {37, 41}, std::vector<float>(37 * 41, 2.0f));
  Seen seen{};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    const bool vector = seed % 2 == 0;
    ProgramBuilder p = vector ? vector_add_program(unit) : gemm_program(real, DType::F32, 32, 32, 16, 3);
    mutate(p.object.cores[0].code, random);
    check_run(p, vector ? vectors : matrices, seen);
  }
  check_seen(seen);
}

TEST_CASE("a broken pair ends with an error or a result, the same for all threads") {
  constexpr const char* kTargets[] = {"unit", "a2a3", "a5"};
  runtime::Arguments arguments;
  arguments.arrays["x"] = array_of(DType::F16, {100, kDepth}, std::vector<uint16_t>(100 * kDepth, 0x3C00));
  arguments.arrays["w"] = array_of(DType::F16, {kDepth, 32}, std::vector<uint16_t>(kDepth * 32, 0x4000));
  Seen seen{};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    Relay relay;
    relay.target = kTargets[seed % 3];
    relay.rows = 100;
    relay.blocks = 3;
    ProgramBuilder p = seed % 2 == 0 ? to_vector(relay) : to_cube(relay);
    std::vector<object::Stmt>& code = p.object.cores[random() % 2].code;
    if (random() % 2 == 0) {
      mutate(code, random);
    } else {
      mutate_rings(code, random);
    }
    check_run(p, arguments, seen);
    // Values alone don't see flags, but end as well.
    runtime::Options options;
    options.mode = runtime::Mode::Values;
    const runtime::RunResult values = p.run(arguments, options);
    CHECK((values.status == runtime::RunStatus::Ok) == !p.sink.has_errors());
  }
  check_seen(seen);
}

}  // namespace
}  // namespace pto::test
