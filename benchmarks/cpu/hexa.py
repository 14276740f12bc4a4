"""Hexa-double beside python-flint and mpmath at the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import mpmath

import mdqr
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import Call
from benchmarks.cpu.peers import MULTIPLY_ADDS, at_bits, flint
from benchmarks.cpu.systems import arbs, draw, mpmath_matrix, rows, seconds, solvers
from mdqr._precision import hd

LARGE = 256  # products and systems from here on are timed once or twice


def products(options: Options) -> Iterator[Row]:
    """Square products, in multiply-adds a second."""
    for n in (64,) if options.quick else (64, 256, 1024):
        a, b = draw((n, n), hd), draw((n, n), hd, 8)
        calls: dict[str, Call] = {"mdqr": partial(mdqr.linalg.matmul, a, b)}
        if flint is not None:
            x, y = arbs(a), arbs(b)
            calls["python-flint"] = at_bits(hd, lambda x=x, y=y: x * y)
        if n <= 64:
            u, v = mpmath_matrix(a), mpmath_matrix(b)
            calls["mpmath"] = at_bits(hd, lambda u=u, v=v: u * v)
        found = seconds(calls, 7 if n < LARGE else 3 if n == LARGE else 1)
        for who, time in found.items():
            yield Row("products", "matmul", who, hd.name, f"{n}", n**3 / time, MULTIPLY_ADDS)


def systems(options: Options) -> Iterator[Row]:
    """Square systems with their bounds."""
    for n in (8, 16) if options.quick else (8, 16, 32, 64, 128, 256):
        calls = solvers(draw((n, n), hd), draw((n,), hd, 8))
        found = seconds(calls, 7 if n < 64 else 3)
        yield from rows("systems", "solve", hd, f"{n}", found, 1e3, "ms")


def factors(options: Options) -> Iterator[Row]:
    """Least squares with bounds, and QR with Q."""
    m, n = (20, 5) if options.quick else (100, 20)
    a, b = draw((m, n), hd), draw((m,), hd, 8)
    other = partial(mpmath.qr_solve, mpmath_matrix(a), mpmath_matrix(b))
    calls = {"mdqr": partial(mdqr.linalg.lstsq, a, b), "mpmath": at_bits(hd, other)}
    found = seconds(calls, 3)
    yield from rows("factors", "lstsq", hd, f"{m}x{n}", found, 1e3, "ms")
    n = 16 if options.quick else 128
    found = seconds({"mdqr": partial(mdqr.linalg.qr, draw((n, n), hd))}, 3)
    yield from rows("factors", "qr with Q", hd, f"{n}", found, 1e3, "ms")
    n = 16 if options.quick else 32
    a = draw((n, n), hd)
    calls = {
        "mdqr": partial(mdqr.linalg.qr, a),
        "mpmath": at_bits(hd, partial(mpmath.qr, mpmath_matrix(a))),
    }
    found = seconds(calls, 3)
    yield from rows("factors", "qr with Q", hd, f"{n}", found, 1e3, "ms")


BENCHMARKS = {
    "hexa": Benchmark(
        "hexa",
        "Hexa-double on a CPU",
        {"products": products, "systems": systems, "factors": factors},
    )
}
