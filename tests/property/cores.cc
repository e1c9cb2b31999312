// Random vector cores that leave placement and flags to the compiler: few buffers, used again and again by all three pipes.
// Rows don't depend on each other, so the expected results follow from the same operations on whole tensors in f32.
#include <cmath>

#include "tests/property/generated.h"
#include "tests/property/random.h"

namespace pto::test {

namespace {

class CoreMaker {
 public:
  explicit CoreMaker(uint64_t seed) : random_(seed * 911 + 3) {}

  Generated run() {
    tile_rows_ = random_.integer(1, 12);
    cols_ = 8 * random_.integer(1, 20);
    rows_ = random_.integer(1, 200) + 2 * tile_rows_;
    inputs_ = random_.integer(1, 3);
    const int64_t outputs = random_.integer(1, 2);
    std::string header = "auto core vec c[M](";
    for (int64_t i = 0; i < inputs_; ++i) {
      header += (i == 0 ? "" : ", ") + ("x" + std::to_string(i)) + shape();
      std::vector<double> values;
      for (int64_t e = 0; e < rows_ * cols_; ++e) {
        values.push_back(static_cast<double>(static_cast<float>(random_.real(-2, 2))));
      }
      loaded_.emplace_back(values.begin(), values.end());
      out_.arguments.arrays["x" + std::to_string(i)] = make_array(DType::F32, {rows_, cols_}, values);
    }
    header += ") -> (";
    for (int64_t i = 0; i < outputs; ++i) {
      header += (i == 0 ? "" : ", ") + ("y" + std::to_string(i)) + shape();
    }
    header += ") {\n";
    const int64_t buffers = random_.integer(2, 6);
    for (int64_t i = 0; i < buffers; ++i) {
      const int64_t slots = random_.chance(40) ? random_.integer(2, 3) : 1;
      header += "    buf b" + std::to_string(i) + ": tile f32[" + std::to_string(tile_rows_) + ", " + std::to_string(cols_) +
                "] in vec" + (slots > 1 ? " slots " + std::to_string(slots) : "") + ";\n";
      slots_.push_back(slots);
    }
    values_.resize(static_cast<size_t>(buffers));
    magnitudes_.assign(static_cast<size_t>(buffers), 0);
    header += "    for i in 0..ceildiv(ceildiv(M, " + std::to_string(tile_rows_) +
              ") - block_index(), block_count()) {\n        let b = (block_index() + i * block_count()) * " +
              std::to_string(tile_rows_) + ";\n";
    load(0);
    const int64_t steps = random_.integer(3, 14);
    for (int64_t i = 0; i < steps; ++i) {
      step(outputs);
    }
    for (int64_t i = 0; i < outputs; ++i) {
      store(i);
    }
    out_.entry = "c";
    out_.text = header + body_ + "    }\n}\n";
    return out_;
  }

 private:
  std::string shape() const { return ": f32[M, " + std::to_string(cols_) + "]"; }
  std::string name(size_t buffer) const {
    const std::string text = "b" + std::to_string(buffer);
    return slots_[buffer] > 1 ? text + "[i % " + std::to_string(slots_[buffer]) + "]" : text;
  }
  size_t any() { return static_cast<size_t>(random_.integer(0, static_cast<int64_t>(slots_.size()) - 1)); }
  size_t filled() {
    for (;;) {
      const size_t buffer = any();
      if (!values_[buffer].empty()) {
        return buffer;
      }
    }
  }

  void load(size_t buffer) {
    const size_t input = static_cast<size_t>(random_.integer(0, inputs_ - 1));
    const std::string rows = std::to_string(tile_rows_);
    body_ += "        tload " + name(buffer) + ", x" + std::to_string(input) + "[b, 0], valid(min(" + rows + ", M - b), " +
             std::to_string(cols_) + ");\n";
    values_[buffer] = loaded_[input];
    magnitudes_[buffer] = 2;
  }

  void store(int64_t output) {
    const size_t buffer = filled();
    const std::string tensor = "y" + std::to_string(output);
    body_ += "        tstore " + tensor + "[b, 0], " + name(buffer) + ";\n";
    out_.results[tensor] = {values_[buffer].begin(), values_[buffer].end()};
    out_.bounds[tensor] = 0;
  }

  void step(int64_t outputs) {
    const int64_t kind = random_.integer(0, 9);
    if (kind < 2) {
      load(any());
      return;
    }
    if (kind < 3) {
      store(random_.integer(0, outputs - 1));
      return;
    }
    const size_t a = filled();
    const size_t b = filled();
    const size_t to = any();
    float (*const operations[])(float, float) = {
        [](float x, float y) { return x + y; },          [](float x, float y) { return x - y; },
        [](float x, float y) { return x * y; },          [](float x, float y) { return x > y ? x : y; },
        [](float x, float y) { return x < y ? x : y; },  [](float x, float) { return std::fabs(x); },
        [](float x, float) { return x * 0.5F; },         [](float x, float) { return x + 1.5F; }};
    const char* const mnemonics[] = {"tadd", "tsub", "tmul", "tmax", "tmin", "tabs", "tmuls", "tadds"};
    int64_t op = random_.integer(0, 7);
    if (op < 3 && magnitudes_[a] * magnitudes_[b] + magnitudes_[a] + magnitudes_[b] > 1e6) {
      op = 6;
    }
    const std::string second = op < 5 ? ", " + name(b) : op == 6 ? ", 0.5" : op == 7 ? ", 1.5" : "";
    body_ += "        " + std::string(mnemonics[op]) + " " + name(to) + ", " + name(a) + second + ";\n";
    std::vector<float> result(values_[a].size());
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = operations[op](values_[a][i], values_[b][i]);
    }
    magnitudes_[to] = op == 2 ? magnitudes_[a] * magnitudes_[b] : magnitudes_[a] + magnitudes_[b] + 2;
    values_[to] = std::move(result);
  }

  Random random_;
  Generated out_;
  int64_t tile_rows_ = 1;
  int64_t rows_ = 1;
  int64_t cols_ = 8;
  int64_t inputs_ = 1;
  std::vector<int64_t> slots_;
  std::vector<std::vector<float>> loaded_;
  std::vector<std::vector<float>> values_;
  std::vector<double> magnitudes_;
  std::string body_;
};

}  // namespace

Generated random_core(uint64_t seed) { return CoreMaker(seed).run(); }

}  // namespace pto::test
