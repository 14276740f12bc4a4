"""The largest errors of the elementary functions, against python-flint, and their rates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import flint
import mpmath
import numpy as np

import mdqr
from benchmarks.common.elementary import (
    COMPLEX_BOUND,
    FUNCTIONS,
    REAL_BOUND,
    Region,
    balls,
    errors,
    place,
)
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job, Row
from benchmarks.common.runner import Benchmark, Options
from benchmarks.common.tables import Found, grid, number
from mdqr.testing import FAMILIES
from mdqr.testing._families import Bounds, draw, fits

BATCH = 128
COUNT, QUICK = 400 * BATCH, 4 * BATCH  # values of each function and precision
SIZE = 100_000  # of a vector whose rate is measured
FEW = 1000  # values that the packages of single numbers get
AIMS = {"dd": 1.5e7, "qd": 3e6, "od": 1e6}
MEASURED = ("exp", "log", "sin")
COMPARED = (*MEASURED, "gamma", "erf")  # with packages of single numbers
RATE = "values/s"


def operand(
    precision: mdqr.Precision, dtype: type, region: Region, rng: np.random.Generator
) -> mdqr.MDArray:
    """Draw arguments of one family from a region."""
    bounds = Bounds(region.low, region.high, True)
    known = [name for name in FAMILIES if fits(name, precision.limbs, bounds)]
    parts = [
        draw(str(rng.choice(known)), rng, precision.limbs, BATCH, 2000, bounds)
        for _ in range(1 if dtype is float else 2)
    ]
    limbs = parts[0] if dtype is float else np.stack(parts)
    x = mdqr.from_limbs(limbs, dtype=dtype, normalize=False)
    return place(x, region, rng)


def worst(name: str, precision: mdqr.Precision, dtype: type, count: int) -> float:
    """Return the largest error of a function, in eps."""
    rng = np.random.default_rng(precision.limbs)
    regions, found = FUNCTIONS[name].regions, 0.0
    for i in range(0, count, BATCH):
        operands = [
            operand(precision, dtype, region, rng) for region in regions[i // BATCH % len(regions)]
        ]
        result = getattr(mdqr, name)(*operands)
        found = max(found, float(errors(name, result, *operands).max()))
    return found


def field_errors(dtype: type, options: Options) -> Iterator[Row]:
    """Errors of every function on real or complex numbers."""
    field = "real" if dtype is float else "complex"
    bound = REAL_BOUND if dtype is float else COMPLEX_BOUND
    count = QUICK if options.quick else COUNT
    for name, function in FUNCTIONS.items():
        if dtype is complex and function.complex is None:
            continue
        for p in PRECISIONS:
            error = worst(name, p, dtype, count)
            yield Row(field, name, "mdqr", p.name, f"{count} values", error, "eps", bound)


def rates(options: Options) -> Iterator[Job]:
    """Values a second on all cores, beside packages of single numbers on one."""
    rng = np.random.default_rng(7)
    size = FEW if options.quick else SIZE
    for p in PRECISIONS:
        x = mdqr.random.uniform(size, low=0.5, high=2, precision=p, rng=rng)
        names = list(FUNCTIONS) if not options.quick else MEASURED
        for name in names:
            if len(FUNCTIONS[name].regions[0]) == 2:
                call = partial(getattr(mdqr, name), x, x)
            else:
                y = x if name != "arccosh" else x + 1
                call = partial(getattr(mdqr, name), y if name != "arctanh" else x / 4)
            aim = AIMS.get(p.name) if name in MEASURED and not options.quick else None
            yield rate(name, "mdqr", p.name, call, size, aim)
        few = x[:FEW]
        digits = int(p.bits)
        numbers, exact = few.to_mpmath().tolist(), balls(few)
        for name in COMPARED:
            call = partial(each, getattr(mpmath, name), numbers, mpmath.mp, digits)
            yield rate(name, "mpmath", p.name, call, FEW)
            call = partial(each, getattr(flint.arb, name), exact, flint.ctx, digits)
            yield rate(name, "arb", p.name, call, FEW)
            if p.limbs == 1 and name in MEASURED:
                yield rate(name, "numpy", p.name, partial(getattr(np, name), x.to_numpy()), size)


def rate(
    what: str, who: str, precision: str, call: Any, size: int, aim: float | None = None
) -> Job:
    """Return the job that measures a rate."""
    return Job(what, who, precision, str(size), call, work=size, unit=RATE, aim=aim)


def each(function: Any, values: list[Any], context: Any, bits: int) -> None:
    """Call a function of single numbers with so many bits."""
    context.prec = bits
    for value in values:
        function(value)


def lines(rows: list[Row]) -> list[str]:
    """Return a table of errors, a line a function, and one of rates."""
    found, names = Found(rows), [p.name for p in PRECISIONS]
    text: list[str] = []
    cells = []
    for field in ("real", "complex"):
        group = [row for row in found.group(field) if row.precision == names[0]]
        for row in group:
            shown = (found.value(field, what=row.what, precision=name) for name in names)
            cells.append([f"{field} {row.what}", f"{row.aim:g}", *(number(v, 2) for v in shown)])
    sizes = [row.size for row in rows if row.unit == "eps"]
    if cells:
        text += grid([f"largest error found, in eps, of {sizes[0]}", "bound", *names], cells)
    cells = []
    for who in ("mdqr", "arb", "mpmath", "numpy"):
        for name in FUNCTIONS:
            values = [found.value("rates", what=name, who=who, precision=p) for p in names]
            cells.append([f"{who} {name}", *(number(value, 2) for value in values)])
    text += ["", *grid(["values a second", *names], cells)]
    return text


BENCHMARKS = {
    "elementary": Benchmark(
        "elementary",
        "",
        {
            "real": partial(field_errors, float),
            "complex": partial(field_errors, complex),
            "rates": rates,
        },
        lines=lines,
    )
}
