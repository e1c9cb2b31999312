#include "runtime/machine/program_cache.h"

#include <algorithm>
#include <bit>

namespace pto::runtime {
namespace {

// By bits: NaN is equal to itself here, and -0 differs from 0.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y);
  });
}

}  // namespace

std::shared_ptr<const Program> ProgramCache::get(const TaskPlan& plan, Fault& fault) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[plan.core];
  if (entry.program && entry.blocks == plan.blocks && entry.ints == plan.ints && same_bits(entry.reals, plan.reals)) {
    return entry.program;
  }
  auto program = std::make_shared<Program>();
  if (!decode(object_.cores[plan.core], plan, target_, *program, fault)) {
    return nullptr;
  }
  entry = {plan.ints, plan.reals, plan.blocks, program};
  return program;
}

}  // namespace pto::runtime
