// Rings, and pairs of cores: what a pair says must agree with what its cores are.
#include <algorithm>

#include "src/frontend/lower.h"

namespace pto::frontend {
namespace {

std::string share(const ir::Param& param) {
  switch (param.mode) {
    case ir::ParamMode::In:
      return "only reads it";
    case ir::ParamMode::Out:
      return "only writes it";
    case ir::ParamMode::InOut:
      break;
  }
  return "reads and writes it";
}

std::string describe(const FunctionInfo& info) {
  switch (info.function.kind) {
    case ir::FunctionKind::Core:
      return "a " + std::string(spelling(info.function.core_kind)) + " core";
    case ir::FunctionKind::Pair:
      return "a pair";
    case ir::FunctionKind::Kernel:
      return "a kernel";
    case ir::FunctionKind::Program:
      return "a program";
    default:
      return "a graph";
  }
}

}  // namespace

void Lower::ring_statement(const ast::Stmt& stmt) {
  const ast::Name& name = stmt.names[0];
  const ast::Type& type = stmt.types[0];
  auto poison = [&] { declare(name, poisoned()); };
  if (body_started_ || region_ != fn().body) {
    error(DiagId::WrongPlace, stmt.span, {"`ring`", "behind other statements"});
    return poison();
  }
  const auto direction = isa::ring_direction_from_spelling(stmt.direction.text);
  if (!direction) {
    error(DiagId::UnknownValue, stmt.direction.span, {stmt.direction.text, "direction of a ring", "`c2v` and `v2c`"});
    return poison();
  }
  if (!type.is_tile || type.valid_rows.valid() || !type.space.empty() || !type.layout.empty() || type.strides.valid()) {
    error(DiagId::WrongType, type.span, {"`ring`", "a tile type like `tile f32[128, 256]`", "something else"});
    return poison();
  }
  const auto element = dtype(type.dtype);
  const auto rows = constant(type.dims[0], "a tile's number of rows");
  const auto cols = constant(type.dims[1], "a tile's number of columns");
  const auto slots = stmt.slots.valid() ? constant(stmt.slots, "a number of slots") : std::optional<int64_t>(1);
  const auto split = stmt.split.empty() ? std::optional(isa::Split::None) : isa::split_from_spelling(stmt.split.text);
  if (!split) {
    error(DiagId::UnknownValue, stmt.split.span, {stmt.split.text, "way to split", "`rows`, `cols` and `none`"});
  }
  ir::Type size;
  if (!element || !rows || !cols || !slots || !split) {
    return poison();
  }
  size.dtype = *element;
  size.rows = *rows;
  size.cols = *cols;
  if (!check_tile_size(size, type.span)) {
    return poison();
  }
  const isa::Ring ring{name.text, *direction, *element, *rows, *cols, *slots, *split};
  std::optional<std::string> problem;
  if (fn().rings.size() >= isa::kMaxRings) {
    problem = "a core has at most " + std::to_string(isa::kMaxRings) + " rings";
  } else if (module_.options.target != nullptr) {
    problem = isa::check_ring(ring, *module_.options.target);
  } else if (*slots > isa::kMaxRingSlots || (*split == isa::Split::Rows && *rows % 2 != 0) ||
             (*split == isa::Split::Cols && *cols % 2 != 0)) {
    problem = "ring `" + name.text + "` has too many slots or a tile without halves";
  }
  if (problem) {
    error(DiagId::RingInvalid, stmt.span, {*problem});
    return poison();
  }
  // Both cores name it alike, whatever parameters they have, so it must not need another name in one of them.
  if (const Binding* other = lookup(name.text); other != nullptr && other->depth < scopes_.size()) {
    error(DiagId::DuplicateName, name.span, {name.text}).note(other->span, "declared here");
    return;
  }
  Binding binding;
  binding.kind = Binding::Kind::Ring;
  binding.index = static_cast<uint32_t>(fn().rings.size());
  fn().rings.push_back(ring);
  fn().ring_spans.push_back(stmt.span);
  declare(name, binding);
}

bool Lower::ring_operand(const ast::Expr& expr, isa::Operand& out) {
  if (expr.kind != ast::ExprKind::Name) {
    error(DiagId::WrongType, expr.span, {"this operand", "a ring", "an expression"});
    return false;
  }
  const Binding* binding = lookup(expr.text);
  if (binding == nullptr) {
    std::vector<std::string> names;
    for (const isa::Ring& ring : fn().rings) {
      names.push_back(ring.name);
    }
    unknown(DiagId::UnknownName, expr.span, expr.text, std::move(names));
    return false;
  }
  if (binding->kind == Binding::Kind::Poison) {
    return false;
  }
  if (binding->kind != Binding::Kind::Ring) {
    error(DiagId::WrongType, expr.span, {"this operand", "a ring", "`" + expr.text + "`, which is none"})
        .note(binding->span, "declared here");
    return false;
  }
  out.ring = isa::RingId(binding->index);
  return true;
}

// The core of a kind that the pair names; nullptr: there is none, reported, or it has errors of its own.
FunctionInfo* Lower::pair_member(CoreKind kind) {
  const std::string word(spelling(kind));
  const ast::PairMember* member = nullptr;
  for (const ast::PairMember& each : info_.item->members) {
    if (each.kind.text != word) {
      continue;
    }
    if (member != nullptr) {
      error(DiagId::DuplicateName, each.kind.span, {word}).note(member->kind.span, "declared here");
      return nullptr;
    }
    member = &each;
  }
  if (member == nullptr) {
    error(DiagId::PairInvalid, fn().span, {fn().name, "it names no " + word + " core"});
    return nullptr;
  }
  const auto found = module_.function_names.find(member->core.text);
  if (found == module_.function_names.end()) {
    std::vector<std::string> cores;
    for (const auto& [name, info] : module_.function_names) {
      if (info->function.kind == ir::FunctionKind::Core && info->function.core_kind == kind) {
        cores.push_back(name);
      }
    }
    unknown(DiagId::UnknownName, member->core.span, member->core.text, std::move(cores));
    return nullptr;
  }
  FunctionInfo& info = *found->second;
  if (info.function.kind != ir::FunctionKind::Core || info.function.core_kind != kind) {
    error(DiagId::PairInvalid, member->core.span,
          {fn().name, "`" + member->core.text + "` is " + describe(info) + ", not a " + word + " core"})
        .note(info.item->name.span, "declared here");
    return nullptr;
  }
  return info.ok ? &info : nullptr;
}

// Every dim and parameter of the core is one of the pair's, by name.
bool Lower::pair_interface(FunctionInfo& core) {
  const ir::Function& half = core.function;
  CallArguments known;  // the core's symbols in the pair's expressions
  bool ok = true;
  auto wrong = [&](Span span, const std::string& what) {
    error(DiagId::PairInvalid, fn().span, {fn().name, what}).note(span, "declared here");
    ok = false;
  };
  for (const SymId dim : half.dims) {
    const std::string& name = half.symbols[dim.index()].name;
    const auto own = info_.dims.find(name);
    if (own == info_.dims.end()) {
      wrong(half.span, "dim `" + name + "` of `" + half.name + "` is none of its dims");
    } else if (fn().exprs[own->second].op != ExprOp::Sym) {
      wrong(half.span, "dim `" + name + "` is static, but in `" + half.name + "` it is dynamic");
    } else {
      known.symbols[dim.index()] = own->second;
    }
  }
  std::vector<std::pair<const ir::Param*, const ir::Param*>> tensors;  // of the core, of the pair
  for (const ir::Param& param : half.params) {
    const auto own = std::find_if(fn().params.begin(), fn().params.end(),
                                  [&](const ir::Param& each) { return each.name == param.name; });
    if (own == fn().params.end()) {
      wrong(param.span, "`" + param.name + "` of `" + half.name + "` is none of its parameters");
    } else if (own->is_tensor() != param.is_tensor() || own->dtype != param.dtype) {
      wrong(param.span, "`" + param.name + "` has another type in `" + half.name + "`");
    } else if (param.is_tensor()) {
      tensors.emplace_back(&param, &*own);
    } else {
      known.symbols[param.sym.index()] = fn().exprs.symbol(own->sym);
    }
  }
  for (const auto& [param, own] : tensors) {
    bool same = own->type.dtype == param->type.dtype && own->type.dims.size() == param->type.dims.size();
    for (size_t i = 0; same && i < param->type.dims.size(); ++i) {
      const auto dim = substitute(core, known, param->type.dims[i]);
      same = !dim || same_expr(fn().exprs, *dim, own->type.dims[i]);
    }
    if (!same) {
      wrong(param->span, "`" + param->name + "` has another type in `" + half.name + "`");
    } else if (own->mode != param->mode && own->mode != ir::ParamMode::InOut) {
      wrong(param->span, "`" + param->name + "` is declared " +
                             (own->mode == ir::ParamMode::In ? "as an input" : "as a result") + ", but `" + half.name +
                             "` " + share(*param));
    }
  }
  return ok;
}

void Lower::pair_rings(const FunctionInfo& cube, const FunctionInfo& vec) {
  const ir::Function& left = cube.function;
  const ir::Function& right = vec.function;
  for (const auto& [a, b] : {std::pair{&left, &right}, std::pair{&right, &left}}) {
    for (size_t i = 0; i < a->rings.size(); ++i) {
      const isa::Ring& ring = a->rings[i];
      const auto other =
          std::find_if(b->rings.begin(), b->rings.end(), [&](const isa::Ring& each) { return each.name == ring.name; });
      if (other == b->rings.end()) {
        error(DiagId::PairInvalid, fn().span,
              {fn().name, "`" + b->name + "` does not declare ring `" + ring.name + "`"})
            .note(a->ring_spans[i], "declared here");
        return;
      }
      const auto place = static_cast<size_t>(other - b->rings.begin());
      if (ring != *other || place != i) {
        const std::string how = ring != *other ? "declared differently" : "declared in another order";
        error(DiagId::PairInvalid, fn().span, {fn().name, "ring `" + ring.name + "` is " + how + " in its cores"})
            .note(a->ring_spans[i], "declared here")
            .note(b->ring_spans[place], "and here");
        return;
      }
      if (fn().lanes == 1 && ring.split != isa::Split::None) {
        error(DiagId::PairInvalid, fn().span, {fn().name, "it has one lane, but ring `" + ring.name + "` is split"})
            .note(a->ring_spans[i], "declared here");
        return;
      }
    }
  }
}

void Lower::pair() {
  if (fn().kind != ir::FunctionKind::Pair || !info_.ok) {
    return;
  }
  for (const ast::PairMember& member : info_.item->members) {
    if (member.kind.text != "cube" && member.kind.text != "vec") {
      error(DiagId::UnknownValue, member.kind.span, {member.kind.text, "kind of core", "`vec` and `cube`"});
      return;
    }
  }
  if (info_.item->lanes.valid()) {
    const auto lanes = constant(info_.item->lanes, "a number of lanes");
    if (lanes && *lanes > 2) {
      error(DiagId::PairInvalid, at(info_.item->lanes).span, {fn().name, "a cluster has one or two lanes"});
    }
    fn().lanes = lanes.value_or(2);
  }
  FunctionInfo* cube = pair_member(CoreKind::Cube);
  FunctionInfo* vec = pair_member(CoreKind::Vec);
  if (cube == nullptr || vec == nullptr) {
    return;
  }
  fn().pair_cube = cube->function.name;
  fn().pair_vec = vec->function.name;
  const bool interfaces = pair_interface(*cube) & pair_interface(*vec);
  if (interfaces && cube->body_ok && vec->body_ok) {
    pair_rings(*cube, *vec);
  }
}

}  // namespace pto::frontend
