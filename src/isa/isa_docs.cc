#include "src/isa/isa_docs.h"

#include <array>

#include "src/isa/rules.h"

namespace pto::isa {
namespace {

constexpr std::array<IsaFamily, 2> kFamilies = {IsaFamily::A2A3, IsaFamily::A5};

struct Group {
  uint16_t first_code;
  std::string_view title;
};
constexpr Group kGroups[] = {
    {0x0100, "Data movement"},
    {0x0200, "Elementwise, two tiles"},
    {0x0300, "Elementwise, one tile"},
    {0x0400, "Tile and scalar"},
    {0x0500, "Reductions"},
    {0x0600, "Expansions"},
    {0x0700, "Matrix products"},
    {0x0800, "Synchronisation"},
    {0x0900, "Rings between cores"},
};

std::string_view operand_word(OperandKind kind) {
  switch (kind) {
    case OperandKind::TileOut:
    case OperandKind::TileInOut:
      return "DST";
    case OperandKind::TileIn:
      return "SRC";
    case OperandKind::TileTmp:
      return "TMP";
    case OperandKind::GmIn:
    case OperandKind::GmOut:
      return "TENSOR[OFFSETS]";
    case OperandKind::Scalar:
      return "SCALAR";
    case OperandKind::Index:
      return "INDEX";
    case OperandKind::Valid:
      return "[valid(ROWS, COLS)]";
    case OperandKind::Round:
      return "ROUND";
    case OperandKind::Cmp:
      return "COMPARE";
    case OperandKind::Pad:
      return "PAD";
    case OperandKind::PipeSrc:
    case OperandKind::PipeDst:
      return "PIPE";
    case OperandKind::Event:
      return "EVENT";
    case OperandKind::Ring:
      return "RING";
  }
  return "?";
}

std::string types_of(const InstrInfo& row, IsaFamily family) {
  if (row.dtypes == DTypeRule::Convert || row.dtypes == DTypeRule::MatMul) {
    return "see below";
  }
  return row.dtypes == DTypeRule::None ? "" : list_dtypes(dtypes_of(row.dtypes, family));
}

std::string_view pipe_of_row(const InstrInfo& row) {
  if (row.format == Format::Flag || row.format == Format::Barrier) {
    return "the one named";
  }
  return row.pipe == Pipe::Route ? "by route" : spelling(row.pipe);
}

std::string instruction_line(const InstrInfo& row) {
  std::string a2a3 = types_of(row, IsaFamily::A2A3);
  std::string a5 = types_of(row, IsaFamily::A5);
  return "| `" + instruction_syntax(row) + "` | " + a2a3 + " | " + (a5 == a2a3 && !a5.empty() ? "same" : a5) + " | " +
         std::string(pipe_of_row(row)) + " | " + std::string(row.doc) + " |\n";
}

DType type_of(int code) {
  return static_cast<DType>(code);
}

// What `allowed(type)` holds for.
template <typename Predicate>
DTypeSet where(Predicate allowed) {
  DTypeSet set = 0;
  for (int code = 1; code < 32; ++code) {
    set |= allowed(type_of(code)) ? dtype_set({type_of(code)}) : 0;
  }
  return set;
}

std::string conversions() {
  std::string text = "## Conversions\n\n| from | to, `a2a3` | to, `a5` |\n|---|---|---|\n";
  for (int code = 1; code < 32; ++code) {
    std::string line = "| `" + std::string(spelling(type_of(code))) + "`";
    bool any = false;
    for (IsaFamily family : kFamilies) {
      const DTypeSet to = where([&](DType type) { return is_conversion(type_of(code), type, family); });
      any = any || to != 0;
      line += " | " + list_dtypes(to);
    }
    text += any ? line + " |\n" : "";
  }
  return text;
}

std::string products() {
  std::string text =
      "## Types of matrix products\n\n| accumulator | left | right, `a2a3` | right, `a5` |\n|---|---|---|---|\n";
  for (DType acc : {DType::F32, DType::I32}) {
    for (int code = 1; code < 32; ++code) {
      std::string line = "| `" + std::string(spelling(acc)) + "` | `" + std::string(spelling(type_of(code))) + "`";
      bool any = false;
      for (IsaFamily family : kFamilies) {
        const DTypeSet right = where([&](DType type) { return is_matmul(acc, type_of(code), type, family); });
        any = any || right != 0;
        line += " | " + list_dtypes(right);
      }
      text += any ? line + " |\n" : "";
    }
  }
  return text;
}

}  // namespace

std::string instruction_syntax(const InstrInfo& row) {
  std::string text(row.mnemonic);
  if (row.format == Format::Flag) {
    return text + " PIPE -> PIPE, EVENT";
  }
  std::string separator = " ";
  for (OperandKind kind : format_operands(row.format)) {
    text += separator + std::string(operand_word(kind));
    separator = ", ";
  }
  return text;
}

std::string isa_markdown() {
  std::string text =
      "# The instruction set\n\n"
      "Made by `isa::isa_markdown()` from the tables in `include/pto/*.def` and `src/isa/pairs.cc`; don't edit.\n\n"
      "Destination first. `[valid(ROWS, COLS)]` is optional; without it the whole destination is valid. \"By route\": "
      "the pipe\n"
      "follows from the two memories, as the target file lists them.\n";
  size_t group = 0;
  for (const InstrInfo& row : all_instructions()) {
    if (group < std::size(kGroups) && row.wire_code >= kGroups[group].first_code) {
      text += "\n## " + std::string(kGroups[group++].title) +
              "\n\n| instruction | element types, `a2a3` | `a5` | pipe | what it does |\n|---|---|---|---|---|\n";
    }
    text += instruction_line(row);
  }
  return text + "\n" + conversions() + "\n" + products();
}

}  // namespace pto::isa
