#!/usr/bin/env python3
"""Runs text cases: one file holds command lines, input, and the expected output beside the line that causes it.

  // RUN: ptoc %s --target=a2a3 -o %t/k.ptobin     a command; several run in order. %s: the file, %t: a fresh folder
  // EXIT: 1                                       exit code of the last command (all before it must give 0); default 0
  // OUT: line                                     all of standard output, in order, over all commands; same for ERR.
                                                   {{regular expression}} in a line stands for what may change
  // DIAG: ERROR E0901 missing.pto: message part   a diagnostic away from this file's lines; FILE, FILE:LINE:COLUMN or -
  let y = x + 1;   //~ ERROR E0203 9: message part     a diagnostic of this line: severity, code, column, part of the message
  let y = x + 1;   //~ NOTE 9: part                    a note of this line (HELP: a hint); notes need not be listed

A diagnostic that is not expected fails the case, and so does one that does not come; so do unknown directives and a case
without any expectation. Commands are ptoc and ptorun (with --error-format=json unless they name a format), `cat FILE`,
`same FILE FILE` (equal bytes), `differ FILE FILE`. They run in the case's folder. Files in folders called `inputs` are
no cases. PTO_BLESS=1 rewrites the expectations of what does not match, and fails once.
"""

import argparse
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

DIRECTIVE = re.compile(r"^\s*//\s?([A-Z][A-Z_-]+):(.*)$")
KNOWN = ("RUN", "EXIT", "OUT", "ERR", "DIAG")
LINE_DIAG = re.compile(r"^(ERROR|WARNING|REMARK) ([EWR]\d{4}) (\d+): (.*)$")
LINE_NOTE = re.compile(r"^(NOTE|HELP)(?: (\d+))?: (.*)$")
FAR_DIAG = re.compile(r"^(ERROR|WARNING|REMARK) ([EWR]\d{4}) (.+?): (.*)$")
TIME_LIMIT = 120  # seconds; only a hang reaches it


@dataclass
class Expected:
    """A diagnostic (or note) that the case announces. `place` is FILE, FILE:LINE:COLUMN, or `-`."""
    kind: str
    code: str
    place: str
    part: str

    def __str__(self):
        return f"{self.kind} {self.code} {self.place}: {self.part}".replace("  ", " ")


@dataclass
class Case:
    path: Path
    lines: list
    runs: list = field(default_factory=list)
    exit_code: int = 0
    out: list = field(default_factory=list)
    err: list = field(default_factory=list)
    diagnostics: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    has_expectation: bool = False
    problems: list = field(default_factory=list)


@dataclass
class Outcome:
    exit_code: int = 0
    out: list = field(default_factory=list)
    err: list = field(default_factory=list)
    diagnostics: list = field(default_factory=list)  # JSON objects
    problems: list = field(default_factory=list)


def parse(path):
    case = Case(path, path.read_text(encoding="utf-8", errors="surrogateescape").split("\n"))
    for number, line in enumerate(case.lines, 1):
        match = DIRECTIVE.match(line)
        if match:
            parse_directive(case, number, match.group(1), match.group(2).removeprefix(" ").rstrip())
        elif "//~" in line:
            parse_annotations(case, number, line)
    if not case.runs:
        case.problems.append("no RUN line")
    if not case.has_expectation:
        case.problems.append("no expectation: nothing that could fail (a case that only has to succeed says EXIT: 0)")
    return case


def parse_directive(case, number, name, text):
    if name not in KNOWN:
        case.problems.append(f"line {number}: unknown directive `{name}`")
        return
    case.has_expectation = case.has_expectation or name != "RUN"
    if name == "RUN":
        case.runs.append(text)
    elif name == "EXIT":
        if not re.fullmatch(r"\d{1,3}", text):
            case.problems.append(f"line {number}: EXIT needs a number")
        else:
            case.exit_code = int(text)
    elif name == "DIAG":
        match = FAR_DIAG.match(text)
        if match:
            case.diagnostics.append(Expected(*match.groups()))
        else:
            case.problems.append(f"line {number}: DIAG needs SEVERITY CODE PLACE: MESSAGE")
    else:
        (case.out if name == "OUT" else case.err).append(text)


def parse_annotations(case, number, line):
    case.has_expectation = True
    for text in line.split("//~")[1:]:
        text = text.strip()
        diagnostic, note = LINE_DIAG.match(text), LINE_NOTE.match(text)
        if diagnostic:
            kind, code, column, part = diagnostic.groups()
            case.diagnostics.append(Expected(kind, code, f"{case.path.name}:{number}:{column}", part))
        elif note:
            kind, column, part = note.groups()
            place = f"{case.path.name}:{number}" + (f":{column}" if column else "")
            case.notes.append(Expected(kind, "", place, part))
        else:
            case.problems.append(f"line {number}: annotation `{text}` is not SEVERITY CODE COLUMN: MESSAGE")


def place_of(diagnostic):
    """FILE:LINE:COLUMN where there is a line; else what it is about alone, else `-`."""
    name = diagnostic.get("file") or "-"
    if diagnostic.get("line"):
        return f"{name}:{diagnostic['line']}:{diagnostic['column']}"
    return name


class Runner:
    def __init__(self, bin_dir):
        self.bin_dir = Path(bin_dir).resolve()

    def run(self, case):
        outcome = Outcome()
        with tempfile.TemporaryDirectory(prefix="pto-case-") as folder:
            for index, line in enumerate(case.runs):
                words = [w.replace("%s", case.path.name).replace("%t", folder) for w in shlex.split(line)]
                code = self.command(case, words, folder, outcome)
                if outcome.problems:
                    return outcome
                outcome.exit_code = code
                if code != 0 and index + 1 < len(case.runs):
                    outcome.problems.append(f"`{line}` gave exit code {code}, and commands come after it")
                    outcome.problems += [f"  {text}" for text in outcome.err]
                    outcome.problems += [f"  {d.get('code')} {d.get('message')}" for d in outcome.diagnostics]
                    return outcome
        return outcome

    def command(self, case, words, folder, outcome):
        cwd = case.path.parent
        if words and words[0] in ("same", "differ") and len(words) == 3:
            equal = (cwd / words[1]).read_bytes() == (cwd / words[2]).read_bytes()
            return 0 if equal == (words[0] == "same") else 1
        if words and words[0] == "cat" and len(words) == 2:
            text = (cwd / words[1]).read_text(encoding="utf-8", errors="replace")
            outcome.out += clean_lines(text, folder)
            return 0
        if not words or words[0] not in ("ptoc", "ptorun"):
            outcome.problems.append(f"commands are ptoc, ptorun, cat, same, differ: `{' '.join(words)}`")
            return 1
        command = [str(self.bin_dir / words[0]), *words[1:]]
        json_errors = not any(word.startswith("--error-format") for word in words)
        if json_errors:
            command.append("--error-format=json")
        # A case must not depend on who runs it.
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
        environment.update({k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")})
        try:
            done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=TIME_LIMIT, env=environment,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            outcome.problems.append(f"`{words[0]}` did not end within {TIME_LIMIT} s")
            return 1
        except OSError as error:
            outcome.problems.append(f"can't start {command[0]}: {error.strerror}")
            return 1
        outcome.out += clean_lines(done.stdout.decode("utf-8", "surrogateescape"), folder)
        for text in clean_lines(done.stderr.decode("utf-8", "surrogateescape"), folder):
            diagnostic = parse_diagnostic(text) if json_errors else None
            if diagnostic is None:
                outcome.err.append(text)
            else:
                outcome.diagnostics.append(diagnostic)
        if done.returncode < 0 or done.returncode in (70, 134, 139):
            outcome.problems.append(f"`{words[0]}` crashed: exit code {done.returncode}")
            outcome.problems += [f"  {text}" for text in outcome.err[:20]]
        return done.returncode


def clean_lines(text, folder):
    lines = text.replace(folder, "%t").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return [line.rstrip() for line in lines]


def parse_diagnostic(text):
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "code" in value and "severity" in value else None


def compare(case, outcome):
    problems = list(outcome.problems)
    if problems:
        return problems
    if outcome.exit_code != case.exit_code:
        problems.append(f"exit code {outcome.exit_code}, expected {case.exit_code}")
    problems += compare_lines("standard output", case.out, outcome.out)
    problems += compare_lines("standard error", case.err, outcome.err)
    left = list(outcome.diagnostics)
    for expected in case.diagnostics:
        found = next((d for d in left if matches(expected, d)), None)
        if found is None:
            problems.append(f"expected but not reported: {expected}")
        else:
            left.remove(found)
    for diagnostic in left:
        problems.append(f"reported but not expected: {describe(diagnostic)}")
    notes = [note for d in outcome.diagnostics for note in d.get("notes", [])]
    for expected in case.notes:
        if not any(note_matches(expected, note) for note in notes):
            problems.append(f"expected but not reported: {expected}")
            problems += [f"  there is: {place_of(n)}: {n.get('message', '')}" for n in notes]
    return problems


def matches(expected, diagnostic):
    return (diagnostic["severity"].upper() == expected.kind and diagnostic["code"] == expected.code and
            place_of(diagnostic) == expected.place and expected.part in diagnostic.get("message", ""))


def note_matches(expected, note):
    is_help = note.get("kind") == "help"
    place = place_of(note)
    where = expected.place == place or place.startswith(expected.place + ":") or (is_help and not note.get("line"))
    return where and is_help == (expected.kind == "HELP") and expected.part in note.get("message", "")


def describe(diagnostic):
    return f"{diagnostic['severity'].upper()} {diagnostic['code']} {place_of(diagnostic)}: {diagnostic.get('message', '')}"


def line_matches(expected, actual):
    if expected is None or actual is None or "{{" not in expected:
        return expected == actual
    parts = re.split(r"\{\{(.*?)\}\}", expected)
    pattern = "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))
    return re.fullmatch(pattern, actual) is not None


def compare_lines(what, expected, actual):
    pairs = list(itertools.zip_longest(expected, actual))
    if all(line_matches(want, got) for want, got in pairs):
        return []
    problems = [f"{what} differs ({len(expected)} lines expected, {len(actual)} came)"]
    for number, (want, got) in enumerate(pairs, 1):
        if not line_matches(want, got):
            problems += [f"  line {number} expected: {'(nothing)' if want is None else want}",
                         f"  line {number} came:     {'(nothing)' if got is None else got}"]
        if len(problems) > 20:
            return problems + ["  ..."]
    return problems


def keep_patterns(expected, actual):
    """What came, but lines of the expectation that match by a pattern as they were."""
    pairs = itertools.zip_longest(expected[:len(actual)], actual)
    return [want if line_matches(want, got) else got for want, got in pairs]


def bless_once(case, outcome, beside):
    """The case's lines with what was seen in place of what was expected; program lines keep their numbers where they can."""
    kept = []
    for line in case.lines:
        match = DIRECTIVE.match(line)
        if match and match.group(1) in ("EXIT", "OUT", "ERR", "DIAG"):
            if match.group(1) == "EXIT":
                kept.append(f"// EXIT: {outcome.exit_code}")
            continue
        note_parts = [t for t in line.split("//~")[1:] if LINE_NOTE.match(t.strip())]
        kept.append((line.split("//~")[0].rstrip() if "//~" in line else line, note_parts))
    # Numbers of the lines as they were, so that what was reported finds its line.
    numbers, number = {}, 0
    for index, line in enumerate(case.lines, 1):
        match = DIRECTIVE.match(line)
        if not match or match.group(1) not in ("OUT", "ERR", "DIAG"):
            numbers[index] = number
            number += 1
    far, near = [], {}
    for diagnostic in outcome.diagnostics:
        index = numbers.get(diagnostic.get("line") or 0)
        mine = beside and diagnostic.get("file") == case.path.name and index is not None and isinstance(kept[index], tuple)
        if mine:
            near.setdefault(index, []).append(f"{diagnostic['severity'].upper()} {diagnostic['code']} "
                                              f"{diagnostic['column']}: {diagnostic['message']}")
        else:
            far.append(describe(diagnostic))
    lines = []
    for index, item in enumerate(kept):
        if isinstance(item, str):
            lines.append(item)
            continue
        text, notes = item
        marks = [f"//~ {t}" for t in near.get(index, [])] + [f"//~ {t.strip()}" for t in notes]
        lines.append("  ".join([text, *marks]) if marks else text)
    while lines and lines[-1] == "":
        lines.pop()
    if outcome.exit_code != 0 and not any(line.startswith("// EXIT:") for line in lines):
        lines.append(f"// EXIT: {outcome.exit_code}")
    lines += [f"// DIAG: {text}" for text in far]
    lines += [f"// OUT: {text}".rstrip() for text in keep_patterns(case.out, outcome.out)]
    lines += [f"// ERR: {text}".rstrip() for text in keep_patterns(case.err, outcome.err)]
    return lines + [""]


def bless(runner, path):
    """Rewrites until nothing changes: an added line may move what later lines report. Where an annotation itself changes what
    is reported (in an open comment or string), diagnostics become DIAG lines at the end."""
    for beside in (True, True, True, False, False, False):
        case = parse(path)
        outcome = runner.run(case)
        if not case.runs or outcome.problems:
            return False  # a crash is never right
        lines = bless_once(case, outcome, beside)
        if not any(line.startswith(("// EXIT:", "// OUT:", "// ERR:", "// DIAG:")) or "//~" in line for line in lines):
            lines.insert(len(lines) - 1, "// EXIT: 0")
        if lines == case.lines:
            return True
        path.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape")
    return True


def find_cases(paths):
    for path in paths:
        if path.is_file():
            yield path
            continue
        for file in sorted(path.rglob("*")):
            if file.suffix in (".pto", ".txt") and file.is_file() and \
                    not {"inputs", "selftest"} & set(file.relative_to(path).parts[:-1]):
                yield file


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="folder of ptoc and ptorun")
    parser.add_argument("paths", nargs="+", type=Path, help="cases, or folders of them")
    options = parser.parse_args(arguments)
    runner = Runner(options.bin)
    blessing = os.environ.get("PTO_BLESS") == "1"
    failed = count = 0
    for path in find_cases(options.paths):
        count += 1
        case = parse(path)
        problems = list(case.problems)
        if not problems:
            problems = compare(case, runner.run(case))
        if not problems:
            continue
        failed += 1
        blessed = blessing and case.runs and bless(runner, path)
        print(f"{'BLESSED' if blessed else 'FAILED'} {path}")
        for problem in problems:
            print(f"    {problem}")
    print(f"{count} case(s), {failed} failed")
    if count == 0:
        print("no cases found")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
