"""The largest errors of the elementwise operations, against exact rational arithmetic.

    python benchmarks/accuracy.py [--values N]

Writes accuracy.json and accuracy.md to benchmarks/results.
"""

from __future__ import annotations

import argparse
import json
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from measure import RESULTS, environment
from tqdm import tqdm

import mdqr
from mdqr._precision import PRECISIONS
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


def markdown(results: dict[str, dict[str, dict[str, float]]], count: int) -> str:
    """Return one row an operation and field, one column a precision."""
    names = [p.name for p in PRECISIONS]
    lines = [
        f"| largest error found, in eps, of {count} values | bound | {' | '.join(names)} |",
        f"|---|---|{'--:|' * len(names)}",
    ]
    for field, by_precision in results.items():
        for name in [*BINARY, *UNARY]:
            bound = REAL_BOUND if field == "real" else COMPLEX_BOUNDS.get(name, REAL_BOUND)
            cells = " | ".join(f"{by_precision[p][name]:.2g}" for p in names)
            lines.append(f"| {field} {name} | {bound} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Largest errors of the elementwise operations.")
    parser.add_argument("--values", type=int, default=20 * BATCH, help="for each operation")
    count = parser.parse_args().values
    results: dict[str, dict[str, dict[str, float]]] = {}
    for field, dtype in (("real", float), ("complex", complex)):
        progress = tqdm(PRECISIONS, desc=field, disable=None)
        results[field] = {p.name: worst(p, dtype, count) for p in progress}
    RESULTS.mkdir(parents=True, exist_ok=True)
    about = environment(f"python benchmarks/accuracy.py --values {count}")
    content = {"environment": about, "values": count, "largest errors in eps": results}
    (RESULTS / "accuracy.json").write_text(json.dumps(content, indent=1) + "\n")
    (RESULTS / "accuracy.md").write_text(markdown(results, count))
    print(markdown(results, count))


if __name__ == "__main__":
    main()
