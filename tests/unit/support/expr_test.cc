// Expressions: every simplification, evaluation against 128-bit integers, printing against a parser of its own, and
// properties over seeded random expressions.
#include "pto/expr.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cctype>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace pto {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// x, y, z are integers, s and t floats.
struct Fixture {
  ExprPool pool;
  std::vector<Symbol> symbols = {{"x", SymKind::Dim, DType::I64},
                                 {"y", SymKind::Loop, DType::I64},
                                 {"z", SymKind::Let, DType::I64},
                                 {"s", SymKind::Scalar, DType::F32},
                                 {"t", SymKind::Scalar, DType::F32}};
  ExprId x, y, z, s, t;
  Fixture() {
    pool.mark_real(SymId(3));
    pool.mark_real(SymId(4));
    x = pool.symbol(SymId(0));
    y = pool.symbol(SymId(1));
    z = pool.symbol(SymId(2));
    s = pool.symbol(SymId(3));
    t = pool.symbol(SymId(4));
  }
  ExprId n(int64_t value) { return pool.integer(value); }
  ExprId make(ExprOp op, ExprId a, ExprId b) { return pool.make(op, a, b); }
  std::string text(ExprId id) const { return pool.print(id, symbols); }
};

// The value as a tree, in 128 bits: nullopt if any step leaves 64 bits or divides by zero.
using Wide = __int128;
std::optional<Wide> oracle_step(ExprOp op, Wide a, Wide b) {
  const auto floor_div = [](Wide p, Wide q) {
    Wide quotient = p / q;
    while (quotient * q > p == (q > 0) && quotient * q != p) {
      --quotient;
    }
    return quotient;
  };
  switch (op) {
    case ExprOp::Add:
      return a + b;
    case ExprOp::Sub:
      return a - b;
    case ExprOp::Mul:
      return a * b;
    case ExprOp::FloorDiv:
      return b == 0 ? std::nullopt : std::optional(floor_div(a, b));
    case ExprOp::CeilDiv:
      return b == 0 ? std::nullopt : std::optional(-floor_div(-a, b));
    case ExprOp::Mod:
      return b == 0 ? std::nullopt : std::optional(a - floor_div(a, b) * b);
    case ExprOp::Min:
      return a < b ? a : b;
    case ExprOp::Max:
      return a > b ? a : b;
    case ExprOp::Lt:
      return a < b;
    case ExprOp::Le:
      return a <= b;
    case ExprOp::Eq:
      return a == b;
    case ExprOp::Ne:
      return a != b;
    default:
      return std::nullopt;
  }
}

// A tree of its own: what the pool was asked for, before it simplified.
struct Tree {
  ExprOp op = ExprOp::Int;
  int64_t value = 0;
  uint32_t sym = 0;
  std::vector<Tree> operands;
};

std::optional<Wide> oracle(const Tree& tree, std::span<const int64_t> ints) {
  if (tree.op == ExprOp::Int) {
    return tree.value;
  }
  if (tree.op == ExprOp::Sym) {
    return ints[tree.sym];
  }
  const auto a = oracle(tree.operands[0], ints);
  if (!a) {
    return std::nullopt;
  }
  if (tree.op == ExprOp::And || tree.op == ExprOp::Or) {
    if ((*a != 0) == (tree.op == ExprOp::Or)) {
      return *a != 0 ? 1 : 0;
    }
    const auto b = oracle(tree.operands[1], ints);
    return b ? std::optional<Wide>(*b != 0 ? 1 : 0) : std::nullopt;
  }
  const auto b = oracle(tree.operands[1], ints);
  const auto value = b ? oracle_step(tree.op, *a, *b) : std::nullopt;
  return value && *value >= kMin && *value <= kMax ? value : std::nullopt;
}

ExprId build(ExprPool& pool, const Tree& tree) {
  if (tree.op == ExprOp::Int) {
    return pool.integer(tree.value);
  }
  if (tree.op == ExprOp::Sym) {
    return pool.symbol(SymId(tree.sym));
  }
  const ExprId a = build(pool, tree.operands[0]);
  return pool.make(tree.op, a, build(pool, tree.operands[1]));
}

ExprId build_raw(ExprPool& pool, const Tree& tree) {
  ExprNode node;
  node.op = tree.op;
  node.value = tree.value;
  if (tree.op == ExprOp::Sym) {
    node.sym = SymId(tree.sym);
  } else if (tree.op != ExprOp::Int) {
    node.a = build_raw(pool, tree.operands[0]);
    node.b = build_raw(pool, tree.operands[1]);
  }
  return pool.append_raw(node);
}

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}
  int64_t pick(std::initializer_list<int64_t> values) { return values.begin()[random_() % values.size()]; }
  int64_t number() {
    return random_() % 4 != 0 ? pick({-3, -2, -1, 0, 1, 2, 3, 4, 8, 16})
                              : pick({kMin, kMin + 1, kMax, kMax - 1, 1LL << 40});
  }
  Tree tree(int depth) {
    Tree out;
    if (depth == 0 || random_() % 5 == 0) {
      out.op = random_() % 2 == 0 ? ExprOp::Int : ExprOp::Sym;
      out.value = out.op == ExprOp::Int ? number() : 0;
      out.sym = out.op == ExprOp::Sym ? static_cast<uint32_t>(random_() % 3) : 0;
      return out;
    }
    constexpr ExprOp kOps[] = {ExprOp::Add, ExprOp::Sub, ExprOp::Mul, ExprOp::FloorDiv, ExprOp::CeilDiv, ExprOp::Mod,
                               ExprOp::Min, ExprOp::Max, ExprOp::Lt,  ExprOp::Le,       ExprOp::Eq,      ExprOp::Ne,
                               ExprOp::And, ExprOp::Or,  ExprOp::Add, ExprOp::Mul,      ExprOp::Sub};
    out.op = kOps[random_() % std::size(kOps)];
    out.operands.push_back(tree(depth - 1));
    out.operands.push_back(tree(depth - 1));
    return out;
  }

 private:
  std::mt19937 random_;
};

// A parser of the printed text, with the precedences of C.
class Parser {
 public:
  Parser(ExprPool& pool, const std::vector<Symbol>& symbols, std::string text)
      : pool_(pool), symbols_(symbols), text_(std::move(text)) {}
  ExprId run() {
    const ExprId id = binary(0);
    skip();
    REQUIRE(at_ == text_.size());
    return id;
  }

 private:
  struct Level {
    std::string_view text;
    ExprOp op;
    int level;
  };
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }
  bool accept(std::string_view token) {
    skip();
    if (text_.compare(at_, token.size(), token) != 0) {
      return false;
    }
    at_ += token.size();
    return true;
  }
  ExprId binary(int level) {
    constexpr Level kLevels[] = {{"||", ExprOp::Or, 0},      {"&&", ExprOp::And, 1}, {"==", ExprOp::Eq, 2},
                                 {"!=", ExprOp::Ne, 2},      {"<=", ExprOp::Le, 3},  {"<", ExprOp::Lt, 3},
                                 {"+", ExprOp::Add, 4},      {"-", ExprOp::Sub, 4},  {"*", ExprOp::Mul, 5},
                                 {"/", ExprOp::FloorDiv, 5}, {"%", ExprOp::Mod, 5}};
    if (level == 6) {
      return unary();
    }
    ExprId left = binary(level + 1);
    for (bool again = true; again;) {
      again = false;
      for (const Level& candidate : kLevels) {
        if (candidate.level == level && accept(candidate.text)) {
          const ExprId right = binary(level + 1);
          const bool real = pool_.is_real(left, symbols_) || pool_.is_real(right, symbols_);
          const ExprOp op = candidate.op == ExprOp::FloorDiv && real ? ExprOp::Div : candidate.op;
          left = pool_.make(op, left, right);
          again = true;
          break;
        }
      }
    }
    return left;
  }
  ExprId unary() {
    const bool negative = accept("-");
    skip();
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_.compare(at_, 3, "inf") == 0 ||
        text_.compare(at_, 3, "nan") == 0) {
      return literal(negative);
    }
    REQUIRE_FALSE(negative);
    if (accept("(")) {
      const ExprId inner = binary(0);
      REQUIRE(accept(")"));
      return inner;
    }
    for (const auto& [name, op] :
         {std::pair("min(", ExprOp::Min), std::pair("max(", ExprOp::Max), std::pair("ceildiv(", ExprOp::CeilDiv)}) {
      if (accept(name)) {
        const ExprId a = binary(0);
        REQUIRE(accept(","));
        const ExprId b = binary(0);
        REQUIRE(accept(")"));
        return pool_.make(op, a, b);
      }
    }
    if (accept("block_index()")) {
      return pool_.leaf(ExprOp::BlockIndex);
    }
    if (accept("block_count()")) {
      return pool_.leaf(ExprOp::BlockCount);
    }
    for (uint32_t i = 0; i < symbols_.size(); ++i) {
      if (accept(symbols_[i].name)) {
        return pool_.symbol(SymId(i));
      }
    }
    FAIL("can't parse " << text_.substr(at_));
    return {};
  }
  ExprId literal(bool negative) {
    size_t end = at_;
    bool real = false;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '.' ||
                                  (end > at_ && text_[end - 1] == 'e' && (text_[end] == '-' || text_[end] == '+')))) {
      real = real || std::isdigit(static_cast<unsigned char>(text_[end])) == 0;
      ++end;
    }
    const std::string token = (negative ? "-" : "") + text_.substr(at_, end - at_);
    at_ = end;
    return real ? pool_.real(std::strtod(token.c_str(), nullptr)) : pool_.integer(std::stoll(token));
  }

  ExprPool& pool_;
  const std::vector<Symbol>& symbols_;
  std::string text_;
  size_t at_ = 0;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "equal expressions have equal ids") {
  CHECK(n(3) == n(3));
  CHECK(n(3) != n(4));
  CHECK(pool.add(x, y) == pool.add(x, y));
  CHECK(pool.add(x, y) != pool.add(y, x));
  CHECK(pool.real(0.0) != pool.real(-0.0));
  CHECK(pool.real(std::nan("1")) == pool.real(-std::nan("2")));
  CHECK(pool.leaf(ExprOp::BlockIndex) == pool.leaf(ExprOp::BlockIndex));
  CHECK(pool.leaf(ExprOp::BlockIndex) != pool.leaf(ExprOp::BlockCount));
  CHECK(pool.symbol(SymId(0)) == x);
}

TEST_CASE_METHOD(Fixture, "constants fold with floor semantics") {
  struct Row {
    ExprOp op;
    int64_t a, b, result;
  };
  for (const Row& row : {Row{ExprOp::Add, 2, 3, 5},      {ExprOp::Sub, 2, 3, -1},        {ExprOp::Mul, -2, 3, -6},
                         {ExprOp::FloorDiv, -1, 16, -1}, {ExprOp::FloorDiv, 1, -16, -1}, {ExprOp::FloorDiv, 7, 2, 3},
                         {ExprOp::FloorDiv, -8, 2, -4},  {ExprOp::CeilDiv, 1, 16, 1},    {ExprOp::CeilDiv, -1, 16, 0},
                         {ExprOp::CeilDiv, 32, 16, 2},   {ExprOp::CeilDiv, -1, -16, 1},  {ExprOp::Mod, -1, 16, 15},
                         {ExprOp::Mod, 1, -16, -15},     {ExprOp::Mod, kMin, -1, 0},     {ExprOp::Min, 2, -3, -3},
                         {ExprOp::Max, 2, -3, 2},        {ExprOp::Lt, 1, 2, 1},          {ExprOp::Lt, 2, 2, 0},
                         {ExprOp::Le, 2, 2, 1},          {ExprOp::Eq, 2, 2, 1},          {ExprOp::Eq, 2, 3, 0},
                         {ExprOp::Ne, 2, 3, 1},          {ExprOp::And, 2, 3, 1},         {ExprOp::And, 2, 0, 0},
                         {ExprOp::Or, 0, 3, 1},          {ExprOp::Or, 0, 0, 0}}) {
    CAPTURE(static_cast<int>(row.op), row.a, row.b);
    CHECK(make(row.op, n(row.a), n(row.b)) == n(row.result));
  }
}

TEST_CASE_METHOD(Fixture, "what has no value stays as it is and evaluates to nothing") {
  struct Row {
    ExprOp op;
    int64_t a, b;
  };
  for (const Row& row : {Row{ExprOp::Add, kMax, 1},
                         {ExprOp::Sub, kMax, kMin},
                         {ExprOp::Mul, kMax, 2},
                         {ExprOp::FloorDiv, 1, 0},
                         {ExprOp::CeilDiv, 1, 0},
                         {ExprOp::Mod, 1, 0},
                         {ExprOp::FloorDiv, kMin, -1},
                         {ExprOp::CeilDiv, kMin, -1}}) {
    CAPTURE(static_cast<int>(row.op));
    const ExprId id = make(row.op, n(row.a), n(row.b));
    CHECK_FALSE(pool.constant(id));
    CHECK(pool[id].op == row.op);
    CHECK_FALSE(pool.evaluate(id, {}));
  }
}

TEST_CASE_METHOD(Fixture, "identities") {
  CHECK(pool.add(x, n(0)) == x);
  CHECK(pool.add(n(0), x) == x);
  CHECK(pool.add(n(3), x) == pool.add(x, n(3)));
  CHECK(pool.sub(x, n(0)) == x);
  CHECK(pool.sub(x, x) == n(0));
  CHECK(pool.sub(x, n(3)) == pool.add(x, n(-3)));
  CHECK(pool.sub(n(kMin), n(3)) == pool.add(n(kMin), n(-3)));
  CHECK(pool.add(pool.add(x, n(3)), n(4)) == pool.add(x, n(7)));
  CHECK(pool.add(pool.add(x, n(3)), n(-3)) == x);
  CHECK(pool.sub(pool.add(x, n(3)), n(3)) == x);
  CHECK(pool.mul(x, n(1)) == x);
  CHECK(pool.mul(n(1), x) == x);
  CHECK(pool.mul(x, n(0)) == n(0));
  CHECK(pool.mul(n(0), x) == n(0));
  CHECK(pool.mul(n(4), x) == pool.mul(x, n(4)));
  CHECK(pool.mul(pool.mul(x, n(4)), n(2)) == pool.mul(x, n(8)));
  CHECK(make(ExprOp::FloorDiv, x, n(1)) == x);
  CHECK(pool.ceildiv(x, n(1)) == x);
  CHECK(make(ExprOp::Mod, x, n(1)) == n(0));
  CHECK(make(ExprOp::FloorDiv, pool.mul(x, n(16)), n(16)) == x);
  CHECK(make(ExprOp::FloorDiv, pool.mul(x, n(16)), n(-4)) == pool.mul(x, n(-4)));
  CHECK(pool.ceildiv(pool.mul(x, n(16)), n(8)) == pool.mul(x, n(2)));
  CHECK(make(ExprOp::Mod, pool.mul(x, n(16)), n(16)) == n(0));
  CHECK(make(ExprOp::Mod, pool.mul(x, n(16)), n(8)) == n(0));
  CHECK(pool.min(x, x) == x);
  CHECK(make(ExprOp::Max, x, x) == x);
  CHECK(pool.min(x, n(4)) == pool.min(n(4), x));
  CHECK(pool.min(n(4), pool.min(n(8), x)) == pool.min(n(4), x));
  CHECK(pool.min(n(8), pool.min(n(4), x)) == pool.min(n(4), x));
  CHECK(make(ExprOp::Max, n(4), make(ExprOp::Max, x, n(8))) == make(ExprOp::Max, n(8), x));
  CHECK(make(ExprOp::Lt, x, x) == n(0));
  CHECK(make(ExprOp::Ne, x, x) == n(0));
  CHECK(make(ExprOp::Le, x, x) == n(1));
  CHECK(make(ExprOp::Eq, x, x) == n(1));
  const ExprId less = make(ExprOp::Lt, x, y);
  CHECK(make(ExprOp::And, less, n(1)) == less);
  CHECK(make(ExprOp::And, n(7), less) == less);
  CHECK(make(ExprOp::And, less, n(0)) == n(0));
  CHECK(make(ExprOp::And, n(0), less) == n(0));
  CHECK(make(ExprOp::And, less, less) == less);
  CHECK(make(ExprOp::Or, less, n(0)) == less);
  CHECK(make(ExprOp::Or, n(0), less) == less);
  CHECK(make(ExprOp::Or, less, n(2)) == n(1));
}

TEST_CASE_METHOD(Fixture, "what is no identity is kept") {
  for (const ExprId id :
       {pool.sub(n(0), x), make(ExprOp::FloorDiv, x, x), make(ExprOp::FloorDiv, n(0), x),
        make(ExprOp::FloorDiv, x, n(0)), make(ExprOp::Mod, n(0), x), make(ExprOp::FloorDiv, pool.mul(x, n(6)), n(4)),
        make(ExprOp::Mod, pool.mul(x, n(6)), n(4)), make(ExprOp::FloorDiv, pool.mul(x, n(kMin)), n(-1)),
        make(ExprOp::FloorDiv, pool.mul(x, n(6)), n(0)), pool.sub(x, n(kMin)), pool.add(pool.add(x, n(kMax)), n(1)),
        pool.mul(pool.mul(x, n(kMax)), n(2)), pool.min(n(4), make(ExprOp::Max, n(8), x)), make(ExprOp::And, x, n(1)),
        make(ExprOp::Or, x, n(0)), make(ExprOp::And, x, x), pool.sub(pool.add(x, y), y)}) {
    CAPTURE(text(id));
    const ExprNode node = pool[id];
    CHECK(node.op > ExprOp::BlockCount);
    CHECK(pool.make(node.op, node.a, node.b) == id);
  }
}

TEST_CASE_METHOD(Fixture, "identities of integers are not applied to floats") {
  CHECK(pool[pool.sub(s, s)].op == ExprOp::Sub);
  CHECK(pool[make(ExprOp::Eq, s, s)].op == ExprOp::Eq);
  CHECK(pool[pool.mul(s, pool.real(0.0))].op == ExprOp::Mul);
  CHECK(pool[pool.add(s, pool.real(0.0))].op == ExprOp::Add);
  CHECK(pool[pool.add(pool.add(s, pool.real(1.0)), pool.real(2.0))].op == ExprOp::Add);
  CHECK(pool[make(ExprOp::Div, s, s)].op == ExprOp::Div);
  const ExprId sum = pool.add(s, t);
  CHECK(pool[pool.sub(sum, sum)].op == ExprOp::Sub);
}

TEST_CASE_METHOD(Fixture, "float constants fold") {
  CHECK(pool.add(pool.real(0.5), pool.real(0.25)) == pool.real(0.75));
  CHECK(make(ExprOp::Div, pool.real(1.0), pool.real(4.0)) == pool.real(0.25));
  CHECK(make(ExprOp::Div, n(1), n(4)) == pool.real(0.25));
  CHECK(pool.mul(pool.real(0.5), n(3)) == pool.real(1.5));
  CHECK(make(ExprOp::Lt, pool.real(0.5), pool.real(0.75)) == n(1));
  CHECK(make(ExprOp::Eq, pool.real(std::nan("")), pool.real(std::nan(""))) == n(0));
  CHECK(pool.min(pool.real(0.5), pool.real(-2.0)) == pool.real(-2.0));
}

TEST_CASE_METHOD(Fixture, "float expressions are told from integer ones") {
  CHECK(pool.is_real(s, symbols));
  CHECK(pool.is_real(pool.real(1), symbols));
  CHECK(pool.is_real(pool.mul(pool.add(s, pool.real(1)), t), symbols));
  CHECK(pool.is_real(make(ExprOp::Div, s, t), symbols));
  CHECK(pool.known_real(pool.mul(pool.add(s, pool.real(1)), t)));
  CHECK_FALSE(pool.is_real(x, symbols));
  CHECK_FALSE(pool.is_real(pool.ceildiv(x, n(4)), symbols));
  CHECK_FALSE(pool.is_real(make(ExprOp::Lt, s, t), symbols));
  CHECK_FALSE(pool.known_real(make(ExprOp::Lt, s, t)));
}

TEST_CASE_METHOD(Fixture, "evaluation") {
  const std::vector<int64_t> ints = {100, 7, -3, 0, 0};
  const std::vector<double> floats = {0, 0, 0, 1.5, -0.5};
  const ExprEnv env{ints, floats, 2, 5};
  CHECK(pool.evaluate(pool.min(n(16), pool.sub(x, pool.mul(y, n(16)))), env) == -12);
  CHECK(pool.evaluate(pool.ceildiv(pool.sub(x, pool.leaf(ExprOp::BlockIndex)), pool.leaf(ExprOp::BlockCount)), env) ==
        20);
  CHECK(pool.evaluate_real(pool.add(pool.mul(s, pool.real(2)), t), env) == 2.5);
  CHECK(pool.evaluate_real(make(ExprOp::Div, s, t), env) == -3.0);
  CHECK(pool.evaluate_real(make(ExprOp::Max, s, t), env) == 1.5);
  CHECK(pool.evaluate_real(n(3), env) == 3.0);
  CHECK(pool.evaluate(make(ExprOp::Lt, t, s), env) == 1);
  CHECK(pool.evaluate_real(make(ExprOp::Lt, s, t), env) == 0.0);
  CHECK_FALSE(pool.evaluate(pool.real(1.5), env));
  CHECK_FALSE(pool.evaluate(pool.symbol(SymId(9)), env));
  CHECK_FALSE(pool.evaluate_real(pool.symbol(SymId(9)), env));
  // A guard protects what is behind it.
  const ExprId division = make(ExprOp::Eq, make(ExprOp::Mod, x, pool.sub(y, n(7))), n(0));
  CHECK_FALSE(pool.evaluate(division, env));
  CHECK(pool.evaluate(make(ExprOp::And, make(ExprOp::Ne, y, n(7)), division), env) == 0);
  CHECK(pool.evaluate(make(ExprOp::Or, make(ExprOp::Eq, y, n(7)), division), env) == 1);
  CHECK_FALSE(pool.evaluate(make(ExprOp::Or, division, make(ExprOp::Eq, y, n(7))), env));
}

TEST_CASE_METHOD(Fixture, "shared and deep expressions neither explode nor overflow the stack") {
  const std::vector<int64_t> ints = {1, 0, 0};
  const std::vector<double> floats = {0, 0, 0, 1.0};
  ExprId shared = x;
  ExprId real_shared = s;
  for (int i = 0; i < 62; ++i) {
    shared = pool.add(shared, shared);
    real_shared = pool.add(real_shared, real_shared);
  }
  CHECK(pool.evaluate(shared, {ints, {}, 0, 1}) == int64_t{1} << 62);
  CHECK(pool.evaluate_real(real_shared, {ints, floats, 0, 1}) == std::ldexp(1.0, 62));
  CHECK(text(shared) == "...");
  CHECK(pool.is_real(real_shared, symbols));
  CHECK_FALSE(pool.is_real(shared, symbols));
  std::vector<SymId> used;
  pool.collect_symbols(shared, used);
  CHECK(used == std::vector<SymId>{SymId(0)});
  ExprPool other;
  const ExprId copy = other.import(pool, shared, [&](SymId) { return other.integer(1); });
  CHECK(other.constant(copy) == int64_t{1} << 62);
  CHECK_FALSE(pool.evaluate(pool.add(shared, shared), {ints, {}, 0, 1}));

  ExprId deep = x;
  for (int i = 0; i < 100000; ++i) {
    deep = pool.sub(y, deep);
  }
  CHECK(pool.evaluate(deep, {ints, {}, 0, 1}) == 1);
  CHECK(text(deep).size() > 500000);
  ExprId chain = x;
  for (int i = 0; i < 1000; ++i) {
    chain = make(ExprOp::Max, chain, pool.mul(y, n(i + 2)));
  }
  CHECK(pool.evaluate(chain, {ints, {}, 0, 1}) == 1);
}

TEST_CASE_METHOD(Fixture, "printing uses the fewest parentheses") {
  CHECK(text(pool.min(n(16), pool.sub(x, pool.mul(y, n(16))))) == "min(16, x - y * 16)");
  CHECK(text(pool.mul(pool.add(x, y), z)) == "(x + y) * z");
  CHECK(text(pool.add(x, pool.add(y, z))) == "x + (y + z)");
  CHECK(text(pool.add(pool.add(x, y), z)) == "x + y + z");
  CHECK(text(pool.sub(x, pool.sub(y, z))) == "x - (y - z)");
  CHECK(text(make(ExprOp::FloorDiv, x, pool.mul(y, z))) == "x / (y * z)");
  CHECK(text(make(ExprOp::Mod, make(ExprOp::FloorDiv, x, y), z)) == "x / y % z");
  CHECK(text(make(ExprOp::Div, s, t)) == "s / t");
  CHECK(text(pool.ceildiv(pool.add(x, y), n(16))) == "ceildiv(x + y, 16)");
  CHECK(text(pool.sub(x, n(3))) == "x - 3");
  CHECK(text(pool.mul(x, n(-3))) == "x * -3");
  CHECK(text(pool.sub(n(-3), x)) == "-3 - x");
  CHECK(text(pool.add(x, n(kMin))) == "x + (-9223372036854775807 - 1)");
  CHECK(text(pool.add(x, n(kMin + 1))) == "x - 9223372036854775807");
  CHECK(text(make(ExprOp::Or, make(ExprOp::And, make(ExprOp::Lt, x, y), make(ExprOp::Ne, y, z)), x)) ==
        "x < y && y != z || x");
  CHECK(text(make(ExprOp::And, x, make(ExprOp::Or, y, z))) == "x && (y || z)");
  CHECK(text(make(ExprOp::Eq, make(ExprOp::Le, x, y), z)) == "x <= y == z");
  CHECK(text(make(ExprOp::Le, make(ExprOp::Eq, x, y), z)) == "(x == y) <= z");
  CHECK(text(pool.add(pool.leaf(ExprOp::BlockIndex), pool.leaf(ExprOp::BlockCount))) ==
        "block_index() + block_count()");
}

TEST_CASE_METHOD(Fixture, "floats print shortest and always as floats") {
  CHECK(text(pool.real(2)) == "2.0");
  CHECK(text(pool.real(0.1)) == "0.1");
  CHECK(text(pool.real(-0.0)) == "-0.0");
  CHECK(text(pool.real(1e300)) == "1e+300");
  CHECK(text(pool.real(1e-7)) == "1e-07");
  CHECK(text(pool.real(INFINITY)) == "inf");
  CHECK(text(pool.real(-INFINITY)) == "-inf");
  CHECK(text(pool.real(NAN)) == "nan");
  CHECK(text(pool.real(123456789.0)) == "123456789.0");
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (std::isnan(value)) {
      continue;
    }
    const std::string printed = text(pool.real(value));
    CHECK(std::bit_cast<uint64_t>(std::strtod(printed.c_str(), nullptr)) == std::bit_cast<uint64_t>(value));
    CHECK(printed.find_first_of(".ein") != std::string::npos);
  }
}

TEST_CASE("make is idempotent, print parses back, and folding keeps the value") {
  const std::vector<Symbol> symbols = {{"x"}, {"y"}, {"z"}};
  Generator generator(2024);
  int evaluated = 0;
  for (int round = 0; round < 4000; ++round) {
    ExprPool pool;
    const Tree tree = generator.tree(5);
    const ExprId id = build(pool, tree);
    const std::string printed = pool.print(id, symbols);
    CAPTURE(printed);
    for (uint32_t i = 0; i < pool.size(); ++i) {
      const ExprNode node = pool[ExprId(i)];
      if (node.op > ExprOp::BlockCount) {
        REQUIRE(pool.make(node.op, node.a, node.b) == ExprId(i));
      }
    }
    REQUIRE(Parser(pool, symbols, printed).run() == id);

    ExprPool raw;
    const ExprId raw_id = build_raw(raw, tree);
    for (int i = 0; i < 4; ++i) {
      const std::vector<int64_t> ints = {generator.number(), generator.number(), generator.number()};
      CAPTURE(ints);
      const std::optional<Wide> expected = oracle(tree, ints);
      const ExprEnv env{ints, {}, 0, 1};
      // As written: exactly the oracle. Simplified: at least as defined.
      const auto as_written = raw.evaluate(raw_id, env);
      REQUIRE(as_written.has_value() == expected.has_value());
      if (expected) {
        ++evaluated;
        REQUIRE(*as_written == static_cast<int64_t>(*expected));
        REQUIRE(pool.evaluate(id, env) == static_cast<int64_t>(*expected));
      }
    }
  }
  CHECK(evaluated > 2000);
}

TEST_CASE("large trees evaluate like small ones") {
  Generator generator(77);
  const std::vector<int64_t> ints = {5, -2, 9};
  int large = 0;
  for (int round = 0; round < 200; ++round) {
    const Tree tree = generator.tree(9);
    ExprPool pool;
    const ExprId id = build_raw(pool, tree);
    large += pool.tree_size(id) > 256 ? 1 : 0;
    const auto expected = oracle(tree, ints);
    const auto value = pool.evaluate(id, {ints, {}, 0, 1});
    REQUIRE(value.has_value() == expected.has_value());
    if (expected) {
      REQUIRE(*value == static_cast<int64_t>(*expected));
    }
  }
  CHECK(large > 20);
}

TEST_CASE_METHOD(Fixture, "import maps symbols and simplifies again") {
  ExprPool other;
  const ExprId from = pool.min(n(16), pool.sub(x, pool.mul(y, n(16))));
  const ExprId copy =
      other.import(pool, from, [&](SymId sym) { return sym == SymId(0) ? other.integer(40) : other.symbol(SymId(0)); });
  CHECK(other.print(copy, {{"i"}}) == "min(16, 40 - i * 16)");
  const ExprId folded = other.import(pool, from, [&](SymId) { return other.integer(2); });
  CHECK(other.constant(folded) == -30);
}

TEST_CASE_METHOD(Fixture, "symbols of an expression are collected once") {
  std::vector<SymId> used = {SymId(1)};
  pool.collect_symbols(pool.add(pool.mul(x, y), pool.sub(z, x)), used);
  CHECK(used == std::vector<SymId>{SymId(1), SymId(0), SymId(2)});
}

TEST_CASE("raw nodes stay as given") {
  ExprPool pool;
  ExprNode two;
  two.value = 2;
  const ExprId a = pool.append_raw(two);
  const ExprId b = pool.append_raw(two);
  CHECK(a != b);
  ExprNode sum;
  sum.op = ExprOp::Add;
  sum.a = a;
  sum.b = b;
  const ExprId c = pool.append_raw(sum);
  CHECK(pool[c].op == ExprOp::Add);
  CHECK(pool.evaluate(c, {}) == 4);
  CHECK(pool.integer(2) == a);
  CHECK(pool.size() == 3);
}

}  // namespace pto
