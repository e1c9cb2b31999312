// Small helpers for text that people read: UTF-8, quoting, and "did you mean".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pto {

// One code point at `text[at]`: its value and length in bytes. A byte that starts no valid sequence gives
// {kReplacement, 1, false}. Precondition: at < text.size().
inline constexpr uint32_t kReplacement = 0xFFFD;
struct CodePoint {
  uint32_t value = kReplacement;
  size_t bytes = 1;
  bool valid = false;
};
CodePoint decode_utf8(std::string_view text, size_t at);
// Offset of the first byte that is not valid UTF-8 (surrogates and overlong forms are not); nullopt: all is valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// Columns that a terminal gives a code point: 0 (combining), 1, or 2 (East Asian wide).
int display_width(uint32_t code_point);
// `text` fit for a terminal: control characters (escape sequences among them) and invalid bytes become `?`. Tabs stay,
// and newlines if asked for.
std::string printable(std::string_view text, bool keep_newlines = false);

// A `.pto` string literal: "..." with \" \\ \n \t.
std::string quote(std::string_view text);

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, by bytes; `limit + 1` if more
// than `limit`.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);
// The candidate to offer in "did you mean": the nearest, if it is near enough to be a slip; the first of equals.
std::optional<std::string_view> closest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace pto
