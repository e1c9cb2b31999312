"""A class, struct or enum of a namespace is defined once: two of one name would be one type to the linker, so code made
for the one could run on objects of the other. What an anonymous namespace holds is its file's own."""

import re

import common

NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{")
END = re.compile(r"^\}  // namespace")
TYPE = re.compile(r"^(?:class|struct|union|enum(?: class| struct)?) (\w+)(?: final)?(?: ?:[^:;].*)? ?\{")


def program_of(name):
    """Each folder of tests/unit is a program of its own; all else is linked together."""
    return name.rsplit("/", 1)[0] if name.startswith("tests/") else ""


def definitions(text):
    """(line, "namespace::Name") of the types at the level of a named namespace. clang-format puts them at the margin."""
    scopes = []
    lines = zip(text.splitlines(), common.strip_comments(text).splitlines())
    for number, (line, code) in enumerate(lines, 1):
        namespace = NAMESPACE.match(code)
        if namespace:
            scopes.append(namespace.group(1))
        elif END.match(line) and scopes:
            scopes.pop()
        found = TYPE.match(code)
        if found and "" not in scopes:
            yield number, "::".join(scopes + [found.group(1)])


def check(root):
    problems = []
    known = {}
    files = [f for f in common.project_files(root)
             if f.split("/")[0] in common.CODE_DIRS + ("tests",) and f.endswith((".h", ".cc"))]
    for name in sorted(files, key=lambda f: (program_of(f), f)):  # tests last: they are linked to the rest
        for line, type_name in definitions(common.read(root, name)):
            place = f"{name}:{line}"
            other = known.get(("", type_name)) or known.get((program_of(name), type_name))
            if other:
                problems.append(f"{place}: a second `{type_name}`; the other one is at {other}")
            known.setdefault((program_of(name), type_name), place)
    return problems


if __name__ == "__main__":
    common.main(check)
