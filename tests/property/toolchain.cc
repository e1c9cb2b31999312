#include "tests/property/toolchain.h"

#include <algorithm>

#include "src/codegen/codegen.h"
#include "src/frontend/frontend.h"
#include "src/passes/pipeline.h"
#include "src/support/convert.h"

namespace pto::test {

namespace {

Target load(const char* name) {
  DiagnosticSink sink;
  return *builtin_target(name, sink);
}

std::vector<std::string> passes_up_to(std::optional<ir::Level> level, const std::string& last_pass) {
  std::vector<std::string> names = passes::default_pipeline();
  if (level) {
    names.erase(std::remove_if(names.begin(), names.end(),
                               [&](const std::string& name) { return passes::find_pass(name)->level > *level; }),
                names.end());
  }
  if (const auto at = std::find(names.begin(), names.end(), last_pass); at != names.end()) {
    names.erase(at + 1, names.end());
  }
  return names;
}

}  // namespace

const Target& target_named(const std::string& name) {
  static const Target kA2A3 = load("a2a3");
  static const Target kA5 = load("a5");
  return name == "a5" ? kA5 : kA2A3;
}

Compiled compile(const std::string& text, const Target& target, const Defines& defines, std::optional<ir::Level> level,
                 const std::string& last_pass, const passes::PassOptions& pass_options) {
  Compiled compiled;
  DiagnosticSink sink;
  SourceManager sources;
  const uint16_t file = sources.add("generated.pto", text);
  frontend::Options options;
  options.defines = defines;
  options.target = &target;
  auto module = frontend::compile_source(sources, file, options, sink);
  std::string internal;
  if (module) {
    passes::PassContext context{*module, target, sink, pass_options};
    passes::PipelineOptions pipeline;
    pipeline.passes = passes_up_to(level, last_pass);
    // Verifying after each pass is the business of the plain compilation.
    pipeline.verify_each = pass_options.reuse_memory && pass_options.elide_sync && pass_options.split_lanes &&
                           pass_options.pipeline == 0;
    pipeline.pass_limit = last_pass == kParse ? 0 : -1;
    const passes::PipelineReport report = run_pipeline(context, pipeline);
    internal = report.internal_error;
    compiled.ok = report.ok && internal.empty() && !sink.has_errors();
    if (compiled.ok && !level && last_pass.empty()) {
      auto object = codegen::emit(*module, target, nullptr, sink);
      compiled.ok = object.ok() && !sink.has_errors();
      if (compiled.ok) {
        compiled.object = std::move(*object);
        compiled.bytes = object::write(compiled.object, false);
      }
    }
    compiled.module = std::move(*module);
  }
  compiled.error = internal + render_text(sink, &sources, {});
  return compiled;
}

runtime::RunResult run(const Compiled& compiled, const Target& target, const runtime::Arguments& arguments,
                       const runtime::Options& options, std::string& error) {
  DiagnosticSink sink;
  runtime::RunResult result = runtime::run(compiled.object, compiled.object.programs.at(0), target, arguments, options,
                                           "generated", sink);
  error = render_text(sink, nullptr, {});
  return result;
}

std::map<std::string, std::vector<double>> expected(const std::string& text, const Target& target, const Defines& defines,
                                                    const std::string& entry, const runtime::Arguments& arguments,
                                                    const runtime::RunResult& shapes, std::string& error) {
  const Compiled source = compile(text, target, defines, std::nullopt, kParse);
  const ir::Function* function = source.module.find(entry);
  if (!source.ok || function == nullptr) {
    error = source.error;
    return {};
  }
  eval::Arguments values;
  for (SymId dim : function->dims) {
    values.dims.push_back(shapes.dims.at(function->symbols[dim.index()].name));
  }
  std::vector<eval::Tensor> tensors;
  tensors.reserve(function->params.size());
  std::vector<std::string> names;
  for (const ir::Param& param : function->params) {
    if (!param.is_tensor()) {
      values.scalars.push_back(arguments.scalars.at(param.name));
      continue;
    }
    const auto given = arguments.arrays.find(param.name);
    if (given != arguments.arrays.end()) {
      tensors.push_back({given->second.dtype, given->second.shape, values_of(given->second), {}});
    } else {
      tensors.push_back(eval::unwritten_tensor(param.type.dtype, shapes.outputs.at(param.name).shape));
    }
    names.push_back(param.name);
  }
  for (eval::Tensor& tensor : tensors) {
    values.tensors.push_back(&tensor);
  }
  eval::Options options;
  options.max_work = int64_t{1} << 30;
  const eval::Status status = eval::evaluate(source.module, *function, values, options);
  std::map<std::string, std::vector<double>> results;
  if (!status.ok()) {
    error = "evaluator: " + status.text;
    return results;
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (shapes.outputs.count(names[i]) != 0) {
      results[names[i]] = tensors[i].data;
      for (size_t e = 0; e < tensors[i].data.size(); ++e) {
        if (!tensors[i].is_written(e)) {
          error = "evaluator: " + names[i] + " is not all written";
          return {};
        }
      }
    }
  }
  return results;
}

runtime::Array make_array(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  runtime::Array array;
  array.dtype = dtype;
  array.shape = std::move(shape);
  array.data.resize(static_cast<size_t>(byte_size(dtype, static_cast<int64_t>(values.size()))));
  for (size_t i = 0; i < values.size(); ++i) {
    store_real(dtype, array.data.data(), static_cast<int64_t>(i), values[i]);
  }
  return array;
}

std::vector<double> values_of(const runtime::Array& array) {
  std::vector<double> values;
  for (int64_t i = 0; i < array.elements(); ++i) {
    values.push_back(load_real(array.dtype, array.data.data(), i));
  }
  return values;
}

}  // namespace pto::test
