#include "tests/property/liveness.h"

#include <map>
#include <vector>

namespace pto::test {

namespace {

constexpr int kIterations = 3;
constexpr int64_t kDim = 4096;  // of every dim and scalar

struct Range {
  int space = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

class Walker {
 public:
  explicit Walker(const object::Core& core) : core_(core), ints_(core.symbols.size(), kDim), floats_(ints_.size(), 1.0) {}

  std::string run() {
    walk(0, core_.code.size());
    return error_;
  }

 private:
  using Owners = std::map<int64_t, std::pair<int64_t, int64_t>>;  // begin -> (end, address of the write); disjoint

  int64_t value(ExprId expr) const { return core_.exprs.evaluate(expr, {ints_, floats_, 0, 2}).value_or(0); }

  size_t end_of(size_t at) const {
    int depth = 0;
    for (size_t i = at;; ++i) {
      const object::StmtKind kind = core_.code[i].kind;
      depth += kind == object::StmtKind::For || kind == object::StmtKind::If ? 1 : 0;
      depth -= kind == object::StmtKind::EndFor || kind == object::StmtKind::EndIf ? 1 : 0;
      if (depth == 0) {
        return i;
      }
    }
  }

  size_t else_of(size_t at, size_t end) const {
    int depth = 0;
    for (size_t i = at; i < end; ++i) {
      const object::StmtKind kind = core_.code[i].kind;
      depth += kind == object::StmtKind::For || kind == object::StmtKind::If ? 1 : 0;
      depth -= kind == object::StmtKind::EndFor || kind == object::StmtKind::EndIf ? 1 : 0;
      if (kind == object::StmtKind::Else && depth == 1) {
        return i;
      }
    }
    return end;
  }

  void walk(size_t from, size_t to) {
    for (size_t i = from; i < to && error_.empty(); ++i) {
      const object::Stmt& stmt = core_.code[i];
      if (stmt.kind == object::StmtKind::Inst) {
        visit(stmt.inst, i);
      } else if (stmt.kind == object::StmtKind::Let) {
        ints_[stmt.sym.index()] = value(stmt.value);
      } else if (stmt.kind == object::StmtKind::For) {
        const size_t end = end_of(i);
        const int64_t lo = value(stmt.lo);
        const int64_t step = value(stmt.step);
        for (int iteration = 0; iteration < kIterations; ++iteration) {
          ints_[stmt.sym.index()] = lo + iteration * step;
          walk(i + 1, end);
        }
        i = end;
      } else if (stmt.kind == object::StmtKind::If) {
        const size_t end = end_of(i);
        const size_t middle = else_of(i, end);
        if (value(stmt.value) != 0) {
          walk(i + 1, middle);
        } else if (middle < end) {
          walk(middle + 1, end);
        }
        i = end;
      }
    }
  }

  Range range_of(const isa::Operand& operand) const {
    const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
    const int64_t slot = operand.slot.valid() ? value(operand.slot) : 0;
    const int64_t begin = buffer.address + slot * buffer.slot_stride;
    return {static_cast<int>(buffer.tile.space), begin, begin + buffer.tile.bytes()};
  }
  std::string name_of(const isa::Operand& operand) const { return core_.buffers[operand.buffer.index()].name; }

  void fail(const std::string& what, size_t at) {
    error_ = core_.name + ", statement " + std::to_string(at) + ": " + what;
  }

  void visit(const isa::Inst& inst, size_t at) {
    for (const isa::Operand& operand : inst.operands) {
      if (isa::is_tile(operand.kind) && isa::reads(operand.kind) && operand.kind != isa::OperandKind::TileTmp) {
        read(operand, at);
      }
    }
    for (size_t a = 0; a < inst.operands.size(); ++a) {
      for (size_t b = 0; b < inst.operands.size(); ++b) {
        check_pair(inst, a, b, at);
      }
    }
    for (const isa::Operand& operand : inst.operands) {
      if (isa::is_tile(operand.kind) && isa::writes(operand.kind)) {
        write(range_of(operand));
      }
    }
  }

  // What an instruction writes may be what it reads, element for element, and nothing else of it.
  void check_pair(const isa::Inst& inst, size_t a, size_t b, size_t at) {
    const isa::Operand& out = inst.operands[a];
    const isa::Operand& in = inst.operands[b];
    if (a == b || !isa::is_tile(out.kind) || !isa::is_tile(in.kind) || !isa::writes(out.kind)) {
      return;
    }
    const Range x = range_of(out);
    const Range y = range_of(in);
    const bool overlap = x.space == y.space && x.begin < y.end && y.begin < x.end;
    const bool scratch = out.kind == isa::OperandKind::TileTmp || in.kind == isa::OperandKind::TileTmp;
    const bool same_grid = core_.buffers[out.buffer.index()].tile == core_.buffers[in.buffer.index()].tile;
    if (overlap && (scratch || x.begin != y.begin || !same_grid)) {
      fail("`" + std::string(isa::info(inst.opcode).mnemonic) + "` writes `" + name_of(out) + "` over `" + name_of(in) + "`",
           at);
    }
  }

  void read(const isa::Operand& operand, size_t at) {
    const Range range = range_of(operand);
    bool any = false;
    for (const auto& [begin, owner] : owners_[range.space]) {
      if (begin < range.end && owner.first > range.begin) {
        any = true;
        if (owner.second != range.begin) {
          fail("`" + name_of(operand) + "` was overwritten before this read", at);
        }
      }
    }
    if (!any) {
      fail("`" + name_of(operand) + "` is read before it is written", at);
    }
  }

  void write(const Range& range) {
    Owners& owners = owners_[range.space];
    Owners kept;
    for (const auto& [begin, owner] : owners) {
      if (owner.first <= range.begin || begin >= range.end) {
        kept[begin] = owner;
        continue;
      }
      if (begin < range.begin) {
        kept[begin] = {range.begin, owner.second};
      }
      if (owner.first > range.end) {
        kept[range.end] = {owner.first, owner.second};
      }
    }
    kept[range.begin] = {range.end, range.begin};
    owners = std::move(kept);
  }

  const object::Core& core_;
  std::vector<int64_t> ints_;
  std::vector<double> floats_;
  std::map<int, Owners> owners_;
  std::string error_;
};

}  // namespace

std::string check_liveness(const object::Core& core) { return Walker(core).run(); }

}  // namespace pto::test
