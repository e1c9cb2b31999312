// Runs one block of a core program on host memory: the core's memories are byte arenas, poisoned at the start of every
// block so that what nobody wrote is not a plausible number. One runner a host thread; arenas are reused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/machine/program.h"
#include "runtime/machine/stepper.h"
#include "src/sem/sem.h"

namespace pto::runtime {

inline constexpr std::byte kPoison{0xFF};  // NaN in every float type

class BlockRunner {
 public:
  enum class Status : uint8_t { Ok, Fault, Limit };

  // `tensors`: host memory of the core's tensor parameters. `max_statements`: 0 for no limit.
  Status run(const Program& program, int64_t block, int event_ids, std::span<std::byte* const> tensors,
             int64_t max_statements);
  const Fault& fault() const { return stepper_.fault(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  struct Arena {
    std::unique_ptr<std::byte, Free> memory;
    int64_t bytes = 0;
  };
  void prepare(const Program& program);
  void execute(const Program& program, std::span<std::byte* const> tensors);

  std::array<Arena, kSpaceCount> arenas_;
  std::array<sem::TileView, kMaxTiles> views_;
  Stepper stepper_;
};

}  // namespace pto::runtime
