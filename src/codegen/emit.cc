#include "src/codegen/codegen.h"
#include "src/codegen/unit.h"

namespace pto::codegen {

Result<object::Object> emit(const ir::Module& module, const Target& target, const SourceManager* sources,
                            DiagnosticSink& sink) {
  object::Object object;
  object.target = target.name;
  object.target_hash = target.hash;
  Locations locations(sources, object.source_files);
  std::map<std::string, uint32_t> cores;
  for (const ir::Function& function : module.functions) {
    if (function.kind == ir::FunctionKind::Core) {
      cores[function.name] = static_cast<uint32_t>(object.cores.size());
      object.cores.push_back(emit_core(function, locations));
    }
  }
  for (const ir::Function& function : module.functions) {
    if (function.kind == ir::FunctionKind::Program) {
      object.programs.push_back(emit_program(function, module, cores, locations));
    }
  }
  if (!object::verify(object, target, "output", sink)) {
    return Reported{};
  }
  return object;
}

}  // namespace pto::codegen
