// Programs that generated ones led to, each miscompiled, refused or changed by a round trip once, and forms that the
// generators don't make.
#include <catch2/catch.hpp>

#include "tests/property/check.h"
#include "tests/property/random.h"

using namespace pto::test;

namespace {

struct Input {
  const char* name;
  std::vector<int64_t> shape;
};
struct Regression {
  const char* what;
  const char* entry;
  const char* text;
  std::vector<Input> inputs;
  std::vector<const char*> results;
};

const std::vector<Regression> kRegressions = {
    {"the mean of a dynamic axis divides by a float", "g",
     "graph g[M, N](x: f32[M, N]) -> (y: f32[M, 1]) { y = mean(x, axis: -1, keepdims: true); }", {{"x", {9, 13}}}, {"y"}},
    {"an index expression is a float scalar in a kernel", "k",
     "kernel k[M, N](x: f32[M, N]) -> (y: f32[M, N]) {\n"
     "    parallel i in 0..M step 8, j in 0..N step 64 {\n"
     "        store(y[i :+ 8, j :+ 64], load(x[i :+ 8, j :+ 64]) * N);\n"
     "    }\n}\n",
     {{"x", {9, 70}}}, {"y"}},
    {"a row that is computed and written beside whole tensors", "g",
     "graph g[M, N = 41](x: f32[M, N], r: f32[N]) -> (y: f32[M, N], z: f32[N]) {\n"
     "    let t = abs(r) + 0.5;\n    y = x * t;\n    z = t;\n}\n",
     {{"x", {43, 41}}, {"r", {41}}}, {"y", "z"}},
    {"a row broadcast to a whole tensor", "g",
     "graph g[M, N = 41](x: f32[M, N], r: f32[N]) -> (y: f32[M, N], z: f32[M, N]) {\n"
     "    let t = broadcast(r, [M, N]);\n    y = t;\n    z = x - t;\n}\n",
     {{"x", {43, 41}}, {"r", {41}}}, {"y", "z"}},
    {"a column beside a row", "g",
     "graph g[M = 14, N](x: f32[M, N], c: f32[M, 1], r: f32[N]) -> (y: f32[M, N]) {\n"
     "    let t = c / (abs(r) + 0.5);\n    y = x / (abs(t) + 1.0);\n}\n",
     {{"x", {14, 12}}, {"c", {14, 1}}, {"r", {12}}}, {"y"}},
    {"masks of rows and columns choose whole tensors, twice", "g",
     "graph g[M, N = 12](x: f32[M, N], c: f32[M, 1], r: f32[N]) -> (a: f32[M, N], b: f32[M, N], d: f32[M, N]) {\n"
     "    let m = c < 0.5;\n    a = select(m, x, r);\n    let s = x * 2.0;\n    b = select(m, s - c, r);\n"
     "    d = select(r > r, x, r);\n}\n",
     {{"x", {14, 12}}, {"c", {14, 1}}, {"r", {12}}}, {"a", "b", "d"}},
    {"comparing columns", "g",
     "graph g[M, N](x: f32[M, N]) -> (y: f32[M, 1]) {\n"
     "    let a = max(x, axis: -1, keepdims: true);\n    let b = min(x, axis: -1, keepdims: true);\n"
     "    y = select(a < 1.5, b, a);\n}\n",
     {{"x", {33, 19}}}, {"y"}},
    {"a reduction over rows of one element", "g",
     "graph g[M = 34, N = 1](x: f32[M, N], z: f32[M, N]) -> (y: f32[M, N]) {\n"
     "    let t = sum(x, axis: -1, keepdims: true);\n    y = select(z < t, z, t);\n}\n",
     {{"x", {34, 1}}, {"z", {34, 1}}}, {"y"}},
    {"a group that sees its dims as a product only", "g",
     "graph g[M, N](x: f32[M, N], f: f32[M * N]) -> (y: f32[M * N], z: f32[M, N]) {\n"
     "    let t = reshape(f, [M, N]) * 2.0;\n    y = reshape(t, [M * N]);\n    z = abs(x);\n}\n",
     {{"x", {7, 9}}, {"f", {63}}}, {"y", "z"}},
    {"a constant larger than what is read", "g",
     "graph g[M, N](x: f32[M, N], c: f32[M, 1]) -> (y: f32[M, N], z: f32[M, 1]) {\n"
     "    y = c + full(f32[M, N], 0.5);\n    z = max(x, axis: -1, keepdims: true);\n}\n",
     {{"x", {11, 21}}, {"c", {11, 1}}}, {"y", "z"}},
    {"a fused graph with vector work behind a product is a mixed kernel", "g",
     "fused graph g[M, K, N](a: f32[M, K], b: f32[K, N], v: f32[N], r: f32[M, N]) -> (c: f32[M, N]) {\n"
     "    let t = matmul(a, b) + v;\n    c = relu(t * 0.25) * r;\n}\n",
     {{"a", {70, 8}}, {"b", {8, 150}}, {"v", {150}}, {"r", {70, 150}}}, {"c"}},
};

}  // namespace

TEST_CASE("programs that went wrong once") {
  for (const Regression& regression : kRegressions) {
    Generated program;
    program.entry = regression.entry;
    program.text = regression.text;
    Random random(7);
    for (const Input& input : regression.inputs) {
      int64_t count = 1;
      for (int64_t dim : input.shape) {
        count *= dim;
      }
      std::vector<double> values;
      for (int64_t i = 0; i < count; ++i) {
        values.push_back(random.real(-2, 2));
      }
      program.arguments.arrays[input.name] = make_array(pto::DType::F32, input.shape, values);
    }
    for (const char* result : regression.results) {
      program.bounds[result] = 1e-5;
    }
    for (const char* target : {"a2a3", "a5"}) {
      check_program(program, target, regression.what, {});
    }
  }
}
