// Builds instructions for tests: tiles in operand order, everything else filled in as the format asks.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "pto/diagnostics.h"
#include "pto/isa.h"
#include "pto/target.h"

namespace pto::isa::testing {

inline Target target_of(std::string_view name) {
  DiagnosticSink sink;
  Result<Target> target = builtin_target(name, sink);
  for (const Diagnostic& diagnostic : sink.all()) {
    INFO(diagnostic.message);
    CHECK(false);
  }
  REQUIRE(target.ok());
  return *target;
}
inline const Target& a2a3() {
  static const Target target = target_of("a2a3");
  return target;
}
inline const Target& a5() {
  static const Target target = target_of("a5");
  return target;
}

inline TileDesc vec(DType type, int64_t rows, int64_t cols, Layout layout = Layout::ND) {
  return {type, rows, cols, layout, Space::Vec};
}
inline TileDesc tile(DType type, int64_t rows, int64_t cols, Layout layout, Space space) {
  return {type, rows, cols, layout, space};
}

struct Built {
  Inst inst;
  std::vector<Buffer> buffers;
  std::vector<TensorInfo> tensors;
  std::vector<Ring> rings = {};
  std::string check(const Target& target) const {
    return check_instruction(inst, buffers, rings, tensors, target).value_or("");
  }
};

inline Built build(Opcode opcode, const std::vector<TileDesc>& tiles, TensorInfo tensor = {}) {
  Built built;
  built.inst.opcode = opcode;
  built.tensors.push_back(tensor);
  for (const TileDesc& desc : tiles) {
    built.buffers.push_back({"b" + std::to_string(built.buffers.size()), desc, 0, 1, 0});
  }
  uint32_t next = 0;
  for (OperandKind kind : format_operands(info(opcode).format)) {
    Operand operand;
    operand.kind = kind;
    if (is_tile(kind)) {
      operand.buffer = BufferId(next++);
    } else if (is_gm(kind)) {
      operand.tensor = TensorId(0);
      operand.offsets.assign(static_cast<size_t>(tensor.rank), ExprId(0));
    } else if (kind == OperandKind::Scalar || kind == OperandKind::Index || kind == OperandKind::Event) {
      operand.a = ExprId(0);
    }
    built.inst.operands.push_back(operand);
  }
  REQUIRE(next == tiles.size());
  return built;
}

inline std::string check(Opcode opcode, const std::vector<TileDesc>& tiles, const Target& target,
                         TensorInfo tensor = {}) {
  return build(opcode, tiles, tensor).check(target);
}

}  // namespace pto::isa::testing
