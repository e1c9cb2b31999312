// The prover against an oracle that walks every way through small programs, and the inserter against both: random
// programs with the flags that insert-sync gives them, and with one of these flags dropped, moved, doubled or given
// another id.
#include "src/passes/block/sync_proof.h"

#include <catch2/catch.hpp>

#include "src/passes/block/sync_barriers.h"
#include "src/passes/pass.h"
#include "tests/unit/passes/core_builder.h"
#include "tests/unit/passes/sync_oracle.h"

using namespace pto;
using namespace pto::test;

namespace {

uint32_t pick(std::mt19937_64& random, size_t count) {
  return static_cast<uint32_t>(random() % count);
}

// Loads, sums and stores in nested loops and branches, over few buffers, of which some overlap and some have two slots.
class SmallCore {
 public:
  explicit SmallCore(uint64_t seed) : random_(seed) {
    int64_t address = 0;
    for (int i = 0; i < 4; ++i) {
      const uint32_t b = b_.buffer(8, 64, 1 + pick(random_, 2));
      b_.core.buffers[b].address = address;
      address += pick(random_, 4) == 0 ? 1024 : b_.core.buffers[b].total_bytes();
    }
    left_ = 4 + static_cast<int>(pick(random_, 5));
    while (left_ > 0) {
      statements(0);
    }
  }
  ir::Function core() const { return b_.core; }

 private:
  ExprId slot(uint32_t buffer) {
    if (b_.core.buffers[buffer].slots == 1) {
      return {};
    }
    if (loops_.empty() || pick(random_, 3) == 0) {
      return b_.num(pick(random_, 2));
    }
    const ExprId counter = b_.core.exprs.symbol(loops_[pick(random_, loops_.size())]);
    return b_.core.exprs.make(ExprOp::Mod, b_.core.exprs.add(counter, b_.num(pick(random_, 2))), b_.num(2));
  }

  void statements(int depth) {
    for (uint32_t i = 0, count = 1 + pick(random_, 3); i < count && left_ > 0; ++i) {
      statement(depth);
    }
  }

  void statement(int depth) {
    const uint32_t what = pick(random_, depth < 2 ? 9 : 6);
    if (what == 8) {
      const bool by_counter = !loops_.empty() && pick(random_, 2) == 0;
      const ExprId condition = by_counter ? b_.is(loops_[pick(random_, loops_.size())], pick(random_, 2)) : b_.opaque();
      b_.branch(
          condition, [&] { statements(depth + 1); },
          [&] {
            if (pick(random_, 2) == 0) {
              statements(depth + 1);
            }
          });
    } else if (what >= 6) {
      const ExprId hi = pick(random_, 4) == 0 ? b_.num(3) : b_.core.exprs.add(b_.dim, b_.num(-1));
      b_.loop(b_.num(0), hi, [&](SymId symbol) {
        loops_.push_back(symbol);
        statements(depth + 1);
        loops_.pop_back();
      });
    } else {
      --left_;
      const uint32_t x = pick(random_, 4);
      const uint32_t y = pick(random_, 4);
      if (what < 2) {
        b_.inst(isa::Opcode::TLoad, {x}, {slot(x)});
      } else if (what < 4) {
        b_.inst(isa::Opcode::TAdd, {x, y, y}, {slot(x), slot(y), slot(y)});
      } else {
        b_.inst(isa::Opcode::TMov, {x, y}, {slot(x), slot(y)});
      }
    }
  }

  std::mt19937_64 random_;
  CoreBuilder b_;
  std::vector<SymId> loops_;
  int left_ = 0;
};

void insert(ir::Function& core, const Target& target, bool elide) {
  ir::Module module;
  module.functions.push_back(core);
  DiagnosticSink sink;
  passes::PassContext context{module, target, sink};
  context.options.elide_sync = elide;
  passes::insert_sync(context);
  core = module.functions[0];
}

std::vector<std::pair<ir::RegionId, size_t>> flags_of(const ir::Function& core) {
  std::vector<std::pair<ir::RegionId, size_t>> places;
  for (uint32_t r = 0; r < core.regions.size(); ++r) {
    const auto& ops = core.regions[ir::RegionId(r)].ops;
    for (size_t i = 0; i < ops.size(); ++i) {
      const ir::Op& op = core.ops[ops[i]];
      if (op.kind == ir::OpKind::Inst && isa::info(op.inst.opcode).format == isa::Format::Flag) {
        places.emplace_back(ir::RegionId(r), i);
      }
    }
  }
  return places;
}

void mutate(ir::Function& core, std::mt19937_64& random) {
  const auto places = flags_of(core);
  if (places.empty()) {
    return;
  }
  const auto [region, at] = places[pick(random, places.size())];
  auto& ops = core.regions[region].ops;
  const auto here = ops.begin() + static_cast<ptrdiff_t>(at);
  ir::Op copy = core.ops[ops[at]];
  switch (pick(random, 4)) {
    case 0:
      ops.erase(here);
      break;
    case 1: {
      const ir::OpId moved = ops[at];
      ops.erase(here);
      ops.insert(ops.begin() + pick(random, ops.size() + 1), moved);
      break;
    }
    case 2:
      ops.insert(ops.begin() + pick(random, ops.size() + 1), core.ops.add(copy));
      break;
    default:
      copy.inst.operands[2].a = core.exprs.integer(pick(random, 3));
      ops[at] = core.ops.add(copy);
      break;
  }
}

std::set<std::string> faults_of(const passes::SyncProof& proof) {
  std::set<std::string> faults;
  for (const passes::SyncFinding& finding : proof.findings) {
    using Kind = passes::SyncFinding::Kind;
    faults.insert(finding.kind == Kind::Race             ? "race"
                  : finding.kind == Kind::WaitWithoutSet ? "wait"
                  : finding.kind == Kind::SetTwice       ? "twice"
                  : finding.kind == Kind::Unconsumed     ? "left"
                                                         : "undecided");
  }
  return faults;
}

std::string text_of(const std::set<std::string>& faults) {
  std::string text;
  for (const std::string& fault : faults) {
    text += fault + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("insert-sync's flags are right by the prover and by walking every way") {
  const Target target = target_named("a2a3");
  for (uint64_t seed = 0; seed < 400; ++seed) {
    ir::Function core = SmallCore(seed).core();
    insert(core, target, seed % 2 == 0);
    INFO("seed " << seed << "\n" << ir::print(core));
    CHECK(text_of(faults_of(passes::SyncProver(core, target).prove({}))) == "");
    CHECK(text_of(SyncOracle(core, target, 3, 300).run().faults) == "");
  }
}

TEST_CASE("barriers, the last resort, are right by both, too") {
  const Target target = target_named("a2a3");
  size_t barriers = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    ir::Function core = SmallCore(seed).core();
    barriers += passes::insert_barriers(core, target).size();
    INFO("seed " << seed << "\n" << ir::print(core));
    CHECK(text_of(faults_of(passes::SyncProver(core, target).prove({}))) == "");
    CHECK(text_of(SyncOracle(core, target, 3, 300).run().faults) == "");
  }
  CHECK(barriers > 300);
}

TEST_CASE("the prover finds what walking every way finds, and nothing else") {
  const Target target = target_named("a2a3");
  int wrong = 0;
  int right = 0;
  int apart = 0;  // found by the prover alone: on ways with more trips
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 random(seed);
    ir::Function core = SmallCore(seed / 3).core();
    insert(core, target, true);
    for (uint32_t i = 0, count = pick(random, 2) + 1; i < count; ++i) {
      mutate(core, random);
    }
    const OracleVerdict oracle = SyncOracle(core, target, 4, 400).run();
    const auto faults = faults_of(passes::SyncProver(core, target).prove({}));
    INFO("seed " << seed << ": oracle " << text_of(oracle.faults) << ", prover " << text_of(faults) << "\n"
                 << ir::print(core));
    if (!oracle.faults.empty()) {
      ++wrong;
      CHECK(!faults.empty());
    } else if (oracle.complete && !faults.empty()) {
      ++apart;
      UNSCOPED_INFO("seed " << seed);
    } else if (faults.empty()) {
      ++right;
    }
  }
  CHECK(wrong > 500);
  CHECK(right > 100);
  CHECK(apart == 0);
}

TEST_CASE("a flag in a branch makes the one in front of the branch surplus") {
  const Target target = target_named("a2a3");
  CoreBuilder b;
  const uint32_t x = b.buffer(8, 64);
  const uint32_t y = b.buffer(8, 64);
  b.core.buffers[x].address = 0;
  b.core.buffers[y].address = 2048;
  b.add(y, x, x);
  b.branch(
      b.opaque(),
      [&] {
        b.exp(x, y);
        b.load(x);
      },
      [] {});
  ir::Function all = b.core;
  ir::Function few = b.core;
  insert(all, target, false);
  insert(few, target, true);
  INFO(ir::print(all) << ir::print(few));
  CHECK(flags_of(all).size() == 4);
  REQUIRE(flags_of(few).size() == 2);
  for (const auto& [region, at] : flags_of(few)) {
    CHECK(region != few.body);
    CHECK(few.exprs.constant(few.ops[few.regions[region].ops[at]].inst.operands[2].a) == 0);
  }
}
