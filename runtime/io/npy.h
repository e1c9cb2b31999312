// NumPy's .npy files as arrays of a run: versions 1 to 3 of the format, parsed by hand and strictly. Works on bytes in
// memory, so that every malformed file can be tried in a test; reading and writing files is the caller's.
// Not supported, with a message that says what to do: big-endian, Fortran order, pickled objects, structured types, and
// element types that `.pto` does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/dtype.h"
#include "pto/result.h"
#include "pto/runtime.h"
#include "runtime/io/compare.h"

namespace pto::runtime::io {

// Largest array, in bytes, that a run takes from a file or makes: 16384 x 16384 of f32.
inline constexpr int64_t kMaxArrayBytes = int64_t{1} << 30;

// What a .npy header says, checked against the size of the file.
struct NpyHeader {
  std::string descr;  // as written: "<f4", "|b1"
  char kind = 0;      // 'f' float, 'i' and 'u' integer, 'b' bool, 'V' plain bytes
  int item_bytes = 0;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  size_t data_offset = 0;
};
Result<NpyHeader> parse_npy_header(std::span<const std::byte> file, const std::string& subject, DiagnosticSink& sink);

// The array, whose elements must be exactly of type `wanted`; `parameter` is for messages. NumPy has no bf16 and no
// 8-bit floats: their bits come as `<u2` or `|V2`, `|u1` or `|V1`.
Result<Array> read_npy(std::span<const std::byte> file, DType wanted, const std::string& parameter,
                       const std::string& subject, DiagnosticSink& sink);

// The same for a golden array of an output of type `wanted`: any float type, f64 too, where the output is of float
// type, any integer type where it is of integer type.
Result<Golden> read_npy_golden(std::span<const std::byte> file, DType wanted, const std::string& parameter,
                               const std::string& subject, DiagnosticSink& sink);

// Version 1.0, little-endian, C order, data aligned to 64 bytes. `array.dtype` has at least 8 bits.
std::vector<std::byte> write_npy(const Array& array);

// "f16[64, 512]"; nothing in the brackets for a scalar.
std::string type_text(DType type, std::span<const int64_t> shape);
// "[64, 512]"
std::string shape_text(std::span<const int64_t> shape);
// The product of non-negative dims; nullopt if it is more than `limit`.
std::optional<int64_t> element_count(std::span<const int64_t> shape, int64_t limit);

}  // namespace pto::runtime::io
