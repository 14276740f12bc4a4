"""Speed of the CPU kernels, beside other packages in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job
from benchmarks.common.runner import Benchmark, Options
from benchmarks.cpu import peers, roofline
from benchmarks.cpu.memory import memory
from benchmarks.cpu.vectors import vectors

MULTIPLE = PRECISIONS[1:]
MATMUL_AIMS = {"dd": 4e9, "qd": 1e9, "od": 3.3e8}
QR_AIMS = {("dd", 256): 0.03, ("qd", 256): 0.06, ("od", 256): 0.15, ("dd", 1024): 0.7}
STRINGS_AIMS = {"od": 1e5}


def draw(*shape: int, precision: mdqr.Precision, **options: Any) -> mdqr.MDArray:
    """Return full-width random numbers in [1, 2), the same in every run."""
    rng = np.random.default_rng(7)
    return mdqr.random.uniform(shape, low=1, high=2, precision=precision, rng=rng, **options)


def products(options: Options) -> Iterator[Job]:
    """Direct products and matrix-vector products, in multiply-adds per second."""
    sizes = (128,) if options.quick else (128, 512)
    rate = partial(Job, who="mdqr", unit=peers.MULTIPLY_ADDS)
    for p in MULTIPLE:
        for n in sizes:
            a, b = draw(n, n, precision=p), draw(n, n, precision=p)
            call = partial(mdqr.linalg.matmul, a, b, method="direct")
            aim = MATMUL_AIMS.get(p.name)
            yield rate("matmul", precision=p.name, size=f"{n}", call=call, work=n**3, aim=aim)
            call = partial(mdqr.linalg.matmul, draw(n, n, precision=mdqr.d), b, method="direct")
            mixed = f"d times {p.name}"
            yield rate("matmul", precision=mixed, size=f"{n}", call=call, work=n**3)
            x = draw(n, precision=p)
            call = partial(mdqr.linalg.matmul, a, x)
            yield rate("matvec", precision=p.name, size=f"{n}", call=call, work=n**2)
        c = draw(128, 128, precision=p, dtype=complex)
        call = partial(mdqr.linalg.matmul, c, c, method="direct")
        yield rate("matmul, complex", precision=p.name, size="128", call=call, work=4 * 128**3)
    yield from peers.matmul(MULTIPLE, sizes)


def qr(options: Options) -> Iterator[Job]:
    """Factorisations with Q."""
    for p in PRECISIONS:
        for n in (256,) if options.quick or p.name != "dd" else (256, 1024):
            call = partial(mdqr.linalg.qr, draw(n, n, precision=p))
            aim = QR_AIMS.get((p.name, n))
            yield Job("qr with Q", "mdqr", p.name, f"{n}", call, aim=aim)
    yield from peers.qr(MULTIPLE, 256)


def triangular(options: Options) -> Iterator[Job]:
    """Back substitution."""
    n = 256 if options.quick else 1024
    for p in MULTIPLE:
        a = mdqr.triu(draw(n, n, precision=p)) + n * mdqr.eye(n, precision=p)
        for what, columns in (("one right-hand side", ()), ("64 right-hand sides", (64,))):
            b = draw(n, *columns, precision=p)
            call = partial(mdqr.linalg.solve_triangular, a, b)
            yield Job(what, "mdqr", p.name, f"{n}", call)
    yield from peers.triangular(MULTIPLE, n)


def least_squares(options: Options) -> Iterator[Job]:
    """Least squares with its bounds."""
    m, n = (200, 20) if options.quick else (1000, 100)
    for p in MULTIPLE:
        call = partial(mdqr.linalg.lstsq, draw(m, n, precision=p), draw(m, precision=p))
        yield Job("lstsq", "mdqr", p.name, f"{m}x{n}", call)
    yield from peers.least_squares(MULTIPLE, m, n)


def elementwise(options: Options) -> Iterator[Job]:
    """Operations on arrays that fit into the caches and on arrays that do not."""
    rate = partial(Job, who="mdqr", unit="operations/s")
    for p in MULTIPLE:
        for size in (10_000,) if options.quick else (10_000, 1_000_000):
            for dtype in (float, complex):
                x, y = (draw(size, precision=p, dtype=dtype) for _ in range(2))
                name = p.name if dtype is float else f"{p.name} complex"
                calls: dict[str, Callable[[], Any]] = {
                    "add": lambda x=x, y=y: x + y,
                    "multiply": lambda x=x, y=y: x * y,
                    "divide": lambda x=x, y=y: x / y,
                    "sqrt": partial(mdqr.sqrt, x),
                    "sum": x.sum,
                }
                for what, call in calls.items():
                    yield rate(what, precision=name, size=f"{size}", call=call, work=size)
    yield from peers.elementwise(MULTIPLE)


def conversions(options: Options) -> Iterator[Job]:
    """Numbers in and out."""
    size = 2_000 if options.quick else 50_000
    for p in MULTIPLE:
        x = draw(size, precision=p)
        texts, bigs = x.to_strings(), x.to_mpmath()
        calls: dict[str, Callable[[], Any]] = {
            "from strings": partial(mdqr.array, texts, precision=p),
            "to strings": x.to_strings,
            "from mpmath": partial(mdqr.array, bigs, precision=p),
            "to mpmath": x.to_mpmath,
            "to float64": x.to_numpy,
        }
        for what, call in calls.items():
            aim = STRINGS_AIMS.get(p.name) if what == "from strings" else None
            yield Job(what, "mdqr", p.name, f"{size}", call, size, "numbers/s", aim)
    yield from peers.conversions(MULTIPLE)


BENCHMARKS = {
    "cpu": Benchmark(
        "host",
        "CPU benchmarks",
        {
            "products": products,
            "vectors": vectors,
            "qr": qr,
            "triangular": triangular,
            "least-squares": least_squares,
            "elementwise": elementwise,
            "conversions": conversions,
            "memory": memory,
            "ceilings": roofline.ceilings,
        },
        lines=roofline.lines,
    )
}
