// Items, headers and structure of the text.
#include "src/ir/printer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pto::ir {

namespace {

constexpr size_t kColumns = 120;
constexpr int kIndent = 4;

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) {
      text += separator;
    }
    text += part;
  }
  return text;
}

std::string_view keyword(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::Graph:
      return "graph";
    case FunctionKind::FusedGraph:
      return "fused graph";
    case FunctionKind::Kernel:
      return "kernel";
    case FunctionKind::Core:
      return "core";
    case FunctionKind::Pair:
      return "core pair";
    case FunctionKind::Program:
      return "program";
  }
  return "";
}

}  // namespace

void Printer::line(const std::string& text) {
  out_.append(static_cast<size_t>(indent_ * kIndent), ' ');
  out_ += text;
  out_ += '\n';
}

// One `///` line for each line of the text. A carriage return would end the comment early.
void Printer::doc(const std::string& text, int indent) {
  if (text.empty()) {
    return;
  }
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    std::replace(part.begin(), part.end(), '\r', ' ');
    out_.append(static_cast<size_t>(indent * kIndent), ' ');
    out_ += part.empty() ? "///" : "/// " + part;
    out_ += '\n';
    begin = end + 1;
  }
}

std::string Printer::expr_list(const std::vector<ExprId>& ids) const {
  std::vector<std::string> parts;
  for (ExprId id : ids) {
    parts.push_back(expr(id));
  }
  return join(parts, ", ");
}

std::string Printer::term(ExprId id) const {
  const ExprNode& node = function_.exprs[id];
  switch (node.op) {
    case ExprOp::Int:
      return node.value < 0 ? "(" + expr(id) + ")" : expr(id);
    case ExprOp::Float:
      return std::signbit(node.fvalue) ? "(" + expr(id) + ")" : expr(id);
    case ExprOp::Sym:
    case ExprOp::BlockIndex:
    case ExprOp::BlockCount:
    case ExprOp::LaneIndex:
    case ExprOp::CeilDiv:
    case ExprOp::Min:
    case ExprOp::Max:
      return expr(id);
    default:
      return "(" + expr(id) + ")";
  }
}

// A constant in the spelling that its element type wants: `2.0` on floats, `2` on integers.
std::string Printer::scalar(ExprId id, DType type) const {
  const ExprNode& node = function_.exprs[id];
  ExprPool pool;
  if (node.op == ExprOp::Int && is_float(type)) {
    return pool.print(pool.real(static_cast<double>(node.value)), {});
  }
  constexpr double kMostExact = 9007199254740992.0;  // 2^53
  if (node.op == ExprOp::Float && !is_float(type) && std::nearbyint(node.fvalue) == node.fvalue &&
      std::fabs(node.fvalue) <= kMostExact) {
    return pool.print(pool.integer(static_cast<int64_t>(node.fvalue)), {});
  }
  return expr(id);
}

std::string Printer::scalar_term(ExprId id, DType type) const {
  const ExprOp op = function_.exprs[id].op;
  return op == ExprOp::Int || op == ExprOp::Float ? scalar(id, type) : term(id);
}

std::string Printer::type(const Type& type) const {
  const std::string dtype(spelling(type.dtype));
  if (type.is_tensor()) {
    return dtype + "[" + expr_list(type.dims) + "]";
  }
  if (!type.is_tile()) {
    return "none";
  }
  std::string text = "tile " + dtype + "[" + std::to_string(type.rows) + ", " + std::to_string(type.cols);
  if (type.valid_rows.valid() && type.valid_cols.valid() &&
      (function_.exprs.constant(type.valid_rows) != type.rows ||
       function_.exprs.constant(type.valid_cols) != type.cols)) {
    text += "; " + expr(type.valid_rows) + ", " + expr(type.valid_cols);
  }
  text += "]";
  if (type.space != Space::None) {
    text += " in " + std::string(spelling(type.space));
  }
  if (type.layout != Layout::None) {
    text += " layout(" + std::string(spelling(type.layout)) + ")";
  }
  return text;
}

std::string Printer::param(size_t index) const {
  const Param& param = function_.params[index];
  const std::string& name = names_.params[index];
  if (param.is_tensor()) {
    return (param.mode == ParamMode::InOut ? "inout " : "") + name + ": " + type(param.type);
  }
  std::string text = name + ": " + std::string(spelling(param.dtype));
  if (param.default_value) {
    ExprPool pool;
    const double value = *param.default_value;
    text +=
        " = " + pool.print(is_float(param.dtype) ? pool.real(value) : pool.integer(static_cast<int64_t>(value)), {});
  }
  return text;
}

std::string Printer::print_item() {
  doc(function_.doc, 0);
  std::string head(keyword(function_.kind));
  if (function_.kind == FunctionKind::Core) {
    head = (function_.automatic ? "auto core " : "core ") + std::string(spelling(function_.core_kind));
  }
  head += " " + function_.name;
  std::vector<std::string> dims;
  for (SymId dim : function_.dims) {
    dims.push_back(names_.symbols.at(dim.index()).name);
  }
  if (!dims.empty()) {
    head += "[" + join(dims, ", ") + "]";
  }
  std::string where;
  for (const Constraint& constraint : function_.constraints) {
    where += (where.empty() ? " where " : ", ") + expr(constraint.condition);
  }

  std::vector<std::string> inputs;
  std::vector<std::string> results;
  bool documented = false;
  for (size_t i = 0; i < function_.params.size(); ++i) {
    const Param& each = function_.params[i];
    (each.mode == ParamMode::Out ? results : inputs).push_back(param(i));
    documented = documented || !each.doc.empty();
  }
  std::string one_line = head + "(" + join(inputs, ", ") + ")";
  if (!results.empty()) {
    one_line += " -> (" + join(results, ", ") + ")";
  }
  const std::string tail = where + (function_.kind == FunctionKind::Pair ? pair_tail() : " {");
  one_line += tail;
  if (!documented && one_line.size() <= kColumns) {
    line(one_line);
  } else {
    out_ += head + "(\n";
    param_lines(false);
    out_ += ")";
    if (!results.empty()) {
      out_ += " -> (\n";
      param_lines(true);
      out_ += ")";
    }
    out_ += tail + "\n";
  }
  if (function_.kind == FunctionKind::Pair) {
    return std::move(out_);
  }
  ++indent_;
  buffers();
  rings();
  if (function_.body.valid()) {
    region(function_.body);
  }
  --indent_;
  line("}");
  return std::move(out_);
}

// " = (cube: ffn_cube, vec: ffn_vec) lanes 2;"
std::string Printer::pair_tail() const {
  return " = (cube: " + function_.pair_cube + ", vec: " + function_.pair_vec + ") lanes " +
         std::to_string(function_.lanes) + ";";
}

void Printer::param_lines(bool results) {
  for (size_t i = 0; i < function_.params.size(); ++i) {
    if ((function_.params[i].mode == ParamMode::Out) == results) {
      doc(function_.params[i].doc, 1);
      out_ += std::string(kIndent, ' ') + param(i) + ",\n";
    }
  }
}

void Printer::region(RegionId region) {
  for (OpId id : function_.regions[region].ops) {
    statement(id);
  }
}

void Printer::statement(OpId id) {
  const Op& op = function_.ops[id];
  switch (op.kind) {
    case OpKind::For:
      return for_loop(op);
    case OpKind::Parallel:
      return parallel(op);
    case OpKind::If:
      return branch(op);
    case OpKind::Yield:
      return;  // written by the loop
    case OpKind::Let:
      return line("let " + names_.symbols.at(op.syms.at(0).index()).name + " = " + expr(op.exprs.at(0)) + ";");
    case OpKind::Inst:
      return line(instruction(op.inst) + ";");
    case OpKind::Assign:
      return line(name(op.operands.at(0)) + " = " + name(op.operands.at(1)) + ";");
    case OpKind::Store: {
      const Type& tile = function_.type(op.operands.at(1));
      return line("store(" + window(op.operands.at(0), op.exprs, tile) + ", " + name(op.operands.at(1)) + ");");
    }
    case OpKind::Call:
      return call(op);
    case OpKind::Buffer:
      return buffer(op);
    case OpKind::Task:
      return task(id, op);
    default:
      break;
  }
  const ValueId result = op.results.at(0);
  static constexpr std::string_view kBegin[] = {"let ", "var ", ""};
  line(std::string(kBegin[static_cast<size_t>(names_.bindings.at(result.index()))]) + name(result) + " = " + rhs(op) +
       ";");
}

std::string Printer::range(SymId sym, ExprId lo, ExprId hi, ExprId step) const {
  std::string text = names_.symbols.at(sym.index()).name + " in " + term(lo) + ".." + term(hi);
  if (function_.exprs.constant(step) != 1) {
    text += " step " + term(step);
  }
  return text;
}

void Printer::for_loop(const Op& op) {
  const Region& body = function_.regions[op.regions.at(0)];
  for (size_t i = 0; i < body.args.size(); ++i) {
    const ValueId init = op.operands.at(i);
    if (names_.bindings.at(init.index()) != Binding::Var) {
      line("var " + name(body.args[i]) + " = " + name(init) + ";");
    }
  }
  std::string head = "for " + range(op.syms.at(0), op.exprs.at(0), op.exprs.at(1), op.exprs.at(2));
  if (op.pipeline != 0) {
    head += " pipeline " + std::to_string(op.pipeline);
  }
  line(head + " {");
  ++indent_;
  region(op.regions[0]);
  if (!body.ops.empty() && function_.ops[body.ops.back()].kind == OpKind::Yield) {
    yield(body, function_.ops[body.ops.back()]);
  }
  --indent_;
  line("}");
}

// `c = value;` for each carried value that was not assigned in place. They happen one after the other in the text but
// all at once in the IR, so a value that an earlier assignment overwrites is saved first.
void Printer::yield(const Region& body, const Op& yield) {
  std::vector<ValueId> targets;
  std::vector<ValueId> values;
  for (size_t i = 0; i < yield.operands.size() && i < body.args.size(); ++i) {
    if (names_.bindings.at(yield.operands[i].index()) != Binding::Assign) {
      targets.push_back(body.args[i]);
      values.push_back(yield.operands[i]);
    }
  }
  assign_all(targets, values);
}

void Printer::assign_all(const std::vector<ValueId>& targets, const std::vector<ValueId>& values) {
  std::vector<std::string> sources;
  for (size_t position = 0; position < values.size(); ++position) {
    const auto end = targets.begin() + static_cast<std::ptrdiff_t>(position);
    const bool overwritten =
        std::any_of(targets.begin(), end, [&](ValueId earlier) { return earlier == values[position]; });
    sources.push_back(name(values[position]));
    if (overwritten) {
      sources.back() = spare_names_.take("next");
      line("let " + sources.back() + " = " + name(values[position]) + ";");
    }
  }
  for (size_t position = 0; position < targets.size(); ++position) {
    line(name(targets[position]) + " = " + sources[position] + ";");
  }
}

void Printer::parallel(const Op& op) {
  std::vector<std::string> ranges;
  for (size_t i = 0; i < op.syms.size(); ++i) {
    ranges.push_back(range(op.syms[i], op.exprs.at(3 * i), op.exprs.at(3 * i + 1), op.exprs.at(3 * i + 2)));
  }
  std::string head = "parallel " + join(ranges, ", ");
  if (op.split) {
    head += " split " + std::string(isa::spelling(*op.split));
  }
  if (op.pipeline != 0) {
    head += " pipeline " + std::to_string(op.pipeline);
  }
  line(head + " {");
  ++indent_;
  region(op.regions.at(0));
  --indent_;
  line("}");
}

// What an `if` results in is a variable without a value in front of it, which both branches assign last.
void Printer::branch(const Op& op) {
  for (ValueId result : op.results) {
    const Type& type = function_.type(result);
    line("var " + name(result) + ": tile " + std::string(spelling(type.dtype)) + shape(type) + ";");
  }
  line("if " + expr(op.exprs.at(0)) + " {");
  branch_region(op, 0);
  if (!op.results.empty() || !function_.regions[op.regions.at(1)].ops.empty()) {
    line("} else {");
    branch_region(op, 1);
  }
  line("}");
}

void Printer::branch_region(const Op& op, size_t side) {
  ++indent_;
  const Region& body = function_.regions[op.regions.at(side)];
  region(op.regions[side]);
  if (!op.results.empty() && !body.ops.empty()) {
    assign_all(op.results, function_.ops[body.ops.back()].operands);
  }
  --indent_;
}

std::string print(const Function& function, const Module* module) {
  return Printer(function, module).print_item();
}

std::string print(const Module& module) {
  std::string text;
  for (const Function& function : module.functions) {
    if (!text.empty()) {
      text += '\n';
    }
    text += print(function, &module);
  }
  return text;
}

std::string type_text(const Function& function, const Type& type) {
  return Printer(function, nullptr).type(type);
}

}  // namespace pto::ir
