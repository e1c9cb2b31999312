#include "runtime/loader/bind.h"

#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "src/support/checked.h"
#include "src/support/convert.h"

namespace pto::runtime {
namespace {

// Where a dim got its value, for messages that name both sides.
struct Source {
  bool bound = false;
  std::string where;  // "`w` has 64 rows", "dim `K` was given as 64"
};

class Binder {
 public:
  Binder(const object::Program& program, const Arguments& arguments, Mode mode, const std::string& subject,
         DiagnosticSink& sink)
      : program_(program), arguments_(arguments), mode_(mode), subject_(subject), sink_(sink) {}

  Result<Binding> run() {
    out_.ints.assign(program_.symbols.size(), 0);
    out_.reals.assign(program_.symbols.size(), 0);
    sources_.resize(program_.symbols.size());
    check_names();
    take_scalars();
    take_dims();
    for (const object::Param& param : program_.params) {
      if (param.is_tensor) {
        take_array(param);
      }
    }
    check_dims_bound();
    if (failed()) {
      return Reported{};
    }
    for (const object::Param& param : program_.params) {
      if (param.is_tensor) {
        add_tensor(param.name, param.dtype, param.mode, param.dims, false);
      }
    }
    if (!failed()) {
      check_shapes();
      check_constraints();
    }
    if (!failed()) {
      place_tensors();
    }
    if (failed()) {
      return Reported{};
    }
    return std::move(out_);
  }

 private:
  DiagnosticSink::Handle error(DiagId id, std::initializer_list<std::string> args) {
    failed_ = true;
    return sink_.report(id, subject_, args);
  }
  bool failed() const { return failed_; }

  const object::Param* find(const std::string& name, bool tensor) const {
    for (const object::Param& param : program_.params) {
      if (param.name == name && param.is_tensor == tensor) {
        return &param;
      }
    }
    return nullptr;
  }

  std::string param_list(bool tensor) const {
    std::string text;
    for (const object::Param& param : program_.params) {
      if (param.is_tensor == tensor) {
        text += (text.empty() ? "`" : ", `") + param.name + "`";
      }
    }
    return text.empty() ? "none" : text;
  }

  void check_names() {
    for (const auto& [name, array] : arguments_.arrays) {
      if (find(name, true) == nullptr) {
        error(DiagId::BindUnknown, {program_.name, "array parameter", name, param_list(true)});
      }
    }
    for (const auto& [name, value] : arguments_.scalars) {
      if (find(name, false) == nullptr) {
        error(DiagId::BindUnknown, {program_.name, "scalar parameter", name, param_list(false)});
      }
    }
  }

  void take_scalars() {
    for (const object::Param& param : program_.params) {
      if (param.is_tensor) {
        continue;
      }
      const auto given = arguments_.scalars.find(param.name);
      if (given == arguments_.scalars.end() && !param.default_value) {
        error(DiagId::BindMissing, {program_.name, "a value for scalar", param.name});
        continue;
      }
      set_scalar(param, given == arguments_.scalars.end() ? *param.default_value : given->second);
    }
  }

  void set_scalar(const object::Param& param, double value) {
    const size_t sym = param.sym.index();
    if (is_float(param.dtype)) {
      std::byte bits[8] = {};
      store_real(param.dtype, bits, 0, value);
      out_.reals[sym] = load_real(param.dtype, bits, 0);
      return;
    }
    // Doubles hold integers exactly up to 2^53; 64-bit scalars beyond that can't be told from their neighbours.
    const double limit = 9007199254740992.0;
    bool fits = std::nearbyint(value) == value && value >= -limit && value <= limit;
    if (fits) {
      const auto integer = static_cast<int64_t>(value);
      std::byte bits[8] = {};
      store_int(param.dtype, bits, 0, integer);
      fits = load_int(param.dtype, bits, 0) == integer && (param.dtype != DType::Bool || integer == 0 || integer == 1);
      out_.ints[sym] = integer;
      out_.reals[sym] = value;
    }
    if (!fits) {
      std::string text = std::to_string(value);
      error(DiagId::BindScalar, {param.name, text, std::string(spelling(param.dtype))});
    }
  }

  void take_dims() {
    for (const auto& [name, value] : arguments_.dims) {
      bool found = false;
      for (SymId sym : program_.dims) {
        if (program_.symbols[sym.index()].name == name) {
          found = true;
          set_dim(sym, value, "dim `" + name + "` was given as " + std::to_string(value));
        }
      }
      if (!found) {
        std::string known;
        for (SymId sym : program_.dims) {
          known += (known.empty() ? "`" : ", `") + program_.symbols[sym.index()].name + "`";
        }
        error(DiagId::BindUnknown, {program_.name, "dynamic dim", name, known.empty() ? "none" : known});
      }
    }
  }

  void set_dim(SymId sym, int64_t value, std::string where) {
    if (value < 1) {
      error(DiagId::BindDimRange, {program_.symbols[sym.index()].name, std::to_string(value)});
    }
    out_.ints[sym.index()] = value;
    out_.reals[sym.index()] = static_cast<double>(value);
    sources_[sym.index()] = {true, std::move(where)};
  }

  // Checks an array's element type, rank and data; binds the dims that stand alone in its parameter's shape.
  void take_array(const object::Param& param) {
    const auto found = arguments_.arrays.find(param.name);
    if (found == arguments_.arrays.end()) {
      if (param.mode != object::ParamMode::Out) {
        error(DiagId::BindMissing, {program_.name, "an array for", param.name});
      }
      return;
    }
    const Array& array = found->second;
    if (array.dtype != param.dtype) {
      error(DiagId::BindDType,
            {param.name, std::string(spelling(array.dtype)), std::string(spelling(param.dtype))});
    }
    if (array.shape.size() != param.dims.size()) {
      error(DiagId::BindRank,
            {param.name, std::to_string(array.shape.size()), std::to_string(param.dims.size())});
      return;
    }
    for (size_t axis = 0; axis < param.dims.size(); ++axis) {
      const ExprNode& node = program_.exprs[param.dims[axis]];
      if (node.op != ExprOp::Sym || program_.symbols[node.sym.index()].kind != SymKind::Dim) {
        continue;
      }
      const std::string here = dim_words(array.shape.size(), axis, array.shape[axis]);
      const Source& source = sources_[node.sym.index()];
      if (!source.bound) {
        set_dim(node.sym, array.shape[axis], "`" + param.name + "` has " + here);
      } else if (out_.ints[node.sym.index()] != array.shape[axis]) {
        error(DiagId::BindDim, {param.name, here, source.where})
            .note(Span{}, "both are dim `" + program_.symbols[node.sym.index()].name + "`");
      }
    }
  }

  void check_dims_bound() {
    for (SymId sym : program_.dims) {
      if (!sources_[sym.index()].bound) {
        error(DiagId::BindDimUnbound, {program_.symbols[sym.index()].name});
      }
    }
  }

  std::optional<int64_t> value_of(ExprId id) const {
    return id.valid() ? program_.exprs.evaluate(id, out_.env()) : std::nullopt;
  }

  void add_tensor(const std::string& name, DType dtype, object::ParamMode mode, const std::vector<ExprId>& dims,
                  bool is_buffer) {
    BoundTensor tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.mode = mode;
    tensor.is_buffer = is_buffer;
    std::optional<int64_t> elements = 1;
    for (ExprId dim : dims) {
      const std::optional<int64_t> value = value_of(dim);
      if (value && *value < 1) {
        error(DiagId::BindDimRange, {name + ": " + program_.exprs.print(dim, program_.symbols), std::to_string(*value)});
      }
      elements = elements && value ? checked_mul(*elements, *value) : std::nullopt;
      tensor.dims.push_back(value.value_or(0));
    }
    if (!elements || *elements > kAddressLimit) {
      error(DiagId::BindSize, {"`" + name + "`"});
      return;
    }
    tensor.elements = *elements;
    tensor.bytes = byte_size(dtype, tensor.elements);
    out_.tensors.push_back(std::move(tensor));
  }

  // Dims that are more than a symbol, and the amount of data.
  void check_shapes() {
    size_t index = 0;
    for (const object::Param& param : program_.params) {
      if (!param.is_tensor) {
        continue;
      }
      const BoundTensor& tensor = out_.tensors[index++];
      const auto found = arguments_.arrays.find(param.name);
      if (found == arguments_.arrays.end()) {
        continue;
      }
      const Array& array = found->second;
      for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
        if (array.shape[axis] != tensor.dims[axis]) {
          report_derived(param, axis, array.shape[axis], tensor.dims[axis]);
        }
      }
      const bool needs_data = param.mode != object::ParamMode::Out && mode_ != Mode::Time;
      if (!failed() && needs_data && static_cast<int64_t>(array.data.size()) != tensor.bytes) {
        error(DiagId::BindData, {param.name, std::to_string(array.data.size()), std::to_string(tensor.bytes)});
      }
    }
  }

  void report_derived(const object::Param& param, size_t axis, int64_t actual, int64_t wanted) {
    const ExprId dim = param.dims[axis];
    const std::string words = dim_words(param.dims.size(), axis, wanted);
    auto handle = error(DiagId::BindDim,
                        {param.name, dim_words(param.dims.size(), axis, actual), "the parameter has " + words});
    std::vector<SymId> symbols;
    program_.exprs.collect_symbols(dim, symbols);
    if (!program_.exprs.constant(dim)) {
      handle.note(Span{}, program_.exprs.print(dim, program_.symbols) + " is " + std::to_string(wanted));
    }
    for (SymId sym : symbols) {
      if (sources_[sym.index()].bound) {
        handle.note(Span{}, "`" + program_.symbols[sym.index()].name + "` is " +
                                std::to_string(out_.ints[sym.index()]) + ": " + sources_[sym.index()].where);
      }
    }
  }

  void check_constraints() {
    for (const object::Constraint& constraint : program_.constraints) {
      const std::optional<int64_t> value = value_of(constraint.condition);
      if (value && *value != 0) {
        continue;
      }
      std::vector<SymId> symbols;
      program_.exprs.collect_symbols(constraint.condition, symbols);
      std::string where;
      for (SymId sym : symbols) {
        where += (where.empty() ? " with `" : ", `") + program_.symbols[sym.index()].name +
                 "` = " + std::to_string(out_.ints[sym.index()]);
      }
      error(DiagId::BindConstraint, {program_.name, constraint.text, where});
    }
  }

  // Parameters one behind the other, then the workspace with its buffers at their offsets.
  void place_tensors() {
    int64_t address = 0;
    for (BoundTensor& tensor : out_.tensors) {
      tensor.address = address;
      // At most kAddressLimit each, and a verified object has few enough parameters for this not to overflow.
      address += (tensor.bytes + kGmAlignment - 1) / kGmAlignment * kGmAlignment;
      if (address > kAddressLimit) {
        error(DiagId::BindMemory, {program_.name, std::to_string(address), std::to_string(kAddressLimit)});
        return;
      }
    }
    out_.workspace_address = address;
    place_buffers();
    if (failed()) {
      return;
    }
    out_.footprint = address + out_.workspace_bytes;
    const int64_t limit = mode_ == Mode::Time ? kAddressLimit : kMemoryLimit;
    if (out_.footprint > limit) {
      error(DiagId::BindMemory, {program_.name, std::to_string(out_.footprint), std::to_string(limit)});
    }
  }

  void place_buffers() {
    const std::optional<int64_t> bytes =
        program_.workspace_bytes.valid() ? value_of(program_.workspace_bytes) : std::optional<int64_t>(0);
    if (!bytes || *bytes < 0 || *bytes > kAddressLimit) {
      error(DiagId::BindSize, {"the workspace of `" + program_.name + "`"});
      return;
    }
    out_.workspace_bytes = *bytes;
    for (const object::WorkBuffer& buffer : program_.buffers) {
      add_tensor(buffer.name, buffer.dtype, object::ParamMode::InOut, buffer.dims, true);
      if (failed()) {
        return;
      }
      BoundTensor& tensor = out_.tensors.back();
      const std::optional<int64_t> offset = value_of(buffer.offset);
      std::string problem;
      if (!offset || *offset < 0) {
        problem = "its offset can't be computed";
      } else if (*offset % std::max<int64_t>(1, byte_size(buffer.dtype)) != 0) {
        problem = "offset " + std::to_string(*offset) + " is not a multiple of its element's size";
      } else if (*offset > *bytes || tensor.bytes > *bytes - *offset) {
        problem = "it takes " + std::to_string(tensor.bytes) + " bytes from offset " + std::to_string(*offset) +
                  " of " + std::to_string(*bytes);
      }
      if (!problem.empty()) {
        error(DiagId::WorkspaceLayout, {buffer.name, program_.name, problem});
        return;
      }
      tensor.address = out_.workspace_address + *offset;
    }
  }

  const object::Program& program_;
  const Arguments& arguments_;
  const Mode mode_;
  const std::string& subject_;
  DiagnosticSink& sink_;
  Binding out_;
  std::vector<Source> sources_;
  bool failed_ = false;
};

}  // namespace

std::string dim_words(size_t rank, size_t axis, int64_t value) {
  const std::string number = std::to_string(value);
  const char* plural = value == 1 ? "" : "s";
  if (rank == 2) {
    return number + (axis == 0 ? " row" : " column") + plural;
  }
  if (rank == 1) {
    return number + " element" + plural;
  }
  return number + " in dimension " + std::to_string(axis);
}

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  }
  return text + "]";
}

Result<Binding> bind(const object::Program& program, const Arguments& arguments, Mode mode, const std::string& subject,
                     DiagnosticSink& sink) {
  return Binder(program, arguments, mode, subject, sink).run();
}

}  // namespace pto::runtime
