// The cost model: which formula an instruction class has. All coefficients come from the target. Numbers are turned
// from doubles into ticks once each, so that sums are exact.
#include "src/timing/timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/isa/rules.h"

namespace pto::timing {
namespace {

using isa::Format;
using isa::OperandKind;
using isa::TimingClass;

constexpr Ticks kMaxTicks = std::numeric_limits<Ticks>::max() / 4;  // so that no sum of a few overflows

Ticks to_ticks(double cycles) {
  const double ticks = cycles * static_cast<double>(kTicksPerCycle);
  return ticks >= static_cast<double>(kMaxTicks) ? kMaxTicks : std::llround(ticks);
}

int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}

// A tile operand, as far as costs go.
struct Tile {
  TileDesc desc;
  Valid valid;
  int64_t elements() const { return valid.rows * valid.cols; }
  int64_t bytes() const { return byte_size(desc.dtype, elements()); }
};

struct Request {
  const Target& target;
  CoreKind core;
  const isa::InstrInfo& row;
  std::span<const TileDesc> tiles;
  std::span<const Valid> valids;
  DType gm_dtype;

  // Tile operand `index`; an empty one if there is none. Regions never exceed the tile.
  Tile tile(size_t index) const {
    if (index >= tiles.size()) {
      return {};
    }
    const TileDesc& desc = tiles[index];
    const Valid valid = index < valids.size() ? valids[index] : Valid{desc.rows, desc.cols};
    return {desc, {std::clamp<int64_t>(valid.rows, 0, desc.rows), std::clamp<int64_t>(valid.cols, 0, desc.cols)}};
  }
};

// --- vector instructions

// Passes of the vector unit over a tile: one run of bytes where rows follow each other without a gap, else row by row.
int64_t repeats_of(const Tile& tile, int64_t repeat_bytes) {
  const bool contiguous = tile.desc.layout != Layout::ND || tile.valid.cols == tile.desc.cols;
  return contiguous ? ceil_div(tile.bytes(), repeat_bytes)
                    : tile.valid.rows * ceil_div(byte_size(tile.desc.dtype, tile.valid.cols), repeat_bytes);
}

// The tile that needs most repeats sets the pace: the wider type of a conversion, the source of a reduction. Scratch
// tiles don't count.
Cost vector_cost(const Request& request, TimingClass timing) {
  const Target& target = request.target;
  int64_t repeats = 0;
  DType type = DType::None;
  size_t index = 0;
  for (OperandKind kind : isa::format_operands(request.row.format)) {
    if (!isa::is_tile(kind)) {
      continue;
    }
    const Tile tile = request.tile(index++);
    const int64_t needed = kind == OperandKind::TileTmp ? 0 : repeats_of(tile, target.vector_repeat_bytes);
    if (type == DType::None || needed > repeats) {
      repeats = needed;
      type = tile.desc.dtype;
    }
  }
  const auto found = target.vector_costs.find(timing);
  const VectorCost cost = found != target.vector_costs.end() ? found->second : VectorCost();
  Cost result;
  result.issue = to_ticks(target.issue_cycles);
  const double ii = bit_width(type) <= 16 ? cost.ii16 : cost.ii;
  result.busy = to_ticks(std::max(cost.floor, ii * static_cast<double>(repeats)));
  result.idle_head = to_ticks(cost.head);
  result.tail = to_ticks(cost.tail);
  return result;
}

// --- copies

// Bytes a cycle that rows of this length reach: a row takes at least `row_cycles`.
double rate_for_rows(const DataPath& path, int64_t row_bytes) {
  if (path.row_cycles <= 0 || row_bytes <= 0) {
    return path.bytes_per_cycle;
  }
  return std::min(path.bytes_per_cycle, static_cast<double>(row_bytes) / path.row_cycles);
}

Cost gm_cost(const Request& request) {
  const bool store = request.row.format == Format::Store || request.row.format == Format::Push;
  const Tile tile = request.tile(0);
  const DataPath* path = store ? request.target.path(tile.desc.space, Space::Gm, request.core)
                               : request.target.path(Space::Gm, tile.desc.space, request.core);
  if (path == nullptr) {
    return {};
  }
  const DType type = request.gm_dtype == DType::None ? tile.desc.dtype : request.gm_dtype;
  Cost cost;
  cost.issue = to_ticks(path->issue_cycles);
  cost.busy = to_ticks(path->start_cycles);
  cost.latency = to_ticks(path->latency_cycles);
  cost.gm_write = store;
  cost.gm_bytes = byte_size(type, tile.elements());
  cost.rate_cap = std::max<int64_t>(1, to_ticks(rate_for_rows(*path, byte_size(type, tile.valid.cols))));
  return cost;
}

// Inside a core whole boxes move, so the destination's region counts rounded up to them.
Cost path_cost(const DataPath& path, const Tile& tile) {
  const Box box = box_of(tile.desc);
  const int64_t rows = round_up(tile.valid.rows, box.rows);
  const int64_t row_bytes = byte_size(tile.desc.dtype, round_up(tile.valid.cols, box.cols));
  Cost cost;
  cost.issue = to_ticks(path.issue_cycles);
  cost.busy =
      to_ticks(path.start_cycles) + to_ticks(static_cast<double>(rows * row_bytes) / rate_for_rows(path, row_bytes));
  return cost;
}

// Between memories of a core. Inside `vec` memory the vector unit copies; a fill has no source, its route is from the
// memory to itself.
Cost move_cost(const Request& request) {
  const Tile to = request.tile(0);
  const Space from = request.row.format == Format::Fill ? to.desc.space : request.tile(1).desc.space;
  const DataPath* path = request.target.path(from, to.desc.space, request.core);
  if (path == nullptr) {
    return {};
  }
  return path->pipe == isa::Pipe::V ? vector_cost(request, TimingClass::VecCopy) : path_cost(*path, to);
}

Cost sync_cost(const Request& request) {
  Cost cost;
  cost.issue = to_ticks(request.target.issue_cycles);
  cost.busy = to_ticks(request.target.sync_cycles);
  return cost;
}

// Through a ring: like a store or a load where its slots are in global memory, else a copy to the consumer's memory,
// and the pop only waits.
Cost ring_cost(const Request& request) {
  const Tile tile = request.tile(0);
  const bool push = request.row.format == Format::Push;
  const bool to_vec = push ? tile.desc.space == Space::Acc : tile.desc.space == Space::Vec;
  if (!request.target.ring_is_local(to_vec ? isa::RingDirection::C2V : isa::RingDirection::V2C)) {
    return gm_cost(request);
  }
  if (!push) {
    return sync_cost(request);
  }
  const DataPath* path = to_vec ? request.target.path(Space::Acc, Space::Vec, CoreKind::Cube)
                                : request.target.path(Space::Vec, Space::Mat, CoreKind::Vec);
  Cost cost = path_cost(*path, tile);
  cost.tail = to_ticks(path->latency_cycles);
  return cost;
}

// --- matrix products

// Passes of the matrix unit: 16 rows by 16 columns by 32 bytes of the inner dimension each.
Cost matmul_cost(const Request& request) {
  const Target& target = request.target;
  const size_t left_index = 1;  // behind the accumulator, whether that is read or only written
  const Tile left = request.tile(left_index);
  const Tile right = request.tile(left_index + 1);
  const int64_t inner = 32 * 8 / std::max(bit_width(left.desc.dtype), 4);
  const int64_t passes =
      ceil_div(left.valid.rows, 16) * ceil_div(left.valid.cols, inner) * ceil_div(right.valid.cols, 16);
  const auto found = target.matmul_macs_per_cycle.find(left.desc.dtype);
  const double rate = found != target.matmul_macs_per_cycle.end() ? found->second : 1;
  Cost cost;
  cost.issue = to_ticks(target.issue_cycles);
  cost.busy = to_ticks(target.matmul_head_cycles) +
              to_ticks(static_cast<double>(passes) * static_cast<double>(16 * 16 * inner) / rate);
  cost.idle_head = to_ticks(target.matmul_idle_head_cycles) - to_ticks(target.matmul_head_cycles);
  return cost;
}

}  // namespace

Cost instruction_cost(const Target& target, CoreKind core, isa::Opcode opcode, std::span<const TileDesc> tiles,
                      std::span<const Valid> valids, DType gm_dtype) {
  const Request request{target, core, isa::info(opcode), tiles, valids, gm_dtype};
  switch (request.row.timing) {
    case TimingClass::Transfer:
      return request.row.format == Format::Push || request.row.format == Format::Pop ? ring_cost(request)
                                                                                     : gm_cost(request);
    case TimingClass::Move:
      return move_cost(request);
    case TimingClass::MatMul:
      return matmul_cost(request);
    case TimingClass::Sync:
      return sync_cost(request);
    default:
      return request.row.pipe == isa::Pipe::Route ? move_cost(request) : vector_cost(request, request.row.timing);
  }
}

}  // namespace pto::timing
