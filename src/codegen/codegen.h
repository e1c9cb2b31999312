// Between IR in its last form and object files: `emit` turns the cores and programs of a module into an object, `lift`
// is its inverse, so that `ir::print(lift(object))` is the disassembly, and compiling that text gives the same object,
// its source map aside. Graphs and kernels have become cores and programs by then; any that are left are not emitted.
// Depends on ir and object; knows nothing of passes.
#pragma once

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "pto/result.h"
#include "pto/source.h"
#include "pto/target.h"
#include "src/ir/ir.h"

namespace pto::codegen {

// Of a module that ir::verify accepts, whose cores are placed and whose tasks call cores and have their blocks and
// dims. Names are those that ir::print writes, and expressions are numbered in order of use, so that the object depends
// on the module's text alone. Locations are left out where `sources` is null. The object is verified; what is wrong
// with it goes to the sink.
Result<object::Object> emit(const ir::Module& module, const Target& target, const SourceManager* sources,
                            DiagnosticSink& sink);

// Cores, then programs, in the object's order. The object has been verified. Names that the language could not spell
// are replaced.
ir::Module lift(const object::Object& object);

}  // namespace pto::codegen
