// What the prover can say of a core program, for the pass that reports it, for elide-sync and for the report of what
// each synchronisation is good for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto {
class DiagnosticSink;
}

namespace pto::passes {

// Something wrong, or not decided.
struct SyncFinding {
  enum class Kind : uint8_t {
    Race,            // `second` may start while `first` is not over
    WaitWithoutSet,  // `second` may be reached while its flag is not set
    SetTwice,    // `second` may set a flag that `first` set and nobody waited for, or whose wait `first` is not over
    Unconsumed,  // the flag that `second` set may be set at the end
    Undecided    // at `second`, because of `why`
  };
  Kind kind = Kind::Race;
  ir::OpId first;  // not valid: there is none to show
  ir::OpId second;
  isa::Pipe first_pipe = isa::Pipe::S;
  isa::Pipe second_pipe = isa::Pipe::S;
  bool first_writes = false;
  bool second_writes = false;
  Space space = Space::None;
  int64_t begin = 0;  // bytes that both touch; global memory: the number of the tensor's value and one more
  int64_t end = 0;
  std::string first_iteration;  // "i = 1, k = 0"; empty outside of loops
  std::string second_iteration;
  std::string why;
};

struct SyncProof {
  std::vector<SyncFinding> findings;
  int64_t steps = 0;  // how much work it was
  bool proved() const { return findings.empty(); }
};

struct ProofOptions {
  bool stop_at_first = false;
  int64_t max_steps = 8'000'000;
};

// Proves one core, as it is or as it would be without some of its synchronisation.
class SyncProver {
 public:
  SyncProver(const ir::Function& core, const Target& target);
  ~SyncProver();
  SyncProver(SyncProver&&) = delete;
  // `without`: by OpId, instructions to leave out; may be empty.
  SyncProof prove(const ProofOptions& options, const std::vector<bool>& without = {});

 private:
  class Program;
  std::unique_ptr<Program> program_;
};

// "`tload` on mte2".
std::string describe_access(const ir::Function& core, ir::OpId op, isa::Pipe pipe);
// "bytes 0x0 to 0x800"; empty for global memory.
std::string describe_bytes(const SyncFinding& finding);
void report_finding(const ir::Function& core, const SyncFinding& finding, DiagnosticSink& sink);

// Is the core proved free of races, lost flags and endless waits?
bool sync_is_proved(const ir::Function& core, const Target& target);

}  // namespace pto::passes
