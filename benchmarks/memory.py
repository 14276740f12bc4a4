"""Peak memory of a factorisation, in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from measure import Row

import mdqr
from mdqr._precision import PRECISIONS, as_precision

AIM = 3.0  # the peak over the bytes of A, Q and R together


def memory(quick: bool) -> Iterator[Row]:
    """Peaks of ``qr`` over the bytes of A, Q and R: NumPy's allocations, and the whole process."""
    shapes = ((400, 400),) if quick else ((800, 800), (2000, 200))
    for p in PRECISIONS[1:]:
        for m, n in shapes:
            with new_process() as pool:
                traced = pool.submit(traced_peak, p.name, m, n).result()
            with new_process() as pool:
                resident = pool.submit(resident_peak, p.name, m, n).result()
            size = f"{m}x{n}"
            yield Row("memory", "arrays at the peak", "mdqr", p.name, size, traced, "x", AIM)
            yield Row("memory", "resident at the peak", "mdqr", p.name, size, resident, "x", AIM)


def new_process() -> ProcessPoolExecutor:
    """Return a pool of one fresh process."""
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def traced_peak(name: str, m: int, n: int) -> float:
    """Return the peak of what NumPy allocates, A included, over the bytes of A, Q and R."""
    factor(name, 8, 8)
    tracemalloc.start()
    wanted = factor(name, m, n)
    return tracemalloc.get_traced_memory()[1] / wanted


def resident_peak(name: str, m: int, n: int) -> float:
    """Return the growth of the process's peak, A included, over the bytes of A, Q and R."""
    factor(name, 8, 8)
    before = peak_bytes()
    wanted = factor(name, m, n)
    return (peak_bytes() - before) / wanted


def factor(name: str, m: int, n: int) -> int:
    """Factor a matrix and return the bytes of A, Q and R."""
    precision = as_precision(name)
    block = np.random.default_rng(1).random((precision.limbs, m, n))
    block += 1
    # In place, so that no temporary of this benchmark is in the peak; normalised as it stands.
    for i in range(precision.limbs):
        block[i] *= 2.0 ** (-54 * i)
    a = mdqr.from_limbs(block, normalize=False)
    return sum(x.limbs.nbytes for x in (a, *mdqr.linalg.qr(a)))


def peak_bytes() -> int:
    """Return the largest resident size so far; Linux counts it in KiB, macOS in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
