// Random kernels: chunks of rows with carried accumulators, then a pass over the chunks again that uses what was accumulated.
#include "tests/property/generated.h"
#include "tests/property/random.h"
#include "tests/property/values.h"

namespace pto::test {

namespace {

class KernelMaker {
 public:
  explicit KernelMaker(uint64_t seed) : random_(seed * 131 + 7) {}

  Generated run() {
    dtype_ = random_.pick(std::vector<DType>{DType::F32, DType::F32, DType::F16, DType::I32});
    tile_rows_ = random_.pick(std::vector<int64_t>{16, 32, 64});
    tile_cols_ = random_.pick(std::vector<int64_t>{32, 64, 128});
    rows_ = random_.integer(1, 150);
    cols_ = random_.chance(20) ? tile_cols_ * random_.integer(1, 4) : random_.integer(1, 400);
    if (random_.chance(35)) {
      planes();
    } else {
      chunks();
    }
    out_.entry = "k";
    return out_;
  }

 private:
  bool real() const { return is_float(dtype_); }
  std::string type() const { return std::string(spelling(dtype_)); }
  std::string window(const std::string& tensor) const {
    return tensor + "[i :+ " + std::to_string(tile_rows_) + ", j :+ " + std::to_string(tile_cols_) + "]";
  }
  std::string dims() {
    const std::string m = random_.chance(50) ? "M = " + std::to_string(rows_) : "M";
    const std::string n = random_.chance(50) ? "N = " + std::to_string(cols_) : "N";
    return m + ", " + n;
  }
  void data(const std::string& name, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (int64_t dim : shape) {
      count *= dim;
    }
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(real() ? random_.real(-1, 1) : static_cast<double>(random_.integer(-9, 9)));
    }
    out_.arguments.arrays[name] = make_array(dtype_, std::move(shape), values);
  }

  // A few operations on the tile `t` and, if there is one, the row `w`: the name of the last.
  Known work(const std::string& indent, std::string& text, bool row, bool column, const Known& accumulated) {
    Known value{"t", dtype_, Extent::Full, real() ? -1.0 : -9.0, real() ? 1.0 : 9.0, 0, true};
    const double limit = real() ? 1 : 9;
    const int64_t steps = random_.integer(1, 4);
    for (int64_t i = 0; i < steps; ++i) {
      Known next = value;
      next.name = "u" + std::to_string(next_++);
      std::string made;
      switch (random_.integer(0, 5)) {
        case 0:
          made = value.name + (real() ? " * 0.5" : " + 3");
          next.hi += real() ? 0 : 3;
          settle(next, value.error);
          break;
        case 1:
          made = "max(" + value.name + ", t)";
          break;
        case 2:
          if (row) {
            made = random_.chance(50) ? value.name + " + w" : "w - " + value.name;
            next.hi = value.magnitude() + limit;
            next.lo = -next.hi;
            settle(next, value.error);
            break;
          }
          [[fallthrough]];
        case 3:
          if (column) {
            made = "min(" + value.name + ", acc)";
            next.lo = std::min(value.lo, accumulated.lo);
            next.hi = std::min(value.hi, accumulated.hi);
            next.error = std::max(value.error, accumulated.error);
            break;
          }
          [[fallthrough]];
        case 4:
          if (real()) {
            made = "exp(min(" + value.name + ", 1.0))";
            next.hi = std::exp(std::min(value.hi, 1.0));
            next.lo = 0;
            settle(next, value.error * 3);
            break;
          }
          [[fallthrough]];
        default:
          made = real() ? "abs(" + value.name + ")" : "relu(" + value.name + ")";
          next.lo = 0;
          next.hi = value.magnitude();
      }
      text += indent + "let " + next.name + " = " + made + ";\n";
      value = next;
    }
    return value;
  }

  // Rows in chunks: a carried column (and sometimes a second one), then a loop that uses it.
  void chunks() {
    const std::string r = std::to_string(tile_rows_);
    const std::string c = std::to_string(tile_cols_);
    data("x", {rows_, cols_});
    const bool row = random_.chance(60);
    if (row) {
      data("w", {cols_});
    }
    const bool sums = random_.chance(50);
    const bool second = random_.chance(50);
    const std::string load = "        let t = load(" + window("x") + ");\n" +
                             (row ? "        let w = load(w0[j :+ " + c + "]);\n" : "");
    std::string first;
    const Known part = work("        ", first, row, false, {});
    Known total{"acc", dtype_, Extent::Column, part.lo, part.hi, part.error, false};
    const double n = static_cast<double>(cols_);
    if (sums) {
      total.lo = std::min(0.0, part.lo * n);
      total.hi = std::max(0.0, part.hi * n);
      settle(total, part.error * n, 6 + std::sqrt(n));
    } else {
      total.lo = std::min(total.lo, real() ? -5.0 : -50.0);
    }
    const std::string start = sums ? (real() ? "0.0" : "0") : real() ? "-5.0" : "-50";
    std::string text = "kernel k[" + dims() + "](x: " + type() + "[M, N]" + (row ? ", w0: " + type() + "[N]" : "") +
                       ") -> (y: " + type() + "[M, 1], z: " + type() + "[M, N]" +
                       (second ? ", q: " + type() + "[M, 1]" : "") + ") {\n    parallel i in 0..M step " + r + " {\n";
    text += "        var acc = full(" + type() + "[" + r + ", 1], " + start + ");\n";
    if (second) {
      text += "        var low = full(" + type() + "[" + r + ", 1], " + (real() ? "7.0" : "70") + ");\n";
    }
    text += "        for j in 0..N step " + c + " pipeline @P {\n" + load + first;
    text += sums ? "        acc = acc + row_sum(" + part.name + ");\n" : "        acc = max(acc, row_max(" + part.name + "));\n";
    if (second) {
      text += "        low = min(low, row_min(t));\n";
    }
    text += "        }\n";
    std::string again;
    const Known out = work("        ", again, row, true, total);
    text += "        for j in 0..N step " + c + " pipeline @P {\n" + load + again + "        store(" + window("z") + ", " +
            out.name + ");\n        }\n";
    text += "        store(y[i :+ " + r + ", 0 :+ 1], acc);\n";
    if (second) {
      text += "        store(q[i :+ " + r + ", 0 :+ 1], low);\n";
      out_.bounds["q"] = 0;
    }
    out_.text = text + "    }\n}\n";
    out_.bounds["y"] = total.error;
    out_.bounds["z"] = out.error;
    if (row) {
      out_.arguments.arrays["w0"] = out_.arguments.arrays["w"];
      out_.arguments.arrays.erase("w");
    }
  }

  // A whole tile carried over a leading dim.
  void planes() {
    const int64_t count = random_.integer(1, 5);
    const std::string r = std::to_string(tile_rows_);
    const std::string c = std::to_string(tile_cols_);
    data("x", {count, rows_, cols_});
    std::string first;
    const Known part = work("        ", first, false, false, {});
    Known total = part;
    total.name = "acc";
    const double n = static_cast<double>(count);
    total.lo = std::min(0.0, part.lo * n);
    total.hi = std::max(0.0, part.hi * n);
    settle(total, part.error * n, 4 + n);
    std::string text = "kernel k[B, " + dims() + "](x: " + type() + "[B, M, N]) -> (y: " + type() + "[M, N]) {\n";
    text += "    parallel i in 0..M step " + r + ", j in 0..N step " + c + (random_.chance(50) ? " pipeline @P" : "") + " {\n";
    text += "        var acc = zeros(" + type() + "[" + r + ", " + c + "]);\n";
    text += "        for b in 0..B step 1 pipeline @P {\n        let t = load(x[b, i :+ " + r + ", j :+ " + c + "]);\n" + first;
    text += "        acc = acc + " + part.name + ";\n        }\n        store(" + window("y") + ", acc);\n    }\n}\n";
    out_.text = text;
    out_.bounds["y"] = total.error;
  }

  Random random_;
  Generated out_;
  DType dtype_ = DType::F32;
  int64_t tile_rows_ = 8;
  int64_t tile_cols_ = 32;
  int64_t rows_ = 1;
  int64_t cols_ = 1;
  int next_ = 0;
};

}  // namespace

Generated random_kernel(uint64_t seed, bool) { return KernelMaker(seed).run(); }

}  // namespace pto::test
