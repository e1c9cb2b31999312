#include "runtime/sched/simulate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <utility>

#include "runtime/machine/arbiter.h"
#include "runtime/machine/core_timer.h"
#include "runtime/machine/l2.h"
#include "runtime/machine/program_cache.h"
#include "runtime/sched/account.h"
#include "runtime/sched/scheduler.h"

namespace pto::runtime {
namespace {

Ticks to_ticks(double cycles) { return std::llround(cycles * static_cast<double>(timing::kTicksPerCycle)); }

class Simulation {
 public:
  Simulation(const object::Object& object, const object::Program& program, const Target& target,
             const Binding& binding, const std::vector<TaskPlan>& plans, const Options& options, RunResult& result)
      : object_(object),
        program_(program),
        target_(target),
        binding_(binding),
        plans_(plans),
        result_(result),
        statements_(options.max_statements),
        config_(timing_config(target, options.max_cycles)),
        cube_cores_(static_cast<uint32_t>(target.cube_cores)),
        scheduler_(cube_cores_, static_cast<uint32_t>(target.vec_cores), static_cast<uint32_t>(target.vec_per_cube)),
        arbiter_(rate(target.hbm_bytes_per_cycle), target.l2_bytes > 0 ? rate(target.l2_bytes_per_cycle)
                                                                       : Arbiter::kMostRate * 4096),
        ring_address_((binding.footprint + kGmAlignment - 1) / kGmAlignment * kGmAlignment),
        ring_bytes_(ring_bytes(object, target, plans)),
        l2_(target.l2_bytes, ring_bytes_ == 0 ? binding.footprint : ring_address_ + ring_bytes_ * target.cube_cores),
        programs_(object, target),
        timed_(object.cores.size()),
        cores_(cube_cores_ + static_cast<uint32_t>(target.vec_cores)),
        core_free_(cores_.size(), 0),
        clusters_(cores_.size()),
        tasks_(plans.size()) {
    config_.statements = &statements_;
    if (options.record_trace) {
      config_.trace = &result.trace;
    }
  }

  TimeOutcome run() {
    start_tasks();
    std::vector<Arbiter::Done> done;
    while (outcome_.status == RunStatus::Ok && (!events_.empty() || !arbiter_.idle())) {
      now_ = std::min(arbiter_.next_end(), events_.empty() ? Arbiter::kNever : events_.top().time);
      if (now_ > config_.limit) {
        outcome_.status = RunStatus::Limit;
        break;
      }
      arbiter_.finish(now_, done);
      for (const Arbiter::Done& end : done) {
        cores_[end.core]->transfer_ended(end.pipe, now_);
        advance(end.core);
      }
      while (!events_.empty() && events_.top().time == now_) {
        const Event event = events_.top();
        events_.pop();
        handle(event);
      }
      dispatch();
      arbiter_.settle(now_);
    }
    outcome_.trace_too_long = result_.trace.size() >= kMostSlices;
    outcome_.too_many_statements = statements_ < 0;
    if (outcome_.status == RunStatus::Ok && left_ > 0) {
      report_deadlock();
    }
    if (outcome_.status == RunStatus::Ok) {
      summarise();
    }
    return std::move(outcome_);
  }

 private:
  enum class EventKind : uint8_t { TaskReady, Dispatched, CopyStart, BlockDone, End };
  struct Event {
    Ticks time = 0;
    uint64_t sequence = 0;
    EventKind kind = EventKind::End;
    uint32_t subject = 0;  // task or core
    uint32_t pipe = 0;
    // The earliest event is on top.
    friend bool operator<(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    }
  };
  struct TaskState {
    size_t waiting = 0;  // tasks
    int64_t left = 0;    // blocks
    Ticks ready = 0;
    Ticks start = -1;
    Ticks end = 0;
    std::vector<uint32_t> dependents;
    std::shared_ptr<TimedProgram> program;
    std::shared_ptr<TimedProgram> vec_program;  // of the lanes of a mixed task
  };
  // A mixed block, on a cube core and vector cores; those may have other blocks when their part of it has ended.
  struct Cluster {
    std::shared_ptr<RingTimes> rings;
    std::vector<uint32_t> cores;
    uint32_t running = 0;
    uint64_t seen = 0;  // changes of the rings that all cores know of
  };

  // Global memory for the rings of one cluster: what the task with the largest ones needs.
  static int64_t ring_bytes(const object::Object& object, const Target& target, const std::vector<TaskPlan>& plans) {
    int64_t most = 0;
    for (const TaskPlan& plan : plans) {
      most = std::max(most, RingTimes::bytes(object.cores[plan.core].rings, target));
    }
    return most;
  }

  static int64_t rate(double bytes_per_cycle) {
    const double ticks = bytes_per_cycle * static_cast<double>(timing::kTicksPerCycle);
    return ticks >= static_cast<double>(Arbiter::kMostRate) ? Arbiter::kMostRate
                                                            : std::max<int64_t>(1, std::llround(ticks));
  }

  void push(Ticks time, EventKind kind, uint32_t subject, uint32_t pipe = 0) {
    events_.push({time, sequence_++, kind, subject, pipe});
  }

  void start_tasks() {
    const Ticks launch = to_ticks(target_.launch_cycles);
    left_ = plans_.size();
    last_ = launch;
    for (uint32_t task = 0; task < plans_.size(); ++task) {
      tasks_[task].left = plans_[task].blocks;
      tasks_[task].waiting = program_.tasks[task].after.size();
      for (uint32_t earlier : program_.tasks[task].after) {
        tasks_[earlier].dependents.push_back(task);
      }
      if (tasks_[task].waiting == 0) {
        push(launch, EventKind::TaskReady, task);
      }
    }
    push(launch, EventKind::End, 0);  // a run takes at least its launch
  }

  void handle(const Event& event) {
    switch (event.kind) {
      case EventKind::TaskReady:
        scheduler_.task_ready(event.subject, object_.cores[plans_[event.subject].core].kind,
                              plans_[event.subject].lanes, plans_[event.subject].blocks, now_);
        break;
      case EventKind::Dispatched:
        scheduler_busy_ = false;
        start_block();
        break;
      case EventKind::CopyStart:
        start_copy(event.subject, event.pipe);
        break;
      case EventKind::BlockDone:
        end_block(event.subject);
        break;
      case EventKind::End:
        break;
    }
  }

  // --- tasks and blocks

  void dispatch() {
    if (scheduler_busy_) {
      return;
    }
    const std::optional<Scheduler::Dispatch> next = scheduler_.next();
    if (!next) {
      return;
    }
    scheduler_busy_ = true;
    dispatching_ = *next;
    push(now_ + to_ticks(target_.dispatch_cycles), EventKind::Dispatched, next->core);
  }

  void start_block() {
    const Scheduler::Dispatch& next = dispatching_;
    TaskState& task = tasks_[next.task];
    Fault fault;
    const TaskPlan& plan = plans_[next.task];
    if ((!task.program && !(task.program = timed_program(plan, fault))) ||
        (!plan.vec.empty() && !task.vec_program && !(task.vec_program = timed_program(plan.vec[0], fault)))) {
      outcome_.status = RunStatus::Fault;
      outcome_.fault = LocatedFault{fault, next.task, next.block, task.program ? 0 : kCubeSide};
      return;
    }
    if (plan.vec.empty()) {
      start_core(next.core, task.program, nullptr, kCubeSide);
      advance(next.core);
      return;
    }
    const auto shared = std::make_shared<Cluster>();
    Cluster& cluster = *shared;
    cluster.rings = std::make_shared<RingTimes>(object_.cores[plan.core].rings, static_cast<int>(plan.lanes), target_,
                                                ring_address_ + next.core * ring_bytes_);
    cluster.cores = {next.core};
    start_core(next.core, task.program, cluster.rings, kCubeSide);
    for (uint32_t lane = 0; lane < plan.lanes; ++lane) {
      cluster.cores.push_back(cube_cores_ + next.core * static_cast<uint32_t>(target_.vec_per_cube) + lane);
      start_core(cluster.cores.back(), task.vec_program, cluster.rings, static_cast<int>(lane));
    }
    cluster.running = plan.lanes + 1;
    for (uint32_t core : cluster.cores) {
      clusters_[core] = shared;
    }
    for (uint32_t core : cluster.cores) {
      if (cores_[core]->running()) {
        advance(core);
      }
    }
  }

  void start_core(uint32_t index, const std::shared_ptr<TimedProgram>& program, std::shared_ptr<RingTimes> rings,
                  int side) {
    std::unique_ptr<CoreTimer>& core = cores_[index];
    if (!core) {
      core = std::make_unique<CoreTimer>(index < cube_cores_ ? CoreKind::Cube : CoreKind::Vec,
                                         static_cast<uint16_t>(index), config_);
    }
    TaskState& task = tasks_[dispatching_.task];
    BlockStart block;
    block.task = dispatching_.task;
    block.block = dispatching_.block;
    block.core_free = core_free_[index];
    block.ready = task.ready;
    block.start = now_ + to_ticks(target_.pickup_cycles);
    if (task.start < 0) {
      task.start = block.start;
    }
    core->start(program, block, std::move(rings), side);
  }

  // What a core told its rings may let the others of the cluster go on, and they it.
  void advance(uint32_t index) {
    const std::shared_ptr<Cluster> cluster = clusters_[index];
    advance_core(index);
    while (cluster && outcome_.status == RunStatus::Ok && cluster->seen != cluster->rings->changes()) {
      cluster->seen = cluster->rings->changes();
      for (uint32_t core : cluster->cores) {
        if (clusters_[core] == cluster && cores_[core]->running()) {
          cores_[core]->rings_changed();
          advance_core(core);
        }
      }
    }
  }

  // Tasks of one core program that share dims share costs too.
  std::shared_ptr<TimedProgram> timed_program(const TaskPlan& plan, Fault& fault) {
    std::shared_ptr<const Program> program = programs_.get(plan, fault);
    if (!program) {
      return nullptr;
    }
    std::shared_ptr<TimedProgram>& kept = timed_[plan.core];
    if (!kept || kept->program != program) {
      kept = std::make_shared<TimedProgram>();
      kept->memos.resize(program->instructions.size());
      kept->program = std::move(program);
    }
    return kept;
  }

  void advance_core(uint32_t index) {
    CoreTimer& core = *cores_[index];
    const CoreTimer::Status status = core.advance();
    for (uint32_t pipe : core.requests()) {
      push(core.transfer(pipe).start, EventKind::CopyStart, index, pipe);
    }
    core.requests().clear();
    switch (status) {
      case CoreTimer::Status::Waiting:
        break;
      case CoreTimer::Status::Finished:
        push(core.end(), EventKind::BlockDone, index);
        break;
      case CoreTimer::Status::Fault:
        if (outcome_.status == RunStatus::Ok) {
          outcome_.status = RunStatus::Fault;
          outcome_.fault = LocatedFault{core.fault(), core.block().task, core.block().block, core.side()};
        }
        break;
      case CoreTimer::Status::Limit:
        outcome_.status = outcome_.status == RunStatus::Ok ? RunStatus::Limit : outcome_.status;
        break;
    }
  }

  void end_block(uint32_t index) {
    CoreTimer& core = *cores_[index];
    core_free_[index] = now_;
    scheduler_.core_free(index, core.kind());
    const uint32_t number = core.block().task;
    TaskState& task = tasks_[number];
    task.end = now_;
    if (const std::shared_ptr<Cluster> cluster = std::exchange(clusters_[index], nullptr)) {
      if (--cluster->running > 0) {
        return;
      }
      check_rings_empty(*cluster, number, core.block().block);
    }
    if (--task.left > 0) {
      return;
    }
    --left_;
    task.program.reset();
    task.vec_program.reset();
    const Ticks complete = now_ + to_ticks(target_.complete_cycles);
    last_ = std::max(last_, complete);
    push(complete, EventKind::End, 0);
    for (uint32_t dependent : task.dependents) {
      if (--tasks_[dependent].waiting == 0) {
        tasks_[dependent].ready = complete;
        push(complete, EventKind::TaskReady, dependent);
      }
    }
  }

  void check_rings_empty(const Cluster& cluster, uint32_t task, int64_t block) {
    const object::Core& cube = object_.cores[plans_[task].core];
    for (size_t ring = 0; ring < cube.rings.size() && outcome_.status == RunStatus::Ok; ++ring) {
      if (cluster.rings->held(ring) != 0) {
        outcome_.status = RunStatus::Fault;
        outcome_.fault = LocatedFault{ring_left(cube, cube.rings[ring].name, cluster.rings->held(ring)), task, block,
                                      kCubeSide};
      }
    }
  }

  // --- global memory

  void start_copy(uint32_t index, uint32_t pipe) {
    const CoreTimer& core = *cores_[index];
    const Transfer& transfer = core.transfer(pipe);
    const TaskPlan& plan = plans_[core.block().task];
    const TaskPlan& part = !plan.vec.empty() && index >= cube_cores_ ? plan.vec[0] : plan;
    const int64_t address =
        transfer.ring ? transfer.offset
                      : binding_.tensors[part.tensors[transfer.tensor]].address + transfer.offset;
    const int64_t hbm = transfer.write ? l2_.write(address, transfer.rows, transfer.stride, transfer.row_bytes)
                                       : l2_.read(address, transfer.rows, transfer.stride, transfer.row_bytes);
    (transfer.write ? result_.gm_write_bytes : result_.gm_read_bytes) += transfer.bytes;
    arbiter_.add(now_, index, pipe, transfer.bytes, hbm, transfer.cap);
  }

  // --- the end

  void report_deadlock() {
    outcome_.status = RunStatus::Deadlock;
    outcome_.stuck_cycle = cycles_of(now_);
    std::vector<StuckCore> stuck;
    std::vector<std::optional<size_t>> places(cores_.size());
    for (uint32_t i = 0; i < cores_.size(); ++i) {
      if (cores_[i] && cores_[i]->running()) {
        places[i] = stuck.size();
        stuck.push_back({cores_[i].get(), name_of(i), {}});
      }
    }
    for (uint32_t i = 0; i < cores_.size(); ++i) {
      if (places[i] && clusters_[i]) {
        const std::vector<uint32_t>& members = clusters_[i]->cores;
        for (size_t side = 0; side < members.size(); ++side) {
          const bool same = clusters_[members[side]] == clusters_[i];
          stuck[*places[i]].sides[side] = same ? places[members[side]] : std::nullopt;
        }
      }
    }
    outcome_.stuck = explain_deadlock(stuck, object_);
  }

  // "vec core 1, lane 1, task `t0` block 3"
  std::string name_of(uint32_t index) const {
    const CoreTimer& core = *cores_[index];
    std::string name = std::string(spelling(core.kind())) + " core " +
                       std::to_string(index < cube_cores_ ? index : index - cube_cores_);
    if (core.side() != kCubeSide) {
      name += ", lane " + std::to_string(core.side());
    }
    return name + ", task `" + program_.tasks[core.block().task].name + "` block " + std::to_string(core.block().block);
  }

  void summarise() {
    result_.timed = true;
    result_.cycles = cycles_of(last_);
    result_.microseconds = static_cast<double>(result_.cycles) / (target_.clock_ghz * 1000);
    std::vector<uint16_t> numbers(cores_.size(), 0);
    for (uint32_t i = 0; i < cores_.size(); ++i) {
      if (!cores_[i]) {
        continue;
      }
      numbers[i] = static_cast<uint16_t>(result_.cores.size());
      result_.cores.push_back(core_stats(*cores_[i], static_cast<int>(i < cube_cores_ ? i : i - cube_cores_), last_));
    }
    for (const CoreStats& core : result_.cores) {
      for (const PipeStats& pipe : core.pipes) {
        result_.instructions += pipe.instructions;
      }
    }
    for (uint32_t task = 0; task < tasks_.size(); ++task) {
      result_.tasks.push_back({program_.tasks[task].name, cycles_of(tasks_[task].start), cycles_of(tasks_[task].end),
                               plans_[task].blocks});
    }
    for (TraceSlice& slice : result_.trace) {
      slice.core = numbers[slice.core];
      slice.start = cycles_of(slice.start);
      slice.end = cycles_of(slice.end);
    }
    std::stable_sort(result_.trace.begin(), result_.trace.end(), [](const TraceSlice& a, const TraceSlice& b) {
      return std::tie(a.core, a.pipe, a.start) < std::tie(b.core, b.pipe, b.start);
    });
    find_busiest(result_);
  }

  const object::Object& object_;
  const object::Program& program_;
  const Target& target_;
  const Binding& binding_;
  const std::vector<TaskPlan>& plans_;
  RunResult& result_;
  int64_t statements_;  // that may still be taken
  TimingConfig config_;
  const uint32_t cube_cores_;
  Scheduler scheduler_;
  Arbiter arbiter_;
  const int64_t ring_address_;  // of the first cluster's rings, behind all tensors
  const int64_t ring_bytes_;    // of a cluster
  L2 l2_;
  ProgramCache programs_;
  std::vector<std::shared_ptr<TimedProgram>> timed_;  // by core program
  std::vector<std::unique_ptr<CoreTimer>> cores_;     // those that ran something
  std::vector<Ticks> core_free_;
  std::vector<std::shared_ptr<Cluster>> clusters_;    // by core: the mixed block whose part runs there
  std::vector<TaskState> tasks_;
  std::priority_queue<Event> events_;
  uint64_t sequence_ = 0;
  Scheduler::Dispatch dispatching_;
  bool scheduler_busy_ = false;
  size_t left_ = 0;  // tasks
  Ticks now_ = 0;
  Ticks last_ = 0;   // the latest completion
  TimeOutcome outcome_;
};

}  // namespace

TimeOutcome simulate(const object::Object& object, const object::Program& program, const Target& target,
                     const Binding& binding, const std::vector<TaskPlan>& plans, const Options& options,
                     RunResult& result) {
  return Simulation(object, program, target, binding, plans, options, result).run();
}

}  // namespace pto::runtime
