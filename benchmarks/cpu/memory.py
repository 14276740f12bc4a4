"""Peak memory of a factorisation, in a process of its own."""

from __future__ import annotations

import multiprocessing
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Options
from mdqr._precision import as_precision

STATUS = Path("/proc/self/status")  # Linux
AIM = 3.0  # the peak over the bytes of A, Q and R together


def memory(options: Options) -> Iterator[Row]:
    """Peaks of ``qr`` over the bytes of A, Q and R: NumPy's allocations, and the whole process."""
    shapes = ((400, 400),) if options.quick else ((800, 800), (2000, 200))
    for p in PRECISIONS[1:]:
        for m, n in shapes:
            with new_process() as pool:
                traced = pool.submit(traced_peak, p.name, m, n).result()
            size = f"{m}x{n}"
            yield Row("memory", "arrays at the peak", "mdqr", p.name, size, traced, "x", AIM)
            if STATUS.exists():
                with new_process() as pool:
                    resident = pool.submit(resident_peak, p.name, m, n).result()
                yield Row("memory", "process at the peak", "mdqr", p.name, size, resident, "x", AIM)


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
    """Return how far the process grew, A included, over the bytes of A, Q and R."""
    factor(name, 8, 8)
    # Start the peak again: importing took more than it left. (`ru_maxrss` cannot be started again,
    # and a new process has that of its parent.)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    wanted = factor(name, m, n)
    return (status("VmHWM") - before) / wanted


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


def status(key: str) -> int:
    """Return a size from the kernel's account of this process, in bytes."""
    lines = STATUS.read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))
