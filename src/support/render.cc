// Diagnostics as text for people and as JSON lines for programs. Whatever a file holds, the text can't steer a
// terminal: control characters and broken UTF-8 are shown as `?`.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "pto/diagnostics.h"
#include "src/support/text.h"

namespace pto {
namespace {

// Code points of a source line that are shown, and how many of them are before the carets when the line is longer.
constexpr size_t kShown = 160;
constexpr size_t kBefore = 60;

struct Style {
  std::string_view error, warning, remark, note, bold, reset;
};
constexpr Style kPlain{};
constexpr Style kColored{"\x1b[1;31m", "\x1b[1;35m", "\x1b[1;36m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"};

std::string_view word(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Remark:
      break;
  }
  return "remark";
}

std::string_view color_of(Severity severity, const Style& style) {
  switch (severity) {
    case Severity::Error:
      return style.error;
    case Severity::Warning:
      return style.warning;
    case Severity::Remark:
      break;
  }
  return style.remark;
}

// A span that the sources know; anything else is shown without a place.
bool has_place(Span span, const SourceManager* sources) {
  return sources != nullptr && span.valid() && span.file <= sources->file_count();
}

// Bytes of the span's first line before the span, and of the span itself, clipped to that line.
struct LineRange {
  std::string_view line;
  size_t begin = 0;
  size_t end = 0;
};

LineRange range_on_line(Span span, const SourceManager& sources, LineColumn at) {
  LineRange range{sources.line_text(span.file, at.line), 0, 0};
  const size_t line_start = static_cast<size_t>(range.line.data() - sources.text(span.file).data());
  const size_t begin = span.begin > line_start ? span.begin - line_start : 0;
  range.begin = std::min(begin, range.line.size());
  range.end = std::min(begin + span.length, range.line.size());
  return range;
}

// The line, and under it carets: `  12 | text` and `     |   ^^^`.
std::string excerpt(Span span, const SourceManager& sources, LineColumn at, std::string_view color,
                    std::string_view reset) {
  const LineRange range = range_on_line(span, sources, at);
  const size_t first = at.column > 0 ? static_cast<size_t>(at.column) - 1 : 0;
  const size_t skipped = first > kShown / 2 + kBefore / 2 ? first - kBefore : 0;
  std::string text = skipped > 0 ? "..." : "";
  std::string under(text.size(), ' ');
  std::string carets;
  size_t index = 0;
  size_t offset = 0;
  for (; offset < range.line.size() && index < skipped + kShown; ++index) {
    const CodePoint point = decode_utf8(range.line, offset);
    if (index >= skipped) {
      std::string shown = printable(range.line.substr(offset, point.bytes));
      // A tab is one column in messages, so it is one column here: everything stays aligned on every terminal.
      if (shown == "\t") {
        shown = " ";
      }
      const auto width = static_cast<size_t>(point.bytes == 1 ? 1 : display_width(point.value));
      text += shown;
      if (offset < range.begin) {
        under.append(width, ' ');
      } else if (offset < range.end) {
        carets.append(width, '^');
      }
    }
    offset += point.bytes;
  }
  if (offset < range.line.size()) {
    text += "...";
  }
  if (carets.empty()) {
    carets = "^";
  }
  const std::string number = std::to_string(at.line);
  std::string out = "  " + number + " | " + text + "\n";
  out += "  " + std::string(number.size(), ' ') + " | " + under;
  out.append(color).append(carets).append(reset) += '\n';
  return out;
}

std::string place(Span span, const SourceManager& sources, LineColumn at) {
  return printable(sources.name(span.file)) + ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
}

void render_note(const Note& note, const SourceManager* sources, const Style& style, std::string& out) {
  const bool placed = has_place(note.span, sources);
  LineColumn at;
  if (placed) {
    at = sources->line_column(note.span);
    out.append(style.bold).append(place(note.span, *sources, at)).append(": ").append(style.reset);
  }
  out.append(style.note).append(note.is_help ? "help: " : "note: ").append(style.reset);
  out.append(printable(note.text, true)) += '\n';
  if (placed) {
    out += excerpt(note.span, *sources, at, style.note, style.reset);
  }
}

void render_one(const Diagnostic& diagnostic, const SourceManager* sources, const Style& style, std::string& out) {
  const std::string_view color = color_of(diagnostic.severity, style);
  const bool placed = has_place(diagnostic.span, sources);
  LineColumn at;
  if (placed) {
    at = sources->line_column(diagnostic.span);
    out.append(style.bold).append(place(diagnostic.span, *sources, at)).append(": ").append(style.reset);
  } else if (!diagnostic.subject.empty()) {
    out.append(style.bold).append(printable(diagnostic.subject)).append(": ").append(style.reset);
  }
  out.append(color).append(word(diagnostic.severity)).append("[").append(diagnostic.code()).append("]: ");
  out.append(style.reset).append(style.bold).append(printable(diagnostic.message, true)).append(style.reset) += '\n';
  if (placed) {
    out += excerpt(diagnostic.span, *sources, at, color, style.reset);
  }
  for (const Note& note : diagnostic.notes) {
    render_note(note, sources, style, out);
  }
}

// Adds "file", "line", "column", "end_column". Lines and columns are 0 where there is no source text.
void put_place(nlohmann::ordered_json& json, Span span, const std::string& subject, const SourceManager* sources) {
  json["file"] = subject;
  json["line"] = 0;
  json["column"] = 0;
  json["end_column"] = 0;
  if (!has_place(span, sources)) {
    return;
  }
  const LineColumn at = sources->line_column(span);
  const LineRange range = range_on_line(span, *sources, at);
  int end_column = at.column;
  for (size_t offset = range.begin; offset < range.end; ++end_column) {
    offset += decode_utf8(range.line, offset).bytes;
  }
  json["file"] = sources->name(span.file);
  json["line"] = at.line;
  json["column"] = at.column;
  json["end_column"] = end_column;
}

}  // namespace

std::string render_text(const DiagnosticSink& sink, const SourceManager* sources, const RenderOptions& options) {
  const Style& style = options.color ? kColored : kPlain;
  std::string out;
  size_t shown = 0;
  for (const Diagnostic& diagnostic : sink.all()) {
    if (diagnostic.severity == Severity::Error) {
      if (options.max_errors != 0 && shown == options.max_errors) {
        break;
      }
      ++shown;
    }
    render_one(diagnostic, sources, style, out);
  }
  if (shown < sink.error_count()) {
    const size_t more = sink.error_count() - shown;
    out += std::to_string(more) + (more == 1 ? " more error is" : " more errors are") + " not shown\n";
  }
  return out;
}

std::string render_json(const DiagnosticSink& sink, const SourceManager* sources) {
  std::string out;
  const auto line = [](const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  };
  for (const Diagnostic& diagnostic : sink.all()) {
    nlohmann::ordered_json json;
    json["code"] = diagnostic.code();
    json["severity"] = word(diagnostic.severity);
    json["message"] = diagnostic.message;
    put_place(json, diagnostic.span, diagnostic.subject, sources);
    json["notes"] = nlohmann::ordered_json::array();
    for (const Note& note : diagnostic.notes) {
      nlohmann::ordered_json entry;
      entry["kind"] = note.is_help ? "help" : "note";
      entry["message"] = note.text;
      put_place(entry, note.span, {}, sources);
      json["notes"].push_back(std::move(entry));
    }
    out += line(json) + '\n';
  }
  return out;
}

}  // namespace pto
