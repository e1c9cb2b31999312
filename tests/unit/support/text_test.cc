#include "src/support/text.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "pto/dtype.h"
#include "pto/source.h"
#include "src/support/checked.h"

namespace pto {

TEST_CASE("UTF-8 is decoded strictly") {
  CHECK_FALSE(find_invalid_utf8("plain, \xC3\xA4, \xE6\xBC\xA2, \xF0\x9F\x98\x80"));
  CHECK(find_invalid_utf8("ab\xFF") == 2u);
  CHECK(find_invalid_utf8("\x80") == 0u);
  CHECK(find_invalid_utf8("\xC0\xAF") == 0u);          // overlong
  CHECK(find_invalid_utf8("\xE0\x80\xAF") == 0u);      // overlong
  CHECK(find_invalid_utf8("\xED\xA0\x80") == 0u);      // surrogate
  CHECK(find_invalid_utf8("\xF4\x90\x80\x80") == 0u);  // above U+10FFFF
  CHECK(find_invalid_utf8("a\xE6\xBC") == 1u);         // cut off
  CHECK(decode_utf8("\xF0\x9F\x98\x80", 0).value == 0x1F600);
  CHECK(decode_utf8("\xF0\x9F\x98\x80", 0).bytes == 4);
}

TEST_CASE("printable text can't steer a terminal") {
  CHECK(printable("a\x1b[2Jb\tc\nd\xFF") == "a?[2Jb\tc?d?");
  CHECK(printable("a\nb", true) == "a\nb");
  CHECK(printable("\xE2\x80\xAE") == "?");  // right-to-left override
  CHECK(printable("\xC2\x85") == "?");      // a C1 control
  CHECK(printable("\xC3\xA4") == "\xC3\xA4");
}

TEST_CASE("quoting") {
  CHECK(quote("a\"b\\c\nd\te") == "\"a\\\"b\\\\c\\nd\\te\"");
  CHECK(quote("") == "\"\"");
}

TEST_CASE("edit distance") {
  CHECK(edit_distance("", "", 9) == 0);
  CHECK(edit_distance("kitten", "sitting", 9) == 3);
  CHECK(edit_distance("laod", "load", 9) == 1);
  CHECK(edit_distance("abc", "", 9) == 3);
  CHECK(edit_distance("abc", "abcdefgh", 2) == 3);
  CHECK(edit_distance("abcdef", "uvwxyz", 2) == 3);
}

TEST_CASE("the closest candidate is offered only if it is near") {
  const std::vector<std::string_view> names = {"load", "store", "exp", "matmul"};
  CHECK(closest("laod", names) == "load");
  CHECK(closest("matmull", names) == "matmul");
  CHECK_FALSE(closest("softmax", names));
  CHECK_FALSE(closest("q", names));
  CHECK_FALSE(closest(std::string(5000, 'a'), names));
}

TEST_CASE("element types") {
  CHECK(spelling(DType::BF16) == "bf16");
  CHECK(dtype_from_spelling("f8e4m3") == DType::F8E4M3);
  CHECK_FALSE(dtype_from_spelling("none"));
  CHECK_FALSE(dtype_from_spelling("float"));
  CHECK(dtype_from_code(12) == DType::F32);
  CHECK_FALSE(dtype_from_code(0));
  CHECK_FALSE(dtype_from_code(21));
  CHECK_FALSE(dtype_from_code(uint64_t{1} << 32 | 12));
  CHECK(is_float(DType::F16));
  CHECK(is_integer(DType::U4));
  CHECK_FALSE(is_integer(DType::Bool));
  CHECK(byte_size(DType::I4, 3) == 2);
  CHECK(byte_size(DType::F32, 3) == 12);
  CHECK(bit_width(DType::None) == 0);
  for (uint64_t code = 1; code <= 20; ++code) {
    const DType type = *dtype_from_code(code);
    CHECK(dtype_from_spelling(spelling(type)) == type);
  }
}

TEST_CASE("lines and columns count code points") {
  SourceManager sources;
  const uint16_t file = sources.add("k.pto", "ab\n\tx\xC3\xA4y\r\n\nend");
  CHECK(file == 1);
  CHECK(sources.file_count() == 1);
  CHECK(sources.name(file) == "k.pto");
  const auto at = [&](uint32_t begin) { return sources.line_column({file, 1, begin}); };
  CHECK((at(0).line == 1 && at(0).column == 1));
  CHECK((at(2).line == 1 && at(2).column == 3));  // the newline itself
  CHECK((at(3).line == 2 && at(3).column == 1));
  CHECK((at(4).line == 2 && at(4).column == 2));  // a tab is one column
  CHECK((at(7).line == 2 && at(7).column == 4));  // after a two-byte letter
  CHECK((at(10).line == 3 && at(10).column == 1));
  CHECK((at(1000).line == 4 && at(1000).column == 4));
  CHECK(sources.line_text(file, 2) == "\tx\xC3\xA4y");
  CHECK(sources.line_text(file, 3).empty());
  CHECK(sources.line_text(file, 4) == "end");
  CHECK(sources.line_text(file, 5).empty());
  CHECK(sources.line_text(file, 0).empty());
  CHECK(sources.add("empty.pto", "") == 2);
  CHECK(sources.line_column({2, 0, 0}).line == 1);
}

TEST_CASE("checked arithmetic agrees with 128 bits") {
  std::mt19937_64 random(3);
  const auto pick = [&]() -> int64_t {
    const auto bits = random();
    return random() % 2 == 0 ? static_cast<int64_t>(bits) >> (bits % 64) : static_cast<int64_t>(bits % 9) - 4;
  };
  const auto fits = [](__int128 value) { return value == static_cast<int64_t>(value); };
  for (int i = 0; i < 20000; ++i) {
    const __int128 a = pick();
    const __int128 b = pick();
    const auto x = static_cast<int64_t>(a);
    const auto y = static_cast<int64_t>(b);
    REQUIRE(checked_add(x, y) == (fits(a + b) ? std::optional(static_cast<int64_t>(a + b)) : std::nullopt));
    REQUIRE(checked_sub(x, y) == (fits(a - b) ? std::optional(static_cast<int64_t>(a - b)) : std::nullopt));
    REQUIRE(checked_mul(x, y) == (fits(a * b) ? std::optional(static_cast<int64_t>(a * b)) : std::nullopt));
    if (b == 0) {
      REQUIRE_FALSE(floor_div(x, y));
      REQUIRE_FALSE(ceil_div(x, y));
      REQUIRE_FALSE(floor_mod(x, y));
      continue;
    }
    // By their definitions: q <= a/b < q + 1, and remainders between 0 and the divisor.
    const auto floor = floor_div(x, y);
    const auto mod = floor_mod(x, y);
    REQUIRE(mod);
    REQUIRE((b > 0 ? *mod >= 0 && *mod < y : *mod <= 0 && *mod > y));
    REQUIRE((a - *mod) % b == 0);
    REQUIRE(floor.has_value() == fits((a - *mod) / b));
    if (floor) {
      REQUIRE(static_cast<__int128>(*floor) == (a - *mod) / b);
      REQUIRE(static_cast<__int128>(*ceil_div(x, y)) == (a - *mod) / b + (*mod != 0 ? 1 : 0));
    }
  }
}

}  // namespace pto
