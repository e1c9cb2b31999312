// Broken core programs, by the hundred: whatever is wrong, a run ends, says the same for every number of threads, and has an
// error exactly when it failed.
#include "kernels.h"

#include <random>

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
          operand.attribute = static_cast<uint8_t>(operand.kind == OperandKind::PipeSrc ||
                                                           operand.kind == OperandKind::PipeDst
                                                       ? pick(8)
                                                       : operand.attribute);
        }
    }
  }
}

TEST_CASE("a broken program ends with an error or a result, the same for all threads") {
  const Target unit = target_named("unit");
  const Target real = target_named("a2a3");
  runtime::Arguments vectors = vector_add_arguments(100);
  runtime::Arguments matrices;
  matrices.arrays["a"] = array_of(DType::F32, {70, 37}, std::vector<float>(70 * 37, 1.0f));
  matrices.arrays["b"] = array_of(DType::F32, {37, 41}, std::vector<float>(37 * 41, 2.0f));
  std::array<int, 5> seen{};
  for (uint32_t seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const bool vector = seed % 2 == 0;
    ProgramBuilder p = vector ? vector_add_program(unit) : gemm_program(real, DType::F32, 32, 32, 16, 3);
    mutate(p.object.cores[0].code, random);
    std::string first;
    std::optional<runtime::RunResult> result;
    for (int threads : {1, 3}) {
      runtime::Options options;
      options.threads = threads;
      options.max_cycles = 1000000;
      runtime::RunResult now = p.run(vector ? vectors : matrices, options);
      INFO("seed " << seed << "\n" << p.messages());
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
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::Ok)] > 10);
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::BadInput)] > 10);
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::Fault)] > 10);
  CHECK(seen[static_cast<size_t>(runtime::RunStatus::Deadlock)] > 10);
}

}  // namespace
}  // namespace pto::test
