#include "src/frontend/ast_builder.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "PtoParser.h"
#include "antlr4-runtime.h"
#include "src/frontend/prescan.h"

namespace pto::frontend {
namespace {

using ast::ExprRef;
using ast::Operator;

Operator binary_operator(const std::string& text) {
  static constexpr std::pair<std::string_view, Operator> kTable[] = {
      {"+", Operator::Add},    {"-", Operator::Sub},  {"*", Operator::Mul},    {"/", Operator::Div},
      {"%", Operator::Mod},    {"**", Operator::Pow}, {"<", Operator::Lt},     {"<=", Operator::Le},
      {">", Operator::Gt},     {">=", Operator::Ge},  {"==", Operator::Eq},    {"!=", Operator::Ne},
      {"&&", Operator::And},   {"||", Operator::Or},  {"&", Operator::BitAnd}, {"|", Operator::BitOr},
      {"^", Operator::BitXor}, {"<<", Operator::Shl}, {">>", Operator::Shr},   {"+=", Operator::Add},
      {"-=", Operator::Sub},   {"*=", Operator::Mul}, {"/=", Operator::Div},   {"%=", Operator::Mod},
  };
  for (const auto& [spelling, op] : kTable) {
    if (spelling == text) {
      return op;
    }
  }
  return Operator::None;
}

class Builder {
 public:
  Builder(antlr4::CommonTokenStream& tokens, std::string_view text, uint16_t file, DiagnosticSink& sink)
      : tokens_(tokens), text_(text), file_(file), sink_(sink) {}

  Result<ast::File> build(PtoParser::FileContext& tree) {
    for (auto* item : tree.item()) {
      out_.items.push_back(build_item(*item));
    }
    if (failed_) {
      return Reported{};
    }
    return std::move(out_);
  }

 private:
  Span span_between(const antlr4::Token* first, const antlr4::Token* last) const {
    const size_t begin = first->getStartIndex();
    const size_t end = std::max(last->getStopIndex() + 1, begin);
    return Span{file_, static_cast<uint16_t>(std::min<size_t>(end - begin, 65535)), static_cast<uint32_t>(begin)};
  }
  Span span_of(const antlr4::Token* token) const { return span_between(token, token); }
  Span span_of(antlr4::ParserRuleContext* tree) const { return span_between(tree->getStart(), tree->getStop()); }
  // A statement's or item's span up to its first block.
  Span head_span(antlr4::ParserRuleContext* tree, PtoParser::BlockContext* block) const {
    const size_t brace = block->getStart()->getTokenIndex();
    return span_between(tree->getStart(), brace > 0 ? tokens_.get(brace - 1) : block->getStart());
  }
  std::string_view source(Span span) const { return text_.substr(span.begin, span.length); }

  ast::Name name(PtoParser::NameContext* tree) const {
    if (tree == nullptr) {
      return {};
    }
    return {tree->getText(), span_of(tree)};
  }
  std::vector<ast::Name> names(const std::vector<PtoParser::NameContext*>& trees) const {
    std::vector<ast::Name> out;
    for (auto* tree : trees) {
      out.push_back(name(tree));
    }
    return out;
  }

  // The `///` lines in front of a token.
  std::string doc_before(const antlr4::Token* token) const {
    std::string out;
    for (const antlr4::Token* hidden : tokens_.getHiddenTokensToLeft(token->getTokenIndex())) {
      std::string_view line = source(span_of(hidden)).substr(3);
      if (line.starts_with(' ')) {
        line.remove_prefix(1);
      }
      out += (out.empty() ? "" : "\n");
      out += line;
    }
    return out;
  }

  std::string string_value(const antlr4::Token* token) {
    const std::string_view quoted = source(span_of(token));
    std::string out;
    for (size_t i = 1; i + 1 < quoted.size(); ++i) {
      if (quoted[i] != '\\') {
        out += quoted[i];
        continue;
      }
      const char c = quoted[++i];
      switch (c) {
        case 'n':
          out += '\n';
          break;
        case 't':
          out += '\t';
          break;
        case '"':
        case '\\':
          out += c;
          break;
        default: {
          Span span = span_of(token);
          span.begin += static_cast<uint32_t>(i) - 1;
          span.length = 2;
          error(span,
                "unknown escape `\\" + std::string(1, c) + "` in a string; known are `\\\"`, `\\\\`, `\\n` and `\\t`");
        }
      }
    }
    return out;
  }

  void error(Span span, std::string message) {
    failed_ = true;
    sink_.report(DiagId::SyntaxError, span, {std::move(message)});
  }

  // --- expressions

  ExprRef add(ast::Expr expr, int depth) {
    if (depth > kMaxExpressionDepth && !failed_) {
      failed_ = true;
      sink_.report(DiagId::NestingTooDeep, expr.span, {std::to_string(kMaxExpressionDepth)});
    }
    depths_.push_back(depth);
    return out_.exprs.add(std::move(expr));
  }
  int depth(ExprRef ref) const { return ref.valid() ? depths_[ref.index()] : 0; }

  // Walks down the left spine by hand: a chain of operators is as deep as it is long.
  ExprRef expr(PtoParser::ExprContext* tree) {
    std::vector<PtoParser::ExprContext*> spine;
    while (true) {
      spine.push_back(tree);
      if (auto* binary = dynamic_cast<PtoParser::BinaryExprContext*>(tree)) {
        tree = binary->left;
      } else if (auto* call = dynamic_cast<PtoParser::CallExprContext*>(tree)) {
        tree = call->callee;
      } else if (auto* index = dynamic_cast<PtoParser::IndexExprContext*>(tree)) {
        tree = index->base;
      } else {
        break;
      }
    }
    ExprRef result = simple(spine.back());
    spine.pop_back();
    while (!spine.empty()) {
      result = attach(result, spine.back());
      spine.pop_back();
    }
    return result;
  }
  ExprRef optional(PtoParser::ExprContext* tree) { return tree == nullptr ? ExprRef() : expr(tree); }
  std::vector<ExprRef> exprs(const std::vector<PtoParser::ExprContext*>& trees) {
    std::vector<ExprRef> out;
    for (auto* tree : trees) {
      out.push_back(expr(tree));
    }
    return out;
  }

  // An expression around its leftmost operand, which is built already.
  ExprRef attach(ExprRef left, PtoParser::ExprContext* tree) {
    ast::Expr out;
    out.span = span_of(tree);
    out.a = left;
    int deepest = depth(left);
    if (auto* binary = dynamic_cast<PtoParser::BinaryExprContext*>(tree)) {
      out.kind = ast::ExprKind::Binary;
      out.op = binary_operator(binary->op->getText());
      out.op_span = span_of(binary->op);
      out.b = expr(binary->right);
      deepest = std::max(deepest, depth(out.b));
    } else if (auto* call = dynamic_cast<PtoParser::CallExprContext*>(tree)) {
      out.kind = ast::ExprKind::Call;
      for (auto* argument : call->argument()) {
        ast::Argument arg;
        if (argument->argumentName() != nullptr) {
          arg.name = {argument->argumentName()->getText(), span_of(argument->argumentName())};
        }
        arg.value = expr(argument->expr());
        arg.layout = name(argument->layout);
        deepest = std::max(deepest, depth(arg.value));
        out.args.push_back(std::move(arg));
      }
    } else if (auto* index = dynamic_cast<PtoParser::IndexExprContext*>(tree)) {
      out.kind = ast::ExprKind::Index;
      out.slices = slices(index->slice(), deepest);
      out.b = optional(index->validRows);
      out.c = optional(index->validCols);
      deepest = std::max({deepest, depth(out.b), depth(out.c)});
    }
    return add(std::move(out), deepest + 1);
  }

  std::vector<ast::Slice> slices(const std::vector<PtoParser::SliceContext*>& trees, int& deepest) {
    std::vector<ast::Slice> out;
    for (auto* tree : trees) {
      ast::Slice slice;
      slice.span = span_of(tree);
      slice.a = optional(tree->start);
      slice.b = optional(tree->end);
      deepest = std::max({deepest, depth(slice.a), depth(slice.b)});
      if (tree->op == nullptr) {
        slice.kind = ast::SliceKind::Point;
      } else if (tree->op->getText() == ":+") {
        slice.kind = ast::SliceKind::Length;
        if (!slice.b.valid()) {
          error(slice.span, "expected a length after `:+`");
        }
      } else {
        slice.kind = slice.a.valid() || slice.b.valid() ? ast::SliceKind::Range : ast::SliceKind::All;
      }
      out.push_back(slice);
    }
    return out;
  }

  ExprRef simple(PtoParser::ExprContext* tree) {
    if (auto* paren = dynamic_cast<PtoParser::ParenExprContext*>(tree)) {
      return expr(paren->expr());
    }
    ast::Expr out;
    out.span = span_of(tree);
    int deepest = 0;
    if (auto* prefix = dynamic_cast<PtoParser::PrefixExprContext*>(tree)) {
      out.kind = ast::ExprKind::Prefix;
      const std::string op = prefix->op->getText();
      out.op = op == "-" ? Operator::Neg : op == "!" ? Operator::Not : Operator::BitNot;
      out.op_span = span_of(prefix->op);
      out.a = expr(prefix->expr());
      deepest = depth(out.a);
    } else if (auto* list = dynamic_cast<PtoParser::ListExprContext*>(tree)) {
      out.kind = ast::ExprKind::List;
      out.items = exprs(list->expr());
      for (const ExprRef item : out.items) {
        deepest = std::max(deepest, depth(item));
      }
    } else if (auto* integer = dynamic_cast<PtoParser::IntExprContext*>(tree)) {
      out.kind = ast::ExprKind::Int;
      out.integer = integer_value(integer->getText(), out.span);
    } else if (dynamic_cast<PtoParser::FloatExprContext*>(tree) != nullptr) {
      out.kind = ast::ExprKind::Float;
      std::string digits = tree->getText();
      std::erase(digits, '_');
      // from_chars knows no locale; too large is infinity and too small is zero, as for the nearest double.
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), out.real);
      if (code == std::errc::result_out_of_range) {
        error(out.span, "this float literal is out of the range of a double");
      }
    } else if (auto* string = dynamic_cast<PtoParser::StringExprContext*>(tree)) {
      out.kind = ast::ExprKind::String;
      out.text = string_value(string->getStart());
    } else {
      out.kind = ast::ExprKind::Name;
      out.text = tree->getText();
    }
    return add(std::move(out), deepest + 1);
  }

  uint64_t integer_value(std::string digits, Span span) {
    std::erase(digits, '_');
    const bool hex = digits.size() > 1 && (digits[1] == 'x' || digits[1] == 'X');
    const char* begin = digits.data() + (hex ? 2 : 0);
    uint64_t value = 0;
    const auto [end, code] = std::from_chars(begin, digits.data() + digits.size(), value, hex ? 16 : 10);
    // 2^63 itself is let through: it is the literal of -2^63.
    if (code != std::errc() || end != digits.data() + digits.size() || value > uint64_t{1} << 63) {
      error(span, "this integer literal does not fit 64 bits");
    }
    return value;
  }

  // --- types and statements

  ast::Type type(PtoParser::TypeContext* tree) {
    ast::Type out;
    out.span = span_of(tree);
    out.is_tile = tree->tile != nullptr;
    out.dtype = name(tree->name());
    for (auto* dim : tree->expr()) {
      if (dim != tree->validRows && dim != tree->validCols) {
        out.dims.push_back(expr(dim));
      }
    }
    out.valid_rows = optional(tree->validRows);
    out.valid_cols = optional(tree->validCols);
    for (auto* attribute : tree->typeAttribute()) {
      if (attribute->layout != nullptr) {
        out.layout = name(attribute->layout);
      } else if (attribute->space != nullptr) {
        out.space = name(attribute->space);
      } else {
        out.strides = span_of(attribute);
      }
    }
    return out;
  }

  ast::Block block(PtoParser::BlockContext* tree) {
    ast::Block out;
    out.span = span_of(tree);
    out.end = span_of(tree->getStop());
    for (auto* child : tree->statement()) {
      out.statements.push_back(statement(child));
    }
    return out;
  }

  ast::Range range(PtoParser::RangeContext* tree) {
    return {name(tree->name()), expr(tree->lo), expr(tree->hi), optional(tree->by)};
  }

  ast::Stmt statement(PtoParser::StatementContext* tree) {
    ast::Stmt out;
    out.span = span_of(tree);
    if (auto* let = tree->letStatement()) {
      let_statement(*let, out);
    } else if (auto* parallel = tree->parallelStatement()) {
      out.kind = ast::StmtKind::Parallel;
      out.span = head_span(parallel, parallel->block());
      for (auto* child : parallel->range()) {
        out.ranges.push_back(range(child));
      }
      for (auto* attribute : parallel->parallelAttribute()) {
        once(attribute, attribute->split != nullptr ? !out.split.empty() : out.pipeline.valid());
        if (attribute->split != nullptr) {
          out.split = name(attribute->split);
        } else {
          out.pipeline = expr(attribute->pipeline);
        }
      }
      out.blocks.push_back(block(parallel->block()));
    } else if (auto* loop = tree->forStatement()) {
      out.kind = ast::StmtKind::For;
      out.span = head_span(loop, loop->block());
      out.ranges.push_back(range(loop->range()));
      out.pipeline = optional(loop->pipeline);
      out.blocks.push_back(block(loop->block()));
    } else if (auto* loop = tree->whileStatement()) {
      out.kind = ast::StmtKind::While;
      out.span = head_span(loop, loop->block());
      out.conditions.push_back(expr(loop->expr()));
      out.blocks.push_back(block(loop->block()));
    } else if (auto* choice = tree->ifStatement()) {
      out.kind = ast::StmtKind::If;
      out.span = head_span(choice, choice->block(0));
      out.conditions = exprs(choice->expr());
      for (auto* child : choice->block()) {
        out.blocks.push_back(block(child));
      }
    } else if (auto* back = tree->returnStatement()) {
      out.kind = ast::StmtKind::Return;
      out.value = optional(back->expr());
    } else if (auto* buf = tree->bufStatement()) {
      buf_statement(*buf, out);
    } else if (auto* ring = tree->ringStatement()) {
      ring_statement(*ring, out);
    } else if (auto* buffer = tree->bufferStatement()) {
      out.kind = ast::StmtKind::Buffer;
      out.names.push_back(name(buffer->name()));
      out.types.push_back(type(buffer->type()));
      out.value = optional(buffer->expr());
    } else if (auto* task = tree->taskStatement()) {
      task_statement(*task, out);
    } else if (auto* instruction = tree->instructionStatement()) {
      instruction_statement(*instruction, out);
    } else if (auto* expression = tree->expressionStatement()) {
      const auto parts = expression->expr();
      out.kind = expression->op == nullptr ? ast::StmtKind::Expression : ast::StmtKind::Assign;
      if (expression->op != nullptr) {
        out.target = expr(parts.at(0));
        out.op = binary_operator(expression->op->getText());
      }
      out.value = expr(parts.back());
    }
    return out;
  }

  void let_statement(PtoParser::LetStatementContext& tree, ast::Stmt& out) {
    out.kind = tree.kind->getText() == "let" ? ast::StmtKind::Let : ast::StmtKind::Var;
    out.names = names(tree.pattern()->name());
    out.is_tuple = tree.pattern()->tuple != nullptr;
    if (tree.type() != nullptr) {
      out.types.push_back(type(tree.type()));
    }
    out.value = optional(tree.expr());
  }

  // An attribute of a statement is written once.
  void once(antlr4::ParserRuleContext* attribute, bool again) {
    if (again) {
      error(span_of(attribute), "`" + attribute->getStart()->getText() + "` is written twice");
    }
  }

  void ring_statement(PtoParser::RingStatementContext& tree, ast::Stmt& out) {
    out.kind = ast::StmtKind::Ring;
    out.names.push_back(name(tree.name(0)));
    out.direction = name(tree.direction);
    out.types.push_back(type(tree.type()));
    for (auto* attribute : tree.ringAttribute()) {
      once(attribute, attribute->split != nullptr ? !out.split.empty() : out.slots.valid());
      if (attribute->split != nullptr) {
        out.split = name(attribute->split);
      } else {
        out.slots = expr(attribute->slots);
      }
    }
  }

  void buf_statement(PtoParser::BufStatementContext& tree, ast::Stmt& out) {
    out.kind = ast::StmtKind::Buf;
    out.names.push_back(name(tree.name()));
    out.types.push_back(type(tree.type()));
    out.space = out.types.front().space;
    out.layout = out.types.front().layout;
    for (auto* attribute : tree.bufAttribute()) {
      if (attribute->place != nullptr) {
        out.space = name(attribute->place);
        out.address = expr(attribute->address);
      } else if (attribute->slots != nullptr) {
        out.slots = expr(attribute->slots);
      } else if (attribute->stride != nullptr) {
        out.stride = expr(attribute->stride);
      } else if (attribute->layout != nullptr) {
        out.layout = name(attribute->layout);
      } else if (attribute->space != nullptr) {
        out.space = name(attribute->space);
      }
    }
  }

  void task_statement(PtoParser::TaskStatementContext& tree, ast::Stmt& out) {
    out.kind = ast::StmtKind::Task;
    out.names.push_back(name(tree.task));
    out.callee = name(tree.callee);
    out.args = exprs(tree.expr());
    for (auto* attribute : tree.taskAttribute()) {
      if (attribute->blocks != nullptr) {
        out.blocks_expr = expr(attribute->blocks);
      } else {
        const auto list = names(attribute->name());
        out.after.insert(out.after.end(), list.begin(), list.end());
      }
    }
  }

  void instruction_statement(PtoParser::InstructionStatementContext& tree, ast::Stmt& out) {
    out.kind = ast::StmtKind::Instruction;
    out.names.push_back(name(tree.mnemonic));
    PtoParser::FirstOperandContext* first = tree.firstOperand();
    ast::Expr base;
    base.kind = ast::ExprKind::Name;
    base.text = first->base->getText();
    base.span = span_of(first->base);
    ExprRef value = add(std::move(base), 1);
    if (!first->slice().empty()) {
      ast::Expr index;
      index.kind = ast::ExprKind::Index;
      index.span = span_of(first);
      index.a = value;
      int deepest = 1;
      index.slices = slices(first->slice(), deepest);
      value = add(std::move(index), deepest + 1);
    }
    out.operands.push_back({value, name(first->arrow), span_of(first)});
    for (auto* child : tree.operand()) {
      out.operands.push_back({expr(child->expr()), name(child->arrow), span_of(child)});
    }
  }

  // --- items

  ast::Item build_item(PtoParser::ItemContext& tree) {
    ast::Item out;
    out.span = span_of(&tree);
    out.doc = doc_before(tree.getStart());
    if (auto* import = tree.importItem()) {
      out.kind = ast::ItemKind::Import;
      out.path = string_value(import->STRING()->getSymbol());
      out.path_span = span_of(import->STRING()->getSymbol());
    } else if (auto* constant = tree.constItem()) {
      out.kind = ast::ItemKind::Const;
      out.name = name(constant->name());
      out.value = expr(constant->expr());
    } else if (auto* inlined = tree.inlineItem()) {
      out.kind = ast::ItemKind::Inline;
      out.names = names(inlined->name());
      out.name = out.names.front();
      out.names.erase(out.names.begin());
      out.value = optional(inlined->expr());
      if (inlined->block() != nullptr) {
        out.body = block(inlined->block());
      }
    } else if (auto* pair = tree.pairItem()) {
      pair_item(*pair, out);
    } else if (auto* function = tree.functionItem()) {
      function_item(*function, out);
    }
    return out;
  }

  void function_item(PtoParser::FunctionItemContext& tree, ast::Item& out) {
    PtoParser::FunctionHeadContext* head = tree.functionHead();
    const std::string word = head->getStop()->getText();
    if (head->kind != nullptr) {
      out.kind = ast::ItemKind::Core;
      out.core_kind = {head->kind->getText(), span_of(head->kind)};
      out.automatic = head->automatic != nullptr;
    } else if (word == "graph") {
      out.kind = head->fused != nullptr ? ast::ItemKind::FusedGraph : ast::ItemKind::Graph;
    } else {
      out.kind = word == "kernel" ? ast::ItemKind::Kernel : ast::ItemKind::Program;
    }
    out.name = name(tree.name());
    out.span = head_span(&tree, tree.block());
    interface(tree, out);
    out.body = block(tree.block());
  }

  void pair_item(PtoParser::PairItemContext& tree, ast::Item& out) {
    out.kind = ast::ItemKind::Pair;
    out.name = name(tree.name());
    interface(tree, out);
    for (auto* member : tree.pairMember()) {
      out.members.push_back({name(member->kind), name(member->core)});
    }
    out.lanes = optional(tree.lanes);
  }

  // Dims, parameters, results and constraints, of a function or a pair.
  template <typename Tree>
  void interface(Tree& tree, ast::Item& out) {
    if (tree.dims() != nullptr) {
      for (auto* dim : tree.dims()->dim()) {
        out.dims.push_back({name(dim->name()), optional(dim->expr())});
      }
    }
    out.params = parameters(tree.parameters()->parameter());
    if (tree.results() != nullptr) {
      out.has_results = true;
      out.results = parameters(tree.results()->parameter());
    }
    if (tree.whereClause() != nullptr) {
      out.constraints = exprs(tree.whereClause()->expr());
    }
  }

  std::vector<ast::Param> parameters(const std::vector<PtoParser::ParameterContext*>& trees) {
    std::vector<ast::Param> out;
    for (auto* tree : trees) {
      ast::Param param;
      param.name = name(tree->name());
      param.doc = doc_before(tree->getStart());
      param.is_inout = tree->inout != nullptr;
      param.type = type(tree->type());
      param.value = optional(tree->expr());
      param.span = span_of(tree);
      out.push_back(std::move(param));
    }
    return out;
  }

  antlr4::CommonTokenStream& tokens_;
  std::string_view text_;
  uint16_t file_;
  DiagnosticSink& sink_;
  bool failed_ = false;
  ast::File out_;
  std::vector<int> depths_;  // by ExprRef
};

}  // namespace

Result<ast::File> build_ast(antlr4::ParserRuleContext& tree, antlr4::CommonTokenStream& tokens, std::string_view text,
                            uint16_t file, DiagnosticSink& sink) {
  return Builder(tokens, text, file, sink).build(dynamic_cast<PtoParser::FileContext&>(tree));
}

}  // namespace pto::frontend
