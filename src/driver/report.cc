#include "src/driver/report.h"

#include <ostream>

#include "src/driver/report_memory.h"
#include "src/driver/report_sync.h"
#include "src/support/fs.h"

namespace pto::driver {

namespace {

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string memory_report(const Run& run, const ReportRequest& request, const ir::Module& module,
                          const Target& target) {
  const MemoryReport report = collect_memory(module, target, run.sources);
  if (ends_with(request.file, ".json")) {
    return memory_json(report);
  }
  if (ends_with(request.file, ".svg")) {
    return memory_svg(report);
  }
  return ends_with(request.file, ".html") ? memory_html(report) : memory_text(report);
}

std::string sync_report(const Run& run, const ReportRequest& request, const ir::Module& module, const Target& target) {
  const SyncReport report = collect_sync(module, target, run.sources);
  return ends_with(request.file, ".json") ? sync_json(report) : sync_text(report);
}

}  // namespace

bool write_reports(Run& run, const ir::Module& module, const Target& target) {
  for (const ReportRequest& request : run.options.reports) {
    const std::string text = request.what == "sync" ? sync_report(run, request, module, target)
                                                    : memory_report(run, request, module, target);
    if (request.file.empty() || request.file == "-") {
      run.out << text;
    } else if (!write_file_atomic(request.file, text, run.sink)) {
      return false;
    }
  }
  return true;
}

}  // namespace pto::driver
