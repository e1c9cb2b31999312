// How fast single instructions run on one thread: GFLOP/s of a tile matrix product, GB/s of elementwise instructions
// and moves. Prints one line an instruction and SIMD level; the levels are those this host has.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "src/sem/sem.h"
#include "src/support/convert.h"

namespace {

using namespace pto;

struct Tile {
  std::vector<std::byte> bytes;
  sem::TileView view;
  Tile(DType dtype, int64_t rows, int64_t cols, Layout layout, Space space) {
    view.desc = {dtype, rows, cols, layout, space};
    view.valid = {rows, cols};
    bytes.resize(static_cast<size_t>(view.desc.bytes()));
    for (int64_t i = 0; i < rows * cols; ++i) {
      store_real(dtype, bytes.data(), i, static_cast<double>(i * 7 % 13 - 6) / 4);
    }
    view.data = bytes.data();
  }
};

double seconds_a_call(isa::Opcode opcode, const sem::Args& args) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int attempt = 0; attempt < 5; ++attempt) {
    int64_t calls = 0;
    const auto start = Clock::now();
    double elapsed = 0;
    while (elapsed < 0.04) {
      for (int i = 0; i < 8; ++i) {
        sem::execute(opcode, args);
      }
      calls += 8;
      elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    }
    best = std::min(best, elapsed / static_cast<double>(calls));
  }
  return best;
}

void report(const char* level, const std::string& name, double amount, const char* unit, double seconds) {
  std::printf("%-8s %-22s %9.2f %s  %8.2f us\n", level, name.c_str(), amount / seconds / 1e9, unit, seconds * 1e6);
}

void bench_matmul(const char* level, DType dtype) {
  constexpr int64_t kM = 128;
  constexpr int64_t kK = 64;
  constexpr int64_t kN = 256;
  const DType result = dtype == DType::I8 ? DType::I32 : DType::F32;
  Tile c(result, kM, kN, Layout::Nz, Space::Acc);
  Tile a(dtype, kM, kK, Layout::Zz, Space::Left);
  Tile b(dtype, kK, kN, Layout::Zn, Space::Right);
  sem::TileView tiles[] = {c.view, a.view, b.view};
  sem::Args args;
  args.tiles = tiles;
  report(level, "tmatmul_acc " + std::string(spelling(dtype)), 2.0 * kM * kK * kN, "GFLOP/s",
         seconds_a_call(isa::Opcode::TMatMulAcc, args));
}

void bench_elementwise(const char* level, isa::Opcode opcode, DType dtype, DType from) {
  constexpr int64_t kRows = 32;
  constexpr int64_t kCols = 256;
  Tile dst(dtype, kRows, kCols, Layout::ND, Space::Vec);
  Tile a(from, kRows, kCols, Layout::ND, Space::Vec);
  Tile b(from, kRows, kCols, Layout::ND, Space::Vec);
  const isa::Format format = isa::info(opcode).format;
  std::vector<sem::TileView> tiles = {dst.view, a.view};
  if (format == isa::Format::Binary) {
    tiles.push_back(b.view);
  }
  sem::Args args;
  args.tiles = tiles;
  double bytes = 0;
  for (const sem::TileView& tile : tiles) {
    bytes += static_cast<double>(tile.desc.bytes());
  }
  report(level, std::string(isa::info(opcode).mnemonic) + " " + std::string(spelling(from)), bytes, "GB/s   ",
         seconds_a_call(opcode, args));
}

void bench_move(const char* level, const char* name, Tile dst, Tile src) {
  sem::TileView tiles[] = {dst.view, src.view};
  tiles[0].data = dst.bytes.data();
  tiles[1].data = src.bytes.data();
  sem::Args args;
  args.tiles = tiles;
  report(level, name, static_cast<double>(dst.view.desc.bytes() + src.view.desc.bytes()), "GB/s   ",
         seconds_a_call(isa::Opcode::TMov, args));
}

void bench_level(const char* level) {
  for (DType dtype : {DType::F16, DType::BF16, DType::F32, DType::I8}) {
    bench_matmul(level, dtype);
  }
  for (DType dtype : {DType::F32, DType::F16}) {
    bench_elementwise(level, isa::Opcode::TAdd, dtype, dtype);
    bench_elementwise(level, isa::Opcode::TMax, dtype, dtype);
    bench_elementwise(level, isa::Opcode::TExp, dtype, dtype);
    bench_elementwise(level, isa::Opcode::TRowSum, dtype, dtype);
    bench_elementwise(level, isa::Opcode::TColSum, dtype, dtype);
  }
  bench_elementwise(level, isa::Opcode::TCvt, DType::F16, DType::F32);
  const auto tile = [](Layout layout, Space space) { return Tile(DType::F16, 64, 256, layout, space); };
  bench_move(level, "tmov nd -> nz", tile(Layout::Nz, Space::Mat), tile(Layout::ND, Space::Mat));
  bench_move(level, "tmov nz -> zz", tile(Layout::Zz, Space::Left), tile(Layout::Nz, Space::Mat));
  bench_move(level, "tmov nz -> zn", tile(Layout::Zn, Space::Right), tile(Layout::Nz, Space::Mat));
  bench_move(level, "tmov acc f32 -> f16 nd", tile(Layout::ND, Space::Mat),
             Tile(DType::F32, 64, 256, Layout::Nz, Space::Acc));
}

}  // namespace

int main() {
  for (int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    const char* name = hwy::TargetName(target);
    if (std::strcmp(name, "AVX3") == 0 || std::strcmp(name, "AVX2") == 0 || target == HWY_STATIC_TARGET) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      bench_level(name);
      hwy::SetSupportedTargetsForTest(0);
    }
  }
  return 0;
}
