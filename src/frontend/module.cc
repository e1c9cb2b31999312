// Constants and `-D` values.
#include "src/frontend/module.h"

#include <charconv>

#include "src/frontend/lower.h"

namespace pto::frontend {

bool ModuleContext::define_is_dynamic(const std::string& name) {
  const auto given = options.defines.find(name);
  if (given == options.defines.end() || given->second != "?") {
    return false;
  }
  used_defines.insert(name);
  return true;
}

std::optional<int64_t> ModuleContext::define(const std::string& name) {
  const auto given = options.defines.find(name);
  if (given == options.defines.end()) {
    return std::nullopt;
  }
  used_defines.insert(name);
  std::string text = given->second;
  std::erase(text, '_');
  const bool negative = text.starts_with('-');
  const size_t start = negative ? 1 : 0;
  const bool hex = text.size() > start + 2 && text[start] == '0' && (text[start + 1] == 'x' || text[start + 1] == 'X');
  const char* begin = text.data() + start + (hex ? 2 : 0);
  const char* end = text.data() + text.size();
  int64_t value = 0;
  const auto [stop, code] = std::from_chars(begin, end, value, hex ? 16 : 10);
  if (code != std::errc() || stop != end || begin == end || *begin == '-') {
    sink.report(DiagId::InvalidDefine, "-D " + name,
                {name, given->second, "expected an integer, or `?` for a dynamic dim"});
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::optional<int64_t> ModuleContext::constant(const std::string& name) {
  Constant& constant = constants.at(name);
  switch (constant.state) {
    case Constant::State::Done:
      return constant.value;
    case Constant::State::Failed:
      return std::nullopt;
    case Constant::State::Busy:
      sink.report(DiagId::Recursion, constant.item->span, {name, "its value needs itself"});
      constant.state = Constant::State::Failed;
      return std::nullopt;
    case Constant::State::New:
      break;
  }
  constant.state = Constant::State::Busy;
  std::optional<int64_t> value;
  if (options.defines.contains(name)) {
    if (define_is_dynamic(name)) {
      sink.report(DiagId::InvalidDefine, "-D " + name, {name, "?", "it is a constant, and only a dim can be dynamic"});
    } else {
      value = define(name);
    }
  } else if (constant_depth >= kDeepestConstant) {
    sink.report(DiagId::NestingTooDeep, constant.item->span, {std::to_string(kDeepestConstant)});
  } else {
    ++constant_depth;
    FunctionInfo scratch;
    scratch.file = constant.file;
    scratch.item = constant.item;
    scratch.function.kind = ir::FunctionKind::Program;
    value = Lower(*this, scratch).constant_item(constant.item->value, "constant `" + name + "`");
    --constant_depth;
  }
  constant.state = value ? Constant::State::Done : Constant::State::Failed;
  constant.value = value.value_or(0);
  return value;
}

}  // namespace pto::frontend
