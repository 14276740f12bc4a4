"""Products of matrices through residues and of limbs, beside python-flint and NumPy's float64."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job
from benchmarks.common.runner import Benchmark, Options
from benchmarks.cpu import peers

MULTIPLE = PRECISIONS[1:]
METHODS = ("auto", "exact", "direct")
LARGE, QUICK = 1024, 96
AIMS = {"dd": 6e9, "qd": 2e9, "od": 1e9}  # of "auto" at 1024


def _products(
    n: int, *, dtype: type, terms: int | None = None, aims: bool = False
) -> Iterator[Job]:
    """Every method for products of n x terms and terms x n matrices, in every precision."""
    k = n if terms is None else terms
    what = "matmul" if dtype is float else "matmul, complex"
    size = str(n) if terms is None else f"{n} x {k} x {n}"
    work = n * n * k * (1 if dtype is float else 4)
    for p in MULTIPLE:
        a, b = (
            mdqr.random.uniform(shape, low=-1, high=1, precision=p, dtype=dtype, rng=7)
            for shape in ((n, k), (k, n))
        )
        for method in METHODS:
            call = partial(mdqr.linalg.matmul, a, b, method=method)
            aim = AIMS[p.name] if aims and method == "auto" else None
            yield Job(
                what, f"mdqr, {method}", p.name, size, call, work, peers.MULTIPLY_ADDS, aim=aim
            )


def large(options: Options) -> Iterator[Job]:
    """Square matrices of one large order, and the same in other packages."""
    n = QUICK if options.quick else LARGE
    yield from _products(n, dtype=float, aims=not options.quick)
    yield from peers.matmul(MULTIPLE, (n,))


def complex_products(options: Options) -> Iterator[Job]:
    """Complex matrices; work counts four real multiply-adds."""
    for n in (QUICK,) if options.quick else (256, 512):
        yield from _products(n, dtype=complex)


def crossover(options: Options) -> Iterator[Job]:
    """Square matrices of growing order: where the methods meet."""
    for n in (32, 64) if options.quick else (64, 128, 192, 256, 384, 512, 768):
        yield from _products(n, dtype=float)


def few_terms(options: Options) -> Iterator[Job]:
    """Sums of few terms, for which residues are formed and put together as for many."""
    n = QUICK if options.quick else LARGE
    for k in (16,) if options.quick else (64, 128, 256):
        yield from _products(n, dtype=float, terms=k)


BENCHMARKS = {
    "products": Benchmark(
        "products",
        "Products of matrices on a CPU",
        {
            "large": large,
            "complex": complex_products,
            "crossover": crossover,
            "few terms": few_terms,
        },
    ),
}
