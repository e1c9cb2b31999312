// What is written and checked while passes run: --emit-ir-dir and --check-each-pass.
#pragma once

#include <string>

#include "src/driver/compile.h"
#include "src/eval/check_pass.h"
#include "src/passes/pass.h"

namespace pto::driver {

class Dumps {
 public:
  Dumps(Run& run, const Target& target) : run_(run), target_(target), checker_(run.sink) {}
  void observe(const passes::PassInfo* pass, passes::PassResult result, const ir::Module& module);
  bool ok() const { return ok_; }
  // A pass changed what the program computes: our bug. The sink says where; `before` is the module that shows it.
  bool value_changed() const { return value_changed_; }
  const ir::Module& before() const { return before_; }

 private:
  void write_numbered(const std::string& pass, passes::PassResult result, const ir::Module& module);
  void check_values(const std::string& pass, const ir::Module& module);

  Run& run_;
  const Target& target_;
  int number_ = 0;
  bool ok_ = true;
  eval::PassChecker checker_;
  ir::Module before_;  // with --check-each-pass
  bool value_changed_ = false;
};

}  // namespace pto::driver
