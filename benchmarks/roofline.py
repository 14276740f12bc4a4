"""Figures as fractions of what the machine can do: arithmetic for products, bandwidth for arrays.

The ceilings are measured in the same run. An operation is one double addition, multiplication or
fma; a float64 GEMM does half as many fma as it does flops. The integer additions that accumulate
digits run on the same vector units and are counted beside the double operations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from measure import Row, Timer, available_cpus

import mdqr
from mdqr._precision import Precision

STREAMS = {"add": 3, "multiply": 3, "divide": 3, "sqrt": 2, "sum": 1}
CACHED = 2**25  # bytes below which an array may lie in a cache
FOLD = 26  # double operations of carry_save_fold
TERM = 12  # and of carry_save_term (kernels/host/products/matmul_engine.hpp)


@dataclass(frozen=True)
class Ceilings:
    """What this machine does: operations of a float64 GEMM and bytes to and from memory."""

    operations_per_second: float
    bytes_per_second: float


@dataclass(frozen=True)
class Fraction:
    """One figure against its ceiling."""

    group: str
    what: str
    precision: str
    size: str
    unit: str
    per_item: float
    achieved: float
    fraction: float
    fraction_with_integers: float | None = None


def measure_ceilings(timer: Timer, quick: bool) -> Ceilings:
    """Time a float64 GEMM, and a sum of two arrays that fit into no cache, on all CPUs."""
    n = 256 if quick else 2048
    a = np.random.default_rng(1).random((n, n))
    gemm = n**3 / timer.seconds(lambda: a @ a)
    size = 2**20 if quick else 2**24
    x, y, out = (np.ones(size) for _ in range(3))
    parts = np.array_split(np.arange(size), available_cpus())
    pieces = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]

    def add(piece: slice) -> None:
        np.add(x[piece], y[piece], out=out[piece])

    with ThreadPoolExecutor(len(pieces)) as pool:
        seconds = timer.seconds(lambda: list(pool.map(add, pieces)))
    return Ceilings(gemm, 3 * 8 * size / seconds)


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


def arithmetic(rows: Sequence[Row], ceilings: Ceilings) -> Iterator[Fraction]:
    """Yield products, and QR with Q counted as 4/3 n^3 multiply-adds of its products."""
    for row in rows:
        name = row.precision.removeprefix("d times ")
        if row.who != "mdqr" or row.group not in ("products", "qr") or name == "d":
            continue
        n = int(row.size)
        rate = row.value if row.group == "products" else 4 / 3 * n**3 / row.value
        is_complex = row.what.endswith("complex")
        doubles, integers = multiply_add_operations(
            getattr(mdqr, name),
            2 * n if is_complex else n,
            is_complex=is_complex,
            one_limb=name != row.precision,
        )
        yield Fraction(
            *(row.group, row.what, row.precision, row.size, "operations/s"),
            per_item=doubles,
            achieved=rate * doubles,
            fraction=rate * doubles / ceilings.operations_per_second,
            fraction_with_integers=rate * (doubles + integers) / ceilings.operations_per_second,
        )


def bandwidth(rows: Sequence[Row], ceilings: Ceilings) -> Iterator[Fraction]:
    """Yield the elementwise operations on arrays that fit into no cache."""
    for row in rows:
        if row.who != "mdqr" or row.group != "elementwise":
            continue
        name, _, field = row.precision.partition(" ")
        parts = 2 if field == "complex" else 1
        traffic = 8 * STREAMS[row.what] * parts * getattr(mdqr, name).limbs
        if traffic * int(row.size) < CACHED:
            continue
        yield Fraction(
            *(row.group, row.what, row.precision, row.size, "bytes/s"),
            per_item=traffic,
            achieved=row.value * traffic,
            fraction=row.value * traffic / ceilings.bytes_per_second,
        )


def roofline(rows: Sequence[Row], ceilings: Ceilings) -> dict[str, Any]:
    """Return the ceilings and the fractions for the JSON."""
    found = [*arithmetic(rows, ceilings), *bandwidth(rows, ceilings)]
    return {"ceilings": asdict(ceilings), "fractions": [asdict(fraction) for fraction in found]}


def roofline_table(content: dict[str, Any]) -> str:
    """Return the same as Markdown."""
    ceilings = content["ceilings"]
    lines = [
        "",
        "## Roofline",
        "",
        f"Float64 GEMM: {ceilings['operations_per_second']:.3g} fma/s; "
        f"memory: {ceilings['bytes_per_second']:.3g} bytes/s, both measured in this run. The last "
        "column adds the integer additions of the digit sums.",
        "",
        "| what | precision | size | per item | achieved | of ceiling | with integers |",
        "|---|---|---|--:|--:|--:|--:|",
    ]
    for f in content["fractions"]:
        whole = f["fraction_with_integers"]
        lines.append(
            f"| {f['what']} | {f['precision']} | {f['size']} | {f['per_item']:.3g} "
            f"| {f['achieved']:.3g} {f['unit']} | {f['fraction']:.0%} "
            f"| {'' if whole is None else f'{whole:.0%}'} |"
        )
    return "\n".join(lines) + "\n"
