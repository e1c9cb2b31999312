// Words for messages of the rule book.
#pragma once

#include <string>

#include "pto/isa.h"

namespace pto::isa {

// "f32[16, 1024] nd in vec"
std::string describe(const TileDesc& tile);
// "`text`"
template <typename T>
std::string tick(T value) {
  return "`" + std::string(spelling(value)) + "`";
}
inline std::string shape_text(int64_t rows, int64_t cols) {
  return "[" + std::to_string(rows) + ", " + std::to_string(cols) + "]";
}

}  // namespace pto::isa
