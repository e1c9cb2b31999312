#!/usr/bin/python3
"""Trains the small network of samples/digits and writes its data as .npy.

    /usr/bin/python3 samples/digits/train.py [digits.csv.gz]

Reads the 1797 handwritten digits (8 x 8 pixels, 0 to 16) that come with Debian's python3-sklearn; needs NumPy alone.
Writes beside itself:

    w1.npy f16 [64, 48]   b1.npy f32 [48]   w2.npy f16 [48, 10]   b2.npy f32 [10]
    images.npy f16 [360, 64], the test images scaled to 0 .. 1   labels.npy i32 [360]
    logits.npy f32 [360, 10], the golden output: relu(x w1 + b1) w2 + b2 in double precision, from the f16 weights

The data in the repository are the result of one run. Another machine's NumPy may sum in another order, and training makes
small differences large: another run is as good, but not the same bits.
"""

import gzip
import os
import sys

import numpy as np

DIGITS = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz"
HIDDEN = 48
TEST_IMAGES = 360
EPOCHS = 120
BATCH = 32


def load_digits(path):
    with gzip.open(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", dtype=np.int64)
    images = table[:, :64] / 16.0  # 17 grey levels: exact in f16
    return images, table[:, 64]


def forward(x, w1, b1, w2, b2):
    hidden = np.maximum(x @ w1 + b1, 0.0)
    return hidden, hidden @ w2 + b2


def gradients(x, labels, params):
    w1, b1, w2, b2 = params
    hidden, logits = forward(x, *params)
    logits = logits - logits.max(axis=1, keepdims=True)
    delta = np.exp(logits)
    delta /= delta.sum(axis=1, keepdims=True)
    delta[np.arange(len(labels)), labels] -= 1.0
    delta /= len(labels)
    delta_hidden = (delta @ w2.T) * (hidden > 0)
    return [x.T @ delta_hidden, delta_hidden.sum(axis=0), hidden.T @ delta, delta.sum(axis=0)]


def train(images, labels, rng):
    params = [
        rng.normal(0.0, np.sqrt(2.0 / 64), (64, HIDDEN)),
        np.zeros(HIDDEN),
        rng.normal(0.0, np.sqrt(2.0 / HIDDEN), (HIDDEN, 10)),
        np.zeros(10),
    ]
    # Adam with weight decay on the matrices.
    mean = [np.zeros_like(p) for p in params]
    square = [np.zeros_like(p) for p in params]
    step = 0
    for epoch in range(EPOCHS):
        rate = 3e-3 * (1.0 - epoch / EPOCHS)
        order = rng.permutation(len(images))
        for begin in range(0, len(order), BATCH):
            batch = order[begin : begin + BATCH]
            # Noise on the pixels, so that the network can't learn the training images by heart.
            noisy = images[batch] + rng.normal(0.0, 0.1, (len(batch), 64))
            step += 1
            for i, gradient in enumerate(gradients(noisy, labels[batch], params)):
                if params[i].ndim == 2:
                    gradient = gradient + 1e-4 * params[i]
                mean[i] = 0.9 * mean[i] + 0.1 * gradient
                square[i] = 0.999 * square[i] + 0.001 * gradient**2
                corrected = (mean[i] / (1 - 0.9**step)) / (np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8)
                params[i] = params[i] - rate * corrected
    return params


def accuracy(logits, labels):
    return float((logits.argmax(axis=1) == labels).mean())


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    images, labels = load_digits(sys.argv[1] if len(sys.argv) > 1 else DIGITS)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(images))
    test, rest = order[:TEST_IMAGES], order[TEST_IMAGES:]
    params = train(images[rest], labels[rest], rng)

    stored = [p.astype(np.float16 if p.ndim == 2 else np.float32) for p in params]
    for name, array in zip(("w1", "b1", "w2", "b2"), stored):
        np.save(os.path.join(here, name + ".npy"), array)
    x = images[test].astype(np.float16)
    np.save(os.path.join(here, "images.npy"), x)
    np.save(os.path.join(here, "labels.npy"), labels[test].astype(np.int32))

    w1, b1, w2, b2 = (p.astype(np.float64) for p in stored)
    hidden, logits = forward(x.astype(np.float64), w1, b1, w2, b2)
    np.save(os.path.join(here, "logits.npy"), logits.astype(np.float32))

    # Rounding the hidden layer to f16, as the sample does, moves a logit by at most this much.
    bound = float((hidden @ np.abs(w2)).max()) * 2.0**-11
    print(f"float accuracy {accuracy(forward(images[test], *params)[1], labels[test]):.4f}, "
          f"with f16 weights {accuracy(logits, labels[test]):.4f}, {TEST_IMAGES} test images")
    print(f"logits from {logits.min():.2f} to {logits.max():.2f}; rounding the hidden layer: at most {bound:.2g}")


if __name__ == "__main__":
    main()
