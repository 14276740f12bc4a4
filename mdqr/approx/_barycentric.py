"""Barycentric rational functions: values, zeros, poles and residues.

``r(x) = sum(w * f / (x - z)) / sum(w / (x - z))`` with support points z, values f and weights w.
"""

from __future__ import annotations

import numpy as np

import mdqr
from mdqr._array.array import MDArray

_EXACT = {"a_rtol": 0, "b_rtol": 0}
_MOST_ITERATIONS = 100


def cauchy(x: MDArray, points: MDArray) -> tuple[MDArray, np.ndarray]:
    """Return ``1 / (x - points)``, ``(k, m)`` for x ``(k,)``, and a mask of equal pairs.

    Entries of equal pairs are 1.
    """
    distance = x[:, None] - points
    equal = np.asarray(distance == 0)
    distance[equal] = 1
    return 1 / distance, equal


def values(x: MDArray, points: MDArray, support: MDArray, weights: MDArray) -> MDArray:
    """Return r at finite x ``(k,)``; at support points with a weight their values."""
    terms, equal = cauchy(x, points)
    found = (terms @ (weights * support)) / (terms @ weights)
    rows, columns = np.nonzero(equal & np.asarray(weights != 0))
    found[rows] = support[columns]
    return found


def zeros(points: MDArray, weights: MDArray) -> MDArray:
    """Return the finite zeros of ``d(x) = sum(weights / (x - points))``, complex.

    Eigenvalues of a pencil in float64 start the iteration of Ehrlich and Aberth for the numerator
    of d, whose logarithmic derivative is ``d' / d + sum(1 / (x - points))``. A zero is kept once d
    is as small as its rounding errors. Of real points and weights, zeros are real or come in
    conjugate pairs.
    """
    used = np.asarray(weights != 0)
    points, weights = points[used], weights[used]
    x = _starts(points, weights).astype(precision=points.precision)
    m, sizes = len(points), abs(weights).to_numpy()
    moving = np.ones(len(x), dtype=bool)
    for _ in range(_MOST_ITERATIONS):
        if not moving.any():
            break
        terms, _ = cauchy(x[moving], points)
        value = terms @ weights
        level = 8 * m * points.precision.eps * (abs(terms).to_numpy() @ sizes)
        slope = terms.sum(axis=1) - ((terms * terms) @ weights) / value
        others, equal = cauchy(x[moving], x)
        others[equal] = 0
        step = 1 / (slope - others.sum(axis=1))
        done = abs(value).to_numpy() <= level
        step[done] = 0
        x[moving] = x[moving] - step
        moving[np.flatnonzero(moving)[done]] = False
    return x if points.is_complex or weights.is_complex else _with_real_ones(x)


def _with_real_ones(x: MDArray) -> MDArray:
    """Return zeros of a real function with imaginary parts of 0 for those without a conjugate."""
    if len(x):
        nearest = abs(x.conj()[:, None] - x).to_numpy().argmin(axis=1)
        alone = nearest == np.arange(len(x))
        x[alone] = x[alone].real
    return x


def _starts(points: MDArray, weights: MDArray) -> MDArray:
    """Return distinct approximations in float64, none of them a point.

    The zeros are the finite eigenvalues of ``[[0, w^T], [1, Z]] - x [[0, 0], [0, I]]`` (Y.
    Nakatsukasa, O. Sete and L. N. Trefethen 2018, section 3).
    """
    m = len(points)
    if m < 2:
        return mdqr.zeros(0, precision=mdqr.d, dtype=complex)
    scale = float(abs(weights).max())
    field = complex if points.is_complex or weights.is_complex else float
    a, b = (mdqr.zeros((m + 1, m + 1), precision=mdqr.d, dtype=field) for _ in range(2))
    a[0, 1:], a[1:, 0] = (weights / scale).astype(precision=mdqr.d), 1
    a[1:, 1:] = mdqr.diag(points.astype(precision=mdqr.d))
    b[1:, 1:] = mdqr.eye(m, precision=mdqr.d)
    found = mdqr.linalg.eigvals(a, b, data_error=_EXACT).to_numpy()
    found = found[np.isfinite(found)].astype(complex)
    spread = 1e-9 * np.exp(1j * (1 + 2 * np.arange(len(found))))
    size = float(abs(points).max())
    return mdqr.array(found + spread * (abs(found) + size), precision=mdqr.d)


def residues(x: MDArray, points: MDArray, support: MDArray, weights: MDArray) -> MDArray:
    """Return the residues at simple poles x: the numerator over the slope of the denominator."""
    terms, _ = cauchy(x, points)
    return -(terms @ (weights * support)) / ((terms * terms) @ weights)
