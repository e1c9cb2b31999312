// The instruction table: rows of isa.def as one constexpr array, checked when it is compiled.
#include <algorithm>
#include <array>

#include "pto/isa.h"
#include "src/isa/rules.h"

namespace pto::isa {
namespace {

constexpr std::array<InstrInfo, kOpcodeCount> kTable = {{
#define PTO_INSTR(Name, mnemonic, code, format, pipe, dtypes, valid, timing, doc)                                  \
  InstrInfo{                                                                                                       \
      Opcode::Name,        #Name, mnemonic, code, Format::format, Pipe::pipe, DTypeRule::dtypes, ValidRule::valid, \
      TimingClass::timing, doc},
#include "pto/isa.def"
}};

constexpr bool mnemonics_are_unique() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    for (size_t j = i + 1; j < kTable.size(); ++j) {
      if (kTable[i].mnemonic == kTable[j].mnemonic) {
        return false;
      }
    }
  }
  return true;
}
constexpr bool codes_ascend() {
  for (size_t i = 1; i < kTable.size(); ++i) {
    if (kTable[i - 1].wire_code >= kTable[i].wire_code) {
      return false;
    }
  }
  return true;
}
constexpr bool rows_follow_the_enum() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<size_t>(kTable[i].opcode) != i) {
      return false;
    }
  }
  return true;
}
constexpr bool docs_are_sentences() {
  return std::all_of(kTable.begin(), kTable.end(),
                     [](const InstrInfo& row) { return row.doc.size() > 1 && row.doc.back() == '.'; });
}
static_assert(mnemonics_are_unique(), "two rows of isa.def have the same mnemonic");
static_assert(codes_ascend(), "wire codes of isa.def must ascend");
static_assert(rows_follow_the_enum());
static_assert(docs_are_sentences(), "a doc of isa.def does not end with a full stop");

constexpr DTypeSet kTypesA2A3[] = {
#define PTO_DTYPE_RULE(Name, a2a3, a5) a2a3,
#include "pto/dtype_rules.def"
};
constexpr DTypeSet kTypesA5[] = {
#define PTO_DTYPE_RULE(Name, a2a3, a5) a5,
#include "pto/dtype_rules.def"
};

}  // namespace

const InstrInfo& info(Opcode opcode) {
  return kTable.at(static_cast<size_t>(opcode));
}

std::span<const InstrInfo> all_instructions() {
  return kTable;
}

std::optional<Opcode> opcode_from_mnemonic(std::string_view text) {
  for (const InstrInfo& row : kTable) {
    if (row.mnemonic == text) {
      return row.opcode;
    }
  }
  return std::nullopt;
}

std::optional<Opcode> opcode_from_wire_code(uint64_t code) {
  const auto* row = std::lower_bound(kTable.begin(), kTable.end(), code,
                                     [](const InstrInfo& a, uint64_t value) { return a.wire_code < value; });
  if (row == kTable.end() || row->wire_code != code) {
    return std::nullopt;
  }
  return row->opcode;
}

std::span<const OperandKind> format_operands(Format format) {
  using enum OperandKind;
#define PTO_FORMAT(Name, ...) static constexpr OperandKind k##Name[] = {__VA_ARGS__};
#include "pto/formats.def"
  static constexpr std::span<const OperandKind> kFormats[] = {
#define PTO_FORMAT(Name, ...) k##Name,
#include "pto/formats.def"
  };
  return kFormats[static_cast<size_t>(format)];
}

DTypeSet dtypes_of(DTypeRule rule, IsaFamily family) {
  return (family == IsaFamily::A2A3 ? kTypesA2A3 : kTypesA5)[static_cast<size_t>(rule)];
}

std::string list_dtypes(DTypeSet set) {
  std::string text;
  for (int code = 0; code < 32; ++code) {
    if (contains(set, static_cast<DType>(code))) {
      text += text.empty() ? "`" : ", `";
      text += pto::spelling(static_cast<DType>(code));
      text += '`';
    }
  }
  return text.empty() ? "none" : text;
}

}  // namespace pto::isa
