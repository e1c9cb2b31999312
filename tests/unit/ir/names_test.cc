// Names of the text: unique, no words of the language, stable.
#include "src/ir/names.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "tests/unit/ir/samples.h"

namespace pto::ir {
namespace {

using samples::Builder;

TEST_CASE("taken names and words of the language get a number") {
  NamePool pool;
  pool.reserve("x");
  CHECK(pool.take("x") == "x1");
  CHECK(pool.take("x") == "x2");
  CHECK(pool.take("x1") == "x1_1");
  CHECK(pool.take("for") == "for1");
  CHECK(pool.take("row_max") == "row_max1");
  CHECK(pool.take("tadd") == "tadd1");
  CHECK(pool.take("f32") == "f32_1");
  CHECK(pool.take("acc") == "acc");
  CHECK(pool.take("") == "t0");
  CHECK(pool.take("not a name") == "t1");
  CHECK(pool.take("t2") == "t2");
  CHECK(pool.take("") == "t3");
  pool.release("acc");
  CHECK(pool.take("acc") == "acc");
}

TEST_CASE("loops beside each other may share a name, nested ones may not") {
  Builder b(FunctionKind::Core, "c");
  auto loop = [&] {
    return b.open(b.op(OpKind::For, {}, {b.num(0), b.num(4), b.num(1)}), {b.symbol("i", SymKind::Loop)});
  };
  loop();
  loop();
  b.close();
  b.close();
  loop();
  b.let("j", b.num(1));
  b.close();
  b.let("j", b.num(2));
  const Names names = make_names(b.f);
  REQUIRE(names.symbols.size() == 5);
  CHECK(names.symbols[0].name == "i");
  CHECK(names.symbols[1].name == "i1");
  CHECK(names.symbols[2].name == "i");
  CHECK(names.symbols[3].name == "j");
  CHECK(names.symbols[4].name == "j");
}

TEST_CASE("a ring keeps its name, whatever else would have it") {
  Builder b(FunctionKind::Core, "c");
  b.param("t", Builder::tensor(DType::F32, {b.num(8), b.num(8)}));
  b.f.rings = {{"s", isa::RingDirection::C2V, DType::F32, 32, 64, 2, isa::Split::Rows},
               {"split", isa::RingDirection::C2V, DType::F32, 32, 64, 2, isa::Split::Rows}};
  b.buf("s", {DType::F32, 8, 8, Layout::ND, Space::Vec}, 0);
  b.open(b.op(OpKind::For, {}, {b.num(0), b.num(4), b.num(1)}), {b.symbol("s", SymKind::Loop)});
  b.let("split", b.num(1));
  normalize_names(b.f);
  CHECK(b.f.rings[0].name == "s");
  CHECK(b.f.rings[1].name == "split");
  CHECK(b.f.symbols[0].name == "s1");
  CHECK(b.f.symbols[1].name == "split1");
  CHECK(b.f.buffers[0].name == "s2");
}

// What is left to a `let` or `var` after each statement is the name that a parser would give as a hint.
TEST_CASE("normalising is idempotent and does not change the text") {
  std::mt19937 random(1);
  static const std::string kHints[] = {"", "a", "t0", "t1", "acc", "for", "x", "k", "a1", "not a name", "i"};
  for (int round = 0; round < 200; ++round) {
    for (Module module : {samples::tensor_module(), samples::tile_module(), samples::block_module()}) {
      auto hint = [&] { return kHints[random() % std::size(kHints)]; };
      for (Function& function : module.functions) {
        for (Value& value : function.values) {
          value.name = hint();
        }
        for (Symbol& symbol : function.symbols) {
          if (symbol.kind == SymKind::Loop || symbol.kind == SymKind::Let) {
            symbol.name = hint();
          }
        }
      }
      const std::string text = print(module);
      for (Function& function : module.functions) {
        normalize_names(function);
      }
      REQUIRE(print(module) == text);
      const Names names = make_names(module.functions.back());
      std::set<std::string> seen;
      for (const Value& value : module.functions.back().values) {
        REQUIRE(is_identifier(value.name));
      }
      for (Function& function : module.functions) {
        normalize_names(function);
      }
      REQUIRE(print(module) == text);
      REQUIRE(make_names(module.functions.back()).values == names.values);
    }
  }
}

TEST_CASE("values of a function have names of their own") {
  Module module = samples::tensor_module();
  for (Value& value : module.functions[1].values) {
    value.name = "same";
  }
  normalize_names(module.functions[1]);
  std::set<std::string> seen;
  for (const Value& value : module.functions[1].values) {
    CHECK(seen.insert(value.name).second);
  }
}

TEST_CASE("a parameter keeps its name even if it is a builtin's") {
  Builder b(FunctionKind::Graph, "g");
  const ValueId x = b.param("exp", Builder::tensor(DType::F32, {b.num(4)}));
  b.add(OpKind::Exp, {x}, b.f.type(x), "exp");
  CHECK(print(b.f) == "graph g(exp: f32[4]) {\n    let exp1 = exp(exp);\n}\n");
}

// The loop's variable is stated in place only where nobody else reads what it holds.
TEST_CASE("initial and next values are stated in place only where that is right") {
  Builder b(FunctionKind::Kernel, "k");
  const Type type = b.tile(DType::F32, 8, 8);
  const ValueId init = b.add(b.op(OpKind::Full, {}, {b.e().real(1.0)}), type, "init");
  const OpId loop = b.open(b.op(OpKind::For, {}, {b.num(0), b.num(4), b.num(1)}), {b.symbol("i", SymKind::Loop)});
  b.carry(loop, init, "a");
  b.carry(loop, init, "b");
  const ValueId next = b.add(OpKind::Exp, {b.carried(loop, 0)}, type, "next_a");
  const ValueId other = b.add(OpKind::Sub, {b.carried(loop, 0), b.carried(loop, 1)}, type, "next_b");
  b.run(b.op(OpKind::Yield, {next, other}));
  b.close();
  b.add(OpKind::Abs, {b.after(loop, 0)}, type);
  CHECK(print(b.f) == R"(kernel k() {
    let init = full(f32[8, 8], 1.0);
    var a = init;
    var b = init;
    for i in 0..4 {
        let next_a = exp(a);
        b = a - b;
        a = next_a;
    }
    let t0 = abs(a);
}
)");
}

TEST_CASE("a value that stays is assigned to itself, so that it stays carried") {
  Builder b(FunctionKind::Kernel, "k");
  const Type type = b.tile(DType::F32, 8, 8);
  const ValueId init = b.add(b.op(OpKind::Full, {}, {b.e().real(1.0)}), type, "");
  const OpId loop = b.open(b.op(OpKind::For, {}, {b.num(0), b.num(4), b.num(1)}), {b.symbol("i", SymKind::Loop)});
  b.carry(loop, init, "a");
  b.run(b.op(OpKind::Yield, {b.carried(loop, 0)}));
  b.close();
  CHECK(print(b.f) == R"(kernel k() {
    var a = full(f32[8, 8], 1.0);
    for i in 0..4 {
        a = a;
    }
}
)");
}

}  // namespace
}  // namespace pto::ir
