#include "src/object/wire.h"

namespace pto::object {
namespace {

template <typename Ours, typename Wire, size_t kSize>
std::optional<uint8_t> number_of(const EnumTable<Ours, Wire, kSize>& table, uint8_t attribute) {
  for (const auto& [ours, theirs] : table) {
    if (static_cast<uint8_t>(ours) == attribute) {
      return static_cast<uint8_t>(theirs);
    }
  }
  return std::nullopt;
}

template <typename Ours, typename Wire, size_t kSize>
std::optional<uint8_t> attribute_of(const EnumTable<Ours, Wire, kSize>& table, uint8_t number) {
  for (const auto& [ours, theirs] : table) {
    if (static_cast<uint8_t>(theirs) == number) {
      return static_cast<uint8_t>(ours);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint8_t> attribute_to_wire(isa::OperandKind kind, uint8_t attribute) {
  switch (kind) {
    case isa::OperandKind::Round:
      return number_of(kRounds, attribute);
    case isa::OperandKind::Cmp:
      return number_of(kCmps, attribute);
    case isa::OperandKind::Pad:
      return number_of(kPads, attribute);
    case isa::OperandKind::PipeSrc:
    case isa::OperandKind::PipeDst:
      return number_of(kPipes, attribute);
    default:
      return std::nullopt;
  }
}

std::optional<uint8_t> attribute_from_wire(isa::OperandKind kind, uint8_t number) {
  switch (kind) {
    case isa::OperandKind::Round:
      return attribute_of(kRounds, number);
    case isa::OperandKind::Cmp:
      return attribute_of(kCmps, number);
    case isa::OperandKind::Pad:
      return attribute_of(kPads, number);
    case isa::OperandKind::PipeSrc:
    case isa::OperandKind::PipeDst:
      return attribute_of(kPipes, number);
    default:
      return std::nullopt;
  }
}

}  // namespace pto::object
