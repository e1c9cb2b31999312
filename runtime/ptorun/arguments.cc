#include "runtime/ptorun/arguments.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/io/generate.h"
#include "runtime/io/npy.h"
#include "src/support/fs.h"
#include "src/support/text.h"

namespace pto::ptorun {
namespace {

using object::Param;
using object::ParamMode;
using object::Program;
using runtime::Array;

// A golden array may be f64 where the output is f16, and a file has a header.
constexpr int64_t kMaxFileBytes = 4 * runtime::io::kMaxArrayBytes + (int64_t{1} << 17);
// All arrays of a run together.
constexpr int64_t kMaxTotalBytes = 4 * runtime::io::kMaxArrayBytes;
// Largest integers that a double, as which scalars travel, holds exactly.
constexpr int64_t kMaxScalar = int64_t{1} << 53;

std::string entry_list(const object::Object& object) {
  std::string list;
  for (const Program& program : object.programs) {
    list += (list.empty() ? "`" : ", `") + program.name + "`";
  }
  return list;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

class Binder {
 public:
  Binder(const Program& program, const Options& options, DiagnosticSink& sink)
      : program_(program), options_(options), sink_(sink) {}

  BoundArguments bind() {
    bind_dims();
    for (const NamedValue& in : options_.in) {
      bind_input(in);
    }
    check_missing();
    for (const NamedValue& out : options_.out) {
      find_output("--out", out.name);
    }
    for (const NamedValue& expect : options_.expect) {
      bind_expectation(expect);
    }
    return std::move(bound_);
  }

 private:
  const Param* find(const std::string& option, const std::string& name) {
    const auto param =
        std::find_if(program_.params.begin(), program_.params.end(), [&](const Param& p) { return p.name == name; });
    if (param != program_.params.end()) {
      return &*param;
    }
    std::vector<std::string_view> names;
    for (const Param& p : program_.params) {
      names.push_back(p.name);
    }
    report_unknown(option, "parameter", name, names);
    return nullptr;
  }

  void report_unknown(const std::string& option, const std::string& what, const std::string& name,
                      const std::vector<std::string_view>& known) {
    auto handle = sink_.report(DiagId::ArgumentUnknown, option, {program_.name, what, name});
    if (const auto near = closest(name, known)) {
      handle.help("did you mean `" + std::string(*near) + "`?");
      return;
    }
    std::string list;
    for (const std::string_view text : known) {
      list += (list.empty() ? "`" : ", `") + std::string(text) + "`";
    }
    handle.help("there " + std::string(known.empty() ? "are none" : known.size() == 1 ? "is " : "are ") + list);
  }

  const Param* find_output(const std::string& option, const std::string& name) {
    const Param* param = find(option, name);
    if (param != nullptr && (!param->is_tensor || param->mode == ParamMode::In)) {
      sink_.report(DiagId::ArgumentDirection, option, {name, "input", program_.name, "it is never written"});
      return nullptr;
    }
    if (param != nullptr && bit_width(param->dtype) < 8) {
      sink_.report(DiagId::ArgumentValue, option,
                   {name, name, std::string(spelling(param->dtype)), "arrays of 4-bit elements have no .npy form"});
      return nullptr;
    }
    return param;
  }

  void bind_dims() {
    std::vector<std::string_view> names;
    for (const SymId dim : program_.dims) {
      names.push_back(program_.symbols[dim.index()].name);
    }
    for (const NamedValue& dim : options_.dims) {
      if (std::find(names.begin(), names.end(), dim.name) == names.end()) {
        report_unknown("--dim", "dim", dim.name, names);
        continue;
      }
      const std::optional<int64_t> size = runtime::io::parse_int(dim.value);
      if (!size || *size < 0) {
        sink_.report(DiagId::ArgumentValue, "--dim", {dim.value, dim.name, "index", "it is not a size"});
        continue;
      }
      bound_.arguments.dims[dim.name] = *size;
    }
  }

  void bind_input(const NamedValue& in) {
    const Param* param = find("--in", in.name);
    if (param == nullptr) {
      return;
    }
    seen_.push_back(param->name);
    if (!param->is_tensor) {
      bind_scalar(*param, in.value);
    } else if (param->mode == ParamMode::Out) {
      sink_.report(DiagId::ArgumentDirection, "--in", {param->name, "output", program_.name, "it takes no value"})
          .help("`--out " + param->name + "=@FILE.npy` writes it, `--expect` compares it");
    } else {
      bind_tensor(*param, in.value);
    }
  }

  void bind_scalar(const Param& param, const std::string& text) {
    const auto refuse = [&](const std::string& why) {
      sink_.report(DiagId::ArgumentValue, "--in", {text, param.name, std::string(spelling(param.dtype)), why});
    };
    if (is_float(param.dtype)) {
      const std::optional<double> value = runtime::io::parse_real(text);
      return value ? set_scalar(param, *value) : refuse("it is not a number");
    }
    if (param.dtype == DType::Bool && (text == "true" || text == "false")) {
      return set_scalar(param, text == "true" ? 1 : 0);
    }
    const std::optional<int64_t> value = runtime::io::parse_int(text);
    if (!value) {
      return refuse("it is not an integer");
    }
    const int bits = param.dtype == DType::Bool ? 1 : bit_width(param.dtype);
    const bool is_signed = dtype_class(param.dtype) == DTypeClass::Int;
    const int64_t high = bits >= 54 ? kMaxScalar : (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
    const int64_t low = !is_signed ? 0 : bits >= 54 ? -kMaxScalar : -high - 1;
    if (*value < low || *value > high) {
      return refuse("it is not in " + std::to_string(low) + " .. " + std::to_string(high));
    }
    set_scalar(param, static_cast<double>(*value));
  }

  void set_scalar(const Param& param, double value) { bound_.arguments.scalars[param.name] = value; }

  void bind_tensor(const Param& param, const std::string& text) {
    if (text[0] == '@') {
      return bind_file(param, text.substr(1), nullptr);
    }
    const Result<runtime::io::ArraySpec> spec =
        runtime::io::parse_array_spec(text, bound_.arguments.dims, "--in " + param.name, sink_);
    if (!spec) {
      return;
    }
    if (spec->dtype != param.dtype) {
      sink_.report(DiagId::ArgumentValue, "--in",
                   {text, param.name, parameter_type(program_, param), "its elements are of another type"});
      return;
    }
    if (spec->file) {
      return bind_file(param, *spec->file, &spec->shape);
    }
    if (options_.run.mode == runtime::Mode::Time) {
      bound_.arguments.arrays[param.name] = Array{spec->dtype, spec->shape, {}};  // time needs no data
      return;
    }
    if (!spec->generator) {
      sink_.report(DiagId::ArraySpecInvalid, "--in " + param.name,
                   {text, "a shape alone is enough only with `--mode=time`; add `:GENERATOR` or `@FILE`"});
      return;
    }
    if (count_bytes(byte_size(spec->dtype, *runtime::io::element_count(spec->shape, kMaxTotalBytes)))) {
      bound_.arguments.arrays[param.name] = runtime::io::generate(*spec);
    }
  }

  // `shape`: what the command line says that the file holds, if it says so.
  void bind_file(const Param& param, const std::string& path, const std::vector<int64_t>* shape) {
    const Result<std::string> file = read_file(path, kMaxFileBytes, sink_);
    if (!file || !count_bytes(static_cast<int64_t>(file->size()))) {
      return;
    }
    Result<Array> array = runtime::io::read_npy(as_bytes(*file), param.dtype, param.name, path, sink_);
    if (!array) {
      return;
    }
    if (shape != nullptr && array->shape != *shape) {
      sink_.report(DiagId::ArrayFile, path,
                   {"it has shape " + runtime::io::shape_text(array->shape) + ", `--in` says " +
                    runtime::io::shape_text(*shape)});
      return;
    }
    bound_.arguments.arrays[param.name] = std::move(*array);
  }

  void bind_expectation(const NamedValue& expect) {
    const Param* param = find_output("--expect", expect.name);
    if (param == nullptr) {
      return;
    }
    const Result<std::string> file = read_file(expect.value, kMaxFileBytes, sink_);
    if (!file || !count_bytes(static_cast<int64_t>(file->size()))) {
      return;
    }
    Result<runtime::io::Golden> golden =
        runtime::io::read_npy_golden(as_bytes(*file), param->dtype, param->name, expect.value, sink_);
    if (golden) {
      bound_.expectations.push_back({param->name, expect.value, std::move(*golden)});
    }
  }

  bool count_bytes(int64_t bytes) {
    total_bytes_ += bytes;
    if (total_bytes_ > kMaxTotalBytes) {
      sink_.report(DiagId::ArrayTooLarge, "--in", {"the arrays together", std::to_string(kMaxTotalBytes)});
    }
    return total_bytes_ <= kMaxTotalBytes;
  }

  void check_missing() {
    for (const Param& param : program_.params) {
      const bool needed = param.is_tensor ? param.mode != ParamMode::Out : !param.default_value.has_value();
      if (!needed || std::find(seen_.begin(), seen_.end(), param.name) != seen_.end() || bind_shape_alone(param)) {
        continue;
      }
      const std::string type = parameter_type(program_, param);
      auto handle = sink_.report(DiagId::ArgumentMissing, program_.name, {param.name, type});
      handle.help(param.is_tensor ? "give `--in " + param.name + "=@FILE.npy` or `--in " + param.name + "=" +
                                        std::string(spelling(param.dtype)) +
                                        "[...]:" + (is_float(param.dtype) ? "randn(seed=1)`" : "zeros`")
                                  : "give `--in " + param.name + "=NUMBER`");
    }
  }

  // With --mode=time the sizes are all that a tensor contributes: `--dim` may give them.
  bool bind_shape_alone(const Param& param) {
    if (!param.is_tensor || options_.run.mode != runtime::Mode::Time) {
      return false;
    }
    std::vector<int64_t> values(program_.symbols.size(), 0);
    std::vector<bool> known(program_.symbols.size(), false);
    for (const SymId dim : program_.dims) {
      const auto given = bound_.arguments.dims.find(program_.symbols[dim.index()].name);
      if (given != bound_.arguments.dims.end()) {
        values[dim.index()] = given->second;
        known[dim.index()] = true;
      }
    }
    Array array{param.dtype, {}, {}};
    for (const ExprId dim : param.dims) {
      std::vector<SymId> symbols;
      program_.exprs.collect_symbols(dim, symbols);
      if (!std::all_of(symbols.begin(), symbols.end(), [&](SymId sym) { return known[sym.index()]; })) {
        return false;
      }
      const std::optional<int64_t> size = program_.exprs.evaluate(dim, ExprEnv{values, {}});
      if (!size || *size < 0) {
        return false;
      }
      array.shape.push_back(*size);
    }
    bound_.arguments.arrays[param.name] = std::move(array);
    return true;
  }

  const Program& program_;
  const Options& options_;
  DiagnosticSink& sink_;
  BoundArguments bound_;
  std::vector<std::string> seen_;
  int64_t total_bytes_ = 0;
};

}  // namespace

const Program* choose_entry(const object::Object& object, const Options& options, DiagnosticSink& sink) {
  if (object.programs.empty()) {
    sink.report(DiagId::EntryNone, options.object, {});
    return nullptr;
  }
  if (!options.entry) {
    if (object.programs.size() == 1) {
      return &object.programs.front();
    }
    sink.report(DiagId::EntryAmbiguous, options.object, {std::to_string(object.programs.size()), entry_list(object)})
        .help("choose one with `--entry NAME`");
    return nullptr;
  }
  std::vector<std::string_view> names;
  for (const Program& program : object.programs) {
    if (program.name == *options.entry) {
      return &program;
    }
    names.push_back(program.name);
  }
  auto handle = sink.report(DiagId::EntryUnknown, options.object, {*options.entry, entry_list(object)});
  if (const auto near = closest(*options.entry, names)) {
    handle.help("did you mean `" + std::string(*near) + "`?");
  }
  return nullptr;
}

Result<BoundArguments> bind_arguments(const Program& program, const Options& options, DiagnosticSink& sink) {
  const size_t errors = sink.error_count();
  BoundArguments bound = Binder(program, options, sink).bind();
  if (sink.error_count() != errors) {
    return Reported();
  }
  return bound;
}

std::string parameter_type(const Program& program, const Param& param) {
  std::string text(spelling(param.dtype));
  if (!param.is_tensor) {
    return text;
  }
  for (size_t i = 0; i < param.dims.size(); ++i) {
    text += (i == 0 ? "[" : ", ") + program.exprs.print(param.dims[i], program.symbols);
  }
  return text + "]";
}

}  // namespace pto::ptorun
