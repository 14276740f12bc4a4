"""Microseconds a system of the kernels for small systems, on one core, in batches.

python -m benchmarks.cpu.small [repeats]
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from mdqr._backend.host.backend import backend
from mdqr._limbs.planes import Kind

SHAPES = ((8, 8), (16, 16), (32, 32), (64, 64), (5, 3), (10, 3), (32, 16), (100, 20), (256, 64))
BATCH = 1000


def microseconds(m: int, n: int, limbs: int, of_data: int, repeats: int) -> tuple[float, int]:
    """Return the best time a system, and how many were not served."""
    rng = np.random.default_rng(1)
    batch = max(20, min(BATCH, BATCH * 1000 // (m * n * n)))
    data = np.zeros((limbs, batch, m, n + 1))
    data[0] = rng.standard_normal(data.shape[1:])
    for i in range(1, of_data):
        data[i] = data[i - 1] * rng.uniform(-0.9, 0.9, data.shape[1:]) * 2.0**-54
    a, b = data[:of_data, ..., :n], data[:of_data, ..., n:]
    call = backend().solve_small if m == n else backend().lstsq_small
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        found = call(a, b, kind=Kind(limbs, False))
        times.append(perf_counter() - begin)
    return min(times) / batch * 1e6, int((found.status != 0).sum())


def main() -> None:
    """Print a table."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    mdqr.config.set_num_threads(1)
    kinds = [(p, p.limbs) for p in PRECISIONS[1:]] + [(PRECISIONS[-1], 1)]
    print("|  | " + " | ".join(f"{p.name}, {k} limbs" for p, k in kinds) + " |")
    print("|---|" + "---:|" * len(kinds))
    for m, n in SHAPES:
        cells = [microseconds(m, n, p.limbs, k, repeats) for p, k in kinds]
        name = f"solve {n}" if m == n else f"lstsq {m} x {n}"
        texts = [f"{time:.3g}" + f" ({left} not served)" * (left > 0) for time, left in cells]
        print(f"| {name} | " + " | ".join(texts) + " |")


if __name__ == "__main__":
    main()
