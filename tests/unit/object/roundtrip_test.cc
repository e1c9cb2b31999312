// Objects to bytes and back.
#include <catch2/catch.hpp>
#include <cstring>
#include <string_view>

#include "pto/diagnostics.h"
#include "src/object/structure.h"
#include "tests/unit/object/sample.h"

namespace pto::object {
namespace {

Result<Object> read_back(const std::vector<uint8_t>& bytes) {
  DiagnosticSink sink;
  Result<Object> object = read(bytes, "x.ptobin", sink);
  INFO(render_text(sink, nullptr, {}));
  CHECK(object.ok() != sink.has_errors());
  return object;
}

// Bytes of the source map at the end of the file, its length not among them.
size_t map_bytes(const Object& object) {
  return write(object, true).size() - write(object, false).size();
}

}  // namespace

TEST_CASE("a target accepts the samples") {
  for (const Object& object : {sample(), mixed_sample()}) {
    DiagnosticSink sink;
    const auto target = builtin_target("a2a3", sink);
    REQUIRE(target);
    const bool ok = verify(object, *target, "x.ptobin", sink);
    INFO(render_text(sink, nullptr, {}));
    CHECK(ok);
  }
}

TEST_CASE("the samples read back as they were written") {
  for (const Object& object : {sample(), mixed_sample()}) {
    const auto bytes = write(object);
    CHECK(std::memcmp(bytes.data() + 4, "PTOB", 4) == 0);
    const auto back = read_back(bytes);
    REQUIRE(back);
    CHECK(same(*back, object));
    CHECK(write(*back) == bytes);
  }
}

TEST_CASE("random objects read back as they were written") {
  size_t statements = 0;
  size_t tasks = 0;
  size_t pairs = 0;
  size_t ring_instructions = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Object object = random_object(seed);
    DiagnosticSink sink;
    const std::string subject = "x.ptobin";
    Problems problems(object, subject, sink);
    const bool valid = check_structure(object, problems);
    INFO(render_text(sink, nullptr, {}));
    REQUIRE(valid);
    const auto bytes = write(object);
    REQUIRE(write(object) == bytes);
    const auto back = read_back(bytes);
    REQUIRE(back);
    REQUIRE(same(*back, object));
    const auto bare = read_back(write(object, false));
    REQUIRE(bare);
    REQUIRE(same(*bare, without_locations(object)));
    for (const Core& core : object.cores) {
      statements += core.code.size();
      for (const Stmt& stmt : core.code) {
        ring_instructions += stmt.kind == StmtKind::Inst && stmt.inst.opcode >= isa::Opcode::TPush &&
                                     stmt.inst.opcode <= isa::Opcode::TFree
                                 ? 1
                                 : 0;
      }
    }
    for (const Program& program : object.programs) {
      tasks += program.tasks.size();
      for (const Task& task : program.tasks) {
        pairs += task.vec && !object.cores[task.core].rings.empty() ? 1 : 0;
      }
    }
  }
  CHECK(statements > 2000);
  CHECK(tasks > 300);
  CHECK(pairs > 30);
  CHECK(ring_instructions > 30);
}

TEST_CASE("an object without anything in it reads back") {
  Object object;
  object.target = "a2a3";
  const auto back = read_back(write(object));
  REQUIRE(back);
  CHECK(same(*back, object));
}

TEST_CASE("objects that differ only in locations have equal bytes before the map") {
  const Object object = sample();
  Object moved = sample();
  moved.source_files = {"somewhere/else/with/a/longer/name.pto"};
  moved.cores[0].location = {1, 77, 7};
  for (Stmt& stmt : moved.cores[0].code) {
    stmt.location = {1, stmt.location.line + 100, 3};
  }
  moved.programs[0].location = {};
  const auto a = write(object, true);
  const auto b = write(moved, true);
  const auto bare = write(object, false);
  CHECK(bare == write(moved, false));
  CHECK(map_bytes(object) > 0);
  CHECK(map_bytes(object) != map_bytes(moved));
  // All but the length of the map, the last four bytes of the bare object, and what follows.
  const size_t common = bare.size() - 4;
  CHECK(std::memcmp(a.data(), bare.data(), common) == 0);
  CHECK(std::memcmp(b.data(), bare.data(), common) == 0);
}

TEST_CASE("any change of an object changes its bytes") {
  const auto bytes = write(sample(), false);
  const auto changed = [&](const auto& change) {
    Object object = sample();
    change(object);
    return write(object, false) != bytes;
  };
  CHECK(changed([](Object& o) { o.target_hash ^= 1; }));
  CHECK(changed([](Object& o) { o.target = "a5"; }));
  CHECK(changed([](Object& o) { o.cores[0].doc += "!"; }));
  CHECK(changed([](Object& o) { o.cores[0].buffers[1].address += 32; }));
  CHECK(changed([](Object& o) { o.cores[0].symbols[3].name = "c"; }));
  CHECK(changed([](Object& o) { o.cores[0].code[3].inst.operands[2].b = o.cores[0].code[3].inst.operands[2].a; }));
  CHECK(changed([](Object& o) { o.programs[0].params[2].default_value.reset(); }));
  CHECK(changed([](Object& o) { o.programs[0].tasks[2].after = {1}; }));
  CHECK(changed([](Object& o) { o.programs[0].constraints[0].text += " "; }));

  const auto mixed_bytes = write(mixed_sample(), false);
  const auto mixed_changed = [&](const auto& change) {
    Object object = mixed_sample();
    change(object);
    return write(object, false) != mixed_bytes;
  };
  CHECK(mixed_changed([](Object& o) { o.cores[0].rings[0].name = "t"; }));
  CHECK(mixed_changed([](Object& o) { o.cores[0].rings[0].direction = isa::RingDirection::V2C; }));
  CHECK(mixed_changed([](Object& o) { o.cores[0].rings[0].dtype = DType::F16; }));
  CHECK(mixed_changed([](Object& o) { o.cores[0].rings[0].rows = 32; }));
  CHECK(mixed_changed([](Object& o) { o.cores[0].rings[0].cols = 32; }));
  CHECK(mixed_changed([](Object& o) { o.cores[0].rings[0].slots = 3; }));
  CHECK(mixed_changed([](Object& o) { o.cores[0].rings[0].split = isa::Split::Cols; }));
  CHECK(mixed_changed([](Object& o) { o.cores[1].code[1].inst.operands[1].ring = isa::RingId(1); }));
  CHECK(mixed_changed([](Object& o) { o.programs[0].tasks[0].vec.reset(); }));
  CHECK(mixed_changed([](Object& o) { o.programs[0].tasks[0].vec->core = 0; }));
  CHECK(mixed_changed([](Object& o) { o.programs[0].tasks[0].vec->lanes = 1; }));
  CHECK(mixed_changed([](Object& o) { o.programs[0].tasks[0].vec->args[0].tensor = 0; }));
  CHECK(mixed_changed([](Object& o) { o.programs[0].tasks[0].vec->dims.clear(); }));
}

TEST_CASE("tensors are parameters, then views") {
  const Core core = sample().cores[0];
  CHECK(core.tensor_count() == 3);
  CHECK(core.tensor_name(isa::TensorId(0)) == "x");
  CHECK(core.tensor_name(isa::TensorId(1)) == "y");
  CHECK(core.tensor_name(isa::TensorId(2)) == "yf");
  CHECK(core.tensor_dims(isa::TensorId(1)).size() == 2);
  CHECK(core.tensor_dims(isa::TensorId(2)).size() == 1);
  const auto infos = core.tensor_infos();
  REQUIRE(infos.size() == 3);
  CHECK(infos[2].dtype == DType::F32);
  CHECK(infos[2].rank == 1);
  CHECK(infos[1].rank == 2);
}

}  // namespace pto::object
