// Products in pieces: whatever pieces and depths are chosen, every sum is added in ascending k from zero, so the result
// is the same to the last bit. The expected values are computed here, in f32 and in 32-bit integers.
#include <algorithm>
#include <catch2/catch.hpp>

#include "src/passes/analysis/matmul_cost.h"
#include "src/passes/analysis/rewrite.h"
#include "src/support/convert.h"
#include "tests/property/random.h"
#include "tests/property/toolchain.h"

namespace pto::test {

namespace {

using passes::round_up;

struct Product {
  DType type = DType::F16;
  int64_t m = 1, n = 1, k = 1;
  runtime::Arguments arguments;
  std::vector<double> expected;
  DType sum() const { return type == DType::I8 ? DType::I32 : DType::F32; }
};

Product random_product(Random& random, int64_t most) {
  Product p;
  p.type = random.pick<DType>({DType::F16, DType::BF16, DType::F32, DType::I8});
  p.m = random.integer(1, most);
  p.n = random.integer(1, most);
  p.k = random.integer(1, most);
  auto fill = [&](int64_t count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(p.type == DType::I8 ? static_cast<double>(random.integer(-128, 127)) : random.real(-1, 1));
    }
    return values;
  };
  const runtime::Array a = make_array(p.type, {p.m, p.k}, fill(p.m * p.k));
  const runtime::Array b = make_array(p.type, {p.k, p.n}, fill(p.k * p.n));
  const std::vector<double> left = values_of(a);
  const std::vector<double> right = values_of(b);
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      int64_t whole = 0;
      for (int64_t k = 0; k < p.k; ++k) {
        const double x = left[static_cast<size_t>(i * p.k + k)];
        const double y = right[static_cast<size_t>(k * p.n + j)];
        const volatile float product = static_cast<float>(x) * static_cast<float>(y);
        sum = sum + product;
        whole += static_cast<int64_t>(x) * static_cast<int64_t>(y);
      }
      p.expected.push_back(p.type == DType::I8 ? static_cast<double>(whole) : static_cast<double>(sum));
    }
  }
  p.arguments.arrays["a"] = a;
  p.arguments.arrays["b"] = b;
  return p;
}

std::string number(int64_t value) {
  return std::to_string(value);
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

// Tiles of any size that L1 can hold, the sum in one piece or in a loop over K. `@P`: depth. `boxes`: shapes that
// memories take as they are.
std::string random_kernel_text(const Product& p, Random& random, bool loop, bool fixed, bool boxes) {
  const int64_t step = !boxes ? 1 : p.type == DType::I8 ? 32 : 16;
  const int64_t rows = boxes ? 16 : 1;
  const int64_t room = 400 * 1024 / byte_size(p.type);
  auto tile = [&](int64_t extent, int64_t multiple, int64_t most) {
    // One row or column would be a row tile, which products don't take.
    return std::max<int64_t>(
        2, round_up(random.integer(1, std::min(most, round_up(extent, multiple) + multiple)), multiple));
  };
  int64_t tm = tile(p.m, rows, 320);
  int64_t tn = tile(p.n, step, 320);
  int64_t tk = loop ? tile(p.k, step, 320) : std::max<int64_t>(2, round_up(p.k, step));
  while ((tm + tn) * tk > room) {
    (tm > tn ? tm : tn) = tm > tn ? round_up(tm / 2, rows) : round_up(tn / 2, step);
  }
  std::string text = fixed ? "kernel f(a: @T[@M, @K], b: @T[@K, @N]) -> (c: @S[@M, @N]) {\n"
                           : "kernel f[M, N, K](a: @T[M, K], b: @T[K, N]) -> (c: @S[M, N]) {\n";
  text += "  parallel m in 0..@M step @tm, n in 0..@N step @tn @P {\n";
  if (loop) {
    text +=
        "    var acc = zeros(@S[@tm, @tn]);\n"
        "    for k in 0..@K step @tk @P {\n"
        "      acc += matmul(load(a[m :+ @tm, k :+ @tk]), load(b[k :+ @tk, n :+ @tn]));\n"
        "    }\n"
        "    store(c[m :+ @tm, n :+ @tn], acc);\n";
  } else {
    text += "    store(c[m :+ @tm, n :+ @tn], matmul(load(a[m :+ @tm, 0 :+ @tk]), load(b[0 :+ @tk, n :+ @tn])));\n";
  }
  text += "  }\n}\n";
  const std::vector<std::pair<std::string, std::string>> names = {
      {"@tm", number(tm)},
      {"@tn", number(tn)},
      {"@tk", number(tk)},
      {"@T", std::string(spelling(p.type))},
      {"@S", std::string(spelling(p.sum()))},
      {"@M", fixed ? number(p.m) : "M"},
      {"@N", fixed ? number(p.n) : "N"},
      {"@K", fixed ? number(p.k) : "K"},
  };
  for (const auto& [what, with] : names) {
    text = replaced(text, what, with);
  }
  return text;
}

void check_values(const std::string& text, const Target& target, const Product& p) {
  INFO(text << "on " << target.name);
  const Compiled compiled = compile(text, target);
  INFO(compiled.error);
  REQUIRE(compiled.ok);
  runtime::Options options;
  options.mode = runtime::Mode::Values;
  std::string error;
  const runtime::RunResult result = run(compiled, target, p.arguments, options, error);
  INFO(error);
  REQUIRE(result.status == runtime::RunStatus::Ok);
  CHECK(values_of(result.outputs.at("c")) == p.expected);
}

runtime::RunResult timed(const std::string& text, const Target& target, const runtime::Arguments& arguments) {
  const Compiled compiled = compile(text, target);
  INFO(text << compiled.error);
  REQUIRE(compiled.ok);
  runtime::Options options;
  options.mode = runtime::Mode::Time;
  std::string error;
  const runtime::RunResult result = run(compiled, target, arguments, options, error);
  INFO(error);
  REQUIRE(result.status == runtime::RunStatus::Ok);
  return result;
}

runtime::Array shape_only(DType type, std::vector<int64_t> shape) {
  runtime::Array array;
  array.dtype = type;
  array.shape = std::move(shape);
  return array;
}

}  // namespace

TEST_CASE("products of tiles of any size, at any depth, are the same to the last bit") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Product p = random_product(random, seed % 4 == 0 ? 300 : 120);
    const std::string text = random_kernel_text(p, random, seed % 2 == 0, random.chance(50), random.chance(50));
    INFO("seed " << seed);
    for (const std::string depth : {"", "pipeline 1", "pipeline 2", "pipeline 3"}) {
      check_values(replaced(text, "@P", depth), target_named(seed % 3 == 0 ? "a5" : "a2a3"), p);
    }
  }
}

TEST_CASE("tiles are padded to whole boxes in memory, and only where they must be") {
  const std::string text =
      "kernel f[M](a: f16[M, 60], b: f16[60, 100]) -> (c: f32[M, 100]) {\n"
      "  parallel m in 0..M step @ {\n"
      "    store(c[m :+ @, 0 :+ 100], matmul(load(a[m :+ @, 0 :+ 60]), load(b[0 :+ 60, 0 :+ 100])));\n"
      "  }\n"
      "}\n"
      "kernel g[M](x: f32[M, 1000]) -> (y: f32[M, 1000]) {\n"
      "  parallel m in 0..M step 3 {\n"
      "    store(y[m :+ 3, 0 :+ 1000], load(x[m :+ 3, 0 :+ 1000]) + 1.0);\n"
      "  }\n"
      "}\n";
  for (const std::string name : {"a2a3", "a5"}) {
    const Compiled compiled = compile(replaced(text, "@", "100"), target_named(name), {}, std::nullopt, "select");
    INFO(compiled.error);
    REQUIRE(compiled.ok);
    for (const ir::Function& function : compiled.module.functions) {
      for (const isa::Buffer& buffer : function.buffers) {
        INFO(buffer.name);
        CHECK(!isa::check_buffer(buffer, target_named(name)).has_value());
        if (buffer.tile.space == Space::Vec) {
          CHECK(buffer.tile.rows == 3);
          CHECK(buffer.tile.cols == 1000);
        } else if (buffer.tile.space == Space::Mat) {  // f16[100, 60] and f16[60, 100]
          CHECK(std::min(buffer.tile.rows, buffer.tile.cols) == 64);
          CHECK(std::max(buffer.tile.rows, buffer.tile.cols) == 112);
        }
      }
    }
  }
}

TEST_CASE("vector work on a product of tiles of any shape") {
  // Small whole numbers: every sum is exact.
  const int64_t m = 75;
  const int64_t n = 51;
  const int64_t k = 37;
  std::vector<double> a;
  std::vector<double> b;
  for (int64_t i = 0; i < m * k; ++i) {
    a.push_back(static_cast<double>(i % 7 - 3));
  }
  for (int64_t i = 0; i < k * n; ++i) {
    b.push_back(static_cast<double>(i % 5 - 2));
  }
  runtime::Arguments arguments;
  arguments.arrays["a"] = make_array(DType::F16, {m, k}, a);
  arguments.arrays["b"] = make_array(DType::F16, {k, n}, b);
  std::vector<double> expected;
  for (int64_t i = 0; i < m; ++i) {
    std::vector<double> row(static_cast<size_t>(n), 0);
    double largest = -1e9;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        row[static_cast<size_t>(j)] += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
      }
      largest = std::max(largest, row[static_cast<size_t>(j)]);
    }
    for (double value : row) {
      expected.push_back(value * 2 - largest);
    }
  }
  const std::string text =
      "kernel f[M](a: f16[M, 37], b: f16[37, 51]) -> (c: f32[M, 51]) {\n"
      "  parallel m in 0..M step @ {\n"
      "    let s = matmul(load(a[m :+ @, 0 :+ 37]), load(b[0 :+ 37, 0 :+ 51]));\n"
      "    store(c[m :+ @, 0 :+ 51], s * 2.0 - row_max(s));\n"
      "  }\n"
      "}\n";
  for (const std::string name : {"a2a3", "a5"}) {
    for (const std::string step : {"5", "30", "75", "77"}) {
      const std::string source = replaced(text, "@", step);
      INFO(source << "on " << name);
      const Compiled compiled = compile(source, target_named(name));
      INFO(compiled.error);
      REQUIRE(compiled.ok);
      std::string error;
      const runtime::RunResult result = run(compiled, target_named(name), arguments, {}, error);
      INFO(error);
      REQUIRE(result.status == runtime::RunStatus::Ok);
      CHECK(values_of(result.outputs.at("c")) == expected);
    }
  }
}

TEST_CASE("a sum that starts from something else than zeros is not started from zeros in pieces") {
  const std::string text =
      "kernel f[M](a: f16[M, 256], b: f16[256, 256]) -> (c: f32[M, 256]) {\n"
      "  parallel m in 0..M step 256 {\n"
      "    var acc = full(f32[256, 256], 1.5);\n"
      "    acc += matmul(load(a[m :+ 256, 0 :+ 256]), load(b[0 :+ 256, 0 :+ 256]));\n"
      "    store(c[m :+ 256, 0 :+ 256], acc);\n"
      "  }\n"
      "}\n";
  for (const std::string name : {"a2a3", "a5"}) {
    const Compiled compiled = compile(text, target_named(name));
    CHECK_FALSE(compiled.ok);
    CHECK(compiled.error.find("starts from zeros") != std::string::npos);
  }
}

TEST_CASE("pieces are stored where the product was, with names defined in between") {
  const std::string text =
      "kernel f(a: f16[512, 256], b: f16[256, 256]) -> (c: f32[512, 256]) {\n"
      "  parallel m in 0..512 step 256 {\n"
      "    let p = matmul(load(a[m :+ 256, 0 :+ 256]), load(b[0 :+ 256, 0 :+ 256]));\n"
      "    let swapped = 256 - m;\n"
      "    store(c[swapped :+ 256, 0 :+ 256], p);\n"
      "  }\n"
      "}\n";
  std::vector<double> a(512 * 256);
  std::vector<double> eye(256 * 256);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<double>(i / 256);
  }
  for (size_t i = 0; i < 256; ++i) {
    eye[i * 256 + i] = 1;
  }
  runtime::Arguments arguments;
  arguments.arrays["a"] = make_array(DType::F16, {512, 256}, a);
  arguments.arrays["b"] = make_array(DType::F16, {256, 256}, eye);
  for (const std::string name : {"a2a3", "a5"}) {
    const Compiled compiled = compile(text, target_named(name));
    INFO(compiled.error);
    REQUIRE(compiled.ok);
    std::string error;
    const runtime::RunResult result = run(compiled, target_named(name), arguments, {}, error);
    REQUIRE(result.status == runtime::RunStatus::Ok);
    const std::vector<double> values = values_of(result.outputs.at("c"));
    CHECK(values[0] == 256);
    CHECK(values[256 * 256] == 0);
    CHECK(values.back() == 255);
  }
}

TEST_CASE("pieces of a store that is known by bounds only to fit are accepted again from a dump") {
  // Nothing but `where` says that the rows of `c` suffice.
  const std::string once =
      "kernel f[M, N](a: f16[M, 256], b: f16[256, N]) -> (c: f32[1024, N]) where M % 256 == 0, M <= 1024 {\n"
      "  parallel m in 0..M step 256, n in 0..N step 256 {\n"
      "    store(c[m :+ 256, n :+ 256], matmul(load(a[m :+ 256, 0 :+ 256]), load(b[0 :+ 256, n :+ 256])));\n"
      "  }\n"
      "}\n";
  const std::string loop =
      "kernel f[M, N, K](a: f16[M, K], b: f16[K, N]) -> (c: f32[2048, N]) where M % 512 == 0, M <= 2048 {\n"
      "  parallel m in 0..M step 512, n in 0..N step 500 {\n"
      "    var acc = zeros(f32[512, 500]);\n"
      "    for k in 0..K step 50 {\n"
      "      acc += matmul(load(a[m :+ 512, k :+ 50]), load(b[k :+ 50, n :+ 500]));\n"
      "    }\n"
      "    store(c[m :+ 512, n :+ 500], acc);\n"
      "  }\n"
      "}\n";
  for (const std::string& text : {once, loop}) {
    for (const std::string name : {"a2a3", "a5"}) {
      INFO(text << "on " << name);
      const Target& target = target_named(name);
      const Compiled whole = compile(text, target);
      INFO(whole.error);
      REQUIRE(whole.ok);
      const std::string dump = ir::print(compile(text, target, {}, ir::Level::Tile).module);
      CHECK(dump.find("mi in 0..") != std::string::npos);
      const Compiled again = compile(dump, target);
      INFO(dump << again.error);
      REQUIRE(again.ok);
      CHECK(again.bytes == whole.bytes);
    }
  }
}

TEST_CASE("graph products of any size are the same to the last bit") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(1000 + seed);
    const Product p = random_product(random, 300);
    INFO("seed " << seed);
    const bool fixed = random.chance(50);
    std::string text = fixed
                           ? "graph f(a: @T[@M, @K], b: @T[@K, @N]) -> (c: @S[@M, @N]) {\n  c = matmul(a, b);\n}\n"
                           : "graph f[M, N, K](a: @T[M, K], b: @T[K, N]) -> (c: @S[M, N]) {\n  c = matmul(a, b);\n}\n";
    text = replaced(replaced(text, "@T", std::string(spelling(p.type))), "@S", std::string(spelling(p.sum())));
    text = replaced(replaced(replaced(text, "@M", number(p.m)), "@N", number(p.n)), "@K", number(p.k));
    check_values(text, target_named(seed % 3 == 0 ? "a5" : "a2a3"), p);
  }
}

TEST_CASE("after tile-l0 every tile fits its memory") {
  const std::string text =
      "kernel f[M, N](a: f16[M, 512], b: f16[512, N]) -> (c: f16[M, N]) {\n"
      "  parallel m in 0..M step 256, n in 0..N step 256 {\n"
      "    store(c[m :+ 256, n :+ 256], cast(matmul(load(a[m :+ 256, 0 :+ 512]), load(b[0 :+ 512, n :+ 256])), f16));\n"
      "  }\n"
      "}\n";
  for (const std::string name : {"a2a3", "a5"}) {
    const Target& target = target_named(name);
    const Compiled before = compile(text, target, {}, std::nullopt, "infer-space");
    const Compiled after = compile(text, target, {}, std::nullopt, "tile-l0");
    auto largest = [&](const Compiled& compiled, Space space) {
      int64_t bytes = 0;
      const ir::Function& kernel = compiled.module.functions.at(0);
      passes::for_each_op(kernel, [&](ir::OpId id) {
        for (ir::ValueId value : kernel.ops[id].results) {
          const ir::Type& type = kernel.type(value);
          if (type.is_tile() && type.space == space) {
            bytes = std::max(bytes, byte_size(type.dtype, type.rows * type.cols));
          }
        }
      });
      return bytes;
    };
    for (Space space : {Space::Left, Space::Right}) {
      CHECK(largest(before, space) > target.space(space).bytes);
    }
    for (Space space : {Space::Left, Space::Right, Space::Acc}) {
      CHECK(largest(after, space) <= target.space(space).bytes);
      CHECK(largest(after, space) > 0);
    }
    const Compiled whole = compile(text, target);
    INFO(whole.error);
    CHECK(whole.ok);
  }
}

TEST_CASE("no pieces of any aligned size are estimated to be faster than the chosen ones") {
  for (const std::string name : {"a2a3", "a5"}) {
    const Target& target = target_named(name);
    for (uint64_t seed = 0; seed < 12; ++seed) {
      Random random(seed);
      const DType type = random.pick<DType>({DType::F16, DType::F32, DType::I8});
      const passes::MatmulCosts costs(target, type, type == DType::I8 ? DType::I32 : DType::F32, DType::F32);
      passes::L0Request request;
      const int64_t step = costs.col_step();
      request.tile = {16 * random.integer(1, 16), step * random.integer(1, 8), step * random.integer(1, 12)};
      request.grid = random.chance(60);
      request.streamed = random.chance(50);
      const auto chosen = passes::choose_l0(costs, request);
      REQUIRE(chosen.has_value());
      timing::Ticks best = chosen->time;
      for (int64_t m = request.grid ? 16 : request.tile.m; m <= request.tile.m; m += 16) {
        for (int64_t n = request.grid ? step : request.tile.n; n <= request.tile.n; n += step) {
          for (int64_t k = step; k <= request.tile.k; k += step) {
            for (int64_t slots = 0; slots < 4; ++slots) {
              passes::L0Plan plan{
                  {m, n, k}, passes::Stationary::Output, 1 + slots % 2, request.grid ? 1 + slots / 2 : 1, 0};
              best = std::min(best, passes::l0_time(costs, request, plan).value_or(best));
            }
          }
        }
      }
      INFO(name << " seed " << seed << ": " << request.tile.m << " x " << request.tile.n << " x " << request.tile.k);
      CHECK(static_cast<double>(chosen->time) <= 1.0 / 0.95 * static_cast<double>(best) + 1);
    }
  }
}

TEST_CASE("a second accumulator lets products run beside the store of the block before") {
  const std::string text =
      "kernel f[M, N, K](a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) {\n"
      "  parallel m in 0..M step 128, n in 0..N step 128 @P {\n"
      "    var acc = zeros(f32[128, 128]);\n"
      "    for k in 0..K step 64 {\n"
      "      acc += matmul(load(a[m :+ 128, k :+ 64]), load(b[k :+ 64, n :+ 128]));\n"
      "    }\n"
      "    store(c[m :+ 128, n :+ 128], acc);\n"
      "  }\n"
      "}\n";
  for (const std::string name : {"a2a3", "a5"}) {
    const Target& target = target_named(name);
    runtime::Arguments arguments;
    arguments.arrays["a"] = shape_only(DType::F32, {2048, 512});
    arguments.arrays["b"] = shape_only(DType::F32, {512, 2048});
    auto waits = [](const runtime::RunResult& result) {
      int64_t cycles = 0;
      for (const runtime::CoreStats& core : result.cores) {
        cycles += core.pipes[static_cast<size_t>(isa::Pipe::M)].stall[static_cast<size_t>(runtime::Stall::Flag)];
      }
      return cycles;
    };
    const auto one = timed(replaced(text, "@P", "pipeline 1"), target, arguments);
    const auto two = timed(replaced(text, "@P", "pipeline 2"), target, arguments);
    const auto chosen = timed(replaced(text, "@P", ""), target, arguments);
    CHECK(two.cycles < one.cycles);
    CHECK(waits(two) < waits(one));
    CHECK(chosen.cycles <= two.cycles);
  }
}

TEST_CASE("the depth that is chosen is about as fast as the best one that could be written") {
  const std::vector<std::string> texts = {
      "kernel f[M](a: f32[M, 1024], b: f32[M, 1024]) -> (c: f32[M, 1024]) {\n"
      "  parallel m in 0..M step 4 @P {\n"
      "    store(c[m :+ 4, 0 :+ 1024], load(a[m :+ 4, 0 :+ 1024]) + load(b[m :+ 4, 0 :+ 1024]));\n"
      "  }\n"
      "}\n",
      "kernel f[M](a: f32[M, 1024], b: f32[M, 1024]) -> (c: f32[M, 1024]) {\n"
      "  parallel m in 0..M step 16 {\n"
      "    for r in 0..4 @P {\n"
      "      store(c[m + r * 4 :+ 4, 0 :+ 1024], exp(load(a[m + r * 4 :+ 4, 0 :+ 1024]) * load(b[m + r * 4 :+ 4, 0 :+ "
      "1024])));\n"
      "    }\n"
      "  }\n"
      "}\n"};
  for (const std::string& text : texts) {
    for (const std::string name : {"a2a3", "a5"}) {
      const Target& target = target_named(name);
      runtime::Arguments arguments;
      arguments.arrays["a"] = shape_only(DType::F32, {4096, 1024});
      arguments.arrays["b"] = shape_only(DType::F32, {4096, 1024});
      int64_t best = timed(replaced(text, "@P", "pipeline 1"), target, arguments).cycles;
      const int64_t serial = best;
      for (const std::string depth : {"pipeline 2", "pipeline 3"}) {
        best = std::min(best, timed(replaced(text, "@P", depth), target, arguments).cycles);
      }
      const int64_t chosen = timed(replaced(text, "@P", ""), target, arguments).cycles;
      INFO(text << name << ": serial " << serial << ", best " << best << ", chosen " << chosen);
      CHECK(static_cast<double>(chosen) <= 1.03 * static_cast<double>(best));
    }
  }
}

}  // namespace pto::test
