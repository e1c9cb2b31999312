// What a matrix product costs in pieces: times of the instructions of one piece (src/timing), summed over the pieces of
// a tile, and the search for the pieces that take least time. Used by tile-l0 for the pieces in the operand memories
// and by lower-to-tile for the blocks of a whole product.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pto/target.h"
#include "src/timing/timing.h"

namespace pto::passes {

struct Extents {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  friend bool operator==(const Extents&, const Extents&) = default;
};

// What stays in its memory while the innermost loop runs: the sum of a block over all of K, a left or a right piece.
enum class Stationary : uint8_t { Output, Left, Right };

// Times of single instructions on a cube core.
class MatmulCosts {
 public:
  MatmulCosts(const Target& target, DType operand, DType accumulator, DType stored)
      : target_(target), operand_(operand), accumulator_(accumulator), stored_(stored) {}

  timing::Ticks multiply(const Extents& piece) const;                 // M
  timing::Ticks to_left(int64_t m, int64_t k) const;                  // MTE1
  timing::Ticks to_right(int64_t k, int64_t n) const;                 // MTE1
  timing::Ticks load(int64_t rows, int64_t cols, double rate) const;  // MTE2, at most `rate` bytes a cycle
  timing::Ticks store(int64_t m, int64_t n, double rate) const;       // FIX
  timing::Ticks load_latency() const;

  // Multiples that extents of tiles have: of a product's m, and of n and k, which rows of L1 tiles run along.
  int64_t row_step() const { return 16; }
  int64_t col_step() const;
  int64_t bytes(int64_t elements) const { return byte_size(operand_, elements); }
  int64_t sum_bytes(int64_t elements) const { return byte_size(accumulator_, elements); }
  const Target& target() const { return target_; }

 private:
  const Target& target_;
  DType operand_;
  DType accumulator_;
  DType stored_;
};

// The smallest multiples of `step` that cut `extent` into 1, 2, 3, ... pieces: a size between two of them leaves as
// many pieces as the smaller one and takes more room.
std::vector<int64_t> piece_sizes(int64_t extent, int64_t step);

struct L0Request {
  Extents tile;       // of the product as written
  bool grid = false;  // may rows and columns be cut? Each piece is then stored on its own
  bool cut_rows = true;
  bool cut_columns = true;
  bool even_rows = false;  // only into pieces of one size
  bool even_columns = false;
  int64_t row_step = 16;  // multiple of rows of a piece, where tiles are padded to more than a product needs
  bool streamed = false;  // do products of a loop around it follow each other, with the same sum?
  int64_t sharers = 1;    // products of the kernel that share the operand memories
};

struct L0Plan {
  Extents piece;
  Stationary stationary = Stationary::Output;
  int64_t operand_slots = 1;
  int64_t sum_slots = 1;
  timing::Ticks time = 0;
  bool whole(const Extents& tile) const { return piece == tile; }
};

// Time of a plan; nullopt: it doesn't fit in the operand memories and the accumulator.
std::optional<timing::Ticks> l0_time(const MatmulCosts& costs, const L0Request& request, const L0Plan& plan);

// The plan that takes least time, of equals the one with the largest pieces; the product as it stands is left alone
// unless pieces gain something worth their loops. nullopt: no pieces fit.
std::optional<L0Plan> choose_l0(const MatmulCosts& costs, const L0Request& request);

// Blocks of a whole product: each core takes its share of them, one after the other, and adds over K in steps of `k`.
struct BlockRequest {
  Extents product;
  int64_t most_cols = 0;  // of a block; 0: as many as fit
};
struct BlockPlan {
  Extents block;
  int64_t sum_slots = 1;
  timing::Ticks time = 0;  // from the start of the task to the end of its last core
};
timing::Ticks block_time(const MatmulCosts& costs, const BlockRequest& request, const BlockPlan& plan,
                         timing::Ticks l0_step);
// Over all sizes of blocks; never fails: the smallest block fits everywhere.
BlockPlan choose_block(const MatmulCosts& costs, const BlockRequest& request);

}  // namespace pto::passes
