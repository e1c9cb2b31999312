// --report=sync: every synchronisation with the race that it prevents, in words and as JSON; and how many flags the
// compiler needs where a careful person has counted.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/driver/ptoc.h"

using namespace pto::test;
using Json = nlohmann::json;

namespace {

Json report_of(const Folder& folder, const std::string& program, const std::string& target) {
  const std::string file = folder / "sync.json";
  const Outcome run = ptoc({program, "--target", target, "--report=sync:" + file, "-o", folder / "k.ptobin"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  return Json::parse(slurp(file));
}

// The branches of T2: nothing that the `if` computes is used.
constexpr const char* kBranchMerge = R"(
kernel merge(n: i32) -> (d: f32[256, 64]) {
    parallel i in 0..256 step 64 {
        let a = full(f32[64, 64], 1.0);
        var c = zeros(f32[64, 64]);
        if n > 0 {
            let b = full(f32[64, 64], 2.0);
            c = b + b;
        }
        let e = a + a;
        store(d[i :+ 64, :], e);
    }
}
)";

}  // namespace

TEST_CASE("the report shows the race behind each flag of a hand-written core") {
  const Folder folder;
  const std::string program = folder.write("x.pto", R"(core vec f(x: f32[8, 64]) -> (y: f32[8, 64]) {
    buf t: tile f32[8, 64] at vec:0x100;
    tload t, x[0, 0];
    set_flag mte2 -> v, 3;
    wait_flag mte2 -> v, 3;
    tmuls t, t, 2.0;
    pipe_barrier v;
    set_flag v -> mte3, 0;
    wait_flag v -> mte3, 0;
    set_flag v -> mte3, 1;
    wait_flag v -> mte3, 1;
    tstore y[0, 0], t;
}
)");
  const Json report = report_of(folder, program, "a2a3");
  CHECK(report["schema"] == "ptoc-sync/1");
  CHECK(report["target"] == "a2a3");
  const Json& core = report["cores"].at(0);
  CHECK(core["flags"] == 3);
  CHECK(core["barriers"] == 1);
  CHECK(core["needed"] == 1);
  CHECK(core["surplus"] == 3);  // one flag from v to mte3 would do: each alone is surplus; a pipe needs no barrier
  const Json& load = core["syncs"].at(0);
  CHECK(load["number"] == 1);
  CHECK(load["kind"] == "flag");
  CHECK(load["src"] == "mte2");
  CHECK(load["dst"] == "v");
  CHECK(load["first_id"] == 3);
  CHECK(load["ids"] == 1);
  CHECK(load["set_lines"] == Json::array({4}));
  CHECK(load["wait_lines"] == Json::array({5}));
  CHECK(load["verdict"] == "needed");
  CHECK(load["race"]["first"]["instruction"] == "tload");
  CHECK(load["race"]["first"]["line"] == 3);
  CHECK(load["race"]["first"]["access"] == "write");
  CHECK(load["race"]["second"]["instruction"] == "tmuls");
  CHECK(load["race"]["second"]["line"] == 6);
  CHECK(load["race"]["memory"] == "vec");
  CHECK(load["race"]["begin"] == 0x100);
  CHECK(load["race"]["end"] == 0x100 + 8 * 64 * 4);
  CHECK(core["syncs"].at(1)["kind"] == "barrier");

  const Outcome run = ptoc({program, "--report=sync", "-o", folder / "k.ptobin"});
  CHECK_THAT(run.out, Catch::Contains("core vec f_vec: 3 flags, 1 barrier: 1 needed, 3 surplus"));
  CHECK_THAT(run.out, Catch::Contains("    1  flag mte2 -> v, id 3, set at line 4, waited for at line 5\n"));
  CHECK_THAT(run.out, Catch::Contains("needed: without it `tload` on mte2 (line 3) writes bytes 0x100 to 0x900 of vec, "
                                      "`tmuls` on v (line 6) "));
}

TEST_CASE("dropping a synchronisation that does not exist is told") {
  const Folder folder;
  const std::string program = folder.write("x.pto", kBranchMerge);
  const Outcome run = ptoc({program, "--drop-sync=99", "-o", folder / "k.ptobin"});
  CHECK(run.code == 2);
  CHECK_THAT(run.err, Catch::Contains("`--drop-sync=99`: the program has "));
  CHECK(!std::filesystem::exists(folder / "k.ptobin"));
  CHECK(ptoc({program, "--drop-sync=0", "-o", folder / "k.ptobin"}).code == 2);
  CHECK(ptoc({program, "--drop-sync=1", "--skip-pass=insert-sync", "-o", folder / "k.ptobin"}).code != 0);
}

TEST_CASE("the compiler inserts no flag in a sample that it could do without") {
  const Folder folder;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const std::string& name : samples()) {
      const Json report = report_of(folder, sample(name), target);
      for (const Json& core : report["cores"]) {
        INFO(name << " on " << target << ": " << core.dump(1));
        CHECK(core["syncs"].size() > 0);
        CHECK(core["surplus"] == 0);
        CHECK(core["unknown"] == 0);
        // A flag can be there for another one, where a loop may run no time.
        CHECK(core["kept"] <= 1);
        CHECK(core["barriers"] == 0);
      }
    }
  }
}

TEST_CASE("T2: a branch that nobody's result depends on costs no barrier and no flag") {
  const Folder folder;
  for (const std::string target : {"a2a3", "a5"}) {
    const Json report = report_of(folder, folder.write("t2.pto", kBranchMerge), target);
    INFO(report.dump(1));
    // By hand: everything but the store is work of the vector pipe, in order by itself. The store waits for the sum,
    // the next block's sum for the store.
    CHECK(report["cores"].at(0)["flags"] <= 2);
    CHECK(report["cores"].at(0)["barriers"] == 0);
  }
}
