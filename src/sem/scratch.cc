#include "src/sem/scratch.h"

#include <algorithm>
#include <array>
#include <memory>

namespace pto::sem {
namespace {

constexpr size_t kAlignment = 64;
struct alignas(kAlignment) Line {
  std::byte bytes[kAlignment];
};

struct Block {
  std::unique_ptr<Line[]> lines;
  size_t count = 0;
};

}  // namespace

std::byte* scratch(Slot slot, int64_t bytes) {
  thread_local std::array<Block, kSlotCount> blocks;
  Block& block = blocks[static_cast<size_t>(slot)];
  const size_t lines = static_cast<size_t>(std::max<int64_t>(bytes, 0)) / kAlignment + 1;
  if (lines > block.count) {
    block.lines = std::make_unique<Line[]>(lines);
    block.count = lines;
  }
  return block.lines[0].bytes;
}

}  // namespace pto::sem
