// Random graphs of elementwise operations, reductions and softmax.
#include "tests/property/generated.h"
#include "tests/property/random.h"
#include "tests/property/values.h"

namespace pto::test {

namespace {

std::string number(double value) {
  std::string text = std::to_string(value);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

class GraphMaker {
 public:
  GraphMaker(uint64_t seed, bool a5) : random_(seed), a5_(a5) {}

  Generated run() {
    choose_shape();
    choose_types();
    make_inputs();
    const int64_t steps = random_.integer(1, 10);
    for (int64_t i = 0; i < steps; ++i) {
      step();
    }
    make_results();
    return finish();
  }

 private:
  void choose_shape() {
    const int rank = static_cast<int>(random_.integer(1, 4));
    const int64_t kind = random_.integer(0, 9);
    const bool long_rows = kind == 0;
    int64_t budget = long_rows ? 60000 : 20000;
    for (int i = rank - 1; i >= 0; --i) {
      int64_t size = random_.chance(15) ? 1 : random_.integer(1, random_.chance(50) ? 200 : 20);
      if (i == rank - 1 && long_rows) {
        size = random_.pick(std::vector<int64_t>{5000, 20000, 16385});
      }
      size = std::max<int64_t>(1, std::min(size, budget));
      budget /= size;
      sizes_.insert(sizes_.begin(), size);
    }
    const std::string letters = "ABMN";
    for (int i = 0; i < rank; ++i) {
      const std::string name(1, letters[static_cast<size_t>(4 - rank + i)]);
      dims_.push_back(name);
      const int64_t how = random_.integer(0, 3);
      const std::string size = std::to_string(sizes_[static_cast<size_t>(i)]);
      header_ += (i == 0 ? "" : ", ") + name + (how < 2 ? " = " + size : how == 2 ? "" : " = 64");
      if (how == 3) {
        out_.defines[name] = random_.chance(60) ? "?" : size;
      }
    }
    columns_ = sizes_.back();
  }

  void choose_types() {
    const int64_t kind = random_.integer(0, 9);
    dtype_ = kind < 5 ? DType::F32 : kind < 8 ? DType::F16 : kind < 9 || !a5_ ? DType::I32 : DType::BF16;
  }
  bool real() const { return is_float(dtype_); }
  bool rich() const { return dtype_ == DType::F32 || dtype_ == DType::F16; }

  std::string shape_text(Extent extent) const {
    std::string text;
    const size_t end = dims_.size() - (extent == Extent::Reduced || extent == Extent::Column ? 1 : 0);
    for (size_t i = extent == Extent::Row ? dims_.size() - 1 : 0; i < end; ++i) {
      text += (text.empty() ? "" : ", ") + dims_[i];
    }
    if (extent == Extent::Column) {
      text += text.empty() ? "1" : ", 1";
    }
    return "[" + text + "]";
  }
  std::vector<int64_t> shape(Extent extent) const {
    std::vector<int64_t> dims = sizes_;
    if (extent == Extent::Row) {
      return {columns_};
    }
    if (extent == Extent::Reduced) {
      dims.pop_back();
    }
    if (extent == Extent::Column) {
      dims.back() = 1;
    }
    return dims;
  }
  // All elements in one dim, as the language writes it.
  std::string product_text() const {
    std::string text;
    for (const std::string& dim : dims_) {
      text += (text.empty() ? "" : " * ") + dim;
    }
    return text;
  }
  int64_t count(const std::vector<int64_t>& dims) const {
    int64_t n = 1;
    for (int64_t dim : dims) {
      n *= dim;
    }
    return n;
  }

  std::vector<double> data(size_t n) {
    std::vector<double> values;
    for (size_t i = 0; i < n; ++i) {
      values.push_back(real() ? random_.real(-2, 2) : static_cast<double>(random_.integer(-50, 50)));
    }
    return values;
  }

  void make_inputs() {
    const int64_t inputs = random_.integer(1, 4);
    for (int64_t i = 0; i < inputs; ++i) {
      const std::string name = "x" + std::to_string(i);
      Known value{name, dtype_, Extent::Full, real() ? -2.0 : -50.0, real() ? 2.0 : 50.0, 0, true};
      std::string text = shape_text(Extent::Full);
      std::vector<int64_t> dims = sizes_;
      const bool flat = i > 0 && dims_.size() > 1 && random_.chance(15);
      if (flat) {
        text = "[" + product_text() + "]";
        dims = {count(sizes_)};
      } else if (i > 0 && dims_.size() > 1 && random_.chance(45)) {
        value.extent = random_.chance(60) ? Extent::Row : Extent::Column;
        text = shape_text(value.extent);
        dims = shape(value.extent);
      }
      params_ += (i == 0 ? "" : ", ") + name + ": " + std::string(spelling(dtype_)) + text;
      out_.arguments.arrays[name] = make_array(dtype_, dims, data(static_cast<size_t>(count(dims))));
      if (flat) {
        body_ += "    let r" + name + " = reshape(" + name + ", " + shape_text(Extent::Full) + ");\n";
        value.name = "r" + name;
      }
      values_.push_back(value);
    }
    if (random_.chance(25)) {
      scalar_ = "s";
      params_ += ", s: " + std::string(spelling(dtype_));
      out_.arguments.scalars["s"] = real() ? 0.75 : 3;
    }
  }

  // ---- one statement

  Known& add(Known value, const std::string& text) {
    value.name = "t" + std::to_string(next_++);
    value.input = false;
    body_ += "    let " + value.name + " = " + text + ";\n";
    values_.push_back(value);
    const double limit = value.dtype == DType::F16 ? 60 : is_float(value.dtype) ? 1000 : 1e6;
    if (value.magnitude() > limit) {
      Known clamped = value;
      clamped.lo = std::max(value.lo, -3.0);
      clamped.hi = std::min(value.hi, 3.0);
      const std::string three = is_float(value.dtype) ? "3.0" : "3";
      return add(clamped, "min(max(" + value.name + ", -" + three + "), " + three + ")");
    }
    return values_.back();
  }

  Known any() { return values_[static_cast<size_t>(random_.integer(0, static_cast<int64_t>(values_.size()) - 1))]; }
  // Values that an operation with `a` may have as its other operand.
  Known partner(const Known& a) {
    std::vector<Known> fit;
    for (const Known& b : values_) {
      if (b.dtype == a.dtype && (b.extent == Extent::Reduced) == (a.extent == Extent::Reduced)) {
        fit.push_back(b);
      }
    }
    return random_.pick(fit);
  }
  static Extent joined(Extent a, Extent b) { return a == b ? a : Extent::Full; }

  void step() {
    const Known a = any();
    const int64_t kind = random_.integer(0, 99);
    if (kind < 35) {
      binary(a);
    } else if (kind < 50) {
      with_scalar(a);
    } else if (kind < 68) {
      unary(a);
    } else if (kind < 76) {
      choose(a);
    } else if (kind < 90) {
      reduce(a);
    } else if (kind < 94) {
      convert(a);
    } else if (kind < 97) {
      softmax(a);
    } else {
      constant(a);
    }
  }

  void binary(const Known& a) {
    const Known b = partner(a);
    Known t = a;
    t.extent = joined(a.extent, b.extent);
    const int64_t op = random_.integer(0, rich_type(a.dtype) ? 5 : 4);
    if (op < 2) {
      t.lo = op == 0 ? a.lo + b.lo : a.lo - b.hi;
      t.hi = op == 0 ? a.hi + b.hi : a.hi - b.lo;
      settle(t, a.error + b.error);
      add(t, a.name + (op == 0 ? " + " : " - ") + b.name);
    } else if (op == 2) {
      t.hi = a.magnitude() * b.magnitude();
      t.lo = -t.hi;
      settle(t, a.error * b.magnitude() + b.error * a.magnitude() + a.error * b.error);
      add(t, a.name + " * " + b.name);
    } else if (op < 5) {
      t.lo = op == 3 ? std::min(a.lo, b.lo) : std::max(a.lo, b.lo);
      t.hi = op == 3 ? std::min(a.hi, b.hi) : std::max(a.hi, b.hi);
      t.error = std::max(a.error, b.error);
      add(t, (op == 3 ? "min(" : "max(") + a.name + ", " + b.name + ")");
    } else {
      t.hi = 2 * a.magnitude();
      t.lo = -t.hi;
      settle(t, 2 * a.error + 4 * a.magnitude() * (b.error + 4 * unit_of(a.dtype) * (b.magnitude() + 1)));
      add(t, a.name + " / (abs(" + b.name + ") + 0.5)");
    }
  }

  static bool rich_type(DType dtype) { return dtype == DType::F32 || dtype == DType::F16; }

  void with_scalar(const Known& a) {
    const bool whole = !is_float(a.dtype);
    const bool named = !scalar_.empty() && a.dtype == dtype_ && random_.chance(50);
    const double value = named ? (whole ? 3 : 0.75) : whole ? static_cast<double>(random_.integer(-4, 4)) : random_.real(-2, 2);
    const std::string text = named ? scalar_ : whole ? std::to_string(static_cast<int>(value)) : number(value);
    Known t = a;
    const bool left = random_.chance(50);
    const int64_t op = random_.integer(0, 4);
    const std::string first = left ? text : a.name;
    const std::string second = left ? a.name : text;
    if (op == 0) {
      t.lo = a.lo + value;
      t.hi = a.hi + value;
    } else if (op == 1) {
      t.lo = left ? value - a.hi : a.lo - value;
      t.hi = left ? value - a.lo : a.hi - value;
    } else if (op == 2) {
      t.hi = a.magnitude() * std::fabs(value);
      t.lo = -t.hi;
    } else {
      t.lo = op == 3 ? std::min(a.lo, value) : std::max(a.lo, value);
      t.hi = op == 3 ? std::min(a.hi, value) : std::max(a.hi, value);
    }
    settle(t, op == 2 ? a.error * std::fabs(value) : a.error);
    add(t, op < 3 ? first + (op == 0 ? " + " : op == 1 ? " - " : " * ") + second
                  : (op == 3 ? "min(" : "max(") + first + ", " + second + ")");
  }

  void unary(const Known& a) {
    Known t = a;
    const std::string x = a.name;
    if (!rich_type(a.dtype)) {
      t.lo = -a.hi;
      t.hi = -a.lo;
      add(t, "-" + x);
      return;
    }
    const double input = a.error + 4 * unit_of(a.dtype) * (a.magnitude() + 1);  // of `abs(x) + 0.5`
    switch (random_.integer(0, 9)) {
      case 0:
        t.lo = -a.hi;
        t.hi = -a.lo;
        add(t, "-" + x);
        return;
      case 1:
        t.lo = 0;
        t.hi = a.magnitude();
        add(t, "abs(" + x + ")");
        return;
      case 2:
        t.lo = 0;
        t.hi = std::exp(std::min(a.hi, 2.0));
        settle(t, a.error * t.hi * 1.1);
        add(t, a.hi > 2 ? "exp(min(" + x + ", 2.0))" : "exp(" + x + ")");
        return;
      case 3:
        t.lo = -0.7;
        t.hi = std::max(0.7, std::log(a.magnitude() + 0.5));
        settle(t, 2 * input, 8);
        add(t, "log(abs(" + x + ") + 0.5)");
        return;
      case 4:
        t.lo = 0;
        t.hi = std::sqrt(a.magnitude() + 0.5);
        settle(t, a.error == 0 ? 0 : input, 8);
        add(t, a.error == 0 ? "sqrt(abs(" + x + "))" : "sqrt(abs(" + x + ") + 0.5)");
        return;
      case 5:
        t.lo = 0;
        t.hi = 1.5;
        settle(t, 2 * input, 8);
        add(t, "rsqrt(abs(" + x + ") + 0.5)");
        return;
      case 6:
        t.lo = 0;
        t.hi = 2;
        settle(t, 4 * input, 8);
        add(t, "recip(abs(" + x + ") + 0.5)");
        return;
      case 7:
        t.lo = 0;
        t.hi = std::max(a.hi, 0.0);
        add(t, "relu(" + x + ")");
        return;
      default:
        t.hi = 1;
        t.lo = -1;
        settle(t, a.error, 24);
        add(t, (random_.chance(50) ? "sigmoid(" : "tanh(") + x + ")");
    }
  }

  // Continuous choices, or comparisons of what is exact.
  void choose(const Known& a) {
    if (!a5_ && !is_float(a.dtype)) {
      return;  // integers are only compared for equality there
    }
    const Known b = partner(a);
    Known t = a;
    t.extent = joined(a.extent, b.extent);
    t.lo = std::min(a.lo, b.lo);
    t.hi = std::max(a.hi, b.hi);
    t.error = std::max(a.error, b.error);
    const std::string cmp = random_.pick(std::vector<std::string>{"<", "<=", ">", ">="});
    const Known c = partner(a);
    if (a.input && b.input) {
      t.extent = joined(t.extent, c.extent);
      t.error = std::max({a.error, b.error, c.error});
      t.lo = std::min(t.lo, c.lo);
      t.hi = std::max(t.hi, c.hi);
      add(t, "select(" + a.name + " " + cmp + " " + b.name + ", " + c.name + ", " + b.name + ")");
    } else {
      add(t, "select(" + a.name + " " + cmp + " " + b.name + ", " + a.name + ", " + b.name + ")");
    }
  }

  void reduce(const Known& a) {
    if (a.extent == Extent::Reduced || a.extent == Extent::Column || a.dtype == DType::BF16) {
      return;
    }
    const double n = static_cast<double>(columns_);
    const int64_t op = random_.integer(0, is_float(a.dtype) ? 3 : 2);
    if (op % 2 == 0 && a.dtype == DType::F16 && a.magnitude() * n > 30000) {
      return;
    }
    bool keep = random_.chance(70);
    if (a.extent == Extent::Row || dims_.size() == 1) {
      keep = true;
    }
    Known t = a;
    t.extent = a.extent == Extent::Row && dims_.size() > 1 ? a.extent : keep ? Extent::Column : Extent::Reduced;
    if (t.extent == Extent::Row) {
      return;  // [1] is neither a row nor a column of the space
    }
    const std::string name = op == 0 ? "sum" : op == 1 ? "max" : op == 2 && !is_float(a.dtype) ? "min" : op == 2 ? "mean" : "min";
    if (name == "sum" || name == "mean") {
      t.lo = std::min(a.lo * n, a.lo);
      t.hi = std::max(a.hi * n, a.hi);
      settle(t, a.error * n, 4 + std::sqrt(n));
      if (name == "mean") {
        t.lo = a.lo;
        t.hi = a.hi;
        settle(t, t.error / n);
      }
    }
    add(t, name + "(" + a.name + ", axis: -1" + (keep ? ", keepdims: true)" : ")"));
  }

  void softmax(const Known& a) {
    if (!rich_type(a.dtype) || a.extent != Extent::Full) {
      return;
    }
    Known t = a;
    t.lo = 0;
    t.hi = 1;
    const double range = a.hi - a.lo;
    settle(t, 2 * a.error, 16 + std::sqrt(static_cast<double>(columns_)) + 2 * range);
    add(t, "softmax(" + a.name + ", axis: -1)");
  }

  void convert(const Known& a) {
    Known t = a;
    if (a.dtype == DType::F32) {
      t.dtype = a5_ && random_.chance(30) ? DType::BF16 : a.magnitude() < 1000 ? DType::F16 : DType::F32;
    } else if (a.dtype == DType::F16 || a.dtype == DType::BF16) {
      t.dtype = DType::F32;
    } else if (a.dtype == DType::I32 && a.magnitude() < 1000) {
      t.dtype = DType::F32;
    }
    if (t.dtype == a.dtype) {
      return;
    }
    settle(t, a.error);
    add(t, "cast(" + a.name + ", " + std::string(spelling(t.dtype)) + ")");
  }

  void constant(const Known& a) {
    Known t = a;
    t.extent = Extent::Full;
    t.error = 0;
    t.lo = t.hi = is_float(a.dtype) ? 0.5 : 2;
    const std::string dtype(spelling(a.dtype));
    if (a.extent == Extent::Row && dims_.size() > 1) {
      t.lo = a.lo;
      t.hi = a.hi;
      t.error = a.error;
      add(t, "broadcast(" + a.name + ", " + shape_text(Extent::Full) + ")");
    } else {
      Known full = t;
      full.name = "c" + std::to_string(next_++);
      body_ += "    let " + full.name + " = full(" + dtype + shape_text(Extent::Full) + ", " +
               (is_float(a.dtype) ? "0.5" : "2") + ");\n";
      full.input = true;
      values_.push_back(full);
    }
  }

  // ---- results

  void make_results() {
    std::vector<Known> computed;
    for (const Known& value : values_) {
      if (value.name[0] == 't') {
        computed.push_back(value);
      }
    }
    if (computed.empty()) {
      Known t = values_[0];
      t.lo *= 2;
      t.hi *= 2;
      settle(t, 0);
      computed.push_back(add(t, t.name + " + " + t.name));
    }
    const int64_t results = random_.integer(1, 3);
    for (int64_t i = 0; i < results && !computed.empty(); ++i) {
      const size_t at = i == 0 ? computed.size() - 1
                               : static_cast<size_t>(random_.integer(0, static_cast<int64_t>(computed.size()) - 1));
      const Known value = computed[at];
      computed.erase(computed.begin() + static_cast<std::ptrdiff_t>(at));
      const std::string name = "y" + std::to_string(i);
      std::string type = shape_text(value.extent);
      std::string source = value.name;
      if (value.extent == Extent::Full && dims_.size() > 1 && random_.chance(15)) {
        type = "[" + product_text() + "]";
        source = "reshape(" + value.name + ", " + type + ")";
      }
      results_ += (i == 0 ? "" : ", ") + name + ": " + std::string(spelling(value.dtype)) + type;
      body_ += "    " + name + " = " + source + ";\n";
      out_.bounds[name] = value.error;
    }
  }

  Generated finish() {
    out_.entry = "g";
    out_.text = "graph g[" + header_ + "](" + params_ + ") -> (" + results_ + ") {\n" + body_ + "}\n";
    return out_;
  }

  Random random_;
  bool a5_;
  Generated out_;
  std::vector<std::string> dims_;
  std::vector<int64_t> sizes_;
  int64_t columns_ = 1;
  DType dtype_ = DType::F32;
  std::string header_;
  std::string params_;
  std::string results_;
  std::string body_;
  std::string scalar_;
  std::vector<Known> values_;
  int next_ = 0;
};

}  // namespace

Generated random_graph(uint64_t seed, bool a5) { return GraphMaker(seed, a5).run(); }

}  // namespace pto::test
