"""Tests errors_md.py with a project and programs made up for it: what is right passes, and what is wrong is told."""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import errors_md  # noqa: E402

CATALOGUE = """\
PTO_DIAG(Bad, 101, Error, "`{0}` is bad")
PTO_DIAG(Odd, 102, Remark, "this is odd")
"""
# Says what the source says; `x.pto` is found by being in the folder.
FAKE = """\
#!/bin/sh
while read -r word text; do
  [ "$word" = say ] && echo "$text" >&2
  [ "$word" = fail ] && exit 1
done < "$1"
exit 0
"""
BAD = """\
It is bad. Make it good.

Fails:
```pto
say x.pto:1:1: error[E0101]: `a` is bad
fail
```
```text
x.pto:1:1: error[E0101]: `a` is bad
```

Accepted:
```pto
good
```
"""
ODD = """\
It is odd.

No example: nobody makes one.
"""
ODD_SHOWN = """\
It is odd.

Fails:
```pto
say remark[R0102]: this is odd
```
```text
remark[R0102]: this is odd
```

Accepted:
```pto
good
```
"""


class Project:
    def __init__(self, folder, entries):
        self.root = Path(folder)
        for name in ("include/pto", "tests/errors", "docs", "bin"):
            (self.root / name).mkdir(parents=True)
        (self.root / "include/pto/diag.def").write_text(CATALOGUE)
        fake = self.root / "bin/ptoc"
        fake.write_text(FAKE)
        fake.chmod(0o755)
        for code, text in entries.items():
            (self.root / f"tests/errors/{code}.md").write_text(text)
        self.catalogue = errors_md.Catalogue(self.root)

    def problems(self):
        return self.catalogue.problems() + errors_md.run_examples(self.catalogue, self.root / "bin")


def problems_of(entries):
    with tempfile.TemporaryDirectory() as folder:
        return "\n".join(Project(folder, entries).problems())


def expect(entries, part, what):
    found = problems_of(entries)
    if (part not in found) if part else found:
        print(f"{what}: expected {part or 'no problem'!r}, found {found!r}")
        return 1
    return 0


def check_page():
    with tempfile.TemporaryDirectory() as folder:
        page = Project(folder, {"E0101": BAD, "R0102": ODD}).catalogue.page()
    wanted = ("| [E0101](#e0101) | `{0}` is bad |", "## E0101\n", "`Odd`, remark:", "It is bad. Make it good.",
              "No example: nobody makes one.", "```pto\ngood\n```")
    missing = [text for text in wanted if text not in page]
    if missing:
        print(f"the page lacks {missing}")
    return len(missing)


def main():
    os.environ.pop("PTO_BLESS", None)
    good = {"E0101": BAD, "R0102": ODD}
    failures = expect(good, "", "two good entries")
    failures += expect({**good, "R0102": ODD_SHOWN}, "", "a remark with an example")
    failures += expect({"E0101": BAD}, "Odd has no entry", "a diagnostic without an entry")
    failures += expect({**good, "E0103": BAD}, "there is no diagnostic E0103", "an entry without a diagnostic")
    for old, new, part in (
            ("Make it good.", "Make it good", "the explanation is missing"),
            ("It is bad. Make it good.", "", "the explanation is missing"),
            ("Fails:\n", "", "either `Fails:` and `Accepted:`, or"),
            ("Accepted:\n", "", "`Accepted:` is missing or empty"),
            ("```pto\ngood\n```\n", "", "`Accepted:` is missing or empty"),
            ("```pto\ngood", "```json\ngood", "a fence of `json` without a file name"),
            ("Accepted:\n", "Accepted:\nwords\n", "has text outside of its fences"),
            ("```text\nx.pto:1:1: error[E0101]: `a` is bad\n```\n", "", "does not show what is printed"),
            ("```text\nx.pto:1:1", "```text\nx.pto:1:2", "the output shown differs"),
            ("say x.pto:1:1: error[E0101]", "say x.pto:1:1: error[E0109]", "does not report E0101"),
            ("fail\n", "", "ends with exit code 0"),
            ("```pto\ngood", "```pto\nfail", "`Accepted:` is not accepted, exit code 1"),
            ("```pto\ngood", "```pto\nsay remark[R0102]: odd", "`Accepted:` is not accepted, exit code 0"),
            ("fail\n```\n", "fail\n```\n```sh\nptoc x.pto\necho more\n```\n", "`ptoc x.pto` must succeed")):
        assert old in BAD, old
        failures += expect({**good, "E0101": BAD.replace(old, new, 1)}, part, f"{old!r} -> {new!r}")
    failures += expect({**good, "R0102": ODD_SHOWN.replace("is odd\n", "is odd\nfail\n", 1)}, "ends with exit code 1",
                       "a remark that fails")
    failures += check_page()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
