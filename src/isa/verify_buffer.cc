// Rules for buffers, each a function: nothing, or what is wrong.
#include <limits>

#include "pto/target.h"
#include "src/isa/describe.h"
#include "src/isa/rules.h"

namespace pto::isa {
namespace {

using Verdict = std::optional<std::string>;
constexpr int64_t kRowBytes = 32;

// Layouts that a memory can hold.
bool is_layout_of(Layout layout, Space space, const Target& target) {
  switch (space) {
    case Space::Vec:
      return layout == Layout::ND || layout == Layout::DN || layout == Layout::Nz;
    case Space::Mat:
      return layout == Layout::ND || layout == Layout::DN || layout == Layout::Nz || layout == Layout::Zn;
    case Space::Left:
      return layout == target.left_layout;
    case Space::Right:
      return layout == Layout::Zn;
    case Space::Acc:
      return layout == Layout::Nz;
    case Space::Bias:
    case Space::Scaling:
      return layout == Layout::ND;
    case Space::None:
    case Space::Gm:
      break;
  }
  return false;
}

Verdict check_space(const Buffer& buffer, const Target& target) {
  const Space space = buffer.tile.space;
  if (space == Space::None || space == Space::Gm || static_cast<int>(space) >= kSpaceCount) {
    return "a buffer must be in a memory of the core, not in " + tick(space);
  }
  if (target.space(space).bytes == 0) {
    return "target `" + target.name + "` has no " + tick(space) + " memory";
  }
  return std::nullopt;
}

Verdict check_shape(const Buffer& buffer) {
  const TileDesc& tile = buffer.tile;
  if (bit_width(tile.dtype) == 0) {
    return "a tile needs an element type";
  }
  if (tile.rows < 1 || tile.cols < 1) {
    return "a tile of shape " + shape_text(tile.rows, tile.cols) + " is empty: rows and columns must be positive";
  }
  if (tile.rows > std::numeric_limits<int64_t>::max() / 64 / tile.cols) {
    return "a tile of shape " + shape_text(tile.rows, tile.cols) + " is too large";
  }
  return std::nullopt;
}

Verdict check_layout(const Buffer& buffer, const Target& target) {
  if (is_layout_of(buffer.tile.layout, buffer.tile.space, target)) {
    return std::nullopt;
  }
  return describe(buffer.tile) + ": " + tick(buffer.tile.space) + " memory of target `" + target.name +
         "` can't hold layout " + tick(buffer.tile.layout);
}

// ND: whole rows of 32 bytes. DN: whole columns.
Verdict check_row_bytes(const Buffer& buffer) {
  const TileDesc& tile = buffer.tile;
  const bool by_column = tile.layout == Layout::DN;
  if (!by_column && tile.layout != Layout::ND) {
    return std::nullopt;
  }
  const int64_t bits = (by_column ? tile.rows : tile.cols) * bit_width(tile.dtype);
  if (bits % (kRowBytes * 8) == 0) {
    return std::nullopt;
  }
  return describe(tile) + " has " + (by_column ? "columns" : "rows") + " of " + std::to_string((bits + 7) / 8) +
         " bytes: they must be a multiple of 32";
}

Verdict check_boxes(const Buffer& buffer) {
  const TileDesc& tile = buffer.tile;
  const Box box = box_of(tile);
  if (tile.rows % box.rows == 0 && tile.cols % box.cols == 0) {
    return std::nullopt;
  }
  return describe(tile) + " is not made of whole boxes of " + shape_text(box.rows, box.cols) + ", as layout " +
         tick(tile.layout) + " needs";
}

Verdict check_one_row(const Buffer& buffer) {
  const TileDesc& tile = buffer.tile;
  if ((tile.space != Space::Bias && tile.space != Space::Scaling) || tile.rows == 1) {
    return std::nullopt;
  }
  return describe(tile) + " has " + std::to_string(tile.rows) + " rows: a tile in " + tick(tile.space) +
         " memory must have one";
}

Verdict check_slots(const Buffer& buffer, const Target& target) {
  if (buffer.slots < 1) {
    return "a buffer of " + std::to_string(buffer.slots) + " slots: there must be at least 1";
  }
  if (buffer.slots == 1) {
    return buffer.slot_stride == 0 ? Verdict() : "a buffer of one slot can't have a slot stride";
  }
  if (buffer.slot_stride < buffer.tile.bytes()) {
    return "slots are " + std::to_string(buffer.slot_stride) + " bytes apart, but one tile takes " +
           std::to_string(buffer.tile.bytes()) + " bytes";
  }
  const int64_t align = target.space(buffer.tile.space).align;
  if (buffer.slot_stride % align != 0) {
    return "slots are " + std::to_string(buffer.slot_stride) + " bytes apart: in " + tick(buffer.tile.space) +
           " memory that must be a multiple of " + std::to_string(align);
  }
  return std::nullopt;
}

// `address` -1 means not placed yet: then only the size counts.
Verdict check_place(const Buffer& buffer, const Target& target) {
  const SpaceInfo& space = target.space(buffer.tile.space);
  if (buffer.address < -1) {
    return "address " + std::to_string(buffer.address) + " is negative";
  }
  const int64_t address = buffer.address == -1 ? 0 : buffer.address;
  if (address % space.align != 0) {
    return "address " + std::to_string(address) + " in " + tick(buffer.tile.space) + " memory must be a multiple of " +
           std::to_string(space.align);
  }
  const int64_t tile = buffer.tile.bytes();
  const bool fits = tile <= space.bytes &&
                    (buffer.slots == 1 || buffer.slots - 1 <= (space.bytes - tile) / buffer.slot_stride) &&
                    address <= space.bytes - buffer.total_bytes();
  if (fits) {
    return std::nullopt;
  }
  return std::to_string(buffer.slots) + (buffer.slots == 1 ? " slot of " : " slots of ") + std::to_string(tile) +
         " bytes at address " + std::to_string(address) + " don't fit in the " + std::to_string(space.bytes) +
         " bytes of " + tick(buffer.tile.space) + " memory";
}

}  // namespace

std::optional<std::string> check_buffer(const Buffer& buffer, const Target& target) {
  // In this order: each rule relies on those before it (sizes don't overflow once the shape is known to be sane).
  if (Verdict wrong = check_space(buffer, target))
    return wrong;
  if (Verdict wrong = check_shape(buffer))
    return wrong;
  if (Verdict wrong = check_layout(buffer, target))
    return wrong;
  if (Verdict wrong = check_one_row(buffer))
    return wrong;
  if (Verdict wrong = check_row_bytes(buffer))
    return wrong;
  if (Verdict wrong = check_boxes(buffer))
    return wrong;
  if (Verdict wrong = check_slots(buffer, target))
    return wrong;
  return check_place(buffer, target);
}

}  // namespace pto::isa
