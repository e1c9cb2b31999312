#include "src/support/fs.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace pto {
namespace {

namespace fs = std::filesystem;

// A folder of its own, gone at the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "pto_fs_test_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
  }
};

}  // namespace

TEST_CASE("what was written is read, and nothing else is left") {
  const Folder folder;
  DiagnosticSink sink;
  const std::string bytes("a\0b\xFF\n", 5);
  REQUIRE(write_file_atomic(folder.file("x.bin"), bytes, sink));
  REQUIRE(write_file_atomic(folder.file("x.bin"), bytes + bytes, sink));
  const auto read = read_file(folder.file("x.bin"), 10, sink);
  REQUIRE(read);
  CHECK(*read == bytes + bytes);
  CHECK(folder.entries() == 1);
  CHECK_FALSE(sink.has_errors());
}

TEST_CASE("reads are bounded") {
  const Folder folder;
  DiagnosticSink sink;
  REQUIRE(write_file_atomic(folder.file("x.bin"), std::string(100, 'x'), sink));
  CHECK(read_file(folder.file("x.bin"), 100, sink));
  CHECK_FALSE(read_file(folder.file("x.bin"), 99, sink));
  REQUIRE(sink.all().size() == 1);
  CHECK(sink.all()[0].message == "can't read the file: it has more than 99 bytes");
  CHECK_FALSE(read_file("/dev/zero", 1 << 20, sink));
}

TEST_CASE("unreadable files are reported with their name") {
  const Folder folder;
  DiagnosticSink sink;
  CHECK_FALSE(read_file(folder.file("missing"), 100, sink));
  CHECK_FALSE(read_file(folder.path.string(), 100, sink));
  REQUIRE(sink.all().size() == 2);
  CHECK(sink.all()[0].subject == folder.file("missing"));
  CHECK(sink.all()[0].message == "can't read the file: No such file or directory");
  CHECK(sink.all()[1].message == "can't read the file: Is a directory");
}

TEST_CASE("a failed write leaves nothing behind and the old file as it was") {
  const Folder folder;
  DiagnosticSink sink;
  CHECK_FALSE(write_file_atomic(folder.file("no/such/x"), "new", sink));
  fs::create_directory(folder.path / "d");
  CHECK_FALSE(write_file_atomic(folder.file("d"), "new", sink));
  CHECK(folder.entries() == 1);
  CHECK(fs::is_directory(folder.path / "d"));
  REQUIRE(sink.all().size() == 2);
  CHECK(sink.all()[0].code() == "E0902");
}

TEST_CASE("links stay links and devices stay devices") {
  const Folder folder;
  DiagnosticSink sink;
  REQUIRE(write_file_atomic(folder.file("real"), "old", sink));
  fs::create_symlink("real", folder.path / "link");
  REQUIRE(write_file_atomic(folder.file("link"), "new", sink));
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(*read_file(folder.file("real"), 10, sink) == "new");
  CHECK(write_file_atomic("/dev/null", "gone", sink));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a foreign temporary file is not touched") {
  const Folder folder;
  DiagnosticSink sink;
  const std::string temporary = folder.file("x.tmp" + std::to_string(::getpid()) + "-0");
  std::ofstream(temporary) << "mine";
  REQUIRE(write_file_atomic(folder.file("x"), "new", sink));
  CHECK(*read_file(temporary, 10, sink) == "mine");
  CHECK(*read_file(folder.file("x"), 10, sink) == "new");
}

}  // namespace pto
