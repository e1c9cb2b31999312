#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "src/isa/rules.h"
#include "tests/unit/isa/build.h"

using namespace pto;
using namespace pto::isa::testing;
using Catch::Contains;
using nlohmann::json;

namespace {

json document() {
  return json::parse(a2a3().json);
}

// The message for a description, "" if it is good.
std::string verdict(const std::string& text) {
  DiagnosticSink sink;
  const Result<Target> target = parse_target(text, "file.json", sink);
  CHECK(target.ok() == sink.all().empty());
  if (target.ok()) {
    return "";
  }
  REQUIRE(sink.all().size() == 1);
  CHECK(sink.all()[0].id == DiagId::TargetInvalid);
  CHECK(sink.all()[0].subject == "file.json");
  return sink.all()[0].message;
}
std::string verdict_with(const std::string& pointer, const json& value) {
  json changed = document();
  changed[json::json_pointer(pointer)] = value;
  return verdict(changed.dump());
}

// Every field of an object, as JSON pointers; `sources` is free.
void collect(const json& value, const std::string& pointer, std::vector<std::string>& out) {
  for (const auto& item : value.items()) {
    const std::string at = pointer + "/" + item.key();
    if (at == "/sources") {
      continue;
    }
    if (!value.is_array()) {
      out.push_back(at);
    }
    if (item.value().is_structured()) {
      collect(item.value(), at, out);
    }
  }
}
std::vector<std::string> all_fields() {
  std::vector<std::string> fields;
  collect(document(), "", fields);
  return fields;
}
std::string dotted(const std::string& pointer) {
  std::string text;
  for (const char c : pointer.substr(1)) {
    text += c == '/' ? '.' : c;
  }
  return text;
}

}  // namespace

TEST_CASE("built-in targets") {
  const std::vector<std::string_view> names = builtin_targets();
  CHECK(names == std::vector<std::string_view>{"a2a3", "a5", "unit"});
  CHECK(a2a3().family == IsaFamily::A2A3);
  CHECK(a2a3().cube_cores == 24);
  CHECK(a2a3().vec_cores == 48);
  CHECK(a2a3().space(Space::Vec).bytes == 192 * 1024);
  CHECK(a2a3().space(Space::Acc).bytes == 128 * 1024);
  CHECK(a2a3().left_layout == Layout::Zz);
  CHECK(a5().cube_cores == 32);
  CHECK(a5().cores(CoreKind::Vec) == 64);
  CHECK(a5().space(Space::Vec).bytes == 256 * 1024);
  CHECK(a5().left_layout == Layout::Nz);
  CHECK(a2a3().hash != a5().hash);
  const Target unit = target_of("unit");
  CHECK(unit.family == IsaFamily::A5);
  CHECK(unit.cube_cores == 2);
  CHECK(unit.vec_cores == 4);
}

TEST_CASE("an unknown target lists the known ones") {
  DiagnosticSink sink;
  CHECK_FALSE(builtin_target("a7", sink).ok());
  REQUIRE(sink.all().size() == 1);
  CHECK(sink.all()[0].id == DiagId::UnknownTarget);
  CHECK_THAT(sink.all()[0].message, Contains("`a2a3`, `a5`, `unit`"));
}

TEST_CASE("the hash is of the content, not of the spelling") {
  DiagnosticSink sink;
  const Result<Target> compact = parse_target(document().dump(), "x", sink);
  REQUIRE(compact.ok());
  CHECK(compact->hash == a2a3().hash);
  json changed = document();
  changed["clock_ghz"] = 1.85;
  const Result<Target> other = parse_target(changed.dump(), "x", sink);
  REQUIRE(other.ok());
  CHECK(other->hash != a2a3().hash);
}

TEST_CASE("every field is required") {
  const std::vector<std::string> fields = all_fields();
  CHECK(fields.size() > 200);
  for (const std::string& pointer : fields) {
    json changed = document();
    const size_t slash = pointer.rfind('/');
    changed[json::json_pointer(pointer.substr(0, slash))].erase(pointer.substr(slash + 1));
    const std::string message = verdict(changed.dump());
    INFO(pointer);
    CHECK_THAT(message, Contains("missing field"));
    if (pointer.find("/paths/") != 0) {
      CHECK_THAT(message, Contains("`" + dotted(pointer) + "`"));
    }
  }
}

TEST_CASE("no field takes another type") {
  for (const std::string& pointer : all_fields()) {
    INFO(pointer);
    CHECK_FALSE(verdict_with(pointer, json(nullptr)).empty());
    CHECK_FALSE(verdict_with(pointer, json(true)).empty());
    CHECK_FALSE(verdict_with(pointer, json::array({1})).empty());
    const json value = document()[json::json_pointer(pointer)];
    if (value.is_number()) {
      CHECK_FALSE(verdict_with(pointer, json("1")).empty());
      CHECK_FALSE(verdict_with(pointer, json(-1)).empty());
      CHECK_FALSE(verdict_with(pointer, json(1e300)).empty());
    } else if (value.is_string() && pointer != "/name" && pointer != "/description") {
      CHECK_FALSE(verdict_with(pointer, json("bogus")).empty());
    }
  }
}

TEST_CASE("unknown fields are refused, with their path") {
  CHECK_THAT(verdict_with("/extra", 1), Contains("unknown field `extra`"));
  CHECK_THAT(verdict_with("/cores/extra", 1), Contains("unknown field `cores.extra`"));
  CHECK_THAT(verdict_with("/paths/3/extra", 1), Contains("unknown field `paths[3].extra`"));
  CHECK_THAT(verdict_with("/spaces/gm", json::object()), Contains("unknown field `spaces.gm`"));
  CHECK_THAT(verdict_with("/vector/costs/vec_cos", json::object()), Contains("unknown field `vector.costs.vec_cos`"));
  CHECK_THAT(verdict_with("/matmul/macs_per_cycle/i32", 1), Contains("unknown field `matmul.macs_per_cycle.i32`"));
}

TEST_CASE("repeated fields are refused") {
  std::string text = document().dump();
  text.insert(1, "\"queue_depth\":4,");
  CHECK_THAT(verdict(text), Contains("\"queue_depth\" stands twice"));
}

TEST_CASE("ranges") {
  CHECK_THAT(verdict_with("/cores/cube", 0), Contains("`cores.cube` is 0, not in 1 to 4096"));
  CHECK_THAT(verdict_with("/cores/vec", 4097), Contains("`cores.vec` is 4097"));
  CHECK_THAT(verdict_with("/cores/vec", 2.5), Contains("must be a whole number"));
  CHECK_THAT(verdict_with("/cores/vec", UINT64_MAX), Contains("not in 1 to 4096"));
  CHECK_THAT(verdict_with("/sync/event_ids", 33), Contains("not in 1 to 32"));
  CHECK_THAT(verdict_with("/spaces/vec/bytes", (int64_t{1} << 40) + 1), Contains("`spaces.vec.bytes`"));
  CHECK_THAT(verdict_with("/spaces/vec/align", 48), Contains("not a power of two"));
  CHECK_THAT(verdict_with("/paths/0/bytes_per_cycle", 0), Contains("`paths[0].bytes_per_cycle`"));
  CHECK_THAT(verdict_with("/memory/hbm_bytes_per_cycle", 0), Contains("hbm_bytes_per_cycle"));
  CHECK_THAT(verdict_with("/clock_ghz", 0), Contains("clock_ghz"));
  CHECK_THAT(verdict_with("/left_layout", "zn"), Contains("`left_layout` must be `zz` or `nz`"));
  CHECK_THAT(verdict_with("/family", "a9"), Contains("`family` has the unknown value \"a9\""));
  CHECK_THAT(verdict_with("/name", "a\nb"), Contains("`name` must have"));
  CHECK_THAT(verdict_with("/name", ""), Contains("`name` must have"));
  CHECK_THAT(verdict_with("/matmul/idle_head_cycles", 1), Contains("idle_head_cycles"));
  CHECK_THAT(verdict_with("/paths/0/pipe", "all"), Contains("unknown value \"all\""));
  CHECK(verdict_with("/spaces/scaling/bytes", 0).empty());
}

TEST_CASE("paths fit the memories") {
  CHECK_THAT(verdict_with("/paths/0/core", "cube"), Contains("belongs to the other kind of core"));
  CHECK_THAT(verdict_with("/paths/0/to", "gm"), Contains("must end in a core's memory"));
  CHECK_THAT(verdict_with("/paths/1", document()["paths"][0]), Contains("a second path from `gm` to `vec`"));
  CHECK_THAT(verdict_with("/spaces/bias/bytes", 0), Contains("the target has no `bias` memory"));
  json changed = document();
  changed["paths"] = json::array();
  for (int i = 0; i < 65; ++i) {
    changed["paths"].push_back(document()["paths"][0]);
  }
  CHECK_THAT(verdict(changed.dump()), Contains("`paths` has 65 entries, more than 64"));
}

TEST_CASE("sources are strings, and may be absent") {
  json changed = document();
  changed.erase("sources");
  CHECK(verdict(changed.dump()).empty());
  CHECK_THAT(verdict_with("/sources/cores", 1), Contains("`sources.cores` must be a string"));
  CHECK_THAT(verdict_with("/sources", "me"), Contains("`sources` must be an object"));
}

TEST_CASE("hostile text") {
  CHECK_THAT(verdict(""), Contains("not JSON"));
  CHECK_THAT(verdict("{"), Contains("not JSON"));
  CHECK_THAT(verdict("[]"), Contains("must be an object"));
  CHECK_THAT(verdict("{\"name\": \"\xff\"}"), Contains("not JSON"));
  CHECK_THAT(verdict("{\"name\": 1e999}"), Contains("not JSON"));
  CHECK_THAT(verdict(std::string("{\"name\": \"a\0b\"}", 15)), Contains("not JSON"));
  CHECK_THAT(verdict(std::string(500000, '[')), Contains("nested deeper than 8"));
  std::string deep;
  for (int i = 0; i < 100000; ++i) {
    deep += "{\"a\":";
  }
  CHECK_THAT(verdict(deep), Contains("nested deeper than 8"));
  CHECK_THAT(verdict(std::string((1 << 20) + 1, ' ')), Contains("more than 1048576"));
  CHECK_THAT(verdict("{\"na\\\"[[[[[[[[[[[[me\": 1}"), Contains("missing field `name`"));
}

TEST_CASE("truncated and damaged descriptions never do harm") {
  const std::string text = document().dump();
  for (size_t length = 0; length < text.size(); length += 37) {
    CHECK_FALSE(verdict(text.substr(0, length)).empty());
  }
  uint32_t state = 7;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 3; ++k) {
      state = state * 1664525U + 1013904223U;
      damaged[(state >> 8U) % damaged.size()] = static_cast<char>(state >> 24U);
    }
    DiagnosticSink sink;
    const bool ok = parse_target(damaged, "x", sink).ok();
    CHECK(ok == sink.all().empty());
  }
}
