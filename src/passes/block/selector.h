// The state of the selection of one kernel: which buffer holds which tile, which loop rotates buffers. Internal to
// select.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/mixed_plan.h"
#include "src/passes/block/select.h"

namespace pto::passes {

class Selector {
 public:
  // The program for one kind of core; of a mixed kernel its half.
  Selector(const ir::Function& kernel, const MixedPlan& plan, CoreKind side, const Target& target,
           DiagnosticSink& sink);
  std::optional<SelectedKernel> run();

 private:
  // A tile in a buffer: which slot, where buffers rotate.
  struct TileRef {
    isa::BufferId buffer;
    ExprId slot;
  };
  struct Copy {
    TileRef to;
    TileRef from;
    ir::ValueId value;
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

  // Structure (selector.cc).
  void copy_interface();
  void add_param(const ir::Param& old, ir::ParamMode mode);
  bool region(ir::RegionId region);
  bool statement(ir::OpId id);
  bool parallel(const ir::Op& op);
  bool for_loop(ir::OpId id);
  bool carry_in(const ir::Op& loop, size_t i, ExprId first);
  void carry_out(const ir::Op& loop);
  void copy_together(const ir::Op& origin, std::vector<Copy> copies);
  bool used_after(ir::RegionId region, ir::OpId position, ir::ValueId value) const;
  bool mentions(ir::OpId op, ir::ValueId value) const;
  void enter_loop(SymId counter, ExprId trip, const std::vector<Span>& spans);
  std::string fresh_symbol(const std::string& base) const;
  ExprId let(SymId kernel_symbol, ExprId value, const std::vector<Span>& spans);
  bool needs_counter(const ir::Op& loop) const;
  void stop_rotating_private_buffers();

  // Branches (select_branch.cc).
  // An `if` at the end of the region; its two empty regions.
  std::array<ir::RegionId, 2> add_branch(ExprId condition, const std::vector<Span>& spans);
  bool branch(ir::OpId id);
  std::optional<TileRef> branch_result(ir::OpId id, size_t i);

  // Halves of mixed kernels (select_mixed.cc).
  bool mine(ir::OpId op) const;
  bool mine(ir::ValueId value) const;
  bool shared(ir::ValueId value) const { return plan_.shared.count(value) != 0; }
  ExprId lane_start(int64_t extent);
  bool lane_zero(const std::vector<Span>& spans, const std::function<bool()>& body);
  bool cross(ir::OpId id);
  bool push(const ir::Op& op, isa::RingId ring);
  bool pop(ir::OpId id, isa::RingId ring);
  bool free_behind(ir::OpId statement);

  // Loops that ask and get an answer (select_skew.cc).
  struct Stages {
    std::vector<ir::OpId> ask;     // up to the pushes that don't wait for an answer
    std::vector<ir::OpId> answer;  // what depends on a pop
    int64_t distance = 1;          // iterations that the first stage is ahead
  };
  std::optional<Stages> stages_of(const ir::Op& loop) const;
  bool skewed_loop(const ir::Op& loop, const Stages& stages);
  bool contains(ir::OpId op, const std::function<bool(ir::OpId)>& what) const;
  void remove_unused_lets();

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

  // Building (selector.cc).
  ExprPool& exprs() { return core_.exprs; }
  ExprId expr(ExprId kernel_expr) { return cloner_.expr(kernel_expr); }
  TileDesc describe(ir::ValueId value) const;
  isa::BufferId add_buffer(const TileDesc& tile, const std::string& name, int64_t slots,
                           const std::vector<Span>& spans);
  // A buffer whose slots rotate with the loop around.
  TileRef new_buffer(const TileDesc& tile, const std::string& name, const std::vector<Span>& spans);
  TileRef define(const ir::Op& op, size_t result = 0);
  TileRef use(ir::ValueId value) const;
  isa::Operand tile(isa::OperandKind kind, const TileRef& ref) const;
  isa::Operand scalar(ExprId value) const;
  isa::Operand valid(ir::ValueId value);
  // The window of a tile in a tensor; where lanes share the tile, the lane's part of it.
  isa::Operand window(isa::OperandKind kind, ir::ValueId tensor, const std::vector<ExprId>& offsets, ir::ValueId tile);
  bool emit(const ir::Op& origin, isa::Opcode opcode, std::vector<isa::Operand> operands);
  void copy(const ir::Op& origin, const TileRef& to, const TileRef& from);

  // A popped tile of a local ring, to be given back behind a statement.
  struct Popped {
    isa::RingId ring;
    TileRef tile;
    std::vector<Span> spans;
  };

  const ir::Function& kernel_;
  const MixedPlan& plan_;
  const CoreKind side_;
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
  std::map<ir::OpId, std::vector<Popped>> popped_;  // by the last statement that uses them
  std::set<isa::BufferId> ring_buffers_;
  std::map<std::string, int> names_;
};

}  // namespace pto::passes
