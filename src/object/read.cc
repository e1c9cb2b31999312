// Bytes to objects. Nothing in a file is believed: flatbuffers::Verifier makes sure that every reference stays inside,
// a budget that no part is read twice (a small file could otherwise stand for an endless object), and every number is
// looked up before it becomes an enum. Structure is checked last, on the finished object.
#include <cstring>

#include "pto/diagnostics.h"
#include "pto/object.h"
#include "src/object/limits.h"
#include "src/object/source_map.h"
#include "src/object/structure.h"
#include "src/object/wire.h"
#include "src/support/text.h"

namespace pto::object {
namespace {

class Decoder {
 public:
  explicit Decoder(size_t bytes) : budget_(bytes) {}

  // What is wrong, empty: nothing.
  const std::string& problem() const { return problem_; }

  Object run(const wire::Object& in) {
    Object out;
    out.version = in.version();
    out.target = text(in.target(), kLongestName);
    out.target_hash = in.target_hash();
    each(in.cores(), kMostUnits, [&](const wire::Core& core) { out.cores.push_back(decode(core)); });
    each(in.programs(), kMostUnits, [&](const wire::Program& program) { out.programs.push_back(decode(program)); });
    if (in.source_map() != nullptr && in.source_map()->size() > 0 && ok()) {
      spend(in.source_map()->size());
      fail_if_any(read_source_map({in.source_map()->data(), in.source_map()->size()}, out));
    }
    return out;
  }

 private:
  bool ok() const { return problem_.empty(); }

  void fail(const std::string& problem) {
    if (ok()) {
      problem_ = problem;
    }
  }

  void fail_if_any(const std::string& problem) {
    if (!problem.empty()) {
      fail(problem);
    }
  }

  // An honest file has every byte once, so all that is read of it together is no more than its size.
  bool spend(size_t bytes) {
    if (bytes > budget_) {
      fail("parts of it are used twice");
      return false;
    }
    budget_ -= bytes;
    return true;
  }

  template <typename Ours, typename Wire, size_t kSize>
  Ours lookup(const EnumTable<Ours, Wire, kSize>& table, Wire number, const char* what) {
    const std::optional<Ours> value = from_wire(table, number);
    if (!value) {
      fail(std::string("unknown ").append(what).append(" ").append(std::to_string(static_cast<int>(number))));
    }
    return value.value_or(table.front().first);
  }

  DType dtype(uint8_t code) {
    const std::optional<DType> type = dtype_from_code(code);
    if (!type) {
      fail(std::string("unknown element type ").append(std::to_string(code)));
    }
    return type.value_or(DType::None);
  }

  std::string text(const flatbuffers::String* in, size_t longest) {
    if (in == nullptr || !spend(in->size())) {
      return {};
    }
    std::string out(in->c_str(), in->size());
    if (out.size() > longest || find_invalid_utf8(out) || out.find('\0') != std::string::npos) {
      fail("a text in it is not valid");
      return {};
    }
    return out;
  }

  // Calls `decode_one` for each element of a vector that may be absent, until something is wrong.
  template <typename Vector, typename DecodeOne>
  void each(const Vector* in, size_t most, const DecodeOne& decode_one) {
    if (in == nullptr) {
      return;
    }
    if (in->size() > most) {
      fail("a list in it is too long");
      return;
    }
    for (const auto* item : *in) {
      // Its reference and its vtable offset, or more: what a table takes at least.
      if (!spend(8) || !ok()) {
        return;
      }
      decode_one(*item);
    }
  }

  template <typename IdT>
  std::vector<IdT> ids(const flatbuffers::Vector<uint32_t>* in, size_t most) {
    std::vector<IdT> out;
    if (in == nullptr) {
      return out;
    }
    if (in->size() > most) {
      fail("a list in it is too long");
    }
    if (!ok() || !spend(size_t{4} * in->size())) {
      return out;
    }
    out.reserve(in->size());
    for (const uint32_t id : *in) {
      out.push_back(IdT(id));
    }
    return out;
  }

  ExprPool pool(const flatbuffers::Vector<const wire::ExprNode*>* in, const std::vector<Symbol>& symbols) {
    ExprPool out;
    for (uint32_t i = 0; i < symbols.size(); ++i) {
      if (is_float(symbols[i].dtype)) {
        out.mark_real(SymId(i));
      }
    }
    if (in == nullptr) {
      return out;
    }
    if (in->size() > kMostExprs) {
      fail("a list in it is too long");
    }
    // The verifier looks at the alignment of a vector's length, not at that of its elements. An empty vector has none.
    if (in->size() > 0 && reinterpret_cast<uintptr_t>(in->Data()) % alignof(wire::ExprNode) != 0) {
      fail("a list in it is out of place");
    }
    if (!ok() || !spend(sizeof(wire::ExprNode) * in->size())) {
      return out;
    }
    for (const wire::ExprNode* item : *in) {
      const ExprNode node = decode(*item, static_cast<uint32_t>(out.size()), symbols.size());
      if (!ok()) {
        break;
      }
      out.append_raw(node);
    }
    return out;
  }

  ExprNode decode(const wire::ExprNode& in, uint32_t earlier, size_t symbols) {
    ExprNode out;
    out.op = lookup(kExprOps, in.op(), "operator");
    switch (out.op) {
      case ExprOp::Int:
        out.value = in.value();
        break;
      case ExprOp::Float: {
        const int64_t bits = in.value();
        std::memcpy(&out.fvalue, &bits, sizeof bits);
        break;
      }
      case ExprOp::Sym:
        if (in.value() < 0 || in.value() >= static_cast<int64_t>(symbols)) {
          fail("an expression names a symbol that doesn't exist");
        }
        out.sym = SymId(static_cast<uint32_t>(in.value()));
        break;
      case ExprOp::BlockIndex:
      case ExprOp::BlockCount:
      case ExprOp::LaneIndex:
        break;
      default:
        if (in.a() >= earlier || in.b() >= earlier) {
          fail("an expression uses one that is not before it");
        }
        out.a = ExprId(in.a());
        out.b = ExprId(in.b());
    }
    return out;
  }

  std::vector<Symbol> symbols(const flatbuffers::Vector<flatbuffers::Offset<wire::Symbol>>* in) {
    std::vector<Symbol> out;
    each(in, kMostSymbols, [&](const wire::Symbol& symbol) {
      out.push_back({text(symbol.name(), kLongestName), lookup(kSymKinds, symbol.kind(), "kind of symbol"),
                     dtype(symbol.dtype())});
    });
    return out;
  }

  std::vector<Param> params(const flatbuffers::Vector<flatbuffers::Offset<wire::Param>>* in) {
    std::vector<Param> out;
    each(in, kMostSymbols, [&](const wire::Param& param) {
      Param decoded;
      decoded.name = text(param.name(), kLongestName);
      decoded.doc = text(param.doc(), kLongestText);
      decoded.dtype = dtype(param.dtype());
      decoded.is_tensor = param.is_tensor();
      decoded.mode = lookup(kParamModes, param.mode(), "parameter mode");
      decoded.dims = ids<ExprId>(param.dims(), kHighestRank);
      decoded.sym = SymId(param.sym());
      const flatbuffers::Optional<double> value = param.default_value();
      if (value) {
        decoded.default_value = *value;
      }
      out.push_back(std::move(decoded));
    });
    return out;
  }

  isa::Buffer decode(const wire::Buffer& in) {
    isa::Buffer out;
    out.name = text(in.name(), kLongestName);
    out.tile = {dtype(in.dtype()), in.rows(), in.cols(), lookup(kLayouts, in.layout(), "layout"),
                lookup(kSpaces, in.space(), "memory")};
    out.address = in.address();
    out.slots = in.slots();
    out.slot_stride = in.slot_stride();
    return out;
  }

  isa::Ring decode(const wire::Ring& in) {
    isa::Ring out;
    out.name = text(in.name(), kLongestName);
    out.direction = lookup(kRingDirections, in.direction(), "direction of a ring");
    out.dtype = dtype(in.dtype());
    out.rows = in.rows();
    out.cols = in.cols();
    out.slots = in.slots();
    out.split = lookup(kSplits, in.split(), "split of a ring");
    return out;
  }

  isa::Operand decode(const wire::Operand& in, isa::OperandKind kind) {
    isa::Operand out;
    out.kind = kind;
    if (isa::is_tile(kind)) {
      out.buffer = isa::BufferId(in.buffer());
      out.slot = ExprId(in.slot());
      return out;
    }
    if (isa::is_gm(kind)) {
      out.tensor = isa::TensorId(in.tensor());
      out.offsets = ids<ExprId>(in.offsets(), kHighestRank);
      return out;
    }
    switch (kind) {
      case isa::OperandKind::Ring:
        out.ring = isa::RingId(in.ring());
        return out;
      case isa::OperandKind::Valid:
        out.b = ExprId(in.b());
        [[fallthrough]];
      case isa::OperandKind::Scalar:
      case isa::OperandKind::Index:
      case isa::OperandKind::Event:
        out.a = ExprId(in.a());
        return out;
      default:
        break;
    }
    const std::optional<uint8_t> attribute = attribute_from_wire(kind, in.attribute());
    if (!attribute) {
      fail("an operand has a value that its kind doesn't have");
    }
    out.attribute = attribute.value_or(0);
    return out;
  }

  isa::Inst inst(const wire::Stmt& in) {
    isa::Inst out;
    const std::optional<isa::Opcode> opcode = isa::opcode_from_wire_code(in.opcode());
    if (!opcode) {
      fail("unknown instruction " + std::to_string(in.opcode()));
      return out;
    }
    out.opcode = *opcode;
    const auto kinds = isa::format_operands(isa::info(*opcode).format);
    if (in.operands() == nullptr || in.operands()->size() != kinds.size()) {
      fail("an instruction has other operands than its format");
      return out;
    }
    each(in.operands(), kinds.size(),
         [&](const wire::Operand& operand) { out.operands.push_back(decode(operand, kinds[out.operands.size()])); });
    return out;
  }

  Stmt decode(const wire::Stmt& in) {
    Stmt out;
    out.kind = lookup(kStmtKinds, in.kind(), "kind of statement");
    switch (out.kind) {
      case StmtKind::Inst:
        out.inst = inst(in);
        break;
      case StmtKind::For:
        out.lo = ExprId(in.lo());
        out.hi = ExprId(in.hi());
        out.step = ExprId(in.step());
        out.sym = SymId(in.sym());
        break;
      case StmtKind::Let:
        out.sym = SymId(in.sym());
        out.value = ExprId(in.value());
        break;
      case StmtKind::If:
        out.value = ExprId(in.value());
        break;
      case StmtKind::EndFor:
      case StmtKind::Else:
      case StmtKind::EndIf:
        break;
    }
    return out;
  }

  Core decode(const wire::Core& in) {
    Core out;
    out.name = text(in.name(), kLongestName);
    out.doc = text(in.doc(), kLongestText);
    out.kind = lookup(kCoreKinds, in.kind(), "kind of core");
    out.symbols = symbols(in.symbols());
    out.exprs = pool(in.exprs(), out.symbols);
    out.dims = ids<SymId>(in.dims(), kMostSymbols);
    out.params = params(in.params());
    each(in.views(), kMostSymbols, [&](const wire::View& view) {
      out.views.push_back(
          {text(view.name(), kLongestName), isa::TensorId(view.base()), ids<ExprId>(view.dims(), kHighestRank)});
    });
    each(in.buffers(), kMostSymbols, [&](const wire::Buffer& buffer) { out.buffers.push_back(decode(buffer)); });
    each(in.rings(), isa::kMaxRings, [&](const wire::Ring& ring) { out.rings.push_back(decode(ring)); });
    each(in.code(), kMostStmts, [&](const wire::Stmt& stmt) { out.code.push_back(decode(stmt)); });
    return out;
  }

  std::vector<Argument> arguments(const flatbuffers::Vector<flatbuffers::Offset<wire::Argument>>* in) {
    std::vector<Argument> out;
    each(in, kMostSymbols, [&](const wire::Argument& argument) {
      // The half that isn't used is ignored, so that equal arguments are equal.
      out.push_back(argument.is_tensor() ? Argument{true, argument.tensor(), ExprId()}
                                         : Argument{false, 0, ExprId(argument.scalar())});
    });
    return out;
  }

  Task decode(const wire::Task& in) {
    Task out;
    out.name = text(in.name(), kLongestName);
    out.core = in.core();
    out.args = arguments(in.args());
    if (in.vec() != nullptr) {
      TaskLanes lanes;
      lanes.core = in.vec()->core();
      lanes.args = arguments(in.vec()->args());
      lanes.dims = ids<ExprId>(in.vec()->dims(), kMostSymbols);
      lanes.lanes = in.vec()->lanes();
      out.vec = std::move(lanes);
    }
    out.dims = ids<ExprId>(in.dims(), kMostSymbols);
    out.blocks = ExprId(in.blocks());
    out.after = ids<uint32_t>(in.after(), kMostSymbols);
    return out;
  }

  Program decode(const wire::Program& in) {
    Program out;
    out.name = text(in.name(), kLongestName);
    out.doc = text(in.doc(), kLongestText);
    out.symbols = symbols(in.symbols());
    out.exprs = pool(in.exprs(), out.symbols);
    out.dims = ids<SymId>(in.dims(), kMostSymbols);
    out.params = params(in.params());
    each(in.constraints(), kMostSymbols, [&](const wire::Constraint& constraint) {
      out.constraints.push_back({ExprId(constraint.condition()), text(constraint.text(), kLongestText)});
    });
    each(in.buffers(), kMostSymbols, [&](const wire::WorkBuffer& buffer) {
      out.buffers.push_back({text(buffer.name(), kLongestName), dtype(buffer.dtype()),
                             ids<ExprId>(buffer.dims(), kHighestRank), ExprId(buffer.offset())});
    });
    out.workspace_bytes = ExprId(in.workspace_bytes());
    each(in.tasks(), kMostSymbols, [&](const wire::Task& task) { out.tasks.push_back(decode(task)); });
    return out;
  }

  size_t budget_;
  std::string problem_;
};

// What the first bytes say: empty if they are those of an object.
std::string not_an_object(std::span<const uint8_t> bytes) {
  if (bytes.empty()) {
    return "the file is empty";
  }
  // The root's offset, the identifier, and a root.
  constexpr size_t kSmallest = 16;
  if (bytes.size() < kSmallest) {
    return "it has only " + std::to_string(bytes.size()) + " bytes";
  }
  if (bytes.size() > kMostBytes) {
    return "it has more than " + std::to_string(kMostBytes) + " bytes";
  }
  if (!flatbuffers::BufferHasIdentifier(bytes.data(), wire::ObjectIdentifier())) {
    return "the identifier `PTOB` is missing";
  }
  return {};
}

// The version, if as much of the file is sound as is needed to see it. A later version may differ in everything else.
std::optional<uint32_t> version_of(const uint8_t* data, size_t size) {
  flatbuffers::Verifier verifier(data, size);
  const auto offset = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(data);
  if (offset > size || !verifier.Verify<flatbuffers::soffset_t>(offset)) {
    return std::nullopt;
  }
  const auto* table = reinterpret_cast<const flatbuffers::Table*>(data + offset);
  const bool sound = verifier.VerifyTableStart(data + offset) &&
                     table->VerifyField<uint32_t>(verifier, wire::Object::VT_VERSION, sizeof(uint32_t));
  return sound ? std::optional(table->GetField<uint32_t>(wire::Object::VT_VERSION, 0)) : std::nullopt;
}

}  // namespace

Result<Object> read(std::span<const uint8_t> bytes, const std::string& subject, DiagnosticSink& sink) {
  if (const std::string why = not_an_object(bytes); !why.empty()) {
    sink.report(DiagId::ObjectNotPtobin, subject, {why});
    return Reported{};
  }
  // Numbers are read in place, so the copy is aligned for the widest.
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const auto* data = reinterpret_cast<const uint8_t*>(aligned.data());

  const std::optional<uint32_t> version = version_of(data, bytes.size());
  if (version && (*version < kOldestReadable || *version > kVersion)) {
    sink.report(DiagId::ObjectVersion, subject,
                {std::to_string(*version), std::to_string(kOldestReadable), std::to_string(kVersion)});
    return Reported{};
  }
  flatbuffers::Verifier verifier(data, bytes.size(), kDeepestTable, most_tables(bytes.size()));
  if (!version || !wire::VerifyObjectBuffer(verifier)) {
    sink.report(DiagId::ObjectCorrupt, subject, {"it is truncated or damaged"});
    return Reported{};
  }
  Decoder decoder(bytes.size());
  Object object = decoder.run(*wire::GetObject(data));
  if (!decoder.problem().empty()) {
    sink.report(DiagId::ObjectCorrupt, subject, {decoder.problem()});
    return Reported{};
  }
  Problems problems(object, subject, sink);
  if (!check_structure(object, problems)) {
    return Reported{};
  }
  return object;
}

}  // namespace pto::object
