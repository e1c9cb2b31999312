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
}

}  // namespace pto::driver
