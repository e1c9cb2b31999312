#include "src/frontend/parse.h"

#include <exception>
#include <string>
#include <vector>

#include "PtoLexer.h"
#include "PtoParser.h"
#include "antlr4-runtime.h"
#include "src/frontend/ast_builder.h"
#include "src/frontend/prescan.h"
#include "src/support/text.h"

namespace pto::frontend {
namespace {

// The text as ANTLR sees it: one code point a byte, so that its positions are byte offsets. Names are ASCII, and
// comments and strings are read from the source, so nothing is lost.
std::string ascii_view(std::string_view text) {
  std::string view(text);
  if (view.starts_with("\xEF\xBB\xBF")) {
    view.replace(0, 3, "   ");
  }
  for (char& c : view) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      c = '\x7F';
    }
  }
  return view;
}

// Turns ANTLR's complaints into "expected `;` after `x`, found `}`".
class ErrorListener : public antlr4::BaseErrorListener {
 public:
  ErrorListener(std::string_view text, uint16_t file, const Prescan& scan, DiagnosticSink& sink)
      : text_(text), file_(file), scan_(scan), sink_(sink) {}

  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* offending, size_t /*line*/, size_t /*column*/,
                   const std::string& /*message*/, std::exception_ptr error) override {
    if (offending == nullptr || count_ >= kMaxErrors) {
      return;
    }
    // Right behind an error stands what the recovery from it stumbled over.
    const bool echo = count_ > 0 && offending->getTokenIndex() - last_ <= kEchoTokens;
    last_ = offending->getTokenIndex();
    if (echo) {
      return;
    }
    ++count_;
    auto& parser = dynamic_cast<antlr4::Parser&>(*recognizer);
    std::string message;
    const std::string wanted = is_undecided(error) ? std::string() : expected(parser, error);
    if (wanted.empty()) {
      message = "unexpected " + show(*offending);
    } else {
      message = "expected " + wanted;
      if (const antlr4::Token* before = previous(parser, *offending)) {
        message += " after " + show(*before);
      }
      message += ", found " + show(*offending);
    }
    auto handle = sink_.report(DiagId::SyntaxError, span_of(*offending), {message});
    if (offending->getType() == antlr4::Token::EOF && !scan_.unclosed.empty()) {
      const Span open = scan_.unclosed.back();
      handle.note(open, "this `" + std::string(text_.substr(open.begin, 1)) + "` is not closed");
    }
  }

 private:
  static constexpr size_t kMaxErrors = 50;
  static constexpr size_t kEchoTokens = 3;

  static bool is_undecided(const std::exception_ptr& error) {
    if (!error) {
      return false;
    }
    try {
      std::rethrow_exception(error);
    } catch (const antlr4::NoViableAltException&) {
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  Span span_of(const antlr4::Token& token) const {
    size_t begin = token.getStartIndex();
    size_t length = token.getStopIndex() + 1 - begin;
    if (token.getType() == antlr4::Token::EOF || begin >= text_.size()) {
      begin = text_.size();
      length = 0;
    } else if (token.getType() == PtoLexer::UNKNOWN) {
      length = decode_utf8(text_, begin).bytes;
    }
    return Span{file_, static_cast<uint16_t>(std::min<size_t>(length, 65535)), static_cast<uint32_t>(begin)};
  }

  std::string show(const antlr4::Token& token) const {
    if (token.getType() == antlr4::Token::EOF) {
      return "the end of the file";
    }
    const Span span = span_of(token);
    const std::string_view text = text_.substr(span.begin, std::min<size_t>(span.length, 40));
    return "`" + printable(text) + "`";
  }

  static const antlr4::Token* previous(antlr4::Parser& parser, const antlr4::Token& token) {
    for (size_t i = token.getTokenIndex(); i > 0; --i) {
      const antlr4::Token* before = parser.getTokenStream()->get(i - 1);
      if (before->getChannel() == antlr4::Token::DEFAULT_CHANNEL) {
        return before;
      }
    }
    return nullptr;
  }

  static antlr4::misc::IntervalSet expected_tokens(antlr4::Parser& parser, const std::exception_ptr& error) {
    if (error) {
      try {
        std::rethrow_exception(error);
      } catch (const antlr4::RecognitionException& exception) {
        return exception.getExpectedTokens();
      } catch (const std::exception&) {
        return parser.getExpectedTokens();
      }
    }
    return parser.getExpectedTokens();
  }

  // What stands for a set of tokens: "an expression" rather than its twenty first tokens. Empty: too many to list.
  static std::string expected(antlr4::Parser& parser, const std::exception_ptr& error) {
    const antlr4::misc::IntervalSet set = expected_tokens(parser, error);
    std::vector<std::string> parts;
    const bool names = set.contains(static_cast<size_t>(PtoLexer::IDENT));
    const bool expressions = set.contains(static_cast<size_t>(PtoLexer::FLOAT));
    std::vector<std::string> literals;
    for (const ssize_t token : set.toList()) {
      const std::string name = parser.getVocabulary().getDisplayName(static_cast<size_t>(token));
      if (name.size() > 2 && name.front() == '\'') {
        literals.push_back(name.substr(1, name.size() - 2));
      }
    }
    const auto has = [&](std::string_view text) {
      return std::find(literals.begin(), literals.end(), text) != literals.end();
    };
    if (has("let") && has("for")) {
      return "a statement or `}`";
    }
    if (has("graph") && has("kernel")) {
      return "an item (`graph`, `kernel`, `core`, `program`, `fn`, `const` or `import`)";
    }
    if (expressions) {
      parts.emplace_back("an expression");
    } else if (names) {
      parts.emplace_back("a name");
    }
    const bool operators = has("+") && has("*");
    for (const std::string& text : literals) {
      const bool word = std::isalpha(static_cast<unsigned char>(text.front())) != 0;
      const bool covered = (expressions && (text == "(" || text == "[" || text == "-" || text == "!" || text == "~")) ||
                           (operators && text != ";" && text != "," && text != ")" && text != "]" && text != "}" &&
                            text != "{" && text != ".." && !word);
      // Words that are free as names stand in every set of names.
      if (!covered && !(names && word)) {
        parts.push_back("`" + text + "`");
      }
    }
    if (set.contains(static_cast<size_t>(PtoLexer::STRING)) && !expressions) {
      parts.emplace_back("a string");
    }
    if (parts.empty() || parts.size() > 6) {
      return parts.empty() ? "" : parts.front();
    }
    std::string text = parts.front();
    for (size_t i = 1; i < parts.size(); ++i) {
      text += (i + 1 == parts.size() ? " or " : ", ") + parts[i];
    }
    return text;
  }

  std::string_view text_;
  uint16_t file_;
  const Prescan& scan_;
  DiagnosticSink& sink_;
  size_t count_ = 0;
  size_t last_ = 0;  // token of the last error
};

// A lexer that meets no rule can't happen (UNKNOWN matches anything), so only the parser's listener speaks.
Result<ast::File> parse_text(std::string_view text, uint16_t file, const Prescan& scan, DiagnosticSink& sink) {
  antlr4::ANTLRInputStream input(ascii_view(text));
  PtoLexer lexer(&input);
  lexer.removeErrorListeners();
  antlr4::CommonTokenStream tokens(&lexer);
  tokens.fill();
  PtoParser parser(&tokens);
  auto* simulator = parser.getInterpreter<antlr4::atn::ParserATNSimulator>();

  // First pass: fast prediction, and no word about errors. Nearly every file ends here.
  parser.removeErrorListeners();
  simulator->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  antlr4::ParserRuleContext* tree = parser.file();
  if (parser.getNumberOfSyntaxErrors() != 0) {
    ErrorListener listener(text, file, scan, sink);
    tokens.seek(0);
    parser.reset();
    parser.addErrorListener(&listener);
    simulator->setPredictionMode(antlr4::atn::PredictionMode::LL);
    tree = parser.file();
    parser.removeErrorListeners();
    if (parser.getNumberOfSyntaxErrors() != 0) {
      return Reported{};
    }
  }
  return build_ast(*tree, tokens, text, file, sink);
}

}  // namespace

Result<ast::File> parse(const SourceManager& sources, uint16_t file, DiagnosticSink& sink) {
  const Prescan scan = prescan(sources, file, sink);
  if (!scan.ok) {
    return Reported{};
  }
  // ANTLR's own exceptions end here.
  try {
    return parse_text(sources.text(file), file, scan, sink);
  } catch (const std::exception& error) {
    sink.report(DiagId::SyntaxError, Span{file, 0, 0}, {std::string("the parser gave up: ") + error.what()});
    return Reported{};
  }
}

}  // namespace pto::frontend
