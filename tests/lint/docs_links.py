"""Every relative link of a Markdown file leads to a file that is there, and every `#anchor` to a heading."""

import re
from pathlib import Path

import common

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|!\[[^\]\n]*\]\(\s*([^)\s]+)\s*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.M | re.S)
SPAN = re.compile(r"`[^`\n]*`")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def anchors(text):
    """Heading anchors in the way GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*\s*$", FENCE.sub(blank, text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        unique, count = anchor, 0
        while unique in found:
            count += 1
            unique = f"{anchor}-{count}"
        found.add(unique)
    found.update(re.findall(r'<a\s+(?:id|name)="([^"]+)"', text))
    return found


def check(root):
    root = Path(root)
    problems = []
    for name in common.project_files(root):
        if not name.endswith(".md"):
            continue
        text = common.read(root, name)
        prose = SPAN.sub(blank, FENCE.sub(blank, text))
        for match in LINK.finditer(prose):
            link = match.group(1) or match.group(2)
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            line = prose.count("\n", 0, match.start()) + 1
            path, _, anchor = link.partition("#")
            # Pieces of docs/errors.md are read there.
            folder = root / "docs" if name.startswith("tests/errors/") else (root / name).parent
            target = folder / path if path else root / name
            if not target.exists():
                problems.append(f"{name}:{line}: nothing at `{path}`")
            elif anchor and target.suffix == ".md":
                if anchor not in anchors(target.read_text(encoding="utf-8", errors="replace")):
                    problems.append(f"{name}:{line}: no heading `#{anchor}` in {path or name}")
    return problems


if __name__ == "__main__":
    common.main(check)
