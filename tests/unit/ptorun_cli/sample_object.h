// A small object for the tests of ptorun, built without the compiler: y = x * s on one vector core, for target `unit`.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "pto/object.h"
#include "pto/target.h"

namespace pto::ptorun::testing {

enum class Behaviour { Good, OutOfBounds, Deadlock };

// core vec NAME[M](x: f32[M, 64], s: f32) -> (y: f32[M, 64])
class CoreBuilder {
 public:
  explicit CoreBuilder(const std::string& name) {
    core_.name = name;
    core_.kind = CoreKind::Vec;
    core_.symbols = {{"M", SymKind::Dim, DType::I64}, {"s", SymKind::Scalar, DType::F32}};
    core_.dims = {SymId(0)};
    rows_ = core_.exprs.symbol(SymId(0));
    const ExprId cols = core_.exprs.integer(64);
    core_.params.push_back({"x", "", DType::F32, true, object::ParamMode::In, {rows_, cols}, {}, {}});
    core_.params.push_back({"s", "", DType::F32, false, object::ParamMode::In, {}, SymId(1), {}});
    core_.params.push_back({"y", "", DType::F32, true, object::ParamMode::Out, {rows_, cols}, {}, {}});
    const TileDesc tile{DType::F32, 64, 64, Layout::ND, Space::Vec};
    core_.buffers = {{"a", tile, 0, 1, 0}, {"b", tile, 0x4000, 1, 0}};
  }

  object::Core build(Behaviour behaviour) {
    const ExprId zero = core_.exprs.integer(0);
    const ExprId row = behaviour == Behaviour::OutOfBounds ? core_.exprs.integer(1) : zero;
    isa::Operand valid{isa::OperandKind::Valid, {}, {}, {}, {}, rows_, core_.exprs.integer(64), 0};
    add(isa::Opcode::TLoad,
        {tile(isa::OperandKind::TileOut, 0), tensor(isa::OperandKind::GmIn, 0, {row, zero}), valid});
    if (behaviour != Behaviour::Deadlock) {
      flag(isa::Opcode::SetFlag, isa::Pipe::MTE2, isa::Pipe::V);
    }
    flag(isa::Opcode::WaitFlag, isa::Pipe::MTE2, isa::Pipe::V);
    isa::Operand scalar{isa::OperandKind::Scalar, {}, {}, {}, {}, core_.exprs.symbol(SymId(1)), {}, 0};
    add(isa::Opcode::TMuls, {tile(isa::OperandKind::TileOut, 1), tile(isa::OperandKind::TileIn, 0), scalar});
    flag(isa::Opcode::SetFlag, isa::Pipe::V, isa::Pipe::MTE3);
    flag(isa::Opcode::WaitFlag, isa::Pipe::V, isa::Pipe::MTE3);
    add(isa::Opcode::TStore, {tensor(isa::OperandKind::GmOut, 1, {zero, zero}), tile(isa::OperandKind::TileIn, 1)});
    return core_;
  }

 private:
  void add(isa::Opcode opcode, std::vector<isa::Operand> operands) {
    object::Stmt stmt;
    stmt.inst = {opcode, std::move(operands)};
    stmt.location = {1, static_cast<uint32_t>(core_.code.size() + 10), 5};
    core_.code.push_back(stmt);
  }
  void flag(isa::Opcode opcode, isa::Pipe from, isa::Pipe to) {
    isa::Operand source{isa::OperandKind::PipeSrc, {}, {}, {}, {}, {}, {}, static_cast<uint8_t>(from)};
    isa::Operand destination{isa::OperandKind::PipeDst, {}, {}, {}, {}, {}, {}, static_cast<uint8_t>(to)};
    isa::Operand event{isa::OperandKind::Event, {}, {}, {}, {}, core_.exprs.integer(0), {}, 0};
    add(opcode, {source, destination, event});
  }
  static isa::Operand tile(isa::OperandKind kind, uint32_t buffer) {
    return {kind, isa::BufferId(buffer), {}, {}, {}, {}, {}, 0};
  }
  static isa::Operand tensor(isa::OperandKind kind, uint32_t index, std::vector<ExprId> offsets) {
    return {kind, {}, {}, isa::TensorId(index), std::move(offsets), {}, {}, 0};
  }

  object::Core core_;
  ExprId rows_;
};

// program NAME[M](x: f32[M, 64], s: f32 = 2) -> (y: f32[M, 64]) where M <= 64
inline object::Program scale_program(const std::string& name, uint32_t core) {
  object::Program program;
  program.name = name;
  program.doc = "Multiplies by a number.";
  program.symbols = {{"M", SymKind::Dim, DType::I64}, {"s", SymKind::Scalar, DType::F32}};
  program.dims = {SymId(0)};
  ExprPool& pool = program.exprs;
  const ExprId rows = pool.symbol(SymId(0));
  const ExprId cols = pool.integer(64);
  program.params.push_back({"x", "what to multiply", DType::F32, true, object::ParamMode::In, {rows, cols}, {}, {}});
  program.params.push_back({"s", "the number", DType::F32, false, object::ParamMode::In, {}, SymId(1), 2.0});
  program.params.push_back({"y", "", DType::F32, true, object::ParamMode::Out, {rows, cols}, {}, {}});
  program.constraints.push_back({pool.make(ExprOp::Le, rows, cols), "M <= 64"});
  program.workspace_bytes = pool.integer(0);
  object::Task task;
  task.name = "t0";
  task.core = core;
  task.args = {{true, 0, {}}, {false, 0, pool.symbol(SymId(1))}, {true, 1, {}}};
  task.dims = {rows};
  task.blocks = pool.integer(1);
  program.tasks.push_back(task);
  return program;
}

inline object::Object sample_object(const std::vector<std::pair<std::string, Behaviour>>& entries) {
  DiagnosticSink sink;
  object::Object object;
  object.target = "unit";
  object.target_hash = builtin_target("unit", sink)->hash;
  object.source_files = {"scale.pto"};
  for (const auto& [name, behaviour] : entries) {
    object.programs.push_back(scale_program(name, static_cast<uint32_t>(object.cores.size())));
    object.cores.push_back(CoreBuilder(name + "_core").build(behaviour));
  }
  return object;
}

// A folder of its own for a test; removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "ptorun-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary) << bytes;
    return *this / name;
  }
  std::string read(const std::string& name) const {
    std::ifstream file(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has(const std::string& name) const { return std::filesystem::exists(*this / name); }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
  }

 private:
  std::string path_;
};

}  // namespace pto::ptorun::testing
