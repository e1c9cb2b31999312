"""What an instruction is stands in its row of isa.def and in `sem`: no other code takes opcodes one by one."""

import re

import common

CASE = re.compile(r"\bcase\s+(?:\w+\s*::\s*)*Opcode\s*::")


def check(root):
    problems = []
    for name in common.code_files(root):
        if name.startswith("src/sem/"):
            continue
        text = common.strip_comments(common.read(root, name))
        for match in CASE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: `case Opcode::` outside src/sem; read a column of the instruction table")
    return problems


if __name__ == "__main__":
    common.main(check)
