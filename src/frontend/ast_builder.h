// From ANTLR's parse tree, which must be free of errors, to the syntax tree. The types are only declared: ANTLR's
// headers stay in parse.cc and ast_builder.cc.
#pragma once

#include <string_view>

#include "pto/diagnostics.h"
#include "pto/result.h"
#include "src/frontend/ast.h"

namespace antlr4 {
class CommonTokenStream;
class ParserRuleContext;
}  // namespace antlr4

namespace pto::frontend {

// `text` is the source; tokens' positions are byte offsets in it.
Result<ast::File> build_ast(antlr4::ParserRuleContext& tree, antlr4::CommonTokenStream& tokens, std::string_view text,
                            uint16_t file, DiagnosticSink& sink);

}  // namespace pto::frontend
