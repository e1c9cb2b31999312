"""Tests the runner of text cases with programs made up for it: what must pass passes, and what must fail fails."""

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import run_cases  # noqa: E402

# A `ptoc` that does as its arguments say.
FAKE = """\
#!/bin/sh
code=0
while [ $# -gt 0 ]; do
  case "$1" in
    out) echo "$2"; shift ;;
    err) echo "$2" >&2; shift ;;
    exit) code=$2; shift ;;
    write) echo "$3" > "$2"; shift 2 ;;
    diag) cat "$2" >&2; shift ;;
    args) echo "$@"; exit 0 ;;
    kill) kill -SEGV $$ ;;
  esac
  shift
done
exit $code
"""


def diagnostic(line, column, code="E0203", severity="error", message="can't add `f16` and `f32`", file="case.pto", **more):
    return json.dumps({"code": code, "severity": severity, "message": message, "file": file, "line": line,
                       "column": column, "end_column": column + 1, "notes": [], **more}) + "\n"


NOTE = {"notes": [{"message": "declared here", "file": "case.pto", "line": 3, "column": 2, "kind": "note"},
                  {"message": "add a cast", "kind": "help"}]}
ONE = "// RUN: ptoc diag d.json exit 1\n// EXIT: 1\nlet x = 1;  //~ ERROR E0203 5: can't add\n"


def noted(annotation):
    return ONE.replace("//~", f"//~ {annotation} //~")


# name, wanted result, case text, contents of d.json
CASES = [
    ("output matches", True, "// RUN: ptoc out a out b\n// OUT: a\n// OUT: b\n", ""),
    ("output in the wrong order", False, "// RUN: ptoc out a out b\n// OUT: b\n// OUT: a\n", ""),
    ("output not expected", False, "// RUN: ptoc out a\n// EXIT: 0\n", ""),
    ("output only partly expected", False, "// RUN: ptoc out a out b\n// OUT: a\n", ""),
    ("output missing", False, "// RUN: ptoc\n// OUT: a\n", ""),
    ("part of a line is not enough", False, "// RUN: ptoc out ab\n// OUT: a\n", ""),
    ("pattern matches", True, "// RUN: ptoc out 'a (17 us)'\n// OUT: a ({{[0-9]+}} us)\n", ""),
    ("pattern does not match", False, "// RUN: ptoc out 'a (x us)'\n// OUT: a ({{[0-9]+}} us)\n", ""),
    ("pattern for a line that is missing", False, "// RUN: ptoc out a\n// OUT: a\n// OUT: {{.*}}\n", ""),
    ("standard error matches", True, "// RUN: ptoc err a\n// ERR: a\n", ""),
    ("standard error not expected", False, "// RUN: ptoc err a\n// EXIT: 0\n", ""),
    ("exit code", True, "// RUN: ptoc exit 3\n// EXIT: 3\n", ""),
    ("wrong exit code", False, "// RUN: ptoc exit 3\n// EXIT: 4\n", ""),
    ("exit code defaults to 0", False, "// RUN: ptoc exit 3 out a\n// OUT: a\n", ""),
    ("no expectation", False, "// RUN: ptoc\n", ""),
    ("no command", False, "// EXIT: 0\n", ""),
    ("unknown directive", False, "// RUN: ptoc\n// EXIT: 0\n// OUTPUT: x\n", ""),
    ("unknown command", False, "// RUN: rm x\n// EXIT: 0\n", ""),
    ("malformed annotation", False, "// RUN: ptoc\n// EXIT: 0\nx //~ ERROR 5 E0203\n", ""),
    ("malformed DIAG", False, "// RUN: ptoc\n// DIAG: whatever\n", ""),
    ("a crash is a failure", False, "// RUN: ptoc kill\n// EXIT: 139\n", ""),
    ("exit 70 is a failure", False, "// RUN: ptoc exit 70\n// EXIT: 70\n", ""),
    ("an early command fails", False, "// RUN: ptoc exit 1\n// RUN: ptoc\n// EXIT: 0\n", ""),
    ("substitutions", True, "// RUN: ptoc out %s write %t/f %t\n// RUN: cat %t/f\n// OUT: case.pto\n// OUT: %t\n", ""),
    ("json is asked for", True, "// RUN: ptoc args x\n// OUT: args x --error-format=json\n", ""),
    ("json is not forced", True, "// RUN: ptoc args --error-format=text\n// OUT: args --error-format=text\n", ""),
    ("equal files", True, "// RUN: ptoc write %t/a 1 write %t/b 1\n// RUN: same %t/a %t/b\n// EXIT: 0\n", ""),
    ("files not equal", False, "// RUN: ptoc write %t/a 1 write %t/b 2\n// RUN: same %t/a %t/b\n// EXIT: 0\n", ""),
    ("diagnostic matches", True, ONE, diagnostic(3, 5)),
    ("diagnostic on another line", False, ONE, diagnostic(2, 5)),
    ("diagnostic in another column", False, ONE, diagnostic(3, 6)),
    ("diagnostic with another code", False, ONE, diagnostic(3, 5, code="E0204")),
    ("diagnostic with another severity", False, ONE, diagnostic(3, 5, severity="warning")),
    ("diagnostic with another message", False, ONE, diagnostic(3, 5, message="no")),
    ("diagnostic in another file", False, ONE, diagnostic(3, 5, file="other.pto")),
    ("diagnostic does not come", False, ONE, ""),
    ("diagnostic twice", False, ONE, diagnostic(3, 5) * 2),
    ("a second diagnostic", False, ONE, diagnostic(3, 5) + diagnostic(1, 1)),
    ("two on one line", True, ONE.rstrip() + " //~ WARNING W0210 9: b\n",
     diagnostic(3, 9, code="W0210", severity="warning", message="b") + diagnostic(3, 5)),
    ("diagnostic elsewhere", True, "// RUN: ptoc diag d.json\n// DIAG: ERROR E0203 o.pto:1:2: add\n",
     diagnostic(1, 2, file="o.pto")),
    ("diagnostic without place", True, "// RUN: ptoc diag d.json\n// DIAG: ERROR E0203 -: add\n",
     diagnostic(0, 0, file="")),
    ("note and hint", True, noted("NOTE 2: declared //~ HELP: add a cast"), diagnostic(3, 5, **NOTE)),
    ("note that does not come", False, noted("NOTE 2: elsewhere"), diagnostic(3, 5, **NOTE)),
    ("note in another column", False, noted("NOTE 3: declared"), diagnostic(3, 5, **NOTE)),
    ("a hint is not a note", False, noted("NOTE: add a cast"), diagnostic(3, 5, **NOTE)),
]


def run(folder, text, json_text):
    (folder / "case.pto").write_text(text, encoding="utf-8")
    (folder / "d.json").write_text(json_text, encoding="utf-8")
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        code = run_cases.main(["--bin", str(folder), str(folder / "case.pto")])
    return code == 0, report.getvalue()


def prepare(folder):
    (folder / "ptoc").write_text(FAKE, encoding="utf-8")
    (folder / "ptoc").chmod(0o755)


def check_cases():
    failures = 0
    for name, wanted, text, json_text in CASES:
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            prepare(folder)
            passed, report = run(folder, text, json_text)
            if passed != wanted:
                print(f"{name}: {'passed' if passed else 'failed'}\n{report}")
                failures += 1
    return failures


def blessed_run(folder, text, json_text=""):
    os.environ["PTO_BLESS"] = "1"
    try:
        passed, _ = run(folder, text, json_text)
    finally:
        del os.environ["PTO_BLESS"]
    return passed, (folder / "case.pto").read_text(encoding="utf-8")


# case text, d.json, what stands in the file after blessing
BLESSED = [
    ("// RUN: ptoc out a\nlet x = 1;\n", "", "// RUN: ptoc out a\nlet x = 1;\n// OUT: a\n"),
    ("// RUN: ptoc\n// OUT: a\n", "", "// RUN: ptoc\n// EXIT: 0\n"),
    ("// RUN: ptoc out a1 out b\n// OUT: a{{.}}\n// OUT: c\n", "", "// RUN: ptoc out a1 out b\n// OUT: a{{.}}\n// OUT: b\n"),
    ("// RUN: ptoc exit 3\n// EXIT: 1\n", "", "// RUN: ptoc exit 3\n// EXIT: 3\n"),
    ("// RUN: ptoc err e\n// EXIT: 0\n", "", "// RUN: ptoc err e\n// EXIT: 0\n// ERR: e\n"),
    ("// RUN: ptoc diag d.json exit 1\nlet x = 1;  //~ ERROR E0999 1: old //~ NOTE 2: n\nlet y = 2;\n",
     diagnostic(2, 5, notes=[{"message": "n", "file": "case.pto", "line": 2, "column": 2, "kind": "note"}]) +
     diagnostic(9, 9, file="lib.pto"),
     "// RUN: ptoc diag d.json exit 1\nlet x = 1;  //~ ERROR E0203 5: can't add `f16` and `f32`  //~ NOTE 2: n\n"
     "let y = 2;\n// EXIT: 1\n// DIAG: ERROR E0203 lib.pto:9:9: can't add `f16` and `f32`\n"),
]


def check_bless():
    """A blessed run fails once, keeps the program's lines, and passes from then on; a crash is not blessed."""
    failures = 0
    for text, json_text, wanted in BLESSED:
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            prepare(folder)
            first, blessed = blessed_run(folder, text, json_text)
            second, report = run(folder, blessed, json_text)
            if first or not second or blessed != wanted:
                print(f"bless: first {first}, second {second}\n{blessed}{report}")
                failures += 1
    crash = "// RUN: ptoc kill\n// EXIT: 0\n"
    with tempfile.TemporaryDirectory() as path:
        prepare(Path(path))
        if blessed_run(Path(path), crash) != (False, crash):
            print("bless: a crash was blessed")
            failures += 1
    return failures


def main():
    failures = check_cases() + check_bless()
    print(f"{len(CASES)} cases and blessing, {failures} failure(s)")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
