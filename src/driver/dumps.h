// What is written and checked while passes run: --emit-ir-dir and --check-each-pass.
#pragma once

#include <string>

#include "src/driver/compile.h"
#include "src/passes/pass.h"

namespace pto::driver {

class Dumps {
 public:
  Dumps(Run& run, const Target& target) : run_(run), target_(target) {}
  void observe(const passes::PassInfo* pass, passes::PassResult result, const ir::Module& module);
  bool ok() const { return ok_; }

 private:
  void write_numbered(const std::string& pass, passes::PassResult result, const ir::Module& module);

  Run& run_;
  const Target& target_;
  int number_ = 0;
  bool ok_ = true;
};

}  // namespace pto::driver
