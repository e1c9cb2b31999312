// The op table and the helpers of Function and Module.
#include "src/ir/ir.h"

#include <array>
#include <utility>

#include "pto/result.h"

namespace pto::ir {

const OpInfo& op_info(OpKind kind) {
  static constexpr auto kInfos = std::to_array<OpInfo>({
#define PTO_OP(Name, spelling, levels, shape, doc) {OpKind::Name, #Name, spelling, levels, OpShape::shape},
#include "src/ir/ops.def"
  });
  return kInfos.at(static_cast<size_t>(kind));
}

std::string_view spelling(Level level) {
  switch (level) {
    case Level::Tensor:
      return "tensor";
    case Level::Tile:
      return "tile";
    case Level::Block:
      return "block";
    case Level::Exec:
      return "exec";
  }
  return "";
}

Level level_of(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::Graph:
    case FunctionKind::FusedGraph:
      return Level::Tensor;
    case FunctionKind::Kernel:
      return Level::Tile;
    case FunctionKind::Core:
    case FunctionKind::Pair:
      return Level::Block;
    case FunctionKind::Program:
      return Level::Exec;
  }
  return Level::Tensor;
}

char letter_of(Level level) {
  constexpr std::array<char, 4> kLetters = {'T', 'L', 'B', 'X'};
  return kLetters.at(static_cast<size_t>(level));
}

SymId Function::add_symbol(Symbol symbol) {
  symbols.push_back(std::move(symbol));
  return SymId(static_cast<uint32_t>(symbols.size() - 1));
}

ValueId Function::add_value(Type type, std::string name) {
  return values.add(Value{std::move(type), std::move(name), OpId()});
}

RegionId Function::add_region() {
  return regions.add(Region{});
}

OpId Function::add_op(RegionId region, Op op) {
  const OpId id = ops.add(std::move(op));
  for (ValueId result : ops[id].results) {
    values[result].def = id;
  }
  regions[region].ops.push_back(id);
  return id;
}

const Function* Module::find(std::string_view name) const {
  for (const Function& function : functions) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

Function* Module::find(std::string_view name) {
  return const_cast<Function*>(std::as_const(*this).find(name));
}

std::vector<OpId> ops_in_order(const Function& function) {
  std::vector<OpId> order;
  if (!function.body.valid()) {
    return order;
  }
  // A stack of ops still to visit, the next one last.
  std::vector<OpId> stack;
  auto push_region = [&](RegionId region) {
    const std::vector<OpId>& ops = function.regions[region].ops;
    stack.insert(stack.end(), ops.rbegin(), ops.rend());
  };
  push_region(function.body);
  while (!stack.empty()) {
    const OpId id = stack.back();
    stack.pop_back();
    order.push_back(id);
    const std::vector<RegionId>& regions = function.ops[id].regions;
    for (size_t i = regions.size(); i > 0; --i) {
      push_region(regions[i - 1]);
    }
  }
  return order;
}

}  // namespace pto::ir
