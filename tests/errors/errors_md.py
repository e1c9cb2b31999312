#!/usr/bin/env python3
"""Makes docs/errors.md from include/pto/diag.def and one file a diagnostic, tests/errors/CODE.md; and tests it.

  errors_md.py ROOT               writes docs/errors.md
  errors_md.py ROOT --check       is it up to date, has every diagnostic an entry, is every entry complete?
  errors_md.py ROOT --bin DIR     runs the examples with the programs of DIR; PTO_BLESS=1 rewrites the output they show

An entry is prose (cause and remedy), then either a line `No example: why.` or two parts that start with the lines
`Fails:` and `Accepted:`. A part holds fences:

  ```pto NAME     a file of the example, without a name x.pto; other languages (json) need a name
  ```sh           commands, one a line, run by sh in a fresh folder; by default `ptoc x.pto`
  ```text         what the last command of `Fails:` prints to standard error, all of it

The last command of `Fails:` must report the diagnostic, and fail if that is an error; all others must succeed. What
`Accepted:` does not write anew (files, commands) is taken over from `Fails:`; its commands must succeed and print no
diagnostic.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lint"))
import diagnostics  # noqa: E402  (the reader of diag.def)

GROUPS = {1: "Text and syntax", 2: "Names and types", 3: "Shapes and regions", 4: "Lowering", 5: "Objects",
          6: "Arguments of a run", 7: "Faults of a run", 8: "Target files", 9: "Command lines and files"}
FENCE = re.compile(r"^```(\w+)(?: +(\S+))?\n(.*?)^```$", re.M | re.S)
DIAGNOSTIC = re.compile(r"\b(?:error|warning|remark)\[([EWR]\d{4})\]")
NO_EXAMPLE = "No example: "
DEFAULT_FILE, DEFAULT_COMMANDS = "x.pto", ["ptoc x.pto"]
TIME_LIMIT = 120  # seconds; only a hang reaches it
INTRO = """\
# Diagnostics

<!-- Written by tests/errors/errors_md.py from include/pto/diag.def and tests/errors/*.md: edit those. -->

Every message of `ptoc` and `ptorun` has a code that keeps its meaning: `E` for errors, `R` for remarks about a program
that is accepted. `{0}`, `{1}` stand for what is filled in. The examples are tests: the first one gives the diagnostic
and prints what is shown, the second one is accepted. An example is a file `x.pto`, compiled with `ptoc x.pto` unless
commands are shown.

`--error-format=json` prints one JSON object a line with `code`, `severity`, `file`, `line`, `column`, `message`, and
`notes`. A command line that can't be understood is told without a code by `ptoc`, as E0910 by `ptorun`; both end with
exit code 2. See [cli.md](cli.md) for the other exit codes.
"""


@dataclass
class Part:
    """One half of an example. `None` where nothing is written."""
    files: dict = field(default_factory=dict)
    commands: list = None
    output: str = None


@dataclass
class Entry:
    code: str
    prose: str = ""
    no_example: str = ""
    fails: Part = None
    accepted: Part = None
    problems: list = field(default_factory=list)


def parse_part(entry, name, text):
    part = Part()
    for language, file, body in FENCE.findall(text):
        if language == "sh":
            part.commands = body.splitlines()
        elif language == "text":
            part.output = body
        elif language == "pto" or file:
            part.files[file or DEFAULT_FILE] = body
        else:
            entry.problems.append(f"a fence of `{language}` without a file name")
    rest = FENCE.sub("", text).strip()
    if rest or "```" in rest:
        entry.problems.append(f"`{name}` has text outside of its fences: `{rest.splitlines()[0]}`")
    return part


def parse(path):
    entry = Entry(path.stem)
    text = path.read_text(encoding="utf-8")
    before, found, rest = text.partition("\nFails:\n")
    prose, silent, reason = before.partition("\n" + NO_EXAMPLE)
    entry.prose, entry.no_example = prose.strip(), reason.strip()
    if not entry.prose.endswith(".") or "```" in entry.prose:
        entry.problems.append("the explanation is missing, or does not end with a full stop")
    if bool(silent) == bool(found):
        entry.problems.append(f"either `Fails:` and `Accepted:`, or `{NO_EXAMPLE}why.`")
    if found:
        fails, accepted, rest = rest.partition("\nAccepted:\n")
        entry.fails = parse_part(entry, "Fails:", fails)
        entry.accepted = parse_part(entry, "Accepted:", rest)
        if not accepted or not (entry.accepted.files or entry.accepted.commands):
            entry.problems.append("`Accepted:` is missing or empty")
        if not (entry.fails.files or entry.fails.commands):
            entry.problems.append("`Fails:` is empty")
        if entry.fails.output is None:
            entry.problems.append("`Fails:` does not show what is printed (a `text` fence; PTO_BLESS=1 fills it)")
        if entry.accepted.output is not None:
            entry.problems.append("`Accepted:` has a `text` fence")
    return entry


class Catalogue:
    def __init__(self, root):
        self.root = Path(root)
        rows, _ = diagnostics.rows(root)
        self.rows = [(diagnostics.code(number, severity), number, name, severity, message)
                     for _, name, number, severity, message in rows]
        self.folder = self.root / "tests" / "errors"
        self.entries = {path.stem: parse(path) for path in sorted(self.folder.glob("[EWR][0-9]*.md"))}

    def problems(self):
        known = {code: name for code, _, name, _, _ in self.rows}
        found = [f"tests/errors/{code}.md:1: there is no diagnostic {code}" for code in self.entries if code not in known]
        found += [f"include/pto/diag.def:1: {name} has no entry tests/errors/{code}.md"
                  for code, name in known.items() if code not in self.entries]
        for code, entry in self.entries.items():
            found += [f"tests/errors/{code}.md:1: {problem}" for problem in entry.problems]
        return found

    # The page.

    def page(self):
        lines = [INTRO]
        group = None
        for code, number, name, severity, message in self.rows:
            if number // 100 != group:
                group = number // 100
                lines += ["", f"**{GROUPS.get(group, 'Others')}**", "", "| code | message |", "|---|---|"]
            lines.append(f"| [{code}](#{code.lower()}) | {self.cell(message)} |")
        for code, _, name, severity, message in self.rows:
            lines += ["", f"## {code}", "", f"`{name}`, {severity.lower()}:", "", "```text", unescape(message), "```"]
            if code in self.entries:
                lines += ["", *self.section(self.entries[code])]
        return "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n"

    @staticmethod
    def cell(message):
        return unescape(message).replace("|", "\\|").replace("<", "&lt;")

    def section(self, entry):
        lines = [entry.prose]
        if entry.no_example:
            lines += ["", NO_EXAMPLE + entry.no_example]
        for title, part in (("Fails:", entry.fails), ("Accepted:", entry.accepted)):
            if part is None:
                continue
            lines += ["", title]
            for file, text in part.files.items():
                lines += ["", *([f"`{file}`:", ""] if file != DEFAULT_FILE else []),
                          "```" + Path(file).suffix[1:], text.rstrip("\n"), "```"]
            if part.commands:
                lines += ["", "```sh", *part.commands, "```"]
            if part.output is not None:
                lines += ["", "```text", part.output.rstrip("\n"), "```"]
        return lines


def unescape(literal):
    return literal.replace('\\"', '"').replace("\\\\", "\\")


# The examples.

def run_commands(commands, folder, bin_dir):
    """Exit codes and standard error of each command, up to the first that fails."""
    environment = {"PATH": f"{bin_dir}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "LC_ALL": "C", "NO_COLOR": "1"}
    results = []
    for command in commands:
        try:
            done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            results.append((-1, f"`{command}` takes longer than {TIME_LIMIT} seconds"))
            return results
        shown = "".join(line.rstrip() + "\n" for line in done.stderr.decode("utf-8", "replace").splitlines())
        results.append((done.returncode, shown))
        if done.returncode != 0:
            break
    return results


def write_files(folder, files):
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run_entry(entry, bin_dir):
    """Problems of one entry's examples, and what its failing one printed."""
    commands = entry.fails.commands or DEFAULT_COMMANDS
    with tempfile.TemporaryDirectory(prefix="pto-errors-") as folder:
        write_files(folder, entry.fails.files)
        results = run_commands(commands, folder, bin_dir)
    status, output = results[-1]
    problems = []
    if len(results) < len(commands):
        return [f"`{commands[len(results) - 1]}` must succeed: {output}"], None
    if entry.code not in DIAGNOSTIC.findall(output):
        problems.append(f"`Fails:` does not report {entry.code}, but: {output or 'nothing'}")
    if (status != 0) != entry.code.startswith("E"):
        problems.append(f"`Fails:` ends with exit code {status}")
    commands = entry.accepted.commands or commands
    with tempfile.TemporaryDirectory(prefix="pto-errors-") as folder:
        write_files(folder, {**entry.fails.files, **entry.accepted.files})
        results = run_commands(commands, folder, bin_dir)
    status, _ = results[-1]
    said = "".join(text for _, text in results)
    if status != 0 or DIAGNOSTIC.search(said):
        problems.append(f"`Accepted:` is not accepted, exit code {status}: {said}")
    return problems, output


def bless(path, output):
    text = path.read_text(encoding="utf-8")
    fence = f"```text\n{output}```"
    half, found, rest = text.partition("\nAccepted:\n")
    if "```text\n" in half:
        half = re.sub(r"^```text\n.*?^```$", lambda _: fence, half, flags=re.M | re.S)
    else:
        half = half.rstrip("\n") + "\n" + fence + "\n"
    path.write_text(half + found + rest, encoding="utf-8")


def run_examples(catalogue, bin_dir):
    found = []
    for code, entry in catalogue.entries.items():
        if entry.fails is None or entry.accepted is None:
            continue
        problems, output = run_entry(entry, bin_dir)
        found += [f"tests/errors/{code}.md:1: {problem}" for problem in problems]
        if not problems and output != entry.fails.output:
            found.append(f"tests/errors/{code}.md:1: the output shown differs from: {output}")
            if os.environ.get("PTO_BLESS") == "1":
                bless(catalogue.folder / f"{code}.md", output)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--bin", type=Path)
    arguments = parser.parse_args()
    catalogue = Catalogue(arguments.root)
    page = arguments.root / "docs" / "errors.md"
    problems = []
    if arguments.bin:
        problems += run_examples(catalogue, arguments.bin.resolve())
        if os.environ.get("PTO_BLESS") == "1":
            catalogue = Catalogue(arguments.root)
    if arguments.check:
        problems += catalogue.problems()
        if not page.exists() or page.read_text(encoding="utf-8") != catalogue.page():
            problems.append("docs/errors.md:1: not up to date: run `python3 tests/errors/errors_md.py .`")
    if not (arguments.bin or arguments.check) or os.environ.get("PTO_BLESS") == "1":
        page.write_text(catalogue.page(), encoding="utf-8")
    for problem in problems:
        print(problem.rstrip())
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
