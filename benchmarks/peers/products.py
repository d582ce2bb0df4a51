"""The roofline: the bare matrix products of one dense update, by numpy's BLAS on one thread."""

import time

import numpy as np
from ring_game import BATCH, BEGIN, N, arguments, report

_, steps, _, _ = arguments()
shapes = {"w1": (2 * N, 128), "w2": (128, 128), "w3": (128, 4)}
rng = np.random.default_rng(0)


def matrix(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


w = {name: matrix(*shape) for name, shape in shapes.items()}
x = {name: matrix(BATCH, narrow) for name, (narrow, _) in shapes.items()}
d = {name: matrix(BATCH, wide) for name, (_, wide) in shapes.items()}
work = []
for name in shapes:
    work += [(x[name], w[name]), (x[name], w[name])]  # forwards, network and target
    work += [(x[name].T, d[name])]  # gradient of the weights
work += [(d[name], w[name].T) for name in ("w3", "w2")]  # gradient of the layer before
outs = [np.empty((a.shape[0], b.shape[1]), np.float32) for a, b in work]
jobs = list(zip(work, outs, strict=True))


def products(count: int) -> None:
    for _ in range(count):
        for (a, b), out in jobs:
            np.dot(a, b, out=out)


products(100)
cold = time.perf_counter() - BEGIN
started, cpu = time.perf_counter(), time.process_time()
products(steps)
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
report(updates=steps, seconds=seconds, cpu=cpu, cold=cold)
