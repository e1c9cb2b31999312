#include "src/support/text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace pto {

CodePoint decode_utf8(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const uint32_t first = byte(0);
  if (first < 0x80) {
    return {first, 1, true};
  }
  size_t length = 0;
  uint32_t value = 0;
  uint32_t smallest = 0;
  if ((first & 0xE0) == 0xC0) {
    length = 2, value = first & 0x1F, smallest = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    length = 3, value = first & 0x0F, smallest = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    length = 4, value = first & 0x07, smallest = 0x10000;
  } else {
    return {};
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return {};
    }
    value = value << 6 | (byte(i) & 0x3F);
  }
  if (value < smallest || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return {};
  }
  return {value, length, true};
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (!point.valid) {
      return at;
    }
    at += point.bytes;
  }
  return std::nullopt;
}

int display_width(uint32_t code_point) {
  using Range = std::pair<uint32_t, uint32_t>;
  constexpr std::array kZero = {Range{0x0300, 0x036F}, Range{0x200B, 0x200F}, Range{0x202A, 0x202E},
                                Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F},
                                Range{0xFEFF, 0xFEFF}};
  constexpr std::array kWide = {Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},
                                Range{0xAC00, 0xD7A3},   Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},
                                Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},   Range{0x1F300, 0x1F64F},
                                Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1FAFF}, Range{0x20000, 0x3FFFD}};
  const auto inside = [&](const Range& range) { return range.first <= code_point && code_point <= range.second; };
  if (std::any_of(kZero.begin(), kZero.end(), inside)) {
    return 0;
  }
  return std::any_of(kWide.begin(), kWide.end(), inside) ? 2 : 1;
}

std::string printable(std::string_view text, bool keep_newlines) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const bool kept = point.value == '\t' || (keep_newlines && point.value == '\n');
    const bool control = point.value < 0x20 || (point.value >= 0x7F && point.value < 0xA0) ||
                         (point.value >= 0x202A && point.value <= 0x202E) ||
                         (point.value >= 0x2066 && point.value <= 0x2069);
    if (point.valid && (kept || !control)) {
      out.append(text.substr(at, point.bytes));
    } else {
      out += '?';
    }
    at += point.bytes;
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += c;
    }
  }
  return out + '"';
}

size_t edit_distance(std::string_view a, std::string_view b, size_t limit) {
  const size_t difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (difference > limit) {
    return limit + 1;
  }
  // Three rows of the usual table: the one before last is for swaps.
  std::vector<size_t> before(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    last[j] = j;
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::optional<std::string_view> closest(std::string_view name, std::span<const std::string_view> candidates) {
  // Long hostile names would make the table large; nobody mistypes a hundred letters.
  constexpr size_t kLongest = 100;
  if (name.size() > kLongest) {
    return std::nullopt;
  }
  const size_t limit = std::max<size_t>(1, name.size() / 3);
  size_t best = limit + 1;
  std::optional<std::string_view> found;
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(name, candidate, limit);
    // A name that shares nothing with the candidate ("x" for "y") is no slip.
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

}  // namespace pto
