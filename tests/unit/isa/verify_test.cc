// One positive case an instruction family and one negative case a rule.
#include <catch2/catch.hpp>

#include "tests/unit/isa/build.h"

using namespace pto;
using namespace pto::isa;
using namespace pto::isa::testing;
using Catch::Contains;
using Catch::StartsWith;

namespace {

const TileDesc kF32 = vec(DType::F32, 16, 64);
const TileDesc kColumn = vec(DType::F32, 16, 1, Layout::DN);
const TileDesc kRow = vec(DType::F32, 1, 64);
const TileDesc kMask = vec(DType::U8, 16, 32);
const TileDesc kMat = tile(DType::F16, 32, 64, Layout::Nz, Space::Mat);
const TileDesc kLeft = tile(DType::F16, 32, 64, Layout::Zz, Space::Left);
const TileDesc kRight = tile(DType::F16, 64, 16, Layout::Zn, Space::Right);
const TileDesc kAcc = tile(DType::F32, 32, 16, Layout::Nz, Space::Acc);
const TileDesc kBias = tile(DType::F32, 1, 16, Layout::ND, Space::Bias);

TileDesc with(TileDesc desc, DType type) {
  return desc.dtype = type, desc;
}
TileDesc with(TileDesc desc, Layout layout) {
  return desc.layout = layout, desc;
}
TileDesc with(TileDesc desc, Space space) {
  return desc.space = space, desc;
}
TileDesc sized(TileDesc desc, int64_t rows, int64_t cols) {
  return desc.rows = rows, desc.cols = cols, desc;
}

std::string bad(Opcode opcode, const std::vector<TileDesc>& tiles, const Target& target = a2a3(),
                TensorInfo tensor = {}) {
  const std::string verdict = check(opcode, tiles, target, tensor);
  CHECK_THAT(verdict, StartsWith("`" + std::string(info(opcode).mnemonic) + "`: "));
  return verdict;
}
void good(Opcode opcode, const std::vector<TileDesc>& tiles, const Target& target = a2a3(), TensorInfo tensor = {}) {
  CHECK(check(opcode, tiles, target, tensor) == "");
}
std::string flag(Pipe from, Pipe to) {
  Built built = build(Opcode::SetFlag, {});
  built.inst.operands[0].attribute = static_cast<uint8_t>(from);
  built.inst.operands[1].attribute = static_cast<uint8_t>(to);
  return built.check(a2a3());
}

}  // namespace

TEST_CASE("operands are there and name something") {
  Built built = build(Opcode::TAdd, {kF32, kF32, kF32});
  CHECK(built.check(a2a3()).empty());
  built.inst.operands[1].buffer = BufferId(3);
  CHECK_THAT(built.check(a2a3()), Contains("operand 2 names no buffer"));
  built.inst.operands[1].buffer = BufferId();
  CHECK_THAT(built.check(a2a3()), Contains("operand 2 names no buffer"));
  built.inst.operands[1].buffer = BufferId(0);
  built.inst.operands[2].kind = OperandKind::Scalar;
  CHECK_THAT(built.check(a2a3()), Contains("operand 3 is of the wrong kind"));
  built.inst.operands.pop_back();
  CHECK_THAT(built.check(a2a3()), Contains("2 operands, but it takes 3"));
  built.inst.opcode = static_cast<Opcode>(9999);
  CHECK(built.check(a2a3()) == "unknown instruction");
}

TEST_CASE("tensor operands") {
  Built built = build(Opcode::TLoad, {kF32}, {DType::F32, 2});
  CHECK(built.check(a2a3()).empty());
  built.inst.operands[1].offsets.pop_back();
  CHECK_THAT(built.check(a2a3()), Contains("1 offsets for a tensor of rank 2"));
  built.inst.operands[1].offsets.push_back(ExprId());
  CHECK_THAT(built.check(a2a3()), Contains("lacks an offset"));
  built.inst.operands[1].tensor = TensorId(1);
  CHECK_THAT(built.check(a2a3()), Contains("operand 2 names no tensor"));
  CHECK_THAT(bad(Opcode::TLoad, {kF32}, a2a3(), {DType::F32, 0}), Contains("rank 0"));
  CHECK_THAT(bad(Opcode::TLoad, {kF32}, a2a3(), {DType::F32, 6}), Contains("rank 6"));
}

TEST_CASE("scalars, regions and attributes") {
  Built scalar = build(Opcode::TMuls, {kF32, kF32});
  scalar.inst.operands[2].a = ExprId();
  CHECK_THAT(scalar.check(a2a3()), Contains("operand 3 has no value"));
  Built region = build(Opcode::TExpands, {kF32});
  CHECK(region.check(a2a3()).empty());
  region.inst.operands[2].a = ExprId(0);
  CHECK_THAT(region.check(a2a3()), Contains("rows and columns, or neither"));
  Built round = build(Opcode::TCvt, {with(kF32, DType::F16), kF32});
  round.inst.operands[2].attribute = 7;
  CHECK_THAT(round.check(a2a3()), Contains("unknown value 7"));
  Built compare = build(Opcode::TCmp, {kMask, kF32, kF32});
  compare.inst.operands[3].attribute = 6;
  CHECK_THAT(compare.check(a2a3()), Contains("unknown value 6"));
  Built pad = build(Opcode::TFillPad, {kF32, kF32});
  pad.inst.operands[2].attribute = 3;
  CHECK_THAT(pad.check(a2a3()), Contains("unknown value 3"));
}

TEST_CASE("flags") {
  CHECK(flag(Pipe::MTE2, Pipe::V).empty());
  CHECK(flag(Pipe::M, Pipe::FIX).empty());
  CHECK(flag(Pipe::S, Pipe::MTE3).empty());
  CHECK_THAT(flag(Pipe::V, Pipe::V), Contains("use `pipe_barrier`"));
  CHECK_THAT(flag(Pipe::All, Pipe::V), Contains("not `all`"));
  CHECK_THAT(flag(Pipe::V, Pipe::M), Contains("no kind of core has both pipe `v` and pipe `m`"));
  CHECK_THAT(flag(Pipe::Route, Pipe::V), Contains("unknown value 8"));
  Built barrier = build(Opcode::PipeBarrier, {});
  barrier.inst.operands[0].attribute = static_cast<uint8_t>(Pipe::All);
  CHECK(barrier.check(a2a3()).empty());
}

TEST_CASE("elementwise") {
  good(Opcode::TAdd, {kF32, kF32, kF32});
  good(Opcode::TAdd, {kColumn, kColumn, kColumn});
  good(Opcode::TMuls, {kF32, kF32});
  good(Opcode::TRsubs, {kF32, kF32});
  good(Opcode::TExp, {with(kF32, DType::F16), with(kF32, DType::F16)});
  good(Opcode::TAdd, {with(kF32, DType::BF16), with(kF32, DType::BF16), with(kF32, DType::BF16)}, a5());
  CHECK_THAT(bad(Opcode::TAdd, {kF32, with(kF32, Space::Mat), kF32}),
             Contains("operand 2 is f32[16, 64] nd in mat: all its tiles must be in `vec` memory"));
  CHECK_THAT(bad(Opcode::TAdd, {kF32, kF32, with(kF32, DType::I32)}), Contains("they must agree"));
  const TileDesc bf16 = with(kF32, DType::BF16);
  CHECK_THAT(bad(Opcode::TAdd, {bf16, bf16, bf16}),
             Contains("`bf16` on family `a2a3`: it takes `i16`, `i32`, `f16`, `f32`"));
  CHECK_THAT(bad(Opcode::TAdd, {kF32, kF32, sized(kF32, 8, 64)}), Contains("same shape and layout"));
  CHECK_THAT(bad(Opcode::TAdd, {sized(kColumn, 16, 1), sized(kF32, 16, 1), kColumn}),
             Contains("same shape and layout"));
  CHECK_THAT(bad(Opcode::TAbs, {with(kF32, Layout::Nz), with(kF32, Layout::Nz)}), Contains("must have layout `nd`"));
  CHECK_THAT(bad(Opcode::TAbs, {with(kF32, Layout::DN), with(kF32, Layout::DN)}), Contains("`dn` with one column"));
}

TEST_CASE("conversions") {
  good(Opcode::TCvt, {with(kF32, DType::F16), kF32});
  good(Opcode::TCvt, {with(kF32, DType::F16), with(kF32, DType::BF16)}, a5());
  CHECK_THAT(bad(Opcode::TCvt, {with(kF32, DType::F16), with(kF32, DType::BF16)}),
             Contains("can't convert `bf16` to `f16` in one step"));
  CHECK_THAT(bad(Opcode::TCvt, {sized(with(kF32, DType::F16), 16, 128), kF32}), Contains("same shape"));
}

TEST_CASE("comparisons and selections") {
  Built equal = build(Opcode::TCmp, {kMask, with(kF32, DType::I32), with(kF32, DType::I32)});
  CHECK(equal.check(a2a3()).empty());
  equal.inst.operands[3].attribute = static_cast<uint8_t>(Cmp::Lt);
  CHECK_THAT(equal.check(a2a3()), Contains("can only be compared with `eq`"));
  equal.inst.operands[3].attribute = static_cast<uint8_t>(Cmp::Ne);
  CHECK_THAT(equal.check(a2a3()), Contains("can only be compared with `eq`"));
  CHECK(equal.check(a5()).empty());
  good(Opcode::TCmps, {kMask, kF32});
  good(Opcode::TCmps, {vec(DType::U32, 16, 8), kF32}, a5());
  good(Opcode::TSel, {kF32, kMask, kF32, kF32});
  good(Opcode::TSels, {kF32, kMask, kF32});
  CHECK_THAT(bad(Opcode::TCmp, {with(kMask, DType::I8), kF32, kF32}),
             Contains("a mask on family `a2a3` has element type `u8`"));
  CHECK_THAT(bad(Opcode::TCmps, {vec(DType::U32, 16, 8), kF32}), Contains("has element type `u8`"));
  CHECK_THAT(bad(Opcode::TCmp, {sized(kMask, 8, 32), kF32, kF32}), Contains("as many rows"));
  const TileDesc wide = sized(kF32, 16, 512);
  CHECK_THAT(bad(Opcode::TCmp, {kMask, wide, wide}), Contains("one bit for every column"));
  good(Opcode::TCmp, {kMask, sized(kF32, 16, 256), sized(kF32, 16, 256)});
  CHECK_THAT(bad(Opcode::TSel, {kF32, with(kMask, Layout::DN), kF32, kF32}), Contains("must have layout `nd`"));
  CHECK_THAT(bad(Opcode::TSel, {kF32, with(kMask, Space::Mat), kF32, kF32}), Contains("in `vec` memory"));
}

TEST_CASE("reductions") {
  good(Opcode::TRowSum, {kColumn, kF32, kF32});
  good(Opcode::TRowMax, {sized(kF32, 16, 8), kF32, kF32});
  good(Opcode::TColSum, {kRow, kF32});
  CHECK_THAT(bad(Opcode::TRowSum, {kColumn, with(kF32, Layout::DN), kF32}), Contains("operand 2"));
  CHECK_THAT(bad(Opcode::TRowSum, {sized(kColumn, 8, 1), kF32, kF32}), Contains("must be a column [16, 1]"));
  CHECK_THAT(bad(Opcode::TRowSum, {sized(kColumn, 16, 2), kF32, kF32}), Contains("must be a column [16, 1]"));
  CHECK_THAT(bad(Opcode::TRowSum, {kColumn, kF32, sized(kF32, 16, 32)}),
             Contains("scratch tile must hold at least"));
  CHECK_THAT(bad(Opcode::TRowSum, {kColumn, kF32, with(kF32, DType::F16)}), Contains("must agree"));
  CHECK_THAT(bad(Opcode::TColMin, {sized(kRow, 2, 64), kF32}), Contains("must be a row [1, 64]"));
  CHECK_THAT(bad(Opcode::TColMin, {sized(kRow, 1, 32), kF32}), Contains("must be a row [1, 64]"));
  CHECK_THAT(bad(Opcode::TColMin, {kRow, with(kF32, Layout::Nz)}), Contains("must have layout `nd`"));
}

TEST_CASE("expansions take their operands in either order") {
  good(Opcode::TRowExpandSub, {kF32, kF32, kColumn});
  good(Opcode::TRowExpandSub, {kF32, kColumn, kF32});
  good(Opcode::TColExpandMul, {kF32, kF32, kRow});
  good(Opcode::TColExpandMul, {kF32, kRow, kF32});
  good(Opcode::TRowExpand, {kF32, kColumn});
  good(Opcode::TColExpand, {kF32, kRow});
  CHECK_THAT(bad(Opcode::TRowExpandSub, {kF32, kF32, kRow}),
             Contains("the other must be a column [16, 1] in layout `dn`"));
  CHECK_THAT(bad(Opcode::TColExpandSub, {kF32, kF32, kColumn}),
             Contains("the other must be a row [1, 64] in layout `nd`"));
  CHECK_THAT(bad(Opcode::TRowExpandSub, {kF32, kColumn, kColumn}), Contains("one must have that shape"));
  CHECK_THAT(bad(Opcode::TRowExpandSub, {kF32, kF32, kF32}), Contains("the other must be"));
  CHECK_THAT(bad(Opcode::TRowExpandSub, {with(kF32, Layout::Nz), kF32, kColumn}), Contains("operand 1"));
  CHECK_THAT(bad(Opcode::TRowExpand, {kF32, kRow}), Contains("it must be a column"));
  CHECK_THAT(bad(Opcode::TColExpand, {kF32, kColumn}), Contains("it must be a row"));
  CHECK_THAT(bad(Opcode::TColExpand, {with(kF32, Layout::Nz), kRow}), Contains("operand 1"));
}

TEST_CASE("index rows") {
  good(Opcode::TCi, {with(kRow, DType::I32)});
  CHECK_THAT(bad(Opcode::TCi, {kRow}), Contains("it takes `i16`, `u16`, `i32`, `u32`"));
  CHECK_THAT(bad(Opcode::TCi, {with(kColumn, DType::I32)}), Contains("layout `nd`"));
}

TEST_CASE("loads") {
  good(Opcode::TLoad, {kF32}, a2a3(), {DType::F32, 3});
  good(Opcode::TLoad, {kRow}, a2a3(), {DType::F32, 1});
  good(Opcode::TLoad, {kMat}, a2a3(), {DType::F16, 2});
  good(Opcode::TLoad, {tile(DType::F16, 1, 64, Layout::ND, Space::Mat)}, a2a3(), {DType::F16, 1});
  CHECK_THAT(bad(Opcode::TLoad, {kF32}, a2a3(), {DType::F32, 1}), Contains("the tile must have one row"));
  CHECK_THAT(bad(Opcode::TLoad, {kAcc}, a2a3(), {DType::F32, 2}), Contains("no path from `gm` to `acc`"));
  CHECK_THAT(bad(Opcode::TLoad, {kF32}, a2a3(), {DType::F16, 2}), Contains("a load doesn't convert"));
  CHECK_THAT(bad(Opcode::TLoad, {with(kF32, DType::F8E4M3)}, a2a3(), {DType::F8E4M3, 2}),
             Contains("`f8e4m3` on family"));
  good(Opcode::TLoad, {with(kF32, DType::F8E4M3)}, a5(), {DType::F8E4M3, 2});
  CHECK_THAT(bad(Opcode::TLoad, {with(kF32, Layout::DN)}, a2a3(), {DType::F32, 2}), Contains("must have layout `nd`"));
  CHECK_THAT(bad(Opcode::TLoad, {with(kMat, Layout::Zn)}, a2a3(), {DType::F16, 2}), Contains("layout `nd` or `nz`"));
  CHECK_THAT(bad(Opcode::TLoad, {with(kMat, DType::I64)}, a2a3(), {DType::I64, 2}), Contains("64-bit elements"));
  CHECK_THAT(bad(Opcode::TLoad, {sized(kF32, 4096, 8)}, a2a3(), {DType::F32, 2}), Contains("at most 4095 rows"));
  CHECK_THAT(bad(Opcode::TLoad, {sized(kMat, 16400, 16)}, a2a3(), {DType::F16, 2}), Contains("at most 16384 rows"));
}

TEST_CASE("stores") {
  good(Opcode::TStore, {kF32}, a2a3(), {DType::F32, 2});
  good(Opcode::TStore, {kMat}, a2a3(), {DType::F16, 2});
  good(Opcode::TStore, {kAcc}, a2a3(), {DType::F32, 2});
  good(Opcode::TStore, {kAcc}, a2a3(), {DType::BF16, 2});
  good(Opcode::TStore, {with(kAcc, DType::I32)}, a2a3(), {DType::I32, 2});
  CHECK_THAT(bad(Opcode::TStore, {with(kAcc, DType::I32)}, a2a3(), {DType::F32, 2}),
             Contains("can't be stored as `f32`"));
  CHECK_THAT(bad(Opcode::TStore, {kF32}, a2a3(), {DType::F16, 2}), Contains("only a store from `acc` converts"));
  CHECK_THAT(bad(Opcode::TStore, {with(kF32, DType::Bool)}, a2a3(), {DType::Bool, 2}), Contains("it takes"));
  CHECK_THAT(bad(Opcode::TStore, {kLeft}, a2a3(), {DType::F16, 2}), Contains("no path from `left` to `gm`"));
  CHECK_THAT(bad(Opcode::TStore, {with(kF32, Layout::DN)}, a2a3(), {DType::F32, 2}), Contains("must have layout `nd`"));
  CHECK_THAT(bad(Opcode::TStore, {with(kMat, Layout::Zn)}, a2a3(), {DType::F16, 2}), Contains("`nd` or `nz`"));
  CHECK_THAT(bad(Opcode::TStore, {kF32}, a2a3(), {DType::F32, 1}), Contains("the tile must have one row"));
  CHECK_THAT(bad(Opcode::TStore, {sized(kAcc, 8208, 16)}, a2a3(), {DType::F32, 2}), Contains("at most 8192 rows"));
  CHECK_THAT(bad(Opcode::TStore, {sized(kAcc, 16, 4096)}, a2a3(), {DType::F32, 2}), Contains("at most 4095 columns"));
}

TEST_CASE("moves") {
  good(Opcode::TMov, {kLeft, kMat});
  good(Opcode::TMov, {with(kLeft, Layout::Nz), kMat}, a5());
  good(Opcode::TMov, {kRight, sized(with(kMat, Layout::Zn), 64, 16)});
  good(Opcode::TMov, {kF32, kF32});
  const TileDesc row = tile(DType::F16, 1, 16, Layout::ND, Space::Mat);
  good(Opcode::TMov, {kBias, row});
  good(Opcode::TMov, {kBias, with(row, DType::BF16)}, a5());
  good(Opcode::TMov, {sized(kMat, 32, 16), kAcc});
  CHECK_THAT(bad(Opcode::TMov, {kLeft, with(kMat, Space::Vec)}), Contains("no path from `vec` to `left`"));
  CHECK_THAT(bad(Opcode::TMov, {kMat, kMat}), Contains("only fills stay in that memory"));
  CHECK_THAT(bad(Opcode::TMov, {kBias, with(row, DType::BF16)}), Contains("a bias is `f32` or `i32`"));
  CHECK_THAT(bad(Opcode::TMov, {with(kLeft, DType::I16), with(kMat, DType::I16)}),
             Contains("ones that the target multiplies"));
  CHECK_THAT(bad(Opcode::TMov, {kLeft, with(kMat, DType::BF16)}), Contains("the types must agree"));
  CHECK_THAT(bad(Opcode::TMov, {with(sized(kMat, 32, 16), DType::F32), kAcc}), Contains("becomes `f16` or `bf16`"));
  CHECK_THAT(bad(Opcode::TMov, {kF32, with(kF32, DType::I32)}), Contains("the types must agree"));
  CHECK_THAT(bad(Opcode::TMov, {with(kF32, DType::F8E4M3), with(kF32, DType::F8E4M3)}), Contains("it takes"));
  CHECK_THAT(bad(Opcode::TMov, {kLeft, with(kMat, Layout::ND)}), Contains("from layout `nz` or `zn`"));
  CHECK_THAT(bad(Opcode::TMov, {kF32, with(kF32, Layout::Nz)}), Contains("the layouts must agree"));
  CHECK_THAT(bad(Opcode::TMov, {sized(kLeft, 16, 64), kMat}), Contains("same shape"));
}

TEST_CASE("extractions") {
  good(Opcode::TExtract, {sized(kLeft, 16, 32), kMat});
  good(Opcode::TExtract, {kLeft, kMat});
  CHECK_THAT(bad(Opcode::TExtract, {sized(kLeft, 48, 32), kMat}), Contains("a window of [48, 32] doesn't fit"));
  CHECK_THAT(bad(Opcode::TExtract, {sized(kLeft, 16, 128), kMat}), Contains("a window of [16, 128] doesn't fit"));
  CHECK_THAT(bad(Opcode::TExtract, {kBias, with(sized(kMat, 1, 16), Layout::ND)}), Contains("use `tmov`"));
  CHECK_THAT(bad(Opcode::TExtract, {kMat, kMat}), Contains("only fills"));
}

TEST_CASE("fills") {
  good(Opcode::TExpands, {kF32});
  good(Opcode::TExpands, {kColumn});
  good(Opcode::TExpands, {kMat});
  good(Opcode::TFillPad, {kF32, kF32});
  good(Opcode::TFillPad, {kMat, kMat});
  CHECK_THAT(bad(Opcode::TExpands, {kAcc}), Contains("only `vec` and `mat` memory can be filled"));
  CHECK_THAT(bad(Opcode::TExpands, {with(kF32, DType::I64)}), Contains("`i64` on family `a2a3`"));
  CHECK_THAT(bad(Opcode::TExpands, {with(kF32, Layout::Nz)}), Contains("in `vec` memory it must have layout `nd`"));
  CHECK_THAT(bad(Opcode::TFillPad, {kF32, with(kF32, Space::Mat)}), Contains("a fill stays in one memory"));
  CHECK_THAT(bad(Opcode::TFillPad, {kF32, sized(kF32, 8, 64)}), Contains("same shape and layout"));
  CHECK_THAT(bad(Opcode::TFillPad, {kF32, with(kF32, DType::F16)}), Contains("must agree"));
  Built pad = build(Opcode::TFillPad, {kMat, kMat});
  pad.inst.operands[2].attribute = static_cast<uint8_t>(Pad::Max);
  CHECK_THAT(pad.check(a2a3()), Contains("there only `zero` can be filled in"));
  Target no_fill = a2a3();
  no_fill.paths.pop_back();
  CHECK_THAT(bad(Opcode::TExpands, {kMat}, no_fill), Contains("no path from `mat` to `mat`"));
}

TEST_CASE("matrix products") {
  good(Opcode::TMatMul, {kAcc, kLeft, kRight});
  good(Opcode::TMatMulAcc, {kAcc, kLeft, kRight});
  good(Opcode::TMatMulBias, {kAcc, kLeft, kRight, kBias});
  CHECK_THAT(bad(Opcode::TMatMul, {kAcc, with(kLeft, Space::Mat), kRight}), Contains("must be in `left` memory"));
  CHECK_THAT(bad(Opcode::TMatMul, {kAcc, kLeft, with(kRight, Space::Left)}), Contains("must be in `right` memory"));
  CHECK_THAT(bad(Opcode::TMatMul, {with(kAcc, Space::Vec), kLeft, kRight}), Contains("must be in `acc` memory"));
  CHECK_THAT(bad(Opcode::TMatMulBias, {kAcc, kLeft, kRight, with(kBias, Space::Mat)}),
             Contains("must be in `bias` memory"));
  CHECK_THAT(bad(Opcode::TMatMul, {kAcc, kLeft, with(kRight, DType::BF16)}),
             Contains("can't multiply `f16` by `bf16` into `f32`"));
  CHECK_THAT(bad(Opcode::TMatMul, {with(kAcc, DType::I32), kLeft, kRight}), Contains("into `i32`"));
  CHECK_THAT(bad(Opcode::TMatMul, {kAcc, kLeft, sized(kRight, 48, 16)}), Contains("[m, k] by [k, n] into [m, n]"));
  CHECK_THAT(bad(Opcode::TMatMul, {sized(kAcc, 16, 16), kLeft, kRight}), Contains("[m, k] by [k, n]"));
  CHECK_THAT(bad(Opcode::TMatMul, {sized(kAcc, 32, 32), kLeft, kRight}), Contains("[m, k] by [k, n]"));
  CHECK_THAT(bad(Opcode::TMatMul, {kAcc, sized(kLeft, 32, 4096), sized(kRight, 4096, 16)}), Contains("at most 4095"));
  CHECK_THAT(bad(Opcode::TMatMulBias, {kAcc, kLeft, kRight, with(kBias, DType::I32)}),
             Contains("one row of its columns"));
  CHECK_THAT(bad(Opcode::TMatMulBias, {kAcc, kLeft, kRight, sized(kBias, 1, 32)}), Contains("one row of its columns"));
}
