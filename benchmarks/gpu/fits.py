"""Many fits at once: one curve through a thousand data sets, on a GPU and on the host."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import mdqr
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import milliseconds
from benchmarks.gpu.arrays import MULTIPLE
from mdqr.optimize import curve_fit
from tests.optimize.nist import MODELS, load

COUNT = 1000
AIMS = {"qd": 50.0}  # milliseconds
SETS = ("MGH10", "Misra1a", "Thurber")


def data_of(name: str, count: int, p: mdqr.Precision, device: str) -> tuple[Any, Any]:
    """Return where a curve of NIST is observed, and observations: the certified ones, and others.

    The others differ by a relative noise of 1e-4, from a fixed seed.
    """
    found = load()[name]
    x, y = (mdqr.array(v, precision=p) for v in (found["x"][0], found["y"]))
    noise = 1e-4 * np.random.default_rng(1).normal(size=(count, y.size))
    noise[0] = 0.0
    return x.to_device(device), (y * (1.0 + noise)).to_device(device)


def fits(name: str, x: Any, y: Any, p: mdqr.Precision) -> Any:
    """Fit all data sets from the nearer of the starting points of NIST."""
    start = load()[name]["start"][1]
    return curve_fit(partial(_curve, name), x, y, start, precision=p)


def _curve(name: str, x: Any, *b: Any) -> Any:
    return MODELS[name](mdqr, x, *b)


def batches(options: Options) -> Iterator[Row]:
    """Times of a thousand fits, and how many of them have nearly all digits."""
    count = 50 if options.quick else COUNT
    for name in SETS[:1] if options.quick else SETS:
        for p in MULTIPLE[:2]:
            x, y = data_of(name, count, p, "cuda")
            found = fits(name, x, y, p)
            good = int(np.count_nonzero(found.info.digits.min(axis=-1) > 0.85 * p.digits))
            details = {"fits with nearly all digits": good, "steps": found.info.iterations}
            value = milliseconds(partial(fits, name, x, y, p), 5)
            aim = AIMS.get(p.name) if name == "MGH10" and not options.quick else None
            yield Row("batches", name, "mdqr", p.name, f"{count}", value, "ms", aim, details)
            begin = time.perf_counter()
            fits(name, x.to_device("cpu"), y.to_device("cpu"), p)
            value = 1e3 * (time.perf_counter() - begin)
            yield Row("batches", name, "mdqr on the host", p.name, f"{count}", value, "ms")


BENCHMARKS = {"gpu-fits": Benchmark("gpu-fits", "Many fits at once", {"batches": batches})}
