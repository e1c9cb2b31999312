// Files and imports, then items in their order: names, signatures, bodies, and what calls what.
#include "src/frontend/frontend.h"

#include <algorithm>
#include <utility>

#include "src/frontend/lower.h"
#include "src/frontend/parse.h"

namespace pto::frontend {
namespace {

constexpr size_t kMostFiles = 1024;
constexpr size_t kDeepestImport = 64;

ir::FunctionKind function_kind(ast::ItemKind kind) {
  switch (kind) {
    case ast::ItemKind::Graph:
      return ir::FunctionKind::Graph;
    case ast::ItemKind::FusedGraph:
      return ir::FunctionKind::FusedGraph;
    case ast::ItemKind::Kernel:
      return ir::FunctionKind::Kernel;
    case ast::ItemKind::Core:
      return ir::FunctionKind::Core;
    case ast::ItemKind::Pair:
      return ir::FunctionKind::Pair;
    default:
      return ir::FunctionKind::Program;
  }
}

// "a/b/../c.pto" to "a/c.pto": by text, so that one file has one name. `..` in front stays.
std::string normalize(const std::string& path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= path.size()) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    begin = end + 1;
  }
  std::string out = path.starts_with('/') ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) {
    out += (i == 0 ? "" : "/") + parts[i];
  }
  return out;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

class Compilation {
 public:
  Compilation(SourceManager& sources, const Options& options, DiagnosticSink& sink, std::vector<std::string>* imported)
      : sources_(sources), context_(options, sink), imported_(imported) {}

  Result<ir::Module> run(uint16_t file) {
    const size_t errors = context_.sink.error_count();
    loading_.push_back(normalize(sources_.name(file)));
    loaded_.insert(loading_.back());
    // Without a file's text every use of its names would be an error of its own.
    if (!load(file)) {
      return Reported{};
    }
    for (const auto& [name, constant] : context_.constants) {
      context_.constant(name);
    }
    std::vector<std::unique_ptr<Lower>> lowerings;
    for (const auto& info : context_.functions) {
      lowerings.push_back(std::make_unique<Lower>(context_, *info));
      lowerings.back()->signature();
    }
    for (const auto& lowering : lowerings) {
      lowering->body();
    }
    for (const auto& lowering : lowerings) {
      lowering->pair();
    }
    if (context_.sink.error_count() == errors) {
      check_rings();
    }
    check_recursion();
    check_defines();
    if (context_.sink.error_count() != errors) {
      return Reported{};
    }
    ir::Module module;
    for (const auto& info : context_.functions) {
      module.functions.push_back(std::move(info->function));
    }
    return module;
  }

 private:
  bool load(uint16_t file) {
    Result<ast::File> parsed = parse(sources_, file, context_.sink);
    if (!parsed) {
      return false;
    }
    context_.files.push_back(std::make_unique<ast::File>(std::move(*parsed)));
    const ast::File& tree = *context_.files.back();
    bool ok = true;
    for (const ast::Item& item : tree.items) {
      if (item.kind == ast::ItemKind::Import) {
        ok = import(item, file) && ok;
      } else {
        declare(tree, item);
      }
    }
    return ok;
  }

  bool import(const ast::Item& item, uint16_t importer) {
    const Options& options = context_.options;
    std::vector<std::string> candidates;
    if (item.path.starts_with('/')) {
      candidates.push_back(normalize(item.path));
    } else {
      candidates.push_back(normalize(folder_of(sources_.name(importer)) + item.path));
      for (const std::string& folder : options.include_paths) {
        candidates.push_back(normalize(folder + "/" + item.path));
      }
    }
    for (const std::string& path : candidates) {
      if (const auto open = std::find(loading_.begin(), loading_.end(), path); open != loading_.end()) {
        std::string chain;
        for (auto each = open; each != loading_.end(); ++each) {
          chain += *each + " -> ";
        }
        context_.sink.report(DiagId::ImportCycle, item.path_span, {path, chain + path});
        return false;
      }
      if (loaded_.contains(path)) {
        return true;
      }
      auto text = options.read_file ? options.read_file(path) : std::nullopt;
      if (!text) {
        continue;
      }
      if (loaded_.size() >= kMostFiles || loading_.size() >= kDeepestImport) {
        context_.sink.report(DiagId::NestingTooDeep, item.path_span, {std::to_string(kDeepestImport)});
        return false;
      }
      loaded_.insert(path);
      if (imported_ != nullptr) {
        imported_->push_back(path);
      }
      loading_.push_back(path);
      const bool ok = load(sources_.add(path, std::move(*text)));
      loading_.pop_back();
      return ok;
    }
    auto handle = context_.sink.report(DiagId::ImportNotFound, item.path_span, {item.path});
    for (const std::string& path : candidates) {
      handle.note({}, "looked for `" + path + "`");
    }
    return false;
  }

  void declare(const ast::File& file, const ast::Item& item) {
    for (const ast::PairMember& member : item.members) {
      context_.paired.insert(member.core.text);
    }
    const std::string& name = item.name.text;
    const bool value = item.kind == ast::ItemKind::Const || item.kind == ast::ItemKind::Inline;
    if (value && is_builtin(name)) {
      context_.sink.report(DiagId::DuplicateName, item.name.span, {name}).note({}, "it is built in");
      return;
    }
    const auto [place, fresh] = context_.declared.emplace(name, item.name.span);
    if (!fresh) {
      context_.sink.report(DiagId::DuplicateName, item.name.span, {name}).note(place->second, "declared here");
      return;
    }
    if (item.kind == ast::ItemKind::Const) {
      context_.constants[name] = {&file, &item, Constant::State::New, 0};
    } else if (item.kind == ast::ItemKind::Inline) {
      context_.inlines[name] = {&file, &item};
    } else {
      auto info = std::make_unique<FunctionInfo>();
      info->file = &file;
      info->item = &item;
      info->function.kind = function_kind(item.kind);
      context_.function_names[name] = info.get();
      context_.functions.push_back(std::move(info));
    }
  }

  // A core with rings runs as half of a pair only.
  void check_rings() {
    for (const auto& info : context_.functions) {
      const ir::Function& function = info->function;
      if (!function.rings.empty() && !context_.paired.contains(function.name)) {
        context_.sink.report(DiagId::WrongPlace, function.ring_spans.front(),
                             {"`ring`", "in a core that no `core pair` names"});
      }
      for (const auto& [name, span] : info->calls) {
        const ir::Function& callee = context_.function_names.at(name)->function;
        if (!callee.rings.empty()) {
          context_.sink.report(DiagId::NotCallable, span, {name, "it is half of a pair: call the pair"})
              .note(callee.span, "declared here");
        }
      }
    }
  }

  // Depth first, by hand: a chain of calls may be as long as the file.
  void check_recursion() {
    std::map<std::string, int> state;  // 1: open, 2: done
    for (const auto& root : context_.functions) {
      std::vector<std::pair<const FunctionInfo*, size_t>> path = {{root.get(), 0}};
      if (state[root->function.name] != 0) {
        continue;
      }
      state[root->function.name] = 1;
      while (!path.empty()) {
        const FunctionInfo* function = path.back().first;
        const size_t next = path.back().second++;
        if (next >= function->calls.size()) {
          state[function->function.name] = 2;
          path.pop_back();
          continue;
        }
        const auto& [callee, span] = function->calls[next];
        int& seen = state[callee];
        if (seen == 0) {
          seen = 1;
          path.emplace_back(context_.function_names.at(callee), 0);
        } else if (seen == 1) {
          std::string chain;
          bool on = false;
          for (const auto& [each, place] : path) {
            on = on || each->function.name == callee;
            chain += on ? each->function.name + " -> " : "";
          }
          context_.sink.report(DiagId::Recursion, span, {callee, chain + callee});
        }
      }
    }
  }

  void check_defines() {
    for (const auto& [name, value] : context_.options.defines) {
      if (!context_.used_defines.contains(name)) {
        context_.sink.report(DiagId::UnusedDefine, "-D " + name, {name});
      }
    }
  }

  SourceManager& sources_;
  ModuleContext context_;
  std::vector<std::string>* imported_;
  std::vector<std::string> loading_;
  std::set<std::string> loaded_;
};

}  // namespace

Result<ir::Module> compile_source(SourceManager& sources, uint16_t file, const Options& options, DiagnosticSink& sink,
                                  std::vector<std::string>* imported) {
  return Compilation(sources, options, sink, imported).run(file);
}

}  // namespace pto::frontend
