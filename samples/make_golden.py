#!/usr/bin/python3
"""Writes samples/golden: inputs and golden outputs of the samples as .npy, and manifest.json, which lists the cases.

    /usr/bin/python3 samples/make_golden.py

Goldens are computed with NumPy in double precision from the stored inputs, without any rounding in between, and stored as
f32: its error is less than a hundredth of every tolerance. Where an input would be large it is not stored; ptorun makes it
(`f32[127,1024]:randn(seed=3)`) and this script makes the same bits from the documented algorithm.

A case of the manifest: "name"; "sample", a file of samples/; "entry"; "inputs" by parameter, each a .npy path relative to
golden/ or a generator; "output", its parameter; "golden", a path relative to golden/; "rtol", "atol"; "defines" for
`ptoc -D`; for digits "labels".

Where tolerances come from: see `tolerance` comments below. u = 2^-11 is half a unit in the last place of f16.
"""

import json
import os
import shutil

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "golden")
U16 = 2.0**-11


# --- The generators of ptorun (runtime/io/generate.h).


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def random_words(seed, count):
    steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return mix(mix(np.array([seed], dtype=np.uint64)) + steps)


def ptorun_randn(dtype, shape, seed):
    count = int(np.prod(shape))
    words = random_words(seed, 3 * count).reshape(count, 3, 1)
    fields = (words >> np.array([0, 16, 32, 48], dtype=np.uint64)) & np.uint64(0xFFFF)
    total = fields.astype(np.int64).sum(axis=(1, 2))
    return ((total - 393210) * 2.0**-16).astype(dtype).reshape(shape)


# --- Cases.


class Cases:
    def __init__(self):
        self.rows = []

    def save(self, folder, name, array):
        os.makedirs(os.path.join(GOLDEN, folder), exist_ok=True)
        path = f"{folder}/{name}.npy"
        np.save(os.path.join(GOLDEN, path), array)
        return path

    def add(self, name, sample, entry, inputs, output, golden, rtol, atol, **more):
        """`golden` is a double array to store in folder `name`, or the path of one that is stored already."""
        if not isinstance(golden, str):
            as_f32 = golden.astype(np.float32)
            error = np.abs(as_f32 - golden)
            assert (rtol == 0 and atol == 0) or (error <= (atol + rtol * np.abs(golden)) / 100).all(), name
            golden = self.save(name, output, as_f32)
        self.rows.append({"name": name, "sample": sample, "entry": entry, "inputs": inputs, "output": output,
                          "golden": golden, "rtol": rtol, "atol": atol, **more})


def normal(rng, shape, dtype, scale=1.0):
    return (scale * rng.standard_normal(shape)).astype(dtype)


def double(*arrays):
    return [a.astype(np.float64) for a in arrays]


def round_up(value):
    """To one significant digit."""
    digit = 10.0 ** np.floor(np.log10(value))
    return float(f"{np.ceil(value / digit) * digit:.0e}")


def vector_add(cases, rng):
    # Exact: the double sum rounded to f32 is the f32 sum (53 bits are more than twice 24, and two more).
    for m in (1, 127, 129):
        name = f"vector_add_m{m}"
        if m == 127:
            inputs = {"x": "f32[127,1024]:randn(seed=1)", "y": "f32[127,1024]:randn(seed=2)"}
            x, y = (ptorun_randn(np.float32, (127, 1024), seed) for seed in (1, 2))
        else:
            x, y = (normal(rng, (m, 1024), np.float32) for _ in range(2))
            inputs = {"x": cases.save(name, "x", x), "y": cases.save(name, "y", y)}
        x, y = double(x, y)
        cases.add(name, "vector_add.pto", "add", inputs, "z", x + y, 0.0, 0.0)


GELU_SHAPES = {1: [(1,), (4097,)], 2: [(127, 65)], 3: [(3, 33, 129)], 4: [(2, 3, 17, 31)]}


def gelu_of(x):
    return x / (1.0 + np.exp(-1.702 * x))


def gelu(cases, rng):
    # f32: a handful of roundings of 2^-24, magnified by 1.702 |x| in the exponent. f16 the same with u: each of about four
    # operations gives u, and rounding the argument of exp gives 1.702 |x| u, less than 14 u for |x| < 8.
    for dtype, suffix, rtol, atol in ((np.float32, "", 1e-5, 1e-6), (np.float16, "_f16", 8e-3, 1e-3)):
        for rank, shapes in GELU_SHAPES.items():
            for shape in shapes:
                name = f"gelu{suffix}_" + "x".join(map(str, shape))
                x = normal(rng, shape, dtype, 2.0)
                inputs = {"x": cases.save(name, "x", x)}
                cases.add(name, "gelu.pto", f"gelu{rank}{suffix}", inputs, "y", gelu_of(*double(x)), rtol, atol)


def softmax_of(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax(cases, rng):
    # Rounding x - max, |x - max| < 16, gives 16 * 2^-24 in the exponent; the sum of N terms at most N * 2^-24, in the mean
    # of both signs far less; exp itself a few units.
    shapes = [(1, 1024), (127, 1024), (129, 1024), (127, 1000), (1, 127), (129, 127)]
    for m, n in shapes:
        folder = f"softmax_m{m}_n{n}"
        if m == 127:
            value = f"f32[{m},{n}]:randn(seed={n})"
            x = ptorun_randn(np.float32, (m, n), n)
        else:
            x = normal(rng, (m, n), np.float32, 2.0)
            value = cases.save(folder, "x", x)
        more = {} if n == 1024 else {"defines": {"N": n}}
        cases.add(folder, "softmax.pto", "softmax", {"x": value}, "y", softmax_of(*double(x)), 2e-5, 1e-9, **more)
        cases.add(folder.replace("softmax", "softmax_graph"), "softmax.pto", "softmax_graph", {"x": value}, "y",
                  f"{folder}/y.npy", 2e-5, 1e-9, **more)


def gemm(cases, rng):
    # Products of f16 are exact in f32; a sum of K of them has at most K roundings of 2^-24 of a partial sum. The bound
    # K * 2^-24 * sum |a b| is far above what happens; atol is a 16th of it.
    for m, k, n in ((128, 256, 256), (1, 127, 129), (127, 65, 33), (129, 511, 257)):
        folder = f"gemm_m{m}_k{k}_n{n}"
        a, b = normal(rng, (m, k), np.float16), normal(rng, (k, n), np.float16)
        inputs = {"a": cases.save(folder, "a", a), "b": cases.save(folder, "b", b)}
        a, b = double(a, b)
        atol = round_up(k * 2.0**-24 * (np.abs(a) @ np.abs(b)).max() / 16)
        cases.add(folder, "gemm.pto", "gemm", inputs, "c", a @ b, 1e-5, atol)
        cases.add(folder.replace("gemm", "gemm_graph"), "gemm.pto", "gemm_graph", inputs, "c", f"{folder}/c.npy", 1e-5,
                  atol)


def hidden_tolerance(hidden, w2):
    """Rounding the hidden layer to f16 moves each product by at most u; and a quarter for everything else."""
    return round_up(1.25 * U16 * (np.abs(hidden) @ np.abs(w2)).max())


def mlp(cases, rng):
    w1 = normal(rng, (64, 128), np.float16, 64**-0.5)
    b1 = normal(rng, (128,), np.float32, 0.1)
    w2 = normal(rng, (128, 48), np.float16, 128**-0.5)
    weights = {name: cases.save("mlp", name, array) for name, array in (("w1", w1), ("b1", b1), ("w2", w2))}
    for m in (1, 127, 129):
        name = f"mlp_m{m}"
        x = normal(rng, (m, 64), np.float16)
        hidden = gelu_of(x.astype(np.float64) @ w1.astype(np.float64) + b1.astype(np.float64))
        atol = hidden_tolerance(hidden, w2.astype(np.float64))
        cases.add(name, "mlp.pto", "mlp", {"x": cases.save(name, "x", x), **weights}, "y",
                  hidden @ w2.astype(np.float64), 1e-5, atol)


def gemm_gelu(cases, rng):
    # The result is rounded to f16: u relative; before that GELU's slope is below 1.2 and the sum's error tiny.
    for m, k, n in ((1, 64, 128), (129, 200, 257)):
        name = f"gemm_gelu_m{m}_k{k}_n{n}"
        x, w = normal(rng, (m, k), np.float16), normal(rng, (k, n), np.float16, k**-0.5)
        bias = normal(rng, (n,), np.float32)
        inputs = {key: cases.save(name, key, array) for key, array in (("x", x), ("w", w), ("bias", bias))}
        x, w, bias = double(x, w, bias)
        cases.add(name, "gemm_gelu.pto", "gemm_gelu", inputs, "y", gelu_of(x @ w + bias), 1.1 * U16, 1e-4)


def attention_of(q, kt, v, mask=0.0):
    return softmax_of(q @ kt / 8.0 + mask) @ v


def generated(shapes, seed):
    """Inputs that ptorun makes, and their values."""
    inputs, arrays = {}, []
    for number, (name, shape) in enumerate(shapes.items()):
        inputs[name] = f"f16[{shape[0]},{shape[1]}]:randn(seed={seed + number})"
        arrays.append(ptorun_randn(np.float16, shape, seed + number))
    return inputs, double(*arrays)


def attention(cases):
    # Weights are rounded to f16 before they meet the values: u of sum |w v| <= u max |v|; a quarter for everything else.
    for queries, keys in ((1, 64), (64, 64), (100, 1000), (130, 2048)):
        name = f"attention_q{queries}_n{keys}"
        inputs, (q, kt, v) = generated({"q": (queries, 64), "kt": (64, keys), "v": (keys, 64)}, keys)
        cases.add(name, "attention.pto", "attention", inputs, "o", attention_of(q, kt, v), 1e-5,
                  round_up(1.25 * U16 * np.abs(v).max()))
    tri = np.where(np.tri(64) > 0, 0.0, -np.inf).astype(np.float32)
    mask = cases.save("attention_causal", "mask", tri)
    for n in (64, 65, 200, 777):
        name = f"attention_causal_n{n}"
        inputs, (q, kt, v) = generated({"q": (n, 64), "kt": (64, n), "v": (n, 64)}, n)
        golden = attention_of(q, kt, v, np.where(np.tri(n) > 0, 0.0, -np.inf))
        cases.add(name, "attention.pto", "attention_causal", {**inputs, "mask": mask}, "o", golden, 1e-5,
                  round_up(1.25 * U16 * np.abs(v).max()))


def norm_matmul(cases, rng):
    # The normalised rows are rounded to f16, as the hidden layer of mlp.
    for m, k in ((1, 64), (100, 300)):
        name = f"norm_matmul_m{m}_k{k}"
        x, w1 = normal(rng, (m, k), np.float16), normal(rng, (k, 128), np.float16, k**-0.5)
        w2 = normal(rng, (128, 64), np.float16, 128**-0.5)
        inputs = {key: cases.save(name, key, array) for key, array in (("x", x), ("w1", w1), ("w2", w2))}
        x, w1, w2 = double(x, w1, w2)
        h = x @ w1
        d = h - h.mean(axis=1, keepdims=True)
        hidden = d / np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5)
        cases.add(name, "norm_matmul.pto", "norm_matmul", inputs, "y", hidden @ w2, 1e-5, hidden_tolerance(hidden, w2))


def digits(cases):
    """The arrays that digits/train.py wrote."""
    names = {"x": "images", "w1": "w1", "b1": "b1", "w2": "w2", "b2": "b2"}
    inputs = {parameter: f"../digits/{name}.npy" for parameter, name in names.items()}
    x, w1, b1, w2, b2 = double(*(np.load(os.path.join(GOLDEN, path)) for path in inputs.values()))
    hidden = np.maximum(x @ w1 + b1, 0.0)
    golden = np.load(os.path.join(HERE, "digits", "logits.npy"))
    assert np.abs(golden - (hidden @ w2 + b2)).max() < 1e-5, "digits/logits.npy is not of these weights"
    cases.add("digits", "digits/digits.pto", "digits", inputs, "logits", "../digits/logits.npy", 1e-5,
              hidden_tolerance(hidden, w2), labels="../digits/labels.npy")


def main():
    shutil.rmtree(GOLDEN, ignore_errors=True)
    os.makedirs(GOLDEN)
    cases = Cases()
    # A generator each, so that a change of one sample leaves the others' data alone.
    vector_add(cases, np.random.default_rng(1))
    gelu(cases, np.random.default_rng(2))
    softmax(cases, np.random.default_rng(3))
    gemm(cases, np.random.default_rng(4))
    mlp(cases, np.random.default_rng(5))
    gemm_gelu(cases, np.random.default_rng(6))
    attention(cases)
    norm_matmul(cases, np.random.default_rng(8))
    digits(cases)
    with open(os.path.join(GOLDEN, "manifest.json"), "w", encoding="utf-8") as file:
        lines = ",\n".join("    " + json.dumps(row) for row in cases.rows)
        file.write('{\n  "cases": [\n' + lines + "\n  ]\n}\n")
    print(f"{len(cases.rows)} cases")


if __name__ == "__main__":
    main()
