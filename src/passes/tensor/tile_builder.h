// Builds the tile-level body of a kernel from a fused graph: the ops that every tiling scheme emits. Internal to
// lower-to-tile.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"
#include "src/passes/analysis/rewrite.h"

namespace pto::passes {

// One fused graph on its way to one kernel.
class TileBuilder {
 public:
  TileBuilder(const ir::Function& graph, ir::Function& kernel);

  const ir::Function& graph() const { return graph_; }
  ir::Function& kernel() { return kernel_; }
  ExprPool& exprs() { return kernel_.exprs; }
  Cloner& cloner() { return cloner_; }
  ir::RegionId region() const { return region_; }
  void enter(ir::RegionId region) { region_ = region; }
  void at(const ir::Op& origin) { spans_ = origin.spans; }

  SymId loop_symbol(const std::string& name);
  // A tensor parameter of the graph under other dims (expressions of the kernel); itself if they are its dims already.
  // Views stand at the start of the kernel, each once.
  ir::ValueId view(ir::ValueId graph_param, std::vector<ExprId> dims);
  ir::ValueId load(ir::ValueId tensor, std::vector<ExprId> offsets, int64_t rows, int64_t cols);
  void store(ir::ValueId tensor, std::vector<ExprId> offsets, ir::ValueId tile);
  ir::ValueId full(DType dtype, int64_t rows, int64_t cols, ExprId value);
  // A copy of an elementwise or reduction op on tiles; `inputs` stand for its operands.
  ir::ValueId elementwise(const ir::Op& op, const std::vector<ir::ValueId>& inputs, DType dtype);
  ir::ValueId binary(ir::OpKind kind, ir::ValueId a, ir::ValueId b);
  ir::ValueId add(ir::Op op, ir::Type type, const std::string& name);
  // `parallel` or `for` over [0, extent) in steps; returns the body, entered.
  ir::OpId loop(ir::OpKind kind, const std::vector<SymId>& symbols, const std::vector<ExprId>& extents,
                const std::vector<int64_t>& steps);
  // What is left of an extent from an offset, at most `step`: the valid length of a tile.
  ExprId remaining(ExprId extent, ExprId offset, int64_t step);

 private:
  const ir::Function& graph_;
  ir::Function& kernel_;
  Cloner cloner_;
  ir::RegionId region_;
  std::vector<Span> spans_;
  std::map<std::pair<ir::ValueId, std::vector<ExprId>>, ir::ValueId> views_;
};

// Fills the kernel's body; false after an error.
bool tile_elementwise(TileBuilder& builder, const Target& target, DiagnosticSink& sink);
bool tile_matmul(TileBuilder& builder, const Target& target, DiagnosticSink& sink);

}  // namespace pto::passes
