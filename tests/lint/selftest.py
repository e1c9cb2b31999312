"""Plants one violation a time in a small made-up project and demands that the right check finds it, and no other way round."""

import sys
import tempfile
from pathlib import Path

import determinism
import diagnostics
import docs_links
import file_size
import layers
import opcode_switch
import tidy_text
import type_names

CMAKE = """\
pto_library(support src/support)
pto_library(isa src/isa USES support)
pto_library(sem src/sem USES isa)
pto_library(object src/object USES isa)
pto_library(ir src/ir USES isa)
pto_library(frontend src/frontend USES ir)
pto_library(runtime runtime EXCLUDE ptorun USES object sem)
pto_library(ptorun_cli runtime/ptorun USES runtime)
"""

# A project that every check accepts.
CLEAN = {
    "CMakeLists.txt": CMAKE,
    "include/pto/isa.h": '#include "pto/source.h"\n',
    "include/pto/source.h": "#include <string>\n",
    "include/pto/runtime.h": '#include "pto/isa.h"\n',
    "include/pto/diag.def": '// comment\nPTO_DIAG(BadThing, 101, Error, "`{0}` is bad")\n'
                            'PTO_DIAG(OddThing, 102, Warning,\n         "odd: "\n         "{0}")\n',
    "src/support/b_main.cc": 'const char* t = getenv("NO_COLOR");\n',
    "src/support/c.cc": 'print("rand(seed=0)");\n',
    "src/support/a.cc": '#include "pto/source.h"\n#include <nlohmann/json.hpp>\n',
    "src/ir/ir.h": '#include "pto/isa.h"\n',
    "src/ir/other.h": '#include "ir.h"\n',
    "src/ir/node.h": "namespace pto::ir {\nstruct Node {\n};\nclass Edge;\n}  // namespace pto::ir\n",
    "src/ir/node.cc": "namespace pto::ir {\nnamespace {\nstruct Node {\n};\n}  // namespace\n"
                      "class Edge : public Node {\n};\n}  // namespace pto::ir\n",
    "src/sem/node.h": "namespace pto::sem {\nstruct Node {\n};\n}  // namespace pto::sem\n",
    "src/sem/x.cc": "#include <hwy/highway.h>\nswitch (o) { case isa::Opcode::TAdd: break; }\n",
    "src/frontend/parse.cc": '#include "PtoParser.h"\n#include <antlr4-runtime.h>\n#include "src/ir/ir.h"\n',
    "runtime/run.cc": '#include "pto/runtime.h"\n// #include "src/ir/ir.h"\n',
    "runtime/ptorun/cli.cc": '#include <CLI/CLI.hpp>\n#include "pto/runtime.h"\n',
    "tests/unit/t.cc": 'DiagId::BadThing; "W0102"\n',
    "tests/lint/untested_diagnostics.txt": "# none\n",
    "docs/a.md": "# One two\n[b](b.md#three-four) [web](https://example.com/work) `[no](nothing.md)`\n",
    "docs/b.md": "## Three `four`\n[up](../CMakeLists.txt)\n",
    "README.md": "[docs](docs/a.md) and [here](#title)\n# Title\n",
}

SLASH = "/"  # keeps the planted path out of this file's own text
PLANTED = [
    # check, file, text to add (or None for the whole file), words the report must have
    (layers, "runtime/run.cc", '#include "src/ir/ir.h"\n', "runtime must not include ir"),
    (layers, "runtime/ptorun/cli.cc", '#include "src/frontend/ast.h"\n', "no file"),
    (layers, "include/pto/source.h", '#include "pto/isa.h"\n', "support must not include isa"),
    (layers, "src/ir/ir.h", '#include "pto/runtime.h"\n', "ir must not include runtime"),
    (layers, "src/ir/ir.h", '#include "../sem/x.cc"\n', "ir must not include sem"),
    (layers, "runtime/run.cc", '#include <CLI/CLI.hpp>\n', "runtime must not use CLI"),
    (layers, "src/ir/ir.h", '#include <nlohmann/json.hpp>\n', "a header includes nlohmann"),
    (layers, "src/frontend/p.h", '#include "PtoLexer.h"\n', "a header includes PtoLexer.h"),
    (layers, "src/ir/p.cc", '#include "antlr4-runtime.h"\n', "ir must not use antlr4-runtime"),
    (layers, "src/isa/p.cc", '#include "ptob_generated.h"\n', "is for object only"),
    (layers, "src/new/p.cc", "int x;\n", "belongs to no library"),
    (layers, "CMakeLists.txt", "pto_library(eval src/eval USES runtime)\n", "eval must never reach runtime"),
    (layers, "CMakeLists.txt", "pto_library(mine src/mine USES ir)\n", "not in the picture"),
    (file_size, "src/ir/long.cc", "int x;\n" * 801, "801 lines"),
    (opcode_switch, "runtime/run.cc", "switch (o) { case isa::Opcode::TAdd: }\n", "outside src/sem"),
    (determinism, "src/ir/ir.h", "std::unordered_map<int, int> m;\n", "hashed container"),
    (determinism, "src/ir/ir.h", "std::map<const Node*, int> m;\n", "addresses"),
    (determinism, "runtime/run.cc", "auto t = std::chrono::steady_clock::now();\n", "clock"),
    (determinism, "tests/lint/determinism_allow.txt", "src/ir/ir.h unordered  # why\n", "not needed any more"),
    (tidy_text, "docs/a.md", f"see {SLASH}work{SLASH}x\n", "a path of one machine"),
    (tidy_text, "src/ir/ir.h", "// TO" + "DO\n", "unfinished"),
    (tidy_text, "--json", "{}\n", "file name"),
    (tidy_text, "src/ir/ir.h", "<" * 7 + " mine\n", "conflict"),
    (diagnostics, "include/pto/diag.def", 'PTO_DIAG(Untested, 103, Error, "x")\n', "no test mentions Untested or E0103"),
    (diagnostics, "include/pto/diag.def", 'PTO_DIAG(Later, 99, Error, "x")\n', "numbers ascend"),
    (diagnostics, "include/pto/diag.def", 'PTO_DIAG(BadThing, 103, Error, "x")\n', "a second row"),
    (diagnostics, "include/pto/diag.def", 'PTO_DIAG(Stop, 103, Error, "ends here.")\n', "full stop"),
    (diagnostics, "include/pto/diag.def", "PTO_DIAG(Broken, 103, Error, kText)\n", "can't read"),
    (diagnostics, "tests/lint/untested_diagnostics.txt", "BadThing\n", "take it off the list"),
    (diagnostics, "tests/lint/untested_diagnostics.txt", "Nobody\n", "there is no diagnostic"),
    (type_names, "src/ir/p.cc", "namespace pto::ir {\nenum class Node : uint8_t { A };\n", "a second `pto::ir::Node`"),
    (type_names, "src/ir/node.cc", "namespace pto::ir {\nstruct Node {\n", "a second `pto::ir::Node`"),
    (type_names, "tests/unit/ir/t.cc", "namespace pto::ir {\nclass Edge final {\n", "the other one is at src/ir/node.cc"),
    (docs_links, "docs/a.md", "[gone](gone.md)\n", "nothing at `gone.md`"),
    (docs_links, "docs/a.md", "[gone](b.md#gone)\n", "no heading"),
]
CHECKS = (layers, file_size, opcode_switch, determinism, tidy_text, diagnostics, docs_links, type_names)


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, CLEAN)
        for check in CHECKS:
            for problem in check.check(folder):
                print(f"clean project: {check.__name__}: {problem}")
                failures += 1
    for check, name, text, wanted in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            files = dict(CLEAN)
            files[name] = files.get(name, "") + text
            write(Path(folder), files)
            problems = check.check(folder)
            if not any(wanted in problem for problem in problems):
                print(f"{check.__name__}: planted {text!r:.60} in {name}; wanted `{wanted}`, got {problems}")
                failures += 1
    print(f"{len(PLANTED)} violations planted, {failures} failure(s)")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
