// The structure of a core.
//
// Invariants here, besides those of structure.cc:
//   1. Views look at a tensor parameter or an earlier view.
//   2. Buffers are placed, have at least one element and one slot, and sizes that can be added up without overflow;
//      slots are at least a tile apart.
//   3. `For` .. `EndFor` and `If` .. `Else` .. `EndIf` nest, at most 64 deep. Each loop variable and each let is given
//      its value by one statement, and is used only after it and inside the loop or branch that holds it. A constant
//      step is positive.
//   4. An instruction has the operands of its format. They name existing buffers and tensors; a constant slot is one
//      that the buffer has; a tensor has one offset a dimension; `valid` has both numbers or none; attributes are
//      values that the attribute has, and `all` is a pipe only for a barrier.
//   5. Slots, offsets, indices, events and valid regions are integers; a scalar is of the kind of the tile it goes
//      with.
//   6. Rings have distinct names, and a known direction, type and split; rings are used by cores of pairs only, and
//      lane_index() by vector cores (structure_program.cc: both cores of a pair declare them alike).
//   7. Tensors that are only read are not stored to, those that are only written are not loaded from.
// Not checked here: element types, layouts, memories, shapes (isa::check_instruction, isa::check_buffer); that a view
// has as many elements as its base, and that steps that are no constants are positive (only known in a run).
#include <algorithm>
#include <set>

#include "src/object/limits.h"
#include "src/object/structure.h"
#include "src/object/wire.h"

namespace pto::object {
namespace {

class CoreChecker {
 public:
  CoreChecker(const Core& core, Problems& problems)
      : core_(core), problems_(problems), unit_("core `" + core.name + "`") {}

  void run() {
    if (!sizes_fit() || !find_scopes()) {
      return;
    }
    check_pool(unit_, core_.exprs, core_.symbols.size(), problems_);
    check_symbols(unit_, core_.symbols, core_.dims, core_.params, true, problems_);
    if (!problems_.none()) {
      return;
    }
    ExprChecker exprs(core_.exprs, expr_facts(core_.exprs, core_.symbols, scopes_), problems_);
    exprs_ = &exprs;
    check_text(unit_, "its comment", core_.doc, problems_);
    check_params(unit_, core_.params, false, exprs, problems_);
    check_views();
    check_buffers();
    check_rings();
    if (problems_.none()) {
      tensors_ = core_.tensor_infos();
      find_modes();
      check_code();
    }
  }

 private:
  bool sizes_fit() {
    const size_t most = std::max(
        {core_.symbols.size(), core_.dims.size(), core_.params.size(), core_.views.size(), core_.buffers.size()});
    if (most > kMostSymbols || core_.code.size() > kMostStmts || core_.kind > CoreKind::Cube) {
      problems_.add(unit_, "it is larger than a core can be, or of no known kind");
      return false;
    }
    return true;
  }

  std::string where(size_t index) const {
    return unit_ + ", statement " + std::to_string(index) + problems_.place(core_.code[index].location);
  }

  // A stretch of code that ends with EndFor, Else or EndIf, and the symbols that get their values in it.
  struct Block {
    StmtKind opener = StmtKind::Inst;  // For, If, Else; Inst: the code itself
    std::vector<SymId> symbols;
  };

  // Which statements see each loop variable and let; also that loops and branches nest and symbols are assigned once.
  bool find_scopes() {
    // A symbol that nobody assigns has its value nowhere.
    scopes_.assign(core_.symbols.size(), Scope{0xFFFFFFFF, 0});
    const auto last = static_cast<uint32_t>(core_.code.size());
    std::vector<Block> open(1);
    for (uint32_t i = 0; i < last; ++i) {
      const Stmt& stmt = core_.code[i];
      if (closes(stmt.kind)) {
        if (!closes(open.back().opener, stmt.kind)) {
          problems_.add(where(i), "the end of a loop or branch that did not begin");
          return false;
        }
        close(open.back().symbols, i);
        open.pop_back();
      }
      if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::If || stmt.kind == StmtKind::Else) {
        open.push_back({stmt.kind, {}});
      }
      if (open.size() > kDeepestLoop + 1) {
        problems_.add(where(i), "loops and branches nest too deep");
        return false;
      }
      if (stmt.kind == StmtKind::For || stmt.kind == StmtKind::Let) {
        if (!begin_scope(stmt, i)) {
          return false;
        }
        open.back().symbols.push_back(stmt.sym);
      }
    }
    if (open.size() != 1) {
      problems_.add(unit_, "a loop or branch has no end");
      return false;
    }
    close(open.back().symbols, last);
    return true;
  }

  static bool closes(StmtKind kind) {
    return kind == StmtKind::EndFor || kind == StmtKind::Else || kind == StmtKind::EndIf;
  }

  static bool closes(StmtKind opener, StmtKind kind) {
    switch (kind) {
      case StmtKind::EndFor:
        return opener == StmtKind::For;
      case StmtKind::Else:
        return opener == StmtKind::If;
      default:
        return opener == StmtKind::If || opener == StmtKind::Else;
    }
  }

  bool begin_scope(const Stmt& stmt, uint32_t index) {
    const SymKind kind = stmt.kind == StmtKind::For ? SymKind::Loop : SymKind::Let;
    if (stmt.sym.index() >= core_.symbols.size() || core_.symbols[stmt.sym.index()].kind != kind) {
      problems_.add(where(index), kind == SymKind::Loop ? "the loop has no loop variable" : "the `let` has no name");
      return false;
    }
    Scope& scope = scopes_[stmt.sym.index()];
    if (scope.begin != 0xFFFFFFFF) {
      problems_.add(where(index), "`" + core_.symbols[stmt.sym.index()].name + "` has a value already");
      return false;
    }
    scope.begin = index + 1;
    return true;
  }

  void close(const std::vector<SymId>& symbols, uint32_t end) {
    for (const SymId sym : symbols) {
      scopes_[sym.index()].end = end;
    }
  }

  void check_views() {
    size_t tensors = core_.tensor_count() - core_.views.size();
    for (const View& view : core_.views) {
      if (!check_name(unit_, "a view", view.name, problems_)) {
        return;
      }
      const std::string what = "view `" + view.name + "`";
      if (view.base.index() >= tensors) {
        problems_.add(unit_, what + " is of no earlier tensor");
      }
      check_rank(unit_, what, view.dims, *exprs_, problems_);
      ++tensors;
    }
  }

  void check_buffers() {
    for (const isa::Buffer& buffer : core_.buffers) {
      if (!check_name(unit_, "a buffer", buffer.name, problems_)) {
        return;
      }
      const std::string what = "buffer `" + buffer.name + "`";
      const TileDesc& tile = buffer.tile;
      if (dtype_class(tile.dtype) == DTypeClass::None || tile.layout > Layout::Nn || tile.layout == Layout::None ||
          tile.space > Space::Scaling || tile.space == Space::None || tile.space == Space::Gm) {
        problems_.add(unit_, what + " has no valid type, layout or memory");
      } else if (tile.rows < 1 || tile.cols < 1 || tile.rows > kMostTileElements / tile.cols) {
        problems_.add(unit_, what + " has no valid shape");
      } else if (buffer.address < 0 || buffer.address > kHighestAddress) {
        problems_.add(unit_, what + " has no valid address");
      } else if (buffer.slots < 1 || buffer.slots > kMostSlots || buffer.slot_stride > kHighestAddress ||
                 (buffer.slots == 1 ? buffer.slot_stride != 0 : buffer.slot_stride < tile.bytes())) {
        problems_.add(unit_, what + " has no valid slots");
      }
    }
  }

  void check_rings() {
    std::set<std::string> names;
    if (core_.rings.size() > isa::kMaxRings) {
      problems_.add(unit_, "it has more rings than a core can have");
      return;
    }
    for (const isa::Ring& ring : core_.rings) {
      if (!check_name(unit_, "a ring", ring.name, problems_)) {
        return;
      }
      if (!names.insert(ring.name).second) {
        problems_.add(unit_, "two rings `" + ring.name + "`");
      }
      if (dtype_class(ring.dtype) == DTypeClass::None || ring.direction > isa::RingDirection::V2C ||
          ring.split > isa::Split::Cols || ring.rows < 1 || ring.cols < 1 ||
          ring.rows > kMostTileElements / ring.cols || ring.slots < 1 || ring.slots > isa::kMaxRingSlots) {
        problems_.add(unit_, "ring `" + ring.name + "` has no valid type, shape or number of slots");
      }
    }
    const bool lanes = core_.kind == CoreKind::Vec;
    for (uint32_t i = 0; i < core_.exprs.size() && !lanes; ++i) {
      if (core_.exprs[ExprId(i)].op == ExprOp::LaneIndex) {
        problems_.add(unit_, "only vector cores have a lane");
        return;
      }
    }
  }

  // A view is read and written like its base.
  void find_modes() {
    for (const Param& param : core_.params) {
      if (param.is_tensor) {
        modes_.push_back(param.mode);
      }
    }
    for (const View& view : core_.views) {
      modes_.push_back(modes_[view.base.index()]);
    }
  }

  void check_code() {
    for (uint32_t i = 0; i < core_.code.size() && !problems_.full(); ++i) {
      const Stmt& stmt = core_.code[i];
      exprs_->set_statement(i);
      switch (stmt.kind) {
        case StmtKind::EndFor:
        case StmtKind::Else:
        case StmtKind::EndIf:
          break;
        case StmtKind::If:
          exprs_->integer(where(i), "the condition", stmt.value, ExprUse::Code);
          break;
        case StmtKind::For:
          check_for(stmt, where(i));
          break;
        case StmtKind::Let:
          exprs_->scalar(where(i), "the value", stmt.value, core_.symbols[stmt.sym.index()].dtype, ExprUse::Code);
          break;
        case StmtKind::Inst:
          check_inst(stmt.inst, where(i));
          break;
        default:
          problems_.add(where(i), "a statement of no known kind");
      }
    }
  }

  void check_for(const Stmt& stmt, const std::string& at) {
    const bool ok = exprs_->integer(at, "the loop's start", stmt.lo, ExprUse::Code) &&
                    exprs_->integer(at, "the loop's end", stmt.hi, ExprUse::Code) &&
                    exprs_->integer(at, "the loop's step", stmt.step, ExprUse::Code);
    if (ok && core_.exprs.constant(stmt.step).value_or(1) < 1) {
      problems_.add(at, "the loop's step must be positive");
    }
  }

  void check_inst(const isa::Inst& inst, const std::string& at) {
    if (static_cast<size_t>(inst.opcode) >= isa::kOpcodeCount) {
      problems_.add(at, "no known instruction");
      return;
    }
    const isa::InstrInfo& info = isa::info(inst.opcode);
    const auto kinds = isa::format_operands(info.format);
    const bool same =
        inst.operands.size() == kinds.size() &&
        std::equal(kinds.begin(), kinds.end(), inst.operands.begin(),
                   [](isa::OperandKind kind, const isa::Operand& operand) { return kind == operand.kind; });
    if (!same) {
      problems_.add(at, "`" + std::string(info.mnemonic) + "` has other operands than its format");
      return;
    }
    // Scalars need the types of tiles, so those first.
    bool tiles_ok = true;
    for (const isa::Operand& operand : inst.operands) {
      if (isa::is_tile(operand.kind)) {
        tiles_ok = check_tile(operand, at) && tiles_ok;
      }
    }
    for (const isa::Operand& operand : inst.operands) {
      if (operand.kind == isa::OperandKind::Scalar && tiles_ok) {
        exprs_->scalar(at, "the scalar", operand.a, scalar_type(inst), ExprUse::Code);
      } else if (operand.kind != isa::OperandKind::Scalar && !isa::is_tile(operand.kind)) {
        check_operand(operand, info.format == isa::Format::Barrier, at);
      }
    }
  }

  // The destination's type; the destination of a comparison is a mask, and the scalar is compared with the source.
  DType scalar_type(const isa::Inst& inst) const {
    const bool compares = std::any_of(inst.operands.begin(), inst.operands.end(), [](const isa::Operand& operand) {
      return operand.kind == isa::OperandKind::Cmp;
    });
    const isa::OperandKind wanted = compares ? isa::OperandKind::TileIn : isa::OperandKind::TileOut;
    for (const isa::Operand& operand : inst.operands) {
      if (operand.kind == wanted) {
        return core_.buffers[operand.buffer.index()].tile.dtype;
      }
    }
    return DType::I64;
  }

  bool check_tile(const isa::Operand& operand, const std::string& at) {
    if (operand.buffer.index() >= core_.buffers.size()) {
      problems_.add(at, "an operand is a buffer that doesn't exist");
      return false;
    }
    if (!operand.slot.valid()) {
      return true;
    }
    if (!exprs_->integer(at, "a slot", operand.slot, ExprUse::Code)) {
      return false;
    }
    const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
    const int64_t slot = core_.exprs.constant(operand.slot).value_or(0);
    if (slot < 0 || slot >= buffer.slots) {
      problems_.add(at, "`" + buffer.name + "` has no slot " + std::to_string(slot));
      return false;
    }
    return true;
  }

  void check_operand(const isa::Operand& operand, bool is_barrier, const std::string& at) {
    using isa::OperandKind;
    switch (operand.kind) {
      case OperandKind::GmIn:
      case OperandKind::GmOut:
        check_tensor(operand, at);
        break;
      case OperandKind::Index:
        exprs_->integer(at, "an index", operand.a, ExprUse::Code);
        break;
      case OperandKind::Event:
        exprs_->integer(at, "the event", operand.a, ExprUse::Code);
        break;
      case OperandKind::Ring:
        if (operand.ring.index() >= core_.rings.size()) {
          problems_.add(at, "an operand is a ring that doesn't exist");
        }
        break;
      case OperandKind::Valid:
        if (operand.a.valid() || operand.b.valid()) {
          exprs_->integer(at, "the valid region's rows", operand.a, ExprUse::Code);
          exprs_->integer(at, "the valid region's columns", operand.b, ExprUse::Code);
        }
        break;
      default: {
        const bool all_pipes = operand.kind == OperandKind::PipeSrc || operand.kind == OperandKind::PipeDst
                                   ? operand.attribute == static_cast<uint8_t>(isa::Pipe::All)
                                   : false;
        if (!attribute_to_wire(operand.kind, operand.attribute) || (all_pipes && !is_barrier)) {
          problems_.add(at, "an operand has a value that its kind doesn't have");
        }
      }
    }
  }

  void check_tensor(const isa::Operand& operand, const std::string& at) {
    const size_t index = operand.tensor.index();
    if (index >= tensors_.size()) {
      problems_.add(at, "an operand is a tensor that doesn't exist");
      return;
    }
    const std::string name = "`" + core_.tensor_name(operand.tensor) + "`";
    if (operand.offsets.size() != static_cast<size_t>(tensors_[index].rank)) {
      problems_.add(at, name + " needs one offset a dimension");
      return;
    }
    for (const ExprId offset : operand.offsets) {
      exprs_->integer(at, "an offset of " + name, offset, ExprUse::Code);
    }
    const bool is_load = operand.kind == isa::OperandKind::GmIn;
    if (modes_[index] == (is_load ? ParamMode::Out : ParamMode::In)) {
      problems_.add(at, name + (is_load ? " can only be written" : " can only be read"));
    }
  }

  const Core& core_;
  Problems& problems_;
  const std::string unit_;
  std::vector<Scope> scopes_;
  ExprChecker* exprs_ = nullptr;
  std::vector<isa::TensorInfo> tensors_;
  std::vector<ParamMode> modes_;
};

}  // namespace

void check_core(const Core& core, Problems& problems) {
  CoreChecker(core, problems).run();
}

}  // namespace pto::object
