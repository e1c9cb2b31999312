#include <array>

#include "src/sem/exec.h"

namespace pto::sem {
namespace {

using Execute = void (*)(const Args&);

constexpr std::array<Execute, isa::kOpcodeCount> kExecute = {
#define PTO_INSTR(Name, ...) &exec_##Name,
#include "pto/isa.def"
};

}  // namespace

void execute(isa::Opcode opcode, const Args& args) {
  kExecute[static_cast<size_t>(opcode)](args);
}

// Synchronisation orders instructions; it computes nothing.
void exec_SetFlag(const Args&) {}
void exec_WaitFlag(const Args&) {}
void exec_PipeBarrier(const Args&) {}
// The machine moves tiles between cores.
void exec_TPush(const Args&) {}
void exec_TPop(const Args&) {}
void exec_TFree(const Args&) {}

}  // namespace pto::sem
