// Runs ptoc in process on files of a temporary folder.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "src/driver/driver.h"

namespace pto::test {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

inline Outcome ptoc(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  Outcome outcome;
  outcome.code = driver::run_ptoc(args, out, err);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

// A folder that goes away with the object.
class Folder {
 public:
  Folder() {
    static int next = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("ptoc-test-" + std::to_string(::getpid()) + "-" + std::to_string(next++));
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// PTO_SAMPLES_DIR is the repository's samples folder.
inline const std::vector<std::string>& samples() {
  static const std::vector<std::string> kSamples = {"vector_add.pto", "gelu.pto", "softmax.pto",
                                                    "gemm.pto",       "mlp.pto",  "digits/digits.pto"};
  return kSamples;
}
inline std::string sample(const std::string& name) { return std::string(PTO_SAMPLES_DIR) + "/" + name; }

}  // namespace pto::test
