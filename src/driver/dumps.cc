#include "src/driver/dumps.h"

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "src/support/fs.h"

namespace pto::driver {

void Dumps::write_numbered(const std::string& pass, passes::PassResult result, const ir::Module& module) {
  std::error_code error;
  std::filesystem::create_directories(run_.options.emit_ir_dir, error);
  char number[8];
  std::snprintf(number, sizeof number, "%03d", number_++);
  const bool unchanged = number_ > 1 && result == passes::PassResult::Unchanged;
  const std::string name = std::string(number) + "." + pass + (unchanged ? ".unchanged.pto" : ".pto");
  const std::string text = unchanged ? "// unchanged by `" + pass + "`\n" : ir::print(module);
  ok_ = write_file_atomic((std::filesystem::path(run_.options.emit_ir_dir) / name).string(), text, run_.sink) && ok_;
}

void Dumps::observe(const passes::PassInfo* pass, passes::PassResult result, const ir::Module& module) {
  const std::string name = pass == nullptr ? "parse" : std::string(pass->name);
  if (!run_.options.emit_ir_dir.empty()) {
    write_numbered(name, result, module);
  }
  if (run_.options.check_each_pass && !value_changed_) {
    if (pass == nullptr) {
      checker_.start(module);
      before_ = module;
    } else {
      check_values(name, module);
    }
  }
}

// Whether the pass says that it changed something or not.
void Dumps::check_values(const std::string& pass, const ir::Module& module) {
  if (ir::equal(before_, module)) {
    return;
  }
  if (checker_.observe(pass, module)) {
    before_ = module;
  } else {
    ok_ = false;
    value_changed_ = true;
  }
}

}  // namespace pto::driver
