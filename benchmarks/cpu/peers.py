"""The same jobs in other packages, each at sizes that it can do in a benchmark's time."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator, Sequence
from functools import partial
from types import ModuleType
from typing import Any

import mpmath
import numpy as np

import mdqr
from benchmarks.common.environment import available_cpus
from benchmarks.common.rows import Job
from benchmarks.common.timing import Call

Precisions = Sequence[mdqr.Precision]

MULTIPLY_ADDS = "multiply-adds/s"
OPERATIONS = {"add": "__add__", "multiply": "__mul__", "divide": "__truediv__"}


def optional(name: str) -> ModuleType | None:
    """Return a module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


flint = optional("flint")
scipy_linalg = optional("scipy.linalg")
# Last: importing xprec changes numpy.finfo, and scipy does not import after it.
xprec = optional("xprec")


def matmul(precisions: Precisions, sizes: Sequence[int]) -> Iterator[Job]:
    """Square products."""
    rate = partial(Job, "matmul", unit=MULTIPLY_ADDS)
    for n in sizes:
        a = random_float64(n)
        yield rate("numpy", "float64", f"{n}", lambda a=a: a @ a, n**3)
    for p in precisions:
        small = 32
        b = mpmath_matrix(small, p)
        yield rate("mpmath", p.name, f"{small}", at_bits(p, lambda b=b: b * b), small**3)
        for n in sizes if flint is not None else ():
            c = arb_matrix(n, p)
            run = at_bits(p, lambda c=c: c * c)
            yield rate("python-flint", p.name, f"{n}", run, n**3)
    x = xprec_matrix(sizes[0])
    if x is not None:
        yield rate("xprec", "dd", f"{sizes[0]}", lambda: x @ x, sizes[0] ** 3)


def qr(precisions: Precisions, n: int) -> Iterator[Job]:
    """Reduced QR of a square matrix."""
    a = random_float64(n)
    yield Job("qr with Q", "numpy", "float64", f"{n}", lambda: np.linalg.qr(a))
    for p in precisions:
        b = mpmath_matrix(32, p)
        yield Job("qr with Q", "mpmath", p.name, "32", at_bits(p, lambda b=b: mpmath.qr(b)))
    x = xprec_matrix(n)
    if x is not None:
        linalg = importlib.import_module("xprec.linalg")
        yield Job("qr with Q", "xprec", "dd", f"{n}", lambda: linalg.qr(x))


def triangular(precisions: Precisions, n: int) -> Iterator[Job]:
    """Back substitution with one right-hand side."""
    if scipy_linalg is not None:
        a, b = random_float64(n) + n * np.eye(n), np.ones(n)
        call = partial(scipy_linalg.solve_triangular, a, b)
        yield Job("one right-hand side", "scipy", "float64", f"{n}", call)
    for p in precisions:
        size = 128
        u, ones = mpmath_matrix(size, p), mpmath.matrix([1] * size)
        call = at_bits(p, partial(mpmath.mp.U_solve, u, ones))
        yield Job("one right-hand side", "mpmath", p.name, f"{size}", call)


def least_squares(precisions: Precisions, m: int, n: int) -> Iterator[Job]:
    """Least squares with one right-hand side."""
    rng = np.random.default_rng(m)
    a, b = rng.random((m, n)), rng.random(m)
    call = partial(np.linalg.lstsq, a, b, rcond=None)
    yield Job("lstsq", "numpy", "float64", f"{m}x{n}", call)
    for p in precisions:
        u = mpmath.matrix(rng.random((40, 10)).tolist())
        call = at_bits(p, partial(mpmath.qr_solve, u, mpmath.matrix([1] * 40)))
        yield Job("lstsq", "mpmath", p.name, "40x10", call)


def elementwise(precisions: Precisions) -> Iterator[Job]:
    """Operations on many numbers; mpmath and FLINT one number at a time."""
    size, few = 100_000, 2_000
    rate = partial(Job, unit="operations/s")
    x, y = np.random.default_rng(1).random((2, size)) + 1
    for what, method in OPERATIONS.items():
        yield rate(what, "numpy", "float64", f"{size}", partial(getattr(np, what), x, y), size)
        for p in precisions:
            one = partial(each, method)
            pairs = list(zip(mpmath_numbers(few, p), mpmath_numbers(few, p), strict=True))
            yield rate(what, "mpmath", p.name, f"{few}", at_bits(p, partial(one, pairs)), few)
            if flint is not None:
                balls = [(to_arb(u), to_arb(v)) for u, v in pairs]
                run = at_bits(p, partial(one, balls))
                yield rate(what, "python-flint", p.name, f"{few}", run, few)


def conversions(precisions: Precisions) -> Iterator[Job]:
    """Decimal strings to numbers and back."""
    size = 2_000
    rate = partial(Job, unit="numbers/s")
    for p in precisions:
        numbers = mpmath_numbers(size, p)
        texts = [mpmath.nstr(x, p.digits + 3) for x in numbers]
        read = at_bits(p, lambda texts=texts: [mpmath.mpf(text) for text in texts])
        show = partial(lambda xs, digits: [mpmath.nstr(x, digits) for x in xs], numbers, p.digits)
        yield rate("from strings", "mpmath", p.name, f"{size}", read, size)
        yield rate("to strings", "mpmath", p.name, f"{size}", show, size)


def each(method: str, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
    """Apply a method to every pair."""
    return [getattr(x, method)(y) for x, y in pairs]


def random_float64(n: int) -> Any:
    """Return a random square matrix."""
    return np.random.default_rng(n).random((n, n))


def mpmath_numbers(count: int, precision: mdqr.Precision) -> list[Any]:
    """Return random numbers in [1, 2) of all bits."""
    draw, bits = random.Random(count), precision.bits
    with mpmath.workprec(bits):
        return [1 + mpmath.ldexp(draw.getrandbits(bits - 1), 1 - bits) for _ in range(count)]


def mpmath_matrix(n: int, precision: mdqr.Precision) -> Any:
    """Return a random square matrix with entries of all bits."""
    numbers = mpmath_numbers(n * n, precision)
    with mpmath.workprec(precision.bits):
        return mpmath.matrix([numbers[i * n : (i + 1) * n] for i in range(n)])


def at_bits(precision: mdqr.Precision, call: Call) -> Call:
    """Return `call` run at the bits of `precision` by mpmath, and by FLINT on all CPUs."""

    def run() -> Any:
        if flint is not None:
            flint.ctx.threads, flint.ctx.prec = available_cpus(), precision.bits
        with mpmath.workprec(precision.bits):
            return call()

    return run


def to_arb(x: Any) -> Any:
    """Return an mpmath number as an exact ball."""
    sign, mantissa, exponent, _ = x._mpf_
    return flint.arb((int(-mantissa if sign else mantissa), exponent))


def arb_matrix(n: int, precision: mdqr.Precision) -> Any:
    """Return a random square matrix with entries of all bits."""
    numbers = mpmath_numbers(n * n, precision)
    return flint.arb_mat(n, n, [to_arb(x) for x in numbers])


def xprec_matrix(n: int) -> Any:
    """Return a random matrix of xprec's double-doubles, or None where it is not installed."""
    return None if xprec is None else random_float64(n).astype(xprec.ddouble)
