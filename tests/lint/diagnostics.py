"""The catalogue of diagnostics: numbers ascend, texts follow the house style, and every row has a test.

A row counts as tested when a test (C++ or text case) mentions its code (`E0203`) or its name. The rows of
untested_diagnostics.txt may still be without; that list may only shrink: an entry that got its test must go.
PTO_BLESS=1 takes entries off the list that are not needed any more; it adds none.
"""

import os
import re
from pathlib import Path

import common

ROW = re.compile(r'^PTO_DIAG\(\s*(\w+)\s*,\s*(\d+)\s*,\s*(\w+)\s*,\s*((?:"(?:\\.|[^"\\])*"\s*)+)\)', re.M)
LETTER = {"Error": "E", "Warning": "W", "Remark": "R"}


def rows(root):
    text = common.read(root, "include/pto/diag.def")
    found = []
    for match in ROW.finditer(text):
        name, number, severity, literal = match.groups()
        message = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', literal))
        found.append((text.count("\n", 0, match.start()) + 1, name, int(number), severity, message))
    return found, len(re.findall(r"^PTO_DIAG\(", text, re.M))


def code(number, severity):
    return f"{LETTER.get(severity, '?')}{number:04d}"


def style_problems(place, name, severity, message):
    problems = []
    if severity not in LETTER:
        problems.append(f"{place}: severity `{severity}` of {name}")
    if message.endswith(".") and not message.endswith("..."):
        problems.append(f"{place}: the text of {name} ends with a full stop")
    first = re.match(r"[A-Z][a-z]", message)
    if first:
        problems.append(f"{place}: the text of {name} starts with a capital letter")
    if not re.fullmatch(r"[A-Z]\w*", name):
        problems.append(f"{place}: the name {name} is not PascalCase")
    return problems


def mentioned_words(root):
    words = set()
    for name in common.project_files(root):
        if name.startswith("tests/") and name.endswith((".cc", ".h", ".pto", ".txt")) and \
                not name.startswith("tests/lint/"):
            path = Path(root) / name
            if path.stat().st_size < 4 << 20:
                words.update(re.findall(r"\w+", common.read(root, name)))
    return words


def shrink(root, needless):
    path = Path(root) / "tests" / "lint" / "untested_diagnostics.txt"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.split("#")[0].strip() not in needless), encoding="utf-8")


def check(root):
    catalogue, started = rows(root)
    file = "include/pto/diag.def"
    problems = []
    if started != len(catalogue):
        problems.append(f"{file}:1: {started - len(catalogue)} row(s) that this test can't read")
    before, names = 0, set()
    for line, name, number, severity, message in catalogue:
        place = f"{file}:{line}"
        if number <= before:
            problems.append(f"{place}: number {number} of {name} after {before}: numbers ascend")
        if name in names:
            problems.append(f"{place}: a second row {name}")
        before = number
        names.add(name)
        problems += style_problems(place, name, severity, message)
    words = mentioned_words(root)
    waived = set(common.allow_list(root, "untested_diagnostics.txt"))
    needless = waived - names
    for line, name, number, severity, _ in catalogue:
        tested = name in words or code(number, severity) in words
        if not tested and name not in waived:
            problems.append(f"{file}:{line}: no test mentions {name} or {code(number, severity)}")
        if tested and name in waived:
            needless.add(name)
            problems.append(f"tests/lint/untested_diagnostics.txt:1: {name} has a test now: take it off the list")
    for name in sorted(waived - names):
        problems.append(f"tests/lint/untested_diagnostics.txt:1: there is no diagnostic {name}")
    if needless and os.environ.get("PTO_BLESS") == "1":
        shrink(root, needless)
    return problems


if __name__ == "__main__":
    common.main(check)
