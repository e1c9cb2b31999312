// Rules for rings and for the instructions that use them.
#include "src/isa/verify.h"

namespace pto::isa {
namespace {

constexpr int64_t kMaxRingSide = 4096;

const Operand& tile_operand(const Context& context) {
  return context.inst.operands[is_tile(context.inst.operands[0].kind) ? 0 : 1];
}
const Operand& ring_operand(const Context& context) {
  return context.inst.operands[is_tile(context.inst.operands[0].kind) ? 1 : 0];
}

std::string ring_text(const Ring& ring) {
  return "ring `" + ring.name + "` carries " + std::string(spelling(ring.dtype)) + shape_text(ring.rows, ring.cols) +
         (ring.split == Split::None ? "" : " split by " + std::string(spelling(ring.split)));
}

// The tile has the shape that this side of the ring handles: a vector lane's share, or the whole.
Verdict check_share(const TileDesc& tile, const Ring& ring, bool vector_side) {
  const int64_t rows = vector_side ? ring.lane_rows() : ring.rows;
  const int64_t cols = vector_side ? ring.lane_cols() : ring.cols;
  if (tile.rows == rows && tile.cols == cols) {
    return std::nullopt;
  }
  return describe(tile) + ", but " + ring_text(ring) + ": this side handles tiles of " + shape_text(rows, cols);
}

}  // namespace

Verdict rule_push(const Context& context) {
  const TileDesc& tile = context.buffers[tile_operand(context).buffer.index()].tile;
  const Ring& ring = context.rings[ring_operand(context).ring.index()];
  const Space from = ring.direction == RingDirection::C2V ? Space::Acc : Space::Vec;
  if (tile.space != from) {
    return describe(tile) + ": a " + tick(ring.direction) + " ring is filled from " + tick(from) + " memory";
  }
  if (from == Space::Vec && tile.layout != Layout::ND) {
    return describe(tile) + ": a tile pushed from `vec` memory must have layout `nd`";
  }
  if (Verdict wrong = check_share(tile, ring, from == Space::Vec)) {
    return wrong;
  }
  const bool good = from == Space::Acc ? is_acc_to_gm(tile.dtype, ring.dtype, context.family()) : tile.dtype == ring.dtype;
  return good ? std::nullopt
              : Verdict(describe(tile) + ", but " + ring_text(ring) +
                        (from == Space::Acc ? ": `f32` becomes `f32`, `f16` or `bf16`, `i32` stays"
                                            : ": only a push from `acc` converts"));
}

Verdict rule_pop(const Context& context) {
  const TileDesc& tile = context.buffers[tile_operand(context).buffer.index()].tile;
  const Ring& ring = context.rings[ring_operand(context).ring.index()];
  const bool to_vector = ring.direction == RingDirection::C2V;
  const Space to = to_vector ? Space::Vec : Space::Mat;
  const Layout layout = to_vector ? Layout::ND : Layout::Nz;
  if (tile.space != to || tile.layout != layout) {
    return describe(tile) + ": a " + tick(ring.direction) + " ring is emptied into " + tick(to) +
           " memory with layout " + tick(layout);
  }
  if (tile.dtype != ring.dtype) {
    return describe(tile) + ", but " + ring_text(ring) + ": a pop doesn't convert";
  }
  if (Verdict wrong = check_share(tile, ring, to_vector)) {
    return wrong;
  }
  const Operand& operand = tile_operand(context);
  const Buffer& buffer = context.buffers[operand.buffer.index()];
  if (!context.target.ring_is_local(ring.direction)) {
    return std::nullopt;
  }
  if (operand.slot.valid()) {
    return "`" + buffer.name + "` holds the slots of a ring: it is named without a slot and means the tile popped last";
  }
  return buffer.slots == ring.slots
             ? std::nullopt
             : Verdict("`" + buffer.name + "` has " + std::to_string(buffer.slots) + " slots, but ring `" + ring.name +
                       "` has " + std::to_string(ring.slots) + ": on target `" + context.target.name +
                       "` the buffer is the ring's memory");
}

Verdict rule_free(const Context& context) {
  const Ring& ring = context.rings[ring_operand(context).ring.index()];
  return context.target.ring_is_local(ring.direction)
             ? std::nullopt
             : Verdict("on target `" + context.target.name + "` a `tpop` frees the slot by itself");
}

std::optional<std::string> check_ring(const Ring& ring, const Target& target) {
  if (bit_width(ring.dtype) < 8) {
    return "ring `" + ring.name + "` needs an element type of whole bytes";
  }
  if (ring.rows < 1 || ring.cols < 1 || ring.rows > kMaxRingSide || ring.cols > kMaxRingSide) {
    return "ring `" + ring.name + "` has tiles of " + shape_text(ring.rows, ring.cols) +
           ": rows and columns must be 1 to " + std::to_string(kMaxRingSide);
  }
  if (ring.slots < 1 || ring.slots > kMaxRingSlots) {
    return "ring `" + ring.name + "` has " + std::to_string(ring.slots) + " slots, not 1 to " +
           std::to_string(kMaxRingSlots);
  }
  const int64_t halved = ring.split == Split::Rows ? ring.rows : ring.split == Split::Cols ? ring.cols : 2;
  if (halved % 2 != 0) {
    return "ring `" + ring.name + "` can't be split by " + std::string(spelling(ring.split)) + ": " +
           std::to_string(halved) + " is odd";
  }
  const bool four_bytes = bit_width(ring.dtype) == 32;
  if (target.ring_is_local(ring.direction) && ring.direction == RingDirection::C2V && ring.split != Split::None &&
      !four_bytes) {
    return "ring `" + ring.name + "` is split and carries " + tick(ring.dtype) + ": on target `" + target.name +
           "` a split from the accumulator needs 32-bit elements";
  }
  return std::nullopt;
}

}  // namespace pto::isa
