"""Speed and memory of the CPU kernels, beside other packages in the same run.

    python benchmarks/host.py [--quick] [--only GROUP ...] [--output FOLDER]

A full run writes host.json and host.md to benchmarks/results. A quick or partial one prints its
tables, and writes only where --output says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import peers
from measure import RESULTS, Job, Row, Timer, environment, markdown, write
from memory import memory
from roofline import measure_ceilings, roofline, roofline_table
from tqdm import tqdm

import mdqr
from mdqr._precision import PRECISIONS

MULTIPLE = PRECISIONS[1:]
MATMUL_AIMS = {"dd": 4e9, "qd": 1e9, "od": 3.3e8}
QR_AIMS = {("dd", 256): 0.03, ("qd", 256): 0.06, ("od", 256): 0.15, ("dd", 1024): 0.7}
STRINGS_AIMS = {"od": 1e5}


def draw(*shape: int, precision: mdqr.Precision, **options: Any) -> mdqr.MDArray:
    """Return full-width random numbers in [1, 2), the same in every run."""
    rng = np.random.default_rng(7)
    return mdqr.random.uniform(shape, 1, 2, precision=precision, rng=rng, **options)


def products(quick: bool) -> Iterator[Job]:
    """Direct products and matrix-vector products, in multiply-adds per second."""
    sizes = (128,) if quick else (128, 512)
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


def qr(quick: bool) -> Iterator[Job]:
    """Factorisations with Q."""
    for p in PRECISIONS:
        for n in (256,) if quick or p.name != "dd" else (256, 1024):
            call = partial(mdqr.linalg.qr, draw(n, n, precision=p))
            aim = QR_AIMS.get((p.name, n))
            yield Job("qr with Q", "mdqr", p.name, f"{n}", call, aim=aim)
    yield from peers.qr(MULTIPLE, 256)


def triangular(quick: bool) -> Iterator[Job]:
    """Back substitution."""
    n = 256 if quick else 1024
    for p in MULTIPLE:
        a = mdqr.triu(draw(n, n, precision=p)) + n * mdqr.eye(n, precision=p)
        for what, columns in (("one right-hand side", ()), ("64 right-hand sides", (64,))):
            b = draw(n, *columns, precision=p)
            call = partial(mdqr.linalg.solve_triangular, a, b)
            yield Job(what, "mdqr", p.name, f"{n}", call)
    yield from peers.triangular(MULTIPLE, n)


def least_squares(quick: bool) -> Iterator[Job]:
    """Least squares with its bounds."""
    m, n = (200, 20) if quick else (1000, 100)
    for p in MULTIPLE:
        call = partial(mdqr.linalg.lstsq, draw(m, n, precision=p), draw(m, precision=p))
        yield Job("lstsq", "mdqr", p.name, f"{m}x{n}", call)
    yield from peers.least_squares(MULTIPLE, m, n)


def elementwise(quick: bool) -> Iterator[Job]:
    """Operations on arrays that fit into the caches and on arrays that do not."""
    rate = partial(Job, who="mdqr", unit="operations/s")
    for p in MULTIPLE:
        for size in (10_000,) if quick else (10_000, 1_000_000):
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


def conversions(quick: bool) -> Iterator[Job]:
    """Numbers in and out."""
    size = 2_000 if quick else 50_000
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


GROUPS: dict[str, Callable[[bool], Iterator[Job | Row]]] = {
    "products": products,
    "qr": qr,
    "triangular": triangular,
    "least-squares": least_squares,
    "elementwise": elementwise,
    "conversions": conversions,
    "memory": memory,
}


def timer_of(quick: bool) -> Timer:
    """Return how long each call is timed."""
    return Timer(3, 0.02) if quick else Timer(7, 0.2)


def run(groups: Sequence[str], quick: bool) -> list[Row]:
    """Measure the groups one job after the other."""
    timer = timer_of(quick)
    rows = []
    progress = tqdm(groups, disable=None)
    for group in progress:
        for job in GROUPS[group](quick):
            progress.set_description(f"{group}: {job.what} {job.who} {job.precision}")
            rows.append(job.row(group, timer) if isinstance(job, Job) else job)
    return rows


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description="Benchmarks of the CPU kernels.")
    parser.add_argument("--quick", action="store_true", help="small sizes, few repeats")
    parser.add_argument("--only", nargs="+", choices=GROUPS, help="these groups alone")
    parser.add_argument("--output", type=Path, help="folder for host.json and host.md")
    options = parser.parse_args()
    rows = run(options.only or list(GROUPS), options.quick)
    roof = roofline(rows, measure_ceilings(timer_of(options.quick), options.quick))
    about = environment(" ".join(["python", "benchmarks/host.py", *sys.argv[1:]]))
    full = not (options.quick or options.only)
    output = options.output or (RESULTS if full else None)
    if output is not None:
        write(rows, about, output, "host", roof, roofline_table(roof))
    print(markdown(rows, about) + roofline_table(roof))


if __name__ == "__main__":
    main()
