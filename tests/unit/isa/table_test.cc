#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "src/isa/rules.h"
#include "tests/unit/isa/build.h"

using namespace pto;
using namespace pto::isa;

TEST_CASE("every instruction is found by its mnemonic and its wire code") {
  for (const InstrInfo& row : all_instructions()) {
    CHECK(opcode_from_mnemonic(row.mnemonic) == row.opcode);
    CHECK(opcode_from_wire_code(row.wire_code) == row.opcode);
    CHECK(info(row.opcode).name == row.name);
  }
  CHECK(all_instructions().size() == kOpcodeCount);
  CHECK_FALSE(opcode_from_mnemonic("tadd2").has_value());
  CHECK_FALSE(opcode_from_mnemonic("").has_value());
  for (uint64_t code :
       {uint64_t{0}, uint64_t{0x0100}, uint64_t{0x0106}, uint64_t{0x0804}, UINT64_MAX, uint64_t{0x10101}}) {
    CHECK_FALSE(opcode_from_wire_code(code).has_value());
  }
}

TEST_CASE("wire codes that are in use keep their instruction") {
  // Spot values of the format: object files depend on them.
  CHECK(info(Opcode::TLoad).wire_code == 0x0101);
  CHECK(info(Opcode::TAdd).wire_code == 0x0201);
  CHECK(info(Opcode::TExpands).wire_code == 0x040B);
  CHECK(info(Opcode::TColExpandExpDif).wire_code == 0x0610);
  CHECK(info(Opcode::PipeBarrier).wire_code == 0x0803);
}

TEST_CASE("formats list their operands") {
  const auto reduce = format_operands(Format::Reduce);
  REQUIRE(reduce.size() == 3);
  CHECK(reduce[0] == OperandKind::TileOut);
  CHECK(reduce[1] == OperandKind::TileIn);
  CHECK(reduce[2] == OperandKind::TileTmp);
  const auto acc = format_operands(Format::MatMulAcc);
  REQUIRE(acc.size() == 3);
  CHECK(acc[0] == OperandKind::TileInOut);
  CHECK(format_operands(Format::Extract).size() == 5);
  CHECK(format_operands(Format::Barrier).size() == 1);
}

TEST_CASE("row expansions are told from column expansions by their mnemonic") {
  int rows = 0;
  int columns = 0;
  for (const InstrInfo& row : all_instructions()) {
    const bool expansion = row.valid == ValidRule::Full2D || row.format == Format::Broadcast;
    const bool by_row = row.mnemonic.starts_with("trowexpand");
    const bool by_column = row.mnemonic.starts_with("tcolexpand");
    CHECK(expansion == (by_row || by_column));
    rows += by_row ? 1 : 0;
    columns += by_column ? 1 : 0;
  }
  CHECK(rows == 8);
  CHECK(columns == 8);
}

TEST_CASE("spellings are read back") {
  for (int i = 0; i <= static_cast<int>(Pipe::All); ++i) {
    CHECK(pipe_from_spelling(spelling(static_cast<Pipe>(i))) == static_cast<Pipe>(i));
  }
  CHECK_FALSE(pipe_from_spelling("route").has_value());
  CHECK_FALSE(pipe_from_spelling("V").has_value());
  for (int i = 0; i <= static_cast<int>(Round::Odd); ++i) {
    CHECK(round_from_spelling(spelling(static_cast<Round>(i))) == static_cast<Round>(i));
  }
  for (int i = 0; i <= static_cast<int>(Cmp::Ge); ++i) {
    CHECK(cmp_from_spelling(spelling(static_cast<Cmp>(i))) == static_cast<Cmp>(i));
  }
  for (int i = 0; i <= static_cast<int>(Pad::Min); ++i) {
    CHECK(pad_from_spelling(spelling(static_cast<Pad>(i))) == static_cast<Pad>(i));
  }
  for (int i = 1; i < kSpaceCount; ++i) {
    CHECK(space_from_spelling(spelling(static_cast<Space>(i))) == static_cast<Space>(i));
  }
  for (int i = 1; i <= static_cast<int>(Layout::Nn); ++i) {
    CHECK(layout_from_spelling(spelling(static_cast<Layout>(i))) == static_cast<Layout>(i));
  }
  CHECK_FALSE(space_from_spelling("none").has_value());
  CHECK_FALSE(layout_from_spelling("none").has_value());
  CHECK(spelling(Round::Rint) == "rint");
  CHECK(spelling(Pipe::MTE1) == "mte1");
  CHECK(spelling(CoreKind::Cube) == "cube");
  CHECK(spelling(IsaFamily::A2A3) == "a2a3");
}

TEST_CASE("every timing class has its own name, in the order of the enumeration") {
  std::set<std::string_view> names;
  for (int i = 0; i < kTimingClassCount; ++i) {
    CHECK(names.insert(spelling(static_cast<TimingClass>(i))).second);
  }
  CHECK(spelling(TimingClass::Sync) == "sync");
  CHECK(spelling(TimingClass::VecBinary) == "vec_binary");
  CHECK(spelling(TimingClass::VecExp) == "vec_exp");
  CHECK(spelling(TimingClass::VecColReduce) == "vec_col_reduce");
}

TEST_CASE("element types by family") {
  CHECK(dtypes_of(DTypeRule::Arith, IsaFamily::A2A3) == dtype_set({DType::I16, DType::I32, DType::F16, DType::F32}));
  CHECK(contains(dtypes_of(DTypeRule::Arith, IsaFamily::A5), DType::BF16));
  CHECK_FALSE(contains(dtypes_of(DTypeRule::Mul, IsaFamily::A5), DType::I8));
  CHECK(list_dtypes(dtype_set({DType::F32, DType::F16})) == "`f16`, `f32`");
  CHECK(list_dtypes(0) == "none");
}

TEST_CASE("tables of type pairs") {
  // Counted in the public tables: pairs without packed 4-bit types and without scaling.
  std::map<IsaFamily, int> conversions;
  std::map<IsaFamily, int> products;
  for (IsaFamily family : {IsaFamily::A2A3, IsaFamily::A5}) {
    for (int a = 0; a < 32; ++a) {
      for (int b = 0; b < 32; ++b) {
        conversions[family] += is_conversion(static_cast<DType>(a), static_cast<DType>(b), family) ? 1 : 0;
        for (int c = 0; c < 32; ++c) {
          products[family] +=
              is_matmul(static_cast<DType>(c), static_cast<DType>(a), static_cast<DType>(b), family) ? 1 : 0;
        }
      }
    }
  }
  CHECK(conversions[IsaFamily::A2A3] == 22);
  CHECK(conversions[IsaFamily::A5] == 41);
  CHECK(products[IsaFamily::A2A3] == 4);
  CHECK(products[IsaFamily::A5] == 9);
  CHECK(is_conversion(DType::BF16, DType::F16, IsaFamily::A5));
  CHECK_FALSE(is_conversion(DType::BF16, DType::F16, IsaFamily::A2A3));
  CHECK_FALSE(is_conversion(DType::F32, DType::U8, IsaFamily::A5));
  CHECK(is_bias_move(DType::F16, DType::F32, IsaFamily::A2A3));
  CHECK_FALSE(is_bias_move(DType::BF16, DType::F32, IsaFamily::A2A3));
  CHECK(is_acc_to_gm(DType::I32, DType::I32, IsaFamily::A2A3));
  CHECK_FALSE(is_acc_to_gm(DType::I32, DType::F16, IsaFamily::A5));
  CHECK_FALSE(is_acc_to_mat(DType::F32, DType::F32, IsaFamily::A5));
}
