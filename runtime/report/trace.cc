// The timeline as Chrome trace events, for Perfetto or chrome://tracing. Plain string building: a trace may have millions
// of slices.
#include <string>
#include <string_view>

#include "pto/runtime.h"
#include "runtime/check/faults.h"

namespace pto::runtime {
namespace {

void append_json(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

// Microseconds with six decimals, from integers: the same digits on every host.
class Clock {
 public:
  explicit Clock(double clock_ghz) {
    const double picoseconds = 1000.0 / clock_ghz * 1000.0;  // a thousand cycles
    per_thousand_ = static_cast<int64_t>(picoseconds + 0.5);
  }
  void append(std::string& out, int64_t cycles) const {
    const auto picoseconds = static_cast<__int128>(cycles) * per_thousand_ / 1000;
    out += std::to_string(static_cast<int64_t>(picoseconds / 1000000));
    const std::string fraction = std::to_string(static_cast<int64_t>(picoseconds % 1000000));
    out += '.';
    out.append(6 - fraction.size(), '0');
    out += fraction;
  }

 private:
  int64_t per_thousand_ = 0;
};

std::string core_name(const CoreStats& core) {
  return std::string(spelling(core.kind)) + " core " + std::to_string(core.index);
}

void append_metadata(std::string& out, std::string_view what, size_t pid, int tid, std::string_view name) {
  out += "{\"ph\":\"M\",\"name\":\"";
  out += what;
  out += "\",\"pid\":" + std::to_string(pid) + ",\"tid\":" + std::to_string(tid) + ",\"args\":{\"name\":";
  append_json(out, name);
  out += "}},\n";
}

}  // namespace

std::string trace_json(const RunResult& result, const object::Object& object, const Target& target) {
  const Clock clock(target.clock_ghz);
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (size_t pid = 0; pid < result.cores.size(); ++pid) {
    append_metadata(out, "process_name", pid, 0, core_name(result.cores[pid]));
    for (int pipe = 0; pipe < isa::kPipeCount; ++pipe) {
      if (result.cores[pid].pipes[pipe].instructions > 0) {
        append_metadata(out, "thread_name", pid, pipe, isa::spelling(static_cast<isa::Pipe>(pipe)));
      }
    }
  }
  for (const TraceSlice& slice : result.trace) {
    out += "{\"ph\":\"X\",\"name\":\"";
    out += isa::info(slice.opcode).mnemonic;
    out += "\",\"pid\":" + std::to_string(slice.core) + ",\"tid\":" + std::to_string(static_cast<int>(slice.pipe)) +
           ",\"ts\":";
    clock.append(out, slice.start);
    out += ",\"dur\":";
    clock.append(out, slice.end - slice.start);
    out += ",\"args\":{\"task\":";
    append_json(out, slice.task < result.tasks.size() ? result.tasks[slice.task].name : "");
    const std::string line = line_of(object, slice.location);
    if (!line.empty()) {
      out += ",\"line\":";
      append_json(out, line);
    }
    out += "}},\n";
  }
  // The format wants no comma behind the last event; a closing metadata event spares the special case.
  out += "{\"ph\":\"M\",\"name\":\"trace_info\",\"pid\":0,\"tid\":0,\"args\":{\"target\":";
  append_json(out, target.name);
  out += ",\"cycles\":" + std::to_string(result.cycles) + "}}\n]}\n";
  return out;
}

}  // namespace pto::runtime
