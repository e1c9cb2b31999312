// Reads a target description. The input is hostile: size and depth are bounded before the parser sees it, every field
// is required, unknown and repeated fields are refused, numbers have ranges, and foreign exceptions stop here.
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "pto/diagnostics.h"
#include "pto/target.h"
#include "src/isa/rules.h"

namespace pto {
namespace {

using nlohmann::json;

constexpr size_t kMaxText = size_t{1} << 20;
constexpr int kMaxDepth = 8;
constexpr size_t kMaxPaths = 64;
constexpr int64_t kMaxCount = 4096;
constexpr int64_t kMaxBytes = int64_t{1} << 40;
constexpr double kMaxCycles = 1e9;
constexpr double kMinRate = 1.0 / 256;  // one tick's worth
constexpr double kMaxRate = 1e12;

std::string ticked(std::string_view text) {
  return "`" + std::string(text) + "`";
}

std::string number_text(double value) {
  return json(value).dump();
}

// One object of the document. Remembers which fields were asked for; `finish` refuses the others. The first error wins:
// after it every getter returns a harmless value.
class Object {
 public:
  Object(const json* value, std::string path, std::string& error)
      : value_(value), path_(std::move(path)), error_(error) {
    if (value_ != nullptr && !value_->is_object()) {
      fail(path_.empty() ? "the description must be an object" : ticked(path_) + " must be an object");
      value_ = nullptr;
    }
  }

  double number(const char* name, double low, double high) {
    const json* field = take(name);
    if (field == nullptr) {
      return low;
    }
    if (!field->is_number()) {
      return fail(ticked(at(name)) + " must be a number"), low;
    }
    const double value = field->get<double>();
    if (!std::isfinite(value) || value < low || value > high) {
      return fail(ticked(at(name)) + " is " + field->dump() + ", not in " + number_text(low) + " to " +
                  number_text(high)),
             low;
    }
    return value;
  }
  double cycles(const char* name) { return number(name, 0, kMaxCycles); }
  double rate(const char* name) { return number(name, kMinRate, kMaxRate); }

  int64_t integer(const char* name, int64_t low, int64_t high) {
    const json* field = take(name);
    if (field == nullptr) {
      return low;
    }
    if (!field->is_number_integer()) {
      return fail(ticked(at(name)) + " must be a whole number"), low;
    }
    const bool too_big = field->is_number_unsigned() && field->get<uint64_t>() > static_cast<uint64_t>(high);
    if (too_big || field->get<int64_t>() < low || field->get<int64_t>() > high) {
      return fail(ticked(at(name)) + " is " + field->dump() + ", not in " + std::to_string(low) + " to " +
                  std::to_string(high)),
             low;
    }
    return field->get<int64_t>();
  }
  int count(const char* name, int64_t high = kMaxCount) { return static_cast<int>(integer(name, 1, high)); }

  std::string text(const char* name) {
    const json* field = take(name);
    if (field == nullptr) {
      return "";
    }
    if (!field->is_string()) {
      return fail(ticked(at(name)) + " must be a string"), "";
    }
    return field->get<std::string>();
  }

  // A string that `parse` knows; `fallback` after an error.
  template <typename E>
  E word(const char* name, const std::function<std::optional<E>(std::string_view)>& parse, E fallback) {
    const std::string spelled = text(name);
    if (failed()) {
      return fallback;
    }
    const std::optional<E> value = parse(spelled);
    if (!value) {
      fail(ticked(at(name)) + " has the unknown value " + json(spelled).dump());
    }
    return value.value_or(fallback);
  }

  Object object(const char* name) { return Object(take(name), at(name), error_); }
  // Fields of an object whose names are data.
  Object field(const std::string& name) { return Object(take(name.c_str()), at(name.c_str()), error_); }

  size_t array_size(const char* name, size_t most) {
    const json* field = take(name);
    if (field == nullptr) {
      return 0;
    }
    if (!field->is_array()) {
      return fail(ticked(at(name)) + " must be an array"), 0;
    }
    if (field->size() > most) {
      return fail(ticked(at(name)) + " has " + std::to_string(field->size()) + " entries, more than " +
                  std::to_string(most)),
             0;
    }
    return field->size();
  }
  Object element(const char* name, size_t index) {
    const json* array = failed() ? nullptr : &value_->at(name);
    return Object(array != nullptr ? &array->at(index) : nullptr, at(name) + "[" + std::to_string(index) + "]", error_);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    if (value_ != nullptr) {
      for (const auto& item : value_->items()) {
        result.push_back(item.key());
      }
    }
    return result;
  }
  bool has(const char* name) const { return value_ != nullptr && value_->contains(name); }
  std::string at(const char* name) const { return path_.empty() ? name : path_ + "." + name; }
  bool failed() const { return value_ == nullptr || !error_.empty(); }
  void fail(const std::string& what) {
    if (error_.empty()) {
      error_ = what;
    }
  }

  void finish() {
    for (const std::string& name : names()) {
      if (!taken_.contains(name)) {
        fail("unknown field " + ticked(at(name.c_str())));
      }
    }
  }

 private:
  const json* take(const char* name) {
    taken_.insert(name);
    if (failed()) {
      return nullptr;
    }
    const auto found = value_->find(name);
    if (found == value_->end()) {
      fail("missing field " + ticked(at(name)));
      return nullptr;
    }
    return &*found;
  }

  const json* value_;
  std::string path_;
  std::string& error_;
  std::set<std::string> taken_;
};

std::optional<CoreKind> core_from_spelling(std::string_view text) {
  for (CoreKind kind : {CoreKind::Vec, CoreKind::Cube}) {
    if (spelling(kind) == text) {
      return kind;
    }
  }
  return std::nullopt;
}
std::optional<IsaFamily> family_from_spelling(std::string_view text) {
  for (IsaFamily family : {IsaFamily::A2A3, IsaFamily::A5}) {
    if (spelling(family) == text) {
      return family;
    }
  }
  return std::nullopt;
}
std::optional<isa::Pipe> instruction_pipe(std::string_view text) {
  const std::optional<isa::Pipe> pipe = isa::pipe_from_spelling(text);
  return pipe == isa::Pipe::All ? std::nullopt : pipe;
}

std::string read_name(Object& root) {
  const std::string name = root.text("name");
  bool good = !name.empty() && name.size() <= 64;
  for (char c : name) {
    good = good && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                    c == '-' || c == '.');
  }
  if (!good) {
    root.fail("`name` must have 1 to 64 letters, digits, `_`, `-` or `.`");
  }
  return name;
}

void read_cores(Object& root, Target& target) {
  Object cores = root.object("cores");
  target.cube_cores = cores.count("cube");
  target.vec_cores = cores.count("vec");
  cores.finish();
}

void read_cluster(Object& root, Target& target) {
  Object cluster = root.object("cluster");
  target.vec_per_cube = cluster.count("vec_per_cube", 2);
  target.ring_latency_cycles = cluster.cycles("ring_latency_cycles");
  const std::string wait = cluster.text("ring_wait");
  target.ring_wait_scalar = wait == "scalar";
  if (!cluster.failed() && wait != "scalar" && wait != "pipe") {
    cluster.fail(ticked(cluster.at("ring_wait")) + " must be `scalar` or `pipe`");
  }
  cluster.finish();
}

void read_spaces(Object& root, Target& target) {
  Object spaces = root.object("spaces");
  for (int i = static_cast<int>(Space::Vec); i < kSpaceCount; ++i) {
    const std::string name(spelling(static_cast<Space>(i)));
    Object space = spaces.field(name);
    SpaceInfo& out = target.spaces[static_cast<size_t>(i)];
    out.bytes = space.integer("bytes", 0, kMaxBytes);
    out.align = space.integer("align", 32, 4096);
    if ((out.align & (out.align - 1)) != 0) {
      space.fail(ticked(space.at("align")) + " is " + std::to_string(out.align) + ", not a power of two");
    }
    out.core = space.word<CoreKind>("core", core_from_spelling, CoreKind::Vec);
    space.finish();
  }
  spaces.finish();
}

// Ways from one core of a cluster to another; the core that sends has the pipe.
bool crosses(const DataPath& path) {
  return (path.from == Space::Acc && path.to == Space::Vec) || (path.from == Space::Vec && path.to == Space::Mat);
}

void check_path(Object& object, const DataPath& path, const Target& target) {
  for (Space end : {path.from, path.to}) {
    if (end != Space::Gm && target.space(end).bytes == 0) {
      object.fail(ticked(object.at("from")) + ": the target has no " + ticked(spelling(end)) + " memory");
    } else if (end != Space::Gm && target.space(end).core != path.core && !(end == path.to && crosses(path))) {
      object.fail(ticked(object.at("core")) + " is " + ticked(spelling(path.core)) + ", but " + ticked(spelling(end)) +
                  " memory belongs to the other kind of core");
    }
  }
  if (path.from == Space::Gm && path.to == Space::Gm) {
    object.fail(ticked(object.at("from")) + ": a path must end in a core's memory");
  }
  if (target.path(path.from, path.to, path.core) != nullptr) {
    object.fail(ticked(object.at("from")) + ": a second path from " + ticked(spelling(path.from)) + " to " +
                ticked(spelling(path.to)));
  }
}

void read_paths(Object& root, Target& target) {
  const size_t count = root.array_size("paths", kMaxPaths);
  for (size_t i = 0; i < count; ++i) {
    Object object = root.element("paths", i);
    DataPath path;
    path.from = object.word<Space>("from", space_from_spelling, Space::Gm);
    path.to = object.word<Space>("to", space_from_spelling, Space::Gm);
    path.pipe = object.word<isa::Pipe>("pipe", instruction_pipe, isa::Pipe::S);
    path.core = object.word<CoreKind>("core", core_from_spelling, CoreKind::Vec);
    path.bytes_per_cycle = object.rate("bytes_per_cycle");
    path.start_cycles = object.cycles("start_cycles");
    path.issue_cycles = object.cycles("issue_cycles");
    path.latency_cycles = object.cycles("latency_cycles");
    path.row_cycles = object.cycles("row_cycles");
    object.finish();
    if (object.failed()) {
      return;
    }
    check_path(object, path, target);
    target.paths.push_back(path);
  }
}

void read_vector(Object& root, Target& target) {
  Object vector = root.object("vector");
  target.vector_repeat_bytes = static_cast<int>(vector.integer("repeat_bytes", 32, 4096));
  Object costs = vector.object("costs");
  for (int i = isa::kFirstVectorClass; i < isa::kTimingClassCount; ++i) {
    const auto timing = static_cast<isa::TimingClass>(i);
    Object object = costs.field(std::string(isa::spelling(timing)));
    VectorCost& cost = target.vector_costs[timing];
    cost.ii = object.cycles("ii");
    cost.ii16 = object.cycles("ii16");
    cost.head = object.cycles("head");
    cost.tail = object.cycles("tail");
    cost.floor = object.cycles("floor");
    object.finish();
  }
  costs.finish();
  vector.finish();
}

// Every type that the family multiplies needs a rate, and no other may have one.
void read_matmul(Object& root, Target& target) {
  Object matmul = root.object("matmul");
  target.matmul_head_cycles = matmul.cycles("head_cycles");
  target.matmul_idle_head_cycles = matmul.number("idle_head_cycles", target.matmul_head_cycles, kMaxCycles);
  Object rates = matmul.object("macs_per_cycle");
  for (int code = 1; code < 32; ++code) {
    const auto type = static_cast<DType>(code);
    if (isa::is_matmul(is_float(type) ? DType::F32 : DType::I32, type, type, target.family)) {
      target.matmul_macs_per_cycle[type] = rates.rate(std::string(spelling(type)).c_str());
    }
  }
  rates.finish();
  matmul.finish();
}

void read_memory(Object& root, Target& target) {
  Object memory = root.object("memory");
  target.hbm_bytes_per_cycle = memory.rate("hbm_bytes_per_cycle");
  target.l2_bytes_per_cycle = memory.rate("l2_bytes_per_cycle");
  target.l2_bytes = memory.integer("l2_bytes", 0, kMaxBytes);
  memory.finish();
}

void read_scalar(Object& root, Target& target) {
  Object scalar = root.object("scalar");
  target.issue_cycles = scalar.cycles("issue_cycles");
  target.scalar_cycles = scalar.cycles("step_cycles");
  scalar.finish();
  Object sync = root.object("sync");
  target.event_ids = sync.count("event_ids", 32);
  target.sync_cycles = sync.cycles("cycles");
  target.flag_latency_cycles = sync.cycles("flag_latency_cycles");
  sync.finish();
}

void read_runtime(Object& root, Target& target) {
  Object runtime = root.object("runtime");
  target.launch_cycles = runtime.cycles("launch_cycles");
  target.dispatch_cycles = runtime.cycles("dispatch_cycles");
  target.pickup_cycles = runtime.cycles("pickup_cycles");
  target.complete_cycles = runtime.cycles("complete_cycles");
  runtime.finish();
}

// Where the numbers are from: for people, not read by anybody.
void read_sources(Object& root) {
  if (!root.has("sources")) {
    return;
  }
  Object sources = root.object("sources");
  for (const std::string& name : sources.names()) {
    sources.text(name.c_str());
  }
}

Target read_target(const json& document, std::string& error) {
  Target target;
  Object root(&document, "", error);
  target.name = read_name(root);
  target.description = root.text("description");
  target.family = root.word<IsaFamily>("family", family_from_spelling, IsaFamily::A2A3);
  target.clock_ghz = root.number("clock_ghz", 1e-3, 1e3);
  target.queue_depth = root.count("queue_depth");
  target.left_layout = root.word<Layout>("left_layout", layout_from_spelling, Layout::Zz);
  if (target.left_layout != Layout::Zz && target.left_layout != Layout::Nz) {
    root.fail("`left_layout` must be `zz` or `nz`");
  }
  read_cores(root, target);
  read_cluster(root, target);
  read_spaces(root, target);
  read_paths(root, target);
  read_vector(root, target);
  read_matmul(root, target);
  read_memory(root, target);
  read_scalar(root, target);
  read_runtime(root, target);
  read_sources(root);
  root.finish();
  return target;
}

// Deepest nesting of brackets outside strings: known before a parser has to survive it.
int nesting_depth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\' ? 1 : 0;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

// Tells of a field that stands twice in one object; the parser itself would silently take the last.
class RepeatFinder {
 public:
  bool operator()(int /*depth*/, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) {
      seen_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      seen_.pop_back();
    } else if (event == json::parse_event_t::key && !seen_.back().insert(value.get<std::string>()).second) {
      repeated_ = value.get<std::string>();
    }
    return true;
  }
  const std::optional<std::string>& repeated() const { return repeated_; }

 private:
  std::vector<std::set<std::string>> seen_;
  std::optional<std::string> repeated_;
};

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325U;
  for (char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  }
  return hash;
}

Target parse_checked(std::string_view text, std::string& error) {
  if (text.size() > kMaxText) {
    error = "the file has " + std::to_string(text.size()) + " bytes, more than " + std::to_string(kMaxText);
    return {};
  }
  if (nesting_depth(text) > kMaxDepth) {
    error = "brackets are nested deeper than " + std::to_string(kMaxDepth) + " levels";
    return {};
  }
  RepeatFinder repeats;
  const json document = json::parse(text.begin(), text.end(), std::ref(repeats));
  if (repeats.repeated()) {
    error = "field " + json(*repeats.repeated()).dump() + " stands twice in an object";
    return {};
  }
  Target target = read_target(document, error);
  target.json = std::string(text);
  target.hash = fnv1a(document.dump());
  return target;
}

}  // namespace

Result<Target> parse_target(std::string_view text, const std::string& subject, DiagnosticSink& sink) {
  std::string error;
  try {
    Target target = parse_checked(text, error);
    if (error.empty()) {
      return target;
    }
  } catch (const json::parse_error& failure) {
    error = "not JSON: error at byte " + std::to_string(failure.byte);
  } catch (const std::exception&) {
    error = "not JSON: a number or a string is out of range";
  }
  sink.report(DiagId::TargetInvalid, subject, {error});
  return Reported{};
}

}  // namespace pto
