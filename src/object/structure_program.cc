// The structure of a program.
//
// Invariants here, besides those of structure.cc:
//   1. Symbols are dims and scalars. Constraints, block counts and scalar arguments are over them; shapes, offsets and
//      the workspace's size over dims only.
//   2. A task names an existing core and has one argument a parameter of it: a tensor of the same element type and
//      rank, not one that the program only reads where the core writes; a scalar of the parameter's kind.
//      With lanes, the same for their core; the cores are of the right kinds and have the same rings
//      in the same order.
//   3. A task gives a value for each of its core's dims, and waits for earlier tasks only, in ascending order.
// Not checked here: that arguments have the core's shapes and that workspace buffers lie inside it (only known in a
// run); that tasks in conflict are ordered.
#include <algorithm>

#include "src/object/limits.h"
#include "src/object/structure.h"

namespace pto::object {
namespace {

// What tasks see of a program's tensors.
struct TensorFacts {
  DType dtype = DType::None;
  size_t rank = 0;
  bool can_write = true;
};

class ProgramChecker {
 public:
  ProgramChecker(const Object& object, const Program& program, Problems& problems)
      : object_(object), program_(program), problems_(problems), unit_("program `" + program.name + "`") {}

  void run() {
    if (!sizes_fit()) {
      return;
    }
    check_pool(unit_, program_.exprs, program_.symbols.size(), problems_);
    check_symbols(unit_, program_.symbols, program_.dims, program_.params, false, problems_);
    if (!problems_.none()) {
      return;
    }
    const std::vector<Scope> scopes(program_.symbols.size());
    ExprChecker exprs(program_.exprs, expr_facts(program_.exprs, program_.symbols, scopes), problems_);
    exprs_ = &exprs;
    check_text(unit_, "its comment", program_.doc, problems_);
    check_params(unit_, program_.params, true, exprs, problems_);
    check_constraints();
    check_buffers();
    find_tensors();
    for (uint32_t i = 0; i < program_.tasks.size() && !problems_.full(); ++i) {
      check_task(i);
    }
  }

 private:
  bool sizes_fit() {
    const size_t most = std::max({program_.symbols.size(), program_.dims.size(), program_.params.size(),
                                  program_.constraints.size(), program_.buffers.size(), program_.tasks.size()});
    if (most > kMostSymbols) {
      problems_.add(unit_, "it is larger than a program can be");
      return false;
    }
    return true;
  }

  void check_constraints() {
    for (const Constraint& constraint : program_.constraints) {
      exprs_->integer(unit_, "a constraint", constraint.condition, ExprUse::Setup);
      check_text(unit_, "a constraint's text", constraint.text, problems_);
    }
  }

  void check_buffers() {
    for (const WorkBuffer& buffer : program_.buffers) {
      if (!check_name(unit_, "a buffer", buffer.name, problems_)) {
        return;
      }
      const std::string what = "buffer `" + buffer.name + "`";
      if (dtype_class(buffer.dtype) == DTypeClass::None) {
        problems_.add(unit_, what + " has a wrong type");
      }
      check_rank(unit_, what, buffer.dims, *exprs_, problems_);
      exprs_->integer(unit_, "the offset of " + what, buffer.offset, ExprUse::Dim);
    }
    exprs_->integer(unit_, "the workspace's size", program_.workspace_bytes, ExprUse::Dim);
  }

  void find_tensors() {
    for (const Param& param : program_.params) {
      if (param.is_tensor) {
        tensors_.push_back({param.dtype, param.dims.size(), param.mode != ParamMode::In});
      }
    }
    for (const WorkBuffer& buffer : program_.buffers) {
      tensors_.push_back({buffer.dtype, buffer.dims.size(), true});
    }
  }

  void check_task(uint32_t index) {
    const Task& task = program_.tasks[index];
    if (!check_name(unit_, "a task", task.name, problems_)) {
      return;
    }
    const std::string at = unit_ + ", task `" + task.name + "`" + problems_.place(task.location);
    if (task.core >= object_.cores.size()) {
      problems_.add(at, "it is of a core that doesn't exist");
      return;
    }
    if (!check_call(at, object_.cores[task.core], task.args, task.dims)) {
      return;
    }
    if (task.vec ? !check_lanes(at, task) : !object_.cores[task.core].rings.empty()) {
      if (!task.vec) {
        problems_.add(at, "a core with rings runs only together with another");
      }
      return;
    }
    exprs_->integer(at, "the number of blocks", task.blocks, ExprUse::Setup);
    for (size_t i = 0; i < task.after.size(); ++i) {
      if (task.after[i] >= index || (i > 0 && task.after[i] <= task.after[i - 1])) {
        problems_.add(at, "it must wait for earlier tasks, in ascending order");
        break;
      }
    }
  }

  bool check_call(const std::string& at, const Core& core, const std::vector<Argument>& args,
                  const std::vector<ExprId>& dims) {
    if (args.size() != core.params.size() || dims.size() != core.dims.size()) {
      problems_.add(at, "it has not one argument a parameter and one value a dim of `" + core.name + "`");
      return false;
    }
    for (size_t i = 0; i < args.size(); ++i) {
      check_argument(at, core.params[i], args[i]);
    }
    for (const ExprId dim : dims) {
      exprs_->integer(at, "the value of a dim", dim, ExprUse::Dim);
    }
    return true;
  }

  // A cube core and the lanes beside it: both have the same rings.
  bool check_lanes(const std::string& at, const Task& task) {
    const TaskLanes& lanes = *task.vec;
    if (lanes.core >= object_.cores.size()) {
      problems_.add(at, "its lanes run a core that doesn't exist");
      return false;
    }
    const Core& cube = object_.cores[task.core];
    const Core& vec = object_.cores[lanes.core];
    if (cube.kind != CoreKind::Cube || vec.kind != CoreKind::Vec || lanes.lanes < 1 || lanes.lanes > 2) {
      problems_.add(at, "a pair is a cube core and one or two vector lanes");
      return false;
    }
    if (cube.rings != vec.rings) {
      problems_.add(at, "`" + cube.name + "` and `" + vec.name + "` have different rings");
      return false;
    }
    if (lanes.lanes == 1 && std::any_of(vec.rings.begin(), vec.rings.end(),
                                        [](const isa::Ring& ring) { return ring.split != isa::Split::None; })) {
      problems_.add(at, "one lane can't split a ring");
      return false;
    }
    return check_call(at, vec, lanes.args, lanes.dims);
  }

  void check_argument(const std::string& at, const Param& param, const Argument& argument) {
    const std::string what = "the argument for `" + param.name + "`";
    if (argument.is_tensor != param.is_tensor) {
      problems_.add(at, what + (param.is_tensor ? " must be a tensor" : " must be a scalar"));
      return;
    }
    if (!param.is_tensor) {
      exprs_->scalar(at, what, argument.scalar, param.dtype, ExprUse::Setup);
      return;
    }
    if (argument.tensor >= tensors_.size()) {
      problems_.add(at, what + " is a tensor that doesn't exist");
      return;
    }
    const TensorFacts& tensor = tensors_[argument.tensor];
    if (tensor.dtype != param.dtype || tensor.rank != param.dims.size()) {
      problems_.add(at, what + " has another element type or rank");
    } else if (param.mode != ParamMode::In && !tensor.can_write) {
      problems_.add(at, what + " can only be read, but the core writes it");
    }
  }

  const Object& object_;
  const Program& program_;
  Problems& problems_;
  const std::string unit_;
  ExprChecker* exprs_ = nullptr;
  std::vector<TensorFacts> tensors_;
};

}  // namespace

void check_program(const Object& object, const Program& program, Problems& problems) {
  ProgramChecker(object, program, problems).run();
}

}  // namespace pto::object
