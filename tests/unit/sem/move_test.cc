#include "sem_test_util.h"

namespace pto::test {
namespace {

using isa::Opcode;

constexpr Layout kLayouts[] = {Layout::ND, Layout::DN, Layout::Nz, Layout::Zn, Layout::Zz, Layout::Nn};
constexpr DType kMoved[] = {DType::I8,   DType::U16, DType::I32,    DType::U64,    DType::F16,
                            DType::BF16, DType::F32, DType::F8E4M3, DType::F8E5M2, DType::HiF8};

struct Gm {
  DType dtype;
  int64_t rows;
  int64_t cols;
  std::vector<std::byte> bytes;
  Gm(DType type, int64_t r, int64_t c) : dtype(type), rows(r), cols(c) {
    bytes.assign(static_cast<size_t>(byte_size(type, r * c)), kPoison);
  }
  sem::GmView window(int64_t r, int64_t c) { return {bytes.data() + byte_size(dtype, r * cols + c), dtype, cols, 1}; }
  uint64_t bits(int64_t r, int64_t c) const {
    uint64_t value = 0;
    const int64_t size = byte_size(dtype);
    std::memcpy(&value, bytes.data() + (r * cols + c) * size, static_cast<size_t>(size));
    return value;
  }
};

TEST_CASE("the layout numbers of the reference") {
  struct Case {
    DType type;
    Layout layout;
    Space space;
    int64_t offset;
  };
  const Case cases[] = {
      {DType::F16, Layout::ND, Space::Vec, 612},  {DType::F16, Layout::Nz, Space::Mat, 308},
      {DType::F16, Layout::Zz, Space::Left, 564}, {DType::F16, Layout::Zn, Space::Right, 579},
      {DType::F16, Layout::DN, Space::Vec, 147},  {DType::F32, Layout::Nz, Space::Acc, 308},
  };
  Rng rng(41);
  for (const Case& test : cases) {
    Gm gm(test.type, 32, 32);
    for (std::byte& byte : gm.bytes) {
      byte = static_cast<std::byte>(rng());
    }
    Tile tile(test.type, 32, 32, test.layout, test.space);
    sem::Args args;
    args.gm = gm.window(0, 0);
    run(Opcode::TLoad, {&tile}, args, &gm.bytes);
    const int64_t size = byte_size(test.type);
    CHECK(std::memcmp(tile.bytes.data() + test.offset * size, gm.bytes.data() + (19 * 32 + 4) * size,
                      static_cast<size_t>(size)) == 0);
  }
}

TEST_CASE("loads and stores move windows between global memory and every layout") {
  Rng rng(42);
  for (DType type : kMoved) {
    for (Layout layout : kLayouts) {
      for (const Valid valid : {Valid{32, 64}, Valid{0, 5}, Valid{1, 1}, Valid{17, 33}, Valid{31, 63}, Valid{16, 32}}) {
        Gm gm(type, 40, 70);
        for (std::byte& byte : gm.bytes) {
          byte = static_cast<std::byte>(rng());
        }
        Tile tile(type, 32, 64, valid, layout, Space::Mat);
        sem::Args args;
        args.gm = gm.window(3, 5);
        run(Opcode::TLoad, {&tile}, args, &gm.bytes);
        check_tile(
            tile, valid, [&](int64_t r, int64_t c) { return gm.bits(r + 3, c + 5); },
            "tload " + std::string(spelling(layout)));

        Gm out(type, 40, 70);
        args.gm = out.window(2, 4);
        run(Opcode::TStore, {&tile}, args, &out.bytes);
        const uint64_t poison = truncated(type, static_cast<int64_t>(0xA5A5A5A5A5A5A5A5U));
        int64_t wrong = 0;
        for (int64_t r = 0; r < out.rows; ++r) {
          for (int64_t c = 0; c < out.cols; ++c) {
            const bool inside = r >= 2 && r < 2 + valid.rows && c >= 4 && c < 4 + valid.cols;
            wrong += out.bits(r, c) != (inside ? gm.bits(r + 1, c + 1) : poison) ? 1 : 0;
          }
        }
        INFO("tstore " << spelling(type) << " " << spelling(layout));
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("global memory may be strided along columns too") {
  Rng rng(43);
  Gm gm(DType::F16, 64, 64);
  for (std::byte& byte : gm.bytes) {
    byte = static_cast<std::byte>(rng());
  }
  Tile tile(DType::F16, 32, 32, Valid{20, 21}, Layout::Nz, Space::Mat);
  sem::Args args;
  args.gm = gm.window(1, 2);
  args.gm.row_stride = 1;
  args.gm.col_stride = 64;  // the transpose of the window
  run(Opcode::TLoad, {&tile}, args, &gm.bytes);
  check_tile(
      tile, tile.valid, [&](int64_t r, int64_t c) { return gm.bits(c + 1, r + 2); }, "transposed");
}

TEST_CASE("moves and extracts convert between every two layouts") {
  Rng rng(44);
  for (DType type : kMoved) {
    for (Layout from : kLayouts) {
      for (Layout to : kLayouts) {
        const Valid valid{static_cast<int64_t>(rng() % 33), static_cast<int64_t>(rng() % 65)};
        Tile src(type, 32, 64, valid, from, Space::Mat);
        fill_bits(src, rng);
        Tile dst(type, 32, 64, valid, to, Space::Mat);
        run(Opcode::TMov, {&dst, &src});
        check_tile(
            dst, valid, [&](int64_t r, int64_t c) { return src.bits(r, c); },
            "tmov " + std::string(spelling(from)) + " " + std::string(spelling(to)));

        Tile big(type, 64, 128, from, Space::Mat);
        fill_bits(big, rng);
        sem::Args args;
        args.index[0] = static_cast<int64_t>(rng() % 33);
        args.index[1] = static_cast<int64_t>(rng() % 65);
        Tile part(type, 32, 64, Valid{static_cast<int64_t>(rng() % 33), static_cast<int64_t>(rng() % 65)}, to,
                  Space::Mat);
        run(Opcode::TExtract, {&part, &big}, args);
        check_tile(
            part, part.valid, [&](int64_t r, int64_t c) { return big.bits(r + args.index[0], c + args.index[1]); },
            "textract " + std::string(spelling(from)) + " " + std::string(spelling(to)));
      }
    }
  }
}

TEST_CASE("an accumulator is rounded to the element type of its destination") {
  Rng rng(45);
  for (DType to : {DType::F32, DType::F16, DType::BF16}) {
    for (const Valid valid : {Valid{32, 48}, Valid{19, 37}, Valid{1, 1}}) {
      Tile acc(DType::F32, 32, 48, valid, Layout::Nz, Space::Acc);
      fill_real(acc, rng);
      const auto expected = [&](int64_t r, int64_t c) {
        return to == DType::F32 ? acc.bits(r, c) : encode_float(to, acc.real(r, c));
      };
      Gm gm(to, 32, 48);
      sem::Args args;
      args.gm = gm.window(0, 0);
      run(Opcode::TStore, {&acc}, args, &gm.bytes);
      int64_t wrong = 0;
      for (int64_t r = 0; r < valid.rows; ++r) {
        for (int64_t c = 0; c < valid.cols; ++c) {
          wrong += gm.bits(r, c) != expected(r, c) ? 1 : 0;
        }
      }
      CHECK(wrong == 0);
      Tile mat(to, 32, 48, valid, Layout::Nz, Space::Mat);
      run(Opcode::TMov, {&mat, &acc});
      check_tile(mat, valid, expected, "tmov from acc");
      Tile column_major(to, 32, 48, valid, Layout::Zn, Space::Mat);
      run(Opcode::TMov, {&column_major, &acc});
      check_tile(column_major, valid, expected, "tmov from acc to zn");
    }
  }
}

TEST_CASE("an integer accumulator is stored as it is") {
  Rng rng(46);
  Tile acc(DType::I32, 16, 32, Valid{13, 29}, Layout::Nz, Space::Acc);
  fill_bits(acc, rng);
  Gm gm(DType::I32, 16, 32);
  sem::Args args;
  args.gm = gm.window(0, 0);
  run(Opcode::TStore, {&acc}, args, &gm.bytes);
  for (int64_t r = 0; r < 13; ++r) {
    for (int64_t c = 0; c < 29; ++c) {
      REQUIRE(gm.bits(r, c) == acc.bits(r, c));
    }
  }
}

TEST_CASE("a bias row is widened") {
  Rng rng(47);
  for (DType from : {DType::F16, DType::BF16}) {
    Tile src(from, 1, 48, Valid{1, 43}, Layout::ND, Space::Mat);
    fill_real(src, rng, ordinary_real);
    Tile bias(DType::F32, 1, 48, Valid{1, 43}, Layout::ND, Space::Bias);
    run(Opcode::TMov, {&bias, &src});
    check_tile(
        bias, bias.valid, [&](int64_t r, int64_t c) { return encode_float(DType::F32, src.real(r, c)); }, "bias");
  }
}

TEST_CASE("padding fills everything outside the valid region") {
  Rng rng(48);
  for (DType type : kAllTypes) {
    for (Layout layout : {Layout::ND, Layout::Nz}) {
      for (isa::Pad pad : {isa::Pad::Zero, isa::Pad::Max, isa::Pad::Min}) {
        const Valid valid{static_cast<int64_t>(rng() % 17), static_cast<int64_t>(rng() % 33)};
        Tile src(type, 16, 32, valid, layout, Space::Vec);
        fill_bits(src, rng);
        Tile dst(type, 32, 64, layout, Space::Vec);
        Tile value(type, 1, 1);
        const bool max = pad == isa::Pad::Max;
        if (pad == isa::Pad::Zero) {
          value.set_bits(0, 0, 0);
        } else if (is_float(type)) {
          value.set_real(0, 0, max ? INFINITY : -INFINITY);
        } else if (dtype_class(type) == DTypeClass::UInt) {
          value.set_bits(0, 0, max ? ~uint64_t{0} : 0);
        } else {
          value.set_bits(0, 0, (uint64_t{1} << (bit_width(type) - 1)) - (max ? 1 : 0));
        }
        sem::Args args;
        args.pad = pad;
        run(Opcode::TFillPad, {&dst, &src}, args);
        const auto expected = [&](int64_t r, int64_t c) {
          return r < valid.rows && c < valid.cols ? src.bits(r, c) : value.bits(0, 0);
        };
        check_tile(dst, dst.valid, expected, "tfillpad");

        Tile same = src;  // in place: the source is its own destination
        sem::TileView views[] = {{same.bytes.data(), same.desc, Valid{16, 32}}, {same.bytes.data(), same.desc, valid}};
        args.tiles = views;
        sem::execute(Opcode::TFillPad, args);
        check_tile(same, Valid{16, 32}, expected, "tfillpad in place");
      }
    }
  }
}

TEST_CASE("fills and counts") {
  for (DType type : kAllTypes) {
    for (Layout layout : {Layout::ND, Layout::Nz, Layout::Zn}) {
      Tile dst(type, 32, 64, Valid{9, 43}, layout, Space::Mat);
      Tile scalar(type, 1, 1);
      sem::Args args;
      args.real = 0.1;
      args.integer = -7;
      is_float(type) ? scalar.set_real(0, 0, args.real) : scalar.set_int(0, 0, args.integer);
      run(Opcode::TExpands, {&dst}, args);
      check_tile(
          dst, dst.valid, [&](int64_t, int64_t) { return scalar.bits(0, 0); }, "texpands");
    }
  }
  for (DType type : {DType::I16, DType::U16, DType::I32, DType::U32}) {
    Tile dst(type, 4, 64, Valid{3, 43});
    sem::Args args;
    args.integer = max_of_integer(type) - 20;
    run(Opcode::TCi, {&dst}, args);
    check_tile(
        dst, Valid{1, 43}, [&](int64_t, int64_t c) { return truncated(type, args.integer + c); }, "tci");
  }
}

}  // namespace
}  // namespace pto::test
