// What went wrong in a running core program, as data until somebody knows whether it is the fault to report: with
// several host threads the first one found need not be the first in program order.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "runtime/check/ring_regions.h"

namespace pto::runtime {

struct Fault {
  DiagId id = DiagId::FaultProgram;
  object::Location location;
  std::array<std::string, 6> args;
  std::string note;  // more about it; may be empty
};

// "file:line:column" of a location; `subject` where it is not known.
std::string place_of(const object::Object& object, const object::Location& location, const std::string& subject);
// "file:line", "" where it is not known.
std::string line_of(const object::Object& object, const object::Location& location);

// A fault of a block of a task; of a mixed task: on which side.
struct LocatedFault {
  Fault fault;
  uint32_t task = 0;
  int64_t block = 0;
  int side = kCubeSide;
};
void report_fault(const LocatedFault& found, const object::Object& object, const object::Task& task, int64_t blocks,
                  const std::string& subject, DiagnosticSink& sink);

// A ring of a cluster whose block has ended still holds tiles. `cube`: the cube core's program.
Fault ring_left(const object::Core& cube, const std::string& ring, int64_t tiles);

std::string valid_text(const Valid& valid);  // "16 x 64"

}  // namespace pto::runtime
