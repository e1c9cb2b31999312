// Output files of a run that appear together or not at all: `stage` writes each beside its place under a temporary
// name, `commit` renames them. What was not committed is removed. A place that is no regular file (/dev/null, a pipe)
// is written to by `commit`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pto/diagnostics.h"

namespace pto::runtime::io {

class StagedFiles {
 public:
  StagedFiles() = default;
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;
  ~StagedFiles();

  // False after an error (E0902). `bytes` is copied where it has to be kept.
  bool stage(const std::string& path, std::string_view bytes, DiagnosticSink& sink);
  bool commit(DiagnosticSink& sink);

 private:
  struct File {
    std::string path;       // as given, for messages
    std::string target;     // links resolved, so that a link stays a link
    std::string temporary;  // empty: `bytes` go to the target directly
    std::string bytes;
  };
  std::vector<File> files_;
};

}  // namespace pto::runtime::io
