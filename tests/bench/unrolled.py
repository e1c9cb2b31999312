#!/usr/bin/env python3
"""Long programs, for measuring how compile time grows: unrolled.py KIND STATEMENTS writes one to standard output.

  auto    an `auto core`: independent chains load, compute, compute, store in a few buffers that are used again and again
  core    what `auto` becomes, its flags written out: nothing but the prover has work to do
  kernel  a kernel of one block with as many operations in a row
  ifs     a kernel: a chain of branches in a loop, each of which changes a tile that the loop carries
"""

import sys

CHAINS = 6  # buffers in use at once


def chain_core(statements, automatic):
    chains = max(1, statements // 4)
    rows = 8 * chains
    lines = [f"{'auto ' if automatic else ''}core vec chains(x: f32[{rows}, 64]) -> (y: f32[{rows}, 64]) {{"]
    lines += [f"    buf t{i}: tile f32[8, 64] " + ("in vec;" if automatic else f"at vec:{i * 2048:#x};")
              for i in range(CHAINS)]
    for n in range(chains):
        i = n % CHAINS

        def flag(kind, pipes):
            if not automatic:
                lines.append(f"    {kind}_flag {pipes}, {i};")

        if n >= CHAINS:
            flag("wait", "mte3 -> mte2")
        lines.append(f"    tload t{i}, x[{8 * n}, 0];")
        flag("set", "mte2 -> v")
        flag("wait", "mte2 -> v")
        lines += [f"    tadds t{i}, t{i}, 1.0;", f"    tmuls t{i}, t{i}, 2.0;"]
        flag("set", "v -> mte3")
        flag("wait", "v -> mte3")
        lines.append(f"    tstore y[{8 * n}, 0], t{i};")
        if n + CHAINS < chains:
            flag("set", "mte3 -> mte2")
    return lines + ["}"]


def kernel(statements):
    lines = ["kernel unrolled(x: f32[8, 64]) -> (y: f32[8, 64]) {", "    parallel b in 0..1 {",
             "        let t0 = load(x[0 :+ 8, :]);", "        let u0 = load(x[0 :+ 8, :]);"]
    for n in range(1, max(2, (statements - 3) // 2)):
        lines += [f"        let t{n} = t{n - 1} * 0.5 + u{n - 1};", f"        let u{n} = max(u{n - 1}, t{n});"]
    last = max(2, (statements - 3) // 2) - 1
    return lines + [f"        store(y[0 :+ 8, :], t{last} + u{last});", "    }", "}"]


def ifs(statements):
    lines = ["kernel ifs[N](x: f32[8, 64], w: f32[N, 64], n: i32) -> (y: f32[8, 64]) {", "    parallel b in 0..1 {",
             "        var t = zeros(f32[8, 64]);", "        for k in 0..N {"]
    for i in range(statements):
        lines += [f"            if n > {i} {{", "                t = t * 0.5 + load(x[0 :+ 8, :]);", "            }"]
    return lines + ["        }", "        store(y[0 :+ 8, :], t);", "    }", "}"]


def program(kind, statements):
    lines = {"auto": lambda n: chain_core(n, True), "core": lambda n: chain_core(n, False),
             "kernel": kernel, "ifs": ifs}[kind](statements)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(program(sys.argv[1], int(sys.argv[2])))
