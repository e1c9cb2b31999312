// Proves every core program free of races, or says what is wrong: an independent check of insert-sync and of
// hand-written cores. The proof itself is in sync_proof.cc; here its findings become messages.
#include "pto/diagnostics.h"
#include "src/passes/block/sync_proof.h"
#include "src/passes/pass.h"

namespace pto::passes {

namespace {

std::string in_iteration(const std::string& iteration) {
  return iteration.empty() ? "" : " (" + iteration + ")";
}

void report_race(const ir::Function& core, const SyncFinding& finding, DiagnosticSink& sink) {
  const std::string src(isa::spelling(finding.first_pipe));
  const std::string dst(isa::spelling(finding.second_pipe));
  auto handle =
      sink.report(DiagId::SyncRace, core.ops[finding.second].span(),
                  {describe_access(core, finding.first, finding.first_pipe),
                   describe_access(core, finding.second, finding.second_pipe), std::string(spelling(finding.space))});
  const std::string bytes = describe_bytes(finding);
  handle.note(core.ops[finding.first].span(), std::string(finding.first_writes ? "written" : "read") + " here" +
                                                  (bytes.empty() ? "" : ", " + bytes) +
                                                  in_iteration(finding.first_iteration));
  if (!finding.second_iteration.empty()) {
    handle.note(core.ops[finding.second].span(), std::string(finding.second_writes ? "written" : "read") + " here" +
                                                     in_iteration(finding.second_iteration) + " while " + src +
                                                     " may still be there");
  }
  handle.help("order them with `set_flag " + src + " -> " + dst +
              ", ID` after the first and the matching `wait_flag` before the second");
}

}  // namespace

void report_finding(const ir::Function& core, const SyncFinding& finding, DiagnosticSink& sink) {
  const Span span = core.ops[finding.second].span();
  switch (finding.kind) {
    case SyncFinding::Kind::Race:
      report_race(core, finding, sink);
      return;
    case SyncFinding::Kind::WaitWithoutSet:
      sink.report(DiagId::SyncWaitWithoutSet, span, {});
      return;
    case SyncFinding::Kind::SetTwice: {
      auto handle = sink.report(DiagId::SyncSetTwice, span, {});
      const ir::Op& first = core.ops[finding.first];
      if (first.inst.opcode == isa::Opcode::SetFlag) {
        handle.note(first.span(), "set here before");
      } else {
        handle.note(first.span(), "waited for here, but " + std::string(isa::spelling(finding.second_pipe)) +
                                      " does not know that " + std::string(isa::spelling(finding.first_pipe)) +
                                      " has come so far");
      }
      return;
    }
    case SyncFinding::Kind::Unconsumed:
      sink.report(DiagId::SyncUnconsumed, span, {});
      return;
    case SyncFinding::Kind::Undecided: {
      auto handle = sink.report(DiagId::SyncUndecided, span, {finding.why});
      if (finding.first.valid()) {
        const std::string bytes = describe_bytes(finding);
        handle.note(core.ops[finding.first].span(), "the other access" + (bytes.empty() ? "" : ", " + bytes));
      }
      return;
    }
  }
}

PassResult prove_sync(PassContext& context) {
  bool proved = true;
  for (const ir::Function& core : context.module.functions) {
    if (core.kind != ir::FunctionKind::Core) {
      continue;
    }
    const SyncProof proof = SyncProver(core, context.target).prove({});
    for (const SyncFinding& finding : proof.findings) {
      report_finding(core, finding, context.sink);
    }
    proved = proved && proof.proved();
  }
  return proved ? PassResult::Unchanged : PassResult::Failed;
}

}  // namespace pto::passes
