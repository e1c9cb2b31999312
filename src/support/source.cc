#include "pto/source.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pto/result.h"

namespace pto {
namespace {

bool starts_code_point(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

}  // namespace

uint16_t SourceManager::add(std::string name, std::string text) {
  PTO_CHECK(files_.size() < std::numeric_limits<uint16_t>::max(), "too many source files");
  PTO_CHECK(text.size() < std::numeric_limits<uint32_t>::max(), "a source file of 4 GiB or more");
  File file{std::move(name), std::move(text), {0}};
  for (size_t i = 0; i < file.text.size(); ++i) {
    if (file.text[i] == '\n') {
      file.line_starts.push_back(static_cast<uint32_t>(i + 1));
    }
  }
  files_.push_back(std::move(file));
  return static_cast<uint16_t>(files_.size());
}

const SourceManager::File& SourceManager::file(uint16_t number) const {
  PTO_CHECK(number > 0 && number <= files_.size(), "a span of an unknown file");
  return files_[number - 1U];
}

const std::string& SourceManager::name(uint16_t number) const {
  return file(number).name;
}

std::string_view SourceManager::text(uint16_t number) const {
  return file(number).text;
}

LineColumn SourceManager::line_column(Span span) const {
  const File& source = file(span.file);
  const auto begin = std::min(span.begin, static_cast<uint32_t>(source.text.size()));
  const auto next = std::upper_bound(source.line_starts.begin(), source.line_starts.end(), begin);
  const auto line = next - source.line_starts.begin();
  const uint32_t line_start = *(next - 1);
  const auto first = source.text.begin() + line_start;
  const auto column = std::count_if(first, source.text.begin() + begin, starts_code_point);
  return {static_cast<int>(line), static_cast<int>(column) + 1};
}

// Without its line end, be that "\n" or "\r\n". Empty for a line that the file doesn't have.
std::string_view SourceManager::line_text(uint16_t number, int line) const {
  const File& source = file(number);
  if (line < 1 || static_cast<size_t>(line) > source.line_starts.size()) {
    return {};
  }
  const auto index = static_cast<size_t>(line);
  const size_t begin = source.line_starts[index - 1];
  const size_t end = index < source.line_starts.size() ? source.line_starts[index] - 1U : source.text.size();
  std::string_view text = std::string_view(source.text).substr(begin, end - begin);
  if (!text.empty() && text.back() == '\r') {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace pto
