// The verifier: for every rule an object that breaks it, and nothing else.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "pto/diagnostics.h"
#include "tests/unit/object/sample.h"

namespace pto::object {
namespace {

using Change = std::function<void(Object&)>;

struct Case {
  const char* name;
  Change change;
  const char* message;  // a part of the one that is expected
};

// Shorthand for the parts of the sample.
Core& scale(Object& o) {
  return o.cores[0];
}
Core& mul(Object& o) {
  return o.cores[1];
}
Program& both(Object& o) {
  return o.programs[0];
}
isa::Inst& inst(Object& o, isa::Opcode opcode, size_t core = 0) {
  for (Stmt& stmt : o.cores[core].code) {
    if (stmt.kind == StmtKind::Inst && stmt.inst.opcode == opcode) {
      return stmt.inst;
    }
  }
  FAIL("the sample has no such instruction");
  return o.cores[core].code[0].inst;
}
using isa::Opcode;

Stmt marker(StmtKind kind) {
  Stmt stmt;
  stmt.kind = kind;
  return stmt;
}

const Case kCases[] = {
    // The object.
    {"version", [](Object& o) { o.version = 7; }, "its version is not one of this program's"},
    {"target name", [](Object& o) { o.target.clear(); }, "it has no valid target name"},
    {"target text", [](Object& o) { o.target = "\xFF"; }, "its target name is not valid text"},
    {"source file name", [](Object& o) { o.source_files[1] = std::string("a\0b", 3); },
     "a source file's name is not valid"},
    {"core names twice", [](Object& o) { mul(o).name = "scale"; }, "core `scale` is there twice"},
    {"program names twice", [](Object& o) { o.programs.push_back(both(o)); }, "program `both` is there twice"},
    {"core name", [](Object& o) { mul(o).name = "a-b"; }, "a core has a name that is no identifier"},
    {"program name", [](Object& o) { both(o).name = ""; }, "a program has a name that is no identifier"},
    {"core comment", [](Object& o) { scale(o).doc = "\xC0"; }, "core `scale`: its comment is not valid text"},
    {"core kind", [](Object& o) { scale(o).kind = static_cast<CoreKind>(5); }, "no known kind"},
    // Expressions and symbols.
    {"symbol of an expression", [](Object& o) { scale(o).exprs.symbol(SymId(99)); },
     "core `scale`: an expression names a symbol that doesn't exist"},
    {"symbol name", [](Object& o) { scale(o).symbols[2].name = "1x"; }, "a symbol has a name that is no identifier"},
    {"symbol kind",
     [](Object& o) {
       both(o).symbols.push_back({"k", SymKind::Loop, DType::I64});
     },
     "program `both`: symbol `k` has a kind that is not allowed here"},
    {"dim without owner",
     [](Object& o) {
       scale(o).symbols.push_back({"K", SymKind::Dim, DType::I64});
     },
     "symbol `K` must belong to one dim or parameter"},
    {"dim twice", [](Object& o) { scale(o).dims.push_back(SymId(0)); }, "symbol `M` must belong to one"},
    {"dim of another kind", [](Object& o) { scale(o).dims.push_back(SymId(2)); }, "a dim is no symbol of that kind"},
    {"dim that doesn't exist", [](Object& o) { scale(o).dims.push_back(SymId(99)); },
     "a dim is no symbol of that kind"},
    {"loop variable's type", [](Object& o) { scale(o).symbols[2].dtype = DType::I32; }, "symbol `i` has a wrong type"},
    {"scalar's symbol", [](Object& o) { scale(o).params[1].sym = SymId(0); },
     "a scalar parameter has no symbol of its type"},
    {"scalar's type", [](Object& o) { scale(o).params[1].dtype = DType::F16; },
     "a scalar parameter has no symbol of its type"},
    // Parameters and views.
    {"parameter name", [](Object& o) { scale(o).params[0].name = "x y"; },
     "a parameter has a name that is no identifier"},
    {"parameter twice", [](Object& o) { scale(o).params[2].name = "x"; }, "parameter `x` is there twice"},
    {"parameter type", [](Object& o) { scale(o).params[0].dtype = DType::None; },
     "parameter `x` has a wrong type or mode"},
    {"parameter mode", [](Object& o) { scale(o).params[0].mode = static_cast<ParamMode>(3); },
     "parameter `x` has a wrong type or mode"},
    {"scalar that is written", [](Object& o) { scale(o).params[1].mode = ParamMode::Out; },
     "is a scalar and can only be read"},
    {"rank 0", [](Object& o) { both(o).params[0].dims.clear(); }, "parameter `x` must have rank 1 to 5"},
    {"rank 6", [](Object& o) { scale(o).params[0].dims.resize(6, ExprId(0)); }, "parameter `x` must have rank 1 to 5"},
    {"shape over a loop variable", [](Object& o) { scale(o).params[0].dims[0] = scale(o).exprs.symbol(SymId(2)); },
     "a dim of parameter `x` may only use dims"},
    {"shape over a block", [](Object& o) { scale(o).params[0].dims[0] = scale(o).exprs.leaf(ExprOp::BlockCount); },
     "a dim of parameter `x` may only use dims"},
    {"shape that doesn't exist", [](Object& o) { scale(o).params[0].dims[0] = ExprId(9999); },
     "a dim of parameter `x` is an expression that doesn't exist"},
    {"shape that is missing", [](Object& o) { scale(o).params[0].dims[0] = ExprId(); },
     "a dim of parameter `x` is missing"},
    {"float shape", [](Object& o) { scale(o).params[0].dims[0] = scale(o).exprs.real(2); },
     "a dim of parameter `x` must be an integer"},
    {"default of a core", [](Object& o) { scale(o).params[1].default_value = 1; },
     "parameter `s` can't have a default"},
    {"default of a tensor", [](Object& o) { both(o).params[0].default_value = 1; },
     "parameter `x` can't have a default"},
    {"parameter comment", [](Object& o) { scale(o).params[0].doc = "\xFF"; },
     "a parameter's comment is not valid text"},
    {"view of itself", [](Object& o) { scale(o).views[0].base = isa::TensorId(2); },
     "view `yf` is of no earlier tensor"},
    {"view name", [](Object& o) { scale(o).views[0].name = ""; }, "a view has a name that is no identifier"},
    {"view rank", [](Object& o) { scale(o).views[0].dims.clear(); }, "view `yf` must have rank 1 to 5"},
    // Buffers.
    {"buffer name", [](Object& o) { scale(o).buffers[0].name = "."; }, "a buffer has a name that is no identifier"},
    {"buffer type", [](Object& o) { scale(o).buffers[1].tile.dtype = DType::None; }, "no valid type, layout or memory"},
    {"buffer layout", [](Object& o) { scale(o).buffers[1].tile.layout = Layout::None; },
     "no valid type, layout or memory"},
    {"buffer memory", [](Object& o) { scale(o).buffers[1].tile.space = Space::Gm; }, "no valid type, layout or memory"},
    {"buffer shape", [](Object& o) { scale(o).buffers[1].tile.rows = 0; }, "buffer `u` has no valid shape"},
    {"buffer overflow", [](Object& o) { scale(o).buffers[1].tile.rows = int64_t{1} << 62; },
     "buffer `u` has no valid shape"},
    {"buffer not placed", [](Object& o) { scale(o).buffers[1].address = -1; }, "buffer `u` has no valid address"},
    {"no slots", [](Object& o) { scale(o).buffers[0].slots = 0; }, "buffer `t` has no valid slots"},
    {"slots that overlap", [](Object& o) { scale(o).buffers[0].slot_stride = 4064; }, "buffer `t` has no valid slots"},
    {"stride of one slot", [](Object& o) { scale(o).buffers[1].slot_stride = 4096; }, "buffer `u` has no valid slots"},
    // Code.
    {"loop without end", [](Object& o) { scale(o).code.pop_back(); }, "core `scale`: a loop or branch has no end"},
    {"end without loop", [](Object& o) { mul(o).code.push_back(marker(StmtKind::EndFor)); },
     "the end of a loop or branch that did not begin"},
    {"else without if", [](Object& o) { mul(o).code.push_back(marker(StmtKind::Else)); },
     "the end of a loop or branch that did not begin"},
    {"loop that ends as a branch", [](Object& o) { scale(o).code.back().kind = StmtKind::EndIf; },
     "the end of a loop or branch that did not begin"},
    {"two elses",
     [](Object& o) {
       for (Stmt& stmt : scale(o).code) {
         if (stmt.kind == StmtKind::EndIf) {
           stmt.kind = StmtKind::Else;
           break;
         }
       }
     },
     "the end of a loop or branch that did not begin"},
    {"loops too deep",
     [](Object& o) {
       Stmt open = marker(StmtKind::If);
       open.value = ExprId(0);
       mul(o).code.insert(mul(o).code.begin(), 65, open);
       mul(o).code.insert(mul(o).code.end(), 65, marker(StmtKind::EndIf));
     },
     "loops and branches nest too deep"},
    {"loop without variable", [](Object& o) { scale(o).code[0].sym = SymId(0); }, "the loop has no loop variable"},
    {"let without name", [](Object& o) { scale(o).code[1].sym = SymId(); }, "the `let` has no name"},
    {"let twice",
     [](Object& o) {
       const Stmt again = scale(o).code[1];
       scale(o).code.insert(scale(o).code.begin() + 2, again);
     },
     "`b` has a value already"},
    {"let before use", [](Object& o) { std::swap(scale(o).code[1], scale(o).code[3]); },
     "uses a loop variable or `let` outside its scope"},
    {"loop variable after its loop",
     [](Object& o) {
       Stmt late = scale(o).code[4];
       late.inst.operands[2].a = scale(o).exprs.symbol(SymId(2));
       scale(o).code.push_back(late);
     },
     "the event uses a loop variable or `let` outside its scope"},
    {"loop bound over its variable", [](Object& o) { scale(o).code[0].hi = scale(o).exprs.symbol(SymId(2)); },
     "the loop's end uses a loop variable or `let` outside its scope"},
    {"let over itself", [](Object& o) { scale(o).code[1].value = scale(o).exprs.symbol(SymId(3)); },
     "the value uses a loop variable or `let` outside its scope"},
    {"step that is not positive", [](Object& o) { scale(o).code[0].step = scale(o).exprs.integer(0); },
     "the loop's step must be positive"},
    {"loop start missing", [](Object& o) { scale(o).code[0].lo = ExprId(); }, "the loop's start is missing"},
    {"float let of an integer", [](Object& o) { scale(o).code[1].value = scale(o).exprs.real(1); },
     "the value must be an integer"},
    {"integer let of a float", [](Object& o) { scale(o).code[2].value = scale(o).exprs.symbol(SymId(0)); },
     "the value must be a float"},
    {"mixed expression",
     [](Object& o) {
       ExprNode sum;
       sum.op = ExprOp::Mod;
       sum.a = scale(o).exprs.symbol(SymId(0));
       sum.b = scale(o).exprs.symbol(SymId(1));
       scale(o).code[2].value = scale(o).exprs.append_raw(sum);
     },
     "the value mixes integers with floats"},
    {"endless expression",
     [](Object& o) {
       ExprId sum = scale(o).exprs.symbol(SymId(0));
       for (int i = 0; i < 40; ++i) {
         sum = scale(o).exprs.add(sum, sum);
       }
       scale(o).code[0].hi = sum;
     },
     "the loop's end is too large an expression"},
    {"condition",
     [](Object& o) {
       for (Stmt& stmt : scale(o).code) {
         if (stmt.kind == StmtKind::If) {
           stmt.value = scale(o).exprs.symbol(SymId(1));
         }
       }
     },
     "the condition must be an integer"},
    {"statement kind", [](Object& o) { mul(o).code[0].kind = static_cast<StmtKind>(77); },
     "a statement of no known kind"},
    // Instructions.
    {"opcode", [](Object& o) { mul(o).code[0].inst.opcode = static_cast<Opcode>(9999); }, "no known instruction"},
    {"too few operands", [](Object& o) { inst(o, Opcode::TMuls).operands.pop_back(); },
     "`tmuls` has other operands than its format"},
    {"operands of another kind", [](Object& o) { inst(o, Opcode::TMuls).operands[0].kind = isa::OperandKind::TileIn; },
     "`tmuls` has other operands than its format"},
    {"buffer of an operand", [](Object& o) { inst(o, Opcode::TMuls).operands[1].buffer = isa::BufferId(2); },
     "an operand is a buffer that doesn't exist"},
    {"slot", [](Object& o) { inst(o, Opcode::TMuls).operands[1].slot = scale(o).exprs.integer(2); },
     "`t` has no slot 2"},
    {"slot of a buffer without", [](Object& o) { inst(o, Opcode::TMuls).operands[0].slot = scale(o).exprs.integer(1); },
     "`u` has no slot 1"},
    {"negative slot", [](Object& o) { inst(o, Opcode::TMuls).operands[1].slot = scale(o).exprs.integer(-1); },
     "`t` has no slot -1"},
    {"float slot", [](Object& o) { inst(o, Opcode::TMuls).operands[1].slot = scale(o).exprs.symbol(SymId(1)); },
     "a slot must be an integer"},
    {"scalar of the wrong kind",
     [](Object& o) { inst(o, Opcode::TMuls).operands[2].a = scale(o).exprs.symbol(SymId(2)); },
     "the scalar must be a float"},
    {"scalar missing", [](Object& o) { inst(o, Opcode::TMuls).operands[2].a = ExprId(); }, "the scalar is missing"},
    {"tensor of an operand", [](Object& o) { inst(o, Opcode::TLoad).operands[1].tensor = isa::TensorId(3); },
     "an operand is a tensor that doesn't exist"},
    {"offsets", [](Object& o) { inst(o, Opcode::TLoad).operands[1].offsets.pop_back(); },
     "`x` needs one offset a dimension"},
    {"float offset", [](Object& o) { inst(o, Opcode::TLoad).operands[1].offsets[0] = scale(o).exprs.real(0); },
     "an offset of `x` must be an integer"},
    {"store to an input", [](Object& o) { inst(o, Opcode::TStore).operands[0].tensor = isa::TensorId(0); },
     "`x` can only be read"},
    {"load of an output", [](Object& o) { inst(o, Opcode::TLoad).operands[1].tensor = isa::TensorId(1); },
     "`y` can only be written"},
    {"half a valid region", [](Object& o) { inst(o, Opcode::TLoad).operands[2].b = ExprId(); },
     "the valid region's columns is missing"},
    {"index", [](Object& o) { inst(o, Opcode::TExtract, 1).operands[2].a = ExprId(); }, "an index is missing"},
    {"event", [](Object& o) { inst(o, Opcode::SetFlag).operands[2].a = scale(o).exprs.real(0); },
     "the event must be an integer"},
    {"pipe", [](Object& o) { inst(o, Opcode::SetFlag).operands[0].attribute = 8; },
     "an operand has a value that its kind doesn't have"},
    {"flag of all pipes",
     [](Object& o) { inst(o, Opcode::SetFlag).operands[1].attribute = static_cast<uint8_t>(isa::Pipe::All); },
     "an operand has a value that its kind doesn't have"},
    // Programs.
    {"constraint", [](Object& o) { both(o).constraints[0].condition = ExprId(); }, "a constraint is missing"},
    {"constraint's text", [](Object& o) { both(o).constraints[0].text = "\xFF"; },
     "a constraint's text is not valid text"},
    {"constraint over a block",
     [](Object& o) { both(o).constraints[0].condition = both(o).exprs.leaf(ExprOp::BlockIndex); },
     "a constraint may only use dims and scalars"},
    {"work buffer's type", [](Object& o) { both(o).buffers[0].dtype = DType::None; }, "buffer `h` has a wrong type"},
    {"work buffer's name", [](Object& o) { both(o).buffers[0].name = "h h"; },
     "a buffer has a name that is no identifier"},
    {"work buffer's offset", [](Object& o) { both(o).buffers[0].offset = ExprId(); },
     "the offset of buffer `h` is missing"},
    {"workspace", [](Object& o) { both(o).workspace_bytes = ExprId(); }, "the workspace's size is missing"},
    {"workspace over a scalar",
     [](Object& o) {
       both(o).symbols.push_back({"n", SymKind::Scalar, DType::I32});
       Param param;
       param.name = "n";
       param.dtype = DType::I32;
       param.is_tensor = false;
       param.sym = SymId(2);
       both(o).params.push_back(param);
       both(o).workspace_bytes = both(o).exprs.symbol(SymId(2));
     },
     "the workspace's size may only use dims"},
    {"task name", [](Object& o) { both(o).tasks[0].name = "0"; }, "a task has a name that is no identifier"},
    {"task core", [](Object& o) { both(o).tasks[0].core = 2; },
     "task `t0` (k.pto:30:5): it is of a core that doesn't exist"},
    {"task arguments", [](Object& o) { both(o).tasks[0].args.pop_back(); },
     "one argument a parameter and one value a dim of `scale`"},
    {"task dims", [](Object& o) { both(o).tasks[0].dims.clear(); },
     "one argument a parameter and one value a dim of `scale`"},
    {"task dim", [](Object& o) { both(o).tasks[0].dims[0] = both(o).exprs.symbol(SymId(1)); },
     "the value of a dim may only use dims"},
    {"scalar for a tensor", [](Object& o) { both(o).tasks[0].args[0].is_tensor = false; },
     "the argument for `x` must be a tensor"},
    {"tensor for a scalar", [](Object& o) { both(o).tasks[0].args[1].is_tensor = true; },
     "the argument for `s` must be a scalar"},
    {"integer for a float", [](Object& o) { both(o).tasks[0].args[1].scalar = both(o).exprs.symbol(SymId(0)); },
     "the argument for `s` must be a float"},
    {"tensor that doesn't exist", [](Object& o) { both(o).tasks[0].args[0].tensor = 5; },
     "the argument for `x` is a tensor that doesn't exist"},
    {"argument's type", [](Object& o) { both(o).tasks[0].args[0].tensor = 1; },
     "the argument for `x` has another element type or rank"},
    {"argument's rank", [](Object& o) { both(o).params[0].dims.pop_back(); },
     "the argument for `x` has another element type or rank"},
    {"argument that is read only", [](Object& o) { both(o).tasks[0].args[2].tensor = 0; },
     "the argument for `y` can only be read, but the core writes it"},
    {"blocks", [](Object& o) { both(o).tasks[1].blocks = ExprId(); }, "task `t1`: the number of blocks is missing"},
    {"task that waits for itself", [](Object& o) { both(o).tasks[1].after = {1}; }, "it must wait for earlier tasks"},
    {"tasks in no order",
     [](Object& o) {
       both(o).tasks[2].after = {1, 0};
     },
     "it must wait for earlier tasks, in ascending order"},
    {"task twice",
     [](Object& o) {
       both(o).tasks[2].after = {0, 0};
     },
     "it must wait for earlier tasks, in ascending order"},
    // The machine.
    {"alignment", [](Object& o) { scale(o).buffers[1].address = 8193; }, "core `scale`: buffer `u`: "},
    {"capacity", [](Object& o) { scale(o).buffers[1].address = 196608; }, "core `scale`: buffer `u`: "},
    {"memory of the other core", [](Object& o) { mul(o).kind = CoreKind::Vec; },
     "is in a memory of the other kind of core"},
    {"instruction's types", [](Object& o) { scale(o).buffers[1].tile.dtype = DType::I32; },
     "core `scale`, statement 6 (k.pto:8:5): "},
};

// Of the mixed sample. Shorthand: its cores, and its one task.
Core& top(Object& o) {
  return o.cores[0];
}
Core& bottom(Object& o) {
  return o.cores[1];
}
Task& task(Object& o) {
  return o.programs[0].tasks[0];
}
void both_rings(Object& o, const std::function<void(isa::Ring&)>& change) {
  change(top(o).rings[0]);
  change(bottom(o).rings[0]);
}

const Case kPairCases[] = {
    {"ring name", [](Object& o) { top(o).rings[0].name = "1"; }, "core `top`: a ring has a name that is no identifier"},
    {"rings of one name",
     [](Object& o) {
       top(o).rings.push_back(top(o).rings[0]);
       bottom(o).rings.push_back(bottom(o).rings[0]);
     },
     "core `top`: two rings `s`"},
    {"too many rings",
     [](Object& o) {
       for (size_t i = 0; i < isa::kMaxRings; ++i) {
         isa::Ring ring = top(o).rings[0];
         ring.name = "r" + std::to_string(i);
         top(o).rings.push_back(ring);
         bottom(o).rings.push_back(ring);
       }
     },
     "core `top`: it has more rings than a core can have"},
    {"ring rows", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.rows = 0; }); },
     "ring `s` has no valid type, shape or number of slots"},
    {"ring overflow", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.rows = int64_t{1} << 62; }); },
     "ring `s` has no valid type, shape or number of slots"},
    {"ring slots", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.slots = 17; }); },
     "ring `s` has no valid type, shape or number of slots"},
    {"no ring slots", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.slots = 0; }); },
     "ring `s` has no valid type, shape or number of slots"},
    {"ring type", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.dtype = DType::None; }); },
     "ring `s` has no valid type, shape or number of slots"},
    {"ring direction",
     [](Object& o) { both_rings(o, [](isa::Ring& r) { r.direction = static_cast<isa::RingDirection>(2); }); },
     "ring `s` has no valid type, shape or number of slots"},
    {"ring split", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.split = static_cast<isa::Split>(3); }); },
     "ring `s` has no valid type, shape or number of slots"},
    {"ring of an operand", [](Object& o) { inst(o, Opcode::TPush).operands[0].ring = isa::RingId(1); },
     "an operand is a ring that doesn't exist"},
    {"lane of a cube core", [](Object& o) { top(o).exprs.leaf(ExprOp::LaneIndex); },
     "core `top`: only vector cores have a lane"},
    {"pop's valid region", [](Object& o) { inst(o, Opcode::TPop, 1).operands[2].b = ExprId(); },
     "the valid region's columns is missing"},
    // Tasks.
    {"rings alone", [](Object& o) { task(o).vec.reset(); }, "a core with rings runs only together with another"},
    {"lanes' core", [](Object& o) { task(o).vec->core = 2; }, "its lanes run a core that doesn't exist"},
    {"two cube cores", [](Object& o) { task(o).vec->core = 0; }, "a pair is a cube core and one or two vector lanes"},
    {"no lanes", [](Object& o) { task(o).vec->lanes = 0; }, "a pair is a cube core and one or two vector lanes"},
    {"three lanes", [](Object& o) { task(o).vec->lanes = 3; }, "a pair is a cube core and one or two vector lanes"},
    {"one lane of a split ring", [](Object& o) { task(o).vec->lanes = 1; }, "one lane can't split a ring"},
    {"another ring", [](Object& o) { bottom(o).rings[0].slots = 3; }, "`top` and `bottom` have different rings"},
    {"another ring's name", [](Object& o) { bottom(o).rings[0].name = "t"; },
     "`top` and `bottom` have different rings"},
    {"a ring more",
     [](Object& o) {
       isa::Ring ring = top(o).rings[0];
       ring.name = "t";
       bottom(o).rings.push_back(ring);
     },
     "`top` and `bottom` have different rings"},
    {"rings in another order",
     [](Object& o) {
       isa::Ring second = top(o).rings[0];
       second.name = "t";
       top(o).rings.push_back(second);
       bottom(o).rings.insert(bottom(o).rings.begin(), second);
       inst(o, Opcode::TPop, 1).operands[1].ring = isa::RingId(1);
     },
     "`top` and `bottom` have different rings"},
    {"lanes' arguments", [](Object& o) { task(o).vec->args.clear(); },
     "one argument a parameter and one value a dim of `bottom`"},
    {"lanes' dims", [](Object& o) { task(o).vec->dims.clear(); },
     "one argument a parameter and one value a dim of `bottom`"},
    {"lanes' argument", [](Object& o) { task(o).vec->args[0].tensor = 0; },
     "the argument for `y` has another element type or rank"},
    {"lanes' dim", [](Object& o) { task(o).vec->dims[0] = o.programs[0].exprs.real(1); },
     "the value of a dim must be an integer"},
    // The machine.
    {"split of odd rows", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.rows = 63; }); }, "63 is odd"},
    {"half a byte", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.dtype = DType::I4; }); },
     "needs an element type of whole bytes"},
    {"share of the lane", [](Object& o) { both_rings(o, [](isa::Ring& r) { r.split = isa::Split::Cols; }); },
     "this side handles tiles of [64, 32]"},
};

Target a2a3() {
  DiagnosticSink sink;
  auto target = builtin_target("a2a3", sink);
  REQUIRE(target);
  return *target;
}

}  // namespace

namespace {

void check_refused(const Case& row, Object object, const Target& target) {
  CAPTURE(row.name);
  row.change(object);
  DiagnosticSink sink;
  CHECK_FALSE(verify(object, target, "x.ptobin", sink));
  const std::string text = render_text(sink, nullptr, {});
  CAPTURE(text);
  CHECK(text.starts_with("x.ptobin: error[E0505]: "));
  CHECK(text.find(row.message) != std::string::npos);
}

}  // namespace

TEST_CASE("the verifier has a case for every rule") {
  const Target target = a2a3();
  for (const Case& row : kCases) {
    check_refused(row, sample(), target);
  }
  for (const Case& row : kPairCases) {
    check_refused(row, mixed_sample(), target);
  }
}

TEST_CASE("what is wrong is wrong for the reader too") {
  // Those that have a file form, that is, all but values which the writer can't write and rules of the machine.
  const auto readable = [](const std::string& name) {
    return name != "version" && name != "statement kind" && name != "opcode" && name != "core kind" &&
           name != "parameter mode" && name != "alignment" && name != "capacity" &&
           name != "memory of the other core" && name != "instruction's types" && name != "operands of another kind" &&
           name != "pipe";
  };
  for (const Case& row : kCases) {
    if (!readable(row.name)) {
      continue;
    }
    CAPTURE(row.name);
    Object object = sample();
    row.change(object);
    DiagnosticSink sink;
    CHECK_FALSE(read(write(object), "x.ptobin", sink));
    CHECK(sink.has_errors());
  }
  const auto pair_readable = [](const std::string& name) {
    return name != "ring direction" && name != "ring split" && name != "split of odd rows" && name != "half a byte" &&
           name != "share of the lane";
  };
  for (const Case& row : kPairCases) {
    if (pair_readable(row.name)) {
      CAPTURE(row.name);
      Object object = mixed_sample();
      row.change(object);
      DiagnosticSink sink;
      CHECK_FALSE(read(write(object), "x.ptobin", sink));
      CHECK(sink.has_errors());
    }
  }
}

TEST_CASE("one object gives a bounded number of errors") {
  Object object = sample();
  const isa::Inst bad = inst(object, Opcode::TMuls);
  for (int i = 0; i < 1000; ++i) {
    Stmt stmt;
    stmt.inst = bad;
    stmt.inst.operands.pop_back();
    scale(object).code.push_back(stmt);
  }
  DiagnosticSink sink;
  CHECK_FALSE(verify(object, a2a3(), "x.ptobin", sink));
  CHECK(sink.error_count() == 20);
}

TEST_CASE("integer literals may stand for floats") {
  Object object = sample();
  inst(object, Opcode::TMuls).operands[2].a = scale(object).exprs.integer(2);
  DiagnosticSink sink;
  CHECK(verify(object, a2a3(), "x.ptobin", sink));
}

TEST_CASE("a comparison's scalar is of the type of its source") {
  Object object = sample();
  Core& core = scale(object);
  core.buffers.push_back({"mask", {DType::U8, 16, 32, Layout::ND, Space::Vec}, 16384, 1, 0});
  Stmt compare;
  compare.inst = {Opcode::TCmps, inst(object, Opcode::TMuls).operands};
  compare.inst.operands[0].buffer = isa::BufferId(2);
  compare.inst.operands.emplace_back();
  compare.inst.operands[3].kind = isa::OperandKind::Cmp;
  compare.inst.operands[3].attribute = static_cast<uint8_t>(isa::Cmp::Lt);
  core.code.insert(core.code.end() - 1, compare);
  DiagnosticSink sink;
  const bool ok = verify(object, a2a3(), "x.ptobin", sink);
  INFO(render_text(sink, nullptr, {}));
  CHECK(ok);
  core.code[core.code.size() - 2].inst.operands[2].a = core.exprs.symbol(SymId(0));
  CHECK_FALSE(verify(object, a2a3(), "x.ptobin", sink));
}

}  // namespace pto::object
