// exp and log against the C library in double: every 251st f32, all f16.
#include <bit>

#include "sem_test_util.h"

namespace pto::test {
namespace {

using isa::Opcode;

constexpr int64_t kRow = 4096;

// Distance in units of the last place of f32 at the exact value.
double ulps(float got, double exact) {
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double ulp = std::ldexp(1.0, std::max(exponent - 24, -149));
  return std::fabs(static_cast<double>(got) - exact) / ulp;
}

template <class F>
double worst_error(Opcode opcode, F exact) {
  double worst = 0;
  Tile dst(DType::F32, 1, kRow);
  Tile src(DType::F32, 1, kRow);
  uint64_t next = 0;
  while (next < (uint64_t{1} << 32)) {
    for (int64_t c = 0; c < kRow; ++c, next += 251) {
      src.set_bits(0, c, next & 0xFFFFFFFFU);
    }
    sem::TileView views[] = {{dst.bytes.data(), dst.desc, dst.valid}, {src.bytes.data(), src.desc, src.valid}};
    sem::Args args;
    args.tiles = views;
    sem::execute(opcode, args);
    for (int64_t c = 0; c < kRow; ++c) {
      const double x = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(src.bits(0, c))));
      const auto got = std::bit_cast<float>(static_cast<uint32_t>(dst.bits(0, c)));
      const double want = exact(x);
      const auto rounded = static_cast<float>(want);
      if (!std::isfinite(rounded) || want == 0) {
        const bool same = std::isnan(want) ? dst.bits(0, c) == 0x7FC00000U : got == rounded;
        worst = same ? worst : INFINITY;
      } else {
        worst = std::max(worst, ulps(got, want));
      }
    }
  }
  return worst;
}

TEST_CASE("exp of f32 is within one unit of the last place") {
  const double worst = worst_error(Opcode::TExp, [](double x) { return std::exp(x); });
  CAPTURE(worst);
  CHECK(worst < 1.0);
}

TEST_CASE("log of f32 is within one unit of the last place") {
  const double worst = worst_error(Opcode::TLog, [](double x) { return std::log(x); });
  CAPTURE(worst);
  CHECK(worst < 1.0);
}

TEST_CASE("exp and log give the same bits at every level") {
  Rng rng(11);
  for (Opcode opcode : {Opcode::TExp, Opcode::TLog}) {
    for (DType type : {DType::F32, DType::F16}) {
      Tile dst(type, 8, kRow / 8);
      Tile src = dst;
      fill_bits(src, rng);
      run(opcode, {&dst, &src});
      Tile near(type, 8, kRow / 8);
      fill_real(near, rng);
      run(opcode, {&dst, &near});
    }
  }
}

TEST_CASE("exp and log of f16 are f32 results rounded once") {
  for (Opcode opcode : {Opcode::TExp, Opcode::TLog}) {
    Tile narrow_src(DType::F16, 16, kRow);
    Tile wide_src(DType::F32, 16, kRow);
    for (int64_t i = 0; i < 65536; ++i) {
      narrow_src.set_bits(i / kRow, i % kRow, static_cast<uint64_t>(i));
      wide_src.set_real(i / kRow, i % kRow, narrow_src.real(i / kRow, i % kRow));
    }
    Tile narrow_dst = narrow_src;
    Tile wide_dst = wide_src;
    run(opcode, {&narrow_dst, &narrow_src});
    run(opcode, {&wide_dst, &wide_src});
    check_tile(
        narrow_dst, narrow_dst.valid,
        [&](int64_t r, int64_t c) { return encode_float(DType::F16, wide_dst.real(r, c)); }, "f16");
  }
}

TEST_CASE("the fused exponential of a difference is tsub then texp") {
  Rng rng(12);
  for (DType type : {DType::F16, DType::F32}) {
    Tile dst(type, 8, 64, Valid{7, 61});
    Tile a = dst;
    fill_any(a, rng);
    Tile column(type, 8, 1, Valid{7, 1}, Layout::DN);
    fill_any(column, rng);
    Tile row(type, 1, 64, Valid{1, 61});
    fill_any(row, rng);
    for (bool along_rows : {true, false}) {
      Tile difference = dst;
      Tile expected = dst;
      Tile fused = dst;
      Tile* part = along_rows ? &column : &row;
      run(along_rows ? Opcode::TRowExpandSub : Opcode::TColExpandSub, {&difference, &a, part});
      run(Opcode::TExp, {&expected, &difference});
      run(along_rows ? Opcode::TRowExpandExpDif : Opcode::TColExpandExpDif, {&fused, &a, part});
      CHECK(fused.bytes == expected.bytes);
    }
  }
}

}  // namespace
}  // namespace pto::test
