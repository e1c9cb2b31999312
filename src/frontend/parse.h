// Text to syntax tree. Everything wrong with the text as text is reported here; several errors a file.
#pragma once

#include "pto/diagnostics.h"
#include "pto/result.h"
#include "pto/source.h"
#include "src/frontend/ast.h"

namespace pto::frontend {

Result<ast::File> parse(const SourceManager& sources, uint16_t file, DiagnosticSink& sink);

}  // namespace pto::frontend
