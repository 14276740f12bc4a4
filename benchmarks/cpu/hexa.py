"""Hexa-double beside python-flint and mpmath at the same bits, each with one thread.

Processor time: what else runs on the machine does not count. NumPy's BLAS takes one thread if
OMP_NUM_THREADS=1 is set: those that wait count, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

import mpmath

import mdqr
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import Call, with_times
from benchmarks.cpu.peers import MULTIPLY_ADDS, flint
from benchmarks.cpu.systems import MOST_MPMATH, arbs, draw, mpmath_matrix, rows
from mdqr._backend.host import backend
from mdqr._precision import hd

LARGE, HUGE = 256, 512  # from here on calls are timed three times, and once
LEAST = 0.02  # seconds of one timing


def processor_time(call: Call, count: int = 1) -> float:
    """Return the mean seconds of a call that is made so many times."""
    return with_times(lambda: [call() for _ in range(count)])[2] / count


def seconds(calls: dict[str, Call], n: int) -> dict[str, float]:
    """Return the median processor times of calls that take turns, on one thread."""
    numbers = dict.fromkeys(calls, 1)
    if n < LARGE:  # what follows is not the first call
        numbers = {w: max(1, round(LEAST / processor_time(c))) for w, c in calls.items()}
    found: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(1 if n >= HUGE else 3 if n >= LARGE else 7):
        for who, call in calls.items():
            found[who].append(processor_time(call, numbers[who]))
    return {who: median(times) for who, times in found.items()}


def on_one_thread(part: Callable[[Options], Iterator[Row]]) -> Callable[[Options], Iterator[Row]]:
    """Return a part that leaves the number of threads as it was."""

    def run(options: Options) -> Iterator[Row]:
        threads = backend.extension().num_threads()
        mdqr.config.set_num_threads(1)
        if flint is not None:
            flint.ctx.threads, flint.ctx.prec = 1, hd.bits
        try:
            with mpmath.workprec(hd.bits):
                yield from part(options)
        finally:
            mdqr.config.set_num_threads(threads)

    return run


@on_one_thread
def products(options: Options) -> Iterator[Row]:
    """Square products, in multiply-adds a second."""
    for n in (32,) if options.quick else (32, 128, 256, 1024):
        a, b = draw((n, n), hd), draw((n, n), hd, 8)
        calls: dict[str, Call] = {"mdqr": partial(mdqr.linalg.matmul, a, b)}
        if flint is not None and n < HUGE:
            x, y = arbs(a), arbs(b)
            calls["python-flint"] = partial(x.__mul__, y)
        if n <= MOST_MPMATH:
            u, v = mpmath_matrix(a), mpmath_matrix(b)
            calls["mpmath"] = partial(u.__mul__, v)
        for who, value in seconds(calls, n).items():
            yield Row("products", "matmul", who, hd.name, f"{n}", n**3 / value, MULTIPLY_ADDS)


@on_one_thread
def systems(options: Options) -> Iterator[Row]:
    """Square systems; those of mdqr and of python-flint with bounds."""
    for n in (8, 16) if options.quick else (8, 16, 32, 64, 128, 256):
        a, b = draw((n, n), hd), draw((n,), hd, 8)
        calls: dict[str, Call] = {"mdqr": partial(mdqr.linalg.solve, a, b)}
        if flint is not None:
            x, y = arbs(a), arbs(b)
            calls["python-flint"] = partial(x.solve, y)
            calls["python-flint, approx"] = partial(x.solve, y, algorithm="approx")
        if n <= MOST_MPMATH:
            calls["mpmath"] = partial(mpmath.lu_solve, mpmath_matrix(a), mpmath_matrix(b))
        yield from rows("systems", "solve", hd, f"{n}", seconds(calls, n), 1e3, "ms")


@on_one_thread
def factors(options: Options) -> Iterator[Row]:
    """Least squares, of mdqr with bounds, and QR with Q."""
    m, n = (20, 5) if options.quick else (100, 20)
    a, b = draw((m, n), hd), draw((m,), hd, 8)
    calls: dict[str, Call] = {
        "mdqr": partial(mdqr.linalg.lstsq, a, b),
        "mpmath": partial(mpmath.qr_solve, mpmath_matrix(a), mpmath_matrix(b)),
    }
    yield from rows("factors", "lstsq", hd, f"{m}x{n}", seconds(calls, LARGE), 1e3, "ms")
    for n in (16,) if options.quick else (32, 128):
        a = draw((n, n), hd)
        found: dict[str, Any] = {"mdqr": partial(mdqr.linalg.qr, a)}
        if n <= MOST_MPMATH:
            found["mpmath"] = partial(mpmath.qr, mpmath_matrix(a))
        yield from rows("factors", "qr with Q", hd, f"{n}", seconds(found, LARGE), 1e3, "ms")


# What python-flint and mpmath call them, if not the same.
NAMES = {"arctan": "atan"}


@on_one_thread
def functions(options: Options) -> Iterator[Row]:
    """Elementary functions of numbers from 1 to 2, a number."""
    count = 200 if options.quick else 100_000
    x = mdqr.random.uniform(count, low=1, high=2, precision=hd, rng=5)
    few = 200 if options.quick else 2_000
    balls = [] if flint is None else arbs(x[:few, None]).entries()
    numbers = mpmath_matrix(x[:few, None])
    for name in ("exp", "log", "sin", "arctan", "gamma"):
        theirs = NAMES.get(name, name)
        calls: dict[str, Call] = {"mdqr": partial(getattr(mdqr, name), x)}
        if flint is not None:
            calls["python-flint"] = partial(each, getattr(flint.arb, theirs), balls)
        calls["mpmath"] = partial(each, getattr(mpmath, theirs), numbers)
        found = seconds(calls, LARGE)
        a_number = {who: t / (count if who == "mdqr" else few) for who, t in found.items()}
        yield from rows("functions", name, hd, f"{count}", a_number, 1e6, "us")


def each(function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
    """Apply a function to one number after the other."""
    return [function(value) for value in values]


BENCHMARKS = {
    "hexa": Benchmark(
        "hexa",
        "Hexa-double on one core",
        {"products": products, "systems": systems, "factors": factors, "functions": functions},
    )
}
