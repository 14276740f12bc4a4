"""All solutions of polynomial systems on a GPU: one system, and sweeps over parameters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from statistics import median

import numpy as np

from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.cpu import paths as on_cpu
from mdqr._precision import Precision
from mdqr.series import SolutionSweep, System, solve
from tests.support.polynomial_systems import cyclic, katsura

# Seconds, and times the seconds of dd.
CYCLIC_AIM, SWEEP_AIM, QD_AIM = 1.0, 5.0, 4.0
# Values of the parameters, with so many paths to each.
VALUES, PATHS = 6250, 16
TEXTS = ["x^2 + a*y + b", "y^2 + a*z + x*b - 1", "z^2 + b*w - a", "w^2 + a*x + b*y - 2"]
NAMES, BEGIN = ["a", "b"], [0.3 + 0.8j, -0.7 + 0.2j]


def sweeps(options: Options) -> Iterator[Row]:
    """100,000 paths to 6,250 values of two parameters of four equations, certified."""
    values = VALUES // 25 if options.quick else VALUES
    size, warm = f"{values * PATHS} paths", {}
    for p in PRECISIONS[1:3]:
        call = sweep(p, values)
        first, *others = (_timed(call) for _ in range(4))
        aim = None if options.quick else SWEEP_AIM if p is PRECISIONS[1] else None
        warm[p.name] = median(others)
        yield Row("sweeps", "first call", "mdqr", p.name, size, first, "s", aim)
        yield Row("sweeps", "later calls", "mdqr", p.name, size, warm[p.name], "s", aim)
    ratio = warm["qd"] / warm["dd"]
    yield Row("sweeps", "qd / dd", "mdqr", "qd", size, ratio, "times", QD_AIM)


def sweep(p: Precision, values: int) -> partial[SolutionSweep]:
    """Return a call that follows paths to so many values of the parameters."""
    given = System.from_strings(TEXTS, ["x", "y", "z", "w", *NAMES])
    base = solve(given, parameters=NAMES, target=BEGIN)
    targets = np.random.default_rng(1).normal(size=(values, 2))
    return partial(
        solve, given, parameters=NAMES, start=(base.x, BEGIN), target=targets, precision=p,
        device="cuda",
    )  # fmt: skip


def _timed(call: partial[SolutionSweep]) -> float:
    start = time.perf_counter()
    found = call()
    seconds = time.perf_counter() - start
    if found.info.failed or not found.is_certified[found.is_found & ~found.is_singular].all():
        raise AssertionError(repr(found))
    return seconds


def systems(options: Options) -> Iterator[Row]:
    """Seconds of all solutions of one system, certified; most of it Python on the host."""
    for name, given, aim in (
        ("cyclic-6", cyclic(6), None),
        ("cyclic-7", cyclic(7), CYCLIC_AIM),
        ("katsura-10", katsura(10), None),
    ):
        for device in ("cuda", "cpu"):
            times = []
            for _ in range(2 if options.quick else 4):
                start = time.perf_counter()
                found = solve(given, device=device)
                times.append(time.perf_counter() - start)
            if not found.is_certified.all() or found.info.failed:
                raise AssertionError(f"{name}: {found.info}")
            what, own = f"{name}, {device}", aim if device == "cuda" else None
            value = median(times[1:])
            yield Row("systems", what, "mdqr", "dd", f"{found.paths} paths", value, "s", own)


BENCHMARKS = {
    "gpu-paths": Benchmark(
        "gpu-paths",
        "All solutions of polynomial systems on a GPU",
        {"sweeps": sweeps, "systems": systems, "paths": partial(on_cpu.paths, device="cuda")},
        gpu=True,
    )
}
