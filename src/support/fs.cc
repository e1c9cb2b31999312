#include "src/support/fs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <system_error>

namespace pto {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

// Closes at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number, bool owned = true) : number_(number), owned_(owned) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  // 0, or the error that the system reports only now.
  int close() {
    const int result = owned_ && number_ >= 0 ? ::close(number_) : 0;
    number_ = -1;
    return result == 0 ? 0 : errno;
  }

 private:
  int number_;
  bool owned_;
};

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return errno;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Where the bytes go in the end: what a link points to, so that the link stays.
std::string resolve_link(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_symlink(path, error)) {
    const std::filesystem::path target = std::filesystem::canonical(path, error);
    if (!error) {
      return target.string();
    }
  }
  return path;
}

bool is_special(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

int write_directly(const std::string& path, std::string_view bytes) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.number() < 0) {
    return errno;
  }
  const int error = write_all(file.number(), bytes);
  const int close_error = file.close();
  return error != 0 ? error : close_error;
}

int write_and_rename(const std::string& path, std::string_view bytes) {
  // A name that exists already belongs to somebody else: try the next.
  constexpr int kAttempts = 100;
  std::string temporary;
  int number = -1;
  for (int i = 0; i < kAttempts && number < 0; ++i) {
    temporary = path + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(i);
    number = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number < 0 && errno != EEXIST) {
      return errno;
    }
  }
  if (number < 0) {
    return EEXIST;
  }
  Descriptor file(number);
  int error = write_all(file.number(), bytes);
  const int close_error = file.close();
  error = error != 0 ? error : close_error;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    ::unlink(temporary.c_str());
  }
  return error;
}

}  // namespace

Result<std::string> read_file(const std::string& path, int64_t max_bytes, DiagnosticSink& sink) {
  const bool standard_input = path == "-";
  const std::string subject = standard_input ? "<stdin>" : path;
  Descriptor file(standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC), !standard_input);
  if (file.number() < 0) {
    sink.report(DiagId::CannotRead, subject, {reason(errno)});
    return Reported{};
  }
  std::string bytes;
  std::array<char, 1 << 16> chunk;
  while (true) {
    const ssize_t count = ::read(file.number(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      sink.report(DiagId::CannotRead, subject, {reason(errno)});
      return Reported{};
    }
    if (count == 0) {
      return bytes;
    }
    bytes.append(chunk.data(), static_cast<size_t>(count));
    if (static_cast<int64_t>(bytes.size()) > max_bytes) {
      sink.report(DiagId::CannotRead, subject, {"it has more than " + std::to_string(max_bytes) + " bytes"});
      return Reported{};
    }
  }
}

bool write_file_atomic(const std::string& path, std::string_view bytes, DiagnosticSink& sink) {
  const std::string target = resolve_link(path);
  const int error = is_special(target) ? write_directly(target, bytes) : write_and_rename(target, bytes);
  if (error != 0) {
    sink.report(DiagId::CannotWrite, std::string(), {path, reason(error)});
  }
  return error == 0;
}

}  // namespace pto
