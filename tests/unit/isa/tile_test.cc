#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "tests/unit/isa/build.h"

using namespace pto;
using namespace pto::isa::testing;

TEST_CASE("offsets of f16 32x32 at (19, 4)") {
  const auto at = [](Layout layout) { return element_offset(tile(DType::F16, 32, 32, layout, Space::Mat), 19, 4); };
  CHECK(at(Layout::ND) == 612);
  CHECK(at(Layout::Nz) == 308);
  CHECK(at(Layout::Zz) == 564);
  CHECK(at(Layout::Zn) == 579);
  CHECK(at(Layout::DN) == 147);
  CHECK(element_offset(tile(DType::F32, 32, 32, Layout::Nz, Space::Acc), 19, 4) == 308);
}

TEST_CASE("boxes") {
  const auto box = [](DType type, Layout layout, Space space) {
    const Box result = box_of(tile(type, 64, 64, layout, space));
    return std::pair(result.rows, result.cols);
  };
  CHECK(box(DType::I8, Layout::Zz, Space::Left) == std::pair<int64_t, int64_t>(16, 32));
  CHECK(box(DType::I8, Layout::Zn, Space::Right) == std::pair<int64_t, int64_t>(32, 16));
  CHECK(box(DType::F32, Layout::Nz, Space::Mat) == std::pair<int64_t, int64_t>(16, 8));
  CHECK(box(DType::F32, Layout::Nz, Space::Acc) == std::pair<int64_t, int64_t>(16, 16));
  CHECK(box(DType::F16, Layout::Nn, Space::Mat) == std::pair<int64_t, int64_t>(16, 16));
  CHECK(box(DType::I4, Layout::Nz, Space::Mat) == std::pair<int64_t, int64_t>(16, 64));
  CHECK(box(DType::F32, Layout::ND, Space::Vec) == std::pair<int64_t, int64_t>(1, 1));
  CHECK(box(DType::F32, Layout::DN, Space::Vec) == std::pair<int64_t, int64_t>(1, 1));
}

TEST_CASE("a load of 32x48 f16 into nz puts boxes in column order") {
  const TileDesc nz = tile(DType::F16, 32, 48, Layout::Nz, Space::Mat);
  for (int64_t r = 0; r < 32; ++r) {
    for (int64_t c = 0; c < 48; ++c) {
      CHECK(element_offset(nz, r, c) == (c / 16 * 2 + r / 16) * 256 + r % 16 * 16 + c % 16);
    }
  }
}

TEST_CASE("every layout is a bijection onto the tile's elements") {
  std::mt19937 random(27);
  const DType types[] = {DType::I8, DType::F16, DType::F32, DType::I64, DType::U4};
  const Layout layouts[] = {Layout::ND, Layout::DN, Layout::Nz, Layout::Zn, Layout::Zz, Layout::Nn};
  for (int round = 0; round < 60; ++round) {
    for (Layout layout : layouts) {
      TileDesc desc = tile(types[random() % 5], 1, 1, layout, random() % 4 == 0 ? Space::Acc : Space::Mat);
      const Box box = box_of(desc);
      desc.rows = box.rows * static_cast<int64_t>(1 + random() % 4);
      desc.cols = box.cols * static_cast<int64_t>(1 + random() % 4);
      std::vector<int> hits(static_cast<size_t>(desc.rows * desc.cols));
      for (int64_t r = 0; r < desc.rows; ++r) {
        for (int64_t c = 0; c < desc.cols; ++c) {
          const int64_t offset = element_offset(desc, r, c);
          if (offset >= 0 && offset < desc.rows * desc.cols) {
            ++hits[static_cast<size_t>(offset)];
          }
        }
      }
      CHECK(std::all_of(hits.begin(), hits.end(), [](int count) { return count == 1; }));
    }
  }
}

TEST_CASE("sizes") {
  CHECK(vec(DType::F32, 16, 1024).bytes() == 65536);
  CHECK(vec(DType::I4, 3, 3).bytes() == 5);
  isa::Buffer buffer{"b", vec(DType::F16, 16, 16), 0, 3, 1024};
  CHECK(buffer.total_bytes() == 2 * 1024 + 512);
  buffer.slots = 1;
  buffer.slot_stride = 0;
  CHECK(buffer.total_bytes() == 512);
}
