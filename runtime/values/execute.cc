#include "runtime/values/execute.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "runtime/values/block_runner.h"
#include "runtime/values/pair_runner.h"

namespace pto::runtime {
namespace {

constexpr int kMostThreads = 256;

class Pool {
 public:
  Pool(const object::Object& object, const Target& target, const std::vector<TaskPlan>& plans,
       const std::vector<std::byte*>& memory, const ValuesLimits& limits)
      : target_(target),
        plans_(plans),
        memory_(memory),
        threads_(std::clamp(limits.threads, 1, kMostThreads)),
        max_statements_(limits.block_statements),
        budget_(limits.all_statements),
        programs_(object, target),
        tasks_(plans.size()) {}

  ValuesOutcome run(const std::vector<std::vector<uint32_t>>& waits) {
    left_ = plans_.size();
    for (uint32_t task = 0; task < plans_.size(); ++task) {
      tasks_[task].waiting = waits[task].size();
      tasks_[task].left = plans_[task].blocks;
      for (uint32_t earlier : waits[task]) {
        tasks_[earlier].dependents.push_back(task);
      }
      if (waits[task].empty()) {
        ready_.insert(task);
      }
    }
    std::vector<std::thread> helpers;
    for (int i = 1; i < threads_; ++i) {
      try {
        helpers.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        break;  // the host has no more threads: fewer do the same work
      }
    }
    work();
    for (std::thread& helper : helpers) {
      helper.join();
    }
    outcome_.too_many_statements = budget_.load(std::memory_order_relaxed) < 0;
    return std::move(outcome_);
  }

 private:
  struct TaskState {
    size_t waiting = 0;  // tasks
    int64_t next = 0;    // block to hand out
    int64_t left = 0;    // blocks not finished
    std::vector<uint32_t> dependents;
  };
  struct Job {
    uint32_t task = 0;
    int64_t begin = 0;
    int64_t end = 0;
  };

  struct Runners {
    BlockRunner block;
    PairRunner pair;
  };

  void work() {
    Runners runner;
    runner.block.set_budget(&budget_);
    runner.pair.set_budget(&budget_);
    std::unique_lock<std::mutex> lock(mutex_);
    while (left_ > 0) {
      if (ready_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const Job job = take();
      lock.unlock();
      run_job(job, runner);
      lock.lock();
      finish(job);
    }
  }

  // Some blocks of the first ready task: enough to make the lock cheap, few enough to share the work.
  Job take() {
    const uint32_t task = *ready_.begin();
    TaskState& state = tasks_[task];
    const int64_t blocks = plans_[task].blocks;
    const int64_t chunk = std::max<int64_t>(1, blocks / (int64_t{8} * threads_));
    const Job job{task, state.next, std::min(blocks, state.next + chunk)};
    state.next = job.end;
    if (state.next == blocks) {
      ready_.erase(ready_.begin());
    }
    return job;
  }

  void finish(const Job& job) {
    TaskState& state = tasks_[job.task];
    state.left -= job.end - job.begin;
    if (state.left > 0) {
      return;
    }
    --left_;
    for (uint32_t dependent : state.dependents) {
      if (--tasks_[dependent].waiting == 0) {
        ready_.insert(dependent);
      }
    }
    changed_.notify_all();
  }

  std::vector<std::byte*> memory_of(const TaskPlan& plan) const {
    std::vector<std::byte*> tensors;
    for (uint32_t tensor : plan.tensors) {
      tensors.push_back(memory_[tensor]);
    }
    return tensors;
  }

  void run_job(const Job& job, Runners& runner) {
    Fault fault;
    const TaskPlan& plan = plans_[job.task];
    std::shared_ptr<const Program> program;
    std::shared_ptr<const Program> vec;
    try {
      program = programs_.get(plan, fault);
      if (program && !plan.vec.empty()) {
        vec = programs_.get(plan.vec[0], fault);
      }
      if (!program || (!plan.vec.empty() && !vec)) {
        record(RunStatus::Fault, {fault, job.task, 0, program ? 0 : kCubeSide});
        return;
      }
      const std::vector<std::byte*> tensors = memory_of(plan);
      const std::vector<std::byte*> vec_tensors = vec ? memory_of(plan.vec[0]) : std::vector<std::byte*>();
      for (int64_t block = job.begin; block < job.end && wanted(job.task, block); ++block) {
        BlockRunner::Status status = BlockRunner::Status::Ok;
        if (vec) {
          status = runner.pair.run(*program, *vec, plan.lanes, block, target_.event_ids, tensors, vec_tensors,
                                   max_statements_);
        } else {
          runner.block.start(*program, block, target_.event_ids, tensors, max_statements_);
          status = runner.block.resume();
        }
        if (status != BlockRunner::Status::Ok) {
          record(status == BlockRunner::Status::Fault   ? RunStatus::Fault
                 : status == BlockRunner::Status::Limit ? RunStatus::Limit
                                                        : RunStatus::Deadlock,
                 {vec ? runner.pair.fault() : runner.block.fault(), job.task, block,
                  vec ? runner.pair.fault_side() : kCubeSide},
                 &runner.pair);
          return;
        }
      }
    } catch (const std::bad_alloc&) {
      fault.args = {program ? program->core->name : "", "this computer has too little memory for it"};
      record(RunStatus::Fault, {fault, job.task, job.begin, kCubeSide});
    }
  }

  // Behind a block that failed nothing needs to run; before it everything must, to find out which failed first.
  bool wanted(uint32_t task, int64_t block) {
    if (!failed_.load(std::memory_order_relaxed)) {
      return true;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::make_pair(task, block) < std::make_pair(outcome_.fault->task, outcome_.fault->block);
  }

  void record(RunStatus status, const LocatedFault& fault, const PairRunner* pair = nullptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!outcome_.fault ||
        std::make_pair(fault.task, fault.block) < std::make_pair(outcome_.fault->task, outcome_.fault->block)) {
      outcome_.status = status;
      outcome_.fault = fault;
      if (pair != nullptr && status == RunStatus::Deadlock) {
        outcome_.stuck = pair->stuck();
      }
      failed_.store(true, std::memory_order_relaxed);
    }
  }

  const Target& target_;
  const std::vector<TaskPlan>& plans_;
  const std::vector<std::byte*>& memory_;
  const int threads_;
  const int64_t max_statements_;    // of a block
  std::atomic<int64_t> budget_;     // statements that all blocks may still take
  ProgramCache programs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TaskState> tasks_;
  std::set<uint32_t> ready_;  // tasks with blocks to hand out
  size_t left_ = 0;           // tasks
  std::atomic<bool> failed_{false};
  ValuesOutcome outcome_;
};

}  // namespace

ValuesOutcome execute_values(const object::Object& object, const object::Program& program, const Target& target,
                             const Binding& binding, const std::vector<TaskPlan>& plans,
                             const std::vector<std::byte*>& memory, const ValuesLimits& limits) {
  Pool pool(object, target, plans, memory, limits);
  return pool.run(value_order(object, program, binding, plans));
}

}  // namespace pto::runtime
