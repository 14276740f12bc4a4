"""Power series solutions beside an mpmath implementation; digits by order and precision."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mpmath
import numpy as np

import mdqr
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.cpu.systems import MULTIPLE, seconds
from mdqr.series import System, newton_series

DEGREE = 31
AIMS = {("triangular", "qd"): 0.010, ("cyclic", "qd"): 0.020}
HALF = 8  # digits that an order is to have


def cyclic(n: int) -> tuple[System, np.ndarray]:
    """Return cyclic n-roots with their product set to 1 + t, and a start."""
    names = [f"x{i}" for i in range(n)]
    equations = [
        " + ".join("*".join(names[(i + j) % n] for j in range(length)) for i in range(n))
        for length in range(1, n)
    ]
    system = System.from_strings([*equations, "*".join(names) + " - 1 - t"], names)
    return system, np.exp(2j * np.pi * (np.arange(n) + (n % 2 == 0) / 2) / n)


def triangular(n: int) -> tuple[System, np.ndarray]:
    """Return ``x_1 ... x_i (1 - c_i t) = 1`` with rational c_i, and the start of ones."""
    exponents = np.concatenate([np.tri(n, dtype=int), np.zeros((n, n), int)])
    coefficients = np.zeros((2 * n, 2))
    coefficients[:n, 0] = 1.0
    coefficients[:n, 1] = -((np.arange(1, n + 1) % 7) + 1) / 8
    coefficients[n:, 0] = -1.0
    return System.from_arrays(exponents, coefficients, [*range(n), *range(n)]), np.ones(n)


def exponential(n: int, degree: int) -> tuple[System, np.ndarray]:
    """Return ``x_1 ... x_i = exp(b_i t)``, sums b_i of numbers near 1 and -1, and the start."""
    rng = np.random.default_rng(n)
    b = np.cumsum(rng.uniform(63 / 64, 1, n) * rng.choice([-1, 1], n))
    exponents = np.concatenate([np.tri(n, dtype=int), np.zeros((n, n), int)])
    powers = mdqr.array(b, precision=mdqr.od)[:, None] ** np.arange(degree + 1)
    factorials = np.array([math.factorial(k) for k in range(degree + 1)], dtype=object)
    right = -(powers / mdqr.array(factorials, precision=mdqr.od))
    left = mdqr.zeros((n, degree + 1), precision=mdqr.od)
    left[:, 0] = 1
    given = mdqr.concatenate([left, right])
    return System.from_arrays(exponents, given, [*range(n), *range(n)]), np.ones(n)


FAMILIES = {"triangular": (triangular, (8, 32, 64)), "cyclic": (cyclic, (5, 7, 11))}


def by_mpmath(system: System, x0: np.ndarray, degree: int, bits: int) -> list[list[Any]]:
    """Return the series by the same recurrence, in mpmath: one inverse, order by order."""
    with mpmath.workprec(bits):
        products, place = system._monomials
        left, right, _ = products.graph
        n = products.variables
        terms = system._rounded(mdqr.od).to_mpmath()
        nodes = [[mpmath.mpmathify(complex(x) if np.iscomplexobj(x0) else x)] for x in x0]
        nodes += [[None] for _ in left]

        def order(k: int) -> None:
            for i, (a, b) in enumerate(zip(left, right, strict=True)):
                u, v = nodes[a], nodes[b]
                nodes[n + i][k] = mpmath.fdot((u[j], v[k - j]) for j in range(k + 1))

        def equations(k: int) -> Any:
            found = mpmath.zeros(system.equations, 1)
            for row, equation, monomial in zip(terms, system._equation, place, strict=True):
                at = products.monomials[monomial] if monomial >= 0 else -1
                for j, c in enumerate(row[: k + 1]):
                    if c and (at >= 0 or k == j):
                        found[int(equation)] += c * (nodes[at][k - j] if at >= 0 else 1)
            return found

        def jacobian() -> Any:
            slopes = [[mpmath.mpf(i == j) for j in range(n)] for i in range(n)]
            for a, b in zip(left, right, strict=True):
                u, v = nodes[a][0], nodes[b][0]
                slopes.append([x * v + u * y for x, y in zip(slopes[a], slopes[b], strict=True)])
            found = mpmath.zeros(system.equations, n)
            for row, equation, monomial in zip(terms, system._equation, place, strict=True):
                if monomial >= 0 and row[0]:
                    for j, x in enumerate(slopes[products.monomials[monomial]]):
                        found[int(equation), j] += row[0] * x
            return found

        order(0)
        inverse = jacobian() ** -1
        for _ in range(math.ceil(math.log2(bits / 50))):
            dx = inverse * equations(0)
            for i in range(n):
                nodes[i][0] -= dx[i]
            order(0)
            inverse = jacobian() ** -1
        for k in range(1, degree + 1):
            for node in nodes:
                node.append(mpmath.mpf(0))
            order(k)
            x = inverse * equations(k)
            for i in range(n):
                nodes[i][k] = -x[i]
            order(k)
        return nodes[:n]


def times(options: Options) -> Iterator[Row]:
    """Seconds of one solution, degree 31."""
    for name, (family, sizes) in FAMILIES.items():
        for n in sizes[:2] if options.quick else sizes:
            system, x0 = family(n)
            for p in MULTIPLE:
                calls: dict[str, Callable[[], Any]] = {
                    "mdqr": partial(newton_series, system, x0, degree=DEGREE, precision=p)
                }
                if n <= 32:
                    calls["mpmath"] = partial(by_mpmath, system, x0, DEGREE, p.bits)
                aim = AIMS.get((name, p.name)) if n in (7, 32) else None
                for who, value in seconds(calls, 3 if options.quick else 5).items():
                    own = aim if who == "mdqr" else None
                    yield Row(
                        "times", name, who, p.name, f"{n}", value * 1e3, "ms", own and own * 1e3
                    )


def growth(options: Options) -> Iterator[Row]:
    """Seconds by the degree."""
    system, x0 = cyclic(7)
    for degree in (15, 31) if options.quick else (7, 15, 31, 63, 127):
        for p in MULTIPLE:
            call = partial(newton_series, system, x0, degree=degree, precision=p)
            value = seconds({"mdqr": call}, 5)["mdqr"]
            yield Row("growth", "cyclic 7", "mdqr", p.name, f"{degree}", value * 1e3, "ms")


def sizes(options: Options) -> Iterator[Row]:
    """Seconds by the number of unknowns."""
    for n in (8, 32) if options.quick else (8, 16, 32, 64, 128, 256):
        system, x0 = triangular(n)
        for p in MULTIPLE:
            call = partial(newton_series, system, x0, degree=DEGREE, precision=p)
            value = seconds({"mdqr": call}, 3)["mdqr"]
            yield Row("sizes", "triangular", "mdqr", p.name, f"{n}", value * 1e3, "ms")


def batches(options: Options) -> Iterator[Row]:
    """Milliseconds of a thousand start points."""
    system, x0 = cyclic(7)
    count = 50 if options.quick else 1000
    starts = np.broadcast_to(x0, (count, 7))
    for p in MULTIPLE:
        start = time.perf_counter()
        newton_series(system, starts, degree=DEGREE, precision=p)
        value = (time.perf_counter() - start) * 1e3
        yield Row("batches", "cyclic 7", "mdqr", p.name, f"{count}", value, "ms")


def carried(options: Options) -> Iterator[Row]:
    """The last order with 8 digits, of systems of exponentials: which precision is recommended."""
    degree = 31 if options.quick else 63
    for n in (8, 16, 32):
        system, x0 = exponential(n, degree)
        for p in (mdqr.d, *MULTIPLE):
            s = newton_series(system, x0, degree=degree, precision=p)
            low = np.flatnonzero(s.digits < HALF)
            last = (int(low[0]) if low.size else degree + 1) - 1
            details = {"digits": [round(float(x), 1) for x in s.digits]}
            yield Row(
                "carried", "exponential", "mdqr", p.name, f"{n}", last, "orders", None, details
            )


BENCHMARKS = {
    "series": Benchmark(
        "series",
        "Power series on a CPU",
        {"times": times, "growth": growth, "sizes": sizes, "batches": batches, "carried": carried},
    )
}
