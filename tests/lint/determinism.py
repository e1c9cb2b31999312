"""Nothing whose order or value differs from run to run: hashed containers, clocks, random devices, pointer-keyed maps.

tests/lint/determinism_allow.txt lists exceptions as `path word`, each with its reason in a comment.
"""

import re

import common

BANNED = (
    (re.compile(r"\bunordered_(?:multi)?(?:map|set)\b"), "unordered", "a hashed container; its order is not stable"),
    (re.compile(r"\bstd::(?:map|set)<\s*(?:const\s+)?[\w:]+\s*(?:const\s*)?\*"), "pointer-key", "keys are addresses"),
    (re.compile(r"\brandom_device\b|\bs?rand\s*\("), "random", "a random number nobody seeded"),
    (re.compile(r"\b(?:system|steady|high_resolution)_clock\b|\bgettimeofday\b"), "clock", "reads a clock"),
    (re.compile(r"\bgetenv\b"), "getenv", "reads the environment"),
)


def check(root):
    allowed = {tuple(entry.split()) for entry in common.allow_list(root, "determinism_allow.txt")}
    used, problems = set(), []
    for name in common.code_files(root):
        if name.endswith("_main.cc"):  # the process's own surroundings are seen there, and nowhere else
            continue
        text = common.strip_strings(common.strip_comments(common.read(root, name)))
        for pattern, word, why in BANNED:
            for match in pattern.finditer(text):
                if (name, word) in allowed:
                    used.add((name, word))
                    continue
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{name}:{line}: `{match.group(0).strip()}`: {why} ({word})")
    for entry in sorted(allowed - used):
        problems.append(f"tests/lint/determinism_allow.txt:1: `{' '.join(entry)}` is not needed any more")
    return problems


if __name__ == "__main__":
    common.main(check)
