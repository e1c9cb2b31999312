// What the tests of src/sem share: tiles filled with poison, seeded values, and a runner that executes an instruction
// at every SIMD level this host has and requires the same bytes. Expected values are computed in the tests, from the
// formulas, with scalar loops; layouts go through element_offset, element by element.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "src/sem/sem.h"
#include "src/support/convert.h"

namespace pto::test {

constexpr std::byte kPoison{0xA5};
constexpr DType kAllTypes[] = {DType::I8,  DType::U8,  DType::I16, DType::U16,  DType::I32, DType::U32,
                               DType::I64, DType::U64, DType::F16, DType::BF16, DType::F32};

using Rng = std::mt19937_64;

struct Tile {
  TileDesc desc;
  Valid valid;
  std::vector<std::byte> bytes;

  Tile(DType dtype, int64_t rows, int64_t cols, Valid region, Layout layout = Layout::ND, Space space = Space::Vec)
      : desc{dtype, rows, cols, layout, space}, valid(region) {
    bytes.assign(static_cast<size_t>(desc.bytes()), kPoison);
  }
  Tile(DType dtype, int64_t rows, int64_t cols, Layout layout = Layout::ND, Space space = Space::Vec)
      : Tile(dtype, rows, cols, Valid{rows, cols}, layout, space) {}

  int64_t at(int64_t r, int64_t c) const { return element_offset(desc, r, c); }
  double real(int64_t r, int64_t c) const { return load_real(desc.dtype, bytes.data(), at(r, c)); }
  int64_t integer(int64_t r, int64_t c) const { return load_int(desc.dtype, bytes.data(), at(r, c)); }
  uint64_t bits(int64_t r, int64_t c) const {
    uint64_t value = 0;
    const int64_t size = byte_size(desc.dtype);
    std::memcpy(&value, bytes.data() + at(r, c) * size, static_cast<size_t>(size));
    return value;
  }
  void set_real(int64_t r, int64_t c, double value) { store_real(desc.dtype, bytes.data(), at(r, c), value); }
  void set_int(int64_t r, int64_t c, int64_t value) { store_int(desc.dtype, bytes.data(), at(r, c), value); }
  void set_bits(int64_t r, int64_t c, uint64_t value) {
    const int64_t size = byte_size(desc.dtype);
    std::memcpy(bytes.data() + at(r, c) * size, &value, static_cast<size_t>(size));
  }
};

// Any bits at all: for integers, and for copies.
inline void fill_bits(Tile& tile, Rng& rng) {
  for (int64_t r = 0; r < tile.valid.rows; ++r) {
    for (int64_t c = 0; c < tile.valid.cols; ++c) {
      tile.set_bits(r, c, rng());
    }
  }
}

// Ordinary numbers with some zeros of both signs, infinities, NaNs, subnormal and huge ones among them.
inline double awkward_real(Rng& rng) {
  constexpr double kSpecial[] = {0.0,   -0.0, INFINITY, -INFINITY, NAN, 1e-6, -1e-6,
                                 1e-40, 3e38, -3e38,    65504,     1.0, 1e-8};
  if (rng() % 6 == 0) {
    return kSpecial[rng() % std::size(kSpecial)];
  }
  return std::uniform_real_distribution<double>(-8, 8)(rng);
}
inline double ordinary_real(Rng& rng) {
  return std::uniform_real_distribution<double>(-8, 8)(rng);
}

inline void fill_real(Tile& tile, Rng& rng, double (*value)(Rng&) = awkward_real) {
  for (int64_t r = 0; r < tile.valid.rows; ++r) {
    for (int64_t c = 0; c < tile.valid.cols; ++c) {
      tile.set_real(r, c, value(rng));
    }
  }
}
inline void fill_any(Tile& tile, Rng& rng) {
  is_float(tile.desc.dtype) ? fill_real(tile, rng) : fill_bits(tile, rng);
}

inline uint64_t truncated(DType type, int64_t value) {
  const int width = bit_width(type);
  return static_cast<uint64_t>(value) & (width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
}
// What a float operation gives: computed exactly enough in double, rounded to f32, then to the element type.
inline uint64_t float_result(DType type, double value) {
  return encode_float(type, static_cast<double>(static_cast<float>(value)));
}

inline void use_level(int64_t target) {
  hwy::SetSupportedTargetsForTest(target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Executes at the best level, then at all others on the tiles as they were, and compares every byte.
inline void run(isa::Opcode opcode, std::vector<Tile*> tiles, sem::Args args = {},
                std::vector<std::byte>* gm = nullptr) {
  std::vector<std::vector<std::byte>> before;
  for (const Tile* tile : tiles) {
    before.push_back(tile->bytes);
  }
  const std::vector<std::byte> gm_before = gm != nullptr ? *gm : std::vector<std::byte>();
  const auto execute = [&] {
    std::vector<sem::TileView> views;
    for (Tile* tile : tiles) {
      views.push_back({tile->bytes.data(), tile->desc, tile->valid});
    }
    args.tiles = views;
    sem::execute(opcode, args);
  };
  use_level(0);
  const int64_t levels = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  execute();
  std::vector<std::vector<std::byte>> best;
  for (const Tile* tile : tiles) {
    best.push_back(tile->bytes);
  }
  const std::vector<std::byte> gm_best = gm != nullptr ? *gm : std::vector<std::byte>();
  for (int64_t rest = levels; rest != 0; rest &= rest - 1) {
    const int64_t level = rest & -rest;
    for (size_t i = 0; i < tiles.size(); ++i) {
      tiles[i]->bytes = before[i];
    }
    if (gm != nullptr) {
      std::copy(gm_before.begin(), gm_before.end(), gm->begin());
    }
    use_level(level);
    execute();
    use_level(0);
    for (size_t i = 0; i < tiles.size(); ++i) {
      if (tiles[i]->bytes != best[i]) {
        FAIL(isa::info(opcode).mnemonic << ": tile " << i << " differs at level " << hwy::TargetName(level));
      }
    }
    if (gm != nullptr && *gm != gm_best) {
      FAIL(isa::info(opcode).mnemonic << ": global memory differs at level " << hwy::TargetName(level));
    }
  }
}

// Every element inside `region` is expected(r, c), as bits; every other element still has the poison.
template <class F>
void check_tile(const Tile& tile, Valid region, F expected, const std::string& what) {
  const uint64_t poison = truncated(tile.desc.dtype, static_cast<int64_t>(0xA5A5A5A5A5A5A5A5U));
  int64_t wrong = 0;
  for (int64_t r = 0; r < tile.desc.rows; ++r) {
    for (int64_t c = 0; c < tile.desc.cols; ++c) {
      const bool inside = r < region.rows && c < region.cols;
      const uint64_t want = inside ? expected(r, c) : poison;
      const uint64_t got = tile.bits(r, c);
      if (got != want && wrong++ < 3) {
        UNSCOPED_INFO(what << " " << spelling(tile.desc.dtype) << " (" << r << ", " << c << "): got " << std::hex << got
                           << ", want " << want);
      }
    }
  }
  CHECK(wrong == 0);
}

// A width that rows of whole 32-byte blocks have.
inline int64_t padded_cols(DType type, int64_t cols) {
  const int64_t block = 32 / byte_size(type);
  return (cols + block - 1) / block * block;
}

}  // namespace pto::test
