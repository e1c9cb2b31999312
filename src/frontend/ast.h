// The syntax tree: what the text says, before names and types. Plain structs with spans; expressions live in one vector
// per file and refer to each other by id, so that a long chain of operators is no deep chain of destructors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pto/ids.h"
#include "pto/source.h"

namespace pto::frontend::ast {

using ExprRef = Id<struct AstExprTag>;

struct Name {
  std::string text;
  Span span;
  bool empty() const { return text.empty(); }
};

enum class ExprKind : uint8_t { Error, Int, Float, String, Name, Prefix, Binary, Call, Index, List };

enum class Operator : uint8_t {
  None,
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Pow,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr,
  Neg,
  Not,
  BitNot,
};

struct Argument {
  Name name;  // may be empty
  ExprRef value;
  Name layout;  // `in: left layout(zz)`
};

enum class SliceKind : uint8_t { Point, Length, Range, All };
struct Slice {
  SliceKind kind = SliceKind::Point;
  ExprRef a;  // point or start
  ExprRef b;  // length or end
  Span span;
};

struct Expr {
  ExprKind kind = ExprKind::Error;
  Span span;
  std::string text;      // Name; String: its value
  uint64_t integer = 0;  // Int
  double real = 0;       // Float
  Operator op = Operator::None;
  Span op_span;
  ExprRef a;                   // Prefix, Binary; Call: the callee; Index: the base
  ExprRef b;                   // Binary; Index: the first of `; v0, v1`
  ExprRef c;                   // Index: the second of `; v0, v1`
  std::vector<Argument> args;  // Call
  std::vector<Slice> slices;   // Index
  std::vector<ExprRef> items;  // List
};

struct Type {
  Span span;
  bool is_tile = false;
  Name dtype;
  std::vector<ExprRef> dims;
  ExprRef valid_rows;
  ExprRef valid_cols;
  Name layout;
  Name space;
  Span strides;  // valid if written
};

struct Range {
  Name name;
  ExprRef lo;
  ExprRef hi;
  ExprRef step;  // may be missing
};

enum class StmtKind : uint8_t {
  Let,
  Var,
  Assign,
  Expression,
  Parallel,
  For,
  While,
  If,
  Return,
  Buf,
  Ring,
  Buffer,
  Task,
  Instruction,
};

struct Operand {
  ExprRef value;
  Name arrow;  // `mte2 -> v`
  Span span;
};

struct Stmt;
struct Block {
  std::vector<Stmt> statements;
  Span span;
  Span end;  // the closing brace
};

struct Stmt {
  StmtKind kind = StmtKind::Expression;
  Span span;  // without its blocks
  std::vector<Name>
      names;  // Let, Var: the pattern. Buf, Ring, Buffer, Task: one. Instruction: the mnemonic. Task: its name
  bool is_tuple = false;         // Let: `let (a) = ...`
  std::vector<Type> types;       // Let: none or one. Buf, Ring, Buffer: one
  ExprRef target;                // Assign
  Operator op = Operator::None;  // Assign: `+=`
  ExprRef value;  // Let (may be missing), Assign, Expression, Return; Buffer: `at`; If, While: conditions are in
                  // `conditions`
  std::vector<Range> ranges;        // Parallel, For
  Name split;                       // Parallel, Ring
  ExprRef pipeline;                 // Parallel, For
  std::vector<ExprRef> conditions;  // If: one a branch; While: one
  std::vector<Block> blocks;        // Parallel, For, While: one. If: a condition each, then maybe the else
  Name direction;                   // Ring
  // Buf; Ring has slots
  Name space;  // of `at` or `in`
  ExprRef address;
  ExprRef slots;
  ExprRef stride;
  Name layout;
  // Task
  Name callee;
  std::vector<ExprRef> args;
  ExprRef blocks_expr;
  std::vector<Name> after;
  // Instruction
  std::vector<Operand> operands;
};

struct Dim {
  Name name;
  ExprRef value;  // default; may be missing
};

struct Param {
  Name name;
  std::string doc;
  bool is_inout = false;
  Type type;
  ExprRef value;  // default; may be missing
  Span span;
};

// `cube: ffn_cube`
struct PairMember {
  Name kind;
  Name core;
};

enum class ItemKind : uint8_t { Import, Const, Inline, Graph, FusedGraph, Kernel, Core, Program, Pair };

struct Item {
  ItemKind kind = ItemKind::Import;
  Span span;
  std::string doc;
  Name name;
  std::string path;  // Import
  Span path_span;
  ExprRef value;            // Const, Inline: missing where the helper has statements
  std::vector<Name> names;  // Inline: parameters
  bool automatic = false;   // Core
  Name core_kind;           // Core
  std::vector<Dim> dims;
  std::vector<Param> params;
  std::vector<Param> results;
  bool has_results = false;  // `->` was written
  std::vector<ExprRef> constraints;
  std::vector<PairMember> members;  // Pair
  ExprRef lanes;                    // Pair; may be missing
  Block body;                       // functions; Inline with statements
};

struct File {
  std::vector<Item> items;
  IdVector<ExprRef, Expr> exprs;
  const Expr& operator[](ExprRef ref) const { return exprs[ref]; }
};

}  // namespace pto::frontend::ast
