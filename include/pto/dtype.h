// Element types and what the whole toolchain needs to know of them. The list is dtype.def; conversions of values are in
// src/support/convert.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace pto {

enum class DType : uint8_t {
  None = 0,
#define PTO_DTYPE(Name, spelling, code, bits, cls) Name = (code),
#include "pto/dtype.def"
};

enum class DTypeClass : uint8_t { None, Bool, Int, UInt, Float };

std::string_view spelling(DType type);
std::optional<DType> dtype_from_spelling(std::string_view text);
std::optional<DType> dtype_from_code(uint64_t code);  // of an object file; nullopt if unknown
int bit_width(DType type);
DTypeClass dtype_class(DType type);
inline bool is_float(DType type) { return dtype_class(type) == DTypeClass::Float; }
inline bool is_integer(DType type) {
  return dtype_class(type) == DTypeClass::Int || dtype_class(type) == DTypeClass::UInt;
}
// Bytes of `count` consecutive elements; packed 4-bit types take half a byte each, rounded up.
inline int64_t byte_size(DType type, int64_t count = 1) { return (count * bit_width(type) + 7) / 8; }

}  // namespace pto
