// The timeline of one core. The scalar unit walks the program and puts instructions into the queues of the pipes; every
// pipe takes its queue in order. All times follow from earlier ones by sums and maxima, so the core runs ahead of the
// simulation as far as they are known. Only copies to and from global memory depend on other cores: such a copy leaves a
// request behind, its pipe stops there, and `transfer_ended` lets it go on. In a cluster the cores also wait for each
// other's rings; `rings_changed` lets them look again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pto/runtime.h"
#include "runtime/machine/program.h"
#include "runtime/machine/ring_times.h"
#include "runtime/machine/stepper.h"
#include "src/timing/timing.h"

namespace pto::runtime {

using timing::Ticks;

// Times beyond this end a run whatever its limit is: sums of a few stay representable.
inline constexpr Ticks kMostTicks = Ticks{1} << 60;

// A longer trace ends the run with RunStatus::Limit.
inline constexpr size_t kMostSlices = size_t{1} << 24;

// What a core needs to know of the machine.
struct TimingConfig {
  const Target* target = nullptr;
  Ticks scalar = 0;  // a loop step or let
  Ticks flag_latency = 0;
  Ticks ring_latency = 0;
  int64_t queue_depth = 1;
  Ticks limit = kMostTicks;
  int64_t* statements = nullptr;  // that the run may still take
  std::vector<TraceSlice>* trace = nullptr;  // times in ticks until the run is over
};
TimingConfig timing_config(const Target& target, int64_t max_cycles);

// A program with what its instructions cost. Costs depend on valid regions; the last one of each instruction is kept.
struct TimedProgram {
  struct Memo {
    std::array<Valid, kMaxTiles> valids{};
    timing::Cost cost;
    bool known = false;
  };
  std::shared_ptr<const Program> program;
  std::vector<Memo> memos;
  const timing::Cost& cost(const Target& target, const Issued& issued) {
    const Instruction& inst = *issued.inst;
    const Memo& memo = memos[static_cast<size_t>(&inst - program->instructions.data())];
    bool same = memo.known;
    for (uint8_t i = 0; same && i < inst.tile_count; ++i) {
      same = memo.valids[i] == issued.valids[i];
    }
    return same ? memo.cost : new_cost(target, issued);
  }

 private:
  const timing::Cost& new_cost(const Target& target, const Issued& issued);
};

// A block of a task on its way to a core.
struct BlockStart {
  uint32_t task = 0;
  int64_t block = 0;
  Ticks core_free = 0;  // when the core ended its last block
  Ticks ready = 0;      // when the task's dependencies were complete
  Ticks start = 0;      // when its first instruction may be issued
};

// A copy between global memory and this core, from the time it has a right to bandwidth.
struct Transfer {
  Ticks start = 0;
  int64_t bytes = 0;
  int64_t cap = 1;
  Ticks after = 0;  // latency, after the transfer's end
  bool write = false;
  bool ring = false;    // `offset` is an address
  uint32_t tensor = 0;  // the core's tensor parameter
  int64_t offset = 0;   // bytes from its start
  int64_t rows = 0;
  int64_t stride = 0;
  int64_t row_bytes = 0;
};

struct PipeTotals {
  Ticks busy = 0;
  std::array<Ticks, kStallCount> stalls{};
  int64_t instructions = 0;
};

// What a pipe of a core that can't go on waits for.
struct CoreWait {
  // Room in a queue; the end of all other pipes' work; room for a tile in a ring, or its coming.
  enum class Kind : uint8_t { Flag, Queue, Barrier, Room, Tile };
  Kind kind = Kind::Flag;
  isa::Pipe pipe = isa::Pipe::S;
  isa::Pipe other = isa::Pipe::S;  // Flag: the pipe that sets it. Queue: whose
  size_t ring = 0;                 // Room, Tile: as RingTimes counts
  int64_t number = 0;              // the tile that must be given back, or must come
  uint32_t statement = 0;
  std::optional<Ticks> since;
  std::string what;                // "for flag mte2 -> v, 0"
};

class CoreTimer {
 public:
  enum class Status : uint8_t { Waiting, Finished, Fault, Limit };

  CoreTimer(CoreKind kind, uint16_t index, const TimingConfig& config) : kind_(kind), index_(index), config_(config) {}

  // `rings` and `side`: of a core of a pair; a lane is its side.
  void start(std::shared_ptr<TimedProgram> program, const BlockStart& block, std::shared_ptr<RingTimes> rings = nullptr,
             int side = kCubeSide);
  void rings_changed();
  // Goes on as far as times are known. Copies that were started are in `requests()`, by pipe, until cleared.
  Status advance();
  std::vector<uint32_t>& requests() { return requests_; }
  const Transfer& transfer(uint32_t pipe) const { return pipes_[pipe].flight.transfer; }
  void transfer_ended(uint32_t pipe, Ticks end);

  bool running() const { return running_; }
  Ticks end() const { return end_; }  // of the block that is finished
  const BlockStart& block() const { return block_; }
  const Fault& fault() const { return fault_; }
  CoreKind kind() const { return kind_; }
  int side() const { return side_; }
  const PipeTotals& totals(int pipe) const { return pipes_[static_cast<size_t>(pipe)].totals; }
  int64_t blocks() const { return blocks_; }
  // For the deadlock report: what every pipe waits for, the pipe whose queue has an instruction of a ring, the program.
  std::vector<CoreWait> waits() const;
  std::optional<isa::Pipe> pipe_of_ring(size_t ring) const;
  const object::Core& core() const { return *timed_->program->core; }
  const RingTimes* rings() const { return rings_.get(); }

 private:
  // An instruction in a queue. Small, because there are millions; what only copies and rings need lies beside it.
  struct Entry {
    const Instruction* inst = nullptr;
    Ticks issued = 0;
    Ticks busy = 0;
    Ticks idle_head = 0;
    Ticks tail = 0;
    int64_t number = 0;  // of a push or pop among those of its ring
    uint32_t flag = 0;
  };
  struct Move {
    Transfer transfer;
    Valid valid;  // of a ring's tile
  };
  struct Pipe {
    Ticks free = 0;         // the next instruction may start
    Ticks worked = -1;      // end of the last instruction that did work
    Ticks done = 0;         // results of all earlier instructions are visible
    Ticks accounted = 0;
    bool in_flight = false;
    bool entered = false;   // the time before this block has been accounted
    // A ring buffer that grows up to the queue depth, by powers of two.
    std::vector<Entry> queue;
    std::vector<Move> moves;  // beside `queue`, of pipes that have such instructions
    size_t head = 0;
    size_t count = 0;
    // When the last `queue_depth` instructions started, and where the next one's time comes, and that of the next one
    // to be issued: the instruction that had its place before has made room for it. Times of earlier blocks are in the
    // past.
    std::vector<Ticks> starts;
    size_t next_start = 0;
    size_t next_issue = 0;
    PipeTotals totals;
    Entry flying;  // a copy, `issued` being its start
    Move flight;
  };
  struct Flag {
    static constexpr size_t kMostPending = 8;
    struct Set {
      Ticks fired = 0;
      uint32_t setter = 0;  // statement
    };
    Ticks cleared = 0;
    uint32_t pending = 0;
    std::array<Set, kMostPending> sets{};
  };

  void walk();
  bool issue();
  bool issue_scalar(const Instruction& inst, const timing::Cost& cost);
  bool issue_barrier_all(const timing::Cost& cost);
  std::optional<Ticks> ring_ready(const Instruction& inst, int64_t number) const;
  void ring_done(const Entry& entry, const Valid& valid, Ticks end);
  bool check_pop(const Entry& entry, const Valid& valid);
  void ring_transfer(const Instruction& inst, int64_t number, const timing::Cost& cost, Transfer& transfer) const;
  CoreWait scalar_wait() const;
  CoreWait pipe_wait(uint32_t pipe) const;
  void describe_ring(const Instruction& inst, int64_t number, CoreWait& wait) const;
  bool issue_queued(const Instruction& inst, const timing::Cost& cost);
  void fill_move(const Instruction& inst, const timing::Cost& cost, Move& move);
  void drain_all();
  bool drain_one(uint32_t pipe);
  bool wait_turn(Pipe& pipe, const Entry& entry, Ticks turn, Ticks& start, Stall& reason);
  void start_copy(Pipe& pipe, uint32_t index, Ticks start, Ticks busy);
  bool set_flag(const Instruction& inst, uint32_t flag, Ticks fire);
  bool wait_flag(uint32_t flag, Ticks turn, Ticks& cleared);
  void enter(Pipe& pipe);
  void enter_block(Pipe& pipe);
  void account(Pipe& pipe, Ticks until, Stall reason);
  void work(Pipe& pipe, Ticks from, Ticks until);
  Entry& push(Pipe& pipe);
  void grow(Pipe& pipe);
  Move& move_of(Pipe& pipe, const Entry& entry);
  void pop(Pipe& pipe, Ticks start);
  void trace(uint32_t pipe, const Instruction& inst, Ticks from, Ticks until);
  void add_slice(uint32_t pipe, const Instruction& inst, Ticks from, Ticks until);
  bool quiet() const;
  void finish_block();
  uint32_t flag_index(const Instruction& inst, int64_t event) const {
    return inst.flag_pair * event_ids_ + static_cast<uint32_t>(event);
  }
  std::string flag_text(uint32_t index) const;
  bool fail_flag_twice(uint32_t flag, uint32_t statement);
  const object::Location& location(uint32_t statement) const;

  const CoreKind kind_;
  const uint16_t index_;
  const TimingConfig& config_;
  std::shared_ptr<TimedProgram> timed_;
  BlockStart block_;
  Stepper stepper_;
  std::array<Pipe, isa::kPipeCount> pipes_;
  uint32_t event_ids_ = 0;
  std::vector<Flag> flags_;  // by pair of pipes that the program uses, then event id
  int64_t flags_set_ = 0;
  std::vector<uint32_t> requests_;
  std::shared_ptr<RingTimes> rings_;
  std::array<int64_t, isa::kMaxRings> ring_counts_{};  // pushes, or pops, issued
  int side_ = kCubeSide;
  uint32_t dirty_ = 0;      // pipes that may be able to go on
  Ticks now_ = 0;           // of the scalar unit
  Ticks barrier_until_ = 0; // end of the last barrier on all pipes
  int64_t statements_ = 0;
  int64_t blocks_ = 0;
  bool have_ = false;       // an instruction that could not be issued yet
  bool walked_ = false;     // the walk is over
  bool running_ = false;
  Ticks end_ = 0;
  Status status_ = Status::Waiting;
  Fault fault_;
};

}  // namespace pto::runtime
