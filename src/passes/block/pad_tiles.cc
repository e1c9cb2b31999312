#include "src/passes/block/pad_tiles.h"

#include <algorithm>

#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

namespace {

constexpr int64_t kBlock = 32;  // bytes: a row of a box, and what rows in vector memory are multiples of
constexpr int64_t kLongest = int64_t{1} << 40;

bool fits(const ir::Type& type, const Target& target) {
  isa::Buffer buffer;
  buffer.name = "t";
  buffer.tile = {type.dtype, type.rows, type.cols, type.layout, type.space};
  return type.dtype == DType::Bool || !isa::check_buffer(buffer, target).has_value();
}

// Shapes of operands must agree, so equal sides must stay equal: one multiple for all of a kernel's columns, one for
// all of its rows.
struct Steps {
  int64_t rows = 1;
  int64_t cols = 1;
};

template <typename F>
void for_each_tile(const ir::Function& kernel, F visit) {
  auto value = [&](ir::ValueId id) {
    if (kernel.type(id).is_tile() && kernel.type(id).space != Space::None) {
      visit(id);
    }
  };
  for_each_op(kernel, [&](ir::OpId id) {
    const ir::Op& op = kernel.ops[id];
    std::for_each(op.results.begin(), op.results.end(), value);
    for (ir::RegionId region : op.regions) {
      std::for_each(kernel.regions[region].args.begin(), kernel.regions[region].args.end(), value);
    }
  });
}

}  // namespace

int64_t box_step(DType dtype) {
  return std::max<int64_t>(16, kBlock / std::max<int64_t>(1, byte_size(dtype)));
}

std::optional<ir::Function> pad_tiles(const ir::Function& kernel, const Target& target) {
  bool ragged = false;
  bool fills = false;
  Steps steps;
  for_each_op(kernel, [&](ir::OpId id) { fills = fills || kernel.ops[id].kind == ir::OpKind::FillPad; });
  for_each_tile(kernel, [&](ir::ValueId id) {
    const ir::Type& type = kernel.type(id);
    ragged = ragged || !fits(type, target);
    const int64_t in_block = kBlock / std::max<int64_t>(1, byte_size(type.dtype));
    if (target.space(type.space).core == CoreKind::Cube) {
      steps.rows = std::max(steps.rows, box_step(type.dtype));
      steps.cols = std::max(steps.cols, box_step(type.dtype));
    } else if (type.dtype != DType::Bool) {
      (type.layout == Layout::DN ? steps.rows : steps.cols) =
          std::max(type.layout == Layout::DN ? steps.rows : steps.cols, in_block);
    }
  });
  if (!ragged || fills) {
    return std::nullopt;
  }
  ir::Function padded = kernel;
  for_each_tile(kernel, [&](ir::ValueId id) {
    ir::Type& type = padded.values[id].type;
    if (type.rows > 1 && type.rows < kLongest) {
      type.rows = round_up(type.rows, steps.rows);
    }
    if (type.cols > 1 && type.cols < kLongest) {
      type.cols = round_up(type.cols, steps.cols);
    }
  });
  return padded;
}

}  // namespace pto::passes
