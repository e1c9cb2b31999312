// Bytes that nobody wrote: every one of them ends in a diagnostic or in an object that is as good as any other.
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "pto/diagnostics.h"
#include "ptob_generated.h"
#include "src/object/structure.h"
#include "tests/unit/object/sample.h"

namespace pto::object {
namespace {

using Bytes = std::vector<uint8_t>;

std::string message_of(const Bytes& bytes) {
  DiagnosticSink sink;
  const auto object = read(bytes, "x.ptobin", sink);
  CHECK_FALSE(object.ok());
  return render_text(sink, nullptr, {});
}

// True if it was read. What is read must pass the verifier's structure again, write, and read back the same; and the
// machine's rules must bear to look at it.
bool survives(const Bytes& bytes, const Target& target) {
  DiagnosticSink sink;
  const auto object = read(bytes, "x.ptobin", sink);
  REQUIRE(object.ok() != sink.has_errors());
  if (!object) {
    return false;
  }
  DiagnosticSink again;
  const auto copy = read(write(*object), "copy", again);
  REQUIRE(copy);
  REQUIRE(same(*copy, *object));
  for (const Core& core : object->cores) {
    for (uint32_t i = 0; i < core.exprs.size(); ++i) {
      (void)core.exprs.print(ExprId(i), core.symbols);
    }
  }
  verify(*object, target, "x.ptobin", again);
  return true;
}

Target a2a3() {
  DiagnosticSink sink;
  auto target = builtin_target("a2a3", sink);
  REQUIRE(target);
  return *target;
}

}  // namespace

TEST_CASE("what is no object is told so") {
  const Bytes good = write(sample());
  CHECK(message_of({}) == "x.ptobin: error[E0501]: not a PTO object: the file is empty\n");
  CHECK(message_of({1, 2, 3}) == "x.ptobin: error[E0501]: not a PTO object: it has only 3 bytes\n");
  const std::string text = "graph f[M](x: f32[M]) -> (y: f32[M]) { y = x; }";
  CHECK(message_of(Bytes(text.begin(), text.end())) ==
        "x.ptobin: error[E0501]: not a PTO object: the identifier `PTOB` is missing\n");
  CHECK(message_of(Bytes(good.begin(), good.begin() + 200)) ==
        "x.ptobin: error[E0503]: the object is corrupt: it is truncated or damaged\n");
}

TEST_CASE("other versions are named") {
  const auto refused = [](uint32_t version) {
    return "x.ptobin: error[E0502]: the object has version " + std::to_string(version) +
           "; this program reads versions 2 to 2\n";
  };
  Object object = sample();
  object.version = kVersion + 1;
  CHECK(message_of(write(object)) == refused(kVersion + 1));
  object.version = kOldestReadable - 1;
  CHECK(message_of(write(object)) == refused(kOldestReadable - 1));
  // Of a later version nothing but the version needs to be understood.
  flatbuffers::FlatBufferBuilder builder;
  const auto start = builder.StartTable();
  builder.AddElement<uint32_t>(wire::Object::VT_VERSION, 9, 0);
  builder.Finish(flatbuffers::Offset<wire::Object>(builder.EndTable(start)), "PTOB");
  CHECK(message_of(Bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize())) == refused(9));
}

TEST_CASE("too large a file is refused before anything else") {
  Bytes large(size_t{65} << 20);
  std::memcpy(large.data() + 4, "PTOB", 4);
  CHECK(message_of(large).find("it has more than 67108864 bytes") != std::string::npos);
}

TEST_CASE("every truncation is refused or harmless") {
  const Target target = a2a3();
  size_t read_ones = 0;
  for (const Bytes& good : {write(sample()), write(mixed_sample())}) {
    for (size_t size = 0; size < good.size(); ++size) {
      read_ones += survives(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)), target) ? 1 : 0;
    }
  }
  CHECK(read_ones == 0);
}

TEST_CASE("every single byte may be anything") {
  const Target target = a2a3();
  std::mt19937 random(11);
  for (const Bytes& good : {write(sample()), write(mixed_sample())}) {
    size_t read_ones = 0;
    for (size_t at = 0; at < good.size(); ++at) {
      Bytes bad = good;
      bad[at] = static_cast<uint8_t>(bad[at] ^ (1U + random() % 255));
      CAPTURE(at);
      read_ones += survives(bad, target) ? 1 : 0;
    }
    // Many bytes are names, numbers of constants and padding: the reader must not refuse all.
    CHECK(read_ones > 100);
    CHECK(read_ones < good.size() / 2);
  }
}

TEST_CASE("many bytes may be anything") {
  const Target target = a2a3();
  std::mt19937 random(12);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bad = write(random_object(static_cast<uint32_t>(round % 50)), round % 2 == 0);
    for (size_t i = 1 + random() % 8; i > 0; --i) {
      const size_t at = random() % bad.size();
      constexpr uint8_t kSpecial[] = {0, 1, 0x7F, 0x80, 0xFF, 4, 8, 0x10};
      bad[at] = random() % 2 == 0 ? kSpecial[random() % std::size(kSpecial)] : static_cast<uint8_t>(random());
    }
    if (random() % 8 == 0) {
      bad.resize(random() % bad.size());
    }
    CAPTURE(round);
    refused += survives(bad, target) ? 0 : 1;
  }
  CHECK(refused > 1000);
}

TEST_CASE("words may be swapped and repeated") {
  const Target target = a2a3();
  const Bytes good = write(sample());
  std::mt19937 random(13);
  for (int round = 0; round < 3000; ++round) {
    Bytes bad = good;
    for (int i = 0; i < 3; ++i) {
      const size_t from = random() % (bad.size() / 4) * 4;
      const size_t to = random() % (bad.size() / 4) * 4;
      std::memcpy(bad.data() + to, good.data() + from, std::min<size_t>(4, bad.size() - std::max(from, to)));
    }
    CAPTURE(round);
    survives(bad, target);
  }
}

namespace {

// Builds objects by hand that the writer would not.
struct Builder {
  flatbuffers::FlatBufferBuilder fb;
  template <typename T>
  Bytes object(const std::vector<flatbuffers::Offset<T>>& cores) {
    const auto target = fb.CreateString("a2a3");
    const auto list = fb.CreateVector(cores);
    wire::FinishObjectBuffer(fb, wire::CreateObject(fb, kVersion, target, 0, list));
    return Bytes(fb.GetBufferPointer(), fb.GetBufferPointer() + fb.GetSize());
  }
};

}  // namespace

TEST_CASE("a small file can't stand for a large object") {
  // One core, a thousand times; its code is one statement, a thousand times; of one operand list.
  Builder builder;
  const auto name = builder.fb.CreateString("c");
  const auto operand = wire::CreateOperand(builder.fb);
  const auto operands = builder.fb.CreateVector(std::vector(3, operand));
  const auto stmt = wire::CreateStmt(builder.fb, wire::StmtKind::Inst, 0x0201, operands);
  const auto code = builder.fb.CreateVector(std::vector(1000, stmt));
  wire::CoreBuilder core(builder.fb);
  core.add_name(name);
  core.add_code(code);
  const auto one = core.Finish();
  const std::string message = message_of(builder.object(std::vector(1000, one)));
  CHECK((message.find("used twice") != std::string::npos || message.find("damaged") != std::string::npos));
}

TEST_CASE("texts used twice are refused") {
  Builder builder;
  const auto name = builder.fb.CreateString(std::string(1000, 'n'));
  std::vector<flatbuffers::Offset<wire::Symbol>> symbols(100);
  for (auto& symbol : symbols) {
    symbol = wire::CreateSymbol(builder.fb, name, wire::SymKind::Let, 8);
  }
  const auto list = builder.fb.CreateVector(symbols);
  wire::CoreBuilder core(builder.fb);
  core.add_name(name);
  core.add_symbols(list);
  const auto one = core.Finish();
  CHECK(message_of(builder.object(std::vector(1, one))) ==
        "x.ptobin: error[E0503]: the object is corrupt: parts of it are used twice\n");
}

TEST_CASE("numbers that this version doesn't know are named") {
  const auto core_with = [](const auto& fill) {
    Builder builder;
    const auto name = builder.fb.CreateString("c");
    const auto add = fill(builder.fb);
    wire::CoreBuilder core(builder.fb);
    core.add_name(name);
    add(core);
    const auto one = core.Finish();
    return message_of(builder.object(std::vector(1, one)));
  };
  const auto has = [](const std::string& message, const char* text) {
    CAPTURE(message);
    CHECK(message.find(text) != std::string::npos);
    CHECK(message.find("E0503") != std::string::npos);
  };
  has(core_with([](auto&) { return [](auto& core) { core.add_kind(static_cast<wire::CoreKind>(9)); }; }),
      "unknown kind of core 9");
  const auto stmt_of = [&](wire::StmtKind kind, uint16_t opcode, size_t operands) {
    return core_with([&](auto& fb) {
      const auto list = fb.CreateVector(std::vector(operands, wire::CreateOperand(fb)));
      const auto code = fb.CreateVector(std::vector(1, wire::CreateStmt(fb, kind, opcode, list)));
      return [code](auto& core) { core.add_code(code); };
    });
  };
  has(stmt_of(static_cast<wire::StmtKind>(99), 0, 0), "unknown kind of statement 99");
  has(stmt_of(wire::StmtKind::Inst, 0x7777, 0), "unknown instruction 30583");
  has(stmt_of(wire::StmtKind::Inst, 0x0201, 2), "other operands than its format");
  const auto expr_of = [&](wire::ExprNode node) {
    return core_with([&](auto& fb) {
      const auto nodes = fb.CreateVectorOfStructs(std::vector(1, node));
      return [nodes](auto& core) { core.add_exprs(nodes); };
    });
  };
  has(expr_of({0, 0, 0, static_cast<wire::ExprOp>(99)}), "unknown operator 99");
  has(expr_of({0, 0, 0, wire::ExprOp::Add}), "not before it");
  has(expr_of({0, 0xFFFFFFFF, 0, wire::ExprOp::Add}), "not before it");
  has(expr_of({0, 0, 0, wire::ExprOp::Sym}), "a symbol that doesn't exist");
  has(expr_of({-1, 0, 0, wire::ExprOp::Sym}), "a symbol that doesn't exist");
  const auto symbol_of = [&](const std::string& text, uint8_t kind, uint8_t dtype) {
    return core_with([&](auto& fb) {
      const auto symbol = wire::CreateSymbol(fb, fb.CreateString(text), static_cast<wire::SymKind>(kind), dtype);
      const auto list = fb.CreateVector(std::vector(1, symbol));
      return [list](auto& core) { core.add_symbols(list); };
    });
  };
  has(symbol_of("x", 9, 8), "unknown kind of symbol 9");
  has(symbol_of("x", 2, 0), "unknown element type 0");
  has(symbol_of("x", 2, 99), "unknown element type 99");
  has(symbol_of(std::string("a\0b", 3), 2, 8), "a text in it is not valid");
  has(symbol_of("\xFF", 2, 8), "a text in it is not valid");
  has(symbol_of(std::string(5000, 'a'), 2, 8), "a text in it is not valid");
  const auto buffer_of = [&](uint8_t layout, uint8_t space) {
    return core_with([&](auto& fb) {
      const auto buffer = wire::CreateBuffer(fb, fb.CreateString("b"), 12, 1, 1, static_cast<wire::Layout>(layout),
                                             static_cast<wire::Space>(space));
      const auto list = fb.CreateVector(std::vector(1, buffer));
      return [list](auto& core) { core.add_buffers(list); };
    });
  };
  has(buffer_of(7, 2), "unknown layout 7");
  has(buffer_of(1, 9), "unknown memory 9");
  const auto ring_of = [&](uint8_t direction, uint8_t dtype, uint8_t split) {
    return core_with([&](auto& fb) {
      const auto ring = wire::CreateRing(fb, fb.CreateString("r"), static_cast<wire::RingDirection>(direction), dtype,
                                         1, 1, 1, static_cast<wire::Split>(split));
      const auto list = fb.CreateVector(std::vector(1, ring));
      return [list](auto& core) { core.add_rings(list); };
    });
  };
  has(ring_of(2, 12, 0), "unknown direction of a ring 2");
  has(ring_of(0, 99, 0), "unknown element type 99");
  has(ring_of(0, 12, 3), "unknown split of a ring 3");
  const auto many = core_with([](auto& fb) {
    std::vector<flatbuffers::Offset<wire::Ring>> rings;
    for (size_t i = 0; i < isa::kMaxRings + 1; ++i) {
      rings.push_back(
          wire::CreateRing(fb, fb.CreateString("r" + std::to_string(i)), wire::RingDirection::C2V, 12, 1, 1));
    }
    const auto list = fb.CreateVector(rings);
    return [list](auto& core) { core.add_rings(list); };
  });
  has(many, "a list in it is too long");
}

TEST_CASE("damage to the source map is seen") {
  Object other = sample();
  other.cores[0].code.pop_back();
  // A map of another object: take the bytes of one before the map, and the map of the other. Only their lengths agree
  // by chance, so build the file with the wire's own builder instead.
  const auto with_map = [](const Bytes& map) {
    flatbuffers::FlatBufferBuilder fb;
    const auto bytes = fb.CreateVector(map);
    const auto target = fb.CreateString("a2a3");
    wire::FinishObjectBuffer(fb, wire::CreateObject(fb, kVersion, target, 0, 0, 0, bytes));
    return message_of(Bytes(fb.GetBufferPointer(), fb.GetBufferPointer() + fb.GetSize()));
  };
  const auto map_of = [](size_t cores, std::vector<std::string> files) {
    flatbuffers::FlatBufferBuilder fb;
    std::vector<flatbuffers::Offset<flatbuffers::String>> names;
    for (const std::string& file : files) {
      names.push_back(fb.CreateString(file));
    }
    std::vector<flatbuffers::Offset<wire::UnitMap>> units(cores, wire::CreateUnitMap(fb));
    const auto name_list = fb.CreateVector(names);
    const auto unit_list = fb.CreateVector(units);
    fb.Finish(wire::CreateSourceMap(fb, name_list, unit_list));
    return Bytes(fb.GetBufferPointer(), fb.GetBufferPointer() + fb.GetSize());
  };
  CHECK(with_map({1}).find("its source map is damaged") != std::string::npos);
  CHECK(with_map(Bytes(64, 0xFF)).find("its source map is damaged") != std::string::npos);
  CHECK(with_map(map_of(1, {})).find("its source map is of another object") != std::string::npos);
  CHECK(with_map(map_of(0, {"\xFF"})).find("invalid file name") != std::string::npos);
  CHECK(with_map(map_of(0, {std::string("a\0", 2)})).find("invalid file name") != std::string::npos);
}

}  // namespace pto::object
