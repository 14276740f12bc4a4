"""Files of decimals, conversions from and to text, and single values in loops."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import gmpy2
import mpmath
import numpy as np
import pandas as pd

import mdqr
from benchmarks.common.precisions import PRECISIONS
from benchmarks.common.rows import Job
from benchmarks.common.runner import Benchmark, Options
from mdqr._precision import Precision

ROWS, COLUMNS = 100_000, 7
VALUES = 1000
STEPS = 1000  # of a loop over single values
READ = {"dd": 0.19}  # s
CONVERTED = 2e-3  # s
EACH = 3e-6  # s
FORMATS = {"8 digits": "%.8g", "17 digits": "%.17g", "30 digits": None}


def table(rows: int, form: str | None) -> str:
    """Return a file of random numbers."""
    shape = rows, COLUMNS
    if form is None:
        stream = io.StringIO()
        mdqr.savetxt(stream, mdqr.random.normal(shape, precision=mdqr.dd, rng=1), digits=30)
        return stream.getvalue()
    stream = io.StringIO()
    np.savetxt(stream, np.random.default_rng(1).standard_normal(shape), delimiter=",", fmt=form)
    return stream.getvalue()


def files(options: Options) -> Iterator[Job]:
    """Reading and writing, beside NumPy and pandas, which round to float64."""
    rows = ROWS // 100 if options.quick else ROWS
    size = f"{rows}x{COLUMNS}"
    with TemporaryDirectory() as folder:
        for name, form in FORMATS.items():
            path = f"{folder}/{name[:2].strip()}.csv"
            with open(path, "w") as stream:
                stream.write(table(rows, form))
            for p in PRECISIONS:
                call = partial(mdqr.loadtxt, path, precision=p)
                aim = READ.get(p.name) if not options.quick else None
                yield Job(f"read, {name}", "mdqr", p.name, size, call, aim=aim)
            call = partial(np.loadtxt, path, delimiter=",")
            yield Job(f"read, {name}", "numpy", "d", size, call)
            for who, engine in (("pandas", None), ("pandas, round_trip", "round_trip")):
                call = partial(pd.read_csv, path, header=None, float_precision=engine)
                yield Job(f"read, {name}", who, "d", size, call)
        rows //= 10
        size = f"{rows}x{COLUMNS}"
        for p in PRECISIONS:
            a = mdqr.random.normal((rows, COLUMNS), precision=p, rng=1)
            call = partial(mdqr.savetxt, f"{folder}/out.csv", a)
            yield Job("write, fewest digits", "mdqr", p.name, size, call)
        plain = a.to_numpy()
        call = partial(np.savetxt, f"{folder}/out.csv", plain, delimiter=",", fmt="%r")
        yield Job("write, fewest digits", "numpy", "d", size, call)


def conversions(options: Options) -> Iterator[Job]:
    """Arrays of numbers with all limbs filled to strings, and strings to arrays."""
    size = str(VALUES)
    for p in PRECISIONS:
        a = mdqr.random.normal(VALUES, precision=p, rng=1)
        texts = a.to_strings().tolist()
        numbers = a.to_mpmath().tolist()
        for what, call in (
            ("to strings, fewest digits", a.to_strings),
            ("to strings, 20 digits", partial(a.to_strings, 20)),
            ("from strings", partial(mdqr.array, texts, precision=p)),
        ):
            yield Job(what, "mdqr", p.name, size, call, aim=CONVERTED)
        yield Job("repr", "mdqr", p.name, size, partial(repr, a))
        for what, call in (
            ("to strings, 20 digits", partial(written_by_mpmath, numbers, 20)),
            ("to strings, all digits", partial(written_by_mpmath, numbers, p.digits + 3)),
            ("from strings", partial(read_by_mpmath, texts, p)),
        ):
            yield Job(what, "mpmath", p.name, size, call)
        call = partial(read_by_gmpy2, texts, p)
        yield Job("from strings", "gmpy2", p.name, size, call)


def written_by_mpmath(numbers: list[Any], digits: int) -> list[str]:
    """Convert one after the other."""
    return [mpmath.nstr(number, digits) for number in numbers]


def read_by_mpmath(texts: list[str], precision: Precision) -> list[Any]:
    """Convert one after the other, to as many bits."""
    mpmath.mp.prec = precision.bits
    return [mpmath.mpf(text) for text in texts]


def read_by_gmpy2(texts: list[str], precision: Precision) -> list[Any]:
    """Convert one after the other, to as many bits."""
    return [gmpy2.mpfr(text, precision.bits) for text in texts]


def loops(options: Options) -> Iterator[Job]:
    """One operation of single values, the mean over a loop of them; mpmath at the same bits."""
    for p in PRECISIONS:
        a = mdqr.random.uniform(2, low=0.5, high=1, precision=p, rng=1)
        x, y = a[0], a[1]
        mx, my = a.to_mpmath().tolist()
        for who, one, other in (("mdqr", x, y), ("mpmath", mx, my)):
            for what, function in OPERATIONS.items():
                call = partial(loop, function, one, other, p.bits)
                aim = EACH * STEPS if who == "mdqr" and what in ("a*b", "a+b", "a/b") else None
                yield Job(what, who, p.name, f"{STEPS} times", call, aim=aim)
        yield Job("a[i]", "mdqr", p.name, f"{STEPS} times", partial(loop, pick, a, 1, p.bits))


def pick(a: Any, i: int) -> Any:
    """Index."""
    return a[i]


OPERATIONS = {
    "a*b": lambda x, y: x * y,
    "a+b": lambda x, y: x + y,
    "a/b": lambda x, y: x / y,
    "2*a": lambda x, y: 2 * x,
    "a<b": lambda x, y: x < y,
}


def loop(function: Any, x: Any, y: Any, bits: int) -> None:
    """Call a function of two values many times."""
    mpmath.mp.prec = bits
    for _ in range(STEPS):
        function(x, y)


BENCHMARKS = {
    "texts": Benchmark(
        "texts",
        "Files, text and single values",
        {"files": files, "conversions": conversions, "loops": loops},
    )
}
