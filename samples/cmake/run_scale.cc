// Loads the object that pto_add_kernel made and runs it in this process, without the command line programs.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "pto/object.h"
#include "pto/runtime.h"

namespace {

constexpr int64_t kRows = 100;
constexpr int64_t kColumns = 512;  // as the DEFINES of CMakeLists.txt say

pto::runtime::Array make_input() {
  pto::runtime::Array array;
  array.dtype = pto::DType::F32;
  array.shape = {kRows, kColumns};
  std::vector<float> values(kRows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 1000);
  }
  array.data.resize(values.size() * sizeof(float));
  std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

bool is_right(const pto::runtime::Array& x, const pto::runtime::Array& y) {
  if (y.shape != x.shape || y.data.size() != x.data.size()) {
    return false;
  }
  for (size_t i = 0; i < x.data.size(); i += sizeof(float)) {
    float in = 0;
    float out = 0;
    std::memcpy(&in, &x.data[i], sizeof in);
    std::memcpy(&out, &y.data[i], sizeof out);
    if (out != 2 * in + 1) {
      return false;
    }
  }
  return true;
}

int run(pto::DiagnosticSink& sink) {
  std::ifstream file(SCALE_OBJECT, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  const auto object = pto::object::read(bytes, "scale.ptobin", sink);
  if (!object) {
    return pto::kExitBadInput;
  }
  const auto target = pto::builtin_target(object->target, sink);
  if (!target || object->programs.empty() || !pto::object::verify(*object, *target, "scale.ptobin", sink)) {
    return pto::kExitBadInput;
  }
  pto::runtime::Arguments arguments;
  arguments.arrays["x"] = make_input();
  const auto result = pto::runtime::run(*object, object->programs.front(), *target, arguments, {}, "scale.ptobin", sink);
  if (result.status != pto::runtime::RunStatus::Ok) {
    return pto::kExitFault;
  }
  std::printf("scale: %lld cycles, %.1f microseconds\n", static_cast<long long>(result.cycles), result.microseconds);
  return is_right(arguments.arrays["x"], result.outputs.at("y")) ? pto::kExitOk : pto::kExitMismatch;
}

}  // namespace

int main() {
  pto::DiagnosticSink sink;
  const int code = run(sink);
  std::fputs(pto::render_text(sink, nullptr, {}).c_str(), stderr);
  return code;
}
