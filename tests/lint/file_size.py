"""No hand-written source of more than 800 lines. (The width of lines is .clang-format's business.)"""

import common

LINES_MOST = 800


def check(root):
    problems = []
    for name in common.project_files(root):
        if not name.endswith((".cc", ".h", ".g4", ".def", ".py")):
            continue
        lines = common.read(root, name).splitlines()
        if len(lines) > LINES_MOST:
            problems.append(f"{name}:{LINES_MOST + 1}: {len(lines)} lines, {LINES_MOST} is the most")
    return problems


if __name__ == "__main__":
    common.main(check)
