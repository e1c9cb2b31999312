#include "runtime/io/generate.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/io/npy.h"
#include "src/support/convert.h"
#include "src/support/text.h"

namespace pto::runtime::io {
namespace {

constexpr size_t kMaxRank = 16;  // parameters have at most 5; the run says so with the parameter's type

struct GeneratorInfo {
  std::string_view name;
  GeneratorKind kind;
  std::array<std::string_view, 3> options;  // in the order of positional values
  size_t required;                          // so many of them must be given
};
constexpr std::array<GeneratorInfo, 8> kGenerators = {{
    {"rand", GeneratorKind::Rand, {"seed"}, 0},
    {"uniform", GeneratorKind::Uniform, {"lo", "hi", "seed"}, 2},
    {"randn", GeneratorKind::Randn, {"seed"}, 0},
    {"randint", GeneratorKind::Randint, {"lo", "hi", "seed"}, 2},
    {"zeros", GeneratorKind::Zeros, {}, 0},
    {"ones", GeneratorKind::Ones, {}, 0},
    {"full", GeneratorKind::Full, {"value"}, 1},
    {"arange", GeneratorKind::Arange, {"start", "step"}, 0},
}};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') {
    text.remove_prefix(1);
  }
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(trim(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

// Range of an integer type as far as int64 goes.
std::pair<int64_t, int64_t> integer_range(DType type) {
  const int bits = type == DType::Bool ? 1 : bit_width(type);
  if (dtype_class(type) == DTypeClass::Int) {
    const int64_t top = std::numeric_limits<int64_t>::max() >> (64 - bits);
    return {-top - 1, top};
  }
  return {0, bits >= 63 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << bits) - 1};
}

bool is_finite_in(DType type, double value) {
  return std::isfinite(decode_float(type, encode_float(type, value)));
}

int precision(DType type) {
  switch (type) {
    case DType::F32:
      return 24;
    case DType::F16:
      return 11;
    case DType::BF16:
      return 8;
    default:
      return 3;  // 8-bit floats
  }
}

// Reads one `TYPE[DIMS]...`. Problems are texts; the caller reports them with the whole argument.
class SpecParser {
 public:
  SpecParser(std::string_view text, const std::map<std::string, int64_t>& dims) : text_(text), dims_(dims) {}

  std::string parse(ArraySpec& spec) {
    const size_t open = text_.find('[');
    const std::string_view type_name = trim(text_.substr(0, open));
    const std::optional<DType> type = dtype_from_spelling(type_name);
    if (open == std::string_view::npos || !type) {
      return "an array is `@FILE.npy` or `TYPE[DIMS]:GENERATOR`, such as `f16[64,512]:randn(seed=1)`";
    }
    if (bit_width(*type) < 8) {
      return "arrays of packed 4-bit elements can't be given";
    }
    spec.dtype = *type;
    const size_t close = text_.find(']', open);
    if (close == std::string_view::npos) {
      return "`]` is missing";
    }
    if (std::string problem = parse_dims(text_.substr(open + 1, close - open - 1), spec.shape); !problem.empty()) {
      return problem;
    }
    const std::string_view rest = trim(text_.substr(close + 1));
    if (rest.empty()) {
      return "";
    }
    if (rest[0] == '@') {
      spec.file = std::string(rest.substr(1));
      return rest.size() > 1 ? "" : "the file name after `@` is missing";
    }
    if (rest[0] != ':') {
      return "`:GENERATOR` or `@FILE` must follow `]`";
    }
    spec.generator.emplace();
    return parse_generator(trim(rest.substr(1)), *type, *spec.generator);
  }

 private:
  std::string parse_dims(std::string_view text, std::vector<int64_t>& shape) {
    if (trim(text).empty()) {
      return "an array has at least one dimension";
    }
    for (const std::string_view part : split(text)) {
      const auto named = dims_.find(std::string(part));
      const std::optional<int64_t> dim = named != dims_.end() ? named->second : parse_int(part);
      if (!dim || *dim < 0) {
        return "`" + std::string(part) + "` is not a size; a dim's name needs `--dim NAME=SIZE`";
      }
      shape.push_back(*dim);
      if (shape.size() > kMaxRank) {
        return "it has too many dimensions";
      }
    }
    return "";
  }

  std::string parse_generator(std::string_view text, DType type, Generator& generator) {
    const size_t open = std::min(text.find('('), text.size());
    const std::string_view name = trim(text.substr(0, open));
    const auto info =
        std::find_if(kGenerators.begin(), kGenerators.end(), [&](const auto& g) { return g.name == name; });
    if (info == kGenerators.end()) {
      return unknown_generator(name);
    }
    generator.kind = info->kind;
    std::string_view inside;
    if (open < text.size()) {
      if (text.back() != ')') {
        return "`)` is missing at the end";
      }
      inside = trim(text.substr(open + 1, text.size() - open - 2));
    }
    std::array<std::optional<std::string_view>, 3> values;
    if (!inside.empty()) {
      if (std::string problem = parse_options(*info, inside, values); !problem.empty()) {
        return problem;
      }
    }
    for (size_t i = 0; i < info->required; ++i) {
      if (!values[i]) {
        return "`" + std::string(name) + "` needs `" + std::string(info->options[i]) + "=`";
      }
    }
    return set_values(*info, values, type, generator);
  }

  static std::string unknown_generator(std::string_view name) {
    std::array<std::string_view, kGenerators.size()> names;
    std::string list;
    for (size_t i = 0; i < kGenerators.size(); ++i) {
      names[i] = kGenerators[i].name;
      list += (i == 0 ? "" : ", ") + std::string(names[i]);
    }
    const auto near = closest(name, names);
    return "there is no generator `" + std::string(name) + "`" +
           (near ? "; did you mean `" + std::string(*near) + "`?" : "; there are " + list);
  }

  static std::string parse_options(const GeneratorInfo& info, std::string_view inside,
                                   std::array<std::optional<std::string_view>, 3>& values) {
    size_t position = 0;
    for (const std::string_view part : split(inside)) {
      const size_t equals = part.find('=');
      size_t slot = position++;
      if (equals != std::string_view::npos) {
        const std::string_view key = trim(part.substr(0, equals));
        slot = static_cast<size_t>(std::find(info.options.begin(), info.options.end(), key) - info.options.begin());
        if (key.empty() || slot >= info.options.size()) {
          return "`" + std::string(info.name) + "` has no `" + std::string(key) + "=`";
        }
      } else if (slot >= info.options.size() || info.options[slot].empty()) {
        return "`" + std::string(info.name) + "` takes fewer values";
      }
      if (values[slot]) {
        return "`" + std::string(info.options[slot]) + "=` is given twice";
      }
      values[slot] = trim(part.substr(equals == std::string_view::npos ? 0 : equals + 1));
    }
    return "";
  }

  static std::string set_values(const GeneratorInfo& info, const std::array<std::optional<std::string_view>, 3>& values,
                                DType type, Generator& generator) {
    const bool wants_float =
        info.kind == GeneratorKind::Rand || info.kind == GeneratorKind::Uniform || info.kind == GeneratorKind::Randn;
    if (wants_float && !is_float(type)) {
      return "`" + std::string(info.name) + "` makes floats; use `randint(lo=, hi=, seed=)` for " +
             std::string(spelling(type));
    }
    const auto range = integer_range(type);
    generator.hi = 1;
    generator.int_hi = 1;  // arange's step
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i]) {
        continue;
      }
      const std::string text(*values[i]);
      const std::optional<int64_t> integer = parse_int(text);
      const std::optional<double> real = parse_real(text);
      if (info.options[i] == "seed") {
        if (!integer || *integer < 0) {
          return "seed `" + text + "` is not a number from 0 to 2^63 - 1";
        }
        generator.seed = static_cast<uint64_t>(*integer);
        continue;
      }
      const bool wants_integer = !is_float(type) || info.kind == GeneratorKind::Randint;
      if (wants_integer ? !integer.has_value() : !real.has_value()) {
        return "`" + text + "` is not " + (wants_integer ? "an integer" : "a number");
      }
      (i == 0 ? generator.lo : generator.hi) = real.value_or(0);
      (i == 0 ? generator.int_lo : generator.int_hi) = integer.value_or(0);
    }
    return check_values(info.kind, type, range, generator);
  }

  static std::string check_values(GeneratorKind kind, DType type, std::pair<int64_t, int64_t> range,
                                  const Generator& generator) {
    const std::string outside = "a value is outside the range of " + std::string(spelling(type));
    if (kind == GeneratorKind::Randint) {
      if (generator.int_lo >= generator.int_hi) {
        return "`lo` must be less than `hi`";
      }
      const bool fits = is_float(type) ? is_finite_in(type, static_cast<double>(generator.int_lo)) &&
                                             is_finite_in(type, static_cast<double>(generator.int_hi - 1))
                                       : generator.int_lo >= range.first && generator.int_hi - 1 <= range.second;
      return fits ? "" : outside;
    }
    if (kind == GeneratorKind::Uniform) {
      const bool finite = is_finite_in(type, generator.lo) && is_finite_in(type, generator.hi);
      return !finite ? outside : generator.lo < generator.hi ? "" : "`lo` must be less than `hi`";
    }
    if (kind == GeneratorKind::Full) {
      const bool fits = is_float(type) ? !std::isfinite(generator.lo) || is_finite_in(type, generator.lo)
                                       : generator.int_lo >= range.first && generator.int_lo <= range.second;
      return fits ? "" : outside;
    }
    return "";
  }

  std::string_view text_;
  const std::map<std::string, int64_t>& dims_;
};

// The last value of an arange must fit: nothing wraps silently.
bool arange_fits(const ArraySpec& spec, int64_t elements) {
  if (!spec.generator || spec.generator->kind != GeneratorKind::Arange || elements == 0) {
    return true;
  }
  const Generator& generator = *spec.generator;
  if (is_float(spec.dtype)) {
    return is_finite_in(spec.dtype, generator.lo) &&
           is_finite_in(spec.dtype, generator.lo + generator.hi * static_cast<double>(elements - 1));
  }
  const auto [low, high] = integer_range(spec.dtype);
  int64_t last = 0;
  if (__builtin_mul_overflow(generator.int_hi, elements - 1, &last) ||
      __builtin_add_overflow(generator.int_lo, last, &last)) {
    return false;
  }
  return std::min(generator.int_lo, last) >= low && std::max(generator.int_lo, last) <= high;
}

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

// floor(a * b / 2^64)
uint64_t multiply_high(uint64_t a, uint64_t b) {
  const uint64_t low = (a & 0xFFFFFFFFU) * (b & 0xFFFFFFFFU);
  const uint64_t middle_a = (a >> 32) * (b & 0xFFFFFFFFU) + (low >> 32);
  const uint64_t middle_b = (a & 0xFFFFFFFFU) * (b >> 32) + (middle_a & 0xFFFFFFFFU);
  return (a >> 32) * (b >> 32) + (middle_a >> 32) + (middle_b >> 32);
}

double normal(uint64_t seed, uint64_t index) {
  int64_t sum = -393210;  // the mean of twelve numbers from 0 to 65535
  for (uint64_t word = 0; word < 3; ++word) {
    const uint64_t bits = random_word(seed, 3 * index + word);
    for (int field = 0; field < 4; ++field) {
      sum += static_cast<int64_t>((bits >> (16 * field)) & 0xFFFFU);
    }
  }
  return static_cast<double>(sum) * 0x1p-16;
}

double real_value(const Generator& generator, DType type, uint64_t index) {
  switch (generator.kind) {
    case GeneratorKind::Rand:
      return std::ldexp(static_cast<double>(random_word(generator.seed, index) >> (64 - precision(type))),
                        -precision(type));
    case GeneratorKind::Uniform:
      return generator.lo +
             (generator.hi - generator.lo) * (static_cast<double>(random_word(generator.seed, index) >> 11) * 0x1p-53);
    case GeneratorKind::Randn:
      return normal(generator.seed, index);
    case GeneratorKind::Ones:
      return 1;
    case GeneratorKind::Full:
      return generator.lo;
    case GeneratorKind::Arange:
      return generator.lo + generator.hi * static_cast<double>(index);
    default:
      return 0;
  }
}

int64_t int_value(const Generator& generator, uint64_t index) {
  switch (generator.kind) {
    case GeneratorKind::Randint: {
      const uint64_t range = static_cast<uint64_t>(generator.int_hi) - static_cast<uint64_t>(generator.int_lo);
      const uint64_t offset = multiply_high(random_word(generator.seed, index), range);
      return static_cast<int64_t>(static_cast<uint64_t>(generator.int_lo) + offset);
    }
    case GeneratorKind::Ones:
      return 1;
    case GeneratorKind::Full:
      return generator.int_lo;
    case GeneratorKind::Arange:
      return generator.int_lo + generator.int_hi * static_cast<int64_t>(index);
    default:
      return 0;
  }
}

}  // namespace

Result<ArraySpec> parse_array_spec(std::string_view text, const std::map<std::string, int64_t>& dims,
                                   const std::string& subject, DiagnosticSink& sink) {
  ArraySpec spec;
  std::string problem = SpecParser(trim(text), dims).parse(spec);
  if (problem.empty()) {
    const std::optional<int64_t> elements = element_count(spec.shape, kMaxArrayBytes / byte_size(spec.dtype));
    if (!elements) {
      sink.report(DiagId::ArrayTooLarge, subject, {type_text(spec.dtype, spec.shape), std::to_string(kMaxArrayBytes)});
      return Reported();
    }
    if (!arange_fits(spec, *elements)) {
      problem = "a value is outside the range of " + std::string(spelling(spec.dtype));
    }
  }
  if (!problem.empty()) {
    sink.report(DiagId::ArraySpecInvalid, subject, {std::string(text), problem});
    return Reported();
  }
  return spec;
}

Array generate(const ArraySpec& spec) {
  PTO_CHECK(spec.generator.has_value(), "generate needs a generator");
  const int64_t elements = element_count(spec.shape, kMaxArrayBytes).value_or(0);
  Array array{spec.dtype, spec.shape, {}};
  array.data.resize(static_cast<size_t>(byte_size(spec.dtype, elements)));
  const bool by_integers = !is_float(spec.dtype) || spec.generator->kind == GeneratorKind::Randint;
  for (int64_t i = 0; i < elements; ++i) {
    const uint64_t index = static_cast<uint64_t>(i);
    if (!by_integers) {
      store_real(spec.dtype, array.data.data(), i, real_value(*spec.generator, spec.dtype, index));
    } else if (is_float(spec.dtype)) {
      store_real(spec.dtype, array.data.data(), i, static_cast<double>(int_value(*spec.generator, index)));
    } else {
      store_int(spec.dtype, array.data.data(), i, int_value(*spec.generator, index));
    }
  }
  return array;
}

uint64_t random_word(uint64_t seed, uint64_t n) {
  return mix(mix(seed) + (n + 1) * 0x9E3779B97F4A7C15U);
}

std::optional<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace pto::runtime::io
