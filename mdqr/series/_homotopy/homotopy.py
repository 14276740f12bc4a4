"""Homotopies ``H(x, s)``: the start system at s = 1, the target at s = 0, on a patch.

Points are arrays ``(variables, paths)``, complex128 or MDArrays; corrections are complex128.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mdqr import concatenate
from mdqr._array.array import MDArray
from mdqr._functions.creation import array
from mdqr._precision import Precision
from mdqr.series._systems.terms import Terms

Points = Any  # complex128 or MDArray
# Float64 solves systems of conditions below this where points are held in more limbs.
_MOST_CONDITION = 1e10
# H, H_x and H_s at points.
Jet = tuple[Points, Points, Points]


@dataclass(frozen=True)
class Line:
    """``gamma s G + (1 - s) F``, and ``patch . x = 1``.

    `terms` are homogeneous: the n equations of F and the n of G.
    """

    terms: Terms
    gamma: complex
    patch: np.ndarray
    precision: Precision | None = None

    @property
    def variables(self) -> int:
        """The number of homogeneous coordinates."""
        return self.terms.variables

    def within(self, precision: Precision | None) -> Line:
        """Return the same homotopy, evaluated in a precision; None is complex128."""
        return replace(self, precision=precision)

    def jet(self, x: Points, s: np.ndarray) -> Jet:
        """Return H ``(paths, v)``, H_x ``(paths, v, v)`` and H_s ``(paths, v)``."""
        values, slopes = evaluated(self.terms, x, self.precision)
        n = self.variables - 1
        begin, end = self.gamma * s, 1.0 - _as(s, self.precision)
        h = begin * values[n:] + end * values[:n]
        hs = self.gamma * values[n:] - values[:n]
        hx = begin * slopes[n:] + end * slopes[:n]
        return on_patch(self.patch, x, (h, hx, hs))


@dataclass(frozen=True)
class Parameters:
    """``F(x, p(s))`` with p(1) and p(0) given, and ``patch . x = 1``.

    p is ``u p(1) + (1 - u) p(0)`` with ``u = gamma s / (gamma s + 1 - s)``, an arc around real
    parameters for which paths may meet. `terms` are in x, homogeneous, and then p.
    """

    terms: Terms
    gamma: complex
    patch: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    precision: Precision | None = None

    @property
    def variables(self) -> int:
        """The number of homogeneous coordinates."""
        return len(self.patch)

    def within(self, precision: Precision | None) -> Parameters:
        """Return the same homotopy, evaluated in a precision; None is complex128."""
        return replace(self, precision=precision)

    def jet(self, x: Points, s: np.ndarray) -> Jet:
        """Return H ``(paths, v)``, H_x ``(paths, v, v)`` and H_s ``(paths, v)``."""
        v = self.variables
        t = _as(s, self.precision)
        below = self.gamma * t + (1.0 - t)
        u, rate = self.gamma * t / below, self.gamma / (below * below)
        way = _as(self.begin - self.end, self.precision)[:, None]
        p = _as(self.end, self.precision)[:, None] + way * u
        both = np.concatenate if self.precision is None else concatenate
        values, slopes = evaluated(self.terms, both([x, p]), self.precision)
        hs = (slopes[:, v:] * (way * rate)).sum(axis=1)
        return on_patch(self.patch, x, (values, slopes[:, :v], hs))


Homotopy = Line | Parameters


def evaluated(terms: Terms, x: Points, precision: Precision | None) -> tuple[Points, Points]:
    """Return values ``(m, paths)`` and Jacobian ``(m, v, paths)`` at ``(v, paths)``."""
    if precision is None:
        return terms.polynomials(x)
    values, slopes = terms.precise(precision)(x.T.copy())
    return values.T, slopes.transpose(1, 2, 0)


def on_patch(patch: np.ndarray, x: Points, jet: Jet) -> Jet:
    """Return a jet, the paths in front, with the row ``patch . x - 1`` behind the others."""
    h, hx, hs = jet
    n, v, paths = hx.shape
    wide: list[Points] = [np.empty((paths, *shape), complex) for shape in ((v,), (v, v), (v,))]
    c: Points = patch
    if isinstance(x, MDArray):
        c = array(patch, precision=x.precision)
        wide = [array(each, precision=x.precision) for each in wide]
    wide[0][:, :n], wide[1][:, :n], wide[2][:, :n] = h.T, hx.transpose(2, 0, 1), hs.T
    wide[0][:, n], wide[1][:, n, :], wide[2][:, n] = (c[:, None] * x).sum(axis=0) - 1.0, c, 0.0
    return wide[0], wide[1], wide[2]


def newton(homotopy: Homotopy, x: Points, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Newton's corrections and the tangents dx/ds, complex128 ``(v, paths)``.

    NaN where the Jacobian is singular.
    """
    h, hx, hs = homotopy.jet(x, s)
    if isinstance(x, MDArray):
        right = array(np.zeros((*h.shape, 2), complex), precision=x.precision)
        right[..., 0], right[..., 1] = h, hs
        found = _precisely_solved(hx, right)
    else:
        both = np.empty((*h.shape, 2), complex)
        both[..., 0], both[..., 1] = h, hs
        found = solved(hx, both)
    return found[..., 0].T, -found[..., 1].T


def solved(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the solutions of a batch, NaN for singular matrices."""
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        found = np.full(b.shape, np.nan, b.dtype)
        if len(a) == 1:
            return found
        half = len(a) // 2
        return np.concatenate([solved(a[:half], b[:half]), solved(a[half:], b[half:])])


def _precisely_solved(a: MDArray, b: MDArray) -> np.ndarray:
    """Return the solutions of a batch in complex128, to some digits; NaN for singular matrices.

    By float64, where that leaves digits: corrections and tangents need no more.
    """
    near = a.to_numpy()
    with np.errstate(all="ignore"):
        inverse = solved(near, np.broadcast_to(np.eye(near.shape[-1], dtype=complex), near.shape))
        found: np.ndarray = inverse @ b.to_numpy()
        worst = abs(near).sum(axis=-1).max(axis=-1) * abs(inverse).sum(axis=-1).max(axis=-1)
    hard = np.flatnonzero(~(worst < _MOST_CONDITION))
    if hard.size:
        found[hard] = eliminated(a[hard], b[hard]).to_numpy()
    return found


def eliminated(a: MDArray, b: MDArray) -> MDArray:
    """Return the solutions of a batch by Gaussian elimination, pivots as float64 has them."""
    n, every = a.shape[-1], np.arange(len(a))
    rows = concatenate([a, b], axis=-1)
    for k in range(n):
        pivot = k + abs(rows[:, k:, k].to_numpy()).argmax(axis=1)
        order = np.tile(np.arange(n), (len(a), 1))
        order[:, k], order[every, pivot] = pivot, k
        rows = rows[every[:, None], order]
        rows[:, k] = rows[:, k] / rows[:, k, k][:, None]
        others = np.delete(np.arange(n), k)
        part = rows[:, others]
        rows[:, others] = part - part[:, :, k][..., None] * rows[:, k][:, None, :]
    return rows[:, :, n:]


def condition(homotopy: Homotopy, x: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return the conditions of the Jacobians at points of size one.

    Rows are not scaled: at a singular end all entries of one may vanish.
    """
    size = abs(x).max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        _, hx, _ = homotopy.within(None).jet(x / size, s)
    hx[~np.isfinite(hx).all(axis=(-2, -1))] = 0.0
    values = np.linalg.svd(hx, compute_uv=False)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values[:, -1] > 0, values[:, 0] / values[:, -1], np.inf)


def doubles(x: Points) -> np.ndarray:
    """Return points in complex128."""
    return x.to_numpy().astype(complex) if isinstance(x, MDArray) else x


def _as(value: np.ndarray, precision: Precision | None) -> Points:
    return value if precision is None else array(np.asarray(value, complex), precision=precision)
