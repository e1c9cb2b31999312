// What the prover says, found another way: every way through a small program is written out (loops that nothing is
// known of run 0 to `trips` times, branches go both ways), and on each the order of all instructions is computed as a
// relation: pipes are in order, the k-th wait of a flag comes after its k-th set.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "src/ir/ir.h"

namespace pto::test {

struct OracleVerdict {
  std::set<std::string> faults;  // "race", "wait", "twice", "left"
  bool complete = true;          // every way up to that many trips was walked
};

class SyncOracle {
 public:
  SyncOracle(const ir::Function& core, const Target& target, int64_t trips, size_t most_ways)
      : core_(core), target_(target), trips_(trips), most_ways_(most_ways) {
    for (const ir::Op& op : core.ops) {
      if (op.kind == ir::OpKind::If) {
        ++branches_[op.exprs[0]];
      }
    }
  }

  OracleVerdict run() {
    // Ways are numbered by their decisions; the next one changes the last decision that has another choice.
    std::vector<std::pair<int64_t, int64_t>> decisions;  // choice, number of choices
    for (size_t way = 0; way < most_ways_; ++way) {
      decisions_ = &decisions;
      next_ = 0;
      trace_.clear();
      values_.clear();
      chosen_.clear();
      walk(core_.body);
      decisions.resize(next_);
      check();
      while (!decisions.empty() && decisions.back().first + 1 == decisions.back().second) {
        decisions.pop_back();
      }
      if (decisions.empty()) {
        return verdict_;
      }
      ++decisions.back().first;
    }
    verdict_.complete = false;
    return verdict_;
  }

 private:
  struct Step {
    ir::OpId op;
    isa::Pipe pipe = isa::Pipe::S;
    std::tuple<int, int, int64_t> flag;                               // sets and waits
    std::vector<std::tuple<Space, int64_t, int64_t, bool>> accesses;  // memory, begin, end, write
  };

  int64_t decide(int64_t choices) {
    if (next_ == decisions_->size()) {
      decisions_->emplace_back(0, choices);
    }
    return (*decisions_)[next_++].first;
  }

  std::optional<int64_t> value(ExprId expr) const {
    std::vector<SymId> symbols;
    core_.exprs.collect_symbols(expr, symbols);
    std::vector<int64_t> ints(core_.symbols.size());
    for (SymId symbol : symbols) {
      const auto it = values_.find(symbol);
      if (it == values_.end()) {
        return std::nullopt;
      }
      ints[symbol.index()] = it->second;
    }
    ExprEnv env;
    env.ints = ints;
    return core_.exprs.evaluate(expr, env);
  }

  void walk(ir::RegionId region) {
    for (ir::OpId id : core_.regions[region].ops) {
      const ir::Op& op = core_.ops[id];
      if (op.kind == ir::OpKind::Inst) {
        step(id);
      } else if (op.kind == ir::OpKind::If) {
        const auto known = value(op.exprs[0]);
        const auto before = chosen_.find(op.exprs[0]);
        const bool taken = known ? *known != 0 : before != chosen_.end() ? before->second : decide(2) == 0;
        if (!known && branches_[op.exprs[0]] > 1) {
          chosen_[op.exprs[0]] = taken;
        }
        walk(op.regions[taken ? 0 : 1]);
      } else if (op.kind == ir::OpKind::For) {
        const int64_t lo = *value(op.exprs[0]);
        const auto hi = value(op.exprs[1]);
        const int64_t trips = hi ? *hi - lo : decide(trips_ + 1);
        for (int64_t i = 0; i < trips; ++i) {
          values_[op.syms[0]] = lo + i;
          walk(op.regions[0]);
        }
        values_.erase(op.syms[0]);
      }
    }
  }

  void step(ir::OpId id) {
    const isa::Inst& inst = core_.ops[id].inst;
    Step step;
    step.op = id;
    step.pipe = isa::pipe_of(inst, core_.buffers, target_);
    if (isa::info(inst.opcode).format == isa::Format::Flag) {
      step.flag = {inst.operands[0].attribute, inst.operands[1].attribute, *value(inst.operands[2].a)};
    }
    for (const isa::Operand& operand : inst.operands) {
      if (isa::is_tile(operand.kind)) {
        const isa::Buffer& buffer = core_.buffers[operand.buffer.index()];
        const int64_t slot = operand.slot.valid() ? *value(operand.slot) : 0;
        const int64_t begin = buffer.address + slot * buffer.slot_stride;
        step.accesses.emplace_back(buffer.tile.space, begin, begin + buffer.tile.bytes(), isa::writes(operand.kind));
      } else if (isa::is_gm(operand.kind)) {
        step.accesses.emplace_back(Space::Gm, 0, 1, isa::writes(operand.kind));
      }
    }
    trace_.push_back(step);
  }

  void check() {
    const size_t count = trace_.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));  // before[a][b]: a is over when b starts
    auto order = [&](size_t a, size_t b) {
      before[a][b] = true;
      for (size_t c = 0; c < count; ++c) {
        before[c][b] = before[c][b] || before[c][a];
      }
    };
    std::map<isa::Pipe, size_t> latest;
    std::map<std::tuple<int, int, int64_t>, std::vector<size_t>> sets;
    std::map<std::tuple<int, int, int64_t>, std::vector<size_t>> waits;
    for (size_t i = 0; i < count; ++i) {
      const isa::Opcode opcode = core_.ops[trace_[i].op].inst.opcode;
      if (opcode == isa::Opcode::PipeBarrier) {
        for (size_t c = 0; c < i; ++c) {
          order(c, i);
        }
        for (auto& [pipe, at] : latest) {
          at = i;
        }
        for (int p = 0; p < isa::kPipeCount; ++p) {
          latest[static_cast<isa::Pipe>(p)] = i;
        }
        continue;
      }
      if (const auto it = latest.find(trace_[i].pipe); it != latest.end()) {
        order(it->second, i);
      }
      latest[trace_[i].pipe] = i;
      if (opcode == isa::Opcode::SetFlag) {
        auto& mine = sets[trace_[i].flag];
        const auto& theirs = waits[trace_[i].flag];
        if (theirs.size() < mine.size() || (!theirs.empty() && !before[theirs.back()][i])) {
          verdict_.faults.insert("twice");
          return;  // what a flag set twice does is not defined
        }
        mine.push_back(i);
      } else if (opcode == isa::Opcode::WaitFlag) {
        auto& mine = waits[trace_[i].flag];
        const auto& theirs = sets[trace_[i].flag];
        if (theirs.size() <= mine.size()) {
          verdict_.faults.insert("wait");
          return;
        }
        order(theirs[mine.size()], i);
        mine.push_back(i);
      }
      for (size_t c = 0; c < i; ++c) {
        if (!before[c][i] && conflict(trace_[c], trace_[i])) {
          verdict_.faults.insert("race");
        }
      }
    }
    for (const auto& [flag, mine] : sets) {
      if (mine.size() != waits[flag].size()) {
        verdict_.faults.insert("left");
      }
    }
  }

  static bool conflict(const Step& a, const Step& b) {
    for (const auto& [space, begin, end, write] : a.accesses) {
      for (const auto& [other_space, other_begin, other_end, other_write] : b.accesses) {
        if (space == other_space && begin < other_end && other_begin < end && (write || other_write)) {
          return true;
        }
      }
    }
    return false;
  }

  const ir::Function& core_;
  const Target& target_;
  int64_t trips_;
  size_t most_ways_;
  std::vector<std::pair<int64_t, int64_t>>* decisions_ = nullptr;
  size_t next_ = 0;
  std::vector<Step> trace_;
  std::map<SymId, int64_t> values_;
  std::map<ExprId, int> branches_;  // how many ask for a condition
  std::map<ExprId, bool> chosen_;   // of conditions that several branches ask for: always the same
  OracleVerdict verdict_;
};

}  // namespace pto::test
