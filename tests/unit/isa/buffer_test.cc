#include <catch2/catch.hpp>

#include "tests/unit/isa/build.h"

using namespace pto;
using namespace pto::isa;
using namespace pto::isa::testing;
using Catch::Contains;

namespace {

std::string verdict(const TileDesc& desc, const Target& target = a2a3(), int64_t address = 0, int64_t slots = 1,
                    int64_t stride = 0) {
  return check_buffer({"b", desc, address, slots, stride}, target).value_or("");
}

}  // namespace

TEST_CASE("good buffers") {
  CHECK(verdict(vec(DType::F32, 16, 1024)).empty());
  CHECK(verdict(vec(DType::F32, 16, 1024), a2a3(), -1).empty());
  CHECK(verdict(vec(DType::F32, 8, 1, Layout::DN)).empty());
  CHECK(verdict(vec(DType::F16, 16, 16, Layout::Nz)).empty());
  CHECK(verdict(tile(DType::F16, 128, 64, Layout::Zz, Space::Left), a2a3(), 0, 2, 16384).empty());
  CHECK(verdict(tile(DType::F16, 128, 64, Layout::Nz, Space::Left), a5(), 0, 2, 16384).empty());
  CHECK(verdict(tile(DType::F16, 64, 256, Layout::Zn, Space::Right)).empty());
  CHECK(verdict(tile(DType::F32, 128, 256, Layout::Nz, Space::Acc)).empty());
  CHECK(verdict(tile(DType::F32, 1, 256, Layout::ND, Space::Bias)).empty());
  CHECK(verdict(tile(DType::F16, 1, 256, Layout::ND, Space::Mat)).empty());
  CHECK(verdict(tile(DType::F16, 16, 16, Layout::Zn, Space::Mat)).empty());
}

TEST_CASE("a buffer is in a memory of the core") {
  CHECK_THAT(verdict(tile(DType::F32, 16, 16, Layout::ND, Space::Gm)), Contains("not in `gm`"));
  CHECK_THAT(verdict(tile(DType::F32, 16, 16, Layout::ND, Space::None)), Contains("not in `none`"));
  CHECK_THAT(verdict(tile(DType::F32, 16, 16, Layout::ND, static_cast<Space>(77))), Contains("memory of the core"));
  Target none = a2a3();
  none.spaces[static_cast<size_t>(Space::Vec)].bytes = 0;
  CHECK_THAT(verdict(vec(DType::F32, 16, 16), none), Contains("has no `vec` memory"));
}

TEST_CASE("a tile has a type and a sane shape") {
  CHECK_THAT(verdict(vec(DType::None, 16, 16)), Contains("element type"));
  CHECK_THAT(verdict(vec(DType::F32, 0, 16)), Contains("must be positive"));
  CHECK_THAT(verdict(vec(DType::F32, 16, -16)), Contains("must be positive"));
  CHECK_THAT(verdict(vec(DType::F32, INT64_MAX, INT64_MAX)), Contains("too large"));
  CHECK_THAT(verdict(vec(DType::I64, INT64_MAX / 64, 2)), Contains("too large"));
}

TEST_CASE("layouts belong to memories") {
  CHECK_THAT(verdict(tile(DType::F16, 16, 16, Layout::Nz, Space::Left), a2a3()), Contains("can't hold layout `nz`"));
  CHECK_THAT(verdict(tile(DType::F16, 16, 16, Layout::Zz, Space::Left), a5()), Contains("can't hold layout `zz`"));
  CHECK_THAT(verdict(tile(DType::F16, 16, 16, Layout::Nz, Space::Right)), Contains("can't hold"));
  CHECK_THAT(verdict(tile(DType::F32, 16, 16, Layout::ND, Space::Acc)), Contains("can't hold"));
  CHECK_THAT(verdict(tile(DType::F32, 1, 16, Layout::DN, Space::Bias)), Contains("can't hold"));
  CHECK_THAT(verdict(vec(DType::F16, 16, 16, Layout::Zz)), Contains("can't hold"));
  CHECK_THAT(verdict(tile(DType::F16, 16, 16, Layout::Zz, Space::Mat)), Contains("can't hold"));
  CHECK_THAT(verdict(vec(DType::F16, 16, 16, static_cast<Layout>(99))), Contains("can't hold"));
}

TEST_CASE("rows and columns are whole blocks of 32 bytes") {
  CHECK_THAT(verdict(vec(DType::F32, 16, 1)), Contains("rows of 4 bytes: they must be a multiple of 32"));
  CHECK_THAT(verdict(vec(DType::F16, 16, 24)), Contains("rows of 48 bytes"));
  CHECK_THAT(verdict(vec(DType::F32, 4, 1, Layout::DN)), Contains("columns of 16 bytes"));
  CHECK(verdict(vec(DType::F16, 3, 16)).empty());
}

TEST_CASE("boxed tiles are whole boxes") {
  CHECK_THAT(verdict(tile(DType::F16, 24, 16, Layout::Zz, Space::Left)), Contains("whole boxes of [16, 16]"));
  CHECK_THAT(verdict(tile(DType::I8, 16, 48, Layout::Zz, Space::Left)), Contains("whole boxes of [16, 32]"));
  CHECK_THAT(verdict(tile(DType::I8, 16, 16, Layout::Zn, Space::Right)), Contains("whole boxes of [32, 16]"));
  CHECK_THAT(verdict(tile(DType::F32, 16, 8, Layout::Nz, Space::Acc)), Contains("whole boxes of [16, 16]"));
}

TEST_CASE("bias and scaling tiles are one row") {
  CHECK_THAT(verdict(tile(DType::F32, 2, 16, Layout::ND, Space::Bias)), Contains("must have one"));
  CHECK_THAT(verdict(tile(DType::U64, 2, 16, Layout::ND, Space::Scaling)), Contains("must have one"));
}

TEST_CASE("slots") {
  const TileDesc desc = vec(DType::F32, 8, 8);  // 256 bytes
  CHECK(verdict(desc, a2a3(), 0, 3, 256).empty());
  CHECK_THAT(verdict(desc, a2a3(), 0, 0, 0), Contains("at least 1"));
  CHECK_THAT(verdict(desc, a2a3(), 0, -1, 256), Contains("at least 1"));
  CHECK_THAT(verdict(desc, a2a3(), 0, 1, 256), Contains("can't have a slot stride"));
  CHECK_THAT(verdict(desc, a2a3(), 0, 2, 224), Contains("one tile takes 256 bytes"));
  CHECK_THAT(verdict(desc, a2a3(), 0, 2, 272), Contains("multiple of 32"));
}

TEST_CASE("addresses are aligned and buffers fit") {
  const TileDesc desc = vec(DType::F32, 8, 8);
  CHECK(verdict(desc, a2a3(), 192 * 1024 - 256).empty());
  CHECK_THAT(verdict(desc, a2a3(), 192 * 1024 - 224), Contains("don't fit in the 196608 bytes of `vec`"));
  CHECK(verdict(desc, a5(), 192 * 1024).empty());
  CHECK_THAT(verdict(desc, a2a3(), 16), Contains("must be a multiple of 32"));
  CHECK_THAT(verdict(desc, a2a3(), -2), Contains("negative"));
  CHECK_THAT(verdict(desc, a2a3(), 1024 * 1024 * 1024), Contains("don't fit"));
  CHECK_THAT(verdict(desc, a2a3(), INT64_MAX - 31), Contains("don't fit"));
  CHECK_THAT(verdict(desc, a2a3(), -1, INT64_MAX, INT64_MAX - 31), Contains("don't fit"));
  CHECK_THAT(verdict(vec(DType::F32, 1024, 1024), a2a3(), -1), Contains("don't fit"));
  CHECK_THAT(verdict(tile(DType::F32, 1, 16, Layout::ND, Space::Bias), a2a3(), 32), Contains("multiple of 64"));
}
