// Programs whose tasks run kernels: the tasks one after the other, in the order of the text.
#pragma once

#include "src/eval/frame.h"

namespace pto::eval {

bool run_program(Session& session, const ir::Function& program, const Arguments& arguments);

}  // namespace pto::eval
