#include "src/frontend/prescan.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "src/support/text.h"

namespace pto::frontend {
namespace {

Span make_span(uint16_t file, size_t begin, size_t length) {
  return Span{file, static_cast<uint16_t>(length > 65535 ? 65535 : length), static_cast<uint32_t>(begin)};
}

bool check_bytes(std::string_view text, uint16_t file, DiagnosticSink& sink) {
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    sink.report(DiagId::NulByte, make_span(file, nul, 1), {});
    return false;
  }
  if (const auto bad = find_invalid_utf8(text)) {
    sink.report(DiagId::InvalidUtf8, make_span(file, *bad, 1), {});
    return false;
  }
  return true;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Walks over the tokens of a text, roughly: words, numbers and single characters, without comments and strings'
// insides.
class Scanner {
 public:
  Scanner(std::string_view text, uint16_t file, DiagnosticSink& sink) : text_(text), file_(file), sink_(sink) {}

  Prescan run() {
    while (at_ < text_.size() && result_.ok) {
      step();
    }
    for (const Open& open : open_) {
      result_.unclosed.push_back(make_span(file_, open.at, 1));
    }
    return std::move(result_);
  }

 private:
  struct Open {
    size_t at;
    int prefixes;  // run of prefix operators in front of it
  };

  void fail(DiagId id, size_t at, size_t length, std::string argument) {
    sink_.report(id, make_span(file_, at, length), {std::move(argument)});
    result_.ok = false;
  }

  void step() {
    const char c = text_[at_];
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      ++at_;
    } else if (c == '/' && next == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && next == '*') {
      skip_comment();
    } else {
      token(c);
    }
  }

  void skip_comment() {
    const size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) {
      fail(DiagId::SyntaxError, at_, 2, "this comment has no end: expected `*/`");
      return;
    }
    at_ = end + 2;
  }

  void skip_string() {
    const size_t start = at_++;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    if (at_ >= text_.size() || text_[at_] != '"') {
      fail(DiagId::SyntaxError, start, 1, "this string has no end: expected `\"` on the same line");
      return;
    }
    ++at_;
  }

  void token(char c) {
    if (++tokens_ > kMaxTokens) {
      fail(DiagId::TooManyTokens, at_, 1, std::to_string(kMaxTokens));
      return;
    }
    if (c == '-' || c == '!' || c == '~') {
      ++prefixes_;
      ++at_;
      check_depth();
      return;
    }
    if (c == '(' || c == '[' || c == '{') {
      open_.push_back({at_, prefixes_});
      depth_ += 1 + prefixes_;
      prefixes_ = 0;
      ++at_;
      check_depth();
      return;
    }
    prefixes_ = 0;
    if (c == ')' || c == ']' || c == '}') {
      if (!open_.empty()) {
        depth_ -= 1 + open_.back().prefixes;
        open_.pop_back();
      }
      ++at_;
    } else if (c == '"') {
      skip_string();
    } else if (is_word(c)) {
      while (at_ < text_.size() && is_word(text_[at_])) {
        ++at_;
      }
    } else {
      ++at_;
    }
  }

  void check_depth() {
    if (depth_ + prefixes_ > kMaxNesting) {
      fail(DiagId::NestingTooDeep, at_ - 1, 1, std::to_string(kMaxNesting));
    }
  }

  std::string_view text_;
  uint16_t file_;
  DiagnosticSink& sink_;
  size_t at_ = 0;
  size_t tokens_ = 0;
  int depth_ = 0;
  int prefixes_ = 0;
  std::vector<Open> open_;
  Prescan result_;
};

}  // namespace

Prescan prescan(const SourceManager& sources, uint16_t file, DiagnosticSink& sink) {
  const std::string_view text = sources.text(file);
  Prescan failed;
  failed.ok = false;
  if (text.size() > kMaxFileBytes) {
    sink.report(DiagId::FileTooLarge, make_span(file, 0, 0),
                {std::to_string(text.size()), std::to_string(kMaxFileBytes)});
    return failed;
  }
  if (!check_bytes(text, file, sink)) {
    return failed;
  }
  return Scanner(text, file, sink).run();
}

}  // namespace pto::frontend
