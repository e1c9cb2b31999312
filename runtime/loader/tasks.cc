#include "runtime/loader/tasks.h"

#include <algorithm>
#include <optional>

#include "runtime/check/faults.h"

namespace pto::runtime {
namespace {

class Planner {
 public:
  Planner(const object::Object& object, const object::Program& program, const Binding& binding,
          const std::string& subject, DiagnosticSink& sink)
      : object_(object), program_(program), binding_(binding), subject_(subject), sink_(sink) {}

  Result<TaskPlan> plan(uint32_t index) {
    task_ = &program_.tasks[index];
    TaskPlan plan;
    plan.task = index;
    if (!call(plan, task_->core, task_->args, task_->dims)) {
      return Reported{};
    }
    if (task_->vec) {
      plan.vec.emplace_back();
      plan.vec[0].task = index;
      plan.lanes = task_->vec->lanes;
      if (!call(plan.vec[0], task_->vec->core, task_->vec->args, task_->vec->dims) || !rings_fit(plan)) {
        return Reported{};
      }
    }
    const std::optional<int64_t> blocks = program_.exprs.evaluate(task_->blocks, binding_.env());
    if (!blocks || *blocks < 1 || *blocks > kMostBlocks) {
      fail("it has " + (blocks ? std::to_string(*blocks) : std::string("an uncomputable number of")) +
           " blocks; a task has 1 to " + std::to_string(kMostBlocks));
      return Reported{};
    }
    plan.blocks = *blocks;
    if (!plan.vec.empty()) {
      plan.vec[0].blocks = *blocks;
    }
    return plan;
  }

 private:
  bool fail(const std::string& text) {
    sink_.report(DiagId::TaskArgument, place_of(object_, task_->location, subject_),
                 {task_->name, program_.name, text});
    return false;
  }

  bool call(TaskPlan& plan, uint32_t core, const std::vector<object::Argument>& args,
            const std::vector<ExprId>& dims) {
    core_ = &object_.cores[core];
    plan.core = core;
    return set_dims(plan, args, dims) && set_arguments(plan, args) && check_params(plan);
  }

  bool rings_fit(const TaskPlan& plan) {
    int64_t bytes = 0;
    for (const isa::Ring& ring : object_.cores[plan.core].rings) {
      bytes += ring.slots * ring.slot_bytes();
    }
    return bytes <= kMostRingBytes || fail("its rings take " + std::to_string(bytes) + " bytes; the most are " +
                                           std::to_string(kMostRingBytes));
  }

  bool set_dims(TaskPlan& plan, const std::vector<object::Argument>& args, const std::vector<ExprId>& dims) {
    if (dims.size() != core_->dims.size() || args.size() != core_->params.size()) {
      return fail("it does not fit core program `" + core_->name + "`");
    }
    for (size_t i = 0; i < core_->dims.size(); ++i) {
      const std::optional<int64_t> value = program_.exprs.evaluate(dims[i], binding_.env());
      if (!value || *value < 1) {
        return fail("dim `" + core_->symbols[core_->dims[i].index()].name + "` of `" + core_->name + "` is " +
                    (value ? std::to_string(*value) : std::string("not computable")) + "; a dim is at least 1");
      }
      plan.ints.push_back(*value);
      plan.reals.push_back(static_cast<double>(*value));
    }
    return true;
  }

  bool set_arguments(TaskPlan& plan, const std::vector<object::Argument>& args) {
    for (size_t i = 0; i < core_->params.size(); ++i) {
      const object::Param& param = core_->params[i];
      const object::Argument& argument = args[i];
      if (param.is_tensor != argument.is_tensor) {
        return fail("argument " + std::to_string(i + 1) + " is not what `" + param.name + "` takes");
      }
      if (param.is_tensor) {
        if (argument.tensor >= binding_.tensors.size()) {
          return fail("argument " + std::to_string(i + 1) + " does not exist");
        }
        plan.tensors.push_back(argument.tensor);
      } else if (!set_scalar(plan, param, argument)) {
        return false;
      }
    }
    return true;
  }

  bool set_scalar(TaskPlan& plan, const object::Param& param, const object::Argument& argument) {
    if (is_float(param.dtype)) {
      const std::optional<double> value = program_.exprs.evaluate_real(argument.scalar, binding_.env());
      if (!value) {
        return fail("the value of `" + param.name + "` can't be computed");
      }
      plan.ints.push_back(0);
      plan.reals.push_back(*value);
      return true;
    }
    const std::optional<int64_t> value = program_.exprs.evaluate(argument.scalar, binding_.env());
    if (!value) {
      return fail("the value of `" + param.name + "` can't be computed");
    }
    plan.ints.push_back(*value);
    plan.reals.push_back(static_cast<double>(*value));
    return true;
  }

  // The shape that the core gives each tensor parameter is that of the argument.
  bool check_params(const TaskPlan& plan) {
    const std::vector<SymId> fixed = fixed_symbols(*core_);
    ints_.resize(std::max(ints_.size(), core_->symbols.size()));  // kept between tasks: only `fixed` entries are read
    reals_.resize(ints_.size());
    for (size_t i = 0; i < fixed.size(); ++i) {
      ints_[fixed[i].index()] = plan.ints[i];
      reals_[fixed[i].index()] = plan.reals[i];
    }
    const ExprEnv env{ints_, reals_, 0, 1};
    size_t index = 0;
    for (const object::Param& param : core_->params) {
      if (!param.is_tensor) {
        continue;
      }
      const BoundTensor& tensor = binding_.tensors[plan.tensors[index++]];
      std::vector<int64_t> dims;
      for (ExprId dim : param.dims) {
        const std::optional<int64_t> value = core_->exprs.evaluate(dim, env);
        if (!value) {
          return fail("the shape of `" + param.name + "` can't be computed");
        }
        dims.push_back(*value);
      }
      if (dims != tensor.dims || param.dtype != tensor.dtype) {
        return fail("`" + tensor.name + "` is " + std::string(spelling(tensor.dtype)) + dims_text(tensor.dims) +
                    " where parameter `" + param.name + "` of `" + core_->name + "` is " +
                    std::string(spelling(param.dtype)) + dims_text(dims));
      }
    }
    return true;
  }

  const object::Object& object_;
  const object::Program& program_;
  const Binding& binding_;
  const std::string& subject_;
  DiagnosticSink& sink_;
  const object::Task* task_ = nullptr;
  const object::Core* core_ = nullptr;
  std::vector<int64_t> ints_;
  std::vector<double> reals_;
};

}  // namespace

std::vector<uint32_t> root_tensors(const object::Core& core) {
  std::vector<uint32_t> roots;
  for (const object::Param& param : core.params) {
    if (param.is_tensor) {
      roots.push_back(static_cast<uint32_t>(roots.size()));
    }
  }
  for (const object::View& view : core.views) {
    roots.push_back(roots[view.base.index()]);  // bases are earlier: verified
  }
  return roots;
}

std::vector<SymId> fixed_symbols(const object::Core& core) {
  std::vector<SymId> symbols = core.dims;
  for (const object::Param& param : core.params) {
    if (!param.is_tensor) {
      symbols.push_back(param.sym);
    }
  }
  return symbols;
}

CoreAccess core_access(const object::Core& core) {
  CoreAccess access;
  const std::vector<uint32_t> roots = root_tensors(core);
  access.reads.assign(roots.size() - core.views.size(), false);
  access.writes = access.reads;
  for (const object::Stmt& stmt : core.code) {
    if (stmt.kind != object::StmtKind::Inst) {
      continue;
    }
    for (const isa::Operand& operand : stmt.inst.operands) {
      if (isa::is_gm(operand.kind)) {
        (isa::writes(operand.kind) ? access.writes : access.reads)[roots[operand.tensor.index()]] = true;
      }
    }
  }
  return access;
}

Result<std::vector<TaskPlan>> plan_tasks(const object::Object& object, const object::Program& program,
                                         const Binding& binding, const Target& target, const std::string& subject,
                                         DiagnosticSink& sink) {
  std::vector<CoreAccess> access;
  for (const object::Core& core : object.cores) {
    access.push_back(core_access(core));
  }
  Planner planner(object, program, binding, subject, sink);
  std::vector<TaskPlan> plans;
  std::vector<bool> written(binding.tensors.size(), false);
  for (uint32_t i = 0; i < program.tasks.size(); ++i) {
    Result<TaskPlan> plan = planner.plan(i);
    if (!plan) {
      return Reported{};
    }
    const object::Task& task = program.tasks[i];
    const CoreKind kind = object.cores[plan->core].kind;
    if (task.vec ? target.clusters() < 1 || target.vec_per_cube < static_cast<int>(task.vec->lanes)
                 : target.cores(kind) < 1) {
      sink.report(DiagId::TargetTooSmall, subject, {task.name, std::string(spelling(kind)), target.name});
      return Reported{};
    }
    for_each_core(*plan, [&](const TaskPlan& part) {
      for (size_t t = 0; t < part.tensors.size(); ++t) {
        if (access[part.core].writes[t]) {
          written[part.tensors[t]] = true;  // never an input: verified
        }
      }
    });
    plans.push_back(std::move(*plan));
  }
  bool complete = true;
  for (size_t t = 0; t < binding.tensors.size(); ++t) {
    if (binding.tensors[t].mode == object::ParamMode::Out && !written[t]) {
      sink.report(DiagId::OutputNotWritten, place_of(object, program.location, subject),
                  {program.name, binding.tensors[t].name});
      complete = false;
    }
  }
  if (!complete) {
    return Reported{};
  }
  return plans;
}

}  // namespace pto::runtime
