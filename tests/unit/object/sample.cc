#include "tests/unit/object/sample.h"

#include <bit>

namespace pto::object {
namespace {

isa::Operand tile(isa::OperandKind kind, uint32_t buffer, ExprId slot = {}) {
  isa::Operand operand;
  operand.kind = kind;
  operand.buffer = isa::BufferId(buffer);
  operand.slot = slot;
  return operand;
}

isa::Operand gm(isa::OperandKind kind, uint32_t tensor, std::vector<ExprId> offsets) {
  isa::Operand operand;
  operand.kind = kind;
  operand.tensor = isa::TensorId(tensor);
  operand.offsets = std::move(offsets);
  return operand;
}

isa::Operand value(isa::OperandKind kind, ExprId a = {}, ExprId b = {}) {
  isa::Operand operand;
  operand.kind = kind;
  operand.a = a;
  operand.b = b;
  return operand;
}

isa::Operand attribute(isa::OperandKind kind, isa::Pipe pipe) {
  isa::Operand operand;
  operand.kind = kind;
  operand.attribute = static_cast<uint8_t>(pipe);
  return operand;
}

class Code {
 public:
  explicit Code(Core& core) : core_(core) {}
  void inst(isa::Opcode opcode, std::vector<isa::Operand> operands) {
    Stmt& stmt = add(StmtKind::Inst);
    stmt.inst = {opcode, std::move(operands)};
  }
  void flags(isa::Pipe from, isa::Pipe to) {
    const ExprId zero = core_.exprs.integer(0);
    for (const isa::Opcode opcode : {isa::Opcode::SetFlag, isa::Opcode::WaitFlag}) {
      inst(opcode, {attribute(isa::OperandKind::PipeSrc, from), attribute(isa::OperandKind::PipeDst, to),
                    value(isa::OperandKind::Event, zero)});
    }
  }
  Stmt& add(StmtKind kind) {
    core_.code.emplace_back();
    Stmt& stmt = core_.code.back();
    stmt.kind = kind;
    stmt.location = {1, static_cast<uint32_t>(core_.code.size() + 1), 5};
    return stmt;
  }

 private:
  Core& core_;
};

Param tensor(std::string name, DType type, ParamMode mode, std::vector<ExprId> dims) {
  Param param;
  param.name = std::move(name);
  param.dtype = type;
  param.mode = mode;
  param.dims = std::move(dims);
  return param;
}

Param scalar(std::string name, DType type, SymId sym) {
  Param param;
  param.name = std::move(name);
  param.dtype = type;
  param.is_tensor = false;
  param.sym = sym;
  return param;
}

using isa::Opcode;
using isa::OperandKind;
using isa::Pipe;

// core vec scale[M](x: f32[M, 64], s: f32) -> (y: f32[M, 64])
Core scale_core() {
  Core core;
  core.name = "scale";
  core.doc = "Multiplies by a number.\n\xC3\xA4";
  core.location = {1, 1, 1};
  core.symbols = {{"M", SymKind::Dim, DType::I64},
                  {"s", SymKind::Scalar, DType::F32},
                  {"i", SymKind::Loop, DType::I64},
                  {"b", SymKind::Let, DType::I64},
                  {"half", SymKind::Let, DType::F32}};
  core.exprs.mark_real(SymId(1));
  core.exprs.mark_real(SymId(4));
  ExprPool& e = core.exprs;
  const ExprId m = e.symbol(SymId(0));
  const ExprId s = e.symbol(SymId(1));
  const ExprId i = e.symbol(SymId(2));
  const ExprId b = e.symbol(SymId(3));
  const ExprId half = e.symbol(SymId(4));
  const ExprId zero = e.integer(0);
  const ExprId sixteen = e.integer(16);
  const ExprId columns = e.integer(64);
  core.dims = {SymId(0)};
  core.params = {tensor("x", DType::F32, ParamMode::In, {m, columns}), scalar("s", DType::F32, SymId(1)),
                 tensor("y", DType::F32, ParamMode::Out, {m, columns})};
  core.params[0].doc = "What to scale.";
  core.views = {{"yf", isa::TensorId(1), {e.mul(m, columns)}}};
  core.buffers = {{"t", {DType::F32, 16, 64, Layout::ND, Space::Vec}, 0, 2, 4096},
                  {"u", {DType::F32, 16, 64, Layout::ND, Space::Vec}, 8192, 1, 0}};
  Code code(core);
  Stmt& loop = code.add(StmtKind::For);
  loop.sym = SymId(2);
  loop.lo = e.leaf(ExprOp::BlockIndex);
  loop.hi = e.ceildiv(m, sixteen);
  loop.step = e.leaf(ExprOp::BlockCount);
  Stmt& row = code.add(StmtKind::Let);
  row.sym = SymId(3);
  row.value = e.mul(i, sixteen);
  Stmt& factor = code.add(StmtKind::Let);
  factor.sym = SymId(4);
  factor.value = e.mul(s, e.real(0.5));
  const ExprId slot = e.make(ExprOp::Mod, i, e.integer(2));
  code.inst(Opcode::TLoad, {tile(OperandKind::TileOut, 0, slot), gm(OperandKind::GmIn, 0, {b, zero}),
                            value(OperandKind::Valid, e.min(sixteen, e.sub(m, b)), columns)});
  code.flags(Pipe::MTE2, Pipe::V);
  code.inst(Opcode::TMuls,
            {tile(OperandKind::TileOut, 1), tile(OperandKind::TileIn, 0, slot), value(OperandKind::Scalar, half)});
  Stmt& branch = code.add(StmtKind::If);
  branch.value = e.make(ExprOp::Lt, i, e.integer(1));
  isa::Operand barrier = attribute(OperandKind::PipeSrc, Pipe::All);
  code.inst(Opcode::PipeBarrier, {barrier});
  code.add(StmtKind::Else);
  barrier.attribute = static_cast<uint8_t>(Pipe::V);
  code.inst(Opcode::PipeBarrier, {barrier});
  code.add(StmtKind::EndIf);
  code.flags(Pipe::V, Pipe::MTE3);
  code.inst(Opcode::TStore, {gm(OperandKind::GmOut, 1, {b, zero}), tile(OperandKind::TileIn, 1)});
  code.flags(Pipe::MTE3, Pipe::MTE2);
  code.add(StmtKind::EndFor);
  return core;
}

// core cube mul[](a: f16[64, 64]) -> (c: f32[64, 64])
Core mul_core() {
  Core core;
  core.name = "mul";
  core.kind = CoreKind::Cube;
  ExprPool& e = core.exprs;
  const ExprId n = e.integer(64);
  const ExprId zero = e.integer(0);
  core.params = {tensor("a", DType::F16, ParamMode::In, {n, n}), tensor("c", DType::F32, ParamMode::InOut, {n, n})};
  core.buffers = {{"m", {DType::F16, 64, 64, Layout::Nz, Space::Mat}, 0, 1, 0},
                  {"l", {DType::F16, 64, 64, Layout::Zz, Space::Left}, 0, 1, 0},
                  {"r", {DType::F16, 64, 64, Layout::Zn, Space::Right}, 0, 1, 0},
                  {"acc", {DType::F32, 64, 64, Layout::Nz, Space::Acc}, 0, 1, 0}};
  Code code(core);
  code.inst(Opcode::TLoad,
            {tile(OperandKind::TileOut, 0), gm(OperandKind::GmIn, 0, {zero, zero}), value(OperandKind::Valid)});
  code.flags(Pipe::MTE2, Pipe::MTE1);
  code.inst(Opcode::TMov, {tile(OperandKind::TileOut, 1), tile(OperandKind::TileIn, 0)});
  code.inst(Opcode::TExtract,
            {tile(OperandKind::TileOut, 2), tile(OperandKind::TileIn, 0), value(OperandKind::Index, zero),
             value(OperandKind::Index, zero), value(OperandKind::Valid)});
  code.flags(Pipe::MTE1, Pipe::M);
  code.inst(Opcode::TMatMul,
            {tile(OperandKind::TileOut, 3), tile(OperandKind::TileIn, 1), tile(OperandKind::TileIn, 2)});
  code.flags(Pipe::M, Pipe::FIX);
  code.inst(Opcode::TStore, {gm(OperandKind::GmOut, 1, {zero, zero}), tile(OperandKind::TileIn, 3)});
  return core;
}

isa::Operand ring(uint32_t index) {
  isa::Operand operand;
  operand.kind = OperandKind::Ring;
  operand.ring = isa::RingId(index);
  return operand;
}

// core cube top(a: f16[64, 64]): pushes a * a into ring `s`.
Core top_core() {
  Core core = mul_core();
  core.name = "top";
  core.params.pop_back();
  core.rings = {{"s", isa::RingDirection::C2V, DType::F32, 64, 64, 2, isa::Split::Rows}};
  core.code.pop_back();
  Code code(core);
  code.inst(Opcode::TPush, {ring(0), tile(OperandKind::TileIn, 3)});
  return core;
}

// core vec bottom[M]() -> (y: f32[M, 64]): each lane stores its half of what it pops.
Core bottom_core() {
  Core core;
  core.name = "bottom";
  core.symbols = {{"M", SymKind::Dim, DType::I64}, {"r", SymKind::Let, DType::I64}};
  ExprPool& e = core.exprs;
  const ExprId zero = e.integer(0);
  const ExprId rows = e.integer(32);
  const ExprId columns = e.integer(64);
  core.dims = {SymId(0)};
  core.params = {tensor("y", DType::F32, ParamMode::Out, {e.symbol(SymId(0)), columns})};
  core.buffers = {{"p", {DType::F32, 32, 64, Layout::ND, Space::Vec}, 0, 1, 0}};
  core.rings = {{"s", isa::RingDirection::C2V, DType::F32, 64, 64, 2, isa::Split::Rows}};
  Code code(core);
  Stmt& let = code.add(StmtKind::Let);
  let.sym = SymId(1);
  let.value = e.mul(e.leaf(ExprOp::LaneIndex), rows);
  code.inst(Opcode::TPop, {tile(OperandKind::TileOut, 0), ring(0), value(OperandKind::Valid, rows, columns)});
  code.flags(Pipe::MTE2, Pipe::MTE3);
  code.inst(Opcode::TStore, {gm(OperandKind::GmOut, 0, {e.symbol(SymId(1)), zero}), tile(OperandKind::TileIn, 0)});
  return core;
}

}  // namespace

Object mixed_sample() {
  Object object;
  object.target = "a2a3";
  object.source_files = {"k.pto"};
  object.cores = {top_core(), bottom_core()};
  Program program;
  program.name = "run";
  ExprPool& e = program.exprs;
  const ExprId n = e.integer(64);
  program.params = {tensor("a", DType::F16, ParamMode::In, {n, n}), tensor("y", DType::F32, ParamMode::Out, {n, n})};
  program.workspace_bytes = e.integer(0);
  Task task;
  task.name = "t0";
  task.args = {{true, 0, {}}};
  task.vec = TaskLanes{1, {{true, 1, {}}}, {n}, 2};
  task.blocks = e.integer(1);
  task.location = {1, 30, 5};
  program.tasks = {task};
  object.programs = {program};
  return object;
}

Object sample() {
  Object object;
  object.target = "a2a3";
  object.target_hash = 0x0123456789ABCDEF;
  object.source_files = {"k.pto", "lib/\xC3\xA4.pto"};
  object.cores = {scale_core(), mul_core()};
  Program program;
  program.name = "both";
  program.doc = "An entry.";
  program.location = {2, 3, 4};
  program.symbols = {{"M", SymKind::Dim, DType::I64}, {"s", SymKind::Scalar, DType::F32}};
  program.exprs.mark_real(SymId(1));
  ExprPool& e = program.exprs;
  const ExprId m = e.symbol(SymId(0));
  const ExprId n = e.integer(64);
  program.dims = {SymId(0)};
  program.params = {tensor("x", DType::F32, ParamMode::In, {m, n}), tensor("a", DType::F16, ParamMode::In, {n, n}),
                    scalar("s", DType::F32, SymId(1)), tensor("y", DType::F32, ParamMode::Out, {m, n}),
                    tensor("c", DType::F32, ParamMode::InOut, {n, n})};
  program.params[2].default_value = 0.5;
  program.constraints = {{e.make(ExprOp::Le, m, e.integer(8192)), "M <= 8192"}};
  program.buffers = {{"h", DType::F32, {m, n}, e.integer(0)}};
  program.workspace_bytes = e.mul(m, e.integer(256));
  Task first;
  first.name = "t0";
  first.args = {{true, 0, {}}, {false, 0, e.symbol(SymId(1))}, {true, 4, {}}};
  first.dims = {m};
  first.blocks = e.min(e.integer(48), e.ceildiv(m, e.integer(16)));
  first.location = {1, 30, 5};
  Task second;
  second.name = "t1";
  second.core = 1;
  second.args = {{true, 1, {}}, {true, 3, {}}};
  second.blocks = e.integer(1);
  Task third = first;
  third.name = "t2";
  third.args = {{true, 4, {}}, {false, 0, e.real(2.0)}, {true, 2, {}}};
  third.after = {0, 1};
  program.tasks = {first, second, third};
  object.programs = {program};
  return object;
}

namespace {

template <typename Items, typename Same>
bool all_same(const Items& a, const Items& b, const Same& same_one) {
  if (a.size() != b.size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_one(a[i], b[i])) {
      return false;
    }
  }
  return true;
}

bool same_pool(const ExprPool& a, const ExprPool& b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (uint32_t i = 0; i < a.size(); ++i) {
    const ExprNode& x = a[ExprId(i)];
    const ExprNode& y = b[ExprId(i)];
    if (x.op != y.op || x.a != y.a || x.b != y.b || x.value != y.value || x.sym != y.sym ||
        std::bit_cast<uint64_t>(x.fvalue) != std::bit_cast<uint64_t>(y.fvalue) ||
        a.known_real(ExprId(i)) != b.known_real(ExprId(i))) {
      return false;
    }
  }
  return true;
}

bool same_stmt(const Stmt& a, const Stmt& b) {
  return a.kind == b.kind && a.inst == b.inst && a.sym == b.sym && a.lo == b.lo && a.hi == b.hi && a.step == b.step &&
         a.value == b.value && a.location == b.location;
}

bool same_core(const Core& a, const Core& b) {
  return a.name == b.name && a.doc == b.doc && a.kind == b.kind && same_pool(a.exprs, b.exprs) &&
         a.symbols == b.symbols && a.dims == b.dims && a.params == b.params && a.views == b.views &&
         a.buffers == b.buffers && a.rings == b.rings && all_same(a.code, b.code, same_stmt) &&
         a.location == b.location;
}

bool same_lanes(const std::optional<TaskLanes>& a, const std::optional<TaskLanes>& b) {
  if (!a || !b) {
    return a.has_value() == b.has_value();
  }
  return a->core == b->core && a->args == b->args && a->dims == b->dims && a->lanes == b->lanes;
}

bool same_task(const Task& a, const Task& b) {
  return a.name == b.name && a.core == b.core && a.args == b.args && a.dims == b.dims && a.blocks == b.blocks &&
         a.after == b.after && a.location == b.location && same_lanes(a.vec, b.vec);
}

bool same_program(const Program& a, const Program& b) {
  return a.name == b.name && a.doc == b.doc && same_pool(a.exprs, b.exprs) && a.symbols == b.symbols &&
         a.dims == b.dims && a.params == b.params && a.constraints == b.constraints && a.buffers == b.buffers &&
         a.workspace_bytes == b.workspace_bytes && all_same(a.tasks, b.tasks, same_task) && a.location == b.location;
}

}  // namespace

bool same(const Object& a, const Object& b) {
  return a.version == b.version && a.target == b.target && a.target_hash == b.target_hash &&
         a.source_files == b.source_files && all_same(a.cores, b.cores, same_core) &&
         all_same(a.programs, b.programs, same_program);
}

Object without_locations(Object object) {
  object.source_files.clear();
  for (Core& core : object.cores) {
    core.location = {};
    for (Stmt& stmt : core.code) {
      stmt.location = {};
    }
  }
  for (Program& program : object.programs) {
    program.location = {};
    for (Task& task : program.tasks) {
      task.location = {};
    }
  }
  return object;
}

}  // namespace pto::object
