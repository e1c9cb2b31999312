#include "tests/property/check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "src/passes/block/sync_proof.h"
#include "src/passes/block/sync_units.h"
#include "tests/property/liveness.h"

namespace pto::test {

namespace {

std::string with_depth(const std::string& text, int depth) {
  std::string out = text;
  for (size_t at = out.find("@P"); at != std::string::npos; at = out.find("@P", at)) {
    out.replace(at, 2, std::to_string(depth));
  }
  return out;
}

// Every loop of a dump gets this depth, or the one that its line has is replaced.
std::string with_loop_depth(const std::string& dump, int depth) {
  std::istringstream in(dump);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find_first_not_of(' ');
    const bool loop =
        first != std::string::npos && (line.compare(first, 4, "for ") == 0 || line.compare(first, 9, "parallel ") == 0);
    if (loop) {
      size_t end = line.find(" pipeline ");
      end = end == std::string::npos ? line.rfind(" {") : end;
      line = line.substr(0, end) + " pipeline " + std::to_string(depth) + " {";
    }
    out += line + "\n";
  }
  return out;
}

bool same_outputs(const runtime::RunResult& a, const runtime::RunResult& b) {
  if (a.outputs.size() != b.outputs.size()) {
    return false;
  }
  for (const auto& [name, array] : a.outputs) {
    const auto other = b.outputs.find(name);
    if (other == b.outputs.end() || other->second.shape != array.shape || other->second.data != array.data) {
      return false;
    }
  }
  return true;
}

class Checker {
 public:
  Checker(const Generated& program, const std::string& target_name)
      : program_(program), target_(target_named(target_name)), text_(with_depth(program.text, 2)) {}

  void run(const Thoroughness& how) {
    compiled_ = compile(text_, target_, program_.defines);
    INFO(compiled_.error);
    CHECK(compiled_.ok);
    if (!compiled_.ok) {
      return;
    }
    for (const object::Core& core : compiled_.object.cores) {
      CHECK(check_liveness(core) == "");
    }
    std::string error;
    result_ = test::run(compiled_, target_, program_.arguments, {}, error);
    INFO(error);
    CHECK(result_.status == runtime::RunStatus::Ok);
    if (result_.status != runtime::RunStatus::Ok) {
      return;
    }
    if (how.threads) {
      threads_and_modes();
    }
    accounting();
    values();
    if (how.variants) {
      variants();
    }
    drops();
    if (how.round_trips) {
      round_trips();
    }
    if (how.depths) {
      depths();
    }
  }

 private:
  void threads_and_modes() {
    std::string error;
    runtime::Options options;
    options.threads = 2;
    const runtime::RunResult two = test::run(compiled_, target_, program_.arguments, options, error);
    CHECK(same_outputs(result_, two));
    CHECK(two.cycles == result_.cycles);
    options.mode = runtime::Mode::Time;
    runtime::Arguments shapes = program_.arguments;
    for (auto& [name, array] : shapes.arrays) {
      array.data.clear();
    }
    CHECK(test::run(compiled_, target_, shapes, options, error).cycles == result_.cycles);
    options.mode = runtime::Mode::Values;
    CHECK(same_outputs(result_, test::run(compiled_, target_, program_.arguments, options, error)));
  }

  // Without any one of the flags and barriers that the compiler inserted the proof fails: each loss would be noticed,
  // and none is surplus.
  void drops() {
    for (const ir::Function& core : compiled_.module.functions) {
      if (core.kind != ir::FunctionKind::Core) {
        continue;
      }
      passes::SyncProver prover(core, target_);
      passes::ProofOptions options;
      options.stop_at_first = true;
      for (const passes::SyncUnit& unit : passes::sync_units(core)) {
        std::vector<bool> without(core.ops.size(), false);
        for (ir::OpId op : unit.ops) {
          without[op.index()] = true;
        }
        const bool noticed = !prover.prove(options, without).proved();
        INFO(core.name << " without " << isa::spelling(unit.src) << " -> " << isa::spelling(unit.dst) << ", "
                       << unit.first_id);
        CHECK(noticed);
      }
    }
  }

  // Whatever the compiler is told about memory, flags, lanes and depths, the results have the same bytes.
  void variants() {
    passes::PassOptions no_reuse;
    no_reuse.reuse_memory = false;
    passes::PassOptions no_elision;
    no_elision.elide_sync = false;
    passes::PassOptions one_lane;
    one_lane.split_lanes = false;
    passes::PassOptions shallow;
    shallow.pipeline = 1;
    passes::PassOptions deep;
    deep.pipeline = 3;
    const std::pair<const char*, const passes::PassOptions*> all[] = {{"no reuse of memory", &no_reuse},
                                                                      {"no elision of flags", &no_elision},
                                                                      {"one lane", &one_lane},
                                                                      {"pipeline 1", &shallow},
                                                                      {"pipeline 3", &deep}};
    for (const auto& [name, options] : all) {
      const bool mixed =
          std::any_of(compiled_.object.programs[0].tasks.begin(), compiled_.object.programs[0].tasks.end(),
                      [](const object::Task& task) { return task.vec.has_value(); });
      if (options == &one_lane && !mixed) {
        continue;
      }
      const Compiled other = compile(text_, target_, program_.defines, std::nullopt, "", *options);
      if (!other.ok && options == &no_reuse && other.error.find("E0401") != std::string::npos) {
        continue;  // so many buffers don't fit without sharing
      }
      INFO(name << ": " << other.error);
      CHECK(other.ok);
      if (!other.ok || other.bytes == compiled_.bytes) {
        continue;
      }
      runtime::Options values_only;
      values_only.mode = runtime::Mode::Values;
      std::string error;
      const runtime::RunResult result = test::run(other, target_, program_.arguments, values_only, error);
      INFO(error);
      CHECK(same_outputs(result_, result));
    }
  }

  void accounting() {
    CHECK(result_.timed);
    for (const runtime::CoreStats& core : result_.cores) {
      for (int pipe = 0; pipe < isa::kPipeCount; ++pipe) {
        const runtime::PipeStats& stats = core.pipes[pipe];
        int64_t sum = stats.busy + stats.idle;
        for (int64_t stall : stats.stall) {
          sum += stall;
          CHECK(stall >= 0);
        }
        CHECK(stats.busy >= 0);
        CHECK(stats.idle >= 0);
        CHECK(sum == result_.cycles);
      }
    }
  }

  void values() {
    std::string error;
    auto want = program_.results;
    if (want.empty()) {
      want = expected(text_, target_, program_.defines, program_.entry, program_.arguments, result_, error);
    }
    INFO(error);
    CHECK(want.size() == program_.bounds.size());
    for (const auto& [name, values] : want) {
      const std::vector<double> got = values_of(result_.outputs.at(name));
      const double bound = program_.bounds.at(name);
      CHECK(got.size() == values.size());
      double worst = 0;
      size_t where = 0;
      for (size_t i = 0; i < std::min(got.size(), values.size()); ++i) {
        const double off = std::fabs(got[i] - values[i]);
        if (!(off <= worst)) {
          worst = off;
          where = i;
        }
      }
      if (!(worst <= bound)) {
        INFO(name << "[" << where << "] is " << got[where] << ", should be " << values[where]);
        CHECK(worst <= bound);
      }
    }
  }

  void round_trips() {
    for (ir::Level level : {ir::Level::Tensor, ir::Level::Tile, ir::Level::Block, ir::Level::Exec}) {
      const Compiled staged = compile(text_, target_, program_.defines, level);
      const std::string dump = ir::print(staged.module);
      const Compiled again = compile(dump, target_);
      if (!staged.ok || again.bytes != compiled_.bytes) {
        INFO("dump of level " << ir::spelling(level) << ":\n" << dump << again.error);
        CHECK(staged.ok);
        CHECK(again.ok);
        CHECK((again.bytes == compiled_.bytes));  // not printed
      }
    }
  }

  void depths() {
    const Compiled tile = compile(text_, target_, program_.defines, std::nullopt, "infer-space");
    if (tile.module.functions.empty()) {
      return;
    }
    const std::string dump = ir::print(tile.module);
    for (int depth : {1, 2, 3}) {
      const Compiled other = compile(with_loop_depth(dump, depth), target_);
      if (!other.ok && other.error.find("E0401") != std::string::npos && depth == 3) {
        continue;  // that many buffers don't fit
      }
      INFO("pipeline " << depth << ": " << other.error);
      CHECK(other.ok);
      if (!other.ok) {
        continue;
      }
      for (const object::Core& core : other.object.cores) {
        CHECK(check_liveness(core) == "");
      }
      std::string error;
      const runtime::RunResult result = test::run(other, target_, program_.arguments, {}, error);
      INFO(error);
      CHECK(same_outputs(result_, result));
    }
  }

  const Generated& program_;
  const Target& target_;
  std::string text_;
  Compiled compiled_;
  runtime::RunResult result_;
};

}  // namespace

void check_program(const Generated& program, const std::string& target_name, const std::string& label,
                   const Thoroughness& how) {
  std::string defines;
  for (const auto& [name, value] : program.defines) {
    defines += " -D " + name + "=" + value;
  }
  std::string shapes;
  for (const auto& [name, array] : program.arguments.arrays) {
    shapes += " " + name + "[";
    for (int64_t dim : array.shape) {
      shapes += std::to_string(dim) + " ";
    }
    shapes += "]";
  }
  INFO(label << " on " << target_name << defines << shapes << "\n" << program.text);
  Checker(program, target_name).run(how);
}

}  // namespace pto::test
