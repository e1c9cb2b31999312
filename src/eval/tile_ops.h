// The operations on tiles that touch no tensor: what tile_eval.cc leaves when control flow, loads and stores are done.
// Internal to the Tile evaluator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/eval/frame.h"

namespace pto::eval {

// The valid region of a tile: `rows` x `cols` elements.
struct Tile {
  DType dtype = DType::None;
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> data;
  double& at(int64_t r, int64_t c) { return data[static_cast<size_t>(r * cols + c)]; }
  double at(int64_t r, int64_t c) const { return data[static_cast<size_t>(r * cols + c)]; }
};
using TilePtr = std::shared_ptr<const Tile>;  // shared by values that carry the same tile through loops

class TileOps : public Frame {
 public:
  using Frame::Frame;

 protected:
  // A tile of the op's result type with the valid region that it has now.
  std::optional<Tile> make_tile(const ir::Op& op);
  bool define(const ir::Op& op, Tile tile);
  bool compute(const ir::Op& op);

  std::vector<TilePtr> tiles_;  // by value
  std::vector<int64_t> held_by_value_;  // elements that were counted for it

 private:
  using ElementFunction = std::function<double(const std::vector<double>&)>;
  std::optional<double> read(const ir::Op& op, size_t operand, int64_t r, int64_t c);
  bool elementwise(const ir::Op& op, const ElementFunction& f);
  bool reduce(const ir::Op& op);
  bool matmul(const ir::Op& op);
  bool fill(const ir::Op& op);
  bool fill_pad(const ir::Op& op);
  bool extract(const ir::Op& op);
};

}  // namespace pto::eval
