// Memory for intermediate results, one block a slot and thread; it grows to the largest size asked for and is kept.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pto::sem {

enum class Slot : uint8_t { Stage0, Stage1, Stage2, Convert0, Convert1, Reduce, Left, Right, Bias, Acc };
inline constexpr int kSlotCount = 10;

// At least `bytes`, aligned to 64; holds whatever the last user left. Valid until the slot is asked for again.
std::byte* scratch(Slot slot, int64_t bytes);

}  // namespace pto::sem
