#include "src/eval/program_eval.h"

#include <memory>
#include <vector>

namespace pto::eval {

namespace {

using ir::Op;
using ir::OpKind;

constexpr int64_t kMaxBlocks = 1024;

class ProgramEval : public Frame {
 public:
  using Frame::Frame;

  bool run() {
    if (!bind()) {
      return false;
    }
    tensors_.assign(function_.values.size(), nullptr);
    size_t next = 0;
    for (const ir::Param& param : function_.params) {
      if (param.is_tensor()) {
        tensors_.at(param.value.index()) = arguments_.tensors[next++];
      }
    }
    for (ir::OpId id : function_.body_region().ops) {
      const Op& op = function_.ops[id];
      const bool ok = op.kind == OpKind::Buffer ? buffer(op)
                      : op.kind == OpKind::Task ? task(op)
                                                : fault(op.span(), spelling(op.kind) + " can't stand in a program");
      if (!ok) {
        return false;
      }
    }
    return true;
  }

 private:
  bool buffer(const Op& op) {
    const ir::Type& type = function_.type(op.results[0]);
    auto dims = shape(type.dims, op.span());
    if (!dims || !hold(element_count(*dims), op.span())) {
      return false;
    }
    buffers_.push_back(std::make_unique<Tensor>(unwritten_tensor(type.dtype, std::move(*dims))));
    tensors_.at(op.results[0].index()) = buffers_.back().get();
    return true;
  }

  bool task(const Op& op) {
    const ir::Function* callee = session_.module.find(op.callee);
    if (callee == nullptr) {
      return fault(op.span(), "there is no `" + op.callee + "`");
    }
    Arguments arguments;
    std::vector<const Tensor*> shapes;
    for (ir::ValueId operand : op.operands) {
      Tensor* tensor = tensors_.at(operand.index());
      if (tensor == nullptr) {
        return fault(op.span(), name_of(operand) + " has no value");
      }
      arguments.tensors.push_back(tensor);
      shapes.push_back(tensor);
    }
    for (ExprId expr : op.task_dims) {
      const auto value = integer(expr, op.span());
      if (!value) {
        return false;
      }
      arguments.dims.push_back(*value);
    }
    if (op.task_dims.empty()) {
      arguments.dims = solve_dims(*callee, shapes).value_or(std::vector<int64_t>());
    }
    if (!scalars(op, *callee, arguments)) {
      return false;
    }
    if (op.blocks.valid()) {
      const auto blocks = integer(op.blocks, op.span());
      if (!blocks) {
        return false;
      }
      arguments.block_count = *blocks;
    }
    if (arguments.block_count < 1 || arguments.block_count > kMaxBlocks) {
      return fault(op.span(), "task `" + op.name + "` has " + std::to_string(arguments.block_count) + " blocks");
    }
    for (; arguments.block_index < arguments.block_count; ++arguments.block_index) {
      if (!evaluate(session_, *callee, arguments)) {
        return false;
      }
    }
    return true;
  }

  bool scalars(const Op& op, const ir::Function& callee, Arguments& arguments) {
    size_t next = 0;
    for (const ir::Param& param : callee.params) {
      if (param.is_tensor() || next == op.exprs.size()) {
        continue;
      }
      const auto value = scalar(op.exprs[next++], param.dtype, op.span());
      if (!value) {
        return false;
      }
      arguments.scalars.push_back(*value);
    }
    return true;
  }

  std::vector<Tensor*> tensors_;  // by value
  std::vector<std::unique_ptr<Tensor>> buffers_;
};

}  // namespace

bool run_program(Session& session, const ir::Function& program, const Arguments& arguments) {
  return ProgramEval(session, program, arguments).run();
}

}  // namespace pto::eval
