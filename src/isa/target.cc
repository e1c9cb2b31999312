// Look-ups in a target description, and the descriptions that are built in.
#include "pto/target.h"

#include <array>

#include "pto/diagnostics.h"

namespace pto {
namespace {

struct BuiltinText {
  std::string_view name;
  std::string_view json;
};
constexpr BuiltinText kBuiltins[] = {
#define PTO_TARGET(name, json) {name, json},
#include "builtin_targets.inc"
#undef PTO_TARGET
};

}  // namespace

const DataPath* Target::path(Space from, Space to, CoreKind core) const {
  for (const DataPath& path : paths) {
    if (path.from == from && path.to == to && path.core == core) {
      return &path;
    }
  }
  return nullptr;
}

std::vector<std::string_view> builtin_targets() {
  std::vector<std::string_view> names;
  for (const BuiltinText& builtin : kBuiltins) {
    names.push_back(builtin.name);
  }
  return names;
}

Result<Target> builtin_target(std::string_view name, DiagnosticSink& sink) {
  std::string known;
  for (const BuiltinText& builtin : kBuiltins) {
    if (builtin.name == name) {
      return parse_target(builtin.json, std::string(name), sink);
    }
    known += (known.empty() ? "`" : ", `") + std::string(builtin.name) + "`";
  }
  sink.report(DiagId::UnknownTarget, Span(), {std::string(name), known});
  return Reported{};
}

}  // namespace pto
