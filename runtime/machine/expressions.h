// Compiles scalar expressions of a core to steps on registers. Constants fold; what depends on a loop variable or `let`
// is placed behind the statement that sets the last of its inputs, so it runs as seldom as it can.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "runtime/machine/program.h"

namespace pto::runtime {

class ExpressionCompiler {
 public:
  ExpressionCompiler(const object::Core& core, const TaskPlan& plan, Program& out);

  // A scope is a loop body; what was set in it is gone behind it.
  void enter_scope();
  void leave_scope();
  // Makes a register for a symbol that the next statement sets. False: the symbol already has a value here.
  bool define(SymId sym, uint32_t walk_step, Reg& reg);

  // The register that holds an expression here. nullopt: it uses a symbol that has no value here.
  std::optional<Reg> integer(ExprId id) { return compile(id, false); }
  std::optional<Reg> real(ExprId id) { return compile(id, true); }
  bool is_real(ExprId id) const { return id.valid() && real_[id.index()] != 0; }
  Reg constant(int64_t value);

  // Writes Program::evals, the ranges of the walk, and the initial registers.
  void finish();

 private:
  static constexpr uint32_t kConstant = 0;  // definer of constants; 1 is the start of a block
  struct Definer {
    uint32_t serial = 0;     // never reused
    uint32_t walk_step = 0;  // statement that it stands for; the start of the block has none
    SymId sym;
    std::vector<EvalStep> steps;
  };
  // A value in a register, and the definer it is computed behind.
  struct Known {
    Reg reg = 0;
    uint32_t definer = kConstant;
  };
  std::optional<Reg> compile(ExprId root, bool real);
  bool visit(ExprId id, bool real, std::vector<std::pair<ExprId, bool>>& stack);
  std::optional<Known> leaf(const ExprNode& node, bool real);
  Known operation(EvalOp op, Known a, Known b);
  Known bad_constant();
  Known fold(EvalOp op, Known a, Known b);
  bool alive(const Known& known) const { return live_[known.definer]; }
  const Known* lookup(ExprId id, bool real) const;
  Reg new_register(int64_t value, bool bad);

  const object::Core& core_;
  Program& out_;
  std::vector<uint8_t> real_;          // by ExprId: of float type
  std::vector<Definer> definers_;      // by serial
  std::vector<bool> live_;             // by serial: in scope
  std::vector<uint32_t> stack_;        // live definers, outermost first
  std::vector<size_t> scopes_;         // heights of stack_
  std::vector<std::optional<Known>> symbols_;  // by SymId
  std::vector<uint8_t> fixed_;                 // by SymId: given by the task
  std::vector<std::optional<Known>> ints_;     // by ExprId
  std::vector<std::optional<Known>> reals_;
  std::map<int64_t, Reg> constants_;
  std::vector<double> fixed_reals_;
  std::vector<int64_t> fixed_ints_;
};


}  // namespace pto::runtime
