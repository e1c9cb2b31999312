// Hand-computed costs. Coefficients are those of the target files at the time of writing; a changed coefficient is
// meant to be noticed here.
#include "src/timing/timing.h"

#include <catch2/catch.hpp>
#include <random>

#include "pto/diagnostics.h"

using namespace pto;
using namespace pto::timing;
using isa::Opcode;

namespace {

Target target_of(std::string_view name) {
  DiagnosticSink sink;
  Result<Target> target = builtin_target(name, sink);
  REQUIRE(target.ok());
  return *target;
}
const Target& a2a3() {
  static const Target target = target_of("a2a3");
  return target;
}
const Target& a5() {
  static const Target target = target_of("a5");
  return target;
}

TileDesc vec(DType type, int64_t rows, int64_t cols, Layout layout = Layout::ND) {
  return {type, rows, cols, layout, Space::Vec};
}
Valid all(const TileDesc& tile) {
  return {tile.rows, tile.cols};
}

Cost cost(const Target& target, Opcode opcode, std::vector<TileDesc> tiles, std::vector<Valid> valids = {},
          DType gm = DType::None, CoreKind core = CoreKind::Vec) {
  if (valids.empty()) {
    for (const TileDesc& tile : tiles) {
      valids.push_back(all(tile));
    }
  }
  return instruction_cost(target, core, opcode, tiles, valids, gm);
}
Cost cube(const Target& target, Opcode opcode, std::vector<TileDesc> tiles, DType gm = DType::None) {
  return cost(target, opcode, std::move(tiles), {}, gm, CoreKind::Cube);
}
constexpr Ticks cycles(double value) {
  return static_cast<Ticks>(value * 256 + 0.5);
}

}  // namespace

TEST_CASE("tadd f32 64x128 on a2a3: 128 repeats of 2 cycles") {
  const TileDesc tile = vec(DType::F32, 64, 128);
  const Cost result = cost(a2a3(), Opcode::TAdd, {tile, tile, tile});
  CHECK(result.busy == cycles(256));
  CHECK(result.idle_head == cycles(10));
  CHECK(result.tail == cycles(14));
  CHECK(result.issue == cycles(3));
  CHECK(result.gm_bytes == 0);
}

TEST_CASE("a region narrower than the tile goes row by row") {
  const TileDesc tile = vec(DType::F32, 64, 128);
  // 65 of 128 columns are 260 bytes: 2 repeats for each of 10 rows.
  CHECK(cost(a2a3(), Opcode::TAdd, {tile, tile, tile}, {{10, 65}, {10, 65}, {10, 65}}).busy == cycles(2 * 20));
  // 64 columns are 1 repeat; whole rows are contiguous: 10 rows of 512 bytes are 20.
  CHECK(cost(a2a3(), Opcode::TAdd, {tile, tile, tile}, {{10, 64}, {10, 64}, {10, 64}}).busy == cycles(2 * 10));
  CHECK(cost(a2a3(), Opcode::TAdd, {tile, tile, tile}, {{10, 128}, {10, 128}, {10, 128}}).busy == cycles(2 * 20));
  // Narrow whole tiles share repeats: 64 rows of 32 bytes are 8.
  const TileDesc narrow = vec(DType::F32, 64, 8);
  CHECK(cost(a2a3(), Opcode::TAdd, {narrow, narrow, narrow}).busy == cycles(2 * 8));
}

TEST_CASE("small instructions cost their floor") {
  const TileDesc tile = vec(DType::F32, 1, 8);
  CHECK(cost(a2a3(), Opcode::TMuls, {tile, tile}).busy == cycles(3));
  CHECK(cost(a2a3(), Opcode::TCmps, {vec(DType::U8, 1, 32), tile}).busy == cycles(7));
  CHECK(cost(a2a3(), Opcode::TAdd, {tile, tile, tile}, {{0, 0}, {0, 0}, {0, 0}}).busy == cycles(3));
}

TEST_CASE("16-bit types have their own interval") {
  const TileDesc wide = vec(DType::F32, 16, 256);  // 64 repeats
  const TileDesc half = vec(DType::F16, 16, 256);  // 32 repeats
  CHECK(cost(a2a3(), Opcode::TExp, {wide, wide}).busy == cycles(64 * 2));
  CHECK(cost(a2a3(), Opcode::TExp, {half, half}).busy == cycles(32 * 4));
  CHECK(cost(a2a3(), Opcode::TCvt, {half, wide}).busy == cycles(64 * 1));
  CHECK(cost(a2a3(), Opcode::TCvt, {wide, half}).busy == cycles(64 * 1));
}

TEST_CASE("reductions cost what their source costs; scratch is free") {
  const TileDesc tile = vec(DType::F32, 16, 256);
  const TileDesc column = vec(DType::F32, 16, 1, Layout::DN);
  const Cost sum = cost(a2a3(), Opcode::TRowSum, {column, tile, tile}, {{16, 1}, {16, 64}, {16, 256}});
  CHECK(sum.busy == cycles(16 * 5));
  CHECK(sum.tail == cycles(32));
  const TileDesc half = vec(DType::F16, 16, 256);
  CHECK(cost(a2a3(), Opcode::TRowMax, {vec(DType::F16, 16, 1, Layout::DN), half, half}).busy == cycles(32 * 7));
  CHECK(cost(a2a3(), Opcode::TColSum, {vec(DType::F32, 1, 256), tile}).busy == cycles(64 * 2));
  CHECK(cost(a2a3(), Opcode::TRowExpandSub, {tile, tile, column}).busy == cycles(64 * 2));
}

TEST_CASE("fractional intervals are rounded once") {
  const TileDesc tile = vec(DType::F32, 64, 128);
  CHECK(cost(a5(), Opcode::TAdd, {tile, tile, tile}).busy == 72090);  // 128 * 2.2 * 256 = 72089.6
}

TEST_CASE("global-memory copies") {
  const TileDesc tile = vec(DType::F32, 64, 128);
  const Cost load = cost(a2a3(), Opcode::TLoad, {tile}, {{10, 100}}, DType::F32);
  CHECK(load.gm_bytes == 4000);
  CHECK(load.rate_cap == 120 * 256);
  CHECK(load.latency == cycles(190));
  CHECK(load.busy == 0);
  CHECK(load.issue == 5274);  // 20.6 * 256 = 5273.6
  CHECK_FALSE(load.gm_write);
  // Rows of 32 bytes take 2 cycles each: 16 bytes a cycle.
  CHECK(cost(a2a3(), Opcode::TLoad, {vec(DType::F32, 64, 8)}, {}, DType::F32).rate_cap == 16 * 256);
  const Cost store = cost(a2a3(), Opcode::TStore, {tile}, {}, DType::F32);
  CHECK(store.gm_write);
  CHECK(store.rate_cap == 70 * 256);
  CHECK(store.gm_bytes == 64 * 128 * 4);
}

TEST_CASE("an accumulator's store: 164 + rows * max(4.45, row bytes / 118)") {
  const TileDesc acc{DType::F32, 128, 256, Layout::Nz, Space::Acc};
  const Cost half = cube(a2a3(), Opcode::TStore, {acc}, DType::F16);
  CHECK(half.busy == cycles(164));
  CHECK(half.gm_bytes == 128 * 256 * 2);
  // 512 bytes a row in 4.45 cycles would be 115.06 a cycle: 128 rows take 569.6 cycles.
  CHECK(half.rate_cap == 29454);
  CHECK(static_cast<double>(half.gm_bytes) * 256 / static_cast<double>(half.rate_cap) ==
        Approx(128 * 4.45).epsilon(1e-4));
  // 1024 bytes a row are past the floor: 118 a cycle.
  CHECK(cube(a2a3(), Opcode::TStore, {acc}, DType::F32).rate_cap == 118 * 256);
}

TEST_CASE("moves to operand memories: start and bytes") {
  const TileDesc mat{DType::F16, 128, 64, Layout::Nz, Space::Mat};
  const TileDesc left{DType::F16, 128, 64, Layout::Zz, Space::Left};
  const TileDesc right{DType::F16, 128, 64, Layout::Zn, Space::Right};
  CHECK(cube(a2a3(), Opcode::TMov, {left, mat}).busy == cycles(42 + 16384 / 256.0));
  CHECK(cube(a2a3(), Opcode::TExtract, {right, mat}).busy == cycles(42 + 16384 / 128.0));
  // Whole boxes move: 17 x 3 elements are two boxes.
  CHECK(cost(a2a3(), Opcode::TMov, {left, mat}, {{17, 3}, {17, 3}}, DType::None, CoreKind::Cube).busy ==
        cycles(42 + 1024 / 256.0));
  const TileDesc bias{DType::F32, 1, 256, Layout::ND, Space::Bias};
  const TileDesc row{DType::F32, 1, 256, Layout::ND, Space::Mat};
  CHECK(cube(a2a3(), Opcode::TMov, {bias, row}).busy == cycles(42 + 1024 / 32.0));
}

TEST_CASE("an accumulator's move to mat has the floor of a row too") {
  const TileDesc acc{DType::F32, 32, 64, Layout::Nz, Space::Acc};
  const TileDesc mat{DType::F16, 32, 64, Layout::Nz, Space::Mat};
  CHECK(cube(a2a3(), Opcode::TMov, {mat, acc}).busy == cycles(164 + 32 * 4.45));
}

TEST_CASE("copies and fills inside vec memory are the vector unit's") {
  const TileDesc tile = vec(DType::F32, 64, 128);
  for (const Cost& result : {cost(a2a3(), Opcode::TMov, {tile, tile}), cost(a2a3(), Opcode::TExpands, {tile}),
                             cost(a2a3(), Opcode::TFillPad, {tile, tile}, {{64, 128}, {3, 3}})}) {
    CHECK(result.busy == cycles(128));
    CHECK(result.tail == cycles(13));
  }
  const TileDesc mat{DType::F16, 128, 64, Layout::Nz, Space::Mat};
  CHECK(cube(a2a3(), Opcode::TExpands, {mat}).busy == cycles(42 + 16384 / 32.0));
}

TEST_CASE("matrix products count passes of 16 x 16 x 32 bytes") {
  const auto product = [](const Target& target, DType type, int64_t m, int64_t k, int64_t n,
                          Opcode opcode = Opcode::TMatMul) {
    const TileDesc acc{type == DType::I8 ? DType::I32 : DType::F32, m, n, Layout::Nz, Space::Acc};
    const TileDesc left{type, m, k, Layout::Zz, Space::Left};
    const TileDesc right{type, k, n, Layout::Zn, Space::Right};
    return cube(target, opcode, {acc, left, right});
  };
  CHECK(product(a2a3(), DType::F16, 128, 64, 256).busy == 538 + cycles(8 * 4 * 16));  // head 2.1 * 256 = 537.6
  CHECK(product(a2a3(), DType::F16, 128, 64, 256).idle_head == cycles(23) - 538);
  CHECK(product(a2a3(), DType::I8, 128, 64, 256).busy == 538 + cycles(8 * 2 * 16));
  CHECK(product(a2a3(), DType::F32, 128, 64, 256).busy == 538 + cycles(8 * 8 * 16 * 2));
  CHECK(product(a5(), DType::F32, 128, 64, 256).busy == 77 + cycles(8 * 8 * 16 * 8));
  CHECK(product(a2a3(), DType::F16, 17, 17, 17).busy == 538 + cycles(8));
  CHECK(product(a2a3(), DType::F16, 128, 64, 256, Opcode::TMatMulAcc).busy == 538 + cycles(512));
}

TEST_CASE("synchronisation") {
  const Cost set = cost(a2a3(), Opcode::SetFlag, {});
  CHECK(set.busy == cycles(1));
  CHECK(set.tail == 0);
}

TEST_CASE("through rings in global memory tiles go like stores and loads") {
  const TileDesc acc{DType::F32, 128, 256, Layout::Nz, Space::Acc};
  const Cost push = cube(a2a3(), Opcode::TPush, {acc}, DType::F16);
  const Cost store = cube(a2a3(), Opcode::TStore, {acc}, DType::F16);
  CHECK(push.gm_write);
  CHECK(push.gm_bytes == 128 * 256 * 2);
  CHECK(push.busy == cycles(164));
  CHECK(push.rate_cap == store.rate_cap);
  const TileDesc half = vec(DType::F16, 64, 256);
  const Cost pop = cost(a2a3(), Opcode::TPop, {half}, {{10, 100}}, DType::F16);
  CHECK_FALSE(pop.gm_write);
  CHECK(pop.gm_bytes == 10 * 100 * 2);
  CHECK(pop.latency == cycles(190));
  const TileDesc mat{DType::F16, 64, 64, Layout::Nz, Space::Mat};
  CHECK(cube(a2a3(), Opcode::TPop, {mat}, DType::F16).gm_bytes == 64 * 64 * 2);
  CHECK(cost(a2a3(), Opcode::TPush, {half}, {}, DType::F16).rate_cap == 70 * 256);
}

TEST_CASE("local rings: a push is a copy to the other core, a pop and a free only synchronise") {
  // 128 bytes a cycle from acc to vec, 125 from vec to mat; starts of 120 and 20.
  const TileDesc acc{DType::F32, 128, 256, Layout::Nz, Space::Acc};
  const Cost push = cube(a5(), Opcode::TPush, {acc}, DType::F32);
  CHECK(push.busy == cycles(120 + 128 * 1024 / 128.0));
  CHECK(push.gm_bytes == 0);
  const TileDesc half = vec(DType::F16, 64, 256);
  CHECK(cost(a5(), Opcode::TPush, {half}, {{10, 250}}, DType::F16).busy == cycles(20 + 10 * 500 / 125.0));
  for (const Cost& result : {cost(a5(), Opcode::TPop, {half}, {}, DType::F16), cost(a5(), Opcode::TFree, {half})}) {
    CHECK(result.busy == cycles(a5().sync_cycles));
    CHECK(result.gm_bytes == 0);
    CHECK(result.idle_head == 0);
    CHECK(result.tail == 0);
  }
  Target late = a5();
  for (DataPath& path : late.paths) {
    path.latency_cycles = 7;
  }
  CHECK(cube(late, Opcode::TPush, {acc}, DType::F32).tail == cycles(7));
}

TEST_CASE("what has no path costs nothing and does no harm") {
  const TileDesc acc{DType::F32, 32, 64, Layout::Nz, Space::Acc};
  CHECK(cost(a2a3(), Opcode::TLoad, {acc}, {}, DType::F32).gm_bytes == 0);
  CHECK(instruction_cost(a2a3(), CoreKind::Vec, Opcode::TAdd, {}, {}, DType::None).busy == cycles(3));
  CHECK(instruction_cost(a2a3(), CoreKind::Cube, Opcode::TMatMul, {}, {}, DType::None).busy == 538);
}

TEST_CASE("on target unit every instruction takes exactly one cycle") {
  const Target unit = target_of("unit");
  const TileDesc tile = vec(DType::F32, 64, 128);
  const TileDesc mat{DType::F16, 64, 64, Layout::Nz, Space::Mat};
  for (const isa::InstrInfo& row : isa::all_instructions()) {
    std::vector<TileDesc> tiles;
    for (isa::OperandKind kind : isa::format_operands(row.format)) {
      if (isa::is_tile(kind)) {
        tiles.push_back(tile);
      }
    }
    CoreKind core = CoreKind::Vec;
    if (row.timing == isa::TimingClass::MatMul) {
      core = CoreKind::Cube;
      tiles = {{DType::F32, 64, 64, Layout::Nz, Space::Acc},
               {DType::F16, 64, 64, Layout::Nz, Space::Left},
               {DType::F16, 64, 64, Layout::Zn, Space::Right}};
    } else if (row.timing == isa::TimingClass::Move) {
      core = CoreKind::Cube;
      tiles = {{DType::F16, 64, 64, Layout::Nz, Space::Left}, mat};
    }
    const Cost result = cost(unit, row.opcode, tiles, {}, DType::F32, core);
    INFO(row.mnemonic);
    CHECK(result.busy == kTicksPerCycle);
    CHECK(result.issue == 0);
    CHECK(result.idle_head == 0);
    CHECK(result.tail == 0);
    CHECK(result.latency == 0);
    // A transfer of a whole memory is less than half a tick.
    CHECK((result.gm_bytes == 0 || result.gm_bytes * 256 * 256 / result.rate_cap == 0));
  }
}

TEST_CASE("more work never costs less") {
  std::mt19937 random(3);
  const TileDesc tile = vec(DType::F16, 64, 256);
  for (int i = 0; i < 300; ++i) {
    const Valid small{1 + static_cast<int64_t>(random() % 64), 1 + static_cast<int64_t>(random() % 256)};
    const Valid more{std::min<int64_t>(64, small.rows + static_cast<int64_t>(random() % 8)), small.cols};
    for (Opcode opcode : {Opcode::TAdd, Opcode::TMul}) {
      CHECK(cost(a2a3(), opcode, {tile, tile, tile}, {small, small, small}).busy <=
            cost(a2a3(), opcode, {tile, tile, tile}, {more, more, more}).busy);
    }
    CHECK(cost(a2a3(), Opcode::TLoad, {tile}, {small}, DType::F16).gm_bytes <=
          cost(a2a3(), Opcode::TLoad, {tile}, {more}, DType::F16).gm_bytes);
  }
}
