"""Windows of few rows or columns on a GPU: a launch each, and panels; alone and in whole calls.

The milliseconds of one window of R and of its orthogonal matrix, and those of whole calls that
insert rows and delete columns and rows, with Q and without: with windows of some widths, a launch
each, and with panels alone. The width that the package takes is marked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from unittest import mock

from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.timing import Call, milliseconds
from benchmarks.update.cells import Numbers
from mdqr._backend.cuda.factor import window
from mdqr._limbs.planes import Block
from mdqr.linalg import qr_delete, qr_insert
from mdqr.linalg._update import operands, sweeps
from mdqr.linalg._update.arithmetic.engine import Engine

COUNTS = (1, 4, 16, 32)
# The columns of the matrices, and how many rows or columns come or go.
SIZES = {1000: (1, 4, 16), 3000: (1, 16)}
WIDTHS = (16, 32, 64)
MORE = 64  # rows than columns
MULTIPLE = [p.name for p in PRECISIONS[1:]]
NAMES = ("float32", "dd", "qd")
UNTIL = 45.0  # seconds after which no more cells are started


def engine_of(numbers: Numbers) -> Engine:
    """Return the arithmetic of updates."""
    return operands.convert(None, numbers.draw(2, 2, 1))[0].engine


def widths_of(engine: Engine, p: int) -> tuple[int, ...]:
    """Return the widths that fit a block of threads, and whose reflectors overlap."""
    shapes = [(w + p, w, p, engine.kind) for w in WIDTHS if p < 1.41 * w]
    return tuple(shape[1] for shape in shapes if window.plan(*shape))


def alone(options: Options) -> Iterator[Row]:
    """A window and its orthogonal matrix."""
    for name in NAMES if options.quick else ("float32", "float64", *MULTIPLE):
        numbers = Numbers(name, "cuda")
        engine = engine_of(numbers)
        for p in COUNTS:
            for columns in widths_of(engine, p):
                a = numbers.draw(columns + p, columns, 1)
                start = numbers.xp.triu(a if numbers.native else a.limbs, -p)
                size = f"{columns} columns, p = {p}"
                for who, form in (
                    ("launch", partial(sweeps.formed_window, engine, below=p)),
                    ("panels", engine.orthogonal),
                ):
                    ms = milliseconds(lambda form=form, start=start: form(start.copy()), 20)
                    yield Row("alone", "window", who, name, size, ms, "ms")


def calls(options: Options) -> Iterator[Row]:
    """Whole updates, small sizes first, until the time is over."""
    end = time.monotonic() + UNTIL
    for n, counts in SIZES.items():
        for name in NAMES:
            if time.monotonic() > end:
                yield Row("calls", "left out", "mdqr", name, f"n = {n}", float("nan"), "ms")
                continue
            numbers = Numbers(name, "cuda")
            q, r = numbers.factor(numbers.draw(n + MORE, n, 1), "reduced")
            for p in counts[:1] if options.quick else counts:
                for what, call in updates(q, r, numbers.draw(p, n, 2), p):
                    size = f"n = {n}, p = {p}"
                    for who, ms in all_ways(call, engine_of(numbers), p):
                        yield Row("calls", what, who, name, size, ms, "ms")


def updates(q: Block, r: Block, u: Block, p: int) -> Iterator[tuple[str, Call]]:
    """Yield updates of R alone and with Q."""
    for what, factors in (("R", (None, r)), ("Q and R", (q, r))):
        yield f"{what}, delete columns", partial(qr_delete, *factors, 0, p, "col", method="update")
        yield f"{what}, insert rows", partial(qr_insert, *factors, u, 0, method="update")
    yield "Q and R, delete rows", partial(qr_delete, q, r, 0, p, method="update")


def all_ways(call: Call, engine: Engine, p: int) -> Iterator[tuple[str, float]]:
    """Yield the milliseconds with windows of some widths, and with panels."""
    chosen = sweeps.window_columns(engine, p)
    for columns in dict.fromkeys((*widths_of(engine, p), chosen, 0)):
        with mock.patch.object(sweeps, "window_columns", return_value=columns):
            # With the two calls that are not counted, windows that are recorded have come thrice.
            call()
            who = f"{columns} columns" if columns else "panels"
            yield f"{who}, the package's" if columns == chosen else who, milliseconds(call, 2)


BENCHMARKS = {
    "windows": Benchmark("windows", "Windows", {"alone": alone, "calls": calls}, gpu=True)
}
