#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/unit/driver/ptoc.h"

using namespace pto::test;

namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) {
    ++n;
  }
  return n;
}

// Every element closed, in order: enough to know that a viewer opens it.
bool well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const size_t end = xml.find('>', at);
    if (end == std::string::npos) {
      return false;
    }
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find_first_of(" /", 1) - (tag[0] == '/' ? 1 : 0));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) {
        return false;
      }
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("the memory report of every sample: text, JSON and pictures agree") {
  const Folder folder;
  for (const std::string target : {"a2a3", "a5"}) {
    for (const std::string& name : samples()) {
      INFO(name << " on " << target);
      const Outcome run = ptoc({sample(name), "-o", folder / "k.ptobin", "--target", target, "--report=memory",
                                "--report=memory:" + (folder / "m.json"), "--report", "memory:" + (folder / "m.svg"),
                                "--report", "memory:" + (folder / "m.html")});
      INFO(run.err);
      REQUIRE(run.code == 0);
      const auto json = nlohmann::json::parse(slurp(folder / "m.json"));
      CHECK(json.at("schema") == "ptoc-memory/1");
      CHECK(json.at("target") == target);
      const std::string svg = slurp(folder / "m.svg");
      const std::string html = slurp(folder / "m.html");
      CHECK(well_formed(svg));
      CHECK(svg.find("<script") == std::string::npos);
      CHECK(html.find(svg) != std::string::npos);
      size_t boxes = 0;
      for (const auto& core : json.at("cores")) {
        CHECK(run.out.find("`" + core.at("name").get<std::string>() + "`") != std::string::npos);
        const auto steps = static_cast<int64_t>(core.at("steps").size());
        for (const auto& memory : core.at("memories")) {
          const int64_t peak = memory.at("peak");
          CHECK(peak <= memory.at("capacity").get<int64_t>());
          CHECK(memory.at("gap") == peak - memory.at("most_live").get<int64_t>());
          CHECK(memory.at("most_live") <= peak);
          CHECK(memory.at("without_sharing") >= memory.at("most_live"));
          int64_t highest = 0;
          for (const auto& buffer : memory.at("buffers")) {
            highest = std::max(highest, buffer.at("address").get<int64_t>() + buffer.at("bytes").get<int64_t>());
            for (const auto& part : buffer.at("live")) {
              CHECK(0 <= part.at(0).get<int64_t>());
              CHECK(part.at(0) <= part.at(1));
              CHECK(part.at(1).get<int64_t>() < steps);
              ++boxes;
            }
          }
          CHECK(highest == peak);
        }
      }
      // A box for each part of a life; in halves of a step a part may fall in two.
      CHECK(count(svg, "<g><title>") >= boxes);
    }
  }
}

TEST_CASE("a failed run writes no report") {
  const Folder folder;
  const std::string path = folder.write("bad.pto",
                                        "kernel f[M, N = 65536](x: f32[M, N]) -> (y: f32[M, N]) {\n"
                                        "    parallel i in 0..M step 8 {\n"
                                        "        store(y[i :+ 8, :], exp(load(x[i :+ 8, :])));\n    }\n}\n");
  const Outcome run = ptoc({path, "-o", folder / "k.ptobin", "--report=memory:" + (folder / "m.txt")});
  CHECK(run.code == 1);
  CHECK(slurp(folder / "m.txt").empty());
  CHECK(slurp(folder / "k.ptobin").empty());
}
