// Random kernels with matrix and vector work: products with vector work behind them, a second product, loops in which
// both kinds of core answer each other, branches on a scalar.
#include <algorithm>
#include <cmath>

#include "tests/property/generated.h"
#include "tests/property/random.h"

namespace pto::test {

namespace {

constexpr double kHalfUlp16 = 1.0 / 2048;  // of a rounding to f16, relative

class MixedMaker {
 public:
  explicit MixedMaker(uint64_t seed) : random_(seed * 977 + 3) {}

  Generated run() {
    rows_ = random_.pick(std::vector<int64_t>{16, 32, 64});
    cols_ = random_.pick(std::vector<int64_t>{16, 32, 64});
    depth_ = random_.pick(std::vector<int64_t>{16, 32, 64});
    if (random_.chance(40)) {
      loop_of_answers();
    } else {
      product_chain();
    }
    out_.entry = "k";
    return out_;
  }

 private:
  static std::string num(int64_t value) { return std::to_string(value); }

  void data(const std::string& name, std::vector<int64_t> shape, DType dtype) {
    int64_t count = 1;
    for (int64_t dim : shape) {
      count *= dim;
    }
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(random_.integer(-8, 8)) / 16);
    }
    out_.arguments.arrays[name] = make_array(dtype, std::move(shape), values);
  }

  std::string split() {
    return random_.pick(std::vector<std::string>{"", "", "", " split rows", " split cols", " split none"});
  }

  // Vector work on `value`; `bound` is its magnitude, `error` what it may be off. Returns the new name.
  std::string work(std::string& text, const std::string& indent, std::string value, double& bound, double& error,
                   bool bias) {
    const int64_t steps = random_.integer(1, 3);
    for (int64_t i = 0; i < steps; ++i) {
      const std::string name = "u" + num(next_++);
      std::string made;
      switch (random_.integer(0, 6)) {
        case 0:
          made = value + " * 0.5";
          bound *= 0.5;
          error *= 0.5;
          break;
        case 1:
          made = "relu(" + value + ")";
          break;
        case 2:
          made = bias ? value + " + b" : "abs(" + value + ")";
          bound += bias ? 0.5 : 0;
          break;
        case 3:
          made = value + " - row_max(" + value + ")";
          bound *= 2;
          error *= 2;
          break;
        case 4:
          made = "min(" + value + ", 1.0)";
          break;
        case 5:
          made = "exp(min(" + value + ", 0.0))";
          bound = 1;
          break;
        default:
          made = value + " + col_max(" + value + ")";
          bound *= 2;
          error *= 2;
      }
      text += indent + "let " + name + " = " + made + ";\n";
      error += bound * 1e-6;
      value = name;
    }
    return value;
  }

  void product_chain() {
    const int64_t m = random_.integer(1, 100);
    const int64_t n = random_.integer(1, 100);
    const int64_t k = random_.integer(1, 130);
    const std::string r = num(rows_);
    const std::string c = num(cols_);
    const std::string d = num(depth_);
    data("x", {m, k}, DType::F16);
    data("w", {k, n}, DType::F16);
    data("b0", {n}, DType::F32);
    const bool second = random_.chance(40);
    const bool flag = random_.chance(40);
    const int64_t p = random_.pick(std::vector<int64_t>{16, 32});
    double bound = 0.25 * static_cast<double>(k);
    double error = bound * static_cast<double>(k) * 6e-8;
    std::string text = "kernel k[M, N, K](x: f16[M, K], w: f16[K, N], b0: f32[N]" +
                       std::string(flag ? ", flag: i32" : "") + (second ? ", w2: f16[N, " + num(p) + "]" : "") +
                       ") -> (y: " + (second ? "f32[M, " + num(p) + ", Q]" : std::string("f32[M, N]")) + ") {\n";
    // A second product contracts over the block's columns only: one block of columns, so N <= cols.
    if (second) {
      const int64_t n_small = std::min(n, cols_);
      out_.arguments.arrays.clear();
      data("x", {m, k}, DType::F16);
      data("w", {k, n_small}, DType::F16);
      data("b0", {n_small}, DType::F32);
      data("w2", {n_small, p}, DType::F16);
      text = "kernel k[M, N, K](x: f16[M, K], w: f16[K, N], b0: f32[N]" + std::string(flag ? ", flag: i32" : "") +
             ", w2: f16[N, " + num(p) + "]) -> (y: f32[M, " + num(p) + "]) {\n";
    }
    text += "    parallel i in 0..M step " + r + (second ? "" : ", j in 0..N step " + c) + split() +
            (random_.chance(30) ? " pipeline @P" : "") + " {\n";
    const std::string j = second ? "0" : "j";
    text += "        var acc = zeros(f32[" + r + ", " + c + "]);\n";
    text += "        for q in 0..K step " + d + " pipeline @P {\n            acc += matmul(load(x[i :+ " + r +
            ", q :+ " + d + "]), load(w[q :+ " + d + ", " + j + " :+ " + c + "]));\n        }\n";
    text += "        let b = load(b0[" + j + " :+ " + c + "]);\n";
    std::string value = work(text, "        ", "acc", bound, error, true);
    if (flag) {
      out_.arguments.scalars["flag"] = static_cast<double>(random_.integer(0, 1));
      text += "        var chosen = " + value +
              " * 1.0;\n        if flag > 0 {\n            chosen = chosen + b;\n        }\n";
      value = "chosen";
      bound += 0.5;
    }
    if (second) {
      text += "        let h = cast(" + value + ", f16);\n        let o = matmul(h, load(w2[0 :+ " + c + ", 0 :+ " +
              num(p) + "]));\n";
      error = (error + bound * kHalfUlp16) * 0.5 * static_cast<double>(cols_);
      bound *= 0.5 * static_cast<double>(cols_);
      error += bound * 1e-5;
      value = random_.chance(50) ? work(text, "        ", "o", bound, error, false) : "o";
      text += "        store(y[i :+ " + r + ", 0 :+ " + num(p) + "], " + value + ");\n";
    } else {
      text += "        store(y[i :+ " + r + ", j :+ " + c + "], " + value + ");\n";
    }
    out_.text = text + "    }\n}\n";
    out_.bounds["y"] = error * 1.5 + 1e-6;
  }

  // A product, vector work on it, a product of that, vector work again, in a loop; the sums are carried by the vector
  // side.
  void loop_of_answers() {
    const int64_t m = random_.integer(1, 80);
    const int64_t n = random_.integer(1, 200);
    const int64_t d = 32;
    const std::string r = num(rows_);
    const std::string c = num(cols_);
    data("q0", {m, d}, DType::F16);
    data("kt", {d, n}, DType::F16);
    data("v", {n, d}, DType::F16);
    const bool scale = random_.chance(50);
    const bool branch = random_.chance(40);
    std::string text = "kernel k[M, N](q0: f16[M, 32], kt: f16[32, N], v: f16[N, 32]) -> (y: f32[M, 32]) {\n";
    text += "    parallel i in 0..M step " + r + split() + " {\n        let q = load(q0[i :+ " + r + ", :]);\n";
    text += "        var out = zeros(f32[" + r + ", 32]);\n";
    text += "        var top = full(f32[" + r + ", 1], 0.0);\n";
    text += "        for j in 0..N step " + c + (random_.chance(60) ? " pipeline @P" : "") + " {\n";
    text += "            var s = matmul(q, load(kt[:, j :+ " + c + "]))" + (scale ? " * 0.5" : "") + ";\n";
    double bound = 0.25 * 32;
    double error = bound * 1e-5;
    if (branch) {
      text += "            if j >= i {\n                s = s - 0.25;\n            }\n";
      bound += 0.25;
    }
    std::string chain;
    const std::string value = random_.chance(50) ? work(chain, "            ", "s", bound, error, false) : "s";
    text += chain;
    text += "            top = max(top, row_max(" + value + "));\n";
    text += "            out = out + matmul(cast(" + value + ", f16), load(v[j :+ " + c + ", :]));\n        }\n";
    text += "        store(y[i :+ " + r + ", :], out + top);\n    }\n}\n";
    out_.text = text;
    const double count = static_cast<double>(n);
    out_.bounds["y"] = 1.5 * ((error + bound * kHalfUlp16) * 0.5 * count + error + bound * count * count * 6e-8) + 1e-6;
  }

  Random random_;
  Generated out_;
  int64_t rows_ = 16;
  int64_t cols_ = 16;
  int64_t depth_ = 16;
  int next_ = 0;
};

}  // namespace

Generated random_mixed(uint64_t seed, bool) {
  return MixedMaker(seed).run();
}

}  // namespace pto::test
