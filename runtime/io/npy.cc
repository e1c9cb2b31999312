#include "runtime/io/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>

namespace pto::runtime::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = 64 * 1024;
constexpr size_t kMaxRank = 32;  // NumPy's own limit

// The dictionary literal of a header: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  // What is wrong; empty if nothing.
  std::string parse(NpyHeader& header) {
    if (!eat('{')) {
      return "the header is not a dictionary";
    }
    while (!eat('}')) {
      if (std::string problem = parse_entry(header); !problem.empty()) {
        return problem;
      }
      if (!eat(',') && peek() != '}') {
        return "the header's dictionary has no `,` or `}` after an entry";
      }
    }
    if (!have_descr_ || !have_order_ || !have_shape_) {
      return std::string("the header has no `") +
             (!have_descr_   ? "descr"
              : !have_order_ ? "fortran_order"
                             : "shape") +
             "`";
    }
    skip_space();
    return at_ == text_.size() ? "" : "the header has text after its dictionary";
  }

 private:
  std::string parse_entry(NpyHeader& header) {
    std::string key;
    if (!parse_string(key) || !eat(':')) {
      return "the header's dictionary has an entry that is not `'key': value`";
    }
    bool* seen = key == "descr" ? &have_descr_ : key == "fortran_order" ? &have_order_ : &have_shape_;
    if (key != "descr" && key != "fortran_order" && key != "shape") {
      return "the header has an unknown key";
    }
    if (*seen) {
      return "the header has `" + key + "` twice";
    }
    *seen = true;
    if (key == "descr") {
      return parse_descr(header);
    }
    return key == "shape" ? parse_shape(header) : parse_order();
  }

  std::string parse_descr(NpyHeader& header) {
    if (peek() == '[') {
      return "structured element types are not supported";
    }
    return parse_string(header.descr) ? "" : "the header's `descr` is not a string";
  }

  std::string parse_order() {
    if (eat_word("False")) {
      return "";
    }
    if (eat_word("True")) {
      return "the array is in Fortran order; save it with `numpy.ascontiguousarray`";
    }
    return "the header's `fortran_order` is neither True nor False";
  }

  std::string parse_shape(NpyHeader& header) {
    if (!eat('(')) {
      return "the header's `shape` is not a tuple";
    }
    while (!eat(')')) {
      int64_t dim = 0;
      skip_space();
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) {
        return "the header's `shape` has a dimension that is not a number from 0 to 2^63 - 1";
      }
      at_ += static_cast<size_t>(end - begin);
      header.shape.push_back(dim);
      if (header.shape.size() > kMaxRank) {
        return "the header's `shape` has more than 32 dimensions";
      }
      const bool comma = eat(',');
      if (!comma && (peek() != ')' || header.shape.size() == 1)) {  // (3) is a number in Python, not a tuple
        return "the header's `shape` is not a tuple of numbers";
      }
    }
    return "";
  }

  bool parse_string(std::string& out) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') {
      return false;
    }
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      return false;
    }
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return std::all_of(out.begin(), out.end(), [](char c) { return c >= ' ' && c <= '~' && c != '\\'; });
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool eat(char c) {
    const bool found = peek() == c;
    at_ += found ? 1 : 0;
    return found;
  }
  bool eat_word(std::string_view word) {
    skip_space();
    const bool found = text_.substr(at_, word.size()) == word;
    at_ += found ? word.size() : 0;
    return found;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool have_descr_ = false;
  bool have_order_ = false;
  bool have_shape_ = false;
};

// Splits a `descr` such as "<f4"; what is wrong with it, empty if nothing.
std::string parse_descr_text(NpyHeader& header) {
  const std::string& text = header.descr;
  if (text.find('O') != std::string::npos) {
    return "the array holds pickled Python objects, which are not read";
  }
  if (text.size() < 3 || std::string_view("<>|=").find(text[0]) == std::string_view::npos) {
    return "the element type `" + text + "` is not known";
  }
  if (text[0] == '>') {
    return "the array is big-endian (`" + text + "`); save it with `.astype('<" + text.substr(1) + "')`";
  }
  static constexpr std::array<std::string_view, 14> kKnown = {"<f2", "<f4", "<f8", "|i1", "<i2", "<i4", "<i8",
                                                              "|u1", "<u2", "<u4", "<u8", "|b1", "|V1", "|V2"};
  if (std::find(kKnown.begin(), kKnown.end(), text) == kKnown.end()) {
    return "the element type `" + text + "` is not one of `.pto`'s";
  }
  header.kind = text[1];
  header.item_bytes = text[2] - '0';
  return "";
}

// How a .npy element type reads in messages: "f32", "i8".
std::string numpy_name(const NpyHeader& header) {
  if (header.kind == 'b') {
    return "bool";
  }
  if (header.kind == 'V') {
    return std::to_string(header.item_bytes) + "-byte values without a type";
  }
  return header.kind + std::to_string(header.item_bytes * 8);
}

// The type that a header's elements have, given that `wanted` is expected; None: none that `.pto` has.
DType type_of(const NpyHeader& header, DType wanted) {
  const int bits = header.item_bytes * 8;
  const bool plain_bits = header.kind == 'V' || header.kind == 'u';
  const bool no_numpy_form = is_float(wanted) && wanted != DType::F16 && wanted != DType::F32;
  if (plain_bits && no_numpy_form && bit_width(wanted) == bits) {
    return wanted;
  }
  switch (header.kind) {
    case 'f':
      return bits == 16 ? DType::F16 : bits == 32 ? DType::F32 : DType::None;
    case 'b':
      return DType::Bool;
    case 'i':
    case 'u':
      return dtype_from_spelling(header.kind + std::to_string(bits)).value_or(DType::None);
    default:
      return DType::None;
  }
}

std::vector<std::byte> data_of(std::span<const std::byte> file, const NpyHeader& header) {
  const auto data = file.subspan(header.data_offset);
  return {data.begin(), data.end()};
}

void report_type(const NpyHeader& header, DType wanted, const std::string& parameter, const std::string& subject,
                 DiagnosticSink& sink) {
  const std::string want(spelling(wanted));
  auto handle =
      sink.report(DiagId::ArrayType, subject, {parameter, want, numpy_name(header) + " (`" + header.descr + "`)"});
  if (bit_width(wanted) < 8) {
    handle.help("NumPy has no form of `" + want + "`");
  } else if (header.kind == 'f' && header.item_bytes == 8) {
    handle.help("f64 is not a .pto type, convert to f32 with `.astype(numpy.float32)`");
  } else if (wanted == DType::BF16) {
    handle.help("NumPy has no bf16: give the bits as uint16 (`<u2`) or as `|V2`");
  } else if (is_float(wanted) && bit_width(wanted) == 8) {
    handle.help("NumPy has no " + want + ": give the bits as uint8 (`|u1`) or as `|V1`");
  } else {
    handle.help("nothing is converted silently; convert with `.astype(...)`");
  }
}

std::string descr_of(DType type) {
  if (type == DType::Bool) {
    return "|b1";
  }
  const bool numpy_float = type == DType::F16 || type == DType::F32;
  const char kind = numpy_float ? 'f' : dtype_class(type) == DTypeClass::Int ? 'i' : 'u';
  const int bytes = bit_width(type) / 8;
  return std::string(bytes == 1 ? "|" : "<") + kind + std::to_string(bytes);
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> file, const std::string& subject, DiagnosticSink& sink) {
  const auto fail = [&](const std::string& what) {
    sink.report(DiagId::ArrayFile, subject, {what});
    return Reported();
  };
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.empty()) {
    return fail("it is empty");
  }
  if (text.substr(0, kMagic.size()) != kMagic) {
    return fail("it doesn't start with `\\x93NUMPY`");
  }
  if (text.size() < 10) {
    return fail("it ends inside the header");
  }
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3 || text[7] != 0) {
    return fail("it has format version " + std::to_string(version) + "." +
                std::to_string(static_cast<unsigned char>(text[7])) + ", known are 1.0, 2.0 and 3.0");
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t header_begin = 8 + length_bytes;
  if (text.size() < header_begin) {
    return fail("it ends inside the header");
  }
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<size_t>(static_cast<unsigned char>(text[8 + i])) << (8 * i);
  }
  if (length > kMaxHeaderBytes) {
    return fail("the header has " + std::to_string(length) + " bytes, at most 65536 are read");
  }
  if (text.size() - header_begin < length) {
    return fail("it ends inside the header");
  }
  NpyHeader header;
  std::string problem = HeaderParser(text.substr(header_begin, length)).parse(header);
  if (problem.empty()) {
    problem = parse_descr_text(header);
  }
  if (!problem.empty()) {
    return fail(problem);
  }
  header.data_offset = header_begin + length;
  const int64_t have = static_cast<int64_t>(text.size() - header.data_offset);
  const std::optional<int64_t> count = element_count(header.shape, std::numeric_limits<int64_t>::max() / 16);
  if (!count || *count * header.item_bytes > have) {
    return fail("the header promises " + (count ? std::to_string(*count * header.item_bytes) : "more than 2^59") +
                " bytes of data for shape " + shape_text(header.shape) + ", the file has " + std::to_string(have));
  }
  if (*count * header.item_bytes < have) {
    return fail(std::to_string(have - *count * header.item_bytes) + " bytes follow the data of shape " +
                shape_text(header.shape));
  }
  header.elements = *count;
  return header;
}

Result<Array> read_npy(std::span<const std::byte> file, DType wanted, const std::string& parameter,
                       const std::string& subject, DiagnosticSink& sink) {
  Result<NpyHeader> header = parse_npy_header(file, subject, sink);
  if (!header) {
    return Reported();
  }
  if (bit_width(wanted) < 8 || type_of(*header, wanted) != wanted) {
    report_type(*header, wanted, parameter, subject, sink);
    return Reported();
  }
  Array array{wanted, header->shape, data_of(file, *header)};
  if (static_cast<int64_t>(array.data.size()) > kMaxArrayBytes) {
    sink.report(DiagId::ArrayTooLarge, subject, {type_text(wanted, array.shape), std::to_string(kMaxArrayBytes)});
    return Reported();
  }
  const auto odd = [](std::byte b) { return b > std::byte{1}; };
  if (wanted == DType::Bool && std::any_of(array.data.begin(), array.data.end(), odd)) {
    sink.report(DiagId::ArrayFile, subject, {"a bool is neither 0 nor 1"});
    return Reported();
  }
  return array;
}

Result<Golden> read_npy_golden(std::span<const std::byte> file, DType wanted, const std::string& parameter,
                               const std::string& subject, DiagnosticSink& sink) {
  Result<NpyHeader> header = parse_npy_header(file, subject, sink);
  if (!header) {
    return Reported();
  }
  const bool is_f64 = header->kind == 'f' && header->item_bytes == 8;
  const DType type = is_f64 ? DType::None : type_of(*header, wanted);
  const bool comparable = is_float(wanted) ? is_f64 || is_float(type) : is_integer(type) || type == DType::Bool;
  if (!comparable || bit_width(wanted) < 8) {
    sink.report(DiagId::GoldenType, subject,
                {parameter, std::string(spelling(wanted)), numpy_name(*header) + " (`" + header->descr + "`)"});
    return Reported();
  }
  return Golden{is_f64, Array{type, header->shape, data_of(file, *header)}};
}

std::vector<std::byte> write_npy(const Array& array) {
  PTO_CHECK(bit_width(array.dtype) >= 8, "an element type that has no .npy form");
  std::string shape = "(";
  for (size_t i = 0; i < array.shape.size(); ++i) {
    shape += (i == 0 ? "" : ", ") + std::to_string(array.shape[i]);
  }
  shape += array.shape.size() == 1 ? ",)" : ")";
  std::string header = "{'descr': '" + descr_of(array.dtype) + "', 'fortran_order': False, 'shape': " + shape + ", }";
  const size_t unpadded = 10 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  std::vector<std::byte> file(10 + header.size() + array.data.size());
  std::memcpy(file.data(), kMagic.data(), kMagic.size());
  file[6] = std::byte{1};
  file[7] = std::byte{0};
  file[8] = static_cast<std::byte>(header.size() & 0xFF);
  file[9] = static_cast<std::byte>(header.size() >> 8);
  std::memcpy(file.data() + 10, header.data(), header.size());
  if (!array.data.empty()) {
    std::memcpy(file.data() + 10 + header.size(), array.data.data(), array.data.size());
  }
  return file;
}

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::string type_text(DType type, std::span<const int64_t> shape) {
  return std::string(spelling(type)) + (shape.empty() ? "" : shape_text(shape));
}

std::optional<int64_t> element_count(std::span<const int64_t> shape, int64_t limit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return 0;
  }
  int64_t count = 1;
  for (int64_t dim : shape) {
    if (dim < 0 || dim > limit / count) {
      return std::nullopt;
    }
    count *= dim;
  }
  return count;
}

}  // namespace pto::runtime::io
