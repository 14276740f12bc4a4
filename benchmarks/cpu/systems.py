"""Times of `solve` and `lstsq`, beside other packages: one system, batches, orders, conditions."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mpmath
import numpy as np

import mdqr
from benchmarks.common.environment import available_cpus
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import Call, Timer
from benchmarks.cpu.peers import at_bits, flint, to_arb
from mdqr._backend.host import backend
from mdqr.linalg import lstsq, solve
from mdqr.testing import matrix

MULTIPLE = PRECISIONS[1:]
BATCH = 1000
SINGLE_AIM = 0.15
BATCH_AIMS = {
    ("od", 8): 20.0,
    ("od", 16): 60.0,
    ("od", 32): 300.0,
    ("od", 64): 1500.0,
    ("dd", 8): 4.0,
    ("dd", 32): 60.0,
}
LEAST = 2e-3  # seconds of one timing
MOST_FLINT, MOST_MPMATH = 256, 32  # the orders that others do in a benchmark's time
FLINT_ALONE = 32
CONDITIONS = (1e2, 1e6, 1e10, 1e14, 1e20, 1e30, 1e40)


def seconds(calls: dict[str, Call], repeats: int = 7) -> dict[str, float]:
    """Return the median times of calls that take turns, so that all meet the same machine."""
    timer = Timer(1, LEAST)
    numbers = {}
    for name, call in calls.items():
        once = min(timer.once(call) for _ in range(2))
        numbers[name] = max(1, round(LEAST / max(once, 1e-9)))
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            found[name].append(timer.once(call, numbers[name]))
    return {name: statistics.median(times) for name, times in found.items()}


def draw(shape: tuple[int, ...], p: mdqr.Precision, seed: int = 7) -> mdqr.MDArray:
    """Return random numbers in [-1, 1) of all limbs."""
    return mdqr.random.uniform(shape, low=-1, high=1, precision=p, rng=np.random.default_rng(seed))


def arbs(a: mdqr.MDArray) -> Any:
    """Return a matrix of exact balls."""
    b = a if a.ndim == 2 else a[:, None]
    return flint.arb_mat(*b.shape, [to_arb(x) for x in b.to_mpmath().ravel()])


def mpmath_matrix(a: mdqr.MDArray) -> Any:
    """Return a matrix, or column, of mpmath."""
    return mpmath.matrix(a.to_mpmath().tolist())


def in_flint(p: mdqr.Precision, n: int, call: Call) -> Call:
    """Return a call of FLINT with the threads that serve it best: more cost small ones 30 us."""

    def run() -> Any:
        flint.ctx.threads, flint.ctx.prec = 1 if n <= FLINT_ALONE else available_cpus(), p.bits
        return call()

    return run


def solvers(a: mdqr.MDArray, b: mdqr.MDArray) -> dict[str, Call]:
    """Return the ways to solve a square system."""
    p, n = a.precision, len(b)
    calls: dict[str, Call] = {"mdqr": partial(solve, a, b)}
    if flint is not None and n <= MOST_FLINT:
        x, y = arbs(a), arbs(b)
        calls["python-flint"] = in_flint(p, n, lambda: x.solve(y))
        calls["python-flint, approx"] = in_flint(p, n, lambda: x.solve(y, algorithm="approx"))
    if n <= MOST_MPMATH:
        u, v = mpmath_matrix(a), mpmath_matrix(b)
        calls["mpmath"] = at_bits(p, partial(mpmath.lu_solve, u, v))
    return calls


def single(options: Options) -> Iterator[Row]:
    """One small system a call."""
    for m, n in ((5, 3), (10, 3)):
        for p in MULTIPLE:
            a, b = draw((m, n), p), draw((m,), p, 8)
            other = partial(mpmath.qr_solve, mpmath_matrix(a), mpmath_matrix(b))
            calls = {"mdqr": partial(lstsq, a, b), "mpmath": at_bits(p, other)}
            aim = SINGLE_AIM if p.name in ("dd", "qd") else None
            yield from rows("single", "lstsq", p, f"{m}x{n}", seconds(calls), 1e3, "ms", aim)
        x, y = np.random.default_rng(7).random((m, n)), np.ones(m)
        found = seconds({"numpy": partial(np.linalg.lstsq, x, y, rcond=None)})
        yield from rows("single", "lstsq", mdqr.d, f"{m}x{n}", found, 1e3, "ms")
    for n in (8, 16):
        for p in MULTIPLE:
            calls = solvers(draw((n, n), p), draw((n,), p, 8))
            aim = SINGLE_AIM if p.name in ("dd", "qd") else None
            yield from rows("single", "solve", p, f"{n}", seconds(calls), 1e3, "ms", aim)
        x, y = np.random.default_rng(7).random((n, n)), np.ones(n)
        found = seconds({"numpy": partial(np.linalg.solve, x, y)})
        yield from rows("single", "solve", mdqr.d, f"{n}", found, 1e3, "ms")


def rows(
    group: str,
    what: str,
    p: mdqr.Precision,
    size: str,
    found: dict[str, float],
    scale: float,
    unit: str,
    aim: float | None = None,
) -> Iterator[Row]:
    """Yield a row for each package."""
    for who, time in found.items():
        own = aim if who == "mdqr" else None
        yield Row(group, what, who, p.name, size, time * scale, unit, own)


def batches(options: Options) -> Iterator[Row]:
    """Microseconds a system of batches, on one core."""
    threads = backend.extension().num_threads()
    mdqr.config.set_num_threads(1)
    try:
        for m, n in ((8, 8), (16, 16), (32, 32), (64, 64), (5, 3), (32, 16), (256, 64)):
            count = max(20, min(BATCH, 10**6 // (m * n * n)))
            for p in MULTIPLE:
                a, b = draw((count, m, n), p), draw((count, m, 1), p, 8)
                what, call = ("solve", solve) if m == n else ("lstsq", lstsq)
                found = seconds({"mdqr": partial(call, a, b)}, 5)
                size = f"{count} x {n}" if m == n else f"{count} x {m}x{n}"
                aim = BATCH_AIMS.get((p.name, n)) if m == n else None
                scale = 1e6 / count
                yield from rows("batches, one core", what, p, size, found, scale, "us", aim)
    finally:
        mdqr.config.set_num_threads(threads)


def orders(options: Options) -> Iterator[Row]:
    """One system, of growing order."""
    for n in (8, 32) if options.quick else (8, 16, 32, 64, 128, 256, 512):
        for p in MULTIPLE:
            calls = solvers(draw((n, n), p), draw((n,), p, 8))
            repeats = 7 if n <= 64 else 3
            yield from rows("orders", "solve", p, f"{n}", seconds(calls, repeats), 1e3, "ms")
        x, y = np.random.default_rng(7).random((n, n)), np.ones(n)
        found = seconds({"numpy": partial(np.linalg.solve, x, y)})
        yield from rows("orders", "solve", mdqr.d, f"{n}", found, 1e3, "ms")


def large(options: Options) -> Iterator[Row]:
    """Many equations: refinement, Householder QR and NumPy, data of one limb and of all."""
    m, n = (200, 50) if options.quick else (1000, 200)
    order = 100 if options.quick else 500
    a64 = matrix("random", m, n, cond=10**6, precision=mdqr.d, rng=1).to_numpy()
    b64 = np.random.default_rng(2).random(m)
    s64, t64 = np.random.default_rng(3).random((order, order)), np.ones(order)
    for p in MULTIPLE:
        a = matrix("random", m, n, cond=10**6, precision=p, rng=1)
        data: dict[str, tuple[Callable[..., Any], Any, Any]] = {
            "lstsq, float64 data": (lstsq, a64, b64),
            "lstsq": (lstsq, a, draw((m,), p)),
            "solve, float64 data": (solve, s64, t64),
            "solve": (solve, draw((order, order), p), draw((order,), p, 8)),
        }
        for what, (function, x, y) in data.items():
            call = partial(function, x, y, precision=p)
            calls = {"mdqr": call, "mdqr, householder": partial(call, method="householder")}
            if function is lstsq:
                calls["numpy"] = partial(np.linalg.lstsq, a64, b64, rcond=None)
            else:
                calls["numpy"] = partial(np.linalg.solve, s64, t64)
            size = f"{m}x{n}" if function is lstsq else f"{order}"
            yield from rows("large", what, p, size, seconds(calls, 3), 1e3, "ms")


def conditions(options: Options) -> Iterator[Row]:
    """The same shape with growing condition."""
    shapes = ((200, 50),) if options.quick else ((300, 300), (1000, 200))
    for m, n in shapes:
        for p in MULTIPLE:
            for cond in CONDITIONS:
                if cond > 0.01 / p.eps:
                    continue
                a = matrix("random", m, n, cond=int(cond), precision=p, rng=1)
                b = draw((m,), p)
                call = partial(lstsq, a, b, max_condition=np.inf) if m > n else partial(solve, a, b)
                calls = {"mdqr": call, "mdqr, householder": partial(call, method="householder")}
                what = f"{'lstsq' if m > n else 'solve'}, condition {cond:.0e}"
                size = f"{m}x{n}" if m > n else f"{n}"
                yield from rows("conditions", what, p, size, seconds(calls, 3), 1e3, "ms")


def steps(options: Options) -> Iterator[Row]:
    """Digits after each step: what the next one changes, relative to the solution."""
    p, (m, n) = MULTIPLE[-1], (300, 80)
    for cond in CONDITIONS:
        a = matrix("random", m, n, cond=int(cond), precision=p, rng=1)
        fit = lstsq(a, draw((m,), p), max_condition=np.inf)
        if fit.info.method != "refine":
            continue
        for step, change in enumerate(fit.info.history):
            digits = -math.log10(max(change, p.eps))
            yield Row("steps", f"condition {cond:.0e}", "mdqr", p.name, f"{step}", digits, "digits")


BENCHMARKS = {
    "systems": Benchmark(
        "systems",
        "Linear systems and least squares on a CPU",
        {
            "single": single,
            "batches": batches,
            "orders": orders,
            "large": large,
            "conditions": conditions,
            "steps": steps,
        },
    )
}
