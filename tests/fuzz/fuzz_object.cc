// Any bytes as a .ptobin: read, verify, and write again what was accepted.
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pto::DiagnosticSink sink;
  const auto object = pto::object::read(std::span(data, size), "input", sink);
  if (!object) {
    // Refused means that somebody said why.
    return sink.has_errors() ? 0 : (std::abort(), 0);
  }
  for (const std::string_view name : pto::builtin_targets()) {
    const auto target = pto::builtin_target(name, sink);
    if (target && pto::object::verify(*object, *target, "input", sink)) {
      const auto bytes = pto::object::write(*object);
      const auto again = pto::object::read(bytes, "again", sink);
      if (!again || pto::object::write(*again) != bytes) {
        std::abort();
      }
    }
  }
  return 0;
}
