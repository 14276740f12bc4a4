"""Bounds of the roots of all polynomials that are near to one, by the disks of S. Gershgorin.

Roots are the eigenvalues of ``diag(z) - W 1^T``, ``W_i = p(z_i) / (c_n prod_j (z_i - z_j))``, for
any different z (B. T. Smith, Error bounds for zeros of a polynomial based upon Gerschgorin's
theorems, 1970).
"""

from __future__ import annotations

from math import cos, floor, inf, pi, sin

import numpy as np

from mdqr.linalg._roots.dyadic import Point, Polynomial
from mdqr.linalg._spectral.disks import Disks, components, disks

_LEAST = 2.0**-1070
_HIGHEST = 900


@np.errstate(all="ignore")
def enclosed(p: Polynomial, points: list[Point], errors: np.ndarray, bits: int) -> Disks:
    """Return disks about different points for all polynomials within errors of the coefficients.

    Parameters
    ----------
    p : Polynomial
        Of degree n.
    points : list of Point
        n of them.
    errors : numpy.ndarray
        ``(n + 1,)``, the binary logarithms of the bounds, that of c_0 first.
    bits : int
        Those that p is evaluated with.

    Notes
    -----
    All in logarithms, but for what `disks` gets: in units of a power of two near the middle of the
    moduli, where what overflows is infinite and what underflows is replaced by more.
    """
    n, k = p.degree, np.arange(p.degree + 1)
    logs = np.array([z.log for z in points])
    sizes = []
    for z in points:
        taylor = p.taylor(z, bits, 0)
        sizes.append(taylor.at_most(0) + taylor.top)
    moved = _log_sums(errors + logs[:, None] * k)
    lead = np.log2(1 - np.exp2(min(errors[-1] - p.logs[n], 0.0))) + p.logs[n]
    exponent = _unit(logs)
    apart = distances(points, exponent)
    away = np.log2(apart + np.eye(n)).sum(axis=1) + (n - 1) * exponent
    found = np.logaddexp2(sizes, moved) - lead - away - exponent
    moduli = np.exp2(found) * (1 + 2.0**-16) + _LEAST
    moduli = np.nan_to_num(moduli, nan=inf, posinf=inf)
    radii, counts = disks(apart, np.broadcast_to(moduli[:, None], (n, n)))
    return Disks(np.ldexp(radii, exponent) + _LEAST, counts)


@np.errstate(all="ignore")
def spread(p: Polynomial, points: list[Point], errors: np.ndarray) -> list[Point]:
    """Return points as far apart as errors of the coefficients may move roots.

    Those with so many neighbours within that distance are put on a circle about their mean: there
    the disks of `enclosed` are hardly larger than they must be. What it returns does not have to be
    right: any different points have disks.
    """
    n, k = p.degree, np.arange(p.degree + 1)
    logs = np.array([max(z.log, -1e4) for z in points])
    exponent = _unit(logs)
    apart = distances(points, exponent)
    order = np.argsort(apart, axis=1, kind="stable")
    # Of each point the sums over all that are farther than its first neighbours.
    away = np.log2(np.take_along_axis(apart, order, axis=1)) + exponent
    farther = np.cumsum(away[:, :0:-1], axis=1)[:, ::-1]
    farther = np.concatenate([farther, np.zeros((n, 1))], axis=1)
    moved = _log_sums(errors + logs[:, None] * k)[:, None] - p.logs[n] - farther
    moved = np.nan_to_num(moved, nan=inf, posinf=inf) / np.arange(1, n + 1)
    after = np.concatenate([away[:, 1:], np.full((n, 1), inf)], axis=1)
    count = (moved + 2 < after).argmax(axis=1) + 1
    linked = np.eye(n, dtype=bool)
    for i in range(n):
        linked[i, order[i, : count[i]]] = True
    labels = components(linked | linked.T)
    found = list(points)
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label).tolist()
        m = len(members)
        if m == 1 and points[members[0]] != (0, 0, 0):
            continue
        middle = mean([points[i] for i in members])
        reach = max(moved[i, count[i] - 1] for i in members)
        reach = max(reach, max(away[i, m - 1] for i in members) - 1) + 0.5
        for j, i in enumerate(members):
            found[i] = beside(middle, j / m, reach)
    return found


def beside(z: Point, turn: float, log: float) -> Point:
    """Return z plus a number of a modulus of about ``2**log``, turned by a part of a circle."""
    angle = 2 * pi * turn + 0.3
    by = Point.of(complex(cos(angle), sin(angle)), floor(log))
    return z.moved(by)


def mean(points: list[Point]) -> Point:
    """Return the mean of points."""
    total = points[0]
    for z in points[1:]:
        total = total.moved(z)
    m = len(points)
    spare = m.bit_length() + 64
    return Point((total.re << spare) // m, (total.im << spare) // m, total.unit - spare)


def _unit(logs: np.ndarray) -> int:
    """Return the exponent of a unit in which no modulus overflows: small ones may underflow."""
    top = float(logs.max())
    return int(np.rint(max((top + max(float(logs.min()), -2e3)) / 2, top - _HIGHEST)))


def _log_sums(logs: np.ndarray) -> np.ndarray:
    """Return ``log2(sum 2**logs)`` of rows, a little more."""
    top = logs.max(axis=1, keepdims=True)
    total = np.log2(np.exp2(logs - np.where(np.isfinite(top), top, 0.0)).sum(axis=1))
    return np.asarray(total + top[:, 0] + 2.0**-20)


def distances(points: list[Point], exponent: int) -> np.ndarray:
    """Return the distances over ``2**exponent``, right to a few units in the last place."""
    z = np.array([point.native(exponent) for point in points])
    apart = abs(z[:, None] - z)
    size = abs(z)
    for i, j in np.argwhere(np.triu(apart < 2.0**-16 * (size + size[:, None]) + 2.0**-900, 1)):
        apart[i, j] = apart[j, i] = abs(points[i].minus(points[j]).native(exponent))
    return np.asarray(apart)
