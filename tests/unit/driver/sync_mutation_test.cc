// The prover finds every dropped flag: each set_flag and each wait_flag of every sample is deleted in turn.
#include <catch2/catch.hpp>

#include <algorithm>

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

bool mentions(const std::string& line, const std::string& word) { return line.find(word) != std::string::npos; }

// "mte2 -> v, i % 2 + 2" of a flag's line.
std::string flag_of(const std::string& line) {
  const size_t begin = line.find("_flag ") + 6;
  return line.substr(begin, line.find(';') - begin);
}
size_t indent_of(const std::string& line) { return line.find_first_not_of(' '); }

// Does the error name two places: the access and, in a note, the one that it races with?
bool names_race_with_both_lines(const std::string& err) {
  const size_t at = err.find("error[E0402]");
  return at != std::string::npos && err.find("note:", at) != std::string::npos;
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
        // In a loop body a flag orders two accesses: the race is shown with both lines. A flag that is set in advance, or
        // taken back at the end, orders nothing by itself: its loss is an endless wait, or a flag left over.
        if (indent_of(lines[i]) > 4) {
          CHECK(names_race_with_both_lines(run.err));
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
      CHECK(names_race_with_both_lines(run.err));
    }
  }
}
