// The pass table, and one checker a property.
#include <algorithm>

#include "src/passes/pass.h"

namespace pto::passes {

const std::vector<PassInfo>& all_passes() {
  static const std::vector<PassInfo> kPasses = {
#define PTO_PASS(function, name, level, requires_, produces, doc) \
  {function, name, ir::Level::level, Property::requires_, Property::produces, doc},
#include "src/passes/passes.def"
  };
  return kPasses;
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : all_passes()) {
    if (pass.name == name) {
      return &pass;
    }
  }
  return nullptr;
}

std::string_view spelling(Property property) {
  switch (property) {
    case Property::None:
      return "nothing";
    case Property::CallsInlined:
      return "inlined calls";
    case Property::BasicOps:
      return "basic operations only";
    case Property::Fused:
      return "fused graphs";
    case Property::NoGraphs:
      return "no graphs left";
    case Property::SpacesAssigned:
      return "a memory for every tile";
    case Property::NoKernels:
      return "no kernels left";
    case Property::BuffersPlaced:
      return "an address for every buffer";
    case Property::SyncComplete:
      return "complete synchronisation";
    case Property::TasksOutlined:
      return "a task for every core";
    case Property::EdgesDerived:
      return "ordered tasks";
    case Property::WorkspacePlanned:
      return "a planned workspace";
  }
  return "";
}

namespace {

using ir::FunctionKind;
using ir::OpKind;

std::string no_functions_of(const ir::Module& module, std::initializer_list<FunctionKind> kinds) {
  for (const ir::Function& function : module.functions) {
    if (std::find(kinds.begin(), kinds.end(), function.kind) != kinds.end()) {
      return "`" + function.name + "` is still there";
    }
  }
  return "";
}

// The first live op of a function for which `wrong` holds, as a message.
template <typename Predicate>
std::string no_op(const ir::Module& module, FunctionKind kind, Predicate wrong) {
  for (const ir::Function& function : module.functions) {
    if (function.kind != kind) {
      continue;
    }
    // Not all regions: those that passes built things in and left behind are dead.
    for (ir::OpId id : ir::ops_in_order(function)) {
      if (wrong(function, function.ops[id])) {
        return "`" + function.name + "` has `" + std::string(ir::op_info(function.ops[id].kind).spelling) + "`";
      }
    }
  }
  return "";
}

std::string check_inlined(const ir::Module& module) {
  return no_op(module, FunctionKind::Graph, [&](const ir::Function&, const ir::Op& op) {
    const ir::Function* callee = op.kind == OpKind::Call ? module.find(op.callee) : nullptr;
    return callee != nullptr && callee->kind == FunctionKind::Graph;
  });
}

std::string check_basic(const ir::Module& module) {
  auto composite = [](const ir::Function&, const ir::Op& op) {
    return op.kind == OpKind::Softmax || op.kind == OpKind::Mean || op.kind == OpKind::Sigmoid ||
           op.kind == OpKind::Tanh;
  };
  for (FunctionKind kind : {FunctionKind::Graph, FunctionKind::FusedGraph, FunctionKind::Kernel}) {
    std::string reason = no_op(module, kind, composite);
    if (!reason.empty()) {
      return reason;
    }
  }
  return "";
}

std::string check_fused(const ir::Module& module) {
  return no_op(module, FunctionKind::Graph, [](const ir::Function&, const ir::Op& op) {
    return op.kind != OpKind::Call && op.kind != OpKind::Assign;
  });
}

std::string check_spaces(const ir::Module& module) {
  return no_op(module, FunctionKind::Kernel, [](const ir::Function& function, const ir::Op& op) {
    return std::any_of(op.results.begin(), op.results.end(), [&](ir::ValueId value) {
      const ir::Type& type = function.type(value);
      return type.is_tile() && (type.space == Space::None || type.layout == Layout::None);
    });
  });
}

std::string check_placed(const ir::Module& module) {
  for (const ir::Function& function : module.functions) {
    for (const isa::Buffer& buffer : function.buffers) {
      if (buffer.address < 0) {
        return "buffer `" + buffer.name + "` of `" + function.name + "` has no address";
      }
    }
  }
  return "";
}

std::string check_sync_complete(const ir::Module& module) {
  for (const ir::Function& function : module.functions) {
    if (function.kind == FunctionKind::Core && function.automatic) {
      return "`" + function.name + "` is still an `auto core`";
    }
  }
  return "";
}

std::string check_outlined(const ir::Module& module) {
  auto in_pair = [&](const std::string& name) {
    return std::any_of(module.functions.begin(), module.functions.end(), [&](const ir::Function& pair) {
      return pair.kind == FunctionKind::Pair && (pair.pair_cube == name || pair.pair_vec == name);
    });
  };
  for (const ir::Function& core : module.functions) {
    if ((core.kind != FunctionKind::Core || in_pair(core.name)) && core.kind != FunctionKind::Pair) {
      continue;
    }
    const std::string called = no_op(module, FunctionKind::Program, [&](const ir::Function&, const ir::Op& op) {
      return op.kind == OpKind::Task && op.callee == core.name;
    });
    if (called.empty()) {
      return "no program calls `" + core.name + "`";
    }
  }
  return "";
}

std::string check_workspace(const ir::Module& module) {
  return no_op(module, FunctionKind::Program,
               [](const ir::Function&, const ir::Op& op) { return op.kind == OpKind::Buffer && op.exprs.empty(); });
}

}  // namespace

std::string check_property(Property property, const ir::Module& module) {
  switch (property) {
    case Property::None:
      return "";
    case Property::CallsInlined:
      return check_inlined(module);
    case Property::BasicOps:
      return check_basic(module);
    case Property::Fused:
      return check_fused(module);
    case Property::NoGraphs:
      return no_functions_of(module, {FunctionKind::Graph, FunctionKind::FusedGraph});
    case Property::SpacesAssigned:
      return check_spaces(module);
    case Property::NoKernels:
      return no_functions_of(module, {FunctionKind::Graph, FunctionKind::FusedGraph, FunctionKind::Kernel});
    case Property::BuffersPlaced:
      return check_placed(module);
    case Property::SyncComplete:
      return check_sync_complete(module);
    case Property::TasksOutlined:
      return check_outlined(module);
    case Property::EdgesDerived:
      return check_outlined(module);
    case Property::WorkspacePlanned:
      return check_workspace(module);
  }
  return "";
}

}  // namespace pto::passes
