// Checks of a source text before it is parsed: size, encoding, and nesting. The parser and everything after it recurse
// on nesting, so this is where a file of 100,000 brackets is turned away, in one pass over its bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/source.h"

namespace pto::frontend {

inline constexpr size_t kMaxFileBytes = size_t{64} << 20;
inline constexpr size_t kMaxTokens = size_t{1} << 20;  // a parse tree takes some hundred bytes a token
inline constexpr int kMaxNesting = 256;                // brackets and prefix operators
inline constexpr int kMaxExpressionDepth = 1000;       // operators between the root of an expression and a leaf

struct Prescan {
  bool ok = true;
  std::vector<Span> unclosed;  // brackets that are open at the end of the file, outermost first
};

Prescan prescan(const SourceManager& sources, uint16_t file, DiagnosticSink& sink);

}  // namespace pto::frontend
