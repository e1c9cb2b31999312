// Expressions as `.pto` text with the fewest parentheses that parse back to the same tree: precedence of C, operators
// associate to the left.
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>
#include <string_view>

#include "src/support/expr_ops.h"

namespace pto {
namespace {

constexpr int kAnything = 0;
constexpr int kSum = 5;
constexpr int kAtom = 7;

struct Spelling {
  std::string_view text;
  int precedence;  // kAtom: written as a call
};

Spelling spelling_of(ExprOp op) {
  switch (op) {
    case ExprOp::Or:
      return {" || ", 1};
    case ExprOp::And:
      return {" && ", 2};
    case ExprOp::Eq:
      return {" == ", 3};
    case ExprOp::Ne:
      return {" != ", 3};
    case ExprOp::Lt:
      return {" < ", 4};
    case ExprOp::Le:
      return {" <= ", 4};
    case ExprOp::Add:
      return {" + ", kSum};
    case ExprOp::Sub:
      return {" - ", kSum};
    case ExprOp::Mul:
      return {" * ", 6};
    case ExprOp::FloorDiv:
    case ExprOp::Div:
      return {" / ", 6};
    case ExprOp::Mod:
      return {" % ", 6};
    case ExprOp::CeilDiv:
      return {"ceildiv(", kAtom};
    case ExprOp::Min:
      return {"min(", kAtom};
    case ExprOp::Max:
      return {"max(", kAtom};
    default:
      return {"", kAtom};
  }
}

std::string integer_text(int64_t value) {
  // Its absolute value is no integer literal.
  if (value == std::numeric_limits<int64_t>::min()) {
    return "(-9223372036854775807 - 1)";
  }
  return std::to_string(value);
}

// The shortest text that reads back as the same double, and that reads as a float at all.
std::string real_text(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) {
    text += ".0";
  }
  return text;
}

class Printer {
 public:
  Printer(const ExprPool& pool, const std::vector<Symbol>& symbols) : pool_(pool), symbols_(symbols) {}

  // A stack of what is still to be written instead of recursion: depth is the input's choice.
  std::string run(ExprId root) {
    push(root, kAnything);
    while (!work_.empty()) {
      const Piece piece = work_.back();
      work_.pop_back();
      if (piece.id.valid()) {
        write(piece.id, piece.least);
      } else {
        out_ += piece.text;
      }
    }
    return std::move(out_);
  }

 private:
  struct Piece {
    ExprId id;  // an expression, or
    std::string_view text;
    int least = kAnything;  // an expression of lower precedence than this needs parentheses
  };

  void push(ExprId id, int least) { work_.push_back({id, {}, least}); }
  void push(std::string_view text) { work_.push_back({{}, text, kAnything}); }

  void write(ExprId id, int least) {
    const ExprNode& node = pool_[id];
    if (is_leaf(node.op)) {
      out_ += leaf_text(node);
      return;
    }
    const Spelling spelling = spelling_of(node.op);
    if (spelling.precedence == kAtom) {
      out_ += spelling.text;
      push(")");
      push(node.b, kAnything);
      push(", ");
      push(node.a, kAnything);
      return;
    }
    const bool parentheses = spelling.precedence < least;
    if (parentheses) {
      out_ += '(';
      push(")");
    }
    const std::optional<int64_t> added = node.op == ExprOp::Add ? pool_.constant(node.b) : std::nullopt;
    if (added && *added < 0 && *added != std::numeric_limits<int64_t>::min()) {
      push(absolute(*added));
      push(" - ");
    } else {
      push(node.b, spelling.precedence + 1);
      push(spelling.text);
    }
    push(node.a, spelling.precedence);
  }

  // `x + -3` reads better as `x - 3`, and parses to the same. The text lives as long as the printer.
  std::string_view absolute(int64_t added) {
    numbers_.push_back(std::to_string(-added));
    return numbers_.back();
  }

  std::string leaf_text(const ExprNode& node) const {
    switch (node.op) {
      case ExprOp::Int:
        return integer_text(node.value);
      case ExprOp::Float:
        return real_text(node.fvalue);
      case ExprOp::BlockIndex:
        return "block_index()";
      case ExprOp::BlockCount:
        return "block_count()";
      case ExprOp::LaneIndex:
        return "lane_index()";
      default:
        break;
    }
    if (node.sym.index() < symbols_.size()) {
      return symbols_[node.sym.index()].name;
    }
    std::string unknown = "?";
    return unknown.append(std::to_string(node.sym.index()));
  }

  const ExprPool& pool_;
  const std::vector<Symbol>& symbols_;
  std::vector<Piece> work_;
  std::deque<std::string> numbers_;
  std::string out_;
};

}  // namespace

std::string ExprPool::print(ExprId id, const std::vector<Symbol>& symbols) const {
  if (tree_size(id) > kMostPrinted) {
    return "...";
  }
  return Printer(*this, symbols).run(id);
}

}  // namespace pto
