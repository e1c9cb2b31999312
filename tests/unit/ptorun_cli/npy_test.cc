// .npy files: what NumPy writes is read, what ptorun writes is what NumPy would write, and nothing malformed gets
// through.
#include "runtime/io/npy.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <random>
#include <string>

using namespace pto;
using namespace pto::runtime;
using namespace pto::runtime::io;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A file with the header text as given, padded as NumPy does.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string header = dictionary;
  const size_t fixed = version == 1 ? 10 : 12;
  while ((fixed + header.size() + 1) % 64 != 0) {
    header += ' ';
  }
  header += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (size_t i = 0; i < fixed - 8; ++i) {
    file += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  }
  return file + header + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

struct Read {
  bool ok = false;
  Array array;
  std::string message;  // code, message and notes
};

std::string first_message(const DiagnosticSink& sink) {
  if (sink.all().empty()) {
    return "";
  }
  const Diagnostic& diagnostic = sink.all().front();
  std::string text = diagnostic.subject + ": " + diagnostic.code() + ": " + diagnostic.message;
  for (const Note& note : diagnostic.notes) {
    text += " | " + note.text;
  }
  return text;
}

Read read(const std::string& file, DType wanted) {
  DiagnosticSink sink;
  Result<Array> array = read_npy(bytes_of(file), wanted, "x", "x.npy", sink);
  REQUIRE(array.ok() == !sink.has_errors());
  return {array.ok(), array.ok() ? *array : Array{}, first_message(sink)};
}

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("npy: a file that NumPy wrote") {
  // numpy.save of numpy.arange(6, dtype='<f4').reshape(2, 3)
  std::string file("\x93NUMPY\x01\x00v\x00", 10);
  file += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  file += std::string(128 - 1 - file.size(), ' ') + "\n";
  file += std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40", 24);
  const Read result = read(file, DType::F32);
  INFO(result.message);
  REQUIRE(result.ok);
  CHECK(result.array.shape == std::vector<int64_t>{2, 3});
  CHECK(result.array.dtype == DType::F32);
  float values[6];
  REQUIRE(result.array.data.size() == sizeof values);
  std::memcpy(values, result.array.data.data(), sizeof values);
  for (int i = 0; i < 6; ++i) {
    CHECK(values[i] == static_cast<float>(i));
  }
  // And the same bytes come back.
  const std::vector<std::byte> written = write_npy(result.array);
  CHECK(written.size() == file.size());
  CHECK(std::memcmp(written.data(), file.data(), file.size()) == 0);
}

TEST_CASE("npy: every type, every version, every rank, there and back") {
  for (const DType type : {DType::Bool, DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32,
                           DType::I64, DType::U64, DType::F16, DType::BF16, DType::F32, DType::F8E4M3}) {
    for (const std::vector<int64_t>& shape :
         std::vector<std::vector<int64_t>>{{}, {1}, {7}, {3, 5}, {2, 0, 4}, {1, 2, 3, 2, 1}}) {
      Array array{type, shape, {}};
      array.data.resize(static_cast<size_t>(byte_size(type, *element_count(shape, 1000))));
      for (size_t i = 0; i < array.data.size(); ++i) {
        array.data[i] = static_cast<std::byte>(type == DType::Bool ? i % 2 : i * 37);
      }
      const std::vector<std::byte> file = write_npy(array);
      CHECK((file.size() - array.data.size()) % 64 == 0);
      DiagnosticSink sink;
      const Result<Array> again = read_npy(file, type, "x", "x.npy", sink);
      INFO(type_text(type, shape) << " " << first_message(sink));
      REQUIRE(again.ok());
      CHECK(again->shape == shape);
      CHECK(again->data == array.data);
      // The header as version 2 and 3.
      const std::string text(reinterpret_cast<const char*>(file.data()) + 10, file.size() - 10 - array.data.size());
      const std::string data(reinterpret_cast<const char*>(array.data.data()), array.data.size());
      CHECK(read(npy(text.substr(0, text.find('}') + 1), data, 2), type).ok);
      CHECK(read(npy(text.substr(0, text.find('}') + 1), data, 3), type).ok);
    }
  }
}

TEST_CASE("npy: bits for types that NumPy does not have") {
  CHECK(read(npy(dictionary("<u2", "(2,)"), "abcd"), DType::BF16).ok);
  CHECK(read(npy(dictionary("|V2", "(2,)"), "abcd"), DType::BF16).ok);
  CHECK(read(npy(dictionary("|V1", "(2,)"), "ab"), DType::F8E5M2).ok);
  CHECK(!read(npy(dictionary("|V2", "(2,)"), "abcd"), DType::F16).ok);
  CHECK(!read(npy(dictionary("<u2", "(2,)"), "abcd"), DType::F16).ok);
  CHECK(has(read(npy(dictionary("<f4", "(1,)"), "abcd"), DType::BF16).message, "give the bits as uint16"));
}

TEST_CASE("npy: what is refused, and how") {
  const auto refused = [](const std::string& file, DType type, const std::string& part) {
    const Read result = read(file, type);
    CHECK(!result.ok);
    CHECK(has(result.message, "x.npy: E06"));
    CHECK(has(result.message, part));
  };
  const std::string four(16, 'a');
  refused("", DType::F32, "it is empty");
  refused("PK\x03\x04 a zip file, such as .npz", DType::F32, "doesn't start with");
  refused("\x93NUMPY", DType::F32, "ends inside the header");
  refused(std::string("\x93NUMPY\x01\x00", 8), DType::F32, "ends inside the header");
  refused(std::string("\x93NUMPY\x04\x00\x10\x00", 10), DType::F32, "format version 4.0");
  refused(std::string("\x93NUMPY\x01\x01\x10\x00", 10), DType::F32, "format version 1.1");
  refused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), DType::F32, "4294967295 bytes");
  refused(npy(dictionary("<f4", "(4,)"), four).substr(0, 40), DType::F32, "ends inside the header");
  refused(npy(dictionary("<f4", "(4,)"), four.substr(1)), DType::F32,
          "promises 16 bytes of data for shape [4], the file has 15");
  refused(npy(dictionary("<f4", "(4,)"), four + "!"), DType::F32, "1 bytes follow the data");
  refused(npy(dictionary("<f8", "(2,)"), four), DType::F32, "f64 is not a .pto type, convert to f32");
  refused(npy(dictionary(">f4", "(4,)"), four), DType::F32, "big-endian");
  refused(npy(dictionary("<f4", "(4,)", "True"), four), DType::F32, "Fortran order");
  refused(npy(dictionary("|O", "(4,)"), four), DType::F32, "pickled");
  refused(npy(dictionary("<c8", "(2,)"), four), DType::F32, "`<c8` is not one of");
  refused(npy(dictionary("<U4", "(1,)"), four), DType::F32, "is not one of");
  refused(npy(dictionary("<f16", "(1,)"), four), DType::F32, "is not one of");
  refused(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", four), DType::F32, "structured");
  refused(npy(dictionary("<f4", "(4)"), four), DType::F32, "not a tuple");
  refused(npy(dictionary("<f4", "4"), four), DType::F32, "not a tuple");
  refused(npy(dictionary("<f4", "(-4,)"), four), DType::F32, "not a number from 0");
  refused(npy(dictionary("<f4", "(99999999999999999999,)"), four), DType::F32, "not a number from 0");
  refused(npy(dictionary("<f4", "(4294967296, 4294967296)"), four), DType::F32, "more than 2^59");
  refused(npy(dictionary("<f4", "(4611686018427387904, 4, 0)"), four), DType::F32, "16 bytes follow");
  refused(npy("{'descr': '<f4', 'shape': (4,), }", four), DType::F32, "no `fortran_order`");
  refused(npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", four), DType::F32, "twice");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'x': 1}", four), DType::F32, "unknown key");
  refused(npy(dictionary("<f4", "(4,)") + "x", four), DType::F32, "text after");
  refused(npy(dictionary("|b1", "(2,)"), "\x01\x02"), DType::Bool, "neither 0 nor 1");
  refused(npy(dictionary("<f4", "(4,)"), four), DType::F16, "`x` has elements of type f16, the file has f32 (`<f4`)");
  refused(npy(dictionary("<i4", "(4,)"), four), DType::U32, "has i32");
  refused(npy(dictionary("|i1", "(4,)"), four.substr(12)), DType::I4, "no form of `i4`");
  std::string many = "(";
  for (int i = 0; i < 33; ++i) {
    many += "1, ";
  }
  refused(npy(dictionary("<f4", many + ")"), "aaaa"), DType::F32, "more than 32");
}

TEST_CASE("npy: goldens may be wider than the output") {
  const auto golden = [](const std::string& descr, size_t bytes, DType wanted) {
    const std::string file = npy(dictionary(descr, "(1,)"), std::string(bytes, '\0'));
    DiagnosticSink sink;
    const Result<Golden> result = read_npy_golden(bytes_of(file), wanted, "y", "y.npy", sink);
    REQUIRE(result.ok() == !sink.has_errors());
    return result.ok() ? (result->is_f64 ? "f64" : std::string(spelling(result->array.dtype))) : sink.all()[0].code();
  };
  CHECK(golden("<f8", 8, DType::F16) == "f64");
  CHECK(golden("<f4", 4, DType::F16) == "f32");
  CHECK(golden("<f2", 2, DType::F16) == "f16");
  CHECK(golden("<f2", 2, DType::F32) == "f16");
  CHECK(golden("<u2", 2, DType::BF16) == "bf16");
  CHECK(golden("<u2", 2, DType::F16) == "E0632");
  CHECK(golden("<i8", 8, DType::I32) == "i64");
  CHECK(golden("|b1", 1, DType::Bool) == "bool");
  CHECK(golden("<f8", 8, DType::I32) == "E0632");
  CHECK(golden("<i4", 4, DType::F32) == "E0632");
}

TEST_CASE("npy: mutated files never crash, and what is read is what the file has") {
  std::mt19937_64 random(20240607);
  const std::vector<std::string> seeds = {
      npy(dictionary("<f4", "(3, 4)"), std::string(48, 'a')), npy(dictionary("<f4", "(12,)"), std::string(48, 'b'), 2),
      npy(dictionary("<f4", "()"), "abcd", 3), npy(dictionary("<f4", "(0, 7)"), "")};
  const std::string alphabet = "0123456789(),:{}'\"<>|=fiubVO \n\\LTrue";
  int accepted = 0;
  const auto mutate = [&](std::string text) {
    for (uint64_t edits = 1 + random() % 3; edits > 0 && !text.empty(); --edits) {
      const size_t at = random() % std::min<size_t>(text.size(), 80);
      switch (random() % 6) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = alphabet[random() % alphabet.size()];
          break;
        case 2:
          text.erase(at, 1 + random() % 3);
          break;
        case 3:
          text.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        case 4:
          text.resize(random() % text.size());
          break;
        default:
          text.insert(at, text.substr(at, random() % 20));
          break;
      }
    }
    return text;
  };
  for (int round = 0; round < 20000; ++round) {
    // Half of the time only the dictionary is mutated and everything else agrees with it, so that more get through.
    const bool deep = round % 2 == 0;
    const std::string file = deep ? npy(mutate(dictionary("<f4", round % 4 == 0 ? "(12,)" : "(3, 4)")),
                                        std::string(48, 'c'), 1 + static_cast<int>(random() % 2))
                                  : mutate(seeds[random() % seeds.size()]);
    DiagnosticSink sink;
    const Result<NpyHeader> header = parse_npy_header(bytes_of(file), "m.npy", sink);
    REQUIRE(header.ok() == !sink.has_errors());
    if (header) {
      ++accepted;
      REQUIRE(header->data_offset + static_cast<size_t>(header->elements * header->item_bytes) == file.size());
    }
    for (const DType type : {DType::F32, DType::BF16, DType::Bool}) {
      DiagnosticSink again;
      const Result<Array> array = read_npy(bytes_of(file), type, "x", "m.npy", again);
      REQUIRE(array.ok() == !again.has_errors());
      REQUIRE((!array.ok() || header.ok()));
      REQUIRE((!array.ok() || static_cast<int64_t>(array->data.size()) == byte_size(type, array->elements())));
    }
  }
  CHECK(accepted > 50);  // else nothing but refusals was tested
  CHECK(accepted < 15000);
}
