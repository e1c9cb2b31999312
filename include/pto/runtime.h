// Runs one entry of an object: values on host threads, time in a deterministic discrete-event simulation. No globals: any
// number of objects and runs may live in one process. Errors go to the sink; exit codes are chosen by the caller from
// RunStatus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/result.h"
#include "pto/target.h"

namespace pto::runtime {

// A dense row-major array in host memory.
struct Array {
  DType dtype = DType::None;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
  int64_t elements() const;
};

enum class Mode : uint8_t { Both, Values, Time };

struct Options {
  Mode mode = Mode::Both;
  int threads = 1;            // host threads for values; never changes a value or a cycle
  int64_t max_cycles = 0;     // 0: no limit; more ends the run with RunStatus::Limit
  // Statements that all blocks together may take, loop iterations included: the end of a loop that has none.
  int64_t max_statements = 10'000'000'000;
  bool record_trace = false;  // keep a slice for every instruction
};

enum class RunStatus : uint8_t { Ok, BadInput, Fault, Deadlock, Limit };

// Why a pipe did not work while it had work. busy + every stall + idle == total, per pipe.
enum class Stall : uint8_t { Flag, Barrier, Bandwidth, Issue, Dispatch, Dependency, Ring };
inline constexpr int kStallCount = 7;
std::string_view spelling(Stall stall);

struct PipeStats {
  int64_t busy = 0;  // cycles
  int64_t stall[kStallCount] = {};
  int64_t idle = 0;
  int64_t instructions = 0;
};

struct CoreStats {
  CoreKind kind = CoreKind::Vec;
  int index = 0;  // among cores of its kind
  PipeStats pipes[isa::kPipeCount];
  int64_t blocks = 0;  // blocks of tasks that ran here
};

struct TaskStats {
  std::string name;
  int64_t start = 0;  // cycles
  int64_t end = 0;
  int64_t blocks = 0;
};

struct TraceSlice {
  uint16_t core = 0;  // index in RunResult::cores
  isa::Pipe pipe = isa::Pipe::S;
  isa::Opcode opcode = isa::Opcode::TLoad;
  uint32_t task = 0;
  int64_t start = 0;  // cycles
  int64_t end = 0;
  object::Location location;
};

struct RunResult {
  RunStatus status = RunStatus::Ok;
  std::map<std::string, Array> outputs;  // Out and InOut tensors; empty in Mode::Time
  std::map<std::string, int64_t> dims;   // as bound
  bool timed = false;
  int64_t cycles = 0;
  double microseconds = 0;
  int64_t instructions = 0;
  int64_t gm_read_bytes = 0;
  int64_t gm_write_bytes = 0;
  std::vector<CoreStats> cores;  // those that ran something
  std::vector<TaskStats> tasks;
  std::vector<TraceSlice> trace;
  // The kind of pipe that was busy longest, summed over cores, and its share of those cores' total.
  isa::Pipe busiest = isa::Pipe::S;
  double busiest_utilisation = 0;
};

// Arguments by parameter name. Arrays for In and InOut tensors (all of them, except that in Mode::Time an array may have a
// shape and no data), scalars for scalar parameters without default. Shapes for Out tensors follow from the dims; a dim that
// no input binds must be given in `dims`.
struct Arguments {
  std::map<std::string, Array> arrays;
  std::map<std::string, double> scalars;
  std::map<std::string, int64_t> dims;
};

// Never throws, never prints. `subject` names the object in messages. On a failure `status` says what kind and the sink
// has at least one error.
RunResult run(const object::Object& object, const object::Program& program, const Target& target,
              const Arguments& arguments, const Options& options, const std::string& subject, DiagnosticSink& sink);

// Chrome/Perfetto JSON: a process a core, a thread a pipe, slices with opcode, task and source line.
std::string trace_json(const RunResult& result, const object::Object& object, const Target& target);
// The table of `--stats`.
std::string stats_text(const RunResult& result, const Target& target);

}  // namespace pto::runtime
