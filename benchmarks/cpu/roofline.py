"""Figures as fractions of what the machine can do: arithmetic for products, bandwidth for arrays.

The ceilings are measured in the same run. An operation is one double addition, multiplication or
fma; a float64 GEMM does half as many fma as it does flops. The integer additions that accumulate
digits run on the same vector units and are counted beside the double operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import mdqr
from benchmarks.common.environment import available_cpus
from benchmarks.common.rows import Job, Row
from benchmarks.common.runner import Options
from benchmarks.common.tables import by_group, grid, number, section
from mdqr._precision import Precision

STREAMS = {"add": 3, "multiply": 3, "divide": 3, "sqrt": 2, "sum": 1}
CACHED = 2**25  # bytes below which an array may lie in a cache
FOLD = 26  # double operations of carry_save_fold
TERM = 12  # and of carry_save_term (kernels/host/products/matmul_engine.hpp)


def ceilings(options: Options) -> Iterator[Job]:
    """A float64 GEMM, and a sum of two arrays that fit into no cache, on all CPUs."""
    n = 256 if options.quick else 2048
    a = np.random.default_rng(1).random((n, n))
    yield Job("GEMM", "numpy", "float64", f"{n}", lambda: a @ a, n**3, "multiply-adds/s")
    size = 2**20 if options.quick else 2**24
    x, y, out = (np.ones(size) for _ in range(3))
    parts = np.array_split(np.arange(size), available_cpus())
    pieces = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]

    def add(piece: slice) -> None:
        np.add(x[piece], y[piece], out=out[piece])

    with ThreadPoolExecutor(len(pieces)) as pool:
        yield Job(
            "memory", "numpy", "float64", f"{size}", lambda: list(pool.map(add, pieces)),
            24 * size, "bytes/s",
        )  # fmt: skip


def digit_operations(digits: int, short: int) -> tuple[int, int]:
    """Return the double operations and integer additions of `digit_multiply_add`.

    One operand has `digits` digits, the other `short`. A pair i + j <= digits - 1 costs one fma and
    one integer addition for its upper half; for the lower half all but the last diagonal cost an
    addition, an fma and an integer addition.
    """
    pairs = [i + j for i in range(short) for j in range(digits - i)]
    lower = sum(diagonal + 1 < digits for diagonal in pairs)
    return len(pairs) + 2 * lower, len(pairs) + lower


def fold_length(terms: int, is_complex: bool) -> int:
    """Return how many terms the carry-save sums take between two folds, as the kernel does."""
    slack, factor = (4 * (0.5 * terms + 8), 0.7071) if is_complex else (4 * (terms + 8), 1.0)

    def is_safe(length: int) -> bool:
        f = min(terms, length)
        folds = -(-terms // length)
        return 9 + 4 * (f - 1) + f * (f - 1) / 2 + 3 * (folds - 1) <= 0.999 * slack * factor

    return next((length for length in range(64, 4, -1) if is_safe(length)), 4)


def multiply_add_operations(
    precision: Precision, terms: int, *, is_complex: bool = False, one_limb: bool = False
) -> tuple[float, float]:
    """Return the double operations and integer additions of one multiply-add of a product."""
    if precision.limbs == 2:
        return TERM + FOLD / fold_length(terms, is_complex), 0.0
    digits = precision.limbs + 1
    return digit_operations(digits, 2 if one_limb else digits)


def arithmetic(row: Row, ceiling: float) -> list[str]:
    """Return the cells of a product, or of QR with Q counted as 4/3 n^3 multiply-adds."""
    name, n = row.precision.removeprefix("d times "), int(row.size)
    rate = row.value if row.group == "products" else 4 / 3 * n**3 / row.value
    is_complex = row.what.endswith("complex")
    doubles, integers = multiply_add_operations(
        getattr(mdqr, name),
        2 * n if is_complex else n,
        is_complex=is_complex,
        one_limb=name != row.precision,
    )
    parts = [f"{rate * count / ceiling:.0%}" for count in (doubles, doubles + integers)]
    return [number(doubles), f"{number(rate * doubles)} operations/s", *parts]


def bandwidth(row: Row, ceiling: float) -> list[str]:
    """Return the cells of an elementwise operation on arrays that fit into no cache."""
    name, _, field = row.precision.partition(" ")
    traffic = 8 * STREAMS[row.what] * (2 if field else 1) * getattr(mdqr, name).limbs
    if traffic * int(row.size) < CACHED:
        return []
    rate = row.value * traffic
    return [number(traffic), f"{number(rate)} bytes/s", f"{rate / ceiling:.0%}", ""]


def lines(rows: Sequence[Row]) -> list[str]:
    """Return the tables of the groups, and figures against the ceilings of the same run."""
    found = {row.what: row.value for row in rows if row.group == "ceilings"}
    cells = []
    for row in rows if len(found) == 2 else ():
        if row.who != "mdqr" or row.precision in ("d", "d complex"):
            continue
        if row.group in ("products", "qr"):
            shown = arithmetic(row, found["GEMM"])
        elif row.group == "elementwise":
            shown = bandwidth(row, found["memory"])
        else:
            continue
        if shown:
            cells.append([row.what, row.precision, row.size, *shown])
    head = ["what", "precision", "size", "per item", "achieved", "of ceiling", "with integers"]
    text = "The last column adds the integer additions of the digit sums."
    table = grid(head, cells)
    return [*by_group(rows), *section("Roofline", [text] if table else [], table)]
