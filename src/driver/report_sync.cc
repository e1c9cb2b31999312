#include "src/driver/report_sync.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "src/passes/analysis/rewrite.h"
#include "src/passes/block/sync_proof.h"
#include "src/passes/block/sync_units.h"

namespace pto::driver {

namespace {

using Json = nlohmann::ordered_json;
using passes::SyncFinding;
using Verdict = SyncReport::Verdict;

constexpr int64_t kMaxSteps = 200'000'000;  // of all proofs of a core

class Collector {
 public:
  Collector(const ir::Function& core, const Target& target, const SourceManager& sources)
      : core_(core), sources_(sources), prover_(core, target) {}

  SyncReport::Sync examine(const passes::SyncUnit& unit, int64_t number) {
    SyncReport::Sync sync;
    sync.number = number;
    sync.barrier = unit.barrier;
    sync.src = isa::spelling(unit.src);
    sync.dst = isa::spelling(unit.dst);
    sync.first_id = unit.first_id;
    sync.last_id = unit.last_id;
    for (ir::OpId id : unit.ops) {
      const ir::Op& op = core_.ops[id];
      const int line = op.span().valid() ? sources_.line_column(op.span()).line : 0;
      auto& lines = op.inst.opcode == isa::Opcode::WaitFlag ? sync.wait_lines : sync.set_lines;
      const auto at = std::lower_bound(lines.begin(), lines.end(), line);
      if (line != 0 && (at == lines.end() || *at != line)) {
        lines.insert(at, line);
      }
    }
    judge(unit, sync);
    return sync;
  }

 private:
  // The race that appears without it, or else what else goes wrong.
  void judge(const passes::SyncUnit& unit, SyncReport::Sync& sync) {
    if (unit.barrier && unit.src != isa::Pipe::All) {
      sync.verdict = Verdict::Surplus;
      sync.reason = "a pipe works in order anyway";
      return;
    }
    std::vector<bool> without(core_.ops.size());
    for (ir::OpId id : unit.ops) {
      without[id.index()] = true;
    }
    passes::ProofOptions options;
    for (const bool stop_at_first : {true, false}) {
      options.stop_at_first = stop_at_first;
      options.max_steps = steps_left_;
      const passes::SyncProof proof = prover_.prove(options, without);
      steps_left_ -= std::min(steps_left_, proof.steps);
      if (proof.proved()) {
        sync.verdict = Verdict::Surplus;
        sync.reason = "what it orders is in order without it";
        return;
      }
      const auto race = std::find_if(proof.findings.begin(), proof.findings.end(),
                                     [](const SyncFinding& f) { return f.kind == SyncFinding::Kind::Race; });
      if (race != proof.findings.end()) {
        describe(*race, sync);
        return;
      }
      explain(proof.findings.front(), sync);
    }
  }

  SyncReport::Place place(ir::OpId id, isa::Pipe pipe, bool writes, const std::string& iteration) const {
    const ir::Op& op = core_.ops[id];
    SyncReport::Place place;
    place.instruction = isa::info(op.inst.opcode).mnemonic;
    place.pipe = isa::spelling(pipe);
    place.writes = writes;
    place.iteration = iteration;
    if (op.span().valid()) {
      place.file = sources_.name(op.span().file);
      place.line = sources_.line_column(op.span()).line;
    }
    return place;
  }

  void describe(const SyncFinding& race, SyncReport::Sync& sync) const {
    sync.verdict = Verdict::Needed;
    sync.reason.clear();
    sync.first = place(race.first, race.first_pipe, race.first_writes, race.first_iteration);
    sync.second = place(race.second, race.second_pipe, race.second_writes, race.second_iteration);
    sync.memory = spelling(race.space);
    if (race.space == Space::Gm) {
      sync.tensor = core_.values[ir::ValueId(static_cast<uint32_t>(race.begin))].name;
      for (const ir::Param& param : core_.params) {
        if (param.is_tensor() && param.value.index() == static_cast<uint32_t>(race.begin)) {
          sync.tensor = param.name;
        }
      }
    } else {
      sync.begin = race.begin;
      sync.end = race.end;
    }
  }

  void explain(const SyncFinding& finding, SyncReport::Sync& sync) const {
    const ir::Op& op = core_.ops[finding.second];
    const std::string line =
        op.span().valid() ? " of line " + std::to_string(sources_.line_column(op.span()).line) : "";
    const std::string flag = std::string(isa::spelling(finding.second_pipe));
    sync.verdict = Verdict::Kept;
    switch (finding.kind) {
      case SyncFinding::Kind::SetTwice:
        sync.reason = "without it the flag" + line + " from " + flag + " to " +
                      std::string(isa::spelling(finding.first_pipe)) + " could be set again before it was waited for";
        return;
      case SyncFinding::Kind::WaitWithoutSet:
        sync.reason = "without it the wait" + line + " would be for ever";
        return;
      case SyncFinding::Kind::Unconsumed:
        sync.reason = "without it the flag" + line + " would be left over";
        return;
      default:
        sync.verdict = Verdict::Unknown;
        sync.reason = "can't tell whether the program is right without it: " + finding.why;
        return;
    }
  }

  const ir::Function& core_;
  const SourceManager& sources_;
  passes::SyncProver prover_;
  int64_t steps_left_ = kMaxSteps;
};

int64_t count(const SyncReport::Core& core, Verdict verdict) {
  return std::count_if(core.syncs.begin(), core.syncs.end(),
                       [&](const SyncReport::Sync& sync) { return sync.verdict == verdict; });
}

int64_t count(const SyncReport::Core& core, bool barrier) {
  return std::count_if(core.syncs.begin(), core.syncs.end(),
                       [&](const SyncReport::Sync& sync) { return sync.barrier == barrier; });
}

std::string counted(int64_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string lines_text(const std::vector<int>& lines) {
  std::string text = lines.empty() ? "" : lines.size() == 1 ? " line " : " lines ";
  for (size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(lines[i]);
  }
  return text;
}

std::string what_text(const SyncReport::Sync& sync) {
  if (sync.barrier) {
    return "barrier of " + (sync.src == "all" ? "all pipes" : sync.src) +
           (sync.set_lines.empty() ? "" : ", at" + lines_text(sync.set_lines));
  }
  std::string text = "flag " + sync.src + " -> " + sync.dst + ", id " + std::to_string(sync.first_id);
  text += sync.last_id > sync.first_id + 1 ? " to " + std::to_string(sync.last_id - 1) : "";
  text += sync.set_lines.empty() ? "" : ", set at" + lines_text(sync.set_lines);
  return text + (sync.wait_lines.empty() ? "" : ", waited for at" + lines_text(sync.wait_lines));
}

std::string place_text(const SyncReport::Place& place) {
  std::string text = "`" + place.instruction + "` on " + place.pipe;
  const std::string line = place.line == 0 ? "" : "line " + std::to_string(place.line);
  if (!line.empty() || !place.iteration.empty()) {
    text += " (" + line + (line.empty() || place.iteration.empty() ? "" : ", ") + place.iteration + ")";
  }
  return text;
}

std::string race_text(const SyncReport::Sync& sync) {
  char bytes[80] = "";
  if (sync.memory != "gm") {
    std::snprintf(bytes, sizeof bytes, "bytes 0x%llx to 0x%llx of %s", static_cast<unsigned long long>(sync.begin),
                  static_cast<unsigned long long>(sync.end), sync.memory.c_str());
  }
  const std::string where = sync.memory == "gm" ? "tensor `" + sync.tensor + "`" : std::string(bytes);
  return place_text(sync.first) + (sync.first.writes ? " writes " : " reads ") + where + ", " +
         place_text(sync.second) + (sync.second.writes ? " writes" : " reads") + " them with no order between the two";
}

Json place_json(const SyncReport::Place& place) {
  Json json;
  json["instruction"] = place.instruction;
  json["pipe"] = place.pipe;
  json["access"] = place.writes ? "write" : "read";
  json["file"] = place.file;
  json["line"] = place.line;
  json["iteration"] = place.iteration;
  return json;
}

Json sync_to_json(const SyncReport::Sync& sync) {
  static constexpr const char* kVerdicts[] = {"needed", "kept", "surplus", "unknown"};
  Json json;
  json["number"] = sync.number;
  json["kind"] = sync.barrier ? "barrier" : "flag";
  json["src"] = sync.src;
  if (!sync.barrier) {
    json["dst"] = sync.dst;
    json["first_id"] = sync.first_id;
    json["ids"] = sync.last_id - sync.first_id;
    json["wait_lines"] = sync.wait_lines;
  }
  json[sync.barrier ? "lines" : "set_lines"] = sync.set_lines;
  json["verdict"] = kVerdicts[static_cast<size_t>(sync.verdict)];
  if (sync.verdict != Verdict::Needed) {
    json["reason"] = sync.reason;
    return json;
  }
  Json race;
  race["first"] = place_json(sync.first);
  race["second"] = place_json(sync.second);
  race["memory"] = sync.memory;
  if (sync.memory == "gm") {
    race["tensor"] = sync.tensor;
  } else {
    race["begin"] = sync.begin;
    race["end"] = sync.end;
  }
  json["race"] = race;
  return json;
}

}  // namespace

SyncReport collect_sync(const ir::Module& module, const Target& target, const SourceManager& sources) {
  SyncReport report;
  report.target = target.name;
  int64_t number = 0;
  for (const ir::Function& function : module.functions) {
    if (function.kind != ir::FunctionKind::Core) {
      continue;
    }
    SyncReport::Core core{function.name, std::string(spelling(function.core_kind)), {}};
    Collector collector(function, target, sources);
    for (const passes::SyncUnit& unit : passes::sync_units(function)) {
      core.syncs.push_back(collector.examine(unit, ++number));
    }
    report.cores.push_back(std::move(core));
  }
  return report;
}

std::string sync_text(const SyncReport& report) {
  std::string text = "target " + report.target + "\n";
  for (const SyncReport::Core& core : report.cores) {
    text += "\ncore " + core.kind + " " + core.name + ": " + counted(count(core, false), "flag");
    if (const int64_t barriers = count(core, true); barriers > 0) {
      text += ", " + counted(barriers, "barrier");
    }
    text += ": " + std::to_string(count(core, Verdict::Needed)) + " needed";
    for (const auto& [verdict, word] :
         {std::make_pair(Verdict::Kept, " kept for other flags"), std::make_pair(Verdict::Surplus, " surplus"),
          std::make_pair(Verdict::Unknown, " not decided")}) {
      const int64_t of_it = count(core, verdict);
      text += of_it == 0 ? "" : ", " + std::to_string(of_it) + word;
    }
    text += "\n";
    for (const SyncReport::Sync& sync : core.syncs) {
      std::string label = std::to_string(sync.number);
      label.insert(0, 5 - std::min<size_t>(label.size(), 5), ' ');
      text += label + "  " + what_text(sync) + "\n       ";
      switch (sync.verdict) {
        case Verdict::Needed:
          text += "needed: without it " + race_text(sync);
          break;
        case Verdict::Kept:
          text += "kept: " + sync.reason;
          break;
        case Verdict::Surplus:
          text += "surplus: " + sync.reason;
          break;
        case Verdict::Unknown:
          text += "not decided: " + sync.reason;
          break;
      }
      text += "\n";
    }
  }
  return text;
}

std::string sync_json(const SyncReport& report) {
  Json json;
  json["schema"] = "ptoc-sync/1";
  json["target"] = report.target;
  json["cores"] = Json::array();
  for (const SyncReport::Core& core : report.cores) {
    Json entry;
    entry["name"] = core.name;
    entry["kind"] = core.kind;
    entry["flags"] = count(core, false);
    entry["barriers"] = count(core, true);
    entry["needed"] = count(core, Verdict::Needed);
    entry["kept"] = count(core, Verdict::Kept);
    entry["surplus"] = count(core, Verdict::Surplus);
    entry["unknown"] = count(core, Verdict::Unknown);
    entry["syncs"] = Json::array();
    for (const SyncReport::Sync& sync : core.syncs) {
      entry["syncs"].push_back(sync_to_json(sync));
    }
    json["cores"].push_back(std::move(entry));
  }
  return json.dump(2) + "\n";
}

int64_t drop_sync(ir::Module& module, int64_t number) {
  int64_t count = 0;
  for (ir::Function& function : module.functions) {
    if (function.kind != ir::FunctionKind::Core) {
      continue;
    }
    for (const passes::SyncUnit& unit : passes::sync_units(function)) {
      if (++count != number) {
        continue;
      }
      std::vector<bool> dropped(function.ops.size());
      for (ir::OpId id : unit.ops) {
        dropped[id.index()] = true;
      }
      passes::rewrite_region(function, function.body, [&](ir::OpId id) -> std::vector<ir::OpId> {
        return dropped[id.index()] ? std::vector<ir::OpId>{} : std::vector<ir::OpId>{id};
      });
    }
  }
  return count;
}

}  // namespace pto::driver
