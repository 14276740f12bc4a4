"""Fits with known minima: ``python -m tests.optimize.random_problems --count 500 --seed 1``.

The data are values of a model at dyadic parameters, and residuals that are orthogonal to the
columns of its Jacobian there: computed with mpmath in 300 digits, so that the parameters are the
minimum to more digits than od has. With an active bound, the gradient of one parameter points out.
With a parameter too many no digit of those that the data do not tell apart may be claimed.
``--batch 20`` fits as many data sets of one model at once.
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

H = mpmath.mpf(10) ** -100


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
    "sines": Family(
        lambda m, x, a, b, c, d: a * m.sin(b * x) + c * m.cos(d * x),
        (1, 0.4, 1, 1.2),
        (3, 0.8, 3, 1.8),
    ),
    "resonance": Family(
        lambda m, x, a, b, c: (a + 1j * x) / (b - x * x + 1j * (c * x)), (1, 3, 0.5), (3, 9, 2)
    ),
    "wave": Family(lambda m, x, a, b, c: a * m.exp((1j * b - c) * x), (1, 0.5, 0.1), (3, 1, 0.5)),
    "three rates": Family(
        lambda m, x, a, b, c, d, e, f: a * m.exp(-b * x) + c * m.exp(-d * x) + e * m.exp(-f * x),
        (1, 0.1, 1, 0.8, 1, 2.5),
        (3, 0.3, 3, 1.4, 3, 4),
    ),
    "rational 3": Family(
        lambda m, x, a, b, c, d: (a + x * (b + x * c)) / (1 + d * x * x),
        (1, 1, 1, 0.2),
        (3, 4, 3, 2),
    ),
    "logistic": Family(lambda m, x, a, b, c: a / (1 + m.exp(b - c * x)), (1, 1, 1), (9, 3, 4)),
}
KINDS = ("zero", "small", "large", "scaled", "bound", "float64", "sizes", "dependent")
COMPLEX = ("resonance", "wave")


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
    sizes: np.ndarray


@mpmath.workdps(300)
def draw(seed: int, index: int) -> Fit:
    """Return a problem."""
    rng = np.random.default_rng([seed, index])
    name = list(FAMILIES)[index % len(FAMILIES)]
    kind = KINDS[(index // len(FAMILIES)) % len(KINDS)]
    family = FAMILIES[name]
    best = np.round(rng.uniform(family.low, family.high) * 256) / 256
    n = best.size
    x = np.arange(n + int(rng.integers(3, 12))) / 4.0
    b = [mpmath.mpf(v) for v in best]

    def values(b):
        found = [family.model(mpmath, mpmath.mpf(v), *b) for v in x]
        if name in COMPLEX:
            return [mpmath.re(v) for v in found] + [mpmath.im(v) for v in found]
        return found

    columns = []
    for j in range(n):
        up, down = list(b), list(b)
        up[j], down[j] = up[j] + H, down[j] - H
        pairs = zip(values(up), values(down), strict=True)
        columns.append([(p - q) / (2 * H) for p, q in pairs])
    size = {"zero": 0.0, "dependent": 0.0, "small": 1e-3, "large": 0.1}.get(kind, 0.01)
    a = mpmath.matrix(columns).T
    e = mpmath.matrix([mpmath.mpf(float(v)) for v in rng.normal(0, size, a.rows)])
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
    if name in COMPLEX:
        parts = zip(y[: x.size], y[x.size :], strict=True)
        y = [f"{re}{im if im[0] == '-' else '+' + im}j" for re, im in parts]
    start = best * (1 + 0.04 * rng.uniform(-1, 1, n))
    if kind == "bound":
        start[-1] = best[-1] + 0.01
    sizes = 2.0 ** rng.integers(-300, 300, n) if kind == "sizes" else np.ones(n)
    return Fit(name, kind, best, x, y, start, bounds, scale, sizes)


def function_of(fit: Fit) -> Any:
    """Return the model of a problem; the last of dependent parameters is split in two."""
    model, unit = FAMILIES[fit.name].model, mdqr.od(f"1e{fit.scale}")

    def f(x, *b):
        if fit.kind == "sizes":
            b = [v / size for v, size in zip(b, fit.sizes, strict=True)]
        elif fit.kind == "dependent":
            b = [*b[:-2], b[-2] + b[-1]]
        found = model(mdqr, x, *b)
        if fit.kind == "float64":
            return found.to_numpy()
        return found * unit if fit.scale else found

    return f


def judge(fit: Fit, precision: mdqr.Precision) -> tuple[str, float]:
    """Return a verdict, and by how much the bound exceeds the error (below 1: a false claim)."""
    start, least = fit.start * fit.sizes, fit.minimum * fit.sizes
    if fit.kind == "dependent":
        start = np.concatenate([start[:-1], [start[-1] / 4, start[-1] * 3 / 4]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        found = curve_fit(
            function_of(fit), fit.x, mdqr.array(fit.y, precision=mdqr.od), start,
            bounds=fit.bounds, precision=precision,
        )  # fmt: skip
    if fit.kind == "dependent":
        claimed = found.result.success and np.any(found.info.digits[-2:] > 0)
        return ("false" if claimed else "singular"), np.inf
    return verdict(found.popt, found.info, found.result.success, least, precision)


def verdict(
    x: Any, info: Any, success: bool, least: np.ndarray, precision: mdqr.Precision
) -> tuple[str, float]:
    """Return what a claim is worth: the exact minimum is known, and the basin by its distance."""
    error = np.abs((x - least).to_numpy())
    if not success or not np.isfinite(info.error_bound).all():
        return "not converged", np.inf
    if np.any(error > 0.05 * np.abs(least)):
        return "another minimum", np.inf
    # A parameter at its bound may have no error, and a bound of zero.
    certain = (error == 0) & (info.error_bound == 0)
    ratio = np.min(np.where(certain, np.inf, info.error_bound / np.maximum(error, 1e-290)))
    digits = float(np.min(info.digits)) / precision.digits
    return ("false" if ratio < 1 else "full" if digits > 0.9 else "partial"), float(ratio)


def alike(seed: int, index: int, count: int) -> list[Fit]:
    """Return problems of one model and of as many data; none of kinds that batches do not take."""
    first = draw(seed, index)
    if first.kind in ("bound", "sizes", "dependent", "scaled"):
        return []
    step, found = len(FAMILIES) * len(KINDS), [first]
    while len(found) < count:
        index += step
        fit = draw(seed, index)
        if fit.x.size == first.x.size:
            found.append(fit)
    return found


def judge_batch(fits: list[Fit], precision: mdqr.Precision) -> list[str]:
    """Return the verdicts of problems of one model, fitted at once."""
    y = mdqr.stack([mdqr.array(fit.y, precision=mdqr.od) for fit in fits])
    start = np.stack([fit.start for fit in fits])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        found = curve_fit(function_of(fits[0]), fits[0].x, y, start, precision=precision)
    parts = zip(found.popt, found.info.error_bound, found.info.digits, fits, strict=True)
    return [
        verdict(x, _Claim(bound, digits), bool(ok), fit.minimum, precision)[0]
        for (x, bound, digits, fit), ok in zip(parts, found.result.success, strict=True)
    ]


class _Claim(NamedTuple):
    error_bound: np.ndarray
    digits: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--precision", default="qd")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batch", type=int, default=0)
    options = parser.parse_args()
    precision = mdqr.Precision(options.precision)
    verdicts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for index in range(options.first, options.first + options.count):
        if options.batch:
            fits = alike(options.seed, index, options.batch)
            found = judge_batch(fits, precision) if fits else []
        else:
            fits = [draw(options.seed, index)]
            found = [judge(fits[0], precision)[0]]
        for one in found:
            verdicts[fits[0].kind][one] += 1
            if one in ("false", "not converged"):
                print(index, fits[0].name, fits[0].kind, one)
    for kind, counts in verdicts.items():
        print(f"{kind:8s}", dict(counts))


if __name__ == "__main__":
    main()
