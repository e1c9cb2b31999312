// The IR: one container for the four levels. A Module holds functions in order; a Function owns its values, ops, regions,
// buffers, symbols and scalar expressions, all by id, so that cloning is a copy. Tensors and tiles are SSA values; index
// arithmetic is not: it is ExprIds over the function's symbols. Control flow is structured (Parallel, For with a Yield).
// Depends on support and isa only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pto/expr.h"
#include "pto/ids.h"
#include "pto/isa.h"
#include "pto/source.h"
#include "pto/target.h"

namespace pto::ir {

using ValueId = Id<struct ValueTag>;
using OpId = Id<struct OpTag>;
using RegionId = Id<struct RegionTag>;
using FunctionId = Id<struct FunctionTag>;

enum class OpKind : uint8_t {
#define PTO_OP(Name, spelling, levels, shape, doc) Name,
#include "src/ir/ops.def"
};
enum class OpShape : uint8_t { Unary, Binary, Reduce, Special };
struct OpInfo {
  OpKind kind;
  std::string_view name;
  std::string_view spelling;
  std::string_view levels;
  OpShape shape;
};
const OpInfo& op_info(OpKind kind);
inline bool is_matmul(OpKind kind) {
  return kind == OpKind::MatMul || kind == OpKind::MatMulBias;
}

enum class TypeKind : uint8_t { None, Tensor, Tile };

// Tensor: dtype and dims (rank 1 to 5), dense row-major in global memory.
// Tile: dtype, physical rows x cols (static), valid region (expressions), memory and layout (None until inferred).
struct Type {
  TypeKind kind = TypeKind::None;
  DType dtype = DType::None;
  std::vector<ExprId> dims;
  int64_t rows = 0;
  int64_t cols = 0;
  ExprId valid_rows;
  ExprId valid_cols;
  Space space = Space::None;
  Layout layout = Layout::None;
  friend bool operator==(const Type&, const Type&) = default;
  bool is_tensor() const { return kind == TypeKind::Tensor; }
  bool is_tile() const { return kind == TypeKind::Tile; }
};

struct Value {
  Type type;
  std::string name;  // a hint, from the `let` or `var` whose statement made it; the printer makes it unique
  OpId def;          // not valid: a parameter or a region argument
};

struct Region {
  std::vector<ValueId> args;
  std::vector<OpId> ops;
};

// A scalar on one side of a Binary, Compare or Select: which operand position it has.
enum class ScalarSide : uint8_t { None, Left, Right };

// Operands and results by kind (elementwise ops and reductions: values in order, one result):
//   Compare {a, b}, Select {condition, a, b}: a or b missing where the scalar stands (scalar_side; Select: Left is a).
//   MatMul {a, b} or {a, b, acc}.  MatMulBias {a, b, bias}.  Full {}.  Cast, Move, Extract, FillPad, Reshape {x}.
//   Load {tensor} -> {tile}.  Store {tensor, tile} -> {}.  Assign {output parameter, value} -> {}.
//   Call: tensor arguments in the order of the callee's In and InOut tensors -> one result an Out tensor.
//   For {initial values} -> {values after the loop}; the body's arguments are the carried values, and its last op is a
//     Yield of the next ones, which may be missing where nothing is carried.  Parallel {} -> {}, a body without Yield.
//   If {} -> {values that both regions yield}; without results the regions have no Yield.
//   Buffer {} -> {tensor}.  Task: tensor arguments in the order of the callee's tensors (inputs and results) -> {}.
struct Op {
  OpKind kind = OpKind::Add;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  // Expressions by kind:
  //   Binary, Compare, Select with a scalar: {scalar}.   Full: {value}.
  //   Load, Store: offsets, one a dim of the tensor.     Extract: {row, col}.
  //   If: {condition}.  For: {lo, hi, step}.  Parallel: {lo, hi, step} a variable.   Let: {value}.
  //   Buffer: {offset} or {} while not planned.          Task, Call: scalar arguments in order.
  std::vector<ExprId> exprs;
  std::vector<RegionId> regions;  // For, Parallel: the body. If: then, else (always both, else may be empty)
  std::vector<SymId> syms;        // For, Let: one. Parallel: one or two
  ScalarSide scalar_side = ScalarSide::None;
  int axis = 0;                   // reductions, Softmax
  isa::Round round = isa::Round::Rint;  // Cast
  isa::Cmp cmp = isa::Cmp::Eq;    // Compare
  isa::Pad pad = isa::Pad::Zero;  // FillPad
  std::optional<isa::Split> split;  // Parallel: how vector lanes share a mixed kernel; not written: the compiler chooses
  int64_t pipeline = 0;           // For, Parallel: buffer depth as written; 0: not written, the compiler chooses
  isa::Inst inst;                 // Inst
  std::string name;               // Task: its name
  std::string callee;             // Call, Task
  ExprId blocks;                  // Task at Block and Exec level
  std::vector<ExprId> task_dims;  // Task: value of each of the callee's dims
  std::vector<OpId> after;        // Task: tasks it waits for
  std::vector<Span> spans;        // where it came from; the first is the one to show
  Span span() const { return spans.empty() ? Span{} : spans.front(); }
};

// A Pair has no body: it names the two cores that a cluster runs. Every parameter and dim of its cores is one of its own,
// by name.
enum class FunctionKind : uint8_t { Graph, FusedGraph, Kernel, Core, Pair, Program };
enum class ParamMode : uint8_t { In, Out, InOut };

// A tensor parameter has a value, a scalar parameter a symbol.
struct Param {
  std::string name;
  std::string doc;
  ParamMode mode = ParamMode::In;
  Type type;        // tensors
  ValueId value;    // tensors
  DType dtype = DType::None;  // scalars
  SymId sym;        // scalars
  std::optional<double> default_value;
  Span span;
  bool is_tensor() const { return value.valid(); }
};

struct Constraint {
  ExprId condition;
  std::string text;
  Span span;
};

struct Function {
  FunctionKind kind = FunctionKind::Graph;
  std::string name;
  std::string doc;
  CoreKind core_kind = CoreKind::Vec;  // cores
  bool automatic = false;              // `auto core`: the compiler places buffers (address -1) and inserts flags
  ExprPool exprs;
  std::vector<Symbol> symbols;
  std::vector<SymId> dims;             // dynamic dims in declaration order
  std::vector<Param> params;           // inputs and inouts, then outputs
  std::vector<Constraint> constraints;
  IdVector<ValueId, Value> values;
  IdVector<OpId, Op> ops;
  IdVector<RegionId, Region> regions;
  RegionId body;
  std::vector<isa::Buffer> buffers;    // cores; isa::BufferId counts these
  std::vector<Span> buffer_spans;
  std::vector<isa::Ring> rings;        // cores; isa::RingId counts these
  std::vector<Span> ring_spans;
  std::string pair_cube;               // pairs: names of the cores
  std::string pair_vec;
  int64_t lanes = 2;                   // pairs: vector cores that run
  // Cores: isa::TensorId counts tensor parameters in order, then results of Reshape ops in order of appearance in the
  // body's top region.
  std::vector<ValueId> tensors;
  Span span;

  SymId add_symbol(Symbol symbol);
  ValueId add_value(Type type, std::string name);
  RegionId add_region();
  // Appends an op at the end of a region and sets `def` of its results.
  OpId add_op(RegionId region, Op op);
  const Type& type(ValueId value) const { return values[value].type; }
  Region& body_region() { return regions[body]; }
  const Region& body_region() const { return regions[body]; }
};

// Program items that are entries: graphs and kernels and cores nobody calls, and programs.
struct Module {
  std::vector<Function> functions;
  const Function* find(std::string_view name) const;
  Function* find(std::string_view name);
};

enum class Level : uint8_t { Tensor, Tile, Block, Exec };
std::string_view spelling(Level level);

// The level whose ops a kind of function holds, and the letter that ops.def has for it.
Level level_of(FunctionKind kind);
char letter_of(Level level);

// Ops of the body and of nested regions, each before the ops of its own regions.
std::vector<OpId> ops_in_order(const Function& function);

// `.pto` text of every function, in order. The text parses back to an equal module.
std::string print(const Module& module);
// One function; `module` is where calls and tasks find the order of their callee's parameters. Without a module, or when
// the callee is not in it, tensors come first and scalars last.
std::string print(const Function& function, const Module* module = nullptr);
// "f32[M, 64]", "tile f16[128, 64; min(128, M - m), 64] in left layout(zz)", for dumps and messages.
std::string type_text(const Function& function, const Type& type);

// Gives values, loop variables, lets, buffers and tasks the names that `print` writes: unique, no keywords, none empty.
// A function that was printed and parsed has these names already, so a pass that derives names from names (buffers from
// tiles, say) gives the same result from a dump as without one. The pipeline runs it at the end of every level.
void normalize_names(Function& function);

// The same functions in the same order, up to ids, spans, names of values, loop variables, lets, buffers and tasks, and
// unused values, ops and expressions.
bool equal(const Module& a, const Module& b);
bool equal(const Function& a, const Function& b);

// Appends one line a violation; true if there are none. A violation after the front end is our bug. Invariants:
//   module     names of functions are unique
//   items      identifiers, unique among dims and parameters; outputs behind inputs; a parameter's type is its value's
//   structure  ids in range; an op stands in one region, a region belongs to one op; a value, loop variable or let has
//              one definition and is used in its scope only; a Yield is last in a For body and matches what is carried
//   levels     ops are those that ops.def allows at the function's level; parallel, buffers, tasks and views stand in
//              the body itself, views of a core in front of all else; block_index() only in kernels and cores
//   types      counts of operands, results and expressions; element types; dims and tile shapes as far as both are
//              known; a scalar is a float exactly where its element type is
//   outputs    a graph assigns each output once; nothing is written that is not Out or InOut, nothing Out is read
//   calls      callee's kind, argument counts, element types and ranks; a task waits for earlier tasks
//   cores      operands follow the instruction's format; buffers are placed unless the core is automatic
// Not checked here: memories and layouts (isa::check_instruction, check_buffer), valid regions against the rules of the
// ops, that a kernel writes its outputs wholly, dims that differ in form but are equal in value.
bool verify(const Module& module, std::vector<std::string>& violations);

}  // namespace pto::ir
