#include <catch2/catch.hpp>

#include "tests/unit/isa/build.h"

using namespace pto;
using namespace pto::isa;
using namespace pto::isa::testing;

namespace {

Pipe pipe(Opcode opcode, const std::vector<TileDesc>& tiles) {
  const Built built = build(opcode, tiles, {DType::F16, 2});
  return pipe_of(built.inst, built.buffers, a2a3());
}
TileDesc in(Space space) {
  return tile(DType::F16, 16, 16, Layout::ND, space);
}

Pipe sync_pipe(Opcode opcode, Pipe source, Pipe destination) {
  Built built = build(opcode, {});
  built.inst.operands[0].attribute = static_cast<uint8_t>(source);
  if (built.inst.operands.size() > 1) {
    built.inst.operands[1].attribute = static_cast<uint8_t>(destination);
  }
  return pipe_of(built.inst, {}, a2a3());
}

Valid destination_valid(Opcode opcode, std::vector<Valid> sources, std::optional<Valid> given = {},
                        DType type = DType::F32) {
  return valid_of_destination(opcode, vec(type, 64, 128), sources, given);
}

}  // namespace

TEST_CASE("pipes of routed instructions follow the memories") {
  CHECK(pipe(Opcode::TLoad, {in(Space::Vec)}) == Pipe::MTE2);
  CHECK(pipe(Opcode::TLoad, {in(Space::Mat)}) == Pipe::MTE2);
  CHECK(pipe(Opcode::TStore, {in(Space::Vec)}) == Pipe::MTE3);
  CHECK(pipe(Opcode::TStore, {in(Space::Mat)}) == Pipe::MTE3);
  CHECK(pipe(Opcode::TStore, {in(Space::Acc)}) == Pipe::FIX);
  CHECK(pipe(Opcode::TMov, {in(Space::Left), in(Space::Mat)}) == Pipe::MTE1);
  CHECK(pipe(Opcode::TMov, {in(Space::Bias), in(Space::Mat)}) == Pipe::MTE1);
  CHECK(pipe(Opcode::TMov, {in(Space::Mat), in(Space::Acc)}) == Pipe::FIX);
  CHECK(pipe(Opcode::TMov, {in(Space::Vec), in(Space::Vec)}) == Pipe::V);
  CHECK(pipe(Opcode::TExtract, {in(Space::Right), in(Space::Mat)}) == Pipe::MTE1);
  CHECK(pipe(Opcode::TExpands, {in(Space::Vec)}) == Pipe::V);
  CHECK(pipe(Opcode::TExpands, {in(Space::Mat)}) == Pipe::MTE2);
  CHECK(pipe(Opcode::TFillPad, {in(Space::Mat), in(Space::Mat)}) == Pipe::MTE2);
  CHECK(pipe(Opcode::TMov, {in(Space::Left), in(Space::Vec)}) == Pipe::Route);
  CHECK(pipe(Opcode::TLoad, {in(Space::Acc)}) == Pipe::Route);
}

TEST_CASE("pipes of the others") {
  CHECK(pipe(Opcode::TAdd, {in(Space::Vec), in(Space::Vec), in(Space::Vec)}) == Pipe::V);
  CHECK(pipe(Opcode::TMatMul, {in(Space::Acc), in(Space::Left), in(Space::Right)}) == Pipe::M);
  CHECK(sync_pipe(Opcode::SetFlag, Pipe::MTE2, Pipe::V) == Pipe::MTE2);
  CHECK(sync_pipe(Opcode::WaitFlag, Pipe::MTE2, Pipe::V) == Pipe::V);
  CHECK(sync_pipe(Opcode::PipeBarrier, Pipe::MTE3, Pipe::S) == Pipe::MTE3);
  CHECK(sync_pipe(Opcode::PipeBarrier, Pipe::All, Pipe::S) == Pipe::All);
}

TEST_CASE("a broken instruction has no pipe, and does no harm") {
  Built built = build(Opcode::TMov, {in(Space::Vec), in(Space::Vec)});
  built.inst.operands[1].buffer = BufferId(7);
  CHECK(pipe_of(built.inst, built.buffers, a2a3()) == Pipe::Route);
  built.inst.operands.clear();
  CHECK(pipe_of(built.inst, built.buffers, a2a3()) == Pipe::Route);
}

TEST_CASE("pipes by kind of core") {
  CHECK(has_pipe(CoreKind::Vec, Pipe::V));
  CHECK_FALSE(has_pipe(CoreKind::Cube, Pipe::V));
  CHECK(has_pipe(CoreKind::Cube, Pipe::FIX));
  CHECK_FALSE(has_pipe(CoreKind::Vec, Pipe::M));
  CHECK(has_pipe(CoreKind::Vec, Pipe::MTE3));
  CHECK_FALSE(has_pipe(CoreKind::Vec, Pipe::Route));
}

TEST_CASE("valid regions of destinations") {
  CHECK(destination_valid(Opcode::TLoad, {}) == Valid{64, 128});
  CHECK(destination_valid(Opcode::TLoad, {}, Valid{3, 5}) == Valid{3, 5});
  CHECK(destination_valid(Opcode::TFillPad, {{3, 5}}) == Valid{64, 128});
  CHECK(destination_valid(Opcode::TAdd, {{3, 5}, {4, 6}}) == Valid{3, 5});
  CHECK(destination_valid(Opcode::TSel, {{3, 1}, {3, 5}, {3, 5}}) == Valid{3, 5});
  CHECK(destination_valid(Opcode::TSels, {{3, 1}, {3, 5}}) == Valid{3, 5});
  CHECK(destination_valid(Opcode::TRsubs, {{3, 5}}) == Valid{3, 5});
  CHECK(destination_valid(Opcode::TRowSum, {{3, 5}}) == Valid{3, 1});
  CHECK(destination_valid(Opcode::TColMax, {{3, 5}}) == Valid{1, 5});
  CHECK(destination_valid(Opcode::TRowExpandSub, {{3, 5}, {3, 1}}) == Valid{3, 5});
  CHECK(destination_valid(Opcode::TColExpandSub, {{1, 5}, {3, 5}}) == Valid{3, 5});
  CHECK(destination_valid(Opcode::TRowExpand, {{3, 1}}) == Valid{64, 128});
  CHECK(destination_valid(Opcode::TMatMul, {{3, 5}, {5, 7}}) == Valid{3, 7});
  CHECK(destination_valid(Opcode::TMatMulAcc, {{9, 9}, {3, 5}, {5, 7}}) == Valid{3, 7});
  CHECK(destination_valid(Opcode::TMatMulBias, {{3, 5}, {5, 7}, {1, 7}}) == Valid{3, 7});
  CHECK(destination_valid(Opcode::TStore, {{3, 5}}) == Valid{0, 0});
}

TEST_CASE("valid columns of a mask count its elements") {
  CHECK(destination_valid(Opcode::TCmp, {{3, 10}, {3, 10}}, {}, DType::U8) == Valid{3, 2});
  CHECK(destination_valid(Opcode::TCmps, {{3, 16}}, {}, DType::U8) == Valid{3, 2});
  CHECK(destination_valid(Opcode::TCmp, {{3, 33}, {3, 33}}, {}, DType::U32) == Valid{3, 2});
}

TEST_CASE("tiles that are read stand side by side in every instruction") {
  for (size_t i = 0; i < kOpcodeCount; ++i) {
    const InstrInfo& row = info(static_cast<Opcode>(i));
    int groups = 0;
    bool inside = false;
    for (OperandKind kind : format_operands(row.format)) {
      const bool source = kind == OperandKind::TileIn || kind == OperandKind::TileInOut;
      groups += source && !inside ? 1 : 0;
      inside = is_tile(kind) ? source : inside;
    }
    INFO(row.mnemonic);
    CHECK(groups <= 1);
  }
}
