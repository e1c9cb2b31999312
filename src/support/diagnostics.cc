#include "pto/diagnostics.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pto/result.h"

namespace pto {
namespace {

// A hostile file can have an error in every byte; more than these are counted but not kept.
constexpr size_t kMostKept = 1000;
// The index of a handle to a diagnostic that was not kept.
constexpr size_t kNotKept = std::numeric_limits<size_t>::max();

std::string fill(std::string_view format, std::initializer_list<std::string> args) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    const bool placeholder = format[i] == '{' && i + 2 < format.size() && format[i + 2] == '}' &&
                             format[i + 1] >= '0' && format[i + 1] <= '9';
    if (!placeholder) {
      out += format[i];
      continue;
    }
    const auto index = static_cast<size_t>(format[i + 1] - '0');
    PTO_CHECK(index < args.size(), "a diagnostic has too few arguments");
    out += args.begin()[index];
    i += 2;
  }
  return out;
}

std::vector<DiagInfo> sorted_catalogue() {
  std::vector<DiagInfo> rows = {
#define PTO_DIAG(Name, number, severity, format) {DiagId::Name, #Name, number, Severity::severity, format},
#include "pto/diag.def"
  };
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return rows;
}

}  // namespace

const std::vector<DiagInfo>& all_diagnostics() {
  static const std::vector<DiagInfo> rows = sorted_catalogue();
  return rows;
}

const DiagInfo& diag_info(DiagId id) {
  const std::vector<DiagInfo>& rows = all_diagnostics();
  const auto found = std::lower_bound(rows.begin(), rows.end(), static_cast<int>(id),
                                      [](const DiagInfo& row, int number) { return row.number < number; });
  PTO_CHECK(found != rows.end() && found->id == id, "a diagnostic that the catalogue doesn't have");
  return *found;
}

std::string Diagnostic::code() const {
  constexpr char kLetters[] = {'E', 'W', 'R'};
  std::string digits = std::to_string(static_cast<int>(id));
  if (digits.size() < 4) {
    digits.insert(0, 4 - digits.size(), '0');
  }
  return kLetters[static_cast<size_t>(severity)] + digits;
}

DiagnosticSink::Handle& DiagnosticSink::Handle::note(Span span, std::string text) {
  if (index_ != kNotKept) {
    sink_.diagnostics_[index_].notes.push_back({span, std::move(text), false});
  }
  return *this;
}

DiagnosticSink::Handle& DiagnosticSink::Handle::help(std::string text) {
  if (index_ != kNotKept) {
    sink_.diagnostics_[index_].notes.push_back({{}, std::move(text), true});
  }
  return *this;
}

DiagnosticSink::Handle DiagnosticSink::report(DiagId id, Span span, std::initializer_list<std::string> args) {
  const DiagInfo& info = diag_info(id);
  return add({id, info.severity, span, {}, fill(info.format, args), {}});
}

DiagnosticSink::Handle DiagnosticSink::report(DiagId id, const std::string& subject,
                                              std::initializer_list<std::string> args) {
  const DiagInfo& info = diag_info(id);
  return add({id, info.severity, {}, subject, fill(info.format, args), {}});
}

DiagnosticSink::Handle DiagnosticSink::add(Diagnostic diagnostic) {
  for (const Diagnostic& earlier : diagnostics_) {
    if (earlier.id == diagnostic.id && earlier.span == diagnostic.span && earlier.subject == diagnostic.subject &&
        earlier.message == diagnostic.message) {
      return {*this, kNotKept};
    }
  }
  if (diagnostic.severity == Severity::Error) {
    ++error_count_;
  }
  if (diagnostics_.size() >= kMostKept) {
    return {*this, kNotKept};
  }
  diagnostics_.push_back(std::move(diagnostic));
  return {*this, diagnostics_.size() - 1};
}

}  // namespace pto
