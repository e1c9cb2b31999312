#include "runtime/check/faults.h"

namespace pto::runtime {

std::string line_of(const object::Object& object, const object::Location& location) {
  if (location.file == 0 || location.file > object.source_files.size()) {
    return "";
  }
  return object.source_files[location.file - 1] + ":" + std::to_string(location.line);
}

std::string place_of(const object::Object& object, const object::Location& location, const std::string& subject) {
  const std::string line = line_of(object, location);
  return line.empty() ? subject : line + ":" + std::to_string(location.column);
}

void report_fault(const LocatedFault& found, const object::Object& object, const object::Task& task, int64_t blocks,
                  const std::string& subject, DiagnosticSink& sink) {
  const Fault& fault = found.fault;
  const bool lane = task.vec && found.side != kCubeSide;
  const auto& a = fault.args;
  auto handle = sink.report(fault.id, place_of(object, fault.location, subject), {a[0], a[1], a[2], a[3], a[4], a[5]});
  if (!fault.note.empty()) {
    handle.note(Span{}, fault.note);
  }
  handle.note(Span{}, "in block " + std::to_string(found.block) + " of " + std::to_string(blocks) + " of task `" +
                          task.name + "`, core program `" + object.cores[lane ? task.vec->core : task.core].name + "`" +
                          (lane ? ", lane " + std::to_string(found.side) : std::string()));
}

Fault ring_left(const object::Core& cube, const std::string& ring, int64_t tiles) {
  return {DiagId::FaultRingLeft,
          cube.location,
          {ring, std::to_string(tiles) + (tiles == 1 ? " tile" : " tiles"), cube.name},
          ""};
}

std::string valid_text(const Valid& valid) {
  return std::to_string(valid.rows) + " x " + std::to_string(valid.cols);
}

}  // namespace pto::runtime
