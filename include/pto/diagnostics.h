// Diagnostics with stable codes. Everything a user did wrong reaches a `DiagnosticSink`; nothing in a library prints.
// The catalogue is diag.def. Wording: lower case, no full stop, names in backticks, what was seen and then the rule.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "pto/source.h"

namespace pto {

enum class Severity : uint8_t { Error, Warning, Remark };

enum class DiagId : uint16_t {
#define PTO_DIAG(Name, number, severity, format) Name = (number),
#include "pto/diag.def"
};

struct DiagInfo {
  DiagId id;
  std::string_view name;
  int number;
  Severity severity;
  std::string_view format;  // `{0}`, `{1}`, ... stand for the arguments
};

// The row of diag.def, and all rows in the order of their numbers.
const DiagInfo& diag_info(DiagId id);
const std::vector<DiagInfo>& all_diagnostics();

struct Note {
  Span span;
  std::string text;
  bool is_help = false;
};

struct Diagnostic {
  DiagId id;
  Severity severity = Severity::Error;
  Span span;
  // Where there is no source text (an object, an array file, an argument): the thing's name, shown in front.
  std::string subject;
  std::string message;
  std::vector<Note> notes;
  std::string code() const;  // "E0203", "W0401"
};

class DiagnosticSink {
 public:
  // A handle to add notes to the diagnostic just reported: `sink.error(...).note(span, "...").help("...")`.
  class Handle {
   public:
    Handle(DiagnosticSink& sink, size_t index) : sink_(sink), index_(index) {}
    Handle& note(Span span, std::string text);
    Handle& help(std::string text);

   private:
    DiagnosticSink& sink_;
    size_t index_;
  };

  // Severity comes from the catalogue. Identical diagnostics at the same place are kept once.
  Handle report(DiagId id, Span span, std::initializer_list<std::string> args);
  Handle report(DiagId id, const std::string& subject, std::initializer_list<std::string> args);
  bool has_errors() const { return error_count_ > 0; }
  size_t error_count() const { return error_count_; }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }

 private:
  Handle add(Diagnostic diagnostic);
  std::vector<Diagnostic> diagnostics_;
  size_t error_count_ = 0;
};

struct RenderOptions {
  bool color = false;
  size_t max_errors = 20;
};

// `file:line:col: error[E0203]: message`, the line, carets, notes. Sources may be null where nothing has a span.
std::string render_text(const DiagnosticSink& sink, const SourceManager* sources, const RenderOptions& options);
// One JSON object a line: {"code","severity","message","file","line","column","end_column","notes":[...]}.
std::string render_json(const DiagnosticSink& sink, const SourceManager* sources);

// Codes that both programs exit with.
enum ExitCode : int {
  kExitOk = 0,
  kExitBadInput = 1,
  kExitUsage = 2,
  kExitMismatch = 3,
  kExitFault = 4,
  kExitDeadlock = 5,
  kExitInternal = 70,
};

}  // namespace pto
