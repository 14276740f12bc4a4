"""Fits with known minima: ``python -m tests.optimize.random_problems --count 500 --seed 1``.

The data are values of a model at dyadic parameters, and residuals that are orthogonal to the
columns of its Jacobian there: computed with mpmath in 150 digits, so that the parameters are the
minimum to more digits than qd has. With an active bound, the gradient of one parameter points out.
"""

from __future__ import annotations

import argparse
import collections
import warnings
from typing import Any, NamedTuple

import mpmath
import numpy as np

import mdqr
from mdqr.optimize import curve_fit

H = mpmath.mpf(10) ** -70


class Family(NamedTuple):
    """A model of a module of functions, x and parameters; and the draw of the parameters."""

    model: Any
    low: tuple[float, ...]
    high: tuple[float, ...]


FAMILIES = {
    "exponential": Family(lambda m, x, a, b, c: a * m.exp(-b * x) + c, (1, 0.2, 0), (5, 2, 3)),
    "exponentials": Family(
        lambda m, x, a, b, c, d: a * m.exp(-b * x) + c * m.exp(-d * x),
        (1, 0.1, 1, 1.5),
        (3, 0.5, 3, 3),
    ),
    "rational": Family(lambda m, x, a, b, c: (a + b * x) / (1 + c * x), (1, 1, 0.2), (3, 4, 2)),
    "sine": Family(lambda m, x, a, b, c: a * m.sin(b * x + c), (1, 0.5, -1), (3, 1.2, 1)),
    "power": Family(lambda m, x, a, b: a * m.exp(b * m.log(1 + x)), (1, -2), (4, 2)),
}
KINDS = ("zero", "small", "large", "scaled", "bound", "float64")


class Fit(NamedTuple):
    """A problem: its minimum, data as strings, start and bounds."""

    name: str
    kind: str
    minimum: np.ndarray
    x: np.ndarray
    y: list[str]
    start: np.ndarray
    bounds: Any
    scale: int


def draw(seed: int, index: int) -> Fit:
    """Return a problem."""
    mpmath.mp.dps = 150
    rng = np.random.default_rng([seed, index])
    name = list(FAMILIES)[index % len(FAMILIES)]
    kind = KINDS[(index // len(FAMILIES)) % len(KINDS)]
    family = FAMILIES[name]
    best = np.round(rng.uniform(family.low, family.high) * 256) / 256
    n = best.size
    x = np.arange(n + int(rng.integers(3, 12))) / 4.0
    b = [mpmath.mpf(v) for v in best]

    def values(b):
        return [family.model(mpmath, mpmath.mpf(v), *b) for v in x]

    columns = []
    for j in range(n):
        up, down = list(b), list(b)
        up[j], down[j] = up[j] + H, down[j] - H
        pairs = zip(values(up), values(down), strict=True)
        columns.append([(p - q) / (2 * H) for p, q in pairs])
    size = {"zero": 0.0, "small": 1e-3, "large": 0.1}.get(kind, 0.01)
    a = mpmath.matrix(columns).T
    e = mpmath.matrix([mpmath.mpf(float(v)) for v in rng.normal(0, size, x.size)])
    e = e - a * mpmath.lu_solve(a.T * a, a.T * e)
    bounds: Any = (-np.inf, np.inf)
    if kind == "bound":
        # J^T r with r = e + push has a component in the last parameter alone.
        right = mpmath.matrix([0] * (n - 1) + [1])
        push = a * mpmath.lu_solve(a.T * a, right)
        e = e + push * mpmath.mpf(0.01)
        bounds = ([-np.inf] * (n - 1) + [best[-1]], np.inf)
    scale = int(rng.integers(-100, 100)) if kind == "scaled" else 0
    data = [(v - r) * mpmath.mpf(10) ** scale for v, r in zip(values(b), e, strict=True)]
    y = [mpmath.nstr(v, 140, min_fixed=0, max_fixed=0) for v in data]
    start = best * (1 + 0.04 * rng.uniform(-1, 1, n))
    if kind == "bound":
        start[-1] = best[-1] + 0.01
    return Fit(name, kind, best, x, y, start, bounds, scale)


def judge(fit: Fit, precision: mdqr.Precision) -> tuple[str, float]:
    """Return a verdict, and by how much the bound exceeds the error (below 1: a false claim)."""
    model, rounded = FAMILIES[fit.name].model, fit.kind == "float64"
    unit = mdqr.od(f"1e{fit.scale}")

    def f(x, *b):
        found = model(mdqr, x, *b)
        if rounded:
            return found.to_numpy()
        return found * unit if fit.scale else found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        found = curve_fit(
            f, fit.x, mdqr.array(fit.y, precision=mdqr.od), fit.start, bounds=fit.bounds,
            precision=precision,
        )  # fmt: skip
    error = np.abs((found.popt - fit.minimum).to_numpy())
    if not found.result.success or not np.isfinite(found.info.error_bound).all():
        return "not converged", np.inf
    if np.any(error > 0.05 * np.abs(fit.minimum)):
        return "another minimum", np.inf
    ratio = np.min(found.info.error_bound / np.maximum(error, 1e-290))
    digits = float(np.min(found.info.digits)) / precision.digits
    return ("false" if ratio < 1 else "full" if digits > 0.9 else "partial"), float(ratio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--precision", default="qd")
    options = parser.parse_args()
    verdicts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for index in range(options.count):
        fit = draw(options.seed, index)
        verdict, ratio = judge(fit, mdqr.Precision(options.precision))
        verdicts[fit.kind][verdict] += 1
        if verdict in ("false", "not converged"):
            print(index, fit.name, fit.kind, verdict, ratio)
    for kind, counts in verdicts.items():
        print(f"{kind:8s}", dict(counts))


if __name__ == "__main__":
    main()
