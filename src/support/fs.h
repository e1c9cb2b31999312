// Files in and out, with every failure as a diagnostic. Reads are bounded because input is hostile; writes are atomic
// because a half-written object is worse than none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pto/diagnostics.h"
#include "pto/result.h"

namespace pto {

// The bytes of a file; `-` is standard input. More than `max_bytes` is an error (E0901), as is a folder.
Result<std::string> read_file(const std::string& path, int64_t max_bytes, DiagnosticSink& sink);

// Writes beside `path` under a temporary name and renames, so that `path` has the old bytes or the new ones. Nothing is
// left on failure (E0902). What is there and is no regular file (/dev/null, a pipe) is written to directly.
bool write_file_atomic(const std::string& path, std::string_view bytes, DiagnosticSink& sink);

}  // namespace pto
