#include "runtime/io/staged_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace pto::runtime::io {
namespace {

bool fail(const std::string& path, int error, DiagnosticSink& sink) {
  sink.report(DiagId::CannotWrite, std::string(), {path, std::generic_category().message(error)});
  return false;
}

// Writes everything and closes; 0 or an errno.
int write_and_close(int descriptor, std::string_view bytes) {
  int error = 0;
  while (error == 0 && !bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  const int closed = ::close(descriptor) == 0 ? 0 : errno;
  return error != 0 ? error : closed;
}

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

// A descriptor of a new file beside `target`, whose name goes to `name`; -1 and errno on failure.
int open_temporary(const std::string& target, std::string& name) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    name = target + ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(i);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) {
      return descriptor;
    }
  }
  return -1;
}

}  // namespace

StagedFiles::~StagedFiles() {
  for (const File& file : files_) {
    if (!file.temporary.empty()) {
      ::unlink(file.temporary.c_str());
    }
  }
}

bool StagedFiles::stage(const std::string& path, std::string_view bytes, DiagnosticSink& sink) {
  File file{path, resolve_link(path), {}, {}};
  struct stat info {};
  const bool exists = ::stat(file.target.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return fail(path, EISDIR, sink);
  }
  if (exists && !S_ISREG(info.st_mode)) {
    file.bytes = bytes;
    files_.push_back(std::move(file));
    return true;
  }
  const int descriptor = open_temporary(file.target, file.temporary);
  if (descriptor < 0) {
    return fail(path, errno, sink);
  }
  files_.push_back(std::move(file));  // from here on removed if not committed
  const int error = write_and_close(descriptor, bytes);
  return error == 0 || fail(path, error, sink);
}

bool StagedFiles::commit(DiagnosticSink& sink) {
  for (File& file : files_) {
    int error = 0;
    if (file.temporary.empty()) {
      const int descriptor = ::open(file.target.c_str(), O_WRONLY | O_CLOEXEC);
      error = descriptor < 0 ? errno : write_and_close(descriptor, file.bytes);
    } else if (std::rename(file.temporary.c_str(), file.target.c_str()) != 0) {
      error = errno;
    }
    if (error != 0) {
      return fail(file.path, error, sink);
    }
    file.temporary.clear();
  }
  files_.clear();
  return true;
}

}  // namespace pto::runtime::io
