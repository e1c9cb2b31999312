// Random `auto core`s of loops, branches and instructions on few buffers: what insert-sync makes of them is proved by
// prove-sync, which shares nothing with it. And long programs, with far more chains than event ids.
#include <catch2/catch.hpp>
#include <random>

#include "tests/unit/driver/ptoc.h"

using namespace pto::test;

namespace {

class Program {
 public:
  explicit Program(uint32_t seed) : random_(seed) {}

  std::string text() {
    const int buffers = 1 + pick(4);
    for (int i = 0; i < buffers; ++i) {
      slots_.push_back(1 + pick(3));
    }
    std::string text = "auto core vec f[N](x: f32[N, 64], n: i32) -> (y: f32[N, 64]) {\n";
    for (int i = 0; i < buffers; ++i) {
      text += "    buf t" + std::to_string(i) + ": tile f32[8, 64] in vec";
      text += slots_[static_cast<size_t>(i)] > 1 ? " slots " + std::to_string(slots_[static_cast<size_t>(i)]) + ";\n"
                                                 : ";\n";
    }
    for (int i = 0; i < buffers; ++i) {  // nothing is read before it is written
      for (int slot = 0; slot < slots_[static_cast<size_t>(i)]; ++slot) {
        text += "    texpands t" + std::to_string(i) + "[" + std::to_string(slot) + "], 0.0;\n";
      }
    }
    region(text, 4, 0, "");
    return text + "    tstore y[0, 0], t0[0];\n}\n";
  }

 private:
  int pick(int below) { return static_cast<int>(random_() % static_cast<uint32_t>(below)); }

  std::string tile(const std::string& counter) {
    const int buffer = pick(static_cast<int>(slots_.size()));
    const int slots = slots_[static_cast<size_t>(buffer)];
    std::string slot = "0";
    if (slots > 1) {
      slot = counter.empty() || pick(4) == 0 ? std::to_string(pick(slots)) : counter + " % " + std::to_string(slots);
    }
    return "t" + std::to_string(buffer) + "[" + slot + "]";
  }

  void region(std::string& text, size_t indent, int depth, const std::string& counter) {
    const std::string margin(indent, ' ');
    for (int n = 1 + pick(6); n > 0; --n) {
      const int kind = pick(depth < 3 ? 8 : 6);
      if (kind < 2) {
        text += margin + "tload " + tile(counter) + ", x[0, 0], valid(8, 64);\n";
      } else if (kind < 4) {
        text += margin + "tmuls " + tile(counter) + ", " + tile(counter) + ", 2.0;\n";
      } else if (kind < 6) {
        text += margin + "tstore y[0, 0], " + tile(counter) + ";\n";
      } else if (kind == 6) {
        const std::string inner = "i" + std::to_string(next_++);
        const std::string end = pick(3) == 0 ? std::to_string(pick(4)) : "n";
        text += margin + "for " + inner + " in 0.." + end + " {\n";
        region(text, indent + 4, depth + 1, inner);
        text += margin + "}\n";
      } else {
        const std::string left = counter.empty() ? "n" : counter;
        const char* const conditions[] = {" < n - 1", " == 0", " < 2"};
        text += margin + "if " + left + conditions[pick(3)] + " {\n";
        region(text, indent + 4, depth + 1, counter);
        if (pick(2) == 0) {
          text += margin + "} else {\n";
          region(text, indent + 4, depth + 1, counter);
        }
        text += margin + "}\n";
      }
    }
  }

  std::mt19937 random_;
  std::vector<int> slots_;
  int next_ = 0;
};

}  // namespace

TEST_CASE("flags inserted into random programs are proved") {
  const Folder folder;
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    const std::string source = Program(seed).text();
    const Outcome run = ptoc({folder.write("x.pto", source), "-o", folder / "x.ptobin"});
    INFO("seed " << seed << "\n" << source);
    INFO(run.err);
    CHECK(run.err.find("error") == std::string::npos);
    CHECK(run.code == 0);
  }
}

// Their text grows with the number of chains, and so should the time: tests/bench measures that.
TEST_CASE("long programs are synchronised without barriers") {
  const Folder folder;
  std::string chains = "auto core vec chains(x: f32[4000, 64]) -> (y: f32[4000, 64]) {\n";
  for (int i = 0; i < 6; ++i) {
    chains += "    buf t" + std::to_string(i) + ": tile f32[8, 64] in vec;\n";
  }
  for (int i = 0; i < 500; ++i) {
    const std::string tile = "t" + std::to_string(i % 6);
    const std::string row = std::to_string(8 * i);
    chains += "    tload " + tile + ", x[" + row + ", 0];\n    tadds " + tile + ", " + tile + ", 1.0;\n    tstore y[" +
              row + ", 0], " + tile + ";\n";
  }
  std::string block =
      "kernel block(x: f32[8, 64]) -> (y: f32[8, 64]) {\n    parallel b in 0..1 {\n"
      "        let t0 = load(x[0 :+ 8, :]);\n";
  for (int i = 1; i < 1600; ++i) {
    const std::string before = "t" + std::to_string(i - 1);
    block += "        let t" + std::to_string(i) + " = max(" + before + ", " + before + " * 0.5);\n";
  }
  block += "        store(y[0 :+ 8, :], t1599);\n    }\n}\n";
  for (const std::string& source : {chains + "}\n", block}) {
    const Outcome run = ptoc({folder.write("x.pto", source), "-o", folder / "x.ptobin"});
    INFO(run.err);
    CHECK(run.code == 0);
    CHECK(run.err.empty());
  }
}

TEST_CASE("a chain of branches that change what the loop carries is synchronised") {
  const Folder folder;
  std::string ifs =
      "kernel ifs[N](x: f32[8, 64], w: f32[N, 64], n: i32) -> (y: f32[8, 64]) {\n    parallel b in 0..1 {\n"
      "        var t = zeros(f32[8, 64]);\n        for k in 0..N {\n";
  for (int i = 0; i < 64; ++i) {
    ifs += "            if n > " + std::to_string(i) + " { t = t * 0.5 + load(x[0 :+ 8, :]); }\n";
  }
  ifs += "        }\n        store(y[0 :+ 8, :], t);\n    }\n}\n";
  const Outcome run = ptoc({folder.write("x.pto", ifs), "-o", folder / "x.ptobin"});
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK(run.err.find("error") == std::string::npos);
}
