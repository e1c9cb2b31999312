#!/usr/bin/env python3
"""Measures what the project promises about speed and prints each number beside its goal. Never part of `make test`: a
measured time says something about the machine, too. Exit code 1 only when something could not be measured at all."""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import unrolled

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "samples"
COMPILE_RUNS = 11
COMPILE_GOAL_MS = 20.0
MEMORY_GOAL_MB = 60.0
GEMM_RATIO_GOAL = 0.5
TIME_MODE_GOAL_S = 2.0
LONG_GOAL_S = 1.0


class Failure(Exception):
    """What could not be measured, and why."""


def run_process(bin_dir, runs, command):
    """(best time in seconds, peak resident MB) of a whole process."""
    words = [str(word) for word in (bin_dir / "process_bench", runs, *command)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failure(done.stderr.strip() or f"exit code {done.returncode}")
    result = json.loads(done.stdout)
    return result["seconds"], result["kilobytes"] / 1024


class Report:
    def __init__(self):
        self.rows = []
        self.broken = []

    def add(self, what, value, goal, met):
        self.rows.append((what, value, goal, "pass" if met else "MISS"))
        print(f"bench: {what}: {value} (goal {goal})", flush=True)

    def fail(self, what, why):
        self.broken.append(what)
        self.rows.append((what, "failed", "", "ERROR"))
        print(f"bench: {what}: {why}", flush=True)

    def print_table(self):
        heads = ("measured", "value", "goal", "")
        widths = [max(len(row[i]) for row in [heads, *self.rows]) for i in range(4)]
        print()
        for row in [heads, *self.rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def bench_compile(bin_dir, folder, report):
    """A whole ptoc process, a sample at a time."""
    for sample in sorted(SAMPLES.glob("*.pto")) + [SAMPLES / "digits/digits.pto"]:
        what = f"ptoc {sample.name}"
        try:
            seconds, memory = run_process(
                bin_dir, COMPILE_RUNS, [bin_dir / "ptoc", sample, "-o", folder / "k.ptobin", "--target", "a2a3"])
        except Failure as failure:
            report.fail(what, failure)
            continue
        report.add(what, f"{seconds * 1e3:.1f} ms, {memory:.0f} MB",
                   f"< {COMPILE_GOAL_MS:.0f} ms, < {MEMORY_GOAL_MB:.0f} MB",
                   seconds * 1e3 < COMPILE_GOAL_MS and memory < MEMORY_GOAL_MB)


def bench_growth(bin_dir, folder, report):
    """How compile time grows with the length of a program, and what long programs take."""
    def seconds_for(kind, statements):
        source = folder / f"{kind}{statements}.pto"
        source.write_text(unrolled.program(kind, statements))
        return run_process(bin_dir, 3, [bin_dir / "ptoc", source, "-o", folder / "k.ptobin"])[0]

    for kind, statements in (("auto", 96), ("kernel", 1600), ("ifs", 64)):
        what = f"ptoc, {statements} statements, {kind}"
        try:
            seconds = seconds_for(kind, statements)
        except Failure as failure:
            report.fail(what, failure)
            continue
        report.add(what, f"{seconds * 1e3:.1f} ms", f"< {LONG_GOAL_S:.0f} s", seconds < LONG_GOAL_S)
    sizes = (1000, 4000, 16000)
    for kind in ("auto", "core"):
        what = f"ptoc, {kind}, {' '.join(str(size) for size in sizes)} statements"
        try:
            times = [seconds_for(kind, size) for size in sizes]
        except Failure as failure:
            report.fail(what, failure)
            continue
        n_log_n = sizes[-1] * math.log(sizes[-1]) / (sizes[0] * math.log(sizes[0]))
        report.add(what, ", ".join(f"{time * 1e3:.1f} ms" for time in times) + f", x {times[-1] / times[0]:.1f}",
                   f"x {n_log_n:.1f} (n log n)", times[-1] / times[0] <= n_log_n)


def compile_gemm(bin_dir, folder, size):
    output = folder / f"gemm{size}.ptobin"
    defines = [word for dim in "MNK" for word in ("-D", f"{dim}={size}")]
    run_process(bin_dir, 1, [bin_dir / "ptoc", ROOT / "tests/bench/gemm.pto", "-o", output, *defines])
    return output


def bench_gemm_values(bin_dir, folder, report):
    size = 1024
    what = f"gemm {size}^3 f16->f32, values, 1 thread"
    try:
        output = compile_gemm(bin_dir, folder, size)
        done = subprocess.run([bin_dir / "gemm_bench", output, str(size)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(done.stderr.strip() or f"exit code {done.returncode}")
        result = json.loads(done.stdout)
        ours, blas = result["ptorun_seconds"] * 1e3, result["blas_seconds"] * 1e3
        if blas > 0:
            report.add(f"{what}, of OpenBLAS sgemm", f"{blas / ours:.2f} ({ours:.1f} ms against {blas:.1f} ms)",
                       f">= {GEMM_RATIO_GOAL}", blas / ours >= GEMM_RATIO_GOAL)
            report.add(f"{what}, difference to OpenBLAS", f"{result['difference']:g}", "0 (exact inputs)",
                       result["difference"] == 0)
        else:
            report.add(what, f"{ours:.1f} ms, {result['gflops']:.1f} GFLOP/s", "no OpenBLAS here", True)
        seconds, memory = run_process(
            bin_dir, 3, [bin_dir / "ptorun", output, "--entry=gemm", "--mode=values", "--threads=1",
                         "--in", f"a=f16[{size},{size}]:rand(seed=1)", "--in", f"b=f16[{size},{size}]:rand(seed=2)"])
        report.add(f"{what}, whole process", f"{seconds * 1e3:.0f} ms, {memory:.0f} MB", "for information", True)
    except Failure as failure:
        report.fail(what, failure)


def bench_gemm_time(bin_dir, folder, report):
    size = 6144
    what = f"ptorun --mode=time, gemm {size}^3"
    try:
        output = compile_gemm(bin_dir, folder, size)
        seconds, memory = run_process(
            bin_dir, 3, [bin_dir / "ptorun", output, "--entry=gemm", "--mode=time",
                         "--in", f"a=f16[{size},{size}]", "--in", f"b=f16[{size},{size}]"])
    except Failure as failure:
        report.fail(what, failure)
    else:
        report.add(what, f"{seconds:.2f} s, {memory:.0f} MB", f"< {TIME_MODE_GOAL_S:.0f} s", seconds < TIME_MODE_GOAL_S)


def bench_semantics(bin_dir):
    """Rates of single instructions, in the words of that program."""
    program = bin_dir / "sem_bench"
    if program.exists():
        print("\nbench: sem_bench", flush=True)
        subprocess.run([program], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=Path, help="folder of ptoc, ptorun and the benchmark programs")
    bin_dir = parser.parse_args().bin.resolve()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="pto-bench-") as folder:
        bench_compile(bin_dir, Path(folder), report)
        bench_growth(bin_dir, Path(folder), report)
        bench_gemm_values(bin_dir, Path(folder), report)
        bench_gemm_time(bin_dir, Path(folder), report)
    bench_semantics(bin_dir)
    report.print_table()
    missed = sum(row[3] == "MISS" for row in report.rows)
    print(f"\n{len(report.rows)} measured, {missed} below the goal, {len(report.broken)} could not be measured")
    sys.exit(1 if report.broken else 0)


if __name__ == "__main__":
    main()
