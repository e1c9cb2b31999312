#include "pto/diagnostics.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace pto {
namespace {

struct Fixture {
  SourceManager sources;
  DiagnosticSink sink;
  uint16_t file = sources.add("dir/k.pto", "let x = 1;\n\tlet \xC3\xA4 = \xE6\xBC\xA2 + b;\nlast");
  std::string text(size_t max_errors = 20) { return render_text(sink, &sources, {false, max_errors}); }
};

}  // namespace

TEST_CASE("the catalogue is ascending, unique, and rows are found") {
  std::set<int> numbers;
  int before = 0;
  for (const DiagInfo& row : all_diagnostics()) {
    CHECK(row.number > before);
    before = row.number;
    CHECK(numbers.insert(row.number).second);
    CHECK(static_cast<int>(row.id) == row.number);
    CHECK(diag_info(row.id).name == row.name);
    CHECK_FALSE(row.format.ends_with('.'));
  }
  CHECK(diag_info(DiagId::SyntaxError).name == "SyntaxError");
  CHECK(diag_info(DiagId::ObjectVersion).number == 502);
}

TEST_CASE_METHOD(Fixture, "a diagnostic shows its line and carets") {
  sink.report(DiagId::SyntaxError, Span{file, 1, 4}, {"unexpected `x`"});
  CHECK(text() ==
        "dir/k.pto:1:5: error[E0101]: unexpected `x`\n"
        "  1 | let x = 1;\n"
        "    |     ^\n");
}

TEST_CASE_METHOD(Fixture, "notes with and without a place, and help") {
  sink.report(DiagId::SyntaxError, Span{file, 3, 0}, {"bad"})
      .note(Span{file, 4, 31}, "ends here")
      .note({}, "of type f32")
      .help("write `var`");
  CHECK(text() ==
        "dir/k.pto:1:1: error[E0101]: bad\n"
        "  1 | let x = 1;\n"
        "    | ^^^\n"
        "dir/k.pto:3:2: note: ends here\n"
        "  3 | last\n"
        "    |  ^^^\n"
        "note: of type f32\n"
        "help: write `var`\n");
}

TEST_CASE_METHOD(Fixture, "tabs, wide characters and ranges over several lines") {
  // From the two-column character to far behind the line's end.
  sink.report(DiagId::SyntaxError, Span{file, 500, 21}, {"bad"});
  CHECK(text() ==
        "dir/k.pto:2:10: error[E0101]: bad\n"
        "  2 |  let \xC3\xA4 = \xE6\xBC\xA2 + b;\n"
        "    |          ^^^^^^^\n");
}

TEST_CASE_METHOD(Fixture, "an empty range and the end of the text still get a caret") {
  sink.report(DiagId::SyntaxError, Span{file, 0, 32}, {"unexpected end"});
  CHECK(text() ==
        "dir/k.pto:3:3: error[E0101]: unexpected end\n"
        "  3 | last\n"
        "    |   ^\n");
  DiagnosticSink other;
  other.report(DiagId::SyntaxError, Span{file, 1, 10}, {"line end"});
  CHECK(render_text(other, &sources, {}) ==
        "dir/k.pto:1:11: error[E0101]: line end\n"
        "  1 | let x = 1;\n"
        "    |           ^\n");
}

TEST_CASE("a long line is shown around the range") {
  SourceManager sources;
  DiagnosticSink sink;
  const uint16_t file = sources.add("k.pto", std::string(1000, 'a') + "BAD" + std::string(100000, 'c'));
  sink.report(DiagId::SyntaxError, Span{file, 3, 1000}, {"bad"});
  CHECK(render_text(sink, &sources, {}) == "k.pto:1:1001: error[E0101]: bad\n  1 | ..." + std::string(60, 'a') + "BAD" +
                                               std::string(97, 'c') + "...\n    | " + std::string(63, ' ') + "^^^\n");
}

TEST_CASE_METHOD(Fixture, "a subject stands where there is no source") {
  sink.report(DiagId::ObjectNotPtobin, std::string("x.npy"), {"the file is empty"});
  CHECK(text() == "x.npy: error[E0501]: not a PTO object: the file is empty\n");
  CHECK(render_text(sink, nullptr, {}) == text());
}

TEST_CASE("spans that nobody wrote or that no source has are left out") {
  DiagnosticSink sink;
  sink.report(DiagId::SyntaxError, Span{}, {"one"});
  sink.report(DiagId::SyntaxError, Span{7, 1, 1}, {"two"});
  SourceManager none;
  CHECK(render_text(sink, nullptr, {}) == "error[E0101]: one\nerror[E0101]: two\n");
  CHECK(render_text(sink, &none, {}) == "error[E0101]: one\nerror[E0101]: two\n");
}

TEST_CASE_METHOD(Fixture, "equal diagnostics are kept once") {
  for (int i = 0; i < 3; ++i) {
    sink.report(DiagId::SyntaxError, Span{file, 1, 4}, {"bad"}).note({}, "once");
  }
  sink.report(DiagId::SyntaxError, Span{file, 1, 5}, {"bad"});
  CHECK(sink.error_count() == 2);
  REQUIRE(sink.all().size() == 2);
  CHECK(sink.all()[0].notes.size() == 1);
}

TEST_CASE_METHOD(Fixture, "more errors than wanted are counted") {
  for (uint32_t i = 0; i < 5; ++i) {
    sink.report(DiagId::SyntaxError, Span{file, 1, i}, {"bad"});
  }
  const std::string shown = text(2);
  CHECK(shown.find(":1:2:") != std::string::npos);
  CHECK(shown.find(":1:3:") == std::string::npos);
  CHECK(shown.ends_with("3 more errors are not shown\n"));
  CHECK(text(0).find("not shown") == std::string::npos);
  CHECK(text(4).ends_with("1 more error is not shown\n"));
}

TEST_CASE("a flood of errors is bounded") {
  DiagnosticSink sink;
  for (int i = 0; i < 5000; ++i) {
    sink.report(DiagId::SyntaxError, std::string("s"), {std::to_string(i)}).help("x");
  }
  CHECK(sink.error_count() == 5000);
  CHECK(sink.all().size() == 1000);
}

TEST_CASE("messages can't steer a terminal") {
  DiagnosticSink sink;
  sink.report(DiagId::SyntaxError, std::string("a\x1b[31m.npy"), {"bad \x1b[2J"});
  CHECK(render_text(sink, nullptr, {}) == "a?[31m.npy: error[E0101]: bad ?[2J\n");
}

TEST_CASE_METHOD(Fixture, "colors only on request") {
  sink.report(DiagId::SyntaxError, Span{file, 1, 4}, {"bad"});
  CHECK(text().find('\x1b') == std::string::npos);
  const std::string colored = render_text(sink, &sources, {true, 20});
  CHECK(colored.find("\x1b[1;31merror[E0101]: \x1b[0m") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "JSON has one object a line") {
  sink.report(DiagId::SyntaxError, Span{file, 3, 21}, {"bad"}).note(Span{file, 4, 31}, "here").help("fix \xFF");
  sink.report(DiagId::CannotRead, std::string("x.npy"), {"gone"});
  const std::string out = render_json(sink, &sources);
  const size_t split = out.find('\n');
  const auto first = nlohmann::json::parse(out.substr(0, split));
  CHECK(first["code"] == "E0101");
  CHECK(first["severity"] == "error");
  CHECK(first["message"] == "bad");
  CHECK(first["file"] == "dir/k.pto");
  CHECK(first["line"] == 2);
  CHECK(first["column"] == 10);
  CHECK(first["end_column"] == 11);
  REQUIRE(first["notes"].size() == 2);
  CHECK(first["notes"][0]["kind"] == "note");
  CHECK(first["notes"][0]["line"] == 3);
  CHECK(first["notes"][1]["kind"] == "help");
  CHECK(out.substr(split + 1) ==
        "{\"code\":\"E0901\",\"severity\":\"error\",\"message\":\"can't read the file: gone\",\"file\":\"x.npy\","
        "\"line\":0,\"column\":0,\"end_column\":0,\"notes\":[]}\n");
}

}  // namespace pto
