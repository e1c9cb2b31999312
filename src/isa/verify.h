// The parts of the instruction checker. A rule looks at one thing and says nothing, or what was seen and what the rule
// is; `check_instruction` puts the mnemonic in front. Rules run in order and may rely on those before them: the first
// ones make sure that operands are there and that their buffers and tensors exist.
//
// Not checked here, because it needs values: slots, event ids, offsets, windows and valid regions in bounds. Not
// checked here either: the buffers themselves (check_buffer) and whether the core has the memory and the pipe
// (has_pipe).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pto/target.h"
#include "src/isa/describe.h"
#include "src/isa/rules.h"

namespace pto::isa {

using Verdict = std::optional<std::string>;

struct Context {
  const Inst& inst;
  const InstrInfo& row;
  std::span<const Buffer> buffers;
  std::span<const Ring> rings;
  std::span<const TensorInfo> tensors;
  const Target& target;

  IsaFamily family() const { return target.family; }
  const TileDesc& tile(size_t operand) const { return buffers[inst.operands[operand].buffer.index()].tile; }
  const TensorInfo& tensor(size_t operand) const { return tensors[inst.operands[operand].tensor.index()]; }
  const Ring& ring(size_t operand) const { return rings[inst.operands[operand].ring.index()]; }
  uint8_t attribute(OperandKind kind) const;  // of the first operand of that kind
  bool is_mask(size_t operand) const;      // a packed bit mask: of compares the first, of selections the second operand
  std::vector<size_t> data_tiles() const;  // tile operands that are no masks
  // "operand 2 is f32[16, 1024] nd in vec"
  std::string seen(size_t operand) const;
};

using Rule = Verdict (*)(const Context&);

// verify_operands.cc: the shape of an instruction, and its attributes.
Verdict rule_operands(const Context& context);
Verdict rule_flag_pipes(const Context& context);
Verdict rule_compare_mode(const Context& context);

// verify_ring.cc: tiles between the cores of a cluster.
Verdict rule_push(const Context& context);
Verdict rule_pop(const Context& context);
Verdict rule_free(const Context& context);

// verify_vector.cc: instructions of the vector unit.
Verdict rule_all_in_vec(const Context& context);
Verdict rule_data_types(const Context& context);
Verdict rule_same_tiles(const Context& context);
Verdict rule_mask(const Context& context);
Verdict rule_conversion(const Context& context);
Verdict rule_row_reduce(const Context& context);
Verdict rule_col_reduce(const Context& context);
Verdict rule_expand(const Context& context);
Verdict rule_broadcast(const Context& context);
Verdict rule_index_row(const Context& context);

// verify_data.cc: data movement, fills and matrix products.
Verdict rule_gm_rank(const Context& context);
Verdict rule_load_route(const Context& context);
Verdict rule_load_types(const Context& context);
Verdict rule_load_layout(const Context& context);
Verdict rule_load_limits(const Context& context);
Verdict rule_store_route(const Context& context);
Verdict rule_store_types(const Context& context);
Verdict rule_store_layout(const Context& context);
Verdict rule_store_limits(const Context& context);
Verdict rule_move_route(const Context& context);
Verdict rule_extract_route(const Context& context);
Verdict rule_move_types(const Context& context);
Verdict rule_move_layout(const Context& context);
Verdict rule_move_shape(const Context& context);
Verdict rule_extract_shape(const Context& context);
Verdict rule_fill_route(const Context& context);
Verdict rule_fill_layout(const Context& context);
Verdict rule_mat_pad(const Context& context);
Verdict rule_matmul_spaces(const Context& context);
Verdict rule_matmul_types(const Context& context);
Verdict rule_matmul_shapes(const Context& context);
Verdict rule_bias_operand(const Context& context);

}  // namespace pto::isa
