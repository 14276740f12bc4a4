"""Accuracy of the tensor-core path against cuSOLVER: figures 3, 4, 8 and 9 of the paper."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.common.rows import Row
from benchmarks.common.runner import Options, Parts
from benchmarks.common.timing import cupy, free, timed
from benchmarks.tensorcore.problems import (
    Cusolver,
    backward_error,
    bases,
    conditioned,
    faster,
    gradient,
    orthogonality,
    random,
)
from mdqr._errors import PrecisionWarning
from mdqr._limbs.planes import Block
from mdqr.tensorcore import LstsqResult, lstsq, orthogonalize, qr
from mdqr.tensorcore._engine.formats import FORMATS

LARGEST, MIDDLE, SMALL = (32768, 16384), (8192, 4096), (2048, 1024)
QUICK = [(32768, 1024), (8192, 4096)]
LSTSQ_AIM = 5.0
# The eight types of figure 8, and what its text calls the stress case.
TYPES = [
    ("uniform (0, 1)", 0.0),
    ("uniform (-1, 1)", 0.0),
    ("normal", 0.0),
    ("geometric", 1e3),
    ("arithmetic", 1e5),
    ("arithmetic", 1e6),
    ("cluster", 1e5),
    ("cluster", 1e6),
    ("geometric", 1e4),
]


def conditions(options: Options) -> Iterator[Row]:
    """Figures 3 and 4: errors against the condition, arithmetic singular values."""
    if options.quick:
        yield from errors(SMALL, range(0, 8, 3), ("fp16", "fp16x2"))
        return
    yield from errors(MIDDLE, range(8), tuple(FORMATS))
    # The size of the paper, where each factorisation of cuSOLVER takes a second.
    yield from errors(LARGEST, range(1, 8, 2), ("fp16",))
    bases.cache_clear()


def errors(shape: tuple[int, int], exponents: range, formats: tuple[str, ...]) -> Iterator[Row]:
    """Backward error and departure from orthonormality, once and orthogonalised again."""
    xp, group, (m, n) = cupy(), "conditions", shape
    for exponent in exponents:
        a = conditioned(m, n, 10.0**exponent, "arithmetic").astype(np.float32, order="F")
        size = f"{m}x{n}, 1e{exponent}"
        peer = Cusolver(a)
        peer.geqrf()
        r = xp.triu(peer._a[:n])
        peer.orgqr()
        q = peer._a
        yield Row(group, "backward error", "cuSOLVER", "float32", size, backward_error(a, q, r), "")
        yield Row(group, "orthogonality", "cuSOLVER", "float32", size, orthogonality(q), "")
        del peer, q, r
        free()
        for compute in formats:
            for again in (False, True):
                found = qr(a, compute=compute, reorthogonalize=again)
                by = f"{compute}{f', {found.info.passes} passes' if again else ''}"
                error = backward_error(a, *found)
                yield Row(group, "backward error", "mdqr", by, size, error, "")
                yield Row(group, "orthogonality", "mdqr", by, size, orthogonality(found.Q), "")
                del found
                free()


def orthonormal(options: Options) -> Iterator[Row]:
    """Bases of random matrices: the departure, measured in float64 products."""
    for m, n in QUICK if options.quick else [(32768, 1024), MIDDLE, (32768, 4096), LARGEST]:
        a = random(m, n)
        basis = orthogonalize(a)
        by = f"fp16, {basis.passes} passes"
        size = f"{m}x{n}"
        found = orthogonality(basis.Q)
        limit = 20 * np.sqrt(n) * 2.0**-24
        yield Row("orthonormal", "root mean square of columns", "mdqr", by, size, found, "", limit)
        estimate = basis.orthogonality / np.sqrt(n)
        yield Row("orthonormal", "its estimate", "mdqr", by, size, estimate, "")
        del a, basis
        free()


class Problem(NamedTuple):
    """A least-squares problem of figure 8 in float64."""

    a: Block
    b: Block
    size: str

    def direct(self, dtype: type) -> tuple[float, Block]:
        """Return the milliseconds of cuSOLVER's factorisation and solution, and x."""
        peer = Cusolver(self.a.astype(dtype, copy=False))
        right, large = self.b.astype(dtype), self.a.shape[1] >= 8192
        found = []

        def solve() -> None:
            found[:] = [peer.solve(right)]

        ms = sum(peer.times(peer.geqrf, solve, repeats=1 if large else 3, skip=not large))
        return ms, found[0].astype(np.float64)


def problem(shape: tuple[int, int], kind: str, cond: float) -> Problem:
    """Return a matrix of a type with a right-hand side of random numbers."""
    (m, n), state = shape, cupy().random.RandomState(2)
    a = conditioned(m, n, cond, kind) if cond else random(m, n, kind, np.float64)
    size = f"{m}x{n}, {kind}{f' {cond:.0e}' if cond else ''}"
    return Problem(a, state.standard_normal((m, 1)), size)


def solved(a: Block, b: Block, compute: str) -> LstsqResult:
    """Solve on tensor cores; that float64 had to help is in the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        return lstsq(a, b, compute=compute)


def least_squares(options: Options) -> Iterator[Row]:
    """Figure 8: eight types of matrices; time, iterations and accuracy."""
    group = "least squares"
    for shape in [SMALL] if options.quick else [MIDDLE, LARGEST]:
        for kind, cond in TYPES:
            a, b, size = system = problem(shape, kind, cond)
            times = {}
            for dtype in (np.float64, np.float32):
                name = np.dtype(dtype).name
                times[name], x = system.direct(dtype)
                yield Row(group, "direct", "cuSOLVER", name, size, times[name], "ms")
                error = gradient(a, b, x)
                yield Row(group, "A^T r, relative", "cuSOLVER", name, size, error, "")
                free()
            for compute in ("fp16", "fp16x2"):
                (ms,), (x, _, info) = timed(partial(solved, a, b, compute))
                what = f"{info.method}, {info.iterations} iterations"
                yield Row(group, what, "mdqr", compute, size, ms, "ms")
                error = gradient(a, b, x)
                yield Row(group, "A^T r, relative", "mdqr", compute, size, error, "")
                is_aim = (shape, kind, compute) == (LARGEST, "normal", "fp16")
                what, aim = "float64 direct / mdqr", LSTSQ_AIM if is_aim else None
                yield faster(group, what, compute, size, (times["float64"], ms), aim)
            del system, a, b, x
            free()


def solutions(options: Options) -> Iterator[Row]:
    """Figure 9: accuracy of four solvers against the condition, clustered singular values."""
    from cupyx.scipy.linalg import solve_triangular

    group, shape = "solutions", SMALL if options.quick else LARGEST
    for exponent in range(3, 7):
        a, b, _ = system = problem(shape, "cluster", 10.0**exponent)
        size = f"{shape[0]}x{shape[1]}, 1e{exponent}"
        for dtype in (np.float64, np.float32):
            x = system.direct(dtype)[1]
            name = np.dtype(dtype).name
            yield Row(group, "direct", "cuSOLVER", name, size, gradient(a, b, x), "")
            free()
        q, r = qr(a)
        x = solve_triangular(r, q.T @ b)
        yield Row(group, "R^-1 Q^T b", "mdqr", "fp16", size, gradient(a, b, x), "")
        del q, r
        x, _, info = solved(a, b, "fp16")
        what = f"{info.method}, {info.iterations} iterations"
        yield Row(group, what, "mdqr", "fp16", size, gradient(a, b, x), "")
        del system, a, b, x
        free()
    bases.cache_clear()


PARTS: Parts = {
    "orthonormal": orthonormal,
    "conditions": conditions,
    "least squares": least_squares,
    "solutions": solutions,
}
