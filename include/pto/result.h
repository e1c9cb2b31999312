// `Result<T>`: a value, or the fact that an error was already reported to a `DiagnosticSink`. Nobody reports twice, and
// no function of ours throws. `PTO_CHECK` is for our own bugs only: it ends the process with an internal error (exit 70).
#pragma once

#include <optional>
#include <utility>

namespace pto {

// Returned by a function that has already told the sink what is wrong.
struct Reported {};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;` is the point
  Result(Reported) {}                            // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
};

// Prints the banner of an internal error to stderr and ends the process with exit code 70.
[[noreturn]] void internal_error(const char* file, int line, const char* what);

#define PTO_CHECK(condition, what)                       \
  do {                                                   \
    if (!(condition)) {                                  \
      ::pto::internal_error(__FILE__, __LINE__, (what)); \
    }                                                    \
  } while (false)

}  // namespace pto
