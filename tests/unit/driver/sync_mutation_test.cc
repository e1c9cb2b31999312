// The prover finds every synchronisation that is missing: each one of every sample is dropped in turn, and each
// set_flag and each wait_flag on its own.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/unit/driver/ptoc.h"

using namespace pto::test;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string join_without(const std::vector<std::string>& lines, const std::vector<size_t>& dropped) {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (std::find(dropped.begin(), dropped.end(), i) == dropped.end()) {
      text += lines[i] + "\n";
    }
  }
  return text;
}

bool mentions(const std::string& line, const std::string& word) {
  return line.find(word) != std::string::npos;
}

// "mte2 -> v, i % 2 + 2" of a flag's line.
std::string flag_of(const std::string& line) {
  const size_t begin = line.find("_flag ") + 6;
  return line.substr(begin, line.find(';') - begin);
}
size_t indent_of(const std::string& line) {
  return line.find_first_not_of(' ');
}

// Does the error name two places: the access and, in a note, the one that it races with?
bool names_race_with_both_lines(const std::string& err) {
  const size_t at = err.find("error[E0402]");
  return at != std::string::npos && err.find("note:", at) != std::string::npos;
}

// A flag can be there for another one: to keep it from being set a second time before it was waited for. Then that one
// is named, and where it was waited for.
bool names_reused_flag(const std::string& err) {
  const size_t at = err.find("error[E0404]");
  return at != std::string::npos && err.find("note: waited for here", at) != std::string::npos;
}

}  // namespace

TEST_CASE("deleting any flag of any sample is found") {
  const Folder folder;
  int flags = 0;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const std::string& name : samples()) {
      const std::string dump = folder / "dump.pto";
      REQUIRE(ptoc({sample(name), "--target", target, "--emit-ir=exec", "-o", dump}).code == 0);
      const std::vector<std::string> lines = lines_of(slurp(dump));
      for (size_t i = 0; i < lines.size(); ++i) {
        const bool set = mentions(lines[i], "set_flag");
        if (!set && !mentions(lines[i], "wait_flag")) {
          continue;
        }
        ++flags;
        const std::string mutant = folder.write("mutant.pto", join_without(lines, {i}));
        const Outcome run = ptoc({mutant, "--target", target, "-o", folder / "mutant.ptobin"});
        INFO(name << " on " << target << " without line " << i + 1 << ": " << lines[i]);
        INFO(run.err);
        CHECK(run.code == 1);
        CHECK(!std::filesystem::exists(folder / "mutant.ptobin"));
        // In a loop body a flag orders two accesses: the race is shown with both lines. A flag that is set in advance,
        // or taken back at the end, orders nothing by itself: its loss is an endless wait, or a flag left over.
        if (indent_of(lines[i]) > 4) {
          CHECK((names_race_with_both_lines(run.err) || names_reused_flag(run.err)));
        } else {
          CHECK((mentions(run.err, "E0402") || mentions(run.err, "E0403") || mentions(run.err, "E0405")));
        }
      }
    }
  }
  CHECK(flags > 200);
}

TEST_CASE("deleting a flag with its waits, presets and drains is a race") {
  const Folder folder;
  for (const std::string& name : samples()) {
    const std::string dump = folder / "dump.pto";
    REQUIRE(ptoc({sample(name), "--emit-ir=exec", "-o", dump}).code == 0);
    const std::vector<std::string> lines = lines_of(slurp(dump));
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!mentions(lines[i], "set_flag") || indent_of(lines[i]) <= 4) {
        continue;
      }
      // The flag's lines in this core: equal pipes and ids. `i % 2 + 2` stands for the ids 2 and 3.
      const std::string flag = flag_of(lines[i]);
      const std::string pipes = flag.substr(0, flag.find(','));
      std::string id = flag.substr(flag.find(',') + 2);
      int first = 0;
      int count = 1;
      if (const size_t mod = id.find("% "); mod != std::string::npos) {
        count = std::stoi(id.substr(mod + 2));
        const size_t plus = id.find("+ ");
        first = plus == std::string::npos ? 0 : std::stoi(id.substr(plus + 2));
      } else {
        first = std::stoi(id);
      }
      size_t begin = i;
      while (begin > 0 && lines[begin].rfind("core", 0) != 0) {
        --begin;
      }
      std::vector<size_t> dropped;
      for (size_t j = begin; j < lines.size() && lines[j] != "}"; ++j) {
        if (!mentions(lines[j], "_flag ") || flag_of(lines[j]).rfind(pipes + ",", 0) != 0) {
          continue;
        }
        const std::string other = flag_of(lines[j]).substr(pipes.size() + 2);
        const bool constant = other.find('%') == std::string::npos;
        const int value = constant ? std::stoi(other) : -1;
        if (other == id || (constant && value >= first && value < first + count)) {
          dropped.push_back(j);
        }
      }
      const std::string mutant = folder.write("mutant.pto", join_without(lines, dropped));
      const Outcome run = ptoc({mutant, "-o", folder / "mutant.ptobin"});
      INFO(name << " without the flag of line " << i + 1 << ": " << lines[i]);
      INFO(run.err);
      CHECK(run.code == 1);
      CHECK((names_race_with_both_lines(run.err) || names_reused_flag(run.err)));
    }
  }
}

namespace {

const std::vector<std::string>& all_samples() {
  static const std::vector<std::string> kAll = [] {
    std::vector<std::string> all = samples();
    for (const char* mixed : {"gemm_gelu.pto", "attention.pto", "norm_matmul.pto"}) {
      all.push_back(mixed);
    }
    return all;
  }();
  return kAll;
}

// How many synchronisations a program has: as many as --drop-sync takes.
int syncs_of(const std::string& path, const std::string& target) {
  const Outcome run = ptoc({path, "--target", target, "--drop-sync=1000000", "-o", "-"});
  INFO(run.err);
  REQUIRE(run.code == 2);
  const std::string before = "the program has ";
  const size_t at = run.err.find(before);
  REQUIRE(at != std::string::npos);
  return std::stoi(run.err.substr(at + before.size()));
}

// A race that names both instructions with their pipes and lines, and the bytes or the tensor.
bool names_whole_race(const std::string& err) {
  const size_t at = err.find("error[E0402]");
  if (at == std::string::npos) {
    return false;
  }
  const std::string message = err.substr(at, err.find('\n', at) - at);
  const size_t note = err.find("note: ", at);
  const std::string other = note == std::string::npos ? "" : err.substr(note, err.find('\n', note) - note);
  const bool instructions =
      std::count(message.begin(), message.end(), '`') == 6 && message.find(" and `") != std::string::npos;
  const bool bytes = other.find("bytes 0x") != std::string::npos || message.find("of `gm`") != std::string::npos;
  return instructions && bytes;
}

struct Drops {
  int all = 0;
  int races = 0;
};

// Drops every synchronisation of a program in turn.
void drop_each(const Folder& folder, const std::string& program, const std::string& target, const std::string& name,
               Drops& drops) {
  const int syncs = syncs_of(program, target);
  for (int i = 1; i <= syncs; ++i) {
    const Outcome run =
        ptoc({program, "--target", target, "--drop-sync=" + std::to_string(i), "-o", folder / "mutant.ptobin"});
    INFO(name << " on " << target << " without synchronisation " << i << " of " << syncs);
    INFO(run.err);
    CHECK(run.code == 1);
    const bool race = names_whole_race(run.err);
    CHECK((race || names_reused_flag(run.err)));
    CHECK(!std::filesystem::exists(folder / "mutant.ptobin"));
    ++drops.all;
    drops.races += race ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("T1: whichever synchronisation of a program is dropped, the race is found") {
  const Folder folder;
  const std::string source = folder.write("t1.pto", R"(
kernel t1[M](a: f32[M, 64], b: f32[M, 64]) -> (d: f32[M, 64]) {
    parallel i in 0..M step 64 {
        let c = load(a[i :+ 64, :]) + load(b[i :+ 64, :]);
        store(d[i :+ 64, :], c * c);
    }
}
)");
  for (const std::string target : {"a2a3", "a5"}) {
    const Outcome run = ptoc({source, "--target", target, "-o", folder / "t1.ptobin"});
    INFO(run.err);
    REQUIRE(run.code == 0);
    Drops drops;
    drop_each(folder, source, target, "t1", drops);
    CHECK(drops.all >= 3);  // a and b before the sum, the square before the store, reuse
    CHECK(drops.races == drops.all);
  }
}

TEST_CASE("T1: no synchronisation of a sample can be dropped unnoticed") {
  const Folder folder;
  Drops drops;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const std::string& name : all_samples()) {
      const std::string dump = folder / "dump.pto";
      REQUIRE(ptoc({sample(name), "--target", target, "--emit-ir=exec", "-o", dump}).code == 0);
      drop_each(folder, dump, target, name, drops);
    }
  }
  CHECK(drops.all > 150);
  CHECK(drops.races >= drops.all - 4);
}
