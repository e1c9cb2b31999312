#include "sem_test_util.h"

namespace pto::test {
namespace {

using isa::Opcode;

enum class Op { Add, Sub, Mul, Div, Max, Min };

double real_result(Op op, double a, double b) {
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return a / b;
    default:
      break;
  }
  if (std::isnan(a) || std::isnan(b)) {
    return NAN;
  }
  const bool a_is_less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
  return (op == Op::Min) == a_is_less ? a : b;
}

template <class T>
int64_t int_result(Op op, uint64_t x, uint64_t y) {
  const auto a = static_cast<T>(x);
  const auto b = static_cast<T>(y);
  switch (op) {
    case Op::Add:
      return static_cast<int64_t>(x + y);
    case Op::Sub:
      return static_cast<int64_t>(x - y);
    case Op::Mul:
      return static_cast<int64_t>(x * y);
    case Op::Div: {
      if (b == 0) {
        return 0;
      }
      if (std::is_signed_v<T> && y == ~uint64_t{0}) {
        return static_cast<int64_t>(0 - x);
      }
      return static_cast<int64_t>(a / b);
    }
    case Op::Max:
      return static_cast<int64_t>(a > b ? a : b);
    case Op::Min:
      return static_cast<int64_t>(a < b ? a : b);
  }
  return 0;
}

uint64_t binary_result(Op op, DType type, const Tile& a, int64_t ar, int64_t ac, const Tile& b, int64_t br,
                       int64_t bc) {
  if (is_float(type)) {
    return float_result(type, real_result(op, a.real(ar, ac), b.real(br, bc)));
  }
  const auto x = static_cast<uint64_t>(a.integer(ar, ac));
  const auto y = static_cast<uint64_t>(b.integer(br, bc));
  const bool is_signed = dtype_class(type) == DTypeClass::Int;
  return truncated(type, is_signed ? int_result<int64_t>(op, x, y) : int_result<uint64_t>(op, x, y));
}

struct Instr {
  Op op;
  Opcode opcode;
};
constexpr Instr kBinary[] = {{Op::Add, Opcode::TAdd}, {Op::Sub, Opcode::TSub}, {Op::Mul, Opcode::TMul},
                             {Op::Div, Opcode::TDiv}, {Op::Max, Opcode::TMax}, {Op::Min, Opcode::TMin}};
constexpr Instr kScalarRight[] = {{Op::Add, Opcode::TAdds}, {Op::Sub, Opcode::TSubs}, {Op::Mul, Opcode::TMuls},
                                  {Op::Div, Opcode::TDivs}, {Op::Max, Opcode::TMaxs}, {Op::Min, Opcode::TMins}};
constexpr Instr kScalarLeft[] = {{Op::Sub, Opcode::TRsubs}, {Op::Div, Opcode::TRdivs}};
constexpr Instr kRowExpand[] = {{Op::Add, Opcode::TRowExpandAdd}, {Op::Sub, Opcode::TRowExpandSub},
                                {Op::Mul, Opcode::TRowExpandMul}, {Op::Div, Opcode::TRowExpandDiv},
                                {Op::Max, Opcode::TRowExpandMax}, {Op::Min, Opcode::TRowExpandMin}};
constexpr Instr kColExpand[] = {{Op::Add, Opcode::TColExpandAdd}, {Op::Sub, Opcode::TColExpandSub},
                                {Op::Mul, Opcode::TColExpandMul}, {Op::Div, Opcode::TColExpandDiv},
                                {Op::Max, Opcode::TColExpandMax}, {Op::Min, Opcode::TColExpandMin}};

TEST_CASE("binary instructions match scalar loops for every type and width") {
  Rng rng(1);
  for (DType type : kAllTypes) {
    for (const Instr& instr : kBinary) {
      for (int64_t cols = 1; cols <= 67; cols += cols < 18 || cols > 60 ? 1 : 7) {
        const auto rows = static_cast<int64_t>(rng() % 4);
        Tile dst(type, 4, padded_cols(type, cols), Valid{rows, cols});
        Tile a = dst;
        Tile b = dst;
        fill_any(a, rng);
        fill_any(b, rng);
        run(instr.opcode, {&dst, &a, &b});
        check_tile(
            dst, dst.valid, [&](int64_t r, int64_t c) { return binary_result(instr.op, type, a, r, c, b, r, c); },
            std::string(isa::info(instr.opcode).mnemonic));
      }
    }
  }
}

TEST_CASE("binary instructions work on columns, in place, and on whole tiles") {
  Rng rng(2);
  for (DType type : {DType::F32, DType::F16, DType::I32}) {
    Tile dst(type, 48, 1, Valid{37, 1}, Layout::DN);
    Tile a = dst;
    Tile b = dst;
    fill_any(a, rng);
    fill_any(b, rng);
    run(Opcode::TSub, {&dst, &a, &b});
    check_tile(
        dst, dst.valid, [&](int64_t r, int64_t c) { return binary_result(Op::Sub, type, a, r, c, b, r, c); }, "column");

    Tile whole(type, 5, 64);
    Tile other = whole;
    fill_any(whole, rng);
    fill_any(other, rng);
    const Tile old = whole;
    sem::TileView views[] = {{whole.bytes.data(), whole.desc, whole.valid},
                             {whole.bytes.data(), whole.desc, whole.valid},
                             {other.bytes.data(), other.desc, other.valid}};
    sem::Args args;
    args.tiles = views;
    sem::execute(Opcode::TAdd, args);
    check_tile(
        whole, whole.valid, [&](int64_t r, int64_t c) { return binary_result(Op::Add, type, old, r, c, other, r, c); },
        "in place");
  }
}

TEST_CASE("binary instructions accept layouts that are not rows") {
  Rng rng(3);
  for (Layout layout : {Layout::DN, Layout::Nz, Layout::Zz, Layout::Zn, Layout::Nn}) {
    Tile dst(DType::F16, 32, 48, Valid{29, 35}, layout);
    Tile a(DType::F16, 32, 48, Valid{29, 35}, Layout::ND);
    Tile b(DType::F16, 32, 48, Valid{29, 35}, layout);
    fill_any(a, rng);
    fill_any(b, rng);
    run(Opcode::TMul, {&dst, &a, &b});
    check_tile(
        dst, dst.valid, [&](int64_t r, int64_t c) { return binary_result(Op::Mul, DType::F16, a, r, c, b, r, c); },
        "layout " + std::string(spelling(layout)));
  }
}

TEST_CASE("scalar instructions match scalar loops") {
  Rng rng(4);
  for (DType type : kAllTypes) {
    for (int64_t cols : {1, 7, 16, 33, 67}) {
      for (int side = 0; side < 2; ++side) {
        const std::span<const Instr> instrs = side == 0 ? std::span<const Instr>(kScalarRight) : kScalarLeft;
        for (const Instr& instr : instrs) {
          Tile dst(type, 3, padded_cols(type, cols), Valid{3, cols});
          Tile a = dst;
          fill_any(a, rng);
          Tile scalar(type, 1, 1);
          sem::Args args;
          args.real = awkward_real(rng);
          args.integer = static_cast<int64_t>(rng() >> (rng() % 64));
          is_float(type) ? scalar.set_real(0, 0, args.real) : scalar.set_int(0, 0, args.integer);
          run(instr.opcode, {&dst, &a}, args);
          check_tile(
              dst, dst.valid,
              [&](int64_t r, int64_t c) {
                return side == 0 ? binary_result(instr.op, type, a, r, c, scalar, 0, 0)
                                 : binary_result(instr.op, type, scalar, 0, 0, a, r, c);
              },
              std::string(isa::info(instr.opcode).mnemonic));
        }
      }
    }
  }
}

TEST_CASE("expansions repeat a column or a row on either side and keep the order") {
  Rng rng(5);
  for (DType type : kAllTypes) {
    for (int64_t cols : {1, 9, 32, 67}) {
      for (int variant = 0; variant < 6; ++variant) {
        const bool along_rows = variant < 4;
        const bool left = variant % 2 == 0;
        const bool dn = variant < 2;
        const Valid valid{5, cols};
        Tile dst(type, 8, padded_cols(type, cols), valid);
        Tile full = dst;
        Tile part = along_rows ? Tile(type, 8, dn ? 1 : padded_cols(type, 1), Valid{5, 1}, dn ? Layout::DN : Layout::ND)
                               : Tile(type, 1, dst.desc.cols, Valid{1, cols});
        fill_any(full, rng);
        fill_any(part, rng);
        const Instr& instr = (along_rows ? kRowExpand : kColExpand)[rng() % 6];
        left ? run(instr.opcode, {&dst, &part, &full}) : run(instr.opcode, {&dst, &full, &part});
        check_tile(
            dst, valid,
            [&](int64_t r, int64_t c) {
              const int64_t pr = along_rows ? r : 0;
              const int64_t pc = along_rows ? 0 : c;
              return left ? binary_result(instr.op, type, part, pr, pc, full, r, c)
                          : binary_result(instr.op, type, full, r, c, part, pr, pc);
            },
            std::string(isa::info(instr.opcode).mnemonic));
      }
    }
  }
}

TEST_CASE("broadcasts copy bits") {
  Rng rng(6);
  for (DType type : kAllTypes) {
    Tile dst(type, 7, padded_cols(type, 45), Valid{6, 45});
    Tile column(type, 7, 1, Layout::DN);
    Tile row(type, 1, dst.desc.cols);
    fill_bits(column, rng);
    fill_bits(row, rng);
    run(Opcode::TRowExpand, {&dst, &column});
    check_tile(
        dst, dst.valid, [&](int64_t r, int64_t) { return column.bits(r, 0); }, "trowexpand");
    run(Opcode::TColExpand, {&dst, &row});
    check_tile(
        dst, dst.valid, [&](int64_t, int64_t c) { return row.bits(0, c); }, "tcolexpand");
  }
}

uint64_t unary_bits(Opcode opcode, DType type, const Tile& a, int64_t r, int64_t c) {
  const uint64_t sign = uint64_t{1} << (bit_width(type) - 1);
  if (is_float(type)) {
    const double x = a.real(r, c);
    const auto f = static_cast<float>(x);
    switch (opcode) {
      case Opcode::TAbs:
        return a.bits(r, c) & ~sign;
      case Opcode::TNeg:
        return a.bits(r, c) ^ sign;
      case Opcode::TSqrt:
        return float_result(type, std::sqrt(x));
      case Opcode::TRsqrt:
        return float_result(type, static_cast<double>(1.0F / std::sqrt(f)));
      case Opcode::TRecip:
        return float_result(type, 1 / x);
      default:
        return float_result(type, real_result(Op::Max, x, 0.0));
    }
  }
  const int64_t x = a.integer(r, c);
  const auto negated = static_cast<int64_t>(0 - static_cast<uint64_t>(x));
  switch (opcode) {
    case Opcode::TAbs:
      return truncated(type, x < 0 ? negated : x);
    case Opcode::TNeg:
      return truncated(type, negated);
    default:
      return truncated(type, x < 0 ? 0 : x);
  }
}

TEST_CASE("unary instructions match scalar formulas") {
  Rng rng(7);
  struct Case {
    Opcode opcode;
    std::vector<DType> types;
  };
  const Case cases[] = {
      {Opcode::TAbs, {DType::F16, DType::F32, DType::I8, DType::I16, DType::I32}},
      {Opcode::TNeg, {DType::I16, DType::U16, DType::I32, DType::U32, DType::F16, DType::F32, DType::BF16}},
      {Opcode::TSqrt, {DType::F16, DType::F32}},
      {Opcode::TRsqrt, {DType::F16, DType::F32}},
      {Opcode::TRecip, {DType::F16, DType::F32}},
      {Opcode::TRelu, {DType::F16, DType::F32, DType::I32}},
  };
  for (const Case& test : cases) {
    for (DType type : test.types) {
      for (int64_t cols = 1; cols <= 67; cols += 3) {
        Tile dst(type, 4, padded_cols(type, cols), Valid{3, cols});
        Tile a = dst;
        fill_any(a, rng);
        a.set_bits(0, 0, uint64_t{1} << (bit_width(type) - 1));  // -0, or the smallest integer
        run(test.opcode, {&dst, &a});
        check_tile(
            dst, dst.valid, [&](int64_t r, int64_t c) { return unary_bits(test.opcode, type, a, r, c); },
            std::string(isa::info(test.opcode).mnemonic));
      }
    }
  }
}

}  // namespace
}  // namespace pto::test
