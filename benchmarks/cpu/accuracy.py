"""The largest errors of the elementwise operations, against exact rational arithmetic."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.tables import Found, grid
from mdqr.testing import FAMILIES, RELATIONS, exact, ulp_error
from mdqr.testing._families import Bounds, draw
from mdqr.testing._relations import relate

UNARY: dict[str, Callable[[Any], Any]] = {"square": mdqr.square, "sqrt": mdqr.sqrt}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "divide": operator.truediv,
}
COMPLEX_BOUNDS = {"multiply": 4, "square": 4, "divide": 10, "sqrt": 10}
REAL_BOUND = 2
# Far from both ends of the range, so that the relative error alone is measured.
SPREAD, BOUNDS = 60, Bounds(-300, 300, False)
BATCH = 512
COUNT, QUICK = 200 * BATCH, 4 * BATCH  # values for each operation
FIELDS = {"real": float, "complex": complex}


def operands(precision: mdqr.Precision, dtype: type, count: int) -> Iterator[list[mdqr.MDArray]]:
    """Draw pairs of arrays: every family against every family, in every relation, and edges."""
    rng = np.random.default_rng(precision.limbs)
    parts = 1 if dtype is float else 2
    for i in range(0, count, BATCH):
        if i // BATCH % 4 == 0:
            yield from edges(precision, dtype, np.random.default_rng(i))
        first, second = rng.choice(FAMILIES, 2)
        x, y = (
            np.stack([draw(f, rng, precision.limbs, BATCH, SPREAD, BOUNDS) for _ in range(parts)])
            for f in (first, second)
        )
        x, y = x.swapaxes(0, 1), y.swapaxes(0, 1)
        y = relate(str(rng.choice(RELATIONS)), x, y, rng, precision.limbs)
        yield [array(planes, precision, dtype) for planes in (x, y)]


def edges(
    precision: mdqr.Precision, dtype: type, rng: np.random.Generator
) -> Iterator[list[mdqr.MDArray]]:
    """Draw powers of two and their neighbours, whose results lie where rounding costs most.

    There each limb is half an ulp of the one above, so that the limbs hold the fewest bits:
    ``1 / (1 - h)`` is ``1 + h + h**2 + ...`` with ``h = 2**-53``.
    """
    parts = 1 if dtype is float else 2
    shape, limbs = (parts, BATCH // 4), precision.limbs
    pairs = []
    for _ in range(2):
        place = 53 * rng.integers(1, limbs, shape, endpoint=True) + rng.integers(-1, 2, shape)
        beside = np.zeros((limbs, *shape))
        beside[0] = 1.0
        beside[min(1, limbs - 1)] += rng.integers(-1, 2, shape) * 2.0**-place
        series = np.ones(shape) * 2.0 ** (-53.0 * np.arange(limbs)).reshape(-1, 1, 1)
        planes = np.where(rng.integers(0, 2, shape) == 0, beside, series)
        exponents = rng.integers(-SPREAD, SPREAD, shape)
        planes = np.ldexp(planes * rng.choice([-1.0, 1.0], shape), exponents) + 0.0
        kept = planes[:, 0] if dtype is float else planes.swapaxes(0, 1)
        pairs.append(mdqr.from_limbs(np.ascontiguousarray(kept), dtype=dtype))
    x, y = pairs
    yield [x, y]
    yield [mdqr.square(x), mdqr.square(y)]
    yield [mdqr.sqrt(x if x.is_complex else abs(x)), y]
    yield [mdqr.reciprocal(x), mdqr.reciprocal(y)]


def array(planes: Any, precision: mdqr.Precision, dtype: type) -> mdqr.MDArray:
    """Wrap limbs of shape ``(N, parts, size)``."""
    limbs = planes[:, 0] if dtype is float else planes.swapaxes(0, 1)
    return mdqr.from_limbs(np.ascontiguousarray(limbs), dtype=dtype, normalize=False)


def worst(precision: mdqr.Precision, dtype: type, count: int) -> dict[str, float]:
    """Return the largest error of every operation, in eps."""
    errors = dict.fromkeys([*BINARY, *UNARY], 0.0)
    for x, y in operands(precision, dtype, count):
        with np.errstate(all="ignore"):
            results = {name: (call(x, y), exact(name, x, y)) for name, call in BINARY.items()}
            results |= {name: (call(x), exact(name, x)) for name, call in UNARY.items()}
        for name, (value, truth) in results.items():
            errors[name] = max(errors[name], float(ulp_error(value, truth).max()))
    return errors


def field_errors(field: str, options: Options) -> Iterator[Row]:
    """Errors of real or complex operations in every precision."""
    dtype, count = FIELDS[field], QUICK if options.quick else COUNT
    for p in PRECISIONS:
        for name, error in worst(p, dtype, count).items():
            bound = REAL_BOUND if dtype is float else COMPLEX_BOUNDS.get(name, REAL_BOUND)
            yield Row(field, name, "mdqr", p.name, f"{count} values", error, "eps", bound)


def lines(rows: list[Row]) -> list[str]:
    """Return a line an operation and field, a column a precision."""
    found, names = Found(rows), [p.name for p in PRECISIONS]
    cells, size = [], next((row.size for row in rows), "")
    for row in rows:
        if row.precision == names[0]:
            values = (found.value(row.group, what=row.what, precision=name) for name in names)
            shown = ("" if value is None else f"{value:.2g}" for value in values)
            name = f"{row.group} {row.what}"
            cells.append([name, f"{row.aim:g}", *shown])
    return grid([f"largest error found, in eps, of {size}", "bound", *names], cells)


BENCHMARKS = {
    "accuracy": Benchmark(
        "accuracy", "", {field: partial(field_errors, field) for field in FIELDS}, lines=lines
    )
}
