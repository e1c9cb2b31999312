// Selection, branches: both sides of an `if` write a result into one buffer. A tile that one side only passes through
// is changed in place where nobody else needs it afterwards, else copied.
#include <algorithm>

#include "src/passes/block/selector.h"

namespace pto::passes {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

std::array<ir::RegionId, 2> Selector::add_branch(ExprId condition, const std::vector<Span>& spans) {
  Op branch;
  branch.kind = OpKind::If;
  branch.exprs = {condition};
  branch.spans = spans;
  const std::array<ir::RegionId, 2> regions = {core_.add_region(), core_.add_region()};
  branch.regions = {regions[0], regions[1]};
  core_.add_op(region_, std::move(branch));
  return regions;
}

// The buffer that holds the branch's i-th result; nullopt after an error.
std::optional<Selector::TileRef> Selector::branch_result(OpId id, size_t i) {
  const Op& op = kernel_.ops[id];
  const ValueId result = op.results[i];
  const ir::RegionId around = region_of(kernel_, id);
  for (ir::RegionId region : op.regions) {
    const ValueId yielded = kernel_.ops[kernel_.regions[region].ops.back()].operands[i];
    const auto known = tiles_.find(yielded);  // known here: it comes from outside
    if (known == tiles_.end()) {
      continue;
    }
    if (starts_.count(yielded) != 0) {
      unsupported(op, "an accumulator must have a value before a branch may change it");
      return std::nullopt;
    }
    const ir::Region& outer = kernel_.regions[around];
    const OpId def = kernel_.values[yielded].def;
    const bool of_this_region = def.valid()
                                    ? std::find(outer.ops.begin(), outer.ops.end(), def) != outer.ops.end()
                                    : std::find(outer.args.begin(), outer.args.end(), yielded) != outer.args.end();
    const bool accumulator = kernel_.type(result).space == Space::Acc;
    if ((of_this_region && !used_after(around, id, yielded) && ring_buffers_.count(known->second.buffer) == 0) ||
        accumulator) {
      return known->second;
    }
  }
  const auto directed = directed_.find(result);
  return directed != directed_.end() ? directed->second
                                     : new_buffer(describe(result), kernel_.values[result].name, op.spans);
}

bool Selector::branch(OpId id) {
  const Op& op = kernel_.ops[id];
  const ir::RegionId outside = region_;
  std::vector<std::optional<TileRef>> results(op.results.size());
  for (size_t i = 0; i < op.results.size(); ++i) {
    if (!mine(op.results[i])) {
      continue;
    }
    results[i] = branch_result(id, i);
    if (!results[i]) {
      return false;
    }
    for (ir::RegionId region : op.regions) {
      const auto& ops = kernel_.regions[region].ops;
      const ValueId yielded = kernel_.ops[ops.back()].operands[i];
      const OpId def = kernel_.values[yielded].def;
      const bool inside = def.valid() && std::find(ops.begin(), ops.end(), def) != ops.end();
      // Written in place only when the branch doesn't read what is there later on.
      bool read_later = false;
      for (const auto& [value, ref] : tiles_) {
        read_later = read_later ||
                     (ref.buffer == results[i]->buffer && inside && used_after(region, def, value) && value != yielded);
      }
      if (inside && !read_later) {
        directed_.emplace(yielded, *results[i]);
      }
    }
  }
  const auto sides = add_branch(expr(op.exprs[0]), op.spans);
  bool ok = true;
  for (size_t side = 0; side < 2 && ok; ++side) {
    region_ = sides[side];
    ok = region(op.regions[side]);
    std::vector<Copy> copies;
    for (size_t i = 0; ok && i < results.size(); ++i) {
      if (results[i]) {
        const ValueId yielded = kernel_.ops[kernel_.regions[op.regions[side]].ops.back()].operands[i];
        copies.push_back({*results[i], use(yielded), yielded});
      }
    }
    copy_together(op, std::move(copies));
  }
  region_ = outside;
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) {
      tiles_[op.results[i]] = *results[i];
    }
  }
  return ok;
}

}  // namespace pto::passes
