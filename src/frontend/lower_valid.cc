// Valid regions of tiles. Every operation's result type says which elements hold data, as an expression. Two rules:
//   * the instruction behind an operation takes the valid region of one operand (the first; of a select the last one),
//   so
//     that operand's must be the result's, and the others must hold at least as much;
//   * a value carried by a loop has one type in front of it and behind its body.
// A tile filled with a scalar (`zeros`, `full`, `broadcast`) has no data of its own to lose: where its users have less,
// it is filled that far only, and both rules hold.
#include <algorithm>

#include "src/frontend/lower.h"

namespace pto::frontend {
namespace {

constexpr int kMostRounds = 8;

bool is_commutative(ir::OpKind kind) {
  return kind == ir::OpKind::Add || kind == ir::OpKind::Mul || kind == ir::OpKind::Max || kind == ir::OpKind::Min;
}

}  // namespace

bool Lower::is_whole(const ir::Type& type) const {
  return type.is_tile() && fn().exprs.constant(type.valid_rows) == type.rows &&
         fn().exprs.constant(type.valid_cols) == type.cols;
}

// Is `min(length, dim - offset)` the length wherever the loops around it go?
bool Lower::provably_whole(ExprId valid, int64_t length) const {
  const ExprPool& pool = fn().exprs;
  if (pool.constant(valid) == length) {
    return true;
  }
  const ExprNode& node = pool[valid];
  if (node.op != ExprOp::Min || pool.constant(node.a) != length) {
    return false;
  }
  const ExprNode& rest = pool[node.b];
  if (rest.op == ExprOp::Sub) {
    return always_fits(pool, facts_, rest.b, length, rest.a);
  }
  const auto least = lower_bound(pool, facts_, node.b);
  return least && *least >= length;
}

bool Lower::same_valid(ExprId a, ExprId b, int64_t length) const {
  return same_expr(fn().exprs, a, b) || (provably_whole(a, length) && provably_whole(b, length));
}

ExprId Lower::join(ExprId a, ExprId b, int64_t whole) const {
  return fn().exprs.constant(a) == whole ? b : a;
}

void Lower::join_valid(ir::Type& result, const ir::Type& operand) const {
  if (operand.rows == result.rows) {
    result.valid_rows = join(result.valid_rows, operand.valid_rows, result.rows);
  }
  if (operand.cols == result.cols) {
    result.valid_cols = join(result.valid_cols, operand.valid_cols, result.cols);
  }
}

std::string Lower::valid_text(const ir::Type& type) const {
  return "`" + text(type.valid_rows) + ", " + text(type.valid_cols) + "`";
}

// The result types of an operation again, after those of its operands changed.
void Lower::retype(const ir::Op& op) {
  if (op.kind == ir::OpKind::For) {
    const ir::Region& body = fn().regions[op.regions[0]];
    for (size_t i = 0; i < body.args.size(); ++i) {
      const ir::Type init = fn().type(op.operands[i]);
      for (const ir::ValueId value : {body.args[i], op.results[i]}) {
        fn().values[value].type.valid_rows = init.valid_rows;
        fn().values[value].type.valid_cols = init.valid_cols;
      }
    }
  }
  for (const ir::RegionId region : op.regions) {
    retype_region(region);
  }
  if (op.kind == ir::OpKind::If) {
    for (const ir::ValueId result : op.results) {
      retype_joined(result);
    }
    return;
  }
  if (op.results.size() != 1 || op.kind == ir::OpKind::For || !fn().type(op.results[0]).is_tile()) {
    return;
  }
  ir::Type type = fn().type(op.results[0]);
  const ir::OpShape shape = ir::op_info(op.kind).shape;
  const bool elementwise = shape == ir::OpShape::Binary || shape == ir::OpShape::Unary ||
                           op.kind == ir::OpKind::Compare || op.kind == ir::OpKind::Select ||
                           op.kind == ir::OpKind::Cast;
  if (elementwise || op.kind == ir::OpKind::Move) {
    type.valid_rows = fn().exprs.integer(type.rows);
    type.valid_cols = fn().exprs.integer(type.cols);
    for (const ir::ValueId operand : op.operands) {
      join_valid(type, fn().type(operand));
    }
  } else if (shape == ir::OpShape::Reduce) {
    const ir::Type& operand = fn().type(op.operands[0]);
    (op.axis == 1 ? type.valid_rows : type.valid_cols) = op.axis == 1 ? operand.valid_rows : operand.valid_cols;
  } else if (ir::is_matmul(op.kind)) {
    type.valid_rows = fn().type(op.operands[0]).valid_rows;
    type.valid_cols = fn().type(op.operands[1]).valid_cols;
  } else if (op.kind == ir::OpKind::Extract) {
    type.valid_rows = clipped(type.rows, fn().type(op.operands[0]).valid_rows, op.exprs[0]);
    type.valid_cols = clipped(type.cols, fn().type(op.operands[0]).valid_cols, op.exprs[1]);
  }
  fn().values[op.results[0]].type = type;
}

// A branch's result is valid as the values that it joins, in the words of the one that needs no name of its branch.
// Regions that both do are the same only if they are whole.
void Lower::retype_joined(ir::ValueId result) {
  const Branches& joined = branches_.at(result.index());
  const ir::Type then = fn().type(joined.then);
  const ir::Type otherwise = fn().type(joined.otherwise);
  auto choose = [&](ExprId a, ExprId b, int64_t whole) {
    return symbols_before(a, a, joined.symbols)   ? a
           : symbols_before(b, b, joined.symbols) ? b
                                                  : fn().exprs.integer(whole);
  };
  fn().values[result].type.valid_rows = choose(then.valid_rows, otherwise.valid_rows, then.rows);
  fn().values[result].type.valid_cols = choose(then.valid_cols, otherwise.valid_cols, then.cols);
}

bool Lower::symbols_before(ExprId rows, ExprId cols, uint32_t count) const {
  std::vector<SymId> symbols;
  fn().exprs.collect_symbols(rows, symbols);
  fn().exprs.collect_symbols(cols, symbols);
  return std::all_of(symbols.begin(), symbols.end(), [&](SymId sym) { return sym.index() < count; });
}

void Lower::retype_region(ir::RegionId region) {
  const std::vector<ir::OpId> ops = fn().regions[region].ops;
  for (const ir::OpId op : ops) {
    retype(fn().ops[op]);
  }
}

bool Lower::narrow(ir::ValueId value, ExprId rows, ExprId cols) {
  const ir::Type type = fn().type(value);
  const bool rows_differ = type.valid_rows != rows;
  const bool cols_differ = type.valid_cols != cols;
  if (!rows_differ && !cols_differ) {
    return true;
  }
  if ((rows_differ && fn().exprs.constant(type.valid_rows) != type.rows) ||
      (cols_differ && fn().exprs.constant(type.valid_cols) != type.cols)) {
    return false;
  }
  if (const auto init = carried_init_.find(value.index()); init != carried_init_.end()) {
    if (!narrow(init->second, rows, cols)) {
      return false;
    }
  } else if (const auto joined = branches_.find(value.index()); joined != branches_.end()) {
    const Branches both = joined->second;
    if (!symbols_before(rows, cols, both.symbols) || !narrow(both.then, rows, cols) ||
        !narrow(both.otherwise, rows, cols)) {
      return false;
    }
  } else {
    const auto before = full_symbols_.find(value.index());
    if (before == full_symbols_.end()) {
      return false;
    }
    const ir::Op& def = fn().ops[fn().values[value].def];
    if (def.kind == ir::OpKind::Broadcast) {
      const ir::Type& from = fn().type(def.operands[0]);
      if ((rows_differ && from.rows != 1) || (cols_differ && from.cols != 1)) {
        return false;
      }
    }
    // A symbol that both know by now was in scope for the fill if it existed then.
    if (!symbols_before(rows, cols, before->second)) {
      return false;
    }
  }
  fn().values[value].type.valid_rows = rows;
  fn().values[value].type.valid_cols = cols;
  return true;
}

void Lower::finish_carried(ir::OpId loop, const std::vector<std::string>& names, Span span) {
  const ir::RegionId region = fn().ops[loop].regions[0];
  const std::vector<ir::ValueId> args = fn().regions[region].args;
  if (args.empty()) {
    return;
  }
  const std::vector<ir::ValueId> next = fn().ops[fn().regions[region].ops.back()].operands;
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Type before = fn().type(args[i]);
    const ir::Type after = fn().type(next[i]);
    if (before.dtype != after.dtype || before.rows != after.rows || before.cols != after.cols) {
      error(DiagId::CarriedMismatch, span, {names[i], text(before), text(after)});
      return;
    }
  }
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (size_t i = 0; i < args.size(); ++i) {
      const ir::Type before = fn().type(args[i]);
      const ir::Type after = fn().type(next[i]);
      if (before.valid_rows != after.valid_rows || before.valid_cols != after.valid_cols) {
        changed = narrow(args[i], after.valid_rows, after.valid_cols) || changed;
      }
    }
    if (!changed) {
      break;
    }
    const ir::Op op = fn().ops[loop];
    retype(op);
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const ir::Type before = fn().type(args[i]);
    const ir::Type after = fn().type(next[i]);
    if (!same_valid(before.valid_rows, after.valid_rows, before.rows) ||
        !same_valid(before.valid_cols, after.valid_cols, before.cols)) {
      error(DiagId::CarriedMismatch, span, {names[i], "`" + text(before) + "`", "`" + text(after) + "`"})
          .help("`fillpad` makes the whole tile valid");
    }
    fn().values[fn().ops[loop].results[i]].type = before;
  }
}

// Values that two branches yield are valid alike. True if a type was narrowed.
bool Lower::join_valid_of_branches(ir::OpId id, bool report) {
  bool changed = false;
  for (const ir::ValueId result : std::vector<ir::ValueId>(fn().ops[id].results)) {
    const Branches both = branches_.at(result.index());
    const ir::Type then = fn().type(both.then);
    const ir::Type otherwise = fn().type(both.otherwise);
    const ExprId rows = join(then.valid_rows, otherwise.valid_rows, then.rows);
    const ExprId cols = join(then.valid_cols, otherwise.valid_cols, then.cols);
    const bool same = same_valid(then.valid_rows, otherwise.valid_rows, then.rows) &&
                      same_valid(then.valid_cols, otherwise.valid_cols, then.cols);
    if (!report && !same && symbols_before(rows, cols, both.symbols)) {
      for (const ir::ValueId value : {both.then, both.otherwise}) {
        const ir::Type& type = fn().type(value);
        const bool differs = type.valid_rows != rows || type.valid_cols != cols;
        changed = (differs && narrow(value, rows, cols)) || changed;
      }
    }
    retype_joined(result);
    if (report && !same) {
      error(DiagId::BranchMismatch, fn().ops[id].span(),
            {fn().values[result].name, "`" + text(then) + "`", "`" + text(otherwise) + "`"})
          .help("`fillpad` makes the whole tile valid; or load both with the same window");
    }
  }
  return changed;
}

void Lower::check_valid() {
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (uint32_t i = 0; i < fn().ops.size(); ++i) {
      changed = check_valid_op(ir::OpId(i), false) || changed;
    }
    if (!changed) {
      break;
    }
    retype_region(fn().body);
  }
  // What branches disagree on would be an error at each of its uses too.
  const size_t errors = module_.sink.error_count();
  for (const bool branches : {true, false}) {
    if (module_.sink.error_count() != errors) {
      return;
    }
    for (uint32_t i = 0; i < fn().ops.size(); ++i) {
      if ((fn().ops[ir::OpId(i)].kind == ir::OpKind::If) == branches) {
        check_valid_op(ir::OpId(i), true);
      }
    }
  }
}

bool Lower::check_valid_op(ir::OpId id, bool report) {
  const ir::Op& op = fn().ops[id];
  if (ir::is_matmul(op.kind)) {
    return check_matmul(op, report);
  }
  if (op.kind == ir::OpKind::Store) {
    return check_store(id, report);
  }
  if (op.kind == ir::OpKind::If) {
    return join_valid_of_branches(id, report);
  }
  const bool elementwise = ir::op_info(op.kind).shape == ir::OpShape::Binary || op.kind == ir::OpKind::Compare ||
                           op.kind == ir::OpKind::Select;
  return elementwise && op.operands.size() > 1 && check_elementwise(id, report);
}

bool Lower::check_elementwise(ir::OpId id, bool report) {
  const ir::Op& op = fn().ops[id];
  const ir::Type result = fn().type(op.results[0]);
  const std::vector<ir::ValueId> operands = op.operands;
  const size_t leader = op.kind == ir::OpKind::Select ? operands.size() - 1 : 0;
  bool changed = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ir::Type type = fn().type(operands[i]);
    const bool spread = type.rows != result.rows || type.cols != result.cols;
    const bool same_rows = type.rows != result.rows || same_valid(type.valid_rows, result.valid_rows, result.rows);
    const bool same_cols = type.cols != result.cols || same_valid(type.valid_cols, result.valid_cols, result.cols);
    if (same_rows && same_cols) {
      continue;
    }
    const ExprId rows = type.rows == result.rows ? result.valid_rows : type.valid_rows;
    const ExprId cols = type.cols == result.cols ? result.valid_cols : type.valid_cols;
    if (!report && narrow(operands[i], rows, cols)) {
      changed = true;
      continue;
    }
    const bool enough = (same_rows || provably_whole(type.valid_rows, type.rows)) &&
                        (same_cols || provably_whole(type.valid_cols, type.cols));
    if (enough && i != leader && !spread) {
      continue;
    }
    const bool swaps = enough && !spread && is_commutative(op.kind) && operands.size() == 2;
    if (swaps && fn().type(operands[1]).rows == result.rows && fn().type(operands[1]).cols == result.cols) {
      std::swap(fn().ops[id].operands[0], fn().ops[id].operands[1]);
      return changed;
    }
    if (report) {
      const ir::Type& other = fn().type(operands[i == 0 ? 1 : 0]);
      error(DiagId::ValidMismatch, op.span(),
            {"`" + std::string(ir::op_info(op.kind).spelling) + "`", "the operands' valid regions are " +
                                                                         valid_text(i == 0 ? type : other) + " and " +
                                                                         valid_text(i == 0 ? other : type)})
          .help("`fillpad` makes a whole tile valid; or load both with the same window");
      return changed;
    }
  }
  return changed;
}

bool Lower::check_matmul(const ir::Op& op, bool report) {
  const ir::Type a = fn().type(op.operands[0]);
  const ir::Type b = fn().type(op.operands[1]);
  const ir::Type result = fn().type(op.results[0]);
  if (report && !same_valid(a.valid_cols, b.valid_rows, a.cols)) {
    error(DiagId::ValidMismatch, op.span(),
          {"`matmul`", "the left operand has `" + text(a.valid_cols) + "` valid columns, the right one `" +
                           text(b.valid_rows) + "` valid rows"})
        .help("the padding would take part in the sums");
  }
  if (op.operands.size() < 3) {
    return false;
  }
  const ir::Type start = fn().type(op.operands[2]);
  const bool bias = op.kind == ir::OpKind::MatMulBias;
  const bool rows_fit = bias || same_valid(start.valid_rows, result.valid_rows, result.rows);
  const bool cols_fit = same_valid(start.valid_cols, result.valid_cols, result.cols);
  if (rows_fit && cols_fit) {
    return false;
  }
  if (!report) {
    return narrow(op.operands[2], bias ? start.valid_rows : result.valid_rows, result.valid_cols);
  }
  const bool enough = (rows_fit || provably_whole(start.valid_rows, start.rows)) &&
                      (cols_fit || provably_whole(start.valid_cols, start.cols));
  if (!enough) {
    error(DiagId::ValidMismatch, op.span(),
          {"`matmul`",
           "the product's valid region is " + valid_text(result) + ", that of what it adds to " + valid_text(start)});
  }
  return false;
}

namespace {

// The terms of which an expression is the smallest: `min(256, M - m) - i` is the smaller of `256 - i` and `M - m - i`.
void terms_of_min(ExprPool& pool, ExprId id, int depth, std::vector<ExprId>& terms) {
  constexpr int kMostDepth = 8;
  const ExprNode node = pool[id];
  if (depth < kMostDepth && node.op == ExprOp::Min) {
    terms_of_min(pool, node.a, depth + 1, terms);
    terms_of_min(pool, node.b, depth + 1, terms);
  } else if (depth < kMostDepth && (node.op == ExprOp::Sub || node.op == ExprOp::Add) &&
             pool[node.a].op == ExprOp::Min) {
    const ExprNode inner = pool[node.a];
    terms_of_min(pool, pool.make(node.op, inner.a, node.b), depth + 1, terms);
    terms_of_min(pool, pool.make(node.op, inner.b, node.b), depth + 1, terms);
  } else {
    terms.push_back(id);
  }
}

// Is `a` at most `b` because every term of `b` is one of `a`, or no less than `length`, which `a` never exceeds?
bool at_most(ExprPool& pool, ExprId a, ExprId b, int64_t length) {
  std::vector<ExprId> small;
  std::vector<ExprId> large;
  terms_of_min(pool, a, 0, small);
  terms_of_min(pool, b, 0, large);
  return std::all_of(large.begin(), large.end(), [&](ExprId term) {
    return pool.constant(term).value_or(0) >= length ||
           std::any_of(small.begin(), small.end(), [&](ExprId t) { return same_expr(pool, t, term); });
  });
}

}  // namespace

bool Lower::check_store(ir::OpId id, bool report) {
  const auto window = windows_.find(id.index());
  if (window == windows_.end()) {
    return false;
  }
  const ir::Op& op = fn().ops[id];
  const ir::Type tile = fn().type(op.operands[1]);
  const ir::Type& target = window->second;
  auto fits = [&](ExprId valid, ExprId room, int64_t length) {
    if (same_expr(fn().exprs, valid, room) || provably_whole(room, length)) {
      return true;
    }
    const auto most = upper_bound(fn().exprs, facts_, valid);
    const auto least = lower_bound(fn().exprs, facts_, room);
    return (most && least && *most <= *least) || at_most(fn().exprs, valid, room, length);
  };
  if (fits(tile.valid_rows, target.valid_rows, tile.rows) && fits(tile.valid_cols, target.valid_cols, tile.cols)) {
    return false;
  }
  if (!report) {
    return narrow(op.operands[1], target.valid_rows, target.valid_cols);
  }
  error(DiagId::ValidMismatch, op.span(),
        {"`store`", "the tile's valid region is " + valid_text(tile) + ", but only " + valid_text(target) +
                        " of the window is inside the tensor"})
      .help("store a tile with the valid region of a load at the same place");
  return false;
}

}  // namespace pto::frontend
