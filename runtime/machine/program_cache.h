// Decoded programs of the tasks of one run. Decoding costs as much as the code is long, so the last program of every core
// is kept: most tasks that share a core share its dims too. Programs live as long as somebody holds them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/machine/program.h"

namespace pto::runtime {

class ProgramCache {
 public:
  ProgramCache(const object::Object& object, const Target& target)
      : object_(object), target_(target), entries_(object.cores.size()) {}

  // Null: `fault` says why. Any thread.
  std::shared_ptr<const Program> get(const TaskPlan& plan, Fault& fault);

 private:
  struct Entry {
    std::vector<int64_t> ints;
    std::vector<double> reals;
    int64_t blocks = 0;
    std::shared_ptr<const Program> program;
  };
  const object::Object& object_;
  const Target& target_;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // by core
};

}  // namespace pto::runtime
