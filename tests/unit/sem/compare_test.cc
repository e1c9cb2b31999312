#include "sem_test_util.h"

namespace pto::test {
namespace {

using isa::Cmp;
using isa::Opcode;

template <class T>
bool holds(Cmp cmp, T a, T b) {
  switch (cmp) {
    case Cmp::Eq:
      return a == b;
    case Cmp::Ne:
      return a != b;
    case Cmp::Lt:
      return a < b;
    case Cmp::Le:
      return a <= b;
    case Cmp::Gt:
      return a > b;
    case Cmp::Ge:
      return a >= b;
  }
  return false;
}

bool compared(Cmp cmp, const Tile& a, int64_t r, int64_t c, const Tile& b, int64_t br, int64_t bc) {
  if (is_float(a.desc.dtype)) {
    return holds(cmp, a.real(r, c), b.real(br, bc));
  }
  if (a.desc.dtype == DType::U64) {
    return holds(cmp, static_cast<uint64_t>(a.integer(r, c)), static_cast<uint64_t>(b.integer(br, bc)));
  }
  return holds(cmp, a.integer(r, c), b.integer(br, bc));
}

// Values that are often equal.
void fill_close(Tile& tile, Rng& rng) {
  for (int64_t r = 0; r < tile.valid.rows; ++r) {
    for (int64_t c = 0; c < tile.valid.cols; ++c) {
      const double x = static_cast<double>(rng() % 5) - 2;
      rng() % 8 == 0 ? tile.set_real(r, c, awkward_real(rng)) : tile.set_real(r, c, x);
    }
  }
}

// The mask as bytes: bit c of a row, behind it zero up to the end of the last valid element.
template <class F>
void check_mask(const Tile& mask, Valid data, F bit, const std::string& what) {
  const int64_t pitch = byte_size(mask.desc.dtype, mask.desc.cols);
  const int64_t written = byte_size(mask.desc.dtype, mask.valid.cols);
  int64_t wrong = 0;
  for (int64_t r = 0; r < mask.desc.rows; ++r) {
    for (int64_t i = 0; i < pitch; ++i) {
      unsigned want = 0;
      for (int64_t j = 0; j < 8; ++j) {
        const int64_t c = i * 8 + j;
        want |= c < data.cols && r < data.rows && bit(r, c) ? 1U << j : 0U;
      }
      if (r >= data.rows || i >= written) {
        want = std::to_integer<unsigned>(kPoison);
      }
      wrong += std::to_integer<unsigned>(mask.bytes[static_cast<size_t>(r * pitch + i)]) != want ? 1 : 0;
    }
  }
  INFO(what);
  CHECK(wrong == 0);
}

Tile mask_for(DType type, int64_t rows, Valid data) {
  const int64_t elements = (data.cols + bit_width(type) - 1) / bit_width(type);
  return Tile(type, rows, padded_cols(type, elements), Valid{data.rows, elements});
}

TEST_CASE("comparisons pack one bit a column") {
  Rng rng(31);
  for (DType type : kAllTypes) {
    for (DType mask_type : {DType::U8, DType::U32}) {
      for (int64_t cols : {1, 7, 8, 10, 31, 63, 64, 65, 67, 130}) {
        for (int cmp = 0; cmp < 6; ++cmp) {
          const Valid valid{static_cast<int64_t>(rng() % 4), cols};
          Tile a(type, 4, padded_cols(type, cols), valid);
          Tile b = a;
          fill_close(a, rng);
          fill_close(b, rng);
          sem::Args args;
          args.cmp = static_cast<Cmp>(cmp);
          Tile mask = mask_for(mask_type, 4, valid);
          run(Opcode::TCmp, {&mask, &a, &b}, args);
          check_mask(
              mask, valid, [&](int64_t r, int64_t c) { return compared(args.cmp, a, r, c, b, r, c); },
              "tcmp " + std::string(spelling(type)));

          Tile scalar(type, 1, 1);
          args.real = static_cast<double>(rng() % 5) - 2;
          args.integer = static_cast<int64_t>(rng() % 3);
          is_float(type) ? scalar.set_real(0, 0, args.real) : scalar.set_int(0, 0, args.integer);
          Tile other = mask_for(mask_type, 4, valid);
          run(Opcode::TCmps, {&other, &a}, args);
          check_mask(
              other, valid, [&](int64_t r, int64_t c) { return compared(args.cmp, a, r, c, scalar, 0, 0); },
              "tcmps " + std::string(spelling(type)));
        }
      }
    }
  }
}

TEST_CASE("the packed bits of the reference example") {
  Tile a(DType::F32, 1, 16, Valid{1, 10});
  Tile b = a;
  const int expected[] = {1, 0, 1, 1, 0, 0, 0, 0, 1, 0};
  for (int64_t c = 0; c < 10; ++c) {
    a.set_real(0, c, static_cast<double>(c));
    b.set_real(0, c, static_cast<double>(c) + (expected[c] != 0 ? 1 : -1));
  }
  Tile mask(DType::U8, 1, 32, Valid{1, 2});
  sem::Args args;
  args.cmp = Cmp::Lt;
  run(Opcode::TCmp, {&mask, &a, &b}, args);
  CHECK(mask.bytes[0] == std::byte{0x0D});
  CHECK(mask.bytes[1] == std::byte{0x01});
  CHECK(mask.bytes[2] == kPoison);
}

TEST_CASE("selections read the masks that comparisons write") {
  Rng rng(32);
  for (DType type : kAllTypes) {
    for (DType mask_type : {DType::U8, DType::U32}) {
      for (int64_t cols = 1; cols <= 140; cols += 1 + cols / 9) {
        const Valid valid{static_cast<int64_t>(rng() % 4), cols};
        Tile mask = mask_for(mask_type, 4, valid);
        const Valid region = mask.valid;
        mask.valid = {4, mask.desc.cols};
        fill_bits(mask, rng);
        mask.valid = region;
        const auto bit = [&](int64_t r, int64_t c) {
          const int64_t pitch = byte_size(mask_type, mask.desc.cols);
          return (std::to_integer<unsigned>(mask.bytes[static_cast<size_t>(r * pitch + c / 8)]) >> (c % 8) & 1U) != 0;
        };
        Tile dst(type, 4, padded_cols(type, cols), valid);
        Tile a = dst;
        Tile b = dst;
        fill_bits(a, rng);
        fill_bits(b, rng);
        run(Opcode::TSel, {&dst, &mask, &a, &b});
        check_tile(
            dst, valid, [&](int64_t r, int64_t c) { return bit(r, c) ? a.bits(r, c) : b.bits(r, c); }, "tsel");

        Tile other(type, 4, padded_cols(type, cols), valid);
        Tile scalar(type, 1, 1);
        sem::Args args;
        args.real = ordinary_real(rng);
        args.integer = static_cast<int64_t>(rng());
        is_float(type) ? scalar.set_real(0, 0, args.real) : scalar.set_int(0, 0, args.integer);
        run(Opcode::TSels, {&other, &mask, &a}, args);
        check_tile(
            other, valid, [&](int64_t r, int64_t c) { return bit(r, c) ? a.bits(r, c) : scalar.bits(0, 0); }, "tsels");
      }
    }
  }
}

}  // namespace
}  // namespace pto::test
