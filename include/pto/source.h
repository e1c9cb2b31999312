// Source texts and ranges in them. A `Span` is eight bytes and survives from the lexer to the simulator's messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pto {

// A byte range of one file. file 0 is "no file": a span that nobody wrote.
struct Span {
  uint16_t file = 0;
  uint16_t length = 0;  // clamped to 65535
  uint32_t begin = 0;
  bool valid() const { return file != 0; }
  friend bool operator==(const Span&, const Span&) = default;
};

struct LineColumn {
  int line = 0;    // from 1
  int column = 0;  // from 1, in code points
};

class SourceManager {
 public:
  // Adds a text under the name that messages show. Returns its file number (from 1).
  uint16_t add(std::string name, std::string text);
  size_t file_count() const { return files_.size(); }
  const std::string& name(uint16_t file) const;
  std::string_view text(uint16_t file) const;
  LineColumn line_column(Span span) const;
  std::string_view line_text(uint16_t file, int line) const;

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<uint32_t> line_starts;
  };
  const File& file(uint16_t number) const;
  std::vector<File> files_;
};

}  // namespace pto
