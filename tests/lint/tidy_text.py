"""What doesn't belong in a repository: paths of one machine, marks of unfinished work, conflict markers, odd file names."""

import re
from pathlib import Path

import common

# Written in pieces, so that this file does not find itself.
FOLDERS = ("work", "farm", "root", "home", "Users")
PATH = re.compile(rb"(?<![\w.$})/~-])/(?:" + "|".join(FOLDERS).encode() + rb")/[\w.]")
WORDS = re.compile(rb"\b(?:TO" + rb"DO|FIX" + rb"ME|XX" + rb"X)\b")
NAME = re.compile(r"(?:[A-Za-z0-9_.][\w.+-]*/)*[A-Za-z0-9_.][\w.+-]*")
CONFLICT = re.compile(rb"^(?:<{7}|>{7}) ", re.M)


def check(root):
    problems = []
    for name in common.project_files(root):
        if not NAME.fullmatch(name):
            problems.append(f"{name}:1: a file name that shells and make files trip over")
        data = (Path(root) / name).read_bytes()
        binary = b"\0" in data[:8192]
        rules = [(PATH, "a path of one machine")]
        if not binary:
            rules += [(WORDS, "a mark of unfinished work"), (CONFLICT, "a conflict marker")]
        for pattern, what in rules:
            for match in pattern.finditer(data):
                line = data.count(b"\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: {what}: `{match.group(0).decode(errors='replace').strip()}`")
    return problems


if __name__ == "__main__":
    common.main(check)
