// Any bytes as a .pto source: whatever comes, a tree or a reported error, and nothing else.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/frontend/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  pto::SourceManager sources;
  const uint16_t file = sources.add("input.pto", std::string(reinterpret_cast<const char*>(data), size));
  pto::DiagnosticSink sink;
  const auto tree = pto::frontend::parse(sources, file, sink);
  if (!tree && !sink.has_errors()) {
    std::abort();
  }
  return 0;
}
