// Output files appear together or not at all.
#include "runtime/io/staged_files.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/unit/ptorun_cli/sample_object.h"

using namespace pto;
using namespace pto::runtime::io;
using pto::ptorun::testing::Folder;

TEST_CASE("staged files: nothing before commit, everything after") {
  const Folder folder;
  folder.write("a", "old");
  DiagnosticSink sink;
  {
    StagedFiles files;
    REQUIRE(files.stage(folder / "a", "new", sink));
    REQUIRE(files.stage(folder / "b", "", sink));
    CHECK(folder.read("a") == "old");
    CHECK(!folder.has("b"));
    REQUIRE(files.commit(sink));
  }
  CHECK(folder.read("a") == "new");
  CHECK(folder.has("b"));
  CHECK(folder.files() == 2);
  CHECK(!sink.has_errors());
}

TEST_CASE("staged files: without commit nothing is left") {
  const Folder folder;
  folder.write("a", "old");
  DiagnosticSink sink;
  {
    StagedFiles files;
    REQUIRE(files.stage(folder / "a", "new", sink));
    CHECK(!files.stage(folder / "no/b", "new", sink));
    CHECK(!files.stage(folder / ".", "new", sink));
  }
  CHECK(folder.read("a") == "old");
  CHECK(folder.files() == 1);
  REQUIRE(sink.error_count() == 2);
  CHECK(sink.all()[0].message.find("no/b`: No such file or directory") != std::string::npos);
}

TEST_CASE("staged files: links stay links, and other people's temporary files are left alone") {
  const Folder folder;
  folder.write("target", "old");
  std::filesystem::create_symlink(folder / "target", folder / "link");
  const std::string squatter = "target.tmp" + std::to_string(::getpid()) + "-0";
  folder.write(squatter, "mine");
  DiagnosticSink sink;
  StagedFiles files;
  REQUIRE(files.stage(folder / "link", "new", sink));
  REQUIRE(files.commit(sink));
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(folder.read("target") == "new");
  CHECK(folder.read(squatter) == "mine");
  CHECK(folder.files() == 3);
}

TEST_CASE("staged files: devices are written to") {
  DiagnosticSink sink;
  StagedFiles null;
  CHECK(null.stage("/dev/null", "bytes", sink));
  CHECK(null.commit(sink));
  StagedFiles full;
  CHECK(full.stage("/dev/full", "bytes", sink));
  CHECK(!full.commit(sink));
  REQUIRE(sink.error_count() == 1);
  CHECK(sink.all()[0].message.find("No space left") != std::string::npos);
}
