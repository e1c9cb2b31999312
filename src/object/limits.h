// Bounds on what an object may hold. They are far above anything the compiler writes; they are there so that no file
// makes a reader run for ever or fill the memory. Internal to src/object.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pto::object {

inline constexpr size_t kMostBytes = size_t{64} << 20;   // of a file
inline constexpr size_t kLongestName = 4096;             // bytes
inline constexpr size_t kLongestText = size_t{1} << 20;  // bytes of a doc comment or constraint
inline constexpr size_t kMostFiles = 65535;
inline constexpr size_t kMostUnits = 4096;               // cores, programs
inline constexpr size_t kMostSymbols = size_t{1} << 16;  // and params, views, buffers, tasks: of one unit
inline constexpr size_t kMostStmts = size_t{1} << 20;    // of one core
inline constexpr size_t kMostExprs = size_t{1} << 20;    // of one unit
inline constexpr size_t kDeepestLoop = 64;
inline constexpr size_t kHighestRank = 5;

// Of a buffer, so that sums and products of them fit 64 bits by far.
inline constexpr int64_t kMostTileElements = int64_t{1} << 32;
inline constexpr int64_t kHighestAddress = int64_t{1} << 40;
inline constexpr int64_t kMostSlots = int64_t{1} << 16;

// For flatbuffers::Verifier. The deepest chain is object, core, statement, operand. A table takes a reference and a
// vtable offset, 4 bytes each, so a file with more tables than this has some twice.
inline constexpr uint32_t kDeepestTable = 16;
constexpr uint32_t most_tables(size_t bytes) {
  return static_cast<uint32_t>(bytes / 8 + 1);
}

// More wrong things than this are not reported of one object.
inline constexpr int kMostProblems = 20;

}  // namespace pto::object
