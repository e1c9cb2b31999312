#include <catch2/catch.hpp>

#include "src/isa/isa_docs.h"

using namespace pto::isa;
using Catch::Contains;

TEST_CASE("the reference page has every instruction once, with its sentence") {
  const std::string page = isa_markdown();
  for (const InstrInfo& row : all_instructions()) {
    const std::string cell = "| `" + instruction_syntax(row) + "` |";
    const size_t at = page.find(cell);
    INFO(cell);
    REQUIRE(at != std::string::npos);
    CHECK(page.find(cell, at + 1) == std::string::npos);
    CHECK(page.find(std::string(row.doc), at) != std::string::npos);
  }
  CHECK_THAT(page, Contains("## Expansions") && Contains("## Synchronisation") && Contains("## Conversions"));
  CHECK_THAT(page, Contains("| `bf16` | `i32`, `f32` | `i32`, `f16`, `f32` |"));
  CHECK_THAT(page, Contains("| `i32` | `i8` | `i8` | `i8` |"));
}

TEST_CASE("syntax of instructions") {
  CHECK(instruction_syntax(info(Opcode::TAdd)) == "tadd DST, SRC, SRC");
  CHECK(instruction_syntax(info(Opcode::TLoad)) == "tload DST, TENSOR[OFFSETS], [valid(ROWS, COLS)]");
  CHECK(instruction_syntax(info(Opcode::SetFlag)) == "set_flag PIPE -> PIPE, EVENT");
  CHECK(instruction_syntax(info(Opcode::PipeBarrier)) == "pipe_barrier PIPE");
}
