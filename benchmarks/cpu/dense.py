"""Factors, determinants, inverses, singular values and eigenvalues, beside other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import flint
import mpmath
import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job
from benchmarks.common.runner import Benchmark, Options
from benchmarks.cpu import ranks
from benchmarks.cpu.peers import at_bits
from benchmarks.cpu.systems import arbs, draw, in_flint, mpmath_matrix
from mdqr import linalg

MULTIPLE = PRECISIONS[1:]
SIZE, LARGE, BATCH = 100, 300, 1000
SMALL = 8
MOST_MPMATH = 20  # the order that mpmath does in a benchmark's time
AIMS = {
    ("svd", "dd"): 0.1,
    ("svd", "qd"): 0.4,
    ("svd", "od"): 1.0,
    ("eigh", "od"): 1.0,
    ("eig", "qd"): 3.0,
}
BATCH_AIM = {("eigh", "dd"): 30e-6 * BATCH}

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "lu_factor": linalg.lu_factor,
    "cholesky": linalg.cholesky,
    "det": linalg.det,
    "inv": linalg.inv,
    "svd": linalg.svd,
    "svdvals": linalg.svdvals,
    "eigh": linalg.eigh,
}
# Of matrices that are not definite.
GENERAL: dict[str, Callable[[Any], Any]] = {"eig": linalg.eig}
IN_NUMPY = {
    name: getattr(np.linalg, name) for name in (*FUNCTIONS, *GENERAL) if hasattr(np.linalg, name)
}
IN_MPMATH = {"det": mpmath.det, "inv": mpmath.inverse, "svd": mpmath.svd, "eigh": mpmath.eigsy}
IN_MPMATH["eig"] = mpmath.eig


def definite(n: int, p: mdqr.Precision, batch: tuple[int, ...] = ()) -> mdqr.MDArray:
    """Return symmetric positive definite matrices with all limbs, which every function takes."""
    g = draw((*batch, n, n), p)
    return g @ g.mT + mdqr.eye(n, precision=p)


def single(options: Options) -> Iterator[Job]:
    """One matrix; the product of two for comparison."""
    n = SIZE // 5 if options.quick else SIZE
    for p in MULTIPLE:
        a = definite(n, p)
        yield Job("product", "mdqr", p.name, str(n), partial(linalg.matmul, a, a))
        general = draw((n, n), p)
        for name, function in (FUNCTIONS | GENERAL).items():
            aim = None if options.quick else AIMS.get((name, p.name))
            given = general if name in GENERAL else a
            yield Job(name, "mdqr", p.name, str(n), partial(function, given), aim=aim)
        balls = flint.acb_mat(arbs(general))
        yield Job(
            "eig", "python-flint", p.name, str(n), in_flint(p, n, partial(balls.eig, right=True))
        )
        balls = arbs(a)
        yield Job("det", "python-flint", p.name, str(n), in_flint(p, n, balls.det))
        yield Job("inv", "python-flint", p.name, str(n), in_flint(p, n, balls.inv))
    plain = a.to_numpy()
    for name, function in IN_NUMPY.items():
        yield Job(name, "numpy", "d", str(n), partial(function, plain))


def beside_mpmath(options: Options) -> Iterator[Job]:
    """One matrix of an order that mpmath can do."""
    n = 8 if options.quick else MOST_MPMATH
    for p in MULTIPLE:
        for name, function in IN_MPMATH.items():
            a = draw((n, n), p) if name in GENERAL else definite(n, p)
            mine = (FUNCTIONS | GENERAL)[name]
            theirs = partial(function, mpmath_matrix(a))
            yield Job(name, "mdqr", p.name, str(n), partial(mine, a))
            yield Job(name, "mpmath", p.name, str(n), at_bits(p, theirs))


def batches(options: Options) -> Iterator[Job]:
    """A thousand small matrices a call."""
    count = BATCH // 50 if options.quick else BATCH
    for p in MULTIPLE:
        a = definite(SMALL, p, (count,))
        general = draw((count, SMALL, SMALL), p)
        for name, function in (FUNCTIONS | GENERAL).items():
            given = general if name in GENERAL else a
            aim = None if options.quick else BATCH_AIM.get((name, p.name))
            yield Job(name, "mdqr", p.name, f"{count} x {SMALL}", partial(function, given), aim=aim)


def large(options: Options) -> Iterator[Job]:
    """One larger matrix."""
    n = LARGE // 10 if options.quick else LARGE
    for p in MULTIPLE:
        a = definite(n, p)
        yield Job("product", "mdqr", p.name, str(n), partial(linalg.matmul, a, a))
        for name, function in FUNCTIONS.items():
            yield Job(name, "mdqr", p.name, str(n), partial(function, a))


BENCHMARKS = {
    "dense": Benchmark(
        "dense",
        "Factors, determinants, singular values, ranks and eigenvalues on a CPU",
        {
            "single": single,
            "beside mpmath": beside_mpmath,
            "batches": batches,
            "ranks": ranks.ranks,
            "kernel": ranks.kernel,
            "large": large,
        },
        further=("large",),
    ),
}
