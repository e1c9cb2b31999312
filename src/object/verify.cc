// The verifier that the writer and the loader share. First the structure, whose invariants are listed in structure.cc,
// structure_core.cc and structure_program.cc; then, where that is sound, the machine's rules for every buffer and every
// instruction (src/isa/verify.cc).
// Not checked: that the object was made for this target (the loader compares names and hashes, and may be told not to
// mind); synchronisation (the compiler's prover); values.
#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/target.h"
#include "src/object/structure.h"

namespace pto::object {
namespace {

void check_machine(const Core& core, const Target& target, Problems& problems) {
  const std::string unit = "core `" + core.name + "`";
  for (const isa::Buffer& buffer : core.buffers) {
    if (const auto wrong = isa::check_buffer(buffer, target)) {
      problems.add(unit, "buffer `" + buffer.name + "`: " + *wrong);
    } else if (target.space(buffer.tile.space).core != core.kind) {
      problems.add(unit, "buffer `" + buffer.name + "` is in a memory of the other kind of core");
    }
  }
  for (const isa::Ring& ring : core.rings) {
    if (const auto wrong = isa::check_ring(ring, target)) {
      problems.add(unit, *wrong);
    }
  }
  // Instructions of wrong buffers would only repeat the news.
  if (!problems.none()) {
    return;
  }
  const std::vector<isa::TensorInfo> tensors = core.tensor_infos();
  for (size_t i = 0; i < core.code.size() && !problems.full(); ++i) {
    const Stmt& stmt = core.code[i];
    if (stmt.kind != StmtKind::Inst) {
      continue;
    }
    if (const auto wrong = isa::check_instruction(stmt.inst, core.buffers, core.rings, tensors, target)) {
      problems.add(unit + ", statement " + std::to_string(i) + problems.place(stmt.location), *wrong);
    }
  }
}

}  // namespace

bool verify(const Object& object, const Target& target, const std::string& subject, DiagnosticSink& sink) {
  Problems problems(object, subject, sink);
  if (!check_structure(object, problems)) {
    return false;
  }
  for (const Core& core : object.cores) {
    if (!problems.full()) {
      check_machine(core, target, problems);
    }
  }
  return problems.none();
}

}  // namespace pto::object
