// The rule book's table of contents: which rules an instruction has follows from its row, not from its name.
#include "src/isa/verify.h"

#include <algorithm>
#include <iterator>

namespace pto::isa {
namespace {

constexpr Rule kLoad[] = {rule_gm_rank, rule_load_route, rule_load_types, rule_load_layout, rule_load_limits};
constexpr Rule kStore[] = {rule_gm_rank, rule_store_route, rule_store_types, rule_store_layout, rule_store_limits};
constexpr Rule kMove[] = {rule_move_route, rule_move_types, rule_move_layout, rule_move_shape};
constexpr Rule kExtract[] = {rule_extract_route, rule_move_types, rule_move_layout, rule_extract_shape};
constexpr Rule kElementwise[] = {rule_all_in_vec, rule_data_types, rule_same_tiles};
constexpr Rule kConvert[] = {rule_all_in_vec, rule_conversion, rule_same_tiles};
constexpr Rule kCompare[] = {rule_all_in_vec, rule_data_types, rule_same_tiles, rule_mask, rule_compare_mode};
constexpr Rule kSelect[] = {rule_all_in_vec, rule_data_types, rule_same_tiles, rule_mask};
constexpr Rule kRowReduce[] = {rule_all_in_vec, rule_data_types, rule_row_reduce};
constexpr Rule kColReduce[] = {rule_all_in_vec, rule_data_types, rule_col_reduce};
constexpr Rule kExpand[] = {rule_all_in_vec, rule_data_types, rule_expand};
constexpr Rule kBroadcast[] = {rule_all_in_vec, rule_data_types, rule_broadcast};
constexpr Rule kFill[] = {rule_fill_route, rule_data_types, rule_fill_layout};
constexpr Rule kFillPad[] = {rule_fill_route, rule_data_types, rule_fill_layout, rule_mat_pad};
constexpr Rule kIndexRow[] = {rule_all_in_vec, rule_data_types, rule_index_row};
constexpr Rule kMatMul[] = {rule_matmul_spaces, rule_matmul_types, rule_matmul_shapes};
constexpr Rule kMatMulBias[] = {rule_matmul_spaces, rule_matmul_types, rule_matmul_shapes, rule_bias_operand};
constexpr Rule kPush[] = {rule_push};
constexpr Rule kPop[] = {rule_pop};
constexpr Rule kFree[] = {rule_pop, rule_free};
constexpr Rule kFlag[] = {rule_flag_pipes};

std::span<const Rule> rules_of(const InstrInfo& row) {
  switch (row.format) {
    case Format::Load:
      return kLoad;
    case Format::Store:
      return kStore;
    case Format::Unary:
      return row.dtypes == DTypeRule::Move ? std::span<const Rule>(kMove) : kElementwise;
    case Format::Extract:
      return kExtract;
    case Format::Binary:
      return row.valid == ValidRule::Full2D ? std::span<const Rule>(kExpand) : kElementwise;
    case Format::TileScalar:
    case Format::ScalarTile:
      return kElementwise;
    case Format::Convert:
      return kConvert;
    case Format::Compare:
    case Format::CompareScalar:
      return kCompare;
    case Format::Select:
    case Format::SelectScalar:
      return kSelect;
    case Format::Reduce:
      return kRowReduce;
    case Format::ColReduce:
      return kColReduce;
    case Format::Broadcast:
      return kBroadcast;
    case Format::Fill:
      return row.pipe == Pipe::Route ? std::span<const Rule>(kFill) : kIndexRow;
    case Format::FillPad:
      return kFillPad;
    case Format::MatMul:
    case Format::MatMulAcc:
      return kMatMul;
    case Format::MatMulBias:
      return kMatMulBias;
    case Format::Push:
      return kPush;
    case Format::Pop:
      return kPop;
    case Format::Free:
      return kFree;
    case Format::Flag:
      return kFlag;
    case Format::Barrier:
      break;
  }
  return {};
}

}  // namespace

uint8_t Context::attribute(OperandKind kind) const {
  for (const Operand& operand : inst.operands) {
    if (operand.kind == kind) {
      return operand.attribute;
    }
  }
  return 0;
}

bool Context::is_mask(size_t operand) const {
  const bool writes_mask = row.format == Format::Compare || row.format == Format::CompareScalar;
  const bool reads_mask = row.format == Format::Select || row.format == Format::SelectScalar;
  return (writes_mask && operand == 0) || (reads_mask && operand == 1);
}

std::vector<size_t> Context::data_tiles() const {
  std::vector<size_t> result;
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    if (is_tile(inst.operands[i].kind) && !is_mask(i)) {
      result.push_back(i);
    }
  }
  return result;
}

std::string Context::seen(size_t operand) const {
  return "operand " + std::to_string(operand + 1) + " is " + describe(tile(operand));
}

std::string describe(const TileDesc& tile) {
  return std::string(spelling(tile.dtype)) + shape_text(tile.rows, tile.cols) + " " +
         std::string(spelling(tile.layout)) + " in " + std::string(spelling(tile.space));
}

std::optional<std::string> check_instruction(const Inst& inst, std::span<const Buffer> buffers,
                                             std::span<const Ring> rings, std::span<const TensorInfo> tensors,
                                             const Target& target) {
  if (static_cast<size_t>(inst.opcode) >= kOpcodeCount) {
    return "unknown instruction";
  }
  const Context context{inst, info(inst.opcode), buffers, rings, tensors, target};
  Verdict wrong = rule_operands(context);
  const std::span<const Rule> rules = rules_of(context.row);
  for (auto rule = rules.begin(); !wrong && rule != rules.end(); ++rule) {
    wrong = (*rule)(context);
  }
  return wrong ? Verdict("`" + std::string(context.row.mnemonic) + "`: " + *wrong) : std::nullopt;
}

}  // namespace pto::isa
