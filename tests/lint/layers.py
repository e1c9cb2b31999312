"""Who may include whom.

The picture is the `pto_library(... USES ...)` list of CMakeLists.txt; this test holds every #include line against it, and
the list itself against the rules that must survive any edit of it (the simulator knows nothing of the compiler).
"""

import os
import re

import common

# The library that owns a header of include/pto.
PUBLIC_OWNER = {
    "isa.h": "isa", "isa.def": "isa", "formats.def": "isa", "tile.h": "isa", "target.h": "isa",
    "object.h": "object", "runtime.h": "runtime", "compiler.h": "driver",
}
# Generated headers, by the one library that may see them.
GENERATED_OWNER = {"ptob_generated.h": "object", "builtin_targets.inc": "isa"}
ANTLR_GENERATED = re.compile(r"^(Pto(Lexer|Parser|Visitor|BaseVisitor)\.h|antlr4-[\w-]+\.h)$")
ANTLR_FILES_MOST = 2
# Foreign libraries: the folder or file an include starts with, and who may use it. None of them in a header, so that no
# more than a handful of files pays for them; Highway's own way of working needs `-inl.h` headers.
FOREIGN = {
    "CLI": {"driver", "ptorun_cli"},
    "nlohmann": {"support", "isa", "driver", "runtime", "ptorun_cli"},
    "flatbuffers": {"object"},
    "hwy": {"sem"},
    "spdlog": {"driver", "ptorun_cli"},
    "antlr4-runtime": {"frontend"},
    "antlr4-runtime.h": {"frontend"},
}
# What a library must never reach, whatever the link lists say.
COMPILER = {"ir", "frontend", "passes", "eval", "codegen", "driver"}
NEVER = {
    "runtime": COMPILER, "ptorun_cli": COMPILER,
    "sem": COMPILER | {"timing", "object", "runtime"},
    "timing": COMPILER | {"sem", "object", "runtime"},
    "object": COMPILER | {"sem", "timing", "runtime"},
    "isa": COMPILER | {"sem", "timing", "object", "runtime"},
    "support": COMPILER | {"isa", "sem", "timing", "object", "runtime"},
    "ir": {"runtime", "sem", "timing", "object", "frontend", "passes", "eval", "codegen", "driver"},
    "frontend": {"runtime", "passes", "eval", "codegen", "driver"},
    "passes": {"runtime", "frontend", "codegen", "driver"},
    "eval": {"runtime", "frontend", "passes", "codegen", "driver"},
    "codegen": {"runtime", "frontend", "passes", "eval", "driver"},
    "driver": {"runtime", "ptorun_cli"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def link_lists(root):
    """{library: (folder, [libraries it uses])} as CMakeLists.txt says."""
    lists = {}
    for name, folder, rest in re.findall(r"^pto_library\((\w+)\s+(\S+?)(?:\s+([^)]*))?\)$",
                                         common.read(root, "CMakeLists.txt"), re.M):
        words = rest.split()
        uses = words[words.index("USES") + 1:] if "USES" in words else []
        lists[name] = (folder, uses)
    return lists


def closure(lists, name):
    seen, todo = set(), [name]
    while todo:
        for used in lists.get(todo.pop(), ("", []))[1]:
            if used not in seen:
                seen.add(used)
                todo.append(used)
    return seen


def owner(path, lists):
    """The library that the file at `path` (from the root) belongs to, or None."""
    if path.startswith("include/pto/object/"):
        return "object"
    if path.startswith("include/pto/"):
        return PUBLIC_OWNER.get(os.path.basename(path), "support")
    best = None
    for name, (folder, _) in lists.items():
        if path.startswith(folder + "/") and (best is None or len(folder) > len(lists[best][0])):
            best = name
    return best


def resolve(root, includer, text):
    """The project file that an include names, from the root, or None when it is none of ours."""
    for base in (os.path.dirname(includer), "include", ""):
        candidate = os.path.normpath(os.path.join(base, text))
        if not candidate.startswith("..") and os.path.isfile(os.path.join(root, candidate)):
            return candidate
    return None


def is_antlr(text):
    return bool(ANTLR_GENERATED.match(text)) or text.split("/")[0] in ("antlr4-runtime", "antlr4-runtime.h")


def check_foreign(place, name, library, text):
    problems = []
    key = "antlr4-runtime" if is_antlr(text) else text.split("/")[0]
    if key not in FOREIGN:
        return problems
    if library not in FOREIGN[key]:
        problems.append(f"{place}: {library} must not use {key}")
    light = text == "nlohmann/json_fwd.hpp" or (key == "hwy" and name.endswith("-inl.h"))
    if name.endswith(".h") and not light:
        problems.append(f"{place}: a header includes {text}")
    return problems


def check_file(root, name, lists, reach):
    library = owner(name, lists)
    if library is None:
        return [f"{name}:1: belongs to no library of CMakeLists.txt"], False
    problems, antlr = [], False
    text = common.strip_comments(common.read(root, name))
    for match in INCLUDE.finditer(text):
        quote, included = match.groups()
        place = f"{name}:{text.count(chr(10), 0, match.start(1)) + 1}"
        antlr = antlr or is_antlr(included)
        problems += check_foreign(place, name, library, included)
        if quote == "<" or is_antlr(included):
            continue
        if included in GENERATED_OWNER:
            if library != GENERATED_OWNER[included]:
                problems.append(f"{place}: {included} is for {GENERATED_OWNER[included]} only")
            continue
        target = resolve(root, name, included)
        if target is None:
            if included.split("/")[0] not in FOREIGN:
                problems.append(f"{place}: no file `{included}` in the project")
            continue
        used = owner(target, lists)
        if used is None:
            problems.append(f"{place}: {target} belongs to no library")
        elif used != library and used not in reach[library]:
            problems.append(f"{place}: {library} must not include {used} ({target})")
    return problems, antlr


def check(root):
    lists = link_lists(root)
    if not lists:
        return ["CMakeLists.txt:1: no pto_library lines found"]
    reach = {name: closure(lists, name) for name in lists}
    problems = []
    for name in sorted(lists):
        if name not in NEVER:
            problems.append(f"CMakeLists.txt:1: library {name} is not in the picture of tests/lint/layers.py")
        for wrong in sorted(reach[name] & NEVER.get(name, set())):
            problems.append(f"CMakeLists.txt:1: {name} must never reach {wrong}")
        if name in reach[name]:
            problems.append(f"CMakeLists.txt:1: {name} reaches itself")
    antlr_files = []
    for name in common.code_files(root):
        found, antlr = check_file(root, name, lists, reach)
        problems += found
        if antlr:
            antlr_files.append(name)
    if len(antlr_files) > ANTLR_FILES_MOST:
        problems.append(f"{antlr_files[-1]}:1: more than {ANTLR_FILES_MOST} files include ANTLR: {', '.join(antlr_files)}")
    return problems


if __name__ == "__main__":
    common.main(check)
