// Runs a function of a module on tensors written out by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/eval/frame.h"
#include "tests/unit/ir/samples.h"

namespace pto::eval::test {

using ir::Function;
using ir::FunctionKind;
using ir::Module;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::ParamMode;
using ir::ScalarSide;
using ir::Type;
using ir::ValueId;
using ir::samples::Builder;

inline Tensor tensor(DType dtype, std::vector<int64_t> dims, std::vector<double> data) {
  return {dtype, std::move(dims), std::move(data), {}};
}

struct Run {
  Status status;
  std::vector<Tensor> tensors;  // as given, after the run
};

inline Run run(const Module& module, const std::string& name, std::vector<int64_t> dims, std::vector<Tensor> tensors,
               std::vector<double> scalars = {}, Precision precision = Precision::Exact) {
  Run out{{}, std::move(tensors)};
  Arguments arguments;
  arguments.dims = std::move(dims);
  arguments.scalars = std::move(scalars);
  for (Tensor& each : out.tensors) {
    arguments.tensors.push_back(&each);
  }
  Options options;
  options.precision = precision;
  out.status = evaluate(module, *module.find(name), arguments, options);
  return out;
}

inline Module module_of(Builder builder) {
  Module module;
  module.functions.push_back(std::move(builder.f));
  return module;
}

}  // namespace pto::eval::test
