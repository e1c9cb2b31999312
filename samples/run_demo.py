#!/usr/bin/env python3
"""Compiles every sample with ptoc, runs it with ptorun on stored inputs, and compares with results that NumPy computed.

golden/manifest.json lists the cases. Each is run once for every number of host threads asked for; the results must have the
same bytes and the same cycles. Needs nothing but Python's standard library.
"""

import argparse
import array
import ast
import json
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent
GOLDEN = SAMPLES / "golden"
ACCURACY_GOAL = 0.95
TIME_LIMIT = 600  # seconds a program; only a hang reaches it


class Failure(Exception):
    """What went wrong with one case; the others still run."""


@dataclass
class Row:
    name: str
    result: str
    cycles: str = ""
    microseconds: str = ""
    pipe: str = ""
    utilisation: str = ""


def read_npy(path):
    """(shape, flat values) of a little-endian .npy array of plain numbers."""
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        raise Failure(f"{path.name} is no .npy file")
    wide = data[6] >= 2
    length = int.from_bytes(data[8:12 if wide else 10], "little")
    start = (12 if wide else 10) + length
    header = ast.literal_eval(data[start - length:start].decode("latin-1"))
    code = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B", "i1": "b"}.get(header["descr"][1:])
    if code is None or header["fortran_order"]:
        raise Failure(f"{path.name} has type {header['descr']}, which this script can't read")
    values = array.array(code)
    values.frombytes(data[start:])
    return tuple(header["shape"]), values


def accuracy(scores_path, labels_path):
    """Share of rows whose largest score is at the label."""
    (rows, classes), scores = read_npy(scores_path)
    _, labels = read_npy(labels_path)
    right = 0
    for row in range(rows):
        line = scores[row * classes:(row + 1) * classes]
        right += max(range(classes), key=line.__getitem__) == labels[row]
    return right / rows


def call(command):
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise Failure(f"did not end within {TIME_LIMIT} s: {shlex.join(words)}") from None
    except OSError as error:
        raise Failure(f"can't start {words[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise Failure(f"exit code {done.returncode}: {shlex.join(words)}\n{done.stderr}{done.stdout}".rstrip())


def input_value(value):
    """A file of golden/, a generator such as `f32[4,4]:rand(seed=1)`, or a number."""
    text = str(value)
    return f"@{GOLDEN / text}" if text.endswith(".npy") else text


class Demo:
    def __init__(self, options, folder):
        self.ptoc = options.bin / "ptoc"
        self.ptorun = options.bin / "ptorun"
        self.threads = options.threads
        self.folder = folder
        self.compiled = {}

    def compile(self, case, target):
        """The object, compiled once for all cases that use it."""
        flags = ["--target", target]
        for name, value in case.get("defines", {}).items():
            flags += ["-D", f"{name}={value}"]
        key = (case["sample"], *flags)
        if key not in self.compiled:
            output = self.folder / f"{len(self.compiled)}.ptobin"
            call([self.ptoc, SAMPLES / case["sample"], "-o", output, *flags])
            self.compiled[key] = output
        return self.compiled[key]

    def run(self, case, target, program, threads):
        """(report, path of the result)"""
        stem = self.folder / f"{case['name']}.{target}.{threads}"
        result, report = f"{stem}.npy", f"{stem}.json"
        command = [self.ptorun, program, "--entry", case["entry"], f"--threads={threads}", f"--json={report}"]
        for name, value in case["inputs"].items():
            command += ["--in", f"{name}={input_value(value)}"]
        output = case["output"]
        command += ["--out", f"{output}=@{result}", "--expect", f"{output}=@{GOLDEN / case['golden']}"]
        for tolerance in ("rtol", "atol"):
            if tolerance in case:
                command += [f"--{tolerance}", case[tolerance]]
        call(command)
        return json.loads(Path(report).read_text(encoding="utf-8")), Path(result)

    def case(self, case, target):
        program = self.compile(case, target)
        first, first_result = self.run(case, target, program, self.threads[0])
        for threads in self.threads[1:]:
            other, other_result = self.run(case, target, program, threads)
            if first_result.read_bytes() != other_result.read_bytes():
                raise Failure(f"{self.threads[0]} and {threads} threads give different values")
            if first["cycles"] != other["cycles"]:
                raise Failure(f"{self.threads[0]} and {threads} threads give {first['cycles']} and {other['cycles']} cycles")
        verdict = first["expect"][0]
        result = f"ok, {verdict['max_abs_error']:.1e} off at most" if verdict["max_abs_error"] else "ok, exact"
        if "labels" in case:
            share = accuracy(first_result, GOLDEN / case["labels"])
            if share < ACCURACY_GOAL:
                raise Failure(f"accuracy {share:.1%}, at least {ACCURACY_GOAL:.0%} is expected")
            result = f"ok, accuracy {share:.1%}"
        busiest = first["busiest"]
        return Row(case["name"], result, f"{first['cycles']:,}", f"{first['microseconds']:,.1f}", busiest["pipe"],
                   f"{busiest['utilisation']:.0%}")


def print_table(rows):
    heads = Row("sample", "against golden", "cycles", "us", "busiest", "used")
    columns = ("name", "result", "cycles", "microseconds", "pipe", "utilisation")
    table = [[getattr(row, column) for column in columns] for row in [heads, *rows]]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    print()
    for line in table:
        cells = [cell.rjust(width) if column in ("cycles", "microseconds", "utilisation") else cell.ljust(width)
                 for cell, width, column in zip(line, widths, columns)]
        print("  ".join(cells).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, type=Path, help="folder of ptoc and ptorun")
    parser.add_argument("--target", default="a2a3", help="the machine (default a2a3)")
    parser.add_argument("--threads", default="1", help="numbers of host threads, `1,2`; results must be equal")
    parser.add_argument("--only", help="run the samples whose name has this in it")
    parser.add_argument("--quiet", action="store_true", help="no line for a case that passes")
    options = parser.parse_args()
    options.threads = [int(number) for number in options.threads.split(",")]
    options.bin = options.bin.resolve()

    cases = json.loads((GOLDEN / "manifest.json").read_text(encoding="utf-8"))["cases"]
    cases = [case for case in cases if case.get("target", options.target) == options.target]
    cases = [case for case in cases if not options.only or options.only in case["name"]]
    rows, failed = [], 0
    with tempfile.TemporaryDirectory(prefix="pto-demo-") as folder:
        demo = Demo(options, Path(folder))
        for number, case in enumerate(cases, 1):
            try:
                row = demo.case(case, options.target)
            except Failure as failure:
                failed += 1
                row = Row(case["name"], "FAILED")
                print(f"[{number}/{len(cases)}] {row.name}: FAILED\n{failure}", flush=True)
            else:
                if not options.quiet:
                    print(f"[{number}/{len(cases)}] {row.name}: {row.result}", flush=True)
            rows.append(row)
    print_table(rows)
    print(f"\n{len(cases) - failed} of {len(cases)} samples match on target {options.target}")
    sys.exit(1 if failed or not cases else 0)


if __name__ == "__main__":
    main()
