// The machine description: one JSON file a target, read alike by compiler, checker and simulator. Files are
// src/isa/targets/*.json, embedded at build; `--target=file.json` reads another. Unknown or missing fields are errors.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pto/isa.h"
#include "pto/result.h"
#include "pto/tile.h"

namespace pto {

class DiagnosticSink;

enum class CoreKind : uint8_t { Vec, Cube };
std::string_view spelling(CoreKind kind);  // "vec", "cube"
// Which pipes a kind of core has. Both have S, MTE2, MTE3 and know `All`.
bool has_pipe(CoreKind kind, isa::Pipe pipe);

enum class IsaFamily : uint8_t { A2A3, A5 };
std::string_view spelling(IsaFamily family);  // "a2a3", "a5"

struct SpaceInfo {
  int64_t bytes = 0;  // 0: the core has no such memory
  int64_t align = 32;
  CoreKind core = CoreKind::Vec;
};

// A legal way for data: GM->vec over MTE2, and so on. acc->vec (cube) and vec->mat (vec) cross to another core of the
// cluster: only rings use them.
struct DataPath {
  Space from = Space::None;
  Space to = Space::None;
  isa::Pipe pipe = isa::Pipe::S;
  CoreKind core = CoreKind::Vec;
  // Timing. All numbers are in core cycles; rates in bytes a cycle.
  double bytes_per_cycle = 1;  // most that one core can draw on this path
  double start_cycles = 0;     // paid by every instruction before its first byte
  double issue_cycles = 0;     // scalar unit time to issue one (back to back limit)
  double latency_cycles = 0;   // first byte after start; overlaps with later copies in the queue
  double row_cycles = 0;       // least for one row: short rows do not reach bytes_per_cycle
};

// Cost of a vector instruction class: cycles = max(floor, ii * repeats); head when the pipe was idle; tail seen by waiters.
struct VectorCost {
  double ii = 1;      // cycles a 256-byte repeat, 32-bit elements
  double ii16 = 1;    // 16-bit and smaller elements
  double head = 0;
  double tail = 0;
  double floor = 0;
};

struct Target {
  std::string name;
  std::string description;
  IsaFamily family = IsaFamily::A2A3;
  double clock_ghz = 1;
  int cube_cores = 1;
  int vec_cores = 1;
  int vec_per_cube = 2;     // vector lanes of a cluster
  double ring_latency_cycles = 0;  // from the end of a push or pop until the other core sees it
  bool ring_wait_scalar = false;   // waiting for a ring holds the scalar unit, not only the instruction's pipe
  int event_ids = 8;        // a (source, destination) pair of pipes
  int queue_depth = 32;     // instructions waiting in a pipe
  Layout left_layout = Layout::Zz;
  std::array<SpaceInfo, kSpaceCount> spaces;
  std::vector<DataPath> paths;

  // Timing.
  int vector_repeat_bytes = 256;
  double issue_cycles = 1;           // scalar unit, any instruction that has no path cost
  double scalar_cycles = 1;          // a loop step or `let`
  double sync_cycles = 1;            // a flag or barrier instruction, on its pipe, without the waiting
  double flag_latency_cycles = 0;    // set to visible at the waiting pipe
  double matmul_head_cycles = 0;     // streaming
  double matmul_idle_head_cycles = 0;  // the whole head when the pipe was idle
  std::map<DType, double> matmul_macs_per_cycle;  // by element type of the operands
  std::map<isa::TimingClass, VectorCost> vector_costs;
  double hbm_bytes_per_cycle = 1;    // shared by all cores
  double l2_bytes_per_cycle = 1;     // shared by all cores
  int64_t l2_bytes = 0;
  double launch_cycles = 0;          // start of a run
  double dispatch_cycles = 0;        // scheduler time for one block of a task
  double pickup_cycles = 0;          // core side, before the first instruction
  double complete_cycles = 0;        // last instruction to dependents being ready

  std::string json;                  // the text it came from
  uint64_t hash = 0;                 // of its canonical JSON

  const SpaceInfo& space(Space s) const { return spaces[static_cast<size_t>(s)]; }
  const DataPath* path(Space from, Space to, CoreKind core) const;
  // Are tiles of such a ring written straight into the consumer's memory, not through global memory?
  bool ring_is_local(isa::RingDirection direction) const {
    return direction == isa::RingDirection::C2V ? path(Space::Acc, Space::Vec, CoreKind::Cube) != nullptr
                                                : path(Space::Vec, Space::Mat, CoreKind::Vec) != nullptr;
  }
  int clusters() const { return cube_cores < vec_cores / vec_per_cube ? cube_cores : vec_cores / vec_per_cube; }
  int cores(CoreKind kind) const { return kind == CoreKind::Cube ? cube_cores : vec_cores; }
};

// Names of the targets that are built in.
std::vector<std::string_view> builtin_targets();
// A built-in target; the sink gets an error that lists the known names.
Result<Target> builtin_target(std::string_view name, DiagnosticSink& sink);
// From JSON text; `subject` names the file in messages.
Result<Target> parse_target(std::string_view json, const std::string& subject, DiagnosticSink& sink);

}  // namespace pto
