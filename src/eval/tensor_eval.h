// The oracle of the Tensor level: graphs and fused graphs, op by op, in double precision, straight from the definitions.
// Slow and obvious on purpose; it shares nothing with src/sem.
#pragma once

#include "src/eval/frame.h"

namespace pto::eval {

bool run_graph(Session& session, const ir::Function& graph, const Arguments& arguments);

}  // namespace pto::eval
