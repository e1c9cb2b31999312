// Builds core programs and programs by hand, for tests. Statement n stands on line n + 1 of "test.pto".
#pragma once

#include <catch2/catch.hpp>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/runtime.h"
#include "pto/target.h"

namespace pto::test {

using isa::Opcode;
using isa::OperandKind;
using isa::Pipe;

inline Target target_named(const char* name) {
  DiagnosticSink sink;
  Result<Target> target = builtin_target(name, sink);
  REQUIRE(target.ok());
  return *target;
}

// A tile operand: a buffer and perhaps a slot.
struct Tile {
  isa::BufferId buffer;
  ExprId slot;
  Tile(isa::BufferId b) : buffer(b) {}  // NOLINT(google-explicit-constructor)
  Tile(isa::BufferId b, ExprId s) : buffer(b), slot(s) {}
};

class CoreBuilder {
 public:
  CoreBuilder(std::string name, CoreKind kind) {
    core.name = std::move(name);
    core.kind = kind;
    core.location = {1, 1, 1};
  }

  object::Core core;
  ExprPool& pool() { return core.exprs; }
  ExprId num(int64_t value) { return core.exprs.integer(value); }
  ExprId block() { return core.exprs.leaf(ExprOp::BlockIndex); }
  ExprId lane() { return core.exprs.leaf(ExprOp::LaneIndex); }

  SymId symbol(std::string name, SymKind kind, DType dtype = DType::I64) {
    core.symbols.push_back({std::move(name), kind, dtype});
    return SymId(static_cast<uint32_t>(core.symbols.size() - 1));
  }
  ExprId dim(std::string name) {
    core.dims.push_back(symbol(std::move(name), SymKind::Dim));
    return core.exprs.symbol(core.dims.back());
  }
  ExprId scalar(std::string name, DType dtype) {
    object::Param param;
    param.name = name;
    param.dtype = dtype;
    param.is_tensor = false;
    param.sym = symbol(std::move(name), SymKind::Scalar, dtype);
    if (is_float(dtype)) {
      core.exprs.mark_real(param.sym);
    }
    core.params.push_back(param);
    return core.exprs.symbol(param.sym);
  }
  isa::TensorId tensor(std::string name, DType dtype, std::vector<ExprId> dims, object::ParamMode mode) {
    object::Param param;
    param.name = std::move(name);
    param.dtype = dtype;
    param.mode = mode;
    param.dims = std::move(dims);
    core.params.push_back(param);
    return isa::TensorId(tensors_++);
  }
  isa::BufferId buffer(std::string name, DType dtype, int64_t rows, int64_t cols, int64_t address,
                       Space space = Space::Vec, Layout layout = Layout::ND, int64_t slots = 1) {
    isa::Buffer buffer;
    buffer.name = std::move(name);
    buffer.tile = {dtype, rows, cols, layout, space};
    buffer.address = address;
    buffer.slots = slots;
    buffer.slot_stride = slots == 1 ? 0 : buffer.tile.bytes();
    core.buffers.push_back(buffer);
    return isa::BufferId(static_cast<uint32_t>(core.buffers.size() - 1));
  }

  isa::RingId ring(isa::Ring ring) {
    core.rings.push_back(std::move(ring));
    return isa::RingId(static_cast<uint32_t>(core.rings.size() - 1));
  }

  ExprId loop(std::string name, ExprId lo, ExprId hi, int64_t step = 1) {
    object::Stmt stmt = statement(object::StmtKind::For);
    stmt.sym = symbol(std::move(name), SymKind::Loop);
    stmt.lo = lo;
    stmt.hi = hi;
    stmt.step = num(step);
    core.code.push_back(stmt);
    return core.exprs.symbol(stmt.sym);
  }
  void end_loop() { core.code.push_back(statement(object::StmtKind::EndFor)); }
  ExprId let(std::string name, ExprId value) {
    object::Stmt stmt = statement(object::StmtKind::Let);
    stmt.sym = symbol(std::move(name), SymKind::Let);
    stmt.value = value;
    core.code.push_back(stmt);
    return core.exprs.symbol(stmt.sym);
  }
  void begin_if(ExprId condition) {
    object::Stmt stmt = statement(object::StmtKind::If);
    stmt.value = condition;
    core.code.push_back(stmt);
  }
  void begin_else() { core.code.push_back(statement(object::StmtKind::Else)); }
  void end_if() { core.code.push_back(statement(object::StmtKind::EndIf)); }

  void load(Tile to, isa::TensorId from, std::vector<ExprId> offsets, ExprId rows = {}, ExprId cols = {}) {
    isa::Operand gm = operand(OperandKind::GmIn);
    gm.tensor = from;
    gm.offsets = std::move(offsets);
    isa::Operand valid = operand(OperandKind::Valid);
    valid.a = rows;
    valid.b = cols;
    inst(Opcode::TLoad, {tile(OperandKind::TileOut, to), gm, valid});
  }
  void store(isa::TensorId to, std::vector<ExprId> offsets, Tile from) {
    isa::Operand gm = operand(OperandKind::GmOut);
    gm.tensor = to;
    gm.offsets = std::move(offsets);
    inst(Opcode::TStore, {gm, tile(OperandKind::TileIn, from)});
  }
  // Any instruction of tiles only, in its format's order.
  void tiles(Opcode opcode, std::vector<Tile> operands) {
    std::vector<isa::Operand> list;
    size_t at = 0;
    for (OperandKind kind : isa::format_operands(isa::info(opcode).format)) {
      list.push_back(tile(kind, operands.at(at++)));
    }
    inst(opcode, std::move(list));
  }
  void with_scalar(Opcode opcode, Tile to, Tile from, ExprId value) {
    isa::Operand scalar = operand(OperandKind::Scalar);
    scalar.a = value;
    inst(opcode, {tile(OperandKind::TileOut, to), tile(OperandKind::TileIn, from), scalar});
  }
  void extract(Tile to, Tile from, ExprId row, ExprId col, ExprId rows = {}, ExprId cols = {}) {
    isa::Operand r = operand(OperandKind::Index);
    r.a = row;
    isa::Operand c = operand(OperandKind::Index);
    c.a = col;
    isa::Operand valid = operand(OperandKind::Valid);
    valid.a = rows;
    valid.b = cols;
    inst(Opcode::TExtract, {tile(OperandKind::TileOut, to), tile(OperandKind::TileIn, from), r, c, valid});
  }
  void push(isa::RingId to, Tile from) {
    inst(Opcode::TPush, {ring_operand(to), tile(OperandKind::TileIn, from)});
  }
  void pop(Tile to, isa::RingId from, ExprId rows = {}, ExprId cols = {}) {
    isa::Operand valid = operand(OperandKind::Valid);
    valid.a = rows;
    valid.b = cols;
    inst(Opcode::TPop, {tile(OperandKind::TileOut, to), ring_operand(from), valid});
  }
  void free(isa::RingId to, Tile popped) {
    inst(Opcode::TFree, {ring_operand(to), tile(OperandKind::TileTmp, popped)});
  }
  void set(Pipe from, Pipe to, ExprId event) { flag(Opcode::SetFlag, from, to, event); }
  void wait(Pipe from, Pipe to, ExprId event) { flag(Opcode::WaitFlag, from, to, event); }
  void set(Pipe from, Pipe to, int64_t event) { set(from, to, num(event)); }
  void wait(Pipe from, Pipe to, int64_t event) { wait(from, to, num(event)); }
  // set and wait behind each other: `to` goes on when `from` is done.
  void sync(Pipe from, Pipe to, int64_t event = 0) {
    set(from, to, event);
    wait(from, to, event);
  }
  void barrier(Pipe pipe) {
    isa::Operand src = operand(OperandKind::PipeSrc);
    src.attribute = static_cast<uint8_t>(pipe);
    inst(Opcode::PipeBarrier, {src});
  }
  void inst(Opcode opcode, std::vector<isa::Operand> operands) {
    object::Stmt stmt = statement(object::StmtKind::Inst);
    stmt.inst = {opcode, std::move(operands)};
    core.code.push_back(stmt);
  }
  static isa::Operand operand(OperandKind kind) {
    isa::Operand operand;
    operand.kind = kind;
    return operand;
  }
  static isa::Operand ring_operand(isa::RingId ring) {
    isa::Operand result = operand(OperandKind::Ring);
    result.ring = ring;
    return result;
  }
  static isa::Operand tile(OperandKind kind, const Tile& tile) {
    isa::Operand result = operand(kind);
    result.buffer = tile.buffer;
    result.slot = tile.slot;
    return result;
  }

 private:
  object::Stmt statement(object::StmtKind kind) const {
    object::Stmt stmt;
    stmt.kind = kind;
    stmt.location = {1, static_cast<uint32_t>(core.code.size() + 1), 5};
    return stmt;
  }
  void flag(Opcode opcode, Pipe from, Pipe to, ExprId event) {
    isa::Operand src = operand(OperandKind::PipeSrc);
    src.attribute = static_cast<uint8_t>(from);
    isa::Operand dst = operand(OperandKind::PipeDst);
    dst.attribute = static_cast<uint8_t>(to);
    isa::Operand id = operand(OperandKind::Event);
    id.a = event;
    inst(opcode, {src, dst, id});
  }
  uint32_t tensors_ = 0;
};

// A program whose tasks take its parameters by name.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Target& target) : target(target) {
    object.target = target.name;
    object.target_hash = target.hash;
    object.source_files = {"test.pto"};
    program.name = "main";
    program.workspace_bytes = program.exprs.integer(0);
  }

  Target target;
  object::Object object;
  object::Program program;

  ExprId num(int64_t value) { return program.exprs.integer(value); }
  ExprId dim(std::string name) {
    program.symbols.push_back({std::move(name), SymKind::Dim, DType::I64});
    program.dims.push_back(SymId(static_cast<uint32_t>(program.symbols.size() - 1)));
    return program.exprs.symbol(program.dims.back());
  }
  ExprId scalar(std::string name, DType dtype, std::optional<double> default_value = std::nullopt) {
    object::Param param;
    param.name = name;
    param.dtype = dtype;
    param.is_tensor = false;
    program.symbols.push_back({std::move(name), SymKind::Scalar, dtype});
    param.sym = SymId(static_cast<uint32_t>(program.symbols.size() - 1));
    param.default_value = default_value;
    if (is_float(dtype)) {
      program.exprs.mark_real(param.sym);
    }
    program.params.push_back(param);
    return program.exprs.symbol(param.sym);
  }
  // Index to use as a task's argument.
  uint32_t tensor(std::string name, DType dtype, std::vector<ExprId> dims, object::ParamMode mode) {
    object::Param param;
    param.name = std::move(name);
    param.dtype = dtype;
    param.mode = mode;
    param.dims = std::move(dims);
    program.params.push_back(param);
    return tensors_++;
  }
  uint32_t buffer(std::string name, DType dtype, std::vector<ExprId> dims, int64_t offset) {
    program.buffers.push_back({std::move(name), dtype, std::move(dims), num(offset)});
    return tensors_++;
  }
  uint32_t core(const CoreBuilder& builder) {
    object.cores.push_back(builder.core);
    return static_cast<uint32_t>(object.cores.size() - 1);
  }
  uint32_t task(std::string name, uint32_t core, std::vector<uint32_t> tensors, std::vector<ExprId> dims,
                ExprId blocks, std::vector<uint32_t> after = {}, std::vector<ExprId> scalars = {}) {
    object::Task task;
    task.name = std::move(name);
    task.core = core;
    for (uint32_t tensor : tensors) {
      task.args.push_back({true, tensor, {}});
    }
    for (ExprId value : scalars) {
      task.args.push_back({false, 0, value});
    }
    task.dims = std::move(dims);
    task.blocks = blocks;
    task.after = std::move(after);
    task.location = {1, 900, 1};
    program.tasks.push_back(task);
    return static_cast<uint32_t>(program.tasks.size() - 1);
  }

  // A task of a pair without dims or scalars.
  uint32_t pair_task(std::string name, uint32_t cube, std::vector<uint32_t> cube_tensors, uint32_t vec,
                     std::vector<uint32_t> vec_tensors, ExprId blocks, uint32_t lanes = 2,
                     std::vector<uint32_t> after = {}) {
    const uint32_t number = task(std::move(name), cube, std::move(cube_tensors), {}, blocks, std::move(after));
    object::TaskLanes side;
    side.core = vec;
    for (uint32_t tensor : vec_tensors) {
      side.args.push_back({true, tensor, {}});
    }
    side.lanes = lanes;
    program.tasks[number].vec = side;
    return number;
  }

  runtime::RunResult run(const runtime::Arguments& arguments, const runtime::Options& options = {}) {
    object.programs = {program};
    sink = DiagnosticSink();
    runtime::RunResult result =
        runtime::run(object, object.programs[0], target, arguments, options, "test.ptobin", sink);
    return result;
  }
  std::string messages() const { return render_text(sink, nullptr, RenderOptions{}); }

  DiagnosticSink sink;

 private:
  uint32_t tensors_ = 0;
};

template <typename T>
runtime::Array array_of(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  runtime::Array array;
  array.dtype = dtype;
  array.shape = std::move(shape);
  array.data.resize(values.size() * sizeof(T));
  if (!values.empty()) {
    std::memcpy(array.data.data(), values.data(), array.data.size());
  }
  return array;
}

template <typename T>
std::vector<T> values_of(const runtime::Array& array) {
  std::vector<T> values(array.data.size() / sizeof(T));
  std::memcpy(values.data(), array.data.data(), array.data.size());
  return values;
}

// busy + stalls + idle == total, per pipe, and nothing negative.
inline void check_accounts(const runtime::RunResult& result) {
  for (const runtime::CoreStats& core : result.cores) {
    for (const runtime::PipeStats& pipe : core.pipes) {
      int64_t sum = pipe.busy + pipe.idle;
      CHECK(pipe.busy >= 0);
      CHECK(pipe.idle >= 0);
      for (int64_t stall : pipe.stall) {
        CHECK(stall >= 0);
        sum += stall;
      }
      CHECK(sum == result.cycles);
    }
  }
}

}  // namespace pto::test
