// Values of one matrix multiplication, `ptorun`'s against OpenBLAS's sgemm, in the same process on one host thread, taking
// turns so that a change of the clock rate hits both: `gemm_bench gemm.ptobin SIZE`. One line of JSON.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#if defined(PTO_HAVE_OPENBLAS)
#include <cblas.h>
extern "C" void openblas_set_num_threads(int threads);
#endif

#include "pto/object.h"
#include "pto/runtime.h"
#include "src/support/convert.h"

namespace {

using pto::runtime::Array;

constexpr int kRounds = 5;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Small multiples of 1/8: exact in f16, and so are all sums of products in f32.
Array make_matrix(int64_t rows, int64_t columns, uint32_t seed) {
  Array array;
  array.dtype = pto::DType::F16;
  array.shape = {rows, columns};
  array.data.resize(static_cast<size_t>(rows * columns) * 2);
  uint32_t state = seed;
  for (int64_t i = 0; i < rows * columns; ++i) {
    state = state * 1664525u + 1013904223u;
    pto::store_real(array.dtype, array.data.data(), i, (static_cast<double>(state >> 28) - 7.5) / 8);
  }
  return array;
}

struct Blas {
  std::vector<float> a, b, c;
  int64_t size = 0;
  double best = 0;  // seconds; 0: there is no OpenBLAS
};

std::vector<float> as_floats(const Array& array) {
  std::vector<float> values(static_cast<size_t>(array.shape[0] * array.shape[1]));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(pto::load_real(array.dtype, array.data.data(), static_cast<int64_t>(i)));
  }
  return values;
}

void run_blas([[maybe_unused]] Blas& blas) {
#if defined(PTO_HAVE_OPENBLAS)
  openblas_set_num_threads(1);
  const int n = static_cast<int>(blas.size);
  const auto start = std::chrono::steady_clock::now();
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, blas.a.data(), n, blas.b.data(), n, 0.0f,
              blas.c.data(), n);
  const double seconds = seconds_since(start);
  blas.best = blas.best == 0 ? seconds : std::min(blas.best, seconds);
#endif
}

// Largest difference between the two results; 0 when there is nothing to compare with.
double difference(const Blas& blas, const Array& result) {
  double worst = 0;
  if (blas.best > 0) {
    for (size_t i = 0; i < blas.c.size(); ++i) {
      const double got = pto::load_real(result.dtype, result.data.data(), static_cast<int64_t>(i));
      worst = std::max(worst, std::fabs(got - static_cast<double>(blas.c[i])));
    }
  }
  return worst;
}

int measure(const char* path, int64_t size, pto::DiagnosticSink& sink) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  const auto object = pto::object::read(bytes, path, sink);
  if (!object || object->programs.empty()) {
    return pto::kExitBadInput;
  }
  const auto target = pto::builtin_target(object->target, sink);
  if (!target) {
    return pto::kExitBadInput;
  }
  pto::runtime::Arguments arguments;
  arguments.arrays["a"] = make_matrix(size, size, 1);
  arguments.arrays["b"] = make_matrix(size, size, 2);
  Blas blas;
  blas.size = size;
  blas.a = as_floats(arguments.arrays["a"]);
  blas.b = as_floats(arguments.arrays["b"]);
  blas.c.resize(static_cast<size_t>(size * size));

  pto::runtime::Options options;
  options.mode = pto::runtime::Mode::Values;
  options.threads = 1;
  double best = 0;
  double worst_difference = 0;
  for (int round = 0; round < kRounds; ++round) {
    run_blas(blas);
    const auto start = std::chrono::steady_clock::now();
    const auto result = pto::runtime::run(*object, object->programs.front(), *target, arguments, options, path, sink);
    const double seconds = seconds_since(start);
    if (result.status != pto::runtime::RunStatus::Ok) {
      return pto::kExitFault;
    }
    best = round == 0 ? seconds : std::min(best, seconds);
    worst_difference = difference(blas, result.outputs.at("c"));
  }
  const double flops = 2.0 * static_cast<double>(size * size * size);
  std::printf("{\"size\": %lld, \"ptorun_seconds\": %.6f, \"blas_seconds\": %.6f, \"gflops\": %.2f, \"difference\": %g}\n",
              static_cast<long long>(size), best, blas.best, flops / best / 1e9, worst_difference);
  return pto::kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: gemm_bench OBJECT SIZE\n");
    return pto::kExitUsage;
  }
  pto::DiagnosticSink sink;
  const int code = measure(argv[1], std::atoll(argv[2]), sink);
  std::fputs(pto::render_text(sink, nullptr, {}).c_str(), stderr);
  return code;
}
