// A PTO object in memory: core programs, task graphs, their parameters and source locations. The file form (`.ptobin`,
// FlatBuffers, identifier PTOB) is include/pto/object/ptob.fbs. Whoever reads a file gets a verified Object or a
// diagnostic; whoever writes one writes a verified Object.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pto/expr.h"
#include "pto/isa.h"
#include "pto/result.h"
#include "pto/target.h"

namespace pto::object {

inline constexpr uint32_t kVersion = 2;         // written
inline constexpr uint32_t kOldestReadable = 2;  // read: kOldestReadable .. kVersion

enum class ParamMode : uint8_t { In, Out, InOut };

struct Location {
  uint32_t file = 0;  // index in Object::source_files plus one; 0: unknown
  uint32_t line = 0;
  uint32_t column = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

// A tensor (`dims` used) or a scalar (`sym` used). Tensors are dense and row-major.
struct Param {
  std::string name;
  std::string doc;
  DType dtype = DType::None;
  bool is_tensor = true;
  ParamMode mode = ParamMode::In;
  std::vector<ExprId> dims;
  SymId sym;
  std::optional<double> default_value;  // scalars of programs
  friend bool operator==(const Param&, const Param&) = default;
};

// Another look at one of a core's tensors: the same elements in the same order under other dims.
struct View {
  std::string name;
  isa::TensorId base;  // a tensor parameter or an earlier view
  std::vector<ExprId> dims;
  friend bool operator==(const View&, const View&) = default;
};

enum class StmtKind : uint8_t { Inst, For, EndFor, Let, If, Else, EndIf };

// Code is a flat list; `For` .. `EndFor` and `If` [.. `Else`] .. `EndIf` nest. Loops run sym = lo, lo + step, ... while
// sym < hi; step > 0.
struct Stmt {
  StmtKind kind = StmtKind::Inst;
  isa::Inst inst;      // Inst
  SymId sym;           // For, Let
  ExprId lo, hi, step; // For
  ExprId value;        // Let; If: the condition, taken when not zero
  Location location;
};

// The program of one core. Expressions range over `symbols`: dims and scalar parameters (values given by the task), loop
// variables and lets (set by the code).
struct Core {
  std::string name;
  std::string doc;
  CoreKind kind = CoreKind::Vec;
  ExprPool exprs;
  std::vector<Symbol> symbols;
  std::vector<SymId> dims;
  std::vector<Param> params;
  std::vector<View> views;
  std::vector<isa::Buffer> buffers;
  std::vector<isa::Ring> rings;
  std::vector<Stmt> code;
  Location location;

  // Tensor parameters in order, then views: what isa::TensorId counts.
  size_t tensor_count() const;
  std::vector<isa::TensorInfo> tensor_infos() const;
  const std::vector<ExprId>& tensor_dims(isa::TensorId id) const;
  const std::string& tensor_name(isa::TensorId id) const;
};

struct Argument {
  bool is_tensor = true;
  uint32_t tensor = 0;  // index in the program's tensors: its tensor parameters in order, then its buffers
  ExprId scalar;        // of the program's pool
  friend bool operator==(const Argument&, const Argument&) = default;
};

// The vector lanes' side of a task of a pair.
struct TaskLanes {
  uint32_t core = 0;               // index in Object::cores
  std::vector<Argument> args;
  std::vector<ExprId> dims;
  uint32_t lanes = 2;              // 1: the cluster's second vector core idles
};

// `blocks` instances of a core program; instance b sees block_index() == b and block_count() == blocks. With `vec`, an
// instance takes a cluster: its cube core runs `core`, its vector cores run the lanes' program, connected by rings of
// equal names.
struct Task {
  std::string name;
  uint32_t core = 0;               // index in Object::cores
  std::optional<TaskLanes> vec;
  std::vector<Argument> args;      // one a parameter of the core
  std::vector<ExprId> dims;        // value of each of the core's dims, over the program's symbols
  ExprId blocks;
  std::vector<uint32_t> after;     // earlier tasks it waits for, ascending
  Location location;
};

// A tensor in the workspace, `offset` bytes from its start.
struct WorkBuffer {
  std::string name;
  DType dtype = DType::None;
  std::vector<ExprId> dims;
  ExprId offset;
  friend bool operator==(const WorkBuffer&, const WorkBuffer&) = default;
};

struct Constraint {
  ExprId condition;   // not zero
  std::string text;   // as written
  friend bool operator==(const Constraint&, const Constraint&) = default;
};

// An entry: what `ptorun --entry` names. Symbols are its dims and scalar parameters.
struct Program {
  std::string name;
  std::string doc;
  ExprPool exprs;
  std::vector<Symbol> symbols;
  std::vector<SymId> dims;
  std::vector<Param> params;
  std::vector<Constraint> constraints;
  std::vector<WorkBuffer> buffers;
  ExprId workspace_bytes;
  std::vector<Task> tasks;
  Location location;
};

struct Object {
  uint32_t version = kVersion;
  std::string target;         // name
  uint64_t target_hash = 0;
  std::vector<std::string> source_files;
  std::vector<Core> cores;
  std::vector<Program> programs;
};

// The one verifier: structure (ids in range, For/EndFor nest, operand kinds follow formats, tasks refer backwards), then
// every instruction and buffer by isa::check_*. `subject` names the object in messages. True if nothing was wrong.
bool verify(const Object& object, const Target& target, const std::string& subject, DiagnosticSink& sink);

// Deterministic bytes. With `source_map` false, locations and file names are left out (for comparing objects).
std::vector<uint8_t> write(const Object& object, bool source_map = true);

// From untrusted bytes: identifier, version window, FlatBuffers verification, then structure. Does not need the target:
// call `verify` with it afterwards.
Result<Object> read(std::span<const uint8_t> bytes, const std::string& subject, DiagnosticSink& sink);

}  // namespace pto::object
