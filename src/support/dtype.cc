#include "pto/dtype.h"

#include <array>

namespace pto {
namespace {

struct Row {
  DType type;
  std::string_view spelling;
  int bits;
  DTypeClass cls;
};

constexpr std::array kRows = {
    Row{DType::None, "none", 0, DTypeClass::None},
#define PTO_DTYPE(Name, spelling, code, bits, cls) Row{DType::Name, spelling, bits, DTypeClass::cls},
#include "pto/dtype.def"
};

// Codes are dense in dtype.def, so a type is its row's index.
constexpr bool rows_follow_codes() {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<size_t>(kRows[i].type) != i) {
      return false;
    }
  }
  return true;
}
static_assert(rows_follow_codes());

const Row& row(DType type) {
  const auto index = static_cast<size_t>(type);
  return kRows[index < kRows.size() ? index : 0];
}

}  // namespace

std::string_view spelling(DType type) {
  return row(type).spelling;
}
int bit_width(DType type) {
  return row(type).bits;
}
DTypeClass dtype_class(DType type) {
  return row(type).cls;
}

std::optional<DType> dtype_from_spelling(std::string_view text) {
  for (const Row& candidate : kRows) {
    if (candidate.type != DType::None && candidate.spelling == text) {
      return candidate.type;
    }
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_code(uint64_t code) {
  if (code == 0 || code >= kRows.size()) {
    return std::nullopt;
  }
  return kRows[code].type;
}

}  // namespace pto
