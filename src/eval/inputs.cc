#include "src/eval/inputs.h"

#include <algorithm>
#include <array>

namespace pto::eval {

namespace {

constexpr std::array<int64_t, 3> kSmall = {1, 17, 40};
constexpr std::array<int64_t, 8> kOthers = {16, 32, 64, 128, 256, 8, 4, 2};  // where constraints want round numbers
constexpr int64_t kLong = 18007;               // longer than any tile of one row
constexpr int64_t kMostElements = 1 << 20;     // of all tensors together
constexpr int64_t kMostLongElements = 1 << 17;  // of the sample with a long dim
constexpr int kMostTries = 4096;
constexpr int kLongSample = kSamples - 1;
constexpr int kPositiveSample = 2;
constexpr int kWideSample = 1;

// splitmix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15U;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

uint64_t seed_of(const std::string& name, int sample) {
  uint64_t seed = 0xCBF29CE484222325U;
  for (char c : name) {
    seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return seed + static_cast<uint64_t>(sample);
}

double random_element(Random& random, DType dtype, int sample) {
  const bool positive = sample == kPositiveSample;
  const double unit = random.unit();
  if (dtype_class(dtype) == DTypeClass::Bool) {
    return unit < 0.5 ? 0 : 1;
  }
  if (is_float(dtype)) {
    return on_grid(dtype, positive ? 0.125 + unit : (2 * unit - 1) * (sample == kWideSample ? 16 : 2));
  }
  const bool is_signed = dtype_class(dtype) == DTypeClass::Int;
  const auto whole = static_cast<double>(random.next() % 8);
  return positive || !is_signed ? whole + (positive ? 1 : 0) : whole - 4;
}

// An entry under one assignment of its dims: do the constraints hold, how large is it?
class Candidate {
 public:
  Candidate(const ir::Function& entry, const std::vector<int64_t>& dims, const std::vector<double>& scalars)
      : entry_(entry), ints_(entry.symbols.size(), 0), floats_(entry.symbols.size(), 0.0) {
    for (size_t i = 0; i < dims.size(); ++i) {
      set(entry.dims[i], static_cast<double>(dims[i]));
    }
    size_t next = 0;
    for (const ir::Param& param : entry.params) {
      if (!param.is_tensor()) {
        set(param.sym, scalars.at(next++));
      }
    }
  }

  bool constraints_hold() const {
    return std::all_of(entry_.constraints.begin(), entry_.constraints.end(), [&](const ir::Constraint& constraint) {
      return entry_.exprs.evaluate(constraint.condition, env()).value_or(0) != 0;
    });
  }

  // Of every tensor parameter; nullopt: one is no shape.
  std::optional<std::vector<std::vector<int64_t>>> shapes() const {
    std::vector<std::vector<int64_t>> out;
    for (const ir::Param& param : entry_.params) {
      if (!param.is_tensor()) {
        continue;
      }
      std::vector<int64_t> dims;
      for (ExprId dim : param.type.dims) {
        dims.push_back(entry_.exprs.evaluate(dim, env()).value_or(0));
        if (dims.back() < 1) {
          return std::nullopt;
        }
      }
      out.push_back(std::move(dims));
    }
    return out;
  }

  int64_t elements() const {
    const auto all = shapes();
    if (!all) {
      return -1;
    }
    int64_t total = 0;
    for (const std::vector<int64_t>& dims : *all) {
      const int64_t count = element_count(dims);
      if (count < 0) {
        return kMostElements + 1;
      }
      total += count;
    }
    return total;
  }

 private:
  ExprEnv env() const { return {ints_, floats_, 0, 1}; }
  void set(SymId sym, double value) {
    ints_.at(sym.index()) = to_integer(value);
    floats_.at(sym.index()) = value;
  }

  const ir::Function& entry_;
  std::vector<int64_t> ints_;
  std::vector<double> floats_;
};

// The wanted dims of a sample, before constraints.
std::vector<int64_t> wanted_dims(const ir::Function& entry, int sample, const std::vector<double>& scalars) {
  const size_t count = entry.dims.size();
  std::vector<int64_t> dims(count, 1);
  if (sample != kLongSample) {
    for (size_t i = 0; i < count; ++i) {
      dims[i] = kSmall[(i + static_cast<size_t>(sample)) % kSmall.size()];
    }
    return dims;
  }
  if (count > 0) {
    dims.front() = 3;
    dims.back() = count > 1 ? kLong / 3 : kLong;
    while (dims.back() > 40 && Candidate(entry, dims, scalars).elements() > kMostLongElements) {
      dims.back() /= 2;
    }
  }
  return dims;
}

// The wanted dims, or the first ones that satisfy the constraints when each dim may be something else.
std::optional<std::vector<int64_t>> find_dims(const ir::Function& entry, int sample, const std::vector<double>& scalars,
                                              std::string& reason) {
  const std::vector<int64_t> wanted = wanted_dims(entry, sample, scalars);
  std::vector<std::vector<int64_t>> choices;
  for (int64_t dim : wanted) {
    choices.push_back({dim});
    choices.back().insert(choices.back().end(), kOthers.begin(), kOthers.end());
    choices.back().insert(choices.back().end(), kSmall.begin(), kSmall.end());
  }
  std::vector<size_t> at(choices.size(), 0);
  reason = "no small dims satisfy its constraints";
  for (int tries = 0; tries < kMostTries; ++tries) {
    std::vector<int64_t> dims;
    for (size_t i = 0; i < at.size(); ++i) {
      dims.push_back(choices[i][at[i]]);
    }
    const Candidate candidate(entry, dims, scalars);
    if (candidate.constraints_hold()) {
      const int64_t elements = candidate.elements();
      if (elements >= 0 && elements <= kMostElements) {
        return dims;
      }
      reason = elements < 0 ? "a shape has no value" : "its tensors are too large";
    }
    size_t d = 0;
    while (d < at.size() && ++at[d] == choices[d].size()) {
      at[d++] = 0;
    }
    if (d == at.size()) {
      break;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Inputs> make_inputs(const ir::Function& entry, int sample, std::string& reason) {
  Random random(seed_of(entry.name, sample));
  Inputs inputs;
  for (const ir::Param& param : entry.params) {
    if (!param.is_tensor()) {
      const double value = is_float(param.dtype) ? on_grid(param.dtype, 0.5 + random.unit())
                                                 : static_cast<double>(1 + random.next() % 3);
      inputs.scalars.push_back(param.default_value.value_or(value));
    }
  }
  const auto dims = find_dims(entry, sample, inputs.scalars, reason);
  if (!dims) {
    return std::nullopt;
  }
  inputs.dims = *dims;
  auto shapes = *Candidate(entry, *dims, inputs.scalars).shapes();
  for (const ir::Param& param : entry.params) {
    if (!param.is_tensor()) {
      continue;
    }
    Tensor tensor = unwritten_tensor(param.type.dtype, std::move(shapes[inputs.tensors.size()]));
    if (param.mode != ir::ParamMode::Out) {
      tensor.written.clear();
      for (double& element : tensor.data) {
        element = random_element(random, tensor.dtype, sample);
      }
    }
    inputs.tensors.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace pto::eval
