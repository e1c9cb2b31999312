// Random graphs around a matrix product.
#include "tests/property/generated.h"
#include "tests/property/random.h"
#include "tests/property/values.h"

namespace pto::test {

namespace {

class ProductMaker {
 public:
  explicit ProductMaker(uint64_t seed) : random_(seed * 77 + 5) {}

  Generated run() {
    for (const char* name : {"M", "K", "N"}) {
      const int64_t size = random_.chance(15) ? random_.pick(std::vector<int64_t>{1, 2, 16}) : random_.integer(1, 150);
      sizes_[name] = size;
      const int64_t how = random_.integer(0, 3);
      header_ += (header_.empty() ? "" : ", ") + std::string(name) + (how < 2 ? " = " + std::to_string(size) : how == 2 ? "" : " = 32");
      if (how == 3) {
        out_.defines[name] = random_.chance(50) ? "?" : std::to_string(size);
      }
    }
    const int64_t kind = random_.integer(0, 9);
    in_ = kind < 5 ? DType::F16 : kind < 7 ? DType::F32 : kind < 8 ? DType::BF16 : DType::I8;
    product();
    const int64_t steps = in_ == DType::I8 ? 0 : random_.integer(0, 3);
    for (int64_t i = 0; i < steps; ++i) {
      step();
    }
    if (random_.chance(30) && in_ != DType::I8) {
      result(value_, "y1");
      step();
    }
    if (random_.chance(40) && value_.dtype == DType::F32) {
      cast(random_.chance(70) || in_ != DType::BF16 ? DType::F16 : DType::BF16);
    }
    result(value_, "y0");
    out_.entry = "g";
    out_.text = "graph g[" + header_ + "](" + params_ + ") -> (" + results_ + ") {\n" + body_ + "}\n";
    return out_;
  }

 private:
  std::string param(const std::string& name, DType dtype, const std::vector<std::string>& dims) {
    std::string text;
    std::vector<int64_t> shape;
    int64_t count = 1;
    for (const std::string& dim : dims) {
      text += (text.empty() ? "" : ", ") + dim;
      shape.push_back(sizes_[dim]);
      count *= sizes_[dim];
    }
    std::vector<double> data;
    for (int64_t i = 0; i < count; ++i) {
      data.push_back(is_float(dtype) ? random_.real(-1, 1) : static_cast<double>(random_.integer(-20, 20)));
    }
    params_ += (params_.empty() ? "" : ", ") + name + ": " + std::string(spelling(dtype)) + "[" + text + "]";
    out_.arguments.arrays[name] = make_array(dtype, shape, data);
    return name;
  }

  void product() {
    std::string a = param("a", in_, {"M", "K"});
    const std::string b = param("b", in_, {"K", "N"});
    const double depth = static_cast<double>(sizes_["K"]);
    value_.dtype = in_ == DType::I8 ? DType::I32 : DType::F32;
    value_.hi = in_ == DType::I8 ? 400 * depth : depth;
    double inputs = 0;
    if (in_ != DType::I8 && in_ != DType::BF16 && random_.chance(30)) {
      a = "(" + a + " * 0.5)";  // another kernel before it
      inputs = depth * 4 * unit_of(in_);
    }
    std::string bias;
    if (random_.chance(50) && in_ != DType::I8) {
      bias = ", bias: " + param("v", DType::F32, {"N"});
      value_.hi += 1;
    }
    value_.lo = -value_.hi;
    // Operands are f16 or f32; what a matrix unit does with f32 may be coarser than f32.
    settle(value_, inputs, 4 + std::sqrt(depth));
    let("matmul(" + a + ", " + b + bias + ")");
  }

  void let(const std::string& text) {
    value_.name = "t" + std::to_string(next_++);
    body_ += "    let " + value_.name + " = " + text + ";\n";
  }

  void cast(DType dtype) {
    value_.dtype = dtype;
    settle(value_, value_.error);
    let("cast(" + value_.name + ", " + std::string(spelling(dtype)) + ")");
  }

  void step() {
    const std::string x = value_.name;
    switch (random_.integer(0, 4)) {
      case 0:
        value_.hi += 1;
        value_.lo -= 1;
        settle(value_, value_.error);
        let(x + " + " + param("e" + std::to_string(next_), value_.dtype, {"M", "N"}));
        return;
      case 1:
        settle(value_, value_.error);
        let(x + " * " + param("r" + std::to_string(next_), value_.dtype, {"N"}));
        return;
      case 2:
        value_.lo = 0;
        let("relu(" + x + ")");
        return;
      case 3:
        value_.hi = 1;
        value_.lo = 0;
        settle(value_, value_.error, 24);
        let("sigmoid(" + x + ")");
        return;
      default:
        settle(value_, value_.error / 2);
        let(random_.chance(50) ? "0.5 * " + x : x + " * 0.25");
    }
  }

  void result(const Known& value, const std::string& name) {
    results_ += (results_.empty() ? "" : ", ") + name + ": " + std::string(spelling(value.dtype)) + "[M, N]";
    body_ += "    " + name + " = " + value.name + ";\n";
    out_.bounds[name] = value.error;
    if (name == "y1") {
      let("abs(" + value_.name + ")");  // a value is the result of one name only
      value_.lo = 0;
    }
  }

  Random random_;
  Generated out_;
  std::map<std::string, int64_t> sizes_;
  DType in_ = DType::F16;
  Known value_;
  std::string header_;
  std::string params_;
  std::string results_;
  std::string body_;
  int next_ = 0;
};

}  // namespace

Generated random_matmul(uint64_t seed, bool) { return ProductMaker(seed).run(); }

}  // namespace pto::test
