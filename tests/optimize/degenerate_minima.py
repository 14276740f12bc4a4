"""Minima with a singular Hessian: ``python -m tests.optimize.degenerate_minima --count 500``.

The values are of models in which a parameter, or a combination of two, enters by a power: at the
minimum, which is known exactly, the Hessian is singular, so that Newton's steps shrink slowly, and
the last one is much smaller than the error. ``--batch 20`` fits as many data sets at once.
"""

from __future__ import annotations

import argparse
import collections
import warnings
from math import comb
from typing import Any, NamedTuple

import numpy as np

import mdqr
from mdqr.optimize import curve_fit

M = 9
X = np.arange(M) / 8.0
# Orthogonal to all polynomials of degree 7: residuals of this form do not move the minimum.
ORTHOGONAL = np.array([(-1.0) ** i * comb(M - 1, i) for i in range(M)]) / 256.0


def power(x: Any, a: Any, b: Any, c: Any, k: int) -> Any:
    """One parameter by its power."""
    return a + x * b + (c - 3) ** k * x * x


def sum_power(x: Any, a: Any, b: Any, c: Any, k: int) -> Any:
    """The sum of two parameters is determined, their difference enters by a power."""
    return (a + b) * (1 + x) + (a - b) ** k * x * x + c * x**3


def difference_power(x: Any, a: Any, b: Any, c: Any, k: int) -> Any:
    """The difference is determined, and the sum enters by a power."""
    return (a - b) * (1 + x) + (a + b - 4) ** k * x * x + c * x**3


def product(x: Any, a: Any, b: Any, c: Any, k: int) -> Any:
    """A product of parameters that are zero, and a power of their sum."""
    return c + a * b * x + (a + b) ** k * x * x


def curve(x: Any, a: Any, b: Any, c: Any, k: int) -> Any:
    """A power beside a curve; without residuals."""
    return a * mdqr.exp(-b * x) + (c - 2) ** k * x * x


def valley(x: Any, a: Any, b: Any, c: Any, k: int) -> Any:
    """Two parameters that only scale a curve: minima are a line; without residuals."""
    return a * mdqr.exp(-b * x - (c - 2) ** k)


class Degenerate(NamedTuple):
    """Data of a model whose minimum is known: values there, and a start near it."""

    model: Any
    power: int
    minimum: np.ndarray
    start: np.ndarray
    residuals: np.ndarray

    def function(self, x: Any, a: Any, b: Any, c: Any) -> Any:
        """The model with its power."""
        return self.model(x, a, b, c, self.power)

    def data(self) -> Any:
        """Values at the minimum in od, and residuals that the power makes no smaller."""
        x, b = mdqr.array(X, precision=mdqr.od), mdqr.array(self.minimum, precision=mdqr.od)
        return self.function(x, *b) + self.residuals


MODELS = (power, sum_power, difference_power, product, curve, valley)


def _minimum(model: Any, rng: np.random.Generator) -> np.ndarray:
    a, b, c = np.round(rng.uniform(1, 4, 3) * 64) / 64
    if model is power:
        c = 3.0
    elif model is sum_power:
        b = a
    elif model is difference_power:
        b = 4.0 - a
    elif model is product:
        a = b = 0.0
    else:
        c = 2.0
    return np.array([a, b, c])


def draw(seed: int, index: int) -> Degenerate:
    """Return a problem."""
    rng = np.random.default_rng([seed, index])
    model = MODELS[index % len(MODELS)]
    k = 2 + (index // len(MODELS)) % 3
    best = _minimum(model, rng)
    start = best + 10.0 ** rng.uniform(-3, -0.5) * rng.uniform(-1, 1, 3)
    exact = model in (curve, valley)
    size = 0.0 if exact or rng.random() < 0.5 else 2.0 ** int(rng.integers(-12, 1))
    return Degenerate(model, k, best, start, size * ORTHOGONAL)


def alike(seed: int, index: int, count: int) -> list[Degenerate]:
    """Return problems of one model and power."""
    return [draw(seed, index + 3 * len(MODELS) * k) for k in range(count)]


def excess(problems: list[Degenerate], precision: mdqr.Precision) -> np.ndarray:
    """Return log2 of the errors over their bounds, ``(b, 3)``: above 0 a claim is false."""
    first = problems[0]
    y = mdqr.stack([each.data() for each in problems])
    start = np.stack([each.start for each in problems])
    best = np.stack([each.minimum for each in problems])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdqr.PrecisionWarning)
        if len(problems) > 1:
            fits = curve_fit(first.function, X, y, start, precision=precision)
            x, bound, found = fits.popt, fits.info.error_bound, fits.result.success
        else:
            fits = curve_fit(first.function, X, y[0], start[0], precision=precision)
            x, bound, found = fits.popt[None], fits.info.error_bound[None], fits.result.status == 3
    error = np.abs((x.astype(mdqr.od) - best).to_numpy())
    # Other minima are none of the known one; a start is never as far from it.
    near = (error < 0.3).all(axis=1, keepdims=True)
    known = np.isfinite(bound) & np.reshape(found, (-1, 1)) & near
    with np.errstate(divide="ignore"):
        return np.where(known & (error > 0), np.log2(error) - np.log2(bound), -np.inf)


def main() -> None:
    """Print false claims, and how many were made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--precision", default="dd")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    for index in range(options.first, options.first + options.count):
        problems = alike(options.seed, index, options.batch)
        found = excess(problems, mdqr.Precision(options.precision))
        name = problems[0].model.__name__
        worst = found.max(axis=1)
        counts[f"{name} false"] += int(np.sum(worst > 0))
        counts[f"{name} true"] += int(np.sum((worst <= 0) & np.isfinite(worst)))
        counts[f"{name} none"] += int(np.sum(np.isneginf(worst)))
        if (worst > 0).any():
            print(index, name, problems[0].power, np.round(worst, 1).tolist())
    print(dict(counts))


if __name__ == "__main__":
    main()
