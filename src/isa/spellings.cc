// Spellings of the instruction set's enumerations, and back. One array each; the look-ups are linear because the
// longest has 23 entries.
#include <array>

#include "pto/target.h"
#include "src/isa/rules.h"

namespace pto {
namespace {

template <typename E, size_t N>
std::optional<E> find(const std::array<std::string_view, N>& names, std::string_view text, size_t first = 0) {
  for (size_t i = first; i < N; ++i) {
    if (names[i] == text) {
      return static_cast<E>(i);
    }
  }
  return std::nullopt;
}
template <typename E, size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, E value) {
  const auto index = static_cast<size_t>(value);
  return index < N ? names[index] : std::string_view("?");
}

constexpr std::array<std::string_view, kSpaceCount> kSpaces = {"none",  "gm",  "vec",  "mat",    "left",
                                                               "right", "acc", "bias", "scaling"};
constexpr std::array<std::string_view, 7> kLayouts = {"none", "nd", "dn", "nz", "zn", "zz", "nn"};
constexpr std::array<std::string_view, 9> kPipes = {"s", "v", "m", "mte1", "mte2", "mte3", "fix", "all", "route"};
constexpr std::array<std::string_view, 7> kRounds = {"none", "rint", "round", "floor", "ceil", "trunc", "odd"};
constexpr std::array<std::string_view, 6> kCmps = {"eq", "ne", "lt", "le", "gt", "ge"};
constexpr std::array<std::string_view, 3> kPads = {"zero", "max", "min"};
constexpr std::array<std::string_view, 2> kRingDirections = {"c2v", "v2c"};
constexpr std::array<std::string_view, 3> kSplits = {"none", "rows", "cols"};
constexpr std::array<std::string_view, 2> kCores = {"vec", "cube"};
constexpr std::array<std::string_view, 2> kFamilies = {"a2a3", "a5"};
constexpr std::array<std::string_view, isa::kTimingClassCount> kTimings = {
    "transfer",  "move",     "matmul",   "sync",    "vec_binary",  "vec_mul",        "vec_div",       "vec_adds",
    "vec_muls",  "vec_maxs", "vec_mins", "vec_abs", "vec_relu",    "vec_exp",        "vec_log",       "vec_sqrt",
    "vec_rsqrt", "vec_copy", "vec_cmp",  "vec_sel", "vec_convert", "vec_row_reduce", "vec_col_reduce"};

}  // namespace

std::string_view spelling(Space space) {
  return name_of(kSpaces, space);
}
std::optional<Space> space_from_spelling(std::string_view text) {
  return find<Space>(kSpaces, text, 1);
}
std::string_view spelling(Layout layout) {
  return name_of(kLayouts, layout);
}
std::optional<Layout> layout_from_spelling(std::string_view text) {
  return find<Layout>(kLayouts, text, 1);
}
std::string_view spelling(CoreKind kind) {
  return name_of(kCores, kind);
}
std::string_view spelling(IsaFamily family) {
  return name_of(kFamilies, family);
}

namespace isa {

std::string_view spelling(Pipe pipe) {
  return name_of(kPipes, pipe);
}
std::optional<Pipe> pipe_from_spelling(std::string_view text) {
  const std::optional<Pipe> pipe = find<Pipe>(kPipes, text);
  return pipe == Pipe::Route ? std::nullopt : pipe;
}
std::string_view spelling(RingDirection direction) {
  return name_of(kRingDirections, direction);
}
std::string_view spelling(Split split) {
  return name_of(kSplits, split);
}
std::optional<RingDirection> ring_direction_from_spelling(std::string_view text) {
  return find<RingDirection>(kRingDirections, text);
}
std::optional<Split> split_from_spelling(std::string_view text) {
  return find<Split>(kSplits, text);
}
std::string_view spelling(Round round) {
  return name_of(kRounds, round);
}
std::string_view spelling(Cmp cmp) {
  return name_of(kCmps, cmp);
}
std::string_view spelling(Pad pad) {
  return name_of(kPads, pad);
}
std::optional<Round> round_from_spelling(std::string_view text) {
  return find<Round>(kRounds, text);
}
std::optional<Cmp> cmp_from_spelling(std::string_view text) {
  return find<Cmp>(kCmps, text);
}
std::optional<Pad> pad_from_spelling(std::string_view text) {
  return find<Pad>(kPads, text);
}
std::string_view spelling(TimingClass timing) {
  return name_of(kTimings, timing);
}

}  // namespace isa
}  // namespace pto
