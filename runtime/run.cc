// The story of a run: verify, bind, plan, then time and values. Time comes first because it ends by itself: it finds
// deadlocks and limits before values would run for ever.
#include <algorithm>
#include <new>

#include "pto/runtime.h"
#include "runtime/loader/bind.h"
#include "runtime/loader/tasks.h"
#include "runtime/machine/core_timer.h"
#include "runtime/sched/simulate.h"
#include "runtime/values/execute.h"
#include "src/support/checked.h"

namespace pto::runtime {
namespace {

class Run {
 public:
  Run(const object::Object& object, const object::Program& program, const Target& target, const Arguments& arguments,
      const Options& options, const std::string& subject, DiagnosticSink& sink)
      : object_(object),
        program_(program),
        target_(target),
        arguments_(arguments),
        options_(options),
        subject_(subject),
        sink_(sink) {}

  RunResult run() {
    if (!prepare()) {
      result_.status = RunStatus::BadInput;
    } else if (options_.mode == Mode::Values || time()) {
      if (options_.mode != Mode::Time) {
        values();
      }
    }
    if (result_.status != RunStatus::Ok) {
      result_.outputs.clear();
    }
    return std::move(result_);
  }

 private:
  bool prepare() {
    if (!object::verify(object_, target_, subject_, sink_)) {
      return false;
    }
    Result<Binding> binding = bind(program_, arguments_, options_.mode, subject_, sink_);
    if (!binding) {
      return false;
    }
    binding_ = std::move(*binding);
    for (SymId sym : program_.dims) {
      result_.dims[program_.symbols[sym.index()].name] = binding_.ints[sym.index()];
    }
    Result<std::vector<TaskPlan>> plans = plan_tasks(object_, program_, binding_, target_, subject_, sink_);
    if (!plans) {
      return false;
    }
    plans_ = std::move(*plans);
    return true;
  }

  // True: values may be computed.
  bool time() {
    TimeOutcome outcome = simulate(object_, program_, target_, binding_, plans_, options_, result_);
    switch (outcome.status) {
      case RunStatus::Ok:
        return true;
      case RunStatus::Fault:
        // With values, the fault to report is the first in program order: they find it.
        if (options_.mode == Mode::Both) {
          values();
        }
        if (result_.status == RunStatus::Ok) {
          fault(*outcome.fault);
        }
        return false;
      case RunStatus::Limit:
        limit(outcome.trace_too_long, outcome.too_many_statements);
        return false;
      default:
        deadlock(" at cycle " + std::to_string(outcome.stuck_cycle), outcome.stuck);
        return false;
    }
  }

  void values() {
    allocate();
    const ValuesOutcome outcome =
        execute_values(object_, program_, target_, binding_, plans_, memory_,
                       {options_.threads, options_.mode == Mode::Values ? options_.max_cycles : 0,
                        options_.max_statements});
    if (outcome.status == RunStatus::Fault) {
      fault(*outcome.fault);
    } else if (outcome.status == RunStatus::Limit) {
      limit(false, outcome.too_many_statements);
    } else if (outcome.status == RunStatus::Deadlock) {
      std::vector<StuckLine> lines;
      for (const RingWait& wait : outcome.stuck) {
        lines.push_back({"task `" + program_.tasks[outcome.fault->task].name + "` block " +
                             std::to_string(outcome.fault->block) + ": " + wait.what + " at " +
                             place_of(object_, wait.location, subject_),
                         wait.location});
      }
      deadlock("", lines);
    }
  }

  // Outputs and the workspace are poisoned; inputs are used where they are, nothing writes them.
  void allocate() {
    workspace_.assign(static_cast<size_t>(binding_.workspace_bytes), kPoisonByte);
    for (const BoundTensor& tensor : binding_.tensors) {
      if (tensor.is_buffer) {
        memory_.push_back(workspace_.data() + (tensor.address - binding_.workspace_address));
        continue;
      }
      if (tensor.mode == object::ParamMode::In) {
        // const_cast: a verified program writes no input.
        memory_.push_back(const_cast<std::byte*>(arguments_.arrays.at(tensor.name).data.data()));
        continue;
      }
      Array& array = result_.outputs[tensor.name];
      array.dtype = tensor.dtype;
      array.shape = tensor.dims;
      if (tensor.mode == object::ParamMode::InOut) {
        array.data = arguments_.arrays.at(tensor.name).data;
      } else {
        array.data.assign(static_cast<size_t>(tensor.bytes), kPoisonByte);
      }
      memory_.push_back(array.data.data());
    }
  }

  void fault(const LocatedFault& found) {
    result_.status = RunStatus::Fault;
    report_fault(found, object_, program_.tasks[found.task], plans_[found.task].blocks, subject_, sink_);
  }

  void limit(bool trace, bool statements) {
    result_.status = RunStatus::Limit;
    if (trace) {
      sink_.report(DiagId::TraceLimit, subject_, {std::to_string(kMostSlices)});
    } else if (statements) {
      sink_.report(DiagId::CycleLimit, subject_, {std::to_string(options_.max_statements) + " statements"});
    } else {
      const int64_t most = options_.max_cycles > 0 ? options_.max_cycles : kMostTicks / timing::kTicksPerCycle;
      sink_.report(DiagId::CycleLimit, subject_, {std::to_string(most) + " cycles"});
    }
  }

  // `when`: " at cycle 7", or nothing where there is no time.
  void deadlock(const std::string& when, const std::vector<StuckLine>& lines) {
    constexpr size_t kMostLines = 16;
    result_.status = RunStatus::Deadlock;
    const StuckLine first = lines.empty() ? StuckLine{"nothing can go on", {}} : lines.front();
    auto handle = sink_.report(DiagId::Deadlock, place_of(object_, first.location, subject_), {when, first.text});
    for (size_t i = 1; i < lines.size() && i <= kMostLines; ++i) {
      handle.note(Span{}, lines[i].text);
    }
    if (lines.size() > kMostLines + 1) {
      handle.note(Span{}, std::to_string(lines.size() - kMostLines - 1) + " more");
    }
  }

  static constexpr std::byte kPoisonByte{0xFF};
  const object::Object& object_;
  const object::Program& program_;
  const Target& target_;
  const Arguments& arguments_;
  const Options& options_;
  const std::string& subject_;
  DiagnosticSink& sink_;
  Binding binding_;
  std::vector<TaskPlan> plans_;
  std::vector<std::byte> workspace_;
  std::vector<std::byte*> memory_;  // by program tensor
  RunResult result_;
};

}  // namespace

int64_t Array::elements() const {
  std::optional<int64_t> count = 1;
  for (int64_t extent : shape) {
    count = count ? checked_mul(*count, extent) : std::nullopt;
  }
  return count.value_or(-1);
}

RunResult run(const object::Object& object, const object::Program& program, const Target& target,
              const Arguments& arguments, const Options& options, const std::string& subject, DiagnosticSink& sink) {
  try {
    return Run(object, program, target, arguments, options, subject, sink).run();
  } catch (const std::bad_alloc&) {
    sink.report(DiagId::BindMemory, subject, {program.name, "too many", "this computer's memory"});
    RunResult result;
    result.status = RunStatus::BadInput;
    return result;
  }
}

}  // namespace pto::runtime
