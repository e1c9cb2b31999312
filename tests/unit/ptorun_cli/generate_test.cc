// Generators: the documented algorithm to the bit (values computed by NumPy in samples/make_golden.py's functions), the
// grammar of specs, and every refusal.
#include "runtime/io/generate.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "src/support/convert.h"

using namespace pto;
using namespace pto::runtime;
using namespace pto::runtime::io;

namespace {

const std::map<std::string, int64_t> kDims = {{"M", 5}, {"N", 7}};

Array make(const std::string& text) {
  DiagnosticSink sink;
  const Result<ArraySpec> spec = parse_array_spec(text, kDims, "--in x", sink);
  INFO(text << (sink.has_errors() ? ": " + sink.all()[0].message : ""));
  REQUIRE(spec.ok());
  return generate(*spec);
}

std::string refusal(const std::string& text) {
  DiagnosticSink sink;
  const Result<ArraySpec> spec = parse_array_spec(text, kDims, "--in x", sink);
  INFO(text);
  REQUIRE(spec.ok() == !sink.has_errors());
  return spec.ok() ? "accepted" : sink.all()[0].code() + ": " + sink.all()[0].message;
}

template <typename T>
std::vector<T> values(const Array& array) {
  std::vector<T> result(array.data.size() / sizeof(T));
  if (!result.empty()) {
    std::memcpy(result.data(), array.data.data(), array.data.size());
  }
  return result;
}

}  // namespace

TEST_CASE("generate: the words are SplitMix64") {
  CHECK(random_word(0, 0) == 0xe220a8397b1dcdafU);  // the published first output for seed 0
  CHECK(random_word(0, 1) == 0x6e789e6aa1b965f4U);
  CHECK(random_word(1, 0) == 0xbfef8030ddc2d772U);
  CHECK(random_word(1, 2) == 0x70335fc3daf3d8a7U);
}

TEST_CASE("generate: randn gives NumPy's bits for the same formula") {
  CHECK(values<uint32_t>(make("f32[4]:randn(seed=7)")) ==
        std::vector<uint32_t>{0x3e3b7800, 0xbfba5380, 0x3fa59b80, 0xbeefd400});
  CHECK(values<uint16_t>(make("f16[2, 2]:randn(seed=7)")) == std::vector<uint16_t>{0x31dc, 0xbdd3, 0x3d2d, 0xb77f});
}

TEST_CASE("generate: distributions have the moments they should") {
  const auto moments = [](const std::vector<float>& v) {
    double sum = 0;
    double square = 0;
    for (const float x : v) {
      sum += x;
      square += static_cast<double>(x) * x;
    }
    const double mean = sum / static_cast<double>(v.size());
    return std::pair(mean, std::sqrt(square / static_cast<double>(v.size()) - mean * mean));
  };
  const auto [mean, deviation] = moments(values<float>(make("f32[200000]:randn(seed=3)")));
  CHECK(std::fabs(mean) < 0.01);
  CHECK(std::fabs(deviation - 1) < 0.01);
  const std::vector<float> uniform = values<float>(make("f32[200000]:rand(seed=3)"));
  CHECK(*std::min_element(uniform.begin(), uniform.end()) >= 0);
  CHECK(*std::max_element(uniform.begin(), uniform.end()) < 1);
  CHECK(std::fabs(moments(uniform).first - 0.5) < 0.005);
  for (const uint16_t bits : values<uint16_t>(make("f16[100000]:rand"))) {
    REQUIRE(bits < 0x3C00);  // less than 1 in f16 too
  }
  const std::vector<float> range = values<float>(make("f32[100000]:uniform(lo=-2, hi=6, seed=9)"));
  CHECK(*std::min_element(range.begin(), range.end()) >= -2);
  CHECK(*std::max_element(range.begin(), range.end()) <= 6);
  CHECK(std::fabs(moments(range).first - 2) < 0.05);
}

TEST_CASE("generate: the plain ones") {
  CHECK(values<float>(make("f32[3]:zeros")) == std::vector<float>{0, 0, 0});
  CHECK(values<float>(make("f32[3]:ones()")) == std::vector<float>{1, 1, 1});
  CHECK(values<int32_t>(make("i32[2]:full(-7)")) == std::vector<int32_t>{-7, -7});
  CHECK(values<float>(make("f32[2]:full(value=-inf)"))[1] == -std::numeric_limits<float>::infinity());
  CHECK(values<int16_t>(make("i16[4]:arange(start=-1, step=3)")) == std::vector<int16_t>{-1, 2, 5, 8});
  CHECK(values<float>(make("f32[4]:arange(0.5, 0.25)")) == std::vector<float>{0.5, 0.75, 1, 1.25});
  CHECK(values<uint8_t>(make("u8[256]:arange")).back() == 255);
  CHECK(make("bf16[M, N]:ones").shape == std::vector<int64_t>{5, 7});
  CHECK(values<uint16_t>(make("bf16[1]:ones"))[0] == 0x3F80);
  CHECK(make("f32[0, 4]:rand").data.empty());
}

TEST_CASE("generate: randint is in range and reaches both ends") {
  std::vector<int> seen(10, 0);
  for (const int32_t value : values<int32_t>(make("i32[5000]:randint(lo=-3, hi=7, seed=4)"))) {
    REQUIRE(value >= -3);
    REQUIRE(value < 7);
    ++seen[static_cast<size_t>(value + 3)];
  }
  for (const int count : seen) {
    CHECK(count > 300);
  }
  for (const uint8_t value : values<uint8_t>(make("bool[100]:randint(0, 2)"))) {
    CHECK(value < 2);
  }
  CHECK(refusal("i64[4]:randint(lo=-9223372036854775808, hi=9223372036854775807)") == "accepted");
  CHECK(values<float>(make("f32[2]:randint(5, 6)")) == std::vector<float>{5, 5});
}

TEST_CASE("generate: a seed is a stream of its own, an element does not depend on the shape") {
  CHECK(values<float>(make("f32[8]:randn(seed=1)")) == values<float>(make("f32[2, 4]:randn(seed=1)")));
  CHECK(values<float>(make("f32[8]:randn(seed=1)")) != values<float>(make("f32[8]:randn(seed=2)")));
  CHECK(values<float>(make("f32[8]:randn")) == values<float>(make("f32[8]:randn(seed=0)")));
}

TEST_CASE("generate: refusals") {
  const auto refused = [](const std::string& text, const std::string& part) {
    const std::string message = refusal(text);
    INFO(text << " -> " << message);
    CHECK(message.find(part) != std::string::npos);
  };
  refused("x.npy", "an array is `@FILE.npy` or");
  refused("3.5", "an array is");
  refused("f64[3]:zeros", "an array is");
  refused("i4[3]:zeros", "4-bit");
  refused("f32[3:zeros", "`]` is missing");
  refused("f32[]:zeros", "at least one");
  refused("f32[K]:zeros", "`K` is not a size; a dim's name needs `--dim NAME=SIZE`");
  refused("f32[-1]:zeros", "is not a size");
  refused("f32[3,]:zeros", "is not a size");
  refused("f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]:zeros", "too many");
  refused("f32[3]zeros", "must follow `]`");
  refused("f32[3]@", "missing");
  refused("f32[3]:rnadn", "did you mean `randn`?");
  refused("f32[3]:qqqqqqqq", "there are rand, uniform");
  refused("f32[3]:randn(seed=1", "`)` is missing");
  refused("f32[3]:randn(sed=1)", "has no `sed=`");
  refused("f32[3]:randn(1, 2)", "takes fewer");
  refused("f32[3]:randn(seed=1, seed=2)", "given twice");
  refused("f32[3]:randn(seed=-1)", "seed `-1`");
  refused("f32[3]:randn(seed=1.5)", "seed `1.5`");
  refused("f32[3]:full", "needs `value=`");
  refused("f32[3]:full(abc)", "not a number");
  refused("i32[3]:full(1.5)", "not an integer");
  refused("u8[3]:full(256)", "outside the range of u8");
  refused("bool[3]:full(2)", "outside the range of bool");
  refused("f16[3]:full(65520)", "outside the range of f16");
  refused("i8[129]:arange", "outside the range of i8");
  refused("i64[3]:arange(9223372036854775807)", "outside the range");
  refused("f16[3]:arange(0, 65000)", "outside the range of f16");
  refused("i32[3]:randn", "use `randint");
  refused("f32[3]:uniform(lo=1, hi=1)", "less than `hi`");
  refused("f32[3]:uniform(lo=0)", "needs `hi=`");
  refused("f32[3]:uniform(lo=0, hi=inf)", "outside the range");
  refused("i32[3]:randint(lo=2, hi=2)", "less than `hi`");
  refused("u8[3]:randint(lo=0, hi=257)", "outside the range of u8");
  refused("f32[1000000, 1000000]:zeros", "E0633");
  refused("f32[9223372036854775807, 9223372036854775807]:zeros", "E0633");
  CHECK(refusal("f32[16384, 16384]:zeros") == "accepted");  // parsing alone takes no memory
  CHECK(refusal("f32[16384, 16385]:zeros").substr(0, 5) == "E0633");
}

TEST_CASE("generate: mutated specs never crash") {
  std::mt19937_64 random(99);
  const std::vector<std::string> seeds = {"f16[64,512]:randn(seed=1)", "i32[M]:randint(lo=0, hi=9, seed=2)",
                                          "f32[3]:full(2.5)", "u8[7]:arange(start=1, step=2)", "f32[4]@x.npy"};
  const std::string alphabet = "0123456789[](),:=@-. eEinfaMNx\n\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string text = seeds[random() % seeds.size()];
    for (uint64_t edit = 0; edit < 1 + random() % 4; ++edit) {
      const size_t at = random() % (text.size() + 1);
      if (random() % 2 == 0 && at < text.size()) {
        text.erase(at, 1);
      } else {
        text.insert(at, 1, alphabet[random() % alphabet.size()]);
      }
    }
    DiagnosticSink sink;
    const Result<ArraySpec> spec = parse_array_spec(text, kDims, "--in x", sink);
    REQUIRE(spec.ok() == !sink.has_errors());
    if (spec && spec->generator) {
      int64_t elements = 1;
      for (const int64_t dim : spec->shape) {
        elements = std::min<int64_t>(elements * std::min<int64_t>(dim, 10000), 1000000);
      }
      if (elements < 10000) {
        const Array array = generate(*spec);
        REQUIRE(static_cast<int64_t>(array.data.size()) == byte_size(spec->dtype, elements));
      }
    }
  }
}

TEST_CASE("generate: numbers are whole texts") {
  CHECK(parse_int("12") == 12);
  CHECK(parse_int("-9223372036854775808") == std::numeric_limits<int64_t>::min());
  for (const char* text : {"", " 1", "1 ", "1.0", "0x10", "9223372036854775808", "+1"}) {
    CHECK(!parse_int(text));
  }
  CHECK(parse_real("1e-3") == 1e-3);
  CHECK(std::isinf(*parse_real("-inf")));
  CHECK(std::isnan(*parse_real("nan")));
  for (const char* text : {"", "1,5", "1e999", "abc", "1 "}) {
    CHECK(!parse_real(text));
  }
}
