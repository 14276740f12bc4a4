"""Parameters in which a model is linear, found by second derivatives that vanish."""

from __future__ import annotations

import numpy as np

import mdqr
from mdqr._array.array import MDArray
from mdqr.optimize._model.noise import Noise
from mdqr.optimize._model.points import leading
from mdqr.optimize._solver.problem import Problem

# Second differences beyond so many rounding errors are second derivatives.
_CERTAIN = 64.0
_MOST_PARAMETERS = 40


def linear_parameters(
    problem: Problem, x: MDArray, r: MDArray, sizes: np.ndarray, noise: Noise
) -> list[int]:
    """Return parameters without bounds in which the residuals are jointly linear near x.

    Second derivatives of all pairs among them vanish at two points.
    """
    if problem.linear is not None:
        return problem.linear
    n = x.shape[0]
    if problem.loss.rho is not None or n > _MOST_PARAMETERS:
        return []
    unbounded = ~(np.isfinite(problem.box.low) | np.isfinite(problem.box.high))
    if not unbounded.any():
        return []
    zero = _vanish(problem, x, r, sizes, noise)
    other = problem.box.clip(x + sizes * (1.0 + np.arange(n)) / (8.0 * n))
    zero &= _vanish(problem, other, problem.function.at(other, x.precision), sizes, noise)
    chosen: list[int] = []
    for j in np.argsort(-zero.sum(axis=0), kind="stable"):
        if unbounded[j] and zero[j, j] and all(zero[j, k] for k in chosen):
            chosen.append(int(j))
    return sorted(chosen)


def _vanish(
    problem: Problem, x: MDArray, r: MDArray, sizes: np.ndarray, noise: Noise
) -> np.ndarray:
    """Return the mask of second derivatives that vanish, ``(n, n)``."""
    found, (rows, columns), steps = problem.derivatives.second(x, r, sizes, noise.unit)
    n = x.shape[0]
    zero = np.zeros((n, n), dtype=bool)
    if not bool(mdqr.isfinite(found).all()):
        return zero
    differences = np.abs(leading(found)) * np.abs(steps[rows] * steps[columns])[:, None]
    flat = np.all(differences <= _CERTAIN * noise.absolute, axis=-1)
    zero[rows, columns] = zero[columns, rows] = flat
    return zero
