// The state of the selection of one kernel: which buffer holds which tile, which loop rotates buffers. Internal to
// select.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/select.h"

namespace pto::passes {

class Selector {
 public:
  Selector(const ir::Function& kernel, const Target& target, DiagnosticSink& sink);
  std::optional<SelectedKernel> run();

 private:
  // A tile in a buffer: which slot, where buffers rotate.
  struct TileRef {
    isa::BufferId buffer;
    ExprId slot;
  };
  // An accumulator that has no value yet: the first product starts it, from zero or from a bias row.
  struct Start {
    std::optional<TileRef> bias;
    ExprId first;  // condition under which a product is the first; not valid: always
  };
  // The loop whose iterations use the slots of the buffers that its body defines.
  struct Rotation {
    ExprId counter;
    int64_t depth = 1;
  };

  // Structure (select.cc).
  bool choose_core_kind();
  void copy_interface();
  bool region(ir::RegionId region);
  bool statement(ir::OpId id);
  bool parallel(const ir::Op& op);
  bool for_loop(ir::OpId id);
  bool carry_in(const ir::Op& loop, size_t i, ExprId first);
  void enter_loop(SymId counter, ExprId trip, const std::vector<Span>& spans);
  ExprId let(SymId kernel_symbol, ExprId value, const std::vector<Span>& spans);
  bool needs_counter(const ir::Op& loop) const;
  void stop_rotating_private_buffers();

  // Operations (select_ops.cc).
  bool operation(const ir::Op& op);
  bool binary(const ir::Op& op);
  bool unary(const ir::Op& op);
  bool reduce(const ir::Op& op);
  bool compare(const ir::Op& op);
  bool select(const ir::Op& op);
  bool matmul(const ir::Op& op);
  bool load(const ir::Op& op);
  bool store(const ir::Op& op);
  bool fill(const ir::Op& op);
  bool broadcast(const ir::Op& op);
  bool convert(const ir::Op& op);
  bool move(const ir::Op& op);
  bool extract(const ir::Op& op);
  bool fill_pad(const ir::Op& op);
  bool unsupported(const ir::Op& op, const std::string& why);

  // Building (select.cc).
  ExprPool& exprs() { return core_.exprs; }
  ExprId expr(ExprId kernel_expr) { return cloner_.expr(kernel_expr); }
  TileDesc describe(const ir::Type& type) const;
  TileRef new_buffer(const TileDesc& tile, const std::string& name, const std::vector<Span>& spans);
  TileRef define(const ir::Op& op, size_t result = 0);
  TileRef use(ir::ValueId value) const;
  isa::Operand tile(isa::OperandKind kind, const TileRef& ref) const;
  isa::Operand scalar(ExprId value) const;
  isa::Operand valid(const ir::Type& type);
  isa::Operand window(isa::OperandKind kind, ir::ValueId tensor, const std::vector<ExprId>& offsets);
  bool emit(const ir::Op& origin, isa::Opcode opcode, std::vector<isa::Operand> operands);
  void copy(const ir::Op& origin, const TileRef& to, const TileRef& from);

  const ir::Function& kernel_;
  const Target& target_;
  DiagnosticSink& sink_;
  ir::Function core_;
  Cloner cloner_;
  Uses uses_;
  ir::RegionId region_;
  Rotation rotation_;
  ExprId blocks_;
  std::map<ir::ValueId, TileRef> tiles_;
  std::map<ir::ValueId, Start> starts_;
  std::map<ir::ValueId, TileRef> directed_;  // results that must be defined in a given buffer (carried values)
  std::map<ir::ValueId, uint32_t> tensors_;
  std::map<std::string, int> names_;
};

}  // namespace pto::passes
