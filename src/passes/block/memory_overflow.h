// The message for a core whose buffers do not fit: how many bytes are missing, which tiles hold them at the fullest
// point, and the smallest change that makes it fit, found by trying.
#pragma once

#include "pto/diagnostics.h"
#include "pto/source.h"
#include "src/passes/block/memory_plan.h"

namespace pto::passes {

// `sources` may be null: then no line is named.
void report_overflow(const ir::Function& core, const Target& target, const MemoryPlan& plan, const SpacePlan& space,
                     bool reuse, const SourceManager* sources, DiagnosticSink& sink);

// What to change so that this memory is enough; empty if nothing simple does it, or if the core is too large to try.
std::string smallest_change(const ir::Function& core, const Target& target, Space space, bool reuse);

}  // namespace pto::passes
