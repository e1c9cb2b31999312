"""What the lint checks share: the list of the project's files, reading them, and the command line.

A check is a module with `check(root) -> list of problems`, one string each, `path:line: what is wrong`. Nothing here may
depend on what the project's code does; these are text rules.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

CODE_DIRS = ("include", "src", "runtime")


def project_files(root):
    """Paths relative to `root` of all files that belong to the project (tracked, or new and not ignored)."""
    root = Path(root)
    try:
        # The top level must be `root` itself: a copy of the sources inside another repository is walked instead.
        top = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-toplevel"], capture_output=True, text=True)
        if top.returncode == 0 and Path(top.stdout.strip()).resolve() == root.resolve():
            listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
                                     "--exclude-standard"], capture_output=True)
            if listed.returncode == 0:
                names = {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}
                return sorted(name for name in names if (root / name).is_file())
    except OSError:
        pass  # no git program
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if f not in (".git", "__pycache__") and not f.startswith("build")]
        for name in names:
            found.append(os.path.relpath(os.path.join(folder, name), root))
    return sorted(found)


def code_files(root, suffixes=(".h", ".cc", ".def", ".inc")):
    """Those under include/, src/ and runtime/."""
    return [f for f in project_files(root) if f.split("/")[0] in CODE_DIRS and f.endswith(suffixes)]


def read(root, name):
    return (Path(root) / name).read_text(encoding="utf-8", errors="replace")


def strip_comments(text):
    """C++ text with comments blanked, lines kept. String literals that hold `//` are left alone."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.S)

    def blank(match):
        token = match.group(0)
        return token if token[0] in "\"'" else re.sub(r"[^\n]", " ", token)

    return pattern.sub(blank, text)


def strip_strings(text):
    """C++ text, comments gone already, with what stands in string literals blanked."""
    return re.sub(r'"((?:\\.|[^"\\\n])*)"', lambda match: '"' + " " * len(match.group(1)) + '"', text)


def allow_list(root, name):
    """Entries of tests/lint/NAME: one a line, `#` starts a comment."""
    path = Path(root) / "tests" / "lint" / name
    if not path.exists():
        return []
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def main(check):
    if len(sys.argv) != 2:
        sys.exit(f"usage: {Path(sys.argv[0]).name} ROOT")
    problems = check(sys.argv[1])
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problem(s)" if problems else "ok")
    sys.exit(1 if problems else 0)
