// --report=sync: every synchronisation of every core program and what it is good for: the race that appears without it.
// As text, and as JSON (schema ptoc-sync/1). The numbers are those of --drop-sync.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pto/source.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::driver {

struct SyncReport {
  enum class Verdict : uint8_t {
    Needed,   // without it there is a race
    Kept,     // without it something else goes wrong: a flag is set twice, say
    Surplus,  // without it the program is proved, too
    Unknown   // finding out takes too long
  };
  struct Place {
    std::string instruction;  // "tload"
    std::string file;
    int line = 0;  // 0: nobody wrote it
    std::string pipe;
    bool writes = false;
    std::string iteration;  // "i = 1, k = 0"; empty outside of loops
  };
  struct Sync {
    int64_t number = 0;  // counts from 1 over the module
    bool barrier = false;
    std::string src;
    std::string dst;
    int64_t first_id = 0;
    int64_t last_id = 0;         // one behind
    std::vector<int> set_lines;  // ascending; of a barrier: where it stands
    std::vector<int> wait_lines;
    Verdict verdict = Verdict::Unknown;
    std::string reason;  // Kept, Surplus, Unknown: in words
    // Needed: the race.
    Place first;
    Place second;
    std::string memory;  // "vec"; "gm"
    std::string tensor;  // gm: its name
    int64_t begin = 0;   // bytes; memories but gm
    int64_t end = 0;
  };
  struct Core {
    std::string name;
    std::string kind;
    std::vector<Sync> syncs;
  };
  std::string target;
  std::vector<Core> cores;
};

SyncReport collect_sync(const ir::Module& module, const Target& target, const SourceManager& sources);
std::string sync_text(const SyncReport& report);
std::string sync_json(const SyncReport& report);

// --drop-sync: takes a synchronisation out of the module, by its number in the report. How many there are; one that
// does not exist is not taken out.
int64_t drop_sync(ir::Module& module, int64_t number);

}  // namespace pto::driver
