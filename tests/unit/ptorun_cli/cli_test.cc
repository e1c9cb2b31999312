// ptorun as a user calls it: arguments, results, exit codes, and that a failed run leaves no file.
#include "runtime/ptorun/cli.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <sstream>

#include "pto/diagnostics.h"
#include "runtime/io/npy.h"
#include "tests/unit/ptorun_cli/sample_object.h"

using namespace pto;
using namespace pto::ptorun;
using namespace pto::ptorun::testing;

namespace {

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

Outcome call(const std::vector<std::string>& args, const Terminal& terminal = {}) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code = run_cli(args, out, err, terminal);
  return {exit_code, out.str(), err.str()};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Calls, and checks the exit code and a part of what stderr says.
void expect(const std::vector<std::string>& args, int exit_code, const std::string& part) {
  const Outcome outcome = call(args);
  INFO("err: " << outcome.err << "\nout: " << outcome.out << "\nwanted: " << part);
  CHECK(outcome.exit_code == exit_code);
  CHECK(has(outcome.err, part));
}

std::string as_text(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

std::string npy_text(DType type, std::vector<int64_t> shape, const std::vector<float>& values) {
  runtime::Array array{type, std::move(shape), std::vector<std::byte>(values.size() * sizeof(float))};
  std::memcpy(array.data.data(), values.data(), array.data.size());
  const std::vector<std::byte> file = runtime::io::write_npy(array);
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

// A folder with scale.ptobin, x.npy (f32[3, 64], 0 1 2 ...) and twice.npy (2 x).
struct Setup {
  Folder folder;
  std::string object;
  std::string x;
  std::string twice;

  explicit Setup(const std::vector<std::pair<std::string, Behaviour>>& entries = {{"scale", Behaviour::Good}}) {
    object = folder.write("scale.ptobin", as_text(object::write(sample_object(entries))));
    std::vector<float> values(3 * 64);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i);
    }
    x = "x=@" + folder.write("x.npy", npy_text(DType::F32, {3, 64}, values));
    for (float& value : values) {
      value *= 2;
    }
    twice = "y=@" + folder.write("twice.npy", npy_text(DType::F32, {3, 64}, values));
  }
};

}  // namespace

TEST_CASE("cli: values, time, outputs and comparison in one run") {
  const Setup setup;
  const Outcome outcome =
      call({setup.object, "--in", setup.x, "--out", "y=@" + setup.folder / "y.npy", "--expect", setup.twice});
  INFO(outcome.err);
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.out.empty());  // nothing was asked for
  CHECK(has(outcome.err, "scale: "));
  CHECK(has(outcome.err, " cycles, "));
  CHECK(has(outcome.err, "busiest pipe "));
  CHECK(has(outcome.err, "twice.npy, 192 values, max abs error 0"));
  CHECK(setup.folder.read("y.npy") == setup.folder.read("twice.npy"));
  CHECK(setup.folder.files() == 4);
  // What was written is a golden for the next run, and options may stand in any order and form.
  CHECK(
      call({"--expect=y=@" + setup.folder / "y.npy", "--in=" + setup.x, "--threads=2", "--", setup.object}).exit_code ==
      0);
}

TEST_CASE("cli: scalars and their defaults") {
  const Setup setup;
  CHECK(call({setup.object, "--in", setup.x, "--in", "s=2", "--expect", setup.twice}).exit_code == 0);
  CHECK(call({setup.object, "--in", setup.x, "--in", "s=2e0", "--expect", setup.twice}).exit_code == 0);
  expect({setup.object, "--in", setup.x, "--in", "s=3", "--expect", setup.twice}, 3,
         "191 of 192 values, first at [0, 1]: expected 2, got 3");
  expect({setup.object, "--in", setup.x, "--in", "s=two"}, 1, "E0639");
  expect({setup.object, "--in", setup.x, "--in", "s=@x.npy"}, 1, "E0639");
}

TEST_CASE("cli: a failed comparison writes the outputs and the report") {
  const Setup setup;
  const std::string y = setup.folder / "y.npy";
  const std::string json = setup.folder / "report.json";
  const Outcome outcome = call(
      {setup.object, "--in", setup.x, "--in", "s=1", "--out", "y=@" + y, "--expect", setup.twice, "--json=" + json});
  INFO(outcome.err);
  CHECK(outcome.exit_code == 3);
  CHECK(has(outcome.err, "error[E0650]: `y` differs from"));
  CHECK(has(outcome.err, "max abs error 191"));
  CHECK(setup.folder.read("y.npy") == setup.folder.read("x.npy"));
  CHECK(has(setup.folder.read("report.json"), "\"status\": \"mismatch\""));
  CHECK(has(setup.folder.read("report.json"), "\"mismatches\": 191"));
  // With a tolerance it passes.
  CHECK(call({setup.object, "--in", setup.x, "--in", "s=1", "--expect", setup.twice, "--rtol", "0.5"}).exit_code == 0);
  CHECK(call({setup.object, "--in", setup.x, "--in", "s=1", "--expect", setup.twice, "--rtol=0", "--atol=191"})
            .exit_code == 0);
  CHECK(call({setup.object, "--in", setup.x, "--in", "s=1", "--expect", setup.twice, "--rtol=0", "--atol=190"})
            .exit_code == 3);
}

TEST_CASE("cli: NaN in a result is told apart") {
  const Setup setup;
  std::vector<float> values(3 * 64, 1);
  values[70] = std::numeric_limits<float>::quiet_NaN();
  const std::string nan = setup.folder.write("nan.npy", npy_text(DType::F32, {3, 64}, values));
  expect({setup.object, "--in", "x=@" + nan, "--in", "s=2", "--expect", setup.twice, "--rtol=1e9"}, 3,
         "1 value NaN where the golden array has a number");
  expect({setup.object, "--in", "x=@" + nan, "--in", "s=1", "--expect", "y=@" + nan}, 3,
         "`--nan-equal` lets NaN equal NaN");
  CHECK(call({setup.object, "--in", "x=@" + nan, "--in", "s=1", "--expect", "y=@" + nan, "--nan-equal"}).exit_code ==
        0);
}

TEST_CASE("cli: golden of another shape or type") {
  const Setup setup;
  const std::string small = setup.folder.write("small.npy", npy_text(DType::F32, {2, 64}, std::vector<float>(128)));
  expect({setup.object, "--in", setup.x, "--expect", "y=@" + small}, 3, "its shape is [3, 64], expected is [2, 64]");
  const std::string ints = setup.folder.write("ints.npy", npy_text(DType::I32, {3, 64}, std::vector<float>(192)));
  expect({setup.object, "--in", setup.x, "--expect", "y=@" + ints}, 1, "E0632");
  expect({setup.object, "--in", "x=@" + ints}, 1, "error[E0631]: `x` has elements of type f32, the file has i32");
}

TEST_CASE("cli: generators and shapes on the command line") {
  const Setup setup;
  CHECK(call({setup.object, "--in", "x=f32[5,64]:randn(seed=1)"}).exit_code == 0);
  CHECK(call({setup.object, "--in", "x=f32[M,64]:ones", "--dim", "M=7"}).exit_code == 0);
  CHECK(call({setup.object, "--in", "x=f32[3,64]@" + setup.folder / "x.npy"}).exit_code == 0);
  expect({setup.object, "--in", "x=f32[4,64]@" + setup.folder / "x.npy"}, 1,
         "it has shape [3, 64], `--in` says [4, 64]");
  expect({setup.object, "--in", "x=f16[3,64]:ones"}, 1, "its elements are of another type");
  expect({setup.object, "--in", "x=f32[3,64]"}, 1, "only with `--mode=time`");
  expect({setup.object, "--in", "x=x.npy"}, 1, "error[E0634]: `x.npy`: an array is `@FILE.npy` or");
  expect({setup.object, "--in", "x=f32[3,64]:rnd"}, 1, "did you mean `rand`?");
  expect({setup.object, "--in", "x=f32[3,65]:ones"}, 1, "error[E0605]");
  expect({setup.object, "--in", "x=f32[65,64]:ones"}, 1, "M <= 64");
  expect({setup.object, "--in", "x=f32[100000,100000]:ones"}, 1, "E0633");
}

TEST_CASE("cli: names that are wrong, missing or double") {
  const Setup setup;
  expect({setup.object}, 1, "error[E0637]: no value for parameter `x` of type f32[M, 64]");
  expect({setup.object}, 1, "`--in x=f32[...]:randn(seed=1)`");
  expect({setup.object, "--in", setup.x, "--in", "xs=1"}, 1, "did you mean `x`?");
  expect({setup.object, "--in", setup.x, "--in", "weight=1"}, 1, "there are `x`, `s`, `y`");
  expect({setup.object, "--in", setup.x, "--in", setup.x}, 2, "error[E0636]: the value of `x` is given twice");
  expect({setup.object, "--in", setup.x, "--out", "y=@a", "--out", "y=@b"}, 2, "`y` is given twice");
  expect({setup.object, "--in", setup.x, "--in", "y=f32[3,64]:ones"}, 1, "error[E0638]: `y` is an output of `scale`");
  expect({setup.object, "--in", setup.x, "--out", "x=@a.npy"}, 1, "`x` is an input of `scale`");
  expect({setup.object, "--in", setup.x, "--expect", "s=@a.npy"}, 1, "`s` is an input of `scale`");
  expect({setup.object, "--in", setup.x, "--expect", "z=@a.npy"}, 1, "E0635");
  expect({setup.object, "--in", setup.x, "--dim", "K=3"}, 1, "`scale` has no dim `K`");
  expect({setup.object, "--in", setup.x, "--dim", "M=x"}, 1, "it is not a size");
  expect({setup.object, "--in", setup.x, "--dim", "M=4"}, 1, "E06");
  // All problems in one go.
  const Outcome outcome = call({setup.object, "--in", "a=1", "--out", "b=@b.npy", "--dim", "C=1"});
  CHECK(has(outcome.err, "`a`"));
  CHECK(has(outcome.err, "`b`"));
  CHECK(has(outcome.err, "`C`"));
}

TEST_CASE("cli: usage errors") {
  const Setup setup;
  expect({}, 2, "no object is given");
  expect({setup.object, "b.ptobin"}, 2, "one object is run at a time");
  expect({setup.object, "--inn", "x=1"}, 2, "did you mean `--in`?");
  expect({setup.object, "--sats"}, 2, "did you mean `--stats`?");
  expect({setup.object, "--mode=fast"}, 2, "`--mode` is one of `both`, `values`, `time`, not `fast`");
  expect({setup.object, "--mode=tiem"}, 2, "did you mean `time`?");
  expect({setup.object, "--threads=0"}, 2, "from 1 to 1024");
  expect({setup.object, "--threads=many"}, 2, "from 1 to 1024");
  expect({setup.object, "--max-cycles=-1"}, 2, "`--max-cycles` takes");
  expect({setup.object, "--rtol=abc"}, 2, "`--rtol` takes a number");
  expect({setup.object, "--rtol=-1"}, 2, "`--rtol` takes a number");
  expect({setup.object, "--atol=nan"}, 2, "`--atol` takes a number");
  expect({setup.object, "--in", "x"}, 2, "is not of the form NAME=VALUE");
  expect({setup.object, "--in", "=3"}, 2, "is not of the form NAME=VALUE");
  expect({setup.object, "--out", "y=y.npy"}, 2, "write `--out y=@FILE.npy`");
  expect({setup.object, "--out", "y=@-"}, 2, "is no file");
  expect({setup.object, "--in"}, 2, "E0910");
  expect({setup.object, "--entry", "a", "--entry", "b"}, 2, "`--entry` is given 2 times");
  expect({setup.object, "--mode=time", "--out", "y=@y.npy"}, 2, "computes no values: `--out`");
  expect({setup.object, "--mode=time", "--expect", "y=@y.npy"}, 2, "computes no values: `--expect`");
  expect({setup.object, "--mode=values", "--trace", "t.json"}, 2, "has no time: `--trace`");
  expect({setup.object, "--mode=values", "--stats"}, 2, "has no time: `--stats`");
  expect({setup.object, "--mode=values", "--max-cycles=5"}, 2, "has no time: `--max-cycles`");
  expect({setup.object, "--stats", "--json"}, 2, "both print to standard output");
  expect({setup.object, "--trace", "a", "--json=./a"}, 2, "two results would be written");
  expect({setup.object, "--out", "y=@t", "--trace=t"}, 2, "two results would be written");
}

TEST_CASE("cli: help and version go to standard output") {
  for (const char* flag : {"--help", "-h"}) {
    const Outcome outcome = call({flag});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.err.empty());
    for (const char* option :
         {"--in",   "--out",        "--expect",       "--rtol",  "--atol",    "--nan-equal", "--entry",
          "--list", "--threads",    "--mode",         "--stats", "--json",    "--trace",     "--target",
          "--dim",  "--max-cycles", "--error-format", "--color", "--version", "randint",     "Exit codes"}) {
      CHECK(has(outcome.out, option));
    }
  }
  const Outcome version = call({"--version"});
  CHECK(version.exit_code == 0);
  CHECK(version.out.substr(0, 7) == "ptorun ");
}

TEST_CASE("cli: list") {
  const Setup setup({{"scale", Behaviour::Good}, {"other", Behaviour::Good}});
  const Outcome outcome = call({setup.object, "--list"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  for (const char* part : {"for target unit (", "entry scale[M]\n  Multiplies by a number.\n",
                           "in      x: f32[M, 64]  what to multiply\n", "scalar  s: f32 = 2     the number\n",
                           "out     y: f32[M, 64]\n", "where M <= 64\n", "task t0 = scale_core (vec), blocks 1\n",
                           "entry other[M]\n", "core vec scale_core: 7 instructions, 2 buffers\n"}) {
    INFO(part);
    CHECK(has(outcome.out, part));
  }
  const Outcome json = call({setup.object, "--list", "--json"});
  CHECK(has(json.out, "\"schema\": \"ptorun-list/1\""));
  CHECK(has(json.out, "\"name\": \"other\""));
  CHECK(call({setup.object, "--list", "--json=" + setup.folder / "list.json"}).out.empty());
  CHECK(setup.folder.read("list.json") == json.out);
}

TEST_CASE("cli: a task of a pair") {
  // `scale` on one lane beside a cube core that does nothing, with a ring that nobody uses.
  object::Object object = sample_object({{"scale", Behaviour::Good}});
  object::Core idle;
  idle.name = "idle";
  idle.kind = CoreKind::Cube;
  idle.rings = {{"s", isa::RingDirection::C2V, DType::F32, 32, 32, 2, isa::Split::None}};
  object.cores[0].rings = idle.rings;
  object.cores.push_back(idle);
  object::Task& task = object.programs[0].tasks[0];
  task.vec = object::TaskLanes{0, task.args, task.dims, 1};
  task.core = 1;
  task.args.clear();
  task.dims.clear();
  const Setup setup;
  const std::string pair = setup.folder.write("pair.ptobin", as_text(object::write(object)));
  const Outcome text = call({pair, "--list"});
  INFO(text.out << text.err);
  CHECK(has(text.out, "task t0 = idle (cube) with scale_core (1 lane), blocks 1\n"));
  CHECK(has(text.out, "core cube idle: 0 instructions, 0 buffers, 1 ring\n"));
  const Outcome json = call({pair, "--list", "--json"});
  CHECK(has(json.out, "\"rings\": 1"));
  CHECK(has(json.out, "\"count\": 1"));
  const Outcome run =
      call({pair, "--in", setup.x, "--expect", setup.twice, "--stats", "--json=" + setup.folder / "r.json"});
  INFO(run.err);
  CHECK(run.exit_code == 0);
  CHECK(has(run.out, " ring "));
  CHECK(has(setup.folder.read("r.json"), "\"ring\": 0"));
}

TEST_CASE("cli: entries") {
  const Setup setup({{"scale", Behaviour::Good}, {"other", Behaviour::Good}});
  expect({setup.object, "--in", setup.x}, 1, "error[E0641]: the object has 2 entries: `scale`, `other`");
  expect({setup.object, "--in", setup.x, "--entry", "scael"}, 1, "did you mean `scale`?");
  CHECK(call({setup.object, "--in", setup.x, "--entry", "other", "--expect", setup.twice}).exit_code == 0);
  object::Object none = sample_object({});
  const std::string empty = setup.folder.write("none.ptobin", as_text(object::write(none)));
  expect({empty}, 1, "E0642");
}

TEST_CASE("cli: modes") {
  const Setup setup;
  const Outcome values = call({setup.object, "--in", setup.x, "--mode=values", "--expect", setup.twice, "--json"});
  INFO(values.err << values.out);
  CHECK(values.exit_code == 0);
  CHECK(!has(values.err, "cycles"));
  CHECK(!has(values.out, "\"cycles\""));
  const Outcome both = call({setup.object, "--in", setup.x, "--json"});
  const Outcome time = call({setup.object, "--mode=time", "--dim", "M=3", "--json"});
  INFO(time.err);
  CHECK(time.exit_code == 0);
  const auto cycles = [](const std::string& json) {
    const size_t at = json.find("\"cycles\": ");
    return at == std::string::npos ? "none" : json.substr(at, json.find(',', at) - at);
  };
  CHECK(cycles(both.out) != "none");
  CHECK(cycles(both.out) == cycles(time.out));
  CHECK(call({setup.object, "--mode=time", "--in", "x=f32[3,64]"}).err == time.err);
  CHECK(call({setup.object, "--mode=time", "--in", "x=f32[3,64]:randn(seed=1)"}).err == time.err);
  CHECK(call({setup.object, "--mode=time", "--in", setup.x}).err == time.err);
  expect({setup.object, "--mode=time"}, 1, "E0637");
}

TEST_CASE("cli: reports") {
  const Setup setup;
  const std::string trace = setup.folder / "t.json";
  const Outcome stats = call({setup.object, "--in", setup.x, "--stats", "--trace", trace});
  INFO(stats.err);
  CHECK(stats.exit_code == 0);
  CHECK(has(stats.out, "mte2"));
  CHECK(has(setup.folder.read("t.json"), "tmuls"));
  const Outcome json = call({setup.object, "--in", setup.x, "--json", "--expect", setup.twice});
  for (const char* key : {"\"schema\": \"ptorun/1\"", "\"entry\": \"scale\"", "\"target\": \"unit\"",
                          "\"mode\": \"both\"", "\"status\": \"ok\"", "\"dims\"", "\"M\": 3", "\"microseconds\"",
                          "\"instructions\"", "\"gm_read_bytes\": 768", "\"busiest\"", "\"utilisation\"", "\"stalls\"",
                          "\"tasks\"", "\"expect\"", "\"match\": true", "\"max_ulp\": 0"}) {
    INFO(key << "\n" << json.out);
    CHECK(has(json.out, key));
  }
  // Tracing and the number of threads change nothing.
  const Outcome traced = call({setup.object, "--in", setup.x, "--trace", trace, "--threads=3"});
  CHECK(traced.err == stats.err);
}

TEST_CASE("cli: faults, deadlocks and limits have exit codes of their own and leave no file") {
  const Setup setup({{"scale", Behaviour::Good}, {"outside", Behaviour::OutOfBounds}, {"stuck", Behaviour::Deadlock}});
  const size_t files = setup.folder.files();
  const std::vector<std::string> results = {"--in",
                                            setup.x,
                                            "--out",
                                            "y=@" + setup.folder / "y.npy",
                                            "--json=" + setup.folder / "r.json",
                                            "--trace=" + setup.folder / "t.json"};
  const auto run = [&](std::vector<std::string> args) {
    args.push_back(setup.object);
    args.insert(args.end(), results.begin(), results.end());
    return args;
  };
  expect(run({"--entry=outside"}), 4, "scale.pto:10:5");
  expect(run({"--entry=stuck"}), 5, "E07");
  expect(run({"--entry=scale", "--max-cycles=1"}), 5, "E0714");
  expect(run({"--entry=nothing"}), 1, "E0640");
  CHECK(setup.folder.files() == files);
  CHECK(call(run({"--entry=scale"})).exit_code == 0);
  CHECK(setup.folder.files() == files + 3);
}

TEST_CASE("cli: results that can't be written leave the others unwritten") {
  const Setup setup;
  const size_t files = setup.folder.files();
  const std::string y = "y=@" + setup.folder / "y.npy";
  expect({setup.object, "--in", setup.x, "--out", y, "--json=" + setup.folder / "no/such/folder.json"}, 1, "E0902");
  std::filesystem::create_directory(setup.folder / "folder");
  expect({setup.object, "--in", setup.x, "--out", y, "--json=" + setup.folder / "folder"}, 1, "E0902");
  CHECK(setup.folder.files() == files + 1);
  CHECK(call({setup.object, "--in", setup.x, "--out", "y=@/dev/null"}).exit_code == 0);
  CHECK(call({setup.object, "--in", setup.x, "--json=/dev/full"}).exit_code == 1);
}

TEST_CASE("cli: objects that are none") {
  const Setup setup;
  const std::string good = setup.folder.read("scale.ptobin");
  expect({setup.folder / "absent.ptobin"}, 1, "absent.ptobin: error[E0901]");
  expect({setup.folder / "."}, 1, "E0901");
  expect({setup.folder.write("empty.ptobin", "")}, 1, "error[E050");
  expect({setup.folder.write("short.ptobin", good.substr(0, good.size() / 2))}, 1, "error[E050");
  expect({setup.folder.write("text.ptobin", "kernel add[M](x: f32[M]) {}")}, 1, "error[E0501]");
  expect({setup.folder / "x.npy"}, 1, "error[E0501]");
  expect({setup.object, "--in", "x=@" + setup.folder / "absent.npy"}, 1, "absent.npy: error[E0901]");
  expect({setup.object, "--in", "x=@" + setup.folder / "."}, 1, "error[E0901]");
  expect({setup.object, "--in", "x=@" + setup.object}, 1, "error[E0630]");
  expect({setup.object, "--in", setup.x, "--expect", "y=@" + setup.object}, 1, "error[E0630]");
}

TEST_CASE("cli: the target must be the one that the object was made for") {
  const Setup setup;
  expect({setup.object, "--in", setup.x, "--target", "a2a3"}, 1, "error[E0504]: the object was made for target `unit`");
  expect({setup.object, "--in", setup.x, "--target", "a9"}, 1, "error[E0801]");
  expect({setup.object, "--in", setup.x, "--target", setup.folder / "no.json"}, 1, "error[E0901]");
  expect({setup.object, "--in", setup.x, "--target", setup.folder.write("bad.json", "{")}, 1, "error[E0802]");
  CHECK(call({setup.object, "--in", setup.x, "--target", "unit"}).exit_code == 0);
  DiagnosticSink sink;
  const Result<Target> unit = builtin_target("unit", sink);
  REQUIRE(unit.ok());
  const std::string file = setup.folder.write("unit.json", unit->json);
  CHECK(call({setup.object, "--in", setup.x, "--target", file}).exit_code == 0);
}

TEST_CASE("cli: how errors are printed") {
  const Setup setup;
  const Outcome json = call({setup.object, "--error-format=json"});
  CHECK(json.exit_code == 1);
  CHECK(json.err.substr(0, 16) == "{\"code\":\"E0637\",");
  CHECK(call({setup.object, "--error-format=json", "--nosuch"}).err.substr(0, 16) == "{\"code\":\"E0910\",");
  const auto coloured = [&](const std::vector<std::string>& more, const Terminal& terminal) {
    std::vector<std::string> args = {setup.object};
    args.insert(args.end(), more.begin(), more.end());
    return has(call(args, terminal).err, "\x1b[");
  };
  CHECK(!coloured({}, {}));
  CHECK(coloured({}, {true, false}));
  CHECK(!coloured({}, {true, true}));
  CHECK(coloured({"--color=always"}, {false, true}));
  CHECK(!coloured({"--color=never"}, {true, false}));
}

TEST_CASE("cli: standard output that is full") {
  const Setup setup;
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  CHECK(run_cli({setup.object, "--list"}, out, err) == 1);
  CHECK(has(err.str(), "E0902"));
}

TEST_CASE("cli: mutated command lines and objects end with a documented exit code") {
  const Setup setup;
  const std::string good = setup.folder.read("scale.ptobin");
  std::mt19937_64 random(7);
  const auto documented = [](int exit_code) { return exit_code >= 0 && exit_code <= 5; };
  const std::string path = setup.folder / "mutated.ptobin";
  for (int round = 0; round < 500; ++round) {
    std::string bytes = good;
    for (uint64_t edit = 0; edit < 1 + random() % 4; ++edit) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 8 == 0) {
      bytes.resize(random() % bytes.size());
    }
    setup.folder.write("mutated.ptobin", bytes);
    const Outcome outcome = call({path, "--in", setup.x, "--max-cycles=1000000", "--threads=1"});
    REQUIRE(documented(outcome.exit_code));
    REQUIRE((outcome.exit_code == 0 || has(outcome.err, "error[E")));
    REQUIRE(documented(call({path, "--list"}).exit_code));
  }
  const std::vector<std::string> pieces = {
      "--in",          setup.x,       "x=f32[2,64]:ones", "--dim",   "M=2", "M=0", "--mode=time",
      "--mode=values", "--json",      "--list",           "--stats", "--",  "-",   "--entry",
      "scale",         "--expect",    setup.twice,        "--rtol",  "1",   "=",   "@",
      "--in=",         "--nan-equal", "--threads",        "2",       "",    "-x",  "--json=",
      "--color",       "\xff",        "--max-cycles=3"};
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::string> args;
    for (uint64_t i = 0; i < random() % 7; ++i) {
      args.push_back(pieces[random() % pieces.size()]);
    }
    // `-` would read the test's own standard input.
    std::replace(args.begin(), args.end(), std::string("-"), std::string("--version"));
    args.insert(args.begin() + static_cast<std::ptrdiff_t>(random() % (args.size() + 1)), setup.object);
    const Outcome outcome = call(args);
    REQUIRE(documented(outcome.exit_code));
    REQUIRE((outcome.exit_code == 0 || has(outcome.err, "error[E") || has(outcome.err, "{\"code\"")));
  }
}
