// Lowers one function from syntax tree to IR: names, types, shapes, levels. The class is split over files by subject:
//   lower_names.cc      scopes, spans, diagnostics, words for types
//   lower_signature.cc  dims, parameters, constraints
//   lower_scalar.cc     index and scalar expressions
//   lower_expr.cc       expressions: dispatch, calls of built-ins, inline helpers
//   lower_elementwise.cc, lower_reduce.cc, lower_matmul.cc   operations of the Tensor and Tile levels
//   lower_tile.cc       windows, loads and stores, placement
//   lower_call.cc       calls of graphs and kernels, tasks
//   lower_stmt.cc       statements and loops; lower_branch.cc: branches, and variables without a value
//   lower_valid.cc      valid regions of loops and branches, and their rules
//   lower_core.cc       buffers and instructions
//   lower_pair.cc       rings and pairs
// Nothing here knows ANTLR.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/frontend/module.h"
#include "src/frontend/symbolic.h"
#include "src/ir/ir.h"

namespace pto::frontend {

// Expressions are printed, evaluated and compared as trees; calls and inline helpers could double one again and again.
inline constexpr uint32_t kLargestExpression = 4096;

// Functions of the language itself.
const std::vector<std::string>& builtin_names();
bool is_builtin(const std::string& name);

// What an expression is while it is lowered.
struct Val {
  enum class Kind : uint8_t { Error, Scalar, Value, Tuple };
  Kind kind = Kind::Error;
  ExprId expr;                      // Scalar
  ir::ValueId value;                // Value
  std::vector<ir::ValueId> values;  // Tuple: results of a call; may be empty
  bool is_error() const { return kind == Kind::Error; }
  bool is_scalar() const { return kind == Kind::Scalar; }
  bool is_value() const { return kind == Kind::Value; }
  static Val scalar(ExprId id) { return {Kind::Scalar, id, {}, {}}; }
  static Val of(ir::ValueId id) { return {Kind::Value, {}, id, {}}; }
};

struct Binding {
  // Empty: a variable that has no value yet.
  enum class Kind : uint8_t { Scalar, Value, Empty, Buffer, Ring, Task, Poison };
  Kind kind = Kind::Scalar;
  bool is_var = false;
  int param = -1;      // place in function.params
  size_t depth = 0;    // number of the scope; a Parallel's body must not assign outside of it
  ExprId expr;         // Scalar
  ir::ValueId value;   // Value
  uint32_t index = 0;  // Buffer, Ring; Task: its op
  ir::Type type;       // Empty: what may be assigned
  Span span;
};

// A name whose declaration has an error: its uses say nothing.
inline Binding poisoned() {
  Binding out;
  out.kind = Binding::Kind::Poison;
  return out;
}

class Lower {
 public:
  Lower(ModuleContext& module, FunctionInfo& info);

  // Dims, parameters, constraints. False if it can't be called.
  bool signature();
  // The body. Errors are in the sink.
  void body();
  // What a pair says of its cores, when their bodies are done.
  void pair();
  // A constant expression outside of any function; reports.
  std::optional<int64_t> constant_item(ast::ExprRef ref, std::string_view what);

 private:
  using Handle = DiagnosticSink::Handle;
  using Arguments = std::vector<ast::Argument>;

  // --- lower_names.cc
  Handle error(DiagId id, Span span, std::initializer_list<std::string> args);
  Val fail(DiagId id, Span span, std::initializer_list<std::string> args);
  Val unsupported(Span span, const std::string& what);
  Handle unknown(DiagId id, Span span, const std::string& name, std::vector<std::string> candidates);
  void push_scope() { scopes_.emplace_back(); }
  void pop_scope() { scopes_.pop_back(); }
  Binding* lookup(const std::string& name);
  void declare(const ast::Name& name, Binding binding);
  std::vector<std::string> visible_names() const;
  std::vector<Span> spans(Span span) const;
  const ast::Expr& at(ast::ExprRef ref) const { return (*file_)[ref]; }
  std::string text(ExprId id) const;
  std::string text(const ir::Type& type) const;
  std::string text(const Val& val) const;
  std::string dims_text(const std::vector<ExprId>& dims) const;
  std::string dtype_name(DType type) const { return std::string(spelling(type)); }
  bool is_level(ir::Level level) const { return level_ == level; }
  std::string level_word() const;

  // --- lower_signature.cc
  void dims();
  bool parameter(const ast::Param& param, ir::ParamMode mode);
  void scalar_parameter(const ast::Param& param, DType dtype, ir::Param& out);
  void constraints();
  void learn(ExprId condition);
  void check_dims_bound();
  std::optional<DType> dtype(const ast::Name& name);
  std::optional<ir::Type> tensor_type(const ast::Type& type);
  bool check_tensor_size(const ir::Type& type, Span span, const std::string& what);
  bool check_tile_size(const ir::Type& type, Span span);
  std::optional<std::vector<ExprId>> shape(const std::vector<ast::ExprRef>& refs, Span span);
  void core_directions();
  std::string base_tensor(ast::ExprRef ref) const;
  void note_directions(const ast::Block& block, std::map<std::string, std::string>& views, std::set<std::string>& read,
                       std::set<std::string>& written) const;

  // --- lower_scalar.cc
  Val scalar_binary(const ast::Expr& expr, ExprId a, ExprId b);
  Val make_scalar(ExprOp op, ExprId a, ExprId b, Span span);
  Val negate_scalar(ExprId a, Span span);
  bool is_real(ExprId id) const { return fn().exprs.is_real(id, fn().symbols); }
  DType scalar_type(ExprId id) const;                     // None: literals and index expressions
  ExprId index(ast::ExprRef ref, std::string_view what);  // invalid id: reported
  std::optional<int64_t> constant(ast::ExprRef ref, std::string_view what, int64_t least = 1);
  // A scalar that stands on a side of an operation on `type`; invalid id: reported.
  ExprId scalar_operand(ExprId id, DType type, Span span);
  ExprId scalar_value(ast::ExprRef ref, DType type, std::string_view what);

  // --- lower_expr.cc
  Val eval(ast::ExprRef ref);
  Val eval_name(const ast::Expr& expr);
  Val eval_index(const ast::Expr& expr);
  Val eval_prefix(const ast::Expr& expr);
  Val eval_binary(const ast::Expr& expr);
  Val eval_call(const ast::Expr& expr);
  Val builtin(const std::string& name, const ast::Expr& expr, bool& found);
  Val tile_builtin(const std::string& name, const ast::Expr& expr, bool& found);
  Val scalar_builtin(const std::string& name, const ast::Expr& expr, bool& found);
  Val min_max(const ast::Expr& expr, bool is_max);
  Val expand_inline(const std::string& name, const ModuleContext::Inline& helper, const ast::Expr& call);
  // Positional arguments in their number, named ones among `named`. False: reported.
  bool check_arguments(const ast::Expr& call, const std::string& name, size_t positional,
                       std::initializer_list<std::string_view> named);
  const ast::Argument* argument(const ast::Expr& call, std::string_view name) const;
  std::string word(ast::ExprRef ref) const;  // the text of a plain name, else empty
  std::optional<bool> flag(const ast::Expr& call, std::string_view name);
  Val value_operand(ast::ExprRef ref, const std::string& what);  // a tensor or tile
  ir::ValueId emit(ir::Op op, ir::Type type, Span span);
  void emit_effect(ir::Op op, Span span);
  bool in_body(Span span);  // false: reported

  // --- lower_elementwise.cc
  Val binary_op(ir::OpKind kind, const std::string& name, const Val& a, const Val& b, Span span, Span a_span,
                Span b_span);
  Val unary_op(ir::OpKind kind, const std::string& name, const ast::Expr& call);
  Val unary_value(ir::OpKind kind, const std::string& name, ir::ValueId value, Span span);
  Val compare_op(isa::Cmp cmp, const Val& a, const Val& b, const ast::Expr& expr);
  Val cast_op(const ast::Expr& call);
  Val select_op(const ast::Expr& call);
  Val full_op(const ast::Expr& call, bool zeros);
  Val broadcast_op(const ast::Expr& call);
  std::optional<ir::Type> shaped_type(ast::ExprRef ref, const std::string& what);
  std::optional<ir::Type> broadcast(const ir::Type& a, const ir::Type& b, const std::string& name, Span span);
  std::optional<ir::Type> broadcast_tensors(const ir::Type& a, const ir::Type& b, const std::string& name, Span span);
  std::optional<ir::Type> broadcast_tiles(const ir::Type& a, const ir::Type& b, const std::string& name, Span span);

  // --- lower_reduce.cc
  Val reduce_op(ir::OpKind kind, const std::string& name, const ast::Expr& call);
  Val tile_reduce(ir::OpKind kind, int axis, const std::string& name, const ast::Expr& call);
  Val softmax_op(const ast::Expr& call);
  Val reshape_op(const ast::Expr& call);
  Val reshape_value(ir::ValueId value, std::vector<ExprId> dims, Span span);
  int view_param(ir::ValueId value) const;
  std::optional<int> axis(const ast::Expr& call, size_t rank, std::optional<int> fallback, const std::string& name);

  // --- lower_matmul.cc
  Val matmul_op(const ast::Expr& call);
  std::optional<ir::Type> matmul_type(const ir::Type& a, const ir::Type& b, Span span);
  bool same_dim(ExprId a, ExprId b, Span span, const std::string& what);

  // --- lower_tile.cc
  struct Window {
    ir::ValueId tensor;
    std::vector<ExprId> offsets;
    ir::Type tile;
    int param = -1;
  };
  std::optional<Window> window(ast::ExprRef ref, const std::string& what);
  bool window_dim(const ast::Slice& slice, ExprId dim, DType dtype, bool last, Window& out,
                  std::vector<int64_t>& lengths, std::vector<ExprId>& valids);
  bool placement(const ast::Expr& call, ir::Type& type);
  Val load_op(const ast::Expr& call);
  Val store_op(const ast::Expr& call);
  Val move_op(const ast::Expr& call);
  Val extract_op(const ast::Expr& call);
  Val fillpad_op(const ast::Expr& call);
  ExprId clipped(int64_t length, ExprId dim, ExprId offset);

  // --- lower_call.cc
  Val call_function(FunctionInfo& callee, const ast::Expr& call);
  void task_statement(const ast::Stmt& stmt);
  void buffer_statement(const ast::Stmt& stmt);
  ir::ValueId task_tensor(ast::ExprRef ref, const ir::Param& param);
  void note_written(ir::ValueId value);
  struct CallArguments {
    std::vector<ir::ValueId> tensors;  // by parameter; not valid where none is given
    std::vector<ExprId> scalars;
    std::map<uint32_t, ExprId> symbols;  // callee's dims and scalars in this function's expressions
    std::vector<ExprId> dims;
  };
  std::optional<CallArguments> bind_arguments(FunctionInfo& callee, const std::vector<ast::ExprRef>& args, Span span,
                                              bool with_results);
  bool unify(FunctionInfo& callee, CallArguments& bound, const std::vector<Span>& arg_spans, Span span);
  bool check_unified(FunctionInfo& callee, const CallArguments& bound, size_t param, Span span);
  std::optional<ExprId> substitute(FunctionInfo& callee, const CallArguments& bound, ExprId id);

  // --- lower_stmt.cc
  void block(const ast::Block& block);
  void statement(const ast::Stmt& stmt);
  void let_statement(const ast::Stmt& stmt);
  void bind_value(const ast::Name& name, const Val& val, const ast::Stmt& stmt);
  void assign_statement(const ast::Stmt& stmt);
  void assign_output(Binding& binding, const std::string& name, const ast::Stmt& stmt);
  void expression_statement(const ast::Stmt& stmt);
  void parallel_statement(const ast::Stmt& stmt);
  void for_statement(const ast::Stmt& stmt);
  bool range(const ast::Range& range, ir::Op& op, std::vector<std::pair<ast::Name, Binding>>& names);
  bool pipeline(const ast::Stmt& stmt, ir::Op& op);
  Val augmented(const ast::Stmt& stmt, const Val& old);
  void assigned_names(const ast::Block& block, std::set<std::string>& out) const;
  bool enter(Span span);  // a nested statement; false: too deep, reported

  // --- lower_branch.cc
  struct Variable {
    std::string name;
    Binding* binding;
  };
  void empty_variable(const ast::Stmt& stmt);
  void branch(const ast::Stmt& stmt, size_t number);
  std::vector<Variable> assigned_variables(const std::set<std::string>& names);
  void join_branches(ir::OpId id, uint32_t symbols, const std::vector<Variable>& variables,
                     const std::vector<Binding>& before, const std::vector<Binding>& behind_then,
                     const ast::Stmt& stmt);

  // --- lower_valid.cc
  bool join_valid_of_branches(ir::OpId id, bool report);
  void retype_joined(ir::ValueId result);
  bool symbols_before(ExprId rows, ExprId cols, uint32_t count) const;
  void finish_carried(ir::OpId loop, const std::vector<std::string>& names, Span span);
  void retype(const ir::Op& op);
  void retype_region(ir::RegionId region);
  // Makes the valid region of a value that a scalar or row was spread over the smaller one that its user has.
  bool narrow(ir::ValueId value, ExprId rows, ExprId cols);
  bool is_whole(const ir::Type& type) const;
  bool provably_whole(ExprId valid, int64_t length) const;
  bool same_valid(ExprId a, ExprId b, int64_t length) const;
  void check_valid();
  // True if a type was narrowed. `report`: errors are reported.
  bool check_valid_op(ir::OpId id, bool report);
  bool check_elementwise(ir::OpId id, bool report);
  bool check_matmul(const ir::Op& op, bool report);
  bool check_store(ir::OpId id, bool report);
  ExprId join(ExprId a, ExprId b, int64_t whole) const;
  void join_valid(ir::Type& result, const ir::Type& operand) const;
  std::string valid_text(const ir::Type& type) const;

  // --- lower_pair.cc
  void ring_statement(const ast::Stmt& stmt);
  bool ring_operand(const ast::Expr& expr, isa::Operand& out);
  FunctionInfo* pair_member(CoreKind kind);
  bool pair_interface(FunctionInfo& core);
  void pair_rings(const FunctionInfo& cube, const FunctionInfo& vec);

  // --- lower_core.cc
  void buf_statement(const ast::Stmt& stmt);
  bool buffer_place(const ast::Stmt& stmt, isa::Buffer& buffer);
  Layout default_layout(Space space) const;
  void instruction(const ast::Stmt& stmt);
  bool operand(isa::OperandKind kind, const ast::Operand& given, isa::Operand& out, DType scalar);
  bool tile_operand(const ast::Expr& expr, isa::Operand& out);
  bool gm_operand(isa::OperandKind kind, const ast::Expr& expr, isa::Operand& out);
  bool valid_operand(const ast::Expr& expr, isa::Operand& out);
  bool attribute_operand(isa::OperandKind kind, const ast::Operand& given, isa::Operand& out);
  bool pipe(const std::string& word, Span span, isa::Operand& out);
  DType scalar_type_of(const isa::Inst& inst) const;
  void check_against_target(const isa::Inst& inst, const ast::Stmt& stmt);

  void check_outputs();

  ir::Function& fn() { return info_.function; }
  const ir::Function& fn() const { return info_.function; }

  ModuleContext& module_;
  FunctionInfo& info_;
  const ast::File* file_;
  ir::Level level_;
  std::vector<std::map<std::string, Binding>> scopes_;
  std::vector<Span> expansions_;  // calls of inline helpers, outermost first
  std::vector<std::string> expanding_;
  ir::RegionId region_;
  size_t parallel_depth_ = 0;  // number of scopes outside the innermost `parallel`; 0: none
  bool in_parallel_ = false;
  bool body_started_ = false;  // a statement that is neither `buf` nor a view
  int eval_depth_ = 0;
  size_t expanded_ = 0;     // expressions evaluated inside inline helpers
  size_t nesting_ = 0;      // statements around this one; `else if` nests, though it is not written so
  bool exhausted_ = false;  // a limit on expansion was reported
  Facts facts_;
  std::set<size_t> written_;  // parameters
  std::map<size_t, Span> written_spans_;
  std::set<uint32_t> written_buffers_;         // workspace values that a task wrote
  std::map<uint32_t, uint32_t> full_symbols_;  // a Full's or Broadcast's value: how many symbols there were before it
  std::map<uint32_t, ir::ValueId> carried_init_;  // a loop's argument: its first value
  struct Branches {
    ir::ValueId then;
    ir::ValueId otherwise;
    uint32_t symbols = 0;  // how many there were in front of the branch
  };
  std::map<uint32_t, Branches> branches_;  // a result of an If
  size_t errors_before_ = 0;
  std::map<std::string, ir::ParamMode> core_modes_;
  std::map<uint32_t, ir::Type> windows_;  // a Store's op: the type its window would load
  std::map<uint32_t, int> view_params_;   // a view's value: the parameter it is a view of
};

}  // namespace pto::frontend
