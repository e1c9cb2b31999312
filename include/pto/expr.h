// Scalar expressions over named symbols: dims, loop variables, `let` names, scalar parameters. They are the index
// arithmetic of every level and of the object file, so one pool, one evaluator and one printer serve all of them.
//
// An `ExprPool` interns: equal expressions have equal ids, and `make` folds constants and trivial identities. `make` is
// idempotent on its own results, which is what makes `parse(print(e)) == e` hold. Constants of `+` and `*` go right, of
// `min` and `max` left; `x - 3` is `x + -3` inside and printed as `x - 3`.
// Integer operations have floor semantics (`/` and `%` round toward minus infinity); overflow is reported, never wrapped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "pto/dtype.h"
#include "pto/ids.h"

namespace pto {

using ExprId = Id<struct ExprTag>;
using SymId = Id<struct SymTag>;

enum class SymKind : uint8_t { Dim, Loop, Let, Scalar };

struct Symbol {
  std::string name;
  SymKind kind = SymKind::Dim;
  DType dtype = DType::I64;  // I64 is the language's `index`; scalars may be any type
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

enum class ExprOp : uint8_t {
  Int,         // value
  Float,       // fvalue
  Sym,         // sym
  BlockIndex,  // block_index(), only in cores and kernels
  BlockCount,
  LaneIndex,   // lane_index(), only in cores: 0 or 1 in the vector lanes of a cluster
  Add, Sub, Mul,
  FloorDiv,  // index division; printed `/`
  CeilDiv,
  Mod,
  Min, Max,
  Div,  // float division; printed `/` too, told apart by the operands' type
  Lt, Le, Eq, Ne, And, Or,  // 0 or 1
};

struct ExprNode {
  ExprOp op = ExprOp::Int;
  ExprId a;
  ExprId b;
  int64_t value = 0;
  double fvalue = 0;
  SymId sym;
};

// Values of symbols and of the block coordinates, for `evaluate`.
struct ExprEnv {
  std::span<const int64_t> ints;      // by SymId; integer symbols
  std::span<const double> floats;     // by SymId; float symbols
  int64_t block_index = 0;
  int64_t block_count = 1;
  int64_t lane_index = 0;
};

class ExprPool {
 public:
  ExprId integer(int64_t value);
  ExprId real(double value);
  ExprId symbol(SymId sym);
  ExprId leaf(ExprOp op);  // BlockIndex, BlockCount, LaneIndex
  // Says that a symbol is a float, before its first use: `make` must not fold `x - x` or `x == x` of what may be NaN.
  void mark_real(SymId sym);
  ExprId make(ExprOp op, ExprId a, ExprId b);
  ExprId add(ExprId a, ExprId b) { return make(ExprOp::Add, a, b); }
  ExprId sub(ExprId a, ExprId b) { return make(ExprOp::Sub, a, b); }
  ExprId mul(ExprId a, ExprId b) { return make(ExprOp::Mul, a, b); }
  ExprId ceildiv(ExprId a, ExprId b) { return make(ExprOp::CeilDiv, a, b); }
  ExprId min(ExprId a, ExprId b) { return make(ExprOp::Min, a, b); }

  // Appends a node exactly as given, for a reader of object files. Its operands must be earlier nodes.
  ExprId append_raw(const ExprNode& node);

  const ExprNode& operator[](ExprId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  std::optional<int64_t> constant(ExprId id) const;  // the value of an Int node

  // Nodes of the expression written out as a tree (saturating): what printing costs, and more than the nodes stored.
  uint32_t tree_size(ExprId id) const { return tree_sizes_.at(id.index()); }
  // Is the expression of float type as far as the pool can know: by its constants, by `/` and by `mark_real`?
  bool known_real(ExprId id) const { return real_.at(id.index()) != 0; }
  // The expression's nodes, each once, operands before their users.
  std::vector<ExprId> nodes_of(ExprId id) const;
  std::vector<ExprId> post_order(ExprId id) const;

  // nullopt on overflow or on division by zero, except behind an `&&` or `||` that is decided by its left side.
  std::optional<int64_t> evaluate(ExprId id, const ExprEnv& env) const;
  std::optional<double> evaluate_real(ExprId id, const ExprEnv& env) const;
  // Is the expression of float type (a float constant, a float symbol, or arithmetic on one)?
  bool is_real(ExprId id, const std::vector<Symbol>& symbols) const;

  // Copies an expression of another pool into this one; `map` gives this pool's expression for each symbol.
  ExprId import(const ExprPool& from, ExprId id, const std::function<ExprId(SymId)>& map);

  // `.pto` text, e.g. "min(16, M - b * 16)". "..." for a tree of more than kMostPrinted nodes.
  static constexpr uint32_t kMostPrinted = 1 << 18;
  std::string print(ExprId id, const std::vector<Symbol>& symbols) const;
  // Appends the symbols that `out` doesn't have yet.
  void collect_symbols(ExprId id, std::vector<SymId>& out) const;

 private:
  using Key = std::tuple<int, uint32_t, uint32_t, int64_t, uint64_t>;
  ExprId intern(const ExprNode& node);
  ExprId add_node(const ExprNode& node);
  IdVector<ExprId, ExprNode> nodes_;
  std::map<Key, ExprId> index_;
  std::vector<uint8_t> real_;          // by node: certainly a float
  std::vector<uint32_t> tree_sizes_;   // by node
  std::vector<uint8_t> real_symbols_;  // by SymId
};

}  // namespace pto
