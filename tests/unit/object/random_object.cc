// Random objects of valid structure. Expressions are drawn from what is in scope, by kind. Some cores come as pairs
// that share rings.
#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "tests/unit/object/sample.h"

namespace pto::object {
namespace {

using isa::OperandKind;

class Unit {
 public:
  Unit(std::mt19937& random, ExprPool& pool, std::vector<Symbol>& symbols)
      : random_(random), pool_(pool), symbols_(symbols) {}

  size_t below(size_t count) { return random_() % count; }
  bool maybe() { return below(2) == 0; }

  SymId symbol(SymKind kind, DType type) {
    const SymId id(static_cast<uint32_t>(symbols_.size()));
    symbols_.push_back({"n" + std::to_string(id.index()), kind, type});
    if (is_float(type)) {
      pool_.mark_real(id);
    }
    return id;
  }

  // Over dims alone.
  ExprId dim() { return tree(dims_, false, 2); }
  // Over dims and scalars, for programs.
  ExprId setup() { return tree(ints_, false, 3); }
  // Over everything in scope.
  ExprId integer() { return tree(ints_, true, 4); }
  ExprId real() {
    if (reals_.empty() || maybe()) {
      constexpr double kSpecial[] = {
          0.0, -0.0, 1.5, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
      return pool_.real(kSpecial[below(std::size(kSpecial))]);
    }
    constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::Div, ExprOp::Min, ExprOp::Max};
    const ExprId leaf = pool_.symbol(reals_[below(reals_.size())]);
    return maybe() ? leaf : pool_.make(kOps[below(std::size(kOps))], leaf, real());
  }
  ExprId of(DType type) { return is_float(type) ? real() : integer(); }

  DType type() { return *dtype_from_code(1 + below(20)); }

  std::vector<SymId> dims_;
  std::vector<SymId> ints_;  // dims, and what else is in scope
  std::vector<SymId> reals_;
  bool lanes_ = false;  // lane_index() may be used

 private:
  ExprId tree(const std::vector<SymId>& leaves, bool block, size_t depth) {
    if (depth == 0 || below(3) == 0) {
      if (block && below(4) == 0) {
        constexpr ExprOp kLeaves[] = {ExprOp::BlockIndex, ExprOp::BlockCount, ExprOp::LaneIndex};
        return pool_.leaf(kLeaves[below(lanes_ ? 3 : 2)]);
      }
      if (!leaves.empty() && maybe()) {
        return pool_.symbol(leaves[below(leaves.size())]);
      }
      constexpr int64_t kSpecial[] = {
          0, 1, 2, 16, -1, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
      return pool_.integer(kSpecial[below(std::size(kSpecial))]);
    }
    constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::FloorDiv, ExprOp::CeilDiv,
                               ExprOp::Mod, ExprOp::Min, ExprOp::Max, ExprOp::Lt,       ExprOp::Le,
                               ExprOp::Eq,  ExprOp::Ne,  ExprOp::And, ExprOp::Or};
    const ExprId a = tree(leaves, block, depth - 1);
    return pool_.make(kOps[below(std::size(kOps))], a, tree(leaves, block, depth - 1));
  }

  std::mt19937& random_;
  ExprPool& pool_;
  std::vector<Symbol>& symbols_;
};

std::string name(const char* letter, size_t index) {
  return letter + std::to_string(index);
}

// Dims, then parameters; every kind of parameter with a chance.
std::vector<Param> make_params(Unit& unit, std::vector<SymId>& dims, bool defaults) {
  for (size_t i = unit.below(4); i > 0; --i) {
    dims.push_back(unit.symbol(SymKind::Dim, DType::I64));
  }
  unit.dims_ = dims;
  unit.ints_ = dims;
  std::vector<Param> params;
  const size_t count = unit.below(6);
  for (size_t i = 0; i < count; ++i) {
    Param param;
    param.name = name("p", i);
    param.doc = unit.maybe() ? "text" : "";
    param.dtype = unit.type();
    param.is_tensor = unit.below(3) != 0;
    if (param.is_tensor) {
      param.mode = static_cast<ParamMode>(unit.below(3));
      for (size_t rank = 1 + unit.below(5); rank > 0; --rank) {
        param.dims.push_back(unit.dim());
      }
    } else {
      param.sym = unit.symbol(SymKind::Scalar, param.dtype);
      (is_float(param.dtype) ? unit.reals_ : unit.ints_).push_back(param.sym);
      if (defaults && unit.maybe()) {
        param.default_value = unit.maybe() ? 0.0 : -1.5;
      }
    }
    params.push_back(std::move(param));
  }
  return params;
}

class CoreMaker {
 public:
  CoreMaker(std::mt19937& random, size_t index, CoreKind kind, std::vector<isa::Ring> rings)
      : unit_(random, core_.exprs, core_.symbols) {
    core_.name = name("core", index);
    core_.doc = unit_.maybe() ? "A core." : "";
    core_.kind = kind;
    core_.rings = std::move(rings);
    unit_.lanes_ = kind == CoreKind::Vec;
    core_.location = location();
  }

  Core run() {
    core_.params = make_params(unit_, core_.dims, false);
    make_views();
    make_buffers();
    block(3);
    return std::move(core_);
  }

 private:
  Location location() {
    return {static_cast<uint32_t>(unit_.below(3)), static_cast<uint32_t>(unit_.below(100)),
            static_cast<uint32_t>(unit_.below(100))};
  }

  void make_views() {
    for (const Param& param : core_.params) {
      if (param.is_tensor) {
        modes_.push_back(param.mode);
      }
    }
    for (size_t i = modes_.empty() ? 0 : unit_.below(3); i > 0; --i) {
      View view{name("v", i), isa::TensorId(static_cast<uint32_t>(unit_.below(modes_.size()))), {unit_.dim()}};
      modes_.push_back(modes_[view.base.index()]);
      core_.views.push_back(std::move(view));
    }
  }

  void make_buffers() {
    for (size_t i = 1 + unit_.below(4); i > 0; --i) {
      isa::Buffer buffer;
      buffer.name = name("b", i);
      buffer.tile = {unit_.type(), static_cast<int64_t>(1 + unit_.below(200)),
                     static_cast<int64_t>(1 + unit_.below(200)), static_cast<Layout>(1 + unit_.below(6)),
                     static_cast<Space>(2 + unit_.below(7))};
      buffer.address = static_cast<int64_t>(unit_.below(100000));
      buffer.slots = static_cast<int64_t>(1 + unit_.below(3));
      buffer.slot_stride = buffer.slots == 1 ? 0 : buffer.tile.bytes() + static_cast<int64_t>(unit_.below(64));
      core_.buffers.push_back(std::move(buffer));
    }
  }

  size_t add(StmtKind kind) {
    core_.code.emplace_back();
    core_.code.back().kind = kind;
    core_.code.back().location = location();
    return core_.code.size() - 1;
  }

  void block(size_t depth) {
    const std::vector<SymId> ints = unit_.ints_;
    const std::vector<SymId> reals = unit_.reals_;
    for (size_t i = unit_.below(6); i > 0; --i) {
      switch (unit_.below(6)) {
        case 0:
          loop(depth);
          break;
        case 1:
          branch(depth);
          break;
        case 2:
          let();
          break;
        default:
          inst();
      }
    }
    unit_.ints_ = ints;
    unit_.reals_ = reals;
  }

  void loop(size_t depth) {
    if (depth == 0) {
      return;
    }
    const size_t at = add(StmtKind::For);
    core_.code[at].lo = unit_.integer();
    core_.code[at].hi = unit_.integer();
    core_.code[at].step = core_.exprs.integer(static_cast<int64_t>(1 + unit_.below(9)));
    const SymId sym = unit_.symbol(SymKind::Loop, DType::I64);
    core_.code[at].sym = sym;
    unit_.ints_.push_back(sym);
    block(depth - 1);
    add(StmtKind::EndFor);
    unit_.ints_.pop_back();
  }

  void branch(size_t depth) {
    if (depth == 0) {
      return;
    }
    const size_t at = add(StmtKind::If);
    core_.code[at].value = unit_.integer();
    block(depth - 1);
    if (unit_.maybe()) {
      add(StmtKind::Else);
      block(depth - 1);
    }
    add(StmtKind::EndIf);
  }

  void let() {
    const DType type = unit_.maybe() ? DType::I64 : DType::F32;
    const size_t at = add(StmtKind::Let);
    core_.code[at].value = unit_.of(type);
    core_.code[at].sym = unit_.symbol(SymKind::Let, type);
    (is_float(type) ? unit_.reals_ : unit_.ints_).push_back(core_.code[at].sym);
  }

  // A tensor that may be used so; not valid: there is none.
  isa::TensorId tensor(ParamMode forbidden) {
    std::vector<uint32_t> candidates;
    for (uint32_t i = 0; i < modes_.size(); ++i) {
      if (modes_[i] != forbidden) {
        candidates.push_back(i);
      }
    }
    return candidates.empty() ? isa::TensorId() : isa::TensorId(candidates[unit_.below(candidates.size())]);
  }

  void inst() {
    isa::Inst inst;
    inst.opcode = static_cast<isa::Opcode>(unit_.below(isa::kOpcodeCount));
    const isa::InstrInfo& info = isa::info(inst.opcode);
    // The type that a scalar follows is that of the last tile before it, unless all tiles have one type: use one
    // buffer.
    const auto buffer = isa::BufferId(static_cast<uint32_t>(unit_.below(core_.buffers.size())));
    for (const OperandKind kind : isa::format_operands(info.format)) {
      isa::Operand operand;
      operand.kind = kind;
      if (kind == OperandKind::Ring) {
        if (core_.rings.empty()) {
          return;
        }
        operand.ring = isa::RingId(static_cast<uint32_t>(unit_.below(core_.rings.size())));
      } else if (isa::is_gm(kind)) {
        operand.tensor = tensor(kind == OperandKind::GmIn ? ParamMode::Out : ParamMode::In);
        if (!operand.tensor.valid()) {
          return;
        }
        for (size_t i = core_.tensor_dims(operand.tensor).size(); i > 0; --i) {
          operand.offsets.push_back(unit_.integer());
        }
      } else {
        fill(operand, buffer, info.format == isa::Format::Barrier);
      }
      inst.operands.push_back(std::move(operand));
    }
    core_.code[add(StmtKind::Inst)].inst = std::move(inst);
  }

  void fill(isa::Operand& operand, isa::BufferId buffer, bool barrier) {
    switch (operand.kind) {
      case OperandKind::Scalar:
        operand.a = unit_.of(core_.buffers[buffer.index()].tile.dtype);
        break;
      case OperandKind::Index:
      case OperandKind::Event:
        operand.a = unit_.integer();
        break;
      case OperandKind::Valid:
        if (unit_.maybe()) {
          operand.a = unit_.integer();
          operand.b = unit_.integer();
        }
        break;
      case OperandKind::Round:
        operand.attribute = static_cast<uint8_t>(unit_.below(7));
        break;
      case OperandKind::Cmp:
        operand.attribute = static_cast<uint8_t>(unit_.below(6));
        break;
      case OperandKind::Pad:
        operand.attribute = static_cast<uint8_t>(unit_.below(3));
        break;
      case OperandKind::PipeSrc:
      case OperandKind::PipeDst:
        operand.attribute = static_cast<uint8_t>(unit_.below(barrier ? 8 : 7));
        break;
      default: {
        operand.buffer = buffer;
        const ExprId slot = unit_.maybe() ? unit_.integer() : ExprId();
        const auto constant = slot.valid() ? core_.exprs.constant(slot) : std::nullopt;
        operand.slot = constant ? core_.exprs.integer(core_.buffers[buffer.index()].slots - 1) : slot;
      }
    }
  }

  Core core_;
  Unit unit_;
  std::vector<ParamMode> modes_;
};

std::vector<isa::Ring> random_rings(std::mt19937& random) {
  std::vector<isa::Ring> rings(random() % 4);
  for (size_t i = 0; i < rings.size(); ++i) {
    rings[i] = {name("r", i),
                static_cast<isa::RingDirection>(random() % 2),
                *dtype_from_code(1 + random() % 20),
                static_cast<int64_t>(1 + random() % 200),
                static_cast<int64_t>(1 + random() % 200),
                static_cast<int64_t>(1 + random() % 16),
                static_cast<isa::Split>(random() % 3)};
  }
  return rings;
}

// The pair, cube core first, that a core belongs to: neighbours with the same rings.
std::optional<std::pair<uint32_t, uint32_t>> pair_of(const std::vector<Core>& cores, uint32_t core) {
  const uint32_t other = core ^ 1;
  if (other >= cores.size() || cores[core].kind == cores[other].kind || cores[core].rings != cores[other].rings) {
    return std::nullopt;
  }
  return cores[core].kind == CoreKind::Cube ? std::pair(core, other) : std::pair(other, core);
}

Program random_program(std::mt19937& random, size_t index, const std::vector<Core>& cores) {
  Program program;
  Unit unit(random, program.exprs, program.symbols);
  program.name = name("program", index);
  program.doc = unit.maybe() ? "A program." : "";
  program.params = make_params(unit, program.dims, true);
  for (size_t i = unit.below(3); i > 0; --i) {
    program.constraints.push_back({unit.setup(), unit.maybe() ? "M > 0" : ""});
  }
  struct Tensor {
    DType type;
    size_t rank;
    bool writable;
  };
  std::vector<Tensor> tensors;
  for (const Param& param : program.params) {
    if (param.is_tensor) {
      tensors.push_back({param.dtype, param.dims.size(), param.mode != ParamMode::In});
    }
  }
  program.workspace_bytes = unit.dim();
  // A workspace buffer for every argument that nothing else fits.
  const auto tensor_for = [&](const Param& param) {
    for (uint32_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].type == param.dtype && tensors[i].rank == param.dims.size() &&
          (tensors[i].writable || param.mode == ParamMode::In)) {
        return i;
      }
    }
    WorkBuffer buffer{name("w", program.buffers.size()), param.dtype, {}, unit.dim()};
    for (size_t i = 0; i < param.dims.size(); ++i) {
      buffer.dims.push_back(unit.dim());
    }
    program.buffers.push_back(std::move(buffer));
    tensors.push_back({param.dtype, param.dims.size(), true});
    return static_cast<uint32_t>(tensors.size() - 1);
  };
  const auto call = [&](const Core& core, std::vector<Argument>& args, std::vector<ExprId>& dims) {
    for (const Param& param : core.params) {
      Argument argument;
      argument.is_tensor = param.is_tensor;
      if (param.is_tensor) {
        argument.tensor = tensor_for(param);
      } else {
        argument.scalar = is_float(param.dtype) ? unit.real() : unit.setup();
      }
      args.push_back(argument);
    }
    for (size_t d = 0; d < core.dims.size(); ++d) {
      dims.push_back(unit.dim());
    }
  };
  const size_t tasks = cores.empty() ? 0 : unit.below(5);
  for (uint32_t i = 0; i < tasks; ++i) {
    Task task;
    task.name = name("t", i);
    task.core = static_cast<uint32_t>(unit.below(cores.size()));
    const auto pair = pair_of(cores, task.core);
    if (pair && (!cores[task.core].rings.empty() || unit.maybe())) {
      task.core = pair->first;
      task.vec.emplace();
      task.vec->core = pair->second;
      const std::vector<isa::Ring>& rings = cores[task.core].rings;
      const bool split =
          std::any_of(rings.begin(), rings.end(), [](const isa::Ring& ring) { return ring.split != isa::Split::None; });
      task.vec->lanes = split || unit.maybe() ? 2 : 1;
      call(cores[pair->second], task.vec->args, task.vec->dims);
    }
    call(cores[task.core], task.args, task.dims);
    task.blocks = unit.setup();
    for (uint32_t earlier = 0; earlier < i; ++earlier) {
      if (unit.maybe()) {
        task.after.push_back(earlier);
      }
    }
    task.location = {1, i + 1, 1};
    program.tasks.push_back(std::move(task));
  }
  return program;
}

}  // namespace

Object random_object(uint32_t seed) {
  std::mt19937 random(seed);
  Object object;
  object.target = "unit";
  object.target_hash = (uint64_t{random()} << 32) + random();
  object.source_files = {"a.pto", "b.pto"};
  const size_t cores = random() % 4;
  for (size_t i = 0; i < cores; ++i) {
    const auto kind = static_cast<CoreKind>(random() % 2);
    // Pairs are cores 2n and 2n + 1: some have rings.
    const bool first = i % 2 == 0 && i + 1 < cores && random() % 2 == 0;
    const bool second = i % 2 == 1 && !object.cores.back().rings.empty();
    std::vector<isa::Ring> rings = first ? random_rings(random) : std::vector<isa::Ring>();
    if (second) {
      rings = object.cores.back().rings;
    }
    const bool cube = second ? object.cores.back().kind == CoreKind::Vec : kind == CoreKind::Cube;
    object.cores.push_back(CoreMaker(random, i, cube ? CoreKind::Cube : CoreKind::Vec, std::move(rings)).run());
  }
  const size_t programs = random() % 3;
  for (size_t i = 0; i < programs; ++i) {
    object.programs.push_back(random_program(random, i, object.cores));
  }
  return object;
}

}  // namespace pto::object
