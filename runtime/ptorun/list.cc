#include "runtime/ptorun/list.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "runtime/ptorun/arguments.h"
#include "src/support/text.h"

namespace pto::ptorun {
namespace {

using Json = nlohmann::ordered_json;
using object::Core;
using object::Param;
using object::ParamMode;
using object::Program;

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string number(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string direction(const Param& param) {
  if (!param.is_tensor) {
    return "scalar";
  }
  return param.mode == ParamMode::In ? "in" : param.mode == ParamMode::Out ? "out" : "inout";
}

std::string dim_list(const Program& program) {
  std::string text;
  for (const SymId dim : program.dims) {
    text += (text.empty() ? "[" : ", ") + program.symbols[dim.index()].name;
  }
  return text.empty() ? "" : text + "]";
}

int64_t instruction_count(const Core& core) {
  return std::count_if(core.code.begin(), core.code.end(),
                       [](const object::Stmt& stmt) { return stmt.kind == object::StmtKind::Inst; });
}

// Doc comments may have several lines; all are indented alike.
std::string doc_lines(const std::string& doc, const std::string& indent) {
  std::string text;
  for (size_t begin = 0; begin < doc.size();) {
    const size_t end = std::min(doc.find('\n', begin), doc.size());
    const size_t first = std::min(doc.find_first_not_of(' ', begin), end);
    text += indent + doc.substr(first, end - first) + "\n";
    begin = end + 1;
  }
  return text;
}

std::string task_text(const object::Object& object, const Program& program, const object::Task& task) {
  const Core& core = object.cores[task.core];
  std::string text = "  task " + task.name + " = " + core.name + " (" + std::string(spelling(core.kind)) + ")";
  if (task.vec) {
    text += " with " + object.cores[task.vec->core].name + " (" + std::to_string(task.vec->lanes) +
            (task.vec->lanes == 1 ? " lane)" : " lanes)");
  }
  text += ", blocks " + program.exprs.print(task.blocks, program.symbols);
  for (size_t i = 0; i < task.after.size(); ++i) {
    text += (i == 0 ? ", after " : ", ") + program.tasks[task.after[i]].name;
  }
  return text + "\n";
}

std::string program_text(const object::Object& object, const Program& program) {
  std::string text = "\nentry " + program.name + dim_list(program) + "\n" + doc_lines(program.doc, "  ");
  size_t width = 0;
  std::vector<std::string> heads;
  for (const Param& param : program.params) {
    std::string head = param.name + ": " + parameter_type(program, param);
    if (param.default_value) {
      head += " = " + number(*param.default_value);
    }
    heads.push_back(direction(param) + std::string(8 - direction(param).size(), ' ') + head);
    width = std::max(width, heads.back().size());
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    std::string doc = program.params[i].doc;
    std::replace(doc.begin(), doc.end(), '\n', ' ');
    const size_t first = std::min(doc.find_first_not_of(' '), doc.size());
    text += "  " + heads[i] +
            (first == doc.size() ? "" : std::string(width - heads[i].size() + 2, ' ') + doc.substr(first)) + "\n";
  }
  for (const object::Constraint& constraint : program.constraints) {
    text += "  where " + constraint.text + "\n";
  }
  for (const object::Task& task : program.tasks) {
    text += task_text(object, program, task);
  }
  return text;
}

Json param_json(const Program& program, const Param& param) {
  Json json;
  json["name"] = param.name;
  json["kind"] = direction(param);
  json["dtype"] = spelling(param.dtype);
  if (param.is_tensor) {
    json["dims"] = Json::array();
    for (const ExprId dim : param.dims) {
      json["dims"].push_back(program.exprs.print(dim, program.symbols));
    }
  } else if (param.default_value) {
    json["default"] = *param.default_value;
  }
  json["doc"] = param.doc;
  return json;
}

Json program_json(const object::Object& object, const Program& program) {
  Json json;
  json["name"] = program.name;
  json["doc"] = program.doc;
  json["dims"] = Json::array();
  for (const SymId dim : program.dims) {
    json["dims"].push_back(program.symbols[dim.index()].name);
  }
  json["params"] = Json::array();
  for (const Param& param : program.params) {
    json["params"].push_back(param_json(program, param));
  }
  json["where"] = Json::array();
  for (const object::Constraint& constraint : program.constraints) {
    json["where"].push_back(constraint.text);
  }
  json["tasks"] = Json::array();
  for (const object::Task& task : program.tasks) {
    Json after = Json::array();
    for (const uint32_t earlier : task.after) {
      after.push_back(program.tasks[earlier].name);
    }
    json["tasks"].push_back({{"name", task.name},
                             {"core", object.cores[task.core].name},
                             {"blocks", program.exprs.print(task.blocks, program.symbols)},
                             {"after", after}});
    if (task.vec) {
      json["tasks"].back()["lanes"] = {{"core", object.cores[task.vec->core].name}, {"count", task.vec->lanes}};
    }
  }
  return json;
}

}  // namespace

std::string list_text(const object::Object& object, const Target& target, const std::string& subject) {
  std::string text = subject + ": object of version " + std::to_string(object.version) + " for target " + target.name +
                     " (" + hex(target.hash) + ")\n";
  for (const Program& program : object.programs) {
    text += program_text(object, program);
  }
  if (!object.cores.empty()) {
    text += "\n";
  }
  for (const Core& core : object.cores) {
    const int64_t count = instruction_count(core);
    text += "core " + std::string(spelling(core.kind)) + " " + core.name + ": " + std::to_string(count) +
            (count == 1 ? " instruction, " : " instructions, ") + std::to_string(core.buffers.size()) +
            (core.buffers.size() == 1 ? " buffer" : " buffers");
    if (!core.rings.empty()) {
      text += ", " + std::to_string(core.rings.size()) + (core.rings.size() == 1 ? " ring" : " rings");
    }
    text += "\n";
  }
  return printable(text, true);
}

std::string list_json(const object::Object& object, const Target& target, const std::string& subject) {
  Json json;
  json["schema"] = "ptorun-list/1";
  json["object"] = subject;
  json["version"] = object.version;
  json["target"] = {{"name", target.name}, {"hash", hex(target.hash)}};
  json["entries"] = Json::array();
  for (const Program& program : object.programs) {
    json["entries"].push_back(program_json(object, program));
  }
  json["cores"] = Json::array();
  for (const Core& core : object.cores) {
    json["cores"].push_back({{"name", core.name},
                             {"kind", spelling(core.kind)},
                             {"doc", core.doc},
                             {"instructions", instruction_count(core)},
                             {"buffers", core.buffers.size()}});
    if (!core.rings.empty()) {
      json["cores"].back()["rings"] = core.rings.size();
    }
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pto::ptorun
