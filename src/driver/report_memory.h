// --report=memory: what stands where and when in the memories of every core program, how much they take and how much of
// that is unavoidable. As text, as JSON (schema ptoc-memory/1), and as a picture of addresses over time.
#pragma once

#include <string>
#include <vector>

#include "pto/source.h"
#include "pto/target.h"
#include "src/ir/ir.h"
#include "src/passes/block/memory_plan.h"

namespace pto::driver {

struct MemoryReport {
  struct Step {  // an instruction that is no synchronisation
    std::string mnemonic;
    int line = 0;  // 0: nobody wrote it
  };
  struct Loop {
    std::string text;  // "for k"
    int begin = 0;     // steps, both belong to it
    int end = 0;
    int depth = 0;
  };
  struct Buffer {
    std::string name;
    std::string type;  // "f32[8, 1024]"
    int64_t slots = 1;
    int64_t address = 0;
    int64_t bytes = 0;
    int line = 0;
    bool whole = false;       // kept for the whole program
    passes::LiveRanges live;  // steps
    passes::LiveRanges
        halves;  // the same in halves of steps: an instruction reads in its first half and writes in its second
  };
  struct Memory {
    passes::SpacePlan plan;
    std::vector<Buffer> buffers;  // by address
  };
  struct Core {
    std::string name;
    std::string kind;
    bool placed = true;
    std::vector<Step> steps;
    std::vector<Loop> loops;
    std::vector<Memory> memories;
  };
  std::string target;
  std::vector<Core> cores;
};

MemoryReport collect_memory(const ir::Module& module, const Target& target, const SourceManager& sources);

std::string memory_text(const MemoryReport& report);
std::string memory_json(const MemoryReport& report);
std::string memory_svg(const MemoryReport& report);   // report_memory_svg.cc
std::string memory_html(const MemoryReport& report);  // the picture, and the text under it

}  // namespace pto::driver
